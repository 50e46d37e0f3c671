//! LEF: sites, routing layers and library cells.
//!
//! Lengths are in millionths of a micrometre, in which the decimal numbers of LEF are whole. So
//! sums and means are exact until they are converted to the units of a DEF file.

use super::counts::Counts;
use super::edges::{EdgeRules, TypedEdge, add_table, add_types};
use super::polygon::rectangles;
use super::{LayerDirection, PinPosition, RoutingLayer};
use crate::charge::fixed::{clip, gaps};
use crate::design::{Names, NamesTooLong, Orientation, Symmetry};
use crate::grid::Rect;
use crate::text::error::Miss;
use crate::text::scan::{Language, Lef, Parsed, Read, fail, passed, quoted, unmarked};
use crate::warning::Warning;
use nom::Parser;
use nom::combinator::{opt, peek};
use nom::multi::many_till;
use nom::sequence::{separated_pair, terminated};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Millionths of a micrometre in one.
pub(super) const PER_MICRON: f64 = 1e6;

/// The content of one LEF file, or of several together.
#[derive(Debug, Default)]
pub(super) struct Library {
    pub(super) files: Vec<PathBuf>,
    /// Size of all files together.
    pub(super) bytes: u64,
    pub(super) warnings: Vec<Warning>,
    pub(super) sites: Vec<Site>,
    pub(super) layers: Vec<RoutingLayer>,
    /// Types of all layers, by name.
    pub(super) layer_types: HashMap<String, LayerType>,
    pub(super) edge_rules: EdgeRules,
    /// Statements passed over.
    pub(super) counts: Counts,
    /// Names of the macros.
    pub(super) names: Names,
    pub(super) macros: Vec<Macro>,
    /// Names of the pins of all macros, macro by macro.
    pub(super) pin_names: Names,
    pub(super) pins: Vec<Pin>,
    /// Macros of a class that is none of the language.
    pub(super) odd_classes: u64,
}

impl Library {
    /// Adds what another file holds.
    ///
    /// # Errors
    /// When names would pass 4 GiB.
    pub(super) fn append(&mut self, later: Library) -> Result<(), NamesTooLong> {
        self.names.append(&later.names)?;
        self.pin_names.append(&later.pin_names)?;
        let before = self.pins.len() as u32;
        for mut cell in later.macros {
            cell.pins = cell.pins.start + before..cell.pins.end + before;
            self.macros.push(cell);
        }
        self.pins.extend(later.pins);
        self.sites.extend(later.sites);
        for layer in later.layers {
            if !self.layers.iter().any(|known| known.name == layer.name) {
                self.layers.push(layer);
            }
        }
        self.layer_types.extend(later.layer_types);
        self.edge_rules.rules.extend(later.edge_rules.rules);
        self.edge_rules.no_default |= later.edge_rules.no_default;
        self.counts.add(&later.counts);
        self.bytes += later.bytes;
        self.odd_classes += later.odd_classes;
        Ok(())
    }

    /// Whether supply shapes on this layer are rails: it is a routing layer, or is not known.
    fn has_rails(&self, layer: &str) -> bool {
        matches!(self.layer_types.get(layer), None | Some(LayerType::Routing))
    }

    /// Returns the supplies at the bottom and the top edge of a macro: of each edge that of the
    /// widest shape on routing layers that crosses or touches it.
    pub(super) fn supplies(&self, cell: &Macro) -> [Option<Supply>; 2] {
        [false, true].map(|at_top| {
            let here = cell.rails.iter().filter(|rail| rail.at_top == at_top);
            let here = here.filter(|rail| self.has_rails(&rail.layer));
            here.max_by(|a, b| a.width.total_cmp(&b.width)).map(|rail| rail.supply)
        })
    }

