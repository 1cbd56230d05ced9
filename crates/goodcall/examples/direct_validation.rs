//! Checks parameters directly, without a toolbox and without running anything.
//!
//! `cargo run -p goodcall --example direct_validation`

use goodcall::goodcall_core::{Explain, Schema, SchemaError, Style, Verdict, check};
use serde_json::json;

fn main() -> Result<(), SchemaError> {
    let schema = Schema::compile(&json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "unit": {"enum": ["lines", "bytes"]},
        },
        "required": ["path"],
        "additionalProperties": false,
    }))?;
    for raw in [
        r#"{"path": "a.txt", "limit": 10}"#,
        r#"{"filePath": "a.txt", "limit": 500, "unit": "words"}"#,
        r#"{"path": "a.txt", "lim"#,
    ] {
        println!("arguments: {raw}");
        match check(raw, &schema) {
            Verdict::Good(tree) => println!("good: {tree}\n"),
            Verdict::Mended(mended) => println!("mended: {}\n", mended.arguments),
            Verdict::Bad(bad) => {
                for style in [Style::Model, Style::Instruction] {
                    println!(
                        "{}:\n{}",
                        style.name(),
                        Explain::new(style).tool("read").text(&bad)
                    );
                }
                println!();
            }
        }
    }
    Ok(())
}
