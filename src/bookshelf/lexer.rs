//! The words of every file type, as nom parsers over bytes.
//!
//! A parser takes the text from its position and never passes the end of the line by itself; lines
//! are only ended by [`end_of_line`] and [`next_line`]. Positions are not tracked: an error carries
//! the text it is about, and lines are counted when the message is made.

use super::notes::Notes;
use crate::text::error::{Miss, Reason};
use crate::text::words::{ends_word, is_blank};
use nom::combinator::opt;
use nom::{FindSubstring, IResult, Parser};

/// The result of a parser: the text behind, and the value read.
pub(super) type Parsed<'a, T> = IResult<&'a [u8], T, Miss<'a>>;

/// Longest name that is taken for one.
const MAX_NAME: usize = 0xffff;

fn ends_token(b: u8) -> bool {
    b == b':' || ends_word(b)
}

/// Returns an error; never inlined, so that reading a line is short.
#[cold]
#[inline(never)]
fn fail<'a, T>(at: &'a [u8], what: &'static str) -> Parsed<'a, T> {
    Err(nom::Err::Error(Miss::expected(at, what)))
}

/// Returns the error inside nom's wrapping.
pub(super) fn unwrap_miss(error: nom::Err<Miss<'_>>) -> Miss<'_> {
    match error {
        nom::Err::Error(miss) | nom::Err::Failure(miss) => miss,
        nom::Err::Incomplete(_) => Miss::expected(&[], "more text"),
    }
}

/// Returns the text behind the blanks, if any, within the line.
#[inline(always)]
pub(super) fn skip_blanks(i: &[u8]) -> &[u8] {
    match i {
        // Most often there is one.
        [first, rest @ ..] if is_blank(*first) => {
            &rest[rest.iter().position(|&b| !is_blank(b)).unwrap_or(rest.len())..]
        }
        _ => i,
    }
}

/// Returns for each of eight bytes, the first in the lowest bits, 0x80 where it is below `limit`,
/// 128 at the most. Only the first of these marks is to be relied on: one behind it may be wrong.
#[inline(always)]
fn below(bytes: u64, limit: u8) -> u64 {
    bytes.wrapping_sub(EACH * u64::from(limit)) & !bytes & (EACH << 7)
}

/// One in each byte.
const EACH: u64 = u64::MAX / 0xff;

/// Returns the byte of the lowest mark.
#[inline(always)]
fn first_mark(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// Returns the first eight bytes of `i`, the first in the lowest bits.
#[inline(always)]
fn eight(i: &[u8]) -> Option<u64> {
    i.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Returns the number of bytes up to where a word ends.
///
/// Most words are of up to eight bytes, but of which length is as good as random: they are
/// looked at eight at a time, so that no branch is mispredicted for it.
#[inline(always)]
fn word_length(i: &[u8]) -> usize {
    let mut at = 0;
    while let Some(bytes) = eight(&i[at..]) {
        // All that ends a word is below `!`.
        let marks = below(bytes, b'!');
        if marks == 0 {
            at += 8;
            continue;
        }
        at += first_mark(marks);
        if ends_word(i[at]) {
            return at;
        }
        at += 1;
    }
    at + i[at..].iter().position(|&b| ends_word(b)).unwrap_or(i.len() - at)
}

/// Returns a parser of a run of bytes without blanks: a name.
#[inline(always)]
pub(super) fn word<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, &'a [u8]> {
    #[inline(always)]
    move |i| {
        let i = skip_blanks(i);
        match i.split_at(word_length(i)) {
            ([], _) => fail(i, what),
            (word, rest) => Ok((rest, word)),
        }
    }
}

/// Returns a parser of a run of bytes without blanks and colons: a number or a keyword.
#[inline(always)]
pub(super) fn token<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, &'a [u8]> {
    #[inline(always)]
    move |i| {
        let i = skip_blanks(i);
        match i.split_at(i.iter().position(|&b| ends_token(b)).unwrap_or(i.len())) {
            ([], _) => fail(i, what),
            (token, rest) => Ok((rest, token)),
        }
    }
}

/// Returns a parser of a new name: UTF-8 without control characters.
pub(super) fn name<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, &'a str> {
    move |i| {
        let at = skip_blanks(i);
        let (rest, word) = word(what)(at)?;
        match std::str::from_utf8(word) {
            Ok(name) if word.len() <= MAX_NAME && !word.iter().any(u8::is_ascii_control) => {
                Ok((rest, name))
            }
            _ => fail(at, what),
        }
    }
}

