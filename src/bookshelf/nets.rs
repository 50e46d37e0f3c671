//! `.nets`: nets and their pins.
//!
//! `NetDegree : pins [name]`, then as many lines `node [I | O | B] [: dx dy]`. A pin without offset
//! is at its node's centre.

use super::chunks::{self, Source};
use super::lexer::{self, Count, Parsed, unwrap_miss};
use super::notes::{Contents, Notes, Tally};
use super::pl::KNOWN;
use crate::design::{Names, Nets, Nodes};
use crate::text::columns::{self, NetColumns};
use crate::text::error::{FileError, Miss};
use crate::text::index::{Key, NameIndex};
use crate::text::words;
use crate::warning::WarningCode;
use std::path::Path;

/// Where pin offsets are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PinOffset {
    /// From the cell's centre, as the format has it.
    #[default]
    Center,
    /// From the lower-left corner, as in IBM-PLACE 2.0 and similar suites.
    LowerLeft,
}

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
    Contents::of(text, path, pins.parse(Source::Held(text)))
}

/// Inputs of reading a pin.
pub(super) struct Pins<'n> {
    nodes: &'n Nodes,
    index: &'n NameIndex<'n>,
    offset: PinOffset,
}

/// Reads the nets of a chunk; `net_start` holds their ends within it.
fn parse_chunk<'a>(chunk: &'a [u8], pins: &Pins) -> Result<Nets, Miss<'a>> {
    let mut draft = Draft::of(chunk);
    let read = draft.read(chunk);
    // A name before the place where reading stopped is the earlier error.
    let Draft { mut nets, nodes, at_centre } = draft;
    nets.pin_node.reserve_exact(nodes.len());
    let unknown = |k: usize| Miss::expected(nodes[k].name, KNOWN);
    pins.index.find_all(&nodes, &mut nets.pin_node).map_err(unknown)?;
    read?;
    if pins.offset == PinOffset::LowerLeft {
        pins.centre(&mut nets);
    }
    for pin in at_centre {
        (nets.pin_dx[pin], nets.pin_dy[pin]) = (0.0, 0.0);
    }
    Ok(nets)
}

/// The nets of a chunk, while the nodes of their pins are still names.
struct Draft<'a> {
    nets: Nets,
    nodes: Vec<Key<'a>>,
    /// The pins without an offset.
    at_centre: Vec<usize>,
}

impl<'a> Draft<'a> {
    /// Makes empty lists, with room for most chunks of that many bytes.
    fn of(chunk: &[u8]) -> Self {
        let (pins, nets) = (chunk.len() / 16, chunk.len() / 64);
        let nets = Nets {
            names: Names::with_capacity(nets, 0),
            net_start: Vec::with_capacity(nets),
            pin_dx: Vec::with_capacity(pins),
            pin_dy: Vec::with_capacity(pins),
            ..Nets::default()
        };
        Draft { nets, nodes: Vec::with_capacity(pins), at_centre: Vec::new() }
    }

