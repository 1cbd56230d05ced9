//! The one reader of schema documents: follows references, finds members, walks subschemas.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use crate::limits::{SCHEMA_DEPTH, VIEW_HOPS, VIEW_SCHEMAS};
use crate::report::{JsonType, Types};
use crate::tree::Pointer;

/// A subschema, with the document that its references point into.
///
/// A view is two references, so it is copied freely. It reads any JSON: a keyword that is missing
/// or malformed counts as absent. References are followed inside the document only, and every
/// search is bounded, so that a document which refers to itself ends too.
///
/// ```
/// use goodcall_core::{JsonType, SchemaView};
///
/// let document = serde_json::json!({
///     "properties": {"size": {"$ref": "#/$defs/size"}},
///     "$defs": {"size": {"enum": ["small", "large"]}},
/// });
/// let size = SchemaView::root(&document).property("size").unwrap();
/// assert!(size.get("enum").is_none());
/// assert!(size.resolve().get("enum").is_some());
/// assert!(size.allowed_types().has(JsonType::String));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'d> {
    document: &'d Value,
    schema: &'d Value,
}

/// A subschema right below another one, from [`View::children`].
#[derive(Clone, Copy, Debug)]
pub struct Child<'d> {
    /// The keyword that holds it.
    pub keyword: &'static str,
    /// Its place below the keyword.
    pub key: ChildKey<'d>,
    /// The subschema itself.
    pub view: View<'d>,
}

/// The place of a subschema below the keyword that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildKey<'d> {
    /// The keyword holds this subschema alone (`not`).
    Only,
    /// Its index in a list (`anyOf`).
    Index(usize),
    /// Its name in a map (`properties`).
    Name(&'d str),
}

impl Child<'_> {
    /// The pointer of this subschema, given that of the schema around it.
    pub fn pointer(&self, around: &Pointer) -> Pointer {
        let keyword = around.join(self.keyword);
        match self.key {
            ChildKey::Only => keyword,
            ChildKey::Index(index) => keyword.join(&index.to_string()),
            ChildKey::Name(name) => keyword.join(name),
        }
    }
}

/// Keywords that hold one schema.
pub(super) const SINGLE: [&str; 11] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];
/// Keywords that hold a list of schemas.
pub(super) const LISTS: [&str; 5] = ["items", "prefixItems", "anyOf", "oneOf", "allOf"];
/// Keywords that hold schemas by name.
pub(super) const MAPS: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];
/// The keywords of these whose schemas judge the same value as the schema that holds them.
const SAME_VALUE: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];

impl<'d> View<'d> {
    /// The root of a document.
    pub fn root(document: &'d Value) -> Self {
        Self::new(document, document)
    }

    /// A subschema of a document.
    pub fn new(document: &'d Value, schema: &'d Value) -> Self {
        Self { document, schema }
    }

    fn at(self, schema: &'d Value) -> Self {
        Self::new(self.document, schema)
    }