/// Returns a parser of a finite number in decimal or scientific notation.
#[inline(always)]
pub(super) fn number<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, f64> {
    #[inline(always)]
    move |i| {
        let at = skip_blanks(i);
        match short_decimal(at) {
            Some(number) => Ok(number),
            None => long_number(at, what),
        }
    }
}

/// Returns a number that [`short_decimal`] leaves.
#[inline(never)]
fn long_number<'a>(at: &'a [u8], what: &'static str) -> Parsed<'a, f64> {
    if let Some(number) = plain_decimal(at) {
        return Ok(number);
    }
    let (rest, digits) = token(what)(at)?;
    match std::str::from_utf8(digits).ok().and_then(|s| s.parse::<f64>().ok()) {
        Some(value) if value.is_finite() => Ok((rest, value)),
        _ => fail(at, what),
    }
}

/// Most digits that [`plain_decimal`] reads.
const MOST_DIGITS: usize = 15;

/// Powers of ten.
const POWERS: [f64; MOST_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Reads a number of sign, digits and point, if it has at most [`MOST_DIGITS`] digits.
///
/// Such a number is a whole number below 2^53 over a power of ten below 10^22, both exact in `f64`,
/// so that their quotient is the correctly rounded value (W. D. Clinger, "How to read floating
/// point numbers accurately", PLDI 1990). The standard library does the same, after cutting out the
/// word and asking more questions.
fn plain_decimal(i: &[u8]) -> Option<(&[u8], f64)> {
    let negative = i.first() == Some(&b'-');
    let text = &i[usize::from(negative)..];
    let (mut whole, mut digits, mut point) = (0u64, 0, None);
    let mut length = 0;
    while let Some(&b) = text.get(length) {
        match b {
            b'0'..=b'9' if digits < MOST_DIGITS => {
                (whole, digits) = (10 * whole + u64::from(b - b'0'), digits + 1);
            }
            b'.' if point.is_none() => point = Some(digits),
            b if ends_token(b) => break,
            _ => return None,
        }
        length += 1;
    }
    if digits == 0 {
        return None;
    }
    let value = whole as f64 / POWERS[digits - point.unwrap_or(digits)];
    Some((&text[length..], if negative { -value } else { value }))
}

/// Parses like [`plain_decimal`] a number of less than eight bytes, sign aside, with enough bytes
/// behind it to make eight: all at once and without a loop, for how long the next number is, is as
/// good as random.
#[inline(always)]
fn short_decimal(i: &[u8]) -> Option<(&[u8], f64)> {
    let negative = i.first() == Some(&b'-');
    let text = &i[usize::from(negative)..];
    let bytes = eight(text)?;
    let values = bytes ^ (EACH * u64::from(b'0'));
    // 0x80 in each byte that is not from 0 to 9: 0x76 + 10 is 0x80, and 0x76 + 0x7f no carry.
    let marks = (((values & (EACH * 0x7f)) + EACH * 0x76) | values) & (EACH << 7);
    let point = first_mark(marks);
    let has_point = marks != 0 && text[point] == b'.';
    let marks = if has_point { marks & (marks - 1) } else { marks };
    if marks == 0 {
        return None;
    }
    let length = first_mark(marks);
    let digits = length - usize::from(has_point);
    if digits == 0 || !ends_token(text[length]) {
        return None;
    }
    // With the point removed, the digits go to the top; zeros are before them.
    let before = (1 << (8 * point)) - 1;
    let joined = if has_point { values & before | values >> 8 & !before } else { values };
    let ones = joined << (8 * (8 - digits));
    // Pairs, fours and eights of digits, the first in the lowest bits.
    let pairs = ones.wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    let whole = fours.wrapping_mul(1 + (10_000 << 32)) >> 32;
    let value = whole as f64 / POWERS[if has_point { digits - point } else { 0 }];
    Some((&text[length..], if negative { -value } else { value }))
}

/// The largest size, for areas and sums of them to be finite.
const LARGEST: f64 = 1e100;

/// Returns a parser of a number of at least zero and at most [`LARGEST`].
#[inline(always)]
pub(super) fn size<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, f64> {
    #[inline(always)]
    move |i| {
        let at = skip_blanks(i);
        match number(what)(at)? {
            (rest, value) if (0.0..=LARGEST).contains(&value) => Ok((rest, value)),
            _ => fail(at, what),
        }
    }
}

/// Returns a parser of a whole number of at least zero.
pub(super) fn count<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, u64> {
    move |i| {
        let at = skip_blanks(i);
        let (rest, digits) = token(what)(at)?;
        match std::str::from_utf8(digits).ok().and_then(|s| s.parse().ok()) {
            Some(value) => Ok((rest, value)),
            None => fail(at, what),
        }
    }
}

/// Returns a parser of a colon.
#[inline(always)]
pub(super) fn colon<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> {
    #[inline(always)]
    move |i| match skip_blanks(i) {
        [b':', rest @ ..] => Ok((rest, ())),
        i => fail(i, what),
    }
}

/// Returns the text behind the keyword `key`, in any mixture of cases and as a whole word, if it is
/// here.
#[inline(always)]
pub(super) fn behind_keyword<'a>(i: &'a [u8], key: &'static str) -> Option<&'a [u8]> {
    let i = skip_blanks(i);
    // Most often the first letter decides.
    let first = key.as_bytes().first()?;
    if !i.first()?.eq_ignore_ascii_case(first) {
        return None;
    }
    let (word, rest) = i.split_at_checked(key.len())?;
    let whole = rest.first().is_none_or(|&b| ends_token(b));
    (whole && word.eq_ignore_ascii_case(key.as_bytes())).then_some(rest)
}

/// Returns a parser of the keyword `key` in any mixture of cases, as a whole word.
pub(super) fn keyword<'a>(key: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> {
    move |i| match behind_keyword(i, key) {
        Some(rest) => Ok((rest, ())),
        None => fail(skip_blanks(i), key),
    }
}

