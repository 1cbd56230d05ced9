//! One screen for a terminal.

use std::borrow::Cow;
use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{AuditReport, ReportFailure, ReportRow};
use crate::aggregate::{CallCounts, FailureOutcome};

/// Rows of each table.
const ROWS: usize = 6;
/// The widest name.
const NAME_CHARS: usize = 40;

const PLAIN: Style = Style::new();
const HEAD: Style = Style::new().bold();
const SOFT: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const MENDED: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// A column of counts: title, style, and the count of a row.
type CountColumn = (&'static str, Style, fn(&CallCounts) -> u64);
const COLUMNS: [CountColumn; 7] = [
    ("calls", PLAIN, |counts| counts.calls),
    ("bad", BAD, |counts| counts.bad),
    ("mended", MENDED, |counts| counts.mended),
    ("good", PLAIN, |counts| counts.good),
    ("no tools", PLAIN, |counts| counts.without_tools),
    ("broken", BAD, |counts| counts.broken),
    ("said invalid", BAD, |counts| counts.said_invalid),
];

pub(super) fn write(report: &AuditReport) -> String {
    let mut out = String::new();
    let parts = [
        totals, policies, tools, fields, models, loops, spent, problems,
    ];
    for part in parts {
        // Writing to a string does not fail.
        let _ = part(&mut out, report);
    }
    out
}

/// A number with separators: `1,234,567`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A part of a whole, in percent.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        0.0 => "0 %".to_owned(),
        small if small < 0.1 => "< 0.1 %".to_owned(),
        other => format!("{other:.1} %"),
    }
}

fn plural(count: u64, word: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {word}{end}", number(count))
}

fn named(name: &str) -> String {
    let name = if name.is_empty() {
        "(not recorded)"
    } else {
        name
    };
    goodcall_core::clip(&plain(name), NAME_CHARS)
}

/// A text of a recording, with control characters escaped: they would act on the terminal.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().map(|one| {
        if one.is_control() {
            one.escape_default().to_string()
        } else {
            one.to_string()
        }
    });
    Cow::Owned(escaped.collect())
}

fn totals(out: &mut String, report: &AuditReport) -> fmt::Result {
    let (totals, counts) = (&report.totals, &report.totals.counts);
    let formats: Vec<_> = report
        .sources
        .iter()
        .map(|source| format!("{} {}", source.format, number(source.counts.files)))
        .collect();
    let formats = if formats.is_empty() {
        String::new()
    } else {
        format!(" ({})", formats.join(", "))
    };
    writeln!(
        out,
        "{HEAD}{} in {}{HEAD:#}{formats}",
        plural(counts.calls, "call"),
        plural(totals.files, "file")
    )?;
    let line = |out: &mut String, name: &str, count: u64, rest: &str| {
        writeln!(out, "  {name:<16}{:>12}{rest}", number(count))
    };
    let part = |style: Style, name: &str, count: u64| {
        let (count, share) = (number(count), percent(count, totals.judged));
        format!("   {style}{name}{style:#} {count} ({share})")
    };
    let verdicts = [
        part(GOOD, "good", counts.good),
        part(MENDED, "mended", counts.mended),
        part(BAD, "bad", counts.bad),
    ];
    let verdicts = match totals.judged {
        0 => String::new(),
        _ => verdicts.concat(),
    };
    line(out, "judged", totals.judged, &verdicts)?;
    let broken = match counts.broken {
        0 => String::new(),
        broken => format!(
            "   {BAD}broken{BAD:#} {} (not one whole JSON object)",
            number(broken)
        ),
    };
    line(out, "without tools", counts.without_tools, &broken)?;
    line(out, "unreadable", totals.unreadable, "")?;
    if counts.said_invalid > 0 {
        let said = "   results that say so, whatever the verdict";
        line(out, "said invalid", counts.said_invalid, said)?;
    }
    let notes = [
        (
            counts.without_tools,
            " without a definition: hand in the tools (`--tools`, `--mcp`) to have them judged",
        ),
        (
            counts.text_lost,
            ": the recording has parsed values: mistakes in the text itself are lost",
        ),
    ];
    for (count, note) in notes.into_iter().filter(|(count, _)| *count > 0) {
        writeln!(out, "  {SOFT}{}{note}{SOFT:#}", plural(count, "call"))?;
    }
    Ok(())
}

fn policies(out: &mut String, report: &AuditReport) -> fmt::Result {
    let counts = &report.totals.counts;
    let invalid = counts.mended + counts.bad;
    if invalid == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "\n{HEAD}not valid as sent{HEAD:#} {}; of these `safe` mends {} ({}), `eager` {} ({})",
        number(invalid),
        number(counts.safe_mended),
        percent(counts.safe_mended, invalid),
        number(counts.eager_mended),
        percent(counts.eager_mended, invalid),
    )
}

