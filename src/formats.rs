//! One front for designs of any kind: what a file is, is seen from its name.
//!
//! | name ends in | what it is | read by |
//! |---|---|---|
//! | `.def`, `.def.gz`, `.def.xz` | a DEF file, with its LEF files | [`crate::lefdef`] |
//! | anything else | a Bookshelf design's `.aux` file, or a `.pl` file | [`crate::bookshelf`] |
//!
//! Lengths are layout units: those of the Bookshelf files, or DEF's database units.

pub use crate::text::error::{ErrorKind, FileError};

use crate::bookshelf::{self, PinOffset};
use crate::design::{Design, NodeKind, Nodes, Placement};
use crate::lefdef::{self, DefSummary, GcellGrid, LefSummary, PinPosition, RoutingLayer};
use crate::setters::setters;
use crate::text::file;
use crate::warning::Warning;
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

/// How to read a design of any kind: the default, and what is to differ from it.
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

/// A design of any kind, and what there is to say about reading it.
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
    /// The file of the design's own placement, where another was read in its place.
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
    /// The kinds of the nodes when what this file says to be fixed is heeded.
    pub kind: Vec<NodeKind>,
    /// Movable nodes that the file gives no position, ascending.
    pub unplaced: Vec<u32>,
    /// Nodes that the file does not mention, ascending.
    pub missing: Vec<u32>,
    /// Warnings of things that were odd or passed over, one line each.
    pub warnings: Vec<Warning>,
    /// The file that was read.
    pub file: PathBuf,
}

/// Reads the design at `path`: a Bookshelf design by its `.aux` file, or a DEF file with its LEF
/// files.
///
/// # Errors
/// If a file cannot be read or does not follow its format, a DEF file comes without LEF files, an
/// `.aux` file with some, or a design without nets with net weights.
pub fn read_design(path: &Path, options: &ReadOptions) -> Result<Loaded, FileError> {
    let mut loaded = read_files(path, options)?;
    if let Some(weights) = &options.net_weights {
        let nets = loaded.design.nets.as_mut().ok_or_else(|| {
            FileError::whole(weights, ErrorKind::Other("no file, because the design has no nets"))
        })?;
        loaded.warnings.extend(bookshelf::read_net_weights(weights, nets)?);
        loaded.files.push(weights.clone());
    }
    Ok(loaded)
}

fn read_files(path: &Path, options: &ReadOptions) -> Result<Loaded, FileError> {
    let refused = |expected| Err(FileError::whole(path, ErrorKind::Other(expected)));
    match (Format::of(path), options.lef.is_empty()) {
        (Format::Bookshelf, true) => bookshelf::read_design(path, options),
        (Format::Bookshelf, false) => refused("a .def file, for there are LEF files"),
        (Format::Def, true) => {
            refused("the LEF files that belong to it, the one with the technology first")
        }
        (Format::Def, false) => lefdef::read_design(path, options),
    }
}

/// Reads the placement at `path`, a `.pl` or a DEF file, for these nodes. Coordinates are taken as
/// they are; of a DEF file pins of several shapes lie as `pin_position` has it.
///
/// # Errors
/// If the file cannot be read, does not follow its format, or places a node that does not exist.
pub fn read_placement(
    path: &Path,
    nodes: &Nodes,
    pin_position: PinPosition,
) -> Result<LoadedPlacement, FileError> {
    match Format::of(path) {
        Format::Bookshelf => bookshelf::read_placement(path, nodes),
        Format::Def => lefdef::read_placement(path, nodes, pin_position),
    }
}

/// Returns the format of a placement of the design at `source` that is written to `out`, by its
/// name.
///
/// # Errors
/// When it cannot be written so: a DEF file is a copy of the DEF file that the design was read
/// from.
pub fn placement_format(out: &Path, source: &Path) -> Result<Format, FileError> {
    match (Format::of(out), Format::of(source)) {
        (Format::Def, Format::Bookshelf) => {
            let expected = "a .pl file, for the design is no .def file";
            Err(FileError::whole(out, ErrorKind::Other(expected)))
        }
        (format, _) => Ok(format),
    }
}

/// Writes the positions of the nodes of `design` to `out`, in the format that its name says; the
/// design was read from the file `source`. A DEF file is a copy of `source` with other placements
/// of the movable components ([`lefdef::write_placement`]); any other file is a `.pl` file
/// ([`bookshelf::write_pl`]).
///
/// # Errors
/// See [`placement_format`] and of the writers.
pub fn write_placement(out: &Path, source: &Path, design: &Design) -> Result<(), FileError> {
    match placement_format(out, source)? {
        Format::Bookshelf => bookshelf::write_pl(out, design),
        Format::Def => lefdef::write_placement(out, source, design),
    }
}

/// Returns the files that [`read_design`] would read, if they exist.
pub fn files_of(path: &Path, options: &ReadOptions) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = match Format::of(path) {
        Format::Bookshelf => bookshelf::files_of(path, options),
        Format::Def => {
            let named = options.lef.iter().map(PathBuf::as_path).chain([path]);
            named.chain(options.placement.as_deref()).filter_map(file::find).collect()
        }
    };
    files.extend(options.net_weights.as_deref().and_then(file::find));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_format() {
        for name in ["a.def", "A.DEF", "d/a.def.gz", "a.b.def.xz"] {
            assert_eq!(Format::of(Path::new(name)), Format::Def, "{name}");
        }
        for name in ["a.aux", "a.pl", "-", "def", "a.def.aux", "a.def.zst", ".def"] {
            assert_eq!(Format::of(Path::new(name)), Format::Bookshelf, "{name}");
        }
    }

    #[test]
    fn mismatched_design_files_are_refused() {
        let with_lef = ReadOptions::default().lef(["a.lef"]);
        for (path, options, want) in [
            ("a.def", ReadOptions::default(), "a.def: expected the LEF files that belong to it"),
            ("a.aux", with_lef, "a.aux: expected a .def file"),
        ] {
            let error = read_design(Path::new(path), &options).unwrap_err().to_string();
            assert!(error.starts_with(want), "{error}");
        }
        let (out, source) = (Path::new("a.def.gz"), Path::new("a.aux"));
        let error = write_placement(out, source, &Design::default()).unwrap_err().to_string();
        assert!(error.starts_with("a.def.gz: expected a .pl file"), "{error}");
    }
}
