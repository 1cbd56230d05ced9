//! Rewrites tool definitions that an upstream would refuse.
//!
//! Only the request changes. The calls in the reply are judged by the schemas that the client wrote,
//! which undoes the rewriting: a `null` for an optional parameter is left out. A tool whose name is
//! refused gets an alias everywhere in the request, and its name back in every reply.

mod anthropic;
mod gemini;
mod openai_strict;

use std::fmt;
use std::str::FromStr;

use goodcall_core::{Kind, Node, Tree};

use super::aliases::{free_alias, offered, rename};
use crate::definitions::Definition;
use crate::envelope::{Provider, legal_name};
use crate::splice::{Splice, quoted};
use crate::tools::{Aliases, Tools};

pub(crate) use gemini::GEMINI_REFUSES;

/// The most levels of a schema that are rewritten.
const MOST_DEPTH: usize = 64;

/// The provider whose rules tool definitions must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Adapt {
    /// OpenAI with `strict: true`: every parameter is required, and no others are allowed.
    OpenAiStrict,
    /// Anthropic: an object at the root, without unions.
    Anthropic,
    /// Gemini: a subset of OpenAPI, without references.
    Gemini,
}

/// The error for a name that is not an [`Adapt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAdapt(String);

impl fmt::Display for UnknownAdapt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown schema rules `{}`: expected openai-strict, anthropic or gemini",
            self.0
        )
    }
}

impl std::error::Error for UnknownAdapt {}

impl FromStr for Adapt {
    type Err = UnknownAdapt;

    fn from_str(name: &str) -> Result<Self, UnknownAdapt> {
        match name {
            "openai-strict" => Ok(Adapt::OpenAiStrict),
            "anthropic" => Ok(Adapt::Anthropic),
            "gemini" => Ok(Adapt::Gemini),
            other => Err(UnknownAdapt(other.to_owned())),
        }
    }
}

/// Rewrites the tools of a request under a provider's rules. Returns `None` if nothing needs
/// rewriting.
pub fn adapt(provider: Provider, request: &str, to: Adapt) -> Option<String> {
    adapt_with_aliases(provider, request, to).map(|(request, _)| request)
}

/// Like [`adapt`], and returns the aliases of tools whose names are refused.
pub(crate) fn adapt_with_aliases(
    provider: Provider,
    request: &str,
    to: Adapt,
) -> Option<(String, Aliases)> {
    let tree = Tree::parse(request).ok()?;
    let root = tree.root();
    // The legacy list of functions has no `strict`.
    let is_legacy = root.get("functions").is_some() && root.get("tools").is_none();
    if is_legacy && to == Adapt::OpenAiStrict {
        return None;
    }
    let mut splice = Splice::new(request);
    let mut aliases = Aliases::new();
    for entry in offered(provider, root) {
        let Some((name, schema)) = function_parts(provider, entry, is_legacy) else {
            continue;
        };
        let owner = Definition::read(entry).owner;
        let sent = name.as_str().unwrap_or("");
        if legal_name(provider, sent) != sent {
            let alias = free_alias(provider, sent, root, &aliases);
            splice.replace_string(name.span(), &alias);
            aliases.push((alias, sent.to_owned()));
        }
        let adapted = match to {
            Adapt::OpenAiStrict => openai_strict::adapt(schema),
            Adapt::Anthropic => anthropic::adapt(schema, request),
            Adapt::Gemini => gemini::adapt(schema),
        };
        let Some(adapted) = adapted else {
            // The rules have no form for this schema: the upstream decides.
            continue;
        };
        if request.get(schema.span()) != Some(adapted.as_str()) {
            splice.replace(schema.span(), adapted);
        }
        if to == Adapt::OpenAiStrict && owner.get("strict").and_then(Node::as_bool) != Some(true) {
            splice.set(owner, "strict", "true");
        }
    }
    let tools = Tools::default().with_aliases(aliases.clone());
    rename(provider, root, &tools, &mut splice);
    (!splice.is_empty()).then(|| (splice.apply(), aliases))
}

/// Returns the name and the schema of a function in the provider's own form.
fn function_parts<'t>(
    provider: Provider,
    entry: Node<'t>,
    is_legacy: bool,
) -> Option<(Node<'t>, Node<'t>)> {
    let definition = Definition::read(entry);
    let key = match provider {
        Provider::Anthropic => "input_schema",
        Provider::Bedrock => "inputSchema",
        _ => "parameters",
    };
    let has_form = match provider {
        Provider::Anthropic | Provider::Responses | Provider::Gemini => {
            definition.wrapper.is_none()
        }
        Provider::Bedrock => definition.wrapper == Some("toolSpec"),
        _ => is_legacy || definition.wrapper == Some("function"),
    };
    let owner = has_form.then_some(definition.owner)?;
    let schema = owner.get(key)?;
    let schema = schema
        .get("json")
        .filter(|_| provider == Provider::Bedrock)
        .unwrap_or(schema);
    (schema.kind() == Kind::Object).then_some((owner.get("name")?, schema))
}

/// Returns the target of a reference inside the schema.
fn target<'t>(root: Node<'t>, node: Node<'t>) -> Option<Node<'t>> {
    let path = node.get("$ref")?.as_str()?.strip_prefix('#')?;
    let mut at = root;
    for segment in path.split('/').skip(1) {
        at = at.child(&segment.replace("~1", "/").replace("~0", "~"))?;
    }
    Some(at)
}

/// Writes an object.
fn object(members: &[(String, String)]) -> String {
    let members = members
        .iter()
        .map(|(key, value)| format!("{}:{value}", quoted(key)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}
