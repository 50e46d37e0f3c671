//! Bookshelf files: readers for `.aux`, `.nodes`, `.nets`, `.pl`, `.scl` and
//! `.wts`, a reader and a writer for a whole design, and a writer for `.pl`.
//!
//! [`read_design`] reads and parses large files part by part on all threads of the current rayon
//! pool. It returns a [`Design`] with lengths in the files'
//! layout units, positions as lower-left corners and pin offsets from the cell's
//! centre. Each file type also has its own reader from bytes (`parse_*`), and
//! [`read_placement`] reads another `.pl` file for a design.
//!
//! With the features `gzip`, `xz` and `bzip2` a file may be compressed by these, under any name. If
//! a file that an `.aux` names is missing, the reader tries its name with `.gz`, `.xz` or `.bz2`.
//! Compressed files are decompressed in parallel, while others are parsed. A file may be a pipe;
//! `-` is standard input.
//!
//! The format is the GSRC Bookshelf placement format as the UCLA, ISPD and ICCAD suites write it,
//! with their variations: tabs and CRLF, counts in any order, too low or absent, keywords in any
//! case, rows of several subrows, nets without names, pins without offsets. No memory is sized by a
//! header's count alone, and anything that violates the format is a [`FileError`] that names
//! file, line and column. Odd but readable things are counted in [`Loaded::warnings`].

mod aux_file;
mod header;
mod nets;
mod nodes;
mod pin_offset;
mod pl;
mod scl;
pub(crate) mod write;
mod write_design;
mod wts;

pub use crate::text::notes::Contents;
pub use aux_file::{Aux, parse_aux};
pub use nets::parse_nets;
pub use nodes::parse_nodes;
pub use pin_offset::{PinsOutside, pin_offset_hint, pins_outside};
pub(crate) use pin_offset::{count_outside, is_outside};
pub use pl::parse_pl;
pub use scl::parse_scl;
pub use write::write_pl;
pub use write_design::write_design;
#[cfg(feature = "cli")]
pub(crate) use write_design::{check as check_writable, design_paths};
pub use wts::parse_wts;
pub(crate) use wts::read_net_weights;

pub use crate::text::error::{ErrorKind, FileError};
pub use crate::text::index::NameIndex;
pub use crate::text::loaded::{Loaded, LoadedPlacement, PinOffset, ReadOptions};

use crate::design::{Design, Nets, Nodes};
use crate::text::error::ErrorKind::Syntax;
use crate::text::error::Fault;
use crate::text::file::{self, Input, Prefetch, Source, Text};
use crate::text::notes::Notes;
use crate::warning::{Warning, WarningCode};
use nets::Pins;
use std::path::{Path, PathBuf};

/// Reads the `.pl` file at `path` for these nodes.
///
/// # Errors
/// When the file cannot be read, is not as the format has it, or places a node that there is not.
pub fn read_placement(path: &Path, nodes: &Nodes) -> Result<LoadedPlacement, FileError> {
    let file = file::found(path);
    let index = NameIndex::new(&nodes.names);
    let mut reader = Reader::default();
    let (places, _) = reader.parse(&file, |source| pl::parse(source, &index, &nodes.kind))?;
    reader.warn_missing(&file, &places);
    Ok(LoadedPlacement { warnings: reader.warnings, file, ..places })
}

/// Returns the existing files that [`read_design`] would read for `aux`, or only `aux` if it cannot
/// be read. Standard input and pipes can be read only once, so their content is not read here.
pub fn files_of(aux: &Path, options: &ReadOptions) -> Vec<PathBuf> {
    let mut files = Vec::from_iter(file::find(aux));
    let regular = files.first().is_some_and(|f| f.metadata().is_ok_and(|m| m.is_file()));
    let named = regular.then(|| Text::open(&files[0])).and_then(Result::ok);
    if let Some(named) = named.and_then(|text| parse_aux(&text, &files[0]).ok()) {
        files.extend(named.files(options).filter_map(|path| file::find(path)));
    }
    files
}

