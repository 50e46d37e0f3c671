//! The statements of DEF that are used; [`super::nets`] has the statements of the largest
//! section.

use super::counts::Counts;
use super::lef::{Library, Shapes, bounds};
use super::nets::{self, Netlist};
use super::polygon::rectangles;
use super::{GcellGrid, GridAxis, PinPosition};
use crate::design::{Blockage, BlockageKind, Halo, Names, NamesTooLong, Nets, Orientation};
use crate::grid::Rect;
use crate::text::columns::clear_nets;
use crate::text::error::Miss;
use crate::text::index::NameIndex;
use crate::text::parts::Piece;
use crate::text::scan::{Read, Scanner, first_word};
use std::ops::Range;

/// The section of the next statement of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// In none.
    Top,
    Components,
    Pins,
    Nets,
    Regions,
    Groups,
    Blockages,
    /// In a section of this name, which is passed.
    Passed(&'static str),
    /// Behind `END DESIGN`.
    Ended,
}

/// The sections that are passed.
const PASSED: [&str; 17] = [
    "PROPERTYDEFINITIONS",
    "VIAS",
    "STYLES",
    "NONDEFAULTRULES",
    "PINPROPERTIES",
    "SLOTS",
    "FILLS",
    SPECIAL_NETS,
    "SCANCHAINS",
    "IOTIMINGS",
    "ASSERTIONS",
    "CONSTRAINTS",
    "TIMINGDISABLES",
    "PARTITIONS",
    "FLOORPLANCONSTRAINTS",
    "DEFAULTCAP",
    "PHYSICALNETS",
];

/// The section of supply nets and their wires.
pub(super) const SPECIAL_NETS: &str = "SPECIALNETS";

impl Section {
    /// Returns the section that begins with this word.
    pub(super) fn of(word: &[u8]) -> Option<Section> {
        use Section::*;
        let read = [Components, Pins, Nets, Regions, Groups, Blockages];
        let mut all = read.into_iter().chain(PASSED.map(Passed));
        all.find(|section| section.name().as_bytes() == word)
    }

    /// Whether a count and `;` follow the section's first word.
    pub(super) fn has_count(self) -> bool {
        self != Section::Passed("PROPERTYDEFINITIONS")
    }

    /// Returns the word that it begins and ends with.
    pub(super) fn name(self) -> &'static str {
        match self {
            Section::Top | Section::Ended => "DESIGN",
            Section::Components => "COMPONENTS",
            Section::Pins => "PINS",
            Section::Nets => "NETS",
            Section::Regions => "REGIONS",
            Section::Groups => "GROUPS",
            Section::Blockages => "BLOCKAGES",
            Section::Passed(name) => name,
        }
    }
}

/// The placement status of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Unplaced,
    Placed,
    /// `FIXED`, `COVER` or `FIRM`.
    Fixed,
}

/// The position of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Place {
    pub(super) status: Status,
    pub(super) orientation: Orientation,
    /// It is unplaced, with a position.
    pub(super) unused_position: bool,
}

/// The offsets of a component in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) name: usize,
    pub(super) place: PlaceSlot,
}

/// The offsets of a component's placement, present or new.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlaceSlot {
    /// The keyword, x, y and orientation.
    Words([Range<usize>; 4]),
    /// `UNPLACED`, and the text behind it that belongs to it.
    Unplaced(Range<usize>),
    /// Before this place.
    Before(usize),
}

/// A statement `ROW`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowStatement {
    /// Its site, in [`Library::sites`].
    pub(super) site: u32,
    pub(super) at: (f64, f64),
    pub(super) orientation: Orientation,
    pub(super) count: (u64, u64),
    pub(super) step: (f64, f64),
}

/// A region, as its statement has it.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) rects: Vec<Rect>,
    pub(super) kind: RegionKind,
}

/// The type of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegionKind {
    /// `FENCE`: only its members may be inside.
    Fence,
    /// No type: its members must be inside, and others may.
    Open,
    /// `GUIDE`: its members should be inside.
    Guide,
}

/// A group of a region.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) members: Vec<String>,
    pub(super) region: String,
}

