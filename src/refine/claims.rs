//! Choice of proposals that can be made at the same time.
//!
//! Each proposal claims the resources that it changes and those that its gain depends on. If two
//! proposals conflict, their numbers decide which goes first, so that the choice does not depend on
//! threads. The numbers are taken in an order without a pattern. Otherwise proposals of neighbours,
//! with consecutive numbers, would wait for one another in long chains (Blelloch, Fineman and Shun,
//! "Greedy sequential maximal independent set and matching are parallel on average", SPAA 2012).

use std::sync::atomic::{AtomicU64, Ordering};

/// A net, cell or gap that a proposal depends on, and whether it changes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) resource: u32,
    pub(super) changes: bool,
}

/// By resource, the first proposal that changes it, and the first that uses it.
pub(super) struct Claims {
    /// Turns so far: claims of earlier turns no longer count.
    turn: u32,
    changed: Vec<AtomicU64>,
    used: Vec<AtomicU64>,
}

impl Claims {
    pub(super) fn new(resources: usize) -> Self {
        let all = || (0..resources).map(|_| AtomicU64::new(u64::MAX)).collect();
        Claims { turn: 0, changed: all(), used: all() }
    }

    /// Begins with no claims.
    pub(super) fn begin(&mut self) {
        self.turn += 1;
    }

    /// Returns a stamp that is smaller than those of earlier turns, and within a turn in the order
    /// of [`place`].
    fn stamp(&self, proposal: u32) -> u64 {
        u64::from(u32::MAX - self.turn) << 32 | u64::from(place(proposal))
    }

    /// Notes the claims of a proposal, which names no resource twice.
    pub(super) fn stake(&self, proposal: u32, claims: &[Claim]) {
        for claim in claims {
            let of = if claim.changes { &self.changed } else { &self.used };
            of[claim.resource as usize].fetch_min(self.stamp(proposal), Ordering::Relaxed);
        }
    }

    /// Whether no earlier proposal changes a resource that this one uses, or uses a resource that
    /// this one changes. All claims must be noted before.
    pub(super) fn hold(&self, proposal: u32, claims: &[Claim]) -> bool {
        let stamp = self.stamp(proposal);
        let before =
            |of: &[AtomicU64], resource: u32| of[resource as usize].load(Ordering::Relaxed) < stamp;
        !claims.iter().any(|claim| {
            before(&self.changed, claim.resource)
                || (claim.changes && before(&self.used, claim.resource))
        })
    }
}

/// Returns the position of a number in an order without a pattern. These are the last steps of
/// MurmurHash3, which map no two numbers to one result.
fn place(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ number >> 13).wrapping_mul(0xc2b2_ae35);
    number ^ number >> 16
}

#[cfg(test)]
mod tests;
