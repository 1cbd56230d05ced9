//! Reads calls in JSON, or nearly JSON: `{"name": "f", "arguments": {…}}` and its many relatives.

use std::borrow::Cow;
use std::ops::Range;

use super::call_end::value_size;
use super::raw_members::{RawMember, RawObject, elements, skip_blanks, string_end, unquote};
use super::{FoundCall, python_calls, python_values};
use crate::call::CallState;
use crate::tools::{ToolDefinition, Tools};

/// The most lists and objects around a call.
const MAX_DEPTH: usize = 6;
/// Keys that hold the tool's name.
#[rustfmt::skip]
const NAME_KEYS: [&str; 11] = [
    "name", "tool_name", "function", "function_name", "tool", "func", "action", "api_name",
    "recipient_name", "tool_call", "function_call",
];
/// Keys that hold the arguments.
#[rustfmt::skip]
const ARGUMENT_KEYS: [&str; 13] = [
    "arguments", "parameters", "args", "params", "input", "kwargs", "arguments_json",
    "tool_input", "action_input", "function_args", "parameter", "inputs", "argument",
];
/// Other keys of a call.
#[rustfmt::skip]
const OTHER_KEYS: [&str; 6] = [
    "id", "type", "tool_call_id", "call_id", "description", "index",
];
/// Keys that hold the result of a call.
#[rustfmt::skip]
const RESULT_KEYS: [&str; 12] = [
    "result", "results", "output", "outputs", "response", "returns", "return_value",
    "observation", "content", "error", "schema", "example",
];
/// Keys that hold whole calls.
#[rustfmt::skip]
const HOLDER_KEYS: [&str; 26] = [
    "tool_calls", "tool_call", "toolCalls", "toolCall", "tool_uses", "tool_use", "toolUse",
    "tools", "tool", "function_calls", "function_call", "functionCalls", "functionCall",
    "functions", "function", "calls", "call", "actions", "action", "api_calls", "api_call",
    "requests", "request", "message", "choices", "response",
];

/// Reads the calls of one value; empty if it holds none.
pub(crate) fn calls(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut collector = CallCollector::new(tools);
    collector.value(text, base, 0);
    if collector.holds_expression {
        return Vec::new();
    }
    collector.found
}

/// Reads the calls of several values, separated by blanks, commas or semicolons.
pub(crate) fn sequence(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut collector = CallCollector::new(tools);
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\n', '\t', '\r', ';', ',']);
        if !rest.starts_with(['{', '[']) {
            return collector.found;
        }
        let size = value_size(rest).unwrap_or(rest.len());
        let (value, behind) = rest.split_at(size);
        collector.value(value, base + text.len() - rest.len(), 0);
        rest = behind;
    }
}

/// An object and the offset of its text.
struct PlacedObject<'t> {
    raw: RawObject<'t>,
    text: &'t str,
    base: usize,
}

/// The calls found so far.
struct CallCollector<'c> {
    tools: &'c Tools,
    found: Vec<FoundCall>,
    /// A list holds an expression with calls, which are to be read one by one.
    holds_expression: bool,
}

impl<'c> CallCollector<'c> {
    fn new(tools: &'c Tools) -> Self {
        Self {
            tools,
            found: Vec::new(),
            holds_expression: false,
        }
    }

