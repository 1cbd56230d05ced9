//! What a scanner shows to those who decide what begins at the cursor.

use super::*;

/// What decides which candidates may begin at the cursor.
impl Scanner {
    pub(in crate::text) fn window(&self) -> Window<'_> {
        self.input.window()
    }

    pub(in crate::text) fn at(&self) -> usize {
        self.at
    }

    pub(in crate::text) fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(in crate::text) fn scope(&self) -> TextCallScope {
        self.settings.scope
    }

    pub(in crate::text) fn line(&self) -> LineState {
        self.line
    }

    pub(in crate::text) fn fence(&self) -> Option<&CodeFence> {
        self.fence.as_ref()
    }

    pub(in crate::text) fn only_calls_so_far(&self) -> bool {
        self.only_calls_so_far
    }

    /// Returns true if the message has headers of its own, and tokens that end its parts.
    pub(in crate::text) fn has_headers(&self) -> bool {
        self.turn.has_headers()
    }

    /// Returns true if there are only blanks between a call and the cursor.
    pub(in crate::text) fn is_behind_call(&self) -> bool {
        self.turn.is_behind_call() && self.fence.is_none() && !self.settings.in_block
    }

    pub(in crate::text) fn is_awaiting_observation(&self) -> bool {
        self.turn.is_awaiting_observation()
    }

    /// Returns true if the cursor is in a quotation or in inline code.
    pub(in crate::text) fn is_quoted(&self) -> bool {
        self.fence.is_none() && (self.line.is_quotation() || self.line.is_code())
    }

    /// Returns true if calls without a marker count at the cursor.
    pub(in crate::text) fn takes_unmarked(&self) -> bool {
        let settings = self.settings;
        let in_scope = settings.scope == TextCallScope::Anywhere
            || settings.in_block
            || self.only_calls_so_far
            || self.fence.is_some();
        let quoted = self.line.is_quotation() && self.fence.is_none();
        let allowed = self.budget.has_retries() && self.budget.allows_unmarked_at(self.at);
        in_scope && !quoted && allowed && self.turn.takes_unmarked()
    }

    pub(in crate::text) fn takes_bracket_at(&self, at: usize) -> bool {
        self.budget.allows_bracket_at(at)
    }

    pub(in crate::text) fn takes_markers(&self) -> bool {
        !self.settings.in_block && !self.turn.has_ended() && self.budget.allows_markers()
    }

    pub(in crate::text) fn takes_dialect(&self, dialect: &str) -> bool {
        self.settings.dialect.is_none_or(|only| only == dialect)
    }
}
