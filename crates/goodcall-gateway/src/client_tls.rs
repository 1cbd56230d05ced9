//! TLS towards servers that the gateway connects to.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::config::GatewayConfigError;

/// Makes the settings of a client that trusts these certificates.
pub(crate) fn client(roots: RootCertStore) -> Result<ClientConfig, GatewayConfigError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| GatewayConfigError::caused("TLS cannot be used", error))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Reads the certificates that the system trusts, and those of a PEM file. `setting` is what names
/// such a file.
pub(crate) fn trusted(
    ca: Option<&Path>,
    setting: &str,
) -> Result<RootCertStore, GatewayConfigError> {
    let mut roots = RootCertStore::empty();
    let own = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(own.certs);
    if let Some(path) = ca {
        roots.add_parsable_certificates(certificates(path)?);
    }
    if roots.is_empty() {
        return Err(GatewayConfigError::new(format!(
            "no certificate is trusted here: install the system's, or name a PEM file with {setting}"
        )));
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, GatewayConfigError> {
    let subject = format!("{}: no certificates", path.display());
    let pem = std::fs::read(path).map_err(|error| GatewayConfigError::caused(&subject, error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(GatewayConfigError::new(format!(
            "{subject}: the file has none"
        ))),
        Err(error) => Err(GatewayConfigError::caused(&subject, error)),
    }
}
