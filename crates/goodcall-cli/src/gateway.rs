//! `goodcall gateway`: an HTTP gateway in front of a model provider.

use std::net::SocketAddr;
use std::path::PathBuf;

use goodcall::otlp::Exporter;
use goodcall_core::{Formats, Policies};
use goodcall_gateway::{AdminConfig, Gateway, GatewayConfig, RouteConfig, raise_file_limit};
use goodcall_server::{GatewayRoute, GatewaySettings, LogTarget};

use crate::input::{self, config_file, config_path};
use crate::{CliError, runtime};

/// Guard a model provider: an agent's tool calls are checked, mended or asked for again.
///
/// The agent changes its base URL and nothing else. Flags come before the environment, and both before
/// goodcall.toml, which is read again on SIGHUP. On SIGTERM and Ctrl-C, open streams may end.
#[derive(clap::Args)]
pub(crate) struct GatewayArgs {
    /// A configuration file, whose section [gateway] is read [default: goodcall.toml, if it exists]
    #[arg(long, env = "GOODCALL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// What may be mended: strict, safe or eager, with rules switched on and off (eager,-enum-typo),
    /// or a .toml or .json file with a policy for each tool [default: safe]
    #[arg(long, env = "GOODCALL_POLICY", value_parser = input::policies)]
    policy: Option<Policies>,
    /// What `format` means: annotate (a remark) or assert (the call is bad without it)
    #[arg(long, env = "GOODCALL_FORMATS")]
    formats: Option<Formats>,
    #[command(flatten)]
    settings: GatewaySettings,
}

impl GatewayArgs {
    /// Reads the file, and puts flags and environment variables over it.
    fn config(&self) -> Result<GatewayConfig, CliError> {
        let file = config_file(self.config.as_deref())?;
        let flags = self.settings.clone();
        let log_arguments = flags.observability.log_arguments.is_on();
        let mut settings = flags.over(file.gateway_settings());
        let log = settings.observability.log.get_or_insert(LogTarget::Stdout);
        if log_arguments && *log == LogTarget::Off {
            return Err(
                "--log-arguments writes into the log, and the log is off: leave one of them out"
                    .to_owned(),
            );
        }
        let routes = file.gateway_routes().into_iter();
        let routes = routes.map(|route| self.route(route));
        let routes = routes.collect::<Result<Vec<_>, _>>()?;
        let takes_rest = settings.upstream.upstream.is_some() || routes.is_empty();
        if !takes_rest {
            // Never used: every request takes a route, or is refused.
            settings.upstream.upstream = routes.first().map(|route| route.config.upstream());
        }
        let mut config = self.upstream_config(settings, file.policies(), file.gateway_models())?;
        config.upstream.takes_rest = takes_rest;
        config.upstream.routes = routes;
        Ok(config)
    }

    /// Makes the settings of one upstream.
    fn upstream_config(
        &self,
        settings: GatewaySettings,
        policies: Policies,
        models: Vec<(String, Policies)>,
    ) -> Result<GatewayConfig, CliError> {
        if let (Some(path), Some(url)) =
            (&settings.upstream.upstream_ca, &settings.upstream.upstream)
            && url.to_ascii_lowercase().starts_with("http://")
        {
            let path = path.display();
            return Err(format!(
                "--upstream-ca {path}: {url} is not asked for a certificate; \
                 leave it out, or use https://"
            ));
        }
        let formats = |policies| input::with_formats(policies, self.formats);
        let all = self.policy.clone().unwrap_or(policies);
        let config = GatewayConfig::from_settings(settings, formats(all));
        let mut config = config.map_err(|error| error.to_string())?;
        if self.policy.is_none() {
            let models = models.into_iter();
            let models = models.map(|(pattern, policies)| (pattern, formats(policies)));
            config.upstream.models = models.collect();
        }
        Ok(config)
    }

