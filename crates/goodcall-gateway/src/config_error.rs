//! Settings that cannot be used.

use std::error::Error;
use std::fmt;

/// A setting that cannot be used. Its text names the setting and what is expected.
#[derive(Debug)]
pub struct GatewayConfigError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl GatewayConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// An error about `subject`, such as a file, that another error caused.
    pub(crate) fn caused(
        subject: impl fmt::Display,
        source: impl Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            message: format!("{subject}: {source}"),
            source: Some(Box::new(source)),
        }
    }
}

impl fmt::Display for GatewayConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for GatewayConfigError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_deref()? as _)
    }
}
