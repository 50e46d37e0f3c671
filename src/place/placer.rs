//! The descent: what is decided from one evaluation to the next.

use super::PlaceError;
use super::backend::{Backend, Held, Sample, StageSplit, Weights};
use super::nesterov;
use super::schedule;
use super::watch::Watch;
use serde::Serialize;

/// The first step's length is found from a trial move of this many bins (root
/// mean square): enough for `f32` to see the gradient change.
const TRIAL_MOVE: f64 = 0.01;
/// A step is taken when the gradient it led to allows more than this share of it …
const ACCEPTED: f64 = 0.95;
/// … or after so many tries.
const MOST_TRIES: u32 = 10;
/// Longest step over the inverse of what the density's curvature can be in its
/// densest bin: beyond 2, bodies there oscillate with growing amplitude.
const MOST_OVERSHOOT: f64 = 2.0;
/// Longest step over γ: from 1 to 1.2 serve alike ([`Placer::short_nets_step`]).
const MOST_GAMMAS: f64 = 1.1;

/// When to stop: the default, and what is to differ from it.
///
/// ```
/// use placefield::place::PlaceOptions;
/// let options = PlaceOptions::default().stop_overflow(0.1).iterations(500);
/// assert!(!options.warm);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlaceOptions {
    /// Smoothed overflow at which the placement is done; 0.07 by default.
    pub stop_overflow: f64,
    /// Most iterations; 1000 by default.
    pub iterations: usize,
    /// About the least that HPWL can be once cells are spread, layout units
    /// ([`schedule::least_hpwl`]), so that λ need not wait for wires that are
    /// short only because nothing is spread yet; 0 when it is not known.
    pub least_hpwl: f64,
    /// Whether the start is a placement to be kept near to: the first weight of
    /// the density is chosen by its overflow
    /// ([`schedule::first_density_share`]) and not for a centred start.
    pub warm: bool,
}

impl Default for PlaceOptions {
    fn default() -> Self {
        PlaceOptions { stop_overflow: 0.07, iterations: 1000, least_hpwl: 0.0, warm: false }
    }
}

impl PlaceOptions {
    /// Done at this smoothed overflow.
    #[must_use]
    pub fn stop_overflow(self, stop_overflow: f64) -> Self {
        PlaceOptions { stop_overflow, ..self }
    }

    /// At most so many iterations.
    #[must_use]
    pub fn iterations(self, iterations: usize) -> Self {
        PlaceOptions { iterations, ..self }
    }

    /// With about the least HPWL that a spread placement can have, layout units.
    #[must_use]
    pub fn least_hpwl(self, least_hpwl: f64) -> Self {
        PlaceOptions { least_hpwl, ..self }
    }

    /// Whether the start is a placement to be kept near to.
    #[must_use]
    pub fn warm(self, warm: bool) -> Self {
        PlaceOptions { warm, ..self }
    }
}

/// One iteration in numbers; iteration 0 is the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Record {
    /// From 0.
    pub iteration: usize,
    /// Of the placement the iteration led to.
    #[serde(flatten)]
    pub sample: Sample,
    /// Smoothing length it was evaluated with, layout units.
    pub gamma: f64,
    /// Weight of the density it was evaluated with.
    pub lambda: f64,
    /// Length of the step that led to it.
    pub step: f64,
    /// Evaluations it took.
    pub tries: u32,
    /// Milliseconds of all of them together.
    #[serde(rename = "times_ms")]
    pub times: StageSplit,
}

/// How a placement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The overflow asked for was reached.
    Converged,
    /// The iterations were spent before.
    OutOfIterations,
    /// Wirelength grew while overflow did not fall any more; the best placement
    /// before is the result.
    Diverged,
    /// A number was NaN or infinite; the best placement before is the result.
    NotFinite,
    /// The caller stopped it.
    Interrupted,
}

/// A placement in progress on a [`Backend`].
pub struct Placer<'b> {
    backend: &'b mut dyn Backend,
    options: PlaceOptions,
    base_gamma: f64,
    weights: Weights,
    /// Nesterov's a.
    coefficient: f64,
    step: f64,
    last: Record,
    watch: Watch,
    outcome: Option<Outcome>,
}

