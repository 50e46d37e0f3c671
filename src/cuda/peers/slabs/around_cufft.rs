//! What the pipelines around cuFFT share when a solve is divided: which rows and columns are whose,
//! the all-to-all after the first pass and after the second, and the energy.

use super::super::blocks::{AllToAll, Block, Side};
use super::super::nccl::Transfer;
use super::super::{Peers, divide};
use super::{Passes, first_rows};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec};
use crate::cuda::solve::EnergySum;

/// A rank's passes in such a pipeline.
pub(super) trait AroundCufft<T: CudaReal>: Send + 'static {
    /// The arrays that blocks are of.
    fn arrays(&self) -> Vec<u64>;

    /// Up to the first all-to-all.
    fn first(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError>;

    /// Up to the second, with the energy of the rank's columns.
    fn second(&mut self, energy: &mut DeviceVec<f64>) -> Result<(), CudaError>;

    /// To φ, Ex and Ey.
    fn third(&mut self, maps: [DeviceSliceMut<'_, T>; 3]) -> Result<(), CudaError>;
}

/// What goes from a rank to another.
pub(super) type Blocks = fn(&Division, usize, usize) -> Vec<Block>;

/// What each of this process's ranks does. `blocks` are those of both exchanges, within the arrays.
pub(super) fn make<T: CudaReal, R: AroundCufft<T>>(
    peers: &Peers,
    division: &Division,
    rank: impl Fn(usize) -> Result<R, CudaError>,
    blocks: [Blocks; 2],
) -> Result<Vec<Box<dyn Passes<T>>>, CudaError> {
    let (first, count) = (peers.local().start, peers.count());
    let own: Vec<R> = peers.local().map(rank).collect::<Result<_, CudaError>>()?;
    let energies: Vec<Energy> =
        peers.local().map(|rank| Energy::new(peers, rank)).collect::<Result<_, CudaError>>()?;
    let arrays = |(own, energy): (&R, &Energy)| {
        [own.arrays(), vec![*energy.own.address(), *energy.parts.address()]].concat()
    };
    let arrays: Vec<_> = own.iter().zip(&energies).map(arrays).collect();
    let address = |rank: usize, array: usize| arrays[rank - first][array];
    let exchange = |rank, blocks: &dyn Fn(usize, usize) -> Vec<Block>| {
        AllToAll::new(peers.gpu(rank), (rank, count), peers.reach_memory(), address, blocks)
    };
    let energy_of = arrays[0].len() - 2;
    let mut ranks = Vec::new();
    for ((rank, own), energy) in peers.local().zip(own).zip(energies) {
        let back = |from, to| {
            let mut all = blocks[1](division, from, to);
            all.push(energy_block(from, energy_of));
            all
        };
        let exchanges =
            [exchange(rank, &|from, to| blocks[0](division, from, to))?, exchange(rank, &back)?];
        ranks.push(Box::new(Rank { own, energy, exchanges }) as Box<dyn Passes<T>>);
    }
    Ok(ranks)
}

struct Rank<R> {
    own: R,
    energy: Energy,
    exchanges: [AllToAll; 2],
}

impl<T: CudaReal, R: AroundCufft<T>> Passes<T> for Rank<R> {
    fn first(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        self.own.first(rho)?;
        // SAFETY: blocks are of the arrays, whose sizes are of the same division (tested with the
        // pipelines); they live as long as the solver, which keeps the order of the passes and
        // waits for all ranks before it frees them.
        unsafe { self.exchanges[0].begin() }
    }

    fn second(&mut self) -> Result<(), CudaError> {
        self.own.second(&mut self.energy.own)?;
        // SAFETY: as in the first pass.
        unsafe { self.exchanges[1].begin() }
    }

    fn third(
        &mut self,
        maps: [DeviceSliceMut<'_, T>; 3],
        energy: DeviceSliceMut<'_, f64>,
    ) -> Result<(), CudaError> {
        self.own.third(maps)?;
        self.energy.sum.run(self.energy.parts.as_view(), energy)
    }

    fn transfers(&self, after: usize) -> &[Transfer] {
        &self.exchanges[after].transfers
    }

    fn arrived(&self, after: usize) -> Result<(), CudaError> {
        // SAFETY: as in the first pass.
        unsafe { self.exchanges[after].end() }
    }
}

/// Which rows and columns are whose, in a pipeline around cuFFT.
pub(super) struct Division {
    pub(super) nx: usize,
    /// The first of each rank, and their number.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// Bytes of a value.
    size: usize,
}

impl Division {
    /// Of maps, or spectra, of so many columns.
    pub(super) fn new(
        count: usize,
        nx: usize,
        columns: usize,
        size: usize,
    ) -> Result<Division, CudaError> {
        if nx.div_ceil(2) < count || columns < count {
            return Err(CudaError::Peers(format!(
                "too few of {nx} rows or {columns} columns for {count} ranks, each of which takes two \
                 rows and one column at least"
            )));
        }
        let (rows, columns) = (first_rows(nx, count), divide(columns, count));
        Ok(Division { nx, rows, columns, size })
    }

    /// The first row, and the number, of a rank.
    pub(super) fn rows_of(&self, rank: usize) -> (usize, usize) {
        (self.rows[rank], self.rows[rank + 1] - self.rows[rank])
    }

    pub(super) fn columns_of(&self, rank: usize) -> (usize, usize) {
        (self.columns[rank], self.columns[rank + 1] - self.columns[rank])
    }

    pub(super) fn all_columns(&self) -> usize {
        self.columns[self.columns.len() - 1]
    }

    /// Lines of `length` values from and to (array, value in it, values from one line to the next).
    pub(super) fn block(
        &self,
        (length, lines): (usize, usize),
        from: (usize, usize, usize),
        to: (usize, usize, usize),
    ) -> Block {
        let side = |(array, start, pitch): (usize, usize, usize)| Side {
            array,
            start: start * self.size,
            pitch: pitch * self.size,
        };
        Block { from: side(from), to: side(to), bytes: length * self.size, lines }
    }
}

/// A rank's part of the energy, and those of all ranks.
struct Energy {
    own: DeviceVec<f64>,
    parts: DeviceVec<f64>,
    sum: EnergySum,
}

impl Energy {
    fn new(peers: &Peers, rank: usize) -> Result<Energy, CudaError> {
        let gpu = peers.gpu(rank);
        let (own, parts) = (gpu.zeros(1)?, gpu.zeros(peers.count())?);
        Ok(Energy { own, parts, sum: EnergySum::new(gpu)? })
    }
}

/// A rank's part of the energy, to all ranks' array of parts, which comes after the array it is in.
fn energy_block(rank: usize, array: usize) -> Block {
    let size = size_of::<f64>();
    let side = |array, start| Side { array, start, pitch: size };
    Block { from: side(array, 0), to: side(array + 1, rank * size), bytes: size, lines: 1 }
}