    /// The offered tool that the text of a string names.
    fn tool_in_string<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        // `'f()'` is a call by itself.
        unquote(text).filter(|name| !name.contains('(') && self.tools.meant(name).is_some())
    }

    /// Collects the calls of a value that begins at the offset `base`.
    fn value(&mut self, text: &str, base: usize, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(raw) = RawObject::parse(text) {
            return self.object(&PlacedObject { raw, text, base }, depth);
        }
        if let Some(parts) = elements(text) {
            return self.list(text, base, depth, &parts);
        }
        let Some(decoded) = unquote(text) else {
            return;
        };
        // A call inside a string: positions inside it are those of the string.
        let inner = decoded.trim();
        let from = self.found.len();
        if let Some(calls) = python_calls::sequence(inner, 0, self.tools) {
            self.found.extend(calls);
        } else if inner.starts_with(['{', '[']) {
            self.value(inner, 0, depth + 1);
        } else if let Some(mut call) = self.broken_call(inner, 0) {
            call.is_complete();
            if call.state == CallState::Whole {
                call.state = CallState::Unreadable("one call, and nothing behind it".to_owned());
            }
            self.found.push(call);
        }
        for call in &mut self.found[from..] {
            call.move_to(&(base..base + text.len()));
        }
    }

    /// Collects a list of calls, or a name followed by its arguments.
    fn list(&mut self, text: &str, base: usize, depth: usize, parts: &[Range<usize>]) {
        let mut parts = parts.iter().peekable();
        while let Some(part) = parts.next() {
            let piece = &text[part.clone()];
            let Some(name) = self.tool_in_string(piece) else {
                self.element(piece, base + part.start, depth);
                continue;
            };
            let (mut start, before) = (part.start, self.found.len());
            while let Some(value) = parts.next_if(|next| {
                let piece = &text[(*next).clone()];
                let is_first = self.found.len() == before;
                self.is_arguments(piece) && (is_first || self.are_arguments_of(&name, piece))
            }) {
                let span = base + start..base + value.end;
                let arguments = &text[value.clone()];
                let offset = base + value.start;
                self.found
                    .push(FoundCall::verbatim(&name, arguments, offset, span));
                start = value.start;
            }
            if self.found.len() > before {
                continue;
            }
            let mut end = part.end;
            let mut members = Vec::new();
            while let Some(next) = parts.next_if(|next| is_member(&text[(*next).clone()])) {
                members.push(&text[next.clone()]);
                end = next.end;
            }
            if !members.is_empty() {
                let span = base + part.start..base + end;
                self.found.push(self.call_of_members(&name, &members, span));
                continue;
            }
            let mut arguments = Vec::new();
            while let Some(next) = parts.next_if(|next| is_argument(&text[(*next).clone()])) {
                arguments.extend(unquote(&text[next.clone()]));
                end = next.end;
            }
            let span = base + part.start..base + end;
            let call = from_strings(&name, &arguments, &span, self.tools);
            self.found.extend(call);
        }
    }

    fn element(&mut self, piece: &str, base: usize, depth: usize) {
        let is_value = piece.starts_with(['{', '[', '"', '\'', '(']);
        if is_value && python_calls::behind_quote(piece).is_none() {
            self.value(piece, base, depth + 1);
        } else if let Some(calls) = python_calls::sequence(piece, base, self.tools) {
            self.found.extend(calls);
        } else if let Some(found) = self.broken_call(piece, base) {
            self.holds_expression |= !matches!(found.state, CallState::Unreadable(_));
            self.found.push(found);
        }
    }

    /// The call at the start of a piece that cannot be read as a whole: it must not vanish.
    fn broken_call(&self, piece: &str, base: usize) -> Option<FoundCall> {
        let (mut found, _) = python_calls::call(piece, base, self.tools)?;
        found.span.end = base + piece.len();
        found.is_offered(self.tools).then_some(found)
    }

    /// The call of a name and members that have no brackets of their own: `['f', 'a': 1]`.
    fn call_of_members(&self, name: &str, members: &[&str], span: Range<usize>) -> FoundCall {
        let object = format!("{{{}}}", members.join(", "));
        let tool = self.tools.meant(name);
        if let Some(raw) = RawObject::parse(&object)
            && let [only] = &raw.members[..]
            && ARGUMENT_KEYS.contains(&only.key.as_ref())
            && !tool.is_some_and(|tool| tool.declares(&only.key))
        {
            return FoundCall::translated(name, raw.value(only).to_owned(), span);
        }
        FoundCall::translated(name, object, span)
    }

    /// Returns true for an object that holds nothing but parameters of a tool.
    fn are_arguments_of(&self, name: &str, text: &str) -> bool {
        let (Some(tool), Some(object)) = (self.tools.meant(name), RawObject::parse(text)) else {
            return false;
        };
        let mut members = object.members.iter();
        !object.members.is_empty() && members.all(|member| tool.declares(&member.key))
    }

    /// Returns true for an object that is not a call itself.
    fn is_arguments(&self, text: &str) -> bool {
        text.starts_with('{')
            && RawObject::parse(text).is_some_and(|object| name_of(&object, self.tools).is_none())
    }

    fn object(&mut self, object: &PlacedObject<'_>, depth: usize) {
        if let Some(name) = name_of(&object.raw, self.tools) {
            let tool = self.tools.meant(&name.text);
            if !is_definition(&object.raw, tool) && !is_result(&object.raw, name.index, tool) {
                self.found.push(named_call(object, &name, self.tools));
            }
            return;
        }
        for member in &object.raw.members {
            let value = object.raw.value(member);
            let tool = self.tools.meant(&member.key);
            if let Some(tool) = tool.filter(|_| value.starts_with('{')) {
                self.found.push(call_under_name(object, member, tool));
            } else if value.starts_with(['{', '[']) && HOLDER_KEYS.contains(&member.key.as_ref()) {
                self.value(value, object.base + member.value.start, depth + 1);
            }
        }
    }
}