    /// Makes a route. Flags hold for all routes, except the one that names the upstream.
    fn route(&self, route: GatewayRoute) -> Result<RouteConfig, CliError> {
        let mut flags = self.settings.clone();
        flags.upstream.upstream = None;
        let settings = flags.over(route.settings);
        let at = |error: String| format!("routes.{}: {error}", route.name);
        if settings.upstream.upstream.is_none() {
            return Err(format!(
                "routes.{name}: no upstream is named: write upstream = \"https://…\" into \
                 [gateway.routes.{name}]",
                name = route.name
            ));
        }
        let config = self.upstream_config(settings, route.policies, route.models);
        let mut config = config.map_err(at)?;
        for (name, value) in route.headers {
            let value = with_variables(&value).map_err(at)?;
            config.upstream.headers.push((name, value));
        }
        let prefix = route.prefix.unwrap_or_default();
        let mut made = RouteConfig::new(&route.name, &prefix, config);
        made.host = route.host;
        Ok(made)
    }
}

/// Replaces each `${NAME}` by the environment variable, so that keys need not be in the file.
fn with_variables(text: &str) -> Result<String, CliError> {
    let mut parts = text.split("${");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once('}') else {
            return Err("headers: a `${` has no `}` behind it".to_owned());
        };
        let value = std::env::var(name)
            .map_err(|_| format!("headers: the environment has no variable {name}"))?;
        out.push_str(&value);
        out.push_str(rest);
    }
    Ok(out)
}

pub(crate) fn run(args: &GatewayArgs) -> Result<bool, CliError> {
    let config = args.config()?;
    let mut spans = SpanSender::default();
    spans.change_to(SpanSender::new(config.log.otlp.clone())?);
    // This runtime waits for connections and signals; threads of the gateway serve.
    runtime()?.block_on(serve(args, config, &mut spans))?;
    Ok(true)
}

/// Sends spans to a collector. A reload may change the collector.
#[derive(Default)]
struct SpanSender {
    url: Option<String>,
    exporter: Option<Exporter>,
}

impl SpanSender {
    fn new(url: Option<String>) -> Result<Self, CliError> {
        let exporter = url.as_ref().map(|url| {
            let made = Exporter::new(url, "goodcall-gateway");
            made.map_err(|error| format!("--otlp {url}: {error}"))
        });
        let exporter = exporter.transpose()?;
        Ok(Self { url, exporter })
    }

    /// Sends spans as this one does from now on. The collector before it still gets the spans that
    /// wait.
    fn change_to(&mut self, next: Self) {
        if self.url == next.url {
            return;
        }
        if let Some(exporter) = &next.exporter {
            exporter.install();
        }
        let before = std::mem::replace(self, next);
        // Dropping it may wait for its collector, which must not stop the traffic.
        std::thread::spawn(move || drop(before));
    }
}

async fn serve(
    args: &GatewayArgs,
    config: GatewayConfig,
    spans: &mut SpanSender,
) -> Result<(), CliError> {
    let (listen, upstreams) = (config.listener.address, upstreams(&config));
    let scheme = match config.listener.tls {
        Some(_) => "https",
        None => "http",
    };
    let requests = config.limits.concurrent;
    let (admin, observes) = (config.admin.clone(), config.observe);
    let gateway = Gateway::new(config).map_err(|error| error.to_string())?;
    // Before anyone is told that it runs: a signal that nobody waits for would end it.
    let mut hangups = Hangups::new()?;
    let listener = listen_on(listen).map_err(|error| not_listening("--listen", listen, &error))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let file = match config_path(args.config.as_deref()) {
        Some(path) => format!(", settings from {}", path.display()),
        None => String::new(),
    };
    let observing = if observes { ", only observing" } else { "" };
    anstream::eprintln!(
        "goodcall: listening on {scheme}://{address}, {upstreams}{observing}{file}"
    );
    let admin_listener = match admin.address {
        Some(own) if own != listen => {
            Some(listen_on(own).map_err(|error| not_listening("--admin", own, &error))?)
        }
        _ => None,
    };
    tell_about_admin(&admin, scheme, address, admin_listener.as_ref());
    if let Some(fit) = raise_file_limit().filter(|fit| *fit < requests as u64) {
        anstream::eprintln!(
            "goodcall: the limit on open files allows about {fit} requests at the same time, \
             fewer than the {requests} of max_requests: raise it (ulimit -n, LimitNOFILE)"
        );
    }
    let serving = gateway.serve(listener, stop());
    let mut serving = std::pin::pin!(serving);
    let own_paths = async {
        match admin_listener {
            Some(listener) => gateway.serve_admin(listener).await,
            None => std::future::pending().await,
        }
    };
    let mut own_paths = std::pin::pin!(own_paths);
    loop {
        tokio::select! {
            () = &mut serving => return Ok(()),
            () = &mut own_paths => {}
            () = hangups.next() => match reload(args, &gateway, spans) {
                Ok(kept) if kept.is_empty() => anstream::eprintln!("goodcall: settings read again"),
                Ok(kept) => anstream::eprintln!(
                    "goodcall: settings read again; unchanged until a restart: {}",
                    kept.join(", ")
                ),
                Err(error) => anstream::eprintln!(
                    "goodcall: the old settings stay in force: {}",
                    error.split_whitespace().collect::<Vec<_>>().join(" ")
                ),
            },
        }
    }
}

