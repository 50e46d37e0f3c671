//! Progress of a descent: its best placement, plateaus and divergence.
//!
//! # Pressure
//! In a descent that follows its weights, wirelength's gradient and λ times the density's gradient
//! cancel on every cell. The ratio of their norms, the *pressure* λ‖∇density‖₁ / ‖∇WA‖₁, is then
//! about 1. The pressure rises if λ grows faster than cells can follow, or if the density's force
//! can no longer move them. The density then dominates the placement, at the cost of wirelength. So
//! λ is held constant while the pressure is above a limit. If overflow does not fall even so, the
//! limit is doubled a few times. After that the descent is on a plateau, and the placement ends.
//!
//! # Balance
//! Cells of a sparse design have no overflow from the start on. So progress is measured by overflow
//! and by the pressure, which grows from its first value to the balance. A placement can be the
//! last one only after the balance, once wires no longer get shorter.
//!
//! # The best trade-off
//! While λ is in balance, the placement of the lowest overflow is the best. Beyond the balance, a
//! placement of less overflow is better only if its wires are not too long. For overflow lower by a
//! factor f, HPWL may be longer by [`PRICE`] · ln f. No placement seen so far has both less
//! overflow and shorter wires than the best.

use super::backend::Sample;

/// How often the limit is doubled if overflow stays.
const DOUBLINGS: i32 = 3;
/// PointVector iterations without less overflow after which the limit is doubled.
const PATIENCE: usize = 40;
/// Overflow has fallen when it is lower by this share.
const FALL: f64 = 0.01;
/// Iterations of a window. A descent is at rest or oscillates if its least overflow and HPWL are
/// the same in two consecutive windows, within [`REST`] …
const WINDOW: usize = 150;
const REST: f64 = 0.02;
/// … unless λ has grown in the window by this factor.
const GROWN: f64 = 2.0;
/// Relative rise of HPWL that a fall of overflow by a factor e is worth.
const PRICE: f64 = 0.1;
/// A placement of this many times the best placement's wirelength …
const HPWL_RISE: f64 = 1.2;
/// … and this much more overflow diverges.
const OVERFLOW_RISE: f64 = 0.1;
/// The pull of wires counts as at least this share of its largest possible value: while cells are
/// clumped it nearly vanishes, and the pressure is meaningless.
const LEAST_PULL: f64 = 0.05;

/// Wires and density are in balance from this pressure on.
const BALANCE: f64 = 0.5;
/// Iterations between two comparisons of HPWL …
const SETTLING: usize = 20;
/// … and the share by which it must fall between them to count as falling.
const SETTLED: f64 = 2e-3;

/// ‖∇WA‖₁ of a sample; `most` is its largest possible value.
pub(super) fn pull(sample: &Sample, most: f64) -> f64 {
    sample.wirelength_norm.max(LEAST_PULL * most)
}

/// λ‖∇density‖₁ / ‖∇WA‖₁ of a sample evaluated with weight `lambda`; 1 if no net can pull.
pub(super) fn pressure(sample: &Sample, lambda: f64, most_pull: f64) -> f64 {
    if most_pull > 0.0 { lambda * sample.density_norm / pull(sample, most_pull) } else { 1.0 }
}

/// Decision after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// Go on.
    GoOn,
    /// Go on from here without momentum.
    RestartMomentum,
    /// Overflow no longer falls.
    Plateau,
    /// The best placement is much better in both respects.
    Diverged,
}

/// The best placement so far, and how long overflow has not fallen.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct ConvergenceMonitor {
    best: Option<Best>,
    best_is_balanced: bool,
    /// Least overflow of all iterations.
    lowest: f64,
    /// Pressure up to which λ grows, at first and now.
    least_limit: f64,
    limit: f64,
    /// Overflow when it last fell, and later iterations in which λ was held constant.
    fallen: f64,
    held: usize,
    /// Least overflow and HPWL in this window and in the previous one.
    window: [f64; 2],
    before: [f64; 2],
    /// λ at the start of the window.
    lambda: f64,
    /// Pressure of a cold start.
    cold: f64,
    /// The remaining share, from 1 to 0, of the logarithmic distance from that pressure to the
    /// balance.
    imbalance: f64,
    /// HPWL at the last comparison, and whether it had stopped falling.
    hpwl: f64,
    settled: bool,
}

/// A placement in numbers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Best {
    pub(super) iteration: usize,
    pub(super) overflow: f64,
    pub(super) hpwl: f64,
    /// The weight that its successor is evaluated with.
    pub(super) lambda: f64,
}

impl ConvergenceMonitor {
    /// λ grows up to a pressure of `limit` at first; a cold start has the pressure `cold`.
    pub(super) fn new(limit: f64, cold: f64) -> Self {
        ConvergenceMonitor {
            best: None,
            best_is_balanced: false,
            lowest: f64::INFINITY,
            least_limit: limit,
            limit,
            fallen: f64::INFINITY,
            held: 0,
            window: [f64::MAX; 2],
            before: [f64::MAX; 2],
            lambda: 0.0,
            cold,
            imbalance: 1.0,
            hpwl: 0.0,
            settled: false,
        }
    }

