//! Bodies on a device: their constants, and the order they are worked on in.
//!
//! Density and force work on *slots*, an order in which bodies that stand in
//! the same tile of 32 × 32 bins follow one another: a block then keeps the
//! tile and 4 bins around it in shared memory. [`Bodies::order`] makes that
//! order from positions, by a counting sort on the device. A body that has
//! moved more than the 4 bins since is still counted, more slowly; how many did
//! is in [`DensityReport::strays`](super::DensityReport::strays), and
//! [`Bodies::is_worn`] says when to order again. The order is no part of the
//! result.
//!
//! Positions and forces are pairs, x and y of a body side by side. They may stay
//! in the caller's order ([`Arrangement::Caller`]), at the price of one random
//! access per body, or be kept in slot order by the caller
//! ([`Arrangement::Slots`]).

use super::device::Gpu;
use super::error::CudaError;
use super::launch::{BLOCK, address_mut, check_length};
use super::plan::{BUSY, LARGEST_CHUNK, Layout, PATCH, Plan, SMALL_CHUNK, record};
use super::real::CudaReal;
use super::rearrange::Moves;
use super::wear::Wear;
use crate::charge::Charge;
use crate::grid::BinGrid;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg};

/// Bodies per thread that counts: `COUNT_EACH` in `kernels/order.cu`.
const COUNT_EACH: usize = 8;
/// Shared memory that every block may have.
const TALLY_BYTES: usize = 48 << 10;

/// The order in which a caller holds positions and wants forces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Movable cells, then fillers, as in [`Charge`].
    Caller,
    /// The slots of the last [`Bodies::order`] or [`Bodies::order_slots`].
    Slots,
}

/// Movable cells and fillers on a device, and the order they are worked on in.
/// Arrays of one value per body have one value where there is no body at all.
pub struct Bodies<T: CudaReal> {
    pub(super) gpu: Gpu,
    pub(super) plan: Plan<T>,
    grid: BinGrid,
    count: usize,
    /// From this many bodies on the device is busy with large blocks.
    busy: usize,
    pub(super) wear: Wear,
    kernels: OrderKernels,
    pub(super) moves: Moves,
    /// One record per body, netlist order.
    sizes: CudaSlice<u8>,
    /// One record per large body.
    pub(super) large: CudaSlice<u8>,
    counters: CudaSlice<u32>,
    rank: CudaSlice<u32>,
    pub(super) slot_of: CudaSlice<u32>,
    pub(super) id_of: CudaSlice<u32>,
    id_of_before: CudaSlice<u32>,
    /// Records in slot order.
    pub(super) records: CudaSlice<u8>,
    pub(super) chunks: CudaSlice<u32>,
    /// Positions as pairs in slot order, where the caller keeps its own order.
    pub(super) staged: CudaSlice<T>,
}

struct OrderKernels {
    count: CudaFunction,
    tiles: CudaFunction,
    place: CudaFunction,
    records: CudaFunction,
}

impl<T: CudaReal> std::fmt::Debug for Bodies<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bodies").field("count", &self.count).field("grid", &self.grid).finish()
    }
}

impl<T: CudaReal> Bodies<T> {
    /// Uploads the bodies of `charge` and allocates all that ordering needs.
    ///
    /// # Errors
    /// When there are 2³¹ bodies or more, kernels cannot be compiled, or memory
    /// runs out.
    pub fn new(gpu: &Gpu, charge: &Charge) -> Result<Self, CudaError> {
        let count = charge.bodies();
        if i32::try_from(count).is_err() {
            return Err(CudaError::TooManyBodies(count));
        }
        let busy = BUSY * gpu.info().multiprocessors.max(1) as usize;
        let chunk = if count < busy { SMALL_CHUNK } else { LARGEST_CHUNK };
        let layout = Layout::new(charge);
        let plan = layout.plan::<T>(charge, chunk);

        let record_bytes = 4 * size_of::<T>();
        let all: Vec<u8> =
            (0..count as u32).flat_map(|i| record::<T>(&layout.sizes[i as usize], i)).collect();
        let large: Vec<u8> =
            layout.large.iter().flat_map(|&i| record::<T>(&layout.sizes[i as usize], i)).collect();
        let counters = 2 * (plan.tiles_x * plan.tiles_y * plan.counter_stride) as usize;
        let module = gpu.kernels::<T>("order")?;
        let load = |name: &str| module.load_function(name);
        Ok(Bodies {
            gpu: gpu.clone(),
            grid: charge.grid,
            count,
            busy,
            wear: Wear::new(gpu)?,
            moves: Moves::new(&module)?,
            kernels: OrderKernels {
                count: load("order_count")?,
                tiles: load("order_tiles")?,
                place: load("order_place")?,
                records: load("order_records")?,
            },
            sizes: upload(gpu, &all)?,
            large: upload(gpu, &large)?,
            counters: gpu.zeros(counters)?,
            rank: gpu.zeros(count.max(1))?,
            slot_of: upload(gpu, &layout.first_slots())?,
            id_of: gpu.zeros(count.max(1))?,
            id_of_before: gpu.zeros(count.max(1))?,
            records: gpu.zeros((plan.records as usize * record_bytes).max(1))?,
            chunks: gpu.zeros(8 * plan.max_chunks as usize)?,
            staged: gpu.zeros((2 * count).max(1))?,
            plan,
        })
    }