/// Returns true for a key in quotes and its value: `'a': 1`.
fn is_member(piece: &str) -> bool {
    let bytes = piece.as_bytes();
    let quoted = matches!(bytes.first(), Some(b'"' | b'\''));
    let behind = quoted.then(|| string_end(bytes, 0)).flatten();
    behind.is_some_and(|at| bytes.get(skip_blanks(bytes, at)) == Some(&b':'))
}

/// Returns true for a string like `'a=1'` or `'(a=1, b=2)'`.
fn is_argument(piece: &str) -> bool {
    let Some(decoded) = unquote(piece) else {
        return false;
    };
    let inner = decoded.trim_start_matches('(');
    let size = python_values::identifier_size(inner);
    size > 0 && inner[size..].trim_start().starts_with('=')
}

/// Reads a name and its arguments, each in a string of its own.
pub(crate) fn from_strings(
    name: &str,
    arguments: &[Cow<'_, str>],
    span: &Range<usize>,
    tools: &Tools,
) -> Option<FoundCall> {
    let inner = arguments.iter().map(|argument| {
        let argument = argument.trim();
        let bare = argument
            .strip_prefix('(')
            .and_then(|one| one.strip_suffix(')'));
        bare.unwrap_or(argument)
    });
    let text = format!("{name}({})", inner.collect::<Vec<_>>().join(", "));
    let (mut found, size) = python_calls::call(&text, 0, tools)?;
    found.move_to(span);
    let whole = size == text.len() && found.state == CallState::Whole;
    (whole && !arguments.is_empty()).then_some(found)
}

/// The member of an object that names the tool.
struct NameMember<'t> {
    index: usize,
    text: Cow<'t, str>,
}

/// The member that names an offered tool, or else any name next to arguments.
fn name_of<'t>(object: &RawObject<'t>, tools: &Tools) -> Option<NameMember<'t>> {
    let has_arguments = arguments_of(object, None).is_some();
    let mut unknown = None;
    for key in NAME_KEYS {
        let Some(index) = object.position(key) else {
            continue;
        };
        let Some(text) = unquote(object.value(&object.members[index])) else {
            continue;
        };
        if tools.meant(&text).is_some() {
            return Some(NameMember { index, text });
        }
        if has_arguments && unknown.is_none() && !text.is_empty() && !text.contains(' ') {
            unknown = Some(NameMember { index, text });
        }
    }
    unknown
}

/// The index of the member that holds the arguments, which is not the one that names the tool.
fn arguments_of(object: &RawObject<'_>, name: Option<usize>) -> Option<usize> {
    let mut found = ARGUMENT_KEYS.iter().filter_map(|key| object.position(key));
    found.find(|index| Some(*index) != name)
}

