//! Bodies on a device: their constants, and the order they are worked on in.
//!
//! Density and force work on *slots*, an order in which bodies that stand in
//! the same tile of 32 × 32 bins follow one another: a block then keeps the
//! tile and 4 bins around it in shared memory. [`Bodies::order`] makes that
//! order from positions, by a counting sort on the device. A body that has
//! moved more than the 4 bins since is still counted, more slowly; how many did
//! is in [`DensityReport::strays`](super::DensityReport::strays), and says when
//! to order again. The order is no part of the result.
//!
//! Positions and forces may stay in the caller's order
//! ([`Arrangement::Caller`]), at the price of one random access per body, or be
//! kept in slot order by the caller ([`Arrangement::Slots`]).

use super::device::Gpu;
use super::error::CudaError;
use super::launch::{BLOCK, address_mut, check_length};
use super::real::CudaReal;
use crate::charge::Charge;
use crate::grid::BinGrid;
use crate::real::Precision;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg};
use std::f64::consts::SQRT_2;

/// Bins along a side of a tile, as a power of two.
const TILE_SHIFT: u32 = 5;
/// Bins around a tile that a block keeps with it. Four, so that a row of the
/// patch begins at a multiple of 16 bytes.
const HALO: usize = 4;
/// Bins along a side of a patch: a body of up to 3 bins may begin in its last
/// bin but two; rounded up to whole quads of bins.
const PATCH: usize = ((1 << TILE_SHIFT) + 2 * HALO + 2).next_multiple_of(4);
/// A body that may cover more bins than this is cut into pieces.
const LARGE: usize = 64;
/// Bins along a side of a piece: `PIECE` in `kernels/bodies.cuh`.
const PIECE: usize = 64;
/// No chunk of a tile's bodies is larger: sums in shared memory have 21 bits to
/// the bin area and room for 2¹¹ of them.
const LARGEST_CHUNK: usize = 2047;
/// The largest chunk where larger ones would leave multiprocessors idle.
const SMALL_CHUNK: usize = 1023;
/// Bodies per multiprocessor from which on [`LARGEST_CHUNK`] is taken.
const BUSY: usize = 4096;

/// The order in which a caller holds positions and wants forces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Movable cells, then fillers, as in [`Charge`].
    Caller,
    /// The slots of the last [`Bodies::order`] or [`Bodies::order_slots`].
    Slots,
}

/// `Axis` in `kernels/bodies.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Axis<T> {
    origin: [T; 2],
    bin: [T; 2],
    inverse: T,
}

impl<T: CudaReal> Axis<T> {
    fn new(origin: f64, bin: f64) -> Self {
        let split = |value: f64| {
            let near = T::of(value);
            [near, T::of(value - near.wide())]
        };
        Axis { origin: split(origin), bin: split(bin), inverse: T::of(1.0 / bin) }
    }
}

/// `Plan` in `kernels/bodies.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<T> {
    x: Axis<T>,
    y: Axis<T>,
    stretch: T,
    filler_w: T,
    filler_h: T,
    filler_ratio: T,
    scale: T,
    unscale: T,
    target: T,
    force_unit: T,
    excess_scale: T,
    nx: i32,
    ny: i32,
    bodies: i32,
    movable: i32,
    records: i32,
    own_size: i32,
    large: i32,
    movable_ids: i32,
    pieces: i32,
    tile_shift: i32,
    halo: i32,
    patch: i32,
    aligned: i32,
    max_chunks: i32,
    tiles_x: i32,
    tiles_y: i32,
    counter_stride: i32,
    chunk: i32,
    limb_bits: i32,
}

// SAFETY: plain numbers, laid out as the C++ struct of that name (both sides
// follow the C rules); kernels take it by value.
unsafe impl<T: CudaReal> DeviceRepr for Plan<T> {}

impl<T: CudaReal> Plan<T> {
    /// Pieces of large bodies: blocks of their own in the density's kernels.
    pub(super) fn pieces(&self) -> i32 {
        self.pieces
    }

    /// Large bodies: blocks of their own in the force's kernels.
    pub(super) fn large(&self) -> i32 {
        self.large
    }

