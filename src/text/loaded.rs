//! Options and results of the readers of designs.

use super::file;
use crate::design::{Design, NodeKind, Orientation, Placement};
use crate::setters::setters;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Format of a design or placement file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Bookshelf: `.aux` and the files that it names, or a `.pl` file.
    Bookshelf,
    /// DEF.
    Def,
}

impl Format {
    /// Returns the format of a file by its name, compressed or not.
    pub fn of(path: &Path) -> Format {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = file::without_compression(&name);
        if Path::new(name).extension().is_some_and(|ending| ending == "def") {
            Format::Def
        } else {
            Format::Bookshelf
        }
    }
}

/// Options of reading a design of any kind; the methods change the defaults.
///
/// ```
/// use placefield::formats::ReadOptions;
/// let options = ReadOptions::default().lef(["tech.lef", "cells.lef"]).placement("placed.def");
/// assert_eq!(options.lef.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The LEF files of a DEF design, the one with the technology first.
    pub lef: Vec<PathBuf>,
    /// Where a pin of a LEF macro is.
    pub pin_position: PinPosition,
    /// Where a `.nets` file counts pin offsets from.
    pub pin_offset: PinOffset,
    /// A placement to read in place of the design's own, a `.pl` or a DEF file. Nodes that it does
    /// not mention stay where the design has them.
    pub placement: Option<PathBuf>,
    /// A file of net weights in the format of a `.wts` file: a name and a weight from 0 to 1e100 on
    /// each line. A net that it does not name keeps the design's weight.
    pub net_weights: Option<PathBuf>,
    /// Whether filler cells (`CLASS CORE SPACER`) that are not fixed are movable cells like others.
    /// By default they are left out: they take no area, and are written `UNPLACED`.
    pub keep_fillers: bool,
}

impl ReadOptions {
    /// Sets the LEF files, the one with the technology first.
    #[must_use]
    pub fn lef(self, lef: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        ReadOptions { lef: lef.into_iter().map(Into::into).collect(), ..self }
    }

    setters! {
        /// Sets where pins of LEF macros are.
        pin_position: PinPosition,
        /// Sets the point from which a `.nets` file counts pin offsets.
        pin_offset: PinOffset,
        /// Sets whether filler cells are movable cells like others.
        keep_fillers: bool,
    }

    /// Sets a placement file to be read instead of the design's own.
    #[must_use]
    pub fn placement(self, placement: impl Into<PathBuf>) -> Self {
        ReadOptions { placement: Some(placement.into()), ..self }
    }

    /// Sets a file of net weights.
    #[must_use]
    pub fn net_weights(self, weights: impl Into<PathBuf>) -> Self {
        ReadOptions { net_weights: Some(weights.into()), ..self }
    }
}

/// A design of any kind, with warnings and facts from its files.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// The design: of Bookshelf files called as the `.aux` file; of a DEF file with its components
    /// in the file's order, then those of its pins that are placed.
    pub design: Design,
    /// Warnings about anomalies, ignored parts and missing files, one line each.
    pub warnings: Vec<Warning>,
    /// Size of all files read together, in bytes, not compressed.
    pub bytes_read: u64,
    /// The files that were read, in this order, LEF before DEF.
    pub files: Vec<PathBuf>,
    /// The file of the design's own placement, if another placement was read instead.
    pub own_placement: Option<PathBuf>,
    /// Nodes without a position in the file: the design has them in the middle of the die, or at
    /// the origin. Ascending.
    pub unplaced: Vec<u32>,
    /// Contents of the DEF file, if the design came from one.
    pub def: Option<DefSummary>,
    /// Contents of the LEF files, if the design came from a DEF file.
    pub lef: Option<LefSummary>,
    /// The lines of its `GCELLGRID`.
    pub gcell_grid: Vec<GcellGrid>,
    /// The routing layers of its LEF files.
    pub layers: Vec<RoutingLayer>,
}

/// A placement of the nodes of a design, and warnings of reading it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedPlacement {
    /// The position of each node; nodes the file does not mention are at (0, 0), `N`.
    pub placement: Placement,
    /// The kinds of the nodes with this file's fixed nodes.
    pub kind: Vec<NodeKind>,
    /// Movable nodes that the file gives no position, ascending.
    pub unplaced: Vec<u32>,
    /// Nodes that the file does not mention, ascending.
    pub missing: Vec<u32>,
    /// Warnings about unusual or skipped content, one line each.
    pub warnings: Vec<Warning>,
    /// The file that was read.
    pub file: PathBuf,
}

