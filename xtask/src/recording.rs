//! `cargo xtask recording`: draws the output of `goodcall demo` as a moving picture for the README.
//! The command is run for it, so the picture shows its actual output.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::Failure;
use crate::peers::escape;

const PICTURE: &str = "docs/demo.svg";
const TYPED: &str = "goodcall demo";

const CHAR: f64 = 7.8;
const LINE: f64 = 18.0;
const EDGE: f64 = 18.0;
/// The height of the title bar.
const TOP: f64 = 40.0;

/// The seconds for typing a letter, reading a paragraph, and the pause at the end.
const LETTER: f64 = 0.07;
const PARAGRAPH: f64 = 1.3;
const STAY: f64 = 9.0;

const STYLE: &str = "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;\
fill:#d0d7de;white-space:pre}.window{fill:#161b22}.bar{fill:#21262d}\
.good{fill:#3fb950;font-weight:700}.mended{fill:#d29922;font-weight:700}\
.bad{fill:#f85149;font-weight:700}.sent{fill:#8b949e}.prompt{fill:#2f81f7}";

pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let picture = picture(&printed().map_err(Failure::Unusable)?);
    if args.first().is_none_or(|arg| arg != "--check") {
        fs::write(PICTURE, picture).map_err(|error| format!("{PICTURE}: {error}"))?;
        println!("{PICTURE} is written");
        return Ok(());
    }
    let kept = fs::read_to_string(PICTURE).map_err(|error| format!("{PICTURE}: {error}"))?;
    if kept != picture {
        let fix = format!("{PICTURE} shows an older demo: run `cargo xtask recording`");
        return Err(Failure::Found(fix));
    }
    println!("{PICTURE} shows what the demo prints");
    Ok(())
}

/// Returns the output of the demo, with colours.
fn printed() -> Result<String, String> {
    let words = ["run", "--quiet", "--package", "goodcall-cli", "--", "demo"];
    let output = Command::new("cargo")
        .args(words)
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .output();
    let output = output.map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("goodcall demo failed: {text}"));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// Draws paragraphs that appear one after another, and starts again.
fn picture(text: &str) -> String {
    let lines: Vec<Vec<(&str, &str)>> = text.lines().map(styled).collect();
    let size = |line: &Vec<(&str, &str)>| line.iter().map(|(_, text)| text.chars().count()).sum();
    let columns: usize = lines.iter().map(size).max().unwrap_or_default();
    let width = EDGE * 2.0 + CHAR * columns as f64;
    let height = TOP + LINE * (lines.len() + 2) as f64 + EDGE;
    let paragraphs = lines.split(|line| line.is_empty()).count();
    let typed = LETTER * TYPED.len() as f64;
    let whole = typed + PARAGRAPH * paragraphs as f64 + STAY;

    let mut moves = String::new();
    let mut body = String::new();
    // Each letter of the command is one step.
    for (at, letter) in TYPED.char_indices() {
        appears(&mut moves, &format!("t{at}"), LETTER * at as f64, whole);
        let x = EDGE + CHAR * (at + 2) as f64;
        let _ = write!(
            body,
            "<text class=\"t{at}\" x=\"{x:.1}\" y=\"{:.1}\">{letter}</text>",
            TOP + LINE
        );
    }
    let mut at = 0;
    for (index, paragraph) in lines.split(|line| line.is_empty()).enumerate() {
        appears(
            &mut moves,
            &format!("p{index}"),
            typed + PARAGRAPH * index as f64,
            whole,
        );
        let _ = writeln!(body, "<g class=\"p{index}\">");
        for line in paragraph {
            let y = TOP + LINE * (at + 2) as f64;
            let _ = write!(
                body,
                "<text x=\"{EDGE}\" y=\"{y:.1}\" xml:space=\"preserve\">"
            );
            for (class, text) in line {
                let text = escape(text);
                let _ = if class.is_empty() {
                    write!(body, "{text}")
                } else {
                    write!(body, "<tspan class=\"{class}\">{text}</tspan>")
                };
            }
            body.push_str("</text>\n");
            at += 1;
        }
        body.push_str("</g>\n");
        at += 1;
    }
    let dots = ["#f85149", "#d29922", "#3fb950"].iter().enumerate();
    let dots: String = dots
        .map(|(at, colour)| {
            let x = EDGE + 18.0 * at as f64;
            format!("<circle cx=\"{x}\" cy=\"14\" r=\"5\" fill=\"{colour}\"/>")
        })
        .collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"A terminal: goodcall demo and what it prints\">\n\
         <style>{STYLE}\n@media(prefers-reduced-motion:no-preference){{\n{moves}}}</style>\n\
         <rect class=\"window\" width=\"100%\" height=\"100%\" rx=\"8\"/>\
         <path class=\"bar\" d=\"M0 28V8a8 8 0 0 1 8-8h{:.0}a8 8 0 0 1 8 8v20z\"/>{dots}\n\
         <text class=\"prompt\" x=\"{EDGE}\" y=\"{:.1}\">$</text>\n{body}</svg>\n",
        width - 16.0,
        TOP + LINE
    )
}

/// Writes the animation of a class, which is visible from a given second on.
fn appears(moves: &mut String, class: &str, second: f64, whole: f64) {
    let share = second / whole * 100.0;
    let _ = writeln!(
        moves,
        "@keyframes {class}{{0%,{share:.2}%{{opacity:0}}{:.2}%,100%{{opacity:1}}}}\
         .{class}{{animation:{class} {whole:.1}s step-end infinite}}",
        share + 0.01
    );
}

/// Splits a line with terminal colours into parts with a class each.
fn styled(line: &str) -> Vec<(&'static str, &str)> {
    let (mut out, mut class) = (Vec::new(), "");
    for (index, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m').filter(|_| index > 0) {
            Some((codes, text)) => {
                class = match codes {
                    "1;32" => "good",
                    "1;33" => "mended",
                    "1;31" => "bad",
                    "2" => "sent",
                    _ => "",
                };
                text
            }
            None => part,
        };
        if !text.is_empty() {
            out.push((class, text));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_classes() {
        let line = "\u{1b}[1;32mgood  \u{1b}[0m it is m\u{1b}[2mx\u{1b}[0m";
        assert_eq!(
            styled(line),
            [("good", "good  "), ("", " it is m"), ("sent", "x")]
        );
        assert_eq!(styled(""), []);
    }

    #[test]
    fn a_paragraph_is_a_step() {
        let svg = picture("one <1>\n\ntwo\nthree\n");
        assert_eq!(svg.matches("<g class=").count(), 2, "{svg}");
        assert!(svg.contains("one &lt;1&gt;"), "{svg}");
    }
}
