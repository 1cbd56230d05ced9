//! The tables inside `[gateway]`: routes to several upstreams, and the policies of single models.

use std::collections::BTreeMap;

use goodcall_core::{Policies, Policy};
use serde::Deserialize;
use serde_json::Value;

use crate::config_file::{ConfigFile, PolicyLayer, Unsaid};
use crate::gateway_settings::{
    GatewaySettings, ReaskSettings, ReplySettings, RequestSettings, UpstreamSettings,
};

/// A policy for each tool that differs, as written, with the tool's own settings. Only `Policies`
/// knows how to complete them.
pub(crate) type ToolPolicies = BTreeMap<String, Value>;

/// What a section says about all tools, about destructive ones, and about single ones.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct PolicySection {
    pub(crate) policy: Option<Policy>,
    pub(crate) destructive: Option<Policy>,
    pub(crate) tools: ToolPolicies,
}

impl PolicySection {
    pub(crate) const KEYS: [&str; 3] = ["policy", "destructive", "tools"];
}

/// The section `[gateway]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct GatewaySection {
    #[serde(flatten)]
    pub(crate) settings: GatewaySettings,
    pub(crate) routes: BTreeMap<String, RouteSection>,
    /// By the name of the model, in which `*` stands for any text.
    pub(crate) models: BTreeMap<String, PolicySection>,
}

/// A section `[gateway.routes.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct RouteSection {
    #[serde(flatten)]
    pub(crate) settings: GatewaySettings,
    #[serde(flatten)]
    pub(crate) policies: PolicySection,
    pub(crate) prefix: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
}

impl RouteSection {
    /// The keys of a route: those of the gateway, except what concerns the listener and the log.
    pub(crate) fn keys() -> Vec<&'static str> {
        let mut keys = vec!["prefix", "host", "headers"];
        keys.extend(PolicySection::KEYS);
        keys.extend(UpstreamSettings::keys());
        keys.extend(RequestSettings::keys());
        keys.extend(ReplySettings::keys());
        keys.extend(ReaskSettings::keys());
        keys
    }
}

/// A route of the gateway to an upstream of its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayRoute {
    /// The name in the log and the metrics.
    pub name: String,
    /// The beginning of the paths that it takes, which the upstream does not see. Without a host, it
    /// is the name unless the file says another.
    pub prefix: Option<String>,
    /// The host that it takes.
    pub host: Option<String>,
    /// Headers that every request to the upstream has.
    pub headers: BTreeMap<String, String>,
    /// Its own settings over those of the gateway.
    pub settings: GatewaySettings,
    /// The policies of its tools.
    pub policies: Policies,
    /// The policies of single models, the closest pattern first.
    pub models: Vec<(String, Policies)>,
}

impl ConfigFile {
    /// The section `[gateway]`, without its routes.
    pub fn gateway_settings(&self) -> GatewaySettings {
        self.gateway.settings.clone()
    }

    /// The policies of single models, the closest pattern first.
    pub fn gateway_models(&self) -> Vec<(String, Policies)> {
        self.models_over(&PolicySection::default())
            .expect("policies were checked when the file was read")
    }

    /// The routes of the gateway, each with its own settings over those of the gateway.
    pub fn gateway_routes(&self) -> Vec<GatewayRoute> {
        let routes = self.gateway.routes.iter();
        let routes = routes.map(|(name, route)| self.gateway_route(name, route));
        let routes: Result<_, _> = routes.collect();
        routes.expect("policies were checked when the file was read")
    }

    pub(crate) fn gateway_route(
        &self,
        name: &str,
        route: &RouteSection,
    ) -> Result<GatewayRoute, String> {
        let mut common = self.gateway.settings.clone();
        common.upstream.upstream = None;
        let own_prefix = route.host.is_none().then(|| format!("/{name}"));
        Ok(GatewayRoute {
            name: name.to_owned(),
            prefix: route.prefix.clone().or(own_prefix),
            host: route.host.clone(),
            headers: route.headers.clone(),
            settings: route.settings.clone().over(common),
            policies: self.all_policies(&[layer(&route.policies)], &Unsaid::default())?,
            models: self.models_over(&route.policies)?,
        })
    }

    pub(crate) fn models_over(
        &self,
        route: &PolicySection,
    ) -> Result<Vec<(String, Policies)>, String> {
        let models = self.gateway.models.iter().map(|(pattern, model)| {
            let layers = [layer(route), layer(model)];
            let policies = self.all_policies(&layers, &Unsaid::default())?;
            Ok((pattern.clone(), policies))
        });
        let mut models = models.collect::<Result<Vec<_>, String>>()?;
        sort_patterns(&mut models);
        Ok(models)
    }
}

