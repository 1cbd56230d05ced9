//! The cryptography of TLS: ring, unless the program has chosen another.

/// Makes sure that there is one before a client is made.
pub(crate) fn install() {
    // An error says that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
