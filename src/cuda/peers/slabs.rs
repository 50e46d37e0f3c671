//! One solve on several devices, by slabs: `kernels/lines/transform.cu`,
//! `kernels/solve/columns.cu` and `kernels/solve/fields.cu`, with the places of
//! `kernels/peers/peers.cuh`.
//!
//! The three passes are those of [`ThreePass`](crate::cuda::ThreePass). Every rank has a slab of
//! the rows of all maps, for the passes along y, and a slab of the columns, whole panels, for the
//! pass along x. The first pass stores each row's transform straight into the memory of the ranks
//! that own the columns; the second stores P and Q into that of the ranks that own the rows; the
//! third is local. Before the second and the third pass all ranks meet. A rank sends
//! (1 + 2)·nx·ny·(P−1)/P² values of P ranks.
//!
//! Nothing else need be waited for: what the first pass of the next solve overwrites, ranks have
//! read in their second pass, before they met for the third; what its second pass overwrites, they
//! have read in their third, before they meet again.

use super::{Peers, divide};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Graph, KernelArgument,
    Launch, check_length,
};
use crate::cuda::lines::{Instance, Keep, LineKernel, Role, Shapes, slabs};
use crate::cuda::solve::{Fields, Green, SCALE};
use crate::grid::BinGrid;
use std::ops::Range;

/// Bytes that go from device to device at once: of a row pair in a panel of the first pass.
const PIECE: usize = 128;

/// The three-pass solve of one grid on all ranks.
pub struct SlabSolver<T: CudaReal> {
    peers: Peers,
    nx: usize,
    ny: usize,
    green: Green<T>,
    /// The first row pair of each rank, and their number.
    first_pair: Vec<usize>,
    ranks: Vec<Rank<T>>,
}

/// A rank's kernels and memory.
struct Rank<T: CudaReal> {
    rows: LineKernel<T>,
    columns: LineKernel<T>,
    fields: LineKernel<T>,
    /// Its panels, `[panel][row pair][column]`, of all row pairs: ρ's transform along y.
    panels: DeviceVec<T::Complex>,
    /// P and Q of its row pairs, likewise, all panels.
    p: DeviceVec<T::Complex>,
    q: DeviceVec<T::Complex>,
    /// The energy, by blocks of the second pass on all ranks.
    partial: DeviceVec<f64>,
    /// Groups of columns that the second pass takes, and its blocks.
    units: u32,
    blocks: u32,
    slabs: Slabs,
}

/// `struct Slabs` of `kernels/peers/peers.cuh`, a kernel's argument by value: addresses,
/// then pairs of 32-bit numbers.
struct Slabs(Box<[u64]>);

// SAFETY: laid out as the kernels declare it (`Slabs::new`); the memory that its addresses are of
// is for the launches of `SlabSolver` to answer for.
unsafe impl KernelArgument for Slabs {
    fn pointer(&self) -> *mut std::ffi::c_void {
        self.0.as_ptr().cast_mut().cast()
    }
}

impl Slabs {
    /// `memory` are the addresses of every rank's panels, P, Q and parts of the energy.
    fn new(
        memory: &[[u64; 4]],
        [first_pair, first_panel]: [&[usize]; 2],
        rank: usize,
        first_partial: u32,
    ) -> Self {
        let addresses = (0..4).flat_map(|what| memory.iter().map(move |of| of[what]));
        let mut numbers: Vec<u32> =
            first_pair.iter().chain(first_panel).map(|&first| first as u32).collect();
        numbers.extend([rank as u32, first_partial]);
        // An even number of them: as the addresses are aligned, so is the end.
        let pairs = numbers.chunks_exact(2).map(|two| {
            let bytes: [[u8; 4]; 2] = [two[0].to_ne_bytes(), two[1].to_ne_bytes()];
            u64::from_ne_bytes(bytes.concat().try_into().expect("two times four bytes"))
        });
        Slabs(addresses.chain(pairs).collect())
    }
}

