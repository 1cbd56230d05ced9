//! The cryptography provider of TLS: ring, unless the program has chosen another.

/// Installs the provider; must be called before a client is created.
pub(crate) fn install() {
    // An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
