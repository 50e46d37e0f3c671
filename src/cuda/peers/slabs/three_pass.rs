//! The three-pass solve by slabs: `kernels/lines/transform.cu`, `kernels/solve/columns.cu` and
//! `kernels/solve/fields.cu`, with the places of `kernels/peers/peers.cuh`.
//!
//! The three passes are the passes of [`ThreePass`](crate::cuda::internals::ThreePass). A rank's
//! columns are whole panels. The first pass stores each row's transform directly into the memory of
//! the ranks that own the columns. The second pass stores P and Q into the memory of the ranks that
//! own the rows. The third pass is local. For large maps the second pass leaves Q for other ranks
//! in its own memory. It is sent while the third pass makes φ and Ey, only from P, with one more
//! barrier before Ex. A rank sends (1 + 2)·nx·ny·(P−1)/P² values of P ranks. Ranks that do not
//! reach each other's memory store likewise, but in their own memory, from which the data is sent
//! (`exchange.rs`).

use super::super::exchange::{Division, Exchange, Places};
use super::super::nccl::Transfer;
use super::super::{Peers, divide};
use crate::cuda::device::bindings::solve::ColumnsSlabs;
use crate::cuda::device::{Branch, CudaError, CudaReal, DeviceSlice, DeviceVec, KernelArgument};
use crate::cuda::lines::{Instance, LineBatch, LineKernel, Role, Shapes, SpectrumStorage, slabs};
use crate::cuda::solve::{FieldMaps, FieldsMut, Passes};
use crate::grid::BinGrid;
use cudarc::driver::sys;
use std::sync::Arc;

/// Bytes that go from device to device at once: the part of a row pair in a panel of the first
/// pass.
const PIECE: usize = 128;
/// From this size of a map in bytes on, sending Q during a pass saves more time than one barrier
/// costs (benchmarks/experiments.md, "Solves by slabs").
const LEAST_PARTED: usize = 64 << 20;

/// A rank's kernels and memory.
pub(super) struct RankState<T: CudaReal> {
    /// P and Q of its row pairs, all panels; parts of the energy of all ranks.
    passes: Passes<T, Slabs, ColumnsSlabs<T, Slabs>>,
    /// Its panels, `[panel][row pair][column]`, of all row pairs: ρ's transform along y.
    panels: DeviceVec<T::Complex>,
    /// Where the first and the second pass store their output.
    slabs: [Slabs; 2],
    /// For large maps: Q of other ranks' rows, and the copies that send it during the third pass.
    later: Option<Later<T>>,
    /// For ranks that send messages, with P and Q for other ranks.
    exchange: Option<(Exchange, [DeviceVec<T::Complex>; 2])>,
}

/// Transfers to others while the third pass runs.
struct Later<T: CudaReal> {
    branch: Branch,
    _q: DeviceVec<T::Complex>,
    /// From, to, bytes.
    copies: Vec<(u64, u64, usize)>,
}

/// `struct Slabs` of `kernels/peers/peers.cuh`, a kernel's argument by value: addresses,
/// then pairs of 32-bit numbers.
#[derive(Clone, Default)]
struct Slabs(Arc<[u64]>);

// SAFETY: laid out as the kernels declare it (`Slabs::new`). The launches of `RankState` are
// responsible for the memory at its addresses.
unsafe impl KernelArgument for Slabs {
    fn pointer(&self) -> *mut std::ffi::c_void {
        self.0.as_ptr().cast_mut().cast()
    }

