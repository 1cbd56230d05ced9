//! The table of calls in the texts of open models.

use std::fmt::Write as _;

use serde_json::Value;

use super::{items, name};

/// Writes a row for each family.
pub(super) fn table(text: &mut String, rows: &Value) {
    text.push_str(
        "\n## Calls in the texts of open models\n\n\
         The fixtures of the Python package canitoolcall, made of official templates, tests of\n\
         serving engines and reports of bugs, read without being told the family (`cargo xtask canitoolcall`).\n\
         **calls**: the right calls; **refused**: broken calls that are not run; **content** and **reasoning**: apart and\n\
         whole; **streamed**: the same in pieces of 1, 2, 3, 7, 16 and 64 characters. Each difference is argued in\n\
         [differences.tsv](../xtask/src/canitoolcall/differences.tsv).\n\n\
         | family | calls | refused | content | reasoning | streamed |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for row in items(rows) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            name(&row["family"]),
            name(&row["calls"]),
            name(&row["refused"]),
            name(&row["content"]),
            name(&row["reasoning"]),
            name(&row["streamed"]),
        );
    }
}
