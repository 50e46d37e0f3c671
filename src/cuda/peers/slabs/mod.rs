//! One solve on several devices, by slabs.
//!
//! Every rank has a slab of the rows of all maps, for transforms along y, and a slab of the
//! columns, for transforms along x. A solve has three passes: from the rank's rows of ρ to all
//! ranks' columns; from its columns to all ranks' rows; and from its rows to the rows of the
//! fields. Before the second and the third pass there is a barrier, or ranks send each other
//! messages. If the second pass's output is still in transfer during the third, there is a fourth.
//!
//! The paper's pipelines run only on one device: by slabs they took more time on two H200s than
//! three passes on one (benchmarks/experiments.md).
//!
//! No other wait is necessary. The first pass of the next solve overwrites memory that ranks read
//! in their second pass, before the barrier that precedes the third. The second pass of the next
//! solve overwrites memory that ranks read in their third, or fourth, before the next barrier.

mod three_pass;

use super::nccl::Transfer;
use super::{Peers, divide};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceVec, Graph, check_length};
use crate::cuda::solve::{Fields, FieldsMut, check_fields};
use crate::grid::BinGrid;
use std::ops::Range;
use three_pass::RankState;

/// The solve of one grid on all ranks. If ranks are in several processes, each process makes one
/// solver and makes the same calls. Its maps are those of its own ranks.
pub struct SlabSolver<T: CudaReal> {
    peers: Peers,
    nx: usize,
    ny: usize,
    /// The first row of each rank, all of them even, and the number of rows.
    first_row: Vec<usize>,
    /// The ranks of this process.
    ranks: Vec<RankState<T>>,
}

impl<T: CudaReal> SlabSolver<T> {
    /// Makes the three-pass solve: compiles (or loads) the kernels and allocates all memory that a
    /// solve needs, on every rank.
    ///
    /// # Errors
    /// [`CudaError::NoThreePass`] for a grid that has no three-pass solve on these devices, or
    /// fewer row pairs or panels of columns (128 bytes of complex numbers) than there are ranks.
    /// Otherwise if kernels cannot be compiled or memory runs out.
    pub fn new(peers: &Peers, grid: &BinGrid) -> Result<Self, CudaError> {
        let _launching = peers.launch_lock();
        let (nx, ny, ranks) = (grid.nx(), grid.ny(), three_pass::make(peers, grid)?);
        // The zeros must be there before another rank writes.
        peers.synchronize()?;
        let first_row = first_rows(nx, peers.count());
        Ok(SlabSolver { peers: peers.clone(), nx, ny, first_row, ranks })
    }

