//! A design in memory: nodes, their placement, nets and rows, from files of any format.
//!
//! Data is stored by column (structure of arrays) in file order; an index names a
//! node. Lengths are in layout units. Positions are
//! **lower-left corners** of the node in its orientation.
//!
//! A [`Design`] is plain data that anyone can fill. Code that reads it checks first that its
//! columns fit together ([`Design::check`]).

#[cfg(any(feature = "capi", feature = "python"))]
pub(crate) mod columns;
mod floorplan;
mod names;

use crate::charge::median;
use crate::grid::Rect;
use crate::memory::copied;
use crate::parallel;
pub use floorplan::{
    Blockage, BlockageKind, EdgeSpacing, Fence, Halo, Master, MasterClass, Row, StandsOn, Symmetry,
};
pub use names::{Names, NamesTooLong};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Whether a placer may move a node, and whether the node blocks the area under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NodeKind {
    /// A placer may move it.
    Movable,
    /// It stays and blocks the area under it (`terminal`, `/FIXED`).
    Fixed,
    /// It stays and cells may lie over it (`terminal_NI`, `/FIXED_NI`).
    FixedOverlappable,
}

/// Orientation of a node: a rotation by quarter turns, flipped or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // the eight compass names of the format
pub enum Orientation {
    #[default]
    N,
    S,
    E,
    W,
    FN,
    FS,
    FE,
    FW,
}

impl Orientation {
    /// All eight.
    pub const ALL: [Orientation; 8] = {
        use Orientation::*;
        [N, S, E, W, FN, FS, FE, FW]
    };

    /// Returns the compass name, as in files.
    pub fn name(self) -> &'static str {
        use Orientation::*;
        match self {
            N => "N",
            S => "S",
            E => "E",
            W => "W",
            FN => "FN",
            FS => "FS",
            FE => "FE",
            FW => "FW",
        }
    }

    /// Returns this orientation, then mirrored left and right (by the y axis).
    pub fn mirrored(self) -> Orientation {
        use Orientation::*;
        match self {
            N => FN,
            FN => N,
            S => FS,
            FS => S,
            E => FE,
            FE => E,
            W => FW,
            FW => W,
        }
    }

    /// Returns this orientation, then turned upside down (by the x axis).
    pub fn flipped(self) -> Orientation {
        use Orientation::*;
        match self {
            N => FS,
            FS => N,
            S => FN,
            FN => S,
            E => FW,
            FW => E,
            W => FE,
            FE => W,
        }
    }

    /// Returns the orientation that takes a node in this one back to `N`.
    #[cfg(any(feature = "capi", feature = "python"))]
    pub(crate) fn inverse(self) -> Orientation {
        match self {
            Orientation::E => Orientation::W,
            Orientation::W => Orientation::E,
            // Half a turn and mirrors undo themselves.
            other => other,
        }
    }

    /// Returns whether the node's width lies along y, as in `W`, `E`, `FW` and `FE`.
    pub fn swaps_axes(self) -> bool {
        matches!(self, Orientation::E | Orientation::W | Orientation::FE | Orientation::FW)
    }

    /// Whether the supply rails of `N` are upside down in this one.
    pub(crate) fn is_upside_down(self) -> bool {
        matches!(self, Orientation::S | Orientation::FS)
    }

    /// Returns the offset from the cell's centre that `(x, y)`, given at orientation `N`, becomes
    /// once the cell is turned.
    ///
    /// `S` is half a turn, `W` a quarter turn counter-clockwise, `E` clockwise; the `F` names
    /// mirror left and right **after** the turn, so that `FE` gives (−y, −x) and `FW` (y, x).
    ///
    /// Bookshelf takes the names from LEF/DEF: `FE` is `MY90` and `FW` is `MX90` there (LEF/DEF 5.8
    /// Language Reference, "Specifying Orientation"), `MYR90` and `MXR90` in OpenROAD (OpenDB's
    /// `dbTransform`, DEF reader): mirrored by the y or the x axis, then turned by 90 degrees
    /// counter-clockwise, which is the same.
    pub fn turn(self, (dx, dy): (f64, f64)) -> (f64, f64) {
        use Orientation::*;
        let (x, y) = match self {
            N | FN => (dx, dy),
            S | FS => (-dx, -dy),
            E | FE => (dy, -dx),
            W | FW => (-dy, dx),
        };
        if matches!(self, FN | FS | FE | FW) { (-x, y) } else { (x, y) }
    }
}

