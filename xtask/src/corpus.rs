//! `cargo xtask corpus DIR`: the verdicts on real calls.
//!
//! `DIR` holds `calls*.jsonl` files, plain or as `.gz`. A row is one call: `id`, `schema`, `raw`,
//! and `truth`, a list of candidates `{parameter: [acceptable values]}` in which `""` says that
//! the parameter may be left out. Where `schema_rejects_truth` is set, only the laws are judged.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use goodcall_core::{Gate, Policy, SchemaCache, Verdict};
use serde_json::{Map, Value};

/// Runs the task: `DIR… [--policy strict|safe|eager] [--show N]`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut task = Task {
        policy: Policy::safe(),
        show: 0,
        schemas: SchemaCache::default(),
        counts: BTreeMap::new(),
        shown: BTreeMap::new(),
        rules: BTreeMap::new(),
    };
    let mut dirs = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--policy" => task.policy = value()?.parse().map_err(|e| format!("{e}"))?,
            "--show" => task.show = value()?.parse().map_err(|e| format!("--show: {e}"))?,
            dir => dirs.push(dir),
        }
    }
    if dirs.is_empty() {
        return Err("usage: cargo xtask corpus DIR… [--policy NAME] [--show N]".to_owned());
    }
    for dir in dirs {
        task.folder(Path::new(dir))?;
    }
    task.report();
    Ok(())
}

struct Task {
    policy: Policy,
    show: usize,
    schemas: SchemaCache,
    counts: BTreeMap<&'static str, usize>,
    shown: BTreeMap<&'static str, Vec<String>>,
    /// The numbers of parameters that each rule changed rightly and wrongly.
    rules: BTreeMap<&'static str, [usize; 2]>,
}

impl Task {
    fn folder(&mut self, dir: &Path) -> Result<(), String> {
        let listed = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let mut files: Vec<_> = listed
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        files.retain(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("calls") && name.contains(".jsonl"))
        });
        files.sort();
        for path in files {
            let file = File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let packed = path.extension().is_some_and(|end| end == "gz");
            let text: Box<dyn Read> = if packed {
                Box::new(GzDecoder::new(file))
            } else {
                Box::new(file)
            };
            for line in BufReader::new(text).lines() {
                let line = line.map_err(|e| format!("{}: {e}", path.display()))?;
                let row = serde_json::from_str(&line);
                self.row(&row.map_err(|e| format!("{}: {e}", path.display()))?);
            }
        }
        Ok(())
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn note(&mut self, what: &'static str, row: &Value, verdict: &Verdict<'_>) {
        self.count(what);
        let shown = self.shown.entry(what).or_default();
        if shown.len() < self.show {
            let out = verdict.arguments().map(|tree| tree.to_json());
            let changes: Vec<_> = (verdict.changes().iter())
                .map(|change| format!("{} {}", change.rule, change.pointer))
                .collect();
            shown.push(format!(
                "{}\n  raw   {}\n  out   {}\n  by    {}\n  truth {}",
                row["id"],
                row["raw"],
                out.unwrap_or_default(),
                changes.join(", "),
                row["truth"]
            ));
        }
    }

    fn row(&mut self, row: &Value) {
        let (Some(schema), Some(raw)) = (row.get("schema"), row["raw"].as_str()) else {
            return;
        };
        if schema.is_null() || schema.as_object().is_some_and(Map::is_empty) {
            return;
        }
        let Ok(schema) = self.schemas.get(schema) else {
            return self.count("schema refused");
        };
        let gate = Gate::new(&schema).policy(self.policy.clone());
        let verdict = gate.check(raw);
        let sent: Option<Value> = serde_json::from_str(raw).ok().filter(Value::is_object);
        let strict = Gate::new(&schema).policy(Policy::strict()).check(raw);
        // Read from the text, like what was sent: `to_value` makes an integer of `1.0`.
        let args = verdict.arguments().map(|tree| tree.root().to_json());
        let args: Option<Value> = args.and_then(|text| serde_json::from_str(&text).ok());
        let rejected = row["schema_rejects_truth"] == true;
        let truth = row["truth"].as_array().filter(|_| !rejected);
        let truth = truth.map(Vec::as_slice).unwrap_or_default();
        if args.is_some()
            && !verdict
                .arguments()
                .is_some_and(|tree| schema.is_valid(tree))
        {
            self.note("LAW 2 BROKEN: came out invalid", row, &verdict);
        }
        if matches!(strict, Verdict::Good(_)) {
            self.valid(row, &verdict, sent.as_ref(), args.as_ref(), truth);
        } else {
            self.failing(row, &verdict, sent.as_ref(), args.as_ref(), truth);
        }
    }

    fn valid(
        &mut self,
        row: &Value,
        verdict: &Verdict<'_>,
        sent: Option<&Value>,
        args: Option<&Value>,
        truth: &[Value],
    ) {
        self.count("valid as sent");
        if args != sent {
            self.note(
                "LAW 1 BROKEN: valid as sent, changed or refused",
                row,
                verdict,
            );
        }
        if sent.is_some_and(|sent| right(sent, truth)) {
            self.count("right as sent");
            if !args.is_some_and(|args| right(args, truth)) {
                self.note("HARM: right as sent, not right now", row, verdict);
            }
        }
    }

    fn failing(
        &mut self,
        row: &Value,
        verdict: &Verdict<'_>,
        sent: Option<&Value>,
        args: Option<&Value>,
        truth: &[Value],
    ) {
        self.count("failing as sent");
        self.count(match verdict {
            Verdict::Good(_) => "verdict good",
            Verdict::Mended(_) => "verdict mended",
            Verdict::Bad(_) => "verdict bad",
        });
        if args.is_some() && verdict.changes().is_empty() {
            self.note(
                "LAW 3 BROKEN: mended without a recorded change",
                row,
                verdict,
            );
        }
        if truth.is_empty() {
            if args.is_some() {
                self.note("mended, truth not known", row, verdict);
            }
            return;
        }
        self.count("failing, truth known");
        let Some(args) = args else {
            return self.note("left bad", row, verdict);
        };
        if right(args, truth) {
            self.count("made right");
        } else if sent.is_some_and(|sent| right(sent, truth)) {
            self.note(
                "right by the truth though invalid, not right now",
                row,
                verdict,
            );
        } else {
            self.note("valid but wrong", row, verdict);
        }
        for (key, value) in args.as_object().into_iter().flatten() {
            if sent.and_then(|sent| sent.get(key)) == Some(value) {
                continue;
            }
            self.count("parameters changed");
            let right = parameter_right(key, value, truth);
            if right {
                self.count("parameters changed, right");
            } else {
                self.note("parameters changed, wrong", row, verdict);
            }
            for change in verdict.changes() {
                let parameter = change.pointer.segments().next();
                if parameter.is_none_or(|name| name == key.as_str()) {
                    self.rules.entry(change.rule.name()).or_default()[usize::from(!right)] += 1;
                }
            }
        }
    }

    fn report(&self) {
        for (what, count) in &self.counts {
            println!("{what}: {count}");
        }
        for (rule, [right, wrong]) in &self.rules {
            println!("  {rule}: {right} right, {wrong} wrong");
        }
        for (what, rows) in &self.shown {
            for row in rows {
                println!("--- {what}\n{row}");
            }
        }
    }
}

