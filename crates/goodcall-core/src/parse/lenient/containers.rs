//! The arrays and objects that are open around the place that is being read.

use super::source_text::SourceText;
use crate::report::PathId;
use crate::tree::Id;

/// What opened a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opener {
    Brace,
    Bracket,
    /// A parenthesis: a tuple, or a value in parentheses.
    Paren,
    /// `name(`: one value, an array of values, or an object of named values.
    Call,
    /// Members without braces.
    Nothing,
}

impl Opener {
    /// The bracket that closes the container; `None` for members without braces.
    pub(super) fn closer(self) -> Option<u8> {
        match self {
            Opener::Brace => Some(b'}'),
            Opener::Bracket => Some(b']'),
            Opener::Paren | Opener::Call => Some(b')'),
            Opener::Nothing => None,
        }
    }

    /// Returns true if the container is a value of its own only if it has several elements.
    pub(super) fn is_paren(self) -> bool {
        matches!(self, Opener::Paren | Opener::Call)
    }
}

/// One open array or object.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenContainer {
    pub(super) opener: Opener,
    pub(super) id: Id,
    pub(super) start: usize,
    /// Complete members or elements.
    pub(super) count: u32,
    /// The key that was read last.
    pub(super) key: Option<Id>,
    /// The position of the last comma, until something follows it.
    pub(super) comma: Option<usize>,
    /// The mark that separated the last two elements or members: a comma or a semicolon.
    pub(super) separator: Option<u8>,
    pub(super) last_is_scalar: bool,
    /// Some array in here has another array after a scalar, as in `[1, 2, [3]]`: where a missing
    /// bracket belongs cannot be known.
    pub(super) is_mixed: bool,
    /// Opening braces inside that were dropped and whose closing ones have not followed yet.
    pub(super) dropped_braces: u32,
    /// Its own opening brace is doubled.
    pub(super) is_doubled: bool,
    /// The recorder's path to this container.
    pub(super) path: Option<PathId>,
}

impl OpenContainer {
    pub(super) fn new(opener: Opener, id: Id, start: usize, count: u32) -> Self {
        Self {
            opener,
            id,
            start,
            count,
            key: None,
            comma: None,
            separator: None,
            last_is_scalar: false,
            is_mixed: false,
            dropped_braces: 0,
            is_doubled: false,
            path: None,
        }
    }

    pub(super) fn closer(&self) -> Option<u8> {
        self.opener.closer()
    }

    /// Returns true if this holds one element, without a comma after it.
    pub(super) fn is_single(&self) -> bool {
        self.count == 1 && self.comma.is_none()
    }
}

/// The closing brackets that follow a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosersAhead {
    /// The first token after them.
    pub(super) end: usize,
    /// Containers that they leave open.
    pub(super) left_open: usize,
    /// Each of them closes the container that is innermost there.
    pub(super) all_match: bool,
}

/// The levels that there is room for before the list grows.
const FIRST_LEVELS: usize = 8;

/// The open containers, outermost first.
#[derive(Debug, Default)]
pub(super) struct OpenContainers(Vec<OpenContainer>);

impl OpenContainers {
    pub(super) fn push(&mut self, container: OpenContainer) {
        if self.0.capacity() == 0 {
            self.0.reserve(FIRST_LEVELS);
        }
        self.0.push(container);
    }

    pub(super) fn pop(&mut self) -> Option<OpenContainer> {
        self.0.pop()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn innermost(&self) -> Option<&OpenContainer> {
        self.0.last()
    }

    #[inline]
    pub(super) fn innermost_mut(&mut self) -> Option<&mut OpenContainer> {
        self.0.last_mut()
    }

    pub(super) fn get(&self, index: usize) -> Option<&OpenContainer> {
        self.0.get(index)
    }

    /// The container around the innermost one.
    pub(super) fn around_innermost(&self) -> Option<&OpenContainer> {
        self.0.get(self.0.len().checked_sub(2)?)
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, OpenContainer> {
        self.0.iter()
    }

    pub(super) fn set_path(&mut self, index: usize, path: PathId) {
        self.0[index].path = Some(path);
    }

    /// The index of the innermost container that this bracket closes.
    pub(super) fn closed_by(&self, bracket: u8) -> Option<usize> {
        let closes = |container: &OpenContainer| container.closer() == Some(bracket);
        self.0.iter().rposition(closes)
    }

    /// Returns true if only members without braces are open.
    pub(super) fn is_braceless(&self) -> bool {
        matches!(self.0.as_slice(), [only] if only.opener == Opener::Nothing)
    }

    /// Looks at up to 16 closing brackets from `at` on.
    pub(super) fn closers_ahead(&self, source: SourceText<'_>, mut at: usize) -> ClosersAhead {
        let mut left = self.0.as_slice();
        let mut all_match = true;
        for _ in 0..16 {
            let byte = source.byte(at);
            let Some((innermost, outer)) = left.split_last() else {
                break;
            };
            if !matches!(byte, b'}' | b']' | b')') {
                break;
            }
            if innermost.closer() != Some(byte) {
                all_match = false;
                break;
            }
            left = outer;
            at = source.skip_written_space(at + 1);
        }
        ClosersAhead {
            end: at,
            left_open: left.len(),
            all_match,
        }
    }
}
