//! `.nets`: nets and their pins.
//!
//! `NetDegree : pins [name]`, then as many lines `node [I | O | B] [: dx dy]`. A pin without offset
//! is at its node's centre.

use super::header::{self, Count};
use super::pl::KNOWN;
use crate::design::{Nets, Nodes};
use crate::text::columns::{self, NetColumns};
use crate::text::error::{Fault, FileError, Miss};
use crate::text::file::Source;
use crate::text::index::{Key, NameIndex};
use crate::text::loaded::PinOffset;
use crate::text::notes::{Contents, Notes};
use crate::text::parts::{self, Piece};
use crate::text::scan::{
    Language, Lines, Parsed, Read, end_of_line, fail, first_word, line_end, next_line, skip_line,
    word,
};
use crate::warning::WarningCode;
use std::path::Path;

/// Reads a `.nets` file's text: nets in file order, each of weight 1. `path` is for messages.
///
/// `index` finds the nodes and `nodes` are their sizes.
///
/// # Errors
/// At the first line that does not continue a net, at a node that is not in `index`, at a net with
/// more or fewer pins than its degree, and when the header counts more than there are.
///
/// # Panics
/// When `index` has other nodes than `nodes`.
pub fn parse_nets(
    text: &[u8],
    path: &Path,
    nodes: &Nodes,
    index: &NameIndex,
    offset: PinOffset,
) -> Result<Contents<Nets>, FileError> {
    let pins = Pins::of(nodes, index, offset);
    let source = Source::Held(text);
    Contents::of(source, path, pins.parse(source))
}

/// Inputs of reading a pin.
pub(super) struct Pins<'n> {
    nodes: &'n Nodes,
    index: &'n NameIndex<'n>,
    offset: PinOffset,
}

/// Reads the nets of a part of the file; `net_start` holds their ends within it.
fn parse_part<'t>(Piece { text, .. }: Piece<'t>, pins: &Pins, nets: &mut Nets) -> Read<'t, ()> {
    columns::clear_nets(nets);
    let nodes = Vec::with_capacity(text.len() / 16);
    let mut draft = Draft { nets: &mut *nets, nodes, at_centre: Vec::new() };
    let read = draft.read(text);
    // A name before the place where reading stopped is the earlier error.
    let Draft { nodes, at_centre, .. } = draft;
    let unknown = |k: usize| Miss::expected(nodes[k].name, KNOWN);
    pins.index.find_all(&nodes, &mut nets.pin_node).map_err(unknown)?;
    read?;
    if pins.offset == PinOffset::LowerLeft {
        pins.centre(nets);
    }
    for pin in at_centre {
        (nets.pin_dx[pin], nets.pin_dy[pin]) = (0.0, 0.0);
    }
    Ok(())
}

/// The nets of a part of a file, while the nodes of their pins are still names.
struct Draft<'a, 'n> {
    nets: &'n mut Nets,
    nodes: Vec<Key<'a>>,
    /// The pins without an offset.
    at_centre: Vec<usize>,
}

impl<'a> Draft<'a, '_> {
    fn read(&mut self, text: &'a [u8]) -> Read<'a, ()> {
        let mut i = next_line(text);
        while !i.is_empty() {
            let (rest, (degree, name)) = net(i)?;
            i = next_line(rest);
            for k in 0..degree {
                if i.is_empty() || Lines::behind_keyword(i, "NetDegree").is_some() {
                    let what = format!("pin {} of the {degree} of net `{name}`", k + 1);
                    return Err(Miss::expected(i, what));
                }
                let (rest, (node, offset)) = pin(i)?;
                if offset.is_none() {
                    self.at_centre.push(self.nodes.len());
                }
                let (dx, dy) = offset.unwrap_or_default();
                self.nodes.push(Key::new(node));
                self.nets.pin_dx.push(dx);
                self.nets.pin_dy.push(dy);
                i = next_line(rest);
            }
            let end = u32::try_from(self.nodes.len());
            self.nets
                .net_start
                .push(end.map_err(|_| Miss::expected(i, "at most 4294967295 pins"))?);
            self.nets.names.push(name);
        }
        Ok(())
    }
}

/// Returns the text from the next line on that begins a net.
fn at_net(mut i: &[u8]) -> &[u8] {
    loop {
        i = skip_line(i);
        if i.is_empty() || Lines::behind_keyword(i, "NetDegree").is_some() {
            return i;
        }
    }
}

