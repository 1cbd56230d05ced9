//! Writes out ranges of whole numbers, which some models write where a list belongs:
//! `range(2, 11, 2)`, `[i for i in range(5)]`.

use super::python_values::identifier_size;
use super::raw_members::skip_blanks;

/// The most elements of a range that is written out: an answer must not be much longer than the text.
const MAX_ELEMENTS: usize = 128;
/// The most bytes between the brackets of a range: three numbers and blanks.
const MAX_TEXT: usize = 80;

/// Writes out the range whose bracket is at the start of `text`, as a list in JSON. Returns it and its
/// size in `text`; `None` for anything but one to three whole numbers, or for too many elements.
pub(super) fn range(text: &str) -> Option<(String, usize)> {
    let end = text.bytes().take(MAX_TEXT).position(|byte| byte == b')')?;
    let inner = text[..end].strip_prefix('(')?;
    let numbers: Option<Vec<i64>> = inner
        .split(',')
        .map(|one| one.trim().parse().ok())
        .collect();
    let (first, last, step) = match numbers?[..] {
        [last] => (0, last, 1),
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step),
        _ => return None,
    };
    let mut json = String::from("[");
    let (mut at, mut count) = (first, 0);
    while (step > 0 && at < last) || (step < 0 && at > last) {
        if count == MAX_ELEMENTS {
            return None;
        }
        if count > 0 {
            json.push(',');
        }
        json.push_str(&at.to_string());
        count += 1;
        at = at.checked_add(step)?;
    }
    json.push(']');
    (step != 0).then_some((json, end + 1))
}

/// Writes out `[i for i in range(…)]` at the start of `text`: the elements of the range as they are.
pub(super) fn comprehension(text: &str) -> Option<(String, usize)> {
    let mut at = skip_blanks(text.as_bytes(), 1);
    let size = identifier_size(&text[at..]);
    let variable = &text[at..at + size];
    at += size;
    for word in ["for", variable, "in", "range"] {
        let from = skip_blanks(text.as_bytes(), at);
        let rest = &text[from..];
        if from == at || word.is_empty() || identifier_size(rest) != word.len() {
            return None;
        }
        if !rest.starts_with(word) {
            return None;
        }
        at = from + word.len();
    }
    let (json, size) = range(&text[at..])?;
    let close = skip_blanks(text.as_bytes(), at + size);
    text[close..].starts_with(']').then_some((json, close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_out() {
        assert_eq!(range("(3)").unwrap(), ("[0,1,2]".to_owned(), 3));
        assert_eq!(range("(2, 9, 3), x").unwrap(), ("[2,5,8]".to_owned(), 9));
        assert_eq!(range("(1, -2, -1)").unwrap().0, "[1,0,-1]");
        assert_eq!(range("(5, 5)").unwrap().0, "[]");
        let (list, size) = comprehension("[ i for i in range(1, 3) ], x").unwrap();
        assert_eq!((list.as_str(), size), ("[1,2]", 26));
    }

    #[test]
    fn anything_but_plain_numbers_is_no_range() {
        for text in [
            "()",
            "(1, 2, 0)",
            "(1, 2, 3, 4)",
            "(n)",
            "(1.5)",
            "(1",
            "(129)",
            "(len(x))",
        ] {
            assert_eq!(range(text), None, "{text}");
        }
        assert_eq!(range("(9223372036854775806, 9223372036854775807, 2)"), None);
        for text in [
            "[2*i for i in range(3)]",
            "[i for j in range(3)]",
            "[i for i in range(3) if i]",
            "[i for i in x]",
            "[ for  in range(3)]",
            "[é",
        ] {
            assert_eq!(comprehension(text), None, "{text}");
        }
    }
}
