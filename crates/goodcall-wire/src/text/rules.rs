//! The catalogue's pages for the rules that read calls in text.

use goodcall_core::{Example, Level, Rule, RuleId};

/// Every rule by name: those of the core, and those that read calls in text.
///
/// ```
/// let names: Vec<_> = goodcall_wire::catalogue().iter().map(|rule| rule.id.name()).collect();
/// assert!(names.contains(&"trailing-comma") && names.contains(&"tool-name"));
/// ```
pub fn catalogue() -> Vec<Rule> {
    let mut rules = goodcall_core::catalogue();
    rules.extend(RULES);
    rules.sort_by_key(|rule| rule.id);
    rules
}

const fn rule(
    id: RuleId,
    what: &'static str,
    why: &'static str,
    not_when: &'static [&'static str],
    example: Example,
) -> Rule {
    Rule {
        id,
        level: Level::Safe,
        what,
        why,
        not_when,
        example,
    }
}

/// A text with a call of the tool `f` in it, and the arguments that come out.
const fn of_f(schema: &'static str, raw: &'static str, mended: &'static str) -> Example {
    Example {
        tool: Some("f"),
        schema,
        raw,
        mended,
    }
}

const TEXT: &str = r#"{"type": "object", "properties": {"s": {"type": "string"}}}"#;
const NUMBER: &str = r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#;
const NUMBERS: &str = r#"{"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}}"#;

const RULES: [Rule; 8] = [
    rule(
        RuleId::ToolName,
        "Takes the offered tool's name for one with junk around it, other separators or another \
         case.",
        "Exactly one offered tool fits.",
        &[
            "The name is that of an offered tool as it is.",
            "Two offered tools fit.",
        ],
        of_f(
            TEXT,
            r#"<tool_call>{"name": "functions.f", "arguments": {"s": "a"}}</tool_call>"#,
            r#"{"s": "a"}"#,
        ),
    ),
    rule(
        RuleId::UntypedText,
        "Reads a value of a format without types as the type that the schema declares.",
        "The format writes every value as bare text, so only the schema can tell its type.",
        &[
            "The schema declares a string: the text is kept, and the rule names only quotes around it.",
        ],
        of_f(
            NUMBER,
            "<tool_call>\n<function=f>\n<parameter=n>\n+5\n</parameter>\n</function>\n</tool_call>",
            r#"{"n":5}"#,
        ),
    ),
    rule(
        RuleId::PythonObject,
        "Reads arguments that are an object in Python's notation.",
        "The text is not JSON in any reading, and Python has one for it.",
        &[],
        of_f(
            TEXT,
            "<tool_call>{\"name\": \"f\", \"arguments\": {'s': 'a' 'b'}}</tool_call>",
            r#"{"s":"ab"}"#,
        ),
    ),
    rule(
        RuleId::PythonSum,
        "Works out a sum or a product of plain numbers in a call in Python's notation, and a power of ten \
         as people write it (`1.6 x 10^-19`).",
        "In Python such an argument is its value; the power of ten can mean nothing else.",
        &[
            "There is anything but `+`, `-`, `*`, `/` and `**` of plain numbers.",
            "The numbers are too long for exact arithmetic. Only a result without an end (`1/6`) is rounded, once.",
        ],
        of_f(NUMBER, "[f(n=5 * 3)]", r#"{"n":15}"#),
    ),
    rule(
        RuleId::PythonRange,
        "Writes out a `range` of whole numbers in a call in Python's notation.",
        "In Python such an argument is the list of its numbers.",
        &[
            "There is anything but plain whole numbers in its brackets.",
            "It has more than 128 elements.",
            "The parameter takes text.",
        ],
        of_f(NUMBERS, "[f(list=range(2, 9, 3))]", r#"{"list":[2,5,8]}"#),
    ),
    rule(
        RuleId::BareWords,
        "Reads words without quotes as a string in a call in Python's notation.",
        "Names mean nothing outside of a program, so they can only be text.",
        &["There are brackets, quotes or placeholders in the words."],
        of_f(TEXT, "[f(s=New York)]", r#"{"s":"New York"}"#),
    ),
    rule(
        RuleId::InnerQuotes,
        "Keeps unescaped quotes inside a string as text in a call in Python's notation.",
        "Nothing that could follow a string follows the quote.",
        &[],
        of_f(
            TEXT,
            r#"[f(s="say "hi" now")]"#,
            r#"{"s":"say \"hi\" now"}"#,
        ),
    ),
    rule(
        RuleId::MarkdownEscapes,
        "Drops the backslash of an escaped underscore or another mark of Markdown in a call in \
         Python's notation.",
        "Python has no such escape, Markdown needs it, and the tool's own name was escaped too.",
        &[],
        Example {
            tool: Some("get_it"),
            schema: TEXT,
            raw: r"[get\_it(s='a\_b')]",
            mended: r#"{"s":"a_b"}"#,
        },
    ),
];
