//! What the page shows of a request.

use std::borrow::Cow;
use std::time::Duration;

use goodcall_core::clip;
use goodcall_server::{KeptValues, RecentEnd, RecentFigures, RecentQuestion, RecentRequest};

use crate::config::StoreConfig;
use crate::observe::WouldHave;
use crate::request_record::{RequestError, RequestRecord, Unjudged};

/// Characters that are kept of a model's name.
const MOST_CHARS: usize = 120;

/// What the page shows of a request, and a store keeps.
pub(crate) fn recent_request(record: &RequestRecord, config: &StoreConfig) -> RecentRequest {
    let (exchange, judgement) = (&record.exchange, &record.judgement);
    let milliseconds = |time: Duration| (time.as_secs_f64() * 1e5).round() / 1e2;
    let (tokens, refused) = judgement.tokens;
    let values = if config.arguments {
        KeptValues::All
    } else {
        KeptValues::Kinds
    };
    let model = exchange.model.as_deref();
    let asked = RecentQuestion {
        route: exchange.origin.route.as_deref().map(str::to_owned),
        client: exchange.origin.client.as_deref().map(str::to_owned),
        protocol: exchange.protocol.map(|protocol| protocol.name().into()),
        model: model.map(|model| clip(model, MOST_CHARS)),
        stream: exchange.streams,
    };
    RecentRequest {
        status: record.status,
        asked,
        end: RecentEnd {
            outcome: judgement.outcome().map(Cow::from),
            would: judgement.would_have.map(WouldHave::name).map(Cow::from),
            passed: judgement
                .unjudged
                .as_ref()
                .map(Unjudged::name)
                .map(Cow::from),
            error: record.error.map(RequestError::code).map(Cow::from),
            result: None,
            reask_failed: judgement.reask_failed.map(|failure| failure.code()),
            loop_signal: record.history.loop_signal.map(Cow::from),
        },
        figures: RecentFigures {
            ms: milliseconds(record.timing.total),
            first_byte_ms: record.timing.first_byte.map(milliseconds),
            reasked: judgement.reasked,
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            reask_input_tokens: refused.input,
            reask_output_tokens: refused.output,
        },
        ..RecentRequest::new(&record.path, judgement.calls.iter(), values)
    }
}
