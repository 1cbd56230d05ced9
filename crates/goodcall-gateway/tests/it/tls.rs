//! TLS and HTTP/2, to the upstream and from the client.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::support::*;
use bytes::Bytes;
use goodcall_gateway::{Gateway, GatewayConfig, TlsFiles};
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;

/// An upstream with a certificate for `localhost`.
pub(crate) struct TlsUpstream {
    pub(crate) port: u16,
    /// The versions of HTTP of the requests that came.
    pub(crate) seen: Arc<Mutex<Vec<Version>>>,
    /// The certificate, in a file that is removed with this.
    pub(crate) certificate: PathBuf,
}

impl Drop for TlsUpstream {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.certificate);
    }
}

/// Starts an upstream that answers each request with a call to be mended.
pub(crate) async fn tls_upstream() -> TlsUpstream {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen: Arc<Mutex<Vec<Version>>> = Arc::default();
    let versions = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let (acceptor, versions) = (acceptor.clone(), Arc::clone(&versions));
            tokio::spawn(async move {
                let Ok(socket) = acceptor.accept(socket).await else {
                    return;
                };
                let service = service_fn(move |request: Request<Incoming>| {
                    versions.lock().unwrap().push(request.version());
                    async move {
                        let body = Full::new(Bytes::from(chat_reply(r#"{"a": "8"}"#)));
                        let reply = Response::builder().header("content-type", "application/json");
                        Ok::<_, Infallible>(reply.body(body).unwrap())
                    }
                });
                let server = auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    let file = format!("goodcall-ca-{}-{port}.pem", std::process::id());
    let certificate = std::env::temp_dir().join(file);
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    TlsUpstream {
        port,
        seen,
        certificate,
    }
}

#[tokio::test]
async fn tls_with_http2_to_the_upstream_and_http2_from_the_client() {
    let upstream = tls_upstream().await;
    let port = upstream.port;
    let unused = ([127, 0, 0, 1], port).into();
    let ca = upstream.certificate.clone();
    let running = gateway(unused, move |config| {
        config
            .set_upstream(&format!("https://localhost:{port}"))
            .unwrap();
        config.upstream.ca = Some(ca);
    })
    .await;

    let client: HyperClient<HttpConnector, Full<Bytes>> =
        HyperClient::builder(TokioExecutor::new())
            .http2_only(true)
            .build_http();
    let uri = format!("http://{}/v1/chat/completions", running.address);
    let request = Request::post(uri).header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(chat(false)))).unwrap();
    let reply = client.request(request).await.unwrap();
    assert_eq!(reply.version(), Version::HTTP_2);
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert!(
        String::from_utf8_lossy(&body).contains(r#"{\"a\":8}"#),
        "{body:?}"
    );
    assert_eq!(*upstream.seen.lock().unwrap(), [Version::HTTP_2]);
}

#[tokio::test]
async fn clients_are_served_with_tls_in_both_versions_of_http() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = std::env::temp_dir().join(format!("goodcall-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": "8"}"#));
    upstream.reply_json(&chat_reply(r#"{"a": "8"}"#));
    let running = gateway(upstream.start().await, |config| {
        config.listener.tls = Some(TlsFiles::new(certificate, key));
    })
    .await;
    std::fs::remove_dir_all(&folder).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let uri = format!("https://localhost:{}{CHAT}", running.address.port());
    for version in [Version::HTTP_2, Version::HTTP_11] {
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_only();
        let connector = match version {
            Version::HTTP_2 => connector.enable_http2().build(),
            _ => connector.enable_http1().build(),
        };
        let client: HyperClient<_, Full<Bytes>> =
            HyperClient::builder(TokioExecutor::new()).build(connector);
        let request = Request::post(&uri).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(chat(false)))).unwrap();
        let reply = client.request(request).await.unwrap();
        assert_eq!(reply.version(), version);
        let verdict = reply.headers()["goodcall-verdict"].to_str().unwrap();
        assert_eq!(verdict, "good=0 mended=1 bad=0 reasked=0");
    }
    // A client without TLS gets nothing.
    let plain = Client::send(running.address, "GET", "/healthz", "", "").await;
    assert_eq!(plain.end().await.status, 0);
}

#[test]
fn certificate_without_its_key_is_refused() {
    let mut config = GatewayConfig::new("http://127.0.0.1:9").unwrap();
    let missing = std::env::temp_dir().join("goodcall-no-such-file.pem");
    config.listener.tls = Some(TlsFiles::new(missing.clone(), missing));
    let error = Gateway::new(config).unwrap_err().to_string();
    assert!(
        error.contains("goodcall-no-such-file.pem: no certificate: "),
        "{error}"
    );
}
