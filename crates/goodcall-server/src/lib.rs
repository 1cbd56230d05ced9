//! What the gateway and the MCP proxy share: the file `goodcall.toml`, the page with metrics and
//! readiness, and checks on HTTP headers.
//!
//! - [`ConfigFile`]: `goodcall.toml`, read once for both servers.
//! - [`GatewaySettings`] and [`McpSettings`]: every setting that a user may write, in the file and,
//!   with the feature `clap`, as a flag or an environment variable.
//! - [`answer_admin`]: the paths of the admin address, over what an [`AdminSource`] tells;
//!   [`RecentRequests`], [`CallCounters`] and [`QuickFamily`] keep what it shows.
//! - [`is_cross_site`], [`is_loopback_authority`], [`is_hop_by_hop`] and [`has_media_type`]: what both servers ask of headers.

#![allow(
    rustdoc::bare_urls,
    reason = "doc comments of settings are the help texts of flags, too"
)]

mod admin;
mod config_file;
#[cfg(feature = "clap")]
mod flag_values;
mod gateway_sections;
mod gateway_settings;
mod headers;
mod layers;
mod mcp_settings;
mod same_site;
mod store_target;

pub use admin::{
    AdminReach, AdminSource, CallCounters, CallSource, KeptValues, KnownNames, Labels,
    MOST_REQUESTS, PageData, QuickFamily, Readiness, RecentCall, RecentCallNote, RecentEnd,
    RecentFigures, RecentQuestion, RecentRequest, RecentRequests, SharedName, admin_not_found,
    answer_admin,
};
pub use config_file::{ConfigFile, ConfigFileError, McpServerConfig};
#[cfg(feature = "clap")]
pub use flag_values::listen_address;
pub use gateway_sections::GatewayRoute;
pub use gateway_settings::{
    GatewayLoopMode, GatewaySettings, GiveUpMode, ListenerSettings, LogTarget,
    ObservabilitySettings, ReaskSettings, ReplySettings, RequestSettings, TextCallMode, ToldUsage,
    UpstreamSettings,
};
pub use headers::{has_media_type, is_hop_by_hop};
pub use layers::Switch;
pub use mcp_settings::{
    ApprovalMode, BadCallMode, McpListenerSettings, McpLoopMode, McpObservationSettings,
    McpServerDefinition, McpSettings, McpToolSettings, McpTools,
};
pub use same_site::{is_cross_site, is_from_foreign_page, is_loopback_authority};
pub use store_target::{StoreTarget, StoreTargetError};
