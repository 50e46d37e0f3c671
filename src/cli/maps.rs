//! Files of maps and columns of numbers, for NumPy or as CSV.

use super::failure::Failure;
use super::outputs::MapsFormat;
use super::results::write_output;
use crate::Real;
use crate::congestion::RoutingGrid;
use crate::grid::Map;
use std::path::{Path, PathBuf};

/// Writes a map as `NAME.npy`, or as `NAME.csv` with a line `x,y,value` for every bin, its centre
/// in layout units; returns the file.
pub(super) fn write_map<T>(
    folder: &Path,
    name: &str,
    map: &Map<T>,
    grid: &RoutingGrid,
    format: MapsFormat,
) -> Result<PathBuf, Failure>
where
    T: Real + npyz::Serialize + npyz::AutoSerialize,
{
    if format == MapsFormat::Npy {
        let path = folder.join(format!("{name}.npy"));
        write_npy(&path, &[map.nx(), map.ny()], map.as_slice())?;
        return Ok(path);
    }
    let path = folder.join(format!("{name}.csv"));
    write_output(&path, |out| {
        writeln!(out, "x,y,{name}")?;
        for i in 0..map.nx() {
            for (j, value) in map.row(i).iter().enumerate() {
                let (x, y) = grid.centre(i, j);
                writeln!(out, "{x},{y},{value}")?;
            }
        }
        Ok(())
    })?;
    Ok(path)
}

/// Writes a number for every movable node as `NAME.npy`, or as `NAME.csv` with one a line; returns
/// the file.
pub(super) fn write_column<T>(
    folder: &Path,
    name: &str,
    values: &[T],
    format: MapsFormat,
) -> Result<PathBuf, Failure>
where
    T: Real + npyz::Serialize + npyz::AutoSerialize,
{
    let path = |ending: &str| folder.join(format!("{name}.{ending}"));
    match format {
        MapsFormat::Npy => {
            write_npy(&path("npy"), &[values.len()], values)?;
            Ok(path("npy"))
        }
        MapsFormat::Csv => {
            write_output(&path("csv"), |out| {
                writeln!(out, "{name}")?;
                values.iter().try_for_each(|value| writeln!(out, "{value}"))
            })?;
            Ok(path("csv"))
        }
    }
}

/// Writes `values` as a NumPy file of `shape`, the last axis contiguous.
pub(super) fn write_npy<T>(path: &Path, shape: &[usize], values: &[T]) -> Result<(), Failure>
where
    T: Copy + npyz::Serialize + npyz::AutoSerialize,
{
    use npyz::WriterBuilder;
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    write_output(path, |out| {
        let options = npyz::WriteOptions::new().default_dtype().shape(&shape);
        let mut file = options.writer(out).begin_nd()?;
        file.extend(values.iter().copied())?;
        file.finish()
    })
}
