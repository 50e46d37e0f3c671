//! Making an order of the bodies: `kernels/bodies/order.cu`.
//!
//! An order is made from the one before: three kernels, of which each may start
//! beside the end of the one before it.

use super::plan::{BodySizes, Plan, RegionTables};
use super::shares::{Addresses, Shares};
use crate::cuda::device::constants::ORDER_EACH as EACH;
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, KernelArgument, Launch, Overlap, blocks_for, function,
};
use crate::engine::Layout;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaModule, LaunchConfig};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Threads in a block, and where such blocks would leave multiprocessors idle.
const THREADS: u32 = 512;
const FEW_THREADS: u32 = 128;
/// Most bytes of a block's counters: the shared memory that every block may have,
/// less what the kernels have in it besides.
const HISTOGRAM_BYTES: usize = (48 << 10) - 64;

/// Kernels that make an order, and the memory that they alone use.
pub(super) struct Ordering {
    /// For corners in each of [`PositionLayout`].
    count: [CudaFunction; 3],
    tiles: CudaFunction,
    place: CudaFunction,
    invert: CudaFunction,
    threads: u32,
    overlap: Overlap,
    /// By region, tile and class: bodies, all zero between orders; first slots.
    counts: DeviceVec<u32>,
    cursors: DeviceVec<u32>,
    /// `Tile` in the kernels, one more than there are.
    listed: DeviceVec<u32>,
    /// With several ranks two halves of `OwnSlots` in the kernels: the slots of this one's bodies.
    own: Option<DeviceVec<u32>>,
    /// Slot of every body of the current order, if `inverted`: work enqueued so far writes it.
    slot_of: DeviceVec<u32>,
    inverted: AtomicBool,
    /// The current half of the bodies' ids and records: 0 or 1.
    half: u32,
}

/// How an array on a device holds two values of every body: `PositionLayout` in
/// `kernels/bodies/bodies.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionLayout {
    /// By the slots of the last order of the bodies ([`Bodies::order`](super::Bodies::order)), x
    /// and y side by side.
    Slots,
    /// In the caller's order: movable cells, then fillers, as in
    /// [`Charge`](crate::charge::Charge).
    Caller(Layout),
}

impl From<Layout> for PositionLayout {
    fn from(layout: Layout) -> Self {
        PositionLayout::Caller(layout)
    }
}

impl PositionLayout {
    /// Returns the index of a kernel for such an array among those for all layouts.
    pub(super) fn index(self) -> usize {
        match self {
            PositionLayout::Slots => 0,
            PositionLayout::Caller(Layout::Pairs) => 1,
            PositionLayout::Caller(Layout::Halves) => 2,
        }
    }
}

/// The parts of an order that a caller asks for: `Wanted` in `kernels/bodies/order.cu`, addresses
/// or 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) slot_of: CUdeviceptr,
    pub(super) from: CUdeviceptr,
    pub(super) corners: CUdeviceptr,
}

impl Wanted {
    pub(super) const NOTHING: Self = Wanted { slot_of: 0, from: 0, corners: 0 };
}

const _: () = assert!(size_of::<Wanted>() == 24); // as in kernels/bodies/order.cu

// SAFETY: three addresses in C order, as the kernels declare them.
unsafe impl KernelArgument for Wanted {}

/// `AllBodies` in `kernels/bodies/order.cu`: what orders on several ranks are made from and written
/// to.
#[repr(C)]
#[derive(Clone, Copy)]
pub(in crate::cuda) struct AllBodies {
    pub(super) counts: Addresses,
    pub(super) ids: Addresses,
    pub(super) records: Addresses,
    /// Lower-left corners, a pair per body, in the caller's order.
    pub(in crate::cuda) corners: Addresses,
    /// For each body of a rank's share the rank that works on it.
    pub(in crate::cuda) worker: Addresses,
    pub(in crate::cuda) shares: Shares,
    /// `OwnSlots` of the rank that makes its part.
    own: CUdeviceptr,
    half: u32,
    unused: u32,
}

const _: () =
    assert!(size_of::<AllBodies>() == 5 * size_of::<Addresses>() + size_of::<Shares>() + 16);

// SAFETY: addresses and numbers in C order, as the kernels declare them.
unsafe impl KernelArgument for AllBodies {}

