//! Makes an order of the bodies: `kernels/bodies/order.cu`.
//!
//! Three kernels make an order from the previous one. Each may start before its predecessor ends.

use super::bodies::Bodies;
use super::setup::BodySizes;
use crate::cuda::device::bindings::bodies::{
    AllBodies, OrderCountSlots, OrderInvert, OrderOutputs, OrderPlace, OrderTiles, OwnSlots, Setup,
    Tile,
};
use crate::cuda::device::constants::ORDER_EACH as EACH;
use crate::cuda::device::{
    Array, CudaError, CudaReal, DeviceSlice, DeviceVec, Gpu, Kernel, Pointer, blocks_for,
    blocks_with,
};
use crate::engine::Layout;
use cudarc::driver::{CudaModule, LaunchConfig};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Threads in a block, and where such blocks would leave multiprocessors idle.
const THREADS: u32 = 512;
const FEW_THREADS: u32 = 128;
/// Most bytes of a block's counters: the shared memory available to every block, less the kernels'
/// other use of it.
const HISTOGRAM_BYTES: usize = (48 << 10) - 64;

/// Kernels that make an order, and the memory that only they use.
pub(super) struct BodyOrder<T: CudaReal> {
    /// For corners in each of [`PositionLayout`].
    count: [Kernel<OrderCountSlots<T>>; 3],
    tiles: Kernel<OrderTiles<T>>,
    place: Kernel<OrderPlace<T>>,
    invert: Kernel<OrderInvert>,
    threads: u32,
    /// By region, tile and class: bodies, all zero between orders; first slots.
    pub(super) counts: DeviceVec<u32>,
    /// Whether they are not zero, because the second half of an order is still to follow, or
    /// failed.
    has_begun: bool,
    cursors: DeviceVec<u32>,
    /// One more than there are tiles.
    listed: DeviceVec<Tile>,
    /// With several ranks two halves: the slots of this rank's bodies.
    own: Option<DeviceVec<OwnSlots>>,
    /// Slot of every body of the current order, if `inverted`. Work enqueued so far writes it.
    slot_of: DeviceVec<u32>,
    inverted: AtomicBool,
    /// The current half of the bodies' ids and records: 0 or 1.
    half: u32,
}

/// The layout of two values of every body in an array on a device: `PositionLayout` in
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
    /// Returns the index of the kernel for this layout among the kernels for all layouts.
    pub(super) fn index(self) -> usize {
        match self {
            PositionLayout::Slots => 0,
            PositionLayout::Caller(Layout::Pairs) => 1,
            PositionLayout::Caller(Layout::Halves) => 2,
        }
    }
}

impl<T: CudaReal> OrderOutputs<T> {
    pub(crate) const NONE: Self =
        OrderOutputs { slot_of: Pointer::NULL, from: Pointer::NULL, corners: Pointer::NULL };
}

/// Returns the slots before the first order of the bodies in a share.
pub(super) fn first_own(sizes: &BodySizes, [cells, fillers]: [Range<usize>; 2]) -> OwnSlots {
    let (movable, bodies) = sizes.slots();
    let ids = &sizes.first_ids;
    let slot = |begin: usize, end: usize, id: usize| {
        (begin + ids[begin..end].partition_point(|&other| (other as usize) < id)) as u32
    };
    let (cell, filler) = (|id| slot(0, movable, id), |id| slot(movable, bodies, id));
    OwnSlots {
        movable_begin: cell(cells.start),
        movable_end: cell(cells.end),
        filler_begin: filler(fillers.start),
        filler_end: filler(fillers.end),
    }
}

