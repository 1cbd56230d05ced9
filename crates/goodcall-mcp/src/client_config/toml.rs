//! The configuration of Codex: TOML, with servers below `mcp_servers`.

use toml_edit::{Array, DocumentMut, Item, TableLike, Value, value};

use super::servers::{self, ConfiguredServer};
use super::wrapped_words::{before_command, command_start, is_goodcall};
use super::{NOT_WRAPPED, WRAPPED_ALREADY, WrapError, Wrapped, restored};

/// The key of the table with the servers.
const LIST: &str = "mcp_servers";

pub(super) fn wrap(text: &str, goodcall: &str) -> Result<Wrapped, WrapError> {
    edit(text, |name, entry| wrap_entry(name, entry, goodcall))
}

pub(super) fn unwrap(text: &str, before: Option<&str>) -> Result<Wrapped, WrapError> {
    let derived = edit(text, |_, entry| unwrap_entry(entry))?;
    let program = program_of(text);
    Ok(restored(derived, text, before, program.as_deref(), wrap))
}

pub(super) fn servers(text: &str) -> Result<Vec<ConfiguredServer>, WrapError> {
    let wrong = |error: toml_edit::de::Error| WrapError(error.to_string().trim_end().to_owned());
    let document: serde_json::Value = toml_edit::de::from_str(text).map_err(wrong)?;
    let list = document.get(LIST).and_then(serde_json::Value::as_object);
    let found = list.into_iter().flatten().map(|(name, entry)| {
        let entry = entry.as_object().cloned().unwrap_or_default();
        let url = entry.get("url").and_then(serde_json::Value::as_str);
        let program = entry.get("command").and_then(serde_json::Value::as_str);
        let words = entry.get("args").and_then(serde_json::Value::as_array);
        let words = words.into_iter().flatten();
        let words = words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect();
        let command = program.map(|program| (program.to_owned(), words));
        let server = servers::read(&entry, command, url);
        let name = name.clone();
        ConfiguredServer { name, server }
    });
    Ok(found.collect())
}

/// The program of the first server that is behind goodcall.
fn program_of(text: &str) -> Option<String> {
    let document: DocumentMut = text.parse().ok()?;
    let mut servers = document.get(LIST)?.as_table_like()?.iter();
    servers.find_map(|(_, entry)| {
        let (program, words) = command_of(entry.as_table_like()?)?;
        is_goodcall(&program, words.first().map(String::as_str)).then_some(program)
    })
}

fn edit(
    text: &str,
    mut change: impl FnMut(&str, &mut dyn TableLike) -> Result<(), &'static str>,
) -> Result<Wrapped, WrapError> {
    let wrong = |error: toml_edit::TomlError| WrapError(error.to_string().trim_end().to_owned());
    let mut document: DocumentMut = text.parse().map_err(wrong)?;
    let servers = document.get_mut(LIST).and_then(Item::as_table_like_mut);
    let Some(servers) = servers.filter(|servers| !servers.is_empty()) else {
        let why = format!("no servers found: expected the table {LIST}");
        return Err(WrapError(why));
    };
    let mut edited = Wrapped::default();
    for (name, entry) in servers.iter_mut() {
        let done = match entry.as_table_like_mut() {
            Some(entry) => change(name.get(), entry),
            None => Err("is not a table"),
        };
        match done {
            Ok(()) => edited.changed.push(name.get().to_owned()),
            Err(why) => edited.left.push((name.get().to_owned(), why)),
        }
    }
    edited.text = document.to_string();
    Ok(edited)
}

fn command_of(entry: &dyn TableLike) -> Option<(String, Vec<String>)> {
    let program = entry.get("command")?.as_str()?.to_owned();
    let words = entry
        .get("args")
        .and_then(Item::as_array)
        .into_iter()
        .flatten();
    Some((
        program,
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect(),
    ))
}

fn wrap_entry(name: &str, entry: &mut dyn TableLike, goodcall: &str) -> Result<(), &'static str> {
    if entry.contains_key("url") {
        return Err("is behind a URL: Codex gives the program no variables for its headers");
    }
    let (program, words) = command_of(entry).ok_or("has no command and no URL")?;
    if is_goodcall(&program, words.first().map(String::as_str)) {
        return Err(WRAPPED_ALREADY);
    }
    let mut before = before_command(name);
    before.push(program);
    set_program(entry, goodcall);
    match entry.get_mut("args").and_then(Item::as_array_mut) {
        Some(arguments) => {
            // The first argument may follow a line end, which stays in front of it.
            for (index, word) in before.into_iter().enumerate() {
                arguments.insert(index, word);
            }
        }
        None => {
            entry.insert("args", value(before.into_iter().collect::<Array>()));
        }
    }
    Ok(())
}

fn unwrap_entry(entry: &mut dyn TableLike) -> Result<(), &'static str> {
    let (program, words) = command_of(entry).ok_or(NOT_WRAPPED)?;
    if !is_goodcall(&program, words.first().map(String::as_str)) {
        return Err(NOT_WRAPPED);
    }
    let at = command_start(&words).ok_or("its old form is not known")?;
    set_program(entry, &words[at]);
    if let Some(arguments) = entry.get_mut("args").and_then(Item::as_array_mut) {
        for _ in 0..=at {
            arguments.remove(0);
        }
    }
    Ok(())
}

/// Replaces the program; comments beside it stay.
fn set_program(entry: &mut dyn TableLike, program: &str) {
    if let Some(Item::Value(old)) = entry.get_mut("command") {
        let mut new = Value::from(program);
        *new.decor_mut() = old.decor().clone();
        *old = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "model = \"x\" # mine\n\n[mcp_servers.files]\ncommand = \"npx\" # runner\nargs = [\n  \"-y\", # yes\n  \"server\",\n]\n\n[mcp_servers.files.env]\nA = \"1\"\n\n[mcp_servers.plain]\ncommand = 'x'\n\n[mcp_servers.web]\nurl = \"https://x.example/mcp\"\n";

    #[test]
    fn servers_of_codex_are_wrapped_and_undone_to_the_letter() {
        let wrapped = wrap(TEXT, "/bin/goodcall").unwrap();
        assert_eq!(wrapped.changed, ["files", "plain"]);
        assert_eq!(wrapped.left.len(), 1);
        assert!(
            wrapped
                .text
                .contains("command = \"/bin/goodcall\" # runner\n")
        );
        assert!(wrapped.text.contains("# yes") && wrapped.text.contains("\"--\", \"npx\""));
        assert!(
            wrap(&wrapped.text, "/bin/goodcall")
                .unwrap()
                .changed
                .is_empty()
        );
        assert_eq!(unwrap(&wrapped.text, Some(TEXT)).unwrap().text, TEXT);
        // An edit that was made since stays.
        let edited = wrapped.text.replace("A = \"1\"", "A = \"2\"");
        let back = unwrap(&edited, Some(TEXT)).unwrap().text;
        let document: DocumentMut = back.parse().unwrap();
        let files = &document["mcp_servers"]["files"];
        assert_eq!(files["command"].as_str(), Some("npx"));
        assert_eq!(files["args"].as_array().unwrap().len(), 2);
        assert_eq!(files["env"]["A"].as_str(), Some("2"));
        assert!(wrap("model = \"x\"", "g").is_err() && wrap("[", "g").is_err());
    }
}
