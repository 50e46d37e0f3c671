//! How worn the order of the bodies is, and when a new one is due.
//!
//! A stray (a body that has left the surroundings of the tile it was ordered
//! into) costs a step more than the others do, and an order costs every body a
//! little. The device adds up the strays of every step since the order, less
//! those that not even a fresh order mends, and posts the sum in memory of the
//! host. Once strays have cost about what an order costs, one is due. The host
//! reads the sum as it finds it and waits for nothing: it is that of the last
//! step that has run, which is the one before where the host waits once a step.

use super::device::Gpu;
use super::error::CudaError;
use cudarc::driver::{CudaSlice, PinnedHostSlice};
use std::sync::atomic::{AtomicU64, Ordering};

/// An order is due when the strays of all steps since the last one together are
/// more than one in this many bodies. On an H200 they have cost an order when they
/// are one in 14 to 18 in slots, and one in 7 to 12 in the caller's order (f32;
/// `benchmarks/density-force-log.md`, step 32).
pub(super) const ONE_STRAY_IN: u64 = 12;

/// Steps after which the CUDA engine orders bodies anew however few have strayed:
/// a host that enqueues steps without ever waiting learns late of strays.
pub const MOST_STEPS_PER_ORDER: u32 = 256;

/// Of one order of bodies after another.
pub(super) struct Wear {
    gpu: Gpu,
    /// `Wear` in `kernels/bodies.cuh`.
    pub(super) device: CudaSlice<u64>,
    posted: PinnedHostSlice<u64>,
    /// Where the host reads what is posted.
    address: usize,
    /// Orders enqueued, steps since the last of them.
    orders: u32,
    steps: u32,
    /// Whether to order has been decided for the step to come.
    decided: bool,
}

impl Wear {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        // No order yet; fewest strays: more than there can be; no excess.
        let device = gpu.upload(&[u64::from(u32::MAX) << 32, 0])?;
        // SAFETY: written just below. Page-locked memory has one address for
        // host and device.
        let mut posted = unsafe { gpu.context().alloc_pinned_with_flags::<u64>(1, 0) }?;
        posted.as_mut_slice()?.fill(0);
        let address = posted.as_ptr()?.expose_provenance();
        let gpu = gpu.clone();
        Ok(Wear { gpu, device, posted, address, orders: 0, steps: 0, decided: false })
    }

    /// The address that the device posts at.
    pub(super) fn post(&self) -> u64 {
        debug_assert_eq!(self.posted.len(), 1);
        self.address as u64
    }

    /// An order has been enqueued.
    pub(super) fn ordered(&mut self) {
        self.orders = self.orders.wrapping_add(1);
        self.steps = 0;
    }

    /// A step has been enqueued.
    pub(super) fn stepped(&mut self) {
        self.steps = self.steps.saturating_add(1);
        self.decided = false;
    }

    /// Orders enqueued so far.
    pub(super) fn orders(&self) -> u32 {
        self.orders
    }

    /// Strays that an order would have mended, of all steps since the last one
    /// together, as far as these have run.
    fn excess(&self) -> u64 {
        let at = std::ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: `posted` lives as long as this does, holds one aligned word,
        // and the device writes it whole.
        let word = unsafe { AtomicU64::from_ptr(at) }.load(Ordering::Acquire);
        // Steps before the last order may be all that has run.
        if (word >> 32) as u32 == self.orders { word & 0xffff_ffff } else { 0 }
    }

    /// Whether a new order is due for so many bodies.
    pub(super) fn is_due(&self, bodies: usize) -> bool {
        self.orders == 0
            || self.steps >= MOST_STEPS_PER_ORDER
            || self.excess() * ONE_STRAY_IN > bodies as u64
    }

    /// As [`Wear::is_due`] for the step to come, and false when that was asked
    /// before: what the device posts meanwhile must not make a step order that
    /// is being captured.
    pub(super) fn decide(&mut self, bodies: usize) -> bool {
        let asked = std::mem::replace(&mut self.decided, true);
        self.orders == 0 || (!asked && self.is_due(bodies))
    }
}

impl Drop for Wear {
    fn drop(&mut self) {
        // A step may still be under way, and post.
        let _ = self.gpu.stream().synchronize();
    }
}
