//! Reads calls in Python's notation: `f(a=1, b='x')`.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use goodcall_core::{JsonType, Tree, Types};

use super::FoundCall;
use super::json_calls::from_strings;
use super::object_writer::{ObjectWriter, declared_types};
use super::python_values::{BareWords, PythonError, PythonReader, identifier_size};
use crate::call::CallState;
use crate::tools::{ToolDefinition, Tools};

/// The name of a call at the start of a text, and the bracket behind it.
pub(crate) struct Callee {
    pub(crate) name_size: usize,
    /// Where the bracket is.
    pub(crate) bracket: usize,
}

/// Reads `a.b(`, `a.b (`, or the rest of `'a.b'(`.
pub(crate) fn callee(text: &str) -> Option<Callee> {
    let name_size = dotted_size(text);
    let rest = &text[name_size..];
    let behind = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let bracket = text.len() - behind.trim_start_matches(' ').len();
    let called = name_size > 0 && text[bracket..].starts_with('(');
    called.then_some(Callee { name_size, bracket })
}

/// The text behind the first quote of `'a.b'(…)`.
pub(crate) fn behind_quote(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &text[1..];
    let is_name = inner[dotted_size(inner)..].starts_with(quote);
    (is_name && callee(inner).is_some()).then_some(inner)
}

/// The size of the dotted name at the start of `text`.
pub(crate) fn dotted_size(text: &str) -> usize {
    let mut size = identifier_size(text);
    while size > 0 {
        let rest = &text[size..];
        let Some(c @ ('.' | ':' | '-' | '/')) = rest.chars().next() else {
            break;
        };
        match identifier_size(&rest[c.len_utf8()..]) {
            0 => break,
            more => size += c.len_utf8() + more,
        }
    }
    size
}

/// Reads the call at the start of `text`, and returns it and its size.
pub(crate) fn call(text: &str, base: usize, tools: &Tools) -> Option<(FoundCall, usize)> {
    if let Some(inner) = behind_quote(text) {
        let (found, size) = call(inner, base + 1, tools)?;
        return Some((found, size + 1));
    }
    let Callee { name_size, bracket } = callee(text)?;
    let mut name = &text[..name_size];
    // `f.call(…)` is how Llama writes `f(…)`.
    if let Some(own) = name.strip_suffix(".call")
        && tools.get(own).is_some()
        && tools.meant(name).is_none()
    {
        name = own;
    }
    let mut reader = PythonReader::new(text, bracket + 1);
    reader.markdown = name.contains('\\');
    let mut arguments = ArgumentReader {
        reader,
        tool: tools.meant(name),
        object: ObjectWriter::new(tools.meant(name)),
        count: 0,
        key: None,
        dictionaries: Vec::new(),
        strings: Vec::new(),
    };
    let state = match arguments.read() {
        Ok(()) => CallState::Whole,
        Err(PythonError::Cut) => CallState::Cut,
        Err(PythonError::Expected(expected)) => CallState::Unreadable(match &arguments.key {
            Some(key) => format!("{expected} for `{key}`"),
            None => expected.to_owned(),
        }),
    };
    let size = arguments.reader.at;
    let span = base..base + size;
    let json = std::mem::take(arguments.object.json());
    let mut found = FoundCall::translated(name, json, span.clone());
    found.state = state;
    (found.bare, found.python) = (arguments.count == 0, true);
    let (strings, several) = (arguments.of_strings(), arguments.of_several_calls());
    found.changes = arguments.reader.changes(&span);
    if let Some(strings) = strings.filter(|_| found.state == CallState::Whole)
        && let Some(mut read) = from_strings(name, &strings, &span, tools)
    {
        read.changes.splice(..0, std::mem::take(&mut found.changes));
        found = read;
    }
    if let Some((first, others)) = several.filter(|_| found.state == CallState::Whole)
        && found.changes.is_empty()
    {
        (found.arguments, found.also) = (first, others);
    }
    found.name_span = base..base + name_size;
    Some((found, size))
}