    /// Bin areas in one unit of the overflow's fixed-point sum.
    pub(super) fn excess_unit(&self) -> f64 {
        1.0 / self.excess_scale.wide()
    }

    /// The same bodies at their own size, not stretched; fillers left out.
    pub(super) fn at_own_size(mut self) -> Self {
        self.stretch = T::of(0.0);
        self.own_size = 1;
        self
    }
}

/// A body in bins, on the host.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    w: f64,
    h: f64,
    /// Negative where the ratio is the weight at own size as well.
    ratio: f64,
}

impl Sizes {
    /// Bins it may cover along x and y, wherever it stands.
    fn extent(&self) -> (usize, usize) {
        let along = |size: f64| size.max(SQRT_2).ceil() as usize + 1;
        (along(self.w), along(self.h))
    }

    fn is_large(&self) -> bool {
        let (x, y) = self.extent();
        x.saturating_mul(y) > LARGE
    }

    /// At most this much of a bin is covered, stretched or not.
    fn most(&self) -> f64 {
        (self.w * self.h).max(self.ratio.abs()).min(1.0)
    }
}

/// Everything that is fixed once the bodies are known, on the host.
struct Layout {
    sizes: Vec<Sizes>,
    /// Indices of bodies that are cut into pieces, ascending.
    large: Vec<u32>,
    /// Large movable cells among them.
    large_movable: usize,
    /// Size of every filler, when they are all the same.
    filler: Option<Sizes>,
    movable: usize,
}

impl Layout {
    fn new(charge: &Charge) -> Layout {
        let (bin_x, bin_y) = (charge.grid.bin_x(), charge.grid.bin_y());
        let mut sizes: Vec<Sizes> = (0..charge.bodies())
            .map(|i| Sizes {
                w: charge.width[i] / bin_x,
                h: charge.height[i] / bin_y,
                ratio: charge.ratio[i],
            })
            .collect();
        for &i in &charge.macros {
            sizes[i as usize].ratio *= -1.0;
        }
        let large: Vec<u32> =
            (0..sizes.len()).filter(|&i| sizes[i].is_large()).map(|i| i as u32).collect();
        let large_movable = large.partition_point(|&i| (i as usize) < charge.movable);
        let fillers = &sizes[charge.movable..];
        let none = Sizes { w: 0.0, h: 0.0, ratio: 0.0 };
        let first = fillers.first().copied().unwrap_or(none);
        let filler = (fillers.iter().all(|&f| f == first) && !first.is_large()).then_some(first);
        Layout { sizes, large, large_movable, filler, movable: charge.movable }
    }

    /// (body, x, y) of every piece of every large body.
    fn pieces(&self) -> Vec<u32> {
        let mut pieces = Vec::new();
        for (k, &i) in self.large.iter().enumerate() {
            let (columns, rows) = self.sizes[i as usize].extent();
            for x in (0..columns).step_by(PIECE) {
                for y in (0..rows).step_by(PIECE) {
                    pieces.extend([k as u32, x as u32, y as u32, 0]);
                }
            }
        }
        pieces
    }

    /// Where large bodies stand, at the end; zero for every other one.
    fn first_slots(&self) -> Vec<u32> {
        let bodies = self.sizes.len() - self.large.len();
        let mut slots = vec![0; self.sizes.len()];
        for (k, &i) in self.large.iter().enumerate() {
            slots[i as usize] = (bodies + k) as u32;
        }
        slots
    }

