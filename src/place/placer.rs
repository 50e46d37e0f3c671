//! The descent: decisions from one evaluation to the next.

use super::backend::{Backend, PointVector, StageSplit, Weights};
use super::checkpoint::{Checkpoint, State};
use super::convergence::{self, Advice, Best, ConvergenceMonitor, pressure};
use super::nesterov;
use super::options::{PlaceOptions, Schedule};
use super::record::Record;
use super::schedule;
use super::standard::ClassOverflow;
use super::{Outcome, PlaceError};
use crate::charge::Charge;
use crate::engine::{DensityStats, EngineError};

/// A trial move of this many bins (root mean square) determines the first step's length. It is long
/// enough for a change of the gradient in `f32`.
const TRIAL_MOVE: f64 = 0.01;
/// A step is accepted if the gradient after it allows more than this share of the step …
const ACCEPTED: f64 = 0.95;
/// … or after this many tries.
const MOST_TRIES: u32 = 10;
/// Longest step, over the inverse of the largest curvature of the density in its densest bin:
/// beyond 2, bodies there oscillate with growing amplitude.
const MOST_OVERSHOOT: f64 = 2.0;
/// Longest step over γ: values from 1 to 1.2 do equally well ([`Placer::short_nets_step`]).
const MOST_GAMMAS: f64 = 1.1;
/// How often a failed descent is restarted from the best placement so far.
const RETURNS: u32 = 3;
/// Iterations between two computations of the overflow of fences and of cells beside macros.
const PARTS_EVERY: usize = 10;
/// Largest λ over its first value, so that its products are finite in `f32`.
const MOST_GROWTH: f64 = 1e24;

/// [`schedule::base_gamma`] of a charge.
fn first_gamma(charge: &Charge, schedule: &Schedule) -> f64 {
    schedule::base_gamma(&charge.grid(), schedule.gamma, schedule::pitch(charge))
}

/// A placement in progress on a [`Backend`].
pub struct Placer<'b> {
    backend: &'b mut dyn Backend,
    options: PlaceOptions,
    base_gamma: f64,
    /// Whether cells move beside macros that move.
    beside_macros: bool,
    /// Computed when first needed: with as many bins as bodies this takes a second.
    parts: Option<ClassOverflow>,
    state: State,
    outcome: Option<Outcome>,
}

impl<'b> Placer<'b> {
    /// Evaluates the start, lower-left corners of every body, and derives the first weights and the
    /// first step from it.
    ///
    /// # Errors
    /// If an option is outside its range, nothing is movable without [`PlaceOptions::warm`], the
    /// start's numbers are not finite, or the engine failed. With `warm`, a placement without
    /// movable cells has converged.
    pub fn new(
        backend: &'b mut dyn Backend,
        x: &[f64],
        y: &[f64],
        options: &PlaceOptions,
    ) -> Result<Self, PlaceError> {
        Self::start(backend, x, y, options, None)
    }

    /// Like [`Placer::new`] for a warm start, but with this λ: a descent continues with other
    /// bodies.
    ///
    /// # Errors
    /// Those of [`Placer::new`].
    pub fn branch(
        backend: &'b mut dyn Backend,
        x: &[f64],
        y: &[f64],
        options: &PlaceOptions,
        lambda: f64,
    ) -> Result<Self, PlaceError> {
        Self::start(backend, x, y, &options.warm(true), Some(lambda))
    }