impl AllBodies {
    /// Combines the orders, bodies and records of the ranks.
    pub(super) fn of<'a>(
        orders: impl Iterator<Item = &'a Ordering>,
        ids: Addresses,
        records: Addresses,
        [corners, worker]: [Addresses; 2],
        shares: Shares,
    ) -> Self {
        let counts = Addresses::of(orders.map(|order| &order.counts));
        AllBodies { counts, ids, records, corners, worker, shares, own: 0, half: 0, unused: 0 }
    }
}

/// Returns the slots before the first order of the bodies in a share, `OwnSlots` in the kernels.
pub(super) fn first_own(layout: &BodySizes, [cells, fillers]: [Range<usize>; 2]) -> [u32; 4] {
    let (movable, bodies) = layout.slots();
    let ids = &layout.first_ids;
    let slot = |begin: usize, end: usize, id: usize| {
        (begin + ids[begin..end].partition_point(|&other| (other as usize) < id)) as u32
    };
    let (cell, filler) = (|id| slot(0, movable, id), |id| slot(movable, bodies, id));
    [cell(cells.start), cell(cells.end), filler(fillers.start), filler(fillers.end)]
}

/// Arrays that an order is made from or changes, besides [`Ordering`]'s own memory.
pub(super) struct Parts<'a, T: CudaReal> {
    pub(super) plan: &'a Plan<T>,
    /// Bodies of slots, where the corners are in the caller's order.
    pub(super) ids: CUdeviceptr,
    pub(super) corners: (PositionLayout, CUdeviceptr),
    pub(super) staged: &'a DeviceVec<T>,
    pub(super) all_ids: &'a DeviceVec<u32>,
    pub(super) records: &'a DeviceVec<u8>,
    pub(super) chunks: &'a DeviceVec<u32>,
    pub(super) staleness: &'a DeviceVec<u64>,
    pub(super) regions: RegionTables,
    pub(super) wanted: Wanted,
}

impl Ordering {
    pub(super) fn new<T: CudaReal>(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        plan: &Plan<T>,
        few: bool,
        own: Option<[u32; 4]>,
    ) -> Result<Self, CudaError> {
        let load = |name: &str| function(module, name);
        let tiles = (plan.regions * plan.tiles_x) as usize * plan.tiles_y as usize;
        let bodies = (plan.bodies + plan.large) as usize;
        let count =
            [load("order_count_slots")?, load("order_count_pairs")?, load("order_count_halves")?];
        Ok(Ordering {
            overlap: Overlap::where_possible(&count[0]),
            count,
            tiles: load("order_tiles")?,
            place: load("order_place")?,
            invert: load("order_invert")?,
            threads: if few { FEW_THREADS } else { THREADS },
            counts: gpu.zeros(if own.is_some() { 4 } else { 2 } * tiles)?,
            cursors: gpu.zeros(2 * tiles)?,
            listed: gpu.zeros(4 * (tiles + 1))?,
            own: match own {
                Some([a, b, c, d]) => Some(gpu.upload(&[a, b, c, d, 0, 0, 0, 0])?),
                None => None,
            },
            slot_of: gpu.zeros(bodies)?,
            inverted: AtomicBool::new(false),
            half: 0,
        })
    }

    /// Returns the half of the bodies' ids and records that holds the current order.
    pub(super) fn half(&self) -> usize {
        self.half as usize
    }

    /// Returns the address where an order asked for it writes the slot of every body.
    pub(super) fn slot_of_address(&self) -> CUdeviceptr {
        *self.slot_of.address()
    }

    /// An order has been enqueued, which has written the slot of every body or not.
    pub(super) fn made(&mut self, inverted: bool) {
        self.half ^= 1;
        self.inverted.store(inverted, Relaxed);
    }

    /// Returns the slot of every body of this order, `ids` being the body of every slot.
    pub(super) fn slot_of(
        &self,
        gpu: &Gpu,
        ids: &impl KernelArgument,
    ) -> Result<&DeviceVec<u32>, CudaError> {
        if !self.inverted.load(Relaxed) {
            let count = self.slot_of.len() as u32;
            // SAFETY: arguments are those of order_invert; both arrays hold one
            // value per body. Only work enqueued before this reads the old values.
            unsafe {
                Launch::new(gpu, &self.invert)
                    .arg(&count)
                    .arg(ids)
                    .arg(&self.slot_of)
                    .launch(blocks_for(self.slot_of.len()))?;
            }
            // A captured launch has not run, and may never run.
            self.inverted.store(!gpu.is_capturing(), Relaxed);
        }
        Ok(&self.slot_of)
    }