    /// Number of bodies, movable cells and fillers.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there is no body at all.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bins.
    pub fn grid(&self) -> &BinGrid {
        &self.grid
    }

    /// Whether an order has been made.
    pub fn is_ordered(&self) -> bool {
        self.wear.orders() > 0
    }

    /// Whether a new order pays: none was made yet, or strays have by now cost
    /// about what one costs, as far as steps enqueued have run. Does not wait.
    pub fn is_worn(&self) -> bool {
        self.wear.is_due(self.count)
    }

    /// How many orders have been made.
    pub fn orders(&self) -> u32 {
        self.wear.orders()
    }

    /// Enqueues a new order from lower-left corners in the caller's order, a pair
    /// per body.
    ///
    /// # Errors
    /// When there is not a pair per body, or a launch fails.
    pub fn order(&mut self, corners: &CudaSlice<T>) -> Result<(), CudaError> {
        self.check(corners)?;
        let (tally, local) = self.tally();
        let nothing: CUdeviceptr = 0;
        let stream = self.gpu.stream();
        stream.memset_zeros(&mut self.counters)?;
        // SAFETY: arguments are those of kernels/order.cu; corners hold a pair
        // per body, slot_of and id_of one value, counters one per tile and class.
        // A rank is read before the same thread writes the slot over it.
        unsafe {
            stream
                .launch_builder(&self.kernels.count)
                .arg(&self.plan)
                .arg(&nothing)
                .arg(corners)
                .arg(&mut self.counters)
                .arg(&mut self.slot_of)
                .arg(&local)
                .launch(tally)?;
        }
        self.list_chunks()?;
        let slot_of = address_mut(&self.gpu, &mut self.slot_of);
        // SAFETY: as above.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.kernels.place)
                .arg(&self.plan)
                .arg(&nothing)
                .arg(corners)
                .arg(&self.counters)
                .arg(&slot_of)
                .arg(&slot_of)
                .arg(&mut self.id_of)
                .arg(&nothing)
                .launch(blocks_for(self.count))?;
        }
        self.place_records()
    }

    /// Enqueues a new order from lower-left corners in slot order. `from[s]`
    /// becomes the slot before of the body that now has slot s: the caller
    /// moves its arrays with [`Bodies::rearrange`] and its corners with
    /// [`Bodies::rearrange_pairs`].
    ///
    /// # Errors
    /// When no order has been made yet, an array has the wrong length, or a
    /// launch fails.
    pub fn order_slots(
        &mut self,
        corners: &CudaSlice<T>,
        from: &mut CudaSlice<u32>,
    ) -> Result<(), CudaError> {
        self.check(corners)?;
        self.check_ordered()?;
        check_length("places before", from.len(), self.room())?;
        let (tally, local) = self.tally();
        let stream = self.gpu.stream();
        // Copied, not swapped: a captured graph holds the address of `id_of`.
        stream.memcpy_dtod(&self.id_of, &mut self.id_of_before)?;
        stream.memset_zeros(&mut self.counters)?;
        // SAFETY: as in `order`; id_of_before holds the netlist index of every
        // slot that corners are in.
        unsafe {
            stream
                .launch_builder(&self.kernels.count)
                .arg(&self.plan)
                .arg(&self.id_of_before)
                .arg(corners)
                .arg(&mut self.counters)
                .arg(&mut self.rank)
                .arg(&local)
                .launch(tally)?;
        }
        self.list_chunks()?;
        // SAFETY: as above.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.kernels.place)
                .arg(&self.plan)
                .arg(&self.id_of_before)
                .arg(corners)
                .arg(&self.counters)
                .arg(&self.rank)
                .arg(&mut self.slot_of)
                .arg(&mut self.id_of)
                .arg(from)
                .launch(blocks_for(self.count))?;
        }
        self.place_records()
    }

    /// Slot of every body, in the caller's order: `rearrange` with it brings
    /// values in slot order to the caller's.
    pub fn slot_of(&self) -> &CudaSlice<u32> {
        &self.slot_of
    }

    /// Body of every slot: `rearrange` with it brings values in the caller's
    /// order to slot order.
    pub fn id_of(&self) -> &CudaSlice<u32> {
        &self.id_of
    }

    /// The launch that counts bodies, and whether blocks count in shared memory.
    fn tally(&self) -> (LaunchConfig, i32) {
        let threads = if self.count < self.busy { BLOCK } else { 4 * BLOCK };
        let bytes = 4 * 2 * self.tiles();
        let local = bytes <= TALLY_BYTES;
        let config = LaunchConfig {
            grid_dim: (self.count.div_ceil(threads as usize * COUNT_EACH).max(1) as u32, 1, 1),
            block_dim: (threads, 1, 1),
            shared_mem_bytes: if local { bytes as u32 } else { 0 },
        };
        (config, i32::from(local))
    }

    /// Tiles of bins.
    pub(super) fn tiles(&self) -> usize {
        self.plan.tiles_x as usize * self.plan.tiles_y as usize
    }

    fn list_chunks(&mut self) -> Result<(), CudaError> {
        // SAFETY: arguments are those of order_tiles; there is room for
        // max_chunks chunks, and no order makes more: a tile of n bodies has at
        // most n / chunk + 1.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.kernels.tiles)
                .arg(&self.plan)
                .arg(&mut self.counters)
                .arg(&mut self.chunks)
                .arg(&mut self.wear.device)
                .launch(LaunchConfig {
                    grid_dim: (1, 1, 1),
                    block_dim: (1024, 1, 1),
                    shared_mem_bytes: 0,
                })?;
        }
        self.wear.ordered();
        Ok(())
    }

    fn place_records(&mut self) -> Result<(), CudaError> {
        if self.plan.records == 0 {
            return Ok(());
        }
        // SAFETY: arguments are those of order_records; `sizes` holds one
        // record per body and `records` one per slot that has any.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.kernels.records)
                .arg(&self.plan)
                .arg(&self.sizes)
                .arg(&self.id_of)
                .arg(&mut self.records)
                .launch(blocks_for(self.plan.records as usize))?;
        }
        Ok(())
    }

    pub(super) fn check(&self, corners: &CudaSlice<T>) -> Result<(), CudaError> {
        check_length("lower-left corners", corners.len(), 2 * self.room())
    }

    /// Length of an array of one value per body: at least one, for memory of no
    /// length has no address.
    pub(super) fn room(&self) -> usize {
        self.count.max(1)
    }

    pub(super) fn check_ordered(&self) -> Result<(), CudaError> {
        if self.is_ordered() { Ok(()) } else { Err(CudaError::NotOrdered) }
    }

    /// One block per chunk and `extra` ones for large bodies before them, with
    /// `words` words of 4 bytes per bin of a patch.
    pub(super) fn config(&self, extra: i32, words: usize) -> LaunchConfig {
        LaunchConfig {
            grid_dim: ((self.plan.max_chunks + extra) as u32, 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: (PATCH * PATCH * words * 4) as u32,
        }
    }
}

/// Blocks of [`BLOCK`] threads, one thread per element; one block at least.
pub(super) fn blocks_for(elements: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (elements.div_ceil(BLOCK as usize).max(1) as u32, 1, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// A copy in device memory; one element of zeros for an empty slice, for
/// memory of no length has no address.
pub(super) fn upload<E>(gpu: &Gpu, values: &[E]) -> Result<CudaSlice<E>, CudaError>
where
    E: DeviceRepr + cudarc::driver::ValidAsZeroBits,
{
    if values.is_empty() { gpu.zeros(1) } else { gpu.upload(values) }
}