impl<'b> Placer<'b> {
    /// Evaluates the start, lower-left corners of every body, and chooses the
    /// first weights and the first step from it.
    ///
    /// # Errors
    /// When there is nothing to move, the start's numbers are not finite, no net
    /// pulls at any cell, or the engine failed.
    pub fn new(
        backend: &'b mut dyn Backend,
        x: &[f64],
        y: &[f64],
        options: &PlaceOptions,
    ) -> Result<Self, PlaceError> {
        if backend.charge().movable() == 0 {
            return Err(PlaceError::NothingMovable);
        }
        let base_gamma = schedule::base_gamma(&backend.charge().grid());
        backend.start(x, y)?;
        let gamma = base_gamma * schedule::gamma_factor(1.0);
        let mut weights = Weights { gamma, lambda: 0.0, area_factor: 1.0 };
        let mut first = backend.evaluate(&weights)?;
        let overflow = first.density.overflow;
        if options.warm && first.is_finite() {
            weights.gamma = base_gamma * schedule::gamma_factor(overflow);
            first = backend.evaluate(&weights)?;
        }
        if !first.is_finite() {
            return Err(PlaceError::NotFinite);
        }
        if first.wirelength_norm == 0.0 {
            return Err(PlaceError::NothingPulls);
        }
        let share = match options.warm {
            true => schedule::first_density_share(overflow),
            false => schedule::FIRST_DENSITY_SHARE,
        };
        if first.density_norm > 0.0 {
            weights.lambda = share * first.wirelength_norm / first.density_norm;
        }
        let mut placer = Placer {
            options: *options,
            base_gamma,
            weights,
            coefficient: 1.0,
            step: 0.0,
            last: Record {
                iteration: 0,
                sample: first,
                gamma: weights.gamma,
                lambda: weights.lambda,
                step: 0.0,
                tries: 1,
                times: StageSplit::default(),
            },
            watch: Watch::default(),
            outcome: None,
            backend,
        };
        placer.begin()?;
        Ok(placer)
    }

    /// The first gradient with the weights chosen, and the first step's length.
    fn begin(&mut self) -> Result<(), PlaceError> {
        let sample = self.backend.evaluate(&self.weights)?;
        if !sample.is_finite() {
            return Err(PlaceError::NotFinite);
        }
        self.last.sample = sample;
        self.last.times = self.backend.times();
        let charge = self.backend.charge();
        let bin = (charge.grid().bin_x() * charge.grid().bin_y()).sqrt();
        let unknowns = 2.0 * charge.bodies() as f64;
        let mean_gradient = (sample.gradient_squared / unknowns).sqrt();
        if mean_gradient > 0.0 {
            let trial = TRIAL_MOVE * bin / mean_gradient;
            let tried = self.backend.propose(trial, 0.0, &self.weights)?;
            self.step = tried.allowed_step().unwrap_or(trial);
        }
        self.judge()
    }

