//! Warnings about a design and its numbers.

use std::fmt;

/// A remark about a design or a run that is not an error.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Kind of the warning, for programs.
    pub code: WarningCode,
    /// One line for people, with numbers and the file.
    pub message: String,
}

/// The kinds of warnings; in JSON `words_with_underscores`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningCode {
    /// A file that the design names is not read, or words in a file are not.
    NotRead,
    /// There are no nets, so there is no wirelength.
    NoNets,
    /// No net connects movable nodes to others, so the cells are only spread.
    NothingPulls,
    /// There are no net weights, so every net weighs 1.
    NoWeights,
    /// Net weights have names that are not in the design.
    UnknownNames,
    /// A file has more of something than its header counts.
    HeaderCount,
    /// Movable nodes have no area.
    NoArea,
    /// Nets have fewer than two pins, and no wirelength.
    ShortNets,
    /// Many pins lie outside their cells.
    PinsOutsideCells,
    /// Nodes have no position, and are at the origin or at the centre of the die.
    NotPlaced,
    /// Rows are left out, or clipped to the die area.
    RowsLeftOut,
    /// Filler cells are not placed and are written without a position.
    FillersLeftOut,
    /// Nets or pins of nets are left out.
    NetsLeftOut,
    /// A part of the floorplan (die, regions, groups) is simplified.
    FloorplanSimplified,
    /// A part of the library is left out or simplified.
    LibrarySimplified,
    /// A statement that others need is missing or ignored.
    Assumed,
    /// The placement frees nodes that the design's own placement fixes.
    FixedFreed,
    /// Fixed cells extend beyond the die.
    FixedOffDie,
    /// Movable cells extend beyond the die.
    MovableOffDie,
    /// Halos of movable nodes have no area in the density.
    HalosNotHeeded,
    /// The requested target density is impossible, and a higher one is used.
    TargetDensityRaised,
    /// Movable cells, or the members of a fence, do not fit into the available area.
    CellsCannotFit,
    /// There are no fillers.
    NoFillers,
    /// No placement has as little overflow as requested.
    OverflowOutOfReach,
    /// A stage was left out.
    StageLeftOut,
    /// The global stage ended above its overflow, but the later stages are legal.
    SpreadIncomplete,
    /// The placement in the file is not used.
    PlacementNotUsed,
    /// The written file has other numbers or names than the input.
    Rounded,
    /// The written file lacks a part of the input.
    NotWritten,
    /// Single precision is too coarse for the written design.
    NeedsF64,
    /// Runs differ in options that change their numbers.
    OptionsDiffer,
}

impl Warning {
    /// Makes a warning of one line.
    pub fn new(code: WarningCode, message: impl Into<String>) -> Warning {
        Warning { code, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Compares the message.
impl PartialEq<&str> for Warning {
    fn eq(&self, message: &&str) -> bool {
        self.message == *message
    }
}

/// Compares the message.
impl PartialEq<String> for Warning {
    fn eq(&self, message: &String) -> bool {
        self.message == *message
    }
}
