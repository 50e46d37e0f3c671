//! The row-column pipeline by slabs: that of [`Spectral`](crate::cuda::Spectral), whose
//! transposes go from rank to rank.
//!
//! A rank transforms its rows along y and transposes them; each other one gets its columns of that,
//! transforms them along x, scales, transforms the three results back along x and transposes them;
//! and back along y. What a transform by itself does besides, to transpose its result back, is
//! spared between two that follow each other: a rank sends (1 + 3)·nx·ny·(P−1)/P² values of P
//! ranks, in one all-to-all after the first pass and one after the second.

use super::super::Peers;
use super::super::blocks::Block;
use super::Passes;
use super::around_cufft::{self, AroundCufft, Division};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu};
use crate::cuda::fft::{FusedTransform, Sines, Transpose, share_work_area};
use crate::cuda::solve::{SINES, Scaling, SolverOptions, green, solve_spec};
use crate::grid::BinGrid;

/// A rank's plans and memory.
struct Rank<T: CudaReal> {
    along_y: Lines<T>,
    along_x: Lines<T>,
    scaling: Scaling<T>,
    half: DeviceVec<T::Complex>,
    /// Its columns, `[column][nx]`, of the map that is transformed, then of its spectrum.
    columns: DeviceVec<T>,
    /// Its columns of three fields, `[nx][column]` each.
    fields: [DeviceVec<T>; 3],
    /// Its rows of them.
    rows: [DeviceVec<T>; 3],
}

/// Transforms of a rank's rows or columns, and a map of them before and after a transpose.
struct Lines<T: CudaReal> {
    lines: FusedTransform<T>,
    transpose: Transpose<T>,
    map: DeviceVec<T>,
    other: DeviceVec<T>,
}

impl<T: CudaReal> Lines<T> {
    fn new(gpu: &Gpu, size: (usize, usize), options: SolverOptions) -> Result<Self, CudaError> {
        let (lines, n) = size;
        let lines =
            FusedTransform::new(gpu, &solve_spec::<T>(&[n], lines, &[true, false], options))?;
        Ok(Lines {
            transpose: Transpose::new(gpu, &lines.module, 1, size)?,
            lines,
            map: gpu.zeros(size.0 * size.1)?,
            other: gpu.zeros(size.0 * size.1)?,
        })
    }
}

// Places in `Rank::arrays`.
const TURNED: usize = 0;
const COLUMNS: usize = 1;
const FIELDS: usize = 2;
const ROWS: usize = 5;

/// What each of this process's ranks does.
pub(super) fn make<T: CudaReal>(
    peers: &Peers,
    grid: &BinGrid,
    options: SolverOptions,
) -> Result<Vec<Box<dyn Passes<T>>>, CudaError> {
    let division = Division::new(peers.count(), grid.nx(), grid.ny(), size_of::<T>())?;
    let on = |rank| Rank::<T>::new(peers.gpu(rank), rank, grid, &division, options);
    around_cufft::make(peers, &division, on, [forward, back])
}

/// Rows of a rank, which are columns once they are transposed, to the columns of another.
fn forward(division: &Division, from: usize, to: usize) -> Vec<Block> {
    let ((row, rows), (column, columns)) = (division.rows_of(from), division.columns_of(to));
    let there = (COLUMNS, row, division.nx);
    vec![division.block((rows, columns), (TURNED, column * rows, rows), there)]
}

/// Columns of three fields, transposed to rows, to the rows of another rank.
fn back(division: &Division, from: usize, to: usize) -> Vec<Block> {
    let ((row, rows), (column, columns)) = (division.rows_of(to), division.columns_of(from));
    let of = |map: usize| {
        let there = (ROWS + map, column, division.all_columns());
        division.block((columns, rows), (FIELDS + map, row * columns, columns), there)
    };
    (0..SINES.len()).map(of).collect()
}

impl<T: CudaReal> Rank<T> {
    fn new(
        gpu: &Gpu,
        rank: usize,
        grid: &BinGrid,
        division: &Division,
        options: SolverOptions,
    ) -> Result<Self, CudaError> {
        let (nx, ny) = (grid.nx(), grid.ny());
        let ((_, rows), (first, columns)) = (division.rows_of(rank), division.columns_of(rank));
        let mut along_y = Lines::new(gpu, (rows, ny), options)?;
        let mut along_x = Lines::new(gpu, (columns, nx), options)?;
        let half = along_y.lines.half_spectra.max(along_x.lines.half_spectra);
        let mut ffts: Vec<_> =
            [&mut along_y, &mut along_x].into_iter().flat_map(|of| of.lines.ffts()).collect();
        share_work_area(gpu, &mut ffts)?;
        let three = |values: usize| -> Result<[DeviceVec<T>; 3], CudaError> {
            Ok([gpu.zeros(values)?, gpu.zeros(values)?, gpu.zeros(values)?])
        };
        let green = green::<T>(grid).transposed();
        let scaling = Scaling::of_rows(&along_x.lines, green, first..first + columns, nx)?;
        Ok(Rank {
            along_y,
            along_x,
            scaling,
            half: gpu.zeros(half)?,
            columns: gpu.zeros(columns * nx)?,
            fields: three(columns * nx)?,
            rows: three(rows * ny)?,
        })
    }
}

