//! The files a run will write, checked before it starts: no output may be written over an input or
//! over another output.

use super::failure::{Failure, named, usage};
use super::log;
use super::results::{check_output, make_folder};
use crate::formats::{Format, placement_format};
use crate::text::compression::endings as compressed_endings;
use crate::text::file::check_readable;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The files and folders that the options of a run name.
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
    /// These with the ending of a [`MapsFormat`] behind.
    Maps(&'static [&'static str]),
    /// Any with one of these endings.
    Ending(&'static [&'static str]),
}

/// Where the results of an evaluation go.
#[derive(Args)]
pub(crate) struct ResultArgs {
    /// Write the numbers as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write density, potential, field and forces as NumPy files
    #[arg(long, value_name = "DIR")]
    pub(crate) maps: Option<PathBuf>,
    /// Format of the files of --maps; CSV has a line for every bin of a map, with the bin's centre
    /// in layout units
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

impl Names {
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
    ///
    /// # Errors
    /// Wrong usage when an output is an input or another output; a failure when one cannot be
    /// written.
    pub(crate) fn check(self, inputs: &[PathBuf]) -> Result<(), Failure> {
        self.check_standard_output()?;
        self.file("--log", log::path()).check_paths(inputs)?;
        log::open()
    }

    fn check_paths(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let inputs: Vec<PathBuf> = inputs.iter().filter_map(|path| identity(path)).collect();
        let outputs: Vec<(&str, &Path, PathBuf)> = self
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
        for &(option, path, names) in &self.folders {
            let folder = identity(path);
            let within = |file: &&PathBuf| {
                file.parent() == folder.as_deref()
                    && file.file_name().is_some_and(|name| names.holds(name))
            };
            if let Some(input) = inputs.iter().find(within) {
                return refused(
                    option,
                    path,
                    &format!("has an input of the run in it: {}", input.display()),
                );
            }
            if let Some((other, ..)) = outputs.iter().find(|(_, _, file)| within(&file)) {
                return refused(option, path, &format!("holds what {other} writes"));
            }
        }
        self.files.iter().try_for_each(|(_, path)| check_output(path))?;
        self.folders.iter().try_for_each(|(_, path, _)| make_folder(path))
    }

    fn check_standard_output(&self) -> Result<(), Failure> {
        let mut to_stdout = self.files.iter().filter(|(_, path)| *path == Path::new("-"));
        if let (Some((first, _)), Some((second, _))) = (to_stdout.next(), to_stdout.next()) {
            let message = format!("only one of {first} and {second} can go to standard output");
            return Err(usage(ErrorKind::ArgumentConflict, &message));
        }
        Ok(())
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

/// Returns the target of a path, for a file that exists or is to be made; none for standard input
/// and output, devices and pipes, which nothing is written over.
pub(super) fn identity(path: &Path) -> Option<PathBuf> {
    if path == Path::new("-") {
        return None;
    }
    match path.metadata() {
        Ok(meta) if !(meta.is_file() || meta.is_dir()) => None,
        Ok(_) => path.canonicalize().ok(),
        Err(_) => {
            let folder = match path.parent()? {
                folder if folder.as_os_str().is_empty() => Path::new("."),
                folder => folder,
            };
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            Some(folder.join(path.file_name()?))
        }
    }
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
        Ok(Format::Def) if name.ends_with(".xz") => {
            wrong("a .def file is written as it is or as .gz")
        }
        _ => Ok(()),
    }
}