/// Returns true if an object defines a tool, with a schema where a call has its arguments.
fn is_definition(object: &RawObject<'_>, tool: Option<&ToolDefinition>) -> bool {
    const SCHEMA_KEYS: [&str; 4] = ["input_schema", "inputSchema", "parameters", "properties"];
    let declares = |key: &str| tool.is_some_and(|tool| tool.declares(key));
    let described = object.position("description").is_some();
    object.members.iter().any(|member| {
        let (key, value) = (member.key.as_ref(), object.value(member));
        if !SCHEMA_KEYS.contains(&key) && !ARGUMENT_KEYS.contains(&key) {
            return false;
        }
        let inner = RawObject::parse(value);
        let has_properties = inner.as_ref().is_some_and(|inner| {
            let properties = inner.position("properties");
            properties.is_some_and(|index| inner.value(&inner.members[index]).starts_with('{'))
        });
        (has_properties && !declares("properties"))
            || (described && inner.is_some_and(|inner| holds_only_types(&inner)))
            || (key == "properties" && value.starts_with('{') && !declares(key))
    })
}

/// Returns true for an object like `{"path": "string"}`.
fn holds_only_types(object: &RawObject<'_>) -> bool {
    let is_type = |member: &RawMember<'_>| {
        let text = unquote(object.value(member));
        text.is_some_and(|text| goodcall_core::Types::named(&text).len() == 1)
    };
    !object.members.is_empty() && object.members.iter().all(is_type)
}

/// Returns true if an object holds the result of a call or the description of a tool, without
/// any arguments.
fn is_result(object: &RawObject<'_>, name: usize, tool: Option<&ToolDefinition>) -> bool {
    let members = object.members.iter().enumerate();
    let mut keys = members
        .filter(|(index, _)| *index != name)
        .map(|(_, member)| member.key.as_ref());
    let declares = |key: &str| tool.is_some_and(|tool| tool.declares(key));
    let describes = |key: &str| RESULT_KEYS.contains(&key) || key == "description";
    arguments_of(object, Some(name)).is_none() && !keys.clone().any(declares) && keys.any(describes)
}

/// A declared argument next to the object of arguments.
fn misplaced_argument<'m>(
    object: &'m RawObject<'_>,
    name: usize,
    tool: Option<&ToolDefinition>,
) -> Option<&'m str> {
    arguments_of(object, Some(name))?;
    let is_own = |key: &str| {
        NAME_KEYS.contains(&key) || ARGUMENT_KEYS.contains(&key) || OTHER_KEYS.contains(&key)
    };
    let mut keys = object.members.iter().map(|member| member.key.as_ref());
    keys.find(|key| !is_own(key) && tool.is_some_and(|tool| tool.declares(key)))
}

/// Returns true if an object holds two names, or two objects of arguments.
fn is_ambiguous(object: &RawObject<'_>, tools: &Tools) -> bool {
    has_two_names(object, tools) || {
        let members = object.members.iter();
        let arguments = members.filter(|member| ARGUMENT_KEYS.contains(&member.key.as_ref()));
        let mut objects = arguments
            .map(|member| object.value(member))
            .filter(|value| value.starts_with('{'));
        let first = objects.next();
        objects.any(|other| Some(other) != first)
    }
}

/// Returns true if an operator follows the object of arguments: `{…} * 2`.
fn holds_expression(object: &RawObject<'_>, name: usize) -> bool {
    let arguments = arguments_of(object, Some(name)).map(|at| object.value(&object.members[at]));
    let arguments = arguments.filter(|value| value.starts_with('{'));
    arguments.is_some_and(|value| {
        let rest = value_size(value).map_or("", |size| value[size..].trim_start());
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        rest.starts_with(['*', '/', '+', '-', '%', '|', '.', '[', '(']) && !is_comment
    })
}

fn has_two_names(object: &RawObject<'_>, tools: &Tools) -> bool {
    let members = object.members.iter();
    let names = members.filter(|member| NAME_KEYS.contains(&member.key.as_ref()));
    let mut names = names.filter_map(|member| Some((member, unquote(object.value(member))?)));
    let tool_name = |sent: &str| tools.meant(sent).map(|tool| &tool.name);
    let first = names.clone().find_map(|(_, sent)| tool_name(&sent));
    names.any(|(member, sent)| {
        let differs = |other: &RawMember<'_>| {
            other.key == member.key && object.value(other) != object.value(member)
        };
        let named = tool_name(&sent);
        object.members.iter().any(differs) || (named.is_some() && named != first)
    })
}

