//! `.nodes`: names and sizes of cells, macros and pads.
//!
//! `name width height [terminal | terminal_NI] [: symmetries]`, one per line.

use super::header::{self, Count, size};
use crate::design::{NodeKind, Nodes};
use crate::text::columns::{Column, NameColumn, capacity};
use crate::text::error::{Fault, FileError};
use crate::text::file::Source;
use crate::text::index::NameIndex;
use crate::text::notes::{Contents, Notes, Tally};
use crate::text::parts::{self, Piece};
use crate::text::scan::{Language, Lines, Parsed, Read, end_of_line, next_line, skip_line};
use crate::warning::WarningCode;
use std::path::Path;

/// The counts of the header.
const KEYS: [&str; 2] = ["NumNodes", "NumTerminals"];

/// Reads a `.nodes` file's text: cells, macros and pads in file order, of which the terminals are
/// fixed. `path` is for messages.
///
/// # Errors
/// At the first line that is not a node, at a node that occurs twice, and when
/// the header counts more than there are.
pub fn parse_nodes(text: &[u8], path: &Path) -> Result<Contents<Nodes>, FileError> {
    let source = Source::Held(text);
    let nodes = Contents::of(source, path, parse(source))?;
    if NameIndex::new(&nodes.content.names).has_repeats() {
        return Err(repeated_node(source, path));
    }
    Ok(nodes)
}

/// Reads a .nodes file as [`parse_nodes`] does, without looking for repeated names.
pub(super) fn parse(source: Source<'_>) -> Result<(Nodes, Notes), Fault> {
    let ([stated, terminals], start) = header::read(source, "nodes", KEYS)?;
    if start == source.len() && stated.is_none() {
        return Err(Fault::expected(start, "a node"));
    }
    // The shortest node is "a 1 1" and a line's end.
    let entries = capacity(stated.map(|s| s.value), source.len() - start, 6);
    let bytes = capacity(Some(8 * entries as u64), source.len() - start, 1);
    let mut names = NameColumn::with_capacity(entries, bytes);
    let [mut width, mut height] = [(); 2].map(|()| Column::with_capacity(entries));
    let mut kind = Vec::with_capacity(entries);
    let mut unread = Tally::default();
    parts::read(source, start, skip_line, parse_part, |parts: &mut [Part]| {
        names.append(parts, |part| &part.nodes.names)?;
        width.append(parts, |part| &part.nodes.width);
        height.append(parts, |part| &part.nodes.height);
        for Part { nodes, unread: more } in parts {
            kind.extend_from_slice(&nodes.kind);
            unread.merge(*more);
        }
        Ok(())
    })?;
    let (width, height) = (width.into_vec(), height.into_vec());
    let nodes = Nodes { names: names.into_names(), width, height, kind, ..Nodes::default() };
    let mut notes = Notes::default();
    Count::check(stated, "nodes", &[nodes.len()], &mut notes)?;
    // Some suites count `terminal_NI` among the terminals and some do not.
    let of = |kind| nodes.kind.iter().filter(|&&k| k == kind).count();
    let fixed = of(NodeKind::Fixed);
    let all = fixed + of(NodeKind::FixedOverlappable);
    Count::check(terminals, "terminals", &[fixed, all], &mut notes)?;

    notes.tally(WarningCode::NotRead, unread, "node lines end in words that are not read");
    let flat = (0..nodes.len())
        .filter(|&i| nodes.kind[i] == NodeKind::Movable && nodes.width[i] * nodes.height[i] == 0.0);
    notes.count(WarningCode::NoArea, flat.count() as u64, "movable nodes have no area");
    Ok((nodes, notes))
}

/// The nodes of a part of the file, and words in it that mean nothing.
#[derive(Default)]
struct Part {
    nodes: Nodes,
    unread: Tally,
}

fn parse_part<'t>(piece: Piece<'t>, Part { nodes, unread }: &mut Part) -> Read<'t, ()> {
    let Nodes { names, width, height, kind, .. } = nodes;
    names.clear();
    [&mut *width, &mut *height].into_iter().for_each(Vec::clear);
    kind.clear();
    *unread = Tally::default();
    let mut i = next_line(piece.text);
    while !i.is_empty() {
        let (rest, node) = node(i)?;
        names.push(node.name);
        width.push(node.width);
        height.push(node.height);
        kind.push(node.kind);
        if !node.unread.is_empty() {
            unread.add(piece.offset(node.unread));
        }
        i = next_line(rest);
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
struct Node<'a> {
    name: &'a str,
    width: f64,
    height: f64,
    kind: NodeKind,
    /// Words that mean nothing here.
    unread: &'a [u8],
}

fn node(i: &[u8]) -> Parsed<'_, Node<'_>> {
    let (i, name) = Lines::name("the name of a node")(i)?;
    let (i, width) = size("a width from 0 to 1e100")(i)?;
    let (i, height) = size("a height from 0 to 1e100")(i)?;
    let (i, kind) = if let Some(i) = Lines::behind_keyword(i, "terminal") {
        (i, NodeKind::Fixed)
    } else if let Some(i) = Lines::behind_keyword(i, "terminal_NI") {
        (i, NodeKind::FixedOverlappable)
    } else {
        (i, NodeKind::Movable)
    };
    let (i, rest) = end_of_line(i)?;
    // After a colon come the symmetries a cell may be placed in.
    let unread = if rest.first() == Some(&b':') { &rest[..0] } else { rest };
    Ok((i, Node { name, width, height, kind, unread }))
}

/// Names the first node that occurs a second time.
#[cold]
pub(super) fn repeated_node(source: Source<'_>, path: &Path) -> FileError {
    let head = header::read(source, "nodes", KEYS);
    source
        .error(path, head.map_or_else(|fault| fault, |(_, start)| header::repeated(source, start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_line_variants_are_read() {
        use NodeKind::*;
        let cases = [
            ("\to1\t13\t12\r\n", ("o1", 13.0, 12.0, Movable, "")),
            (" p1  1  1 terminal \n", ("p1", 1.0, 1.0, Fixed, "")),
            ("o1 1.5 2e3 terminal_NI", ("o1", 1.5, 2000.0, FixedOverlappable, "")),
            ("I10 200 170 terminal  :  R90 Y X \n", ("I10", 200.0, 170.0, Fixed, "")),
            ("|S 400 3570  :  X \n", ("|S", 400.0, 3570.0, Movable, "")),
            ("b.b[0] 3120 5760\tBUF.4\n", ("b.b[0]", 3120.0, 5760.0, Movable, "BUF.4")),
            ("o1 0 0 # corner\n", ("o1", 0.0, 0.0, Movable, "")),
        ];
        for (text, (name, width, height, kind, unread)) in cases {
            let (rest, got) = node(text.as_bytes()).unwrap();
            let unread = unread.as_bytes();
            assert_eq!((rest, got), (&b""[..], Node { name, width, height, kind, unread }));
        }
    }
}
