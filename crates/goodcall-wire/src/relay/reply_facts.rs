//! What replies say about themselves, for traces: id, model, and why they ended.

use goodcall_core::Node;

/// The most stop reasons of one reply that are kept: one for each choice.
const MOST_REASONS: usize = 128;

/// What the last reply says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyFacts {
    /// The id of the reply.
    pub id: Option<String>,
    /// The model that replied, which may be another than the request names.
    pub model: Option<String>,
    /// Why the reply ended, in the provider's words, for each choice.
    pub stop_reasons: Vec<String>,
    /// True if these are facts of a reply before the current one.
    is_earlier: bool,
}

impl ReplyFacts {
    /// Begins the next reply. What is known of the last one stays until the next one says something.
    pub(super) fn begin_next(&mut self) {
        self.is_earlier = true;
    }

    /// Adds what a whole reply or an event of a stream says.
    pub(super) fn note(&mut self, root: Node<'_>) {
        let (id, model) = (named(root, ["id", "responseId"]), model(root));
        let mut reasons = Vec::new();
        stop_reasons(root, &mut reasons);
        if self.is_earlier && (id.is_some() || model.is_some() || !reasons.is_empty()) {
            *self = Self::default();
        }
        if self.id.is_none() {
            self.id = id.map(str::to_owned);
        }
        if self.model.is_none() {
            self.model = model.map(str::to_owned);
        }
        let free = MOST_REASONS.saturating_sub(self.stop_reasons.len());
        let reasons = reasons.into_iter().take(free);
        self.stop_reasons.extend(reasons.map(str::to_owned));
    }
}

/// The model that a reply or an event names.
pub(crate) fn model(root: Node<'_>) -> Option<&str> {
    named(root, ["model", "modelVersion"])
}

/// Finds a string under one of these keys, in a reply or in the message inside an event.
fn named<'t>(root: Node<'t>, keys: [&str; 2]) -> Option<&'t str> {
    let inner = ["message", "response"].into_iter();
    let inner = inner.filter_map(|key| root.get(key));
    let mut places = std::iter::once(root).chain(inner);
    places.find_map(|place| {
        let found = keys.iter().filter_map(|key| place.get(key));
        found.filter_map(Node::as_str).next()
    })
}

fn stop_reasons<'t>(root: Node<'t>, out: &mut Vec<&'t str>) {
    let mut push = |place: Option<Node<'t>>, key: &str| {
        let reason = place.and_then(|place| place.get(key)?.as_str());
        out.extend(reason.filter(|reason| !matches!(*reason, "" | "queued" | "in_progress")));
    };
    for (list, key) in [("choices", "finish_reason"), ("candidates", "finishReason")] {
        for choice in root.get(list).into_iter().flat_map(Node::elements) {
            push(Some(choice), key);
        }
    }
    push(Some(root), "stop_reason");
    push(root.get("delta"), "stop_reason");
    push(Some(root), "done_reason");
    push(Some(root), "stopReason");
    push(root.get("messageStop"), "stopReason");
    push(root.get("response"), "status");
    if root.get("object").and_then(Node::as_str) == Some("response") {
        push(Some(root), "status");
    }
}

#[cfg(test)]
mod tests {
    use goodcall_core::Tree;

    use super::*;

    #[test]
    fn every_provider_s_reply_tells_its_id_model_and_end() {
        let chat = r#"{"id":"r","model":"m","choices":[{"finish_reason":"stop"},{"finish_reason":"length"}]}"#;
        let response = r#"{"object":"response","id":"r","model":"m","status":"completed"}"#;
        for (events, id, reasons) in [
            (vec![chat], Some("r"), vec!["stop", "length"]),
            (vec![response], Some("r"), vec!["completed"]),
            (
                vec![
                    r#"{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress"}}"#,
                    r#"{"type":"response.completed","response":{"id":"r","model":"m","status":"completed"}}"#,
                ],
                Some("r"),
                vec!["completed"],
            ),
            (
                vec![
                    r#"{"type":"message_start","message":{"id":"r","model":"m","stop_reason":null}}"#,
                    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
                ],
                Some("r"),
                vec!["tool_use"],
            ),
            (
                vec![
                    r#"{"responseId":"r","modelVersion":"m","candidates":[{"finishReason":"STOP"}]}"#,
                ],
                Some("r"),
                vec!["STOP"],
            ),
            (
                vec![r#"{"model":"m","message":{},"done_reason":"stop"}"#],
                None,
                vec!["stop"],
            ),
        ] {
            let mut facts = ReplyFacts::default();
            let earlier = Tree::parse(r#"{"id":"old","stop_reason":"tool_use"}"#).unwrap();
            facts.note(earlier.root());
            facts.begin_next();
            for event in &events {
                facts.note(Tree::parse(event).unwrap().root());
            }
            assert_eq!(facts.id.as_deref(), id, "{events:?}");
            assert_eq!(facts.model.as_deref(), Some("m"), "{events:?}");
            assert_eq!(facts.stop_reasons, reasons, "{events:?}");
        }
    }

    #[test]
    fn a_reply_that_says_nothing_leaves_the_facts_of_the_one_before() {
        let mut facts = ReplyFacts::default();
        facts.note(Tree::parse(r#"{"id":"old"}"#).unwrap().root());
        facts.begin_next();
        facts.note(Tree::parse(r#"{"error":{}}"#).unwrap().root());
        assert_eq!(facts.id.as_deref(), Some("old"));
    }
}
