//! Bodies on a device: their constants, and the order in which kernels process them.
//!
//! Density and force process *slots*, an order in which bodies in the same tile of 32 × 32 bins are
//! consecutive. A block can then keep the tile and its halo, the 4 bins around it, in shared
//! memory. [`Bodies::order`] makes that order from positions, by a counting sort on the device. A
//! body that has left its halo since is still counted, but more slowly.
//! [`DensityReport::outside_halo`](super::DensityReport::outside_halo) has the number of such
//! bodies, and [`Bodies::order_is_due`] says when to order again. The order does not affect the
//! result.
//!
//! Bodies of several fence regions ([`Charge::set_fences`]) are ordered by region first, and a
//! block processes bodies of one region. Each region has its own maps, stored one region after the
//! other. Kernels for several regions are compiled separately from those for one region.
//!
//! Positions and forces are pairs, x and y of a body side by side. They may stay in the caller's
//! order ([`PositionLayout::Caller`]), which costs one random access per body. Or the caller keeps
//! them in slot order ([`PositionLayout::Slots`]).

use super::order::{BodyOrder, PositionLayout, first_own};
use super::permute::{Moves, Permutation, PermutationView};
use super::setup::{BUSY, BodySizes, LARGEST_CHUNK, PATCH, SMALL_CHUNK, Units, defines, records};
use super::shares::{BodyDivision, MOST_RANKS};
use super::staleness::OrderStaleness;
use crate::charge::Charge;
use crate::cuda::device::bindings::bodies::{
    AllBodies, Chunk, OrderDeinterleave, OrderInterleave, OrderMove, OrderOutputs, Record, Regions,
    Setup,
};
use crate::cuda::device::{
    Array, CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceValue, DeviceVec, Gpu, Kernel,
    MOST_BLOCKS, Pointer, check_aligned, check_length, grid_of, pointers,
};
use crate::engine::Layout;
use crate::grid::BinGrid;
use cudarc::driver::{CudaModule, LaunchConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Movable cells and fillers on a device, and the order in which kernels process them.
pub struct Bodies<T: CudaReal> {
    /// Unique among all `Bodies`.
    pub(super) id: u64,
    pub(super) gpu: Gpu,
    charge: Arc<Charge>,
    grid: BinGrid,
    pub(super) setup: Setup<T>,
    count: u32,
    pub(crate) staleness: OrderStaleness,
    order: BodyOrder<T>,
    /// Whether ranks share them.
    pub(super) several: bool,
    moves: Moves<T>,
    /// First slots of the regions, and the sizes of their fillers.
    starts: DeviceVec<u32>,
    fillers: DeviceVec<T>,
    /// One record per large body.
    pub(super) large: DeviceVec<Record<T>>,
    /// Bodies of the slots, and records of slots that have any. Each has two halves;
    /// [`BodyOrder::half`] says which of them has the current order.
    pub(super) ids: DeviceVec<u32>,
    pub(super) records: DeviceVec<Record<T>>,
    pub(super) chunks: DeviceVec<Chunk>,
    /// Positions as pairs in slot order: for the force if the caller keeps its own order, and while
    /// an order is made.
    pub(super) staged: DeviceVec<T>,
}

impl<T: CudaReal> std::fmt::Debug for Bodies<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bodies").field("count", &self.count).field("grid", self.grid()).finish()
    }
}

/// Returns device memory for twice as many values, which begins with these.
fn first_half<E: DeviceValue>(gpu: &Gpu, values: &[E]) -> Result<DeviceVec<E>, CudaError> {
    let mut both = gpu.zeros(2 * values.len())?;
    gpu.write(values, both.slice_mut(0..values.len()))?;
    Ok(both)
}

impl<T: CudaReal> Bodies<T> {
    /// Uploads the bodies of `charge` and allocates all memory that ordering needs.
    ///
    /// # Errors
    /// If there are 2³¹ bodies or more, kernels cannot be compiled, or memory runs out. Also if
    /// there are more fence regions than a grid of blocks has along its second axis (65535).
    pub fn new(gpu: &Gpu, charge: impl Into<Arc<Charge>>) -> Result<Self, CudaError> {
        let charge = charge.into();
        let sizes = BodySizes::new(&charge);
        let units = sizes.units::<T>(&charge, Self::chunk(gpu, charge.bodies()));
        Self::of_sizes(gpu, charge, &sizes, units, None)
    }