/// What a DEF file, or a part of it, holds beside components and nets.
#[derive(Debug, Default)]
pub(super) struct Floorplan {
    pub(super) version: Option<String>,
    pub(super) design: Option<String>,
    pub(super) units: Option<f64>,
    pub(super) die: Option<Vec<(f64, f64)>>,
    pub(super) rows: Vec<RowStatement>,
    pub(super) gcells: Vec<GcellGrid>,
    pub(super) ports: Ports,
    pub(super) regions: Vec<Region>,
    pub(super) groups: Vec<Group>,
    pub(super) blockages: Vec<Blockage>,
    pub(super) counts: Counts,
}

impl Floorplan {
    /// Adds the content of a later part of the file.
    pub(super) fn add(&mut self, later: Floorplan) -> Result<(), NamesTooLong> {
        self.version = later.version.or(self.version.take());
        self.design = later.design.or(self.design.take());
        self.units = later.units.or(self.units);
        self.die = later.die.or(self.die.take());
        self.rows.extend(later.rows);
        self.gcells.extend(later.gcells);
        self.ports.at.extend(later.ports.at);
        self.regions.extend(later.regions);
        self.groups.extend(later.groups);
        self.blockages.extend(later.blockages);
        self.counts.add(&later.counts);
        self.ports.names.append(&later.ports.names)
    }
}

/// The content of a part of a DEF file.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) plan: Floorplan,
    pub(super) components: Components,
    pub(super) nets: Nets,
}

impl Part {
    /// Removes the content, but reuses the memory of its longest columns.
    fn clear(&mut self) {
        self.plan = Floorplan::default();
        let Components { names, cell, x, y, place, halos, regions, slots } = &mut self.components;
        names.clear();
        cell.clear();
        place.clear();
        [x, y].into_iter().for_each(Vec::clear);
        halos.clear();
        regions.clear();
        slots.clear();
        clear_nets(&mut self.nets);
    }
}

/// Components, by column.
#[derive(Debug, Default)]
pub(super) struct Components {
    pub(super) names: Names,
    /// The macro of each.
    pub(super) cell: Vec<u32>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) place: Vec<Place>,
    /// In the file's order, several of one component too.
    pub(super) halos: Vec<Halo>,
    /// Names of regions, by the index of the component.
    pub(super) regions: Vec<(u32, String)>,
    /// The offsets of each in the file, if [`Known::slots`] is set.
    pub(super) slots: Vec<Slot>,
}

/// Pins of the design, by column.
#[derive(Debug, Default)]
pub(super) struct Ports {
    pub(super) names: Names,
    /// The position of each, if it is placed.
    pub(super) at: Vec<Option<(f64, f64)>>,
}

/// Things that statements refer to.
pub(super) struct Known<'k> {
    pub(super) library: &'k Library,
    /// Names of the macros; without them components may be of any.
    pub(super) cells: Option<&'k NameIndex<'k>>,
    pub(super) position: PinPosition,
    /// Without it, reading stops where nets begin.
    pub(super) netlist: Option<&'k Netlist<'k>>,
    /// Whether to note the offsets of components in the file.
    pub(super) slots: bool,
}

/// Reads a part, whose first statement is in `section`, into `part`; the text ends between
/// statements. Returns the section at the end, and the number of bytes that are left: all from where
/// nets begin, unless these are known.
pub(super) fn parse<'a>(
    piece: Piece<'a>,
    section: Section,
    known: &Known,
    part: &mut Part,
) -> Read<'a, (Section, usize)> {
    part.clear();
    let lexer = Scanner::new(piece.text);
    Parser { lexer, piece, known, part, last_cell: (&[], 0) }.statements(section)
}