    /// Returns the parts of a macro's box that its shapes on overlap layers cover, from its
    /// lower-left corner; none if these are all of the box, or it has no such shapes.
    pub(super) fn outline(&self, cell: &Macro) -> Vec<Rect> {
        let overlap = |layer: &str| match self.layer_types.get(layer) {
            Some(layer_type) => *layer_type == LayerType::Overlap,
            None => layer.eq_ignore_ascii_case("OVERLAP"),
        };
        let whole = Rect::at(0.0, 0.0, cell.width, cell.height);
        let shapes: Vec<Rect> = cell
            .overlaps
            .iter()
            .filter(|(layer, _)| overlap(layer))
            .filter_map(|(_, rect)| clip(rect, &whole))
            .collect();
        if shapes.is_empty() || whole.area() <= 0.0 {
            return Vec::new();
        }
        let outside = gaps(&shapes, &whole);
        if outside.is_empty() { Vec::new() } else { gaps(&outside, &whole) }
    }
}

/// The type of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerType {
    Routing,
    Overlap,
    Other,
}

/// A supply shape at the bottom or the top edge of a macro.
#[derive(Clone, Debug)]
pub(super) struct Rail {
    supply: Supply,
    at_top: bool,
    width: f64,
    layer: String,
}

/// A site: where cells may be placed.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    pub(super) name: String,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) symmetry: Symmetry,
    /// `CLASS PAD`.
    pub(super) pad: bool,
    /// `ROWPATTERN`: sites that make up this one, by name.
    pub(super) pattern: Vec<(String, Orientation)>,
}

/// The class of a macro (`CLASS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Class {
    /// `CORE`, and macros without a class.
    #[default]
    Core,
    /// `CORE SPACER`.
    Filler,
    /// `CORE WELLTAP`, `CORE ANTENNACELL` and `ENDCAP` of any kind: once placed, they stay.
    Physical,
    /// `BLOCK`.
    Block,
    /// `PAD` and `RING`: they stay and block the area under them.
    PadOrRing,
    /// `COVER`: fixed, and cells may lie under it.
    Cover,
}

/// A library cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Macro {
    pub(super) class: Class,
    pub(super) width: f64,
    pub(super) height: f64,
    /// `None` if the library has none.
    pub(super) symmetry: Option<Symmetry>,
    /// The name of its first site.
    pub(super) site: Option<String>,
    /// Supply shapes at its bottom and top edges.
    rails: Vec<Rail>,
    /// Obstructions that may be on overlap layers, from its lower-left corner.
    overlaps: Vec<(String, Rect)>,
    /// Types of its edges.
    pub(super) edges: Vec<TypedEdge>,
    /// Its pins, in [`Library::pins`].
    pub(super) pins: std::ops::Range<u32>,
}

impl Supply {
    pub(super) fn other(self) -> Supply {
        match self {
            Supply::Power => Supply::Ground,
            Supply::Ground => Supply::Power,
        }
    }
}

/// A supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    Power,
    Ground,
}

/// A pin of a macro.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pin {
    /// Its position, from the lower-left corner of the macro; `None` without any shape.
    pub(super) at: Option<(f64, f64)>,
    pub(super) supply: Option<Supply>,
}

/// Shapes of a pin: their bounding box, and sums of their rectangles' centres.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shapes {
    bounds: Option<Rect>,
    sum: (f64, f64),
    count: f64,
}

impl Shapes {
    /// Adds `times` rectangles that together reach over `bounds`, evenly.
    pub(super) fn add(&mut self, bounds: Rect, times: f64) {
        self.bounds = Some(self.bounds.map_or(bounds, |all| all.union(&bounds)));
        self.sum.0 += times * (bounds.xl + bounds.xh) / 2.0;
        self.sum.1 += times * (bounds.yl + bounds.yh) / 2.0;
        self.count += times;
    }

    /// Returns the pin's position.
    pub(super) fn position(&self, position: PinPosition) -> Option<(f64, f64)> {
        let bounds = self.bounds?;
        Some(match position {
            PinPosition::Center => ((bounds.xl + bounds.xh) / 2.0, (bounds.yl + bounds.yh) / 2.0),
            PinPosition::Mean => (self.sum.0 / self.count, self.sum.1 / self.count),
        })
    }
}

/// Returns the bounding box of points.
pub(super) fn bounds(points: &[(f64, f64)]) -> Option<Rect> {
    let at = |&(x, y): &(f64, f64)| Rect { xl: x, yl: y, xh: x, yh: y };
    points.iter().map(at).reduce(|a, b| a.union(&b))
}

