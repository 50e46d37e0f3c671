//! `.nets`: nets and their pins.
//!
//! `NetDegree : pins [name]`, then as many lines `node [I | O | B] [: dx dy]`. A pin without offset
//! is at its node's centre.

use super::chunks::{self, Source};
use super::error::{BookshelfError, Miss};
use super::lexer::{self, Count, Parsed, unwrap_miss};
use super::notes::{Notes, Tally};
use super::pl::KNOWN;
use crate::design::{Names, Nets, Nodes};
use crate::text::columns::{self, Column, NameColumn};
use crate::text::index::{Key, NameIndex};
use crate::text::words;
use crate::warning::{Warning, WarningCode};
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

/// The content of a `.nets` file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetsFile {
    /// Nets in file order, each of weight 1.
    pub nets: Nets,
    /// Warnings of things passed over.
    pub warnings: Vec<Warning>,
}

/// Reads a `.nets` file's text; `path` is for messages.
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
) -> Result<NetsFile, BookshelfError> {
    let pins = Pins::of(nodes, index, offset);
    let (nets, notes) = pins.parse(Source::Held(text)).map_err(|miss| miss.locate(path, text))?;
    Ok(NetsFile { nets, warnings: notes.warnings(path, text) })
}

/// Inputs of reading a pin.
pub(super) struct Pins<'n> {
    nodes: &'n Nodes,
    index: &'n NameIndex<'n>,
    offset: PinOffset,
}

