//! The words, numbers and names of all text formats, as nom parsers over bytes, and a position in a
//! text for loops.
//!
//! Parsers do not track positions: an error has the remaining text, and lines are counted when the
//! message is made.

use super::error::{Miss, show};
use super::index::{FIRST, Key, WIDE, short};
use crate::design::Orientation;
use memchr::{memchr, memchr2, memchr2_iter};
use nom::IResult;

/// The result of a nom parser: the text behind, and the value read.
pub(crate) type Parsed<'a, T> = IResult<&'a [u8], T, Miss<'a>>;
/// The result of a parser that moves a [`Scanner`].
pub(crate) type Read<'a, T> = Result<T, Miss<'a>>;

/// Longest name that is taken for one.
const MAX_NAME: usize = 0xffff;

/// A blank within a line.
#[inline(always)]
pub(crate) fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// A blank or the end of the line.
#[inline(always)]
pub(crate) fn ends_word(b: u8) -> bool {
    b == b'\n' || is_blank(b)
}

/// Returns an error; never inlined, so that reading a line is short.
#[cold]
#[inline(never)]
pub(crate) fn fail<'a, T>(at: &'a [u8], what: &'static str) -> Parsed<'a, T> {
    Err(nom::Err::Error(Miss::expected(at, what)))
}

/// The special characters of a language. Its parsers skip blanks before each item.
pub(crate) trait Language: Copy {
    /// Whether a newline ends a statement: it is passed by [`next_line`] and [`end_of_line`] alone.
    /// Otherwise newlines and comments are blanks.
    const LINES: bool;
    /// A sign that stands by itself, without blanks around it.
    const SIGN: u8;
    /// The largest absolute value of a number.
    const LARGEST: f64;

    /// Passes blanks.
    #[inline(always)]
    fn skip(mut i: &[u8]) -> &[u8] {
        loop {
            i = match i {
                [b, rest @ ..] if is_blank(*b) || !Self::LINES && *b == b'\n' => rest,
                [b'#', ..] if !Self::LINES => &i[memchr(b'\n', i).unwrap_or(i.len())..],
                _ => return i,
            }
        }
    }

    /// Whether a number or a keyword ends before `b`.
    #[inline(always)]
    fn ends(b: u8) -> bool {
        b == Self::SIGN || ends_word(b)
    }

    /// Returns a parser of a run of bytes without blanks and signs: a number or a keyword.
    #[inline(always)]
    fn token<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, &'a [u8]> {
        #[inline(always)]
        move |i| {
            let i = Self::skip(i);
            match i.split_at(i.iter().position(|&b| Self::ends(b)).unwrap_or(i.len())) {
                ([], _) => fail(i, what),
                (token, rest) => Ok((rest, token)),
            }
        }
    }

    /// Returns a parser of a new name: UTF-8 without control characters.
    #[inline(always)]
    fn name<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, &'a str> {
        #[inline(always)]
        move |i| {
            let at = Self::skip(i);
            let (word, rest) = at.split_at(Self::word_length(at));
            match as_name(word) {
                Some(name) if Self::LINES || word != b";" => Ok((rest, name)),
                _ => fail(at, what),
            }
        }
    }

    /// Returns the number of bytes up to where a word ends: at a blank, in LEF at a sign too.
    #[inline(always)]
    fn word_length(i: &[u8]) -> usize {
        let length = word_length(i);
        if Self::LINES || Self::SIGN == b' ' || length < 2 {
            return length;
        }
        memchr(Self::SIGN, &i[..length]).map_or(length, |sign| sign.max(1))
    }

    /// Returns a parser of a number in decimal or scientific notation.
    #[inline(always)]
    fn number<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, f64> {
        #[inline(always)]
        move |i| {
            let at = Self::skip(i);
            match short_decimal::<Self>(at).or_else(|| long_decimal::<Self>(at)) {
                Some(number) => Ok(number),
                None => fail(at, what),
            }
        }
    }

    /// Returns a parser of a whole number of at least zero. It may end in a point and zeros.
    fn count<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, u64> {
        move |i| {
            let at = Self::skip(i);
            let (rest, token) = Self::token(what)(at)?;
            let point = memchr(b'.', token).unwrap_or(token.len());
            let (digits, fraction) = token.split_at(point);
            let is_whole = fraction.iter().skip(1).all(|&b| b == b'0');
            match std::str::from_utf8(digits).ok().filter(|_| is_whole).map(str::parse) {
                Some(Ok(value)) => Ok((rest, value)),
                _ => fail(at, what),
            }
        }
    }

    /// Returns the text behind the keyword `key`, in any mixture of cases and as a whole word, if
    /// it is here.
    #[inline(always)]
    fn behind_keyword<'a>(i: &'a [u8], key: &str) -> Option<&'a [u8]> {
        let i = Self::skip(i);
        // Most often the first letter decides.
        let first = key.as_bytes().first()?;
        if !i.first()?.eq_ignore_ascii_case(first) {
            return None;
        }
        let (word, rest) = i.split_at_checked(key.len())?;
        let whole = rest.first().is_none_or(|&b| Self::ends(b));
        (whole && word.eq_ignore_ascii_case(key.as_bytes())).then_some(rest)
    }

    /// Returns a parser of the keyword `key` as a whole word in any case. An error names `what` as
    /// expected.
    fn keyword<'a>(
        key: &'static str,
        what: &'static str,
    ) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> + Copy {
        move |i| match Self::behind_keyword(i, key) {
            Some(rest) => Ok((rest, ())),
            None => fail(Self::skip(i), what),
        }
    }

    /// Returns a parser of the sign of the language.
    #[inline(always)]
    fn sign<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> {
        #[inline(always)]
        move |i| match Self::skip(i) {
            [sign, rest @ ..] if *sign == Self::SIGN => Ok((rest, ())),
            i => fail(i, what),
        }
    }

    /// Returns a parser of one of the eight orientations.
    fn orientation<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, Orientation> {
        move |i| {
            let at = Self::skip(i);
            let (rest, token) = Self::token(what)(at)?;
            orientation(token).map_or_else(|| fail(at, what), |known| Ok((rest, known)))
        }
    }
}