/// Reads the text of a LEF file.
pub(super) fn parse(text: &[u8], position: PinPosition) -> Read<'_, Library> {
    let library = Library { bytes: text.len() as u64, ..Library::default() };
    let mut reader = Reader { position, library, layers: BTreeMap::new(), points: Vec::new() };
    reader.file(unmarked(text))?;
    Ok(reader.library)
}

impl Shape<'_> {
    /// Adds its rectangles, if it may be on an overlap layer.
    fn add_overlaps(&self, overlaps: &mut Vec<(String, Rect)>) {
        let layer = String::from_utf8_lossy(self.layer);
        let may_be = match self.layer_type {
            Some(layer_type) => layer_type == LayerType::Overlap,
            // Another file may define the layer.
            None => layer.to_ascii_uppercase().contains("OVERLAP"),
        };
        if may_be {
            let rects = rectangles(self.points).unwrap_or_else(|| vec![self.bounds]);
            overlaps.extend(rects.into_iter().map(|rect| (layer.to_string(), rect)));
        }
    }
}

struct Reader<'a> {
    position: PinPosition,
    library: Library,
    /// Default widths of the layers' wires, and the layers' types.
    layers: BTreeMap<&'a [u8], (f64, LayerType)>,
    /// Points of the current shape.
    points: Vec<(f64, f64)>,
}

/// A shape of a pin or an obstruction, or a pattern of alike ones.
struct Shape<'s> {
    layer: &'s [u8],
    /// `None` if this file does not define the layer.
    layer_type: Option<LayerType>,
    /// Bounding box of the pattern.
    bounds: Rect,
    /// Number of shapes in it.
    times: f64,
    /// Corners of a single rectangle or polygon; none of other shapes.
    points: &'s [(f64, f64)],
}

/// A word as a keyword, which LEF writes in any mixture of cases.
fn is(word: &[u8], keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword.as_bytes())
}

/// Returns the next word, which is empty at the end of the text.
fn word(i: &[u8]) -> Parsed<'_, &[u8]> {
    let i = Lef::skip(i);
    let (word, rest) = i.split_at(Lef::word_length(i));
    Ok((rest, word))
}

/// Passes a statement up to its `;`.
fn end(mut i: &[u8]) -> Parsed<'_, ()> {
    loop {
        let (rest, word) = passed::<Lef>(i)?;
        i = rest;
        if word == b";" {
            return Ok((i, ()));
        }
    }
}

/// Returns a parser of a value and the rest of its statement.
fn ended<'a, T>(
    value: impl Parser<&'a [u8], Output = T, Error = Miss<'a>>,
) -> impl Parser<&'a [u8], Output = T, Error = Miss<'a>> {
    terminated(value, end)
}

/// Gives a value to `take`.
fn set<'a, T>(parsed: Parsed<'a, T>, take: impl FnOnce(T)) -> Parsed<'a, ()> {
    parsed.map(|(rest, value)| (rest, take(value)))
}

/// Returns a word in capitals, cut to the length of the longest keyword, and its length.
fn capitals(word: &[u8]) -> ([u8; 32], usize) {
    let mut capitals = [0; 32];
    let length = word.len().min(capitals.len());
    capitals[..length].copy_from_slice(&word[..length]);
    capitals.make_ascii_uppercase();
    (capitals, length)
}

/// Reads the statements of a block and its `END`. `statement` gets the keyword of each in capitals,
/// the keyword itself and the text behind. `unended` is the expectation if the text ends.
fn block<'a, E: Into<Cow<'static, str>>>(
    mut i: &'a [u8],
    unended: impl Fn() -> E,
    mut statement: impl FnMut(&[u8], &'a [u8], &'a [u8]) -> Parsed<'a, ()>,
) -> Parsed<'a, ()> {
    loop {
        let at = Lef::skip(i);
        let (rest, word) = word(at)?;
        let (capitals, length) = capitals(word);
        i = match &capitals[..length] {
            b"" => return Err(nom::Err::Failure(Miss::expected(at, unended()))),
            b"END" => return Ok((rest, ())),
            b";" => rest,
            key => statement(key, word, rest)?.0,
        };
    }
}

