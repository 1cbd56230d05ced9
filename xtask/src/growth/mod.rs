//! Measures how the time of reading grows with the text, for all shapes that can be built from the
//! tokens of broken JSON and of calls in text.
//!
//! A shape is a start, a piece that is repeated, and an end. Shapes whose time grows faster than their
//! length are measured again on longer texts, twice, and reported if it still does. A small quadratic
//! term shows only on long texts: in a release build, 16000 BYTES take some minutes.

mod calls;
mod guard;

use std::time::Duration;

use cpu_time::ThreadTime;
use goodcall_core::{Policy, ReadOptions, read};

use crate::Failure;

const STARTS: [&str; 9] = [
    "",
    "{",
    "[",
    "{\"a\": ",
    "{\"a\": \"",
    "[\"",
    "{'a': '",
    "{\"a\":1}",
    "{\"a\": [1, ",
];
const ENDS: [&str; 3] = ["", "}", "\"}"];
const TOKENS: [&str; 46] = [
    "{", "}", "[", "]", "(", ")", ",", ":", "\"", "'", "`", "\\", "/", "*", "#", "<", ">", "=",
    "+", "-", ".", ";", "~", "&", "|", "!", "a", "1", " ", "\n", "```", "\"\"\"", "“", "，", "//",
    "/*", "<!--", "<think>", "f(", "\"a\"", "\"a\":", "a:", "true", "new ", "&quot;", "\\n",
];
/// The factor between the lengths.
const TIMES: usize = 4;
/// The most times the time that the longer text may take, for ever longer texts. Quadratic growth
/// exceeds it more each time; noise and limits exceed it less.
const MOST: [f64; 3] = [5.0, 6.0, 7.0];

/// Tries pieces of one and two tokens, and some of three; arguments: BYTES of the small text, and
/// which texts, `json` or `calls`. With `--check`, a few known shapes are counted, not timed.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let usage = || Failure::Unusable("usage: growth [--check | [BYTES] [json|calls]]".to_owned());
    if args == ["--check"] {
        return guard::check();
    }
    let (mut bytes, mut only) = (2_000_usize, None);
    for arg in args {
        match (arg.as_str(), arg.parse()) {
            (_, Ok(number)) => bytes = number,
            (name @ ("json" | "calls"), _) => only = Some(name),
            _ => return Err(usage()),
        }
    }
    let (shapes, found) = (0, 0);
    let mut meter = Meter {
        bytes,
        shapes,
        found,
    };
    if only != Some("calls") {
        json(&mut meter);
    }
    if only != Some("json") {
        calls::run(&mut meter)?;
    }
    let Meter { shapes, found, .. } = meter;
    println!("{shapes} shapes, {found} grow faster than their length");
    match found {
        0 => Ok(()),
        _ => Err(Failure::Found("reading is not linear".to_owned())),
    }
}

/// Measures arguments that are not JSON.
fn json(meter: &mut Meter) {
    let options = ReadOptions::new()
        .policy(Policy::eager())
        .keys(["a", "key"]);
    for piece in pieces() {
        for start in STARTS {
            // The end matters least, so each piece and start gets one, in turn.
            let end = ENDS[meter.shapes % ENDS.len()];
            meter.shape(
                || format!("{start:?} {piece:?}… {end:?}"),
                |bytes| format!("{start}{}{end}", piece.repeat(bytes / piece.len())),
                |text| {
                    std::hint::black_box(read(text, &options).is_ok());
                },
            );
        }
    }
}

fn pieces() -> impl Iterator<Item = String> {
    let one = TOKENS.iter().map(|a| (*a).to_owned());
    let two = (TOKENS.iter()).flat_map(|a| TOKENS.iter().map(move |b| format!("{a}{b}")));
    let pick = |n: usize| TOKENS[n % TOKENS.len()];
    let three = (0..3_000_usize).map(move |n| {
        let n = n.wrapping_mul(2_654_435_761) >> 7;
        format!("{}{}{}", pick(n), pick(n / 46), pick(n / 2_116))
    });
    one.chain(two).chain(three)
}

/// Measures shapes, and counts those that grow too fast.
struct Meter {
    bytes: usize,
    shapes: usize,
    found: usize,
}

impl Meter {
    /// Measures one shape: its name, its text for a length, and the function that reads it.
    fn shape(
        &mut self,
        name: impl Fn() -> String,
        text: impl Fn(usize) -> String,
        read: impl Fn(&str),
    ) {
        self.shapes += 1;
        let measure = |bytes: usize, runs, most: f64| {
            let times = [bytes, TIMES * bytes].map(|bytes| time(&text(bytes), runs, &read));
            let [small, large] = times;
            let most = most * small.as_secs_f64();
            let grows = large > Duration::from_micros(300) && large.as_secs_f64() > most;
            grows.then_some((small, large))
        };
        // Measured again on longer texts: the cause may be other work on the machine, or a limit that
        // only the larger text exceeds.
        let [first, second, third] = MOST;
        let grows = measure(self.bytes, 2, first)
            .and_then(|_| measure(TIMES * self.bytes, 3, second))
            .and_then(|_| measure(TIMES * TIMES * self.bytes, 3, third));
        if let Some((small, large)) = grows {
            println!("{small:>12.1?} {large:>12.1?}  {}", name());
            self.found += 1;
        }
    }
}

/// Returns the least processor time of several runs.
fn time(text: &str, runs: usize, read: impl Fn(&str)) -> Duration {
    let runs = (0..runs).map(|_| {
        let began = ThreadTime::now();
        read(text);
        began.elapsed()
    });
    runs.min().unwrap_or_default()
}
