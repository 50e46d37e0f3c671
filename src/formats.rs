//! One front for designs of any kind: what a file is, is seen from its name.
//!
//! | name ends in | what it is | read by |
//! |---|---|---|
//! | `.def`, `.def.gz`, `.def.xz` | a DEF file, with its LEF files | [`crate::lefdef`] |
//! | anything else | a Bookshelf design's `.aux` file, or a `.pl` file | [`crate::bookshelf`] |
//!
//! Lengths are layout units: those of the Bookshelf files, or DEF's database units.

use crate::bookshelf::{self, BookshelfError, PinOffset};
use crate::design::{Design, Nodes};
use crate::lefdef::{self, DefSummary, GcellGrid, LefDefError, PinPosition, RoutingLayer};
use crate::setters::setters;
use crate::text::file;
use crate::warning::{Warning, WarningCode};
use std::path::{Path, PathBuf};

pub use crate::bookshelf::LoadedPlacement;

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
    /// A placement to read in place of the design's own, a `.pl` or a DEF file.
    pub placement: Option<PathBuf>,
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
    }

    /// Sets a placement file to be read instead of the design's own.
    #[must_use]
    pub fn placement(self, placement: impl Into<PathBuf>) -> Self {
        ReadOptions { placement: Some(placement.into()), ..self }
    }

    fn bookshelf(&self) -> bookshelf::ReadOptions {
        let mut options = bookshelf::ReadOptions::default().pin_offset(self.pin_offset);
        options.pl.clone_from(&self.placement);
        options
    }
}

/// A design of any kind, and what there is to say about reading it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// The design.
    pub design: Design,
    /// Warnings about anomalies, ignored parts and missing files, one line each.
    pub warnings: Vec<Warning>,
    /// Size of all files read together, in bytes, not compressed.
    pub bytes_read: u64,
    /// The files that were read, in this order.
    pub files: Vec<PathBuf>,
    /// The file of the design's own placement, where another was read in its place.
    pub own_placement: Option<PathBuf>,
    /// Contents of the DEF file, if the design came from one.
    pub def: Option<DefSummary>,
    /// The lines of its `GCELLGRID`.
    pub gcell_grid: Vec<GcellGrid>,
    /// The routing layers of its LEF files.
    pub layers: Vec<RoutingLayer>,
}

/// A design or placement that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A Bookshelf file.
    #[error(transparent)]
    Bookshelf(#[from] BookshelfError),
    /// A LEF or DEF file.
    #[error(transparent)]
    LefDef(#[from] LefDefError),
    /// Files of two kinds that do not go together.
    #[error("{}: expected {expected}", path.display())]
    Kind {
        /// The file that does not fit.
        path: PathBuf,
        /// The file that is expected.
        expected: &'static str,
    },
}

/// Reads the design at `path`: a Bookshelf design by its `.aux` file, or a DEF file with its LEF
/// files.
///
/// # Errors
/// If a file cannot be read or does not follow its format, a DEF file comes without LEF files, or
/// an `.aux` file with some.
pub fn read_design(path: &Path, options: &ReadOptions) -> Result<Loaded, FormatError> {
    match (Format::of(path), options.lef.is_empty()) {
        (Format::Bookshelf, true) => {
            let bookshelf::Loaded { design, warnings, bytes_read, files, aux } =
                bookshelf::read_design(path, &options.bookshelf())?;
            let own_placement = aux.pl.filter(|_| options.placement.is_some());
            Ok(Loaded { design, warnings, bytes_read, files, own_placement, ..Loaded::default() })
        }
        (Format::Bookshelf, false) => Err(FormatError::Kind {
            path: path.to_owned(),
            expected: "a .def file, for there are LEF files",
        }),
        (Format::Def, true) => {
            let expected = "the LEF files that belong to it, the one with the technology first";
            Err(FormatError::Kind { path: path.to_owned(), expected })
        }
        (Format::Def, false) => read_def(path, options),
    }
}

fn read_def(path: &Path, options: &ReadOptions) -> Result<Loaded, FormatError> {
    let reading = lefdef::ReadOptions::default().pin_position(options.pin_position);
    let reading = options.lef.iter().fold(reading, |reading, lef| reading.lef(lef));
    let lefdef::Loaded { design, warnings, bytes_read, files, def, gcell_grid, layers, .. } =
        lefdef::read_design(path, &reading)?;
    let mut loaded = Loaded {
        design,
        warnings,
        bytes_read,
        files,
        own_placement: None,
        def: Some(def),
        gcell_grid,
        layers,
    };
    if let Some(other) = &options.placement {
        let placed = read_placement(other, &loaded.design.nodes, options.pin_position)?;
        loaded.design.placement = placed.placement;
        loaded.warnings.retain(|warning| warning.code != WarningCode::NotPlaced);
        loaded.design.nodes.kind = placed.kind;
        loaded.warnings.extend(placed.warnings);
        loaded.own_placement = loaded.files.last().cloned();
        loaded.files.push(placed.file);
    }
    Ok(loaded)
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
) -> Result<LoadedPlacement, FormatError> {
    match Format::of(path) {
        Format::Bookshelf => Ok(bookshelf::read_placement(path, nodes)?),
        Format::Def => Ok(lefdef::read_placement(path, nodes, pin_position)?),
    }
}

/// Returns the format of a placement of the design at `source` that is written to `out`, by its
/// name.
///
/// # Errors
/// When it cannot be written so: a DEF file is a copy of the DEF file that the design was read
/// from.
pub fn placement_format(out: &Path, source: &Path) -> Result<Format, FormatError> {
    match (Format::of(out), Format::of(source)) {
        (Format::Def, Format::Bookshelf) => {
            let expected = "a .pl file, for the design is no .def file";
            Err(FormatError::Kind { path: out.to_owned(), expected })
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
pub fn write_placement(out: &Path, source: &Path, design: &Design) -> Result<(), FormatError> {
    match placement_format(out, source)? {
        Format::Bookshelf => Ok(bookshelf::write_pl(out, design)?),
        Format::Def => Ok(lefdef::write_placement(out, source, design)?),
    }
}

/// Returns the files that [`read_design`] would read, if they exist.
pub fn files_of(path: &Path, options: &ReadOptions) -> Vec<PathBuf> {
    match Format::of(path) {
        Format::Bookshelf => bookshelf::files_of(path, &options.bookshelf()),
        Format::Def => {
            let named = options.lef.iter().map(PathBuf::as_path).chain([path]);
            named.chain(options.placement.as_deref()).filter_map(file::find).collect()
        }
    }
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
