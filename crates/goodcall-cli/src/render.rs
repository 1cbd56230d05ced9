//! Verdicts for people: the raw text with a caret at each issue and change.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use anstream::println;
use goodcall_core::{
    Change, Explain, Issue, IssueKind, Pointer, Reading, Refusal, Style, SyntaxExpectation,
    Verdict, expected_text,
};

/// Marks shown in one text; the rest are counted.
const MOST_MARKS: usize = 10;

/// A place in the raw text, with a label.
struct Mark {
    span: Range<usize>,
    label: String,
}

/// Prints a verdict.
pub(crate) fn verdict(tool: &str, file: &str, raw: &str, verdict: &Verdict<'_>, style: Style) {
    match verdict {
        Verdict::Good(_) => println!("{tool}: good"),
        Verdict::Mended(mended) => {
            let title = format!("{tool}: mended");
            snippet(
                Level::INFO,
                &title,
                file,
                raw,
                change_marks(raw, &mended.changes),
            );
            println!("\narguments:\n{}", indent(&mended.arguments.to_json()));
        }
        Verdict::Bad(bad) => {
            let title = format!("{tool}: bad ({})", bad.reason);
            let marks = issue_marks(raw, bad, "the arguments");
            snippet(Level::ERROR, &title, file, raw, marks);
            let text = Explain::new(style).tool(tool).text(bad);
            println!("\nthe model reads:\n{}", indent(&text));
        }
    }
}

/// Prints why nothing was mended in a call of a destructive tool.
pub(crate) fn destructive(tool: &str) {
    println!(
        "\nthe tool is destructive, so nothing is mended unless a policy names it \
         ([tools.{tool}] in a file for --policy)"
    );
}

/// Prints what was read from a text.
pub(crate) fn reading(file: &str, raw: &str, reading: &Reading<'_>) {
    if !reading.changes.is_empty() {
        let marks = change_marks(raw, &reading.changes);
        snippet(Level::INFO, "read with changes", file, raw, marks);
    }
    if let Some(cut) = &reading.cut {
        let place = place(&cut.pointer, "the text");
        println!("cut off at byte {}, in {place}; what was there:", cut.at);
    }
    println!("{}", reading.tree);
}

/// Prints why a text could not be read.
pub(crate) fn unreadable(file: &str, raw: &str, bad: &Refusal) {
    let title = format!("not readable ({})", bad.reason);
    let marks = issue_marks(raw, bad, "the text");
    snippet(Level::ERROR, &title, file, raw, marks);
}

/// Renders a pointer with dots; the root is called `whole`.
fn place(pointer: &Pointer, whole: &str) -> String {
    if pointer.is_root() {
        whole.to_owned()
    } else {
        pointer.dotted()
    }
}

fn issue_marks(raw: &str, bad: &Refusal, whole: &str) -> Vec<Mark> {
    // An unknown tool is not a place in the arguments.
    let placed = bad
        .issues
        .iter()
        .filter(|issue| issue.kind != IssueKind::UnknownTool);
    placed
        .map(|issue| Mark {
            span: match issue.kind {
                IssueKind::Missing => first_char(raw, &issue.span),
                _ => char_span(raw, &issue.span),
            },
            label: issue_label(issue, whole),
        })
        .collect()
}

fn issue_label(issue: &Issue, whole: &str) -> String {
    let place = place(&issue.pointer, whole);
    let expected = expected_text(&issue.expected);
    let got = issue.actual.as_ref();
    let got = got.map(|got| got.to_string().trim_end().replace('\n', " "));
    match (issue.kind, got) {
        (IssueKind::Missing, _) => format!("{place}: missing, expected {expected}"),
        (IssueKind::UnknownKey, _) => format!("{place}: no such parameter"),
        (IssueKind::Wrapped, _) => format!("{place}: not wanted around what it holds"),
        (IssueKind::Empty, _) => format!("{place}: empty"),
        (IssueKind::Malformed, _) if issue.expected.syntax == Some(SyntaxExpectation::Utf8) => {
            format!("{place}: not UTF-8")
        }
        // The value itself is not wrong, only its size.
        (IssueKind::Limit, _) => format!("{place}: expected {expected}"),
        (IssueKind::DuplicateKey, _) => format!("{place}: given twice, as {expected}"),
        (_, Some(got)) => format!("{place}: expected {expected}, got {got}"),
        (_, None) => format!("{place}: expected {expected}"),
    }
}

fn change_marks(raw: &str, changes: &[Change]) -> Vec<Mark> {
    changes
        .iter()
        .map(|change| Mark {
            span: char_span(raw, &change.span),
            label: change.sentence(),
        })
        .collect()
}

/// Cuts a span to the text and to character boundaries.
fn char_span(raw: &str, span: &Range<usize>) -> Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(raw.len());
        while !raw.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(span.start);
    start..boundary(span.end).max(start)
}

/// The first character of a span.
fn first_char(raw: &str, span: &Range<usize>) -> Range<usize> {
    let start = char_span(raw, span).start;
    start..start + raw[start..].chars().next().map_or(0, char::len_utf8)
}

fn snippet(level: Level<'_>, title: &str, file: &str, raw: &str, mut marks: Vec<Mark>) {
    let all = marks.len();
    marks.truncate(MOST_MARKS);
    let (start, shown) = part_around_marks(raw, &mut marks);
    let first_line = raw[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
    let file = match start {
        0 => file.to_owned(),
        start => format!("{file} from byte {start}"),
    };
    let annotations = marks.iter().map(|mark| {
        AnnotationKind::Primary
            .span(mark.span.clone())
            .label(&mark.label)
    });
    let source = Snippet::source(shown)
        .path(file)
        .line_start(first_line)
        .annotations(annotations);
    let source = (!marks.is_empty()).then_some(source);
    let group = level.primary_title(title).elements(source);
    println!("{}", Renderer::styled().render(&[group]));
    match all - marks.len() {
        0 => {}
        1 => println!("and 1 more place"),
        more => println!("and {more} more places"),
    }
}

/// Returns the part of a large text around its first mark, and where it starts. Marks outside of it
/// are dropped, the others are moved.
fn part_around_marks<'r>(raw: &'r str, marks: &mut Vec<Mark>) -> (usize, &'r str) {
    const AROUND: usize = 8 << 10;
    let first = marks.iter().map(|mark| mark.span.start).min();
    let Some(first) = first.filter(|_| raw.len() > 4 * AROUND) else {
        return (0, raw);
    };
    let Range { start, end } = char_span(raw, &(first.saturating_sub(AROUND)..first + 2 * AROUND));
    marks.retain(|mark| mark.span.start >= start && mark.span.start <= end);
    for mark in marks {
        mark.span = mark.span.start - start..mark.span.end.min(end) - start;
    }
    (start, &raw[start..end])
}

fn indent(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}"));
    lines.collect::<Vec<_>>().join("\n")
}