/// A table of tools or models that failed.
fn rows(out: &mut String, title: &str, rows: &[ReportRow]) -> fmt::Result {
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.failed() + row.counts.mended > 0)
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let shown = &rows[..rows.len().min(ROWS)];
    let names = shown.iter().map(|row| named(&row.name).chars().count());
    let width = names.max().unwrap_or(0).max(title.len() - 2);
    // A column of zeros tells nothing.
    let columns: Vec<_> = COLUMNS
        .into_iter()
        .filter(|(_, _, count)| shown.iter().any(|row| count(&row.counts) > 0))
        .collect();
    write!(out, "\n{HEAD}{title:<width$}{HEAD:#}  ", width = width + 2)?;
    for (title, _, _) in &columns {
        write!(out, "{title:>width$}", width = column_width(title))?;
    }
    writeln!(out)?;
    for row in shown {
        write!(out, "  {:<width$}  ", named(&row.name))?;
        for (title, style, count) in &columns {
            let (count, width) = (number(count(&row.counts)), column_width(title));
            write!(out, "{style}{count:>width$}{style:#}")?;
        }
        writeln!(out)?;
    }
    more(out, rows.len())
}

/// The width of a column of counts.
fn column_width(title: &str) -> usize {
    (title.len() + 2).max(10)
}

fn more(out: &mut String, count: usize) -> fmt::Result {
    match count.saturating_sub(ROWS) {
        0 => Ok(()),
        rest => writeln!(out, "  {SOFT}and {rest} more{SOFT:#}"),
    }
}

fn tools(out: &mut String, report: &AuditReport) -> fmt::Result {
    rows(out, "worst tools", &report.tools)
}

fn models(out: &mut String, report: &AuditReport) -> fmt::Result {
    let known = report.models.iter().any(|row| !row.name.is_empty());
    rows(
        out,
        "worst models",
        if known { &report.models } else { &[] },
    )?;
    let several = report
        .servers
        .iter()
        .filter(|row| !row.name.is_empty())
        .count()
        > 1;
    rows(
        out,
        "worst servers",
        if several { &report.servers } else { &[] },
    )
}

fn fields(out: &mut String, report: &AuditReport) -> fmt::Result {
    // What was mended matters less than what was not.
    let (mended, failed): (Vec<_>, Vec<_>) = report
        .failures
        .iter()
        .filter(|failure| failure.code != "failed")
        .partition(|failure| failure.outcome == FailureOutcome::Mended);
    failures(out, "worst fields", &failed)?;
    failures(out, "most mended", &mended)
}

fn failures(out: &mut String, title: &str, list: &[&ReportFailure]) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{HEAD}{title}{HEAD:#}")?;
    for failure in list.iter().take(ROWS) {
        let field = match failure.field.as_str() {
            "" => String::new(),
            field => format!(" {}", plain(field)),
        };
        let style = match failure.outcome {
            FailureOutcome::Mended => MENDED,
            _ => BAD,
        };
        writeln!(
            out,
            "  {:>8} {:>7}  {}{field}: {style}{}{style:#}",
            number(failure.calls),
            format!("{:.1} %", failure.share * 100.0),
            named(&failure.tool),
            plain(&failure.code),
        )?;
    }
    more(out, list.len())
}

fn loops(out: &mut String, report: &AuditReport) -> fmt::Result {
    if report.loops.is_empty() {
        return Ok(());
    }
    let all: u64 = report.loops.iter().map(|one| one.stats.loops).sum();
    writeln!(out, "\n{HEAD}loops{HEAD:#} {}", number(all))?;
    for one in report.loops.iter().take(ROWS) {
        let place = one.stats.places.first.first();
        let place = place.map_or_else(String::new, |place| {
            let place = place.to_string();
            format!("  {SOFT}{}{SOFT:#}", plain(&place))
        });
        writeln!(
            out,
            "  {:>8}  {} of {}, up to {} times{place}",
            number(one.stats.loops),
            plain(&one.signal),
            named(&one.tools),
            number(one.stats.longest),
        )?;
    }
    more(out, report.loops.len())
}

fn spent(out: &mut String, report: &AuditReport) -> fmt::Result {
    let turns = &report.turns;
    if turns.failed.turns == 0 {
        return Ok(());
    }
    let saved = match report.totals.judged {
        0 => String::new(),
        _ => format!(
            "; `safe` saves {}, `eager` {}",
            number(turns.safe_saved.turns),
            number(turns.eager_saved.turns)
        ),
    };
    let tokens = match turns.counted {
        0 => String::new(),
        _ => format!(
            ", {} tokens read and {} written",
            number(turns.failed.input_tokens),
            number(turns.failed.output_tokens)
        ),
    };
    writeln!(
        out,
        "\n{HEAD}spent on failures{HEAD:#} {} of {}{tokens}{saved}",
        plural(turns.failed.turns, "round trip"),
        number(turns.all.turns),
    )
}

fn problems(out: &mut String, report: &AuditReport) -> fmt::Result {
    let problems = &report.problems;
    for (title, list) in [
        ("unreadable", &problems.unreadable),
        ("definitions that cannot be used", &problems.unusable_tools),
        ("skipped files", &problems.skipped),
    ] {
        if list.is_empty() {
            continue;
        }
        writeln!(out, "\n{HEAD}{title}{HEAD:#}")?;
        for (reason, places) in list {
            let named: Vec<_> = places
                .first
                .iter()
                .take(2)
                .map(|place| match place.record {
                    0 => plain(&place.file).into_owned(),
                    _ => plain(&place.to_string()).into_owned(),
                })
                .collect();
            let more = match places.count as usize - named.len() {
                0 => String::new(),
                more => format!(" and {} more", number(more as u64)),
            };
            writeln!(
                out,
                "  {:>8}  {}: {}{more}",
                number(places.count),
                plain(reason),
                named.join(", ")
            )?;
        }
    }
    Ok(())
}
