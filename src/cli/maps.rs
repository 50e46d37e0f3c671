//! Files of maps and columns of numbers, for NumPy or as CSV.

use super::failure::Failure;
use super::outputs::MapsFormat;
use super::results::write_output;
use crate::congestion::RoutingGrid;
use crate::engines::EngineReal;
use crate::grid::Map;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A floating-point type of every engine that can be written as an array.
pub(crate) trait Element: EngineReal + npyz::Serialize + npyz::AutoSerialize {}

impl<T: EngineReal + npyz::Serialize + npyz::AutoSerialize> Element for T {}

/// Writes a map as `NAME.npy`, or as `NAME.csv` with a line `x,y,value` for every bin, its centre
/// in layout units; returns the file.
pub(super) fn write_map<T: Element>(
    folder: &Path,
    name: &str,
    map: &Map<T>,
    grid: &RoutingGrid,
    format: MapsFormat,
) -> Result<PathBuf, Failure> {
    write(folder, name, &[map.nx(), map.ny()], map.as_slice(), format, |out| {
        writeln!(out, "x,y,{name}")?;
        for i in 0..map.nx() {
            for (j, value) in map.row(i).iter().enumerate() {
                let (x, y) = grid.centre(i, j);
                writeln!(out, "{x},{y},{value}")?;
            }
        }
        Ok(())
    })
}

/// Writes a number for every movable node as `NAME.npy`, or as `NAME.csv` with one a line; returns
/// the file.
pub(super) fn write_column<T: Element>(
    folder: &Path,
    name: &str,
    values: &[T],
    format: MapsFormat,
) -> Result<PathBuf, Failure> {
    write(folder, name, &[values.len()], values, format, |out| {
        writeln!(out, "{name}")?;
        values.iter().try_for_each(|value| writeln!(out, "{value}"))
    })
}

/// Writes `values` as a NumPy file of `shape`, or as what `csv` writes; returns the file.
fn write<T: Element>(
    folder: &Path,
    name: &str,
    shape: &[usize],
    values: &[T],
    format: MapsFormat,
    csv: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<PathBuf, Failure> {
    let path = |ending: &str| folder.join(format!("{name}.{ending}"));
    match format {
        MapsFormat::Npy => write_npy(&path("npy"), shape, values).map(|()| path("npy")),
        MapsFormat::Csv => write_output(&path("csv"), csv).map(|()| path("csv")),
    }
}

/// Writes `values` as a NumPy file of `shape`, the last axis contiguous.
pub(super) fn write_npy<T: Element>(
    path: &Path,
    shape: &[usize],
    values: &[T],
) -> Result<(), Failure> {
    use npyz::WriterBuilder;
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    write_output(path, |out| {
        let options = npyz::WriteOptions::new().default_dtype().shape(&shape);
        let mut file = options.writer(out).begin_nd()?;
        file.extend(values.iter().copied())?;
        file.finish()
    })
}