impl<T: CudaReal> SlabSolver<T> {
    /// Compiles (or loads) the kernels and allocates everything a solve needs, on every rank.
    ///
    /// # Errors
    /// [`CudaError::NoThreePass`] for a grid that has no three-pass solve on these devices, or fewer
    /// row pairs or panels of columns (128 bytes of complex numbers) than there are ranks; else when
    /// kernels cannot be compiled or memory runs out.
    pub fn new(peers: &Peers, grid: &BinGrid) -> Result<Self, CudaError> {
        let (nx, ny, count) = (grid.nx(), grid.ny(), peers.count());
        let width = PIECE / size_of::<T::Complex>();
        let (pairs, panels) = (nx / 2, ny.div_ceil(width));
        let no = |reason: String| CudaError::NoThreePass { nx, ny, reason };
        if pairs < count || panels < count {
            return Err(no(format!(
                "too few for {count} ranks, each of which takes two rows and {width} columns at least"
            )));
        }
        let shapes: Vec<Shapes> =
            (0..count).map(|rank| Shapes::of(peers.gpu(rank))).collect::<Result<_, _>>()?;
        // Columns that a block of the second pass stores at once: the most of any rank, where they
        // differ, which is an even number where any stores two at a time.
        let at_once = |shapes: &Shapes| {
            let shape = shapes.choose::<T>(Role::Solve, nx)?;
            Some(if shape.keep == Keep::Separate { 2 * shape.lanes } else { shape.lanes })
        };
        let written = shapes.iter().filter_map(at_once).max().unwrap_or(1);
        let (first_pair, first_panel) = (divide(pairs, count), divide(panels, count));
        let columns_of = |rank: usize| {
            let (begin, end) = (first_panel[rank] * width, first_panel[rank + 1] * width);
            end.min(ny) - begin
        };
        let mut ranks = Vec::new();
        for rank in 0..count {
            let gpu = peers.gpu(rank);
            let own_pairs = first_pair[rank + 1] - first_pair[rank];
            let mut instances = Vec::new();
            for (unit, role, does) in slabs(count, width, written) {
                let (n, lines) =
                    if role == Role::Solve { (nx, columns_of(rank) / 2) } else { (ny, own_pairs) };
                let instance = Instance::choose::<T>(&shapes[rank], (unit, role, does), (n, lines));
                instances.push(instance.ok_or_else(|| no(format!("no lines of {n}")))?);
            }
            let kernels = LineKernel::all(gpu, &instances)?;
            let [rows, columns, fields] = <[_; 3]>::try_from(kernels)
                .unwrap_or_else(|_| unreachable!("one for each instance"));
            let (units, blocks) = columns.column_units(gpu, columns_of(rank))?;
            let own_panels = first_panel[rank + 1] - first_panel[rank];
            ranks.push(Rank {
                panels: gpu.zeros(own_panels * pairs * width)?,
                p: gpu.zeros(ny.next_multiple_of(width) * own_pairs)?,
                q: gpu.zeros(ny.next_multiple_of(width) * own_pairs)?,
                partial: gpu.zeros(0)?,
                rows,
                columns,
                fields,
                units,
                blocks,
                slabs: Slabs(Box::default()),
            });
        }
        let all: usize = ranks.iter().map(|rank| rank.blocks as usize).sum();
        for (rank, of) in ranks.iter_mut().enumerate() {
            of.partial = peers.gpu(rank).zeros(all)?;
        }
        let address = |rank: &Rank<T>| {
            [*rank.panels.address(), *rank.p.address(), *rank.q.address(), *rank.partial.address()]
        };
        let memory: Vec<_> = ranks.iter().map(address).collect();
        let mut first_partial = 0;
        for (rank, of) in ranks.iter_mut().enumerate() {
            of.slabs = Slabs::new(&memory, [&first_pair, &first_panel], rank, first_partial);
            first_partial += of.blocks;
        }
        let green = Green::new(grid, SCALE / grid.bins() as f64);
        // Zeros must be there before another rank writes.
        peers.synchronize()?;
        Ok(SlabSolver { peers: peers.clone(), nx, ny, green, first_pair, ranks })
    }