/// The upstreams of a gateway, for people.
fn upstreams(config: &GatewayConfig) -> String {
    let mut all = Vec::new();
    if config.upstream.takes_rest {
        all.push(format!("upstream {}", config.upstream()));
    }
    for route in &config.upstream.routes {
        all.push(format!(
            "route {} to {}",
            route.name,
            route.config.upstream()
        ));
    }
    all.join(", ")
}

/// Tells where the page is, and who can open it.
fn tell_about_admin(
    admin: &AdminConfig,
    scheme: &str,
    listen: SocketAddr,
    own: Option<&tokio::net::TcpListener>,
) {
    let own = own.and_then(|listener| listener.local_addr().ok());
    let address = match (own, admin.address) {
        (Some(own), _) => own,
        (None, None) if !listen.ip().is_loopback() => {
            anstream::eprintln!(
                "goodcall: no page, metrics or readiness: {listen} is not a loopback address; \
                 name one for them with --admin"
            );
            return;
        }
        _ => listen,
    };
    anstream::eprintln!("goodcall: page on {scheme}://{address}/goodcall");
    if admin.token.is_none() && !address.ip().is_loopback() {
        anstream::eprintln!(
            "goodcall: everyone who reaches {address} can open the page and the metrics: \
             set GOODCALL_ADMIN_TOKEN"
        );
    }
}

/// Says why an address cannot be listened on, and what to do about it.
fn not_listening(flag: &str, address: SocketAddr, error: &std::io::Error) -> String {
    let advice = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!("another program has it: end that one, or name another port with {flag}")
        }
        std::io::ErrorKind::PermissionDenied => {
            format!("ports below 1024 need a permission: name a larger one with {flag}")
        }
        std::io::ErrorKind::AddrNotAvailable => format!(
            "this machine does not have it: name one of its own, or 0.0.0.0 for all, with {flag}"
        ),
        _ => format!("name another address with {flag}"),
    };
    format!("cannot listen on {address}: {error}; {advice}")
}

/// Listens, with a queue that a burst of connections does not overflow.
fn listen_on(address: SocketAddr) -> std::io::Result<tokio::net::TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// Reads the settings again and applies them. Returns the names of those that need a restart.
fn reload(
    args: &GatewayArgs,
    gateway: &Gateway,
    spans: &mut SpanSender,
) -> Result<Vec<&'static str>, CliError> {
    let config = args.config()?;
    let sender = SpanSender::new(config.log.otlp.clone())?;
    let kept = gateway.reload(config).map_err(|error| error.to_string())?;
    spans.change_to(sender);
    Ok(kept)
}

/// The signals to read the settings again. One that comes while they are read is not lost.
struct Hangups {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangups {
    fn new() -> Result<Self, CliError> {
        Ok(Self {
            #[cfg(unix)]
            signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())
                .map_err(|error| format!("waiting for SIGHUP: {error}"))?,
        })
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}

/// Waits for a signal to stop.
async fn stop() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate() => {}
    }
    anstream::eprintln!("goodcall: stopping; open streams may end");
}

#[cfg(unix)]
async fn terminate() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            terminate.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminate() {
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn burst_of_connections_fits_into_the_queue() {
        let listener = listen_on(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        // Nobody accepts them; the usual queue has room for 128.
        let mut open = Vec::new();
        for number in 0..300 {
            let connection = tokio::net::TcpStream::connect(address);
            let wait = std::time::Duration::from_millis(900);
            let connection = tokio::time::timeout(wait, connection).await;
            open.push(connection.unwrap_or_else(|_| panic!("connection {number} waits")));
        }
        assert_eq!(open.len(), 300);
    }
}