fn parse<'a>(source: Source<'a>, pins: &Pins) -> Result<(Nets, Notes<'a>), Miss<'a>> {
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
    let mut names = NameColumn::with_capacity(net_capacity, 0);
    let (mut start, mut pin_node) =
        (Column::with_capacity(net_capacity + 1), Column::with_capacity(pin_capacity));
    let [mut pin_dx, mut pin_dy] = [(); 2].map(|()| Column::with_capacity(pin_capacity));
    start.append(&[[0]], |first| first);
    chunks::read(
        body,
        |i| chunks::at_keyword(i, "NetDegree"),
        |c| Ok((parse_chunk(c, pins)?, Tally::default())),
        |parts| {
            let mut pins = pin_node.len();
            let more: usize = parts.iter().map(|part| part.pin_node.len()).sum();
            if u32::try_from(pins + more).is_err() {
                return Err(Miss::expected(body.held, "at most 4294967295 pins"));
            }
            let place = || Miss::expected(body.held, "names of less than 4 GiB in all");
            names.append(&parts, |part| &part.names).map_err(|_| place())?;
            let before = |part: &Nets| {
                let before = pins as u32;
                pins += part.pin_node.len();
                before
            };
            start.append_changed(&parts, |part| &part.net_start, before, |pins, end| pins + end);
            pin_node.append(&parts, |part| &part.pin_node);
            pin_dx.append(&parts, |part| &part.pin_dx);
            pin_dy.append(&parts, |part| &part.pin_dy);
            Ok(())
        },
    )?;
    let nets = Nets {
        weight: vec![1.0; start.len() - 1],
        names: names.into_names(),
        net_start: start.into_vec(),
        pin_node: pin_node.into_vec(),
        pin_dx: pin_dx.into_vec(),
        pin_dy: pin_dy.into_vec(),
    };
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
        parse(source, self)
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
    use crate::design::NodeKind;

    fn nodes() -> Nodes {
        let mut names = Names::default();
        ["a", "b|c", "d"].iter().for_each(|n| names.push(n));
        let kind = vec![NodeKind::Movable; 3];
        let (width, height) = (vec![10.0, 20.0, 30.0], vec![4.0, 6.0, 8.0]);
        Nodes { names, width, height, kind, ..Nodes::default() }
    }

    fn read(text: &str, offset: PinOffset) -> Result<NetsFile, String> {
        let nodes = nodes();
        let index = NameIndex::new(&nodes.names);
        parse_nets(text.as_bytes(), Path::new("d.nets"), &nodes, &index, offset)
            .map_err(|e| e.to_string())
    }

    const DIALECTS: &str = "UCLA nets 1.0\r\n# c\r\nNumPins : 6\r\nNumNets : 3\r\n\
        NetDegree : 2   n0\r\n\ta\tI : -1.5\t-6e0\r\n\td O: 2 3\r\n\r\n\
        netdegree: 3 # unnamed\r\n b|c B \r\n# c\r\n a\r\n d I : 0.0 0.0 : 0.06 4.38 X.0\r\n\
        NetDegree : 1 n0\r\nb|c : 1 1";

    #[test]
    fn net_and_pin_line_variants_are_read() {
        let NetsFile { nets, warnings } = read(DIALECTS, PinOffset::Center).unwrap();
        assert_eq!(nets.names.iter().collect::<Vec<_>>(), ["n0", "", "n0"]);
        assert_eq!(nets.net_start, [0, 2, 5, 6]);
        assert_eq!(nets.pin_node, [0, 2, 1, 0, 2, 1]);
        assert_eq!(nets.pin_dx, [-1.5, 2.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(nets.pin_dy, [-6.0, 3.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(nets.weight, [1.0; 3]);
        assert_eq!(warnings, ["d.nets: 1 nets have fewer than two pins and no wirelength"]);
    }

    #[test]
    fn lower_left_offsets_are_moved_to_the_centre() {
        let NetsFile { nets, .. } = read(DIALECTS, PinOffset::LowerLeft).unwrap();
        assert_eq!(nets.pin_dx, [-6.5, -13.0, 0.0, 0.0, -15.0, -9.0]);
        assert_eq!(nets.pin_dy, [-8.0, -1.0, 0.0, 0.0, -4.0, -2.0]);
    }

    #[test]
    fn nets_without_pins_and_pins_twice_are_kept() {
        let nets =
            read("NetDegree : 0 e\nNetDegree : 2 f\na I\na I\n", PinOffset::Center).unwrap().nets;
        assert_eq!((nets.net_start, nets.pin_node), (vec![0, 0, 2], vec![0, 0]));
        assert_eq!(read("NumNets : 0\n", PinOffset::Center).unwrap().nets.net_start, [0]);
        let fewer = read("NumPins : 1\nNetDegree : 2\na\nd\n", PinOffset::Center).unwrap();
        let warning = "d.nets: 1 pins more than the header counts (counted on line 1: `1`)";
        assert_eq!(fewer.nets.pins(), 2);
        assert_eq!(fewer.warnings, [warning]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("", "1:1: expected `NetDegree`, found end of file"),
            ("a I : 1 1\n", "1:1: expected `NetDegree`, found `a`"),
            ("NetDegree : 1\na I\nd I\n", "3:1: expected `NetDegree`, found `d`"),
            (
                "NetDegree : 2 n\na I\n",
                "3:1: expected pin 2 of the 2 of net `n`, found end of file",
            ),
            (
                "NetDegree : 2 n\na I : 1 0",
                "2:10: expected pin 2 of the 2 of net `n`, found end of file",
            ),
            (
                "NetDegree : 2 n\na I\nNetDegree : 0\n",
                "3:1: expected pin 2 of the 2 of net `n`, found `NetDegree`",
            ),
            (
                "NetDegree : 1000000000000\na I\n",
                "3:1: expected pin 2 of the 1000000000000 of net ``, found end of file",
            ),
            ("NetDegree : -1\n", "1:13: expected a number of pins, found `-1`"),
            (
                "NetDegree : 1\nq I\n",
                "2:1: expected a node that the .nodes file describes, found `q`",
            ),
            ("NetDegree : 1\na I : x 1\n", "2:7: expected an x offset, found `x`"),
            ("NetDegree : 1\na I : 1", "2:8: expected a y offset, found end of file"),
            ("NetDegree : 1\na I : 1 nan\n", "2:9: expected a y offset, found `nan`"),
            ("NetDegree : 1\na X : 1 1\n", "2:3: expected a pin direction (I, O or B), found `X`"),
            ("NetDegree : 1\na 1 1\n", "2:3: expected a direction, `:` or end of line, found `1`"),
            ("NumNets : 2\nNetDegree : 0\n", "1:11: expected 2 nets as the header counts, found 1"),
            (
                "NumPins : 2\nNetDegree : 1\na\n",
                "1:11: expected 2 pins as the header counts, found 1",
            ),
        ];
        for (text, want) in cases {
            let got = read(text, PinOffset::Center).unwrap_err();
            assert_eq!(got, format!("d.nets:{want}"));
        }
    }
}
