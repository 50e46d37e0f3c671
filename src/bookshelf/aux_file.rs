//! `.aux`: the names of the files of a design.
//!
//! `RowBasedPlacement : a.nodes a.nets a.wts a.pl a.scl`; the words before the colon do not matter,
//! nor does the order; a file's kind is given by its ending, before a `.gz` or `.xz` if there is
//! one. A name with blanks in it is in quotes, single or double, or has a backslash before each
//! blank: `"my design.nodes"`, `my\ design.nodes`.

use super::ReadOptions;
use super::error::{BookshelfError, Miss};
use super::lexer;
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
        let pl = options.pl.as_ref().or(self.pl.as_ref());
        let optional = [self.nets.as_ref(), pl, self.wts.as_ref()];
        [&self.nodes, &self.scl].into_iter().chain(optional.into_iter().flatten())
    }
}

/// Reads an `.aux` file's text; `path` is the file's, for messages and as the folder of the others.
/// If `path` is a symbolic link, files that are not beside the link are those beside its target.
///
/// # Errors
/// When no `.nodes` or no `.scl` is named, or two files of one kind.
pub fn parse_aux(text: &[u8], path: &Path) -> Result<Aux, BookshelfError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Aux, String> {
        parse_aux(text.as_bytes(), Path::new("dir/a.aux")).map_err(|e| e.to_string())
    }

    #[test]
    fn aux_files_may_be_listed_in_any_order() {
        let aux = read(
            "#RowBasedPlacement : old.nodes\r\nRowBasedPlacement :\tb.scl  b.x.pl b.nodes extra\r\n",
        );
        let aux = aux.unwrap();
        assert_eq!(aux.nodes, Path::new("dir/b.nodes"));
        assert_eq!(aux.pl.as_deref(), Some(Path::new("dir/b.x.pl")));
        assert_eq!((aux.nets, aux.wts), (None, None));
        assert_eq!(aux.others, ["extra"]);
    }

    #[test]
    fn wrong_kind_of_file_is_named() {
        let error = read("# made by hand\nUCLA nodes 1.0\nNumNodes : 1\n").unwrap_err();
        let want = "expected an .aux file, which names the design's other files, found `UCLA`";
        assert_eq!(error, format!("dir/a.aux:2:1: {want}"));
    }

    #[test]
    fn label_and_line_breaks_are_free() {
        assert!(read("b.nodes\nb.scl").is_ok());
        assert!(read("RowBasedPlacement: b.nodes b.NETS\n : b.scl # end").unwrap().nets.is_some());
    }

    #[test]
    fn names_with_blanks_are_quoted_or_escaped() {
        let aux = read("R : \"my design.nodes\" 'it\\ is.scl' my\\ old\\\\one.pl b\\c.nets # \"\n")
            .unwrap();
        assert_eq!(aux.nodes, Path::new("dir/my design.nodes"));
        assert_eq!(aux.scl, Path::new("dir/it\\ is.scl"));
        assert_eq!(aux.pl.as_deref(), Some(Path::new("dir/my old\\one.pl")));
        assert_eq!(aux.nets.as_deref(), Some(Path::new("dir/b\\c.nets")));
        let open = read("R : a.scl \"a b.nodes\n").unwrap_err();
        assert!(
            open.starts_with("dir/a.aux:1:11: expected a closing quote behind the file name"),
            "{open}"
        );
        assert!(read("R : a.scl \"\"").is_err());
    }

    #[test]
    fn compressed_files_go_by_their_inner_extension() {
        let aux = read("R : a.nodes.gz a.SCL.GZ a.pl b.gz").unwrap();
        assert_eq!(aux.nodes, Path::new("dir/a.nodes.gz"));
        assert_eq!(
            (aux.scl.as_path(), &aux.others[..]),
            (Path::new("dir/a.SCL.GZ"), &["b.gz".to_owned()][..])
        );
    }

    #[test]
    fn missing_and_doubled_files_are_errors() {
        let cases = [
            ("", "dir/a.aux:1:1: expected the name of a .nodes file, found end of file"),
            ("R : a.nodes\n", "dir/a.aux:2:1: expected the name of a .scl file, found end of file"),
            (
                "R : a.nodes b.nodes",
                "dir/a.aux:1:13: expected one file of each kind, found `b.nodes`",
            ),
            ("R : a\0.nodes", "dir/a.aux:1:5: expected a file name, found `a\\0.nodes`"),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).unwrap_err(), want);
        }
    }
}