    fn read(&mut self, chunk: &'a [u8]) -> Result<(), Miss<'a>> {
        let mut i = lexer::next_line(chunk);
        while !i.is_empty() {
            let (rest, (degree, name)) = net(i).map_err(unwrap_miss)?;
            i = lexer::next_line(rest);
            for k in 0..degree {
                if i.is_empty() || lexer::behind_keyword(i, "NetDegree").is_some() {
                    let what = format!("pin {} of the {degree} of net `{name}`", k + 1);
                    return Err(Miss::expected(i, what));
                }
                let (rest, (node, offset)) = pin(i).map_err(unwrap_miss)?;
                if offset.is_none() {
                    self.at_centre.push(self.nodes.len());
                }
                let (dx, dy) = offset.unwrap_or_default();
                self.nodes.push(Key::new(node));
                self.nets.pin_dx.push(dx);
                self.nets.pin_dy.push(dy);
                i = lexer::next_line(rest);
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

/// `NetDegree : pins [name]`
fn net(i: &[u8]) -> Parsed<'_, (u64, &str)> {
    let (i, ()) = lexer::keyword("NetDegree")(i)
        .map_err(|_| nom::Err::Error(Miss::expected(i, "`NetDegree`")))?;
    let (i, ()) = lexer::colon("`:`")(i)?;
    let (i, degree) = lexer::count("a number of pins")(i)?;
    let i = lexer::skip_blanks(i);
    let (i, name) = match words::first_word(i) {
        [] | [b'#', ..] => (i, ""),
        _ => lexer::name("the name of a net")(i)?,
    };
    let (i, _) = lexer::end_of_line(i)?;
    Ok((i, (degree, name)))
}

/// The name of a node, and an offset as it is written.
type Pin<'a> = (&'a [u8], Option<(f64, f64)>);

/// `node [direction] [: dx dy [anything]]`
#[inline]
fn pin(i: &[u8]) -> Parsed<'_, Pin<'_>> {
    let (i, node) = lexer::word("the name of a node")(i)?;
    let mut i = lexer::skip_blanks(i);
    if i.first().is_some_and(u8::is_ascii_alphabetic) {
        i = direction(i)?.0;
    }
    if let [b':', i @ ..] = lexer::skip_blanks(i) {
        let (i, dx) = lexer::number("an x offset")(i)?;
        let (i, dy) = lexer::number("a y offset")(i)?;
        // Some tools add the size or name of the pin.
        return Ok((lexer::skip_line(i), (node, Some((dx, dy)))));
    }
    match lexer::end_of_line(i)? {
        (i, []) => Ok((i, (node, None))),
        (_, at) => Err(nom::Err::Error(Miss::expected(at, "a direction, `:` or end of line"))),
    }
}

/// I, O or B: read, checked, and not kept, as no engine uses it.
fn direction(i: &[u8]) -> Parsed<'_, ()> {
    const WHAT: &str = "a pin direction (I, O or B)";
    match lexer::token(WHAT)(i)? {
        (rest, [b'I' | b'O' | b'B' | b'i' | b'o' | b'b']) => Ok((rest, ())),
        _ => Err(nom::Err::Error(Miss::expected(i, WHAT))),
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
    pub(super) fn parse<'a>(&self, source: Source<'a>) -> Result<(Nets, Notes<'a>), Miss<'a>> {
        let keys = ["NumNets", "NumPins"];
        let ([stated_nets, stated_pins], body) = lexer::header(source.head(), "nets", keys)?;
        if body.is_empty() && stated_nets.is_none() {
            return Err(Miss::expected(body, "`NetDegree`"));
        }
        let body = source.body(body)?;
        // The shortest net is "NetDegree 0", the shortest pin "a", each with a line's end.
        let capacity = |stated: Option<Count>, least| {
            columns::capacity(stated.map(|s| s.value), body.len(), least)
        };
        let (net_capacity, pin_capacity) = (capacity(stated_nets, 12), capacity(stated_pins, 2));
        let mut nets = NetColumns::with_capacity(net_capacity, 0, 0, pin_capacity);
        chunks::read(
            body,
            |i| chunks::at_keyword(i, "NetDegree"),
            |c| Ok((parse_chunk(c, self)?, Tally::default())),
            |parts| {
                let more: usize = parts.iter().map(|part| part.pin_node.len()).sum();
                if u32::try_from(nets.pins() + more).is_err() {
                    return Err(Miss::expected(body.held, "at most 4294967295 pins"));
                }
                let place = || Miss::expected(body.held, "names of less than 4 GiB in all");
                nets.append(&parts, |part| part).map_err(|_| place())
            },
        )?;
        let nets = nets.into_nets();
        let mut notes = Notes::default();
        Count::check(stated_nets, "nets", &[nets.len()], &mut notes)?;
        Count::check(stated_pins, "pins", &[nets.pins()], &mut notes)?;
        let short = (0..nets.len()).filter(|&e| nets.pins_of(e).len() < 2);
        notes.count(
            WarningCode::ShortNets,
            short.count(),
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