    /// The ranks.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The rows (indices along x) of every map that a rank has.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn rows(&self, rank: usize) -> Range<usize> {
        // The last row of an odd number has no three-pass solve.
        2 * self.first_pair[rank]..2 * self.first_pair[rank + 1]
    }

    /// Copies of each rank's rows of a map in host memory, `[nx][ny]`.
    ///
    /// # Errors
    /// When the map has the wrong length or memory runs out.
    pub fn upload(&self, map: &[T]) -> Result<Vec<DeviceVec<T>>, CudaError> {
        check_length("map", map.len(), self.nx * self.ny)?;
        let part = |rank| {
            let Range { start, end } = self.rows(rank);
            self.peers.gpu(rank).upload(&map[start * self.ny..end * self.ny])
        };
        (0..self.peers.count()).map(part).collect()
    }

    /// Zero fields over each rank's rows.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn fields(&self) -> Result<Vec<Fields<T>>, CudaError> {
        let of = |rank| Fields::new(self.peers.gpu(rank), self.rows(rank).len() * self.ny);
        (0..self.peers.count()).map(of).collect()
    }

    /// Enqueues the solve on all ranks, each with its own rows of ρ and of the fields; every one
    /// gets the whole energy. [`Peers::synchronize`] waits for it.
    ///
    /// # Errors
    /// When there are not as many maps as ranks, one has the wrong length or is on another device,
    /// or a launch fails; ranks that were ahead of it miss the others then, and
    /// [`Peers::synchronize`] says so.
    pub fn solve(
        &mut self,
        rho: &[DeviceVec<T>],
        fields: &mut [Fields<T>],
    ) -> Result<(), CudaError> {
        self.check(rho, fields)?;
        let ranks = 0..self.peers.count();
        // Pass by pass, so that no rank waits for the host.
        ranks.clone().try_for_each(|rank| self.first_pass(rank, &rho[rank].as_view()))?;
        self.peers.meet()?;
        ranks.clone().try_for_each(|rank| self.second_pass(rank))?;
        self.peers.meet()?;
        ranks.zip(fields).try_for_each(|(rank, fields)| self.third_pass_to(rank, fields))
    }

    /// A graph of the solve for each rank. All are launched equally often; none runs to its end
    /// before all others have been launched.
    ///
    /// # Errors
    /// As [`SlabSolver::solve`].
    ///
    /// # Safety
    /// As [`Graph::capture`]: this solver, ρ and the fields live for as long as the graphs are
    /// launched.
    pub unsafe fn graphs(
        &mut self,
        rho: &[DeviceVec<T>],
        fields: &mut [Fields<T>],
    ) -> Result<Vec<Graph>, CudaError> {
        self.check(rho, fields)?;
        let mut graphs = Vec::new();
        for (rank, (rho, fields)) in rho.iter().zip(fields).enumerate() {
            let passes = || {
                self.first_pass(rank, &rho.as_view())?;
                self.peers.meet_on(rank)?;
                self.second_pass(rank)?;
                self.peers.meet_on(rank)?;
                self.third_pass_to(rank, fields)
            };
            // SAFETY: the caller's promise.
            graphs.push(unsafe { Graph::capture(self.peers.gpu(rank), passes) }?);
        }
        Ok(graphs)
    }

    /// Before anything is enqueued: a rank that stops half way leaves the others waiting.
    fn check(&self, rho: &[DeviceVec<T>], fields: &[Fields<T>]) -> Result<(), CudaError> {
        let ranks = self.peers.count();
        check_length("density maps of all ranks", rho.len(), ranks)?;
        check_length("fields of all ranks", fields.len(), ranks)?;
        for (rank, (rho, fields)) in rho.iter().zip(fields).enumerate() {
            let (gpu, bins) = (self.peers.gpu(rank), self.rows(rank).len() * self.ny);
            check_length("density map", rho.len(), bins)?;
            fields.check(bins, 1)?;
            let Fields { potential, field_x, field_y, energy } = fields;
            for map in [rho, potential, field_x, field_y] {
                gpu.check_own(map.gpu())?;
            }
            gpu.check_own(energy.gpu())?;
        }
        Ok(())
    }

    fn on(&self, rank: usize) -> (&Gpu, &Rank<T>) {
        (self.peers.gpu(rank), &self.ranks[rank])
    }

    fn pairs(&self, rank: usize) -> u32 {
        (self.first_pair[rank + 1] - self.first_pair[rank]) as u32
    }

    /// From the rank's rows of ρ. Before the second pass and before the third ranks meet, and nobody
    /// makes a first pass again before all have made their second.
    pub(super) fn first_pass(
        &self,
        rank: usize,
        rho: &DeviceSlice<'_, T>,
    ) -> Result<(), CudaError> {
        check_length("density map", rho.len(), self.rows(rank).len() * self.ny)?;
        let (gpu, Rank { rows, slabs, .. }) = self.on(rank);
        let (pairs, across, sine) = (self.pairs(rank), 0u32, 0i32);
        // SAFETY: the arguments are those of transform in kernels/lines/transform.cu with
        // PF_PEERS; ρ holds the rank's rows (checked by the callers); every rank's panels hold
        // all row pairs of its columns, live as long as `self`, which waits for all ranks before
        // it frees them, and are read in the second pass alone, before ranks meet (above).
        unsafe {
            Launch::new(gpu, &rows.function)
                .arg(rho)
                .arg(slabs)
                .arg(&rows.table)
                .arg(&pairs)
                .arg(&across)
                .arg(&sine)
                .launch(rows.cover(pairs, 1))
        }
    }

    pub(super) fn second_pass(&self, rank: usize) -> Result<(), CudaError> {
        let (gpu, Rank { columns, slabs, units, blocks, .. }) = self.on(rank);
        // SAFETY: the arguments are those of columns in kernels/solve/columns.cu with PF_PEERS;
        // `units` are all of the rank's columns; P and Q hold whole panels of each rank's row
        // pairs, the parts of the energy a number for every block of every rank; they
        // live as the panels do, and are read in the third pass alone.
        unsafe {
            Launch::new(gpu, &columns.function)
                .arg(slabs)
                .arg(&columns.table)
                .arg(&self.green)
                .arg(units)
                .launch(columns.config(*blocks, 1))
        }
    }

    fn third_pass_to(&self, rank: usize, fields: &mut Fields<T>) -> Result<(), CudaError> {
        let Fields { potential, field_x, field_y, energy } = fields;
        let maps = [potential, field_x, field_y].map(|map| map.as_view_mut());
        self.third_pass(rank, &maps, energy)
    }

    /// To the rank's rows of φ, Ex and Ey, and the energy.
    pub(super) fn third_pass(
        &self,
        rank: usize,
        maps: &[DeviceSliceMut<'_, T>; 3],
        energy: &DeviceVec<f64>,
    ) -> Result<(), CudaError> {
        let (gpu, Rank { fields: kernel, p, q, partial, .. }) = self.on(rank);
        let [potential, field_x, field_y] = maps;
        for map in maps {
            check_length("field", map.len(), self.rows(rank).len() * self.ny)?;
        }
        let (pairs, parts) = (self.pairs(rank), partial.len() as u32);
        let step_y = self.green.step_y();
        let mut launch = Launch::new(gpu, &kernel.function);
        launch.arg(p).arg(q).arg(potential).arg(field_x).arg(field_y);
        launch.arg(&kernel.table).arg(&step_y).arg(&pairs).arg(partial).arg(&parts).arg(energy);
        // SAFETY: the arguments are those of fields in kernels/solve/fields.cu; every map holds
        // the rank's rows (checked by the callers), P and Q whole panels of its row pairs.
        unsafe { launch.launch(kernel.cover_fields(pairs, 3, 1)) }
    }
}

