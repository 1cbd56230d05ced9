//! JSON values to Python values and back.

use std::cell::Cell;
use std::collections::BTreeMap;

use goodcall_core::{Content, Elements, Issue, Kind, Members, Node, Pointer, Tree};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyType,
};
use pyo3::{ffi, intern};

use crate::errors::{INPUT, INTERNAL};
use crate::name_table::NameTable;

/// Most strings that are kept for one tool.
const MOST_STRINGS: usize = 1024;

/// The strings in a schema that calls repeat: names of properties, and values of `enum` and `const`.
pub(crate) type Strings = NameTable<Known>;

/// A string in a schema.
pub(crate) struct Known {
    /// Made once.
    string: Py<PyString>,
    hints: Hints,
}

/// What schemas say of the property with a name, wherever one is declared.
#[derive(Clone, Copy, Default)]
struct Hints {
    /// Numbers there are integers.
    integers: bool,
    /// Strings there may be listed in the schema.
    listed: bool,
}

/// Returns the strings in a schema.
pub(crate) fn strings_of(py: Python<'_>, schema: Node<'_>) -> Strings {
    let mut found = BTreeMap::new();
    collect_strings(schema, &mut found);
    let strings = found.into_iter().map(|(text, hints)| {
        let string = PyString::intern(py, text).unbind();
        let hints = hints.unwrap_or_default();
        (text.into(), Known { string, hints })
    });
    strings.collect()
}

/// Collects the strings at and below a schema. Hints are there for names of properties. Returns true if
/// strings are listed in it.
fn collect_strings<'n>(node: Node<'n>, found: &mut BTreeMap<&'n str, Option<Hints>>) -> bool {
    let mut listed = false;
    for element in node.elements() {
        listed |= collect_strings(element, found);
    }
    for (key, value) in node.members() {
        match key {
            "properties" => {
                for (name, schema) in value.members() {
                    let below = collect_strings(schema, found);
                    let hints = Hints {
                        integers: holds_integers(schema),
                        listed: below,
                    };
                    collect_string(name, Some(hints), found);
                    listed |= below;
                }
            }
            "enum" | "const" => {
                for text in value.elements().chain([value]).filter_map(Node::as_str) {
                    collect_string(text, None, found);
                    listed = true;
                }
            }
            _ => listed |= collect_strings(value, found),
        }
    }
    listed
}

fn collect_string<'n>(
    text: &'n str,
    hints: Option<Hints>,
    found: &mut BTreeMap<&'n str, Option<Hints>>,
) {
    if found.len() >= MOST_STRINGS && !found.contains_key(text) {
        return;
    }
    let entry = found.entry(text).or_insert(hints);
    *entry = match (*entry, hints) {
        (Some(one), Some(other)) => Some(Hints {
            integers: one.integers && other.integers,
            listed: one.listed || other.listed,
        }),
        (one, other) => one.or(other),
    };
}

/// Returns true if every number that a schema allows is an integer, and it says so in plain words.
fn holds_integers(schema: Node<'_>) -> bool {
    let declared = |node: Node<'_>| match node.as_str() {
        Some("integer") => true,
        Some("array") => schema.get("items").is_some_and(holds_integers),
        Some(kind) => kind == "null",
        None => false,
    };
    match schema.get("type") {
        Some(kinds) if kinds.kind() == Kind::Array => kinds.elements().all(declared),
        Some(kind) => declared(kind),
        None => {
            let mut branches = schema.get("anyOf").into_iter().flat_map(Node::elements);
            schema.get("anyOf").is_some() && branches.all(holds_integers)
        }
    }
}

