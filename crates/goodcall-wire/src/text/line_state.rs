//! What the line at the cursor holds so far: blanks, a quotation, inline code.

/// The state of the line at the cursor.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineState {
    only_punctuation: bool,
    only_blanks: bool,
    quotation: bool,
    /// The number of backticks that opened the inline code at the cursor; 0 outside of code.
    code: usize,
    /// The number of backticks just before the cursor.
    backticks: usize,
}

impl LineState {
    pub(super) fn new() -> Self {
        Self {
            only_punctuation: true,
            only_blanks: true,
            quotation: false,
            code: 0,
            backticks: 0,
        }
    }

    /// Takes the next text of the line, or of the lines that follow.
    pub(super) fn take_text(&mut self, text: &str) {
        for c in text.chars() {
            if c == '`' {
                self.backticks += 1;
                self.only_blanks = false;
                continue;
            }
            (self.code, self.backticks) = (self.open_code(), 0);
            match c {
                '\n' => *self = Self::new(),
                c if c.is_whitespace() => {}
                '>' if self.only_blanks => self.quotation = true,
                c => {
                    self.only_blanks = false;
                    self.only_punctuation &= c.is_ascii_punctuation() || c.is_ascii_digit();
                }
            }
        }
    }

    /// Takes a call, a fence or an ignored block: not blank, but not prose either.
    pub(super) fn take_block(&mut self) {
        (self.code, self.backticks) = (self.open_code(), 0);
        self.only_blanks = false;
    }

    fn open_code(&self) -> usize {
        match (self.code, self.backticks) {
            (code, 0) => code,
            (0, opening) => opening,
            (code, closing) if code == closing => 0,
            (code, _) => code,
        }
    }

    /// Returns true if the line holds no words: nothing but calls, punctuation and digits.
    pub(super) fn is_fresh(&self) -> bool {
        self.only_punctuation
    }

    /// Returns true if the line holds nothing but blanks and the marks of a quotation.
    pub(super) fn is_blank(&self) -> bool {
        self.only_blanks
    }

    /// Returns true if the line begins with `>`.
    pub(super) fn is_quotation(&self) -> bool {
        self.quotation
    }

    /// Returns true if the cursor is inside inline code.
    pub(super) fn is_code(&self) -> bool {
        self.open_code() > 0
    }
}
