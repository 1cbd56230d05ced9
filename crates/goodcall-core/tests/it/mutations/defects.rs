//! Realistic calls, and the defects that models put into them.
//!
//! Each defect changes the text and not its meaning, so reading the damaged text should give the
//! undamaged call. Everything is deterministic.

/// Realistic calls without a defect.
pub(crate) const CALLS: [&str; 24] = [
    r#"{"path": "src/main.rs", "old": "let x = 1;", "new": "let x = 2;", "all": false}"#,
    r#"{"query": "weather in Berlin, tomorrow", "limit": 5, "lang": "de"}"#,
    r#"{"to": ["anna@example.com", "ben@example.com"], "subject": "Lunch?", "body": "Hi all,\n\nare you free at 12:30?\n\nBest", "urgent": true}"#,
    r#"{"command": "grep -rn \"TODO\" src/ | wc -l", "timeout": 30000, "cwd": "/home/me/project"}"#,
    r#"{"city": "São Paulo", "units": "metric", "days": 3}"#,
    r#"{"edits": [{"path": "a.py", "line": 10, "text": "def f(x):\n\treturn x + 1\n"}, {"path": "b.py", "line": 22, "text": "pass"}]}"#,
    r#"{"title": "Fix crash on empty input", "labels": ["bug", "p1"], "assignee": null, "milestone": 12}"#,
    r#"{"sql": "SELECT name, age FROM users WHERE age > 30 ORDER BY name", "params": [], "readonly": true}"#,
    r#"{"url": "https://api.example.com/v2/items?page=2&size=50", "method": "GET", "headers": {"Accept": "application/json", "X-Trace": "abc-123"}}"#,
    r#"{"latitude": 52.52, "longitude": 13.405, "radius": 1500}"#,
    r#"{"pattern": "^\\d{3}-\\d{4}$", "flags": ["i", "m"], "paths": ["docs", "src"]}"#,
    r#"{"id": 12345678901234567890, "status": "active", "note": null}"#,
    r#"{"message": "He said \"yes\" and left", "channel": "general", "thread": {"ts": "1700000000.1234", "reply": true}}"#,
    r#"{"items": [{"sku": "A-1", "qty": 2, "price": 9.99}, {"sku": "B-2", "qty": 1, "price": 120.0}], "currency": "EUR", "gift": false}"#,
    r##"{"html": "<a href=\"x.html\">link</a>", "target": "#main", "append": true}"##,
    r#"{"name": "resize", "args": {"width": 640, "height": 480, "keep": true}, "inputs": ["in.png"], "output": "out.png"}"#,
    r#"{"start": "2024-05-01T09:00:00Z", "end": "2024-05-01T10:00:00Z", "attendees": ["a", "b", "c"], "online": true}"#,
    r#"{"file": "C:\\Users\\ann\\report.docx", "format": "pdf", "pages": [1, 2, 3]}"#,
    r#"{"thought": "The user wants {x} replaced by [y], so: check first.", "action": "search", "count": 1}"#,
    r#"{"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "label": "identity", "scale": -0.5}"#,
    r#"{"text": "It's 5 o'clock; don't be late!", "voice": "alto", "speed": 1.25}"#,
    r##"{"content": "# Title\n\nSome *text* with `code` and a list:\n- one\n- two\n", "path": "README.md", "mode": "overwrite"}"##,
    r#"{"filter": {"and": [{"field": "age", "op": "gt", "value": 21}, {"field": "country", "op": "in", "value": ["DE", "FR"]}]}, "sort": "-age", "limit": 100}"#,
    r#"{"code": "for i in range(3):\n    print(f\"{i}: {i * i}\")", "language": "python", "args": {}}"#,
];

/// A deterministic source of choices.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most.max(1)
    }
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Key,
    Text,
    Number,
    Word,
    Mark(char),
}

/// Splits a text that is JSON, or nearly so, into tokens.
fn tokens(text: &str) -> Vec<(Kind, usize, usize)> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                let colon = text
                    .get(at..)
                    .is_some_and(|rest| rest.trim_start().starts_with(':'));
                if colon { Kind::Key } else { Kind::Text }
            }
            b'0'..=b'9' | b'-' => {
                while at < bytes.len() && b"0123456789+-.eE".contains(&bytes[at]) {
                    at += 1;
                }
                Kind::Number
            }
            b'a'..=b'z' => {
                while at < bytes.len() && bytes[at].is_ascii_alphabetic() {
                    at += 1;
                }
                Kind::Word
            }
            mark @ (b'{' | b'}' | b'[' | b']' | b',' | b':') => {
                at += 1;
                Kind::Mark(mark.into())
            }
            _ => {
                at += 1;
                continue;
            }
        };
        if text.is_char_boundary(start) && text.is_char_boundary(at) {
            out.push((kind, start, at));
        }
    }
    out
}