    /// Returns the launch of the kernels that take every body, and whether their blocks count in
    /// shared memory.
    fn config(&self, bodies: usize) -> (LaunchConfig, i32) {
        let each = self.threads as usize * EACH;
        // A counter per tile and class, and 16 bits for each that a body touches.
        let bytes = 4 * self.cursors.len() + 2 * each;
        let local = bytes <= HISTOGRAM_BYTES;
        let config = LaunchConfig {
            grid_dim: (bodies.div_ceil(each).max(1) as u32, 1, 1),
            block_dim: (self.threads, 1, 1),
            shared_mem_bytes: if local { bytes as u32 } else { 0 },
        };
        (config, i32::from(local))
    }

    /// Enqueues the first half of a new order: how many bodies every tile has. With several ranks,
    /// of this one's.
    ///
    /// # Safety
    /// PositionLayout in the order named, and `staged` hold a pair per body, `all_ids` two values
    /// per body, `ids` one (in `all_ids`) unless corners are in slots, `records` two records per
    /// slot that has any, `chunks` 8 values for each of the plan's `max_chunks`, and the wanted
    /// arrays one value (`corners` a pair) per body, and the regions' tables are those of the
    /// bodies; all of it of `gpu`. `ranks` are given where there are several, each of which has
    /// such arrays and lives until all of it has run; barriers follow this, and again after
    /// [`Ordering::place`].
    pub(super) unsafe fn count<T: CudaReal>(
        &self,
        gpu: &Gpu,
        parts: &Parts<'_, T>,
        ranks: Option<&AllBodies>,
    ) -> Result<(), CudaError> {
        let Parts { plan, ids, corners, staged, regions, .. } = parts;
        let (order, corners) = corners;
        let (config, local) = self.config(self.slot_of.len());
        let ranks = self.own_of(ranks);
        let counts = match &ranks {
            Some(_) => self.counts.slice(self.half() * self.cursors.len()..self.counts.len()),
            None => self.counts.as_view(),
        };
        let mut launch = Launch::new(gpu, &self.count[order.index()]);
        let arguments = launch.arg(*plan).arg(ids).arg(corners).arg(&counts).arg(*staged);
        arguments.arg(&local).arg(regions);
        if let Some(ranks) = &ranks {
            launch.arg(ranks);
        }
        // SAFETY: arguments are those of kernels/bodies/order.cu, of the lengths the caller
        // promises; counts hold one value per region, tile and class, with several ranks twice.
        unsafe { launch.launch(config) }
    }

    /// The second half: the bodies to their slots, and the list of chunks.
    ///
    /// # Safety
    /// The same as for [`Ordering::count`], which came before it.
    pub(super) unsafe fn place<T: CudaReal>(
        &self,
        gpu: &Gpu,
        parts: &Parts<'_, T>,
        ranks: Option<&AllBodies>,
    ) -> Result<(), CudaError> {
        let Parts { plan, staged, all_ids, records, chunks, staleness, regions, wanted, .. } =
            parts;
        let (config, local) = self.config(self.slot_of.len());
        let one =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1024, 1, 1), shared_mem_bytes: 0 };
        let ranks = self.own_of(ranks);
        let mut tiles = Launch::new(gpu, &self.tiles);
        let arguments = tiles.overlap(self.overlap).arg(*plan).arg(&self.counts);
        arguments.arg(&self.cursors).arg(&self.listed).arg(*staleness);
        let mut place = Launch::new(gpu, &self.place);
        let arguments = place.overlap(self.overlap).arg(*plan).arg(*staged).arg(&self.cursors);
        let arguments = arguments.arg(*all_ids).arg(*records).arg(&self.half).arg(wanted);
        arguments.arg(&self.listed).arg(*chunks).arg(&local).arg(regions);
        if let Some(ranks) = &ranks {
            tiles.arg(ranks);
            place.arg(ranks);
        }
        // SAFETY: as in `count`; cursors hold one value per region, tile and class. There is room
        // for max_chunks chunks, and no order makes more: a tile of n bodies has at most n / chunk
        // + 1. order_tiles waits before it reads; order_place may start once it has waited, and
        // reads before its own wait what order_count and the order before have written.
        unsafe {
            tiles.launch(one)?;
            place.launch(config)
        }
    }

    /// Returns the arguments of this rank's kernels, where there are several ranks.
    fn own_of(&self, ranks: Option<&AllBodies>) -> Option<AllBodies> {
        let own = self.own.as_ref().zip(ranks);
        own.map(|(own, ranks)| AllBodies { own: *own.address(), half: self.half, ..*ranks })
    }
}
