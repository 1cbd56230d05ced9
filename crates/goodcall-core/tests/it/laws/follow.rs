//! Follows the text for models to the letter.

use serde_json::{Map, Value, json};

/// Returns the arguments after the edits of a text in the style `model`, and whether all of them
/// were edits without a new value. `None` if a line asks for something that needs more thought.
pub(crate) fn follow(raw: &str, text: &str) -> Option<(Value, bool)> {
    let mut value: Value = serde_json::from_str(raw).ok()?;
    let mut plain = true;
    for line in text.lines().skip(1) {
        if let Some((key, rest)) = line.split_once(" is not a parameter") {
            plain &= unknown_key(&mut value, key, rest)?;
            continue;
        }
        let (verb, rest) = line.split_once(' ')?;
        match verb {
            "remove" => {
                for key in before(rest).replace(" and ", ", ").split(", ") {
                    take(&mut value, &path(key))?;
                }
            }
            // One of several names, and the model chooses.
            "rename" if rest.ends_with(", whichever you mean") => return None,
            // One of several members, and the model chooses.
            "keep" => return None,
            "replace" => {
                let keys = rest.strip_prefix("or remove ")?;
                for key in before(keys).replace(" and ", ", ").split(", ") {
                    take(&mut value, &path(key))?;
                }
            }
            "rename" => rename(&mut value, rest)?,
            "move" => {
                // Of several places, the first one is taken; the value may not fit there.
                let rest = match rest.strip_suffix(", as you mean it") {
                    Some(choice) => {
                        plain = false;
                        choice.split(" or ").next()?
                    }
                    None => rest,
                };
                let rest = match rest.split_once(" and keep its value") {
                    Some((rest, _)) => rest,
                    None => rest,
                };
                let rest = rest.trim_end_matches(" of the arguments");
                let (from, target) = match rest.strip_suffix(" to the top level") {
                    Some(from) => (path(from), Vec::new()),
                    None => {
                        let (from, target) = rest.split_once(" into ")?;
                        (path(from), path(target))
                    }
                };
                let member = take(&mut value, &from)?;
                let mut to = target;
                to.push(from.last()?.clone());
                put(&mut value, &to, member)?;
            }
            "unwrap" => unwrap(&mut value, rest)?,
            "add" => {
                let (place, wanted) = rest.strip_prefix("the missing ")?.split_once(" (")?;
                put(&mut value, &path(place), make(wanted.strip_suffix(')')?)?)?;
                plain = false;
            }
            "change" => {
                let (place, wanted) = rest.split_once(": ")?;
                let (_, wanted) = wanted.split_once(", use ")?;
                let wanted = wanted.split(" (nearest").next()?;
                put(&mut value, &path(place), make(wanted)?)?;
                plain = false;
            }
            // A statement: `limit: 500 is too large, it must be at most 100`.
            _ => {
                let (place, stated) = line.split_once(": ")?;
                put(&mut value, &path(place), stated_value(stated)?)?;
                plain = false;
            }
        }
    }
    Some((value, plain))
}

/// Renames an unknown key to the missing member that it may stand for. Where nothing is missing the
/// key is removed, because its value may mean something else. Returns true if it is removed.
fn unknown_key(value: &mut Value, key: &str, rest: &str) -> Option<bool> {
    let mut place = path(key);
    let member = take(value, &place)?;
    let Some(missing) = rest.strip_prefix(": rename it to the missing ") else {
        return Some(true);
    };
    *place.last_mut()? = missing.split_once(" if both mean")?.0.to_owned();
    put(value, &place, member)?;
    Some(false)
}

fn rename(value: &mut Value, rest: &str) -> Option<()> {
    let (from, name) = rest.split_once(" to ")?;
    let name = name.split(" and keep its value").next()?;
    let from = path(from);
    let member = take(value, &from)?;
    let mut to = from;
    *to.last_mut()? = name.to_owned();
    put(value, &to, member)
}

fn unwrap(value: &mut Value, rest: &str) -> Option<()> {
    let (place, how) = rest.split_once(": send its keys ")?;
    let (wherein, without) = how.split_once(", without ")?;
    let target = match wherein {
        "at the top level" => Vec::new(),
        other => path(other.strip_prefix("in ")?),
    };
    let inner = take(value, &path(place))?;
    if at(value, &[&target[..], &[without.to_owned()]].concat()).is_some() {
        take(value, &[&target[..], &[without.to_owned()]].concat())?;
    }
    let inner = match inner {
        Value::String(text) => serde_json::from_str(&text).ok()?,
        inner => inner,
    };
    for (name, member) in inner.as_object()?.clone() {
        put(value, &[&target[..], &[name]].concat(), member)?;
    }
    Some(())
}

/// Returns the simplest value that a statement allows.
fn stated_value(stated: &str) -> Option<Value> {
    if let Some((_, values)) = stated.split_once(" is not one of ") {
        let values = values.split(" (nearest").next()?;
        return make(values.split("; if one").next()?);
    }
    if let Some((_, value)) = stated.split_once(", it must be ") {
        let number = value
            .strip_prefix("at least ")
            .or(value.strip_prefix("at most "));
        return make(number.unwrap_or(value));
    }
    None
}

fn before(rest: &str) -> &str {
    rest.split(": ").next().unwrap_or(rest)
}

/// Parses a path such as `edits[1].path`.
fn path(text: &str) -> Vec<String> {
    let dotted = text.replace('[', ".").replace(']', "");
    let parts = dotted.split('.').filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, segment| match value {
        Value::Object(map) => map.get_mut(segment),
        Value::Array(items) => items.get_mut(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

fn take(value: &mut Value, path: &[String]) -> Option<Value> {
    let (name, around) = path.split_last()?;
    at(value, around)?.as_object_mut()?.remove(name)
}

fn put(value: &mut Value, path: &[String], new: Value) -> Option<()> {
    let Some((name, around)) = path.split_last() else {
        *value = new;
        return Some(());
    };
    if at(value, around).is_none() {
        // `move limit into options`, where there are no options yet.
        put(value, around, Value::Object(Map::new()))?;
    }
    match at(value, around)? {
        Value::Object(map) => {
            map.insert(name.clone(), new);
        }
        Value::Array(items) => *items.get_mut(name.parse::<usize>().ok()?)? = new,
        _ => return None,
    }
    Some(())
}

/// Returns the simplest value that the text allows.
fn make(words: &str) -> Option<Value> {
    let words = words.split("; or ").next()?;
    let words = words.split(", each element ").next()?;
    let mut literal = serde_json::Deserializer::from_str(words).into_iter::<Value>();
    if let Some(Ok(value)) = literal.next() {
        return Some(value);
    }
    if let Some((_, example)) = words.split_once("(such as ") {
        return Some(json!(example.split(')').next()?));
    }
    let number = |start: &str| -> Option<f64> {
        let (_, rest) = words.split_once(start)?;
        rest.split(' ').next()?.parse().ok()
    };
    let noun = words.strip_prefix("an ").or(words.strip_prefix("a "))?;
    let kind = noun.split([' ', ':']).next()?;
    Some(match kind {
        "string" if words.contains("that matches") => json!("abc"),
        "string" => json!("x".repeat(number("at least ").unwrap_or(1.0) as usize)),
        "integer" | "number" => {
            let least = number("from ")
                .or(number("at least "))
                .or(number("at most "));
            json!(least.unwrap_or(1.0) as i64)
        }
        "boolean" => json!(true),
        "array" if words.contains("at least") => return None,
        "array" => json!([]),
        "object" if words.contains(" with ") => return None,
        "object" => json!({}),
        _ => return None,
    })
}