    fn plan<T: CudaReal>(&self, charge: &Charge, chunk: usize) -> Plan<T> {
        let grid = &charge.grid;
        let tiles = |bins: usize| bins.div_ceil(1 << TILE_SHIFT);
        let bodies = self.sizes.len() - self.large.len();
        let movable = self.movable - self.large_movable;
        let filler = self.filler.unwrap_or(Sizes { w: 0.0, h: 0.0, ratio: 0.0 });
        let most: f64 = self.sizes.iter().map(Sizes::most).sum();
        let limb_bits = 32 - (chunk + 1).next_power_of_two().ilog2();
        // All bodies' share of one bin must fit into a 64-bit word.
        let room = 64 - (most + 2.0).log2().ceil() as u32;
        let bits = match T::PRECISION {
            Precision::F32 => limb_bits,
            Precision::F64 => (2 * limb_bits).min(room),
        } as i32;
        let spare = 62 - (most + grid.bins() as f64).log2().ceil() as i32;
        let tile_count = tiles(grid.nx()) * tiles(grid.ny());
        Plan {
            x: Axis::new(grid.die().xl, grid.bin_x()),
            y: Axis::new(grid.die().yl, grid.bin_y()),
            stretch: T::of(SQRT_2),
            filler_w: T::of(filler.w),
            filler_h: T::of(filler.h),
            filler_ratio: T::of(filler.ratio),
            scale: T::of(2f64.powi(bits)),
            unscale: T::of(2f64.powi(-bits)),
            target: T::of(charge.target_density),
            force_unit: T::of(grid.bin_area()),
            excess_scale: T::of(2f64.powi(spare)),
            nx: grid.nx() as i32,
            ny: grid.ny() as i32,
            bodies: bodies as i32,
            movable: movable as i32,
            records: if self.filler.is_some() { movable } else { bodies } as i32,
            own_size: 0,
            large: self.large.len() as i32,
            movable_ids: self.movable as i32,
            pieces: 0,
            tile_shift: TILE_SHIFT as i32,
            halo: HALO as i32,
            patch: PATCH as i32,
            aligned: i32::from(grid.ny().is_multiple_of(4)),
            max_chunks: (tile_count + bodies / chunk + 1) as i32,
            tiles_x: tiles(grid.nx()) as i32,
            tiles_y: tiles(grid.ny()) as i32,
            // Counters of a few tiles would share a few lines of L2.
            counter_stride: if tile_count < 1024 { 32 } else { 8 },
            chunk: chunk as i32,
            limb_bits: limb_bits as i32,
        }
    }
}

/// `Record` in `kernels/bodies.cuh`, as bytes.
fn record<T: CudaReal>(sizes: &Sizes, id: u32) -> Vec<u8> {
    let numbers = [sizes.w, sizes.h, sizes.ratio];
    match T::PRECISION {
        Precision::F32 => {
            let mut bytes: Vec<u8> =
                numbers.iter().flat_map(|&v| (v as f32).to_ne_bytes()).collect();
            bytes.extend(id.to_ne_bytes());
            bytes
        }
        Precision::F64 => {
            let mut bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_ne_bytes()).collect();
            bytes.extend(u64::from(id).to_ne_bytes());
            bytes
        }
    }
}

