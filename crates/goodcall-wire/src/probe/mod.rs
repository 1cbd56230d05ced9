//! Small questions to a live OpenAI-compatible server, and what is wrong with its replies.
//!
//! There are no sockets here: [`questions`] writes the requests, [`ProbeQuestion::judge`] reads the
//! replies.

mod reply;

use goodcall_core::{Policy, Verdict};
use serde_json::{Value, json};

use crate::text::{TextCallScope, extract};
use crate::tools::Tools;
use reply::{Reply, read};

/// One question, whole or streamed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProbeQuestion {
    /// The name of what is asked for: `parallel-calls`.
    pub name: &'static str,
    /// The reply is to be streamed.
    pub streamed: bool,
    /// The body of the request.
    pub body: String,
    expected: Expected,
    tools: Tools,
}

/// What a right reply holds.
#[derive(Clone, Debug)]
enum Expected {
    /// These calls, by name and arguments.
    Calls(Vec<(&'static str, Value)>),
    /// No call, but a text with this word in it.
    Text(&'static str),
    /// A reply that says that it was cut off.
    CutOff,
}

/// How good a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProbeOutcome {
    /// Right as it is.
    Right,
    /// Wrong, and right behind the gateway.
    Mended,
    /// Wrong, and the gateway can at most ask again.
    Broken,
}

impl ProbeOutcome {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Mended => "mended",
            Self::Broken => "broken",
        }
    }
}

/// One thing that is wrong with a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeProblem {
    /// The kind in kebab case: `call-in-text`.
    pub kind: &'static str,
    /// What is wrong, with the part of the reply that shows it.
    pub detail: String,
    /// What the gateway makes of it.
    pub gateway: &'static str,
    /// The flag of `goodcall gateway` that it takes, if one is needed.
    pub flag: Option<&'static str>,
    /// The gateway makes it right.
    pub mended: bool,
}

/// The most characters of a reply in a report.
const MOST_CHARS: usize = 120;

impl ProbeProblem {
    fn broken(kind: &'static str, detail: impl Into<String>, gateway: &'static str) -> Self {
        Self {
            kind,
            detail: detail.into(),
            gateway,
            flag: None,
            mended: false,
        }
    }

    fn mended(kind: &'static str, detail: impl Into<String>, gateway: &'static str) -> Self {
        Self {
            mended: true,
            ..Self::broken(kind, detail, gateway)
        }
    }

    fn by_flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }
}

/// Returns the outcome of a reply with these problems.
pub fn outcome(problems: &[ProbeProblem]) -> ProbeOutcome {
    match problems {
        [] => ProbeOutcome::Right,
        all if all.iter().all(|problem| problem.mended) => ProbeOutcome::Mended,
        _ => ProbeOutcome::Broken,
    }
}

