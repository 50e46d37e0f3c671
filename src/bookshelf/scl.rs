//! `.scl`: rows of placement sites.
//!
//! `CoreRow Horizontal`, then `Key : value` in any order and with any line breaks, then `End`. Each
//! pair of `SubrowOrigin` and `NumSites`, in either order, is one [`Row`] of the design.

use super::header::{Count, header, number_that};
use crate::design::{Orientation, Row, Symmetry};
use crate::text::error::{Fault, FileError, Miss};
use crate::text::file::Source;
use crate::text::notes::{Contents, Notes};
use crate::text::scan::{Language, Lines, Parsed, Read, next_line, skip_line};
use crate::warning::WarningCode;
use nom::Parser;
use nom::branch::alt;
use nom::combinator::cut;
use nom::multi::many_till;
use nom::sequence::preceded;
use std::path::Path;

/// Reads a `.scl` file's text: one row for each subrow, in file order. `path` is for messages.
///
/// # Errors
/// When there is no row, at a row that is not whole, and when the header
/// counts more rows than there are.
pub fn parse_scl(text: &[u8], path: &Path) -> Result<Contents<Vec<Row>>, FileError> {
    let source = Source::Held(text);
    Contents::of(source, path, parse(source))
}

/// Reads a .scl file as [`parse_scl`] does.
pub(super) fn parse(source: Source<'_>) -> Result<(Vec<Row>, Notes), Fault> {
    let text = source.bytes(0..source.len())?;
    let (mut rows, core_rows, stated) = all_rows(&text).map_err(|miss| miss.within(&text, 0))?;
    let mut notes = Notes::default();
    Count::check(stated, "rows", &[core_rows], &mut notes)?;
    let all = rows.len();
    rows.retain(|row| row.sites > 0);
    notes.count(
        WarningCode::RowsLeftOut,
        (all - rows.len()) as u64,
        "subrows have no sites and are left out",
    );
    if rows.is_empty() {
        return Err(Fault::expected(source.len(), "a subrow with sites"));
    }
    Ok((rows, notes))
}

/// Returns all rows, the number of `CoreRow`s, and the count of the head.
fn all_rows(text: &[u8]) -> Read<'_, (Vec<Row>, usize, Option<Count>)> {
    let ([stated], mut i) = header(text, "scl", ["NumRows"])?;
    let (mut rows, mut core_rows) = (Vec::new(), 0);
    while core_rows == 0 || !i.is_empty() {
        let (rest, more) = core_row(i)?;
        rows.extend(more);
        core_rows += 1;
        i = next_line(rest);
    }
    Ok((rows, core_rows, stated))
}

/// `CoreRow Horizontal {entry} End`
fn core_row(i: &[u8]) -> Parsed<'_, Vec<Row>> {
    let head =
        (Lines::keyword("CoreRow", "`CoreRow`"), Lines::keyword("Horizontal", "`Horizontal`"));
    let end = Lines::keyword("End", ENTRY);
    let (rest, (entries, (end, ()))) =
        preceded(head, many_till(on_any_line(entry), on_any_line(end))).parse(i)?;
    Ok((rest, rows_of(entries, end).map_err(nom::Err::Failure)?))
}

/// One `Key : value` of a row.
enum Entry {
    Y(f64),
    Height(f64),
    SiteWidth(f64),
    Pitch(f64),
    Orientation(Orientation),
    Symmetry(Symmetry),
    Origin(f64),
    Sites(u64),
}

const ENTRY: &str = "a key of a row or `End`";

fn entry(i: &[u8]) -> Parsed<'_, Entry> {
    // A symmetry may be several words or none; older suites write numbers.
    alt((
        value("Coordinate", Lines::number("a y coordinate")).map(Entry::Y),
        value("Height", positive("a height above 0")).map(Entry::Height),
        value("Sitewidth", positive("a site width above 0")).map(Entry::SiteWidth),
        value("Sitespacing", positive("a site spacing above 0")).map(Entry::Pitch),
        value("Siteorient", line).map(|words| Entry::Orientation(site_orientation(&words))),
        value("Sitesymmetry", line).map(|words| Entry::Symmetry(site_symmetry(&words))),
        value("SubrowOrigin", Lines::number("an x coordinate")).map(Entry::Origin),
        value("NumSites", Lines::count("a number of sites")).map(Entry::Sites),
    ))
    .parse(i)
}

/// Returns a parser of `key : value`.
fn value<'a, T>(
    key: &'static str,
    value: impl Parser<&'a [u8], Output = T, Error = Miss<'a>>,
) -> impl Parser<&'a [u8], Output = T, Error = Miss<'a>> {
    preceded(Lines::keyword(key, ENTRY), cut(preceded(Lines::sign("`:`"), value)))
}