    fn size(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl Slabs {
    /// `memory` has the addresses of every rank's panels, P, Q and parts of the energy.
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
        // There is an even number of them: as the addresses are aligned, so is the end.
        let pairs = numbers.chunks_exact(2).map(|two| {
            let bytes: [[u8; 4]; 2] = [two[0].to_ne_bytes(), two[1].to_ne_bytes()];
            u64::from_ne_bytes(bytes.concat().try_into().expect("two times four bytes"))
        });
        Slabs(addresses.chain(pairs).collect())
    }
}

/// Makes the solver of each of this process's ranks.
pub(super) fn make<T: CudaReal>(
    peers: &Peers,
    grid: &BinGrid,
) -> Result<Vec<RankState<T>>, CudaError> {
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
    // Columns that a block of the second pass stores at once. If ranks differ, it is the most of
    // any rank, which is an even number if any stores two at a time. 0 if a rank has no such lines.
    let at_once = |shapes: &Shapes| {
        let shape = shapes.choose::<T>(Role::Solve, (nx, ny / 2))?;
        shapes.choose::<T>(Role::Rows, (ny, nx / 2))?;
        shapes.choose::<T>(Role::Fields, (ny, nx / 2))?;
        Some(if shape.keep == SpectrumStorage::Separate { 2 * shape.lanes } else { shape.lanes })
    };
    let own: Vec<u64> = shapes.iter().map(|s| at_once(s).unwrap_or(0) as u64).collect();
    let all = peers.gather(&own)?;
    if all.contains(&0) {
        return Err(no(format!("no lines of {nx} or {ny}")));
    }
    let written = all.into_iter().fold(0, u64::max) as usize;
    let (first_pair, first_panel) = (divide(pairs, count), divide(panels, count));
    let columns_of = |rank: usize| {
        let (begin, end) = (first_panel[rank] * width, first_panel[rank + 1] * width);
        end.min(ny) - begin
    };
    let division = Division { pairs: &first_pair, panels: &first_panel, width, columns: ny, size };
    let by_messages = !peers.reach_memory();
    let parted = !by_messages && count > 1 && grid.bins() * size_of::<T>() >= LEAST_PARTED;
    let mut ranks: Vec<RankState<T>> = Vec::new();
    for (rank, shapes) in peers.local().zip(&shapes) {
        let gpu = peers.gpu(rank);
        let own_pairs = first_pair[rank + 1] - first_pair[rank];
        let mut instances = Vec::new();
        for (unit, role, does) in slabs(count, width, written) {
            let (n, count) =
                if role == Role::Solve { (nx, columns_of(rank) / 2) } else { (ny, own_pairs) };
            let lines = LineBatch { n, count, maps: 1 };
            let instance = Instance::choose::<T>(shapes, (unit, role, does), lines);
            instances.push(instance.ok_or_else(|| no(format!("no lines of {n}")))?);
        }
        let own_panels = first_panel[rank + 1] - first_panel[rank];
        let own = panels * width * own_pairs;
        let others = if by_messages { division.others(rank) } else { 0 };
        let of = (grid, 1, false);
        ranks.push(RankState {
            passes: Passes::new(gpu, of, &instances, own_pairs, [own, own.max(others)])?,
            panels: gpu.zeros(own_panels * pairs * width)?,
            slabs: Default::default(),
            later: None,
            exchange: None,
        });
    }
    let blocks = |rank: &RankState<T>| u64::from(rank.passes.columns.kernel.config.grid_dim.0);
    let own: Vec<u64> = ranks.iter().map(blocks).collect();
    let first_partial: Vec<usize> = peers
        .gather(&own)?
        .iter()
        .scan(0, |end, &blocks| {
            *end += blocks as usize;
            Some(*end)
        })
        .collect();
    let first_partial = [&[0], &first_partial[..]].concat();
    for (rank, of) in peers.local().zip(&mut ranks) {
        of.passes.partial = peers.gpu(rank).zeros(first_partial[count])?;
    }
    let address = |rank: &RankState<T>| {
        let Passes { p, q, partial, .. } = &rank.passes;
        [*rank.panels.address(), *p.address(), *q.address(), *partial.address()]
    };
    let memory: Vec<_> = ranks.iter().map(address).collect();
    for (rank, of) in peers.local().zip(&mut ranks) {
        let part = first_partial[rank] as u32;
        if !by_messages {
            let slabs = |memory| Slabs::new(memory, [&first_pair, &first_panel], rank, part);
            let mut second = memory.clone();
            if parted {
                let gpu = peers.gpu(rank);
                let (q, mut copies) = (gpu.zeros(division.others(rank))?, Vec::new());
                for peer in (0..count).filter(|&peer| peer != rank) {
                    let [start, bytes, there] = division.to_peer(rank, peer);
                    let from = *q.address() + start as u64;
                    copies.push((from, memory[peer][2] + there as u64, bytes));
                    second[peer][2] = division.second_target(rank, peer, *q.address());
                }
                of.later = Some(Later { branch: Branch::new(gpu)?, _q: q, copies });
            }
            of.slabs = [slabs(&memory), slabs(&second)];
            continue;
        }
        let out = || peers.gpu(rank).zeros(division.others(rank));
        let out = [out()?, out()?];
        let [panels, p, q, partial] = address(of);
        let to_others = [*out[0].address(), *out[1].address()];
        let at = Places { panels, p, q, out: to_others, partial };
        let exchange = Exchange::new(division, rank, at, &first_partial);
        // The first pass stores only its own row pairs, counted from the first of them.
        let mut own_pairs = vec![0; count];
        own_pairs.push(exchange.own_pairs);
        of.slabs = [
            Slabs::new(&exchange.first, [&own_pairs, &first_panel], rank, part),
            Slabs::new(&exchange.second, [&first_pair, &first_panel], rank, part),
        ];
        of.exchange = Some((exchange, out));
    }
    Ok(ranks)
}

impl<T: CudaReal> RankState<T> {
    /// Enqueues some of the maps.
    fn fields_of(&self, made: FieldMaps, fields: &FieldsMut<'_, T>) -> Result<(), CudaError> {
        // SAFETY: every map holds the rank's rows (checked by `SlabSolver`), P and Q whole panels
        // of its row pairs.
        unsafe { self.passes.fields(fields, made) }
    }

