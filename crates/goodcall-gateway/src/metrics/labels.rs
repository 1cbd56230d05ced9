//! What requests and calls are counted by.

use std::sync::Arc;

use goodcall_server::{CallSource, SharedName};
use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};

use crate::request_record::Origin;

/// Labels that are there only where there are routes or clients.
impl EncodeLabelSet for Origin {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> std::fmt::Result {
        for (label, value) in [("route", &self.route), ("client", &self.client)] {
            if let Some(value) = value {
                (label, value.as_ref()).encode(encoder.encode_label())?;
            }
        }
        Ok(())
    }
}

/// The model that a request names, the route that it took, and the client that sent it.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct Source {
    pub(super) model: SharedName,
    #[prometheus(flatten)]
    pub(super) origin: Origin,
}

impl Source {
    /// The same without its client, for what is counted by tool: every client has calls of many tools.
    pub(super) fn without_client(&self) -> Self {
        let route = self.origin.route.clone();
        Self {
            model: Arc::clone(&self.model),
            origin: Origin {
                route,
                client: None,
            },
        }
    }
}

impl CallSource for Source {
    type Origin = Origin;

    fn origin(&self) -> Origin {
        self.origin.clone()
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) protocol: &'static str,
    pub(super) status: u32,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ToolOutcomeLabels {
    pub(super) tool: SharedName,
    pub(super) outcome: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ErrorLabels {
    pub(super) code: &'static str,
    #[prometheus(flatten)]
    pub(super) origin: Origin,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct FailureLabels {
    pub(super) code: String,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OutcomeLabels {
    pub(super) outcome: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ObservedLabels {
    pub(super) would: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct TokenLabels {
    pub(super) kind: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct RepairLabels {
    pub(super) repair: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct LoopLabels {
    pub(super) signal: &'static str,
}
