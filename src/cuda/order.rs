//! Making an order of the bodies: `kernels/order.cu`, typed.
//!
//! An order is made from the one before: three kernels, of which each may start
//! beside the end of the one before it.

use super::bodies::{Bodies, blocks_for};
use super::device::Gpu;
use super::error::CudaError;
use super::launch::{Overlap, address, address_mut, argument, check_length, launch};
use super::plan::Plan;
use super::real::CudaReal;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, CudaView, LaunchConfig, PushKernelArg};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bodies per thread: `ORDER_EACH` in `kernels/order.cu`.
const EACH: usize = 4;
/// Threads in a block, and where such blocks would leave multiprocessors idle.
const THREADS: u32 = 512;
const FEW_THREADS: u32 = 128;
/// Shared memory that every block may have, less what the kernels have beside it.
const TALLY_BYTES: usize = (48 << 10) - 64;

/// Kernels that make an order, and the memory that they alone use.
pub(super) struct Ordering {
    count: CudaFunction,
    tiles: CudaFunction,
    place: CudaFunction,
    invert: CudaFunction,
    threads: u32,
    overlap: Overlap,
    /// By tile and class: bodies, all zero between orders; first slots.
    counts: CudaSlice<u32>,
    cursors: CudaSlice<u32>,
    /// `Tile` in the kernels, one more than there are.
    listed: CudaSlice<u32>,
    /// Slot of every body, when `inverted`.
    slot_of: CudaSlice<u32>,
    inverted: AtomicBool,
    /// Of [`Bodies`]' ids and records: 0 or 1.
    half: u32,
}

impl Ordering {
    pub(super) fn new<T: CudaReal>(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        plan: &Plan<T>,
        few: bool,
    ) -> Result<Self, CudaError> {
        let load = |name: &str| module.load_function(name);
        let tiles = plan.tiles_x as usize * plan.tiles_y as usize;
        let bodies = (plan.bodies + plan.large) as usize;
        Ok(Ordering {
            count: load("order_count")?,
            tiles: load("order_tiles")?,
            place: load("order_place")?,
            invert: load("order_invert")?,
            threads: if few { FEW_THREADS } else { THREADS },
            overlap: Overlap::where_possible(gpu),
            counts: gpu.zeros(2 * tiles)?,
            cursors: gpu.zeros(2 * tiles)?,
            listed: gpu.zeros(4 * (tiles + 1))?,
            slot_of: gpu.zeros(bodies.max(1))?,
            inverted: AtomicBool::new(false),
            half: 0,
        })
    }

    /// The launch of the kernels that take every body, and whether their blocks count
    /// in shared memory.
    fn config(&self, bodies: usize) -> (LaunchConfig, i32) {
        let each = self.threads as usize * EACH;
        // A counter per tile and class, and 16 bits for each that a body touches.
        let bytes = 4 * self.counts.len() + 2 * each;
        let local = bytes <= TALLY_BYTES;
        let config = LaunchConfig {
            grid_dim: (bodies.div_ceil(each).max(1) as u32, 1, 1),
            block_dim: (self.threads, 1, 1),
            shared_mem_bytes: if local { bytes as u32 } else { 0 },
        };
        (config, i32::from(local))
    }
}

/// What of an order a caller asks for: `Wanted` in `kernels/order.cu`, addresses or 0.
#[repr(C)]
#[derive(Clone, Copy)]
struct Wanted {
    slot_of: CUdeviceptr,
    from: CUdeviceptr,
    corners: CUdeviceptr,
}

impl<T: CudaReal> Bodies<T> {
    /// Enqueues a new order from lower-left corners in the caller's order, a pair
    /// per body.
    ///
    /// # Errors
    /// When there is not a pair per body, or a launch fails.
    pub fn order(&mut self, corners: &CudaSlice<T>) -> Result<(), CudaError> {
        self.check(corners)?;
        let gpu = self.gpu.clone();
        let slot_of = address_mut(&gpu, &mut self.ordering.slot_of);
        let ids = address(&gpu, &self.id_of());
        self.make_order(ids, address(&gpu, corners), Wanted { slot_of, from: 0, corners: 0 })?;
        self.ordering.inverted.store(true, Relaxed);
        Ok(())
    }

