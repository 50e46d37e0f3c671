//! LEF: sites, routing layers and library cells.
//!
//! Lengths are held in millionths of a micrometre, in which the decimal numbers of LEF are whole:
//! sums and means stay exact until it is put into the units of a DEF file.

use super::lexer::{Lef, Read};
use super::{LayerDirection, PinPosition, RoutingLayer};
use crate::design::{Names, NamesTooLong, Orientation, Symmetry};
use crate::grid::Rect;
use crate::text::error::Miss;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Millionths of a micrometre in one.
pub(super) const PER_MICRON: f64 = 1e6;

/// The content of one LEF file, or of several together.
#[derive(Debug, Default)]
pub(super) struct Library {
    /// `DATABASE MICRONS`.
    pub(super) units: Option<f64>,
    pub(super) sites: Vec<Site>,
    pub(super) layers: Vec<RoutingLayer>,
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
        self.obstructions += later.obstructions;
        self.odd_classes += later.odd_classes;
        Ok(())
    }
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
    /// `CORE` of any kind, `ENDCAP` of any kind, and macros without a class.
    #[default]
    Core,
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
    /// The supply at its bottom edge.
    pub(super) bottom: Option<Supply>,
    /// Its pins, in [`Library::pins`].
    pub(super) pins: std::ops::Range<u32>,
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
        lexer: Lef::new(text),
        position,
        library: Library::default(),
        widths: BTreeMap::new(),
    };
    reader.file()?;
    Ok(reader.library)
}

