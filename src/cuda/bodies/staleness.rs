//! How stale the order of the bodies is, and when a new one is due.
//!
//! A body is outside its halo if it has left the tile that it was ordered into and the 4 bins
//! around that tile. It costs a step more than other bodies do, and an order costs every body a
//! little. The device adds up the bodies outside their halos in every step since the order, less
//! those that a new order would leave outside, too. It writes the sum to host memory. Once these
//! bodies have cost about as much as an order costs, a new order is due. The host reads the present
//! sum and waits for nothing. The sum is that of the last step that has run: the previous step, if
//! the host waits once a step.

use crate::cuda::device::bindings::bodies::Age;
use crate::cuda::device::{Array, CudaError, DeviceVec, Gpu, Pinned};
use std::sync::atomic::{AtomicU64, Ordering};

/// An order is due when the bodies outside their halos in all steps since the last order together
/// exceed one in this many. On an H200 they cost as much as an order when they are one in 14 to 18
/// in slots, and one in 7 to 12 in the caller's order. (f32; `benchmarks/experiments.md`, density
/// and force, row 32.)
const ONE_OUTSIDE_IN: u64 = 12;

/// Steps after which the CUDA engine orders bodies anew, even if few are outside their halos: a
/// host that enqueues steps without ever waiting learns of them late.
pub const MOST_STEPS_PER_ORDER: u32 = 256;

/// How stale the current order is; one lasts through all orders of its bodies.
pub(crate) struct OrderStaleness {
    pub(super) age: DeviceVec<Age>,
    /// One value, which the device writes.
    posted: Pinned<u64>,
    /// Number of orders enqueued, and steps since the last of them.
    orders: u32,
    steps: u32,
    /// Whether the decision about an order for the next step has been made.
    decided: bool,
}

impl OrderStaleness {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        // The least number outside: more than there can be.
        Ok(OrderStaleness {
            age: gpu.upload(&[Age { order: 0, least: u32::MAX, excess: 0 }])?,
            posted: Pinned::zeros(gpu, 1)?,
            orders: 0,
            steps: 0,
            decided: false,
        })
    }

    /// Returns the address to which the device posts.
    pub(super) fn post(&self) -> Array<u64> {
        Array::at(self.posted.address())
    }

    /// Records that an order has been enqueued.
    pub(super) fn ordered(&mut self) {
        self.orders = self.orders.wrapping_add(1);
        self.steps = 0;
    }

    /// Records that a step has been enqueued.
    pub(crate) fn stepped(&mut self) {
        self.steps = self.steps.saturating_add(1);
        self.decided = false;
    }

    /// Returns the number of orders enqueued so far.
    pub(super) fn orders(&self) -> u32 {
        self.orders
    }

    /// Returns the number of bodies outside their halos that an order would bring inside, summed
    /// over all steps since the last order. Only steps that have already run count.
    fn excess(&self) -> u64 {
        // SAFETY: `posted` lives as long as this does and holds one aligned
        // value, which the device writes whole and the host only reads here.
        let posted = unsafe { AtomicU64::from_ptr(self.posted.start().as_ptr()) };
        let value = posted.load(Ordering::Acquire);
        // Only steps before the last order may have run.
        if (value >> 32) as u32 == self.orders { value & 0xffff_ffff } else { 0 }
    }

    /// Whether a new order is due for this number of bodies.
    pub(super) fn is_due(&self, bodies: usize) -> bool {
        self.orders == 0
            || self.steps >= MOST_STEPS_PER_ORDER
            || self.excess() * ONE_OUTSIDE_IN > bodies as u64
    }

    /// Like [`OrderStaleness::is_due`] for the next step, and false if this was already decided. A
    /// value posted by the device meanwhile must not make a step order that is being captured.
    pub(crate) fn decide(&mut self, bodies: usize) -> bool {
        let asked = std::mem::replace(&mut self.decided, true);
        self.orders == 0 || (!asked && self.is_due(bodies))
    }
}
