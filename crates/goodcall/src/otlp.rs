//! Sends spans to an OpenTelemetry collector, over OTLP/HTTP.

use opentelemetry::trace::TracerProvider;
use opentelemetry::{Key, global};
use opentelemetry_otlp::{Protocol, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::tls;

/// Sends spans to a collector, and the remaining ones when it is dropped. Keep it as long as spans
/// should be sent.
#[derive(Debug)]
#[must_use = "spans are sent as long as this lives"]
pub struct Exporter(SdkTracerProvider);

impl Exporter {
    /// Returns an exporter for the collector at this URL. `OTEL_SERVICE_NAME` and
    /// `OTEL_RESOURCE_ATTRIBUTES` come before the name of the service.
    ///
    /// # Errors
    /// If the exporter cannot be created for the URL.
    pub fn new(url: &str, service: &str) -> Result<Self, OtlpError> {
        tls::install();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url)
            .build()
            .map_err(|error| OtlpError(error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource(service))
            .build();
        Ok(Self(provider))
    }

    /// Makes this the exporter of all spans that are made through OpenTelemetry itself, such as the
    /// gateway's, and reads and writes their parents in `traceparent`.
    pub fn install(&self) {
        global::set_text_map_propagator(TraceContextPropagator::new());
        global::set_tracer_provider(self.0.clone());
    }
}

/// Describes this process. The environment may name the service.
fn resource(service: &str) -> Resource {
    let named = Resource::builder().build();
    let name = named.get(&Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    if is_named {
        return named;
    }
    Resource::builder()
        .with_service_name(service.to_owned())
        .build()
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // Flushed first, because a shutdown alone loses spans that have just ended. An unreachable
        // collector cannot be reported to anybody here.
        let _ = self.0.force_flush();
        let _ = self.0.shutdown();
    }
}

/// Returns a layer that sends spans to the collector at this URL (such as
/// `http://localhost:4318/v1/traces`) under this service name.
///
/// ```no_run
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let (layer, exporter) = goodcall::otlp::layer("http://localhost:4318/v1/traces", "my-agent")?;
/// let subscriber = tracing_subscriber::registry().with(layer);
/// tracing::subscriber::set_global_default(subscriber)?;
/// // … drive runs …
/// drop(exporter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the exporter cannot be created for the URL.
pub fn layer<S>(
    url: &str,
    service: &str,
) -> Result<(impl Layer<S> + Send + Sync, Exporter), OtlpError>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let exporter = Exporter::new(url, service)?;
    let tracer = exporter.0.tracer("goodcall");
    let layer = tracing_opentelemetry::layer()
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_tracer(tracer);
    Ok((layer, exporter))
}

/// The reason why spans cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpError(String);

impl std::fmt::Display for OtlpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot create the OTLP exporter: {}", self.0)
    }
}

impl std::error::Error for OtlpError {}
