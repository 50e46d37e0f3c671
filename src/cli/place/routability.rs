//! Rounds of growing cells after a placement, by the congestion that it has.

use super::Placed;
use super::descend::{Beside, descend};
use crate::charge::Charge;
use crate::cli::congestion::{capacity, layers_capacity};
use crate::cli::engines::{self, EngineReal};
use crate::cli::failure::Failure;
use crate::cli::input::Opened;
use crate::cli::log::note;
use crate::cli::options::SolveArgs;
use crate::cli::stages::Overflow;
use crate::congestion::Capacity;
use crate::place::routability::{Round, Routability, RoutabilityOptions};
use crate::place::{Outcome, PlaceOptions, Placer};
use crate::wirelength::Netlist;
use clap::Args;
use std::sync::Arc;
use std::time::Instant;

/// Options of `placefield place` about congestion.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct RoutabilityArgs {
    /// Go on in rounds in which cells grow where wires need more tracks than there are
    #[arg(long)]
    routability: bool,
    /// Routing tracks per layout unit across them, horizontal and vertical; those of LEF's layers
    /// unless given, and without either so many that a tenth of the bins has too few
    #[arg(long, value_name = "H,V", value_parser = capacity, requires = "routability")]
    capacity: Option<Capacity>,
    /// Most rounds of growing cells
    #[arg(long, value_name = "N", requires = "routability",
          default_value_t = RoutabilityOptions::default().rounds as u32)]
    routability_rounds: u32,
}

impl RoutabilityArgs {
    /// What was asked for.
    pub(super) fn options(&self, opened: &Opened) -> Option<RoutabilityOptions> {
        self.routability.then(|| RoutabilityOptions {
            rounds: self.routability_rounds as usize,
            capacity: self.capacity.or_else(|| layers_capacity(opened)),
            ..RoutabilityOptions::default()
        })
    }
}

/// What a placement is made of.
pub(super) struct Placing<'a> {
    pub(super) charge: &'a Charge,
    pub(super) netlist: &'a Netlist,
    pub(super) options: &'a SolveArgs,
    pub(super) place_options: &'a PlaceOptions,
    pub(super) deadline: Option<Instant>,
}

/// Goes on from `placed` in rounds; the placement with the least utilization of its worst bins is the
/// result. The design's cells are then where some round has them.
pub(super) fn improve<T: EngineReal>(
    placed: Placed,
    opened: &mut Opened,
    routability: &RoutabilityOptions,
    placing: &Placing<'_>,
) -> Result<(Placed, Vec<Round>), Failure> {
    let Placing { charge, netlist, options, place_options, deadline } = *placing;
    let again = place_options.warm(true);
    let mut state = Routability::new(charge, netlist, routability);
    opened.design.settle(&placed.x, &placed.y);
    let mut rounds = vec![state.measure(&opened.design)?];
    note(&rounds[0].to_string());
    let (mut x, mut y) = (placed.x.clone(), placed.y.clone());
    let mut best = placed;
    while let Some(grown) = state.grow(&x, &y)? {
        let charge_now = Arc::new(grown.charge);
        let mut backend = engines::open_backend::<T>(charge_now, &grown.netlist, options)?.backend;
        let mut placer = Placer::new(&mut *backend, &grown.x, &grown.y, &again)?;
        let first = *placer.last();
        let beside = Beside { deadline, checkpoints: None, frames: None, history: None };
        let descent = descend::<T>(&mut placer, &again, vec![first], beside)?;
        let mut next = Placed::of(&mut placer, descent, best.seed)?;
        (x, y) = (next.x.clone(), next.y.clone());
        // What is written and said is of the cells at their own sizes.
        (next.x, next.y) = state.at_own_size(&x, &y);
        let Overflow { smoothed, exact, .. } = Overflow::at(charge, &next.x, &next.y);
        (next.smoothed, next.exact) = (smoothed, exact);
        opened.design.settle(&next.x, &next.y);
        let round = state.measure(&opened.design)?;
        note(&round.to_string());
        let least = rounds.iter().map(|of| of.worst_utilization).fold(f64::INFINITY, f64::min);
        let ended = matches!(next.outcome, Outcome::Interrupted | Outcome::OutOfTime);
        best = best.followed_by(next, round.worst_utilization < least);
        rounds.push(round);
        if ended {
            break;
        }
    }
    Ok((best, rounds))
}
