//! `.scl`: rows of placement sites.
//!
//! `CoreRow Horizontal`, then `Key : value` in any order and with any line breaks, then `End`. Each
//! pair of `SubrowOrigin` and `NumSites`, in either order, is one [`Row`] of the design.

use super::lexer::{self, Count, Parsed, unwrap_miss};
use super::notes::{Contents, Notes};
use crate::design::{Orientation, Row, Symmetry};
use crate::text::error::{FileError, Miss};
use crate::warning::WarningCode;
use std::path::Path;

/// Reads a `.scl` file's text: one row for each subrow, in file order. `path` is for messages.
///
/// # Errors
/// When there is no row, at a row that is not whole, and when the header
/// counts more rows than there are.
pub fn parse_scl(text: &[u8], path: &Path) -> Result<Contents<Vec<Row>>, FileError> {
    Contents::of(text, path, parse(text))
}

fn parse(text: &[u8]) -> Result<(Vec<Row>, Notes<'_>), Miss<'_>> {
    let ([stated], mut i) = lexer::header(text, "scl", ["NumRows"])?;
    let (mut rows, mut core_rows) = (Vec::new(), 0);
    while core_rows == 0 || !i.is_empty() {
        let behind;
        (behind, ()) = core_row(i, &mut rows).map_err(unwrap_miss)?;
        core_rows += 1;
        i = lexer::next_line(behind);
    }
    let mut notes = Notes::default();
    Count::check(stated, "rows", &[core_rows], &mut notes)?;
    let all = rows.len();
    rows.retain(|row| row.sites > 0);
    notes.count(
        WarningCode::RowsLeftOut,
        all - rows.len(),
        "subrows have no sites and are left out",
    );
    if rows.is_empty() {
        return Err(Miss::expected(i, "a subrow with sites"));
    }
    Ok((rows, notes))
}

/// The keys of a row's lines read so far.
#[derive(Default)]
struct Keys {
    y: Option<f64>,
    height: Option<f64>,
    site_width: Option<f64>,
    pitch: Option<f64>,
    /// First half of a pair whose other half is still to come.
    origin: Option<f64>,
    sites: Option<u64>,
    subrows: Vec<(f64, u64)>,
    orientation: Orientation,
    symmetry: Symmetry,
}

fn core_row<'a>(i: &'a [u8], rows: &mut Vec<Row>) -> Parsed<'a, ()> {
    let (i, ()) = lexer::keyword("CoreRow")(i).or_else(|_: nom::Err<Miss>| miss(i, "`CoreRow`"))?;
    let at = lexer::skip_blanks(i);
    let (i, ()) =
        lexer::keyword("Horizontal")(at).or_else(|_: nom::Err<Miss>| miss(at, "`Horizontal`"))?;
    let mut keys = Keys::default();
    let mut i = lexer::next_line(i);
    while lexer::keyword("End")(i).is_err() {
        let (rest, ()) = keys.read(i)?;
        i = lexer::next_line(rest);
    }
    let (behind, ()) = lexer::keyword("End")(i)?;
    keys.finish(rows).or_else(|what| miss(i, what))?;
    Ok((behind, ()))
}

fn miss<'a, T>(at: &'a [u8], what: &'static str) -> Result<T, nom::Err<Miss<'a>>> {
    Err(nom::Err::Error(Miss::expected(at, what)))
}

impl Keys {
    /// Reads one `Key : value`.
    fn read<'a>(&mut self, i: &'a [u8]) -> Parsed<'a, ()> {
        let (value, key) = lexer::token("a key of a row or `End`")(i)?;
        let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
        let known = ["Coordinate", "Height", "Sitewidth", "Sitespacing", "Siteorient"];
        if !known.into_iter().chain(["Sitesymmetry", "SubrowOrigin", "NumSites"]).any(is) {
            return miss(i, "a key of a row or `End`");
        }
        let (value, ()) = lexer::colon("`:`")(value)?;
        if is("Siteorient") || is("Sitesymmetry") {
            // A symmetry may be several words or none; older suites write numbers.
            let behind = lexer::skip_line(value);
            let line = String::from_utf8_lossy(&value[..value.len() - behind.len()]);
            let words = line.split('#').next().unwrap_or_default();
            if is("Siteorient") {
                self.orientation = site_orientation(words);
            } else {
                self.symmetry = site_symmetry(words);
            }
            return Ok((behind, ()));
        }
        let at = lexer::skip_blanks(value);
        let rest;
        if is("Coordinate") {
            (rest, self.y) = some(lexer::number("a y coordinate")(at))?;
        } else if is("Height") {
            (rest, self.height) = some(positive(at, "a height above 0"))?;
        } else if is("Sitewidth") {
            (rest, self.site_width) = some(positive(at, "a site width above 0"))?;
        } else if is("Sitespacing") {
            (rest, self.pitch) = some(positive(at, "a site spacing above 0"))?;
        } else if is("SubrowOrigin") {
            if self.origin.is_some() {
                return miss(i, "`NumSites` of the subrow before");
            }
            (rest, self.origin) = some(lexer::number("an x coordinate")(at))?;
        } else {
            if self.sites.is_some() {
                return miss(i, "`SubrowOrigin` of the subrow before");
            }
            (rest, self.sites) = some(lexer::count("a number of sites")(at))?;
        }
        if let (Some(origin), Some(sites)) = (self.origin, self.sites) {
            self.subrows.push((origin, sites));
            (self.origin, self.sites) = (None, None);
        }
        Ok((rest, ()))
    }

    /// Appends one row for each subrow, or returns the key that is missing.
    fn finish(self, rows: &mut Vec<Row>) -> Result<(), &'static str> {
        let y = self.y.ok_or("`Coordinate` of the row")?;
        let height = self.height.ok_or("`Height` of the row")?;
        let pitch =
            self.pitch.or(self.site_width).ok_or("`Sitewidth` or `Sitespacing` of the row")?;
        let site_width = self.site_width.unwrap_or(pitch);
        match (self.origin, self.sites, self.subrows.as_slice()) {
            (None, None, []) => return Err("`SubrowOrigin` and `NumSites` of the row"),
            (Some(_), _, _) => return Err("`NumSites` of the subrow"),
            (_, Some(_), _) => return Err("`SubrowOrigin` of the subrow"),
            _ => {}
        }
        let (orientation, symmetry) = (self.orientation, self.symmetry);
        let row = |(x, sites)| Row {
            x,
            y,
            height,
            site_width,
            pitch,
            sites,
            orientation,
            symmetry,
            site: None,
        };
        rows.extend(self.subrows.into_iter().map(row));
        Ok(())
    }
}

/// Returns the orientation after `Siteorient :`. Older suites write a number for what is always
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

fn some<'a, T>(parsed: Parsed<'a, T>) -> Parsed<'a, Option<T>> {
    parsed.map(|(rest, value)| (rest, Some(value)))
}

fn positive<'a>(i: &'a [u8], what: &'static str) -> Parsed<'a, f64> {
    match lexer::number(what)(i)? {
        (rest, value) if value > 0.0 => Ok((rest, value)),
        _ => miss(i, what),
    }
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