/// Bookshelf, where a newline ends a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines;

impl Language for Lines {
    const LINES: bool = true;
    const SIGN: u8 = b':';
    const LARGEST: f64 = f64::MAX;
}

/// LEF, where `;` may follow a word without a blank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lef;

impl Language for Lef {
    const LINES: bool = false;
    const SIGN: u8 = b';';
    const LARGEST: f64 = 1e100;
}

/// DEF, where blanks are around every word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Def;

impl Language for Def {
    const LINES: bool = false;
    const SIGN: u8 = b' ';
    const LARGEST: f64 = 1e100;
}

/// Returns the text of a file without a byte order mark.
pub(crate) fn unmarked(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Returns 0x80 for each of eight bytes, the first in the lowest bits, that is below `limit`, which
/// is at most 128. Only the first of these marks is reliable; later ones may be wrong.
#[inline(always)]
fn below(bytes: u64, limit: u8) -> u64 {
    bytes.wrapping_sub(EACH * u64::from(limit)) & !bytes & (EACH << 7)
}

/// One in each byte.
const EACH: u64 = u64::MAX / 0xff;
const EACH_OF_16: u128 = u128::MAX / 0xff;

/// Returns the byte of the lowest mark; 8 if there is none.
#[inline(always)]
fn first_mark(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// Returns the first eight bytes of `i`, the first in the lowest bits.
#[inline(always)]
fn eight(i: &[u8]) -> Option<u64> {
    i.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Returns the number of bytes up to a blank or the end of the line.
///
/// Most words have up to eight bytes, but their length is nearly random. So eight bytes are tested
/// at once, without mispredicted branches.
#[inline(always)]
fn word_length(i: &[u8]) -> usize {
    let mut at = 0;
    while let Some(bytes) = eight(&i[at..]) {
        // Every byte that ends a word is below `!`.
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

/// Returns the number of bytes before the first one below `!`, or of all bytes, as [`word_length`]
/// does.
#[inline(always)]
fn short_length(bytes: &[u8; WIDE]) -> usize {
    let bytes = u128::from_le_bytes(*bytes);
    let marks = bytes.wrapping_sub(EACH_OF_16 * u128::from(b'!')) & !bytes & (EACH_OF_16 << 7);
    // Without a branch for which half it is in.
    let (low, high) = (marks as u64, (marks >> 64) as u64);
    let behind = if low == 0 { high.trailing_zeros() as usize } else { 0 };
    (low.trailing_zeros() as usize + behind) / 8
}

/// Returns a parser of a run of bytes without blanks.
#[inline(always)]
pub(crate) fn word<'a, L: Language>(
    what: &'static str,
) -> impl Fn(&'a [u8]) -> Parsed<'a, &'a [u8]> {
    #[inline(always)]
    move |i| {
        let i = L::skip(i);
        match i.split_at(L::word_length(i)) {
            ([], _) => fail(i, what),
            (word, rest) => Ok((rest, word)),
        }
    }
}

/// Returns the first word of `i`, or nothing when its line ends first.
pub(crate) fn first_word(i: &[u8]) -> &[u8] {
    let i = Lines::skip(i);
    &i[..word_length(i)]
}

/// Returns a word as a name: UTF-8 without control characters, and not too long.
#[inline(always)]
fn as_name(word: &[u8]) -> Option<&str> {
    if (1..=WIDE).contains(&word.len()) {
        // Blanks behind it.
        let bytes = short(word) | ((EACH_OF_16 * u128::from(b' ')) & !FIRST[word.len()]);
        let controls = bytes.wrapping_sub(EACH_OF_16 * u128::from(b' ')) & !bytes;
        // A byte from 0x7f on, or the byte behind one, has its highest bit set in one of the two.
        if (controls | bytes | bytes.wrapping_add(EACH_OF_16)) & EACH_OF_16 << 7 == 0 {
            // SAFETY: bytes below 0x80 are UTF-8.
            return Some(unsafe { std::str::from_utf8_unchecked(word) });
        }
    }
    let fits = (1..=MAX_NAME).contains(&word.len()) && !word.iter().any(u8::is_ascii_control);
    std::str::from_utf8(word).ok().filter(|_| fits)
}

/// Most digits that [`plain_decimal`] reads.
const MOST_DIGITS: usize = 15;

/// Powers of ten.
const POWERS: [f64; MOST_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Parses like [`plain_decimal`] a number of at most eight bytes, sign aside, with a byte behind it:
/// all at once and without a loop, for how long the next number is, is as good as random.
#[inline(always)]
fn short_decimal<L: Language>(i: &[u8]) -> Option<(&[u8], f64)> {
    let negative = i.first() == Some(&b'-');
    let text = &i[usize::from(negative)..];
    let bytes = eight(text)?;
    let values = bytes ^ (EACH * u64::from(b'0'));
    // 0x80 in each byte that is not from 0 to 9: 0x76 + 10 is 0x80, and 0x76 + 0x7f no carry.
    let marks = (((values & (EACH * 0x7f)) + EACH * 0x76) | values) & (EACH << 7);
    let point = first_mark(marks);
    let has_point = marks != 0 && text[point] == b'.';
    let marks = if has_point { marks & (marks - 1) } else { marks };
    let length = first_mark(marks);
    let digits = length - usize::from(has_point);
    if digits == 0 || !L::ends(*text.get(length)?) {
        return None;
    }
    // With the point removed, the digits go to the top; zeros are before them.
    let before = (1u64 << (8 * point % 64)) - 1;
    let joined = if has_point { values & before | values >> 8 & !before } else { values };
    let ones = joined << (8 * (8 - digits));
    // Pairs, fours and eights of digits, the first in the lowest bits.
    let pairs = ones.wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    let whole = fours.wrapping_mul(1 + (10_000 << 32)) >> 32;
    let value = whole as f64 / POWERS[if has_point { digits - point } else { 0 }];
    Some((&text[length..], if negative { -value } else { value }))
}

/// Reads a number of sign, digits and point, if it has at most [`MOST_DIGITS`] digits.
///
/// Such a number is a whole number below 2^53 over a power of ten below 10^22, both exact in `f64`,
/// so that their quotient is the correctly rounded value (W. D. Clinger, "How to read floating
/// point numbers accurately", PLDI 1990). The standard library does the same, after cutting out the
/// word and asking more questions.
fn plain_decimal<L: Language>(i: &[u8]) -> Option<(&[u8], f64)> {
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
            b if L::ends(b) => break,
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

/// Returns a number that [`short_decimal`] leaves.
#[inline(never)]
fn long_decimal<L: Language>(i: &[u8]) -> Option<(&[u8], f64)> {
    plain_decimal::<L>(i).or_else(|| {
        let (rest, digits) = L::token("")(i).ok()?;
        let number: f64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (number.abs() <= L::LARGEST).then_some((rest, number))
    })
}

/// Returns the orientation of this name, in LEF and DEF or in OpenAccess.
#[inline(always)]
pub(crate) fn orientation(word: &[u8]) -> Option<Orientation> {
    use Orientation::*;
    let mut name = [0; 5];
    let name = name.get_mut(..word.len())?;
    name.copy_from_slice(word);
    name.make_ascii_uppercase();
    Some(match &*name {
        b"N" | b"R0" => N,
        b"S" | b"R180" => S,
        b"E" | b"R270" => E,
        b"W" | b"R90" => W,
        b"FN" | b"MY" => FN,
        b"FS" | b"MX" => FS,
        b"FE" | b"MYR90" | b"MY90" => FE,
        b"FW" | b"MXR90" | b"MX90" => FW,
        _ => return None,
    })
}

/// Reads a quoted text, if one is here, without its quotes.
pub(crate) fn quoted<L: Language>(i: &[u8]) -> Parsed<'_, Option<&[u8]>> {
    let [b'"', text @ ..] = L::skip(i) else { return Ok((i, None)) };
    match memchr(b'"', text) {
        Some(end) => Ok((&text[end + 1..], Some(&text[..end]))),
        None => fail(L::skip(i), "a closing `\"`"),
    }
}

/// Reads the next word of a statement; there must be one. A quoted text is an empty word.
pub(crate) fn passed<L: Language>(i: &[u8]) -> Parsed<'_, &[u8]> {
    match quoted::<L>(i)? {
        (rest, Some(text)) => Ok((rest, &text[..0])),
        _ => word::<L>("`;` at the end of a statement")(i),
    }
}

/// Returns the rest of the line and its end. Returns the text passed, without blanks and comment.
#[inline(always)]
pub(crate) fn end_of_line(i: &[u8]) -> Parsed<'_, &[u8]> {
    match Lines::skip(i) {
        [b'\n', rest @ ..] => Ok((rest, &[])),
        i => Ok(odd_end_of_line(i)),
    }
}

/// Returns a parser of the end of a line, before which only blanks and a comment may be.
#[inline(always)]
pub(crate) fn line_end<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> {
    #[inline(always)]
    move |i| match end_of_line(i)? {
        (rest, []) => Ok((rest, ())),
        (_, at) => fail(at, what),
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
pub(crate) fn skip_line(i: &[u8]) -> &[u8] {
    match i {
        [b'\n', rest @ ..] => rest,
        // Also at the text's end: errors need its position in it.
        _ => memchr(b'\n', i).map_or(&i[i.len()..], |end| &i[end + 1..]),
    }
}

/// Passes empty lines and comments: the text from the next line's first word, or nothing.
#[inline(always)]
pub(crate) fn next_line(mut i: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = i {
        i = match first {
            b'#' => skip_line(rest),
            b if ends_word(*b) => rest,
            _ => break,
        };
    }
    i
}

/// A position in a text of DEF.
///
/// A `#` that begins a word begins a comment, to the end of its line, and a `"` that begins a word
/// a text that may hold blanks, to the next `"`. Which words are keywords depends on their
/// position, so that a pin may be called `END`.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    /// The text not read yet.
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// At the beginning of `text`.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Scanner { rest: text }
    }

    /// Returns the text not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Goes back to `at`, which [`Scanner::peek`] gave.
    pub(crate) fn back_to(&mut self, at: &'a [u8]) {
        self.rest = at;
    }

    /// Reads by a nom parser.
    #[inline(always)]
    fn read<T>(&mut self, parser: impl Fn(&'a [u8]) -> Parsed<'a, T>) -> Read<'a, T> {
        let (rest, value) = parser(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    /// Passes blanks and comments: the text from the next word, or nothing.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> &'a [u8] {
        self.rest = Def::skip(self.rest);
        self.rest
    }

    /// Returns the next word, which is empty at the end of the text.
    #[inline(always)]
    pub(crate) fn word(&mut self) -> &'a [u8] {
        let from = self.peek();
        let (word, rest) = from.split_at(Def::word_length(from));
        self.rest = rest;
        word
    }

    /// Returns the next word; there must be one.
    #[inline(always)]
    pub(crate) fn some_word(&mut self, what: &'static str) -> Read<'a, &'a [u8]> {
        self.read(word::<Def>(what))
    }

    /// Passes `( name name )` if it is here, one blank between words that are no longer than most,
    /// and returns the names. Otherwise nothing is passed.
    #[inline(always)]
    pub(crate) fn pair(&mut self) -> Option<[Key<'a>; 2]> {
        /// The longest name of a pair, one byte less than one read.
        const LONGEST: usize = WIDE - 1;
        let text: &'a [u8; 2 * WIDE + 6] = self.rest.first_chunk()?;
        let name = |from: usize| {
            let rest = &text[from..];
            let bytes = rest.first_chunk()?;
            let length = short_length(bytes);
            let fits = (1..=LONGEST).contains(&length) && bytes[0] != b'#';
            (fits && rest[length] == b' ').then(|| Key::at(rest, length, bytes))
        };
        if text[..2] != *b"( " {
            return None;
        }
        let first = name(2)?;
        let second = name(3 + first.name.len())?;
        let end = 3 + first.name.len() + second.name.len();
        if text[end + 1] != b')' || !ends_word(text[end + 2]) {
            return None;
        }
        self.rest = &self.rest[end + 2..];
        Some([first, second])
    }

    /// Whether the next word is this one, and passes it then.
    #[inline(always)]
    pub(crate) fn passes(&mut self, word: &[u8]) -> bool {
        let mut ahead = *self;
        let same = ahead.word() == word;
        if same {
            *self = ahead;
        }
        same
    }

    /// Passes this word.
    #[inline(always)]
    pub(crate) fn expect(&mut self, word: &'static str) -> Read<'a, ()> {
        let at = self.peek();
        if self.word() == word.as_bytes() { Ok(()) } else { Err(missing(at, word)) }
    }

    /// Reads a name: UTF-8 without control characters.
    #[inline(always)]
    pub(crate) fn name(&mut self, what: &'static str) -> Read<'a, &'a str> {
        self.read(Def::name(what))
    }

    /// Reads a number.
    #[inline(always)]
    pub(crate) fn number(&mut self, what: &'static str) -> Read<'a, f64> {
        self.read(Def::number(what))
    }

    /// Reads a whole number of at least zero.
    pub(crate) fn count(&mut self, what: &'static str) -> Read<'a, u64> {
        self.read(Def::count(what))
    }

    /// `( x y )`.
    #[inline]
    pub(crate) fn point(&mut self) -> Read<'a, (f64, f64)> {
        self.expect("(")?;
        let point = (self.number("an x coordinate")?, self.number("a y coordinate")?);
        self.expect(")")?;
        Ok(point)
    }

    /// Repeated points `( x y )`, in which `*` is the coordinate of the previous point. Further
    /// words of a point are skipped.
    pub(crate) fn points(&mut self) -> Read<'a, Vec<(f64, f64)>> {
        let mut points = Vec::new();
        while self.passes(b"(") {
            let before = points.last().copied();
            let mut coordinate = |of: fn((f64, f64)) -> f64, what| match before {
                Some(before) if self.passes(b"*") => Ok(of(before)),
                _ => self.number(what),
            };
            points.push((
                coordinate(|p| p.0, "an x coordinate")?,
                coordinate(|p| p.1, "a y coordinate")?,
            ));
            self.expect(")")?;
        }
        Ok(points)
    }

    /// Reads one of the eight orientations, `N` to `FW` or `R0` to `MXR90`.
    #[inline]
    pub(crate) fn orientation(&mut self) -> Read<'a, Orientation> {
        self.read(Def::orientation("an orientation: N S E W FN FS FE FW"))
    }

    /// Passes the rest of a statement and its `;`.
    pub(crate) fn end_statement(&mut self) -> Read<'a, ()> {
        while self.option()?.is_some() {}
        Ok(())
    }

    /// Passes words up to the next `+` that begins an option of this statement and returns the text
    /// after it, or passes the statement's `;` and returns nothing.
    #[inline(always)]
    pub(crate) fn option(&mut self) -> Read<'a, Option<&'a [u8]>> {
        // Most often there is nothing to be passed.
        if let [mark @ (b'+' | b';'), blank, ..] = self.peek()
            && ends_word(*blank)
        {
            self.rest = &self.rest[1..];
            return Ok((*mark == b'+').then(|| self.word()));
        }
        self.far_option()
    }

    /// Returns [`Scanner::option`] behind other words.
    fn far_option(&mut self) -> Read<'a, Option<&'a [u8]>> {
        let alone = |at: &usize| {
            let before = *at == 0 || ends_word(self.rest[at - 1]);
            before && self.rest.get(at + 1).is_none_or(|&b| ends_word(b))
        };
        let end = memchr2_iter(b'+', b';', self.rest).find(alone);
        let (passed, behind) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        match behind {
            // A comment or a quoted text may hold it.
            [mark, behind @ ..] if memchr2(b'#', b'"', passed).is_none() => {
                self.rest = behind;
                Ok((*mark == b'+').then(|| self.word()))
            }
            _ => self.any_option(),
        }
    }

    #[inline(never)]
    fn any_option(&mut self) -> Read<'a, Option<&'a [u8]>> {
        loop {
            match self.passed()? {
                b"+" => return Ok(Some(self.word())),
                b";" => return Ok(None),
                _ => {}
            }
        }
    }

    /// Reads the next word; there must be one. A quoted text is an empty word.
    pub(crate) fn passed(&mut self) -> Read<'a, &'a [u8]> {
        self.read(passed::<Def>)
    }
}

/// That `word` is expected, as messages quote words.
#[cold]
#[inline(never)]
fn missing<'a>(at: &'a [u8], word: &'static str) -> Miss<'a> {
    Miss::expected(at, format!("`{}`", show(word.as_bytes())))
}

#[cfg(test)]
mod tests;