/// Returns the rest of the line and its end. Returns the text passed, without blanks and comment.
#[inline(always)]
pub(super) fn end_of_line(i: &[u8]) -> Parsed<'_, &[u8]> {
    match skip_blanks(i) {
        [b'\n', rest @ ..] => Ok((rest, &[])),
        i => Ok(odd_end_of_line(i)),
    }
}

/// Returns [`end_of_line`] of a line that does not end here.
#[inline(never)]
fn odd_end_of_line(start: &[u8]) -> (&[u8], &[u8]) {
    let rest = skip_line(start);
    match start.first() {
        None | Some(b'#') => (rest, &start[..0]),
        Some(_) => {
            let line = &start[..start.len() - rest.len()];
            (rest, line.strip_suffix(b"\n").unwrap_or(line))
        }
    }
}

/// Returns the text after the end of this line.
#[inline(always)]
pub(super) fn skip_line(i: &[u8]) -> &[u8] {
    match i {
        [b'\n', rest @ ..] => rest,
        // Also at the text's end: errors need its position in it.
        _ => i.find_substring(&b"\n"[..]).map_or(&i[i.len()..], |end| &i[end + 1..]),
    }
}

/// Passes empty lines and comments: the text from the next line's first word, or nothing.
#[inline(always)]
pub(super) fn next_line(mut i: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = i {
        i = match first {
            b'#' => skip_line(rest),
            b if ends_word(*b) => rest,
            _ => break,
        };
    }
    i
}

/// Returns the text of a file from its first line that is neither empty nor a comment.
pub(super) fn first_line(text: &[u8]) -> &[u8] {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    next_line(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}

/// A count that a header states, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count<'a> {
    pub(super) value: u64,
    at: &'a [u8],
}

