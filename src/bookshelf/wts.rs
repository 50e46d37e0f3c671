//! `.wts`: weights of nets, `name weight`, one per line.
//!
//! Files of old suites and the ISPD contests have weights of nodes instead, which are skipped.

use super::header::{self, size};
use crate::design::{Names, Nets};
use crate::text::error::{Fault, FileError};
use crate::text::file::{Source, Text};
use crate::text::index::NameIndex;
use crate::text::notes::{Contents, Notes, Tally};
use crate::text::parts::{self, Piece};
use crate::text::scan::{Lines, Parsed, Read, line_end, next_line, skip_line, word};
use crate::warning::{Warning, WarningCode};
use nom::Parser;
use nom::sequence::terminated;
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
    let source = Source::Held(text);
    Contents::of(source, path, parse(source, nets, nodes, vec![1.0; nets.len()]))
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
    let source = Source::Held(&text);
    let parsed = parse(source, &nets.names, &NameIndex::new(&none), nets.weight.clone());
    let Contents { content, warnings } = Contents::of(source, path, parsed)?;
    nets.weight = content;
    Ok(warnings)
}

/// Reads a .wts file as [`parse_wts`] does; nets without a weight in it keep theirs in `weight`.
pub(super) fn parse(
    source: Source<'_>,
    nets: &Names,
    nodes: &NameIndex,
    mut weight: Vec<f64>,
) -> Result<(Vec<f64>, Notes), Fault> {
    let (is_blank, start) = header::head(source, "wts")?;
    let mut notes = Notes::default();
    if is_blank {
        notes.say(WarningCode::NoWeights, "nothing is in it: every net weighs 1");
    }
    if start == source.len() {
        return Ok((weight, notes));
    }
    let index = NameIndex::new(nets);
    let mut strange = Tally::default();
    let take = |parts: &mut [Part]| {
        for part in parts {
            part.weights.iter().for_each(|&(net, w)| weight[net as usize] = w);
            strange.merge(part.strange);
        }
        Ok(())
    };
    parts::read(
        source,
        start,
        skip_line,
        |piece, part| parse_part(piece, &index, nodes, part),
        take,
    )?;
    notes.tally(
        WarningCode::UnknownNames,
        strange,
        "weights are of names that no net and no node has",
    );
    Ok((weight, notes))
}

/// The weights of a part of the file, and names in it that are of no net and no node.
#[derive(Default)]
struct Part {
    weights: Vec<(u32, f64)>,
    strange: Tally,
}

fn parse_part<'t>(
    piece: Piece<'t>,
    nets: &NameIndex,
    nodes: &NameIndex,
    part: &mut Part,
) -> Read<'t, ()> {
    *part = Part::default();
    let mut i = next_line(piece.text);
    while !i.is_empty() {
        let (rest, (name, weight)) = entry(i)?;
        match nets.find(name) {
            Some(net) => part.weights.push((net, weight)),
            None if nodes.find(name).is_some() => {}
            None => part.strange.add(piece.offset(name)),
        }
        i = next_line(rest);
    }
    Ok(())
}

/// `name weight`
fn entry(i: &[u8]) -> Parsed<'_, (&[u8], f64)> {
    let entry = (word::<Lines>("the name of a net"), size("a weight from 0 to 1e100"));
    terminated(entry, line_end("end of line")).parse(i)
}