struct Reader<'a> {
    lexer: Lef<'a>,
    position: PinPosition,
    library: Library,
    /// Default widths of the layers' wires.
    widths: BTreeMap<&'a [u8], f64>,
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
                w if is(w, "NONDEFAULTRULE") => self.skip_rule(at)?,
                w if is(w, "BEGINEXT") => while !is(self.lexer.passed()?, "ENDEXT") {},
                w if ["PROPERTYDEFINITIONS", "SPACING", "IRDROP", "NOISETABLE", "CORRECTTABLE"]
                    .iter()
                    .any(|key| is(w, key)) =>
                {
                    self.skip_block(at, w)?;
                }
                w if ["VIA", "VIARULE", "ARRAY"].iter().any(|key| is(w, key)) => {
                    let name = self.lexer.word();
                    self.skip_block(at, name)?;
                }
                _ => self.lexer.end_statement()?,
            }
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
        self.lexer.millionths(what)
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
        let (mut routing, mut direction) = (false, LayerDirection::Unknown);
        let (mut pitch, mut width) = ([0.0; 2], 0.0);
        while let Some(word) = self.inside(|| UNENDED)? {
            match word {
                w if is(w, "TYPE") => routing = is(self.lexer.word(), "ROUTING"),
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
                _ => {}
            }
            self.lexer.end_statement()?;
        }
        self.end_of(name.as_bytes())?;
        self.widths.insert(name.as_bytes(), (width * PER_MICRON).round());
        if routing {
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
        let mut rails: Vec<(Supply, Rect)> = Vec::new();
        while let Some(word) = self.inside(|| format!("`END {name}`"))? {
            match word {
                w if is(w, "PIN") => self.pin(&mut rails)?,
                w if is(w, "OBS") => self.library.obstructions += self.shapes(&mut |_, _| ())?,
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
                    while !is(self.lexer.passed()?, "END") {}
                    if is(w, "TIMING") {
                        self.end_of(b"TIMING")?;
                    }
                }
                b";" => {}
                _ => self.lexer.end_statement()?,
            }
        }
        self.end_of(name.as_bytes())?;
        let last = self.library.pins.len() as u32;
        for pin in &mut self.library.pins[first as usize..] {
            pin.at = pin.at.map(|(x, y)| (x + origin.0, y + origin.1));
        }
        cell.pins = first..last;
        // The widest shape that crosses or touches the bottom edge.
        let at_bottom = rails.iter().filter(|(_, r)| r.yl <= -origin.1 && r.yh >= -origin.1);
        cell.bottom = at_bottom.max_by(|a, b| a.1.width().total_cmp(&b.1.width())).map(|r| r.0);
        self.library.names.push(name);
        self.library.macros.push(cell);
        Ok(())
    }

    /// Returns the class after `CLASS`.
    fn class(&mut self) -> Class {
        match self.lexer.word() {
            w if is(w, "CORE") || is(w, "ENDCAP") => Class::Core,
            w if is(w, "BLOCK") => Class::Block,
            w if is(w, "COVER") => Class::Cover,
            w => {
                let known = is(w, "PAD") || is(w, "RING");
                self.library.odd_classes += u64::from(!known);
                Class::PadOrRing
            }
        }
    }

    fn pin(&mut self, rails: &mut Vec<(Supply, Rect)>) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a pin")?;
        let (mut shapes, mut supply) = (Shapes::default(), None);
        let before = rails.len();
        while let Some(word) = self.inside(|| format!("`END {name}`"))? {
            match word {
                w if is(w, "PORT") => {
                    self.shapes(&mut |bounds, times| {
                        shapes.add(bounds, times);
                        // Signal pins are taken out again.
                        rails.push((Supply::Power, bounds));
                    })?;
                }
                w if is(w, "USE") => {
                    supply = match self.lexer.word() {
                        w if is(w, "POWER") => Some(Supply::Power),
                        w if is(w, "GROUND") => Some(Supply::Ground),
                        _ => None,
                    };
                    self.lexer.end_statement()?;
                }
                b";" => {}
                _ => self.lexer.end_statement()?,
            }
        }
        self.end_of(name.as_bytes())?;
        match supply {
            Some(supply) => rails[before..].iter_mut().for_each(|rail| rail.0 = supply),
            None => rails.truncate(before),
        }
        self.library.pin_names.push(name);
        self.library.pins.push(Pin { at: shapes.position(self.position), supply });
        Ok(())
    }

    /// Passes the shapes of a `PORT` or of `OBS`, to its `END`; returns the number of their
    /// statements.
    fn shapes(&mut self, take: &mut dyn FnMut(Rect, f64)) -> Read<'a, u64> {
        let (mut count, mut width) = (0, 0.0);
        while let Some(word) = self.inside(|| "`END`")? {
            match word {
                w if is(w, "RECT") || is(w, "POLYGON") => {
                    count += 1;
                    self.shape(0.0, take)?;
                    continue;
                }
                w if is(w, "PATH") => {
                    count += 1;
                    self.shape(width / 2.0, take)?;
                    continue;
                }
                w if is(w, "LAYER") => {
                    width = self.widths.get(self.lexer.word()).copied().unwrap_or(0.0);
                }
                w if is(w, "WIDTH") => width = self.length("a width in micrometres")?,
                b";" => continue,
                _ => {}
            }
            self.lexer.end_statement()?;
        }
        Ok(count)
    }

    /// Reads the points of a shape, behind its keyword, and its pattern.
    fn shape(&mut self, around: f64, take: &mut dyn FnMut(Rect, f64)) -> Read<'a, ()> {
        let mut all: Option<Rect> = None;
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
                    let (x, y) = self.pair()?;
                    let at = Rect { xl: x, yl: y, xh: x, yh: y };
                    all = Some(all.map_or(at, |all| all.union(&at)));
                }
            }
        }
        if let Some(r) = all {
            let far = Rect {
                xl: r.xl + reach.0,
                yl: r.yl + reach.1,
                xh: r.xh + reach.0,
                yh: r.yh + reach.1,
            };
            let r = r.union(&far);
            let r =
                Rect { xl: r.xl - around, yl: r.yl - around, xh: r.xh + around, yh: r.yh + around };
            take(r, times);
        }
        Ok(())
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