    /// Makes the bodies on one device or on several ranks. Each rank processes the bodies in its
    /// own tiles, an interval of them along x that every order chooses anew ([`Bodies::count`]).
    /// Before the first order it processes the bodies of its share. `make` makes the rest of a
    /// rank's part of the bodies. With several ranks it gets, for each body in the share, the rank
    /// that processes it.
    pub(crate) fn on_each<R: Send>(
        gpus: &[&Gpu],
        charge: &Arc<Charge>,
        make: impl Fn(usize, Self, Option<DeviceVec<u8>>) -> Result<R, CudaError> + Sync,
    ) -> Result<Vec<R>, CudaError> {
        let sizes = BodySizes::new(charge);
        // Chunks, and with them units, are the same as on one device.
        let units = sizes.units::<T>(charge, Self::chunk(gpus[0], charge.bodies()));
        let ranks = gpus.len();
        Gpu::on_each(gpus, |rank, gpu| {
            let of = |of_ranks| Self::of_sizes(gpu, charge.clone(), &sizes, units, of_ranks);
            if ranks == 1 {
                return make(rank, of(None)?, None);
            }
            let mut worker = vec![rank as u8; charge.bodies()];
            for (k, &id) in sizes.large.iter().enumerate() {
                worker[id as usize] = (k % ranks) as u8; // `own_large` in the kernels
            }
            make(rank, of(Some([rank, ranks]))?, Some(gpu.upload(&worker)?))
        })
    }

    /// Returns the most bodies in a chunk, for this number of bodies on the device.
    fn chunk(gpu: &Gpu, count: usize) -> usize {
        if count < Self::busy(gpu) { SMALL_CHUNK } else { LARGEST_CHUNK }
    }

    fn busy(gpu: &Gpu) -> usize {
        BUSY * gpu.info().multiprocessors.max(1) as usize
    }

    fn of_sizes(
        gpu: &Gpu,
        charge: Arc<Charge>,
        sizes: &BodySizes,
        units: Units,
        of_ranks: Option<[usize; 2]>,
    ) -> Result<Self, CudaError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let count = charge.bodies();
        if i32::try_from(count).is_err() {
            return Err(CudaError::TooManyBodies(count));
        }
        if charge.regions() > MOST_BLOCKS as usize {
            return Err(CudaError::Regions(charge.regions()));
        }
        let bins = charge.regions().saturating_mul(charge.grid().bins());
        if i32::try_from(bins).is_err() {
            return Err(CudaError::TooManyBins(bins));
        }
        let [rank, ranks] = of_ranks.unwrap_or([0, 1]);
        let setup = sizes.setup::<T>(&charge, units).of_rank(rank, ranks);
        let share = BodyDivision::new(charge.movable(), count).share(rank, ranks);
        let own = of_ranks.map(|_| first_own(sizes, share));