    /// The pass from its rows of ρ to the input of any rank's second pass; ρ has exactly these
    /// rows. No rank runs it again before all have finished their second pass.
    pub(super) fn first(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        // SAFETY: ρ holds the rank's rows (checked by `SlabSolver`). Every rank's panels hold all
        // row pairs of its columns. They live as long as the solver, which waits for all ranks
        // before it frees them, and only the second pass reads them, before the next barrier.
        // Otherwise the target fits in the rank's own P (`Exchange`).
        unsafe { self.passes.forward(rho, self.slabs[0].clone(), 0) }
    }

    /// The pass from its columns to the input of any rank's third pass.
    pub(super) fn second(&mut self) -> Result<(), CudaError> {
        let LineKernel { kernel, table, units, .. } = &self.passes.columns;
        let (slabs, table, green) = (self.slabs[1].clone(), table.into(), self.passes.green);
        let arguments = ColumnsSlabs { slabs, table, green, units: *units };
        // SAFETY: `units` are all of the rank's columns. P and Q hold whole panels of each rank's
        // row pairs, and the parts of the energy a number for every block of every rank. They live
        // as long as the panels, and only the third pass reads them.
        unsafe { kernel.launch(&self.passes.gpu, &arguments) }
    }

    /// The pass to its rows of φ, Ex and Ey, and the whole energy.
    pub(super) fn third(&self, fields: &FieldsMut<'_, T>) -> Result<(), CudaError> {
        let Some(later) = &self.later else { return self.fields_of(FieldMaps::ALL, fields) };
        let send = |_: &mut ()| {
            let stream = self.passes.gpu.stream_guard()?;
            for &(from, to, bytes) in &later.copies {
                // SAFETY: both lie within memory of these ranks (`Division::to_peer`, tested as
                // part of `Exchange`), which they reach and which lives as long as the solver.
                unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.raw()) }.result()?;
            }
            Ok(())
        };
        let first = |_: &mut ()| self.fields_of(FieldMaps::POTENTIAL_AND_Y, fields);
        // SAFETY: the data goes to Q of other ranks, which none reads before the next barrier. It
        // comes from memory that only the second pass writes.
        unsafe { later.branch.fork(&mut (), send, first) }
    }

    /// Whether a part of the third pass is left for a fourth pass, which also begins after a
    /// barrier.
    pub(super) fn parted(&self) -> bool {
        self.later.is_some()
    }

    /// Makes the maps that the third pass has left.
    pub(super) fn fourth(&self, fields: &FieldsMut<'_, T>) -> Result<(), CudaError> {
        self.fields_of(FieldMaps::X, fields)
    }

    /// Returns the messages after the first pass (0) and the second (1), if ranks send any.
    pub(super) fn transfers(&self, after: usize) -> &[Transfer] {
        self.exchange.as_ref().map_or(&[], |(exchange, _)| &exchange.transfers[after])
    }

    /// Copies received data to the memory that the next pass reads.
    pub(super) fn arrived(&self, after: usize) -> Result<(), CudaError> {
        match &self.exchange {
            // SAFETY: all of it is this rank's memory, which lives as long as the solver. The
            // solver waits for the rank before it frees the memory. Passes before and after are on
            // the same stream.
            Some((exchange, _)) if after == 0 => unsafe { exchange.unpack(&self.passes.gpu) },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_arguments_are_addresses_then_numbers() {
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