impl<T: CudaReal> BodyOrder<T> {
    pub(super) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        setup: &Setup<T>,
        few: bool,
        own: Option<OwnSlots>,
    ) -> Result<Self, CudaError> {
        let tiles = (setup.regions * setup.tiles_x) as usize * setup.tiles_y as usize;
        let bodies = (setup.bodies + setup.large) as usize;
        let names = ["order_count_slots", "order_count_pairs", "order_count_halves"];
        Ok(BodyOrder {
            count: Kernel::each(module, names)?,
            tiles: Kernel::new(module)?.with(blocks_with(1024, 1)).overlapping(),
            place: Kernel::new(module)?.overlapping(),
            invert: Kernel::new(module)?.with(blocks_for(bodies)),
            threads: if few { FEW_THREADS } else { THREADS },
            counts: gpu.zeros(if own.is_some() { 4 } else { 2 } * tiles)?,
            has_begun: false,
            cursors: gpu.zeros(2 * tiles)?,
            listed: gpu.zeros(tiles + 1)?,
            own: own.map(|own| gpu.upload(&[own, own])).transpose()?,
            slot_of: gpu.zeros(bodies)?,
            inverted: AtomicBool::new(false),
            half: 0,
        })
    }

    /// Returns the half of the bodies' ids and records that holds the current order.
    pub(super) fn half(&self) -> usize {
        self.half as usize
    }

    /// Returns the memory to which an order writes the slot of every body, if requested.
    pub(super) fn slot_of_pointer(&self) -> Pointer<u32> {
        (&self.slot_of).into()
    }

    /// Sets the counts of tiles to zero if an earlier order failed after it had begun to count.
    pub(super) fn begin(&mut self, gpu: &Gpu) -> Result<(), CudaError> {
        if std::mem::replace(&mut self.has_begun, true) {
            gpu.clear(&mut self.counts)?;
        }
        Ok(())
    }

    /// Records that an order has been enqueued, and whether it has written the slot of every body.
    pub(super) fn made(&mut self, inverted: bool) {
        self.has_begun = false;
        self.half ^= 1;
        self.inverted.store(inverted, Relaxed);
    }

    /// Returns the slot of every body of this order; `ids` has the body of every slot.
    pub(super) fn slot_of(
        &self,
        gpu: &Gpu,
        ids: DeviceSlice<'_, u32>,
    ) -> Result<&DeviceVec<u32>, CudaError> {
        if !self.inverted.load(Relaxed) {
            let count = self.slot_of.len() as u32;
            let arguments =
                OrderInvert { count, id_of: (&ids).into(), slot_of: (&self.slot_of).into() };
            // SAFETY: both arrays hold one value per body. Only work enqueued before this reads the
            // old values.
            unsafe { self.invert.launch(gpu, &arguments) }?;
            // A captured launch has not run, and may never run.
            self.inverted.store(!gpu.is_capturing(), Relaxed);
        }
        Ok(&self.slot_of)
    }

    /// Returns the launch of the kernels that process every body, and whether their blocks count in
    /// shared memory.
    fn config(&self, bodies: usize) -> (LaunchConfig, i32) {
        let each = self.threads as usize * EACH;
        // A counter per tile and class, and 16 bits for each one that a body touches.
        let bytes = 4 * self.cursors.len() + 2 * each;
        let local = bytes <= HISTOGRAM_BYTES;
        let shared_mem_bytes = if local { bytes as u32 } else { 0 };
        let config = blocks_with(self.threads, bodies.div_ceil(each).max(1));
        (LaunchConfig { shared_mem_bytes, ..config }, i32::from(local))
    }

    /// Enqueues the first half of a new order: it counts the bodies of every tile. With several
    /// ranks, it counts only this rank's bodies.
    ///
    /// # Safety
    /// The order is that of `bodies`, and `corners` hold a pair per body, in this layout, in memory
    /// of their device. If there are several ranks, `ranks` are given, and each of them lives until
    /// all of it has run. Barriers follow this, and again after [`BodyOrder::place`].
    pub(super) unsafe fn count(
        &self,
        bodies: &Bodies<T>,
        (layout, corners): (PositionLayout, Array<T>),
        ranks: Option<&AllBodies<T>>,
    ) -> Result<(), CudaError> {
        let (config, local) = self.config(self.slot_of.len());
        let ranks = self.own_of(ranks);
        let counts = match &ranks {
            Some(_) => self.counts.slice(self.half() * self.cursors.len()..self.counts.len()),
            None => self.counts.as_view(),
        };
        let arguments = OrderCountSlots {
            setup: bodies.setup,
            ids: (&bodies.id_of().from).into(),
            corners,
            counts: (&counts).into(),
            staged: (&bodies.staged).into(),
            local,
            regions: bodies.region_tables(),
            ranks,
        };
        // SAFETY: arrays of the bodies have a value or a pair per body; counts hold one value per
        // region, tile and class, with several ranks twice.
        unsafe { self.count[layout.index()].launch_as(&bodies.gpu, config, &arguments) }
    }

    /// The second half: moves the bodies to their slots, and makes the list of chunks.
    ///
    /// # Safety
    /// The same as for [`BodyOrder::count`], which came before it; `outputs` have a value
    /// (`corners` a pair) per body.
    pub(super) unsafe fn place(
        &self,
        bodies: &Bodies<T>,
        outputs: OrderOutputs<T>,
        ranks: Option<&AllBodies<T>>,
    ) -> Result<(), CudaError> {
        let (config, local) = self.config(self.slot_of.len());
        let (setup, ranks) = (bodies.setup, self.own_of(ranks));
        let (cursors, tiles) = ((&self.cursors).into(), (&self.listed).into());
        let (counts, age) = ((&self.counts).into(), (&bodies.staleness.age).into());
        let list = OrderTiles { setup, counts, cursors, tiles, age, ranks };
        let place = OrderPlace {
            setup,
            staged: (&bodies.staged).into(),
            cursors,
            ids: (&bodies.ids).into(),
            records: (&bodies.records).into(),
            half: self.half,
            outputs,
            tiles,
            chunks: (&bodies.chunks).into(),
            local,
            regions: bodies.region_tables(),
            ranks,
        };
        // SAFETY: as in `count`; cursors hold one value per region, tile and class. There is room
        // for max_chunks chunks, and no order makes more: a tile of n bodies has at most n / chunk
        // + 1. order_tiles waits before it reads. order_place may start once order_tiles has
        // waited. Before its own wait it reads only memory that order_count and the previous order
        // have written.
        unsafe {
            self.tiles.launch(&bodies.gpu, &list)?;
            self.place.launch_as(&bodies.gpu, config, &place)
        }
    }

    /// Returns the arguments of this rank's kernels, if there are several ranks.
    fn own_of(&self, ranks: Option<&AllBodies<T>>) -> Option<AllBodies<T>> {
        let own = self.own.as_ref().zip(ranks);
        own.map(|(own, ranks)| AllBodies { own: own.into(), half: self.half, ..*ranks })
    }
}