/// Turns values into plain Python values.
pub(crate) struct Builder<'a, 'py> {
    py: Python<'py>,
    strings: &'a Strings,
    /// The string that the values were read from, and its text, if that has nothing but ASCII: then
    /// strings are copied out of it without being decoded.
    source: Option<(&'a Bound<'py, PyString>, &'a str)>,
    /// The first error.
    error: Cell<Option<PyErr>>,
}

/// A value could not be built; the builder has the error. Without it, what a step returns is as small
/// as a pointer.
struct Failed;

impl<'a, 'py> Builder<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, strings: &'a Strings) -> Self {
        Self {
            py,
            strings,
            source: None,
            error: Cell::new(None),
        }
    }

    pub(crate) fn py(&self) -> Python<'py> {
        self.py
    }

    /// Names the string that the values were read from, and its text.
    pub(crate) fn source(mut self, string: &'a Bound<'py, PyString>, text: &'a str) -> Self {
        // A string has as many characters as bytes if and only if it is ASCII.
        let is_ascii = string
            .len()
            .is_ok_and(|characters| characters == text.len());
        self.source = is_ascii.then_some((string, text));
        self
    }

    /// Returns the Python value of a node. Integers are exact.
    pub(crate) fn value(&self, node: Node<'_>) -> PyResult<Bound<'py, PyAny>> {
        let value = self.any(node.content(), Hints::default());
        value.map_err(|failed| self.explain(failed))
    }

    /// Most values are scalars, so that these are made where they are asked for.
    #[inline(always)]
    fn any(&self, content: Content<'_>, hints: Hints) -> Result<Bound<'py, PyAny>, Failed> {
        match content {
            Content::String(text) => {
                if hints.listed
                    && let Some(known) = self.strings.get(text)
                {
                    return Ok(known.string.bind(self.py).clone().into_any());
                }
                self.string(text)
            }
            Content::Number(digits) => self.number(digits, hints.integers),
            Content::Boolean(truth) => Ok(PyBool::new(self.py, truth).to_owned().into_any()),
            Content::Null => Ok(self.py.None().into_bound(self.py)),
            Content::Object(members) => self.object(members),
            Content::Array(elements) => self.array(elements, hints),
        }
    }

    #[inline(never)]
    fn object(&self, mut members: Members<'_>) -> Result<Bound<'py, PyAny>, Failed> {
        let dict = PyDict::new(self.py);
        while let Some((key, value)) = members.next_bytes() {
            let made;
            let (key, hints) = match self.strings.get(key) {
                Some(known) => (known.string.bind(self.py).as_any(), known.hints),
                None => {
                    made = self.string(key)?;
                    (&made, Hints::default())
                }
            };
            let value = self.any(value.content(), hints)?;
            self.keep(dict.set_item(key, value))?;
        }
        Ok(dict.into_any())
    }

    #[inline(never)]
    fn array(&self, elements: Elements<'_>, hints: Hints) -> Result<Bound<'py, PyAny>, Failed> {
        let elements = elements.map(|element| Element(self, element, hints));
        let list = self.keep(PyList::new(self.py, elements))?;
        Ok(list.into_any())
    }

    #[inline(always)]
    fn string(&self, text: &[u8]) -> Result<Bound<'py, PyAny>, Failed> {
        if let Some((string, source)) = self.source {
            let start = (text.as_ptr() as usize).wrapping_sub(source.as_ptr() as usize);
            if start < source.len() && text.len() <= source.len() - start {
                return self.keep(substring(string, start, start + text.len()));
            }
        }
        self.decoded(text)
    }

    #[inline(never)]
    fn decoded(&self, text: &[u8]) -> Result<Bound<'py, PyAny>, Failed> {
        let string = self.keep(PyString::from_bytes(self.py, text))?;
        Ok(string.into_any())
    }

    #[inline]
    fn number(&self, digits: &[u8], integers: bool) -> Result<Bound<'py, PyAny>, Failed> {
        match short_integer(digits) {
            Some(short) => Ok(PyInt::new(self.py, short).into_any()),
            None => {
                let digits = std::str::from_utf8(digits).expect("digits are ASCII");
                self.keep(long_number(self.py, digits, integers))
            }
        }
    }

    #[inline]
    fn keep<T>(&self, made: PyResult<T>) -> Result<T, Failed> {
        made.map_err(|error| {
            self.error.set(Some(error));
            Failed
        })
    }

    #[cold]
    fn explain(&self, Failed: Failed) -> PyErr {
        let error = self.error.take();
        error.unwrap_or_else(|| INTERNAL.new_err(self.py, "a value could not be built"))
    }
}

/// A value that is built when a list takes it.
struct Element<'b, 'a, 'py>(&'b Builder<'a, 'py>, Node<'b>, Hints);

impl<'py> IntoPyObject<'py> for Element<'_, '_, 'py> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    #[inline]
    fn into_pyobject(self, _: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Self(build, node, hints) = self;
        let value = build.any(node.content(), hints);
        value.map_err(|failed| build.explain(failed))
    }
}

/// Returns the characters between two places of a string.
#[inline]
fn substring<'py>(
    string: &Bound<'py, PyString>,
    start: usize,
    end: usize,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the string is alive and the interpreter attached. The function checks the places itself,
    // and returns a new reference, or null with an exception set.
    unsafe {
        let found = ffi::PyUnicode_Substring(string.as_ptr(), start as isize, end as isize);
        Bound::from_owned_ptr_or_err(string.py(), found)
    }
}

