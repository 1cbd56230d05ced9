//! Finds texts that are not read in linear time, by counting instructions at two lengths, and texts that
//! cost too much in small pieces. The counts are the same on every run, however loaded the machine is.

use std::path::Path;
use std::process::Command;

use crate::Failure;
use crate::callgrind::build;

/// The length of the shorter text, and the factor of the longer one.
const BYTES: usize = 4_000;
const TIMES: usize = 16;
/// The most times the instructions that the longer text may take: more than its length, because
/// tables grow in jumps, and a stream reads again whenever its text has grown by a quarter: four to
/// five times what it holds at the end. Quadratic growth takes up to 256 times as many.
const MOST: f64 = 20.0;
/// The factor of the lengths at which a shape that seems steep is counted again: nested calls reach the
/// bound on their depth only in texts of some 50 kB.
const AGAIN: usize = 16;
/// The most times the instructions of a whole text that the same text may take in pieces of one byte.
const MOST_IN_PIECES: f64 = 3.0;
/// The instructions for a byte by itself that are always allowed: the whole of a thought is a mere search
/// for its end, at four instructions a byte, and to take and give out a piece costs some ninety.
const LEAST_PER_PIECE: f64 = 100.0;
/// The length of the texts that are counted whole and in pieces.
const PIECED_BYTES: usize = 16_000;
/// The function of the benchmark that reads one text.
const COUNTED: &str = "growth::counted";

/// The instructions for the two lengths of a shape.
struct Growth {
    shape: String,
    /// The length of the shorter text.
    bytes: usize,
    small: f64,
    large: f64,
}

impl Growth {
    fn times(&self) -> f64 {
        self.large / self.small
    }

    fn is_steep(&self) -> bool {
        self.times() > MOST
    }
}

/// Counts every shape of the benchmark, and reports those that grow faster than their length. A shape
/// that seems to is counted again in longer texts: a short one may end before the bounds on retries and
/// depth are met. Then every text is counted whole and in pieces.
pub(super) fn check() -> Result<(), Failure> {
    let program = build("growth")?;
    let mut shapes = growths(&program, &["--each"], BYTES)?;
    for shape in shapes.iter_mut().filter(|shape| shape.is_steep()) {
        let longer = growths(&program, &["--shape", &shape.shape], AGAIN * BYTES)?;
        *shape = longer.into_iter().next().ok_or_else(|| {
            Failure::Unusable(format!("the benchmark counted nothing for {}", shape.shape))
        })?;
    }
    let linear = judge(&shapes);
    let pieces = judge_pieces(&count(&program, &["--pieces", &PIECED_BYTES.to_string()])?);
    linear.and(pieces)
}

/// Counts the shapes that the arguments choose, at two lengths.
fn growths(program: &Path, which: &[&str], bytes: usize) -> Result<Vec<Growth>, Failure> {
    let sizes = [bytes, TIMES * bytes].map(|bytes| bytes.to_string());
    let sizes: [&str; 2] = [&sizes[0], &sizes[1]];
    let counted = count(program, &[which, &sizes].concat())?;
    let growth = |Pair { name, counts }| Growth {
        shape: name,
        bytes,
        small: counts[0],
        large: counts[1],
    };
    Ok(counted.into_iter().map(growth).collect())
}

/// The instructions of two runs in a row that have the same name.
struct Pair {
    name: String,
    counts: [f64; 2],
}

fn count(program: &Path, args: &[&str]) -> Result<Vec<Pair>, Failure> {
    let dumps = std::env::temp_dir().join(format!("goodcall-growth-{}", std::process::id()));
    std::fs::create_dir_all(&dumps).map_err(unusable)?;
    let counted = count_into(program, &dumps, args);
    std::fs::remove_dir_all(&dumps).map_err(unusable)?;
    counted
}

fn unusable(error: std::io::Error) -> Failure {
    Failure::Unusable(error.to_string())
}

