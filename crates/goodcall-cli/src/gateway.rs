//! `goodcall gateway`: an HTTP gateway before a model provider.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use goodcall_core::{Policies, Style};
use goodcall_gateway::{Gateway, GatewayConfig, GatewayFile, GatewayOptions};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, reload};

use crate::{Failure, input, runtime};

/// The file that is read where none is named.
const FILE: &str = "goodcall.toml";

/// Stand between an agent and its model provider: tool calls are checked, mended, asked for again.
///
/// The agent changes its base URL, nothing else. Flags come before the environment, and both before
/// goodcall.toml, which is read again on SIGHUP. SIGTERM and Ctrl-C let open streams end.
#[derive(clap::Args)]
pub(crate) struct GatewayArgs {
    /// The provider's URL, such as https://api.openai.com
    #[arg(long, env = "GOODCALL_UPSTREAM", value_name = "URL")]
    upstream: Option<String>,
    /// Where to listen [default: 127.0.0.1:8787]
    #[arg(long, env = "GOODCALL_LISTEN", value_name = "ADDRESS", value_parser = input::address)]
    listen: Option<SocketAddr>,
    /// Threads that serve connections [default: one for each core]
    #[arg(long, env = "GOODCALL_THREADS", value_name = "N", value_parser = input::whole::<usize>)]
    threads: Option<usize>,
    /// Settings; goodcall.toml is read where it is there [section: gateway]
    #[arg(long, env = "GOODCALL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// What may be mended: strict, safe or eager, with rules switched on and off (eager,-enum-typo),
    /// or a .toml or .json file with a policy for each tool [default: safe]
    #[arg(long, env = "GOODCALL_POLICY", value_parser = input::policies)]
    policy: Option<Policies>,
    /// How often the model is asked again for a call that cannot be mended [default: 2]
    #[arg(long, env = "GOODCALL_REASKS", value_name = "N", value_parser = input::whole::<u32>)]
    reasks: Option<u32>,
    /// A call that stays bad goes on as it was (call), or its error text does (text) [default:
    /// call]
    #[arg(long, env = "GOODCALL_GIVE_UP", value_name = "call|text", hide_possible_values = true, value_parser = ["call", "text"])]
    give_up: Option<String>,
    /// Calls that the model writes into text become calls; `anywhere` also inside prose
    /// [default: off]
    #[arg(long, env = "GOODCALL_TEXT_CALLS", value_name = "explicit|anywhere", hide_possible_values = true, value_parser = ["explicit", "anywhere", "off"], num_args = 0..=1, default_missing_value = "explicit", require_equals = true)]
    text_calls: Option<String>,
    /// Pass arguments on while strict validation still holds, before a call is whole
    #[arg(long, env = "GOODCALL_STREAM_ARGUMENTS", value_parser = input::switch)]
    stream_arguments: bool,
    /// Write tool definitions so that the upstream takes them; replies are mapped back
    #[arg(
        long,
        env = "GOODCALL_ADAPT",
        value_name = "openai-strict|anthropic|gemini",
        hide_possible_values = true,
        value_parser = ["openai-strict", "anthropic", "gemini"]
    )]
    adapt: Option<String>,
    /// Make a history legal that a provider would refuse: unpaired calls, broken arguments
    #[arg(long, env = "GOODCALL_FIX_HISTORY", value_parser = input::switch)]
    fix_history: bool,
    /// What to do about loops in the history [default: report]
    #[arg(long, env = "GOODCALL_LOOPS", value_name = "off|report|steer", hide_possible_values = true, value_parser = ["off", "report", "steer"])]
    loops: Option<String>,
    /// How the text for the model reads: model, instruction, numbered, plain, structured, record
    /// [default: model]
    #[arg(long, env = "GOODCALL_STYLE")]
    style: Option<Style>,
    /// Say in the body, too, what was done: a field `goodcall`
    #[arg(long, env = "GOODCALL_REPORT", value_parser = input::switch)]
    report: bool,
    /// One JSON line a request [default: stdout]
    #[arg(long, env = "GOODCALL_LOG", value_name = "off|stdout|stderr", hide_possible_values = true, value_parser = ["off", "stdout", "stderr"])]
    log: Option<String>,
    /// The log may show arguments
    #[arg(long, env = "GOODCALL_LOG_ARGUMENTS", value_parser = input::switch)]
    log_arguments: bool,
    /// Send a span for each request to an OpenTelemetry collector (http://localhost:4318/v1/traces)
    #[arg(long, env = "GOODCALL_OTLP", value_name = "URL")]
    otlp: Option<String>,
    /// Keep what the page at /goodcall shows in an SQLite file
    #[arg(long, env = "GOODCALL_STORE", value_name = "FILE")]
    store: Option<PathBuf>,
    /// The page and its store may show arguments
    #[arg(long, env = "GOODCALL_STORE_ARGUMENTS", value_parser = input::switch)]
    store_arguments: bool,
    /// Certificates to trust beside the system's, a PEM file
    #[arg(long, env = "GOODCALL_UPSTREAM_CA", value_name = "FILE")]
    upstream_ca: Option<PathBuf>,
    /// Requests at the same time [default: 10000]
    #[arg(long, env = "GOODCALL_MAX_REQUESTS", value_name = "N", value_parser = input::whole::<usize>)]
    max_requests: Option<usize>,
    /// Bytes of a request that is judged [default: 64 MiB]
    #[arg(long, env = "GOODCALL_MAX_REQUEST_BYTES", value_name = "N", value_parser = input::whole::<usize>)]
    max_request_bytes: Option<usize>,
    /// Seconds until the upstream must go on with a reply [default: 300]
    #[arg(long, env = "GOODCALL_IDLE_SECONDS", value_name = "N", value_parser = input::whole::<u64>)]
    idle_seconds: Option<u64>,
    /// Seconds that streams have to end when the gateway stops [default: 30]
    #[arg(long, env = "GOODCALL_DRAIN_SECONDS", value_name = "N", value_parser = input::whole::<u64>)]
    drain_seconds: Option<u64>,
}

