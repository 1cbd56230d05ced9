//! Quotes outside ASCII, of all languages.

use super::string_end::Quote;

/// The kind of string that a quote outside ASCII opens; `None` if the character is not a quote. A
/// quote that comes in pairs of two characters names the one that closes it.
pub(super) fn opened_by(character: char) -> Option<Quote> {
    let closing = match character {
        '“' | '”' | '„' | '‟' | '＂' | '〝' | '〞' | '〟' | '❝' | '❞' => {
            return Some(Quote::Smart);
        }
        '‘' | '’' | '‚' | '‛' | '＇' | '❛' | '❜' => return Some(Quote::SmartSingle),
        '«' => '»',
        '»' => '«',
        '‹' => '›',
        '›' => '‹',
        '「' => '」',
        '」' => '「',
        '『' => '』',
        '』' => '『',
        '｢' => '｣',
        '｣' => '｢',
        _ => return None,
    };
    Some(Quote::Pair(closing))
}

/// Returns true if the character is a quote outside ASCII, or a mark that is used as one.
pub(super) fn is_quote(character: char) -> bool {
    matches!(character, '″' | '‶' | '´' | '′' | '‵') || opened_by(character).is_some()
}

/// Returns true if a quote outside ASCII may start with this byte of UTF-8.
#[inline]
pub(super) fn may_lead(byte: u8) -> bool {
    matches!(byte, 0xC2 | 0xE2 | 0xE3 | 0xEF)
}