/// The tools that every question offers.
fn tools() -> Value {
    let function = |name: &str, description: &str, properties: Value, required: Value| {
        json!({"type": "function", "function": {"name": name, "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required}}})
    };
    let text = json!({"type": "string"});
    json!([
        function(
            "get_weather",
            "The weather in a city",
            json!({"city": text}),
            json!(["city"])
        ),
        function(
            "record_order",
            "Records an order",
            json!({"number": {"type": "integer"}, "customer": {"type": "object", "properties": {
                "name": text, "tags": {"type": "array", "items": text}}, "required": ["name", "tags"]}}),
            json!(["number", "customer"]),
        ),
        function(
            "save_note",
            "Saves a note",
            json!({"text": text}),
            json!(["text"])
        ),
        function(
            "set_unit",
            "Sets the unit of temperatures",
            json!({"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}),
            json!(["unit"]),
        ),
        function("get_time", "The time now", json!({}), json!([])),
    ])
}

const UNICODE: &str = "Grüße, 東京 🌸 “naïve”";

fn numbers() -> String {
    let words: Vec<_> = (1..=60).map(|number: u32| number.to_string()).collect();
    words.join(" ")
}

/// What is asked: a name, the messages, what a right reply holds, and more fields of the request.
type Asked = (&'static str, Value, Expected, Value);

/// The questions about single calls and several.
fn about_calls() -> Vec<Asked> {
    use Expected::Calls;
    let weather = |city: &str| ("get_weather", json!({"city": city}));
    let order = json!({"number": 7, "customer": {"name": "Ada", "tags": ["new", "vip"]}});
    vec![
        (
            "parallel-calls",
            says("Call get_weather for Paris and for Rome, both in this reply."),
            Calls(vec![weather("Paris"), weather("Rome")]),
            json!({}),
        ),
        (
            "nested-object",
            says("Call record_order: number 7, customer Ada with the tags new and vip."),
            Calls(vec![("record_order", order)]),
            json!({}),
        ),
        note("unicode", UNICODE),
        note("long-string", &numbers()),
        (
            "enum",
            says("Call set_unit for Fahrenheit."),
            Calls(vec![("set_unit", json!({"unit": "fahrenheit"}))]),
            json!({}),
        ),
        (
            "no-arguments",
            says("Call get_time."),
            Calls(vec![("get_time", json!({}))]),
            json!({}),
        ),
        (
            "forced-choice",
            says("Hello!"),
            Calls(vec![("get_time", json!({}))]),
            json!({"tool_choice": {"type": "function", "function": {"name": "get_time"}}}),
        ),
    ]
}

/// The questions about the turn after a result, and about a reply that is cut off.
fn about_turns() -> Vec<Asked> {
    let second_turn = json!([
        {"role": "user", "content": "What is the weather in Paris? Use the tool, then tell me."},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "call_probe1", "type": "function",
            "function": {"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"}}]},
        {"role": "tool", "tool_call_id": "call_probe1", "content": "18 degrees, light rain"},
    ]);
    let (_, messages, ..) = note("cut-off", &numbers());
    vec![
        ("second-turn", second_turn, Expected::Text("18"), json!({})),
        (
            "cut-off",
            messages,
            Expected::CutOff,
            json!({"max_tokens": 24}),
        ),
    ]
}

fn says(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

/// The question for a note with exactly this text.
fn note(name: &'static str, text: &str) -> Asked {
    let asked = says(&format!("Call save_note with exactly this text: {text}"));
    let expected = vec![("save_note", json!({"text": text}))];
    (name, asked, Expected::Calls(expected), json!({}))
}

/// Returns the questions to a model, each one whole and streamed.
///
/// # Panics
/// Never: the tools are constant.
pub fn questions(model: &str) -> Vec<ProbeQuestion> {
    let offered = tools();
    let read = Tools::read(&offered.to_string()).expect("the tools are constant");
    let mut questions = Vec::new();
    for (name, messages, expected, extra) in about_calls().into_iter().chain(about_turns()) {
        for streamed in [false, true] {
            let mut body = json!({"model": model, "messages": messages, "tools": offered});
            body["stream"] = Value::from(streamed);
            for (key, value) in extra.as_object().into_iter().flatten() {
                body[key] = value.clone();
            }
            questions.push(ProbeQuestion {
                name,
                streamed,
                body: body.to_string(),
                expected: expected.clone(),
                tools: read.clone(),
            });
        }
    }
    questions
}

impl ProbeQuestion {
    /// Returns what is wrong with a reply.
    pub fn judge(&self, status: u16, body: &str) -> Vec<ProbeProblem> {
        if !(200..300).contains(&status) {
            return vec![ProbeProblem::broken(
                "http-error",
                format!("HTTP {status}: {}", short(body)),
                "passes the error on",
            )];
        }
        let mut problems = Vec::new();
        let Some(reply) = read(body, self.streamed, &self.tools, &mut problems) else {
            return problems;
        };
        match &self.expected {
            Expected::Calls(expected) => self.calls(&reply, expected, &mut problems),
            Expected::Text(word) => text(&reply, word, &mut problems),
            Expected::CutOff => self.cut_off(&reply, &mut problems),
        }
        problems
    }

    fn calls(
        &self,
        reply: &Reply,
        expected: &[(&'static str, Value)],
        problems: &mut Vec<ProbeProblem>,
    ) {
        let mut calls = reply.calls.clone();
        if calls.is_empty() {
            let found = self.in_text(reply, problems);
            if found.is_empty() {
                let why = format!("no call, but the text: {}", short(&reply.text));
                problems.push(ProbeProblem::broken("no-call", why, "passes the text on"));
                return;
            }
            calls = found;
        } else if reply.finish.as_deref() != Some("tool_calls") {
            let finish = reply.finish.as_deref().unwrap_or("nothing");
            problems.push(ProbeProblem::mended(
                "finish-reason",
                format!("the finish reason of a reply with calls is {finish}, not tool_calls"),
                "writes tool_calls",
            ));
        }
        let mut left: Vec<_> = expected.to_vec();
        for call in &calls {
            let verdict = call.check(&self.tools, &Policy::safe(), reply.stop);
            match &verdict {
                Verdict::Bad(bad) => problems.push(ProbeProblem::broken(
                    "bad-call",
                    format!("{}: {}", call.name, short(bad.summary())),
                    "asks the model again (--reasks)",
                )),
                Verdict::Mended(mended) => {
                    let mut rules: Vec<_> = mended
                        .changes
                        .iter()
                        .map(|change| change.rule.name())
                        .collect();
                    rules.dedup();
                    let detail = format!("{} with {}", call.name, short(&call.arguments));
                    problems.push(ProbeProblem::mended(
                        "mended-call",
                        format!("{detail} ({})", rules.join(", ")),
                        "mends the arguments",
                    ));
                }
                Verdict::Good(_) => {}
            }
            let Some(value) = verdict.arguments().and_then(|tree| tree.to_value().ok()) else {
                continue;
            };
            match left
                .iter()
                .position(|(name, own)| *name == call.name && *own == value)
            {
                Some(at) => drop(left.remove(at)),
                None => problems.push(ProbeProblem::broken(
                    "other-values",
                    format!("{} with {}", call.name, short(value.to_string())),
                    "passes the call on: it is valid",
                )),
            }
        }
        if calls.len() < expected.len() {
            let detail = format!("{} of {} calls", calls.len(), expected.len());
            problems.push(ProbeProblem::broken(
                "missing-call",
                detail,
                "passes the rest on",
            ));
        }
    }

    /// The calls that the server left in the text.
    fn in_text(&self, reply: &Reply, problems: &mut Vec<ProbeProblem>) -> Vec<crate::RawCall> {
        for (scope, flag) in [
            (TextCallScope::Explicit, "--text-calls"),
            (TextCallScope::Anywhere, "--text-calls=anywhere"),
        ] {
            let found = extract(&reply.text, &self.tools, scope).calls;
            if !found.is_empty() {
                let detail = format!("a call as text: {}", short(&reply.text));
                let problem = ProbeProblem::mended("call-in-text", detail, "makes it a call");
                problems.push(problem.by_flag(flag));
                return found;
            }
        }
        Vec::new()
    }

    fn cut_off(&self, reply: &Reply, problems: &mut Vec<ProbeProblem>) {
        if reply.finish.as_deref() == Some("length") {
            return;
        }
        let finish = reply.finish.as_deref().unwrap_or("nothing");
        let detail = format!("a reply of max_tokens ends with {finish}, not length");
        let is_bad = |call: &crate::RawCall| {
            let verdict = call.check(&self.tools, &Policy::safe(), reply.stop);
            matches!(verdict, Verdict::Bad(_))
        };
        // A call that is visibly incomplete is refused all the same.
        problems.push(
            if !reply.calls.is_empty() && reply.calls.iter().all(is_bad) {
                ProbeProblem::mended("hidden-cut-off", detail, "refuses the call and asks again")
            } else {
                ProbeProblem::broken("hidden-cut-off", detail, "cannot see it")
            },
        );
    }
}

fn text(reply: &Reply, word: &str, problems: &mut Vec<ProbeProblem>) {
    if !reply.calls.is_empty() {
        let detail = format!("calls {} again", reply.calls[0].name);
        problems.push(ProbeProblem::broken(
            "repeated-call",
            detail,
            "passes the call on",
        ));
    } else if !reply.text.contains(word) {
        let detail = format!("the answer lacks the result: {}", short(&reply.text));
        problems.push(ProbeProblem::broken(
            "ignored-result",
            detail,
            "passes the text on",
        ));
    }
}

/// The beginning of a text, on one line.
fn short(text: impl AsRef<str>) -> String {
    let line = text.as_ref().replace(['\n', '\r'], " ");
    let mut out: String = line.chars().take(MOST_CHARS).collect();
    if out.len() < line.len() {
        out.push('…');
    }
    out
}
