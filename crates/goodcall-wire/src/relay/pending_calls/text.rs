//! Text of a message, and the calls in it.

use super::*;

impl PendingCalls {
    /// Forwards the text of an event, without the calls in it. Returns the rest of the event, or
    /// `None` if there is none.
    pub(super) fn text(
        &mut self,
        exchange: &Exchange,
        event: SseEvent,
        content: &mut Content,
        is_alone: bool,
        out: &mut Vec<u8>,
    ) -> Option<SseEvent> {
        let sent = std::mem::take(&mut content.text);
        if sent.is_empty() {
            return Some(event);
        }
        if !self.must_not_wait() {
            self.protocol.note_text(&sent, &sent);
            return Some(event);
        }
        self.write_companions(exchange, out);
        let released = self.scan(exchange, &sent);
        self.protocol.note_text(&sent, &released);
        if is_alone && released == sent {
            return Some(event);
        }
        let data = event.data.as_deref().unwrap_or_default();
        if !released.is_empty()
            && let Some(text) = self.protocol.only_text(data, &released)
        {
            let text = event.of_same_type(text);
            self.protocol.forward(exchange, &text, out);
        }
        if is_alone {
            return None;
        }
        let (rest, spans) = self.protocol.without_text(data);
        for (piece, span) in content.pieces.iter_mut().zip(spans) {
            piece.span = span;
        }
        Some(event.of_same_type(rest))
    }

    /// Looks for calls in text, and returns the text outside calls.
    pub(super) fn scan(&mut self, exchange: &Exchange, sent: &str) -> String {
        if self.text.finder.is_none()
            && let Some(scope) = exchange.text_call_scope()
        {
            self.text.finder = Some(TextCallFinder::new(&exchange.judge.tools, scope));
        }
        match &mut self.text.finder {
            Some(finder) => {
                let ScannedText { text, calls } = finder.push(sent);
                self.text.calls.extend(calls);
                text
            }
            None => sent.to_owned(),
        }
    }

    /// Ends the text that is open: what was kept of it is forwarded.
    pub(super) fn end_text(&mut self, out: &mut Vec<u8>) {
        if let Some(mut finder) = self.text.finder.take() {
            let ScannedText { text, calls } = finder.finish();
            self.text.calls.extend(calls);
            if !text.is_empty() {
                self.protocol.note_text("", &text);
                self.protocol.write_text_rest(&text, out);
            }
        }
    }

    pub(super) fn with_repeated_text(&mut self, event: SseEvent) -> SseEvent {
        let data = event.data.as_deref().unwrap_or_default();
        match self.protocol.with_repeated_text(data) {
            Some(data) => event.of_same_type(data),
            None => event,
        }
    }

    pub(super) fn hold_text_calls(&mut self) {
        for number in self.text.held..self.text.calls.len() {
            self.order.push(CallKey::Text(number));
            self.protocol.note_call(CallKey::Text(number));
            self.held_bytes += self.text.calls[number].1.len();
            self.held.push(Held::TextCall(number));
        }
        self.text.held = self.text.calls.len();
    }
}
