//! How the time of reading grows with the text, on every shape that can be put together from the
//! tokens of broken JSON.
//!
//! A shape is a start, a piece that is repeated, and an end. Shapes that grow faster than their
//! length are measured again, and named if they still do.

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
/// Times as long, and how many times the time that may take before it counts as too much.
const TIMES: usize = 4;
const MOST: f64 = 7.0;

/// Tries pieces of one and two tokens, and some of three; arguments: BYTES of the small text.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let bytes = match args.first().map(|bytes| bytes.parse()) {
        None => 2_000_usize,
        Some(Ok(bytes)) => bytes,
        Some(Err(_)) => return Err(Failure::Unusable("usage: growth [BYTES]".to_owned())),
    };
    let mut found = 0_usize;
    let mut shapes = 0_usize;
    for piece in pieces() {
        for start in STARTS {
            // The end matters least: one for each piece and start, in turn.
            let end = ENDS[shapes % ENDS.len()];
            shapes += 1;
            let (small, large) = measure(start, &piece, end, bytes, 2);
            if grows(small, large) {
                let (small, large) = measure(start, &piece, end, bytes + bytes / 2, 4);
                if grows(small, large) {
                    println!("{small:>12.1?} {large:>12.1?}  {start:?} {piece:?}… {end:?}");
                    found += 1;
                }
            }
        }
    }
    println!("{shapes} shapes, {found} grow faster than their length");
    match found {
        0 => Ok(()),
        _ => Err(Failure::Found("reading is not linear".to_owned())),
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

fn measure(start: &str, piece: &str, end: &str, bytes: usize, runs: usize) -> (Duration, Duration) {
    let [small, large] = [bytes, TIMES * bytes].map(|bytes| {
        let text = format!("{start}{}{end}", piece.repeat(bytes / piece.len()));
        time(&text, runs)
    });
    (small, large)
}

fn grows(small: Duration, large: Duration) -> bool {
    large > Duration::from_micros(300) && large.as_secs_f64() > MOST * small.as_secs_f64()
}

/// The least of several runs, on a processor.
fn time(text: &str, runs: usize) -> Duration {
    let options = ReadOptions::new()
        .policy(Policy::eager())
        .keys(["a", "key"]);
    let runs = (0..runs).map(|_| {
        let began = ThreadTime::now();
        std::hint::black_box(read(text, &options).is_ok());
        began.elapsed()
    });
    runs.min().unwrap_or_default()
}