    /// Enqueues a new order from lower-left corners in slot order, which move with
    /// it. `from[s]` becomes the slot before of the body that now has slot s: the
    /// caller moves its arrays with [`Bodies::rearrange`].
    ///
    /// # Errors
    /// When no order has been made yet, an array has the wrong length, or a
    /// launch fails.
    pub fn order_slots(
        &mut self,
        corners: &mut CudaSlice<T>,
        from: &mut CudaSlice<u32>,
    ) -> Result<(), CudaError> {
        self.check(corners)?;
        self.check_ordered()?;
        check_length("places before", from.len(), self.room())?;
        let gpu = self.gpu.clone();
        let (corners, from) = (address_mut(&gpu, corners), address_mut(&gpu, from));
        self.make_order(0, corners, Wanted { slot_of: 0, from, corners })?;
        // Most callers in slots never ask, and it takes as long as half an order.
        self.ordering.inverted.store(false, Relaxed);
        Ok(())
    }

    /// Slot of every body, in the caller's order: `rearrange` with it brings
    /// values in slot order to the caller's. Enqueued when first asked for after
    /// [`Bodies::order_slots`].
    ///
    /// # Errors
    /// When the launch fails.
    pub fn slot_of(&self) -> Result<&CudaSlice<u32>, CudaError> {
        let order = &self.ordering;
        if !order.inverted.load(Relaxed) {
            let count = self.count as u32;
            let slot_of = address(&self.gpu, &order.slot_of);
            // SAFETY: arguments are those of order_invert; both arrays hold one
            // value per body. Only work enqueued before this reads the old values.
            unsafe {
                self.gpu
                    .stream()
                    .launch_builder(&order.invert)
                    .arg(&count)
                    .arg(&self.id_of())
                    .arg(&slot_of)
                    .launch(blocks_for(self.count))?;
            }
            order.inverted.store(true, Relaxed);
        }
        Ok(&order.slot_of)
    }

    /// Body of every slot: `rearrange` with it brings values in the caller's
    /// order to slot order. The next order stands elsewhere in memory.
    pub fn id_of(&self) -> CudaView<'_, u32> {
        let begin = self.ordering.half as usize * self.count;
        self.ids.slice(begin..begin + self.room())
    }

    /// From corners that `ids` leads to, or in slots when it is 0.
    fn make_order(
        &mut self,
        ids: CUdeviceptr,
        corners: CUdeviceptr,
        wanted: Wanted,
    ) -> Result<(), CudaError> {
        let gpu = self.gpu.clone();
        let order = &mut self.ordering;
        let (config, local) = order.config(self.count);
        let one =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1024, 1, 1), shared_mem_bytes: 0 };
        let plan = self.plan;
        let counts = address_mut(&gpu, &mut order.counts);
        let cursors = address_mut(&gpu, &mut order.cursors);
        let listed = address_mut(&gpu, &mut order.listed);
        let staged = address_mut(&gpu, &mut self.staged);
        let all_ids = address_mut(&gpu, &mut self.ids);
        let records = address_mut(&gpu, &mut self.records);
        let chunks = address_mut(&gpu, &mut self.chunks);
        let wear = address_mut(&gpu, &mut self.wear.device);
        let half = order.half;
        // SAFETY: arguments are those of kernels/order.cu. Corners and `staged` hold a
        // pair per body, what is wanted and each half of the ids one value, each half
        // of the records one per slot that has any; counts and cursors one value per
        // tile and class. There is room for max_chunks chunks, and no order makes
        // more: a tile of n bodies has at most n / chunk + 1. order_tiles waits before
        // it reads; order_place may start once it has waited, and reads before its own
        // wait what order_count and the order before have written.
        unsafe {
            launch(
                &gpu,
                &order.count,
                config,
                Overlap::None,
                &mut [
                    argument(&plan),
                    argument(&ids),
                    argument(&corners),
                    argument(&counts),
                    argument(&staged),
                    argument(&local),
                ],
            )?;
            launch(
                &gpu,
                &order.tiles,
                one,
                order.overlap,
                &mut [
                    argument(&plan),
                    argument(&counts),
                    argument(&cursors),
                    argument(&listed),
                    argument(&wear),
                ],
            )?;
            launch(
                &gpu,
                &order.place,
                config,
                order.overlap,
                &mut [
                    argument(&plan),
                    argument(&staged),
                    argument(&cursors),
                    argument(&all_ids),
                    argument(&records),
                    argument(&half),
                    argument(&wanted),
                    argument(&listed),
                    argument(&chunks),
                    argument(&local),
                ],
            )?;
        }
        order.half ^= 1;
        self.wear.ordered();
        Ok(())
    }
}
