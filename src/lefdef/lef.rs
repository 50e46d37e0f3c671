//! LEF: sites, routing layers and library cells.
//!
//! Lengths are held in millionths of a micrometre, in which the decimal numbers of LEF are whole:
//! sums and means stay exact until it is put into the units of a DEF file.

use super::counts::Counts;
use super::edges::{EdgeRules, TypedEdge, add_table, add_types};
use super::polygon::rectangles;
use super::{LayerDirection, PinPosition, RoutingLayer};
use crate::charge::fixed::{clip, gaps};
use crate::design::{Names, NamesTooLong, Orientation, Symmetry};
use crate::grid::Rect;
use crate::text::error::Miss;
use crate::text::scan::{Lef, Read, Scanner, unmarked};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// Millionths of a micrometre in one.
pub(super) const PER_MICRON: f64 = 1e6;

/// The content of one LEF file, or of several together.
#[derive(Debug, Default)]
pub(super) struct Library {
    /// `DATABASE MICRONS`.
    pub(super) units: Option<f64>,
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
    /// Names of the pins of all macros, those of one after those of the other.
    pub(super) pin_names: Names,
    pub(super) pins: Vec<Pin>,
    /// Shapes of obstructions.
    pub(super) obstructions: u64,
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
        self.macros.extend(
            later.macros.into_iter().map(|cell| Macro {
                pins: cell.pins.start + before..cell.pins.end + before,
                ..cell
            }),
        );
        self.pins.extend(later.pins);
        self.units = self.units.or(later.units);
        self.sites.extend(later.sites);
        self.layers.extend(later.layers);
        self.layer_types.extend(later.layer_types);
        self.edge_rules.rules.extend(later.edge_rules.rules);
        self.edge_rules.no_default |= later.edge_rules.no_default;
        self.counts.add(&later.counts);
        self.obstructions += later.obstructions;
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
    let mut reader = Reader {
        lexer: Scanner::new(unmarked(text)),
        position,
        library: Library::default(),
        layers: BTreeMap::new(),
        points: Vec::new(),
    };
    reader.file()?;
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
    lexer: Scanner<'a, Lef>,
    position: PinPosition,
    library: Library,
    /// Default widths of the layers' wires, and the layers' types.
    layers: BTreeMap<&'a [u8], (f64, LayerType)>,
    /// Points of the shape at hand.
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

/// What is expected where a block is cut off.
const UNENDED: &str = "`END` and the name of what begins here";

/// A word as a keyword, which LEF writes in any mixture of cases.
fn is(word: &[u8], keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword.as_bytes())
}