impl GatewayArgs {
    fn options(&self) -> GatewayOptions {
        let mut options = GatewayOptions::default();
        options.upstream.clone_from(&self.upstream);
        options.upstream_ca.clone_from(&self.upstream_ca);
        options.listen = self.listen;
        options.threads = self.threads;
        options.reasks = self.reasks;
        options.give_up.clone_from(&self.give_up);
        options.text_calls.clone_from(&self.text_calls);
        options.stream_arguments = self.stream_arguments.then_some(true);
        options.adapt.clone_from(&self.adapt);
        options.fix_history = self.fix_history.then_some(true);
        options.loops.clone_from(&self.loops);
        options.style = self.style.map(|style| style.name().to_owned());
        options.report = self.report.then_some(true);
        options.log.clone_from(&self.log);
        options.log_arguments = self.log_arguments.then_some(true);
        options.otlp.clone_from(&self.otlp);
        options.store.clone_from(&self.store);
        options.store_arguments = self.store_arguments.then_some(true);
        options.max_requests = self.max_requests;
        options.max_request_bytes = self.max_request_bytes;
        options.idle_seconds = self.idle_seconds;
        options.drain_seconds = self.drain_seconds;
        options
    }

    /// The settings as they are now: flags and environment, then the file.
    fn config(&self) -> Result<GatewayConfig, Failure> {
        let file = match &self.config {
            Some(path) => GatewayFile::read(path),
            None if Path::new(FILE).exists() => GatewayFile::read(Path::new(FILE)),
            None => Ok(GatewayFile::default()),
        };
        let file = file.map_err(|error| error.to_string())?;
        let policies = match &self.policy {
            Some(policies) => policies.clone(),
            None => file.policies,
        };
        let mut options = self.options().or(file.options);
        let log = options.log.get_or_insert("stdout".to_owned());
        if self.log_arguments && log == "off" {
            return Err(
                "--log-arguments writes into the log, and the log is off: leave one of them out"
                    .to_owned(),
            );
        }
        let plain = |url: &String| url.to_ascii_lowercase().starts_with("http://");
        if let (Some(path), Some(url)) = (&options.upstream_ca, &options.upstream)
            && plain(url)
        {
            let path = path.display();
            return Err(format!(
                "--upstream-ca {path}: {url} is not asked for a certificate; \
                 leave it out, or use https://"
            ));
        }
        options.config(policies).map_err(|error| error.to_string())
    }
}

