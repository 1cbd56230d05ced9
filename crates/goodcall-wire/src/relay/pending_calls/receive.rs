//! Reads events, and adds their fragments to the calls.

use super::*;

impl PendingCalls {
    /// Reads an event, and adds its fragments to the calls.
    pub(in crate::relay) fn read(
        &mut self,
        exchange: &mut Exchange,
        root: Node<'_>,
    ) -> (EventKind, Content) {
        let kind = self.protocol.kind(root);
        let mut content = Content::default();
        if let Some(usage) = self.protocol.usage(root) {
            self.usage.note(usage);
        }
        exchange.settled |= self.protocol.is_settled(root);
        exchange.note_facts(root);
        if matches!(kind, EventKind::Failure | EventKind::Last) {
            content.failed = exchange.form().failed_generation(root);
        }
        let is_content = matches!(
            kind,
            EventKind::Content | EventKind::Companion | EventKind::Last
        );
        if self.state != MessageState::Receiving || !is_content {
            return (kind, content);
        }
        self.protocol.note(root);
        for event in self.protocol.decode(root) {
            match event {
                CallEvent::Text(text) => content.text.push_str(&text),
                CallEvent::TextEnd => content.ends_text = true,
                CallEvent::Stop(stop) => self.client.stop = Some(stop),
                event => self.receive(event, root, &mut content),
            }
        }
        if kind == EventKind::Last {
            let tools = &exchange.judge.tools;
            for (name, arguments, id) in self.protocol.late_calls(root) {
                let call = RawCall::new(tools, &name, &arguments);
                self.order.push(CallKey::Late(self.text.late.len()));
                self.text.late.push(match id {
                    Some(id) => call.with_id(id),
                    None => call,
                });
            }
        }
        (kind, content)
    }

    /// Adds a fragment to its call.
    fn receive(&mut self, event: CallEvent, root: Node<'_>, content: &mut Content) {
        let (number, kind, span) = match event {
            CallEvent::Call(slot, fragment) => {
                let found = self.received.find(&slot, &fragment);
                let is_part = fragment.name.is_none() && fragment.id.is_none();
                if found.is_none() && is_part && self.protocol.marks_begin() {
                    return;
                }
                let span = fragment.span.clone();
                let number = self.received.add(slot, fragment).number;
                self.note_fragment(number, found.is_none(), root, span.start);
                let kind = match found {
                    None => PieceKind::Begin,
                    Some(_) => PieceKind::Part,
                };
                (number, kind, span)
            }
            CallEvent::Partial {
                slot,
                fragment,
                parts,
                more,
            } => {
                let (before, span) = (self.received.len(), fragment.span.clone());
                let received = self.received.add_parts(slot, fragment, parts, more);
                let number = received.number;
                self.note_fragment(number, number >= before, root, span.start);
                if !more {
                    self.received.end(number);
                    content.ends_item = true;
                }
                (number, PieceKind::Part, span)
            }
            CallEvent::Whole { slot, arguments } => {
                let Some(number) = self.received.find_open(&slot) else {
                    return;
                };
                self.received.set_whole(number, arguments);
                (number, PieceKind::Whole, root.span())
            }
            CallEvent::End(slot) => {
                content.ends_item = true;
                let Some(number) = self.received.find_open(&slot) else {
                    return;
                };
                self.received.end(number);
                (number, PieceKind::End, root.span())
            }
            CallEvent::Text(_) | CallEvent::TextEnd | CallEvent::Stop(_) => return,
        };
        match content.pieces.last_mut() {
            // The same event says more about the same call.
            Some(last) if last.number == number && kind != PieceKind::Part => last.kind = kind,
            _ => content.pieces.push(Piece { number, kind, span }),
        }
    }

    /// Notes a fragment that begins at `start` in its event, and its call if that is new.
    fn note_fragment(&mut self, number: usize, is_new: bool, root: Node<'_>, start: usize) {
        if is_new {
            self.order.push(CallKey::Stream(number));
            self.protocol.note_call(CallKey::Stream(number));
        }
        self.protocol.note_fragment(FoundFragment {
            number,
            is_new,
            root,
            start,
        });
    }
}
