//! Charts as SVG: bars and lines, readable on light and on dark pages.

use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const LABELS: f64 = 270.0;
const ROW: f64 = 26.0;
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#57606a}\
.title{font-weight:600;font-size:14px}.small{font-size:11px}\
.ours{fill:#2f81f7}.peer{fill:#9aa4af}.axis{stroke:#9aa4af;stroke-width:1;opacity:.5}\
.line{fill:none;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#b1bac4}.peer{fill:#6e7681}}";
/// The colours of lines; the first is ours.
const COLOURS: [&str; 8] = [
    "#2f81f7", "#bf8700", "#8250df", "#cf222e", "#1a7f37", "#bf3989", "#0f8a8a", "#7d8590",
];

/// A bar: its label, its value, the text beside it, and whether it is ours.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: f64,
    pub(super) text: String,
    pub(super) ours: bool,
}

/// The width of the text at the end of the longest bar.
const TEXTS: f64 = 140.0;
/// The ratio of the largest to the smallest bar from which on bars are logarithmic.
const APART: f64 = 60.0;

/// Draws horizontal bars from zero, or logarithmic ones if they are far apart.
pub(super) fn bars(title: &str, bars: &[Bar]) -> String {
    let values = || bars.iter().map(|bar| bar.value);
    let most = values().fold(f64::MIN_POSITIVE, f64::max);
    let least = values().fold(f64::INFINITY, f64::min);
    let apart = least > 0.0 && most / least > APART;
    let share = |value: f64| {
        if apart {
            (value / least * 2.0).log10() / (most / least * 2.0).log10()
        } else {
            value / most
        }
    };
    let title = &if apart {
        format!("{title} (logarithmic)")
    } else {
        title.to_owned()
    };
    let height = 44.0 + ROW * bars.len() as f64;
    let mut svg = open(height, title);
    for (index, bar) in bars.iter().enumerate() {
        let y = 38.0 + ROW * index as f64;
        let width = (share(bar.value) * (WIDTH - LABELS - TEXTS)).max(1.0);
        let class = if bar.ours { "ours" } else { "peer" };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{class}\" x=\"{LABELS}\" y=\"{y}\" width=\"{width:.1}\" height=\"18\" rx=\"3\"/>\
             <text x=\"{:.1}\" y=\"{}\">{}</text>",
            LABELS - 10.0,
            y + 14.0,
            plain(&bar.label),
            LABELS + width + 8.0,
            y + 14.0,
            plain(&bar.text),
        );
    }
    svg + "</svg>\n"
}

/// A line: its label, and points of bytes and nanoseconds.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// Draws lines on logarithmic axes, one colour each.
pub(super) fn lines(title: &str, lines: &[Line]) -> String {
    let (height, left, bottom) = (400.0, 80.0, 350.0);
    let right = WIDTH - 290.0;
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let range = |pick: fn(&(f64, f64)) -> f64| {
        let low = points()
            .map(pick)
            .fold(f64::INFINITY, f64::min)
            .log10()
            .floor();
        let high = points().map(pick).fold(1.0, f64::max).log10().ceil();
        (low, high.max(low + 1.0))
    };
    let ((x0, x1), (y0, y1)) = (range(|p| p.0), range(|p| p.1));
    let x = |bytes: f64| left + (bytes.log10() - x0) / (x1 - x0) * (right - left);
    let y = |nanos: f64| bottom - (nanos.log10() - y0) / (y1 - y0) * (bottom - 50.0);
    let mut svg = open(height, title);
    for power in (y0 as i32)..=(y1 as i32) {
        let at = y(10_f64.powi(power));
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"small\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            at + 4.0,
            nanos_text(10_f64.powi(power)),
        );
    }
    for power in (x0 as i32)..=(x1 as i32) {
        let (at, bytes) = (x(10_f64.powi(power)), 10_f64.powi(power));
        let text = if bytes < 1e3 {
            format!("{bytes} B")
        } else {
            format!("{} KB", bytes / 1e3)
        };
        let _ = writeln!(
            svg,
            "<text class=\"small\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            bottom + 20.0
        );
    }
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let path: Vec<String> = (line.points.iter())
            .map(|(bytes, nanos)| format!("{:.1},{:.1}", x(*bytes), y(*nanos)))
            .collect();
        let row = 60.0 + 20.0 * index as f64;
        let _ = writeln!(
            svg,
            "<polyline class=\"line\" stroke=\"{colour}\" points=\"{}\"/>\
             <rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text class=\"small\" x=\"{}\" y=\"{}\">{}</text>",
            path.join(" "),
            right + 16.0,
            row - 10.0,
            right + 34.0,
            row,
            plain(&line.label),
        );
    }
    svg + "</svg>\n"
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{title}</title><style>{STYLE}</style>\n\
         <text class=\"title\" x=\"10\" y=\"22\">{title}</text>\n",
        title = plain(title)
    )
}

/// Converts the text of a table's cell for SVG.
fn plain(text: &str) -> String {
    escape(text).replace('`', "")
}

/// Escapes text for SVG.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Formats a time in a suitable unit.
pub(super) fn nanos_text(nanos: f64) -> String {
    let (number, unit) = match nanos {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    match number {
        n if n >= 100.0 || n.fract() == 0.0 => format!("{n:.0} {unit}"),
        n => format!("{n:.1} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let texts = [812.0, 1_500.0, 2_340_000.0, 10_000_000_000.0].map(nanos_text);
        assert_eq!(texts, ["812 ns", "1.5 µs", "2.3 ms", "10 s"]);
    }

    #[test]
    fn labels_are_escaped() {
        let bar = Bar {
            label: "a < b".to_owned(),
            value: 1.0,
            text: "1 & 2".to_owned(),
            ours: true,
        };
        let svg = bars("title", &[bar]);
        assert!(svg.contains("a &lt; b") && svg.contains("1 &amp; 2"));
    }
}
