//! `.nodes`: names and sizes of cells, macros and pads.
//!
//! `name width height [terminal | terminal_NI] [: symmetries]`, one a line.

use super::chunks::{self, Source};
use super::lexer::{self, Count, unwrap_miss};
use super::notes::{Contents, Notes, Tally};
use crate::design::{NodeKind, Nodes};
use crate::text::columns::{Column, NameColumn, capacity};
use crate::text::error::{FileError, Miss, Reason};
use crate::text::index::NameIndex;
use crate::text::words;
use crate::warning::WarningCode;
use std::collections::HashMap;
use std::path::Path;

/// Reads a `.nodes` file's text: cells, macros and pads in file order, of which the terminals are
/// fixed. `path` is for messages.
///
/// # Errors
/// At the first line that is not a node, at a node that occurs twice, and when
/// the header counts more than there are.
pub fn parse_nodes(text: &[u8], path: &Path) -> Result<Contents<Nodes>, FileError> {
    let nodes = Contents::of(text, path, parse(Source::Held(text)))?;
    if NameIndex::new(&nodes.content.names).has_repeats() {
        return Err(repeated_node(text, path));
    }
    Ok(nodes)
}

/// Reads a .nodes file as [`parse_nodes`] does, without looking for repeated names.
pub(super) fn parse(source: Source<'_>) -> Result<(Nodes, Notes<'_>), Miss<'_>> {
    let keys = ["NumNodes", "NumTerminals"];
    let ([stated, terminals], body) = lexer::header(source.head(), "nodes", keys)?;
    if body.is_empty() && stated.is_none() {
        return Err(Miss::expected(body, "a node"));
    }
    let body = source.body(body)?;
    // The shortest node is "a 1 1" and a line's end.
    let entries = capacity(stated.map(|s| s.value), body.len(), 6);
    let bytes = capacity(Some(8 * entries as u64), body.len(), 1);
    let mut names = NameColumn::with_capacity(entries, bytes);
    let [mut width, mut height] = [(); 2].map(|()| Column::with_capacity(entries));
    let mut kind = Vec::with_capacity(entries);
    let unread = chunks::read(body, chunks::at_line, parse_chunk, |parts| {
        let place = || Miss::expected(body.held, "names of less than 4 GiB in all");
        names.append(&parts, |part| &part.names).map_err(|_| place())?;
        width.append(&parts, |part| &part.width);
        height.append(&parts, |part| &part.height);
        parts.into_iter().for_each(|part| kind.extend(part.kind));
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
    notes.count(WarningCode::NoArea, flat.count(), "movable nodes have no area");
    Ok((nodes, notes))
}

fn parse_chunk<'a>(chunk: &'a [u8]) -> Result<(Nodes, Tally<'a>), Miss<'a>> {
    let (mut nodes, mut unread) = (Nodes::default(), Tally::default());
    let mut i = lexer::next_line(chunk);
    while !i.is_empty() {
        let (rest, node) = node(i).map_err(unwrap_miss)?;
        nodes.names.push(node.name);
        nodes.width.push(node.width);
        nodes.height.push(node.height);
        nodes.kind.push(node.kind);
        unread.add(node.unread);
        i = lexer::next_line(rest);
    }
    Ok((nodes, unread))
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

fn node(i: &[u8]) -> lexer::Parsed<'_, Node<'_>> {
    let (i, name) = lexer::name("the name of a node")(i)?;
    let (i, width) = lexer::size("a width from 0 to 1e100")(i)?;
    let (i, height) = lexer::size("a height from 0 to 1e100")(i)?;
    let (i, kind) = if let Some(i) = lexer::behind_keyword(i, "terminal") {
        (i, NodeKind::Fixed)
    } else if let Some(i) = lexer::behind_keyword(i, "terminal_NI") {
        (i, NodeKind::FixedOverlappable)
    } else {
        (i, NodeKind::Movable)
    };
    let (i, rest) = lexer::end_of_line(i)?;
    // After a colon come the symmetries a cell may be placed in.
    let unread = if rest.first() == Some(&b':') { &rest[..0] } else { rest };
    Ok((i, Node { name, width, height, kind, unread }))
}

/// Names the first node that occurs a second time.
#[cold]
pub(super) fn repeated_node(text: &[u8], path: &Path) -> FileError {
    let mut seen = HashMap::new();
    let (_, mut i) = lexer::header(text, "nodes", ["NumNodes", "NumTerminals"])
        .unwrap_or_else(|miss| ([None; 2], miss.at));
    while !i.is_empty() {
        if let Some(first) = seen.insert(words::first_word(i), i) {
            let reason = Reason::Duplicate { first };
            return Miss { at: i, reason }.locate(path, text);
        }
        i = lexer::next_line(lexer::skip_line(i));
    }
    Miss::expected(i, "each node once").locate(path, text)
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
