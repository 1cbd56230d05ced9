//! Cassettes of VCR: recorded HTTP, in YAML or JSON. Exchanges with other servers than those of
//! models are passed over.

use goodcall_core::{Kind, Node};

use super::exchange::{Exchange, without_reply};
use super::fields::{elements, host, json, text, time};
use super::{CallsRead, LogFormat, LogRecord, RecordOrder, RecordReader, TurnSink};
use crate::recorded::RecordPlace;

pub(super) struct Cassette;

impl LogFormat for Cassette {
    fn name(&self) -> &'static str {
        "vcr"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        let mut interactions = elements(record, "interactions");
        interactions.any(|one| one.get("request").is_some() && one.get("response").is_some())
    }

    fn order(&self, _record: Node<'_>) -> RecordOrder {
        RecordOrder::Independent
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::new(read)
    }
}

fn read(record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
    let mut count = 0;
    for (number, interaction) in (1..).zip(elements(record.root, "interactions")) {
        // The place of an interaction is its number, since a cassette is one document.
        let mut place = RecordPlace::new(record.place.file.clone(), number);
        place.call = record.place.call;
        let Some(exchange) = exchange(record, interaction) else {
            continue;
        };
        let is_asked = exchange.is_of_a_model();
        match exchange.pass_on(&place, out) {
            Ok(calls) => count += calls,
            Err(_) if !is_asked => {}
            Err(_) => {
                let answer = interaction.get("response").map_or(Ok(0), without_reply);
                if let Err(reason) = answer {
                    out.unreadable_part(reason, place);
                }
            }
        }
    }
    Ok(count)
}

fn exchange(record: &LogRecord<'_>, interaction: Node<'_>) -> Option<Exchange> {
    let (request, response) = (interaction.get("request")?, interaction.get("response")?);
    let (asked, replied) = (body(record, request)?, body(record, response)?);
    Some(Exchange {
        request: Some(asked),
        reply: Some(replied),
        server: text(request, "uri").map(|uri| host(uri).to_owned()),
        time: time(interaction, &["recorded_at"]),
        ..Exchange::default()
    })
}

/// The body of a request or a response: parsed, as text, or as text in an object.
fn body(record: &LogRecord<'_>, side: Node<'_>) -> Option<String> {
    let parsed = side.get("parsed_body").filter(|body| !body.is_null());
    let body = parsed.or_else(|| side.get("body"))?;
    let inner = body.get("string").filter(|_| body.kind() == Kind::Object);
    let body = inner.unwrap_or(body);
    match body.as_str() {
        // Events are not JSON.
        Some(text) => Some(text.to_owned()),
        None => json(body, record.text).map(std::borrow::Cow::into_owned),
    }
}
