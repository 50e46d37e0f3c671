//! Whether a descent still leads anywhere, and which placement was its best.

use super::backend::Sample;

/// Iterations without a lower overflow after which a descent is looked at.
const PATIENCE: usize = 100;
/// It has diverged when HPWL is then this much above that of the best placement …
const HPWL_RISE: f64 = 1.2;
/// … or the overflow this much above its.
const OVERFLOW_RISE: f64 = 0.1;

/// Remembers the placement of the lowest smoothed overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Watch {
    best: Option<Best>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Best {
    iteration: usize,
    overflow: f64,
    hpwl: f64,
}

impl Watch {
    /// True when no iteration before had so little overflow.
    pub(super) fn is_best(&mut self, iteration: usize, sample: &Sample) -> bool {
        let overflow = sample.density.overflow;
        let better = self.best.is_none_or(|best| overflow < best.overflow);
        if better {
            self.best = Some(Best { iteration, overflow, hpwl: sample.hpwl });
        }
        better
    }

    /// The iteration of the best placement.
    pub(super) fn best_iteration(&self) -> usize {
        self.best.map_or(0, |best| best.iteration)
    }

    /// True when overflow has long not fallen and wirelength or overflow has grown.
    pub(super) fn has_diverged(&self, iteration: usize, sample: &Sample) -> bool {
        self.best.is_some_and(|best| {
            iteration > best.iteration + PATIENCE
                && (sample.hpwl > HPWL_RISE * best.hpwl
                    || sample.density.overflow > best.overflow + OVERFLOW_RISE)
        })
    }
}