    /// Records the pressure and HPWL of the placement at which the descent begins.
    pub(super) fn start(&mut self, pressure: f64, hpwl: f64) {
        (self.hpwl, self.settled) = (hpwl, false);
        self.follow(0, pressure, hpwl);
    }

    /// Records the pressure and HPWL of the placement after an iteration.
    pub(super) fn follow(&mut self, iteration: usize, pressure: f64, hpwl: f64) {
        // Without any force of the density everything is in balance.
        if pressure >= BALANCE || pressure == 0.0 || self.cold >= BALANCE {
            self.imbalance = 0.0;
        } else {
            let left = (BALANCE / pressure).ln() / (BALANCE / self.cold).ln();
            self.imbalance = self.imbalance.min(left);
        }
        if iteration % SETTLING == SETTLING - 1 {
            self.settled = self.is_balanced() && hpwl >= (1.0 - SETTLED) * self.hpwl;
            self.hpwl = hpwl;
        }
    }

    /// Records that other net weights measure wires from here on, with this HPWL; λ was multiplied
    /// by `scale`.
    pub(super) fn reweigh(&mut self, hpwl: f64, scale: f64) {
        (self.hpwl, self.settled) = (hpwl, false);
        (self.best, self.lowest) = (None, f64::INFINITY);
        self.before[1] = f64::MAX;
        self.window[1] = f64::MAX;
        self.lambda *= scale;
    }

    /// Whether wires and density have been in balance since the start.
    pub(super) fn is_balanced(&self) -> bool {
        self.imbalance == 0.0
    }

    /// Whether they have, and wires have stopped getting shorter.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns the distance to the end of a descent at this overflow: 1 at a cold start, 0 once
    /// cells are spread and in balance.
    pub(super) fn remaining(&self, overflow: f64) -> f64 {
        overflow.max(self.imbalance)
    }

    /// Whether this is the best trade-off so far. Placements before the balance count until then.
    pub(super) fn is_best(&mut self, now: Best) -> bool {
        if self.is_balanced() && !self.best_is_balanced {
            (self.best, self.lowest, self.best_is_balanced) = (None, f64::INFINITY, true);
        }
        let in_balance = self.limit == self.least_limit && self.held == 0;
        let better = self.best.is_none_or(|best| {
            let fall = (best.overflow / now.overflow).ln();
            let least = now.overflow < self.lowest && in_balance;
            let worth =
                now.overflow < best.overflow && now.hpwl <= best.hpwl * (1.0 + PRICE * fall);
            least || worth || (now.overflow == best.overflow && now.hpwl < best.hpwl)
        });
        if better {
            self.best = Some(now);
        }
        self.lowest = self.lowest.min(now.overflow);
        better
    }

    /// Returns the best placement, once there is one.
    pub(super) fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// Records that the descent continues from the best placement.
    pub(super) fn return_to_best(&mut self) {
        self.held = 0;
        self.limit = self.least_limit;
        self.fallen = self.best.map_or(f64::INFINITY, |best| best.overflow);
    }

    /// Whether λ must not grow.
    pub(super) fn holds(&self, pressure: f64) -> bool {
        pressure > self.limit
    }

    /// Decides how to continue after an iteration that led to `sample`, evaluated with weight
    /// `lambda`.
    pub(super) fn advise(
        &mut self,
        iteration: usize,
        sample: &Sample,
        lambda: f64,
        pressure: f64,
    ) -> Advice {
        let (overflow, hpwl) = (sample.density.overflow, sample.hpwl);
        if overflow < (1.0 - FALL) * self.fallen {
            (self.fallen, self.held) = (overflow, 0);
        } else if self.holds(pressure) {
            self.held += 1;
        }
        if !self.is_stalled(iteration, [overflow, hpwl], lambda) && self.held < PATIENCE {
            return Advice::GoOn;
        }
        self.held = 0;
        self.fallen = overflow.max(self.lowest);
        self.limit *= 2.0;
        let long = self.best.is_some_and(|best| hpwl > HPWL_RISE * best.hpwl);
        let dense = self.best.is_some_and(|best| overflow > best.overflow + OVERFLOW_RISE);
        if long && dense {
            Advice::Diverged
        } else if long || self.limit > self.least_limit * 2f64.powi(DOUBLINGS) {
            Advice::Plateau
        } else {
            Advice::RestartMomentum
        }
    }

    /// True at the end of a window in which nothing has changed.
    fn is_stalled(&mut self, iteration: usize, now: [f64; 2], lambda: f64) -> bool {
        self.window = [0, 1].map(|k| self.window[k].min(now[k]));
        if iteration == 0 || !iteration.is_multiple_of(WINDOW) {
            return false;
        }
        let same = |k: usize| (self.window[k] - self.before[k]).abs() <= REST * self.before[k];
        let stalled = same(0) && same(1) && lambda < GROWN * self.lambda;
        (self.before, self.window, self.lambda) = (self.window, [f64::MAX; 2], lambda);
        stalled
    }
}