/// Cells, macros and pads, by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nodes {
    /// Names, unique.
    pub names: Names,
    /// Widths as the library gives them (orientation `N`).
    pub width: Vec<f64>,
    /// Heights as the library gives them (orientation `N`).
    pub height: Vec<f64>,
    /// Movable or fixed.
    pub kind: Vec<NodeKind>,
    /// The library cell of each node, by its index in [`Design::masters`]. Empty where no library
    /// is known; a node of no library cell (a port of the design) has `None`.
    pub master: Vec<Option<u32>>,
    /// The fence that each node has to lie in, by its index in [`Design::fences`]. Empty where
    /// there are no fences; a node of no fence has `None`.
    pub fence: Vec<Option<u32>>,
}

impl Nodes {
    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Returns the width and height of node `i` in this orientation, layout units.
    ///
    /// # Panics
    /// If a column has no value for node `i`.
    pub fn size(&self, i: usize, orientation: Orientation) -> (f64, f64) {
        let (w, h) = (self.width[i], self.height[i]);
        if orientation.swaps_axes() { (h, w) } else { (w, h) }
    }

    /// Returns the fence that node `i` has to lie in, by its index in [`Design::fences`], if any.
    pub fn fence_of(&self, i: usize) -> Option<usize> {
        self.fence.get(i).copied().flatten().map(|fence| fence as usize)
    }
}

/// Where each node lies: lower-left corners and orientations, by node.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Left edges.
    pub x: Vec<f64>,
    /// Bottom edges.
    pub y: Vec<f64>,
    /// Orientations.
    pub orientation: Vec<Orientation>,
}

/// Nets and their pins in compressed rows: net `e` owns the pins
/// `net_start[e]..net_start[e + 1]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nets {
    /// Names; nets the file leaves unnamed have an empty one.
    pub names: Names,
    /// First pin of each net, and the number of pins at the end.
    pub net_start: Vec<u32>,
    /// Weight of each net; 1 by default.
    pub weight: Vec<f64>,
    /// Node each pin sits on.
    pub pin_node: Vec<u32>,
    /// Pin offset along x from the node's **centre**, orientation `N`.
    pub pin_dx: Vec<f64>,
    /// Pin offset along y from the node's **centre**, orientation `N`.
    pub pin_dy: Vec<f64>,
}

impl Nets {
    /// Returns the number of nets.
    pub fn len(&self) -> usize {
        self.weight.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.weight.is_empty()
    }

    /// Returns the name of net `e`; empty if it has none.
    pub(crate) fn name(&self, e: usize) -> &str {
        if self.names.is_empty() { "" } else { self.names.get(e) }
    }

    /// Returns the number of pins.
    pub fn pins(&self) -> usize {
        self.pin_node.len()
    }

    /// Returns the pins of net `e`.
    pub fn pins_of(&self, e: usize) -> std::ops::Range<usize> {
        self.net_start[e] as usize..self.net_start[e + 1] as usize
    }
}

/// A design: nodes, their positions, nets, rows and constraints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Name, for titles and reports.
    pub name: String,
    /// Cells, macros and pads.
    pub nodes: Nodes,
    /// Positions of the nodes.
    pub placement: Placement,
    /// The nets that connect the nodes; `None` when they are not known.
    pub nets: Option<Nets>,
    /// Where cells may go, one entry per subrow, in file order.
    pub rows: Vec<Row>,
    /// Area outside every row counts as fixed, for this format has cells on rows only (LEF/DEF).
    pub row_blockage: bool,
    /// The area that cells may lie in (DEF: `DIEAREA`), as rectangles that do not overlap. Empty:
    /// only the rows limit cells.
    pub die_area: Vec<Rect>,
    /// Library cells: where their instances may stand on rows.
    pub masters: Vec<Master>,
    /// Spacings between the edges of cells in one row, by the edge types of their library cells.
    pub edge_spacing: EdgeSpacing,
    /// Areas that their members have to lie in. Exclusive ones do not overlap one another.
    pub fences: Vec<Fence>,
    /// Areas that cells may not lie in, or may not fill.
    pub blockages: Vec<Blockage>,
    /// Space that nodes keep around them, one entry at most for a node.
    pub halos: Vec<Halo>,
    /// Layout units in a micrometre, where that is known.
    pub units_per_micron: Option<f64>,
}