impl<T: CudaReal> AroundCufft<T> for Rank<T> {
    fn arrays(&self) -> Vec<u64> {
        let Rank { along_y, columns, fields, rows, .. } = self;
        let maps = [&along_y.other, columns].into_iter().chain(fields).chain(rows);
        maps.map(|map| *map.address()).collect()
    }

    fn first(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        let Rank { along_y: Lines { lines, transpose, map, other }, half, .. } = self;
        lines.reorder(rho, map.as_view_mut())?;
        lines.forward_fft(&*map, &mut *half)?;
        lines.post(half, map, None)?;
        transpose.run(map, other, None)
    }

    fn second(&mut self, energy: &mut DeviceVec<f64>) -> Result<(), CudaError> {
        let Rank { along_x, scaling, half, columns, fields, .. } = self;
        let Lines { lines, transpose, map, other } = along_x;
        lines.reorder(&*columns, map.as_view_mut())?;
        lines.forward_fft(&*map, &mut *half)?;
        lines.post(half, columns, None)?;
        // Lines go along x here: Ex is the field along them.
        for ((field, scaled), sines) in fields.iter_mut().zip([0, 2, 1]).zip(SINES) {
            scaling.pre(lines, columns, half, scaled, energy)?;
            lines.inverse_fft(&mut *half, &mut *map)?;
            lines.restore(map, [&mut *other], [Sines { x: false, y: sines.x }])?;
            transpose.run(other, field, None)?;
        }
        Ok(())
    }

    fn third(&mut self, outputs: [DeviceSliceMut<'_, T>; 3]) -> Result<(), CudaError> {
        let Rank { along_y: Lines { lines, map, .. }, half, rows, .. } = self;
        for ((row, output), sines) in rows.iter().zip(outputs).zip(SINES) {
            lines.pre(row, half, Sines { x: false, y: sines.y })?;
            lines.inverse_fft(&mut *half, &mut *map)?;
            lines.restore(map, [output], [Sines { x: false, y: sines.y }])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::blocks::tests::{DIVISIONS, array_at, exchange};
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn rows_become_columns_of_all_ranks_and_rows_again() {
        let size = 4;
        for (ranks, nx, ny, reached) in DIVISIONS {
            let division = Division::new(ranks, nx, ny, size).unwrap();
            let mut memory = HashMap::new();
            let value = |row: usize, column: usize| (row * 1000 + column) as u64;
            for rank in 0..ranks {
                let (first, rows) = division.rows_of(rank);
                for (row, v) in (0..rows).flat_map(|row| (0..ny).map(move |v| (row, v))) {
                    let at = array_at(rank, TURNED) + ((v * rows + row) * size) as u64;
                    memory.insert(at, value(first + row, v));
                }
            }
            exchange(&mut memory, ranks, reached, size, |a, b| forward(&division, a, b));
            for rank in 0..ranks {
                let (first, own) = division.columns_of(rank);
                for (row, v) in (0..nx).flat_map(|row| (0..own).map(move |v| (row, v))) {
                    let at = array_at(rank, COLUMNS) + ((v * nx + row) * size) as u64;
                    assert_eq!(memory[&at], value(row, first + v), "{ranks} ranks, {nx} x {ny}");
                    for map in 0..3 {
                        let at = array_at(rank, FIELDS + map) + ((row * own + v) * size) as u64;
                        memory.insert(at, value(row, first + v) + map as u64 * 1_000_000);
                    }
                }
            }
            exchange(&mut memory, ranks, reached, size, |a, b| back(&division, a, b));
            for (rank, map) in (0..ranks).flat_map(|rank| (0..3).map(move |map| (rank, map))) {
                let (first, rows) = division.rows_of(rank);
                for (row, v) in (0..rows).flat_map(|row| (0..ny).map(move |v| (row, v))) {
                    let at = array_at(rank, ROWS + map) + ((row * ny + v) * size) as u64;
                    let want = value(first + row, v) + map as u64 * 1_000_000;
                    assert_eq!(memory[&at], want, "{ranks} ranks, {nx} x {ny}");
                }
            }
        }
    }
}
