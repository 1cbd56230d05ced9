//! The calls of an envelope, and where they stand.

use std::ops::Range;

use goodcall_core::{Node, StopReason};

use super::rewrite::{self, CallRewrite};
use super::sites::{self, Site};
use super::{Provider, made_up_id};
use crate::call::RawCall;
use crate::cuts::Cuts;
use crate::tools::Tools;

/// What is found in a text that somebody else keeps.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(super) provider: Provider,
    pub(super) sites: Vec<Site>,
    pub(super) calls: Vec<RawCall>,
    stop: StopReason,
}

impl Located {
    /// The calls of a text that is read already.
    pub(crate) fn new(provider: Provider, text: &str, root: Node<'_>, tools: &Tools) -> Self {
        let sites = sites::calls(provider, root);
        let mut calls = Vec::with_capacity(sites.len());
        for (index, site) in sites.iter().enumerate() {
            let arguments = match &site.arguments {
                None => String::new(),
                Some(sites::Arguments {
                    text: Some(decoded),
                    ..
                }) => decoded.clone(),
                Some(sites::Arguments { span, .. }) => {
                    text.get(span.clone()).unwrap_or_default().to_owned()
                }
            };
            let taken = |id: &String| sites.iter().any(|site| site.id.as_ref() == Some(id));
            let mut made_up = (index..).map(made_up_id);
            let free = || made_up.find(|id| !taken(id)).unwrap_or_default();
            let id = site.id.clone().unwrap_or_else(free);
            calls.push(RawCall::new(tools, &site.name, arguments).with_id(id));
        }
        Self {
            provider,
            calls,
            stop: sites::stop(root),
            sites,
        }
    }

    /// The calls, in order; one without an id has got one.
    pub(crate) fn calls(&self) -> &[RawCall] {
        &self.calls
    }

    /// How the message ended.
    pub(crate) fn stop(&self) -> StopReason {
        self.stop
    }

    /// The provider's own id of a call.
    pub(crate) fn sent_id(&self, index: usize) -> Option<&str> {
        self.sites.get(index)?.id.as_deref()
    }

    /// Another id for a call.
    pub(crate) fn set_id(&mut self, index: usize, id: String) {
        if let Some(call) = self.calls.get_mut(index) {
            call.id = Some(id);
        }
    }

    /// Where each call stands: the whole of it.
    pub(crate) fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.sites.iter().map(|site| site.id_owner.clone())
    }

    /// Writes each call as it is due.
    pub(crate) fn write(&self, due: &[CallRewrite<'_>], cuts: &mut Cuts<'_>) {
        rewrite::write(self, due, cuts);
    }
}