/// A range of bytes and its replacement.
pub(crate) type Edit = (usize, usize, String);

/// Replaces one of the places that a test picks.
fn replace(
    text: &str,
    dice: &mut Dice,
    wanted: impl Fn(Kind, &str) -> bool,
    with: impl Fn(&str) -> String,
) -> Vec<Edit> {
    let mut all = replace_all(text, wanted, with);
    if all.is_empty() {
        return all;
    }
    let chosen = dice.below(all.len());
    vec![all.swap_remove(chosen)]
}

/// Replaces all of them.
fn replace_all(
    text: &str,
    wanted: impl Fn(Kind, &str) -> bool,
    with: impl Fn(&str) -> String,
) -> Vec<Edit> {
    let fit = tokens(text).into_iter();
    fit.filter(|(kind, a, b)| wanted(*kind, &text[*a..*b]))
        .map(|(_, start, end)| (start, end, with(&text[start..end])))
        .collect()
}

/// Applies all edits; `None` if two of them touch the same bytes.
pub(crate) fn apply(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort();
    let mut out = String::new();
    let mut copied = 0;
    for (start, end, with) in edits {
        out.push_str(text.get(copied..start)?);
        out.push_str(&with);
        copied = end;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

fn is_string(kind: Kind) -> bool {
    matches!(kind, Kind::Key | Kind::Text)
}

fn inner(token: &str) -> &str {
    token.trim_start_matches('"').trim_end_matches('"')
}

fn is_plain(token: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !inner(token).is_empty() && inner(token).bytes().all(plain)
}

fn no_quotes(token: &str) -> bool {
    !inner(token).contains(['\'', '"', '\\', '`'])
}

/// The way in which a defect changes a text.
pub(crate) enum Damage {
    /// It replaces tokens.
    Tokens(fn(&str, &mut Dice) -> Vec<Edit>),
    /// It changes the text as a whole.
    Whole(fn(&str) -> String),
}

use Damage::{Tokens, Whole};

/// Every defect, by name.
pub(crate) const DEFECTS: [(&str, Damage); 52] = [
    (
        "trailing comma",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, _| matches!(k, Kind::Mark('}' | ']')),
                |m| format!(",{m}"),
            )
        }),
    ),
    (
        "doubled comma in an object",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Key, |m| format!(",{m}"))),
    ),
    (
        "missing comma",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(','), |_| " ".into())),
    ),
    (
        "newline for comma",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(','), |_| "\n".into())),
    ),
    (
        "semicolon for comma",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(','), |_| ";".into())),
    ),
    (
        "missing colon",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(':'), |_| " ".into())),
    ),
    (
        "equals for colon",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(':'), |_| " =".into())),
    ),
    (
        "arrow for colon",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(':'), |_| " =>".into())),
    ),
    (
        "doubled colon",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(':'), |_| "::".into())),
    ),
    (
        "full-width colons",
        Tokens(|t, _| replace_all(t, |k, _| k == Kind::Mark(':'), |_| "：".into())),
    ),
    (
        "full-width commas",
        Tokens(|t, _| replace_all(t, |k, _| k == Kind::Mark(','), |_| "，".into())),
    ),
    (
        "single quotes",
        Tokens(|t, _| {
            replace_all(
                t,
                |k, s| is_string(k) && no_quotes(s),
                |s| format!("'{}'", inner(s)),
            )
        }),
    ),
    (
        "one string in single quotes",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| is_string(k) && no_quotes(s),
                |s| format!("'{}'", inner(s)),
            )
        }),
    ),
    (
        "single quotes, apostrophes inside",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && !s.contains(['\\', '`']),
                |s| format!("'{}'", inner(s)),
            )
        }),
    ),
    (
        "smart quotes",
        Tokens(|t, _| {
            replace_all(
                t,
                |k, s| is_string(k) && no_quotes(s),
                |s| format!("“{}”", inner(s)),
            )
        }),
    ),
    (
        "backticks",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && no_quotes(s),
                |s| format!("`{}`", inner(s)),
            )
        }),
    ),
    (
        "triple quotes",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && no_quotes(s) && s.len() > 2,
                |s| format!("\"\"{s}\"\""),
            )
        }),
    ),
    (
        "doubled quotes",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && is_plain(s),
                |s| format!("\"{s}\""),
            )
        }),
    ),
    (
        "unquoted keys",
        Tokens(|t, _| replace_all(t, |k, s| k == Kind::Key && is_plain(s), |s| inner(s).into())),
    ),
    (
        "one unquoted key",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Key && is_plain(s),
                |s| inner(s).into(),
            )
        }),
    ),
    (
        "unquoted word",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && is_plain(s) && !s.starts_with("\"1"),
                |s| inner(s).into(),
            )
        }),
    ),
    (
        "key without opening quote",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Key, |s| s[1..].into())),
    ),
    (
        "key without closing quote",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Key, |s| s[..s.len() - 1].into())),
    ),
    (
        "string without opening quote",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && s.len() > 2,
                |s| s[1..].into(),
            )
        }),
    ),
    (
        "string without closing quote",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && s.len() > 2,
                |s| s[..s.len() - 1].into(),
            )
        }),
    ),
    (
        "escaped quotes around a string",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && no_quotes(s),
                |s| format!("\\\"{}\\\"", inner(s)),
            )
        }),
    ),
    (
        "unescaped inner quotes",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && inner(s).contains("\\\""),
                |s| s.replace("\\\"", "\""),
            )
        }),
    ),
    (
        "raw newlines",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && s.contains("\\n"),
                |s| s.replace("\\n", "\n"),
            )
        }),
    ),
    (
        "raw tab",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && s.contains("\\t"),
                |s| s.replace("\\t", "\t"),
            )
        }),
    ),
    (
        "single backslashes",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && s.contains("\\\\"),
                |s| s.replace("\\\\", "\\"),
            )
        }),
    ),
    (
        "escaped apostrophe",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && s.contains('\''),
                |s| s.replace('\'', "\\'"),
            )
        }),
    ),
    (
        "hexadecimal escape",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Text && s.contains('a') && !s.contains('\\'),
                |s| s.replacen('a', "\\x61", 1),
            )
        }),
    ),
    (
        "Python literals",
        Tokens(|t, _| {
            replace_all(
                t,
                |k, _| k == Kind::Word,
                |w| match w {
                    "true" => "True".into(),
                    "false" => "False".into(),
                    _ => "None".into(),
                },
            )
        }),
    ),
    (
        "upper-case literal",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Word, str::to_uppercase)),
    ),
    (
        "plus sign",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Number && !s.starts_with('-'),
                |s| format!("+{s}"),
            )
        }),
    ),
    (
        "leading zero",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Number && s.bytes().all(|b| b.is_ascii_digit()),
                |s| format!("0{s}"),
            )
        }),
    ),
    (
        "grouped digits",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Number && s.len() > 3 && s.bytes().all(|b| b.is_ascii_digit()),
                |s| format!("{}_{}", &s[..s.len() - 3], &s[s.len() - 3..]),
            )
        }),
    ),
    (
        "trailing dot",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, s| k == Kind::Number && !s.contains('.'),
                |s| format!("{s}."),
            )
        }),
    ),
    (
        "line comment",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, _| k == Kind::Mark(','),
                |m| format!("{m} // and \"more\"\n"),
            )
        }),
    ),
    (
        "block comment",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, _| k == Kind::Mark(':'),
                |m| format!("{m} /* it's {{here}} */ "),
            )
        }),
    ),
    (
        "hash comment",
        Tokens(|t, d| {
            replace(
                t,
                d,
                |k, _| k == Kind::Mark(','),
                |m| format!("{m} # note, this\n"),
            )
        }),
    ),
    (
        "wrong closing bracket",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(']'), |_| "}".into())),
    ),
    (
        "missing closing bracket",
        Tokens(|t, d| replace(t, d, |k, _| k == Kind::Mark(']'), |_| String::new())),
    ),
    (
        "missing final bracket",
        Whole(|t| t.strip_suffix('}').unwrap_or(t).to_owned()),
    ),
    ("extra final bracket", Whole(|t| format!("{t}}}"))),
    (
        "odd spaces",
        Whole(|t| format!("\u{feff}{}", t.replacen("\": ", "\":\u{a0}", 1))),
    ),
    ("code fence", Whole(|t| format!("```json\n{t}\n```"))),
    (
        "prose",
        Whole(|t| {
            format!("Sure! Here is the call for {{you}}:\n\n{t}\n\nLet me know if it works.")
        }),
    ),
    (
        "thoughts",
        Whole(|t| format!("<think>maybe {{\"a\": 1}}?</think>\n{t}")),
    ),
    ("chat tokens", Whole(|t| format!("<|tool_call|>{t}<|end|>"))),
    (
        "every quote escaped",
        Whole(|t| t.replace('\\', "\\\\").replace('"', "\\\"")),
    ),
    ("a call around it", Whole(|t| format!("call({t});"))),
];
