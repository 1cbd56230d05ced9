//! What a backslash and a letter may begin besides an escape: a name, a row or a command of TeX.

/// Returns true for the two backslashes that end a row of TeX, after the first of them.
pub(super) fn ends_row(rest: &str) -> bool {
    rest.strip_prefix('\\')
        .is_some_and(|next| next.starts_with(char::is_whitespace))
}

/// Returns true for the end of a line before what no part of a path begins with: a capital letter, an
/// indent, an empty line, a sign.
pub(super) fn ends_line(rest: &str) -> bool {
    let Some(next) = rest.strip_prefix('n').or(rest.strip_prefix("r\\n")) else {
        return false;
    };
    let starts_line =
        |c: char| c.is_uppercase() || !c.is_alphanumeric() && !" \\._-~\"'".contains(c);
    next.starts_with(starts_line) || next.starts_with("  ") || next.starts_with("\\n")
}

/// Returns true if the letter of an escape may begin a name, as in `\new`. The end of a line stands
/// before `Then`.
pub(super) fn continues_name(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    let is_name = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(b);
    match bytes.first() {
        Some(b'n') => bytes.get(1).is_some_and(is_name),
        Some(b'r') => !rest.starts_with("r\\n"),
        _ => true,
    }
}

/// Returns true for a backslash and a letter between blanks.
pub(super) fn is_whole_word(text: &[u8], slash: usize) -> bool {
    let is_blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    is_blank(text[..slash].last())
        && text.get(slash + 1).is_some_and(u8::is_ascii_alphabetic)
        && is_blank(text.get(slash + 2))
}

/// Returns true for `\theta` and other commands of TeX, after their backslash. No line and no cell of
/// a table would start with the rest of such a command.
pub(super) fn is_tex_command(rest: &[u8]) -> bool {
    const COMMANDS: [&[u8]; 14] = [
        b"nabla",
        b"neq",
        b"newcommand",
        b"notin",
        b"tau",
        b"text",
        b"textbf",
        b"textit",
        b"textrm",
        b"tfrac",
        b"theta",
        b"tilde",
        b"times",
        b"triangle",
    ];
    let letters = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    COMMANDS.contains(&&rest[..letters])
}
