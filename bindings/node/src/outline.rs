//! A value as numbers that JavaScript builds it from, in less than half the time of `JSON.parse`.
//!
//! Most values are one number: their kind in its three lowest bits, and behind that where their text
//! stands, how many values follow, or the value itself. The members of an object are a key and a
//! value each. Texts are pieces of the arguments as sent; those that were decoded are copied behind
//! the numbers. `lib/outline.js` is the other side.

use goodcall_core::{Kind, Node, Tree};

/// The bytes of a buffer that are numbers; decoded texts have the rest.
const NUMBERS: usize = 8192;
/// The bits of a place in a text, and of a length.
const PLACE: u32 = 14;
/// The most names of a tool that have numbers.
const MOST_NAMES: usize = 64;

/// The kinds of values, in the order of their numbers. Of a text and of the digits of a number there
/// are two each: the first is a piece of what was sent, the second was decoded.
const LITERAL: u32 = 0;
const INTEGER: u32 = 1;
const TEXT: u32 = 2;
const DIGITS: u32 = 4;
const ARRAY: u32 = 6;
const OBJECT: u32 = 7;

/// The first number of a buffer: whose value the others are, and behind that the bytes of decoded text.
#[derive(Clone, Copy)]
pub(crate) enum Outlined {
    Nothing = 0,
    Good = 1,
    Mended = 2,
}

/// The names of properties in the schema of a tool, at any depth, in order.
pub(crate) fn names_of(parameters: &str) -> Vec<Box<str>> {
    let mut names = Vec::new();
    if let Ok(schema) = Tree::parse(parameters) {
        collect_names(schema.root(), &mut names);
    }
    names
}

fn collect_names(schema: Node<'_>, names: &mut Vec<Box<str>>) {
    for (key, value) in schema.members() {
        let declared = (key == "properties").then(|| value.members());
        for (name, _) in declared.into_iter().flatten() {
            if names.len() < MOST_NAMES && !names.iter().any(|known| **known == *name) {
                names.push(name.into());
            }
        }
        collect_names(value, names);
    }
    for element in schema.elements() {
        collect_names(element, names);
    }
}

/// Writes that a buffer has no outline.
pub(crate) fn clear(buffer: &mut [u8]) {
    let _ = put_at(buffer, 0, Outlined::Nothing as u32);
}

/// Writes the outline of a value that was read from `raw`, which is ASCII. Returns false, and leaves a
/// buffer that says so, if it has no room for it, or if JavaScript could not hold every number.
pub(crate) fn write(
    buffer: &mut [u8],
    value: Node<'_>,
    of: Outlined,
    raw: &str,
    names: &[Box<str>],
) -> bool {
    let mut outline = Outline {
        buffer,
        at: 4,
        texts: 0,
        raw,
        names,
        next_name: 0,
    };
    let written = outline.value(value);
    let first = match written {
        Some(()) => of as u32 | (outline.texts as u32) << 2,
        None => Outlined::Nothing as u32,
    };
    put_at(outline.buffer, 0, first).is_some() && written.is_some()
}

/// Writes a number; `None` if there is no room for it.
#[inline]
fn put_at(buffer: &mut [u8], at: usize, number: u32) -> Option<()> {
    let four = buffer.get_mut(at..at + 4)?;
    four.copy_from_slice(&number.to_ne_bytes());
    Some(())
}

/// An outline that is being written.
struct Outline<'o> {
    buffer: &'o mut [u8],
    /// The bytes of the numbers so far.
    at: usize,
    /// The bytes of the decoded texts so far.
    texts: usize,
    raw: &'o str,
    names: &'o [Box<str>],
    /// The name behind the last one. Models write members in the order of the schema.
    next_name: usize,
}

impl Outline<'_> {
    #[inline]
    fn put(&mut self, kind: u32, rest: u32) -> Option<()> {
        let at = self.at;
        self.at += 4;
        (self.at <= NUMBERS).then(|| put_at(self.buffer, at, kind | rest << 3))?
    }

    fn value(&mut self, node: Node<'_>) -> Option<()> {
        match node.kind() {
            Kind::Null => self.put(LITERAL, 0),
            Kind::Boolean => self.put(LITERAL, 1 + u32::from(node.as_bool() == Some(true))),
            Kind::Number => self.number(node.digits()?),
            Kind::String => self.text(TEXT, node.as_str()?),
            Kind::Array => {
                self.put(ARRAY, u32::try_from(node.len()).ok()?)?;
                node.elements().try_for_each(|element| self.value(element))
            }
            Kind::Object => {
                self.put(OBJECT, u32::try_from(node.len()).ok()?)?;
                node.members().try_for_each(|(key, value)| {
                    self.key(key)?;
                    self.value(value)
                })
            }
        }
    }

    /// Writes the place of a key among the names, or its text.
    fn key(&mut self, key: &str) -> Option<()> {
        let in_names = |names: &[Box<str>]| names.iter().position(|name| **name == *key);
        let (before, behind) = self.names.split_at(self.next_name);
        let place = match in_names(behind) {
            Some(place) => before.len() + place,
            None => match in_names(before) {
                Some(place) => place,
                None => return self.text(TEXT, key),
            },
        };
        self.next_name = place + 1;
        self.put(INTEGER, place as u32)
    }

    /// Writes a number. `None` for one that a double may not hold: 16 digits, or an exponent.
    fn number(&mut self, digits: &str) -> Option<()> {
        let bytes = digits.as_bytes();
        if bytes.len() < 9 && bytes.iter().all(u8::is_ascii_digit) {
            let value = bytes
                .iter()
                .fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
            return self.put(INTEGER, value);
        }
        if bytes.len() > 15 || bytes.iter().any(|byte| byte | 0x20 == b'e') {
            return None;
        }
        self.text(DIGITS, digits)
    }

    /// Writes where a text stands.
    fn text(&mut self, kind: u32, text: &str) -> Option<()> {
        let start = (text.as_ptr() as usize).wrapping_sub(self.raw.as_ptr() as usize);
        if start < self.raw.len() && text.len() <= self.raw.len() - start {
            return self.piece(kind, start, text.len());
        }
        let start = self.texts;
        let room = self.buffer.get_mut(NUMBERS + start..)?;
        if !text.is_ascii() {
            return None;
        }
        room.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        self.texts += text.len();
        self.piece(kind + 1, start, text.len())
    }

    fn piece(&mut self, kind: u32, start: usize, length: usize) -> Option<()> {
        let fits = |number: usize| number < 1 << PLACE;
        (fits(start) && fits(length))
            .then(|| self.put(kind, start as u32 | (length as u32) << PLACE))?
    }
}
