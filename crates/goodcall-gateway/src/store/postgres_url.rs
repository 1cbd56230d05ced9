//! The URL of a PostgreSQL database, as `psql` takes it.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::client_tls;
use crate::config::GatewayConfigError;

/// How long a connection to the server may take to open.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long the server may leave what was sent unacknowledged.
const SILENT_TIME: Duration = Duration::from_secs(20);

/// How to reach a database.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Address {
    /// Reads a URL. Without `sslmode`, TLS is used for every server that is not on this machine.
    pub(super) fn read(url: &str) -> Result<Self, GatewayConfigError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut ca, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => ca = Some(PathBuf::from(value)),
                _ => rest.push(pair),
            }
        }
        // What is wrong is not quoted: it may be a part of the password.
        let wrong = || {
            GatewayConfigError::new(
                "the URL of the store cannot be read: expected postgres://user:password@host:5432/database, \
                 where special characters of the password are percent-encoded (@ is %40)",
            )
        };
        let url = format!("{base}?{}", rest.join("&"));
        let mut config: Config = url.parse().map_err(|_| wrong())?;
        let is_named = |host: &Host| !matches!(host, Host::Tcp(name) if name.is_empty());
        if config.get_hosts().is_empty() || !config.get_hosts().iter().all(is_named) {
            return Err(wrong());
        }
        let is_local = config.get_hosts().iter().all(is_local);
        config.ssl_mode(match mode {
            Some("disable") => SslMode::Disable,
            None if is_local => SslMode::Disable,
            None | Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            Some(_) => {
                return Err(GatewayConfigError::new(
                    "the URL of the store has an unknown sslmode: expected disable, or require, \
                     verify-ca or verify-full, which all check the certificate",
                ));
            }
        });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIME);
        }
        if config.get_application_name().is_none() {
            config.application_name("goodcall-gateway");
        }
        config.tcp_user_timeout(SILENT_TIME);
        let roots = if config.get_ssl_mode() == SslMode::Require {
            client_tls::trusted(ca.as_deref(), "sslrootcert in the URL of the store")?
        } else {
            rustls::RootCertStore::empty()
        };
        let tls = MakeRustlsConnect::new(client_tls::client(roots)?);
        Ok(Self { config, tls })
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        Address::read(url).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn tls_is_left_out_only_on_the_same_machine_or_if_the_url_says_so() {
        assert_eq!(mode("postgres://u:p@127.0.0.1/d"), SslMode::Disable);
        assert_eq!(mode("postgres://u:p@localhost/d"), SslMode::Disable);
        assert_eq!(mode("postgres://u:p@db.example/d"), SslMode::Require);
        let url = "postgres://u:p@db.example/d?sslmode=disable&application_name=x";
        assert_eq!(mode(url), SslMode::Disable);
        let url = "postgres://u:p@127.0.0.1/d?sslmode=verify-full";
        assert_eq!(mode(url), SslMode::Require);
    }

    #[test]
    fn errors_name_no_part_of_the_password() {
        for url in [
            "postgres://u:sec/ret@host:x/d",
            "postgres://u:secret@host/d?ret=1",
            "postgres://u:secret@host/d?sslmode=secret",
            "postgres:///d",
        ] {
            let error = Address::read(url).map(drop).unwrap_err();
            let error = format!("{error} {error:?}");
            assert!(
                !error.contains("sec") && !error.contains("ret="),
                "{url}: {error}"
            );
        }
    }
}
