//! JSON values to Python values and back.

use std::collections::BTreeSet;
use std::iter::repeat_with;

use goodcall_core::{Kind, Node, Tree};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyType};

/// Most names that are kept for one tool.
const MOST_KEYS: usize = 1024;

/// The names of properties in a schema, at any depth, as Python strings that are made once. A table
/// without chains: of two names for one slot the second is made anew each time.
#[derive(Default)]
pub(crate) struct Keys(Vec<Option<(Box<str>, Py<PyString>)>>);

impl Keys {
    pub(crate) fn new(py: Python<'_>, schema: Option<Node<'_>>) -> Self {
        let mut names = BTreeSet::new();
        if let Some(schema) = schema {
            collect_names(schema, &mut names);
        }
        let room = (names.len() * 4).next_power_of_two();
        let mut keys = Self(repeat_with(|| None).take(room).collect());
        for name in names {
            let slot = keys.slot(name);
            if keys.0[slot].is_none() {
                keys.0[slot] = Some((name.into(), PyString::intern(py, name).unbind()));
            }
        }
        keys
    }

    /// The place of a name, by its FNV-1a hash.
    fn slot(&self, name: &str) -> usize {
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        hash as usize & (self.0.len() - 1)
    }

    fn get<'py>(&self, py: Python<'py>, key: &str) -> Bound<'py, PyString> {
        if !self.0.is_empty()
            && let Some((name, string)) = &self.0[self.slot(key)]
            && **name == *key
        {
            return string.bind(py).clone();
        }
        PyString::new(py, key)
    }
}

/// Collects the keys of every `properties` below a node.
fn collect_names<'n>(node: Node<'n>, names: &mut BTreeSet<&'n str>) {
    for element in node.elements() {
        collect_names(element, names);
    }
    for (key, value) in node.members() {
        if key == "properties" {
            let room = MOST_KEYS.saturating_sub(names.len());
            names.extend(value.members().map(|(name, _)| name).take(room));
        }
        collect_names(value, names);
    }
}

/// Turns a value into plain Python values. Integers are exact.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    node: Node<'_>,
    keys: &Keys,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match node.kind() {
        Kind::Null => py.None().into_bound(py),
        Kind::Boolean => PyBool::new(py, node.as_bool() == Some(true))
            .to_owned()
            .into_any(),
        Kind::Number => number(py, node.digits().expect("a number has digits"))?,
        Kind::String => {
            let text = node.as_str().expect("a node of this kind has a text");
            PyString::new(py, text).into_any()
        }
        Kind::Array => {
            let list = PyList::empty(py);
            for element in node.elements() {
                list.append(to_python(py, element, keys)?)?;
            }
            list.into_any()
        }
        Kind::Object => {
            let dict = PyDict::new(py);
            for (key, value) in node.members() {
                let value = to_python(py, value, keys)?;
                dict.set_item(keys.get(py, key), value)?;
            }
            dict.into_any()
        }
    })
}

/// Turns digits into an `int` or a `float`. What neither can hold is a `decimal.Decimal`: a number
/// beyond the range of floats, or an integer longer than the interpreter's own limit.
fn number<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    let is_integer = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_integer {
        if let Ok(small) = digits.parse::<i64>() {
            return Ok(PyInt::new(py, small).into_any());
        }
        if let Ok(large) = py.get_type::<PyInt>().call1((digits,)) {
            return Ok(large);
        }
    } else if let Ok(float) = digits.parse::<f64>()
        && float.is_finite()
    {
        return Ok(PyFloat::new(py, float).into_any());
    }
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")?.call1((digits,))
}

/// Turns JSON text into Python values; text that is not JSON stays a string.
pub(crate) fn text_to_python<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    match Tree::parse(text) {
        Ok(tree) => to_python(py, tree.root(), &Keys::default()),
        Err(_) => Ok(PyString::new(py, text).into_any()),
    }
}

/// Writes a Python value as JSON text, with Python's own `json` module.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    DUMPS
        .import(py, "goodcall._json", "dumps")?
        .call1((value,))?
        .extract()
}

/// Returns the text of a string, or its bytes if it has lone surrogates, which UTF-8 cannot hold.
pub(crate) fn text_or_bytes<'a>(
    string: &'a Bound<'_, PyString>,
) -> PyResult<Result<&'a str, Vec<u8>>> {
    match string.to_str() {
        Ok(text) => Ok(Ok(text)),
        Err(_) => {
            let how = ("utf-8", "surrogatepass");
            let bytes = string.call_method1(intern!(string.py(), "encode"), how)?;
            Ok(Err(bytes.extract()?))
        }
    }
}