impl<'a> Reader<'a> {
    fn file(&mut self) -> Read<'a, ()> {
        loop {
            let at = self.lexer.peek();
            match self.lexer.word() {
                [] => return Ok(()),
                b";" => {}
                w if is(w, "END") => {
                    let name = self.lexer.word();
                    if is(name, "LIBRARY") || name.is_empty() {
                        return Ok(());
                    }
                }
                w if is(w, "UNITS") => self.units()?,
                w if is(w, "DESIGN") || is(w, "COMPONENTS") => {
                    return Err(Miss::expected(at, "a statement of LEF, and this is one of DEF"));
                }
                w if is(w, "SITE") => self.site()?,
                w if is(w, "LAYER") => self.layer()?,
                w if is(w, "MACRO") => self.library_cell()?,
                w if is(w, "NONDEFAULTRULE") => {
                    self.library.counts.skip("", w);
                    self.skip_rule(at)?;
                }
                w if is(w, "PROPERTYDEFINITIONS") => self.property_definitions(at, w)?,
                w if is(w, "PROPERTY") => self.properties("", None)?,
                w if ["VERSION", "BUSBITCHARS", "DIVIDERCHAR", "NAMESCASESENSITIVE"]
                    .iter()
                    .any(|key| is(w, key)) =>
                {
                    self.lexer.end_statement()?;
                }
                w if is(w, "BEGINEXT") => while !is(self.lexer.passed()?, "ENDEXT") {},
                w if ["SPACING", "IRDROP", "NOISETABLE", "CORRECTTABLE"]
                    .iter()
                    .any(|key| is(w, key)) =>
                {
                    self.library.counts.skip("", w);
                    self.skip_block(at, w)?;
                }
                w if ["VIA", "VIARULE", "ARRAY"].iter().any(|key| is(w, key)) => {
                    self.library.counts.skip("", w);
                    let name = self.lexer.word();
                    self.skip_block(at, name)?;
                }
                w => self.skip_statement("", w)?,
            }
        }
    }

    /// Passes the rest of a statement that begins with `word`, and counts it.
    fn skip_statement(&mut self, section: &'static str, word: &[u8]) -> Read<'a, ()> {
        self.library.counts.skip(section, word);
        self.lexer.end_statement()
    }

    /// Reads `PROPERTYDEFINITIONS`, which hold the properties of the library; `at` is where it
    /// begins.
    fn property_definitions(&mut self, at: &'a [u8], section: &[u8]) -> Read<'a, ()> {
        loop {
            match self.lexer.word() {
                [] => return Err(Miss::expected(at, UNENDED)),
                w if is(w, "END") => {
                    if self.lexer.word().eq_ignore_ascii_case(section) {
                        return Ok(());
                    }
                }
                w if is(w, "LIBRARY") => {
                    let name = self.lexer.word();
                    // `STRING` and the value.
                    self.lexer.word();
                    let value = self.lexer.quoted()?;
                    self.property("PROPERTYDEFINITIONS", name, value.unwrap_or(&[]), None);
                    self.lexer.end_statement()?;
                }
                b";" => {}
                _ => self.lexer.end_statement()?,
            }
        }
    }

    /// Reads the names and values of a `PROPERTY`, behind the keyword.
    fn properties(
        &mut self,
        section: &'static str,
        mut edges: Option<&mut Vec<TypedEdge>>,
    ) -> Read<'a, ()> {
        loop {
            let name = self.lexer.passed()?;
            if name == b";" {
                return Ok(());
            }
            let value = match self.lexer.quoted()? {
                Some(text) => text,
                None => match self.lexer.passed()? {
                    b";" => return Ok(()),
                    word => word,
                },
            };
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

    /// Passes statements up to `END name`; `at` is where the block begins.
    fn skip_block(&mut self, at: &'a [u8], name: &[u8]) -> Read<'a, ()> {
        loop {
            match self.lexer.word() {
                [] => return Err(Miss::expected(at, UNENDED)),
                w if is(w, "END") => {
                    if self.lexer.word().eq_ignore_ascii_case(name) {
                        return Ok(());
                    }
                }
                b";" => {}
                _ => self.lexer.end_statement()?,
            }
        }
    }

    /// Passes a `NONDEFAULTRULE`, behind whose `END` the name may be missing; `at` is where it
    /// begins.
    fn skip_rule(&mut self, at: &'a [u8]) -> Read<'a, ()> {
        let name = self.lexer.word();
        loop {
            let inner = self.lexer.peek();
            match self.lexer.word() {
                [] => return Err(Miss::expected(at, UNENDED)),
                w if is(w, "END") => {
                    self.lexer.passes(name);
                    return Ok(());
                }
                w if is(w, "LAYER") || is(w, "VIA") => {
                    let name = self.lexer.word();
                    self.skip_block(inner, name)?;
                }
                w if is(w, "SPACING") => self.skip_block(inner, w)?,
                b";" => {}
                _ => self.lexer.end_statement()?,
            }
        }
    }

    /// Returns the first word of the next statement of a block, `None` at its `END`; an error where
    /// the text ends before it, which says what is expected then.
    fn inside<E: Into<Cow<'static, str>>>(
        &mut self,
        expected: impl FnOnce() -> E,
    ) -> Read<'a, Option<&'a [u8]>> {
        let at = self.lexer.peek();
        match self.lexer.word() {
            [] => Err(Miss::expected(at, expected())),
            w if is(w, "END") => Ok(None),
            w => Ok(Some(w)),
        }
    }

    /// The rest of `END name`.
    fn end_of(&mut self, name: &[u8]) -> Read<'a, ()> {
        let at = self.lexer.peek();
        if self.lexer.word() == name {
            return Ok(());
        }
        Err(Miss::expected(at, format!("`END {}`", String::from_utf8_lossy(name))))
    }

    /// Reads a length, in millionths of a micrometre.
    fn length(&mut self, what: &'static str) -> Read<'a, f64> {
        Ok((self.lexer.number(what)? * PER_MICRON).round())
    }

    fn units(&mut self) -> Read<'a, ()> {
        while let Some(word) = self.inside(|| "`END UNITS`")? {
            if is(word, "DATABASE") {
                self.lexer.word();
                let at = self.lexer.peek();
                let units = self.lexer.number("database units per micrometre")?;
                if units < 1.0 {
                    return Err(Miss::expected(at, "database units per micrometre"));
                }
                self.library.units = Some(units);
            }
            self.lexer.end_statement()?;
        }
        self.end_of(b"UNITS")
    }

    /// `SIZE w BY h`, behind the keyword.
    fn size(&mut self) -> Read<'a, (f64, f64)> {
        let at = self.lexer.peek();
        let width = self.length("a width in micrometres")?;
        self.lexer.word();
        let height = self.length("a height in micrometres")?;
        self.lexer.end_statement()?;
        if width < 0.0 || height < 0.0 {
            return Err(Miss::expected(at, "a size of at least zero"));
        }
        Ok((width, height))
    }

    fn symmetry(&mut self) -> Read<'a, Symmetry> {
        let mut symmetry = Symmetry { x: false, y: false, r90: false };
        loop {
            match self.lexer.passed()? {
                b";" => return Ok(symmetry),
                w if is(w, "X") => symmetry.x = true,
                w if is(w, "Y") => symmetry.y = true,
                w if is(w, "R90") => symmetry.r90 = true,
                _ => {}
            }
        }
    }

    fn site(&mut self) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a site")?;
        let mut site = Site {
            name: name.to_owned(),
            symmetry: Symmetry { x: false, y: false, r90: false },
            ..Site::default()
        };
        while let Some(word) = self.inside(|| UNENDED)? {
            match word {
                w if is(w, "SIZE") => (site.width, site.height) = self.size()?,
                w if is(w, "SYMMETRY") => site.symmetry = self.symmetry()?,
                w if is(w, "CLASS") => {
                    site.pad = is(self.lexer.word(), "PAD");
                    self.lexer.end_statement()?;
                }
                w if is(w, "ROWPATTERN") => {
                    while !self.lexer.passes(b";") {
                        let part = self.lexer.name("the name of a site or `;`")?;
                        site.pattern.push((part.to_owned(), self.lexer.orientation()?));
                    }
                }
                _ => self.lexer.end_statement()?,
            }
        }
        self.end_of(name.as_bytes())?;
        self.library.sites.push(site);
        Ok(())
    }

    fn layer(&mut self) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a layer")?;
        let (mut layer_type, mut direction) = (LayerType::Other, LayerDirection::Unknown);
        let (mut pitch, mut width) = ([0.0; 2], 0.0);
        while let Some(word) = self.inside(|| UNENDED)? {
            match word {
                w if is(w, "TYPE") => {
                    layer_type = match self.lexer.word() {
                        w if is(w, "ROUTING") => LayerType::Routing,
                        w if is(w, "OVERLAP") => LayerType::Overlap,
                        _ => LayerType::Other,
                    };
                }
                w if is(w, "DIRECTION") => {
                    direction = match self.lexer.word() {
                        w if is(w, "HORIZONTAL") => LayerDirection::Horizontal,
                        w if is(w, "VERTICAL") => LayerDirection::Vertical,
                        _ => LayerDirection::Unknown,
                    };
                }
                w if is(w, "PITCH") => {
                    let x = self.lexer.number("a pitch in micrometres")?;
                    let one = self.lexer.peek().first() == Some(&b';');
                    pitch = [x, if one { x } else { self.lexer.number("a pitch in micrometres")? }];
                }
                w if is(w, "WIDTH") => width = self.lexer.number("a width in micrometres")?,
                b";" => continue,
                w => self.library.counts.skip("LAYER", w),
            }
            self.lexer.end_statement()?;
        }
        self.end_of(name.as_bytes())?;
        self.layers.insert(name.as_bytes(), ((width * PER_MICRON).round(), layer_type));
        self.library.layer_types.insert(name.to_owned(), layer_type);
        if layer_type == LayerType::Routing {
            let name = name.to_owned();
            self.library.layers.push(RoutingLayer { name, direction, pitch, width });
        }
        Ok(())
    }

    fn library_cell(&mut self) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a macro")?;
        let first = self.library.pins.len() as u32;
        let mut cell = Macro::default();
        let mut origin = (0.0, 0.0);
        let mut rails: Vec<(Rail, Rect)> = Vec::new();
        let mut overlaps: Vec<(String, Rect)> = Vec::new();
        while let Some(word) = self.inside(|| format!("`END {name}`"))? {
            match word {
                w if is(w, "PIN") => self.pin(&mut rails)?,
                w if is(w, "OBS") => {
                    let count = self.shapes(&mut |shape| shape.add_overlaps(&mut overlaps))?;
                    self.library.obstructions += count;
                }
                w if is(w, "PROPERTY") => self.properties("MACRO", Some(&mut cell.edges))?,
                w if is(w, "SIZE") => (cell.width, cell.height) = self.size()?,
                w if is(w, "ORIGIN") => {
                    origin = self.pair()?;
                    self.lexer.end_statement()?;
                }
                w if is(w, "CLASS") => {
                    cell.class = self.class();
                    self.lexer.end_statement()?;
                }
                w if is(w, "SYMMETRY") => cell.symmetry = Some(self.symmetry()?),
                w if is(w, "SITE") => {
                    let site = self.lexer.name("the name of a site")?;
                    cell.site.get_or_insert_with(|| site.to_owned());
                    self.lexer.end_statement()?;
                }
                w if is(w, "DENSITY") || is(w, "TIMING") => {
                    self.library.counts.skip("MACRO", w);
                    while !is(self.lexer.passed()?, "END") {}
                    if is(w, "TIMING") {
                        self.end_of(b"TIMING")?;
                    }
                }
                b";" => {}
                w => self.skip_statement("MACRO", w)?,
            }
        }
        self.end_of(name.as_bytes())?;
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
        Ok(())
    }

    /// Returns the class after `CLASS`.
    fn class(&mut self) -> Class {
        match self.lexer.word() {
            w if is(w, "CORE") => match self.lexer.word_ahead() {
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

    fn pin(&mut self, rails: &mut Vec<(Rail, Rect)>) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a pin")?;
        let (mut shapes, mut supply, mut has_use) = (Shapes::default(), None, false);
        let before = rails.len();
        while let Some(word) = self.inside(|| format!("`END {name}`"))? {
            match word {
                w if is(w, "PORT") => {
                    self.shapes(&mut |shape| {
                        shapes.add(shape.bounds, shape.times);
                        // Signal pins are taken out again.
                        if supply.is_some() || !has_use {
                            let (supply, width) = (Supply::Power, shape.bounds.width());
                            let layer = String::from_utf8_lossy(shape.layer).into_owned();
                            let rail = Rail { supply, at_top: false, width, layer };
                            rails.push((rail, shape.bounds));
                        }
                    })?;
                }
                w if is(w, "USE") => {
                    has_use = true;
                    supply = match self.lexer.word() {
                        w if is(w, "POWER") => Some(Supply::Power),
                        w if is(w, "GROUND") => Some(Supply::Ground),
                        _ => None,
                    };
                    self.lexer.end_statement()?;
                }
                b";" => {}
                w => self.skip_statement("PIN", w)?,
            }
        }
        self.end_of(name.as_bytes())?;
        match supply {
            Some(supply) => rails[before..].iter_mut().for_each(|rail| rail.0.supply = supply),
            None => rails.truncate(before),
        }
        self.library.pin_names.push(name);
        self.library.pins.push(Pin { at: shapes.position(self.position), supply });
        Ok(())
    }

    /// Passes the shapes of a `PORT` or of `OBS`, to its `END`; returns the number of their
    /// statements.
    fn shapes(&mut self, take: &mut dyn FnMut(Shape<'_>)) -> Read<'a, u64> {
        let (mut count, mut width) = (0, 0.0);
        let (mut layer, mut layer_type): (&[u8], _) = (&[], None);
        while let Some(word) = self.inside(|| "`END`")? {
            match word {
                w if is(w, "RECT") || is(w, "POLYGON") || is(w, "PATH") => {
                    count += 1;
                    let around = is(w, "PATH").then_some(width / 2.0);
                    if let Some((bounds, times)) = self.shape(around.unwrap_or(0.0))? {
                        let single = around.is_none() && times == 1.0;
                        let points = if single { &self.points[..] } else { &[] };
                        take(Shape { layer, layer_type, bounds, times, points });
                    }
                    continue;
                }
                w if is(w, "LAYER") => {
                    layer = self.lexer.word();
                    let known = self.layers.get(layer).copied();
                    (width, layer_type) =
                        known.map_or((0.0, None), |(width, of)| (width, Some(of)));
                }
                w if is(w, "WIDTH") => width = self.length("a width in micrometres")?,
                b";" => continue,
                _ => {}
            }
            self.lexer.end_statement()?;
        }
        Ok(count)
    }

    /// Reads the points of a shape, behind its keyword, and its pattern. Returns the pattern's
    /// bounding box, `around` wider on each side, and the number of shapes in it.
    fn shape(&mut self, around: f64) -> Read<'a, Option<(Rect, f64)>> {
        self.points.clear();
        let (mut times, mut reach) = (1.0, (0.0, 0.0));
        loop {
            let at = self.lexer.peek();
            match self.lexer.word() {
                b";" => break,
                b"(" | b")" => {}
                w if is(w, "MASK") => drop(self.lexer.word()),
                w if is(w, "ITERATE") => {}
                w if is(w, "DO") => {
                    let columns = self.lexer.number("a number of columns")?;
                    self.lexer.word();
                    let rows = self.lexer.number("a number of rows")?;
                    self.lexer.word();
                    let step = self.pair()?;
                    times = (columns * rows).max(1.0);
                    reach = ((columns - 1.0) * step.0, (rows - 1.0) * step.1);
                }
                [] => return Err(Miss::expected(at, "`;` at the end of a statement")),
                _ => {
                    // Not a keyword: back to the coordinate.
                    self.lexer.back_to(at);
                    let point = self.pair()?;
                    self.points.push(point);
                }
            }
        }
        Ok(bounds(&self.points).map(|r| {
            let far = Rect {
                xl: r.xl + reach.0,
                yl: r.yl + reach.1,
                xh: r.xh + reach.0,
                yh: r.yh + reach.1,
            };
            let r = r.union(&far);
            let r =
                Rect { xl: r.xl - around, yl: r.yl - around, xh: r.xh + around, yh: r.yh + around };
            (r, times)
        }))
    }

    /// `x y`, or `( x y )`, in millionths of a micrometre.
    fn pair(&mut self) -> Read<'a, (f64, f64)> {
        let bracket = self.lexer.passes(b"(");
        let pair = (self.length("an x coordinate")?, self.length("a y coordinate")?);
        if bracket {
            self.lexer.expect(")")?;
        }
        Ok(pair)
    }
}
