//! Words of LEF and DEF: runs of bytes without blanks, wherever lines end.
//!
//! A `#` that begins a word begins a comment, to the end of its line, and a `"` that begins a word
//! a text that may hold blanks, to the next `"`. Which words are keywords depends on their
//! position, so that a pin may be called `END`.

use crate::design::Orientation;
use crate::text::error::Miss;
use crate::text::index::{Key, SHORT, short};
use crate::text::words::show;
use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// Longest name that is taken for one.
const MAX_NAME: usize = 0xffff;

/// A position in a DEF file's text.
pub(super) type Def<'a> = Lexer<'a, false>;
/// A position in a LEF file's text, in which `;` may follow a word without a blank.
pub(super) type Lef<'a> = Lexer<'a, true>;

/// A position in a text.
#[derive(Clone, Copy)]
pub(super) struct Lexer<'a, const LEF: bool> {
    /// The text not read yet.
    rest: &'a [u8],
    /// No comment and no quoted text is in what is read.
    plain: bool,
}

pub(super) type Read<'a, T> = Result<T, Miss<'a>>;

/// One in each byte.
const EACH: u64 = u64::MAX / 0xff;

/// Returns the number of bytes up to a blank, which is any byte up to `b' '`.
///
/// Most words are short, but their length varies like a random number: eight bytes are examined at
/// a time, so that no branch is mispredicted for it.
#[inline(always)]
fn word_length(i: &[u8]) -> usize {
    let mut at = 0;
    while let Some(bytes) = i[at..].first_chunk() {
        let bytes = u64::from_le_bytes(*bytes);
        // 0x80 in each byte below `!`; only the first of these marks is to be relied on.
        let marks = bytes.wrapping_sub(EACH * u64::from(b'!')) & !bytes & (EACH << 7);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + i[at..].iter().position(|&b| b <= b' ').unwrap_or(i.len() - at)
}

/// Returns the number of bytes up to a blank, all where none is: those of [`word_length`], of so
/// many.
#[inline(always)]
fn short_length(bytes: &[u8; SHORT]) -> usize {
    let bytes = u128::from_le_bytes(*bytes);
    let each = u128::MAX / 0xff;
    let marks = bytes.wrapping_sub(each * u128::from(b'!')) & !bytes & (each << 7);
    // Without a branch for which half it is in.
    let (low, high) = (marks as u64, (marks >> 64) as u64);
    let behind = if low == 0 { high.trailing_zeros() as usize } else { 0 };
    (low.trailing_zeros() as usize + behind) / 8
}

impl<'a, const LEF: bool> Lexer<'a, LEF> {
    /// At the beginning of `text`.
    pub(super) fn new(text: &'a [u8]) -> Self {
        Lexer { rest: text, plain: memchr2(b'#', b'"', text).is_none() }
    }

    /// Returns the text not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Goes back to `at`, which [`Lexer::peek`] gave.
    pub(super) fn back_to(&mut self, at: &'a [u8]) {
        self.rest = at;
    }

    /// Passes blanks and comments: the text from the next word, or nothing.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> &'a [u8] {
        loop {
            match self.rest {
                [first, rest @ ..] if *first <= b' ' => self.rest = rest,
                [b'#', ..] => {
                    let end = memchr(b'\n', self.rest).unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                _ => return self.rest,
            }
        }
    }

    /// Returns the next word, which is empty at the end of the text.
    #[inline(always)]
    pub(super) fn word(&mut self) -> &'a [u8] {
        let from = self.peek();
        let mut length = word_length(from);
        if LEF && length > 1 && from[length - 1] == b';' {
            length -= 1;
        }
        let (word, rest) = from.split_at(length);
        self.rest = rest;
        word
    }

    /// Passes `( name name )` if it is here, one blank between words that are no longer than most,
    /// and returns the names. Otherwise nothing is passed.
    #[inline(always)]
    pub(super) fn pair(&mut self) -> Option<[Key<'a>; 2]> {
        /// The longest name of a pair, one less than what is looked at at once.
        const LONGEST: usize = SHORT - 1;
        let text: &'a [u8; 2 * SHORT + 6] = self.rest.first_chunk()?;
        let name = |from: usize| {
            let rest = &text[from..];
            let bytes = rest.first_chunk()?;
            let length = short_length(bytes);
            let fits = (1..=LONGEST).contains(&length) && bytes[0] != b'#';
            fits.then(|| Key::at(rest, length, bytes))
        };
        if text[..2] != *b"( " {
            return None;
        }
        let first = name(2)?;
        let second = name(3 + first.name.len())?;
        let end = 3 + first.name.len() + second.name.len();
        if text[end + 1] != b')' || text[end + 2] > b' ' {
            return None;
        }
        self.rest = &self.rest[end + 2..];
        Some([first, second])
    }

    /// Returns the next word without passing it.
    pub(super) fn word_ahead(&self) -> &'a [u8] {
        let mut ahead = *self;
        ahead.word()
    }

    /// Whether the next word is this one, and passes it then.
    #[inline(always)]
    pub(super) fn passes(&mut self, word: &[u8]) -> bool {
        let mut ahead = *self;
        let same = ahead.word() == word;
        if same {
            *self = ahead;
        }
        same
    }

    /// Passes this word.
    #[inline(always)]
    pub(super) fn expect(&mut self, word: &'static str) -> Read<'a, ()> {
        let at = self.peek();
        if self.word() == word.as_bytes() { Ok(()) } else { Err(quoted(at, word)) }
    }

    /// Reads a name: UTF-8 without control characters.
    #[inline(always)]
    pub(super) fn name(&mut self, what: &'static str) -> Read<'a, &'a str> {
        let at = self.peek();
        let word = self.word();
        let each = u128::MAX / 0xff;
        if (1..=SHORT).contains(&word.len()) && word != b";" {
            let bytes = short(word);
            // A byte from 0x7f on, or the byte behind one, has its highest bit set in one of the
            // two.
            if (bytes | bytes.wrapping_add(each)) & each << 7 == 0 {
                // SAFETY: bytes below 0x80 are UTF-8.
                return Ok(unsafe { std::str::from_utf8_unchecked(word) });
            }
        }
        match std::str::from_utf8(word) {
            Ok(name)
                if (1..=MAX_NAME).contains(&word.len())
                    && word != b";"
                    && !word.contains(&0x7f) =>
            {
                Ok(name)
            }
            _ => Err(Miss::expected(at, what)),
        }
    }

    /// Reads a finite number.
    #[inline]
    pub(super) fn number(&mut self, what: &'static str) -> Read<'a, f64> {
        let at = self.peek();
        let word = self.word();
        match whole(word).or_else(|| decimal(word)) {
            Some(number) => Ok(number),
            None => Err(Miss::expected(at, what)),
        }
    }

    /// Reads a finite number, as millionths rounded to whole ones.
    #[inline]
    pub(super) fn millionths(&mut self, what: &'static str) -> Read<'a, f64> {
        let at = self.peek();
        let word = self.word();
        let any = || decimal(word).map(|number| (number * 1e6).round());
        match short_millionths(word).or_else(any) {
            Some(number) => Ok(number),
            None => Err(Miss::expected(at, what)),
        }
    }

    /// Reads a whole number of at least zero.
    pub(super) fn count(&mut self, what: &'static str) -> Read<'a, u64> {
        let at = self.peek();
        let word = self.word();
        let count = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        count.ok_or_else(|| Miss::expected(at, what))
    }

    /// `( x y )`.
    #[inline]
    pub(super) fn point(&mut self) -> Read<'a, (f64, f64)> {
        self.expect("(")?;
        let point = (self.number("an x coordinate")?, self.number("a y coordinate")?);
        self.expect(")")?;
        Ok(point)
    }

    /// `( x y )` as often as it is repeated here, where `*` is the coordinate of the point before;
    /// anything behind the two is passed over.
    pub(super) fn points(&mut self) -> Read<'a, Vec<(f64, f64)>> {
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
    pub(super) fn orientation(&mut self) -> Read<'a, Orientation> {
        let at = self.peek();
        let word = self.word();
        orientation(word).ok_or_else(|| Miss::expected(at, "an orientation: N S E W FN FS FE FW"))
    }

    /// Passes the rest of a statement and its `;`.
    pub(super) fn end_statement(&mut self) -> Read<'a, ()> {
        while self.option()?.is_some() {}
        Ok(())
    }

    /// Passes words up to the next `+` that begins an option of this statement and returns the text
    /// after it, or passes the statement's `;` and returns nothing.
    #[inline(always)]
    pub(super) fn option(&mut self) -> Read<'a, Option<&'a [u8]>> {
        // Most often there is nothing to be passed.
        if let [mark @ (b'+' | b';'), blank, ..] = self.peek()
            && *blank <= b' '
        {
            self.rest = &self.rest[1..];
            return Ok((*mark == b'+').then(|| self.word()));
        }
        if self.plain { self.plain_option() } else { self.any_option() }
    }

    fn plain_option(&mut self) -> Read<'a, Option<&'a [u8]>> {
        let alone = |rest: &[u8], at: usize| {
            let blank = |b: Option<&u8>| b.is_none_or(|&b| b <= b' ');
            let before = at == 0 || rest[at - 1] <= b' ' || LEF && rest[at] == b';';
            before && blank(rest.get(at + 1))
        };
        let mut at = 0;
        while let Some(found) = memchr2(b'+', b';', &self.rest[at..]) {
            at += found;
            // The text passed may end without a blank.
            if alone(self.rest, at) {
                let mark = self.rest[at];
                self.rest = &self.rest[at + 1..];
                return Ok((mark == b'+').then(|| self.word()));
            }
            at += 1;
        }
        self.rest = &self.rest[self.rest.len()..];
        Err(self.no_end())
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

    /// Reads a quoted text, if the next word is one, without its quotes.
    pub(super) fn quoted(&mut self) -> Read<'a, Option<&'a [u8]>> {
        if self.peek().first() != Some(&b'"') {
            return Ok(None);
        }
        let text = &self.rest[1..];
        let end = memchr(b'"', text).ok_or_else(|| Miss::expected(self.rest, "a closing `\"`"))?;
        self.rest = &text[end + 1..];
        Ok(Some(&text[..end]))
    }

    /// Reads the next word; there must be one. A quoted text is an empty word.
    pub(super) fn passed(&mut self) -> Read<'a, &'a [u8]> {
        if let Some(text) = self.quoted()? {
            return Ok(&text[..0]);
        }
        match self.word() {
            [] => Err(self.no_end()),
            word => Ok(word),
        }
    }

    #[cold]
    fn no_end(&self) -> Miss<'a> {
        Miss::expected(self.rest, "`;` at the end of a statement")
    }
}

