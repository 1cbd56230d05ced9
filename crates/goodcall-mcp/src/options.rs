//! The options of a proxy: policies, style, limits.

use std::sync::Arc;
use std::time::Duration;

use goodcall_core::{Limits, Policies, Policy, Style};
use goodcall_server::{
    ApprovalMode, BadCallMode, McpListenerSettings, McpLoopMode, McpServerConfig, McpSettings,
    McpTools, Switch,
};
use goodcall_wire::ToolDefinition;

use crate::rate_limiter::RateLimiter;
use crate::tool_view::ToolView;

/// The options of the proxy in front of one server. Start from [`ProxyOptions::default`] and change
/// what you need.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// The server's name in logs and warnings.
    pub server: String,
    /// How calls are judged.
    pub calls: CallRules,
    /// How the server's tools appear to clients.
    pub view: ToolView,
    /// The options of each server, where there are several behind one endpoint.
    pub members: Vec<Arc<ProxyOptions>>,
    /// The style of refusals.
    pub style: Style,
    /// How a loop of equal calls is handled.
    pub loops: McpLoopMode,
    /// What is logged of a call.
    pub log: LogRules,
    /// How long one page of the list of tools may take.
    pub list_limit: Duration,
    /// The largest size of one frame, in bytes.
    pub max_frame: usize,
    /// Whether a server that has ended is started again for the next request.
    pub restart: bool,
    /// Whom a listener serves.
    pub listen: ListenOptions,
    /// The calls of the last minute, in all sessions.
    pub(crate) rates: RateLimiter,
}

/// What is logged of a call.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LogRules {
    /// Whether the log and the page have arguments, and the texts for models, which quote them.
    pub arguments: bool,
    /// Whether the trace that a call is part of is read from the request.
    pub trace_context: bool,
}

/// How calls are judged and limited, for all tools and for single ones.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallRules {
    /// The policies, which say per tool what may be mended.
    pub policies: Policies,
    /// Policies of an untrusted source: what they do not allow is not mended, whatever `policies`
    /// say.
    pub bounds: Option<Policies>,
    /// What is done with a bad call that cannot be mended.
    pub bad: BadCallMode,
    /// Which calls the user is asked about.
    pub approve: ApprovalMode,
    /// Whether calls are neither changed nor refused.
    pub observe: bool,
    /// Whether results that do not match the tool's output schema are refused, and not only logged.
    pub check_output: bool,
    /// How long a call may take without an answer or a report of its progress.
    pub time_limit: Option<Duration>,
    /// Calls of one tool within a minute, beyond which they are refused.
    pub rate_limit: Option<u32>,
    /// Bytes of a result, beyond which only its beginning is shown.
    pub max_result: Option<usize>,
    /// The settings of single tools.
    pub tools: McpTools,
}

impl Default for CallRules {
    fn default() -> Self {
        Self {
            policies: Policies::default(),
            bounds: None,
            bad: BadCallMode::default(),
            approve: ApprovalMode::default(),
            observe: false,
            check_output: false,
            time_limit: Some(Duration::from_secs(600)),
            rate_limit: None,
            max_result: None,
            tools: McpTools::default(),
        }
    }
}

/// What may be done with the calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallMode {
    /// Bad calls are refused.
    Refuse,
    /// Bad calls are forwarded as sent.
    Forward,
    /// Calls are neither changed nor refused.
    Observe,
}

impl CallRules {
    pub(crate) fn mode(&self, tool: &str) -> CallMode {
        let own = self.tools.of(tool);
        let observe = match own.observe {
            Switch::Unset => self.observe,
            own => own.is_on(),
        };
        match own.bad.unwrap_or(self.bad) {
            _ if observe => CallMode::Observe,
            BadCallMode::Forward => CallMode::Forward,
            _ => CallMode::Refuse,
        }
    }

    /// What may be mended in the arguments of a tool, whose own name this is.
    pub(crate) fn policy(&self, tool: &ToolDefinition, own: &str) -> Policy {
        let of = |policies: &Policies| {
            if tool.is_destructive() {
                policies.for_destructive_tool(own)
            } else {
                policies.for_tool(own)
            }
        };
        let policy = of(&self.policies);
        match &self.bounds {
            Some(bounds) => policy.within(&of(bounds)),
            None => policy,
        }
    }

    /// How long a call of this tool may take without an answer or a report of its progress.
    pub(crate) fn time_limit(&self, tool: &str) -> Option<Duration> {
        let own = self.tools.of(tool).time_limit;
        own.map_or(self.time_limit, limit)
    }

    /// Which calls of this tool the user is asked about.
    pub(crate) fn approval(&self, tool: &str) -> ApprovalMode {
        self.tools.of(tool).approve.unwrap_or(self.approve)
    }

    /// How often this tool may be called within a minute.
    pub(crate) fn rate_limit(&self, tool: &str) -> Option<u32> {
        let own = self.tools.of(tool).rate_limit.or(self.rate_limit);
        own.filter(|limit| *limit > 0)
    }

    /// The most bytes that a result of this tool may have.
    pub(crate) fn max_result(&self, tool: &str) -> Option<usize> {
        let own = self.tools.of(tool).max_result.or(self.max_result);
        own.filter(|limit| *limit > 0)
    }
}

