//! The head of a Bookshelf file, with its counts, and numbers that have a range.

use crate::text::error::{ErrorKind, Fault, Miss, Reason, offset};
use crate::text::file::Source;
use crate::text::notes::Notes;
use crate::text::scan::{
    self, Language, Lines, Parsed, Read, fail, first_word, next_line, skip_line,
};
use nom::Parser;
use nom::combinator::opt;
use std::collections::HashMap;

/// The largest size, for areas and sums of them to be finite.
const LARGEST: f64 = 1e100;

/// Returns a parser of a number of at least zero and at most [`LARGEST`].
#[inline(always)]
pub(super) fn size<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, f64> {
    number_that(what, |value| (0.0..=LARGEST).contains(&value))
}

/// Returns a parser of a number for which `fits` holds.
#[inline(always)]
pub(super) fn number_that<'a>(
    what: &'static str,
    fits: impl Fn(f64) -> bool,
) -> impl Fn(&'a [u8]) -> Parsed<'a, f64> {
    #[inline(always)]
    move |i| {
        let at = Lines::skip(i);
        match Lines::number(what)(at)? {
            (rest, value) if fits(value) => Ok((rest, value)),
            _ => fail(at, what),
        }
    }
}

/// Returns the text of a file from its first line that is neither empty nor a comment.
pub(super) fn first_line(text: &[u8]) -> &[u8] {
    next_line(scan::unmarked(text))
}

/// Names the first node, from the offset `start` on, whose name begins a line for the second time.
#[cold]
pub(super) fn repeated(source: Source<'_>, start: usize) -> Fault {
    let text = match source.bytes(0..source.len()) {
        Ok(text) => text,
        Err(error) => return error.into(),
    };
    let (mut i, mut seen) = (next_line(&text[start..]), HashMap::new());
    while !i.is_empty() {
        let at = offset(&text, i);
        if let Some(first) = seen.insert(first_word(i), at) {
            return Fault { at, reason: Reason::Duplicate { first } };
        }
        i = next_line(skip_line(i));
    }
    Fault::expected(text.len(), "each node once")
}

/// A count that a header states, and its offset in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) value: u64,
    at: usize,
}

impl Count {
    /// Fails when the header counts more than any of `found`, for then the file is not whole; notes
    /// when it counts fewer, as files of a contest do.
    pub(super) fn check(
        count: Option<Self>,
        what: &'static str,
        found: &[usize],
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        let Some(Count { value, at }) = count else { return Ok(()) };
        let most = found.iter().max().map_or(0, |&n| n as u64);
        if value > most {
            let kind = ErrorKind::Count { what, header: value, found: most };
            return Err(Fault { at, reason: Reason::Known(kind) });
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
/// Gives the counts in the order of `keys`, and the offset of the first line that is neither.
pub(super) fn read<const N: usize>(
    source: Source<'_>,
    kind: &'static str,
    keys: [&'static str; N],
) -> Result<([Option<Count>; N], usize), Fault> {
    source.head(|text| header(text, kind, keys).map(|(counts, rest)| (counts, rest.len())))
}

/// Reads a head without counts. Returns whether nothing is in the file, and the offset of the first
/// line behind the head.
pub(super) fn head(source: Source<'_>, kind: &'static str) -> Result<(bool, usize), Fault> {
    source.head(|text| {
        let ([], rest) = header(text, kind, [])?;
        Ok((first_line(text).is_empty(), rest.len()))
    })
}

/// Reads the head of a text; gives the text behind as well.
pub(super) fn header<'a, const N: usize>(
    text: &'a [u8],
    kind: &'static str,
    keys: [&'static str; N],
) -> Read<'a, ([Option<Count>; N], &'a [u8])> {
    let mut counts = [None; N];
    let mut i = first_line(text);
    'lines: while !i.is_empty() {
        if let Some(rest) = Lines::behind_keyword(i, "UCLA") {
            let Some(rest) = Lines::behind_keyword(rest, kind) else {
                return Err(Miss::expected(Lines::skip(rest), format!("a `{kind}` file")));
            };
            i = next_line(skip_line(rest));
            continue;
        }
        for (key, slot) in keys.into_iter().zip(&mut counts) {
            if let Some(rest) = Lines::behind_keyword(i, key) {
                let (rest, _) = opt(Lines::sign("`:`")).parse(rest)?;
                let at = Lines::skip(rest);
                let (rest, value) = Lines::count("a count")(at)?;
                *slot = Some(Count { value, at: offset(text, at) });
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

    #[test]
    fn sizes_are_not_negative() {
        assert!(size("")(b"-1").is_err() && size("")(b"0").is_ok() && size("")(b"1e101").is_err());
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
