//! Calls that the upstream could not read, and quotes in an error or in the event that ends the message.

use super::*;

impl PendingCalls {
    /// Reads the calls that an event quotes, and forwards them, or has the model asked again. Returns
    /// false if the event is to be forwarded like any other.
    pub(super) fn recover(
        &mut self,
        exchange: &mut Exchange,
        event: &SseEvent,
        content: &Content,
        out: &mut EventWriter,
    ) -> bool {
        let is_fresh = self.state == MessageState::Receiving && self.order.is_empty();
        let Some(failed) = content.failed.as_ref().filter(|_| is_fresh) else {
            return false;
        };
        let mut recovered = exchange.read_failed(failed);
        if recovered.is_usable() {
            self.end_text(out);
            exchange.note_repair("failed_generation");
            let text = recovered.text.trim();
            if !text.is_empty() {
                self.protocol.write_text_rest(text, out);
            }
            let calls = recovered.decisions.into_iter();
            let calls = calls.map(|decision| (decision.call, failed.text.clone()));
            self.text.calls.extend(calls);
            self.hold_text_calls();
            self.client.is_recovered = true;
            // An event that only ends the message still has its usage.
            if let Some(last) = self.protocol.without_failure(event) {
                self.client.stop = Some(StopReason::Finished);
                self.hold(last, Vec::new(), true);
            }
            self.end_message(exchange, out);
            return true;
        }
        if !exchange.may_ask() {
            exchange.record_failed(failed, &mut recovered);
            return false;
        }
        self.end_text(out);
        let explanation = recovered.explanation();
        exchange.record_failed(failed, &mut recovered);
        self.client.unread = Some((failed.text.clone(), explanation));
        self.hold(event.clone(), Vec::new(), false);
        self.state = MessageState::Refused;
        true
    }
}
