//! What `goodcall mcp` shows of itself: the admin address, and spans.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;

use goodcall::otlp::Exporter;
use goodcall_mcp::{McpServer, ProxyAdmin, ProxyLog, serve_admin};
use goodcall_server::McpObservationSettings;
use tokio::net::TcpListener;

use super::variable;
use crate::CliError;

/// The admin address and the spans of one proxy.
pub(super) struct Observation {
    admin: Option<(SocketAddr, Arc<ProxyAdmin>)>,
    /// Whether clients of the page must send a token.
    has_token: bool,
    /// Sends the spans that wait when it is dropped.
    _exporter: Option<Exporter>,
}

/// Whether the proxy can do without its admin address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AdminNeed {
    /// A client starts a proxy for each of its servers, and only one of them gets the address.
    Wanted,
    Required,
}

impl Observation {
    /// Prepares what the settings ask for. The log tells it of every call.
    pub(super) fn prepare(
        settings: &McpObservationSettings,
        server: &McpServer,
        log: &ProxyLog,
    ) -> Result<Self, CliError> {
        let exporter = settings.otlp.as_ref().map(|url| {
            let made = Exporter::new(url, "goodcall-mcp");
            made.map_err(|error| format!("--otlp {url}: {error}"))
        });
        let exporter = exporter.transpose()?;
        if let Some(exporter) = &exporter {
            exporter.install();
            log.trace();
        }
        let token = settings.admin_token_env.as_ref();
        let token = token.map(|name| variable("--admin-token-env", name));
        let token = token.transpose()?;
        let has_token = token.is_some();
        let admin = settings.admin.map(|address| {
            let admin = Arc::new(ProxyAdmin::new(server.clone(), token));
            log.show_on(Arc::clone(&admin));
            (address, admin)
        });
        Ok(Self {
            admin,
            has_token,
            _exporter: exporter,
        })
    }

    /// Listens on the admin address, if there is one.
    pub(super) async fn listen(
        &self,
        need: AdminNeed,
        log: &ProxyLog,
    ) -> Result<Option<TcpListener>, CliError> {
        let Some((address, _)) = &self.admin else {
            return Ok(None);
        };
        let listener = match TcpListener::bind(address).await {
            Ok(listener) => listener,
            Err(error) if need == AdminNeed::Wanted => {
                log.warn(&format!("--admin {address}: {error}; there is no page"));
                return Ok(None);
            }
            Err(error) => return Err(format!("--admin {address}: {error}")),
        };
        let bound = listener.local_addr().map_err(|error| error.to_string())?;
        log.warn(&format!("page at http://{bound}/goodcall"));
        if !self.has_token && !bound.ip().is_loopback() {
            log.warn(&format!(
                "everyone who reaches {bound} can open the page and the metrics: \
                 name the variable of a token with --admin-token-env"
            ));
        }
        Ok(Some(listener))
    }

    /// Serves the admin address, until the future is dropped.
    pub(super) async fn serve(&self, listener: Option<TcpListener>, log: &ProxyLog) {
        if let (Some(listener), Some((_, admin))) = (listener, &self.admin)
            && let Err(error) = serve_admin(listener, Arc::clone(admin)).await
        {
            log.warn(&format!("there is no page any more: {error}"));
        }
        pending().await
    }
}
