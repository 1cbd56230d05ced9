//! Decides whether the references of a document mean a place in it, also after a part of it moved.

use std::ops::ControlFlow;

use serde_json::Value;

use super::compile::NoFastPath;
use crate::schema::View;
use crate::tree::Pointer;

/// Returns true if all references of the document name a place in it. Names and bases of schemas
/// below the root make a reference mean something else.
pub(super) fn refers_by_place(document: &Value) -> bool {
    let moves = |schema: View<'_>, place: &Pointer| {
        let mut named = NAMING.iter().filter_map(|keyword| schema.get(keyword));
        let mut based = BASES.iter().filter_map(|keyword| schema.get(keyword));
        // Where one of these is the name of a member, it holds a schema.
        named.any(|value| !value.is_object()) || !place.is_root() && based.any(Value::is_string)
    };
    let found = View::root(document).visit(|schema, place| {
        if moves(schema, place) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    found.is_continue()
}

/// Keywords that name schemas, or places, in ways that the program does not follow.
const NAMING: [&str; 6] = [
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$dynamicRef",
    "$recursiveRef",
    "$vocabulary",
];
/// Keywords that change what references below them mean.
const BASES: [&str; 3] = ["$id", "id", "$schema"];

/// Returns whether this JSON has references; fails if one of them would mean something else in
/// another document with the same definitions.
pub(super) fn has_movable_references(value: &Value) -> Result<bool, NoFastPath> {
    let mut refers = false;
    let stays = View::root(value).visit(|schema, _| {
        let target = schema.get("$ref").and_then(Value::as_str);
        refers |= target.is_some();
        let defined =
            |target: &str| target.starts_with("#/$defs/") || target.starts_with("#/definitions/");
        if target.is_none_or(defined) {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    });
    if stays.is_continue() {
        Ok(refers)
    } else {
        Err(NoFastPath)
    }
}