fn layer(section: &PolicySection) -> PolicyLayer<'_> {
    (&section.policy, &section.destructive, &section.tools)
}

/// Sorts patterns so that the first one that fits is the closest: a name before every pattern, and
/// a longer one before a shorter one.
fn sort_patterns<T>(patterns: &mut [(String, T)]) {
    patterns.sort_by_key(|(pattern, _)| (pattern.contains('*'), std::cmp::Reverse(pattern.len())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_has_its_own_settings_over_those_of_the_gateway() {
        let file = ConfigFile::parse(
            "[gateway]\nupstream = \"https://a.example\"\nreasks = 1\nstyle = \"plain\"\n\
             [gateway.routes.openai]\nupstream = \"https://b.example\"\nreasks = 0\npolicy = \"strict\"\n\
             [gateway.routes.openai.headers]\nx-team = \"search\"\n\
             [gateway.routes.other]\nhost = \"models.example\"\n",
        )
        .unwrap();
        let routes = file.gateway_routes();
        let [openai, other] = &routes[..] else {
            panic!("two routes");
        };
        assert_eq!(openai.prefix.as_deref(), Some("/openai"));
        assert_eq!(
            openai.settings.upstream.upstream.as_deref(),
            Some("https://b.example")
        );
        assert_eq!(openai.settings.replies.reasks, Some(0));
        assert!(openai.settings.replies.style.is_some());
        assert!(openai.policies.for_tool("f").is_strict());
        assert_eq!(openai.headers["x-team"], "search");
        assert_eq!(
            (other.prefix.as_deref(), other.host.as_deref()),
            (None, Some("models.example"))
        );
        assert_eq!(other.settings.replies.reasks, Some(1));
        assert_eq!(
            other.settings.upstream.upstream, None,
            "it is not the gateway's"
        );
    }

    #[test]
    fn route_has_limits_on_reasks_and_policies_of_tools_of_its_own() {
        let file = ConfigFile::parse(
            "[gateway]\nreasks_per_minute = 600\nreask_percent = 20\n\
             [gateway.routes.a]\nupstream = \"https://a.example\"\nobserve = true\n\
             reasks_per_minute = 6\nreask_deadline_seconds = 30\nno_reask = [\"truncated\"]\n\
             reask_breaker = 2\nreask_breaker_seconds = 9\ntools = { f = \"strict\" }\n\
             [gateway.models.\"small-*\"]\npolicy = \"eager\"\ntools = { g = \"strict\" }\n",
        )
        .unwrap();
        let route = &file.gateway_routes()[0];
        let limits = &route.settings.reasking;
        assert_eq!(limits.reasks_per_minute, Some(6), "its own");
        assert_eq!(limits.reask_percent, Some(20), "the gateway's");
        assert_eq!(limits.reask_deadline_seconds, Some(30));
        assert_eq!(limits.no_reask, ["truncated"]);
        assert_eq!(
            (limits.reask_breaker, limits.reask_breaker_seconds),
            (Some(2), Some(9))
        );
        assert!(route.settings.replies.observe.is_on());
        assert!(!file.gateway_settings().replies.observe.is_on());
        let level = |policies: &Policies, tool| policies.for_tool(tool).level_name();
        assert_eq!(level(&route.policies, "f"), "strict");
        assert_eq!(level(&route.policies, "g"), "safe");
        let (_, small) = &route.models[0];
        assert_eq!(
            (level(small, "f"), level(small, "g"), level(small, "h")),
            ("strict", "strict", "eager")
        );
    }

    #[test]
    fn closest_pattern_of_a_model_comes_first() {
        let file = ConfigFile::parse(
            "policy = \"strict\"\n[gateway.models.\"gpt-*\"]\npolicy = \"safe\"\n\
             [gateway.models.gpt-5]\npolicy = \"eager\"\n[gateway.models.\"gpt-5-*\"]\n\
             tools = { f = \"eager\" }\n",
        )
        .unwrap();
        let models = file.gateway_models();
        let names: Vec<_> = models.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["gpt-5", "gpt-5-*", "gpt-*"]);
        let (_, policies) = &models[1];
        assert!(policies.for_tool("g").is_strict());
        assert_eq!(policies.for_tool("f").level_name(), "eager");
    }

    #[test]
    fn settings_of_the_listener_are_refused_in_a_route() {
        let error = ConfigFile::parse("[gateway.routes.a]\nlisten = \"127.0.0.1:1\"").unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("gateway.routes.a.listen: unknown key"),
            "{text}"
        );
        let error = ConfigFile::parse("[gateway.models.m]\nreasks = 1").unwrap_err();
        let text = error.to_string();
        let wanted =
            "gateway.models.m.reasks: unknown key, expected one of policy, destructive, tools";
        assert_eq!(text, wanted);
    }
}
