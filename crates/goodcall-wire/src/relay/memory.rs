//! What a gateway remembers from a reply to the next request, because clients do not send it back.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use goodcall_core::{Node, Tree};

use super::endpoint::Endpoint;
use super::exchange::Exchange;
use super::stream::StreamRelay;
use crate::protocol;
use crate::splice::Splice;
use crate::stream::{raw, text};

/// The most bytes that are remembered.
const MOST_BYTES: usize = 16 << 20;
/// What an entry takes beside its texts, about.
const ENTRY_BYTES: usize = 200;

/// What came with a call, and what the provider wants back with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallMemory {
    /// The id that the provider gave the call.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// The arguments as JSON, without blanks.
    pub(crate) arguments: String,
    /// Members of the message, such as `"reasoning_content":"…"`, or blocks at its head.
    pub(crate) message: Vec<(String, String)>,
    /// Members of the call, such as `"thoughtSignature":"…"`.
    pub(crate) call: Vec<(String, String)>,
}

impl CallMemory {
    /// Returns the memory of a call that is written under these keys, with nothing in it yet; `None`
    /// if it has no name.
    pub(crate) fn read(call: Node<'_>, id: &str, arguments: &str) -> Option<Self> {
        Some(Self {
            id: text(call.get(id)),
            name: text(call.get("name"))?,
            arguments: raw(call.get(arguments)).map_or_else(String::new, |sent| plain(&sent)),
            ..Self::default()
        })
    }

    fn is_empty(&self) -> bool {
        self.message.is_empty() && self.call.is_empty() && !self.has_native_id()
    }

    /// Returns true if the model itself wrote the id, and wants it back: `functions.read:0`.
    pub(crate) fn has_native_id(&self) -> bool {
        let id = self.id.as_deref().unwrap_or_default();
        let counter = id
            .strip_prefix("functions.")
            .and_then(|rest| rest.rsplit_once(':'));
        counter.is_some_and(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()))
    }

    fn size(&self) -> usize {
        let members = self.message.iter().chain(&self.call);
        let members: usize = members.map(|(key, value)| key.len() + value.len()).sum();
        members + self.name.len() + self.arguments.len() + ENTRY_BYTES
    }
}

fn plain(arguments: &str) -> String {
    let tree = Tree::parse(arguments);
    tree.map_or_else(|_| arguments.to_owned(), |tree| tree.root().to_json())
}

/// Finds what is remembered of a call: by its id, or else by its name and arguments.
pub(crate) type FindCall<'f> = dyn Fn(Option<&str>, &str, &str) -> Option<Arc<CallMemory>> + 'f;

/// A small, bounded memory of calls and responses, shared by all requests.
///
/// Clients drop what they do not know: the reasoning that led to a call, its signature, the id that
/// the model gave it. Providers refuse the history then, or the model gets worse. With
/// [`Memory::note_reply`] and [`Memory::restore`] a gateway puts them back.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    calls: HashMap<String, Arc<CallMemory>>,
    /// The last response of an exchange, by the id of the first, which the client was told.
    responses: HashMap<String, String>,
    /// The keys of both, the oldest first, each with its size.
    order: VecDeque<(Key, usize)>,
    bytes: usize,
}

#[derive(Debug)]
enum Key {
    Call(String),
    Response(String),
}

impl Entries {
    fn add(&mut self, key: Key, size: usize) {
        self.order.push_back((key, size));
        self.bytes += size;
        while self.bytes > MOST_BYTES {
            let Some((key, size)) = self.order.pop_front() else {
                return;
            };
            self.bytes -= size;
            match key {
                Key::Call(key) => drop(self.calls.remove(&key)),
                Key::Response(key) => drop(self.responses.remove(&key)),
            }
        }
    }
}

fn by_id(id: &str) -> String {
    format!("#{id}")
}

fn by_content(name: &str, arguments: &str) -> String {
    format!("{name} {arguments}")
}

impl Memory {
    /// Remembers what came with the calls of a whole reply, as the client gets it.
    pub fn note_reply(&self, exchange: &Exchange, reply: &str) {
        let Ok(tree) = Tree::parse(reply) else {
            return;
        };
        let calls = exchange.form().memorable(tree.root(), reply);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for call in calls.into_iter().filter(|call| !call.is_empty()) {
            let call = Arc::new(call);
            let content = by_content(&call.name, &call.arguments);
            for key in call.id.as_deref().map(by_id).into_iter().chain([content]) {
                entries.calls.insert(key.clone(), Arc::clone(&call));
                entries.add(Key::Call(key), call.size());
            }
        }
    }