    fn start(
        backend: &'b mut dyn Backend,
        x: &[f64],
        y: &[f64],
        options: &PlaceOptions,
        lambda: Option<f64>,
    ) -> Result<Self, PlaceError> {
        options.check()?;
        let nothing_moves = backend.charge().movable() == 0;
        if nothing_moves && !options.warm {
            return Err(PlaceError::NothingMovable);
        }
        let schedule = &options.schedule;
        let base_gamma = first_gamma(backend.charge(), schedule);
        start_at(backend, x, y)?;
        if nothing_moves {
            let gamma = base_gamma;
            let weights = Weights { gamma, lambda: 0.0, pin_factor: 1.0, area_factor: 1.0 };
            let first = backend.evaluate(&weights)?;
            let state = State::new(weights, first, ConvergenceMonitor::new(schedule.pressure, 1.0));
            let mut placer = Placer::on(backend, options, state)?;
            placer.backend.keep()?;
            placer.outcome = Some(Outcome::Converged);
            return Ok(placer);
        }
        // Fixed cells need a factor that is not zero.
        let factor = if options.precondition { 1.0 } else { f64::from(f32::MIN_POSITIVE) };
        let pull = backend.netlist().pull();
        let factor = factor / pull.per_pin;
        let gamma = base_gamma * schedule::gamma_factor(1.0);
        let mut weights = Weights { gamma, lambda: 0.0, pin_factor: factor, area_factor: factor };
        let mut first = backend.evaluate(&weights)?;
        let overflow = first.density.overflow;
        if options.warm && first.is_finite() {
            weights.gamma = base_gamma * schedule::gamma_factor(overflow);
            first = backend.evaluate(&weights)?;
        }
        if !first.is_finite() {
            return Err(PlaceError::NotFinite);
        }
        let share = match options.warm {
            true => {
                let overflow = overflow.max(options.warm_overflow);
                schedule::first_density_weight(overflow, schedule.density_weight)
            }
            false => schedule.density_weight,
        };
        let pulls = convergence::pull(&first, pull.most);
        let from = if first.wirelength_norm > 0.0 { first.wirelength_norm } else { pulls };
        let monitor =
            ConvergenceMonitor::new(schedule.pressure, schedule.density_weight * from / pulls);
        if pull.most == 0.0 {
            // Only the density counts.
            weights.lambda = 1.0 / (factor * mean_area(backend.charge()));
        } else if first.density_norm > 0.0 {
            weights.lambda = share * from / first.density_norm;
        }
        weights.lambda = lambda.unwrap_or(weights.lambda);
        let mut placer = Placer::on(backend, options, State::new(weights, first, monitor))?;
        placer.begin()?;
        placer.judge()?;
        Ok(placer)
    }

    /// Continues from a [`Placer::checkpoint`], bit for bit on the same kind of engine. `backend`
    /// must have the same bodies, nets and bins. If the placement had ended, it has ended here,
    /// too.
    ///
    /// # Errors
    /// If an option is outside its range, the checkpoint has another number of vectors or bodies,
    /// or the engine failed.
    pub fn resume(
        backend: &'b mut dyn Backend,
        checkpoint: &Checkpoint,
        options: &PlaceOptions,
    ) -> Result<Self, PlaceError> {
        options.check()?;
        checkpoint.restore(backend)?;
        let mut placer = Placer::on(backend, options, checkpoint.state)?;
        if placer.has_converged()? {
            placer.outcome = Some(Outcome::Converged);
        }
        placer.count(checkpoint.state.last.iteration);
        Ok(placer)
    }

    fn on(
        backend: &'b mut dyn Backend,
        options: &PlaceOptions,
        state: State,
    ) -> Result<Self, PlaceError> {
        let charge = backend.charge();
        Ok(Placer {
            base_gamma: first_gamma(charge, &options.schedule),
            beside_macros: ClassOverflow::are_beside_macros(charge),
            parts: None,
            options: *options,
            state,
            outcome: None,
            backend,
        })
    }

