//! Which server of a group has a tool, a prompt or a resource.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::merge::ListKind;
use crate::options::ProxyOptions;

/// Entries of lists whose servers are remembered.
const MAX_PLACES: usize = 100_000;

/// One server, as far as messages are routed by it.
pub(super) struct RoutedMember {
    pub(super) options: Arc<ProxyOptions>,
    /// What it said in the handshake.
    pub(super) capabilities: Value,
    /// Whether its connection has ended.
    pub(super) has_ended: bool,
}

impl RoutedMember {
    /// Returns true if the server has a capability.
    pub(super) fn has(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }
}

/// Where an entry of a list comes from.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) member: usize,
    /// What the server calls it.
    pub(super) own: String,
}

/// The servers of what was listed.
#[derive(Default)]
pub(super) struct Places(HashMap<(ListKind, String), Place>);

impl Places {
    /// Takes over a list.
    pub(super) fn replace(&mut self, kind: ListKind, list: Vec<(String, Place)>) {
        self.0.retain(|(of, _), _| *of != kind);
        let room = MAX_PLACES.saturating_sub(self.0.len());
        let list = list.into_iter().take(room);
        self.0
            .extend(list.map(|(name, place)| ((kind, name), place)));
    }

    /// The server of a prompt: the one that lists it, or the only one that may have it.
    pub(super) fn prompt(&self, members: &[RoutedMember], name: &str) -> Option<Place> {
        let listed = self.0.get(&(ListKind::Prompts, name.to_owned())).cloned();
        listed.or_else(|| {
            // A prompt that is not listed belongs to the server whose prefix it has.
            let own = |one: &RoutedMember| {
                let prefix = one.options.view.prefix.as_str();
                name.strip_prefix(prefix).map(str::to_owned)
            };
            only(members, |one| own(one).filter(|_| one.has("prompts")))
        })
    }

    /// The server of a tool: the one that lists it, or the only one that may have it.
    pub(super) fn tool(&self, members: &[RoutedMember], name: &str) -> Option<Place> {
        let listed = self.0.get(&(ListKind::Tools, name.to_owned()));
        listed.cloned().or_else(|| {
            only(members, |one| {
                let own = one.options.view.own(name)?;
                Some(own.to_owned())
            })
        })
    }

    /// The server of a resource: the one that lists it or a template that it fits, or the only one
    /// with resources.
    pub(super) fn resource(&self, members: &[RoutedMember], uri: &str) -> Option<Place> {
        let listed = self.0.get(&(ListKind::Resources, uri.to_owned()));
        let fits = |template: &str| {
            let fixed = template.split('{').next().expect("a split has a part");
            uri.starts_with(fixed) || template == uri
        };
        let templates = self.0.iter();
        let templates = templates
            .filter(|((kind, template), _)| *kind == ListKind::Templates && fits(template));
        let longest = templates.max_by_key(|((_, template), _)| template.len());
        let listed = listed.or(longest.map(|(_, place)| place)).cloned();
        listed.or_else(|| only(members, |one| one.has("resources").then(|| uri.to_owned())))
    }
}

/// The only server for which there is an own name. Of several, those with the longest prefix
/// count.
fn only(members: &[RoutedMember], own: impl Fn(&RoutedMember) -> Option<String>) -> Option<Place> {
    let members = members.iter().enumerate();
    let mut found: Vec<_> = members
        .filter_map(|(member, one)| {
            let length = one.options.view.prefix.len();
            Some((
                length,
                Place {
                    member,
                    own: own(one)?,
                },
            ))
        })
        .collect();
    let longest = found.iter().map(|(length, _)| *length).max()?;
    found.retain(|(length, _)| *length == longest);
    let [(_, place)] = found.as_slice() else {
        return None;
    };
    Some(place.clone())
}
