//! Cleans tool names as models write them.

/// Namespaces that models put before a name, and that belong to it only if a tool is named so.
const NAMESPACES: [&str; 8] = [
    "functions",
    "function",
    "default_api",
    "tools",
    "tool",
    "api",
    "namespace",
    "assistant",
];

/// Removes control tokens, quotes, known namespaces and call counters.
pub(crate) fn cleaned(sent: &str) -> String {
    let mut name = sent.trim();
    // `read<|channel|>commentary`: keep the text before the first control token.
    while let Some(at) = name.find("<|") {
        let before = name[..at].trim_end();
        if !before.is_empty() {
            name = before;
            break;
        }
        match name[at..].find("|>") {
            Some(end) => name = name[at + end + 2..].trim_start(),
            None => break,
        }
    }
    let junk = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '`' | '"' | '\'' | '*');
    let mut name = name.trim_matches(junk);
    name = name.strip_suffix("()").unwrap_or(name);
    // `functions.f:0`: the counter of the call.
    if let Some((before, counter)) = name.rsplit_once(':')
        && !counter.is_empty()
        && counter.bytes().all(|byte| byte.is_ascii_digit())
    {
        name = before;
    }
    while let Some(rest) = without_namespace(name) {
        name = rest;
    }
    name.replace("\\_", "_")
}

fn without_namespace(name: &str) -> Option<&str> {
    let at = name.find(['.', ':', '/'])?;
    let (space, rest) = (&name[..at], name[at + 1..].trim_start_matches([':', '/']));
    (NAMESPACES.contains(&space) && !rest.is_empty()).then_some(rest)
}

/// The ends of a name without some of its namespaces: `b__c` and `c` for `a__b__c`.
pub(crate) fn without_prefixes(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let separators = [".", ":", "/", "__"];
        let found = separators
            .iter()
            .filter_map(|one| Some((rest.find(one)?, one.len())));
        let (at, size) = found.min()?;
        rest = rest[at + size..].trim_start_matches(['.', ':', '/', '_']);
        (!rest.is_empty()).then_some(rest)
    })
}

/// Removes a namespace that was written twice: `mcp_mcp__a__f`, `a__a__f`, `mcp__a__mcp__a__f`.
pub(crate) fn without_doubled_prefix(name: &str) -> String {
    let spelled = name
        .replace(['.', ':', '/'], "__")
        .replace("mcp_mcp__", "mcp__");
    let parts: Vec<&str> = spelled
        .split("__")
        .filter(|part| !part.is_empty())
        .collect();
    let doubled = (1..=parts.len() / 2).find(|size| {
        // The last part is the tool's own name.
        parts[..*size] == parts[*size..2 * size] && parts.len() > 2 * size
    });
    parts[doubled.unwrap_or(0)..].join("__")
}

/// Removes case and punctuation.
pub(crate) fn bare(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaned_removes_everything_around_the_name() {
        for (sent, name) in [
            ("read<|channel|>commentary", "read"),
            ("<|constrain|>read", "read"),
            ("functions.read", "read"),
            ("functions.f:0", "f"),
            ("default_api:read", "read"),
            ("functions.tools.read", "read"),
            (" `get\\_weather` ", "get_weather"),
            ("read()", "read"),
            ("math.lcm", "math.lcm"),
            ("functions.", "functions."),
            ("<|", "<|"),
            ("<|a|>", ""),
        ] {
            assert_eq!(cleaned(sent), name, "{sent}");
        }
        assert_eq!(bare("Get_Weather.v2"), "getweatherv2");
    }
}
