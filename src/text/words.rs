//! Where words end, where they stand in a file, and words as messages show them.

/// A blank within a line.
pub(crate) fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// A blank or the end of the line.
pub(crate) fn ends_word(b: u8) -> bool {
    b == b'\n' || is_blank(b)
}

/// Returns the first word of `i`, or nothing when its line ends first.
pub(crate) fn first_word(i: &[u8]) -> &[u8] {
    let i = &i[i.iter().position(|&b| !is_blank(b)).unwrap_or(i.len())..];
    &i[..i.iter().position(|&b| ends_word(b)).unwrap_or(i.len())]
}

/// Text from a file, fit for one line of a message.
pub(crate) fn show(text: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]);
    let mut shown: String = cut.chars().take(MOST).collect::<String>().escape_debug().collect();
    if cut.chars().count() > MOST {
        shown.push_str("...");
    }
    shown
}

/// Offset of `part` in `whole`.
fn offset(whole: &[u8], part: &[u8]) -> usize {
    let distance = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    distance.min(whole.len())
}

/// Line and column of the start of `part` in `whole`, counted from 1.
pub(crate) fn position(whole: &[u8], part: &[u8]) -> (u64, u64) {
    let before = &whole[..offset(whole, part)];
    let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let lines = before.iter().filter(|&&b| b == b'\n').count();
    (lines as u64 + 1, (before.len() - line_start) as u64 + 1)
}

/// Returns a description of the text that stands in `whole` at the start of `part`.
pub(crate) fn found(whole: &[u8], part: &[u8]) -> String {
    let rest = &whole[offset(whole, part)..];
    match (rest.first(), first_word(rest)) {
        (None, _) => "end of file".to_owned(),
        (Some(_), []) => "end of line".to_owned(),
        (Some(_), word) => format!("`{}`", show(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_fits_a_line() {
        assert_eq!(show(b"a\nb\xff"), "a\\nb\u{fffd}");
        assert_eq!(show(&[b'y'; 1000]).len(), 43);
    }
}