/// Returns a parser that skips empty lines and then reads. It also returns the position in the
/// file.
fn on_any_line<'a, T>(
    mut of: impl Parser<&'a [u8], Output = T, Error = Miss<'a>>,
) -> impl Parser<&'a [u8], Output = (&'a [u8], T), Error = Miss<'a>> {
    move |i| {
        let at = next_line(i);
        of.parse(at).map(|(rest, value)| (rest, (at, value)))
    }
}

/// Returns the words up to the end of the line or a comment.
fn line(i: &[u8]) -> Parsed<'_, String> {
    let rest = skip_line(i);
    let words = String::from_utf8_lossy(&i[..i.len() - rest.len()]);
    Ok((rest, words.split('#').next().unwrap_or_default().to_owned()))
}

/// Returns one row for each subrow of these entries, which are at their places and end at `end`.
fn rows_of<'a>(entries: Vec<(&'a [u8], Entry)>, end: &'a [u8]) -> Read<'a, Vec<Row>> {
    let (mut y, mut height, mut site_width, mut pitch) = (None, None, None, None);
    let (mut orientation, mut symmetry) = Default::default();
    // A half of a pair whose other half is still to come, and all pairs.
    let (mut origin, mut sites, mut subrows) = (None, None, Vec::new());
    for (at, entry) in entries {
        match entry {
            Entry::Y(value) => y = Some(value),
            Entry::Height(value) => height = Some(value),
            Entry::SiteWidth(value) => site_width = Some(value),
            Entry::Pitch(value) => pitch = Some(value),
            Entry::Orientation(value) => orientation = value,
            Entry::Symmetry(value) => symmetry = value,
            Entry::Origin(value) => {
                if origin.replace(value).is_some() {
                    return Err(Miss::expected(at, "`NumSites` of the subrow before"));
                }
            }
            Entry::Sites(value) => {
                if sites.replace(value).is_some() {
                    return Err(Miss::expected(at, "`SubrowOrigin` of the subrow before"));
                }
            }
        }
        if let (Some(x), Some(count)) = (origin, sites) {
            subrows.push((x, count));
            (origin, sites) = (None, None);
        }
    }
    let missing = |what: &'static str| Miss::expected(end, what);
    let y = y.ok_or_else(|| missing("`Coordinate` of the row"))?;
    let height = height.ok_or_else(|| missing("`Height` of the row"))?;
    let pitch =
        pitch.or(site_width).ok_or_else(|| missing("`Sitewidth` or `Sitespacing` of the row"))?;
    let site_width = site_width.unwrap_or(pitch);
    match (origin, sites, subrows.as_slice()) {
        (None, None, []) => return Err(missing("`SubrowOrigin` and `NumSites` of the row")),
        (Some(_), _, _) => return Err(missing("`NumSites` of the subrow")),
        (_, Some(_), _) => return Err(missing("`SubrowOrigin` of the subrow")),
        _ => {}
    }
    let row = Row { y, height, site_width, pitch, orientation, symmetry, ..Row::default() };
    Ok(subrows.into_iter().map(|(x, sites)| Row { x, sites, ..row }).collect())
}

/// Returns the orientation after `Siteorient :`. Older suites write a number, which always means
/// `N`.
fn site_orientation(words: &str) -> Orientation {
    let word = words.trim();
    let known = Orientation::ALL.into_iter().find(|o| word.eq_ignore_ascii_case(o.name()));
    known.unwrap_or_default()
}

/// Returns the symmetry after `Sitesymmetry :`. A number other than 0 and nothing at all mean the
/// default.
fn site_symmetry(words: &str) -> Symmetry {
    let mut named = Symmetry { x: false, y: false, r90: false };
    let mut any = false;
    for word in words.split([' ', '\t', '\r', '\n', ',']).filter(|w| !w.is_empty()) {
        any = true;
        match word.to_ascii_uppercase().as_str() {
            "X" => named.x = true,
            "Y" => named.y = true,
            "XY" => (named.x, named.y) = (true, true),
            "R90" => named.r90 = true,
            "0" | "N" | "NONE" => {}
            _ => return Symmetry::default(),
        }
    }
    if any { named } else { Symmetry::default() }
}

fn positive<'a>(what: &'static str) -> impl Fn(&'a [u8]) -> Parsed<'a, f64> {
    number_that(what, |value| value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_orientations_and_symmetries_are_read() {
        for (words, want) in
            [("1", Orientation::N), (" fs\r\n", Orientation::FS), ("", Orientation::N)]
        {
            assert_eq!(site_orientation(words), want, "{words:?}");
        }
        let of = |x, y, r90| Symmetry { x, y, r90 };
        for (words, want) in [
            ("1", Symmetry::default()),
            ("", of(false, true, false)),
            (" X Y\n", of(true, true, false)),
            ("y R90", of(false, true, true)),
            ("0", of(false, false, false)),
            ("X", of(true, false, false)),
        ] {
            assert_eq!(site_symmetry(words), want, "{words:?}");
        }
    }
}