/// The call of an object that names its tool.
fn named_call(object: &PlacedObject<'_>, name: &NameMember<'_>, tools: &Tools) -> FoundCall {
    let PlacedObject { raw, base, .. } = object;
    let tool = tools.meant(&name.text);
    let mut found = with_arguments(object, name, tool);
    let name_value = &raw.members[name.index].value;
    found.name_span = base + name_value.start..base + name_value.end;
    if !raw.closed {
        if found.state == CallState::Whole {
            found.state = CallState::Open;
        }
    } else if is_ambiguous(raw, tools) {
        found.state = CallState::Unreadable("one name and one set of arguments".to_owned());
    } else if holds_expression(raw, name.index) {
        let expected = "the arguments themselves, not an expression";
        found.state = CallState::Unreadable(expected.to_owned());
    } else if let Some(key) = misplaced_argument(raw, name.index, tool) {
        let expected = format!("all arguments in one object, `{key}` among them");
        found.state = CallState::Unreadable(expected);
    }
    found
}

/// The call of an object that names its tool, whatever else it holds.
fn with_arguments(
    object: &PlacedObject<'_>,
    name: &NameMember<'_>,
    tool: Option<&ToolDefinition>,
) -> FoundCall {
    let PlacedObject { raw, text, base } = object;
    let span = *base..base + text.len();
    let verbatim = |member: &RawMember<'_>, span| {
        let offset = base + member.value.start;
        FoundCall::verbatim(&name.text, raw.value(member), offset, span)
    };
    if let Some(index) = arguments_of(raw, Some(name.index)) {
        let arguments = &raw.members[index];
        // The arguments may be JSON in a string.
        return match unquote(raw.value(arguments)) {
            Some(json) => FoundCall::translated(&name.text, json.into_owned(), span),
            None => verbatim(arguments, span),
        };
    }
    let is_declared = |member: &RawMember<'_>| tool.is_some_and(|tool| tool.declares(&member.key));
    let members = raw.members.iter().enumerate();
    let members = members.filter(|(index, _)| *index != name.index);
    let rest: Vec<_> = members
        .map(|(_, member)| member)
        .filter(|member| is_declared(member) || !OTHER_KEYS.contains(&member.key.as_ref()))
        .collect();
    let is_flat = rest.iter().any(|member| is_declared(member));
    if let [only] = rest[..]
        && !is_flat
        && raw.members.len() == 2
        && raw.value(only).starts_with('{')
    {
        // The only other member is an object: the arguments under another key.
        return verbatim(only, span);
    }
    // Undeclared keys next to declared ones are arguments, too: the schema refuses or takes them.
    let arguments = rest.into_iter().filter(|_| is_flat);
    let pieces: Vec<_> = arguments.map(|member| raw.member_text(member)).collect();
    FoundCall::translated(&name.text, format!("{{{}}}", pieces.join(", ")), span)
}

/// The call of a member whose key is the tool's name. Its value is the arguments, or an object
/// around them.
fn call_under_name(
    object: &PlacedObject<'_>,
    member: &RawMember<'_>,
    tool: &ToolDefinition,
) -> FoundCall {
    let PlacedObject { raw, text, base } = object;
    let mut arguments = raw.value(member);
    let mut offset = base + member.value.start;
    if let Some(inner) = RawObject::parse(arguments)
        && let [only] = &inner.members[..]
        && ARGUMENT_KEYS.contains(&only.key.as_ref())
        && !tool.declares(&only.key)
    {
        arguments = inner.value(only);
        offset += only.value.start;
    }
    let span = base + member.span.start..base + member.span.end;
    let mut found = FoundCall::verbatim(&member.key, arguments, offset, span);
    if !raw.closed && member.value.end == text.len() {
        found.state = CallState::Open;
    }
    found
}
