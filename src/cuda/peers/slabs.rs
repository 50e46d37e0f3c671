//! One solve on several devices, by slabs: `kernels/lines/transform.cu`,
//! `kernels/solve/columns.cu` and `kernels/solve/fields.cu`, with the places of
//! `kernels/peers/peers.cuh`.
//!
//! The three passes are those of [`ThreePass`](crate::cuda::ThreePass). Every rank has a slab of
//! the rows of all maps, for the passes along y, and a slab of the columns, whole panels, for the
//! pass along x. The first pass stores each row's transform straight into the memory of the ranks
//! that own the columns; the second stores P and Q into that of the ranks that own the rows; the
//! third is local. Before the second and the third pass all ranks meet. A rank sends
//! (1 + 2)·nx·ny·(P−1)/P² values of P ranks. Ranks that do not reach each other's memory store likewise,
//! but in memory of their own, from where it is sent (`exchange.rs`); then nothing is met for.
//!
//! Nothing else need be waited for: what the first pass of the next solve overwrites, ranks have
//! read in their second pass, before they met for the third; what its second pass overwrites, they
//! have read in their third, before they meet again.

use super::exchange::{Division, Exchange, Places};
use super::nccl::Transfer;
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

/// The three-pass solve of one grid on all ranks. Of ranks in several processes each process makes one
/// and has it do the same; maps are those of its own ranks.
pub struct SlabSolver<T: CudaReal> {
    peers: Peers,
    nx: usize,
    ny: usize,
    green: Green<T>,
    /// The first row pair of each rank, and their number.
    first_pair: Vec<usize>,
    /// This process's.
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
    /// Where the first and the second pass store.
    slabs: [Slabs; 2],
    /// Of ranks that send messages, with P and Q that go to others.
    exchange: Option<(Exchange, [DeviceVec<T::Complex>; 2])>,
}

