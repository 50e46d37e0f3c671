//! `.pl`: the positions of the nodes.
//!
//! `name x y : orientation [/FIXED | /FIXED_NI]`, one a line; `x y` is the
//! lower-left corner of the node as it lies.

use super::chunks::{self, Source};
use super::lexer::{self, unwrap_miss};
use super::notes::{Contents, Notes, Tally};
use crate::design::{NodeKind, Orientation, Placement};
use crate::text::error::{FileError, Miss, Reason};
use crate::text::index::NameIndex;
use crate::text::words;
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
    let parsed = parse(Source::Held(text), index, kind);
    let parsed = parsed.map(|(places, mut notes)| {
        places.note_missing(kind, &mut notes);
        (places.placement, notes)
    });
    Contents::of(text, path, parsed)
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
    pub(super) fn note_missing(&self, kind: &[NodeKind], notes: &mut Notes<'_>) {
        let (all, movable) = (self.missing.len(), self.unplaced(kind).len());
        notes.count(WarningCode::NotPlaced, all, "nodes are not placed and lie at 0 0");
        let fixed = "of the nodes that are not placed are fixed";
        notes.count(WarningCode::NotPlaced, all - movable, fixed);
    }
}

/// Reads a .pl file as [`parse_pl`] does. After an error a part of `kind` may be changed already.
pub(super) fn parse<'a>(
    source: Source<'a>,
    index: &NameIndex,
    kind: &mut [NodeKind],
) -> Result<(Places, Notes<'a>), Miss<'a>> {
    let ([], body) = lexer::header(source.head(), "pl", [])?;
    if lexer::first_line(source.head()).is_empty() {
        return Err(Miss::expected(body, "the place of a node"));
    }
    let (nodes, first) = (kind.len(), lexer::next_line(body));
    if nodes > 0 && first.is_empty() {
        return Err(Miss::expected(first, "the place of a node"));
    }
    let body = source.body(body)?;
    let mut placement = Placement {
        x: vec![0.0; nodes],
        y: vec![0.0; nodes],
        orientation: vec![Orientation::N; nodes],
    };
    let mut placed = vec![false; nodes];
    let unread = chunks::read(
        body,
        chunks::at_line,
        |c| parse_chunk(c, index),
        |parts| {
            for entry in parts.into_iter().flatten() {
                let i = entry.node as usize;
                if std::mem::replace(&mut placed[i], true) {
                    return Err(placed_again(body.held, index, entry.node));
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
            Ok(())
        },
    )?;

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

fn parse_chunk<'a>(
    chunk: &'a [u8],
    index: &NameIndex,
) -> Result<(Vec<PlEntry>, Tally<'a>), Miss<'a>> {
    let (mut places, mut unread) = (Vec::new(), Tally::default());
    let (mut i, mut guess) = (lexer::next_line(chunk), 0);
    while !i.is_empty() {
        let (rest, (place, words)) = place(i, index, guess).map_err(unwrap_miss)?;
        guess = place.node.wrapping_add(1);
        places.push(place);
        unread.add(words);
        i = lexer::next_line(rest);
    }
    Ok((places, unread))
}

fn place<'a>(i: &'a [u8], index: &NameIndex, guess: u32) -> lexer::Parsed<'a, (PlEntry, &'a [u8])> {
    let (i, node) = known_node(i, index, guess)?;
    let (i, x) = lexer::number("an x coordinate")(i)?;
    let (i, y) = lexer::number("a y coordinate")(i)?;
    let (i, ()) = lexer::colon("`:` and an orientation")(i)?;
    let (i, orientation) = orientation(i)?;
    let (i, fixed) = if let Some(i) = lexer::behind_keyword(i, "/FIXED") {
        (i, Some(NodeKind::Fixed))
    } else if let Some(i) = lexer::behind_keyword(i, "/FIXED_NI") {
        (i, Some(NodeKind::FixedOverlappable))
    } else {
        (i, None)
    };
    let (i, unread) = lexer::end_of_line(i)?;
    Ok((i, (PlEntry { node, orientation, fixed, x, y }, unread)))
}

/// The requirement on a node's name.
pub(super) const KNOWN: &str = "a node that the .nodes file describes";

/// Reads the name of a node in `index`, tried first against the `guess`-th: nearly all files keep
/// the order of the `.nodes` file.
fn known_node<'a>(i: &'a [u8], index: &NameIndex, guess: u32) -> lexer::Parsed<'a, u32> {
    let at = lexer::skip_blanks(i);
    let (rest, name) = lexer::word("the name of a node")(at)?;
    let names = index.names();
    if (guess as usize) < names.len() && names.get(guess as usize).as_bytes() == name {
        return Ok((rest, guess));
    }
    match index.find(name) {
        Some(node) => Ok((rest, node)),
        None => Err(nom::Err::Error(Miss::expected(at, KNOWN))),
    }
}

fn orientation(i: &[u8]) -> lexer::Parsed<'_, Orientation> {
    let at = lexer::skip_blanks(i);
    const WHAT: &str = "an orientation (N, S, E, W, FN, FS, FE or FW)";
    let (rest, word) = lexer::token(WHAT)(at)?;
    let known =
        Orientation::ALL.into_iter().find(|o| word.eq_ignore_ascii_case(o.name().as_bytes()));
    match known {
        Some(orientation) => Ok((rest, orientation)),
        None => Err(nom::Err::Error(Miss::expected(at, WHAT))),
    }
}

/// Says where `node` is placed for the second time.
#[cold]
fn placed_again<'a>(body: &'a [u8], index: &NameIndex, node: u32) -> Miss<'a> {
    let (mut i, mut first) = (body, None);
    while !i.is_empty() {
        if index.find(words::first_word(i)) == Some(node) {
            match first {
                Some(first) => return Miss { at: i, reason: Reason::Duplicate { first } },
                None => first = Some(i),
            }
        }
        i = lexer::next_line(lexer::skip_line(i));
    }
    Miss::expected(i, "each node once")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orientations_are_read() {
        for o in Orientation::ALL {
            let text = format!(" {} /FIXED", o.name());
            let (rest, got) = orientation(text.as_bytes()).unwrap();
            assert_eq!((got, rest.len()), (o, 7));
        }
    }
}
