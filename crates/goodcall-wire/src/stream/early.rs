//! A verdict before the call ends: is there still a way for it to become valid?
//!
//! Each member of the arguments is judged alone when it is whole, by the same gate that judges the
//! call in the end. Only what no other member can change counts: a wrong type, a value that is not
//! allowed, a key that is forbidden.

use goodcall_core::{
    Gate, Issue, IssueKind, ParseEvent, Policy, ReadOptions, Refusal, Schema, StreamParser, Verdict,
};

use crate::tools::ToolDefinition;

/// Members judged early; a call with more is judged when it ends.
const MOST_MEMBERS: usize = 256;

/// The arguments of one call as they arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Early {
    stream: Option<StreamParser>,
    depth: usize,
    key: String,
    members: usize,
    whole: bool,
}

impl Early {
    /// Are the arguments a whole object?
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Are the arguments the beginning of JSON?
    pub(super) fn is_strict(&self) -> bool {
        self.stream.as_ref().is_none_or(StreamParser::is_strict)
    }

    /// Takes a fragment; the refusal, if it made the call hopeless.
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
                self.whole = self.depth == 0;
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

/// The refusal of one member, if no other member can change it.
fn judge(key: &str, value: &str, tool: &ToolDefinition, policy: &Policy) -> Option<Refusal> {
    let schema = tool
        .schema
        .as_ref()
        .ok()
        .filter(|schema| is_plain(schema))?;
    let probe = format!("{{{}:{value}}}", serde_json::Value::from(key));
    let Verdict::Bad(mut bad) = Gate::new(schema)
        .policy(policy.clone())
        .tool(&tool.name)
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

/// Does the schema judge each member by itself?
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
    let document = schema.document().as_object();
    document.is_some_and(|map| JOINT.iter().all(|keyword| !map.contains_key(*keyword)))
}
