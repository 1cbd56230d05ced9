//! The words with which a client starts goodcall in front of a server.

use std::path::Path;

/// The variable with a URL that may be secret.
const URL_VARIABLE: &str = "GOODCALL_URL";
/// The beginning of the variables with headers.
const HEADER_VARIABLE: &str = "GOODCALL_HEADER_";

/// A server behind a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UrlServer {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// Whether it speaks the old SSE transport.
    pub(super) sse: bool,
}

/// How a server behind a URL is started: the words behind the program, and variables for what may be
/// secret and must not be on a command line.
pub(super) struct UrlStart {
    pub(super) words: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
}

/// The words between the program and the command of a server.
pub(super) fn before_command(name: &str) -> Vec<String> {
    ["mcp", "--name", name, "--"].map(str::to_owned).to_vec()
}

/// Returns true if these are the program and the first word of a server behind goodcall.
pub(super) fn is_goodcall(program: &str, first: Option<&str>) -> bool {
    let stem = Path::new(program)
        .file_stem()
        .and_then(|stem| stem.to_str());
    stem == Some("goodcall") && first == Some("mcp")
}

/// Where the command of the server begins in the words behind the program.
pub(super) fn command_start(words: &[String]) -> Option<usize> {
    let dashes = words.iter().position(|word| word == "--")?;
    (dashes + 1 < words.len()).then_some(dashes + 1)
}

impl UrlServer {
    pub(super) fn start(&self, name: &str) -> UrlStart {
        let mut words = ["mcp", "--name", name].map(str::to_owned).to_vec();
        let mut variables = Vec::new();
        if may_be_secret(&self.url) {
            words.extend(["--url-env", URL_VARIABLE].map(str::to_owned));
            variables.push((URL_VARIABLE.to_owned(), self.url.clone()));
        } else {
            words.extend(["--url".to_owned(), self.url.clone()]);
        }
        if self.sse {
            words.push("--sse".to_owned());
        }
        for (index, (key, value)) in self.headers.iter().enumerate() {
            let variable = format!("{HEADER_VARIABLE}{index}");
            words.extend(["--header-env".to_owned(), format!("{key}={variable}")]);
            variables.push((variable, value.clone()));
        }
        UrlStart { words, variables }
    }

    /// Reads the words behind the program; `None` if they do not name a URL.
    pub(super) fn read(
        words: &[String],
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let (mut url, mut headers) = (None, Vec::new());
        for pair in words.windows(2) {
            let value = &pair[1];
            match pair[0].as_str() {
                "--url" => url = Some(value.clone()),
                "--url-env" => url = variable(value),
                "--header-env" => {
                    let (key, name) = value.split_once('=')?;
                    headers.push((key.to_owned(), variable(name)?));
                }
                _ => {}
            }
        }
        Some(Self {
            url: url?,
            headers,
            sse: words.iter().any(|word| word == "--sse"),
        })
    }
}

/// Returns true for the variables that wrapping adds.
pub(super) fn is_own_variable(name: &str) -> bool {
    name == URL_VARIABLE || name.starts_with(HEADER_VARIABLE)
}

/// Returns why a server at this address cannot be put behind goodcall, if so.
pub(super) fn refuses(url: &str, has_headers: bool) -> Option<&'static str> {
    let Some(rest) = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
    else {
        return Some("is at an address that is not http:// or https://");
    };
    let host = rest
        .split(['/', '?', '#'])
        .next()
        .expect("a split has a part");
    if !has_headers && !may_be_secret(url) && !goodcall_server::is_loopback_authority(host) {
        return Some("has no credentials, so the client logs in, which goodcall cannot do for it");
    }
    None
}

/// Returns true if a URL has a part that may be secret: a user, a query, or a long word with digits
/// in its path.
fn may_be_secret(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest
        .split(['/', '?', '#'])
        .next()
        .expect("a split has a part");
    let is_token = |part: &str| part.len() >= 20 && part.contains(|c: char| c.is_ascii_digit());
    host.contains('@') || rest.contains('?') || rest.split('/').skip(1).any(is_token)
}
