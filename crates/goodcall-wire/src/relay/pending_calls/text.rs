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
        out: &mut EventWriter,
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
        let released = self.scan(exchange, &sent, out);
        self.protocol.note_text(&sent, &released);
        if is_alone && released == sent {
            return Some(event);
        }
        let data = event.data();
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

    /// Looks for calls and thoughts in text, writes the thoughts, and returns the text outside both.
    fn scan(&mut self, exchange: &Exchange, sent: &str, out: &mut EventWriter) -> String {
        if self.text.finder.is_none()
            && let Some(scope) = exchange.text_call_scope()
        {
            let tools = &exchange.judge.tools;
            self.text.finder = Some(if self.protocol.takes_reasoning() {
                TextCallFinder::with_reasoning(tools, scope)
            } else {
                TextCallFinder::new(tools, scope)
            });
        }
        match &mut self.text.finder {
            Some(finder) => {
                let scanned = finder.push(sent);
                self.text.calls.extend(scanned.calls);
                self.protocol.write_reasoning(&scanned.reasoning, out);
                scanned.text
            }
            None => sent.to_owned(),
        }
    }

    /// Ends the text that is open: what was kept of it is forwarded.
    pub(super) fn end_text(&mut self, out: &mut EventWriter) {
        if let Some(mut finder) = self.text.finder.take() {
            let ScannedText {
                text,
                reasoning,
                calls,
            } = finder.finish();
            self.text.calls.extend(calls);
            self.protocol.write_reasoning(&reasoning, out);
            if !text.is_empty() {
                self.protocol.note_text("", &text);
                self.protocol.write_text_rest(&text, out);
            }
        }
    }

    pub(super) fn with_repeated_text(&mut self, event: SseEvent) -> SseEvent {
        let data = event.data();
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
