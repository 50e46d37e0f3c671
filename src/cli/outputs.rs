//! The output files of a run. They are checked before it starts: no output may replace an input or
//! another output.

use super::failure::{Failure, named, usage};
use super::log;
use super::results::{check_output, make_folder};
use super::terminal::raw_stdout;
use crate::design::Design;
use crate::formats::{Format, placement_format};
use crate::text::compression::endings as compressed_endings;
use crate::text::file::{check_readable, is_pipe};
use crate::text::index::NameIndex;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The output files and folders of a run, with the options that name them.
#[derive(Default)]
pub(crate) struct Outputs<'a> {
    files: Vec<(&'static str, &'a Path)>,
    folders: Vec<(&'static str, &'a Path, Names)>,
}

/// The names of the files that go into a folder.
#[derive(Clone, Copy)]
pub(crate) enum Names {
    /// These.
    These(&'static [&'static str]),
    /// These with the ending of a [`MapsFormat`].
    Maps(&'static [&'static str]),
    /// Any with one of these endings.
    Ending(&'static [&'static str]),
}

/// Outputs of an evaluation.
#[derive(Args)]
pub(crate) struct ResultArgs {
    /// Write the numbers as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write density, potential, field and forces as NumPy files
    #[arg(long, value_name = "DIR")]
    pub(crate) maps: Option<PathBuf>,
    /// Format of the files of --maps; CSV has one line per bin, with the bin's centre in layout
    /// units
    #[arg(
        long,
        value_enum,
        default_value_t = MapsFormat::Npy,
        value_name = "FORMAT",
        requires = "maps"
    )]
    pub(crate) maps_as: MapsFormat,
    /// Draw density, potential, field and force as PNG and SVG
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
}

/// `--maps-as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapsFormat {
    Npy,
    Csv,
}

impl ResultArgs {
    /// Returns the files and folders, with the names of those that `--maps` will write.
    pub(crate) fn outputs(&self, maps: Names) -> Outputs<'_> {
        Outputs::default()
            .file("--json", self.json.as_ref())
            .folder("--maps", self.maps.as_ref(), maps)
            .folder("--plots", self.plots.as_ref(), PICTURES)
    }
}

/// The names of pictures.
pub(crate) const PICTURES: Names = Names::Ending(&["png", "svg", "pdf", "gif"]);

/// The names of a Bookshelf design's files.
pub(crate) const DESIGN: Names = Names::Ending(&["aux", "nodes", "nets", "wts", "pl", "scl"]);

impl Names {
    /// Whether some name is one of both.
    fn meet(self, other: Names) -> bool {
        match (self, other) {
            (Names::Ending(some), Names::Ending(others)) => some.iter().any(|e| others.contains(e)),
            (Names::Ending(_), _) => other.meet(self),
            (Names::These(names), _) => names.iter().any(|name| other.holds(OsStr::new(name))),
            (Names::Maps(stems), _) => stems.iter().any(|stem| {
                ["npy", "csv"].iter().any(|e| other.holds(OsStr::new(&format!("{stem}.{e}"))))
            }),
        }
    }

    fn holds(self, name: &OsStr) -> bool {
        match self {
            Names::These(names) => names.iter().any(|n| OsStr::new(n) == name),
            Names::Maps(names) => {
                let name = name.to_str().unwrap_or_default();
                let stem = name.strip_suffix(".npy").or_else(|| name.strip_suffix(".csv"));
                stem.is_some_and(|stem| names.contains(&stem))
            }
            Names::Ending(endings) => {
                let ending = Path::new(name).extension().unwrap_or_default();
                endings.iter().any(|e| ending.eq_ignore_ascii_case(e))
            }
        }
    }
}

impl<'a> Outputs<'a> {
    /// Adds the file that `option` names, if it names one; `-` is standard output.
    #[must_use]
    pub(crate) fn file(
        mut self,
        option: &'static str,
        path: Option<&'a (impl AsRef<Path> + ?Sized)>,
    ) -> Self {
        self.files.extend(path.map(|path| (option, path.as_ref())));
        self
    }

    /// Adds the folder that `option` names, if it names one, and what will be written there.
    #[must_use]
    pub(crate) fn folder(
        mut self,
        option: &'static str,
        path: Option<&'a (impl AsRef<Path> + ?Sized)>,
        names: Names,
    ) -> Self {
        self.folders.extend(path.map(|path| (option, path.as_ref(), names)));
        self
    }

