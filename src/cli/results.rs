//! Where results go: files, standard output, and remarks on stderr.

use super::failure::{Failure, named};
use crate::design::Design;
use crate::output::{check_writable, write_whole};
use indicatif::ProgressBar;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Writes `path` (`-`: standard output) through `write`, whole or not at all.
pub(crate) fn write_output(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        write(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    write_whole(path, write).map_err(|e| named(path, e))
}

/// Writes pretty JSON to `path` (`-`: standard output).
pub(crate) fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    write_output(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        writeln!(out)
    })
}

/// Makes sure that [`write_output`] will be able to write `path`.
pub(crate) fn check_output(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Ok(());
    }
    check_writable(path).map_err(|e| named(path, e))
}

/// Makes a folder for output and makes sure that files can be written there.
pub(crate) fn make_folder(path: &Path) -> Result<(), Failure> {
    if path.exists() && !path.is_dir() {
        return Err(named(path, io::ErrorKind::NotADirectory.into()));
    }
    std::fs::create_dir_all(path).map_err(|e| named(path, e))?;
    check_writable(&path.join(".placefield")).map_err(|e| named(path, e))
}

/// Lists what was written, one file a line, on standard output.
pub(crate) fn list(files: &[impl AsRef<Path>]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    files.iter().try_for_each(|path| writeln!(out, "{}", path.as_ref().display()))
}

/// Says on stderr what a reader of the results should know; called once they
/// are written, so that a run that fails says nothing but its error.
pub(crate) fn tell(notes: &[String], warnings: &[String]) {
    for note in notes {
        say(note);
    }
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
}

/// A line on stderr. One that nobody takes, as behind `2>&1 | head -1`, is lost, which is no error.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A spinner that turns on a terminal.
pub(crate) fn spinner(message: String) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(message);
    // Without a terminal no thread is started to turn it.
    if !spinner.is_hidden() {
        spinner.enable_steady_tick(Duration::from_millis(100));
    }
    spinner
}

/// What follows a length where a layout unit is known to be some micrometres: the length in these.
pub(crate) fn in_microns(design: &Design, length: f64) -> String {
    let length = design.units_per_micron.map(|units| length / units);
    length.map_or_else(String::new, |length| format!("; {length:.1} µm"))
}
