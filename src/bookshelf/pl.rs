//! `.pl`: the positions of the nodes.
//!
//! `name x y [: orientation] [/FIXED | /FIXED_NI]`, one per line; `x y` is the
//! lower-left corner of the node in its orientation. A node without an orientation has `N`.

use super::header;
use crate::design::{NodeKind, Orientation, Placement};
use crate::text::error::{Fault, FileError};
use crate::text::file::Source;
use crate::text::index::NameIndex;
use crate::text::loaded::LoadedPlacement;
use crate::text::notes::{Contents, Notes, Tally};
use crate::text::parts::{self, Piece};
use crate::text::scan::{
    Language, Lines, Parsed, Read, end_of_line, fail, next_line, skip_line, word,
};
use crate::warning::WarningCode;
use std::path::Path;

/// Reads a `.pl` file's text: the position of each node; nodes that it does not mention are at
/// (0, 0), `N`. `path` is for messages.
///
/// `index` finds the nodes and `kind` (one per node) is their kind so far:
/// `/FIXED` fixes a movable node, `/FIXED_NI` makes any node fixed without image.
///
/// # Errors
/// At the first line that does not place a node of `index`, and at a node that is placed twice.
///
/// # Panics
/// When `kind` is not as long as the names of `index`.
pub fn parse_pl(
    text: &[u8],
    path: &Path,
    index: &NameIndex,
    kind: &mut [NodeKind],
) -> Result<Contents<Placement>, FileError> {
    assert_eq!(kind.len(), index.names().len(), "one kind for each node");
    let source = Source::Held(text);
    let parsed = parse(source, index, kind).map(|(places, mut notes)| {
        note_missing(&places, &mut notes);
        kind.copy_from_slice(&places.kind);
        (places.placement, notes)
    });
    Contents::of(source, path, parsed)
}

/// Warns of nodes without a position. A file may place only some nodes, for a placer to begin
/// with, and one that was cut at a line's end looks the same; but fixed nodes are hardly ever
/// left out on purpose.
pub(super) fn note_missing(places: &LoadedPlacement, notes: &mut Notes) {
    let (all, movable) = (places.missing.len(), places.unplaced.len());
    notes.count(WarningCode::NotPlaced, all as u64, "nodes are not placed and lie at 0 0");
    let fixed = "of the nodes that are not placed are fixed";
    notes.count(WarningCode::NotPlaced, (all - movable) as u64, fixed);
}

/// Reads a .pl file as [`parse_pl`] does.
pub(super) fn parse(
    source: Source<'_>,
    index: &NameIndex,
    kind: &[NodeKind],
) -> Result<(LoadedPlacement, Notes), Fault> {
    let (is_blank, start) = header::head(source, "pl")?;
    let nodes = kind.len();
    if start == source.len() && (is_blank || nodes > 0) {
        return Err(Fault::expected(start, "the place of a node"));
    }
    let mut places = LoadedPlacement::of_kinds(kind);
    let mut placed = vec![false; nodes];
    let mut unread = Tally::default();
    let take = |parts: &mut [Part]| {
        for part in parts {
            unread.merge(part.unread);
            for entry in &part.places {
                let i = entry.node as usize;
                if std::mem::replace(&mut placed[i], true) {
                    return Err(header::repeated(source, start));
                }
                places.place(i, (entry.x, entry.y), entry.orientation);
                places.kind[i] = match (kind[i], entry.fixed) {
                    (NodeKind::Movable, Some(fixed)) => fixed,
                    (_, Some(NodeKind::FixedOverlappable)) => NodeKind::FixedOverlappable,
                    (kind, _) => kind,
                };
            }
        }
        Ok(())
    };
    parts::read(source, start, skip_line, |piece, part| parse_part(piece, index, part), take)?;

    let mut notes = Notes::default();
    notes.tally(WarningCode::NotRead, unread, "places end in words that are not read");
    places.leave_out(&placed);
    Ok((places, notes))
}

#[derive(Debug, PartialEq)]
struct PlEntry {
    node: u32,
    orientation: Orientation,
    fixed: Option<NodeKind>,
    x: f64,
    y: f64,
}

/// The places of a part of the file, and words in it that are not read.
#[derive(Default)]
struct Part {
    places: Vec<PlEntry>,
    unread: Tally,
}

fn parse_part<'t>(piece: Piece<'t>, index: &NameIndex, part: &mut Part) -> Read<'t, ()> {
    part.places.clear();
    part.unread = Tally::default();
    let (mut i, mut guess) = (next_line(piece.text), 0);
    while !i.is_empty() {
        let (rest, (place, unread)) = place(i, index, guess)?;
        guess = place.node.wrapping_add(1);
        part.places.push(place);
        if !unread.is_empty() {
            part.unread.add(piece.offset(unread));
        }
        i = next_line(rest);
    }
    Ok(())
}

fn place<'a>(i: &'a [u8], index: &NameIndex, guess: u32) -> Parsed<'a, (PlEntry, &'a [u8])> {
    let (i, node) = known_node(i, index, guess)?;
    let (i, x) = Lines::number("an x coordinate")(i)?;
    let (i, y) = Lines::number("a y coordinate")(i)?;
    let (i, orientation) = match Lines::skip(i) {
        // At the end of the text the line may have been cut off.
        [b'\n' | b'#' | b'/', ..] => (i, Orientation::N),
        i => {
            let (i, ()) = Lines::sign("`:` and an orientation")(i)?;
            Lines::orientation("an orientation (N, S, E, W, FN, FS, FE or FW)")(i)?
        }
    };
    let (i, fixed) = if let Some(i) = Lines::behind_keyword(i, "/FIXED") {
        (i, Some(NodeKind::Fixed))
    } else if let Some(i) = Lines::behind_keyword(i, "/FIXED_NI") {
        (i, Some(NodeKind::FixedOverlappable))
    } else {
        (i, None)
    };
    let (i, unread) = end_of_line(i)?;
    Ok((i, (PlEntry { node, orientation, fixed, x, y }, unread)))
}

/// The requirement on a node's name.
pub(super) const KNOWN: &str = "a node that the .nodes file describes";

/// Reads the name of a node in `index`, tried first against the `guess`-th: nearly all files keep
/// the order of the `.nodes` file.
fn known_node<'a>(i: &'a [u8], index: &NameIndex, guess: u32) -> Parsed<'a, u32> {
    let at = Lines::skip(i);
    let (rest, name) = word::<Lines>("the name of a node")(at)?;
    let names = index.names();
    if (guess as usize) < names.len() && names.get(guess as usize).as_bytes() == name {
        return Ok((rest, guess));
    }
    match index.find(name) {
        Some(node) => Ok((rest, node)),
        None => fail(at, KNOWN),
    }
}