/// `NetDegree : pins [name]`
fn net(i: &[u8]) -> Parsed<'_, (u64, &str)> {
    let (i, ()) = Lines::keyword("NetDegree", "`NetDegree`")(i)?;
    let (i, ()) = Lines::sign("`:`")(i)?;
    let (i, degree) = Lines::count("a number of pins")(i)?;
    let (i, name) = match first_word(i) {
        [] | [b'#', ..] => (i, ""),
        _ => Lines::name("the name of a net")(i)?,
    };
    let (i, _) = end_of_line(i)?;
    Ok((i, (degree, name)))
}

/// The name of a node, and an offset as in the file.
type Pin<'a> = (&'a [u8], Option<(f64, f64)>);

/// `node [direction] [: dx dy [anything]]`
#[inline]
fn pin(i: &[u8]) -> Parsed<'_, Pin<'_>> {
    let (i, node) = word::<Lines>("the name of a node")(i)?;
    let mut i = Lines::skip(i);
    if i.first().is_some_and(u8::is_ascii_alphabetic) {
        i = direction(i)?.0;
    }
    if let [b':', i @ ..] = Lines::skip(i) {
        let (i, dx) = Lines::number("an x offset")(i)?;
        let (i, dy) = Lines::number("a y offset")(i)?;
        // Some tools add the size or name of the pin.
        return Ok((skip_line(i), (node, Some((dx, dy)))));
    }
    let (i, ()) = line_end("a direction, `:` or end of line")(i)?;
    Ok((i, (node, None)))
}

/// I, O or B: read, checked, and not kept, as no engine uses it.
fn direction(i: &[u8]) -> Parsed<'_, ()> {
    const WHAT: &str = "a pin direction (I, O or B)";
    match Lines::token(WHAT)(i)? {
        (rest, [b'I' | b'O' | b'B' | b'i' | b'o' | b'b']) => Ok((rest, ())),
        _ => fail(i, WHAT),
    }
}

impl<'n> Pins<'n> {
    /// # Panics
    /// When `index` has other nodes than `nodes`.
    pub(super) fn of(nodes: &'n Nodes, index: &'n NameIndex<'n>, offset: PinOffset) -> Self {
        assert_eq!(nodes.len(), index.names().len(), "the index of these nodes");
        Pins { nodes, index, offset }
    }

    /// Reads a .nets file as [`parse_nets`] does.
    pub(super) fn parse(&self, source: Source<'_>) -> Result<(Nets, Notes), Fault> {
        let keys = ["NumNets", "NumPins"];
        let ([stated_nets, stated_pins], start) = header::read(source, "nets", keys)?;
        if start == source.len() && stated_nets.is_none() {
            return Err(Fault::expected(start, "`NetDegree`"));
        }
        // The shortest net is "NetDegree 0", the shortest pin "a", each with a line's end.
        let capacity = |stated: Option<Count>, least| {
            columns::capacity(stated.map(|s| s.value), source.len() - start, least)
        };
        let (net_capacity, pin_capacity) = (capacity(stated_nets, 12), capacity(stated_pins, 2));
        let mut nets = NetColumns::with_capacity(net_capacity, 0, 0, pin_capacity);
        let take = |parts: &mut [Nets]| {
            let more: usize = parts.iter().map(|part| part.pin_node.len()).sum();
            if u32::try_from(nets.pins() + more).is_err() {
                return Err(Fault::expected(start, "at most 4294967295 pins"));
            }
            Ok(nets.append(parts, |part| part)?)
        };
        parts::read(source, start, at_net, |piece, part| parse_part(piece, self, part), take)?;
        let nets = nets.into_nets();
        let mut notes = Notes::default();
        Count::check(stated_nets, "nets", &[nets.len()], &mut notes)?;
        Count::check(stated_pins, "pins", &[nets.pins()], &mut notes)?;
        let short = (0..nets.len()).filter(|&e| nets.pins_of(e).len() < 2);
        notes.count(
            WarningCode::ShortNets,
            short.count() as u64,
            "nets have fewer than two pins and no wirelength",
        );
        Ok((nets, notes))
    }

    /// Makes offsets that are counted from the nodes' lower-left corners such from their centres.
    fn centre(&self, nets: &mut Nets) {
        let offsets = nets.pin_dx.iter_mut().zip(&mut nets.pin_dy);
        for ((dx, dy), &node) in offsets.zip(&nets.pin_node) {
            *dx -= self.nodes.width[node as usize] / 2.0;
            *dy -= self.nodes.height[node as usize] / 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_cut_before_a_degree() {
        let text = b"gree : 2\n a\n NetDegreeX\n\tnetdegree: 1\n b";
        assert_eq!(at_net(text), b"\tnetdegree: 1\n b");
        assert_eq!(at_net(b"a\nb"), b"");
    }
}