/// Reads the design whose files `aux` names.
///
/// `.nodes`, `.pl` and `.scl` must be there; without `.nets` the design has no nets, and without
/// `.wts`, or with an empty one, every net has weight 1. Either is a warning.
///
/// # Errors
/// At the first file that cannot be read or is not as the format has it.
pub fn read_design(aux: &Path, options: &ReadOptions) -> Result<Loaded, FileError> {
    let mut reader = Reader::default();
    let (text, aux) = reader.open(aux)?;
    let files = parse_aux(&text, &aux)?;
    reader.warnings.extend(files.others.iter().map(|word| {
        Warning::new(WarningCode::NotRead, format!("{}: `{word}` is not read", aux.display()))
    }));
    let no_pl = || {
        let expected = "the name of a .pl file".to_owned();
        FileError::whole(&aux, Syntax { expected, found: "none".to_owned() })
    };
    let pl = options.placement.as_ref().or(files.pl.as_ref()).ok_or_else(no_pl)?;
    reader.ahead = Prefetch::start(files.files(options).filter_map(|path| file::find(path)));

    let path = file::found(&files.nodes);
    let (mut nodes, input) = reader.parse(&path, nodes::parse)?;
    let index = NameIndex::new(&nodes.names);
    if index.has_repeats() {
        return Err(nodes::repeated_node(input.source(), &path));
    }
    drop(input);
    let (kind, pl) = (&nodes.kind, file::found(pl));
    let (mut places, _) = reader.parse(&pl, |source| pl::parse(source, &index, kind))?;
    let own = files.pl.as_deref().filter(|_| options.placement.is_some()).and_then(file::find);
    if let (Some(own), false) = (own, places.missing.is_empty()) {
        // A file with some of the nodes leaves the others where the design has them.
        let (others, _) = reader.parse(&own, |source| pl::parse(source, &index, kind))?;
        let before = places.missing.len();
        places.fill(&others);
        let count = before - places.missing.len();
        let message = format!(
            "{}: {count} nodes are not in it and keep the positions of {}",
            pl.display(),
            own.display()
        );
        reader.warnings.push(Warning::new(WarningCode::NotPlaced, message));
    }
    reader.warn_missing(&pl, &places);
    let LoadedPlacement { placement, kind, unplaced, .. } = places;
    nodes.kind = kind;
    let (rows, _) = reader.parse(&file::found(&files.scl), scl::parse)?;
    let nets = reader.nets(&files, &nodes, &index, options.pin_offset)?;

    drop(index);
    let name = name_of(&aux);
    let design = Design { name, nodes, placement, nets, rows, ..Design::default() };
    let Reader { warnings, bytes_read, files: read, .. } = reader;
    let own_placement = files.pl.filter(|_| options.placement.is_some());
    let files = read;
    Ok(Loaded { design, warnings, unplaced, bytes_read, files, own_placement, ..Loaded::default() })
}

/// Returns the name of a design whose `.aux` file is at `aux`.
fn name_of(aux: &Path) -> String {
    let name = aux.file_name().unwrap_or_default().to_string_lossy();
    let name = Path::new(file::without_compression(&name)).file_stem().unwrap_or_default();
    match name.to_string_lossy().into_owned() {
        name if name == "-" => "design".to_owned(),
        name => name,
    }
}

/// Results collected while one file after another is read.
#[derive(Default)]
struct Reader {
    warnings: Vec<Warning>,
    bytes_read: u64,
    files: Vec<PathBuf>,
    ahead: Prefetch,
}

impl Reader {
    /// Returns the text of the file called `path`, and where it was found.
    fn open(&mut self, path: &Path) -> Result<(Text, PathBuf), FileError> {
        let path = file::found(path);
        let text = self.ahead.open(&path).map_err(|e| FileError::io(&path, e))?;
        self.note(&path, text.len());
        Ok((text, path))
    }

    /// Warns of nodes that no file has placed, the last of them the one at `path`.
    fn warn_missing(&mut self, path: &Path, places: &LoadedPlacement) {
        let mut notes = Notes::default();
        pl::note_missing(places, &mut notes);
        self.warnings.extend(notes.warnings(path, Source::Held(&[])));
    }

    fn note(&mut self, path: &Path, bytes: usize) {
        self.bytes_read += bytes as u64;
        self.files.push(path.to_owned());
    }

    /// Returns the result of `parse` for the file at `path`, and the file.
    fn parse<T>(
        &mut self,
        path: &Path,
        parse: impl FnOnce(Source<'_>) -> Result<(T, Notes), Fault>,
    ) -> Result<(T, Input), FileError> {
        let input = Input::open(path, |path| self.ahead.open(path));
        let input = input.map_err(|e| FileError::io(path, e))?;
        let source = input.source();
        self.note(path, source.len());
        let Contents { content, warnings } = Contents::of(source, path, parse(source))?;
        self.warnings.extend(warnings);
        Ok((content, input))
    }

    /// Finds a file that a design can do without; warns with `otherwise` when it is absent.
    fn find_optional(
        &mut self,
        path: Option<&Path>,
        kind: &str,
        code: WarningCode,
        otherwise: &str,
    ) -> Option<PathBuf> {
        let Some(path) = path else {
            let message = format!("no .{kind} file is named: {otherwise}");
            self.warnings.push(Warning::new(code, message));
            return None;
        };
        let found = file::find(path);
        if found.is_none() {
            let message = format!("{}: no such file: {otherwise}", path.display());
            self.warnings.push(Warning::new(code, message));
        }
        found
    }

    /// Reads `.nets` and `.wts`, if they exist.
    fn nets(
        &mut self,
        files: &Aux,
        nodes: &Nodes,
        index: &NameIndex,
        offset: PinOffset,
    ) -> Result<Option<Nets>, FileError> {
        let no_nets = "the design has no nets and no wirelength";
        let mut nets = None;
        if let Some(path) =
            self.find_optional(files.nets.as_deref(), "nets", WarningCode::NoNets, no_nets)
        {
            let pins = Pins::of(nodes, index, offset);
            nets = Some(self.parse(&path, |source| pins.parse(source))?.0);
        }
        let no_weights = "every net weighs 1";
        let path =
            self.find_optional(files.wts.as_deref(), "wts", WarningCode::NoWeights, no_weights);
        if let (Some(path), Some(nets)) = (path, &mut nets) {
            let weight = std::mem::take(&mut nets.weight);
            let parse = |source: Source<'_>| wts::parse(source, &nets.names, index, weight);
            nets.weight = self.parse(&path, parse)?.0;
        }
        Ok(nets)
    }
}
