//! The calls of an envelope, with their places in the text.

use std::ops::Range;

use goodcall_core::{Node, StopReason};

use super::rewrite::{self, CallRewrite};
use super::sites::{self, Site};
use super::{Provider, made_up_id};
use crate::call::RawCall;
use crate::splice::Splice;
use crate::tools::Tools;

/// The calls of a text that the caller keeps.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(super) provider: Provider,
    pub(super) sites: Vec<Site>,
    pub(super) calls: Vec<RawCall>,
    stop: StopReason,
}

impl Located {
    /// Finds the calls of a text that is parsed already.
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
                    let arguments = text.get(span.clone());
                    arguments
                        .expect("arguments lie inside their message")
                        .to_owned()
                }
            };
            let taken = |id: &String| sites.iter().any(|site| site.id.as_ref() == Some(id));
            let mut made_up = (index..).map(made_up_id);
            let free = || {
                let id = made_up.find(|id| !taken(id));
                id.expect("a finite list leaves ids free")
            };
            let id = site.id.clone().unwrap_or_else(free);
            let mut call = RawCall::new(tools, &site.name, arguments).with_id(id);
            call.signature.clone_from(&site.signature);
            calls.push(call);
        }
        Self {
            provider,
            calls,
            stop: sites::stop(root),
            sites,
        }
    }

    pub(crate) fn calls(&self) -> &[RawCall] {
        &self.calls
    }

    pub(crate) fn stop(&self) -> StopReason {
        self.stop
    }

    /// The id that the provider sent for a call.
    pub(crate) fn sent_id(&self, index: usize) -> Option<&str> {
        self.sites.get(index)?.id.as_deref()
    }

    /// Returns true if the form of a call has an id; that of the older `function_call` has none.
    pub(crate) fn takes_id(&self, index: usize) -> bool {
        let site = self.sites.get(index);
        site.is_some_and(|site| !site.id_key.is_empty())
    }

    pub(crate) fn set_id(&mut self, index: usize, id: String) {
        if let Some(call) = self.calls.get_mut(index) {
            call.id = Some(id);
        }
    }

    /// Returns true if arguments are an object where the provider writes a string, or a string
    /// where it writes an object.
    pub(crate) fn has_other_form(&self) -> bool {
        let writes_text = self.provider.writes_text();
        let mut sent = self.sites.iter().filter_map(|site| site.arguments.as_ref());
        sent.any(|sent| sent.text.is_some() != writes_text)
    }

    /// The span of each call.
    pub(crate) fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.sites.iter().map(|site| site.id_owner.clone())
    }

    /// Rewrites each call.
    pub(crate) fn write(&self, rewrites: &[CallRewrite<'_>], splice: &mut Splice<'_>) {
        rewrite::write(self, rewrites, splice);
    }
}