    /// The iteration last done.
    pub fn last(&self) -> &Record {
        &self.last
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// The backend, to read positions and maps of.
    pub fn backend(&mut self) -> &mut dyn Backend {
        self.backend
    }

    /// Ends the placement as it stands.
    pub fn interrupt(&mut self) {
        self.outcome.get_or_insert(Outcome::Interrupted);
    }

    /// One iteration; none once the placement has ended.
    ///
    /// # Errors
    /// When the engine failed.
    pub fn step(&mut self) -> Result<Option<&Record>, PlaceError> {
        if self.outcome.is_some() {
            return Ok(None);
        }
        let (momentum, next) = nesterov::momentum(self.coefficient);
        let (mut tries, mut times, mut step) = (0, StageSplit::default(), self.step);
        let (sample, allowed) = loop {
            let sample = self.backend.propose(step, momentum, &self.weights)?;
            tries += 1;
            times.add(&self.backend.times());
            let allowed = sample.allowed_step().unwrap_or(step);
            if allowed > ACCEPTED * step || tries == MOST_TRIES || !sample.is_finite() {
                break (sample, allowed);
            }
            step = allowed;
        };
        let before = self.last.sample.hpwl;
        self.last = Record {
            iteration: self.last.iteration + 1,
            sample,
            gamma: self.weights.gamma,
            lambda: self.weights.lambda,
            step,
            tries,
            times,
        };
        if sample.is_finite() {
            self.backend.accept()?;
            self.coefficient = next;
            self.reweigh(sample.hpwl - before);
            self.step = allowed.min(self.densest_step()).min(self.short_nets_step());
        }
        self.judge()?;
        Ok(Some(&self.last))
    }

    /// γ and λ of the next iteration.
    fn reweigh(&mut self, rise: f64) {
        let sample = &self.last.sample;
        let reference = schedule::reference(sample.hpwl, self.options.least_hpwl);
        // As DREAMPlace does, from the second iteration on: the first follows no other.
        if self.last.iteration > 1 && reference > 0.0 {
            self.weights.lambda *= schedule::mu(self.last.iteration, rise, reference);
        }
        self.weights.gamma = self.base_gamma * schedule::gamma_factor(sample.density.overflow);
    }

    /// The longest step that bodies in the densest bin take without oscillating.
    ///
    /// ∇·E = ρ − mean ρ, so that λ · force / preconditioner of a body of no pins
    /// changes by at most min(1, λ · area) · (ρ_max − 1) / bin width over a unit
    /// of length. The mean over all bodies, which the other bound is made from,
    /// does not show a few that oscillate: on a grid finer than the cells they can
    /// carry the others away.
    fn densest_step(&self) -> f64 {
        let (charge, sample) = (self.backend.charge(), &self.last.sample);
        let area = charge.movable_area() / charge.movable() as f64;
        let density = (sample.density.max - 1.0).max(0.0) / charge.grid().bin_x();
        MOST_OVERSHOOT / (density * (self.weights.lambda * area).min(1.0))
    }

    /// The longest step that cells joined by short nets take without oscillating far.
    ///
    /// WA of two pins d apart is d · tanh(d/2γ). Where d is short against γ, two
    /// cells that move against each other have a preconditioned curvature of
    /// 2/γ, with which accelerated descent is stable up to steps of 4/3 · γ/2. The mean
    /// over all bodies stays there while cells are clumped (0.67 γ) and allows
    /// 2 γ in the end. Then those few oscillate, by 1 % of HPWL on adaptec1's
    /// statistics, until all at once they converge, at an iteration that
    /// rounding decides.
    fn short_nets_step(&self) -> f64 {
        MOST_GAMMAS * self.weights.gamma
    }

    /// Keeps the placement when it is the best so far, and sees whether it is the last.
    fn judge(&mut self) -> Result<(), PlaceError> {
        let Record { iteration, sample, .. } = self.last;
        if !sample.is_finite() {
            self.outcome = Some(Outcome::NotFinite);
            return Ok(());
        }
        if self.watch.is_best(iteration, &sample) {
            self.backend.keep()?;
        }
        self.outcome = if sample.density.overflow <= self.options.stop_overflow {
            Some(Outcome::Converged)
        } else if self.watch.has_diverged(iteration, &sample) {
            Some(Outcome::Diverged)
        } else if iteration >= self.options.iterations {
            Some(Outcome::OutOfIterations)
        } else {
            None
        };
        Ok(())
    }

    /// Iteration whose placement is the result: the last one, or the best
    /// before when the descent failed.
    pub fn result_iteration(&self) -> usize {
        if self.result() == Held::Kept { self.watch.best_iteration() } else { self.last.iteration }
    }

    fn result(&self) -> Held {
        match self.outcome {
            Some(Outcome::Diverged | Outcome::NotFinite) => Held::Kept,
            _ => Held::Current,
        }
    }

    /// Lower-left corners of every body in the result so far.
    ///
    /// # Errors
    /// When the device failed.
    pub fn positions(&mut self) -> Result<(Vec<f64>, Vec<f64>), PlaceError> {
        let bodies = self.backend.charge().bodies();
        let (mut x, mut y) = (vec![0.0; bodies], vec![0.0; bodies]);
        self.backend.read_positions(self.result(), &mut x, &mut y)?;
        Ok((x, y))
    }
}