pub(crate) fn run(args: &GatewayArgs) -> Result<bool, Failure> {
    let config = args.config()?;
    let mut spans = Spans::default();
    spans.send_to(Collector::new(config.otlp.clone())?)?;
    // It waits for connections and signals; threads of the gateway's own serve.
    runtime()?.block_on(serve(args, config, &mut spans))?;
    Ok(true)
}

type AnyLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Our spans, and nobody else's, on their way to a collector; another one after a reload.
#[derive(Default)]
struct Spans {
    url: Option<String>,
    handle: Option<reload::Handle<Option<AnyLayer>, Registry>>,
    exporter: Option<goodcall::otlp::Exporter>,
}

/// Where spans are to go.
struct Collector {
    url: Option<String>,
    layer: Option<AnyLayer>,
    exporter: Option<goodcall::otlp::Exporter>,
}

impl Collector {
    fn new(url: Option<String>) -> Result<Self, Failure> {
        let (mut layer, mut exporter): (Option<AnyLayer>, _) = (None, None);
        if let Some(url) = &url {
            let made = goodcall::otlp::layer::<Registry>(url, "goodcall-gateway");
            let (own, sends) = made.map_err(|error| format!("--otlp {url}: {error}"))?;
            (layer, exporter) = (Some(own.boxed()), Some(sends));
        }
        Ok(Self {
            url,
            layer,
            exporter,
        })
    }
}

impl Spans {
    /// Sends spans there from now on. The collector before it still gets what is left.
    fn send_to(&mut self, to: Collector) -> Result<(), Failure> {
        if self.url == to.url {
            return Ok(());
        }
        match &self.handle {
            Some(handle) => handle.reload(to.layer).map_err(|error| error.to_string())?,
            None => {
                let (layer, handle) = reload::Layer::new(to.layer);
                let ours = filter_fn(|about| about.target().starts_with("goodcall"));
                let subscriber = tracing_subscriber::registry().with(layer.with_filter(ours));
                let set = tracing::subscriber::set_global_default(subscriber);
                set.map_err(|error| error.to_string())?;
                self.handle = Some(handle);
            }
        }
        self.url = to.url;
        let before = std::mem::replace(&mut self.exporter, to.exporter);
        // It may wait for its collector: the traffic goes on meanwhile.
        std::thread::spawn(move || drop(before));
        Ok(())
    }
}

async fn serve(
    args: &GatewayArgs,
    config: GatewayConfig,
    spans: &mut Spans,
) -> Result<(), Failure> {
    let (listen, upstream) = (config.listen, config.upstream.clone());
    let gateway = Gateway::new(config).map_err(|error| error.to_string())?;
    let listener = tokio::net::TcpListener::bind(listen).await;
    let listener = listener.map_err(|error| format!("{listen}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    anstream::eprintln!("goodcall: listening on http://{address}, upstream {upstream}");
    let serving = gateway.serve(listener, stop());
    let mut serving = std::pin::pin!(serving);
    loop {
        tokio::select! {
            () = &mut serving => return Ok(()),
            () = hangup() => match reload(args, &gateway, spans) {
                Ok(kept) if kept.is_empty() => anstream::eprintln!("goodcall: settings read again"),
                Ok(kept) => anstream::eprintln!(
                    "goodcall: settings read again; unchanged until a restart: {}",
                    kept.join(", ")
                ),
                Err(error) => anstream::eprintln!("goodcall: the old settings hold: {error}"),
            },
        }
    }
}

/// Takes the settings as they are now; the names of those that hold until a restart.
fn reload(
    args: &GatewayArgs,
    gateway: &Gateway,
    spans: &mut Spans,
) -> Result<Vec<&'static str>, Failure> {
    let config = args.config()?;
    let collector = Collector::new(config.otlp.clone())?;
    let kept = gateway.reload(config).map_err(|error| error.to_string())?;
    spans.send_to(collector)?;
    Ok(kept)
}

#[cfg(unix)]
async fn hangup() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::hangup()) {
        Ok(mut hangup) => {
            hangup.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn hangup() {
    std::future::pending().await
}

/// Ready when somebody wants the gateway to stop.
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
