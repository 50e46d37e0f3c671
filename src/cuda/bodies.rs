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
use super::launch::{BLOCK, check_length};
use super::order::Ordering;
use super::plan::{BUSY, LARGEST_CHUNK, Layout, PATCH, Plan, SMALL_CHUNK, record};
use super::real::CudaReal;
use super::rearrange::Moves;
use super::wear::Wear;
use crate::charge::Charge;
use crate::grid::BinGrid;
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};

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
    pub(super) count: usize,
    pub(super) wear: Wear,
    pub(super) ordering: Ordering,
    pub(super) moves: Moves,
    /// One record per large body.
    pub(super) large: CudaSlice<u8>,
    /// Bodies of the slots, and records of those that have any: two halves each, of
    /// which [`Ordering::half`] holds the order at hand.
    pub(super) ids: CudaSlice<u32>,
    pub(super) records: CudaSlice<u8>,
    pub(super) chunks: CudaSlice<u32>,
    /// Positions as pairs in slot order: for the force where the caller keeps its
    /// own order, and while an order is made.
    pub(super) staged: CudaSlice<T>,
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

        let ids = layout.first_ids();
        let of = |ids: &[u32]| -> Vec<u8> {
            ids.iter().flat_map(|&i| record::<T>(&layout.sizes[i as usize], i)).collect()
        };
        let mut records = of(&ids[..plan.records as usize]);
        records.resize(2 * records.len(), 0);
        let large = of(&ids[plan.bodies as usize..]);
        let ids = [ids, vec![0; count]].concat();
        let module = gpu.kernels::<T>("order")?;
        Ok(Bodies {
            gpu: gpu.clone(),
            grid: charge.grid(),
            count,
            wear: Wear::new(gpu)?,
            ordering: Ordering::new(gpu, &module, &plan, count < busy)?,
            moves: Moves::new(&module)?,
            large: upload(gpu, &large)?,
            ids: upload(gpu, &ids)?,
            records: upload(gpu, &records)?,
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

    /// Tiles of bins.
    pub(super) fn tiles(&self) -> usize {
        self.plan.tiles_x as usize * self.plan.tiles_y as usize
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
