//! Masks what looks like a secret in values that are shown.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What is shown in place of a secret.
const MASK: &str = "•••";

/// Members whose value is a secret, by their name.
const SECRET_MEMBER: &str = r#"(?i)("[^"\\]{0,40}(?:password|passwd|passphrase|secret|token|api[_-]?key|apikey|authorization|credential|private[_-]?key|access[_-]?key|session[_-]?id|cookie)[^"\\]{0,40}"\s*:\s*)"(?:[^"\\]|\\.)*""#;

/// Secrets by their form: keys of providers and forges, tokens, keys, URLs with a password.
const SECRET_FORM: &str = concat!(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}",
    r"|\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}",
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"|\bglpat-[A-Za-z0-9_-]{16,}|\bhf_[A-Za-z0-9]{16,}|\bnpm_[A-Za-z0-9]{20,}",
    r"|\bxox[abposr]-[A-Za-z0-9-]{10,}",
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}",
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}",
    r"|(?:://)[^/\s:@]{1,64}:[^/\s:@]{1,128}@",
);

/// Returns the text with secrets masked.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    static MEMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(SECRET_MEMBER).expect("the pattern is constant"));
    static FORM: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(SECRET_FORM).expect("the pattern is constant"));
    let by_name = MEMBER.replace_all(text, |found: &Captures<'_>| {
        format!("{}\"{MASK}\"", &found[1])
    });
    match FORM.replace_all(&by_name, MASK) {
        Cow::Borrowed(_) => by_name,
        Cow::Owned(masked) => Cow::Owned(masked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_by_name_and_by_form() {
        for (text, shown) in [
            (
                r#"{"user": "a", "api_key": "abc"}"#,
                r#"{"user": "a", "api_key": "•••"}"#,
            ),
            (
                r#"{"Authorization": "x\"y"}"#,
                r#"{"Authorization": "•••"}"#,
            ),
            (
                "curl -H 'Authorization: Bearer abcdefghijklmnop'",
                "curl -H 'Authorization: •••'",
            ),
            ("key sk-proj-abcdefghijklmnopqrstuv end", "key ••• end"),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "•••"),
            ("AKIAABCDEFGHIJKLMNOP", "•••"),
            ("postgres://bob:hunter2@db/x", "postgres•••db/x"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
                "•••",
            ),
        ] {
            assert_eq!(mask(text), shown);
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            r#"{"path": "src/main.rs", "limit": 20}"#,
            "https://example.org/a:b@c?x=1",
            "task-force sk-8 eyJ",
            r#"{"tokens": 5}"#,
        ] {
            assert!(matches!(mask(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