/// Runs the benchmark once: callgrind writes a file of counts after each text.
fn count_into(program: &Path, dumps: &Path, args: &[&str]) -> Result<Vec<Pair>, Failure> {
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind");
    command.arg(format!("--toggle-collect={COUNTED}"));
    command.arg(format!("--dump-after={COUNTED}"));
    let file = dumps.join("counts").display().to_string();
    command.arg(format!("--callgrind-out-file={file}"));
    let run = command.arg(program).args(args).output();
    let run = run.map_err(|error| {
        Failure::Unusable(format!(
            "valgrind: {error}; install it to count instructions"
        ))
    })?;
    let counts = |part: usize| {
        let text = std::fs::read_to_string(format!("{file}.{part}")).ok()?;
        let totals = text
            .lines()
            .find_map(|line| line.strip_prefix("totals: "))?;
        totals.trim().parse::<f64>().ok()
    };
    let out = String::from_utf8_lossy(&run.stdout);
    let read: Vec<&str> = out.lines().collect();
    let pairs = read.chunks(2).enumerate().map(|(index, texts)| {
        let name = texts[0].split('\t').next().unwrap_or_default().to_owned();
        match [2 * index + 1, 2 * index + 2].map(counts) {
            [Some(first), Some(second)] => Ok(Pair {
                name,
                counts: [first, second],
            }),
            _ => Err(Failure::Found(format!(
                "{name}: callgrind counted nothing in {COUNTED}"
            ))),
        }
    });
    let pairs: Vec<Pair> = pairs.collect::<Result<_, Failure>>()?;
    if run.status.success() && !pairs.is_empty() {
        Ok(pairs)
    } else {
        Err(Failure::Found(
            String::from_utf8_lossy(&run.stderr).into_owned(),
        ))
    }
}

fn judge_pieces(counted: &[Pair]) -> Result<(), Failure> {
    let mut dear = Vec::new();
    for Pair { name, counts } in counted {
        let (each, times) = (counts[1] / PIECED_BYTES as f64, counts[1] / counts[0]);
        let line = format!(
            "{name:20}{each:8.0} instructions per byte in pieces, {times:5.2} x those of the whole"
        );
        if times > MOST_IN_PIECES && each > LEAST_PER_PIECE {
            dear.push(line)
        } else {
            println!("{line}")
        }
    }
    let sum = |of: usize| counted.iter().map(|pair| pair.counts[of]).sum::<f64>();
    let (whole, pieces) = (sum(0), sum(1));
    let line = format!(
        "all texts in pieces: {:.2} x those of the whole",
        pieces / whole
    );
    if pieces > MOST_IN_PIECES * whole {
        dear.push(line)
    } else {
        println!("{line}")
    }
    if dear.is_empty() {
        return Ok(());
    }
    Err(Failure::Found(format!(
        "too dear in pieces of one byte (more than {MOST_IN_PIECES} x the instructions of the whole, and \
         more than {LEAST_PER_PIECE} per byte); the texts are in crates/goodcall-wire/benches/growth.rs:\n{}",
        dear.join("\n")
    )))
}

fn judge(counted: &[Growth]) -> Result<(), Failure> {
    let mut steep = Vec::new();
    for growth in counted {
        let (shape, times) = (&growth.shape, growth.times());
        let each = growth.large / (TIMES * growth.bytes) as f64;
        let line = format!(
            "{shape:20}{each:8.0} instructions per byte, {times:5.2} x for {TIMES} x the text"
        );
        if growth.is_steep() {
            steep.push(line)
        } else {
            println!("{line}")
        }
    }
    if steep.is_empty() {
        Ok(())
    } else {
        Err(Failure::Found(format!(
            "not read in linear time (more than {MOST} x the instructions); the shapes are in \
             crates/goodcall-wire/benches/growth.rs:\n{}",
            steep.join("\n")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(shape: &str, times: f64) -> Growth {
        Growth {
            shape: shape.to_owned(),
            bytes: BYTES,
            small: 1e6,
            large: times * 1e6,
        }
    }

    #[test]
    fn a_shape_that_grows_faster_than_its_text_is_named() {
        assert!(judge(&[growth("tags", 16.2), growth("unions", 11.9)]).is_ok());
        let steep = judge(&[growth("tags", 16.2), growth("markers", 155.8)]);
        assert!(matches!(steep, Err(Failure::Found(text))
            if text.contains("markers") && text.contains("155.80 x") && !text.contains("tags")));
    }

    #[test]
    fn a_text_that_is_dear_in_pieces_is_named() {
        let pair = |name: &str, times: f64| Pair {
            name: name.to_owned(),
            counts: [1e7, times * 1e7],
        };
        let search = Pair {
            name: "thought".to_owned(),
            counts: [1e5, 1.5e6],
        };
        assert!(judge_pieces(&[pair("prose", 1.9), search]).is_ok());
        let dear = judge_pieces(&[pair("prose", 2.9), pair("code", 3.1)]);
        assert!(matches!(dear, Err(Failure::Found(text))
            if text.contains("code") && text.contains("3.10 x") && !text.contains("prose")));
    }
}
