//! One global placement, and the variants that continue from it.

use super::mirror::mirror_macros;
use super::{
    Between, FlowError, FlowOptions, Host, Overflow, Part, PlacementInput, SetPositions, Variant,
    ended, of_bodies,
};
use crate::charge::Charge;
use crate::design::Design;
use crate::legalize::{Progress, legalize_macros};
use crate::place::routability::{End, Rounds, RoundsEnd, Routability};
use crate::place::{Outcome, PlaceError, PlaceOptions, Placer, Record, start};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// [`Schedule::density_weight`](crate::place::Schedule::density_weight) of cells that are placed anew
/// beside macros: wires may shorten before the cells spread again. `benchmarks/experiments.md` has
/// the measurements.
const FIRST_SHARE: f64 = 1e-8;

/// Smoothed overflow at which variants of a placement branch off.
const BRANCH_OVERFLOW: f64 = 0.25;

/// A placement that is not spread yet, which variants go on from.
#[derive(Clone, Debug)]
pub(super) struct BranchPoint {
    x: Vec<f64>,
    y: Vec<f64>,
    lambda: f64,
    iteration: usize,
}

impl BranchPoint {
    fn of(placer: &mut Placer<'_>) -> Result<Self, PlaceError> {
        let (x, y) = placer.positions()?;
        let Record { lambda, iteration, .. } = *placer.last();
        Ok(BranchPoint { x, y, lambda, iteration })
    }

    /// Returns where the fillers of `charge` stand, which go where those of `before` are, evenly
    /// divided among these. Where there are more of them, some stand beside one another.
    fn fillers(&self, before: &Charge, charge: &Charge) -> [Vec<f64>; 2] {
        let of = |charge: &Charge, region: usize| -> Vec<usize> {
            let fillers = charge.movable()..charge.bodies();
            fillers.filter(|&i| charge.region(i) == region).collect()
        };
        let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
        for region in 0..charge.regions() {
            let (from, to) = (of(before, region), of(charge, region));
            for (k, &i) in to.iter().enumerate().filter(|_| !from.is_empty()) {
                let at = k * from.len() / to.len();
                let again = k > 0 && (k - 1) * from.len() / to.len() == at;
                let aside = if again { 0.5 } else { 0.0 };
                x[i] = self.x[from[at]] + aside * charge.width()[i];
                y[i] = self.y[from[at]] + aside * charge.height()[i];
            }
        }
        [x, y]
    }
}

/// A global placement that has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Global {
    /// The end of the descent.
    pub outcome: Outcome,
    /// The iteration whose placement is the result.
    pub iteration: usize,
    /// Left edge of every body of the charge, layout units.
    pub x: Vec<f64>,
    /// Bottom edges.
    pub y: Vec<f64>,
    /// Overflow of the result.
    pub overflow: Overflow,
    /// Every iteration from 0, the start, on; those of later descents are counted on.
    pub records: Vec<Record>,
    /// From the first evaluation to the last, with what the host did meanwhile.
    pub seconds: f64,
    /// Whether the host replaced the design's net weights.
    reweighed: bool,
    /// Where variants branch off.
    branch_point: Option<BranchPoint>,
    /// The variant that it is; `None` for the placement asked for.
    pub variant: Option<Variant>,
}

/// A descent that has begun, without the state of its placer.
#[derive(Clone, Debug, Default)]
pub(super) struct Descent {
    /// Every iteration so far, from 0 on.
    records: Vec<Record>,
    reweighed: bool,
    branch_point: Option<BranchPoint>,
    pub(super) seconds: f64,
}

/// Where a descent is left before its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) deadline: Option<Instant>,
    /// Whether variants continue from it.
    pub(super) branches: bool,
    /// Smoothed overflow at which it is left, unless the host has replaced net weights.
    pub(super) pause: Option<f64>,
}

impl Descent {
    /// A descent with these iterations so far.
    pub(super) fn after(records: Vec<Record>) -> Self {
        Descent { records, ..Descent::default() }
    }