/// Reads `print(f(a=1))` and `print(f(a=1) + f(a=2), g())` as the calls inside, as Gemini writes them.
/// `None` if anything else is printed.
pub(crate) fn printed(text: &str, base: usize, tools: &Tools) -> Option<Vec<FoundCall>> {
    let mut at = printed_call(text)?;
    let end = text.trim_end().strip_suffix(')')?.len();
    let mut calls = Vec::new();
    while at < end {
        let (found, size) = call(&text[at..end], base + at, tools)?;
        calls.push(found);
        at += size;
        let rest = text[at..end].trim_start();
        let next = rest.trim_start_matches([',', '+', '-', '*', '/']);
        // One sign between two calls, or a comma behind the last one.
        let is_separated = rest.len() == next.len() + 1 || rest.is_empty();
        if !is_separated {
            return None;
        }
        at = end - next.trim_start().len();
    }
    Some(calls)
}

/// Where the call inside `print(` begins.
pub(crate) fn printed_call(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("print(")?;
    Some(text.len() - inner.trim_start().len())
}

/// Returns true if a text begins with the name of an argument and `=`.
pub(crate) fn is_keyword(text: &str) -> bool {
    let text = text.trim_start();
    let size = identifier_size(text);
    size > 0 && text[size..].trim_start().starts_with('=')
}

/// Reads calls in a row: a list, several lines, or a single one. `None` if there is anything else
/// between them, or if one cannot be read.
pub(crate) fn sequence(text: &str, base: usize, tools: &Tools) -> Option<Vec<FoundCall>> {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | ',' | ';');
    let mut calls = Vec::new();
    let mut rest = text.trim_start_matches(is_separator);
    while !rest.is_empty() {
        let (found, size) = call(rest, base + text.len() - rest.len(), tools)?;
        if matches!(found.state, CallState::Unreadable(_)) {
            return None;
        }
        calls.push(found);
        rest = rest[size..].trim_start_matches(is_separator);
    }
    Some(calls)
}

/// The arguments of one call, while they are read.
struct ArgumentReader<'t, 'o> {
    reader: PythonReader<'t>,
    tool: Option<&'o ToolDefinition>,
    object: ObjectWriter<'o>,
    count: usize,
    /// The name of the argument that is being read.
    key: Option<String>,
    /// Dictionaries that hold all arguments.
    dictionaries: Vec<String>,
    /// Strings that hold a named argument: `'a=1'`.
    strings: Vec<Cow<'static, str>>,
}

