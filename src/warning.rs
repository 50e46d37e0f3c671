//! Warnings about a design and its numbers.

use std::fmt;

/// A remark about a design or a run that is no error.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Kind of the warning, for programs.
    pub code: WarningCode,
    /// One line, with its numbers and the file it is about: for people.
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
    /// No net pulls at a movable node, so the cells are only spread.
    NothingPulls,
    /// There are no weights of nets, so every net weighs 1.
    NoWeights,
    /// Weights are of names that the design does not have.
    UnknownNames,
    /// A file has more of something than its header counts.
    HeaderCount,
    /// Movable nodes have no area.
    NoArea,
    /// Nets have fewer than two pins, and no wirelength.
    ShortNets,
    /// Many pins lie outside their cells.
    PinsOutsideCells,
    /// Nodes have no place, and lie at the origin or in the middle of the die.
    NotPlaced,
    /// Rows are left out, or cut to the die area.
    RowsLeftOut,
    /// Filler cells take no part in placement and are written without a position.
    FillersLeftOut,
    /// Nets or pins of nets are left out.
    NetsLeftOut,
    /// A part of the floorplan (die, regions, groups) is taken as something simpler.
    FloorplanSimplified,
    /// A part of the library is left out or taken as something simpler.
    LibrarySimplified,
    /// A statement that others depend on is missing or not heeded.
    Assumed,
    /// The placement frees nodes that the design's own placement fixes.
    FixedFreed,
    /// Fixed cells reach beyond the die.
    FixedOffDie,
    /// Movable cells reach beyond the die.
    MovableOffDie,
    /// Halos of movable nodes take no area.
    HalosNotHeeded,
    /// The requested target density is impossible, and a higher one is used.
    TargetDensityRaised,
    /// Movable cells, or the members of a fence, do not fit into the space there is.
    CellsCannotFit,
    /// There are no fillers.
    NoFillers,
    /// No placement has as little overflow as requested.
    OverflowOutOfReach,
    /// A stage was left out.
    StageLeftOut,
    /// The global stage ended before its overflow, but the later stages are legal all the same.
    SpreadIncomplete,
    /// The placement that the file gives is neither the start nor kept.
    PlacementNotUsed,
    /// The file written has other numbers or names than the file read.
    Rounded,
    /// The file written lacks a part of the file read.
    NotWritten,
    /// Single precision does not hold the design that was written.
    NeedsF64,
    /// A measurement failed.
    NotMeasured,
    /// Runs differ in options that their numbers depend on.
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
