//! Calls that arrive in fragments, whatever the split and the order.

use goodcall_core::{Policy, Refusal};

use super::call_event::{CallSlot, Fragment};
use super::early_verdict::EarlyVerdict;
use super::partial_arguments::{PartialArgument, PartialArguments};
use crate::call::RawCall;
use crate::tools::{ToolDefinition, Tools};

/// The calls of one message, as far as they have arrived.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedCalls {
    tools: Tools,
    policy: Policy,
    calls: Vec<ReceivedCall>,
}

#[derive(Clone, Debug)]
struct ReceivedCall {
    slot: CallSlot,
    /// The id that the provider sent.
    id: Option<String>,
    name: String,
    arguments: String,
    partial: PartialArguments,
    early: EarlyVerdict,
    /// True once the call was reported as hopeless.
    reported: bool,
    ended: bool,
}

/// What a fragment changed in its call.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) number: usize,
    /// True if the call got its name.
    pub(crate) named: bool,
    /// Set once the call can no longer become valid.
    pub(crate) hopeless: Option<Refusal>,
}

impl ReceivedCalls {
    pub(crate) fn new(tools: Tools, policy: Policy) -> Self {
        Self {
            tools,
            policy,
            calls: Vec::new(),
        }
    }

    /// The number of calls that began.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn has_open(&self) -> bool {
        self.calls.iter().any(|call| !call.ended)
    }

    /// The id and the name that the provider sent.
    pub(crate) fn head(&self, number: usize) -> (Option<&str>, &str) {
        let call = &self.calls[number];
        (call.id.as_deref(), &call.name)
    }

    /// The bytes of arguments that arrived.
    pub(crate) fn size(&self, number: usize) -> usize {
        self.calls[number].arguments.len()
    }

    /// Returns true while the call is valid: strict JSON for an offered tool, no wrong member.
    pub(crate) fn is_strict(&self, number: usize) -> bool {
        let call = &self.calls[number];
        let offered = self.tools.get(&call.name).is_some();
        offered && !call.reported && call.early.is_strict()
    }

    /// Finds the call of a fragment. Some servers give every call the index 0; then another id, or a
    /// name after complete arguments, begins another call.
    pub(crate) fn find(&self, slot: &CallSlot, fragment: &Fragment) -> Option<usize> {
        let Fragment {
            id,
            name,
            arguments,
            ..
        } = fragment;
        let (id, name) = (id.as_deref(), name.as_deref());
        let number = match slot {
            CallSlot::New => return None,
            CallSlot::Last => self.calls.len().checked_sub(1)?,
            slot => self
                .calls
                .iter()
                .rposition(|call| call.slot.is_same(slot))?,
        };
        let call = &self.calls[number];
        let other_id = id.is_some_and(|id| call.id.as_deref().is_some_and(|own| own != id));
        if other_id {
            // The fragment may continue an earlier call.
            return self.calls.iter().rposition(|call| call.id.as_deref() == id);
        }
        let same_id = id.is_some() && call.id.as_deref() == id;
        let named = name.is_some_and(|name| !name.is_empty()) && !call.name.is_empty();
        let other_name = named && name != Some(call.name.as_str());
        let again = named && !same_id && call.early.is_complete() && arguments.is_some();
        (!(other_name && !same_id || again || call.ended)).then_some(number)
    }

    /// Finds the open call in a slot.
    pub(crate) fn find_open(&self, slot: &CallSlot) -> Option<usize> {
        self.find(slot, &Fragment::default())
    }

    /// Adds a fragment to its call, which begins with it if there is none.
    pub(crate) fn add(&mut self, slot: CallSlot, fragment: Fragment) -> Received {
        let found = self.find(&slot, &fragment);
        let number = found.unwrap_or_else(|| self.start(slot));
        let mut received = self.name(number, fragment.id, fragment.name);
        if let Some(text) = fragment.arguments {
            let call = &mut self.calls[number];
            call.arguments.push_str(&text);
            let tool = self.tools.meant(&call.name);
            let hopeless = call.early.push(&text, tool, &self.policy);
            if let Some(refusal) = hopeless.filter(|_| !call.reported) {
                call.reported = true;
                received.hopeless = Some(refusal);
            }
        }
        received
    }

    /// Adds values to the arguments of a call. They are a whole object once there are no more.
    pub(crate) fn add_parts(
        &mut self,
        slot: CallSlot,
        fragment: Fragment,
        parts: Vec<PartialArgument>,
        more: bool,
    ) -> Received {
        let found = self.find_open(&slot);
        let number = found.unwrap_or_else(|| self.start(slot));
        let received = self.name(number, fragment.id, fragment.name);
        let call = &mut self.calls[number];
        for part in parts {
            call.partial.set(part);
        }
        call.arguments = call.partial.to_json();
        if more {
            // A stream that ends now has cut the call off.
            call.arguments.pop();
        }
        received
    }

    /// Takes all arguments of a call, which matter only if fragments were lost.
    pub(crate) fn set_whole(&mut self, number: usize, arguments: String) {
        let call = &mut self.calls[number];
        if call.arguments.len() < arguments.len() {
            call.arguments = arguments;
        }
    }

    /// Ends a call. Returns false if it had ended.
    pub(crate) fn end(&mut self, number: usize) -> bool {
        !std::mem::replace(&mut self.calls[number].ended, true)
    }

    /// The arguments of the call, which are those of several if several objects were sent.
    pub(crate) fn calls(&self, number: usize) -> Vec<RawCall> {
        let call = &self.calls[number];
        let mut parts = split(&call.arguments);
        // Some servers send an empty object before the arguments. It is not a call of its own if the
        // tool has required parameters.
        let needs = |tool: &ToolDefinition| !tool.has_no_required_parameters();
        if parts.len() == 2 && parts[0] == "{}" && self.tools.meant(&call.name).is_some_and(needs) {
            parts.remove(0);
        }
        let calls = parts.into_iter().enumerate().map(|(count, part)| {
            let mut raw = RawCall::new(&self.tools, &call.name, part);
            raw.id = call.id.clone().filter(|_| count == 0);
            raw
        });
        calls.collect()
    }

    /// The call with its arguments as one, even if several objects were sent.
    pub(crate) fn joined_call(&self, number: usize) -> RawCall {
        let call = &self.calls[number];
        let mut raw = RawCall::new(&self.tools, &call.name, &call.arguments);
        raw.id.clone_from(&call.id);
        raw
    }

    fn start(&mut self, slot: CallSlot) -> usize {
        self.calls.push(ReceivedCall {
            slot,
            id: None,
            name: String::new(),
            arguments: String::new(),
            partial: PartialArguments::default(),
            early: EarlyVerdict::default(),
            reported: false,
            ended: false,
        });
        self.calls.len() - 1
    }

    fn name(&mut self, number: usize, id: Option<String>, name: Option<String>) -> Received {
        let mut received = Received {
            number,
            ..Received::default()
        };
        let call = &mut self.calls[number];
        call.id = call.id.take().or(id);
        if let Some(name) = name.filter(|name| !name.is_empty())
            && call.name.is_empty()
        {
            call.name = name;
            received.named = true;
            if self.tools.meant(&call.name).is_none() {
                call.reported = true;
                received.hopeless = Some(self.tools.unknown(&call.name));
            }
        }
        received
    }
}

/// Splits `{}{}` into the arguments of two calls. Anything else is the arguments of one.
fn split(arguments: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = arguments.trim();
    while rest.starts_with('{') {
        let size = crate::text::object_size(rest);
        let Some(size) = size else {
            return vec![arguments];
        };
        parts.push(&rest[..size]);
        rest = rest[size..].trim_start();
    }
    match (rest.is_empty(), parts.len()) {
        (true, 2..) => parts,
        _ => vec![arguments],
    }
}