/// Whom a listener serves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListenOptions {
    /// The token that every request must carry, as `Authorization: Bearer …`.
    pub token: Option<String>,
    /// Names of this machine that requests may use, besides those of the loopback address. Without
    /// any, a listener that can be reached from elsewhere takes every name.
    pub hosts: Vec<String>,
    /// Origins whose pages may use the server, such as `https://app.example`, or `*` for all.
    pub origins: Vec<String>,
    /// Sessions, and so processes, at the same time.
    pub max_sessions: usize,
    /// How long a session may be unused before it is ended.
    pub session_idle: Duration,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            token: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            max_sessions: 64,
            session_idle: Duration::from_secs(1800),
        }
    }
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            server: "server".to_owned(),
            calls: CallRules::default(),
            view: ToolView::default(),
            members: Vec::new(),
            style: Style::Model,
            loops: McpLoopMode::default(),
            log: LogRules::default(),
            list_limit: Duration::from_secs(15),
            max_frame: 128 << 20,
            restart: false,
            listen: ListenOptions::default(),
            rates: RateLimiter::default(),
        }
    }
}

impl ListenOptions {
    fn from_settings(settings: &McpListenerSettings) -> Self {
        let default = Self::default();
        Self {
            // Only its place is a setting.
            token: None,
            hosts: settings.allow_host.clone(),
            origins: settings.allow_origin.clone(),
            max_sessions: settings.max_sessions.unwrap_or(default.max_sessions),
            session_idle: settings
                .session_idle
                .map_or(default.session_idle, Duration::from_secs),
        }
    }
}

impl ProxyOptions {
    /// Returns what a user has written for the server of this name over the defaults.
    pub fn from_settings(server: &str, config: McpServerConfig) -> Self {
        let default = Self::default();
        let settings = &config.settings;
        let view = view_of(&config);
        Self {
            server: server.to_owned(),
            calls: CallRules {
                policies: config.policies,
                bounds: None,
                bad: settings.bad.unwrap_or_default(),
                approve: settings.approve.unwrap_or_default(),
                observe: settings.observe.is_on(),
                check_output: settings.check_output.is_on(),
                time_limit: settings.time_limit.map_or(default.calls.time_limit, limit),
                rate_limit: settings.rate_limit,
                max_result: settings.max_result,
                tools: config.tools,
            },
            view,
            style: settings.style.unwrap_or(default.style),
            loops: settings.loops.unwrap_or(default.loops),
            log: LogRules {
                arguments: settings.log_arguments.is_on(),
                trace_context: settings.observation.otlp.is_some(),
            },
            restart: settings.restart.is_on(),
            listen: ListenOptions::from_settings(&settings.listener),
            ..default
        }
    }

    /// Takes over what makes the proxy stricter from settings of an untrusted source.
    pub fn tighten(&mut self, policies: Policies, settings: &McpSettings) {
        self.calls.bounds = Some(policies);
        if settings.bad == Some(BadCallMode::Refuse) {
            self.calls.bad = BadCallMode::Refuse;
        }
        self.calls.check_output |= settings.check_output.is_on();
        if settings.loops == Some(McpLoopMode::Refuse) {
            self.loops = McpLoopMode::Refuse;
        }
    }

    /// Returns true if the user may be asked about calls.
    pub(crate) fn asks_for_approval(&self) -> bool {
        let is_on = |mode: Option<ApprovalMode>| mode.is_some_and(|mode| mode != ApprovalMode::Off);
        let mut all = self.members.iter().map(Arc::as_ref).chain([self]);
        all.any(|one| {
            is_on(Some(one.calls.approve)) || one.calls.tools.all().any(|own| is_on(own.approve))
        })
    }

    /// The options of the server that has a tool, and the tool's own name there. `server` is the
    /// server's name, if the list of tools says it; otherwise the name of the tool must tell.
    pub(crate) fn of_tool<'o>(
        &'o self,
        tool: &'o str,
        server: Option<&str>,
    ) -> (&'o ProxyOptions, &'o str) {
        let members = self.members.iter().map(Arc::as_ref);
        let known = members
            .clone()
            .find(|one| Some(one.server.as_str()) == server);
        let fitting = members.filter(|one| one.view.own(tool).is_some());
        // Of two prefixes the longer one tells more.
        let owner = known.or_else(|| fitting.max_by_key(|one| one.view.prefix.len()));
        let owner = owner.unwrap_or(self);
        (owner, owner.view.own(tool).unwrap_or(tool))
    }

    /// The limits on the arguments of one call, which may fill a whole frame.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_bytes = self.max_frame.min(Limits::MOST_BYTES);
        limits
    }
}

/// How a user wants the tools of a server to appear.
fn view_of(config: &McpServerConfig) -> ToolView {
    let definition = &config.definition;
    let named = || config.tools.named();
    let pair = |tool: &str, text: &Option<String>| Some((tool.to_owned(), text.clone()?));
    ToolView {
        prefix: definition.prefix.clone().unwrap_or_default(),
        allow: definition.allow.clone(),
        deny: definition.deny.clone(),
        names: named()
            .filter_map(|(tool, own)| pair(tool, &own.name))
            .collect(),
        descriptions: named()
            .filter_map(|(tool, own)| pair(tool, &own.description))
            .collect(),
    }
}

/// A time limit as users write it: 0 stands for no limit.
fn limit(seconds: u64) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds))
}