/// Movable cells and fillers on a device, and the order they are worked on in.
pub struct Bodies<T: CudaReal> {
    pub(super) gpu: Gpu,
    pub(super) plan: Plan<T>,
    grid: BinGrid,
    count: usize,
    ordered: bool,
    kernels: OrderKernels,
    /// One record per body, netlist order.
    sizes: CudaSlice<u8>,
    /// One record per large body.
    pub(super) large: CudaSlice<u8>,
    pub(super) pieces: CudaSlice<u32>,
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
    shift: CudaFunction,
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
        let mut plan = layout.plan::<T>(charge, chunk);
        let pieces = layout.pieces();
        plan.pieces = (pieces.len() / 4) as i32;

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
            ordered: false,
            kernels: OrderKernels {
                count: load("order_count")?,
                tiles: load("order_tiles")?,
                place: load("order_place")?,
                records: load("order_records")?,
                shift: load("order_move")?,
            },
            sizes: upload(gpu, &all)?,
            large: upload(gpu, &large)?,
            pieces: upload(gpu, &pieces)?,
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
        self.ordered
    }

    /// Enqueues a new order from lower-left corners in the caller's order.
    ///
    /// # Errors
    /// When an array has not one value per body, or a launch fails.
    pub fn order(&mut self, x: &CudaSlice<T>, y: &CudaSlice<T>) -> Result<(), CudaError> {
        self.check(x, y)?;
        let each = blocks_for(self.count);
        let nothing: CUdeviceptr = 0;
        let stream = self.gpu.stream();
        stream.memset_zeros(&mut self.counters)?;
        // SAFETY: arguments are those of kernels/order.cu; x, y, slot_of and
        // id_of hold one value per body, counters one per tile and class. A
        // rank is read before the same thread writes the slot over it.
        unsafe {
            stream
                .launch_builder(&self.kernels.count)
                .arg(&self.plan)
                .arg(&nothing)
                .arg(x)
                .arg(y)
                .arg(&mut self.counters)
                .arg(&mut self.slot_of)
                .launch(each)?;
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
                .arg(x)
                .arg(y)
                .arg(&self.counters)
                .arg(&slot_of)
                .arg(&slot_of)
                .arg(&mut self.id_of)
                .arg(&nothing)
                .launch(each)?;
        }
        self.place_records()?;
        self.ordered = true;
        Ok(())
    }

    /// Enqueues a new order from lower-left corners in slot order. `from[s]`
    /// becomes the slot before of the body that now has slot s: the caller
    /// moves its arrays with [`Bodies::rearrange`].
    ///
    /// # Errors
    /// When no order has been made yet, an array has not one value per body, or
    /// a launch fails.
    pub fn order_slots(
        &mut self,
        x: &CudaSlice<T>,
        y: &CudaSlice<T>,
        from: &mut CudaSlice<u32>,
    ) -> Result<(), CudaError> {
        self.check(x, y)?;
        self.check_ordered()?;
        check_length("places before", from.len(), self.count)?;
        std::mem::swap(&mut self.id_of, &mut self.id_of_before);
        let each = blocks_for(self.count);
        let stream = self.gpu.stream();
        stream.memset_zeros(&mut self.counters)?;
        // SAFETY: as in `order`; id_of_before holds the netlist index of every
        // slot that x and y are in.
        unsafe {
            stream
                .launch_builder(&self.kernels.count)
                .arg(&self.plan)
                .arg(&self.id_of_before)
                .arg(x)
                .arg(y)
                .arg(&mut self.counters)
                .arg(&mut self.rank)
                .launch(each)?;
        }
        self.list_chunks()?;
        // SAFETY: as above.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.kernels.place)
                .arg(&self.plan)
                .arg(&self.id_of_before)
                .arg(x)
                .arg(y)
                .arg(&self.counters)
                .arg(&self.rank)
                .arg(&mut self.slot_of)
                .arg(&mut self.id_of)
                .arg(from)
                .launch(each)?;
        }
        self.place_records()
    }

    /// Enqueues `moved[k] = values[from[k]]` for every body.
    ///
    /// # Errors
    /// When an array has not one value per body, or the launch fails.
    pub fn rearrange(
        &self,
        from: &CudaSlice<u32>,
        values: &CudaSlice<T>,
        moved: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check_length("places before", from.len(), self.count)?;
        check_length("values to move", values.len(), self.count)?;
        check_length("moved values", moved.len(), self.count)?;
        let count = self.count as u32;
        // SAFETY: arguments are those of order_move; every array holds `count`
        // values. A `from` of other indices than these would read beyond
        // `values`: it comes from `order_slots` or from this type's own maps.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.kernels.shift)
                .arg(&count)
                .arg(from)
                .arg(values)
                .arg(moved)
                .launch(blocks_for(self.count))?;
        }
        Ok(())
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
                .launch(LaunchConfig {
                    grid_dim: (1, 1, 1),
                    block_dim: (1024, 1, 1),
                    shared_mem_bytes: 0,
                })?;
        }
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

    pub(super) fn check(&self, x: &CudaSlice<T>, y: &CudaSlice<T>) -> Result<(), CudaError> {
        check_length("x of bodies", x.len(), self.count)?;
        check_length("y of bodies", y.len(), self.count)
    }

    pub(super) fn check_ordered(&self) -> Result<(), CudaError> {
        if self.ordered { Ok(()) } else { Err(CudaError::NotOrdered) }
    }

    /// One block per chunk and `extra` ones before them, with `words` words of
    /// 4 bytes per bin of a patch.
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
fn upload<E>(gpu: &Gpu, values: &[E]) -> Result<CudaSlice<E>, CudaError>
where
    E: DeviceRepr + cudarc::driver::ValidAsZeroBits,
{
    if values.is_empty() { gpu.zeros(1) } else { gpu.upload(values) }
}
