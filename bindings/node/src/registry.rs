//! The quick way to judge a call: numbers and a buffer cross the border, and no object.
//!
//! Finding the native object behind a JavaScript object takes as long as judging a short call, and so
//! does taking over a string. Here JavaScript says by a number whose tools it means, and writes the
//! arguments into a buffer that both sides know.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use goodcall_core::{Gate, Policy, Schema, Verdict};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

use crate::error::{ErrorCode, Result, coded, contained};
use crate::verdict::answer;

/// What a check needs of one tool.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) schema: Schema,
    pub(crate) policy: Policy,
}

/// What JavaScript reads when [`check_written`] cannot say in short what the verdict is.
const LONG: &str = "?";

thread_local! {
    /// The tools of this thread's JavaScript, by their numbers. A number is given again when its
    /// tools are gone.
    static TOOLS: RefCell<Vec<Option<Vec<Entry>>>> = const { RefCell::new(Vec::new()) };
    /// Where JavaScript writes arguments: one buffer for each time that the package is loaded, which
    /// programs that run tests do often. They are never dropped, because that is not possible any more
    /// when a thread ends.
    static BUFFERS: RefCell<Vec<ManuallyDrop<Uint8Array>>> = const { RefCell::new(Vec::new()) };
}

/// The number of a set of tools, which gives it back when it is dropped.
pub(crate) struct Registered(u32);

impl Registered {
    /// Gives a number to tools, in the order of their definitions.
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        TOOLS.with_borrow_mut(|tools| {
            let free = tools.iter().position(Option::is_none);
            let at = free.unwrap_or_else(|| {
                tools.push(None);
                tools.len() - 1
            });
            tools[at] = Some(entries);
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

/// Takes a buffer that arguments will be written to, and returns its number.
#[napi]
pub fn share_buffer(buffer: Uint8Array) -> u32 {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.push(ManuallyDrop::new(buffer));
        u32::try_from(buffers.len() - 1).expect("memory ends before the numbers do")
    })
}

/// Judges the arguments in the first bytes of a buffer, as a call of a tool by its place among the
/// definitions. The answer is described at [`answer`]; `?` stands for a bad call.
#[napi]
pub fn check_written(tools: u32, place: u32, buffer: u32, length: u32) -> Result<Option<String>> {
    let answered = contained(|| {
        BUFFERS.with_borrow(|buffers| {
            let raw = buffers.get(buffer as usize)?.get(..length as usize)?;
            let raw = str::from_utf8(raw).ok()?;
            TOOLS.with_borrow(|all| {
                let entries = all.get(tools as usize)?.as_ref()?;
                let entry = entries.get(place as usize)?;
                let gate = Gate::new(&entry.schema).policy(entry.policy.clone());
                let verdict = gate.tool(&entry.name).check(raw);
                Some(match verdict {
                    Verdict::Bad(_) => Some(LONG.to_owned()),
                    verdict => answer(raw, &verdict),
                })
            })
        })
    })?;
    answered.ok_or_else(|| coded(ErrorCode::Internal)("no arguments were written for a known tool"))
}
