//! The quick way to judge a call: a buffer crosses the border, and neither objects nor strings.
//!
//! Finding the native object behind a JavaScript object takes as long as judging a short call, and so
//! does taking over a string; each argument of a function costs, too. Here JavaScript writes into a
//! buffer that both sides know whose tools it means, which of them, and the arguments.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use goodcall_core::{Gate, Policy, Schema, StopReason, Verdict};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::error::{ErrorCode, Result, coded, contained};
use crate::options::Judging;
use crate::outline::{self, Outlined};
use crate::verdict::answer;

/// What a check needs of one tool.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) schema: Schema,
    pub(crate) policy: Policy,
    /// The names that have numbers in outlines.
    pub(crate) names: Vec<Box<str>>,
}

/// What checks need of a set of tools.
pub(crate) struct Set {
    pub(crate) judging: Judging,
    /// In the order of the definitions.
    pub(crate) entries: Vec<Entry>,
}

/// The numbers at the beginning of a buffer, 32 bits each: 1 while JavaScript calls, the number of
/// the tools, the place of the tool among them, how the message ended (see [`STOPS`]), 1 if JavaScript
/// can read an outline, and the length of the arguments behind the numbers.
const HEADER: usize = 24;

/// How a message ended, in the order of the numbers that JavaScript writes.
const STOPS: [StopReason; 3] = [
    StopReason::Unknown,
    StopReason::Finished,
    StopReason::CutOff,
];

thread_local! {
    /// The tools of this thread's JavaScript, by their numbers. A number is given again when its
    /// tools are gone.
    static TOOLS: RefCell<Vec<Option<Set>>> = const { RefCell::new(Vec::new()) };
    /// One pair for each time that the package is loaded, which programs that run tests do often.
    static BUFFERS: RefCell<Vec<SharedBuffers>> = const { RefCell::new(Vec::new()) };
}

/// The buffers that both sides know. They are never dropped, because that is not possible any more when a
/// thread ends.
struct SharedBuffers {
    /// Where JavaScript writes arguments.
    written: ManuallyDrop<Buffer>,
    /// Where the [`outline`] of a value is written for JavaScript.
    outline: ManuallyDrop<Buffer>,
}

/// The number of a set of tools, which gives it back when it is dropped.
pub(crate) struct Registered(u32);

impl Registered {
    /// Gives a number to tools.
    pub(crate) fn new(set: Set) -> Self {
        TOOLS.with_borrow_mut(|tools| {
            let free = tools.iter().position(Option::is_none);
            let at = free.unwrap_or_else(|| {
                tools.push(None);
                tools.len() - 1
            });
            tools[at] = Some(set);
            Self(u32::try_from(at).expect("memory ends before the numbers do"))
        })
    }

    pub(crate) fn number(&self) -> u32 {
        self.0
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // When the thread ends, the table may be gone before this is.
        let _ = TOOLS.try_with(|tools| {
            if let Some(slot) = tools.borrow_mut().get_mut(self.0 as usize) {
                *slot = None;
            }
        });
    }
}

/// Takes a buffer that calls will be written to, and one for the outlines of their arguments.
#[napi]
#[cfg_attr(test, allow(dead_code))] // The macro registers nothing in tests.
pub fn share_buffers(written: Buffer, outline: Buffer) {
    let shared = SharedBuffers {
        written: ManuallyDrop::new(written),
        outline: ManuallyDrop::new(outline),
    };
    BUFFERS.with_borrow_mut(|buffers| buffers.push(shared));
}

/// A call as JavaScript wrote it into a buffer.
struct Written<'b> {
    tools: usize,
    place: usize,
    stop: StopReason,
    reads_outlines: bool,
    raw: &'b str,
}

impl<'b> Written<'b> {
    /// Reads a buffer; `None` if it is not the one that JavaScript wrote to.
    fn read(buffer: &'b [u8]) -> Option<Self> {
        let (header, rest) = buffer.split_at_checked(HEADER)?;
        let mut numbers = header.chunks_exact(4).map(|bytes| {
            let bytes = bytes.try_into().expect("a chunk has four bytes");
            u32::from_ne_bytes(bytes) as usize
        });
        let is_meant = numbers.next()? == 1;
        let (tools, place) = (numbers.next()?, numbers.next()?);
        let stop = *STOPS.get(numbers.next()?)?;
        let reads_outlines = numbers.next()? == 1;
        let length = numbers.next()?;
        let raw = is_meant.then_some(rest)?.get(..length)?;
        let raw = str::from_utf8(raw).ok()?;
        Some(Self {
            tools,
            place,
            stop,
            reads_outlines,
            raw,
        })
    }
}

/// Judges the call that was written into a buffer; the answer is described at [`answer`]. Where the
/// buffer for it has an outline of the arguments, the answer is `None` for a mended call, too.
#[napi]
#[cfg_attr(test, allow(dead_code))] // The macro registers nothing in tests.
pub fn check_written() -> Result<Option<String>> {
    let answered = contained(|| {
        BUFFERS.with_borrow_mut(|buffers| {
            buffers.iter_mut().find_map(|shared| {
                let SharedBuffers { written, outline } = shared;
                judge_written(&Written::read(written)?, outline)
            })
        })
    })?;
    answered.ok_or_else(|| coded(ErrorCode::Internal)("no arguments were written for a known tool"))
}

fn judge_written(call: &Written<'_>, outline: &mut [u8]) -> Option<Option<String>> {
    TOOLS.with_borrow(|all| {
        let set = all.get(call.tools)?.as_ref()?;
        let entry = set.entries.get(call.place)?;
        let gate = Gate::new(&entry.schema).policy(entry.policy.clone());
        let verdict = gate.tool(&entry.name).stop(call.stop).check(call.raw);
        let outlined = match &verdict {
            Verdict::Good(tree) => Some((tree, Outlined::Good)),
            Verdict::Mended(mended) => Some((&mended.arguments, Outlined::Mended)),
            Verdict::Bad(_) => None,
        };
        if call.reads_outlines
            && let Some((tree, of)) = outlined
            && call.raw.is_ascii()
            && outline::write(outline, tree.root(), of, call.raw, &entry.names)
        {
            return Some(None);
        }
        outline::clear(outline);
        Some(answer(&entry.name, call.raw, &verdict, &set.judging))
    })
}
