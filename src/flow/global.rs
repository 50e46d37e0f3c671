//! One global placement, and those that go on from it.

use super::{FlowError, FlowOptions, Host, Overflow, Part, Subject};
use crate::charge::Charge;
use crate::design::Design;
use crate::place::routability::{Round, Routability, RoutabilityOptions};
use crate::place::{Outcome, PlaceError, PlaceOptions, Placer, Record, start};
use std::sync::Arc;
use std::time::Instant;

/// A global placement that has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Global {
    /// How.
    pub outcome: Outcome,
    /// The iteration whose placement is the result.
    pub iteration: usize,
    /// Left edge of every body of the charge, layout units.
    pub x: Vec<f64>,
    /// Bottom edges.
    pub y: Vec<f64>,
    /// Of the result.
    pub overflow: Overflow,
    /// Every iteration from 0, the start, on; those of later descents are counted on.
    pub records: Vec<Record>,
    /// From the first evaluation to the last, with what the host did meanwhile.
    pub seconds: f64,
}

impl Global {
    /// Steps until the placement ends, or the host or the clock ends it; `records` are those of the
    /// iterations so far.
    pub(super) fn descend<H: Host>(
        placer: &mut Placer<'_>,
        mut records: Vec<Record>,
        deadline: Option<Instant>,
        host: &mut H,
    ) -> Result<Self, H::Error> {
        let begun = Instant::now();
        host.follow(placer, &records)?;
        while let Some(record) = placer.step().map_err(FlowError::from)? {
            records.push(*record);
            if host.is_asked_to_stop() {
                placer.stop(Outcome::Interrupted);
            } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                placer.stop(Outcome::OutOfTime);
            }
            host.follow(placer, &records)?;
        }
        Ok(Self::of(placer, records, begun).map_err(FlowError::from)?)
    }

    fn of(
        placer: &mut Placer<'_>,
        records: Vec<Record>,
        begun: Instant,
    ) -> Result<Self, PlaceError> {
        let (x, y) = placer.positions()?;
        let iteration = placer.result_iteration();
        let overflow = Overflow {
            smoothed: records[iteration].sample.density.overflow,
            exact: placer.result_exact_density()?.overflow,
            standard_cells: placer.result_standard_cells()?,
        };
        let outcome = placer.outcome().unwrap_or(Outcome::Interrupted);
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Global { outcome, iteration, x, y, overflow, records, seconds })
    }

    /// Whether it was broken off, so that nothing is to go on from it.
    pub(super) fn was_stopped(&self) -> bool {
        matches!(self.outcome, Outcome::Interrupted | Outcome::OutOfTime)
    }

    /// With the iterations of `next` after its own, and the result of the better one.
    fn followed_by(mut self, next: Global, next_is_better: bool) -> Global {
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

    /// Goes on in rounds in which cells grow where wires are crowded; the placement with the least
    /// utilization of its worst bins is the result. The cells of `design` are then where some round
    /// has them.
    pub(super) fn improved<H: Host>(
        self,
        design: &mut Design,
        subject: Subject<'_>,
        wanted: &RoutabilityOptions,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<(Self, Vec<Round>), H::Error> {
        let Subject { charge, netlist } = subject;
        let again = options.place.warm(true);
        let mut state = Routability::new(charge, netlist, wanted);
        design.settle(&self.x, &self.y);
        let mut rounds = vec![state.measure(design).map_err(FlowError::from)?];
        host.round(&rounds[0]);
        let (mut x, mut y) = (self.x.clone(), self.y.clone());
        let mut best = self;
        while let Some(grown) = state.grow(&x, &y).map_err(FlowError::from)? {
            let begun = Instant::now();
            let charge_now = Arc::new(grown.charge);
            let mut backend = host.backend(&charge_now, &grown.netlist)?;
            host.begin(Part::Round(rounds.len()));
            let mut placer =
                Placer::new(&mut *backend, &grown.x, &grown.y, &again).map_err(FlowError::from)?;
            let first = *placer.last();
            let mut next = Self::descend(&mut placer, vec![first], options.deadline, host)?;
            (x, y) = (next.x.clone(), next.y.clone());
            // What is written and said is of the cells at their own sizes.
            (next.x, next.y) = state.at_own_size(&x, &y);
            let own_size = Overflow::at(charge, &next.x, &next.y);
            next.overflow = Overflow { standard_cells: next.overflow.standard_cells, ..own_size };
            design.settle(&next.x, &next.y);
            let round = state.measure(design).map_err(FlowError::from)?;
            next.seconds = begun.elapsed().as_secs_f64();
            host.round(&round);
            let least = rounds.iter().map(|of| of.worst_utilization).fold(f64::INFINITY, f64::min);
            let stopped = next.was_stopped();
            best = best.followed_by(next, round.worst_utilization < least);
            rounds.push(round);
            if stopped {
                break;
            }
        }
        Ok((best, rounds))
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
        true => (charge.initial_x().to_vec(), charge.initial_y().to_vec()),
        false => start::centred(charge, seed),
    };
    if noise > 0.0 {
        start::shake(charge, &mut x, &mut y, noise, seed);
    }
    (x, y)
}
