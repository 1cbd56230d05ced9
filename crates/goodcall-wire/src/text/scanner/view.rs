//! What a scanner shows to those who decide what begins at the cursor.

use super::*;

/// What decides which candidates may begin at the cursor.
impl Scanner {
    pub(super) fn window(&self) -> Window<'_> {
        self.input.window()
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(super) fn scope(&self) -> TextCallScope {
        self.settings.scope
    }

    pub(super) fn line(&self) -> LineState {
        self.line
    }

    pub(super) fn fence(&self) -> Option<&CodeFence> {
        self.fence.as_ref()
    }

    pub(super) fn only_calls_so_far(&self) -> bool {
        self.only_calls_so_far
    }

    /// Returns true if the message has headers of its own, and tokens that end its parts.
    pub(super) fn has_headers(&self) -> bool {
        self.turn.has_headers()
    }

    /// Returns true if there are only blanks between a call and the cursor.
    pub(super) fn is_behind_call(&self) -> bool {
        self.turn.is_behind_call() && self.fence.is_none() && !self.settings.in_block
    }

    pub(super) fn is_awaiting_observation(&self) -> bool {
        self.turn.is_awaiting_observation()
    }

    /// Returns true if the cursor is in a quotation or in inline code.
    pub(super) fn is_quoted(&self) -> bool {
        self.fence.is_none() && (self.line.is_quotation() || self.line.is_code())
    }

    /// Returns true if calls without a marker count at the cursor.
    pub(super) fn takes_unmarked(&self) -> bool {
        let settings = self.settings;
        let in_scope = settings.scope == TextCallScope::Anywhere
            || settings.in_block
            || self.only_calls_so_far
            || self.fence.is_some();
        let quoted = self.line.is_quotation() && self.fence.is_none();
        in_scope && !quoted && self.budget.has_retries() && self.turn.takes_unmarked()
    }

    pub(super) fn takes_bracket_at(&self, at: usize) -> bool {
        self.budget.allows_bracket_at(at)
    }

    pub(super) fn takes_markers(&self) -> bool {
        !self.settings.in_block && !self.turn.has_ended() && self.budget.allows_markers()
    }

    pub(super) fn takes_dialect(&self, dialect: &str) -> bool {
        self.settings.dialect.is_none_or(|only| only == dialect)
    }
}
