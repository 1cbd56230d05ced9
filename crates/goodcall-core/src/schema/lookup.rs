//! Finds what a schema says of a place: of a member of the arguments, or of one seen from a keyword.

use serde_json::{Map, Value};

use super::{Schema, View};
use crate::limits::LISTED_NAMES;
use crate::tree::Pointer;

/// The subschema that declares a member of the arguments, from [`owner`].
pub(crate) struct Owner<'d> {
    /// The object's schema, which has the member under `properties`.
    pub(crate) object: View<'d>,
    /// The member's schema, as written.
    pub(crate) member: View<'d>,
}

/// The first subschema that declares the member at `pointer`, found by walking down from the root.
pub(crate) fn owner<'d>(document: &'d Value, pointer: &Pointer) -> Option<Owner<'d>> {
    let (parent, name) = pointer.split_last()?;
    schema_for(document, &parent)?
        .variants()
        .find_map(|object| {
            let member = object.own_property(&name)?;
            Some(Owner { object, member })
        })
}

/// The first schema for the value at `pointer`, found by walking down from the root.
pub(crate) fn schema_for<'d>(document: &'d Value, pointer: &Pointer) -> Option<View<'d>> {
    let mut schema = View::root(document).resolve();
    for segment in pointer.segments() {
        let mut variants = schema.variants();
        schema = variants.find_map(|variant| variant.member_or_element(&segment))?;
        schema = schema.resolve();
    }
    Some(schema)
}

/// Returns true if any schema for the object around `pointer` requires the member at it. All
/// branches of unions count, so that their order does not matter.
pub(crate) fn is_required(document: &Value, pointer: &Pointer) -> bool {
    let Some((parent, name)) = pointer.split_last() else {
        return false;
    };
    let around = all_schemas(document, &parent);
    around.iter().any(|schema| schema.requires(&name))
}

/// What all schemas for the object around `pointer` declare for the member at it.
pub(crate) fn declarations<'d>(document: &'d Value, pointer: &Pointer) -> Vec<View<'d>> {
    let Some((parent, name)) = pointer.split_last() else {
        return Vec::new();
    };
    let around = all_schemas(document, &parent).into_iter();
    around
        .filter_map(|schema| schema.own_property(&name))
        .collect()
}

/// All schemas for the value at `pointer`, those in the branches of unions among them.
pub(super) fn all_schemas<'d>(document: &'d Value, pointer: &Pointer) -> Vec<View<'d>> {
    let root = View::root(document).resolve();
    let mut schemas: Vec<View<'_>> = root.variants().collect();
    for segment in pointer.segments() {
        let inner = schemas
            .iter()
            .filter_map(|schema| schema.member_or_element(&segment));
        let variants = inner.flat_map(|schema| schema.resolve().variants());
        schemas = variants.take(LISTED_NAMES).collect();
    }
    schemas
}

/// The schema of a member, seen from a keyword that speaks of the object: of the first of its
/// [`holders`] that declares it.
pub(crate) fn member<'d>(schema: &'d Schema, keyword: &str, name: &str) -> Option<View<'d>> {
    holders(schema, keyword).find_map(|holder| holder.property(name))
}

/// The subschema that holds a keyword, and those around it that are about the same value (`then`,
/// `allOf`, …), from the inside out.
pub(crate) fn holders<'d>(schema: &'d Schema, keyword: &str) -> impl Iterator<Item = View<'d>> {
    let mut place = keyword.rsplit_once('/').map(|(place, _)| place);
    std::iter::from_fn(move || {
        let holder = schema.view(place?)?;
        place = around(place?);
        Some(holder)
    })
}

/// The place of the schema around this one, if that is about the same value.
fn around(place: &str) -> Option<&str> {
    let (outer, last) = place.rsplit_once('/')?;
    let outer = match last {
        "then" | "else" | "if" => outer,
        _ => {
            let (outer, keyword) = outer.rsplit_once('/')?;
            let applies = [
                "allOf",
                "anyOf",
                "oneOf",
                "dependentSchemas",
                "dependencies",
            ];
            applies.contains(&keyword).then_some(outer)?
        }
    };
    // `then` may be the name of a member or of a definition as well.
    let named = [
        "/properties",
        "/$defs",
        "/definitions",
        "/patternProperties",
    ];
    (!named.iter().any(|name| outer.ends_with(name))).then_some(outer)
}

/// The members that `additionalProperties` or `unevaluatedProperties` allows by name.
#[derive(Default)]
pub(crate) struct AllowedNames<'d> {
    pub(crate) names: Vec<&'d str>,
    /// True if no pattern and no condition allows other names.
    pub(crate) complete: bool,
}

/// The names that the keyword at this pointer allows; none if there are too many to list.
pub(crate) fn allowed_names<'d>(schema: &'d Schema, keyword: &str) -> AllowedNames<'d> {
    let mut allowed = AllowedNames::default();
    let Some((place, last)) = keyword.rsplit_once('/') else {
        return allowed;
    };
    allowed.complete = true;
    let evaluated = last == "unevaluatedProperties";
    let parts = schema.view(place).into_iter().flat_map(View::parts);
    for part in parts.take(if evaluated { LISTED_NAMES } else { 1 }) {
        let own = part.own_properties().into_iter().flat_map(Map::keys);
        allowed.names.extend(own.map(String::as_str));
        if allowed.names.len() > LISTED_NAMES {
            return AllowedNames::default();
        }
        allowed.complete &= part.get("patternProperties").is_none();
        let conditional = || CONDITIONAL.iter().any(|word| part.get(word).is_some());
        allowed.complete &= !(evaluated && conditional());
    }
    allowed
}

/// Keywords by which a name can be allowed for some objects only.
const CONDITIONAL: [&str; 5] = ["anyOf", "oneOf", "then", "else", "dependentSchemas"];