    /// Returns the ranks.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Returns a rank's rows (indices along x) of every map, for ranks of any process.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn rows(&self, rank: usize) -> Range<usize> {
        self.first_row[rank]..self.first_row[rank + 1]
    }

    /// Returns, for each rank of this process, a copy of its rows of a map in host memory,
    /// `[nx][ny]`.
    ///
    /// # Errors
    /// When the map has the wrong length or memory runs out.
    pub fn upload(&self, map: &[T]) -> Result<Vec<DeviceVec<T>>, CudaError> {
        check_length("map", map.len(), self.nx * self.ny)?;
        let part = |rank| {
            let Range { start, end } = self.rows(rank);
            self.peers.gpu(rank).upload(&map[start * self.ny..end * self.ny])
        };
        self.peers.local().map(part).collect()
    }

    /// Returns zero fields over the rows of each rank of this process.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn fields(&self) -> Result<Vec<Fields<T>>, CudaError> {
        let of = |rank| Fields::new(self.peers.gpu(rank), self.rows(rank).len() * self.ny);
        self.peers.local().map(of).collect()
    }

    /// Returns φ, Ex and Ey of all ranks in host memory, `[nx][ny]` each, in the process of rank 0;
    /// in other processes `None`. Waits for the solve. All processes call it.
    ///
    /// # Errors
    /// See [`Peers::synchronize`], and if there are not as many fields as ranks in this process.
    pub fn gather(&self, fields: &[Fields<T>]) -> Result<Option<[Vec<T>; 3]>, CudaError> {
        self.check_fields(fields)?;
        self.peers.synchronize()?;
        let local = self.peers.local();
        let maps: [Vec<&DeviceVec<T>>; 3] = [
            fields.iter().map(|fields| &fields.potential).collect(),
            fields.iter().map(|fields| &fields.field_x).collect(),
            fields.iter().map(|fields| &fields.field_y).collect(),
        ];
        let message = |send, peer, map: &DeviceVec<T>| {
            let (address, bytes) = (*map.address(), map.len() * size_of::<T>());
            Transfer { send, peer, address, bytes }
        };
        let mut all = [const { Vec::new() }; 3];
        for (slabs, all) in maps.iter().zip(&mut all) {
            if local.start > 0 {
                let transfers: Vec<_> =
                    slabs.iter().map(|map| vec![message(true, 0, map)]).collect();
                // SAFETY: the maps live until the wait below.
                unsafe { self.peers.exchange(&transfers) }?;
                self.peers.synchronize()?;
                continue;
            }
            all.reserve_exact(self.nx * self.ny);
            for (rank, slab) in local.clone().zip(slabs) {
                all.extend(self.peers.gpu(rank).download(*slab)?);
            }
            if local.end == self.peers.count() {
                continue;
            }
            // The rows of this map in other processes.
            let (gpu, others) = (self.peers.gpu(0), local.end..self.peers.count());
            let room = |rank| gpu.zeros::<T>(self.rows(rank).len() * self.ny);
            let rooms = others.clone().map(room).collect::<Result<Vec<_>, _>>()?;
            let mut transfers = vec![Vec::new(); local.len()];
            transfers[0] =
                others.zip(&rooms).map(|(peer, room)| message(false, peer, room)).collect();
            // SAFETY: the buffers live until the wait below.
            unsafe { self.peers.exchange(&transfers) }?;
            self.peers.synchronize()?;
            for room in &rooms {
                all.extend(gpu.download(room)?);
            }
        }
        Ok((local.start == 0).then_some(all))
    }

    /// Enqueues the solve on all ranks, each with its own rows of ρ and of the fields. Every rank
    /// gets the whole energy. [`Peers::synchronize`] waits for it.
    ///
    /// # Errors
    /// If there are not as many maps as ranks, one has the wrong length or is on another device, or
    /// a launch fails. Ranks that have enqueued more then wait in vain, and [`Peers::synchronize`]
    /// reports this.
    pub fn solve(
        &mut self,
        rho: &[DeviceVec<T>],
        fields: &mut [Fields<T>],
    ) -> Result<(), CudaError> {
        self.check(rho, fields)?;
        // Pass by pass, so that no rank waits for the host.
        for pass in 0..self.passes_of_a_solve() {
            if pass > 0 {
                self.between(pass - 1)?;
            }
            for (rank, (rho, fields)) in self.peers.local().zip(rho.iter().zip(&mut *fields)) {
                self.pass(rank, pass, rho.as_view(), fields.as_mut())?;
            }
        }
        Ok(())
    }

    /// Returns three or four.
    pub(crate) fn passes_of_a_solve(&self) -> usize {
        if self.ranks.iter().any(|rank| rank.parted()) { 4 } else { 3 }
    }

    /// After a pass, sends the data that other ranks need, and receives data from them.
    fn between(&self, after: usize) -> Result<(), CudaError> {
        if self.peers.reach_memory() {
            return self.peers.barrier();
        }
        let transfers: Vec<_> =
            self.ranks.iter().map(|rank| rank.transfers(after).to_vec()).collect();
        // SAFETY: all of it is memory of these ranks, which lives as long as `self`, and `self`
        // waits for them before it frees it; passes before and after are on the same streams.
        unsafe { self.peers.exchange(&transfers) }?;
        self.ranks.iter().try_for_each(|rank| rank.arrived(after))
    }

    /// Returns a graph of the solve for each rank. All are launched equally often. No graph
    /// finishes before all others have been launched.
    ///
    /// # Errors
    /// See [`SlabSolver::solve`], and [`CudaError::Peers`] for ranks that send messages.
    ///
    /// # Safety
    /// See [`Graph::capture`]: this solver, ρ and the fields live for as long as the
    /// graphs are launched. While one of each rank is launched, no other thread launches graphs of
    /// these ranks.
    pub unsafe fn graphs(
        &mut self,
        rho: &[DeviceVec<T>],
        fields: &mut [Fields<T>],
    ) -> Result<Vec<Graph>, CudaError> {
        self.peers.check_reach()?;
        self.check(rho, fields)?;
        let peers = self.peers.clone();
        let passes = |rank: usize| {
            for pass in 0..self.passes_of_a_solve() {
                if pass > 0 {
                    peers.barrier_on(rank)?;
                }
                self.pass(rank, pass, rho[rank].as_view(), fields[rank].as_mut())?;
            }
            Ok(())
        };
        // SAFETY: the caller's promise.
        unsafe { peers.graphs(passes) }
    }

    /// Checks before anything is enqueued: a rank that stops half way leaves the others waiting.
    fn check(&self, rho: &[DeviceVec<T>], fields: &[Fields<T>]) -> Result<(), CudaError> {
        check_length("density maps of all ranks", rho.len(), self.ranks.len())?;
        self.check_fields(fields)?;
        for (rank, rho) in self.peers.local().zip(rho) {
            self.peers.gpu(rank).check("density map", rho, self.rows(rank).len() * self.ny)?;
        }
        Ok(())
    }

    fn check_fields(&self, fields: &[Fields<T>]) -> Result<(), CudaError> {
        check_length("fields of all ranks", fields.len(), self.ranks.len())?;
        let mut ranks = self.peers.local().zip(fields);
        ranks.try_for_each(|(rank, fields)| {
            let Fields { potential, field_x, field_y, energy } = fields;
            let maps = [potential, field_x, field_y].map(DeviceVec::as_view);
            let bins = self.rows(rank).len() * self.ny;
            check_fields(self.peers.gpu(rank), [bins, 1], maps, energy.as_view())
        })
    }

    /// Enqueues a pass of a rank. The first (0) reads its rows of ρ. The third (2), and the fourth
    /// if there is one, make its rows of φ, Ex and Ey, and the energy.
    pub(crate) fn pass(
        &mut self,
        rank: usize,
        pass: usize,
        rho: DeviceSlice<'_, T>,
        fields: FieldsMut<'_, T>,
    ) -> Result<(), CudaError> {
        let bins = self.rows(rank).len() * self.ny;
        check_length("density map", rho.len(), bins)?;
        fields.check(self.peers.gpu(rank), bins, 1)?;
        let state = &mut self.ranks[rank - self.peers.local().start];
        match pass {
            0 => state.first(rho),
            1 => state.second(),
            2 => state.third(&fields),
            _ => state.fourth(&fields),
        }
    }
}

impl<T: CudaReal> Drop for SlabSolver<T> {
    fn drop(&mut self) {
        // Work on another rank's stream may write into one rank's memory.
        let _ = self.peers.synchronize();
    }
}

/// Returns the first row of each of `count` ranks, and the number of rows. All ranks' first rows
/// are even.
pub(crate) fn first_rows(nx: usize, count: usize) -> Vec<usize> {
    divide(nx.div_ceil(2), count).iter().map(|pair| (2 * pair).min(nx)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_differ_by_at_most_one() {
        for (count, parts) in [(1, 1), (7, 3), (512, 4), (5, 5)] {
            let first = divide(count, parts);
            assert_eq!((first[0], first[parts], first.len()), (0, count, parts + 1));
            let sizes: Vec<_> = first.windows(2).map(|two| two[1] - two[0]).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(*least >= 1 && most - least <= 1, "{sizes:?}");
        }
    }
}
