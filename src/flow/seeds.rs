//! The descents of several seeds. If wires predict the best seed early, all descend to a
//! smoothed overflow of 0.4 first, and only the shortest continue.

use super::global::{Descent, Limits, first_positions};
use super::{
    Candidate, FlowError, FlowOptions, Global, Host, Part, PlacementInput, Resumed, Variant,
    of_bodies,
};
use crate::charge::Charge;
use crate::design::{Design, Orientation};
use crate::parallel::join;
use crate::place::{Backend, Checkpoint, Outcome, Placer};
use crate::wirelength::Netlist;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// Smoothed overflow at which seeds are compared. `benchmarks/experiments.md` has the measurements.
const COMPARED_OVERFLOW: f64 = 0.4;

/// The global placement of a seed.
pub(super) struct SeedDescent {
    pub(super) seed: u64,
    state: State,
}

/// Progress of a seed.
enum State {
    Fresh,
    Resumed(Resumed),
    Paused(Checkpoint, Descent),
    Ended(Global),
}

impl SeedDescent {
    /// Weighted HPWL at its last iteration, or at its end; infinite if it came to no good end.
    fn hpwl(&self) -> f64 {
        match &self.state {
            State::Paused(checkpoint, _) => checkpoint.state.last().sample.hpwl,
            State::Ended(global) if global.has_ended_well() => {
                global.records[global.iteration].sample.hpwl
            }
            _ => f64::INFINITY,
        }
    }

    /// Returns it as a candidate that does not go on, and its seconds.
    fn candidate(&self, options: &FlowOptions<'_>) -> Option<(Candidate, f64)> {
        let variant = Variant::of(&options.bodies.charge);
        match &self.state {
            State::Paused(checkpoint, descent) => {
                let last = checkpoint.state.last();
                let candidate = Candidate::at(self.seed, variant, last, Outcome::Stopped);
                Some((candidate, descent.seconds))
            }
            State::Ended(global) => {
                Some((Candidate::of(self.seed, variant, global), global.seconds))
            }
            State::Fresh | State::Resumed(_) => None,
        }
    }
}

/// What the descents of all seeds share.
pub(super) struct Seeds<'a> {
    charge: &'a Arc<Charge>,
    cells_netlist: &'a Netlist,
    netlist: Cow<'a, Netlist>,
    /// Orientations at first: the stages behind the descent turn cells, which pins go by.
    home: Vec<Orientation>,
    /// None while other stages need the device's memory.
    backend: Option<Box<dyn Backend>>,
    /// Positions of the first seed, until it begins.
    first: Option<(Vec<f64>, Vec<f64>)>,
    /// Seconds of descents that did not go on.
    pub(super) seconds: f64,
}