impl LoadedPlacement {
    /// Makes a placement of nodes of these kinds, at (0, 0), `N`.
    pub(crate) fn of_kinds(kind: &[NodeKind]) -> Self {
        let [x, y] = [(); 2].map(|()| vec![0.0; kind.len()]);
        let placement = Placement { x, y, orientation: vec![Orientation::N; kind.len()] };
        LoadedPlacement { placement, kind: kind.to_vec(), ..LoadedPlacement::default() }
    }

    /// Sets the position of a node.
    pub(crate) fn place(&mut self, node: usize, (x, y): (f64, f64), orientation: Orientation) {
        (self.placement.x[node], self.placement.y[node]) = (x, y);
        self.placement.orientation[node] = orientation;
    }

    /// Notes the nodes that are not mentioned: they are missing, and unplaced if they are movable.
    pub(crate) fn leave_out(&mut self, mentioned: &[bool]) {
        let all = 0..mentioned.len() as u32;
        self.missing = all.filter(|&node| !mentioned[node as usize]).collect();
        let is_movable = |node: &&u32| self.kind[**node as usize] == NodeKind::Movable;
        self.unplaced.extend(self.missing.iter().filter(is_movable));
        self.unplaced.sort_unstable();
    }

    /// Takes the positions and kinds of missing nodes from the design's own placement.
    pub(crate) fn fill(&mut self, own: &LoadedPlacement) {
        let missing = std::mem::take(&mut self.missing);
        for node in missing.iter().map(|&node| node as usize) {
            let at = (own.placement.x[node], own.placement.y[node]);
            self.place(node, at, own.placement.orientation[node]);
            self.kind[node] = own.kind[node];
        }
        let is_missing = |node: &u32| missing.binary_search(node).is_ok();
        self.unplaced.retain(|node| !is_missing(node));
        self.unplaced.extend(own.unplaced.iter().copied().filter(is_missing));
        self.unplaced.sort_unstable();
        self.missing = own.missing.iter().copied().filter(is_missing).collect();
    }
}

/// Where pin offsets are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PinOffset {
    /// From the cell's centre, as the format has it.
    #[default]
    Center,
    /// From the lower-left corner, as in IBM-PLACE 2.0 and similar suites.
    LowerLeft,
}

/// The position assumed for a pin of several shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PinPosition {
    /// The centre of the bounding box of all shapes.
    #[default]
    Center,
    /// The mean of the centres of all rectangles, as OpenROAD reports wirelengths.
    Mean,
}

/// Counts of the content of a DEF file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DefSummary {
    /// Text of `VERSION`; `None` if there is none.
    pub version: Option<String>,
    /// Layout units in a micrometre.
    pub units: f64,
    /// Components.
    pub components: u64,
    /// Pins of the design.
    pub pins: u64,
    /// Nets, supply nets among `NETS` too.
    pub nets: u64,
    /// Pins of components in these nets.
    pub connections: u64,
    /// Nets in `SPECIALNETS`.
    pub special_nets: u64,
    /// Statements `ROW`.
    pub rows: u64,
    /// Components that are not placed.
    pub unplaced: u64,
    /// Regions of any type.
    pub regions: u64,
    /// Entries of `BLOCKAGES`.
    pub blockages: u64,
    /// Numbers of skipped statements, by section, by statement, or by section and option.
    pub skipped: BTreeMap<String, u64>,
}

/// Counts of the content of LEF files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LefSummary {
    /// Numbers of skipped statements, by statement, or by block and statement in it.
    pub skipped: BTreeMap<String, u64>,
}

/// Lines of a routing grid: `count` lines from `start`, `step` apart, in layout units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GcellGrid {
    /// Along which axis the lines follow one another.
    pub axis: GridAxis,
    /// The first line.
    pub start: f64,
    /// Number of lines.
    pub count: u64,
    /// From one line to the next.
    pub step: f64,
}

/// An axis of a [`GcellGrid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum GridAxis {
    X,
    Y,
}

/// A routing layer of LEF, in micrometres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoutingLayer {
    /// Its name.
    pub name: String,
    /// How wires run on it.
    pub direction: LayerDirection,
    /// From wire to wire along x and y; 0 where the library has none.
    pub pitch: [f64; 2],
    /// Default width of wires; 0 where the library has none.
    pub width: f64,
}

/// How wires run on a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerDirection {
    /// Along x.
    Horizontal,
    /// Along y.
    Vertical,
    /// Otherwise, or not given by the library.
    Unknown,
}
