//! The fused pipeline by slabs: that of [`Spectral`](crate::cuda::Spectral), with the 2-D FFTs
//! divided.
//!
//! Reordering and the real FFTs along y are of a rank's rows, the complex FFTs along x and what is
//! between forward and inverse transform of its columns of the spectra: the four coefficients that
//! a thread needs there are of one column. So spectra go from rank to rank in an all-to-all, ρ's
//! after the first pass and three after the second, (1 + 3)·nx·ny·(P−1)/P² values of P ranks.
//! (cuFFT has plans for several GPUs of its own: for devices of one process, in no graph, each
//! device once.)
//!
//! A rank's first row is even, so its even rows are an interval of all even ones, and so its odd
//! ones: once it has reordered its own, each half is an interval of all rows reordered.

use super::super::Peers;
use super::super::blocks::Block;
use super::Passes;
use super::around_cufft::{self, AroundCufft, Division};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu};
use crate::cuda::fft::{ColumnFft, FusedTransform, RealFft, share_work_area};
use crate::cuda::solve::{SINES, Scaling, SolverOptions, solve_spec};
use crate::grid::BinGrid;

/// A rank's plans and memory.
struct Rank<T: CudaReal> {
    /// Of its rows, which it reorders.
    own: FusedTransform<T>,
    forward: RealFft<T>,
    inverse: RealFft<T>,
    along_x: ColumnFft<T>,
    /// Of the map, for its twiddles.
    whole: FusedTransform<T>,
    scaling: Scaling<T>,
    /// Its rows of three maps, reordered.
    maps: DeviceVec<T>,
    /// Its rows of three spectra, `[row][ny/2 + 1]` each, of which the first is ρ's until the
    /// others are made.
    rows: DeviceVec<T::Complex>,
    /// Its columns of them, `[nx][column]` each.
    columns: DeviceVec<T::Complex>,
}

// Places in `Rank::arrays`.
const ROWS: usize = 0;
const COLUMNS: usize = 1;

/// What each of this process's ranks does.
pub(super) fn make<T: CudaReal>(
    peers: &Peers,
    grid: &BinGrid,
    options: SolverOptions,
) -> Result<Vec<Box<dyn Passes<T>>>, CudaError> {
    let (columns, size) = (grid.ny() / 2 + 1, size_of::<T::Complex>());
    let division = Division::new(peers.count(), grid.nx(), columns, size)?;
    let on = |rank| Rank::<T>::new(peers.gpu(rank), rank, grid, &division, options);
    around_cufft::make(peers, &division, on, [forward, back])
}

/// A rank's even rows and its odd ones, reordered: the first among its own, the first of all, and
/// how many.
fn halves(division: &Division, rank: usize) -> [(usize, usize, usize); 2] {
    let (first, count) = division.rows_of(rank);
    let (even, odd) = (count.div_ceil(2), count / 2);
    [(0, first / 2, even), (even, division.nx - first / 2 - odd, odd)]
}

/// ρ's spectrum along y, from the rows of a rank to the columns of another.
fn forward(division: &Division, from: usize, to: usize) -> Vec<Block> {
    let (all, (first, columns)) = (division.all_columns(), division.columns_of(to));
    let half = |(own, row, count)| {
        let there = (COLUMNS, row * columns, columns);
        division.block((columns, count), (ROWS, own * all + first, all), there)
    };
    halves(division, from).map(half).into()
}

/// Three spectra along y, from the columns of a rank to the rows of another.
fn back(division: &Division, from: usize, to: usize) -> Vec<Block> {
    let (all, (first, columns)) = (division.all_columns(), division.columns_of(from));
    let (nx, rows) = (division.nx, division.rows_of(to).1);
    let of = |map: usize| {
        halves(division, to).map(|(own, row, count)| {
            let here = (COLUMNS, (map * nx + row) * columns, columns);
            let there = (ROWS, (map * rows + own) * all + first, all);
            division.block((columns, count), here, there)
        })
    };
    (0..SINES.len()).flat_map(of).collect()
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
        let of =
            |shape: &[usize]| FusedTransform::new(gpu, &solve_spec::<T>(shape, 1, &[], options));
        let (own, whole) = (of(&[rows, ny])?, of(&[nx, ny])?);
        let mut forward = RealFft::new(gpu, true, &[ny], rows)?;
        let mut inverse = RealFft::new(gpu, false, &[ny], SINES.len() * rows)?;
        let mut along_x = ColumnFft::new(gpu, nx, columns)?;
        share_work_area(gpu, &mut [&mut forward, &mut inverse, &mut along_x.0])?;
        Ok(Rank {
            scaling: Scaling::of_spectra(&whole, grid, first..first + columns)?,
            own,
            whole,
            forward,
            inverse,
            along_x,
            maps: gpu.zeros(SINES.len() * rows * ny)?,
            rows: gpu.zeros(SINES.len() * rows * division.all_columns())?,
            columns: gpu.zeros(SINES.len() * nx * columns)?,
        })
    }
}