/// The value of an integer that surely fits.
#[inline]
fn short_integer(digits: &[u8]) -> Option<i64> {
    let (sign, digits) = match digits {
        [b'-', rest @ ..] => (-1, rest),
        _ => (1, digits),
    };
    if digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(sign * value)
}

/// Turns digits into an `int` or a `float`. What neither can hold is a `decimal.Decimal`: a number
/// beyond the range of floats, or an integer longer than the interpreter's own limit. `5.0` is an `int`
/// where integers are wanted.
fn long_number<'py>(py: Python<'py>, digits: &str, integers: bool) -> PyResult<Bound<'py, PyAny>> {
    let is_integer = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_integer {
        if let Ok(large) = py.get_type::<PyInt>().call1((digits,)) {
            return Ok(large);
        }
    } else if let Ok(float) = digits.parse::<f64>()
        && float.is_finite()
    {
        let float = PyFloat::new(py, float).into_any();
        if !integers {
            return Ok(float);
        }
        let exact = decimal(py, digits)?;
        let integer = exact.call_method0(intern!(py, "__int__"))?;
        return Ok(if integer.eq(&exact)? { integer } else { float });
    }
    decimal(py, digits)
}

fn decimal<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")?.call1((digits,))
}

/// Finds a number that Python has no type for: its exponent is longer than a `decimal.Decimal` takes.
/// Returns the issue to tell the model.
pub(crate) fn number_without_type(py: Python<'_>, node: Node<'_>, at: &Pointer) -> Option<Issue> {
    if let Some(digits) = node.digits() {
        long_number(py, digits, false).err()?;
        let mut issue = Issue::from(node.to_value().err()?);
        issue.pointer = at.clone();
        return Some(issue);
    }
    let below = |segment: &str, child| number_without_type(py, child, &at.join(segment));
    let mut elements = node.elements().enumerate();
    let found = elements.find_map(|(index, element)| below(&index.to_string(), element));
    found.or_else(|| node.members().find_map(|(key, value)| below(key, value)))
}

/// Turns JSON text into Python values. Text that is not JSON stays a string, and so does one with a
/// number that Python has no type for.
pub(crate) fn text_to_python<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let strings = Strings::default();
    let value = |tree: Tree<'_>| {
        let built = Builder::new(py, &strings).value(tree.root());
        match built {
            Err(_) if number_without_type(py, tree.root(), &Pointer::root()).is_some() => None,
            built => Some(built),
        }
    };
    let value = Tree::parse(text).ok().and_then(value);
    value.unwrap_or_else(|| Ok(PyString::new(py, text).into_any()))
}

/// Writes a Python value as JSON text, with Python's own `json` module.
pub(crate) fn to_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let dumps = DUMPS.import(value.py(), "goodcall._json", "dumps")?;
    Ok(dumps.call1((value,))?.cast_into()?)
}

/// A string as an argument. One with lone surrogates, which no UTF-8 has, is an `InputError`.
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl<'a, 'py> FromPyObject<'a, 'py> for Text<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        <&'a str>::extract(object).map(Self).map_err(|error| {
            if !object.is_instance_of::<PyString>() {
                return error;
            }
            let message =
                "a text with half of a surrogate pair in it cannot be used: expected Unicode";
            INPUT.new_err(object.py(), message)
        })
    }
}

/// Returns the bytes of arguments in whatever form they were handed in: text, bytes, nothing, or values.
/// Lone surrogates, which UTF-8 cannot hold, are in it as they are, so that they are refused there.
pub(crate) fn to_bytes<'py>(arguments: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = arguments.py();
    if let Ok(bytes) = arguments.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    if arguments.is_none() {
        return Ok(PyBytes::new(py, b""));
    }
    if arguments.is_instance_of::<PyByteArray>() || arguments.is_instance_of::<PyMemoryView>() {
        return Ok(py.get_type::<PyBytes>().call1((arguments,))?.cast_into()?);
    }
    let text = match arguments.cast::<PyString>() {
        Ok(text) => text.clone(),
        Err(_) => to_json(arguments)?,
    };
    let encoded = text.call_method1(intern!(py, "encode"), ("utf-8", "surrogatepass"))?;
    Ok(encoded.cast_into()?)
}
