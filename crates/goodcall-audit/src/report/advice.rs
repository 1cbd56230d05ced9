//! Advice on definitions: what the linter says about a field that fails often, and what its failures
//! themselves suggest.

use std::collections::HashMap;

use goodcall_wire::{LintRemark, LintedTool, lint};
use serde_json::Value;

use crate::aggregate::{Aggregate, FailureClass, FailureOutcome, schema_places};

/// Calls from which on a field fails often, or this part of its tool's calls.
const OFTEN: u64 = 3;
const OFTEN_PART: u64 = 100;

/// Gives advice on the tools of an audit.
pub(super) struct Advisor<'a> {
    aggregate: &'a Aggregate,
    /// Schema and remarks by tool.
    known: HashMap<String, Option<Definition>>,
}

struct Definition {
    schema: Value,
    remarks: Vec<LintRemark>,
}

impl<'a> Advisor<'a> {
    pub(super) fn new(aggregate: &'a Aggregate) -> Self {
        Self {
            aggregate,
            known: HashMap::new(),
        }
    }

    /// The advice on a kind of failure that was seen in this many calls of a tool.
    pub(super) fn advise(
        &mut self,
        tool: &str,
        class: &FailureClass,
        calls: u64,
        of_tool: u64,
    ) -> Vec<String> {
        if calls < OFTEN && calls.saturating_mul(OFTEN_PART) < of_tool {
            return Vec::new();
        }
        let mut advice: Vec<String> = by_code(&class.code)
            .map(str::to_owned)
            .into_iter()
            .collect();
        if class.outcome == FailureOutcome::Result {
            return advice;
        }
        let Some(definition) = self.definition(tool) else {
            return advice;
        };
        let place = schema_places(&class.field);
        let parent = class
            .field
            .rsplit_once('/')
            .map(|(parent, _)| schema_places(parent));
        let is_key = matches!(
            &*class.code,
            "unknown_key" | "unknown-key" | "key-style" | "key-typo"
        );
        for remark in &definition.remarks {
            let concerns = remark.at == place && !place.is_empty()
                || is_key && Some(&remark.at) == parent.as_ref();
            if concerns {
                advice.push(format!("lint: {} ({})", remark.what, remark.who));
            }
        }
        if let Some(subschema) = definition
            .schema
            .pointer(&place)
            .filter(|_| !place.is_empty())
        {
            advice.extend(unspoken(subschema));
        }
        advice
    }

    /// The definition by which most of the failures of a tool were judged.
    fn definition(&mut self, tool: &str) -> Option<&Definition> {
        let versions = self.aggregate.definitions.get(tool);
        let entry = self.known.entry(tool.to_owned()).or_insert_with(|| {
            let version = versions?.most_failed()?;
            let schema: Value = serde_json::from_str(&version.parameters).ok()?;
            let mut linted = LintedTool::new(tool, schema.clone());
            linted.description = version.description.as_deref().map(str::to_owned);
            let remarks = lint(&[linted]);
            Some(Definition { schema, remarks })
        });
        entry.as_ref()
    }
}

/// Limits of a subschema that its description does not mention.
fn unspoken(subschema: &Value) -> Option<String> {
    let description = subschema.get("description")?.as_str()?;
    let mut missing = Vec::new();
    for key in ["minimum", "maximum", "maxLength", "pattern", "maxItems"] {
        if let Some(limit) = subschema.get(key) {
            let limit = limit
                .as_str()
                .map_or_else(|| limit.to_string(), str::to_owned);
            if !description.contains(&limit) {
                missing.push(format!("{key} {limit}"));
            }
        }
    }
    (!missing.is_empty())
        .then(|| format!("the description does not mention {}", missing.join(", ")))
}

/// What a kind of failure suggests.
fn by_code(code: &str) -> Option<&'static str> {
    Some(match code {
        "missing" => {
            "say in the description that it is required and where its value comes from, or give it a default"
        }
        "unknown_key" | "unknown-key" => {
            "models expect this key: add it, or name the right one in the description"
        }
        "key-style" | "key-typo" | "key-markup" => {
            "models write this key differently: a more usual spelling would need no mending"
        }
        "type" | "string-to-number" | "string-to-boolean" | "whole-number" | "number-to-string" => {
            "name the type in words and with an example of the form, such as `20` without quotes"
        }
        "stringified" | "comma-list" | "scalar-to-array" | "indexed-object" => {
            "models send text for a list or an object here: describe its elements, or take a flatter form"
        }
        "enum" | "enum-spelling" | "enum-typo" => {
            "list the allowed values in the description, or accept the spelling that models use"
        }
        "too_large" | "too_small" | "too_long" | "too_short" | "too_many_items"
        | "too_few_items" => "name the bound in the description",
        "pattern" | "format" | "date-notation" => "show the form by an example in the description",
        "null-optional" | "empty-optional" => {
            "models send null or nothing for what they leave out: allow null"
        }
        "truncated" => {
            "calls are cut off: raise the limit of output tokens, or let the tool take long content in parts"
        }
        "empty" | "empty-arguments" => {
            "calls come without arguments: check that the model saw the schema"
        }
        "unknown_tool" | "said_unknown_tool" => {
            "models call a name that is not offered: offer it, or rename the tool that is meant"
        }
        "wrapped" | "wrapped-arguments" => {
            "arguments come inside another object: parameters at the top level are wrapped less often"
        }
        "no_alternative" | "several_alternatives" | "wrong_branch" => {
            "the forms of this union are hard to tell apart: split the tool, or add a field that names the form"
        }
        _ => return None,
    })
}