/// Returns a parser of the name behind `END`.
fn end_of<'a>(name: &[u8]) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> {
    move |i| match word(i)? {
        (rest, found) if found == name => Ok((rest, ())),
        _ => {
            let expected = format!("`END {}`", String::from_utf8_lossy(name));
            Err(nom::Err::Failure(Miss::expected(Lef::skip(i), expected)))
        }
    }
}

/// Passes statements up to `END name`; `at` is where the block begins.
fn skip_block<'a>(at: &'a [u8], i: &'a [u8], name: &[u8]) -> Parsed<'a, ()> {
    up_to_end(at, i, name, |_, i| end(i))
}

/// Reads statements up to `END name`, past any other `END`, as [`block`] does; `at` is where the
/// block begins.
fn up_to_end<'a>(
    at: &'a [u8],
    mut i: &'a [u8],
    name: &[u8],
    mut statement: impl FnMut(&[u8], &'a [u8]) -> Parsed<'a, ()>,
) -> Parsed<'a, ()> {
    loop {
        (i, ()) = block(i, || UNENDED, |key, _, i| statement(key, i)).or_else(|e| within(e, at))?;
        let (rest, found) = word(i)?;
        i = rest;
        if found.eq_ignore_ascii_case(name) {
            return Ok((i, ()));
        }
    }
}

/// The expected text if a block is cut off.
const UNENDED: &str = "`END` and the name of what begins here";

/// Moves an error at the end of the text to `at`.
fn within<'a>(error: nom::Err<Miss<'a>>, at: &'a [u8]) -> Parsed<'a, ()> {
    let miss = Miss::from(error);
    let at = if miss.at.is_empty() { at } else { miss.at };
    Err(nom::Err::Failure(Miss { at, ..miss }))
}

/// Returns a parser of a length, in millionths of a micrometre.
fn length<'a>(what: &'static str) -> impl Parser<&'a [u8], Output = f64, Error = Miss<'a>> {
    Lef::number(what).map(|microns| (microns * PER_MICRON).round())
}

/// `x y`, or `( x y )`.
fn point(i: &[u8]) -> Parsed<'_, (f64, f64)> {
    let mut both = (length("an x coordinate"), length("a y coordinate"));
    match Lef::behind_keyword(i, "(") {
        Some(i) => terminated(both, Lef::keyword(")", "`)`")).parse(i),
        None => both.parse(i),
    }
}

/// `width BY height ;`
fn size(i: &[u8]) -> Parsed<'_, (f64, f64)> {
    let at = Lef::skip(i);
    let (width, height) = (length("a width in micrometres"), length("a height in micrometres"));
    match ended(separated_pair(width, Lef::keyword("BY", "`BY`"), height)).parse(at)? {
        (_, (width, height)) if width < 0.0 || height < 0.0 => fail(at, "a size of at least zero"),
        size => Ok(size),
    }
}

/// `{X | Y | R90} ;`
fn symmetry(i: &[u8]) -> Parsed<'_, Symmetry> {
    let (i, (words, ())) = many_till(passed::<Lef>, Lef::sign("`;`")).parse(i)?;
    let has = |key| words.iter().any(|word| is(word, key));
    Ok((i, Symmetry { x: has("X"), y: has("Y"), r90: has("R90") }))
}

/// `MICRONS units`: checked, and not kept, as lengths are in micrometres.
fn database(i: &[u8]) -> Parsed<'_, ()> {
    const WHAT: &str = "database units per micrometre";
    let (at, _) = word(i)?;
    match Lef::number(WHAT)(at)? {
        (_, units) if units < 1.0 => fail(Lef::skip(at), WHAT),
        (rest, _) => Ok((rest, ())),
    }
}

/// `{site orientation} ;`
fn row_pattern(i: &[u8]) -> Parsed<'_, Vec<(String, Orientation)>> {
    let site = Lef::name("the name of a site or `;`").map(str::to_owned);
    let lies = Lef::orientation("an orientation: N S E W FN FS FE FW");
    many_till((site, lies), Lef::sign("`;`")).map(|(sites, ())| sites).parse(i)
}

/// `x [y] ;`
fn pitch(i: &[u8]) -> Parsed<'_, [f64; 2]> {
    let number = || Lef::number("a pitch in micrometres");
    let end = Lef::sign("a second pitch or `;`");
    terminated((number(), opt(number())), end).map(|(x, y)| [x, y.unwrap_or(x)]).parse(i)
}