        let ids = &sizes.first_ids;
        let slots = records::<T>(&sizes.sizes, &ids[..setup.records as usize]);
        let large = records::<T>(&sizes.sizes, &ids[setup.bodies as usize..]);
        let module = gpu.instance::<T>("order", &defines("order", &charge, own.is_some()))?;
        Ok(Bodies {
            id: NEXT.fetch_add(1, Relaxed),
            gpu: gpu.clone(),
            count: count as u32,
            staleness: OrderStaleness::new(gpu)?,
            order: BodyOrder::new(gpu, &module, &setup, count < Self::busy(gpu), own)?,
            several: own.is_some(),
            moves: Moves::new(&module, count)?,
            starts: gpu.upload(&sizes.starts)?,
            fillers: gpu.upload(&sizes.fillers::<T>())?,
            large: gpu.upload(&large)?,
            ids: first_half(gpu, ids)?,
            records: first_half(gpu, &slots)?,
            chunks: gpu.zeros(setup.max_chunks as usize)?,
            staged: gpu.zeros(2 * count)?,
            setup,
            grid: charge.grid(),
            charge,
        })
    }

    /// Returns the charge that the bodies were made from.
    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    /// Returns the number of bodies, movable cells and fillers.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no body at all.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the bins.
    pub fn grid(&self) -> &BinGrid {
        &self.grid
    }

    /// Whether an order has been made.
    pub fn is_ordered(&self) -> bool {
        self.staleness.orders() > 0
    }

    /// Whether a new order pays: none was made yet, or bodies outside their halos have cost about
    /// as much as an order does. Only steps that have already run count. Does not wait.
    pub fn order_is_due(&self) -> bool {
        self.staleness.is_due(self.len())
    }

    /// Returns how many orders have been made.
    pub fn orders(&self) -> u32 {
        self.staleness.orders()
    }

    /// Returns the number of tiles of bins of all regions.
    pub(super) fn tiles(&self) -> usize {
        (self.setup.regions * self.setup.tiles_x) as usize * self.setup.tiles_y as usize
    }

    /// Returns the number of bins of all regions.
    pub(crate) fn bins(&self) -> usize {
        self.charge.regions() * self.grid.bins()
    }

    /// Returns the setup for the map of a region, from which `background` is subtracted.
    pub(super) fn setup_of(&self, region: usize, background: f64) -> Setup<T> {
        self.setup.of_region(self.charge.region_target_density(region), background)
    }

    /// Returns a file of kernels, compiled for one region or for several, and for one rank or
    /// `several`.
    pub(super) fn kernels(&self, unit: &str, several: bool) -> Result<Arc<CudaModule>, CudaError> {
        self.gpu.instance::<T>(unit, &defines(unit, &self.charge, several))
    }

    /// Returns the regions' tables, as kernels take them.
    pub(super) fn region_tables(&self) -> Regions<T> {
        Regions { starts: (&self.starts).into(), fillers: (&self.fillers).into() }
    }

    /// Refuses lower-left corners of other bodies or another device, and corners of which a kernel
    /// cannot read both coordinates at once.
    pub(crate) fn check_corners<'a>(
        &self,
        layout: impl Into<PositionLayout>,
        corners: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<(), CudaError> {
        self.check_pairs("lower-left corners", layout, corners)
    }

    /// Like [`Bodies::check_corners`], for any two values per body.
    pub(crate) fn check_pairs<'a>(
        &self,
        what: &'static str,
        layout: impl Into<PositionLayout>,
        values: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<(), CudaError> {
        let values = values.into();
        self.gpu.check(what, values, 2 * self.len())?;
        match layout.into() {
            PositionLayout::Caller(Layout::Halves) => Ok(()),
            _ => check_aligned(what, *values.address(), 2 * size_of::<T>()),
        }
    }

    /// Returns the arrays that orders on these ranks read and write. They include every rank's
    /// lower-left corners, a pair for each body, and for each body in its share the rank that
    /// processes it.
    pub(crate) fn together<'a>(
        all: impl Iterator<Item = &'a Self> + Clone,
        corners: [Pointer<T>; MOST_RANKS],
        worker: [Pointer<u8>; MOST_RANKS],
        blocks: BodyDivision,
    ) -> AllBodies<T> {
        AllBodies {
            counts: pointers(all.clone().map(|bodies| &bodies.order.counts)),
            ids: pointers(all.clone().map(|bodies| &bodies.ids)),
            records: pointers(all.clone().map(|bodies| &bodies.records)),
            corners,
            worker,
            shares: blocks.shares(all.count()),
            own: Pointer::NULL, // of the rank that makes its part
            half: 0,
            padding: 0,
        }
    }

    /// Enqueues the first half of a new order: it counts the bodies of every tile, with several
    /// ranks only this rank's bodies. A barrier must come before the second half.
    ///
    /// # Safety
    /// There is a pair of corners per body, in this layout, in memory of their device. With several
    /// ranks, `ranks` are [`Bodies::together`]. These live until all of it has run, and nothing
    /// else uses their arrays before a barrier after [`Bodies::place`].
    pub(crate) unsafe fn count(
        &mut self,
        corners: (PositionLayout, Array<T>),
        ranks: Option<&AllBodies<T>>,
    ) -> Result<(), CudaError> {
        // The following steps assume that the order has been made; in a capture it has not.
        self.gpu.stream_guard()?.check_not_capturing()?;
        self.order.begin(&self.gpu)?;
        // SAFETY: the caller's promise; the rest was made of these lengths by `new`.
        unsafe { self.order.count(self, corners, ranks) }
    }

    /// The second half: bodies go to their slots. Tiles are divided among several ranks anew, and
    /// this rank's bodies go to the ranks that then have their tiles.
    ///
    /// # Safety
    /// The same as for [`Bodies::count`], which came before it; `outputs` are of these bodies.
    pub(crate) unsafe fn place(
        &mut self,
        outputs: OrderOutputs<T>,
        ranks: Option<&AllBodies<T>>,
    ) -> Result<(), CudaError> {
        // SAFETY: as in `count`.
        unsafe { self.order.place(self, outputs, ranks) }?;
        self.order.made(outputs.slot_of.0 != 0);
        self.staleness.ordered();
        Ok(())
    }

    pub(super) fn check_ordered(&self) -> Result<(), CudaError> {
        if self.is_ordered() { Ok(()) } else { Err(CudaError::NotOrdered) }
    }

    /// Refuses objects made for other bodies.
    pub(super) fn check_own(&self, what: &'static str, id: u64) -> Result<(), CudaError> {
        if id == self.id { Ok(()) } else { Err(CudaError::OtherBodies(what)) }
    }

    /// Returns one block per chunk, after `extra` blocks for large bodies, with `values` values of
    /// 4 bytes per bin of a patch.
    pub(super) fn config(&self, extra: i32, values: usize) -> LaunchConfig {
        LaunchConfig {
            shared_mem_bytes: (PATCH * PATCH * values * 4) as u32,
            ..grid_of((self.setup.max_chunks + extra) as usize)
        }
    }

    /// Enqueues a new order from lower-left corners in the caller's order, a pair per body.
    ///
    /// # Errors
    /// If there is not a pair per body, the memory is another [`Gpu`]'s, or a launch fails.
    pub fn order(&mut self, corners: &DeviceVec<T>) -> Result<(), CudaError> {
        self.order_in(Layout::Pairs, corners)
    }

    /// Like [`Bodies::order`], from an array with this layout.
    ///
    /// # Errors
    /// Those of [`Bodies::order`], and if pairs are not aligned for a read at once.
    pub fn order_in<'a>(
        &mut self,
        layout: Layout,
        corners: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<(), CudaError> {
        let corners = corners.into();
        self.check_corners(layout, corners)?;
        let slot_of = self.order.slot_of_pointer();
        let outputs = OrderOutputs { slot_of, ..OrderOutputs::NONE };
        self.make_order((PositionLayout::Caller(layout), (&corners).into()), outputs)
    }

    /// Like [`Bodies::order`], from the positions of the last density in the caller's order. The
    /// density left them in slot order. `spare` has a pair per body and is overwritten.
    pub(crate) fn order_staged(&mut self, spare: &mut DeviceVec<T>) -> Result<(), CudaError> {
        self.check_corners(PositionLayout::Slots, &*spare)?;
        self.check_ordered()?;
        let (slot_of, corners) = (self.order.slot_of_pointer(), (&*spare).into());
        let outputs = OrderOutputs { slot_of, from: Pointer::NULL, corners };
        self.make_order((PositionLayout::Slots, (&self.staged).into()), outputs)?;
        // Large bodies keep their slots, which are the last ones, and are not copied.
        let moved = 2 * self.setup.bodies as usize;
        self.gpu.copy(spare.slice(0..moved), self.staged.slice_mut(0..moved))
    }

    /// Enqueues a new order from lower-left corners in slot order, which move with it. `from[s]`
    /// becomes the previous slot of the body that now has slot s. The caller moves its arrays with
    /// [`Bodies::rearrange`].
    ///
    /// # Errors
    /// If no order has been made yet, the corners have the wrong length or are another [`Gpu`]'s,
    /// `from` is of other bodies, or a launch fails.
    pub fn order_slots(
        &mut self,
        corners: &mut DeviceVec<T>,
        from: &mut Permutation,
    ) -> Result<(), CudaError> {
        self.check_corners(PositionLayout::Slots, &*corners)?;
        self.check_ordered()?;
        self.check_own("a permutation", from.bodies)?;
        // Most callers in slot order never ask for slots of bodies, which take as long as half an
        // order.
        let slot_of = Pointer::NULL;
        let outputs =
            OrderOutputs { slot_of, from: (&from.from).into(), corners: (&*corners).into() };
        self.make_order((PositionLayout::Slots, (&*corners).into()), outputs)
    }

    /// Makes an order from corners at an address. Lengths and devices have been checked.
    fn make_order(
        &mut self,
        corners: (PositionLayout, Array<T>),
        outputs: OrderOutputs<T>,
    ) -> Result<(), CudaError> {
        // SAFETY: corners and outputs were checked by the callers.
        unsafe {
            self.count(corners, None)?;
            self.place(outputs, None)
        }
    }

    /// Returns a permutation for [`Bodies::order_slots`] to write. It is the identity at first.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn permutation(&self) -> Result<Permutation, CudaError> {
        let identity: Vec<u32> = (0..self.count).collect();
        Ok(Permutation { bodies: self.id, from: self.gpu.upload(&identity)? })
    }

    /// Returns the slot of every body, in the caller's order. `rearrange` with it brings values in
    /// slot order to the caller's order. The first call after [`Bodies::order_slots`] enqueues it.
    ///
    /// # Errors
    /// If the launch fails.
    pub fn slot_of(&self) -> Result<PermutationView<'_>, CudaError> {
        let slots = self.order.slot_of(&self.gpu, self.id_of().from)?;
        Ok(PermutationView { bodies: self.id, from: slots.as_view() })
    }

    /// Returns the body of every slot: `rearrange` with it brings values in the caller's order to
    /// slot order. The next order is written to other memory.
    pub fn id_of(&self) -> PermutationView<'_> {
        let begin = self.order.half() * self.len();
        PermutationView { bodies: self.id, from: self.ids.slice(begin..begin + self.len()) }
    }

    /// Enqueues `moved[k] = values[from[k]]` for every body.
    ///
    /// # Errors
    /// If an array does not have one value per body or is another [`Gpu`]'s, `from` is of other
    /// bodies, or the launch fails.
    pub fn rearrange<'a>(
        &self,
        from: impl Into<PermutationView<'a>>,
        values: &DeviceVec<T>,
        moved: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        self.rearrange_as(&self.moves.single, 1, from.into(), values, moved)
    }

    /// Like [`Bodies::rearrange`] for pairs: two values per body, side by side, like positions and
    /// forces.
    ///
    /// # Errors
    /// Those of [`Bodies::rearrange`].
    pub fn rearrange_pairs<'a>(
        &self,
        from: impl Into<PermutationView<'a>>,
        pairs: &DeviceVec<T>,
        moved: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        self.rearrange_as(&self.moves.pairs, 2, from.into(), pairs, moved)
    }

    fn rearrange_as(
        &self,
        kernel: &Kernel<OrderMove<T>>,
        values_per_body: usize,
        from: PermutationView<'_>,
        values: &DeviceVec<T>,
        moved: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        check_length("values to move", values.len(), values_per_body * self.len())?;
        check_length("moved values", moved.len(), values_per_body * self.len())?;
        let (from, values, moved) = (self.indices(Some(from))?, values.into(), (&*moved).into());
        let arguments = OrderMove { count: self.count, from, values, moved };
        // SAFETY: both arrays have as many values as the kernel moves.
        unsafe { kernel.launch(&self.gpu, &arguments) }
    }

    /// Enqueues `pairs[k] = (x[f], y[f])` for every body, where f is `from[k]`
    /// or, without `from`, k.
    ///
    /// # Errors
    /// If an array has the wrong length or is another [`Gpu`]'s, `from` is of other bodies, or the
    /// launch fails.
    pub fn interleave<'a>(
        &self,
        from: Option<PermutationView<'_>>,
        (x, y): (impl Into<DeviceSlice<'a, T>>, impl Into<DeviceSlice<'a, T>>),
        pairs: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let (x, y) = (x.into(), y.into());
        check_length("x of bodies", x.len(), self.len())?;
        check_length("y of bodies", y.len(), self.len())?;
        check_length("pairs", pairs.len(), 2 * self.len())?;
        let (x, y, pairs) = ((&x).into(), (&y).into(), (&*pairs).into());
        let arguments =
            OrderInterleave { count: self.count, from: self.indices(from)?, x, y, pairs };
        // SAFETY: the arrays hold a value each, and a pair, per body.
        unsafe { self.moves.interleave.launch(&self.gpu, &arguments) }
    }

    /// Enqueues `(x[k], y[k]) = pairs[f]` for every body, f as in [`Bodies::interleave`].
    ///
    /// # Errors
    /// Those of [`Bodies::interleave`].
    pub fn deinterleave<'a>(
        &self,
        from: Option<PermutationView<'_>>,
        pairs: &DeviceVec<T>,
        (x, y): (impl Into<DeviceSliceMut<'a, T>>, impl Into<DeviceSliceMut<'a, T>>),
    ) -> Result<(), CudaError> {
        let (x, y) = (x.into(), y.into());
        check_length("pairs", pairs.len(), 2 * self.len())?;
        check_length("x of bodies", x.len(), self.len())?;
        check_length("y of bodies", y.len(), self.len())?;
        let (pairs, x, y) = (pairs.into(), (&x).into(), (&y).into());
        let arguments =
            OrderDeinterleave { count: self.count, from: self.indices(from)?, pairs, x, y };
        // SAFETY: as in `interleave`.
        unsafe { self.moves.deinterleave.launch(&self.gpu, &arguments) }
    }

    /// Returns the indices of a permutation of these bodies. There is one per body, each below the
    /// number of bodies, because only orders of these bodies write the permutation.
    fn indices(&self, from: Option<PermutationView<'_>>) -> Result<Array<u32>, CudaError> {
        if let Some(from) = &from {
            self.check_own("a permutation", from.bodies)?;
        }
        Ok(from.as_ref().map(|from| &from.from).into())
    }
}