impl<T: CudaReal> AroundCufft<T> for Rank<T> {
    fn arrays(&self) -> Vec<u64> {
        let Rank { rows, columns, .. } = self;
        vec![*rows.address(), *columns.address()]
    }

    fn first(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        let Rank { own, forward, maps, rows, .. } = self;
        own.reorder(rho, maps.as_view_mut())?;
        forward.run_forward(&*maps, rows)
    }

    fn second(&mut self, energy: &mut DeviceVec<f64>) -> Result<(), CudaError> {
        let Rank { along_x, whole, scaling, columns, .. } = self;
        let one = columns.len() / SINES.len();
        along_x.run(columns.slice_mut(0..one), true)?;
        scaling.spectra(whole, columns, energy)?;
        for map in 0..SINES.len() {
            along_x.run(columns.slice_mut(map * one..(map + 1) * one), false)?;
        }
        Ok(())
    }

    fn third(&mut self, outputs: [DeviceSliceMut<'_, T>; 3]) -> Result<(), CudaError> {
        let Rank { own, inverse, maps, rows, .. } = self;
        inverse.run_inverse(rows, &mut *maps)?;
        own.restore(maps, outputs, SINES)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::blocks::tests::{DIVISIONS, array_at, exchange};
    use super::*;
    use std::collections::HashMap;

    /// Where row i of n goes in a reordering: `reordered` in kernels/fft/reorder.cuh.
    fn reordered(i: usize, n: usize) -> usize {
        if i % 2 == 1 { n - 1 - i / 2 } else { i / 2 }
    }

    #[test]
    fn rows_reordered_by_their_ranks_are_all_rows_reordered() {
        let size = 8;
        for (ranks, nx, columns, reached) in DIVISIONS {
            let division = Division::new(ranks, nx, columns, size).unwrap();
            let mut memory = HashMap::new();
            let value = |map: usize, row: usize, column: usize| {
                (map * 1_000_000 + row * 1000 + column) as u64
            };
            for rank in 0..ranks {
                let (first, rows) = division.rows_of(rank);
                assert!(first % 2 == 0 && rows > 0);
                for (row, v) in (0..rows).flat_map(|row| (0..columns).map(move |v| (row, v))) {
                    let at = (reordered(row, rows) * columns + v) * size;
                    memory.insert(array_at(rank, ROWS) + at as u64, value(0, first + row, v));
                }
            }
            exchange(&mut memory, ranks, reached, size, |a, b| forward(&division, a, b));
            for rank in 0..ranks {
                let (first, own) = division.columns_of(rank);
                for (row, v) in (0..nx).flat_map(|row| (0..own).map(move |v| (row, v))) {
                    let at = |map: usize| {
                        let at = (map * nx + reordered(row, nx)) * own + v;
                        array_at(rank, COLUMNS) + (at * size) as u64
                    };
                    assert_eq!(
                        memory[&at(0)],
                        value(0, row, first + v),
                        "{ranks} ranks, {nx} rows"
                    );
                    (0..3).for_each(|map| {
                        memory.insert(at(map), value(map + 1, row, first + v));
                    });
                }
            }
            exchange(&mut memory, ranks, reached, size, |a, b| back(&division, a, b));
            for rank in 0..ranks {
                let (first, rows) = division.rows_of(rank);
                for (map, row) in (0..3).flat_map(|map| (0..rows).map(move |row| (map, row))) {
                    for v in 0..columns {
                        let at = ((map * rows + reordered(row, rows)) * columns + v) * size;
                        let got = memory[&(array_at(rank, ROWS) + at as u64)];
                        assert_eq!(got, value(map + 1, first + row, v), "{ranks} ranks, {nx} rows");
                    }
                }
                let within = |(start, values): (u64, usize)| start..start + (values * size) as u64;
                let arrays = [
                    within((array_at(rank, ROWS), 3 * rows * columns)),
                    within((array_at(rank, COLUMNS), 3 * nx * division.columns_of(rank).1)),
                ];
                let mine = array_at(rank, ROWS)..array_at(rank, COLUMNS + 1);
                let stray = memory
                    .keys()
                    .find(|at| mine.contains(at) && !arrays.iter().any(|array| array.contains(at)));
                assert_eq!(stray, None, "beyond an array of rank {rank}");
            }
        }
        assert!(Division::new(3, 4, 9, size).is_err() && Division::new(3, 9, 2, size).is_err());
    }
}
