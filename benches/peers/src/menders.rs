//! Broken text to a `Value`, by goodcall and by others.

use goodcall_core::{Policy, ReadOptions, read};
use serde_json::Value;

/// A reader of broken text.
pub struct Mender {
    pub name: &'static str,
    pub read: fn(&str) -> Option<Value>,
}

/// Every reader of broken text that is a Rust crate.
pub const MENDERS: [Mender; 4] = [
    Mender {
        name: "goodcall",
        read: |text| {
            let options = ReadOptions::new().policy(Policy::eager());
            read(text, &options).ok()?.tree.to_value().ok()
        },
    },
    Mender {
        name: "jsonrepair-rs",
        read: |text| jsonrepair_rs::jsonrepair_value(text).ok(),
    },
    Mender {
        name: "jsonfix",
        read: |text| jsonfix::loads(text).ok(),
    },
    Mender {
        name: "llm_json",
        read: |text| llm_json::loads(text, &llm_json::RepairOptions::default()).ok(),
    },
];
