//! Constraints on positions of cells: rows of sites, library cells, fences, blockages and halos.

use super::Orientation;
use crate::grid::Rect;
use serde::{Deserialize, Serialize};

/// A span of placement sites (one subrow): `sites` sites from `x`, `pitch` apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Left edge of the first site.
    pub x: f64,
    /// Bottom edge.
    pub y: f64,
    /// Row height.
    pub height: f64,
    /// Width of one site.
    pub site_width: f64,
    /// Distance from one site's left edge to the next one's.
    pub pitch: f64,
    /// Number of sites.
    pub sites: u64,
    /// Orientation of the sites, and of a cell on them as the library draws it.
    pub orientation: Orientation,
    /// How else a cell may lie on them.
    pub symmetry: Symmetry,
    /// The kind of its sites, a number that [`Master::site`] may have too; `None` if the format has
    /// no kinds.
    pub site: Option<u32>,
}

/// How a cell may lie on a site besides as the site does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Symmetry {
    /// Mirrored upside down, by the x axis.
    pub x: bool,
    /// Mirrored left and right, by the y axis.
    pub y: bool,
    /// Turned by 90 degrees.
    pub r90: bool,
}

impl Symmetry {
    /// Returns the words that LEF has for it, such as `X Y`.
    pub(crate) fn words(&self) -> String {
        let words = [(self.x, "X"), (self.y, "Y"), (self.r90, "R90")];
        let words = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns whether a library cell of this symmetry may lie so.
    pub(crate) fn admits(&self, orientation: Orientation) -> bool {
        match orientation {
            Orientation::N => true,
            Orientation::FN => self.y,
            Orientation::FS => self.x,
            Orientation::S => self.x && self.y,
            _ => self.r90,
        }
    }
}

impl Default for Symmetry {
    /// Left and right, which no supply rail minds.
    fn default() -> Self {
        Symmetry { x: false, y: true, r90: false }
    }
}

impl Row {
    /// Returns the area that its sites cover, from the first site's left edge to the last one's
    /// right edge.
    pub fn rect(&self) -> Rect {
        let width = self.pitch * self.sites.saturating_sub(1) as f64 + self.site_width;
        Rect::at(self.x, self.y, if self.sites == 0 { 0.0 } else { width }, self.height)
    }
}

/// A library cell: where its instances may stand on rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Master {
    /// Its name in the library.
    pub name: String,
    /// Its class.
    pub class: MasterClass,
    /// How an instance may lie besides `N`.
    pub symmetry: Symmetry,
    /// The kind of sites of the cell; `None` if the library does not say. A cell may be on
    /// rows of another kind only if no row has its kind.
    pub site: Option<u32>,
    /// The rows that its bottom edge may be on.
    pub stands_on: StandsOn,
    /// Types of its left and its right edge in orientation `N`, in [`Design::edge_spacing`];
    /// `None` for an edge that keeps no spacing.
    ///
    /// [`Design::edge_spacing`]: super::Design::edge_spacing
    pub edge: [Option<u32>; 2],
    /// The parts of its box that it covers, as rectangles that do not overlap, from its lower-left
    /// corner in orientation `N` (LEF: `OBS` on layers of type `OVERLAP`). Empty: the whole box.
    pub outline: Vec<Rect>,
}

/// The class of a library cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MasterClass {
    /// A standard cell.
    #[default]
    Core,
    /// A standard cell that only fills the gaps between others (LEF: `CORE SPACER`).
    Filler,
    /// A block, a pad, or a cover.
    Other,
}

/// Spacings that facing edges of neighbouring cells in a row keep, by their edge types (LEF:
/// `LEF58_CELLEDGESPACINGTABLE`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Table")]
pub struct EdgeSpacing {
    types: usize,
    /// Of each pair of types: the spacing, and whether the edges may abut all the same.
    table: Vec<(f64, bool)>,
}

/// An [`EdgeSpacing`] that was not checked yet.
#[derive(Deserialize)]
struct Table {
    types: usize,
    table: Vec<(f64, bool)>,
}

impl TryFrom<Table> for EdgeSpacing {
    type Error = &'static str;

    fn try_from(Table { types, table }: Table) -> Result<Self, Self::Error> {
        match types.checked_mul(types) == Some(table.len()) {
            true => Ok(EdgeSpacing { types, table }),
            false => Err("a table of edge spacings that is not square"),
        }
    }
}

impl EdgeSpacing {
    /// Makes a table of this number of edge types, without any spacing.
    pub fn new(types: usize) -> Self {
        EdgeSpacing { types, table: vec![(0.0, false); types * types] }
    }

    /// Returns the number of edge types.
    pub fn types(&self) -> usize {
        self.types
    }

    /// True when no two edges keep a spacing.
    pub fn is_empty(&self) -> bool {
        self.table.iter().all(|(spacing, _)| *spacing <= 0.0)
    }

