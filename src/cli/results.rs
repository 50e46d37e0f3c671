//! Where results go: files, standard output, and remarks on stderr.

use super::failure::{Failure, named};
use super::log::{note, say};
use super::terminal::{escaped, raw_stdout};
use crate::design::{Design, LengthUnit};
use crate::flow::FarthestReport;
use crate::output::{check_writable, write_whole};
use crate::warning::Warning;
use std::io::{self, Write};
use std::path::Path;

/// Writes `path` (`-`: standard output) through `write`, whole or not at all.
pub(crate) fn write_output(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut out = raw_stdout()?;
        write(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    write_whole(path, write).map_err(|e| named(path, e))
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

/// Lists the written files, one per line, on standard output.
pub(crate) fn list(files: &[impl AsRef<Path>]) -> io::Result<()> {
    let mut out = raw_stdout()?;
    let mut line = |path: &Path| writeln!(out, "{}", escaped(&path.display().to_string()));
    files.iter().try_for_each(|path| line(path.as_ref()))
}

/// Prints notes and warnings on stderr; called once the results are written, so that a run that
/// fails prints nothing but its error.
pub(crate) fn tell(notes: &[String], warnings: &[Warning]) {
    notes.iter().for_each(|line| note(line));
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
}

/// Writes a table in columns: the first `words` of them to the left, numbers to the right.
pub(crate) fn write_table(
    out: &mut impl Write,
    header: &[String],
    rows: &[Vec<String>],
    words: usize,
) -> io::Result<()> {
    let shown = |cell: &String| escaped(cell).into_owned();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let lines = || std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
    let widths: Vec<usize> = (0..header.len())
        .map(|k| lines().map(|line| line[k].chars().count()).max().unwrap_or(0))
        .collect();
    for line in lines() {
        for (k, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            let end = if k + 1 == line.len() { "" } else { "  " };
            match k < words {
                true => write!(out, "{cell}{gap}{end}")?,
                false => write!(out, "{gap}{cell}{end}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the cells that moved farthest, one a line, with lengths in `unit`.
pub(crate) fn write_farthest(
    out: &mut impl Write,
    farthest: &[FarthestReport],
    unit: LengthUnit,
) -> io::Result<()> {
    let micron = if unit == LengthUnit::default() { "" } else { " µm" };
    for FarthestReport { cell, distance, rows, from, to } in farthest {
        let [from, to] = [from, to].map(|at| position(*at, unit));
        let distance = unit.of(*distance);
        writeln!(out, "  {cell} by {distance:.6}{micron} ({rows:.3} rows): {from} -> {to}")?;
    }
    Ok(())
}

/// Returns a position in `unit`, to a thousandth.
pub(crate) fn position((x, y): (f64, f64), unit: LengthUnit) -> String {
    format!("({}, {})", thousandths(x, unit), thousandths(y, unit))
}

/// Returns a length in `unit`, to a thousandth.
pub(crate) fn thousandths(length: f64, unit: LengthUnit) -> f64 {
    (unit.of(length) * 1e3).round() / 1e3
}

/// Returns the text after a length where the micrometres in a layout unit are known: the length in
/// micrometres.
pub(crate) fn in_microns(design: &Design, length: f64) -> String {
    let length = design.units_per_micron.map(|units| length / units);
    length.map_or_else(String::new, |length| format!("; {length:.1} µm"))
}
