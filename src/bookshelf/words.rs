//! Where words end, and words as messages show them.

/// A blank within a line.
pub(super) fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// A blank or the end of the line.
pub(super) fn ends_word(b: u8) -> bool {
    b == b'\n' || is_blank(b)
}

/// The first word of `i`, or nothing when its line ends first.
pub(super) fn first_word(i: &[u8]) -> &[u8] {
    let i = &i[i.iter().position(|&b| !is_blank(b)).unwrap_or(i.len())..];
    &i[..i.iter().position(|&b| ends_word(b)).unwrap_or(i.len())]
}

/// Text from a file, fit for one line of a message.
pub(super) fn show(text: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]);
    let mut shown: String = cut.chars().take(MOST).collect::<String>().escape_debug().collect();
    if cut.chars().count() > MOST {
        shown.push_str("...");
    }
    shown
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
