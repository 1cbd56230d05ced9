//! The report as one page that needs nothing else.

use serde_json::Value;

use super::AuditReport;

const PAGE: &str = include_str!("../page/report.html");
const DESIGN: &str = include_str!("../page/design.css");

/// Bytes of data that a page holds; examples of rare failures are left out beyond that.
const MOST_BYTES: usize = 1_700_000;

/// Writes the page.
pub(super) fn write(report: &AuditReport) -> String {
    let mut report = report.clone();
    let mut data = escaped(&report);
    let mut kept = report.failures.len();
    while data.len() > MOST_BYTES && kept > 0 {
        // The most frequent failures come first, and keep their examples longest.
        kept /= 2;
        for failure in report.failures.iter_mut().skip(kept) {
            failure.examples.clear();
        }
        data = escaped(&report);
    }
    page(PAGE, &[("/*STYLE*/", DESIGN), ("/*DATA*/", &data)])
}

/// Fills a page in.
pub(crate) fn page(template: &str, parts: &[(&str, &str)]) -> String {
    let mut out = template.to_owned();
    for (mark, text) in parts {
        out = out.replacen(mark, text, 1);
    }
    out
}

/// JSON that can stand inside a script: nothing in it ends the script.
fn escaped(report: &AuditReport) -> String {
    let value: Value =
        serde_json::to_value(report).expect("a report has string keys and no failing value");
    value.to_string().replace('<', "\\u003c")
}