fn right(args: &Value, truth: &[Value]) -> bool {
    truth
        .iter()
        .any(|candidate| matches_candidate(args, candidate))
}

fn matches_candidate(args: &Value, candidate: &Value) -> bool {
    let (Some(args), Some(candidate)) = (args.as_object(), candidate.as_object()) else {
        return false;
    };
    let options = |key: &str| candidate.get(key).and_then(Value::as_array);
    let fits = |(key, value): (&String, &Value)| {
        options(key).is_some_and(|options| options.iter().any(|option| same(value, option)))
    };
    args.iter().all(fits)
        && candidate.iter().all(|(key, options)| {
            let may_miss = options.as_array().is_some_and(|o| o.contains(&"".into()));
            args.contains_key(key) || may_miss
        })
}

fn parameter_right(key: &str, value: &Value, truth: &[Value]) -> bool {
    truth.iter().any(|candidate| {
        let options = candidate.get(key).and_then(Value::as_array);
        options.is_some_and(|options| options.iter().any(|option| same(value, option)))
    })
}

/// Returns true if the value is acceptable where the truth names another one.
fn same(value: &Value, truth: &Value) -> bool {
    match (value, truth) {
        (Value::String(value), Value::String(truth)) => norm(value) == norm(truth),
        (Value::Number(value), Value::Number(truth)) => {
            let (Some(a), Some(b)) = (value.as_f64(), truth.as_f64()) else {
                return value == truth;
            };
            (a - b).abs() <= (1e-9 * a.abs().max(b.abs())).max(1e-12)
        }
        (Value::Array(values), Value::Array(truth)) => {
            values.len() == truth.len() && values.iter().zip(truth).all(|(v, t)| same(v, t))
        }
        (Value::Object(values), Value::Object(truth)) => same_members(values, truth),
        (value, truth) => value == truth,
    }
}

fn same_members(values: &Map<String, Value>, truth: &Map<String, Value>) -> bool {
    let fits = |(key, value): (&String, &Value)| match truth.get(key) {
        Some(Value::Array(options)) => options.iter().any(|option| same(value, option)),
        Some(option) => same(value, option),
        None => false,
    };
    values.iter().all(fits)
        && truth.iter().all(|(key, options)| {
            let may_miss = options.as_array().is_some_and(|o| o.contains(&"".into()));
            values.contains_key(key) || may_miss
        })
}

/// Returns a text without case and without the signs that do not matter.
fn norm(text: &str) -> String {
    let kept = text.chars().filter(|c| !" ,./-_*^".contains(*c));
    let lower: String = kept.flat_map(char::to_lowercase).collect();
    lower.replace('\'', "\"")
}
