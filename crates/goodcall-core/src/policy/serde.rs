//! Policies as they are written, in any format of serde. Errors name the tool, the key and what
//! may stand there; the format itself adds the line.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::Policy;
use super::per_tool::Table;

const LEVEL: &str = "a level (\"strict\", \"safe\" or \"eager\")";

/// Where in the file something stands.
#[derive(Clone, Copy)]
pub(crate) enum Place<'p> {
    /// For all tools.
    All,
    /// For this tool.
    Tool(&'p str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::All => Ok(()),
            Place::Tool(tool) => write!(f, " for the tool `{tool}`"),
        }
    }
}

/// One policy: a level by its name, or a table with `level` and `rules`.
pub(crate) struct OnePolicy<'p>(pub(crate) Place<'p>);

impl<'de> DeserializeSeed<'de> for OnePolicy<'_> {
    type Value = Table;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Table, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OnePolicy<'_> {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LEVEL} or a table with `level` and `rules`{}", self.0)
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Table, E> {
        let level = Level(self.0).visit_str(name)?;
        let level = Some(level);
        Ok(Table {
            level,
            ..Table::default()
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut table = Table::default();
        let keys = Key(self.0, &["level", "rules"]);
        while let Some(key) = map.next_key_seed(keys)? {
            match key {
                "level" => table.level = Some(map.next_value_seed(Level(self.0))?),
                _ => table.rules = map.next_value_seed(Rules(self.0))?,
            }
        }
        Ok(table)
    }
}

/// The policy of all tools, and those of single ones.
pub(crate) struct All;

impl<'de> Visitor<'de> for All {
    type Value = (Table, BTreeMap<String, Table>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with `level`, `rules` and `tools`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut table, mut tools) = (Table::default(), BTreeMap::new());
        let keys = Key(Place::All, &["level", "rules", "tools"]);
        while let Some(key) = map.next_key_seed(keys)? {
            match key {
                "level" => table.level = Some(map.next_value_seed(Level(Place::All))?),
                "rules" => table.rules = map.next_value_seed(Rules(Place::All))?,
                _ => tools = map.next_value_seed(Tools)?,
            }
        }
        Ok((table, tools))
    }
}

/// A key that is one of these.
#[derive(Clone, Copy)]
struct Key<'p>(Place<'p>, &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<&'static str, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of the keys {}{}", self.known(), self.0)
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<&'static str, E> {
        if let Some(known) = self.1.iter().find(|known| **known == key) {
            return Ok(known);
        }
        let hint = match key {
            // As `goodcall.toml` has it, where there are other settings too.
            "policy" => "; in a file of policies, write the level as `level`",
            _ if Policy::strict().switch(key, true).is_ok() => "; a rule is switched under `rules`",
            _ => "",
        };
        let (known, place) = (self.known(), self.0);
        Err(E::custom(format_args!(
            "`{key}` is no key of a policy{place}: use {known}{hint}"
        )))
    }
}

impl Key<'_> {
    fn known(&self) -> String {
        let (last, first) = self.1.split_last().unwrap_or((&"", &[]));
        format!("{} or {last}", first.join(", "))
    }
}

/// The name of a level.
struct Level<'p>(Place<'p>);

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for Level<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LEVEL}{}", self.0)
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<String, E> {
        let known = name.parse::<Policy>();
        known.map_err(|error| E::custom(format_args!("{error}{}", self.0)))?;
        Ok(name.to_owned())
    }
}

/// Rules by their names, on or off.
struct Rules<'p>(Place<'p>);

impl<'de> DeserializeSeed<'de> for Rules<'_> {
    type Value = BTreeMap<String, bool>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rules<'_> {
    type Value = BTreeMap<String, bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0;
        write!(f, "a table of rules, each true or false,{place}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut rules = BTreeMap::new();
        while let Some(rule) = map.next_key_seed(RuleName(self.0))? {
            let on = map.next_value_seed(Switch(&rule, self.0))?;
            rules.insert(rule, on);
        }
        Ok(rules)
    }
}

/// The name of a rule that there is.
struct RuleName<'p>(Place<'p>);

impl<'de> DeserializeSeed<'de> for RuleName<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for RuleName<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name of a rule{}", self.0)
    }

    fn visit_str<E: de::Error>(self, rule: &str) -> Result<String, E> {
        match Policy::strict().switch(rule, true) {
            Ok(_) => Ok(rule.to_owned()),
            Err(error) => Err(E::custom(format_args!("rules{}: {error}", self.0))),
        }
    }
}

/// A rule, on or off.
struct Switch<'p>(&'p str, Place<'p>);

impl<'de> DeserializeSeed<'de> for Switch<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for Switch<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "true or false for the rule `{}`{}", self.0, self.1)
    }

    fn visit_bool<E: de::Error>(self, on: bool) -> Result<bool, E> {
        Ok(on)
    }
}

/// Tools by their names, each with a policy.
struct Tools;

impl<'de> DeserializeSeed<'de> for Tools {
    type Value = BTreeMap<String, Table>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tools {
    type Value = BTreeMap<String, Table>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of tools by their names, each with a policy")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut tools = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let table = map.next_value_seed(OnePolicy(Place::Tool(&name)))?;
            tools.insert(name, table);
        }
        Ok(tools)
    }
}
