//! Reads and writes designs in any format. The name of a file determines its format.
//!
//! | name ends in | content | reader |
//! |---|---|---|
//! | `.def`, `.def.gz`, `.def.xz`, `.def.bz2` | a DEF file, with its LEF files | [`crate::lefdef`] |
//! | anything else | a Bookshelf design's `.aux` file, or a `.pl` file | [`crate::bookshelf`] |
//!
//! Lengths are layout units: those of the Bookshelf files, or DEF's database units.

pub use crate::text::error::{ErrorKind, FileError};
pub use crate::text::loaded::{Format, Loaded, LoadedPlacement, ReadOptions};

use crate::bookshelf;
use crate::design::{Design, Nodes};
use crate::lefdef::{self, PinPosition};
use crate::text::file;
use std::path::{Path, PathBuf};

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
        (Format::Bookshelf, Format::Def)
            if !out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pl")) =>
        {
            let expected = "a name that ends in .def or .pl, for the design is a .def file";
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
        for name in ["a.def", "A.DEF", "d/a.def.gz", "a.b.def.xz", "a.def.bz2"] {
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
        let format = |out: &str| placement_format(Path::new(out), Path::new("a.def.gz"));
        assert!(matches!(format("b.pl"), Ok(Format::Bookshelf)));
        assert!(matches!(format("b.DEF"), Ok(Format::Def)));
        for out in ["b.txt", "b", "b.pl.txt"] {
            let error = format(out).unwrap_err().to_string();
            let want = format!("{out}: expected a name that ends in .def or .pl");
            assert!(error.starts_with(&want), "{error}");
        }
    }
}