impl<'a> Seeds<'a> {
    /// Makes the backend, and the first seed's start or the state that the host resumes. Returns
    /// them with all seeds.
    pub(super) fn begin<H: Host>(
        charge: &'a Arc<Charge>,
        cells_netlist: &'a Netlist,
        design: &Design,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<(Self, Vec<SeedDescent>), H::Error> {
        let netlist = of_bodies(cells_netlist, charge);
        let (place, noise) = (&options.place, options.noise);
        let (backend, first) = join(
            || first_positions(charge, place, noise, options.seed),
            || host.backend(charge, &netlist),
        );
        let mut backend = backend?;
        let mut resumed = host.resume(&mut *backend)?;
        let all = (0..u64::from(options.seeds.max(1))).map(|k| SeedDescent {
            seed: options.seed.wrapping_add(k),
            state: resumed.take().map_or(State::Fresh, State::Resumed),
        });
        let all = all.collect();
        let home = design.placement.orientation.clone();
        let (backend, first, seconds) = (Some(backend), Some(first), 0.0);
        Ok((Seeds { charge, cells_netlist, netlist, home, backend, first, seconds }, all))
    }

    /// Returns the seeds that continue, the shortest first; `candidates` gets the others. If wires
    /// do not predict the best seed early, all seeds continue.
    pub(super) fn compare<H: Host>(
        &mut self,
        all: Vec<SeedDescent>,
        candidates: &mut Vec<Candidate>,
        design: &mut Design,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<Vec<SeedDescent>, H::Error> {
        let most = options.continued(self.charge, all.len());
        if most == all.len() {
            return Ok(all);
        }
        let begun = Instant::now();
        let half = |end: Instant| begun + end.saturating_duration_since(begun) / 2;
        let half = options.global_deadline().map(half);
        let mut shortest: Vec<SeedDescent> = Vec::new();
        let mut count = 0;
        for mut seed in all {
            if count > 0 && half.is_some_and(|half| Instant::now() >= half) {
                break;
            }
            self.descend(&mut seed, Some(COMPARED_OVERFLOW), design, options, host)?;
            count += 1;
            let at = shortest.partition_point(|other| other.hpwl() <= seed.hpwl());
            shortest.insert(at, seed);
            // States of many bodies take memory.
            self.leave(&mut shortest, most, candidates, options);
            if host.is_asked_to_stop() {
                break;
            }
        }
        self.leave(&mut shortest, options.continued(self.charge, count), candidates, options);
        Ok(shortest)
    }

    /// Leaves all but the first `most` of `seeds`.
    fn leave(
        &mut self,
        seeds: &mut Vec<SeedDescent>,
        most: usize,
        candidates: &mut Vec<Candidate>,
        options: &FlowOptions<'_>,
    ) {
        let left = seeds.drain(most.min(seeds.len())..);
        for (candidate, seconds) in left.filter_map(|seed| seed.candidate(options)) {
            candidates.push(candidate);
            self.seconds += seconds;
        }
    }

    /// Returns the global placement of a seed at its end.
    pub(super) fn end<H: Host>(
        &mut self,
        mut seed: SeedDescent,
        design: &mut Design,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<Global, H::Error> {
        if !matches!(seed.state, State::Ended(_)) {
            self.descend(&mut seed, None, design, options, host)?;
        }
        // The stages that follow need the device's memory.
        if options.routability.is_some() || !self.charge.movable_macros().is_empty() {
            self.backend = None;
        }
        match seed.state {
            State::Ended(global) => Ok(global),
            _ => unreachable!("a descent without a pause goes on to its end"),
        }
    }

    /// Returns the charge and the nets, for the stages behind the descents.
    pub(super) fn input(&self) -> PlacementInput<'_> {
        let Seeds { charge, cells_netlist, netlist, .. } = self;
        PlacementInput { charge, netlist, cells_netlist }
    }

    /// Runs a seed to its end, or to a smoothed overflow of `pause`.
    fn descend<H: Host>(
        &mut self,
        seed: &mut SeedDescent,
        pause: Option<f64>,
        design: &mut Design,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<(), H::Error> {
        let (charge, place) = (self.charge, &options.place);
        let mut backend = match self.backend.take() {
            Some(backend) => backend,
            None => host.backend(charge, &self.netlist)?,
        };
        let part = match seed.state {
            State::Paused(..) => Part::Continued(seed.seed),
            _ => Part::Seed(seed.seed),
        };
        host.begin(part);
        design.placement.orientation.clone_from(&self.home);
        let resume = |backend, checkpoint| Placer::resume(backend, checkpoint, place);
        let (placer, descent) = match std::mem::replace(&mut seed.state, State::Fresh) {
            State::Ended(global) => {
                seed.state = State::Ended(global);
                return Ok(());
            }
            State::Fresh => {
                let start = || first_positions(charge, place, options.noise, seed.seed);
                let (x, y) = self.first.take().unwrap_or_else(start);
                (Placer::new(&mut *backend, &x, &y, place), None)
            }
            State::Resumed(Resumed { checkpoint, records }) => {
                (resume(&mut *backend, &checkpoint), Some(Descent::after(records)))
            }
            State::Paused(checkpoint, descent) => {
                (resume(&mut *backend, &checkpoint), Some(descent))
            }
        };
        let mut placer = placer.map_err(FlowError::from)?;
        let mut descent = descent.unwrap_or_else(|| Descent::after(vec![*placer.last()]));
        let set_positions =
            |design: &mut Design, x: &[f64], y: &[f64]| charge.set_movable_positions(design, x, y);
        let branches = !options.variants(design, charge).is_empty();
        let limits = Limits { deadline: options.global_deadline(), branches, pause };
        descent.run(&mut placer, design, &set_positions, limits, host)?;
        if let Some(weights) = descent.new_weights(design) {
            self.netlist.to_mut().set_weights(weights).map_err(FlowError::from)?;
        }
        seed.state = match placer.outcome() {
            None => State::Paused(placer.checkpoint().map_err(FlowError::from)?, descent),
            Some(_) => State::Ended(Global::of(&mut placer, descent).map_err(FlowError::from)?),
        };
        drop(placer);
        self.backend = Some(backend);
        Ok(())
    }
}