/// The unit that lengths are shown in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthUnit {
    /// Its name.
    pub name: &'static str,
    /// Layout units in it.
    pub size: f64,
}

impl Default for LengthUnit {
    /// Returns the layout unit.
    fn default() -> Self {
        LengthUnit { name: "layout units", size: 1.0 }
    }
}

impl LengthUnit {
    /// Returns the unit of a micrometre, which is `size` layout units.
    pub fn microns(size: f64) -> LengthUnit {
        LengthUnit { name: "µm", size }
    }

    /// Returns a length of layout units in this unit.
    pub fn of(&self, length: f64) -> f64 {
        length / self.size
    }
}

/// Error of a [`Design`] whose columns do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// A column with too many or too few values.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Which column.
        what: &'static str,
        /// Values it should have.
        expected: usize,
        /// Values it has.
        found: usize,
    },
    /// A net whose pins end before they start, or beyond the pins there are.
    #[error("net {net}: its pins are {start}..{end} of {pins}")]
    NetPins {
        /// The net.
        net: usize,
        /// Its first pin.
        start: u32,
        /// One more than its last pin.
        end: u32,
        /// Pins there are.
        pins: usize,
    },
    /// Pins before the first net's or after the last net's.
    #[error("pins {start}..{end} of all nets, expected 0..{pins}")]
    AllPins {
        /// First pin of the first net.
        start: u32,
        /// One more than the last pin of the last net.
        end: u32,
        /// Pins there are.
        pins: usize,
    },
    /// A pin on a node that does not exist.
    #[error("pin {pin} is on node {node}, of {nodes}")]
    PinNode {
        /// The pin.
        pin: usize,
        /// Its node.
        node: u32,
        /// Nodes there are.
        nodes: usize,
    },
    /// An operation needs nets, but the design has none ([`Design::nets`]).
    #[error("the design has no nets")]
    NoNets,
    /// A net whose weight is negative or not finite.
    #[error("weight of net `{net}`: {weight}: expected a finite number, at least 0")]
    NetWeight {
        /// Its name, or its number if nets have no names.
        net: String,
        /// Its weight.
        weight: f64,
    },
    /// A node that names a library cell or a fence that does not exist, or a halo a node.
    #[error("{of} {index} names {what} {named}, of {count}")]
    NoSuch {
        /// Kind of the thing that holds the name.
        of: &'static str,
        /// Its index.
        index: usize,
        /// Kind of the thing that is named.
        what: &'static str,
        /// The index that is named.
        named: usize,
        /// Their number.
        count: usize,
    },
    /// A node that does not exist.
    #[error("there is no node {node}: the design has {nodes}")]
    NoNode {
        /// The node.
        node: usize,
        /// Nodes there are.
        nodes: usize,
    },
    /// More nodes, nets or pins than 32 bits count.
    #[error("{count} {what}: at most {} are possible", MAX_COUNT)]
    TooMany {
        /// Name of the things that are too many, in the plural.
        what: &'static str,
        /// Their number.
        count: usize,
    },
}

/// Largest number of nodes, nets and pins of a design: indices have 32 bits, and the
/// largest index means a fixed pin.
pub const MAX_COUNT: usize = u32::MAX as usize - 1;

/// A node of more rows than this is a macro.
pub const MOST_ROWS_OF_A_CELL: f64 = 4.0;

/// Whether a node of this height is a macro, whatever its library cell is.
pub(crate) fn is_tall(height: f64, row_height: f64) -> bool {
    height > (MOST_ROWS_OF_A_CELL + 1e-3) * row_height
}

