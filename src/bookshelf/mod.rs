//! Bookshelf files: readers for `.aux`, `.nodes`, `.nets`, `.pl`, `.scl` and
//! `.wts`, a reader for a whole design, and a writer for `.pl`.
//!
//! [`read_design`] maps each file into memory, reads large ones on all threads
//! of the current rayon pool, and gives a [`Design`]: lengths in the files'
//! layout units, positions as lower-left corners, pin offsets from the cell's
//! centre. Each file type also has its own reader from bytes (`parse_*`).
//!
//! The format is the GSRC Bookshelf placement format as the UCLA, ISPD and
//! ICCAD suites write it, with what they made of it: tabs and CRLF, counts in
//! any order or absent, keywords in any case, rows of several subrows, nets
//! without names, pins without offsets. Nothing is ever sized by what a header
//! says alone, and whatever is not as the format has it is a
//! [`BookshelfError`] that names file, line and column. What is odd but
//! readable is counted in [`Loaded::warnings`].

mod aux_file;
mod chunks;
mod error;
mod file;
mod index;
mod lexer;
mod nets;
mod nodes;
mod notes;
mod pl;
mod scl;
mod words;
pub(crate) mod write;
mod wts;

pub use aux_file::{Aux, parse_aux};
pub use error::{BookshelfError, ErrorKind};
pub use index::NameIndex;
pub use nets::{NetsFile, PinOffset, parse_nets};
pub use nodes::{NodesFile, parse_nodes};
pub use pl::{PlFile, parse_pl};
pub use scl::{SclFile, parse_scl};
pub use write::write_pl;
pub use wts::{WtsFile, parse_wts};

use crate::design::{Design, Nets, Nodes, Row};
use error::ErrorKind::Syntax;
use file::Text;
use std::path::{Path, PathBuf};

/// How to read a design: the default, and what is to differ from it.
///
/// ```
/// use placefield::bookshelf::{PinOffset, ReadOptions};
/// let options = ReadOptions::default().pin_offset(PinOffset::LowerLeft).pl("other.pl");
/// assert_eq!(options.pl.unwrap().to_str(), Some("other.pl"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Where the `.nets` file counts pin offsets from.
    pub pin_offset: PinOffset,
    /// A `.pl` file to read in place of the one that the `.aux` names.
    pub pl: Option<PathBuf>,
}

impl ReadOptions {
    /// With pin offsets counted from here.
    #[must_use]
    pub fn pin_offset(self, pin_offset: PinOffset) -> Self {
        ReadOptions { pin_offset, ..self }
    }

    /// With this `.pl` file in place of the one that the `.aux` names.
    #[must_use]
    pub fn pl(self, pl: impl Into<PathBuf>) -> Self {
        ReadOptions { pl: Some(pl.into()), ..self }
    }
}

/// A design, and what there is to say about reading it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The design, called as its `.aux` file.
    pub design: Design,
    /// What was odd, passed over or absent, one line each.
    pub warnings: Vec<String>,
    /// Size of all files read together, in bytes.
    pub bytes_read: u64,
}

/// Reads the design whose files `aux` names.
///
/// `.nodes`, `.pl` and `.scl` must be there; without `.nets` the design has no
/// nets, and without `.wts`, or with an empty one, every net weighs 1. Either is
/// a warning.
///
/// # Errors
/// At the first file that cannot be read or is not as the format has it.
pub fn read_design(aux: &Path, options: &ReadOptions) -> Result<Loaded, BookshelfError> {
    let mut reader = Reader::default();
    let text = reader.open(aux)?;
    let files = parse_aux(&text, aux)?;
    reader
        .warnings
        .extend(files.others.iter().map(|word| format!("{}: `{word}` is not read", aux.display())));
    let no_pl = || {
        let expected = "the name of a .pl file".to_owned();
        BookshelfError::whole(aux, Syntax { expected, found: "none".to_owned() })
    };
    let pl = options.pl.as_ref().or(files.pl.as_ref()).ok_or_else(no_pl)?;

    let mut nodes = reader.nodes(&files.nodes)?;
    let index = NameIndex::new(&nodes.names);
    if index.has_repeats() {
        return Err(nodes::repeated_node(&Text::open(&files.nodes)?, &files.nodes));
    }
    let text = reader.open(pl)?;
    let PlFile { placement, warnings } = parse_pl(&text, pl, &index, &mut nodes.kind)?;
    reader.warnings.extend(warnings);
    drop(text);
    let rows = reader.rows(&files.scl)?;
    let nets = reader.nets(&files, &nodes, &index, options.pin_offset)?;

    let name = aux.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    drop(index);
    let design = Design { name, nodes, placement, nets, rows };
    Ok(Loaded { design, warnings: reader.warnings, bytes_read: reader.bytes_read })
}

/// What gathers while one file after another is read.
#[derive(Default)]
struct Reader {
    warnings: Vec<String>,
    bytes_read: u64,
}

impl Reader {
    fn open(&mut self, path: &Path) -> Result<Text, BookshelfError> {
        let text = Text::open(path)?;
        self.bytes_read += text.len() as u64;
        Ok(text)
    }

    /// Opens a file that a design can do without; warns with `otherwise` when it is absent.
    fn open_optional(
        &mut self,
        path: Option<&Path>,
        kind: &str,
        otherwise: &str,
    ) -> Result<Option<Text>, BookshelfError> {
        let Some(path) = path else {
            self.warnings.push(format!("no .{kind} file is named: {otherwise}"));
            return Ok(None);
        };
        let text = Text::open_if_there(path)?;
        match &text {
            Some(text) => self.bytes_read += text.len() as u64,
            None => self.warnings.push(format!("{}: no such file: {otherwise}", path.display())),
        }
        Ok(text)
    }

    /// Reads the `.nodes` file; leaves it to the caller to look for repeated names.
    fn nodes(&mut self, path: &Path) -> Result<Nodes, BookshelfError> {
        let text = self.open(path)?;
        let (nodes, notes) = nodes::parse(&text).map_err(|miss| miss.locate(path, &text))?;
        self.warnings.extend(notes.warnings(path, &text));
        Ok(nodes)
    }

    fn rows(&mut self, path: &Path) -> Result<Vec<Row>, BookshelfError> {
        let text = self.open(path)?;
        let SclFile { rows, warnings } = parse_scl(&text, path)?;
        self.warnings.extend(warnings);
        Ok(rows)
    }

    /// Reads `.nets` and `.wts`, as far as they are there.
    fn nets(
        &mut self,
        files: &Aux,
        nodes: &Nodes,
        index: &NameIndex,
        offset: PinOffset,
    ) -> Result<Option<Nets>, BookshelfError> {
        let no_nets = "the design has no nets and no wirelength";
        let text = self.open_optional(files.nets.as_deref(), "nets", no_nets)?;
        let mut nets = None;
        if let (Some(text), Some(path)) = (text, &files.nets) {
            let file = parse_nets(&text, path, nodes, index, offset)?;
            self.warnings.extend(file.warnings);
            nets = Some(file.nets);
        }
        let no_weights = "every net weighs 1";
        let text = self.open_optional(files.wts.as_deref(), "wts", no_weights)?;
        if let (Some(text), Some(path), Some(nets)) = (text, &files.wts, &mut nets) {
            if text.trim_ascii().is_empty() {
                self.warnings.push(format!("{}: nothing is in it: {no_weights}", path.display()));
            }
            let file = parse_wts(&text, path, &nets.names)?;
            self.warnings.extend(file.warnings);
            nets.weight = file.weight;
        }
        Ok(nets)
    }
}