    /// Steps until the placement ends, or the host or one of `limits` ends it. `set_positions` sets
    /// the cells of `design` to a placement of the bodies.
    pub(super) fn run<H: Host>(
        &mut self,
        placer: &mut Placer<'_>,
        design: &mut Design,
        set_positions: SetPositions<'_>,
        limits: Limits,
        host: &mut H,
    ) -> Result<(), H::Error> {
        let begun = Instant::now();
        let is_at = |record: &Record, overflow| record.sample.density.overflow <= overflow;
        loop {
            host.follow(placer, &self.records)?;
            let weights = host.between(&mut Between { design, placer, set_positions })?;
            if let (Some(weights), Some(nets)) = (weights, &mut design.nets) {
                placer.set_net_weights(&weights).map_err(FlowError::from)?;
                (nets.weight, self.reweighed) = (weights, true);
            }
            let Some(record) = placer.step().map_err(FlowError::from)?.copied() else { break };
            self.records.push(record);
            if limits.branches && self.branch_point.is_none() && is_at(&record, BRANCH_OVERFLOW) {
                self.branch_point = Some(BranchPoint::of(placer).map_err(FlowError::from)?);
            }
            if let Some(outcome) = ended(host, limits.deadline) {
                placer.stop(outcome);
            }
            let pauses = limits.pause.is_some_and(|overflow| is_at(&record, overflow));
            if pauses && !self.reweighed && placer.outcome().is_none() {
                break;
            }
        }
        self.seconds += begun.elapsed().as_secs_f64();
        Ok(())
    }

    /// Returns the net weights of `design` if they were replaced in this descent.
    pub(super) fn new_weights<'a>(&self, design: &'a Design) -> Option<&'a [f64]> {
        let nets = design.nets.as_ref().filter(|_| self.reweighed)?;
        Some(&nets.weight)
    }
}

impl Global {
    /// Runs a descent from the state of `placer`, as [`Descent::run`].
    fn descend<H: Host>(
        placer: &mut Placer<'_>,
        design: &mut Design,
        set_positions: SetPositions<'_>,
        deadline: Option<Instant>,
        host: &mut H,
    ) -> Result<Self, H::Error> {
        let mut descent = Descent::after(vec![*placer.last()]);
        let limits = Limits { deadline, ..Limits::default() };
        descent.run(placer, design, set_positions, limits, host)?;
        Ok(Self::of(placer, descent).map_err(FlowError::from)?)
    }

