//! Kinds of failure as CSV (RFC 4180), one per line and model.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::AuditReport;

pub(super) fn write(report: &AuditReport) -> String {
    let mut out = String::from("tool,outcome,code,field,model,calls,calls_of_tool,share\r\n");
    for failure in &report.failures {
        let tool = report.tools.iter().find(|row| row.name == failure.tool);
        let of_tool = tool.map_or(failure.calls, |row| row.counts.calls);
        for (model, calls) in &failure.models {
            let _ = write!(
                out,
                "{},{},{},{},{},{calls},{of_tool},{:.6}\r\n",
                field(&failure.tool),
                failure.outcome.name(),
                field(&failure.code),
                field(&failure.field),
                field(model),
                *calls as f64 / of_tool.max(1) as f64,
            );
        }
    }
    out
}

/// A field, quoted where it must be. Spreadsheets take some texts for formulas, and names come from
/// models: those are made text.
fn field(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t']);
    if !is_formula && !text.contains([',', '"', '\r', '\n']) {
        return Cow::Borrowed(text);
    }
    let mark = if is_formula { "'" } else { "" };
    Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cannot_break_out_of_their_cell() {
        assert_eq!(field("read_file"), "read_file");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1"), "\"'=1+1\"");
    }
}
