//! Finds out before a call ends that it can no longer become valid.
//!
//! Each member of the arguments is judged alone once it is complete, by the same gate that judges the
//! call in the end. Only issues that no other member can change count: a wrong type, a value that is
//! not allowed, a forbidden key.

use goodcall_core::{
    Gate, Issue, IssueKind, ParseEvent, Policy, ReadOptions, Refusal, Schema, StreamParser, Verdict,
};

use crate::tools::ToolDefinition;

/// The most members that are judged early; a call with more is judged when it ends.
const MOST_MEMBERS: usize = 256;

/// The arguments of one call as they arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlyVerdict {
    stream: Option<StreamParser>,
    depth: usize,
    key: String,
    members: usize,
    complete: bool,
}

impl EarlyVerdict {
    /// Returns true if the arguments are a complete object.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns true if the arguments are strict JSON so far.
    pub(super) fn is_strict(&self) -> bool {
        self.stream.as_ref().is_none_or(StreamParser::is_strict)
    }

    /// Takes a fragment. Returns the refusal if it made the call hopeless.
    pub(super) fn push(
        &mut self,
        text: &str,
        tool: Option<&ToolDefinition>,
        policy: &Policy,
    ) -> Option<Refusal> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => StreamParser::new(ReadOptions::new()),
        };
        let mut ended = Vec::new();
        stream.push_with(text.as_bytes(), |event| self.event(event, &mut ended));
        let mut hopeless = None;
        for key in ended {
            self.members += 1;
            if self.members > MOST_MEMBERS || hopeless.is_some() {
                break;
            }
            let value = stream.partial().and_then(|root| root.get(&key));
            if let (Some(value), Some(tool)) = (value, tool) {
                hopeless = judge(&key, &value.to_json(), tool, policy);
            }
        }
        self.stream = Some(stream);
        hopeless
    }

    fn event(&mut self, event: ParseEvent<'_>, ended: &mut Vec<String>) {
        match event {
            ParseEvent::Start(_) => self.depth += 1,
            ParseEvent::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                self.complete = self.depth == 0;
            }
            ParseEvent::Key(key) if self.depth == 1 => key.clone_into(&mut self.key),
            _ => {}
        }
        let value = matches!(event, ParseEvent::End(_) | ParseEvent::Scalar(..));
        if value && self.depth == 1 {
            ended.push(std::mem::take(&mut self.key));
        }
    }
}

/// Returns the refusal of one member, if no other member can change it.
fn judge(key: &str, value: &str, tool: &ToolDefinition, policy: &Policy) -> Option<Refusal> {
    let schema = tool.schema().ok().filter(|schema| is_plain(schema))?;
    let probe = format!("{{{}:{value}}}", serde_json::Value::from(key));
    let Verdict::Bad(mut bad) = Gate::new(schema)
        .policy(policy.clone())
        .tool(&tool.name)
        .keys_as_sent()
        .check(&probe)
    else {
        return None;
    };
    let own = |issue: &Issue| {
        let first = issue.pointer.segments().next();
        let at_member = first.is_some_and(|segment| segment == key);
        let certain = matches!(
            issue.kind,
            IssueKind::Type | IssueKind::Enum | IssueKind::UnknownKey
        );
        at_member && certain
    };
    bad.issues.retain(own);
    bad.more = 0;
    (!bad.issues.is_empty()).then_some(bad)
}

/// Returns true if the schema judges each member by itself.
fn is_plain(schema: &Schema) -> bool {
    const JOINT: [&str; 9] = [
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "$ref",
        "dependentSchemas",
        "dependencies",
        "patternProperties",
    ];
    let root = schema.root();
    root.value().is_object() && JOINT.iter().all(|keyword| root.get(keyword).is_none())
}
