//! `.aux`: the names of the files of a design.
//!
//! `RowBasedPlacement : a.nodes a.nets a.wts a.pl a.scl`; the words before the colon do not matter,
//! nor does the order; a file's kind is given by its ending, before a `.gz` or `.xz` if there is
//! one. A name with blanks in it is in quotes, single or double, or has a backslash before each
//! blank: `"my design.nodes"`, `my\ design.nodes`.

use super::ReadOptions;
use super::lexer;
use crate::text::error::{FileError, Miss};
use crate::text::file::{self, without_compression};
use crate::text::words::ends_word;
use nom::Parser;
use nom::combinator::opt;
use nom::sequence::terminated;
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
    parse(text, beside).map_err(|miss| miss.locate(path, text))
}

fn parse(text: &[u8], beside: impl Fn(String) -> PathBuf) -> Result<Aux, Miss<'_>> {
    let (mut nodes, mut nets, mut wts, mut pl, mut scl) = (None, None, None, None, None);
    let mut others = Vec::new();
    let mut i = lexer::first_line(text);
    if i.starts_with(b"UCLA ") {
        return Err(Miss::expected(i, "an .aux file, which names the design's other files"));
    }
    while !i.is_empty() {
        let label = terminated(lexer::token("a word"), lexer::colon("`:`"));
        let (mut rest, _) = opt(label).parse(i).map_err(lexer::unwrap_miss)?;
        loop {
            let at = lexer::skip_blanks(rest);
            let Some((behind, name)) = file_name(at)? else { break };
            let kind = Path::new(without_compression(&name)).extension();
            let ending = kind.unwrap_or_default().to_ascii_lowercase();
            let slot = match ending.to_str() {
                Some("nodes") => Some(&mut nodes),
                Some("nets") => Some(&mut nets),
                Some("wts") => Some(&mut wts),
                Some("pl") => Some(&mut pl),
                Some("scl") => Some(&mut scl),
                _ => None,
            };
            match slot {
                Some(Some(_)) => return Err(Miss::expected(at, "one file of each kind")),
                Some(slot) => *slot = Some(beside(name)),
                None => others.push(name),
            }
            rest = behind;
        }
        i = match lexer::end_of_line(rest).map_err(lexer::unwrap_miss)? {
            (behind, []) => lexer::next_line(behind),
            (_, word) => return Err(Miss::expected(word, EXPECTED)),
        };
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

/// Returns the name at the beginning of `i`, without its quotes and escapes, and what is behind;
/// none at the end of the line and before a comment.
fn file_name(i: &[u8]) -> Result<Option<(&[u8], String)>, Miss<'_>> {
    let quote = match i.first() {
        None | Some(b'\n' | b'#') => return Ok(None),
        Some(&quote @ (b'"' | b'\'')) => Some(quote),
        Some(_) => None,
    };
    let (mut name, mut at) = (Vec::new(), usize::from(quote.is_some()));
    loop {
        match (quote, i.get(at)) {
            (Some(_), None | Some(b'\n')) => {
                return Err(Miss::expected(i, "a closing quote behind the file name"));
            }
            (Some(quote), Some(&b)) if b == quote => {
                at += 1;
                break;
            }
            // A blank, a quote or a backslash may be escaped, but not within single quotes.
            (None | Some(b'"'), Some(b'\\'))
                if i.get(at + 1).is_some_and(|b| b" \t\"'\\".contains(b)) =>
            {
                name.push(i[at + 1]);
                at += 1;
            }
            (None, None) => break,
            (None, Some(&b)) if ends_word(b) => break,
            (_, Some(&b)) => name.push(b),
        }
        at += 1;
    }
    let fits = !name.is_empty() && !name.iter().any(u8::is_ascii_control);
    match String::from_utf8(name) {
        Ok(name) if fits => Ok(Some((&i[at..], name))),
        _ => Err(Miss::expected(i, EXPECTED)),
    }
}
