//! Lets go of what is held, each call as it was decided.

use super::*;

/// Where the calls of held events are for the client.
struct HeldPlaces {
    /// True if a call of the message changes.
    changed: bool,
    /// The calls of which the client has a fragment.
    begun: HashSet<usize>,
    /// The places of calls that are not judged.
    unjudged: HashMap<usize, usize>,
}

impl PendingCalls {
    /// Decides what the client gets for each call that was judged.
    pub(super) fn decide_outcomes(&mut self, exchange: &mut Exchange) {
        let give_up = exchange.given_up_as();
        for (decided, decision) in self.decided.iter_mut().zip(&self.decisions) {
            if decided.outcome != Outcome::Undecided {
                continue;
            }
            let source = match decided.key {
                CallKey::Text(number) => Some(&self.text.calls[number].1),
                _ => None,
            };
            let text = match (decision.is_bad(), give_up) {
                (false, _) if decision.verdict == CallVerdict::Unjudged => source,
                (false, _) => None,
                (true, GiveUp::Text) => Some(&decision.text),
                (true, GiveUp::AsSent) => source,
            };
            decided.outcome = match text {
                Some(text) => Outcome::Text(text.clone()),
                None if self.client.calls.accept(decision) => Outcome::Call(None),
                None => {
                    exchange.count_dropped();
                    Outcome::LeftOut
                }
            };
        }
    }

    /// Writes everything that is held, each call as it was decided.
    pub(super) fn write_held(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        self.decide_outcomes(exchange);
        self.held_bytes = 0;
        let is_changed = |(decided, decision): (&DecidedCall, &CallDecision)| {
            !matches!(decided.outcome, Outcome::Call(_))
                || decision.arguments.is_some()
                || decision.call.alias.is_some()
        };
        let mut decided = self.decided.iter().zip(&self.decisions);
        let changed = self.protocol.is_irregular() || decided.any(is_changed);
        let is_anew = exchange.attempt == 0 && self.protocol.is_irregular();
        if is_anew && !self.decisions.is_empty() {
            exchange.note_repair("call_fragments");
        }
        let unjudged = self.client.streamed.clone();
        let mut places = HeldPlaces {
            changed,
            begun: unjudged.keys().copied().collect(),
            unjudged,
        };
        let mut companions = Vec::new();
        for held in std::mem::take(&mut self.held) {
            if let Held::Companion(event) = held {
                companions.push(event);
                continue;
            }
            let companions = std::mem::take(&mut companions);
            if !self.becomes_text(&held) {
                self.forward_each(exchange, companions, out);
            }
            match held {
                Held::Head(event) => {
                    self.client.wrote_head = true;
                    self.protocol.forward(exchange, &event, out);
                }
                Held::Companion(_) => {}
                Held::TextCall(number) => self.write_text_call(number, out),
                Held::Event {
                    event,
                    pieces,
                    is_last: false,
                } if pieces.is_empty() => self.protocol.forward(exchange, &event, out),
                Held::Event {
                    event,
                    pieces,
                    is_last,
                } => self.write_event(exchange, (&event, &pieces, is_last), &mut places, out),
            }
        }
        self.forward_each(exchange, companions, out);
    }

    fn forward_each(&mut self, exchange: &Exchange, events: Vec<SseEvent>, out: &mut EventWriter) {
        for event in events {
            self.protocol.forward(exchange, &event, out);
        }
    }