impl<T: CudaReal> Drop for SlabSolver<T> {
    fn drop(&mut self) {
        // What writes into one rank's memory may run on another one's stream.
        let _ = self.peers.synchronize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_cover_everything_and_differ_by_one_at_most() {
        for (count, parts) in [(1, 1), (7, 3), (512, 4), (5, 5)] {
            let first = divide(count, parts);
            assert_eq!((first[0], first[parts], first.len()), (0, count, parts + 1));
            let sizes: Vec<_> = first.windows(2).map(|two| two[1] - two[0]).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(*least >= 1 && most - least <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn the_kernels_argument_is_addresses_then_numbers() {
        let memory = [[1, 2, 3, 4], [5, 6, 7, 8]];
        let slabs = Slabs::new(&memory, [&[0, 9, 20], &[0, 3, 7]], 1, 11);
        assert_eq!(slabs.0[..8], [1, 5, 2, 6, 3, 7, 4, 8]);
        let numbers: Vec<u32> = slabs.0[8..]
            .iter()
            .flat_map(|two| {
                let bytes = two.to_ne_bytes();
                [0, 4].map(|k| u32::from_ne_bytes(bytes[k..k + 4].try_into().unwrap()))
            })
            .collect();
        assert_eq!(numbers, [0, 9, 20, 0, 3, 7, 1, 11]);
    }
}
