//! `.wts`: weights of nets, `name weight`, one a line.
//!
//! Old suites and the ISPD contests keep weights of nodes here instead; those are passed over.

use super::chunks::{self, Source};
use super::lexer::{self, unwrap_miss};
use super::notes::{Contents, Notes, Tally};
use crate::design::{Names, Nets};
use crate::text::error::{FileError, Miss};
use crate::text::file::Text;
use crate::text::index::NameIndex;
use crate::warning::{Warning, WarningCode};
use std::path::Path;

/// Reads a `.wts` file's text: the weight of each of the nets called `nets`, 1 where the file gives
/// none. `path` is for messages.
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
) -> Result<Contents<Vec<f64>>, FileError> {
    Contents::of(text, path, parse(text, nets, nodes, vec![1.0; nets.len()]))
}

/// Reads the file of net weights at `path`, in the format of a `.wts` file, compressed or not; a
/// net that it does not name keeps its weight in `nets`. Names of no net are a warning.
///
/// # Errors
/// If the file cannot be read, and at the first line that is not a name and a weight from 0 to
/// 1e100.
pub(crate) fn read_net_weights(path: &Path, nets: &mut Nets) -> Result<Vec<Warning>, FileError> {
    let text = Text::open(path).map_err(|error| FileError::io(path, error))?;
    let none = Names::default();
    let parsed = parse(&text, &nets.names, &NameIndex::new(&none), nets.weight.clone());
    let Contents { content, warnings } = Contents::of(&text, path, parsed)?;
    nets.weight = content;
    Ok(warnings)
}

fn parse<'a>(
    text: &'a [u8],
    nets: &Names,
    nodes: &NameIndex,
    mut weight: Vec<f64>,
) -> Result<(Vec<f64>, Notes<'a>), Miss<'a>> {
    let source = Source::Held(text);
    let ([], body) = lexer::header(text, "wts", [])?;
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
