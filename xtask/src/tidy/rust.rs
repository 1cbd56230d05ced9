//! Splits Rust source into code, comments and strings, so that each check sees only what it is about.

/// One Rust file, split.
pub(super) struct Rust {
    /// The lines of code; comments are left out and strings are empty.
    pub(super) code: Vec<String>,
    /// The text of each comment line, with the number of the line.
    pub(super) comments: Vec<(usize, String)>,
    /// The content of each string as written, with the number of its first line.
    pub(super) strings: Vec<(usize, String)>,
    /// The number of lines before the unit tests.
    pub(super) shipped: usize,
}

impl Rust {
    pub(super) fn new(text: &str) -> Self {
        let mut splitter = Splitter {
            text,
            at: 0,
            rust: Rust {
                code: vec![String::new()],
                comments: Vec::new(),
                strings: Vec::new(),
                shipped: tests_start(text),
            },
        };
        splitter.run();
        splitter.rust
    }

    /// The lines of code before the unit tests, numbered from 1.
    pub(super) fn shipped_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.iter().take(self.shipped).enumerate();
        lines.map(|(index, line)| (index + 1, line.as_str()))
    }

    /// The strings before the unit tests.
    pub(super) fn shipped_strings(&self) -> impl Iterator<Item = (usize, &str)> {
        let strings = self.strings.iter();
        strings
            .filter(|(line, _)| *line <= self.shipped)
            .map(|(line, text)| (*line, text.as_str()))
    }
}

/// Returns the number of lines before `#[cfg(test)] mod tests`.
pub(super) fn tests_start(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines
        .windows(2)
        .position(|pair| pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod tests"));
    tail.unwrap_or(lines.len())
}

struct Splitter<'t> {
    text: &'t str,
    at: usize,
    rust: Rust,
}

impl Splitter<'_> {
    fn run(&mut self) {
        while let Some(c) = self.rest().chars().next() {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.line_comment();
            } else if rest.starts_with("/*") {
                self.block_comment();
            } else if let Some(hashes) = raw_string(rest).filter(|_| !self.is_in_word()) {
                self.raw_string(hashes);
            } else if c == '"' {
                self.string();
            } else if c == '\'' {
                self.quote();
            } else {
                self.code(c);
            }
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        self.rust.code.len()
    }

    fn last_line(&mut self) -> &mut String {
        self.rust.code.last_mut().expect("there is a first line")
    }

    fn is_in_word(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    }

    fn code(&mut self, c: char) {
        self.at += c.len_utf8();
        if c == '\n' {
            self.rust.code.push(String::new());
        } else {
            self.last_line().push(c);
        }
    }

    /// Skips text that is not code, keeping count of its lines.
    fn skip(&mut self, bytes: usize) {
        let end = self.text.len().min(self.at + bytes);
        for _ in self.text[self.at..end].matches('\n') {
            self.rust.code.push(String::new());
        }
        self.at = end;
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        let end = rest.find('\n').unwrap_or(rest.len());
        let comment = (self.line(), rest[..end].to_owned());
        self.rust.comments.push(comment);
        self.skip(end);
    }

    fn block_comment(&mut self) {
        let rest = self.rest();
        let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
        let line = self.line();
        let lines = rest[..end].lines().enumerate();
        let comments: Vec<_> = lines
            .map(|(index, text)| (line + index, text.to_owned()))
            .collect();
        self.rust.comments.extend(comments);
        self.skip(end);
    }

    fn raw_string(&mut self, (start, hashes): (usize, usize)) {
        let close = format!("\"{}", "#".repeat(hashes));
        let rest = &self.rest()[start..];
        let end = rest.find(&close).unwrap_or(rest.len());
        self.push_string(rest[..end].to_owned());
        self.skip(start + end + close.len());
    }

    fn string(&mut self) {
        let rest = &self.rest()[1..];
        let mut escaped = false;
        let end = rest.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let end = end.unwrap_or(rest.len());
        self.push_string(rest[..end].to_owned());
        self.skip(end + 2);
    }

    fn push_string(&mut self, text: String) {
        let line = self.line();
        self.rust.strings.push((line, text));
        self.last_line().push_str("\"\"");
    }

    /// Skips a character literal, or takes the quote of a lifetime as code.
    fn quote(&mut self) {
        let rest = &self.rest()[1..];
        let mut chars = rest.char_indices();
        let first = chars.next().map(|(_, c)| c);
        let second = chars.next();
        match (first, second) {
            (Some('\\'), Some((at, c))) => {
                let after = at + c.len_utf8();
                let end = rest[after..].find('\'').unwrap_or(0);
                self.skip(after + end + 2);
            }
            (Some(_), Some((at, '\''))) => self.skip(at + 2),
            _ => self.code('\''),
        }
    }
}

/// Returns the length of the opening of a raw string, and its number of hashes.
fn raw_string(rest: &str) -> Option<(usize, usize)> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
    let is_raw = after[hashes..].starts_with('"');
    is_raw.then(|| (rest.len() - after.len() + hashes + 1, hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_strings_are_told_apart() {
        let text = "let a = \"// \\\" no\"; // yes\nlet b = r#\"x\n\"y\"#; /* c\nd */ let c = '\"';\n\
                    fn f<'a>(x: &'a str) {}\n";
        let rust = Rust::new(text);
        assert_eq!(
            rust.code,
            [
                "let a = \"\"; ",
                "let b = \"\"",
                "; ",
                " let c = ;",
                "fn f<'a>(x: &'a str) {}",
                ""
            ]
        );
        let comments = [(1, "// yes"), (3, "/* c"), (4, "d */")];
        assert_eq!(
            rust.comments,
            comments.map(|(line, text)| (line, text.to_owned()))
        );
        let strings = [(1, "// \\\" no"), (2, "x\n\"y")];
        assert_eq!(
            rust.strings,
            strings.map(|(line, text)| (line, text.to_owned()))
        );
    }

    #[test]
    fn unit_tests_are_not_shipped() {
        let rust = Rust::new("let a = \"1\";\n#[cfg(test)]\nmod tests {\nlet b = \"2\";\n}\n");
        assert_eq!(rust.shipped_code().count(), 1);
        assert_eq!(rust.shipped_strings().count(), 1);
    }
}
