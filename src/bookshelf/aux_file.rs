//! `.aux`: the names of the files of a design.
//!
//! `RowBasedPlacement : a.nodes a.nets a.wts a.pl a.scl`; the words before the
//! colon do not matter, nor does the order; what a file is, its ending says.

use super::error::{BookshelfError, Miss};
use super::lexer;
use nom::Parser;
use nom::combinator::opt;
use nom::sequence::terminated;
use std::path::{Path, PathBuf};

/// The files of a design, beside the `.aux` that names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aux {
    /// `.nodes`: what is placed.
    pub nodes: PathBuf,
    /// `.nets`: what connects it.
    pub nets: Option<PathBuf>,
    /// `.wts`: weights of nets.
    pub wts: Option<PathBuf>,
    /// `.pl`: where it lies.
    pub pl: Option<PathBuf>,
    /// `.scl`: rows.
    pub scl: PathBuf,
    /// Words that are none of these.
    pub others: Vec<String>,
}

/// Reads an `.aux` file's text; `path` is the file's, for messages and as the folder of the others.
///
/// # Errors
/// When no `.nodes` or no `.scl` is named, or two files of one kind.
pub fn parse_aux(text: &[u8], path: &Path) -> Result<Aux, BookshelfError> {
    parse(text, path.parent().unwrap_or(Path::new(""))).map_err(|miss| miss.locate(path, text))
}

fn parse<'a>(text: &'a [u8], folder: &Path) -> Result<Aux, Miss<'a>> {
    let (mut nodes, mut nets, mut wts, mut pl, mut scl) = (None, None, None, None, None);
    let mut others = Vec::new();
    let mut i = lexer::first_line(text);
    while !i.is_empty() {
        let label = terminated(lexer::token("a word"), lexer::colon("`:`"));
        let (mut rest, _) = opt(label).parse(i).map_err(lexer::unwrap_miss)?;
        while let Ok((behind, name)) = lexer::name("a file name")(rest) {
            if name.starts_with('#') {
                break;
            }
            let (at, _) = lexer::blanks(rest).map_err(lexer::unwrap_miss)?;
            let ending = Path::new(name).extension().unwrap_or_default().to_ascii_lowercase();
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
                Some(slot) => *slot = Some(folder.join(name)),
                None => others.push(name.to_owned()),
            }
            rest = behind;
        }
        i = match lexer::end_of_line(rest).map_err(lexer::unwrap_miss)? {
            (behind, []) => lexer::next_line(behind),
            (_, word) => return Err(Miss::expected(word, "a file name")),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Aux, String> {
        parse_aux(text.as_bytes(), Path::new("dir/a.aux")).map_err(|e| e.to_string())
    }

    #[test]
    fn files_lie_beside_the_aux_whatever_their_order() {
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
    fn label_and_line_breaks_are_free() {
        assert!(read("b.nodes\nb.scl").is_ok());
        assert!(read("RowBasedPlacement: b.nodes b.NETS\n : b.scl # end").unwrap().nets.is_some());
    }

    #[test]
    fn what_must_be_there_is_asked_for() {
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