/// Half-perimeter wirelength of a placement.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Hpwl {
    /// Σ over nets of (max x − min x) + (max y − min y).
    pub unweighted: f64,
    /// That sum with each net weighted.
    pub weighted: f64,
}

impl Nodes {
    fn check(&self) -> Result<(), DesignError> {
        let nodes = self.len();
        check_count("nodes", nodes)?;
        check_names("names of nodes", nodes, &self.names)?;
        check_columns(
            nodes,
            &[("widths of nodes", self.width.len()), ("heights of nodes", self.height.len())],
        )?;
        let optional =
            [("library cells of nodes", self.master.len()), ("fences of nodes", self.fence.len())];
        optional
            .iter()
            .filter(|(_, found)| *found > 0)
            .try_for_each(|column| check_columns(nodes, std::slice::from_ref(column)))
    }

    /// Checks that every library cell and every fence that a node names exists.
    fn check_names_of(&self, masters: usize, fences: usize) -> Result<(), DesignError> {
        let columns = [("library cell", &self.master, masters), ("fence", &self.fence, fences)];
        for (what, column, count) in columns {
            let missing = |named: &Option<u32>| named.is_some_and(|named| named as usize >= count);
            if let Some(index) = column.iter().position(missing) {
                let named = column[index].map_or(0, |named| named as usize);
                return Err(DesignError::NoSuch { of: "node", index, what, named, count });
            }
        }
        Ok(())
    }
}

impl Clone for Placement {
    /// Copies on all threads of the current rayon pool.
    fn clone(&self) -> Self {
        let Placement { x, y, orientation } = self;
        Placement { x: copied(x), y: copied(y), orientation: copied(orientation) }
    }
}

impl Placement {
    /// Checks that there is one position and orientation for each of this number of nodes.
    ///
    /// # Errors
    /// At the first column with more or fewer values.
    pub fn check(&self, nodes: usize) -> Result<(), DesignError> {
        check_columns(
            nodes,
            &[
                ("x of nodes", self.x.len()),
                ("y of nodes", self.y.len()),
                ("orientations of nodes", self.orientation.len()),
            ],
        )
    }
}

impl Nets {
    fn check(&self, nodes: usize) -> Result<(), DesignError> {
        let (nets, pins) = (self.len(), self.pins());
        check_count("nets", nets)?;
        check_count("pins", pins)?;
        check_names("names of nets", nets, &self.names)?;
        check_columns(
            pins,
            &[("x offsets of pins", self.pin_dx.len()), ("y offsets of pins", self.pin_dy.len())],
        )?;
        if let (0, 0, []) = (nets, pins, &self.net_start[..]) {
            return Ok(()); // `Nets::default()`
        }
        check_columns(nets + 1, &[("first pins of nets and their end", self.net_start.len())])?;
        let wrong = |net: usize| {
            let (start, end) = (self.net_start[net], self.net_start[net + 1]);
            let is_wrong = start > end || end as usize > pins;
            is_wrong.then_some(DesignError::NetPins { net, start, end, pins })
        };
        parallel::first(nets, wrong).map_or(Ok(()), Err)?;
        let (start, end) = (self.net_start[0], self.net_start[nets]);
        if start != 0 || end as usize != pins {
            return Err(DesignError::AllPins { start, end, pins });
        }
        let wrong = |pin: usize| {
            let node = self.pin_node[pin];
            (node as usize >= nodes).then_some(DesignError::PinNode { pin, node, nodes })
        };
        parallel::first(pins, wrong).map_or(Ok(()), Err)
    }
}

fn check_count(what: &'static str, count: usize) -> Result<(), DesignError> {
    if count > MAX_COUNT { Err(DesignError::TooMany { what, count }) } else { Ok(()) }
}

