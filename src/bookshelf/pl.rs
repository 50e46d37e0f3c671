//! `.pl`: the positions of the nodes.
//!
//! `name x y [: orientation] [/FIXED | /FIXED_NI]`, one a line; `x y` is the
//! lower-left corner of the node as it lies. A node without an orientation has `N`.

use super::header;
use crate::design::{NodeKind, Orientation, Placement};
use crate::text::error::{Fault, FileError, Reason, offset};
use crate::text::file::Source;
use crate::text::index::NameIndex;
use crate::text::notes::{Contents, Notes, Tally};
use crate::text::parts::{self, Piece};
use crate::text::scan::{
    self, Language, Lines, Parsed, Read, end_of_line, fail, first_word, next_line, word,
};
use crate::warning::WarningCode;
use std::path::Path;

/// Reads a `.pl` file's text: the position of each node; nodes that it does not mention are at
/// (0, 0), `N`. `path` is for messages.
///
/// `index` finds the nodes and `kind` (one per node) is what they are so far:
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
    let parsed = parse(source, index, kind);
    let parsed = parsed.map(|(places, mut notes)| {
        places.note_missing(kind, &mut notes);
        (places.placement, notes)
    });
    Contents::of(source, path, parsed)
}

/// The positions that a `.pl` file gives.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Nodes that the file does not mention are at (0, 0), `N`.
    pub(super) placement: Placement,
    /// The nodes that the file does not mention, ascending.
    pub(super) missing: Vec<u32>,
}

impl Places {
    /// Returns the movable nodes without a position.
    pub(super) fn unplaced(&self, kind: &[NodeKind]) -> Vec<u32> {
        let is_movable = |node: &&u32| kind[**node as usize] == NodeKind::Movable;
        self.missing.iter().filter(is_movable).copied().collect()
    }

    /// Takes the positions of missing nodes, and their kinds, from another file. Returns how many
    /// that file has.
    pub(super) fn fill(&mut self, other: &Places, of: &[NodeKind], kind: &mut [NodeKind]) -> usize {
        let before = self.missing.len();
        self.missing.retain(|&node| {
            let i = node as usize;
            kind[i] = of[i];
            self.placement.x[i] = other.placement.x[i];
            self.placement.y[i] = other.placement.y[i];
            self.placement.orientation[i] = other.placement.orientation[i];
            other.missing.binary_search(&node).is_ok()
        });
        before - self.missing.len()
    }

    /// Warns of nodes without a position. A file may place only some nodes, for a placer to begin
    /// with, and one that was cut at a line's end looks the same; but fixed nodes are hardly ever
    /// left out on purpose.
    pub(super) fn note_missing(&self, kind: &[NodeKind], notes: &mut Notes) {
        let (all, movable) = (self.missing.len(), self.unplaced(kind).len());
        notes.count(WarningCode::NotPlaced, all as u64, "nodes are not placed and lie at 0 0");
        let fixed = "of the nodes that are not placed are fixed";
        notes.count(WarningCode::NotPlaced, (all - movable) as u64, fixed);
    }
}

/// Reads a .pl file as [`parse_pl`] does. After an error a part of `kind` may be changed already.
pub(super) fn parse(
    source: Source<'_>,
    index: &NameIndex,
    kind: &mut [NodeKind],
) -> Result<(Places, Notes), Fault> {
    let (is_blank, start) = source.head(|text| {
        let ([], rest) = header::header(text, "pl", [])?;
        Ok((header::first_line(text).is_empty(), rest.len()))
    })?;
    let nodes = kind.len();
    if start == source.len() && (is_blank || nodes > 0) {
        return Err(Fault::expected(start, "the place of a node"));
    }
    let mut placement = Placement {
        x: vec![0.0; nodes],
        y: vec![0.0; nodes],
        orientation: vec![Orientation::N; nodes],
    };
    let mut placed = vec![false; nodes];
    let mut unread = Tally::default();
    let take = |parts: &mut [Part]| {
        for part in parts {
            unread.merge(part.unread);
            for entry in &part.places {
                let i = entry.node as usize;
                if std::mem::replace(&mut placed[i], true) {
                    return Err(placed_again(source, start, index, entry.node));
                }
                placement.x[i] = entry.x;
                placement.y[i] = entry.y;
                placement.orientation[i] = entry.orientation;
                kind[i] = match (kind[i], entry.fixed) {
                    (NodeKind::Movable, Some(fixed)) => fixed,
                    (_, Some(NodeKind::FixedOverlappable)) => NodeKind::FixedOverlappable,
                    (kind, _) => kind,
                };
            }
        }
        Ok(())
    };
    parts::read(source, start, parts::at_line, |piece, part| parse_part(piece, index, part), take)?;

    let mut notes = Notes::default();
    notes.tally(WarningCode::NotRead, unread, "places end in words that are not read");
    let missing = (0..nodes as u32).filter(|&i| !placed[i as usize]).collect();
    Ok((Places { placement, missing }, notes))
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

/// Says where `node` is placed for the second time; the first place is at `start`.
#[cold]
fn placed_again(source: Source<'_>, start: usize, index: &NameIndex, node: u32) -> Fault {
    let text = match source.bytes(0..source.len()) {
        Ok(text) => text,
        Err(error) => return error.into(),
    };
    let (mut i, mut first) = (next_line(&text[start..]), None);
    while !i.is_empty() {
        if index.find(first_word(i)) == Some(node) {
            let at = offset(&text, i);
            match first {
                Some(first) => return Fault { at, reason: Reason::Duplicate { first } },
                None => first = Some(at),
            }
        }
        i = next_line(scan::skip_line(i));
    }
    Fault::expected(text.len(), "each node once")
}
