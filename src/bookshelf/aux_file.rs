//! `.aux`: the names of the files of a design.
//!
//! `RowBasedPlacement : a.nodes a.nets a.wts a.pl a.scl`; the words before the colon do not matter,
//! nor does the order; a file's kind is given by its ending, before a `.gz`, `.xz` or `.bz2` if
//! there is one. A name with blanks in it is in quotes, single or double, or has a backslash before each
//! blank: `"my design.nodes"`, `my\ design.nodes`.

use super::ReadOptions;
use super::header::first_line;
use crate::text::error::{FileError, Miss};
use crate::text::file::{self, Source, without_compression};
use crate::text::scan::{Language, Lines, Parsed, Read, end_of_line, ends_word, fail, next_line};
use nom::Parser;
use nom::branch::alt;
use nom::combinator::opt;
use nom::multi::{many0, many1};
use nom::sequence::{delimited, preceded, terminated};
use std::path::{Path, PathBuf};

/// The files of a design, beside the `.aux` that names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aux {
    /// `.nodes`: the cells and terminals.
    pub nodes: PathBuf,
    /// `.nets`: what connects it.
    pub nets: Option<PathBuf>,
    /// `.wts`: weights of nets.
    pub wts: Option<PathBuf>,
    /// `.pl`: their positions.
    pub pl: Option<PathBuf>,
    /// `.scl`: rows.
    pub scl: PathBuf,
    /// Words that are none of these.
    pub others: Vec<String>,
}

impl Aux {
    /// Returns the files of a design that is read with `options`.
    pub(super) fn files<'a>(
        &'a self,
        options: &'a ReadOptions,
    ) -> impl Iterator<Item = &'a PathBuf> {
        let pl = options.placement.as_ref().or(self.pl.as_ref());
        let optional = [self.nets.as_ref(), pl, self.wts.as_ref()];
        [&self.nodes, &self.scl].into_iter().chain(optional.into_iter().flatten())
    }
}

/// Reads an `.aux` file's text; `path` is the file's, for messages and as the folder of the others.
/// If `path` is a symbolic link, files that are not beside the link are those beside its target.
///
/// # Errors
/// When no `.nodes` or no `.scl` is named, or two files of one kind.
pub fn parse_aux(text: &[u8], path: &Path) -> Result<Aux, FileError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let target = path.is_symlink().then(|| path.canonicalize().ok()).flatten();
    let target = target.as_deref().and_then(Path::parent);
    let beside = |name: String| {
        let here = folder.join(&name);
        match target.map(|target| target.join(&name)) {
            Some(there) if file::find(&here).is_none() && file::find(&there).is_some() => there,
            _ => here,
        }
    };
    let parsed = parse(text, beside);
    parsed.map_err(|miss| Source::Held(text).error(path, miss.within(text, 0)))
}

fn parse(text: &[u8], beside: impl Fn(String) -> PathBuf) -> Read<'_, Aux> {
    let (mut nodes, mut nets, mut wts, mut pl, mut scl) = (None, None, None, None, None);
    let mut others = Vec::new();
    let mut i = first_line(text);
    if i.starts_with(b"UCLA ") {
        return Err(Miss::expected(i, "an .aux file, which names the design's other files"));
    }
    while !i.is_empty() {
        let (rest, (names, odd)) = line(i)?;
        for (at, name) in names {
            let kind = Path::new(without_compression(&name)).extension();
            let ending = kind.unwrap_or_default().to_ascii_lowercase();
            let slot = match ending.to_str() {
                Some("nodes") => &mut nodes,
                Some("nets") => &mut nets,
                Some("wts") => &mut wts,
                Some("pl") => &mut pl,
                Some("scl") => &mut scl,
                _ => {
                    others.push(name);
                    continue;
                }
            };
            if slot.replace(beside(name)).is_some() {
                return Err(Miss::expected(at, "one file of each kind"));
            }
        }
        if !odd.is_empty() {
            return Err(Miss::expected(odd, EXPECTED));
        }
        i = next_line(rest);
    }
    let missing = |what| Miss::expected(i, what);
    Ok(Aux {
        nodes: nodes.ok_or_else(|| missing("the name of a .nodes file"))?,
        scl: scl.ok_or_else(|| missing("the name of a .scl file"))?,
        nets,
        wts,
        pl,
        others,
    })
}

const EXPECTED: &str = "a file name";

/// `[label :] {name}`: the names with their positions, and the text that is no name.
#[allow(clippy::type_complexity)]
fn line(i: &[u8]) -> Parsed<'_, (Vec<(&[u8], String)>, &[u8])> {
    let label = terminated(Lines::token("a word"), Lines::sign("`:`"));
    preceded(opt(label), (many0(file_name), end_of_line)).parse(i)
}

/// A name in quotes or up to a blank, and its position. A blank, a quote or a backslash may be
/// escaped, but not within single quotes.
fn file_name(i: &[u8]) -> Parsed<'_, (&[u8], String)> {
    let at = Lines::skip(i);
    let escaped = || preceded(byte(|b| b == b'\\'), byte(|b| b" \t\"'\\".contains(&b)));
    let (rest, name) = match at.first() {
        Some(b'\'') => quoted(b'\'', byte(|b| !b"'\n".contains(&b))).parse(at)?,
        Some(b'"') => quoted(b'"', alt((escaped(), byte(|b| !b"\"\n".contains(&b))))).parse(at)?,
        Some(b'#') => return fail(at, EXPECTED),
        _ => many1(alt((escaped(), byte(|b| !ends_word(b))))).parse(at)?,
    };
    let fits = !name.is_empty() && !name.iter().any(u8::is_ascii_control);
    match String::from_utf8(name) {
        Ok(name) if fits => Ok((rest, (at, name))),
        _ => fail(at, EXPECTED),
    }
}

/// Returns a parser of letters between quotes.
fn quoted<'a>(
    quote: u8,
    letter: impl Parser<&'a [u8], Output = u8, Error = Miss<'a>>,
) -> impl Parser<&'a [u8], Output = Vec<u8>, Error = Miss<'a>> {
    let mut inside = delimited(byte(move |b| b == quote), many0(letter), byte(move |b| b == quote));
    move |i| {
        let open = || Miss::expected(i, "a closing quote behind the file name");
        inside.parse(i).map_err(|_: nom::Err<Miss<'a>>| nom::Err::Failure(open()))
    }
}

/// Returns a parser of a byte that is so.
fn byte<'a>(is: impl Fn(u8) -> bool) -> impl Fn(&'a [u8]) -> Parsed<'a, u8> {
    move |i| match i {
        [first, rest @ ..] if is(*first) => Ok((rest, *first)),
        _ => fail(i, EXPECTED),
    }
}