    /// Returns the net weights of `design` if they were replaced in this descent.
    pub(super) fn new_weights<'a>(&self, design: &'a Design) -> Option<&'a [f64]> {
        let nets = design.nets.as_ref().filter(|_| self.reweighed)?;
        Some(&nets.weight)
    }

    /// Returns the result of a descent that `placer` has made.
    pub(super) fn of(placer: &mut Placer<'_>, descent: Descent) -> Result<Self, PlaceError> {
        let Descent { records, reweighed, branch_point, seconds } = descent;
        let (x, y) = placer.positions()?;
        let iteration = placer.result_iteration();
        let overflow = Overflow {
            smoothed: records[iteration].sample.density.overflow,
            exact: placer.result_exact_density()?.overflow,
            standard_cells: placer.result_standard_cells()?,
        };
        let outcome = placer.outcome().unwrap_or(Outcome::Interrupted);
        Ok(Global {
            outcome,
            iteration,
            x,
            y,
            overflow,
            records,
            seconds,
            reweighed,
            branch_point,
            variant: None,
        })
    }

    /// The start of this placement, which is where `charge` has its bodies.
    pub(super) fn at_start(&self, charge: &Charge) -> Global {
        let (x, y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
        Global { iteration: 0, overflow: Overflow::at(charge, &x, &y), x, y, ..self.clone() }
    }

    /// Whether it was stopped, so that no variant continues from it.
    pub(super) fn was_stopped(&self) -> bool {
        matches!(self.outcome, Outcome::Interrupted | Outcome::OutOfTime)
    }

    /// Whether its wirelength is comparable with that of other placements.
    pub(super) fn has_ended_well(&self) -> bool {
        !self.was_stopped() && !matches!(self.outcome, Outcome::Diverged | Outcome::NotFinite)
    }

    /// With the iterations of `next` after its own, and the result of the better one.
    fn append(mut self, next: Global, next_is_better: bool) -> Global {
        let own = self.records.len();
        let later = next.records.iter();
        self.records
            .extend(later.map(|record| Record { iteration: own + record.iteration, ..*record }));
        let seconds = self.seconds + next.seconds;
        match next_is_better {
            true => {
                let iteration = own + next.iteration;
                Global { records: self.records, iteration, seconds, ..next }
            }
            false => Global { seconds, ..self },
        }
    }

    /// If macros move: mirrors them if refinement may mirror cells, makes them legal and places
    /// the other cells around them, with separate bins and nets. Then runs
    /// [`Global::run_routability`]. On entry `design` has the positions of this placement.
    pub(super) fn beside_macros<H: Host>(
        &self,
        design: &mut Design,
        input: PlacementInput<'_>,
        rounds: &mut Rounds,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<Option<Self>, H::Error> {
        let watch = &mut |_: &Progress| match ended(host, options.global_deadline()) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        };
        let given = design.placement.orientation.clone();
        if options.refine.mirror {
            mirror_macros(design);
        }
        let macros = legalize_macros(design, &options.legalize, watch).map_err(FlowError::from)?;
        if macros.is_empty() || macros.len() == design.movable().count() {
            design.placement.orientation = given;
            return Ok(None);
        }
        let begun = Instant::now();
        let kinds = design.fix(macros.iter().copied());
        let beside = self.replace_around_macros(design, macros.len(), rounds, options, host);
        design.nodes.kind = kinds;
        let mut global = beside?;
        // In terms of all bodies, on the bins that they were placed on at first.
        (global.x, global.y) = (self.x.clone(), self.y.clone());
        input.charge.corners(design, &mut global.x, &mut global.y);
        global.overflow = Overflow {
            standard_cells: Some(global.overflow.smoothed),
            ..Overflow::at(input.charge, &global.x, &global.y)
        };
        global.seconds = self.seconds + begun.elapsed().as_secs_f64();
        Ok(Some(global))
    }

    /// The placement of the cells of `design` that still move, whose result lies in it then.
    fn replace_around_macros<H: Host>(
        &self,
        design: &mut Design,
        macros: usize,
        rounds: &mut Rounds,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<Self, H::Error> {
        let (charge, cells_netlist) = options.bodies.of(design)?;
        let mut netlist = of_bodies(&cells_netlist, &charge);
        let mut backend = host.backend(&charge, &netlist)?;
        host.begin(Part::Beside(macros));
        // The iterations of both descents count.
        let done = self.records.last().map_or(0, |record| record.iteration);
        let left = options.place.iterations.saturating_sub(done);
        let mut place = options.place.iterations(left).warm(true);
        place.schedule.density_weight = FIRST_SHARE;
        let (x, y) = (charge.initial_x(), charge.initial_y());
        let mut placer = Placer::new(&mut *backend, x, y, &place).map_err(FlowError::from)?;
        let set_positions =
            |design: &mut Design, x: &[f64], y: &[f64]| charge.set_movable_positions(design, x, y);
        let deadline = options.global_deadline();
        let next = Self::descend(&mut placer, design, &set_positions, deadline, host)?;
        drop(backend);
        if let Some(weights) = next.new_weights(design) {
            netlist.to_mut().set_weights(weights).map_err(FlowError::from)?;
        }
        let went_on = self.clone().append(next, true);
        let cells_netlist = &cells_netlist;
        let input = PlacementInput { charge: &charge, netlist: &netlist, cells_netlist };
        let reached = went_on.run_routability(design, input, rounds, options, host)?;
        charge.set_movable_positions(design, &reached.x, &reached.y);
        Ok(reached)
    }

    /// Returns the placements of all variants. They go on from where this one was less spread.
    pub(super) fn variants<H: Host>(
        &self,
        design: &mut Design,
        input: PlacementInput<'_>,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<Vec<Self>, H::Error> {
        let mut all = Vec::new();
        for variant in options.variants(design, input.charge) {
            if ended(host, options.global_deadline()).is_none() {
                all.extend(self.branch(variant, design, input, options, host)?);
            }
        }
        Ok(all)
    }

    /// Returns the placement of a variant. There is none if its bodies are the same, if this
    /// placement has no point to branch off from, or if the host replaces net weights: wirelengths
    /// by other weights do not compare.
    fn branch<H: Host>(
        &self,
        variant: Variant,
        design: &mut Design,
        input: PlacementInput<'_>,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<Option<Self>, H::Error> {
        let Some(from) = self.branch_point.as_ref().filter(|_| !self.reweighed) else {
            return Ok(None);
        };
        let (begun, before) = (Instant::now(), input.charge);
        let weights = design.nets.as_ref().map(|nets| nets.weight.clone());
        before.set_movable_positions(design, &from.x, &from.y);
        let mut bodies = options.bodies;
        bodies.bins = Some([before.grid().nx(), before.grid().ny()]);
        bodies.charge =
            bodies.charge.target_density(variant.target_density).widen_large(variant.widen_large);
        let charge = bodies.charge_of(design)?;
        let same_density = charge.target_density() == before.target_density();
        if same_density && charge.margins() == before.margins() {
            return Ok(None);
        }
        let netlist = of_bodies(input.cells_netlist, &charge);
        let mut backend = host.backend(&charge, &netlist)?;
        host.begin(Part::Variant(variant));
        let left = options.place.iterations.saturating_sub(from.iteration);
        let place = options.place.iterations(left);
        let [x, y] = from.fillers(before, &charge);
        let placer = Placer::branch(&mut *backend, &x, &y, &place, from.lambda);
        let mut placer = placer.map_err(FlowError::from)?;
        let set_positions =
            |design: &mut Design, x: &[f64], y: &[f64]| charge.set_movable_positions(design, x, y);
        let deadline = options.global_deadline();
        let mut next = Self::descend(&mut placer, design, &set_positions, deadline, host)?;
        if next.reweighed {
            design.nets.iter_mut().zip(weights).for_each(|(nets, before)| nets.weight = before);
            return Ok(None);
        }
        charge.set_movable_positions(design, &next.x, &next.y);
        (next.x, next.y) = (self.x.clone(), self.y.clone());
        before.corners(design, &mut next.x, &mut next.y);
        next.overflow = Overflow::at(before, &next.x, &next.y);
        next.seconds = begun.elapsed().as_secs_f64();
        next.variant = Some(variant);
        let mut shared = self.clone();
        shared.records.truncate(from.iteration + 1);
        Ok(Some(shared.append(next, true)))
    }

    /// Runs the routability rounds, if requested, in which cells of congested bins grow. The
    /// result is the placement with the least overflow of wires, and `rounds` reports each round.
    /// `design` then has the positions of one of the rounds.
    pub(super) fn run_routability<H: Host>(
        self,
        design: &mut Design,
        input: PlacementInput<'_>,
        rounds: &mut Rounds,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<Self, H::Error> {
        let Some(wanted) = options.routability else { return Ok(self) };
        if self.was_stopped() {
            rounds.end = Some(RoundsEnd { result: 0, reason: End::Stopped });
            return Ok(self);
        }
        let PlacementInput { charge, netlist, .. } = input;
        let again = options.place.warm(true).warm_overflow(wanted.warm_overflow);
        let mut state = Routability::new(charge, netlist, &wanted).map_err(FlowError::from)?;
        charge.set_movable_positions(design, &self.x, &self.y);
        let mut round = state.measure(design).map_err(FlowError::from)?;
        rounds.capacity = state.capacity();
        let (mut x, mut y) = (self.x.clone(), self.y.clone());
        let (mut best, mut best_round, mut stopped) = (self, round, false);
        let reason = loop {
            host.round(&round);
            rounds.rounds.push(round);
            if stopped {
                break End::Stopped;
            }
            let grown = match state.grow(&round, &x, &y).map_err(FlowError::from)? {
                ControlFlow::Continue(grown) => grown,
                ControlFlow::Break(end) => break end,
            };
            let begun = Instant::now();
            let charge_now = Arc::new(grown.charge);
            let mut backend = host.backend(&charge_now, &grown.netlist)?;
            host.begin(Part::Round(rounds.rounds.len()));
            let mut placer =
                Placer::new(&mut *backend, &grown.x, &grown.y, &again).map_err(FlowError::from)?;
            let set_positions = |design: &mut Design, x: &[f64], y: &[f64]| {
                let (x, y) = state.at_own_size(x, y);
                charge.set_movable_positions(design, &x, &y);
            };
            let deadline = options.global_deadline();
            let mut next = Self::descend(&mut placer, design, &set_positions, deadline, host)?;
            if let Some(weights) = next.new_weights(design) {
                state.set_net_weights(weights).map_err(FlowError::from)?;
            }
            (x, y) = (next.x.clone(), next.y.clone());
            // The result is written and reported with the cells at their own sizes.
            (next.x, next.y) = state.at_own_size(&x, &y);
            let own_size = Overflow::at(charge, &next.x, &next.y);
            next.overflow = Overflow { standard_cells: next.overflow.standard_cells, ..own_size };
            charge.set_movable_positions(design, &next.x, &next.y);
            round = state.measure(design).map_err(FlowError::from)?;
            next.seconds = begun.elapsed().as_secs_f64();
            stopped = next.was_stopped();
            let is_better = round.is_better_than(&best_round);
            best = best.append(next, is_better);
            best_round = if is_better { round } else { best_round };
        };
        let end = RoundsEnd { result: best_round.round, reason };
        host.rounds_end(&end);
        rounds.end = Some(end);
        Ok(best)
    }
}

/// Lower-left corners of every body at the start.
pub(super) fn first_positions(
    charge: &Charge,
    place: &PlaceOptions,
    noise: f64,
    seed: u64,
) -> (Vec<f64>, Vec<f64>) {
    let (mut x, mut y) = match place.warm {
        true => start::given(charge, seed),
        false => start::centred(charge, seed),
    };
    if noise > 0.0 {
        start::shake(charge, &mut x, &mut y, noise, seed);
    }
    (x, y)
}