struct Parser<'a, 'k> {
    lexer: Scanner<'a>,
    piece: Piece<'a>,
    known: &'k Known<'k>,
    part: &'k mut Part,
    last_cell: (&'a [u8], u32),
}

impl<'a> Parser<'a, '_> {
    /// Reads all statements; the section at the end, and the bytes that are left.
    fn statements(&mut self, mut section: Section) -> Read<'a, (Section, usize)> {
        loop {
            if section == Section::Nets
                && let Some(netlist) = self.known.netlist
            {
                let Part { nets, plan: Floorplan { counts, .. }, .. } = &mut *self.part;
                self.lexer = nets::read(self.lexer, netlist, nets, counts)?;
            }
            let at = self.lexer.peek();
            if section == Section::Ended {
                return Ok((section, 0));
            }
            if section == Section::Nets && self.known.netlist.is_none() {
                return Ok((section, at.len()));
            }
            match (section, self.lexer.word()) {
                (_, []) => return Ok((section, 0)),
                (_, b";") => {}
                (_, b"BEGINEXT") => while self.lexer.passed()? != b"ENDEXT" {},
                (Section::Top, b"END") => {
                    let design = self.lexer.peek();
                    if self.lexer.word() == b"DESIGN" {
                        self.part.plan.counts.ended = true;
                        return Ok((Section::Ended, 0));
                    }
                    let section = Section::of(first_word(design));
                    if section.is_some() {
                        return Err(Miss::expected(design, "`DESIGN`"));
                    }
                }
                (Section::Top, b"DESIGN") => {
                    let name = self.lexer.name("the name of the design")?;
                    self.part.plan.design = Some(name.to_owned());
                    self.lexer.end_statement()?;
                }
                (Section::Top, word) => match Section::of(word) {
                    Some(next) => {
                        if next.has_count() {
                            self.lexer.end_statement()?;
                        }
                        section = next;
                    }
                    None => self.statement(at, word)?,
                },
                (_, b"END") => {
                    let at = self.lexer.peek();
                    if self.lexer.word() != section.name().as_bytes() {
                        return Err(Miss::expected(at, format!("`{}`", section.name())));
                    }
                    section = Section::Top;
                }
                (Section::Components | Section::Pins, b"-") if self.known.netlist.is_some() => {
                    return Err(Miss::expected(at, "components and pins before all nets"));
                }
                (Section::Components, b"-") => self.component()?,
                (Section::Pins, b"-") => self.port()?,
                (Section::Regions, b"-") => self.region()?,
                (Section::Groups, b"-") => self.group()?,
                (Section::Blockages, b"-") => self.blockage()?,
                (Section::Passed(name), _) => {
                    self.part.plan.counts.skip(name, b"");
                    self.lexer.end_statement()?;
                }
                (section, _) => {
                    let expected = format!("`-` or `END {}`", section.name());
                    return Err(Miss::expected(at, expected));
                }
            }
        }
    }

    /// Reads a statement outside all sections.
    fn statement(&mut self, at: &'a [u8], word: &'a [u8]) -> Read<'a, ()> {
        match word {
            b"VERSION" => {
                self.part.plan.version = Some(self.lexer.name("a version")?.to_owned());
            }
            b"UNITS" => {
                self.lexer.expect("DISTANCE")?;
                self.lexer.expect("MICRONS")?;
                let at = self.lexer.peek();
                let units = self.lexer.number("units per micrometre")?;
                if units < 1.0 || self.known.netlist.is_some() {
                    let expected = "units per micrometre, at least 1, before all nets";
                    return Err(Miss::expected(at, expected));
                }
                self.part.plan.units = Some(units);
            }
            b"DIEAREA" => {
                let at = self.lexer.peek();
                let points = self.lexer.points()?;
                if points.len() < 2 {
                    return Err(Miss::expected(at, "two points or more"));
                }
                self.part.plan.die = Some(points);
            }
            b"ROW" => return self.row(),
            b"GCELLGRID" => {
                let at = self.lexer.peek();
                let axis = match self.lexer.word() {
                    b"X" => GridAxis::X,
                    b"Y" => GridAxis::Y,
                    _ => return Err(Miss::expected(at, "`X` or `Y`")),
                };
                let start = self.lexer.number("a coordinate")?;
                self.lexer.expect("DO")?;
                let count = self.lexer.count("a number of lines")?;
                self.lexer.expect("STEP")?;
                let step = self.lexer.number("a step")?;
                self.part.plan.gcells.push(GcellGrid { axis, start, count, step });
            }
            b"DIVIDERCHAR" | b"BUSBITCHARS" => {}
            b"NAMESCASESENSITIVE" => {
                let on = self.lexer.word() != b"OFF";
                self.part.plan.counts.case_off |= !on;
            }
            // Entries in a section of an unknown name.
            b"-" => self.part.plan.counts.skip("", b"-"),
            _ if !word[0].is_ascii_alphabetic() => {
                return Err(Miss::expected(at, "a statement or `END DESIGN`"));
            }
            _ => self.part.plan.counts.skip("", word),
        }
        self.lexer.end_statement()
    }

    fn row(&mut self) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a row")?;
        let at = self.lexer.peek();
        let site = self.lexer.word();
        let known = self.known;
        let sites = &known.library.sites;
        let found = sites.iter().rposition(|s| s.name.as_bytes() == site);
        let Some(found) = found.or_else(|| known.cells.is_none().then_some(0)) else {
            self.not_cut_off("the site of the row")?;
            let site = String::from_utf8_lossy(site);
            let hint =
                if sites.is_empty() { ", which have no sites: is it in another?" } else { "" };
            let message =
                format!("row {name}: site {site} is in none of the LEF files given{hint}");
            return Err(Miss::name(at, message));
        };
        let unknown = |(part, _): &&(String, _)| !sites.iter().any(|site| site.name == *part);
        let pattern = sites.get(found).map_or(&[][..], |site| &site.pattern);
        if let Some((part, _)) = pattern.iter().find(unknown) {
            let site = String::from_utf8_lossy(site);
            let message = format!(
                "row {name}: site {part} of the pattern of site {site} is in none of the LEF files"
            );
            return Err(Miss::name(at, message));
        }
        let at = (self.lexer.number("an x coordinate")?, self.lexer.number("a y coordinate")?);
        let orientation = self.lexer.orientation()?;
        let (mut count, mut step) = ((1, 1), (0.0, 0.0));
        if self.lexer.passes(b"DO") {
            count.0 = self.lexer.count("a number of sites")?;
            self.lexer.expect("BY")?;
            count.1 = self.lexer.count("a number of sites")?;
            if self.lexer.passes(b"STEP") {
                step = (self.lexer.number("a step")?, self.lexer.number("a step")?);
            }
        }
        self.part.plan.rows.push(RowStatement { site: found as u32, at, orientation, count, step });
        self.lexer.end_statement()
    }

    fn component(&mut self) -> Read<'a, ()> {
        let (piece, known) = (self.piece, self.known);
        // A text from its first to its last byte; the remaining text gives the position of each.
        let span = |from: &[u8], to: &[u8]| piece.offset(from)..piece.offset(to);
        let start = self.lexer.peek();
        let name = self.lexer.name("the name of a component")?;
        let cell = self.cell(name)?;
        let (mut place, mut at, mut slot) = (Place::default(), (0.0, 0.0), None);
        let all = self.part.components.cell.len() as u32;
        while let Some(option) = self.lexer.option()? {
            match option {
                b"PLACED" | b"FIXED" | b"COVER" | b"FIRM" => {
                    self.lexer.expect("(")?;
                    let of_x = self.lexer.peek();
                    at.0 = self.lexer.number("an x coordinate")?;
                    let behind_x = self.lexer.rest();
                    let of_y = self.lexer.peek();
                    at.1 = self.lexer.number("a y coordinate")?;
                    let behind_y = self.lexer.rest();
                    self.lexer.expect(")")?;
                    let of_orientation = self.lexer.peek();
                    place.orientation = self.lexer.orientation()?;
                    let placed = option == b"PLACED";
                    place.status = if placed { Status::Placed } else { Status::Fixed };
                    if known.slots {
                        let keyword = piece.offset(option);
                        slot = Some(PlaceSlot::Words([
                            keyword..keyword + option.len(),
                            span(of_x, behind_x),
                            span(of_y, behind_y),
                            span(of_orientation, self.lexer.rest()),
                        ]));
                    }
                }
                b"UNPLACED" => {
                    place.status = Status::Unplaced;
                    place.unused_position = self.lexer.passes(b"(");
                    if place.unused_position {
                        while !self.lexer.passes(b")") {
                            self.lexer.number("a coordinate or `)`")?;
                        }
                        self.lexer.orientation()?;
                    }
                    slot = Some(PlaceSlot::Unplaced(span(option, self.lexer.rest())));
                }
                b"HALO" => {
                    let soft = self.lexer.passes(b"SOFT");
                    let mut sides = [0.0; 4];
                    for side in &mut sides {
                        *side = self.lexer.number("the width of a halo")?;
                    }
                    let [left, bottom, right, top] = sides;
                    let halo = Halo { node: all, left, bottom, right, top, soft };
                    self.part.components.halos.push(halo);
                }
                b"REGION" if self.lexer.peek().first() != Some(&b'(') => {
                    let region = self.lexer.name("the name of a region")?.to_owned();
                    self.part.components.regions.push((all, region));
                }
                _ => self.part.plan.counts.skip("COMPONENTS", option),
            }
        }
        let components = &mut self.part.components;
        if known.slots {
            // The statement's `;` was passed.
            let end = piece.offset(self.lexer.rest()) - 1;
            let place = slot.unwrap_or(PlaceSlot::Before(end));
            components.slots.push(Slot { name: piece.offset(start), place });
        }
        components.names.push(name);
        components.cell.push(cell);
        components.x.push(at.0);
        components.y.push(at.1);
        components.place.push(place);
        Ok(())
    }

    /// Returns the macro of the component called `name`.
    #[inline(always)]
    fn cell(&mut self, name: &str) -> Read<'a, u32> {
        let at = self.lexer.peek();
        let cell = self.lexer.some_word("the macro of the component")?;
        if cell == self.last_cell.0 {
            return Ok(self.last_cell.1);
        }
        let Some(cells) = self.known.cells else { return Ok(0) };
        let Some(found) = cells.find(cell) else {
            self.not_cut_off("the macro of the component")?;
            return Err(self.unknown_cell(at, name, cell));
        };
        self.last_cell = (cell, found);
        Ok(found)
    }

    /// Fails if the text ends here, within a statement: the last word may be a part of one.
    #[cold]
    fn not_cut_off(&mut self, what: &'static str) -> Read<'a, ()> {
        let at = self.lexer.peek();
        if at.is_empty() { Err(Miss::expected(at, what)) } else { Ok(()) }
    }

    /// Says that no LEF file has the macro `cell` of the component called `name`, and of how many.
    #[cold]
    fn unknown_cell(&self, at: &'a [u8], name: &str, cell: &[u8]) -> Miss<'a> {
        let (mut rest, mut count) = (self.lexer, 1);
        while rest.end_statement().is_ok() && rest.passes(b"-") {
            rest.word();
            count += u64::from(rest.word() == cell);
        }
        let components = if count == 1 { "component" } else { "components" };
        let cell = String::from_utf8_lossy(cell);
        let no_macros = self.known.library.macros.is_empty();
        let hint = if no_macros { ", which have no macros: is it in another?" } else { "" };
        let message = format!(
            "component {name}: macro {cell}, of {count} {components}, is in none of the LEF files \
             given{hint}"
        );
        Miss::name(at, message)
    }

    /// Reads a pin of the design: shapes, each list of them followed by its position.
    fn port(&mut self) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a pin")?;
        let mut placed = Shapes::default();
        let mut shapes: Vec<Rect> = Vec::new();
        // In versions before PORT the placement may stand before the shapes.
        let mut place = None;
        let mut settle = |shapes: &mut Vec<Rect>, place: &mut Option<((f64, f64), Orientation)>| {
            if let Some(((x, y), orientation)) = place.take() {
                let turn = |point| orientation.turn(point);
                if shapes.is_empty() {
                    shapes.push(Rect { xl: 0.0, yl: 0.0, xh: 0.0, yh: 0.0 });
                }
                for r in shapes.iter() {
                    let corners = [turn((r.xl, r.yl)), turn((r.xh, r.yh))];
                    let moved = corners.map(|(dx, dy)| (x + dx, y + dy));
                    bounds(&moved).iter().for_each(|r| placed.add(*r, 1.0));
                }
            }
            shapes.clear();
        };
        while let Some(option) = self.lexer.option()? {
            match option {
                b"PORT" => settle(&mut shapes, &mut place),
                b"LAYER" | b"POLYGON" => {
                    self.lexer.word();
                    while self.lexer.peek().first().is_some_and(|b| !b"(+;".contains(b)) {
                        self.lexer.passed()?;
                    }
                    shapes.extend(bounds(&self.lexer.points()?));
                }
                b"PLACED" | b"FIXED" | b"COVER" => {
                    place = Some((self.lexer.point()?, self.lexer.orientation()?));
                }
                b"UNPLACED" => place = None,
                b"NET" => drop(self.lexer.word()),
                _ => self.part.plan.counts.skip("PINS", option),
            }
        }
        settle(&mut shapes, &mut place);
        self.part.plan.ports.names.push(name);
        self.part.plan.ports.at.push(placed.position(self.known.position));
        Ok(())
    }

    /// Reads rectangles, given by two points each.
    fn rects(&mut self) -> Read<'a, Vec<Rect>> {
        let at = self.lexer.peek();
        let points = self.lexer.points()?;
        if points.is_empty() || points.len() % 2 == 1 {
            return Err(Miss::expected(at, "two points for each rectangle"));
        }
        Ok(points.chunks(2).filter_map(bounds).collect())
    }

    fn region(&mut self) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a region")?.to_owned();
        let rects = self.rects()?;
        let mut kind = RegionKind::Open;
        while let Some(option) = self.lexer.option()? {
            match option {
                b"TYPE" => {
                    let at = self.lexer.peek();
                    kind = match self.lexer.word() {
                        b"FENCE" => RegionKind::Fence,
                        b"GUIDE" => RegionKind::Guide,
                        _ => return Err(Miss::expected(at, "`FENCE` or `GUIDE`")),
                    };
                }
                _ => self.part.plan.counts.skip("REGIONS", option),
            }
        }
        self.part.plan.regions.push(Region { name, rects, kind });
        Ok(())
    }

    fn group(&mut self) -> Read<'a, ()> {
        self.lexer.name("the name of a group")?;
        let mut members = Vec::new();
        while self.lexer.peek().first().is_some_and(|&b| b != b';')
            && first_word(self.lexer.peek()) != b"+"
        {
            members.push(self.lexer.name("the name of a component")?.to_owned());
        }
        while let Some(option) = self.lexer.option()? {
            match option {
                b"REGION" if self.lexer.peek().first() != Some(&b'(') => {
                    let region = self.lexer.name("the name of a region")?.to_owned();
                    self.part
                        .plan
                        .groups
                        .push(Group { members: std::mem::take(&mut members), region });
                }
                _ => self.part.plan.counts.skip("GROUPS", option),
            }
        }
        Ok(())
    }

    fn blockage(&mut self) -> Read<'a, ()> {
        self.part.plan.counts.blockages += 1;
        let at = self.lexer.peek();
        match self.lexer.word() {
            b"PLACEMENT" => {}
            b"LAYER" => {
                self.part.plan.counts.skip("BLOCKAGES", b"LAYER");
                return self.lexer.end_statement();
            }
            _ => return Err(Miss::expected(at, "`PLACEMENT` or `LAYER`")),
        }
        let mut kind = BlockageKind::Hard;
        let mut add = |rect: Rect, kind| {
            self.part.plan.blockages.push(Blockage { rect, kind });
        };
        loop {
            let at = self.lexer.peek();
            match self.lexer.word() {
                b";" => return Ok(()),
                b"+" => match self.lexer.word() {
                    b"SOFT" => kind = BlockageKind::Soft,
                    b"PARTIAL" => {
                        let at = self.lexer.peek();
                        let percent = self.lexer.number("a density in per cent")?;
                        if !(0.0..=100.0).contains(&percent) {
                            return Err(Miss::expected(at, "a density from 0 to 100 per cent"));
                        }
                        kind = BlockageKind::Partial(percent / 100.0);
                    }
                    // The blockage of a component, whose coordinates are the die's all the same.
                    b"COMPONENT" => drop(self.lexer.word()),
                    _ => {}
                },
                b"RECT" => {
                    let corners = [self.lexer.point()?, self.lexer.point()?];
                    bounds(&corners).into_iter().for_each(|rect| add(rect, kind));
                }
                b"POLYGON" => {
                    let at = self.lexer.peek();
                    let points = self.lexer.points()?;
                    let rects = rectangles(&points).ok_or_else(|| {
                        Miss::expected(at, "a polygon of at most 256 points and straight angles")
                    })?;
                    rects.into_iter().for_each(|rect| add(rect, kind));
                }
                _ => return Err(Miss::expected(at, "`RECT`, `+` or `;`")),
            }
        }
    }
}
