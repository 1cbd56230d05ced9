//! `goodcall rules`: the catalogue of what may be changed.

use anstream::println;
use goodcall_core::{Rule, RuleId, UnknownRule};
use goodcall_wire::catalogue;

use crate::{Failure, RulesArgs};

pub(crate) fn run(args: &RulesArgs) -> Result<bool, Failure> {
    let rules = catalogue();
    if args.markdown {
        println!("{}", markdown(&rules));
        return Ok(true);
    }
    let Some(name) = &args.name else {
        let width = rules
            .iter()
            .map(|rule| rule.id.name().len())
            .max()
            .unwrap_or(0);
        for rule in &rules {
            println!(
                "{:width$}  {:5}  {}",
                rule.id.name(),
                rule.level.name(),
                rule.what
            );
        }
        return Ok(true);
    };
    let id = name.parse::<RuleId>().map_err(|error| unknown(&error))?;
    let rule = rules.iter().find(|rule| rule.id == id);
    println!("{}", page(rule.expect("every rule is in the catalogue")));
    Ok(true)
}

fn unknown(error: &UnknownRule) -> Failure {
    let name = error.name();
    let nearest = error.nearest();
    let nearest = nearest.map_or_else(String::new, |rule| format!(" Did you mean `{rule}`?"));
    format!("there is no rule `{name}`.{nearest} `goodcall rules` lists them.")
}

/// All there is to say of one rule.
fn page(rule: &Rule) -> String {
    let (name, level, what, why) = (rule.id, rule.level.name(), rule.what, rule.why);
    let example = rule.example;
    format!(
        "{name} ({level})\n\n{what}\n\nWhy this is {level}: {why}\n\nschema    {}\nsent      {}\ncomes out {}",
        example.schema, example.raw, example.mended
    )
}

/// The catalogue as a document.
fn markdown(rules: &[Rule]) -> String {
    let mut out = String::from(HEAD);
    for rule in rules {
        let (name, level, what, why) = (rule.id, rule.level.name(), rule.what, rule.why);
        let example = rule.example;
        out += &format!(
            "\n\n## {name}\n\n*{level}*. {what}\n\nWhy: {why}\n\n````text\nschema    {}\nsent      {}\ncomes out {}\n````",
            example.schema, example.raw, example.mended
        );
    }
    out
}

const HEAD: &str = "# Rules

Written by `goodcall rules --markdown` from the rules themselves; every example is run as a test.

A rule of level *safe* is on by default: no other reading is possible. A rule of level *eager* is
very likely right, but a person could mean something else: it is on under the policy `eager`, or
where it is switched on by name. Under `strict` nothing is changed at all. Every change that a
rule makes is listed in the verdict.";