/// `columns BY rows STEP x y`: the number of shapes of a pattern, and from the first to the last.
fn step_pattern(i: &[u8]) -> Parsed<'_, (f64, (f64, f64))> {
    let columns = Lef::number("a number of columns");
    let rows = Lef::number("a number of rows");
    let count = separated_pair(columns, Lef::keyword("BY", "`BY`"), rows);
    let (i, ((columns, rows), (x, y))) =
        separated_pair(count, Lef::keyword("STEP", "`STEP`"), point).parse(i)?;
    Ok((i, ((columns * rows).max(1.0), ((columns - 1.0) * x, (rows - 1.0) * y))))
}

impl<'a> Reader<'a> {
    /// `{statement} [END LIBRARY]`
    fn file(&mut self, mut i: &'a [u8]) -> Read<'a, ()> {
        loop {
            let (rest, keyword) = word(i)?;
            let (capitals, length) = capitals(keyword);
            i = match &capitals[..length] {
                b"" => return Ok(()),
                b";" => rest,
                b"END" => match word(rest)? {
                    (_, name) if is(name, "LIBRARY") || name.is_empty() => return Ok(()),
                    (rest, _) => rest,
                },
                key => self.statement(key, keyword, rest)?.0,
            };
        }
    }

    fn statement(&mut self, key: &[u8], keyword: &'a [u8], i: &'a [u8]) -> Parsed<'a, ()> {
        match key {
            b"UNITS" => {
                let statement = |key: &[u8], _: &[u8], i| match key {
                    b"DATABASE" => ended(database).parse(i),
                    _ => end(i),
                };
                terminated(|i| block(i, || "`END UNITS`", statement), end_of(b"UNITS")).parse(i)
            }
            b"DESIGN" | b"COMPONENTS" => {
                fail(keyword, "a statement of LEF, and this is one of DEF")
            }
            b"SITE" => self.site(i),
            b"LAYER" => self.layer(i),
            b"MACRO" => self.library_cell(i),
            b"NONDEFAULTRULE" => {
                self.library.counts.skip("", keyword);
                self.skip_rule(keyword, i)
            }
            b"PROPERTYDEFINITIONS" => self.property_definitions(keyword, i),
            b"PROPERTY" => self.properties("", None, i),
            b"VERSION" | b"BUSBITCHARS" | b"DIVIDERCHAR" | b"NAMESCASESENSITIVE" => end(i),
            b"BEGINEXT" => up_to("ENDEXT", i),
            b"SPACING" | b"IRDROP" | b"NOISETABLE" | b"CORRECTTABLE" => {
                self.library.counts.skip("", keyword);
                skip_block(keyword, i, keyword)
            }
            b"VIA" | b"VIARULE" | b"ARRAY" => {
                self.library.counts.skip("", keyword);
                let (i, name) = word(i)?;
                skip_block(keyword, i, name)
            }
            _ => self.skip("", keyword, i),
        }
    }