    /// Makes sure that everything can be written and nothing is written over; makes the folders.
    /// The file of `--config` is an input as well, and that of `--log` an output.
    ///
    /// # Errors
    /// Wrong usage when an output is an input, another output or a pipe with a name; a failure when
    /// one cannot be written.
    pub(crate) fn check(self, inputs: &[PathBuf]) -> Result<(), Failure> {
        self.check_standard_output()?;
        self.file("--log", log::path()).check_paths(inputs)?;
        log::open()
    }

    fn check_paths(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let inputs = inputs.iter().map(PathBuf::as_path).chain(log::config());
        // Standard input may come from a file.
        let named = |path| if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        let inputs: Vec<Identity> = inputs.filter_map(|path| identity(named(path))).collect();
        for (option, path) in &self.files {
            check_no_pipe(option, path)?;
        }
        let outputs: Vec<(&str, &Path, Identity)> = self
            .files
            .iter()
            .filter_map(|&(option, path)| Some((option, path, identity(path)?)))
            .collect();
        for (k, (option, path, file)) in outputs.iter().enumerate() {
            if inputs.contains(file) {
                return refused(option, path, "is an input of the run");
            }
            if let Some((other, ..)) = outputs[..k].iter().find(|(_, _, earlier)| earlier == file) {
                return refused(option, path, &format!("is what {other} writes"));
            }
        }
        for (k, &(option, path, names)) in self.folders.iter().enumerate() {
            let folder = identity(path);
            let is_shared = |&&(_, other, of): &&(&str, &Path, Names)| {
                names.meet(of) && folder.is_some() && identity(other) == folder
            };
            if let Some((other, ..)) = self.folders[..k].iter().find(is_shared) {
                let why = format!("is the folder of {other}, for files of the same names");
                return refused(option, path, &why);
            }
            let entries = folder.iter().flat_map(|folder| folder.path.read_dir());
            let entries = entries.flatten().flatten();
            let held: Vec<PathBuf> =
                entries.filter(|e| names.holds(&e.file_name())).map(|e| e.path()).collect();
            held.iter().try_for_each(|path| check_no_pipe(option, path))?;
            let held: Vec<Identity> = held.iter().filter_map(|path| identity(path)).collect();
            let within = |file: &Identity| {
                let there = folder.as_ref().is_some_and(|f| file.path.parent() == Some(&f.path));
                held.contains(file)
                    || there && file.path.file_name().is_some_and(|name| names.holds(name))
            };
            if let Some(input) = inputs.iter().find(|input| within(input)) {
                let why = format!("has an input of the run in it: {}", input.path.display());
                return refused(option, path, &why);
            }
            if let Some((other, ..)) = outputs.iter().find(|(_, _, file)| within(file)) {
                return refused(option, path, &format!("holds what {other} writes"));
            }
            if let Some((other, ..)) = outputs.iter().find(|(_, _, f)| folder.as_ref() == Some(f)) {
                return refused(option, path, &format!("is the file that {other} writes"));
            }
        }
        self.files.iter().try_for_each(|(_, path)| check_output(path))?;
        self.folders.iter().try_for_each(|(_, path, _)| make_folder(path))
    }

    fn check_standard_output(&self) -> Result<(), Failure> {
        let mut to_stdout = self.files.iter().filter(|(_, path)| *path == Path::new("-"));
        match (to_stdout.next(), to_stdout.next()) {
            (Some((first, _)), Some((second, _))) => {
                let message = format!("only one of {first} and {second} can go to standard output");
                Err(usage(ErrorKind::ArgumentConflict, &message))
            }
            (Some(_), None) => Ok(raw_stdout().map(drop)?),
            (None, _) => Ok(()),
        }
    }
}

fn refused(option: &str, path: &Path, why: &str) -> Result<(), Failure> {
    let message = format!("{option} {}: {why}", path.display());
    Err(usage(ErrorKind::ArgumentConflict, &message))
}

/// Whether an option names standard output.
pub(crate) fn to_stdout(option: &Option<PathBuf>) -> bool {
    option.as_deref() == Some(Path::new("-"))
}

/// Fails with a usage error if `path` is a named pipe or socket. Opening one waits for a reader, and
/// the reader sees its end when the check closes it. Pipes without a name, as `/dev/stdout` and the
/// `>(…)` of a shell, have their reader already.
fn check_no_pipe(option: &str, path: &Path) -> Result<(), Failure> {
    let named_pipe =
        path.metadata().is_ok_and(|meta| is_pipe(&meta.file_type())) && path.canonicalize().is_ok();
    match named_pipe {
        true => refused(option, path, "is a pipe: expected a file"),
        false => Ok(()),
    }
}

