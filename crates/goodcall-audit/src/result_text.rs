//! What the result of a call says about its arguments, where no schema does.

use std::sync::LazyLock;

use regex::Regex;

use crate::recorded::RecordedResult;

/// Characters at the start of an error in which complaints are looked for.
const ERROR_CHARS: usize = 800;
/// The same for a result that is not marked as an error: it may be the content of a file that speaks
/// of errors.
const PLAIN_CHARS: usize = 120;
/// The longest result that counts as a complaint without being marked as an error.
const PLAIN_BYTES: usize = 1000;

/// Complaints about arguments, in lower case.
const INVALID: [&str; 34] = [
    "inputvalidationerror",
    "invalid argument",
    "invalid parameter",
    "invalid params",
    "invalid tool input",
    "invalid input",
    "invalid_type",
    "invalid type:",
    "invalid value for",
    "validation error",
    "validation failed",
    "schema validation",
    "did not match expected schema",
    "does not match the expected schema",
    "failed to parse function arguments",
    "failed to parse arguments",
    "arguments were malformed",
    "not valid json",
    "missing required",
    "required parameter",
    "required property",
    "required argument",
    "missing field",
    "field required",
    "unexpected keyword argument",
    "unexpected property",
    "unknown field",
    "unrecognized key",
    "additional properties",
    "is not of type",
    "input should be",
    "rewrite the input",
    "expected object, received",
    "-32602",
];

/// Complaints about the name of the tool, in lower case.
const UNKNOWN: [&str; 7] = [
    "no such tool",
    "unknown tool",
    "tool not found",
    "there is no tool",
    "unsupported call",
    "is not a valid tool",
    "unavailable tool",
];

/// What a result says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultComplaint {
    /// It is an error about something else.
    Failed,
    /// The arguments are invalid.
    Invalid,
    /// There is no such tool.
    UnknownTool,
}

impl ResultComplaint {
    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Invalid => "said_invalid",
            Self::UnknownTool => "said_unknown_tool",
        }
    }
}

/// Reads the complaint of a result, if it is one, and the parameter that it names.
pub(crate) fn complaint(result: &RecordedResult<'_>) -> Option<(ResultComplaint, Option<String>)> {
    if !result.is_error && result.text.len() > PLAIN_BYTES {
        return None;
    }
    let most = if result.is_error {
        ERROR_CHARS
    } else {
        PLAIN_CHARS
    };
    let start: String = result.text.chars().take(most).collect();
    let lower = start.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| lower.contains(words));
    if says(&UNKNOWN) {
        return Some((ResultComplaint::UnknownTool, None));
    }
    if says(&INVALID) {
        return Some((ResultComplaint::Invalid, named_parameter(&start)));
    }
    result.is_error.then_some((ResultComplaint::Failed, None))
}

/// The parameter that a complaint names: `edits.0.path`.
fn named_parameter(text: &str) -> Option<String> {
    static NAMED: LazyLock<[Regex; 5]> = LazyLock::new(|| {
        [
            r#"(?i)(?:parameter|property|field|argument|key)s?:?\s+[`'"]([A-Za-z_][\w.-]{0,63})[`'"]"#,
            r#"[`'"]([A-Za-z_][\w.-]{0,63})[`'"]\s+(?:is\s+)?(?:missing|required|a required|unexpected)"#,
            r#"(?m)(?:^|: )\s*([A-Za-z_]\w{0,63}):\s+(?:Required|Field required|Expected|Invalid)"#,
            // Pydantic: the place on a line of its own, and the complaint below it.
            r#"(?m)^([A-Za-z_][\w.-]{0,63})\r?\n\s+(?:Input should|Field required|Missing required|Unexpected keyword|Extra inputs)"#,
            // Zod: a list of issues in JSON.
            r#""path":\s*\[([\s\w",.-]{1,200})\]"#,
        ]
        .map(|pattern| Regex::new(pattern).expect("the patterns are constant"))
    });
    let name = NAMED
        .iter()
        .find_map(|named| named.captures(text)?.get(1))?;
    let steps = name.as_str().split(',').map(|step| {
        let step = step.trim();
        step.trim_matches('"')
    });
    Some(steps.collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, is_error: bool) -> Option<(ResultComplaint, Option<String>)> {
        complaint(&RecordedResult::new(text, is_error))
    }

    #[test]
    fn complaints_name_their_parameter() {
        for (text, field) in [
            (
                "<tool_use_error>InputValidationError: Read failed due to the following issue:\nThe required parameter `file_path` is missing</tool_use_error>",
                Some("file_path"),
            ),
            (
                "failed to parse function arguments: missing field `command` at line 1 column 2",
                Some("command"),
            ),
            (
                "1 validation error for call[read]\nedits.0.path\n  Input should be a valid string",
                Some("edits.0.path"),
            ),
            (
                "MCP error -32602: Invalid arguments for tool read: path: Required",
                Some("path"),
            ),
            (
                "MCP error -32602: Invalid arguments for tool edit: [\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \"array\",\n    \"path\": [\n      \"edits\",\n      0,\n      \"path\"\n    ]\n  }\n]",
                Some("edits.0.path"),
            ),
            (
                "MCP error -32602: Invalid arguments for tool edit: [{\"code\": \"invalid_type\", \"path\": []}]",
                None,
            ),
            ("'path' is a required property", Some("path")),
            (
                "Error: invalid value for parameter `priority`",
                Some("priority"),
            ),
        ] {
            let (complaint, named) = read(text, true).unwrap();
            assert_eq!(complaint, ResultComplaint::Invalid, "{text}");
            assert_eq!(named.as_deref(), field, "{text}");
        }
        let unknown = read("Error: No such tool available: Raed", true).unwrap();
        assert_eq!(unknown.0, ResultComplaint::UnknownTool);
        assert_eq!(read("disk full", true).unwrap().0, ResultComplaint::Failed);
    }

    #[test]
    fn contents_that_speak_of_errors_are_not_complaints() {
        assert_eq!(read("ok", false), None);
        let file = format!("{}\nvalidation error", "line\n".repeat(40));
        assert_eq!(read(&file, false), None);
        let short = "Error: invalid arguments: field `a` is required";
        assert_eq!(read(short, false).unwrap().0, ResultComplaint::Invalid);
    }
}