fn check_columns(expected: usize, columns: &[(&'static str, usize)]) -> Result<(), DesignError> {
    match columns.iter().find(|(_, found)| *found != expected) {
        Some(&(what, found)) => Err(DesignError::Length { what, expected, found }),
        None => Ok(()),
    }
}

/// Names may be left out, all of them.
fn check_names(what: &'static str, expected: usize, names: &Names) -> Result<(), DesignError> {
    if names.is_empty() { Ok(()) } else { check_columns(expected, &[(what, names.len())]) }
}

impl Design {
    /// Returns the unit to show lengths in: micrometres if they are known, else layout units.
    pub fn length_unit(&self) -> LengthUnit {
        self.units_per_micron.map(LengthUnit::microns).unwrap_or_default()
    }

    /// Checks that the columns fit together: each has one value per node, net or pin (names,
    /// library cells and fences may be left out, all of them), every pin belongs to one net and is
    /// on a node that exists, and so does every library cell, fence and node that is named. Numbers
    /// are not looked at.
    ///
    /// [`Charge::from_design`](crate::charge::Charge::from_design),
    /// [`Netlist::from_design`](crate::wirelength::Netlist::from_design) and the writers check this
    /// first; the designs of [`crate::bookshelf::read_design`] pass.
    ///
    /// # Errors
    /// Describes the first thing that does not fit.
    pub fn check(&self) -> Result<(), DesignError> {
        self.nodes.check()?;
        self.nodes.check_names_of(self.masters.len(), self.fences.len())?;
        let count = self.nodes.len();
        if let Some(index) = self.halos.iter().position(|halo| halo.node as usize >= count) {
            let named = self.halos[index].node as usize;
            return Err(DesignError::NoSuch { of: "halo", index, what: "node", named, count });
        }
        self.placement.check(count)?;
        self.nets.as_ref().map_or(Ok(()), |nets| nets.check(self.nodes.len()))
    }

    /// Returns the die, layout units: the bounding box of the rows, or of the die area if there are
    /// no rows; `None` without either.
    pub fn die(&self) -> Option<Rect> {
        let bounds = |rects: &mut dyn Iterator<Item = Rect>| rects.reduce(|a, b| a.union(&b));
        let rows = bounds(&mut self.rows.iter().map(Row::rect));
        rows.or_else(|| bounds(&mut self.die_area.iter().copied()))
    }

    /// Returns the area of `rect` outside the die area, layout units squared; 0 without a die area.
    pub fn area_outside_die(&self, rect: &Rect) -> f64 {
        let inside: f64 = self.die_area.iter().map(|part| part.overlap(rect)).sum();
        if self.die_area.is_empty() { 0.0 } else { (rect.area() - inside).max(0.0) }
    }

    /// Returns the number of movable nodes that reach beyond the die area; 0 without a die area.
    pub fn movable_beyond_die(&self) -> usize {
        /// Share of a cell's area that counts as zero, because sums of areas are rounded.
        const ROUNDED: f64 = 1e-9;
        let beyond = |&i: &usize| {
            let rect = self.rect(i);
            self.area_outside_die(&rect) > ROUNDED * rect.area()
        };
        self.movable().filter(beyond).count()
    }

    /// Returns the height that most rows have, layout units (the smallest of the most frequent);
    /// `None` without rows.
    pub fn row_height(&self) -> Option<f64> {
        let mut heights: Vec<f64> = self.rows.iter().map(|r| r.height).collect();
        heights.sort_by(f64::total_cmp);
        heights
            .chunk_by(|a, b| a == b)
            .max_by(|a, b| a.len().cmp(&b.len()).then(b[0].total_cmp(&a[0])))
            .map(|run| run[0])
    }

    /// Returns the width and height of node `i` in its orientation, layout units.
    ///
    /// # Panics
    /// If a column has no value for node `i`.
    pub fn size(&self, i: usize) -> (f64, f64) {
        self.nodes.size(i, self.placement.orientation[i])
    }

    /// Returns the rectangle that node `i` covers.
    ///
    /// # Panics
    /// If a column has no value for node `i`.
    pub fn rect(&self, i: usize) -> Rect {
        let (w, h) = self.size(i);
        Rect::at(self.placement.x[i], self.placement.y[i], w, h)
    }

    /// Returns the library cell of node `i`, if it has one.
    pub fn master_of(&self, i: usize) -> Option<&Master> {
        let master = self.nodes.master.get(i).copied().flatten()?;
        self.masters.get(master as usize)
    }

    /// Returns the rectangles that node `i` blocks in its orientation, in layout units: its box, or
    /// the parts of it that its library cell covers ([`Master::outline`]). They do not overlap.
    ///
    /// # Panics
    /// If a column has no value for node `i`.
    pub fn solid_rects(&self, i: usize) -> impl Iterator<Item = Rect> + '_ {
        let (rect, orientation) = (self.rect(i), self.placement.orientation[i]);
        let outline = self.master_of(i).map_or(&[][..], |master| &master.outline);
        let (width, height) = (self.nodes.width[i], self.nodes.height[i]);
        let (x, y) = ((rect.xl + rect.xh) / 2.0, (rect.yl + rect.yh) / 2.0);
        let lies = move |part: &Rect| {
            let corner = |px: f64, py: f64| orientation.turn((px - width / 2.0, py - height / 2.0));
            let (a, b) = (corner(part.xl, part.yl), corner(part.xh, part.yh));
            Rect {
                xl: x + a.0.min(b.0),
                yl: y + a.1.min(b.1),
                xh: x + a.0.max(b.0),
                yh: y + a.1.max(b.1),
            }
        };
        outline.is_empty().then_some(rect).into_iter().chain(outline.iter().map(lies))
    }

    /// Whether node `i` is a macro, where most rows are this high: a block of a library, or a node
    /// of more than [`MOST_ROWS_OF_A_CELL`] rows. Macros are placed before other cells and keep
    /// their orientation.
    ///
    /// # Panics
    /// If a column has no value for node `i`.
    pub fn is_macro(&self, i: usize, row_height: f64) -> bool {
        self.master_of(i).is_some_and(|master| master.class == MasterClass::Other)
            || is_tall(self.nodes.height[i], row_height)
    }

    /// Returns the height of most rows; without rows the median height of the movable nodes.
    pub(crate) fn usual_height(&self) -> f64 {
        let heights = || self.movable().map(|i| self.nodes.height[i]).collect::<Vec<f64>>();
        self.row_height().unwrap_or_else(|| median(&mut heights()))
    }

    /// Returns the movable macros, in order.
    pub(crate) fn movable_macros(&self) -> Vec<usize> {
        let row_height = self.usual_height();
        let moves = |i: usize| self.nodes.kind[i] == NodeKind::Movable;
        parallel::filter(self.nodes.len(), |i| moves(i) && self.is_macro(i, row_height))
    }

    /// Adds a hard halo, layout units along x and along y, to every movable macro without a halo.
    ///
    /// # Panics
    /// If the design's columns do not fit together.
    pub fn add_macro_halos(&mut self, distance: [f64; 2]) {
        let has_halo: HashSet<u32> = self.halos.iter().map(|halo| halo.node).collect();
        let macros = if distance == [0.0; 2] { Vec::new() } else { self.movable_macros() };
        for node in macros.into_iter().filter(|node| !has_halo.contains(&(*node as u32))) {
            let [mut x, mut y] = distance;
            // The sides of a halo are those in orientation N.
            if self.placement.orientation[node].swaps_axes() {
                (x, y) = (y, x);
            }
            let node = node as u32;
            self.halos.push(Halo { node, left: x, bottom: y, right: x, top: y, soft: false });
        }
    }

    /// Whether node `i` is a filler cell that takes no part in placement: it has no area in the
    /// density and may be overlapped, and a DEF file is written with it `UNPLACED`.
    pub fn is_left_out_filler(&self, i: usize) -> bool {
        self.nodes.kind[i] == NodeKind::FixedOverlappable
            && self.master_of(i).is_some_and(|master| master.class == MasterClass::Filler)
    }

    /// Whether the row below node `i` decides its orientation: the node is as high as an odd number
    /// of rows of `row_height`, so its supply rails differ at its bottom and top. Without a library
    /// only nodes of one row are cells; of a library, blocks are free.
    pub fn turns_with_row(&self, i: usize, row_height: f64) -> bool {
        let rows = self.nodes.height[i] / row_height;
        let whole = rows.round();
        (rows - whole).abs() <= 1e-3
            && match self.master_of(i) {
                Some(master) => master.class != MasterClass::Other && whole % 2.0 == 1.0,
                None => whole == 1.0,
            }
    }

    /// Returns the first size of a node that is negative or not finite, or the first coordinate
    /// that is not finite: the name of the number, the node and the value; `None` if all are right.
    /// Widths are looked at first, then heights, x and y. Parallel.
    pub(crate) fn bad_number_of_node(&self) -> Option<(&'static str, usize, f64)> {
        let (nodes, at) = (&self.nodes, &self.placement);
        let columns = [
            ("width of node", &nodes.width, true),
            ("height of node", &nodes.height, true),
            ("x of node", &at.x, false),
            ("y of node", &at.y, false),
        ];
        columns.into_iter().find_map(|(what, values, size)| {
            let wrong = |v: f64| !v.is_finite() || size && v < 0.0;
            parallel::first(values.len(), |index| {
                wrong(values[index]).then_some((what, index, values[index]))
            })
        })
    }

    /// Returns the indices of the movable nodes, in order.
    pub fn movable(&self) -> impl Iterator<Item = usize> + '_ {
        let kinds = self.nodes.kind.iter().enumerate();
        kinds.filter(|(_, kind)| **kind == NodeKind::Movable).map(|(i, _)| i)
    }

    /// Returns the movable nodes, in order.
    pub(crate) fn movable_nodes(&self) -> Vec<usize> {
        parallel::filter(self.nodes.len(), |i| self.nodes.kind[i] == NodeKind::Movable)
    }

    /// Makes node `node` movable, or fixes it at its position. Fixing a node that cells may overlap
    /// changes nothing.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn set_movable(&mut self, node: usize, movable: bool) -> Result<(), DesignError> {
        let nodes = self.nodes.len();
        let kind = self.nodes.kind.get_mut(node).ok_or(DesignError::NoNode { node, nodes })?;
        match (movable, *kind) {
            (true, _) => *kind = NodeKind::Movable,
            (false, NodeKind::Movable) => *kind = NodeKind::Fixed,
            (false, NodeKind::Fixed | NodeKind::FixedOverlappable) => (),
        }
        Ok(())
    }

    /// Fixes `nodes`, and returns the kinds that all nodes had before.
    pub(crate) fn fix(&mut self, nodes: impl IntoIterator<Item = usize>) -> Vec<NodeKind> {
        let before = self.nodes.kind.clone();
        nodes.into_iter().for_each(|node| self.nodes.kind[node] = NodeKind::Fixed);
        before
    }

    /// Returns the name of node `i`, or its number if the design has no names.
    pub(crate) fn node_name(&self, i: usize) -> String {
        match self.nodes.names.is_empty() {
            true => format!("node {i}"),
            false => self.nodes.names.get(i).to_owned(),
        }
    }

    /// Moves the movable nodes to lower-left corners, x and y, by their number among them.
    pub(crate) fn set_movable_positions(&mut self, corner: impl Fn(usize) -> (f64, f64) + Sync) {
        const BLOCK: usize = 1 << 13;
        let is_movable = |kind: &&NodeKind| **kind == NodeKind::Movable;
        let kinds = || parallel::chunks(&self.nodes.kind, BLOCK);
        let counts = parallel::map_items(kinds(), |_, of| of.iter().filter(is_movable).count());
        let first: Vec<usize> = counts
            .iter()
            .scan(0, |end, count| {
                *end += count;
                Some(*end - count)
            })
            .collect();
        let Placement { x, y, .. } = &mut self.placement;
        let columns = (parallel::chunks_mut(x, BLOCK), parallel::chunks_mut(y, BLOCK), kinds());
        parallel::for_each(columns, |block, (x, y, kinds)| {
            let nodes = x.iter_mut().zip(y).zip(kinds).filter(|(_, kind)| is_movable(kind));
            for (((x, y), _), number) in nodes.zip(first[block]..) {
                (*x, *y) = corner(number);
            }
        });
    }

    /// Returns the half-perimeter wirelength over every net of two or more pins, layout units;
    /// `None` without nets, NaN if a pin of such a net has a coordinate that is NaN.
    ///
    /// Nets are summed in fixed blocks, so that the result does not depend on
    /// the number of threads.
    ///
    /// # Panics
    /// If the columns do not fit together ([`Design::check`]).
    pub fn hpwl(&self) -> Option<Hpwl> {
        self.hpwl_at(&self.placement)
    }

    /// As [`Design::hpwl`], of another placement.
    pub(crate) fn hpwl_at(&self, at: &Placement) -> Option<Hpwl> {
        let nets = self.nets.as_ref()?;
        const BLOCK: usize = 4096;
        // A node has several pins: their data about it is adjacent in memory.
        let centres = parallel::map(self.nodes.len(), |node| {
            let (w, h) = self.nodes.size(node, at.orientation[node]);
            let Rect { xl, yl, xh, yh } = Rect::at(at.x[node], at.y[node], w, h);
            ((xl + xh) / 2.0, (yl + yh) / 2.0)
        });
        let blocks = parallel::map_blocks(nets.len(), BLOCK, |range| {
            range.fold((0.0, 0.0), |(plain, weighted), e| {
                let pose = |node: usize| (centres[node], at.orientation[node]);
                let length = self.half_perimeter(nets, e, pose);
                (plain + length, weighted + nets.weight[e] * length)
            })
        });
        let (unweighted, weighted) =
            blocks.iter().fold((0.0, 0.0), |(a, b), &(p, w)| (a + p, b + w));
        Some(Hpwl { unweighted, weighted })
    }

    /// Returns the half-perimeter of every net, layout units, without its weight; `None` when the
    /// nets are not known. A length is NaN where a pin has no position.
    pub fn net_lengths(&self) -> Option<Vec<f64>> {
        let nets = self.nets.as_ref()?;
        Some(parallel::map(nets.len(), |e| self.net_hpwl(nets, e)))
    }

    pub(crate) fn net_hpwl(&self, nets: &Nets, e: usize) -> f64 {
        let orientation = &self.placement.orientation;
        self.half_perimeter(nets, e, |node| (self.centre(node), orientation[node]))
    }

    /// Returns the HPWL of net `e`; `pose` gives the centre and the orientation of a node.
    #[inline]
    fn half_perimeter(
        &self,
        nets: &Nets,
        e: usize,
        pose: impl Fn(usize) -> ((f64, f64), Orientation),
    ) -> f64 {
        let pins = nets.pins_of(e);
        if pins.len() < 2 {
            return 0.0;
        }
        let mut box_ = Rect {
            xl: f64::INFINITY,
            yl: f64::INFINITY,
            xh: f64::NEG_INFINITY,
            yh: f64::NEG_INFINITY,
        };
        let mut is_nan = false;
        for p in pins {
            let (x, y) = pin_from(pose(nets.pin_node[p] as usize), nets, p);
            is_nan |= x.is_nan() || y.is_nan();
            box_ = box_.union(&Rect { xl: x, yl: y, xh: x, yh: y });
        }
        if is_nan { f64::NAN } else { box_.width() + box_.height() }
    }

    pub(crate) fn centre(&self, node: usize) -> (f64, f64) {
        let r = self.rect(node);
        ((r.xl + r.xh) / 2.0, (r.yl + r.yh) / 2.0)
    }

    /// Returns the position of pin `p` of `nets`, layout units.
    ///
    /// # Panics
    /// If there is no pin `p`, or its node does not exist.
    pub fn pin_position(&self, nets: &Nets, p: usize) -> (f64, f64) {
        let node = nets.pin_node[p] as usize;
        pin_from((self.centre(node), self.placement.orientation[node]), nets, p)
    }
}

/// Returns the position of pin `p` if its node has its centre at `(x, y)`.
#[inline]
fn pin_from(((x, y), orientation): ((f64, f64), Orientation), nets: &Nets, p: usize) -> (f64, f64) {
    let (dx, dy) = orientation.turn((nets.pin_dx[p], nets.pin_dy[p]));
    (x + dx, y + dy)
}