    /// Sets the spacing of edges of types `a` and `b`, layout units. With `may_abut`, edges that
    /// touch are legal, too.
    ///
    /// # Panics
    /// If there is no such type.
    pub fn set(&mut self, a: u32, b: u32, spacing: f64, may_abut: bool) {
        for (a, b) in [(a as usize, b as usize), (b as usize, a as usize)] {
            assert!(a < self.types && b < self.types, "edge type {a} or {b} of {}", self.types);
            self.table[a * self.types + b] = (spacing, may_abut);
        }
    }

    fn of(&self, a: Option<u32>, b: Option<u32>) -> (f64, bool) {
        let entry = a.zip(b).map(|(a, b)| (a as usize, b as usize));
        let entry = entry.filter(|&(a, b)| a < self.types && b < self.types);
        entry.map_or((0.0, false), |(a, b)| self.table[a * self.types + b])
    }

    /// Returns the least distance between edges of types `a` and `b` that face each other, layout
    /// units; 0 if they may touch, or one of them has no type.
    pub fn between(&self, a: Option<u32>, b: Option<u32>) -> f64 {
        self.of(a, b).0
    }

    /// Whether edges of these types may touch although they keep a spacing otherwise.
    pub fn may_abut(&self, a: Option<u32>, b: Option<u32>) -> bool {
        self.of(a, b).1
    }

    /// Returns the largest spacing of an edge of type `a` to any other, layout units.
    pub fn largest(&self, a: u32) -> f64 {
        (0..self.types as u32).map(|b| self.between(Some(a), Some(b))).fold(0.0, f64::max)
    }
}

impl Master {
    /// Returns the types of the left and the right edge of an instance in this orientation; none
    /// for one that lies on its side.
    pub fn edges(&self, orientation: Orientation) -> [Option<u32>; 2] {
        let [left, right] = self.edge;
        match orientation {
            Orientation::N | Orientation::FS => [left, right],
            Orientation::FN | Orientation::S => [right, left],
            _ => [None, None],
        }
    }
}

/// The rows that the bottom edge of a cell may be on, as its supply rails ask.
///
/// Neighbouring rows share a rail. A cell of an odd number of rows has different rails at its
/// bottom and its top, and is turned upside down where the row asks; one of an even number has the
/// same rail at both, so that turning it does not help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StandsOn {
    /// Any row.
    #[default]
    Any,
    /// Rows that are upright: `N`, `FN` and the turns without an upside down.
    Upright,
    /// Rows that are upside down: `FS`, `S`.
    UpsideDown,
}

impl StandsOn {
    /// Returns whether the bottom edge may be on a row of this orientation.
    pub(crate) fn admits(self, row: Orientation) -> bool {
        match self {
            StandsOn::Any => true,
            StandsOn::Upright => !row.is_upside_down(),
            StandsOn::UpsideDown => row.is_upside_down(),
        }
    }
}

/// An area that its members have to lie in (DEF: a region of type `FENCE`, or without a type).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    /// Its name.
    pub name: String,
    /// The area, as the union of these.
    pub rects: Vec<Rect>,
    /// Whether other movable cells may lie in it, too (DEF: a region without a type).
    pub admits_others: bool,
}

/// An area that cells may not lie in, or may not fill.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blockage {
    /// The area that it covers.
    pub rect: Rect,
    /// The rule for cells there.
    pub kind: BlockageKind,
}

/// Rule of a [`Blockage`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum BlockageKind {
    /// No cell may lie there.
    Hard,
    /// Global placement keeps off; legalisation and detailed placement may use it.
    Soft,
    /// Cells may fill this share of it, in [0, 1]; no single cell is forbidden to lie there.
    Partial(f64),
}

/// Space on each side of a node, in orientation `N`, in which no other cell may lie.
/// The halo of a fixed node is blocked; the halo of a movable node moves with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the four sides
pub struct Halo {
    /// The node, by its index.
    pub node: u32,
    pub left: f64,
    pub bottom: f64,
    pub right: f64,
    pub top: f64,
    /// Whether it binds global placement only: legalisation and detailed placement may use the
    /// space, as with a soft blockage.
    pub soft: bool,
}

impl Halo {
    /// Returns `rect`, the area of its node in this orientation, extended by the halo.
    pub fn around(&self, rect: &Rect, orientation: Orientation) -> Rect {
        let (right, top) = orientation.turn((self.right, self.top));
        let (left, bottom) = orientation.turn((-self.left, -self.bottom));
        Rect {
            xl: rect.xl + left.min(right),
            yl: rect.yl + bottom.min(top),
            xh: rect.xh + left.max(right),
            yh: rect.yh + bottom.max(top),
        }
    }

    /// Returns the distances to the left, below, to the right and above in this orientation.
    pub(crate) fn sides(&self, orientation: Orientation) -> [f64; 4] {
        let Rect { xl, yl, xh, yh } = self.around(&Rect::at(0.0, 0.0, 0.0, 0.0), orientation);
        [-xl, -yl, xh, yh]
    }
}