impl ArgumentReader<'_, '_> {
    fn read(&mut self) -> Result<(), PythonError> {
        let mut position = 0;
        loop {
            self.reader.skip_blanks_and_comments();
            match self.reader.byte() {
                None => return Err(PythonError::Cut),
                Some(b')') => {
                    self.reader.at += 1;
                    self.object.json().push('}');
                    return Ok(());
                }
                Some(b',') => {
                    self.reader.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            self.count += 1;
            self.key = self.read_key();
            match self.key.clone() {
                Some(key) => self.keyword(&key)?,
                None => self.positional(&mut position)?,
            }
            self.reader.skip_blanks_and_comments();
            if !matches!(self.reader.byte(), Some(b',' | b')') | None) {
                return Err(PythonError::Expected("a comma or a closing bracket"));
            }
        }
    }

    /// Reads the name before `=` or `:`, if there is one.
    fn read_key(&mut self) -> Option<String> {
        let start = self.reader.at;
        let key = match self.reader.byte() {
            Some(b'"' | b'\'') => {
                let mut quoted = String::new();
                let read = self.reader.string(&mut quoted, false);
                read.ok().and_then(|()| serde_json::from_str(&quoted).ok())
            }
            _ => self.reader.identifier(),
        };
        self.reader.skip_blanks_and_comments();
        let rest = &self.reader.text[self.reader.at..];
        let equals = rest.starts_with('=') && !rest.starts_with("==");
        if key.is_some() && (equals || rest.starts_with(':')) {
            self.reader.at += 1;
            return key;
        }
        self.reader.at = start;
        None
    }

    fn keyword(&mut self, key: &str) -> Result<(), PythonError> {
        self.object.key(key);
        // Words without quotes are text where text is declared; elsewhere they may be a variable.
        let types = declared_types(self.tool, key);
        let elements = self
            .tool
            .map(|tool| tool.element_types_of(key))
            .unwrap_or_default();
        let words =
            if types.is_empty() || types.has(JsonType::String) || elements.has(JsonType::String) {
                BareWords::Text
            } else if types.has(JsonType::Array) {
                BareWords::TextInLists
            } else {
                BareWords::Refused
            };
        let number = |types: Types| {
            types.is_empty() || types.has(JsonType::Integer) || types.has(JsonType::Number)
        };
        self.reader.evaluates = number(types) || (types.has(JsonType::Array) && number(elements));
        self.reader.value(self.object.json(), words)
    }

    /// Reads an argument without a name: all arguments in one dictionary, or the next parameter in
    /// declared order.
    fn positional(&mut self, position: &mut usize) -> Result<(), PythonError> {
        let spread = self.reader.text[self.reader.at..].starts_with("**");
        if spread {
            self.reader.at += 2;
        }
        let mut value = String::new();
        self.reader.value(&mut value, BareWords::Refused)?;
        let parameter = self.tool.and_then(|tool| tool.positional(*position));
        *position += 1;
        if value.starts_with('{') && (spread || self.holds_arguments(&value)) {
            let members = &value[1..value.len() - 1];
            if !members.is_empty() {
                self.object.separate();
                self.object.json().push_str(members);
            }
            self.dictionaries.push(value);
            return Ok(());
        }
        let Some(parameter) = parameter else {
            return Err(PythonError::Expected("arguments by name"));
        };
        if let Some(string) = self.named_in_string(&value) {
            self.strings.push(Cow::Owned(string));
        }
        self.object.key(parameter);
        self.object.json().push_str(&value);
        Ok(())
    }

    /// The text of a string that holds a declared parameter and its value: `'a=1'`.
    fn named_in_string(&self, value: &str) -> Option<String> {
        let text: String = serde_json::from_str(value).ok()?;
        let name = text.split('=').next()?.trim();
        let declared = self.tool.is_some_and(|tool| tool.declares(name));
        (declared && is_keyword(&text)).then_some(text)
    }

    /// The arguments, if there are several and each is in a string with its name. One alone may be text.
    fn of_strings(&mut self) -> Option<Vec<Cow<'static, str>>> {
        let is_all = self.strings.len() > 1 && self.strings.len() == self.count;
        is_all.then(|| std::mem::take(&mut self.strings))
    }

    /// The arguments of the first call and of the others, where each argument is a dictionary with all
    /// arguments of a call of its own. They have the same keys and differ, so that they cannot be parts
    /// of one call.
    fn of_several_calls(&mut self) -> Option<(String, Vec<String>)> {
        let (tool, calls) = (self.tool?, &self.dictionaries);
        if calls.len() < 2 || calls.len() != self.count {
            return None;
        }
        let distinct: HashSet<&String> = calls.iter().collect();
        let keys = |json: &String| {
            let tree = Tree::parse(json).ok().filter(|tree| tool.takes(tree))?;
            let keys = tree.root().members().map(|(key, _)| key.to_owned());
            Some(keys.collect::<BTreeSet<String>>())
        };
        let first = keys(calls.first()?)?;
        let same = calls.iter().all(|call| keys(call).as_ref() == Some(&first));
        if !same || distinct.len() != calls.len() {
            return None;
        }
        let mut calls = std::mem::take(&mut self.dictionaries).into_iter();
        Some((calls.next()?, calls.collect()))
    }

    /// Returns true if an object is all arguments, and not the value of the first parameter.
    fn holds_arguments(&self, object: &str) -> bool {
        let Some(tool) = self.tool else { return true };
        let Ok(tree) = Tree::parse(object) else {
            return false;
        };
        let mut keys = tree.root().members().map(|(key, _)| key);
        let first = tool.positional(0);
        let takes_object = first.is_some_and(|first| tool.types_of(first).has(JsonType::Object));
        keys.all(|key| tool.declares(key)) || !takes_object
    }
}