    /// Returns the complete state of a placement in progress.
    ///
    /// # Errors
    /// If the device failed.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, PlaceError> {
        Checkpoint::of(self.backend, self.state)
    }

    /// Computes the first gradient with the chosen weights, and the first step's length.
    fn begin(&mut self) -> Result<(), PlaceError> {
        let state = &mut self.state;
        let sample = self.backend.evaluate(&state.weights)?;
        if !sample.is_finite() {
            return Err(PlaceError::NotFinite);
        }
        state.last.times = self.backend.times();
        state.last.sample = sample;
        let most_pull = self.backend.netlist().pull().most;
        state.last.pressure = pressure(&sample, state.weights.lambda, most_pull);
        state.monitor.start(state.last.pressure, sample.hpwl);
        let charge = self.backend.charge();
        let bin = (charge.grid().bin_x() * charge.grid().bin_y()).sqrt();
        let unknowns = 2.0 * charge.bodies() as f64;
        let mean_gradient = (sample.gradient_squared / unknowns).sqrt();
        if mean_gradient > 0.0 {
            let trial = TRIAL_MOVE * bin / mean_gradient;
            let tried = self.backend.propose(trial, 0.0, &state.weights)?;
            state.step = tried.allowed_step().unwrap_or(trial);
        }
        Ok(())
    }

    /// Returns the last iteration.
    pub fn last(&self) -> &Record {
        &self.state.last
    }

    /// Returns how the placement ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Returns the backend, to read positions and maps from.
    pub fn backend(&mut self) -> &mut dyn Backend {
        self.backend
    }

    /// Ends the placement in its present state, unless it has ended.
    pub fn stop(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    /// Replaces the net weights: one for each net of the design, in its order. The descent
    /// continues from its present point, with λ and the step in the unit of the new weights
    /// ([`Pull::per_pin`](crate::wirelength::Pull::per_pin)). The search for the best placement
    /// starts again, because wirelengths by different weights are not comparable. [`Placer::last`]
    /// then has the sample by the new weights. Once the placement has ended, its result does not
    /// change.
    ///
    /// # Errors
    /// Those of [`Backend::set_net_weights`], and if the gradient is not finite.
    pub fn set_net_weights(&mut self, weights: &[f64]) -> Result<(), PlaceError> {
        let before = self.backend.netlist().pull().per_pin;
        self.backend.set_net_weights(weights)?;
        if self.outcome.is_some() {
            return Ok(());
        }
        let scale = self.backend.netlist().pull().per_pin / before;
        let state = &mut self.state;
        for lambda in [&mut state.weights.lambda, &mut state.first_lambda] {
            *lambda *= scale;
        }
        state.weights.pin_factor /= scale;
        state.weights.area_factor /= scale;
        state.step /= scale;
        let sample = self.backend.evaluate(&state.weights)?;
        if !sample.is_finite() {
            return Err(PlaceError::NotFinite);
        }
        state.last.sample = sample;
        state.monitor.reweigh(sample.hpwl, scale);
        self.keep_if_best()
    }

    /// Keeps the placement if it is the best so far.
    fn keep_if_best(&mut self) -> Result<(), PlaceError> {
        let Record { iteration, sample, .. } = self.state.last;
        let (overflow, hpwl) = (sample.density.overflow, sample.hpwl);
        let now = Best { iteration, overflow, hpwl, lambda: self.state.weights.lambda };
        if self.state.monitor.is_best(now) {
            self.backend.keep()?;
        }
        Ok(())
    }

    /// Does one iteration and returns its record, or `None` once the placement has ended.
    ///
    /// # Errors
    /// If the engine failed.
    pub fn step(&mut self) -> Result<Option<&Record>, PlaceError> {
        if self.outcome.is_some() {
            return Ok(None);
        }
        let state = &mut self.state;
        let weights = state.weights;
        let (momentum, next) = nesterov::momentum(state.coefficient);
        let remaining = state.monitor.remaining(state.last.sample.density.overflow);
        let most = if remaining < schedule::SPREAD { self.options.schedule.momentum } else { 1.0 };
        let momentum = momentum.min(most);
        let (mut tries, mut times, mut step) = (0, StageSplit::default(), state.step);
        let (sample, allowed) = loop {
            let sample = self.backend.propose(step, momentum, &weights)?;
            tries += 1;
            times.add(&self.backend.times());
            let allowed = sample.allowed_step().unwrap_or(step);
            if allowed > ACCEPTED * step || tries == MOST_TRIES || !sample.is_finite() {
                break (sample, allowed);
            }
            step = allowed;
        };
        let before = state.last.sample.hpwl;
        state.last = Record {
            iteration: state.last.iteration + 1,
            sample,
            gamma: weights.gamma,
            lambda: weights.lambda,
            pressure: pressure(&sample, weights.lambda, self.backend.netlist().pull().most),
            overflow_standard_cells: None,
            step,
            tries,
            times,
        };
        if sample.is_finite() {
            self.backend.accept()?;
            state.coefficient = next;
            self.reweigh(sample.hpwl - before);
            self.state.step = allowed.min(self.densest_step()).min(self.short_nets_step());
        }
        self.judge()?;
        Ok(Some(&self.state.last))
    }

    /// Computes γ and λ of the next iteration.
    fn reweigh(&mut self, rise: f64) {
        let (schedule, state) = (&self.options.schedule, &mut self.state);
        let Record { iteration, sample, pressure, .. } = state.last;
        let overflow = sample.density.overflow;
        state.monitor.follow(iteration, pressure, sample.hpwl);
        let remaining = state.monitor.remaining(overflow);
        let final_hpwl = schedule::final_hpwl(sample.hpwl, overflow);
        let reference = schedule.reference_rise * final_hpwl;
        // As in DREAMPlace, from the second iteration on: the first has no predecessor.
        if iteration > 1 && reference > 0.0 {
            let late = remaining < schedule::LATE;
            let growth = if late { schedule.late_growth } else { schedule.growth };
            // If the overflow is nearer to its end than the pressure, few cells oscillate about one
            // point, and growing wirelength is meaningless.
            let felt = remaining == overflow && schedule::is_felt(iteration, pressure);
            let rise = if felt { rise } else { rise.min(0.0) };
            let mu = schedule::growth(schedule::mu(iteration, rise, reference), growth);
            let mu = if state.monitor.holds(pressure) { mu.min(1.0) } else { mu };
            let most = MOST_GROWTH * state.first_lambda;
            state.weights.lambda = (state.weights.lambda * state.slowed(mu)).min(most);
        }
        state.weights.gamma = self.base_gamma * schedule::gamma_factor(remaining);
    }

    /// Returns the longest step at which bodies in the densest bin do not oscillate.
    ///
    /// ∇·E = ρ − mean ρ. So λ · force / preconditioner of a body without pins changes by at most
    /// min(1, λ · area / w) · w · (ρ_max − 1) / bin width over a unit of length. Here w is the mean
    /// net weight of a pin. The other bound uses the mean over all bodies, which does not show a
    /// few oscillating bodies. On a grid finer than the cells these can carry the others away.
    fn densest_step(&self) -> f64 {
        let (charge, state) = (self.backend.charge(), &self.state);
        let density = (state.last.sample.density.max - 1.0).max(0.0) / charge.grid().bin_x();
        let weight = state.weights.lambda * mean_area(charge);
        let per_pin = self.backend.netlist().pull().per_pin;
        let most = if self.options.precondition { per_pin } else { f64::MAX };
        MOST_OVERSHOOT / (density * weight.min(most))
    }

    /// Returns the longest step at which cells joined by short nets do not oscillate far.
    ///
    /// WA of two pins at distance d is d · tanh(d/2γ). If d is short against γ, two cells that move
    /// against each other have a preconditioned curvature of 2/γ. Accelerated descent is then
    /// stable up to steps of 4/3 · γ/2. The mean over all bodies stays within this bound while
    /// cells are clumped (0.67 γ), but allows 2 γ in the end. Then those few cells oscillate, by
    /// 1 % of HPWL on adaptec1's statistics. They converge all at once, at an iteration that depends
    /// on rounding.
    fn short_nets_step(&self) -> f64 {
        MOST_GAMMAS * self.state.weights.gamma / self.backend.netlist().pull().per_pin
    }

    /// Keeps the placement if it is the best so far, and decides whether it is the last.
    fn judge(&mut self) -> Result<(), PlaceError> {
        let Record { iteration, sample, lambda, pressure, .. } = self.state.last;
        if !sample.is_finite() {
            self.fail(Outcome::NotFinite)?;
            self.count(iteration);
            return Ok(());
        }
        let overflow = sample.density.overflow;
        self.keep_if_best()?;
        if self.has_converged()? {
            self.outcome = Some(Outcome::Converged);
            return Ok(());
        }
        match self.state.monitor.advise(iteration, &sample, lambda, pressure) {
            Advice::GoOn => {}
            Advice::RestartMomentum => self.state.coefficient = 1.0,
            Advice::Plateau if overflow <= self.options.stop_overflow => {
                self.outcome = Some(Outcome::Converged);
            }
            Advice::Plateau => self.outcome = Some(Outcome::Plateau),
            Advice::Diverged => self.fail(Outcome::Diverged)?,
        }
        self.count(iteration);
        Ok(())
    }

    /// Whether the placement reached the overflow asked for, wires and density are in balance, and
    /// wires no longer get shorter.
    fn has_converged(&mut self) -> Result<bool, PlaceError> {
        let State { last, monitor, .. } = &self.state;
        let reached = last.sample.density.overflow <= self.options.stop_overflow;
        Ok(reached && monitor.is_settled() && self.parts_are_spread()?)
    }

    /// Ends the placement after the last allowed iteration, unless it has ended.
    fn count(&mut self, iteration: usize) {
        if iteration >= self.options.iterations {
            self.outcome.get_or_insert(Outcome::OutOfIterations);
        }
    }

    /// Continues from the best placement, without momentum and with slower growth of λ. After a few
    /// such restarts, ends the placement there.
    fn fail(&mut self, outcome: Outcome) -> Result<(), PlaceError> {
        let best = self.state.monitor.best().copied();
        let (Some(best), true) = (best, self.state.returns < RETURNS) else {
            self.outcome = Some(outcome);
            return Ok(());
        };
        let (x, y) = self.vector(PointVector::Best)?;
        start_at(self.backend, &x, &y)?;
        let state = &mut self.state;
        state.returns += 1;
        state.coefficient = 1.0;
        state.weights.lambda = best.lambda;
        state.weights.gamma = self.base_gamma * schedule::gamma_factor(best.overflow);
        state.monitor.return_to_best();
        self.begin()
    }

    /// Returns whether the overflow of every fence, and of the cells beside movable macros, is low
    /// enough. This is computed only in some iterations.
    fn parts_are_spread(&mut self) -> Result<bool, PlaceError> {
        if !self.beside_macros && self.backend.charge().regions() == 1 {
            return Ok(true);
        }
        if !self.state.last.iteration.is_multiple_of(PARTS_EVERY) {
            return Ok(false);
        }
        let (x, y) = self.vector(PointVector::Reference)?;
        let overflow = self.standard_cells_overflow(PointVector::Reference)?;
        self.state.last.overflow_standard_cells = overflow;
        let of_regions = self.parts()?.of_regions(&x, &y);
        let mut all = overflow.into_iter().chain(of_regions);
        Ok(all.all(|overflow| overflow <= self.options.stop_overflow))
    }

    fn standard_cells_overflow(&mut self, vector: PointVector) -> Result<Option<f64>, PlaceError> {
        if !self.beside_macros {
            return Ok(None);
        }
        let (x, y) = self.vector(vector)?;
        Ok(Some(self.parts()?.overflow(&x, &y)))
    }

    fn parts(&mut self) -> Result<&mut ClassOverflow, PlaceError> {
        if self.parts.is_none() {
            self.parts = Some(ClassOverflow::of(self.backend.charge())?);
        }
        Ok(self.parts.as_mut().expect("made above"))
    }

    /// Returns the overflow of the standard cells in the result so far, if macros move, too.
    ///
    /// # Errors
    /// If the device failed.
    pub fn result_standard_cells(&mut self) -> Result<Option<f64>, PlaceError> {
        self.standard_cells_overflow(self.result())
    }

    /// Returns overflow and maximum of the result so far with every cell at its exact size.
    ///
    /// # Errors
    /// When the engine or the device failed.
    pub fn result_exact_density(&mut self) -> Result<DensityStats, PlaceError> {
        Ok(self.backend.exact_density(self.result())?)
    }

    /// Returns the iteration whose placement is the result. This is the last one if the overflow
    /// asked for was reached or the caller stopped the descent, and otherwise the best trade-off
    /// seen.
    pub fn result_iteration(&self) -> usize {
        let best = self.state.monitor.best().map_or(0, |best| best.iteration);
        if self.result() == PointVector::Best { best } else { self.state.last.iteration }
    }

    fn result(&self) -> PointVector {
        match self.outcome {
            None | Some(Outcome::Converged | Outcome::Stopped) => PointVector::Reference,
            Some(_) => PointVector::Best,
        }
    }

    /// Returns the lower-left corners of every body in the result so far.
    ///
    /// # Errors
    /// If the device failed.
    pub fn positions(&mut self) -> Result<(Vec<f64>, Vec<f64>), PlaceError> {
        self.vector(self.result())
    }

    fn vector(&mut self, vector: PointVector) -> Result<(Vec<f64>, Vec<f64>), PlaceError> {
        let bodies = self.backend.charge().bodies();
        let (mut x, mut y) = (vec![0.0; bodies], vec![0.0; bodies]);
        self.backend.read(vector, &mut x, &mut y)?;
        let origin = self.backend.charge().origin();
        for (values, from) in [&mut x, &mut y].into_iter().zip(origin) {
            values.iter_mut().filter(|_| from != 0.0).for_each(|value| *value += from);
        }
        Ok((x, y))
    }
}

/// Returns the mean area of a movable cell.
fn mean_area(charge: &Charge) -> f64 {
    charge.movable_area() / charge.movable() as f64
}

/// Calls [`Backend::start`] with positions on the die, for any origin of the charge.
fn start_at(backend: &mut dyn Backend, x: &[f64], y: &[f64]) -> Result<(), EngineError> {
    match backend.charge().origin() {
        [0.0, 0.0] => backend.start(x, y),
        origin => {
            let counted = |values: &[f64], from: f64| values.iter().map(|v| v - from).collect();
            let [x, y]: [Vec<f64>; 2] = [counted(x, origin[0]), counted(y, origin[1])];
            backend.start(&x, &y)
        }
    }
}