/// `struct Slabs` of `kernels/peers/peers.cuh`, a kernel's argument by value: addresses,
/// then pairs of 32-bit numbers.
#[derive(Clone, Default)]
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
    /// kernels cannot be compiled or memory runs out, on any rank.
    pub fn new(peers: &Peers, grid: &BinGrid) -> Result<Self, CudaError> {
        match Self::make(peers, grid) {
            // All ranks find that, and may go on.
            Err(error @ CudaError::NoThreePass { .. }) => Err(error),
            outcome => peers.told(outcome),
        }
    }

    fn make(peers: &Peers, grid: &BinGrid) -> Result<Self, CudaError> {
        let (nx, ny, count) = (grid.nx(), grid.ny(), peers.count());
        let size = size_of::<T::Complex>();
        let width = PIECE / size;
        let (pairs, panels) = (nx / 2, ny.div_ceil(width));
        let no = |reason: String| CudaError::NoThreePass { nx, ny, reason };
        if pairs < count || panels < count {
            return Err(no(format!(
                "too few for {count} ranks, each of which takes two rows and {width} columns at least"
            )));
        }
        let shapes: Vec<Shapes> =
            peers.local().map(|rank| Shapes::of(peers.gpu(rank))).collect::<Result<_, _>>()?;
        // Columns that a block of the second pass stores at once: the most of any rank, where they
        // differ, which is an even number where any stores two at a time. None where it has no such lines.
        let at_once = |shapes: &Shapes| {
            let shape = shapes.choose::<T>(Role::Solve, nx)?;
            shapes.choose::<T>(Role::Rows, ny)?;
            shapes.choose::<T>(Role::Fields, ny)?;
            Some(if shape.keep == Keep::Separate { 2 * shape.lanes } else { shape.lanes })
        };
        let own: Vec<Option<usize>> = shapes.iter().map(at_once).collect();
        let all: Option<Vec<usize>> = peers.gather("columns at once", &own)?.into_iter().collect();
        let Some(written) = all.and_then(|all| all.into_iter().max()) else {
            return Err(no(format!("no lines of {nx} or {ny}")));
        };
        let (first_pair, first_panel) = (divide(pairs, count), divide(panels, count));
        let columns_of = |rank: usize| {
            let (begin, end) = (first_panel[rank] * width, first_panel[rank + 1] * width);
            end.min(ny) - begin
        };
        let division =
            Division { pairs: &first_pair, panels: &first_panel, width, columns: ny, size };
        let by_messages = !peers.reach_memory();
        let mut ranks = Vec::new();
        for (rank, shapes) in peers.local().zip(&shapes) {
            let gpu = peers.gpu(rank);
            let own_pairs = first_pair[rank + 1] - first_pair[rank];
            let mut instances = Vec::new();
            for (unit, role, does) in slabs(count, width, written) {
                let (n, lines) =
                    if role == Role::Solve { (nx, columns_of(rank) / 2) } else { (ny, own_pairs) };
                let instance = Instance::choose::<T>(shapes, (unit, role, does), (n, lines));
                instances.push(instance.ok_or_else(|| no(format!("no lines of {n}")))?);
            }
            let kernels = LineKernel::all(gpu, &instances)?;
            let [rows, columns, fields] = <[_; 3]>::try_from(kernels)
                .unwrap_or_else(|_| unreachable!("one for each instance"));
            let (units, blocks) = columns.column_units(gpu, columns_of(rank))?;
            let own_panels = first_panel[rank + 1] - first_panel[rank];
            let own = panels * width * own_pairs;
            let others = if by_messages { division.others(rank) } else { 0 };
            ranks.push(Rank {
                panels: gpu.zeros(own_panels * pairs * width)?,
                p: gpu.zeros(own)?,
                q: gpu.zeros(own.max(others))?,
                partial: gpu.zeros(0)?,
                rows,
                columns,
                fields,
                units,
                blocks,
                slabs: Default::default(),
                exchange: None,
            });
        }
        let own: Vec<u32> = ranks.iter().map(|rank| rank.blocks).collect();
        let first_partial: Vec<usize> = peers
            .gather("blocks", &own)?
            .iter()
            .scan(0, |end, &blocks| {
                *end += blocks as usize;
                Some(*end)
            })
            .collect();
        let first_partial = [&[0], &first_partial[..]].concat();
        for (rank, of) in peers.local().zip(&mut ranks) {
            of.partial = peers.gpu(rank).zeros(first_partial[count])?;
        }
        let address = |rank: &Rank<T>| {
            [*rank.panels.address(), *rank.p.address(), *rank.q.address(), *rank.partial.address()]
        };
        let memory: Vec<_> = ranks.iter().map(address).collect();
        for (rank, of) in peers.local().zip(&mut ranks) {
            let part = first_partial[rank] as u32;
            if !by_messages {
                let slabs = Slabs::new(&memory, [&first_pair, &first_panel], rank, part);
                of.slabs = [slabs.clone(), slabs];
                continue;
            }
            let out = || peers.gpu(rank).zeros(division.others(rank));
            let out = [out()?, out()?];
            let [panels, p, q, partial] = address(of);
            let to_others = [*out[0].address(), *out[1].address()];
            let at = Places { panels, p, q, out: to_others, partial };
            let exchange = Exchange::new(division, rank, at, &first_partial);
            // The first pass stores its own row pairs alone, counted from the first of them.
            let mut own_pairs = vec![0; count];
            own_pairs.push(exchange.own_pairs);
            of.slabs = [
                Slabs::new(&exchange.first, [&own_pairs, &first_panel], rank, part),
                Slabs::new(&exchange.second, [&first_pair, &first_panel], rank, part),
            ];
            of.exchange = Some((exchange, out));
        }
        let green = Green::new(grid, SCALE / grid.bins() as f64);
        // Zeros must be there before another rank writes.
        peers.synchronize()?;
        peers.gather("a solver", &vec![(); ranks.len()])?;
        Ok(SlabSolver { peers: peers.clone(), nx, ny, green, first_pair, ranks })
    }

    /// The ranks.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The rows (indices along x) of every map that a rank has, of this process or another.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn rows(&self, rank: usize) -> Range<usize> {
        // The last row of an odd number has no three-pass solve.
        2 * self.first_pair[rank]..2 * self.first_pair[rank + 1]
    }

    /// Copies of each of this process's ranks' rows of a map in host memory, `[nx][ny]`.
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

    /// Zero fields over the rows of each of this process's ranks.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn fields(&self) -> Result<Vec<Fields<T>>, CudaError> {
        let of = |rank| Fields::new(self.peers.gpu(rank), self.rows(rank).len() * self.ny);
        self.peers.local().map(of).collect()
    }

    /// φ, Ex and Ey of all ranks in host memory, `[nx][ny]` each, in the process of rank 0; in
    /// others, none. Waits for the solve. All processes call it.
    ///
    /// # Errors
    /// As [`Peers::synchronize`], and when there are not as many fields as ranks in this process.
    pub fn gather(&self, fields: &[Fields<T>]) -> Result<Option<[Vec<T>; 3]>, CudaError> {
        self.peers.told(self.gather_maps(fields))
    }

    fn gather_maps(&self, fields: &[Fields<T>]) -> Result<Option<[Vec<T>; 3]>, CudaError> {
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
            for (rank, slab) in local.clone().zip(slabs) {
                all.extend(self.peers.gpu(rank).download(*slab)?);
            }
            if local.end == self.peers.count() {
                continue;
            }
            // What others have of this map, beside what is solved.
            let (gpu, others) = (self.peers.gpu(0), local.end..self.peers.count());
            let room = |rank| gpu.zeros::<T>(self.rows(rank).len() * self.ny);
            let rooms = others.clone().map(room).collect::<Result<Vec<_>, _>>()?;
            let mut transfers = vec![Vec::new(); local.len()];
            transfers[0] =
                others.zip(&rooms).map(|(peer, room)| message(false, peer, room)).collect();
            // SAFETY: the rooms live until the wait below.
            unsafe { self.peers.exchange(&transfers) }?;
            self.peers.synchronize()?;
            for room in &rooms {
                all.extend(gpu.download(room)?);
            }
        }
        Ok((local.start == 0).then_some(all))
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
        self.peers.told(self.passes(rho, fields))
    }

    fn passes(&self, rho: &[DeviceVec<T>], fields: &mut [Fields<T>]) -> Result<(), CudaError> {
        self.check(rho, fields)?;
        let ranks = || self.peers.local();
        // Pass by pass, so that no rank waits for the host.
        ranks().zip(rho).try_for_each(|(rank, rho)| self.first_pass(rank, &rho.as_view()))?;
        self.between(0)?;
        ranks().try_for_each(|rank| self.second_pass(rank))?;
        self.between(1)?;
        ranks().zip(fields).try_for_each(|(rank, fields)| self.third_pass_to(rank, fields))
    }

    /// After the first pass, or the second: what others need goes to them, and what they have comes.
    fn between(&self, after: usize) -> Result<(), CudaError> {
        if self.peers.reach_memory() {
            return self.peers.meet();
        }
        let exchanges = || self.ranks.iter().filter_map(|rank| Some(&rank.exchange.as_ref()?.0));
        let transfers: Vec<_> = exchanges().map(|of| of.transfers[after].clone()).collect();
        // SAFETY: all of it is memory of these ranks, which lives as long as `self`, and `self` waits for
        // them before it frees it; passes before and after are on the same streams.
        unsafe { self.peers.exchange(&transfers) }?;
        if after == 0 {
            for (rank, exchange) in self.peers.local().zip(exchanges()) {
                // SAFETY: likewise.
                unsafe { exchange.unpack(self.peers.gpu(rank)) }?;
            }
        }
        Ok(())
    }

    /// A graph of the solve for each rank. All are launched equally often; none runs to its end
    /// before all others have been launched.
    ///
    /// # Errors
    /// As [`SlabSolver::solve`], and [`CudaError::Peers`] for ranks that send messages.
    ///
    /// # Safety
    /// As [`Graph::capture`]: this solver, ρ and the fields live for as long as the graphs are
    /// launched.
    pub unsafe fn graphs(
        &mut self,
        rho: &[DeviceVec<T>],
        fields: &mut [Fields<T>],
    ) -> Result<Vec<Graph>, CudaError> {
        self.peers.check_reach()?;
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
        check_length("density maps of all ranks", rho.len(), self.ranks.len())?;
        self.check_fields(fields)?;
        for (rank, rho) in self.peers.local().zip(rho) {
            check_length("density map", rho.len(), self.rows(rank).len() * self.ny)?;
            self.peers.gpu(rank).check_own(rho.gpu())?;
        }
        Ok(())
    }

    fn check_fields(&self, fields: &[Fields<T>]) -> Result<(), CudaError> {
        check_length("fields of all ranks", fields.len(), self.ranks.len())?;
        for (rank, fields) in self.peers.local().zip(fields) {
            let gpu = self.peers.gpu(rank);
            fields.check(self.rows(rank).len() * self.ny, 1)?;
            let Fields { potential, field_x, field_y, energy } = fields;
            for map in [potential, field_x, field_y] {
                gpu.check_own(map.gpu())?;
            }
            gpu.check_own(energy.gpu())?;
        }
        Ok(())
    }

    fn on(&self, rank: usize) -> (&Gpu, &Rank<T>) {
        (self.peers.gpu(rank), &self.ranks[rank - self.peers.local().start])
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
        // it frees them, and are read in the second pass alone, before ranks meet (above); or
        // else what is stored to fits in the rank's own P (`Exchange`).
        unsafe {
            Launch::new(gpu, &rows.function)
                .arg(rho)
                .arg(&slabs[0])
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
                .arg(&slabs[1])
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