/// That `word` is expected, as messages quote words.
#[cold]
#[inline(never)]
fn quoted<'a>(at: &'a [u8], word: &'static str) -> Miss<'a> {
    let expected: Cow<'static, str> = format!("`{}`", show(word.as_bytes())).into();
    Miss::expected(at, expected)
}

/// Returns a whole number of up to 15 digits, which `f64` holds exactly.
#[inline(always)]
fn whole(word: &[u8]) -> Option<f64> {
    let (negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, word),
    };
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    let mut value = 0;
    for &b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = 10 * value + i64::from(digit);
    }
    Some(if negative { -value } else { value } as f64)
}

/// Returns the millionths in a number with at most six digits behind the point and nine before it.
#[inline(always)]
fn short_millionths(word: &[u8]) -> Option<f64> {
    let (negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, word),
    };
    let (mut value, mut behind, mut any) = (0i64, None, false);
    if digits.len() > 10 {
        return None;
    }
    for &b in digits {
        match (b.wrapping_sub(b'0'), behind) {
            (digit @ 0..=9, _) => {
                value = 10 * value + i64::from(digit);
                behind = behind.map(|count: usize| count + 1);
                any = true;
            }
            (_, None) if b == b'.' => behind = Some(0),
            _ => return None,
        }
    }
    const SCALE: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    let value = value * SCALE.get(behind.unwrap_or(0)).filter(|_| any)?;
    Some(if negative { -value } else { value } as f64)
}

/// Any other number.
#[inline(never)]
fn decimal(word: &[u8]) -> Option<f64> {
    // `inf` and `nan` are numbers for the standard library.
    let begins = word.iter().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let number: f64 = std::str::from_utf8(word).ok().filter(|_| begins)?.parse().ok()?;
    (number.abs() <= 1e100).then_some(number)
}

/// Returns the orientation of this name, in LEF and DEF or in OpenAccess.
#[inline(always)]
pub(super) fn orientation(word: &[u8]) -> Option<Orientation> {
    use Orientation::*;
    Some(match word {
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

/// Returns the first word of `text`, which begins with one.
pub(super) fn first(text: &[u8]) -> &[u8] {
    &text[..word_length(text)]
}