    /// Passes the rest of a statement that begins with `word`, and counts it.
    fn skip(&mut self, section: &'static str, word: &[u8], i: &'a [u8]) -> Parsed<'a, ()> {
        self.library.counts.skip(section, word);
        end(i)
    }

    /// Passes a `NONDEFAULTRULE`, behind whose `END` the name may be missing; `at` is where it
    /// begins.
    fn skip_rule(&mut self, at: &'a [u8], i: &'a [u8]) -> Parsed<'a, ()> {
        let (i, name) = word(i)?;
        let (i, ()) = block(
            i,
            || UNENDED,
            |key, inner, i| match key {
                b"LAYER" | b"VIA" => {
                    let (i, name) = word(i)?;
                    skip_block(inner, i, name)
                }
                b"SPACING" => skip_block(inner, i, inner),
                _ => end(i),
            },
        )
        .or_else(|e| within(e, at))?;
        let (rest, found) = word(i)?;
        Ok((if found == name { rest } else { i }, ()))
    }

    /// Reads `PROPERTYDEFINITIONS`, which hold the properties of the library; `at` is where it
    /// begins.
    fn property_definitions(&mut self, at: &'a [u8], i: &'a [u8]) -> Parsed<'a, ()> {
        up_to_end(at, i, b"PROPERTYDEFINITIONS", |key, mut i| {
            if key == b"LIBRARY" {
                // The name, `STRING` and the value.
                let (rest, (name, _, value)) = (word, word, quoted::<Lef>).parse(i)?;
                self.property("PROPERTYDEFINITIONS", name, value.unwrap_or(&[]), None);
                i = rest;
            }
            end(i)
        })
    }

    /// `{name value} ;`
    fn properties(
        &mut self,
        section: &'static str,
        mut edges: Option<&mut Vec<TypedEdge>>,
        mut i: &'a [u8],
    ) -> Parsed<'a, ()> {
        loop {
            let (rest, name) = passed::<Lef>(i)?;
            if name == b";" {
                return Ok((rest, ()));
            }
            let (rest, value) = match quoted::<Lef>(rest)? {
                (rest, Some(text)) => (rest, text),
                _ => passed::<Lef>(rest)?,
            };
            i = rest;
            if value == b";" {
                return Ok((i, ()));
            }
            self.property(section, name, value, edges.as_deref_mut());
        }
    }

    /// Takes a property of the library, or of a macro with these edges; others are counted.
    fn property(
        &mut self,
        section: &'static str,
        name: &[u8],
        value: &[u8],
        edges: Option<&mut Vec<TypedEdge>>,
    ) {
        let understood = match edges {
            None if is(name, "LEF58_CELLEDGESPACINGTABLE") => {
                add_table(&mut self.library.edge_rules, value)
            }
            Some(edges) if is(name, "LEF58_EDGETYPE") => add_types(edges, value),
            _ => false,
        };
        if !understood {
            self.library.counts.skip(if section.is_empty() { "PROPERTY" } else { section }, name);
        }
    }

    /// `SITE name {statement} END name`
    fn site(&mut self, i: &'a [u8]) -> Parsed<'a, ()> {
        let (i, name) = Lef::name("the name of a site")(i)?;
        let none = Symmetry { x: false, y: false, r90: false };
        let mut site = Site { name: name.to_owned(), symmetry: none, ..Site::default() };
        let (i, ()) = block(
            i,
            || UNENDED,
            |key, _, i| match key {
                b"SIZE" => set(size(i), |size| (site.width, site.height) = size),
                b"SYMMETRY" => set(symmetry(i), |symmetry| site.symmetry = symmetry),
                b"CLASS" => set(ended(word).parse(i), |class| site.pad = is(class, "PAD")),
                b"ROWPATTERN" => set(row_pattern(i), |pattern| site.pattern = pattern),
                _ => end(i),
            },
        )?;
        self.library.sites.push(site);
        end_of(name.as_bytes())(i)
    }

    /// `LAYER name {statement} END name`
    fn layer(&mut self, i: &'a [u8]) -> Parsed<'a, ()> {
        let (i, name) = Lef::name("the name of a layer")(i)?;
        let (mut layer_type, mut direction) = (LayerType::Other, LayerDirection::Unknown);
        let (mut pitch, mut width) = ([0.0; 2], 0.0);
        let (i, ()) = block(
            i,
            || UNENDED,
            |key, keyword, i| match key {
                b"TYPE" => set(ended(word).parse(i), |of| {
                    layer_type = match of {
                        of if is(of, "ROUTING") => LayerType::Routing,
                        of if is(of, "OVERLAP") => LayerType::Overlap,
                        _ => LayerType::Other,
                    }
                }),
                b"DIRECTION" => set(ended(word).parse(i), |of| {
                    direction = match of {
                        of if is(of, "HORIZONTAL") => LayerDirection::Horizontal,
                        of if is(of, "VERTICAL") => LayerDirection::Vertical,
                        _ => LayerDirection::Unknown,
                    }
                }),
                b"PITCH" => set(self::pitch(i), |of| pitch = of),
                b"WIDTH" => {
                    set(ended(Lef::number("a width in micrometres")).parse(i), |of| width = of)
                }
                _ => self.skip("LAYER", keyword, i),
            },
        )?;
        self.layers.insert(name.as_bytes(), ((width * PER_MICRON).round(), layer_type));
        self.library.layer_types.insert(name.to_owned(), layer_type);
        if layer_type == LayerType::Routing {
            let name = name.to_owned();
            self.library.layers.push(RoutingLayer { name, direction, pitch, width });
        }
        end_of(name.as_bytes())(i)
    }

    /// `MACRO name {statement} END name`
    fn library_cell(&mut self, i: &'a [u8]) -> Parsed<'a, ()> {
        let (i, name) = Lef::name("the name of a macro")(i)?;
        let first = self.library.pins.len() as u32;
        let mut cell = Macro::default();
        let mut origin = (0.0, 0.0);
        let mut rails: Vec<(Rail, Rect)> = Vec::new();
        let mut overlaps: Vec<(String, Rect)> = Vec::new();
        let (i, ()) = block(
            i,
            || format!("`END {name}`"),
            |key, keyword, i| match key {
                b"PIN" => self.pin(&mut rails, i),
                b"OBS" => self.shapes(&mut |shape| shape.add_overlaps(&mut overlaps), i),
                b"PROPERTY" => self.properties("MACRO", Some(&mut cell.edges), i),
                b"SIZE" => set(size(i), |size| (cell.width, cell.height) = size),
                b"ORIGIN" => set(ended(point).parse(i), |at| origin = at),
                b"CLASS" => {
                    set(ended((word, peek(word))).parse(i), |of| cell.class = self.class(of))
                }
                b"SYMMETRY" => set(symmetry(i), |symmetry| cell.symmetry = Some(symmetry)),
                b"SITE" => set(ended(Lef::name("the name of a site")).parse(i), |site| {
                    cell.site.get_or_insert_with(|| site.to_owned());
                }),
                b"DENSITY" | b"TIMING" => {
                    self.library.counts.skip("MACRO", keyword);
                    let (i, ()) = up_to("END", i)?;
                    if key == b"TIMING" { end_of(b"TIMING")(i) } else { Ok((i, ())) }
                }
                _ => self.skip("MACRO", keyword, i),
            },
        )?;
        let last = self.library.pins.len() as u32;
        for pin in &mut self.library.pins[first as usize..] {
            pin.at = pin.at.map(|(x, y)| (x + origin.0, y + origin.1));
        }
        cell.pins = first..last;
        for (rail, at) in rails {
            for (at_top, y) in [(false, -origin.1), (true, cell.height - origin.1)] {
                if at.yl <= y && at.yh >= y {
                    cell.rails.push(Rail { at_top, ..rail.clone() });
                }
            }
        }
        let (x, y) = origin;
        let moved = |r: Rect| Rect { xl: r.xl + x, yl: r.yl + y, xh: r.xh + x, yh: r.yh + y };
        cell.overlaps = overlaps.into_iter().map(|(layer, rect)| (layer, moved(rect))).collect();
        self.library.names.push(name);
        self.library.macros.push(cell);
        end_of(name.as_bytes())(i)
    }

    /// Returns the class of these two words.
    fn class(&mut self, (class, kind): (&[u8], &[u8])) -> Class {
        match class {
            w if is(w, "CORE") => match kind {
                w if is(w, "SPACER") => Class::Filler,
                w if is(w, "WELLTAP") || is(w, "ANTENNACELL") => Class::Physical,
                _ => Class::Core,
            },
            w if is(w, "ENDCAP") => Class::Physical,
            w if is(w, "BLOCK") => Class::Block,
            w if is(w, "COVER") => Class::Cover,
            w => {
                let known = is(w, "PAD") || is(w, "RING");
                self.library.odd_classes += u64::from(!known);
                Class::PadOrRing
            }
        }
    }

    /// `PIN name {statement} END name`
    fn pin(&mut self, rails: &mut Vec<(Rail, Rect)>, i: &'a [u8]) -> Parsed<'a, ()> {
        let (i, name) = Lef::name("the name of a pin")(i)?;
        let (mut shapes, mut supply, mut has_use) = (Shapes::default(), None, false);
        let before = rails.len();
        let (i, ()) = block(
            i,
            || format!("`END {name}`"),
            |key, keyword, i| match key {
                b"PORT" => {
                    let mut take = |shape: Shape<'_>| {
                        shapes.add(shape.bounds, shape.times);
                        // Signal pins are taken out again.
                        if supply.is_some() || !has_use {
                            let (supply, width) = (Supply::Power, shape.bounds.width());
                            let layer = String::from_utf8_lossy(shape.layer).into_owned();
                            rails
                                .push((Rail { supply, at_top: false, width, layer }, shape.bounds));
                        }
                    };
                    self.shapes(&mut take, i)
                }
                b"USE" => set(ended(word).parse(i), |of| {
                    has_use = true;
                    supply = match of {
                        of if is(of, "POWER") => Some(Supply::Power),
                        of if is(of, "GROUND") => Some(Supply::Ground),
                        _ => None,
                    };
                }),
                _ => self.skip("PIN", keyword, i),
            },
        )?;
        match supply {
            Some(supply) => rails[before..].iter_mut().for_each(|rail| rail.0.supply = supply),
            None => rails.truncate(before),
        }
        self.library.pin_names.push(name);
        self.library.pins.push(Pin { at: shapes.position(self.position), supply });
        end_of(name.as_bytes())(i)
    }

    /// Gives `take` the shapes of a `PORT` or of `OBS`, to its `END`.
    fn shapes(&mut self, take: &mut dyn FnMut(Shape<'_>), i: &'a [u8]) -> Parsed<'a, ()> {
        let mut width = 0.0;
        let (mut layer, mut layer_type): (&[u8], _) = (&[], None);
        block(
            i,
            || "`END`",
            |key, _, i| match key {
                b"RECT" | b"POLYGON" | b"PATH" => {
                    let around = if key == b"PATH" { width / 2.0 } else { 0.0 };
                    set(self.shape(around, i), |shape| {
                        let Some((bounds, times)) = shape else { return };
                        let single = key != b"PATH" && times == 1.0;
                        let points = if single { &self.points[..] } else { &[] };
                        take(Shape { layer, layer_type, bounds, times, points });
                    })
                }
                b"LAYER" => set(ended(word).parse(i), |name| {
                    layer = name;
                    let known = self.layers.get(name).copied();
                    (width, layer_type) =
                        known.map_or((0.0, None), |(width, of)| (width, Some(of)));
                }),
                b"WIDTH" => set(ended(length("a width in micrometres")).parse(i), |of| width = of),
                _ => end(i),
            },
        )
    }

    /// `[MASK n] [ITERATE] {point} [DO step_pattern] ;`: the bounding box of a shape or a pattern,
    /// `around` wider on each side, and the number of shapes in it.
    fn shape(&mut self, around: f64, mut i: &'a [u8]) -> Parsed<'a, Option<(Rect, f64)>> {
        self.points.clear();
        let (mut times, mut reach) = (1.0, (0.0, 0.0));
        loop {
            if let [b';', rest @ ..] = Lef::skip(i) {
                i = rest;
                break;
            }
            i = if let Some(i) = Lef::behind_keyword(i, "MASK") {
                word(i)?.0
            } else if let Some(i) = Lef::behind_keyword(i, "ITERATE") {
                i
            } else if let Some(i) = Lef::behind_keyword(i, "DO") {
                set(step_pattern(i), |pattern| (times, reach) = pattern)?.0
            } else if Lef::skip(i).is_empty() {
                return fail(Lef::skip(i), "`;` at the end of a statement");
            } else {
                set(point(i), |point| self.points.push(point))?.0
            };
        }
        let (x, y) = reach;
        let shape = bounds(&self.points).map(|r| {
            let far = Rect { xl: r.xl + x, yl: r.yl + y, xh: r.xh + x, yh: r.yh + y };
            let Rect { xl, yl, xh, yh } = r.union(&far);
            let [xl, yl] = [xl, yl].map(|low| low - around);
            let [xh, yh] = [xh, yh].map(|high| high + around);
            (Rect { xl, yl, xh, yh }, times)
        });
        Ok((i, shape))
    }
}

/// Passes words up to this one.
fn up_to<'a>(last: &str, mut i: &'a [u8]) -> Parsed<'a, ()> {
    loop {
        let (rest, word) = passed::<Lef>(i)?;
        i = rest;
        if is(word, last) {
            return Ok((i, ()));
        }
    }
}
