//! Compiles the keywords about the elements of arrays and the members of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::compile::{Compiler, NoFastPath, OBJECT};
use super::keyword_groups::{KeywordGroup, length};
use super::string_formats::SimplePattern;
use super::{ArrayCheck, ExtraMembers, KeyTable, ObjectCheck, PatternChecks};
use crate::names::spelling_bits;
use crate::schema::Draft;

static ANYTHING: Value = Value::Bool(true);
static NOTHING: Value = Value::Bool(false);

impl<'c> Compiler<'c> {
    pub(super) fn array(
        &mut self,
        map: &'c Map<String, Value>,
    ) -> Result<KeywordGroup<ArrayCheck>, NoFastPath> {
        let keywords = [
            "items",
            "minItems",
            "maxItems",
            "uniqueItems",
            "prefixItems",
        ];
        if !keywords.iter().any(|keyword| map.contains_key(*keyword)) {
            return Ok(KeywordGroup::Absent);
        }
        let (first, others) = match (map.get("prefixItems"), map.get("items"), self.draft) {
            (None, None | Some(Value::Object(_) | Value::Bool(_)), _) => (None, "items"),
            (Some(first), None | Some(Value::Object(_) | Value::Bool(_)), Draft::Draft202012) => {
                (Some(first), "items")
            }
            (_, _, Draft::Draft202012) | (Some(_), _, _) => {
                return Ok(KeywordGroup::LeftToValidator);
            }
            (None, first, _) => (first, "additionalItems"),
        };
        let first = match first {
            None => &[],
            Some(Value::Array(first)) => first.as_slice(),
            Some(_) => return Ok(KeywordGroup::LeftToValidator),
        };
        let unique = match map.get("uniqueItems") {
            None => false,
            Some(Value::Bool(unique)) => *unique,
            Some(_) => return Ok(KeywordGroup::LeftToValidator),
        };
        let size = match length(map, ["minItems", "maxItems"]) {
            KeywordGroup::Absent => (0, u32::MAX),
            KeywordGroup::Compiled(size) => size,
            KeywordGroup::LeftToValidator => return Ok(KeywordGroup::LeftToValidator),
        };
        let others = map.get(others);
        let element = others.map(|schema| self.schema(schema)).transpose()?;
        Ok(KeywordGroup::Compiled(ArrayCheck {
            size,
            unique,
            first: self.schemas(first)?,
            element,
        }))
    }

    pub(super) fn object(
        &mut self,
        map: &'c Map<String, Value>,
    ) -> Result<KeywordGroup<ObjectCheck>, NoFastPath> {
        if !OBJECT.iter().any(|keyword| map.contains_key(*keyword)) {
            return Ok(KeywordGroup::Absent);
        }
        let properties = match map.get("properties") {
            None => None,
            Some(Value::Object(properties)) => Some(properties),
            Some(_) => return Ok(KeywordGroup::LeftToValidator),
        };
        let required = match map.get("required") {
            None => &[],
            Some(Value::Array(names)) => names.as_slice(),
            Some(_) => return Ok(KeywordGroup::LeftToValidator),
        };
        let required: Option<Vec<&str>> = required.iter().map(Value::as_str).collect();
        let size = match length(map, ["minProperties", "maxProperties"]) {
            KeywordGroup::Absent => Some((0, u32::MAX)),
            size => size.compiled(),
        };
        let patterns = self.patterns(map)?;
        let (Some(required), Some(size), Some(patterns)) = (required, size, patterns) else {
            return Ok(KeywordGroup::LeftToValidator);
        };
        let extra = map.get("additionalProperties");
        let extra = match extra.filter(|extra| !allows_anything(extra)) {
            // With patterns it is a map, whose keys are meant as they were sent.
            None if patterns.is_empty() && properties.is_some_and(|names| !names.is_empty()) => {
                ExtraMembers::Open
            }
            None => ExtraMembers::Allowed,
            Some(Value::Bool(false)) => ExtraMembers::Refused,
            Some(schema) => ExtraMembers::Checked(self.schema(schema)?),
        };
        let mut members = BTreeMap::new();
        for (name, schema) in properties.into_iter().flatten() {
            members.insert(name.as_str(), self.schema(schema)?);
        }
        for name in &required {
            // A name that is required and not declared.
            let check = match extra {
                ExtraMembers::Allowed | ExtraMembers::Open => self.schema(&ANYTHING)?,
                ExtraMembers::Refused => self.schema(&NOTHING)?,
                ExtraMembers::Checked(id) => id,
            };
            members.entry(name).or_insert(check);
        }
        if !required.is_empty() && members.len() > 64 {
            // There are no bits for so many names.
            return Ok(KeywordGroup::LeftToValidator);
        }
        let names = KeyTable::new(members.into_iter());
        let bits = required.iter().filter_map(|name| names.named(name));
        let required = bits.fold(0, |mask, name| mask | name.bit);
        let spellings = names.texts().map(spelling_bits);
        Ok(KeywordGroup::Compiled(ObjectCheck {
            size,
            spellings: spellings.fold(0, |all, bits| all | bits),
            names,
            required,
            patterns,
            extra,
        }))
    }

    /// The members of `patternProperties`; `None` if one of the patterns is left to the validator.
    fn patterns(
        &mut self,
        map: &'c Map<String, Value>,
    ) -> Result<Option<PatternChecks>, NoFastPath> {
        let members = match map.get("patternProperties") {
            None => return Ok(Some(Box::default())),
            Some(Value::Object(members)) => members,
            Some(_) => return Ok(None),
        };
        let simple = members.iter().map(|(pattern, schema)| {
            let pattern = SimplePattern::parse(pattern).filter(SimplePattern::is_exact);
            Some((pattern?, schema))
        });
        let Some(simple) = simple.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let compiled = simple.into_iter().map(|(pattern, schema)| {
            let check = self.schema(schema)?;
            Ok((pattern, check))
        });
        compiled.collect::<Result<_, _>>().map(Some)
    }
}

/// Returns true for a schema that demands nothing.
fn allows_anything(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.is_empty(),
        schema => *schema == Value::Bool(true),
    }
}