/// A file that exists or is to be made. Two names of one file, as of hard links, are equal.
pub(super) struct Identity {
    path: PathBuf,
    /// Device and inode.
    number: Option<(u64, u64)>,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path || self.number.is_some() && self.number == other.number
    }
}

/// Returns the file that a path leads to; none for `-`, devices and pipes, which nothing is written
/// over.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    if path == Path::new("-") {
        return None;
    }
    match path.metadata() {
        Ok(meta) if !(meta.is_file() || meta.is_dir()) => None,
        Ok(meta) => {
            #[cfg(unix)]
            let number = {
                use std::os::unix::fs::MetadataExt;
                Some((meta.dev(), meta.ino()))
            };
            #[cfg(not(unix))]
            let number = None;
            Some(Identity { path: path.canonicalize().ok()?, number })
        }
        Err(error) => {
            // A link that leads nowhere yet.
            if let (io::ErrorKind::NotFound, Ok(target)) = (error.kind(), path.read_link()) {
                return identity(&path.parent()?.join(target));
            }
            let resolved = resolve(path);
            match resolved != path && resolved.exists() {
                true => identity(&resolved),
                false => Some(Identity { path: resolved, number: None }),
            }
        }
    }
}

/// Returns where a path will lead once the folders on its way are made.
fn resolve(path: &Path) -> PathBuf {
    let here = |folder: &Path| match folder.as_os_str().is_empty() {
        true => Path::new(".").canonicalize(),
        false => folder.canonicalize(),
    };
    let there = path.ancestors().find_map(|folder| Some((folder, here(folder).ok()?)));
    let Some((folder, mut resolved)) = there else { return path.to_owned() };
    for part in path.strip_prefix(folder).into_iter().flat_map(Path::components) {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            part => resolved.push(part),
        }
    }
    resolved
}

/// Fails with a usage error when more than one of `inputs` is standard input, which is read but
/// once.
pub(crate) fn one_standard_input<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    if inputs.into_iter().filter(|path| *path == Path::new("-")).count() > 1 {
        let message = "only one input can be standard input";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    Ok(())
}

/// Returns the bytes of the file at `path`; `-` is standard input.
pub(crate) fn read_input(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::Read::read_to_end(&mut io::stdin().lock(), &mut bytes)?;
        return Ok(bytes);
    }
    check_readable(path).and_then(|()| std::fs::read(path)).map_err(|e| named(path, e))
}

/// Fails with a usage error where a placement of `design`, a file, cannot be written to `output`,
/// by its name.
pub(crate) fn check_placement_output(output: &Path, design: &Path) -> Result<(), Failure> {
    let wrong = |what: &str| {
        let message = format!("'--output' {}: {what}", output.display());
        Err(usage(ErrorKind::InvalidValue, &message))
    };
    if output == Path::new("-") {
        let message = "a placement goes to a file, for standard output takes the summary";
        return Err(usage(ErrorKind::InvalidValue, message));
    }
    let name = output.to_string_lossy();
    match placement_format(output, design) {
        Err(error) => wrong(&error.kind.to_string()),
        Ok(Format::Bookshelf) if compressed_endings().any(|ending| name.ends_with(ending)) => {
            wrong("a .pl file is written as plain text")
        }
        Ok(Format::Def) if name.ends_with(".xz") || name.ends_with(".bz2") => {
            wrong("a .def file is written as it is or as .gz")
        }
        _ => Ok(()),
    }
}

/// Fails if `output` is a .pl file and two nodes of `design` share a name, as pins of a DEF file
/// may.
pub(crate) fn check_names(output: &Path, design: &Design) -> Result<(), Failure> {
    let index = NameIndex::new(&design.nodes.names);
    if Format::of(output) == Format::Def || !index.has_repeats() {
        return Ok(());
    }
    let names = design.nodes.names.iter().enumerate();
    let again = |(i, name): &(usize, &str)| index.find(name.as_bytes()) != Some(*i as u32);
    let name = names.filter(|(_, name)| !name.is_empty()).find(again).map_or("", |(_, name)| name);
    let expected = "expected each name once for a .pl file";
    Err(format!("{}: {expected}, found `{name}` again", output.display()).into())
}