    /// Writes a held event with its calls.
    fn write_event(
        &mut self,
        exchange: &mut Exchange,
        (event, pieces, is_last): (&SseEvent, &[Piece], bool),
        places: &mut HeldPlaces,
        out: &mut EventWriter,
    ) {
        let numbers = pieces.iter().map(|piece| piece.number);
        let first: Vec<_> = numbers.map(|number| places.begun.insert(number)).collect();
        for (piece, first) in pieces.iter().zip(&first) {
            if *first {
                self.place(piece.number, &mut places.unjudged, out);
            }
        }
        let placed = pieces.iter().zip(first);
        let placed = placed.map(|(piece, first)| PlacedPiece {
            piece,
            first,
            calls: placed_calls(&self.decided, &self.decisions, piece.number),
            unjudged_place: places.unjudged.get(&piece.number).copied(),
        });
        let placed: Vec<_> = placed.collect();
        let held = HeldEvent {
            event,
            pieces: &placed,
            exchange,
            changed: places.changed,
            is_last,
            calls: self.client.calls.accepted.len() + self.client.calls.earlier.len(),
            has_decisions: !self.decisions.is_empty(),
            usage: &self.usage,
            late: late_calls(&self.decided, &self.decisions),
            repairs: RefCell::default(),
        };
        self.protocol.write_held(&held, out);
        let repairs = held.repairs.into_inner();
        for name in repairs {
            exchange.note_repair(name);
        }
    }

    /// Returns true if what is held is a call that the client gets as text.
    fn becomes_text(&self, held: &Held) -> bool {
        let Held::Event { pieces, .. } = held else {
            return false;
        };
        let number = pieces.first().map(|piece| piece.number);
        let key = number.map(CallKey::Stream);
        let mut own = self.decided.iter();
        own.any(|own| Some(own.key) == key && matches!(own.outcome, Outcome::Text(_)))
    }

    /// Gives the calls of a fragment their places, or writes the text that they became.
    pub(super) fn place(
        &mut self,
        number: usize,
        unjudged: &mut HashMap<usize, usize>,
        out: &mut EventWriter,
    ) {
        let key = CallKey::Stream(number);
        let mut is_judged = false;
        for (decided, decision) in self.decided.iter_mut().zip(&self.decisions) {
            if decided.key != key {
                continue;
            }
            is_judged = true;
            match &mut decided.outcome {
                Outcome::Text(text) => self.protocol.write_text(decision, text, out),
                Outcome::Call(place) => {
                    place.get_or_insert_with(|| self.protocol.places().take());
                }
                Outcome::Undecided | Outcome::LeftOut => {}
            }
        }
        if !is_judged {
            unjudged.insert(number, self.protocol.places().take());
        }
    }

    pub(super) fn write_text_call(&mut self, number: usize, out: &mut EventWriter) {
        let key = CallKey::Text(number);
        let found = self.decided.iter().position(|decided| decided.key == key);
        let Some(at) = found else {
            return;
        };
        let decision = &self.decisions[at];
        match &self.decided[at].outcome {
            Outcome::Text(text) => self.protocol.write_text(decision, text, out),
            Outcome::Call(_) => {
                let place = self.protocol.places().take();
                self.protocol.write_call(decision, place, out);
            }
            Outcome::Undecided | Outcome::LeftOut => {}
        }
    }
}

fn placed_calls<'d>(
    decided: &[DecidedCall],
    decisions: &'d [CallDecision],
    number: usize,
) -> Vec<PlacedCall<'d>> {
    let all = decided.iter().zip(decisions);
    let own = all.filter(|(decided, _)| decided.key == CallKey::Stream(number));
    let placed = own.map(|(decided, decision)| PlacedCall {
        decision,
        place: match decided.outcome {
            Outcome::Call(place) => place,
            _ => None,
        },
    });
    placed.collect()
}

fn late_calls<'d>(
    decided: &[DecidedCall],
    decisions: &'d [CallDecision],
) -> Vec<(usize, LateCall<'d>)> {
    let all = decided.iter().zip(decisions);
    let late = all.filter_map(|(decided, decision)| {
        let CallKey::Late(number) = decided.key else {
            return None;
        };
        let call = match decided.outcome {
            Outcome::Text(_) => LateCall::Text(decision),
            Outcome::LeftOut => LateCall::LeftOut,
            Outcome::Call(_) | Outcome::Undecided => LateCall::Call(decision),
        };
        Some((number, call))
    });
    late.collect()
}