    /// Remembers what came with the calls of a streamed reply that has ended.
    pub fn note_stream(&self, relay: &StreamRelay) {
        if let Some(reply) = relay.last_reply() {
            self.note_reply(relay.exchange(), &reply);
        }
    }

    /// Remembers the response that a client's next request continues. Its first event named another
    /// one, whose calls were refused.
    pub fn note_response(&self, relay: &StreamRelay) {
        if let Some((told, last)) = relay.aliased_response() {
            let size = told.len() + last.len() + ENTRY_BYTES;
            let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            entries.responses.insert(told.clone(), last);
            entries.add(Key::Response(told), size);
        }
    }

    /// Returns a request with the response that it continues, if that is not the one it names.
    pub fn restore_response(&self, body: &str) -> Option<String> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.responses.is_empty() {
            return None;
        }
        let tree = Tree::parse(body).ok()?;
        let named = tree.root().get("previous_response_id")?;
        let last = entries.responses.get(named.as_str()?)?;
        let mut splice = Splice::new(body);
        splice.replace_string(named.span(), last);
        Some(splice.apply())
    }

    /// Returns a request with what its client dropped from the history; `None` if nothing is missing.
    pub fn restore(&self, endpoint: &Endpoint, body: &str) -> Option<String> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.calls.is_empty() {
            return None;
        }
        let tree = Tree::parse(body).ok()?;
        let find = |id: Option<&str>, name: &str, arguments: &str| {
            let known = id.and_then(|id| entries.calls.get(&by_id(id)));
            let known = known.or_else(|| {
                let content = by_content(name, &plain(arguments));
                entries.calls.get(&content)
            });
            known.cloned()
        };
        protocol::form(endpoint.provider).put_back(body, tree.root(), &find)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Provider;
    use crate::relay::{RelaySettings, ToolsCache};

    const REQUEST: &str = r#"{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]}"#;

    fn remembering(message: &str) -> Memory {
        let settings = Arc::new(RelaySettings::default());
        let cache = ToolsCache::default();
        let exchange = Exchange::new(Provider::OpenAi, REQUEST, &cache, settings).unwrap();
        let memory = Memory::default();
        let reply = format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
        memory.note_reply(&exchange, &reply);
        memory
    }

    fn restored(memory: &Memory, messages: &str) -> Option<String> {
        let body = format!(r#"{{"messages":[{messages}]}}"#);
        memory.restore(&Provider::OpenAi.into(), &body)
    }

    #[test]
    fn ids_that_the_model_wrote_are_put_back_with_their_results() {
        let call = |id: &str| {
            format!(
                r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"read","arguments":"{{\"n\":  1}}"}}}}]}}"#
            )
        };
        let result =
            |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"ok"}}"#);
        let memory = remembering(&call("functions.read:0"));
        let sent = format!("{},{}", call("call_9"), result("call_9"));
        let native = format!(
            "{},{}",
            call("functions.read:0"),
            result("functions.read:0")
        );
        let wanted = format!(r#"{{"messages":[{native}]}}"#);
        assert_eq!(restored(&memory, &sent), Some(wanted));
        assert_eq!(restored(&memory, &native), None);
        // Other ids are the client's affair.
        let memory = remembering(&call("call_1"));
        assert_eq!(restored(&memory, &sent), None);
    }

    #[test]
    fn members_of_a_call_are_put_back_unless_it_has_them() {
        let call = |extra: &str| {
            format!(
                r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"c1","type":"function","function":{{"name":"read","arguments":"{{}}"}}{extra}}}]}}"#
            )
        };
        let signature = r#","extra_content":{"google":{"thought_signature":"s"}}"#;
        let memory = remembering(&call(signature));
        let wanted = format!(r#"{{"messages":[{}]}}"#, call(signature));
        assert_eq!(restored(&memory, &call("")), Some(wanted));
        assert_eq!(restored(&memory, &call(signature)), None);
    }

    #[test]
    fn oldest_entries_are_forgotten_first() {
        let mut entries = Entries::default();
        for number in 0..100 {
            let key = number.to_string();
            entries.responses.insert(key.clone(), String::new());
            entries.add(Key::Response(key), MOST_BYTES / 10);
        }
        let mut kept: Vec<_> = entries.responses.keys().map(String::as_str).collect();
        kept.sort_unstable();
        assert_eq!(kept.len(), 10);
        assert_eq!((kept[0], kept[9]), ("90", "99"));
    }
}
