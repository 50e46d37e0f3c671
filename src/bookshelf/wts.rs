//! `.wts`: weights of nets, `name weight`, one a line.
//!
//! Old suites and the ISPD contests keep weights of nodes here instead; those are passed over.

use super::chunks::{self, Source};
use super::error::{BookshelfError, Miss};
use super::lexer::{self, unwrap_miss};
use super::notes::{Notes, Tally};
use crate::design::Names;
use crate::text::index::NameIndex;
use crate::warning::{Warning, WarningCode};
use std::path::Path;

/// The content of a `.wts` file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WtsFile {
    /// Weight of each net; 1 where the file gives none.
    pub weight: Vec<f64>,
    /// Warnings of things passed over.
    pub warnings: Vec<Warning>,
}

/// Reads a `.wts` file's text for the nets called `nets`; `path` is for messages.
///
/// Weights of nodes, which `nodes` finds, are passed over in silence, of other names with a
/// warning. A net that is weighed twice keeps the later weight; of nets of one name the
/// first is weighed.
///
/// # Errors
/// At the first line that is not a name and a weight from 0 to 1e100.
pub fn parse_wts(
    text: &[u8],
    path: &Path,
    nets: &Names,
    nodes: &NameIndex,
) -> Result<WtsFile, BookshelfError> {
    let (weight, notes) = parse(text, nets, nodes).map_err(|miss| miss.locate(path, text))?;
    Ok(WtsFile { weight, warnings: notes.warnings(path, text) })
}

fn parse<'a>(
    text: &'a [u8],
    nets: &Names,
    nodes: &NameIndex,
) -> Result<(Vec<f64>, Notes<'a>), Miss<'a>> {
    let source = Source::Held(text);
    let ([], body) = lexer::header(text, "wts", [])?;
    let mut weight = vec![1.0; nets.len()];
    let mut notes = Notes::default();
    if body.is_empty() {
        return Ok((weight, notes));
    }
    let index = NameIndex::new(nets);
    let strange = chunks::read(
        source.body(body)?,
        chunks::at_line,
        |c| parse_chunk(c, &index, nodes),
        |parts| {
            parts.into_iter().flatten().for_each(|(net, w): (u32, f64)| weight[net as usize] = w);
            Ok(())
        },
    )?;
    notes.tally(
        WarningCode::UnknownNames,
        strange,
        "weights are of names that no net and no node has",
    );
    Ok((weight, notes))
}

type Weights<'a> = (Vec<(u32, f64)>, Tally<'a>);

fn parse_chunk<'a>(
    chunk: &'a [u8],
    nets: &NameIndex,
    nodes: &NameIndex,
) -> Result<Weights<'a>, Miss<'a>> {
    let (mut weights, mut strange) = (Vec::new(), Tally::default());
    let mut i = lexer::next_line(chunk);
    while !i.is_empty() {
        let (rest, name) = lexer::word("the name of a net")(i).map_err(unwrap_miss)?;
        let weight = lexer::size("a weight from 0 to 1e100");
        let (rest, weight) = weight(rest).map_err(unwrap_miss)?;
        match nets.find(name) {
            Some(net) => weights.push((net, weight)),
            None if nodes.find(name).is_some() => {}
            None => strange.add(name),
        }
        let (rest, extra) = lexer::end_of_line(rest).map_err(unwrap_miss)?;
        if !extra.is_empty() {
            return Err(Miss::expected(extra, "end of line"));
        }
        i = lexer::next_line(rest);
    }
    Ok((weights, strange))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<WtsFile, String> {
        let mut nets = Names::default();
        ["n0", "", "n.1", "n0"].iter().for_each(|n| nets.push(n));
        let mut nodes = Names::default();
        ["o5", "o6"].iter().for_each(|n| nodes.push(n));
        let nodes = NameIndex::new(&nodes);
        parse_wts(text.as_bytes(), Path::new("d.wts"), &nets, &nodes).map_err(|e| e.to_string())
    }

    #[test]
    fn nets_are_weighed_by_name() {
        let file = read("UCLA wts 1.0\r\n# c\r\n\r\n\tn.1  1.428e+06\r\nn0\t0 # c\r\n").unwrap();
        assert_eq!(file.weight, [0.0, 1.0, 1.428e6, 1.0]);
        assert!(file.warnings.is_empty());
    }

    #[test]
    fn a_file_without_weights_is_fine() {
        for text in ["", "UCLA wts 1.0\n", "# only\n# comments"] {
            assert_eq!(read(text).unwrap().weight, [1.0; 4], "{text}");
        }
    }

    #[test]
    fn weights_of_unknown_names_are_counted() {
        let file = read("o5 9\no1 3\nn0 2\no2 4\no6 1").unwrap();
        assert_eq!(file.weight, [2.0, 1.0, 1.0, 1.0]);
        let want =
            "d.wts: 2 weights are of names that no net and no node has (first on line 2: `o1`)";
        assert_eq!(file.warnings, [want]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("n0", "1:3: expected a weight from 0 to 1e100, found end of file"),
            ("n0 x\n", "1:4: expected a weight from 0 to 1e100, found `x`"),
            ("n0 -1\n", "1:4: expected a weight from 0 to 1e100, found `-1`"),
            ("n0 inf\n", "1:4: expected a weight from 0 to 1e100, found `inf`"),
            ("n0 1 2\n", "1:6: expected end of line, found `2`"),
            ("UCLA pl 1.0\n", "1:6: expected a `wts` file, found `pl`"),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).unwrap_err(), format!("d.wts:{want}"));
        }
    }
}