impl<'a> Count<'a> {
    /// Fails when the header counts more than any of `found`, for then the file is not whole; notes
    /// when it counts fewer, as files of a contest do.
    pub(super) fn check(
        count: Option<Self>,
        what: &'static str,
        found: &[usize],
        notes: &mut Notes<'a>,
    ) -> Result<(), Miss<'a>> {
        let Some(Count { value, at }) = count else { return Ok(()) };
        let most = found.iter().max().map_or(0, |&n| n as u64);
        if value > most {
            return Err(Miss { at, reason: Reason::Count { what, header: value, found: most } });
        }
        if !found.iter().any(|&n| n as u64 == value) {
            notes.more_than_counted(most - value, what, at);
        }
        Ok(())
    }
}

/// Reads a file's head: `UCLA kind 1.0` and `Key : count` lines, in any order, each of them
/// optional.
///
/// Gives the counts in the order of `keys`, and the text from the first line that is neither.
pub(super) fn header<'a, const N: usize>(
    text: &'a [u8],
    kind: &'static str,
    keys: [&'static str; N],
) -> Result<([Option<Count<'a>>; N], &'a [u8]), Miss<'a>> {
    let mut counts = [None; N];
    let mut i = first_line(text);
    'lines: while !i.is_empty() {
        if let Ok((rest, _)) = keyword("UCLA")(i) {
            let (rest, _) = keyword(kind)(rest)
                .map_err(|e| Miss::expected(unwrap_miss(e).at, format!("a `{kind}` file")))?;
            i = next_line(skip_line(rest));
            continue;
        }
        for (key, slot) in keys.into_iter().zip(&mut counts) {
            if let Ok((rest, _)) = keyword(key)(i) {
                let (rest, _) = opt(colon("`:`")).parse(rest).map_err(unwrap_miss)?;
                let at = skip_blanks(rest);
                let (rest, value) = count("a count")(at).map_err(unwrap_miss)?;
                *slot = Some(Count { value, at });
                i = next_line(skip_line(rest));
                continue 'lines;
            }
        }
        break;
    }
    Ok((counts, i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(e: nom::Err<Miss<'_>>) -> (&[u8], String) {
        let m = unwrap_miss(e);
        match m.reason {
            Reason::Expected(what) => (m.at, what.into()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_stop_at_blanks_and_tokens_at_colons() {
        assert_eq!(word("")(b"\t a:b|c\r\n").unwrap(), (&b"\r\n"[..], &b"a:b|c"[..]));
        assert_eq!(token("")(b" N:x").unwrap(), (&b":x"[..], &b"N"[..]));
        assert_eq!(
            miss(word("a name")(b"  \n next").unwrap_err()),
            (&b"\n next"[..], "a name".into())
        );
    }

    #[test]
    fn words_of_any_length_end_at_any_of_their_ends() {
        for length in 0..40 {
            for other in [b'x', b'!', 1, 0x1f, 0x7f, 0x80, 0xff, 0xa0] {
                let mut text = vec![b'a'; length];
                text.iter_mut().step_by(3).for_each(|b| *b = other);
                assert_eq!(word_length(&text), length);
                for end in [b' ', b'\t', b'\r', 0x0b, 0x0c, b'\n'] {
                    let text = [&text[..], &[end, b'z', end], b"and some more"].concat();
                    assert_eq!(word_length(&text), length, "{text:?}");
                }
            }
        }
    }

    #[test]
    fn names_are_text() {
        assert_eq!(name("")(b"|a[0].b 1").unwrap(), (&b" 1"[..], "|a[0].b"));
        for bad in [&b"a\0b 1"[..], b"\xff\xfe", &[b'x'; MAX_NAME + 1]] {
            assert!(name("a name")(bad).is_err());
        }
    }

    #[test]
    fn numbers_are_decimal_or_scientific_and_finite() {
        let cases = [("12", 12.0), ("-7.33333", -7.33333), ("1.428e+06", 1.428e6), ("+.5", 0.5)];
        for (text, value) in cases {
            assert_eq!(number("")(text.as_bytes()).unwrap().1, value, "{text}");
        }
        for bad in ["nan", "inf", "-inf", "1e999", "0x10", "1,5", "12a", "", "--1", "1e"] {
            let (_, what) = miss(number("a width")(bad.as_bytes()).unwrap_err());
            assert_eq!(what, "a width", "{bad}");
        }
        assert_eq!(number("")(b"0:").unwrap().0, b":");
    }

    #[test]
    fn plain_decimals_have_the_bits_of_f64_parse() {
        let mut state = 1u64;
        for round in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
            let digits = (state >> 11).to_string();
            let mut text = digits[..1 + (state >> 5) as usize % digits.len().min(15)].to_owned();
            text.insert((state >> 17) as usize % (text.len() + 1), '.');
            text.insert_str(0, if state & 1 == 0 { "-" } else { "" });
            let want = text.parse::<f64>().unwrap();
            let (rest, got) = plain_decimal(text.as_bytes()).unwrap();
            assert_eq!((got.to_bits(), rest.len()), (want.to_bits(), 0), "{text}");
            let (short, padded) = (text.trim_start_matches('-').len() < 8, text + "\t0 : N\nabc");
            let got = short_decimal(padded.as_bytes()).map(|(rest, v)| (rest, v.to_bits()));
            let want = (&b"\t0 : N\nabc"[..], want.to_bits());
            assert_eq!(got, short.then_some(want), "{padded}");
        }
        for other in ["", "-", ".", "-.", "1e3", "1.2.3", "+1", "1234567890123456", "0x1"] {
            assert_eq!(plain_decimal(other.as_bytes()), None, "{other}");
            let padded = format!("{other} .......");
            assert_eq!(short_decimal(padded.as_bytes()), None, "{other}");
        }
        for byte in (0..=u8::MAX).filter(|&b| !ends_token(b) && b != b'.' && !b.is_ascii_digit()) {
            for at in 0..7 {
                let mut text = *b"12.3456 ....";
                text[at] = byte;
                assert_eq!(short_decimal(&text).is_some(), at == 0 && byte == b'-', "{text:?}");
            }
        }
        assert!(plain_decimal(b"-0").unwrap().1.is_sign_negative());
        assert_eq!(plain_decimal(b"12: N"), Some((&b": N"[..], 12.0)));
    }

    #[test]
    fn sizes_are_not_negative_and_counts_are_whole() {
        assert!(size("")(b"-1").is_err() && size("")(b"0").is_ok());
        assert_eq!(count("")(b"1000000000000 ").unwrap().1, 1_000_000_000_000);
        for bad in ["-1", "1.5", "1e3", "99999999999999999999", "x"] {
            assert!(count("")(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn keywords_are_whole_words_in_any_case() {
        assert_eq!(keyword("NumRows")(b" Numrows : 8").unwrap().0, b" : 8");
        assert_eq!(keyword("NumRows")(b"NUMROWS:8").unwrap().0, b":8");
        assert!(keyword("NumRow")(b"NumRows : 8").is_err());
    }

    #[test]
    fn lines_end_in_any_of_the_usual_ways() {
        assert_eq!(end_of_line(b" \r\nx").unwrap(), (&b"x"[..], &b""[..]));
        assert_eq!(end_of_line(b" # o1\nx").unwrap(), (&b"x"[..], &b""[..]));
        assert_eq!(end_of_line(b" R90 Y\nx").unwrap(), (&b"x"[..], &b"R90 Y"[..]));
        assert_eq!(end_of_line(b"").unwrap(), (&b""[..], &b""[..]));
        assert_eq!(next_line(b"\r\n # c\n\n#d\n\to1 2"), b"o1 2");
        assert_eq!(next_line(b"\n# c"), b"");
    }

    #[test]
    fn headers_come_in_any_order_or_not_at_all() {
        let text = b"\xef\xbb\xbf# c\r\nNumPins : 9\r\nUCLA nets 1.0\r\nNumNets:4\r\n\r\no1";
        let (counts, rest) = header(text, "nets", ["NumNets", "NumPins"]).unwrap();
        assert_eq!(counts.map(|c| c.unwrap().value), [4, 9]);
        assert_eq!(rest, b"o1");
        let (counts, rest) = header(b"o1 2 3", "nodes", ["NumNodes"]).unwrap();
        assert!(counts[0].is_none());
        assert_eq!(rest, b"o1 2 3");
        assert_eq!(header(b"UCLA pl 1.0\n", "nodes", []).unwrap_err().at, b"pl 1.0\n");
        assert_eq!(header(b"NumNodes : ten\n", "nodes", ["NumNodes"]).unwrap_err().at, b"ten\n");
    }
}