    /// The subschema as JSON.
    pub fn value(self) -> &'d Value {
        self.schema
    }

    /// The value of a keyword.
    pub fn get(self, keyword: &str) -> Option<&'d Value> {
        self.schema.get(keyword)
    }

    /// The schema that this one's own `$ref` names, if it is in the document.
    pub fn target(self) -> Option<Self> {
        self.referred(self.get("$ref")?.as_str()?)
    }

    /// The schema that a reference by pointer (`#/$defs/size`) names in the document.
    pub(super) fn referred(self, reference: &str) -> Option<Self> {
        let target = self.document.pointer(reference.strip_prefix('#')?)?;
        Some(self.at(target))
    }

    /// The schema at the end of the chain of references that starts here; this one, if it has no
    /// `$ref`.
    #[must_use]
    pub fn resolve(mut self) -> Self {
        for _ in 0..VIEW_HOPS {
            match self.target() {
                Some(target) => self = target,
                None => break,
            }
        }
        self
    }

    /// The schemas that a keyword lists (`allOf`, `prefixItems`), as written.
    pub fn list(self, keyword: &str) -> impl Iterator<Item = Self> + use<'d> {
        let list = self.get(keyword).and_then(Value::as_array);
        list.into_iter().flatten().map(move |item| self.at(item))
    }

    /// The branches of `anyOf` and `oneOf`, as written.
    pub fn alternatives(self) -> impl Iterator<Item = Self> + use<'d> {
        self.list("anyOf").chain(self.list("oneOf"))
    }

    /// The parts of `allOf` and the branches of `anyOf` and `oneOf`, as written.
    pub fn branches(self) -> impl Iterator<Item = Self> + use<'d> {
        self.list("allOf").chain(self.alternatives())
    }

    /// The map under `properties`, if this schema itself has one.
    pub fn own_properties(self) -> Option<&'d Map<String, Value>> {
        self.get("properties")?.as_object()
    }

    /// The members that this schema itself declares, with their schemas as written.
    pub fn properties(self) -> impl Iterator<Item = (&'d str, Self)> {
        let members = self.own_properties().into_iter().flatten();
        members.map(move |(name, schema)| (name.as_str(), self.at(schema)))
    }

    /// The schema, as written, of a member that this schema itself declares.
    pub fn own_property(self, name: &str) -> Option<Self> {
        Some(self.at(self.get("properties")?.get(name)?))
    }

    /// The schema of a member that is declared for every value of this schema: here, behind a
    /// reference or in `allOf`.
    pub fn property(self, name: &str) -> Option<Self> {
        let own = self.own_property(name);
        // Nearly every schema has no other parts.
        if own.is_some() || self.get("$ref").or(self.get("allOf")).is_none() {
            return own;
        }
        self.parts().find_map(|part| part.own_property(name))
    }

    /// The schemas of a member in all branches that declare it, references followed.
    pub fn declarations(self, name: &str) -> impl Iterator<Item = Self> {
        let all = Reach::new(self, |view: Self| {
            view.target().into_iter().chain(view.branches())
        });
        all.filter_map(move |view| view.own_property(name))
    }

    /// The schema under `items`.
    pub fn items(self) -> Option<Self> {
        self.get("items").map(|items| self.at(items))
    }

    /// The schema that this one has for a member or an element: under `properties`, `items` or
    /// `additionalProperties`.
    pub fn member_or_element(self, segment: &str) -> Option<Self> {
        let element = || segment.parse::<usize>().ok().and_then(|_| self.items());
        let other = || {
            let schema = self.get("additionalProperties")?;
            schema.is_object().then(|| self.at(schema))
        };
        self.own_property(segment).or_else(element).or_else(other)
    }

    /// The types that `type` names; empty if this schema itself names none.
    pub fn types(self) -> Types {
        match self.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                names.map(Types::named).fold(Types::default(), Types::with)
            }
            _ => Types::default(),
        }
    }

    /// The types that a value may have, by `type`, references, branches and listed values; empty
    /// if it may have any.
    pub fn allowed_types(self) -> Types {
        self.types_within(&mut VIEW_SCHEMAS.clone(), VIEW_HOPS)
    }

    fn types_within(self, left: &mut usize, hops: usize) -> Types {
        let (Some(fewer), Some(hops)) = (left.checked_sub(1), hops.checked_sub(1)) else {
            return Types::default();
        };
        *left = fewer;
        if matches!(self.get("type"), Some(Value::String(_) | Value::Array(_))) {
            return self.types();
        }
        if let Some(target) = self.target() {
            return target.types_within(left, hops);
        }
        if self.get("allOf").is_some_and(Value::is_array) {
            let mut parts = self.list("allOf").map(|part| part.types_within(left, hops));
            return parts.find(|types| !types.is_empty()).unwrap_or_default();
        }
        let mut types = Types::default();
        for keyword in ["anyOf", "oneOf"] {
            if self.get(keyword).is_some_and(Value::is_array) {
                for branch in self.list(keyword) {
                    let one = branch.types_within(left, hops);
                    if one.is_empty() {
                        return one;
                    }
                    types = types.with(one);
                }
                return types;
            }
        }
        let listed = self.get("enum").and_then(Value::as_array);
        let listed = listed.map_or_else(
            || self.get("const").map_or(&[][..], std::slice::from_ref),
            Vec::as_slice,
        );
        listed.iter().map(type_of).fold(types, Types::with)
    }

    /// Returns true if this schema itself requires a member.
    pub fn requires(self, name: &str) -> bool {
        self.required().any(|required| required == name)
    }

    /// The names under `required`.
    pub fn required(self) -> impl Iterator<Item = &'d str> {
        let names = self.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The only value that `const` or an `enum` of one value allows.
    pub fn constant(self) -> Option<&'d Value> {
        let only = || match self.get("enum")?.as_array()?.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        self.get("const").or_else(only)
    }

    /// This schema and all that hold for the same value whatever it is: behind references and in
    /// `allOf`.
    pub(crate) fn parts(self) -> impl Iterator<Item = Self> {
        Reach::new(self, |view: Self| {
            view.target().into_iter().chain(view.list("allOf"))
        })
    }

    /// This schema, and with their references resolved all branches of it and of these.
    pub(crate) fn variants(self) -> impl Iterator<Item = Self> {
        Reach::new(self, |view: Self| view.branches().map(Self::resolve))
    }

    /// The variants of this schema and of its elements, at any depth.
    pub(crate) fn variants_and_elements(self) -> impl Iterator<Item = Self> {
        Reach::new(self, |view: Self| {
            view.branches().chain(view.items()).map(Self::resolve)
        })
    }

    /// The subschemas right below this one, whatever value they judge. References are not
    /// followed.
    pub fn children(self) -> impl Iterator<Item = Child<'d>> {
        let child = move |keyword, key, schema| Child {
            keyword,
            key,
            view: self.at(schema),
        };
        let single = SINGLE.into_iter().filter_map(move |keyword| {
            let schema = self.get(keyword).filter(|schema| !schema.is_array())?;
            Some(child(keyword, ChildKey::Only, schema))
        });
        let lists = LISTS.into_iter().flat_map(move |keyword| {
            let list = self.list(keyword).enumerate();
            list.map(move |(index, view)| child(keyword, ChildKey::Index(index), view.schema))
        });
        let maps = MAPS.into_iter().flat_map(move |keyword| {
            let map = self.get(keyword).and_then(Value::as_object);
            let map = map.into_iter().flatten();
            map.map(move |(name, schema)| child(keyword, ChildKey::Name(name), schema))
        });
        single.chain(lists).chain(maps)
    }

    /// The children that judge the same value as this schema.
    pub(super) fn same_value(self) -> impl Iterator<Item = Self> {
        let children = self.children();
        let same = children.filter(|child| SAME_VALUE.contains(&child.keyword));
        same.map(|child| child.view)
    }

    /// Calls `visit` with every object of this JSON and its pointer, this one first, until it
    /// breaks. Objects that are not schemas (the map under `properties`, the value of `const`) are
    /// visited too.
    pub fn visit<B>(
        self,
        mut visit: impl FnMut(Self, &Pointer) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.objects(&mut Pointer::root(), SCHEMA_DEPTH, &mut visit)
    }

    /// Calls `visit` with every object of this JSON and its pointer; see [`View::visit`].
    pub fn visit_all(self, mut visit: impl FnMut(Self, &Pointer)) {
        let end = self.visit(|view, place| {
            visit(view, place);
            ControlFlow::<()>::Continue(())
        });
        debug_assert!(end.is_continue(), "nothing breaks off this visit");
    }

    fn objects<B>(
        self,
        place: &mut Pointer,
        depth: usize,
        visit: &mut impl FnMut(Self, &Pointer) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let here = place.size();
        match self.schema {
            Value::Object(map) => {
                visit(self, place)?;
                for (key, child) in map {
                    if depth > 0 && is_container(child) {
                        place.push(key);
                        self.at(child).objects(place, depth - 1, visit)?;
                        place.truncate(here);
                    }
                }
            }
            Value::Array(items) => {
                for (index, child) in (0..).zip(items) {
                    if depth > 0 && is_container(child) {
                        place.push_index(index);
                        self.at(child).objects(place, depth - 1, visit)?;
                        place.truncate(here);
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn type_of(value: &Value) -> Types {
    Types::of(match value {
        Value::Null => JsonType::Null,
        Value::Bool(_) => JsonType::Boolean,
        Value::Number(number) if number.is_f64() => JsonType::Number,
        Value::Number(_) => JsonType::Integer,
        Value::String(_) => JsonType::String,
        Value::Array(_) => JsonType::Array,
        Value::Object(_) => JsonType::Object,
    })
}

/// All schemas that can be reached from some, depth first, within the bounds of a search.
struct Reach<'d, F> {
    /// The first schema, kept apart so that a search that ends with it needs no memory.
    first: Option<View<'d>>,
    /// The schema that was handed out last, with its distance: it is followed when more is wanted.
    last: Option<(View<'d>, usize)>,
    open: Vec<(View<'d>, usize)>,
    left: usize,
    follow: F,
}

impl<'d, F> Reach<'d, F> {
    fn new(first: View<'d>, follow: F) -> Self {
        Self {
            first: Some(first),
            last: None,
            open: Vec::new(),
            left: VIEW_SCHEMAS,
            follow,
        }
    }
}

impl<'d, F: Fn(View<'d>) -> I, I: Iterator<Item = View<'d>>> Iterator for Reach<'d, F> {
    type Item = View<'d>;

    fn next(&mut self) -> Option<View<'d>> {
        if let Some((last, hops)) = self.last.take().filter(|(_, hops)| *hops < VIEW_HOPS) {
            let from = self.open.len();
            let found = (self.follow)(last).take(self.left);
            self.open.extend(found.map(|found| (found, hops + 1)));
            self.open[from..].reverse();
        }
        self.left = self.left.checked_sub(1)?;
        let first = self.first.take().map(|first| (first, 0));
        self.last = first.or_else(|| self.open.pop());
        self.last.map(|(view, _)| view)
    }
}
