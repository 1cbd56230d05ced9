//! Arguments that a tool wants mirrored in headers, so that others can route a call without reading
//! it (`x-mcp-header`, from protocol version 2026-07-28 on).

use goodcall_core::Tree;
use goodcall_wire::ToolDefinition;
use serde_json::Value;

/// The key of a property that is mirrored in a header.
const MIRROR_KEY: &str = "x-mcp-header";

/// An argument that is mirrored in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderMirror {
    /// Keys from the root of the arguments.
    pub(crate) path: Vec<String>,
    /// The header's name after `Mcp-Param-`.
    pub(crate) header: String,
}

/// Headers that mirror arguments: the name after `Mcp-Param-`, and the value, which is `None` where
/// the argument is missing.
pub(crate) type MirroredHeaders = Vec<(String, Option<String>)>;

/// Finds the arguments of a tool that are mirrored. A definition with a mistake in one of them has
/// none: clients do not use such a tool over HTTP.
pub(crate) fn mirrors_of(tool: &ToolDefinition) -> Vec<HeaderMirror> {
    if !tool.parameters.contains(MIRROR_KEY) {
        return Vec::new();
    }
    let mut found = Vec::new();
    match serde_json::from_str::<Value>(&tool.parameters) {
        Ok(schema) if collect(&schema, &mut Vec::new(), &mut found).is_ok() => found,
        _ => Vec::new(),
    }
}

/// A definition that cannot be mirrored.
struct InvalidMirror;

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<HeaderMirror>,
) -> Result<(), InvalidMirror> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        if let Some(header) = property.get(MIRROR_KEY) {
            found.push(HeaderMirror {
                header: header_name(property, header, found).ok_or(InvalidMirror)?,
                path: path.clone(),
            });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// The name of a mirror, if the property may have it: a word that no other property has, on a scalar
/// whose text is the same in every language.
fn header_name(property: &Value, header: &Value, found: &[HeaderMirror]) -> Option<String> {
    let name = header.as_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let kind = property.get("type").and_then(Value::as_str);
    let is_taken = |other: &HeaderMirror| other.header.eq_ignore_ascii_case(name);
    let is_valid = !name.is_empty()
        && name.chars().all(is_plain)
        && matches!(kind, Some("string" | "integer" | "boolean"))
        && !found.iter().any(is_taken);
    is_valid.then(|| name.to_owned())
}

/// Returns the headers that mirror these arguments.
pub(crate) fn mirrored(mirrors: &[HeaderMirror], arguments: Option<&Tree<'_>>) -> MirroredHeaders {
    let value = |mirror: &HeaderMirror| {
        let mut node = arguments?.root();
        for key in &mirror.path {
            node = node.get(key)?;
        }
        let text = node.as_str().or_else(|| node.digits()).map(str::to_owned);
        text.or_else(|| node.as_bool().map(|truth| truth.to_string()))
    };
    mirrors
        .iter()
        .map(|mirror| (mirror.header.clone(), value(mirror)))
        .collect()
}

#[cfg(test)]
mod tests {
    use goodcall_wire::Tools;

    use super::*;

    fn mirrors(properties: &str) -> Vec<(String, String)> {
        let list = format!(
            r#"[{{"name":"q","inputSchema":{{"type":"object","properties":{properties}}}}}]"#
        );
        let tools = Tools::read(&list).unwrap();
        let mut found: Vec<_> = mirrors_of(tools.get("q").unwrap())
            .into_iter()
            .map(|mirror| (mirror.path.join("."), mirror.header))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn mirrors_are_found_at_any_depth() {
        let found = mirrors(
            r#"{"region":{"type":"string","x-mcp-header":"Region"},
            "at":{"type":"object","properties":{"zone":{"type":"integer","x-mcp-header":"Zone"}}}}"#,
        );
        let pair = |path: &str, header: &str| (path.to_owned(), header.to_owned());
        assert_eq!(found, [pair("at.zone", "Zone"), pair("region", "Region")]);
    }

    #[test]
    fn one_mistake_leaves_a_tool_without_mirrors() {
        for wrong in [
            r#"{"type":"number","x-mcp-header":"B"}"#,
            r#"{"type":"string","x-mcp-header":""}"#,
            r#"{"type":"string","x-mcp-header":"a b"}"#,
            r#"{"type":"string","x-mcp-header":5}"#,
            r#"{"type":"string","x-mcp-header":"region"}"#,
            r#"{"x-mcp-header":"B"}"#,
        ] {
            let properties =
                format!(r#"{{"a":{{"type":"string","x-mcp-header":"Region"}},"b":{wrong}}}"#);
            assert_eq!(mirrors(&properties), [], "{wrong}");
        }
    }
}
