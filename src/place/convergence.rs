//! Progress of a descent: its best placement, plateaus and divergence.
//!
//! # Pressure
//! Where the descent follows its weights, wirelength's gradient and λ times the
//! density's cancel on every cell, and the ratio of their norms, the *pressure*
//! λ‖∇density‖₁ / ‖∇WA‖₁, is about 1. Where λ grows faster than cells can follow, or
//! where the density's force can no longer move them, it rises: the placement is then
//! about density alone, and wires are what it costs. So λ is held while the pressure
//! is above a limit. Where overflow does not fall even so, the limit is doubled a few
//! times; then this is the plateau, and the placement has ended.
//!
//! # Balance
//! Cells of a sparse design have no overflow from the start on. So how far a descent has come is told
//! by overflow and by the pressure, which grows from its first value to the balance; and a placement
//! is the last one only after the balance, where wires get no shorter.
//!
//! # The best trade-off
//! While λ is in balance, the placement of the lowest overflow is the best. Beyond, one of
//! less overflow is better only as long as its wires are worth it: for overflow
//! lower by a factor f, HPWL may be longer by [`PRICE`] · ln f.
//! No placement seen has both less overflow and shorter wires than the best.

use super::backend::Sample;

/// How often the limit is doubled where overflow stays.
const DOUBLINGS: i32 = 3;
/// PointVector iterations without less overflow after which it is.
const PATIENCE: usize = 40;
/// Overflow has fallen when it is lower by this share.
const FALL: f64 = 0.01;
/// Iterations of a window; a descent whose least overflow and HPWL are in one what they were in
/// the one before, within [`REST`], is at rest or oscillates …
const WINDOW: usize = 150;
const REST: f64 = 0.02;
/// … unless λ has grown in it by this factor.
const GROWN: f64 = 2.0;
/// HPWL that this share of overflow, in natural logarithms, is worth.
const PRICE: f64 = 0.1;
/// A placement of this many times the best's wirelength …
const HPWL_RISE: f64 = 1.2;
/// … and this much more overflow leads nowhere.
const OVERFLOW_RISE: f64 = 0.1;
/// The pull of wires is taken as at least this share of the largest it can be: while
/// cells are clumped it nearly vanishes, and the pressure says nothing.
const LEAST_PULL: f64 = 0.05;

/// Pressure from which on wires and density are in balance.
const BALANCE: f64 = 0.5;
/// Iterations between two comparisons of HPWL …
const SETTLING: usize = 20;
/// … and the share by which it must fall between them to count as falling.
const SETTLED: f64 = 2e-3;

/// ‖∇WA‖₁ of a sample; `most` is the largest that it can be.
pub(super) fn pull(sample: &Sample, most: f64) -> f64 {
    sample.wirelength_norm.max(LEAST_PULL * most)
}

/// λ‖∇density‖₁ / ‖∇WA‖₁ of a sample evaluated with weight `lambda`; 1 where no net can pull.
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
    /// Overflow does not fall any more.
    Plateau,
    /// The best placement is better in both ways, by much.
    Diverged,
}

/// The best placement so far, and since when overflow has not fallen.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct ConvergenceMonitor {
    best: Option<Best>,
    best_is_balanced: bool,
    /// Least overflow of all iterations.
    lowest: f64,
    /// Pressure up to which λ grows, at first and now.
    least_limit: f64,
    limit: f64,
    /// Overflow when it last had fallen, and iterations since in which λ was held.
    fallen: f64,
    held: usize,
    /// Least overflow and HPWL in this window and in the one before.
    window: [f64; 2],
    before: [f64; 2],
    /// λ at the window's begin.
    lambda: f64,
    /// Pressure of a cold start.
    cold: f64,
    /// How much of the way from there to the balance is left, by logarithms, from 1 to 0.
    imbalance: f64,
    /// HPWL at the last comparison, and whether it fell no more.
    hpwl: f64,
    settled: bool,
}

/// A placement in numbers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Best {
    pub(super) iteration: usize,
    pub(super) overflow: f64,
    pub(super) hpwl: f64,
    /// With which its successor is evaluated.
    pub(super) lambda: f64,
}

impl ConvergenceMonitor {
    /// Where λ grows up to a pressure of `limit` at first; that of a cold start is `cold`.
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

    /// The descent begins at a placement of this pressure and HPWL.
    pub(super) fn start(&mut self, pressure: f64, hpwl: f64) {
        (self.hpwl, self.settled) = (hpwl, false);
        self.follow(0, pressure, hpwl);
    }

    /// An iteration led to a placement of this pressure and HPWL.
    pub(super) fn follow(&mut self, iteration: usize, pressure: f64, hpwl: f64) {
        // Without any force of the density nothing is out of balance.
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

    /// Wires are measured by other net weights from here on, and HPWL is this; λ was multiplied by
    /// `scale`.
    pub(super) fn reweigh(&mut self, hpwl: f64, scale: f64) {
        (self.hpwl, self.settled) = (hpwl, false);
        (self.best, self.lowest) = (None, f64::INFINITY);
        self.before[1] = f64::MAX;
        self.window[1] = f64::MAX;
        self.lambda *= scale;
    }

    /// Whether wires and density were in balance since the start.
    pub(super) fn is_balanced(&self) -> bool {
        self.imbalance == 0.0
    }

    /// Whether they were, and wires got no shorter lately.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// How far the end of a descent is away at this overflow: 1 at a cold start, 0 where cells are
    /// spread and in balance.
    pub(super) fn remaining(&self, overflow: f64) -> f64 {
        overflow.max(self.imbalance)
    }

    /// True when this is the best trade-off so far. Those before the balance count until then.
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

    /// The descent goes on from the best placement.
    pub(super) fn return_to_best(&mut self) {
        self.held = 0;
        self.limit = self.least_limit;
        self.fallen = self.best.map_or(f64::INFINITY, |best| best.overflow);
    }

    /// Whether λ must not grow.
    pub(super) fn holds(&self, pressure: f64) -> bool {
        pressure > self.limit
    }

    /// Decides how to go on after an iteration that led to `sample`, evaluated with weight
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
