//! Placement driven by congestion: cells in crowded bins grow, so that the density spreads the
//! cells and their nets.
//!
//! After a placement the RUDY of its nets is compared with the routing tracks
//! ([`crate::congestion`]). If a bin has too few tracks for its horizontal wires, its cells become
//! taller, because horizontal wires follow one another along y. If it has too few tracks for its
//! vertical wires, its cells become wider. A side's growth follows the utilization u of the bins
//! that the cell covers, to a power e. Each bin's weight is the share of the cell in it:
//!
//! ```text
//! c = ln(Σ overlap · clamp(uᵉ, 1/most, most) / area)
//! Δ₁ = c        Δ = ½ Δ' + ½ c        growth = max(1, growth' · exp Δ)
//! ```
//!
//! So a cell shrinks again where demand has fallen below capacity. The growth by utilization is
//! that of RePlAce (Cheng et al., TCAD 2019, §IV), DREAMPlace (Lin et al., TCAD 2021,
//! `AdjustNodeArea`) and Xplace (Liu et al., DAC 2022). The momentum Δ is that of "DiffNet" (DAC
//! 2025), which adds it to the growth instead.
//!
//! A cell's centre and its pins do not move. Fillers shrink by the area that cells have gained, and
//! grow again by the area that cells have lost. Then the placement continues from its present
//! positions with a small weight of the density, so that nets find new routes. (OpenROAD's placer
//! goes back to overflow 0.6 for the same reason.) [`End`] lists when the rounds end.
//!
//! Macros and fixed cells do not grow.
//!
//! Detailed placement would move cells back together. So wire beyond the tracks has a price there
//! ([`crate::refine::WirePrice`]).

use super::options::{BadOption, check_range};
use crate::charge::{Charge, ChargeError};
use crate::congestion::{
    Capacity, CongestionError, Convention, Demand, Directions, Figures, RoutingGrid, Worst,
};
use crate::design::{Design, DesignError};
use crate::grid::{BinGrid, Map, Rect};
use crate::parallel;
use crate::wirelength::Netlist;
use serde::Serialize;
use std::ops::ControlFlow;

/// How cells grow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RoutabilityOptions {
    /// Most rounds.
    pub rounds: usize,
    /// Routing tracks. If they are not known, their number is chosen such that in the first round
    /// [`RoutabilityOptions::crowded`] of the bins with demand have too few.
    pub capacity: Option<Capacity>,
    /// Share of the bins with demand that are crowded if no capacity is known.
    pub crowded: f64,
    /// Power of the utilization.
    pub exponent: f64,
    /// Largest factor by which a cell's side grows or shrinks in a round.
    pub most_growth: f64,
    /// Largest factor by which a cell's area grows in all rounds together.
    pub most_in_all: f64,
    /// Most area that all cells gain in all rounds, over their own area. Fillers give at most half
    /// of their area. Without fillers, cells take at most half of the area that fillers would have.
    pub most_added: f64,
    /// The rounds end once all cells together gain and lose less than this share of their area.
    pub least_added: f64,
    /// Bins of the placement along each axis that make one bin in which demand is counted; from 1.
    pub bins: usize,
    /// What wire beyond the tracks of a bin of the placement costs in detailed placement, as
    /// [`WirePrice::price`](crate::refine::WirePrice::price).
    pub price: f64,
    /// How freely cells move in a round:
    /// [`PlaceOptions::warm_overflow`](super::PlaceOptions::warm_overflow).
    pub warm_overflow: f64,
}

impl Default for RoutabilityOptions {
    fn default() -> Self {
        RoutabilityOptions {
            rounds: 2,
            capacity: None,
            crowded: 0.05,
            exponent: 2.0,
            most_growth: 1.15,
            most_in_all: 2.5,
            most_added: 0.1,
            least_added: 0.002,
            bins: 2,
            price: 1.0,
            warm_overflow: 0.6,
        }
    }
}

impl RoutabilityOptions {
    /// Checks the values of all options.
    pub(crate) fn check(&self) -> Result<(), BadOption> {
        let shares = [("crowded", self.crowded), ("warm_overflow", self.warm_overflow)];
        check_range(0.0..=1.0, "a number from 0 to 1", &shares)?;
        let factors = [("most_growth", self.most_growth), ("most_in_all", self.most_in_all)];
        check_range(1.0..=f64::MAX, "a finite number, at least 1", &factors)?;
        let at_least_0 = [
            ("exponent", self.exponent),
            ("most_added", self.most_added),
            ("least_added", self.least_added),
        ];
        check_range(0.0..=f64::MAX, "a finite number, at least 0", &at_least_0)?;
        check_range(0.0..=1e6, "a number from 0 to 1e6", &[("price", self.price)])?;
        let tracks = self.capacity.map(|Capacity { horizontal, vertical }| {
            [("horizontal capacity", horizontal), ("vertical capacity", vertical)]
        });
        let above_0 = f64::MIN_POSITIVE..=f64::MAX;
        check_range(above_0, "a finite number above 0", tracks.as_ref().map_or(&[], |of| of))
    }
}

/// Why the cells did not grow, or could not.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoutabilityError {
    /// Congestion cannot be computed.
    #[error(transparent)]
    Congestion(#[from] CongestionError),
    /// An option with a value outside its range.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// No charge can have the sizes.
    #[error(transparent)]
    Charge(#[from] ChargeError),
}

/// Numbers of a round: how crowded the placement is, and how much cells have grown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Round {
    /// From 0: the placement before any cell has grown.
    pub round: usize,
    /// HPWL of the placement, weighted.
    #[serde(rename = "hpwl_weighted")]
    pub hpwl: f64,
    /// Demand beyond capacity over all demand.
    pub overflow: f64,
    /// Demand over capacity of the worst bins; each bin counts once for each direction.
    pub worst_utilization: Worst,
    /// Area that cells have gained since the start, over all cells' own area.
    pub added_area: f64,
}

impl Round {
    /// Whether its wires fit the tracks better than those of another round: it has less overflow.
    pub fn is_better_than(&self, other: &Round) -> bool {
        self.overflow < other.overflow
    }
}

/// Why no other round follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Every bin has enough tracks.
    NoOverflow,
    /// All rounds are done ([`RoutabilityOptions::rounds`]).
    Rounds,
    /// Cells may gain no more area ([`RoutabilityOptions::most_added`]).
    NoArea,
    /// Cells would gain or lose too little area ([`RoutabilityOptions::least_added`]).
    LittleChange,
    /// The placement was stopped.
    Stopped,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            End::NoOverflow => "every bin has enough tracks",
            End::Rounds => "all rounds are done",
            End::NoArea => "cells may gain no more area",
            End::LittleChange => "cells would gain or lose too little area",
            End::Stopped => "the placement was stopped",
        })
    }
}

/// Which round gave the result, and why no other round followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RoundsEnd {
    /// The round with the least overflow; 0 if no cell grew or no round has less overflow.
    pub result: usize,
    /// Why no other round followed.
    pub reason: End,
}

impl std::fmt::Display for RoundsEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "routability: round {} is the result; {}", self.result, self.reason)
    }
}

/// All rounds of a placement.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Congestion before the first round and after every round; empty without rounds.
    pub rounds: Vec<Round>,
    /// How the rounds ended, if they were requested.
    pub end: Option<RoundsEnd>,
    /// The tracks that demand was compared with, if there are rounds.
    pub capacity: Option<Capacity>,
}

/// Cells that grow from one round to the next.
#[derive(Clone, Debug)]
pub struct Routability {
    options: RoutabilityOptions,
    grid: BinGrid,
    /// The charge before any cell has grown.
    own: Charge,
    netlist: Netlist,
    /// Every movable cell's width and height over its own.
    growth: Vec<[f64; 2]>,
    /// Logarithm of the factors by which they changed in the last round.
    change: Vec<[f64; 2]>,
    /// Area of the fillers before any cell has grown; without fillers, the area that fillers would
    /// have.
    space: f64,
    /// The share of `space` that cells have not taken: the fillers' area over their own.
    filler_growth: f64,
    /// Whether each cell may grow.
    grows: Vec<bool>,
    capacity: Option<Capacity>,
    /// Demand of the last measurement.
    demand: Option<Directions>,
    rounds: usize,
}

/// The charge, nets and start of a round.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The bodies with their new sizes.
    pub charge: Charge,
    /// The nets, whose pins do not move.
    pub netlist: Netlist,
    /// Left edges of the grown bodies, whose centres have not moved.
    pub x: Vec<f64>,
    /// Bottom edges of the grown bodies.
    pub y: Vec<f64>,
}

impl Routability {
    /// Begins with the bodies of `charge`, connected by `netlist`; no cell has grown.
    ///
    /// # Errors
    /// When an option is outside its range.
    pub fn new(
        charge: &Charge,
        netlist: &Netlist,
        options: &RoutabilityOptions,
    ) -> Result<Self, RoutabilityError> {
        options.check()?;
        let movable = charge.movable();
        let mut grows: Vec<bool> = (0..movable).map(|i| !charge.is_fixed(i)).collect();
        charge.movable_macros().iter().for_each(|&i| grows[i as usize] = false);
        let grid = charge.grid();
        let along = |bins: usize| bins.div_ceil(options.bins.max(1));
        let grid = BinGrid::new(grid.die(), along(grid.nx()), along(grid.ny()))
            .expect("fewer bins than a grid has");
        let fillers = charge.filler_area();
        Ok(Routability {
            options: *options,
            grid,
            own: charge.clone(),
            netlist: netlist.clone(),
            growth: vec![[1.0; 2]; movable],
            change: vec![[0.0; 2]; movable],
            space: if fillers > 0.0 { fillers } else { charge.area_for_fillers() },
            filler_growth: 1.0,
            grows,
            capacity: options.capacity,
            demand: None,
            rounds: 0,
        })
    }

    /// Replaces the net weights of the rounds to come ([`Netlist::set_weights`]).
    ///
    /// # Errors
    /// Those of [`Netlist::set_weights`].
    pub fn set_net_weights(&mut self, weights: &[f64]) -> Result<(), DesignError> {
        self.netlist.set_weights(weights)
    }

    /// Returns the lower-left corners of the bodies at their own sizes, from those at their present
    /// sizes.
    pub fn at_own_size(&self, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let [dx, dy] = self.margins();
        let add = |at: &[f64], by: &[f64]| at.iter().zip(by).map(|(at, by)| at + by).collect();
        (add(x, &dx), add(y, &dy))
    }

    /// Measures the congestion of `design` in its placement.
    ///
    /// # Errors
    /// When the design has no nets or its columns do not fit together.
    pub fn measure(&mut self, design: &Design) -> Result<Round, RoutabilityError> {
        let grid = RoutingGrid::from(&self.grid);
        let convention = Convention::DreamPlace;
        let demand = Demand::of(design, &grid, convention).map_err(CongestionError::from)?.total();
        let crowded = self.options.crowded;
        let capacity = *self.capacity.get_or_insert_with(|| crowding(&demand, crowded));
        let figures = Figures::of(&demand, &grid, Some(capacity));
        self.demand = Some(demand);
        Ok(Round {
            round: self.rounds,
            hpwl: design.hpwl().map_or(0.0, |hpwl| hpwl.weighted),
            overflow: figures.overflow.unwrap_or(0.0),
            worst_utilization: figures.worst_utilization.expect("the capacity is known"),
            added_area: self.added() / self.own.movable_area(),
        })
    }

    /// Returns the tracks that demand is compared with, if they are known.
    pub fn capacity(&self) -> Option<Capacity> {
        self.capacity
    }

    /// Grows the cells by the last measurement, `round`, or says why another round is not worth it
    /// or not allowed. `x` and `y` are lower-left corners of the bodies at their present sizes.
    ///
    /// # Errors
    /// When sizes do not fit a charge.
    pub fn grow(
        &mut self,
        round: &Round,
        x: &[f64],
        y: &[f64],
    ) -> Result<ControlFlow<End, Grown>, RoutabilityError> {
        let (Some(demand), Some(capacity)) = (self.demand.take(), self.capacity) else {
            return Ok(ControlFlow::Break(End::LittleChange));
        };
        if round.overflow == 0.0 {
            return Ok(ControlFlow::Break(End::NoOverflow));
        }
        if self.rounds == self.options.rounds {
            return Ok(ControlFlow::Break(End::Rounds));
        }
        let own = self.at_own_size(x, y);
        if let ControlFlow::Break(end) = self.grow_by(&demand, capacity, &own) {
            return Ok(ControlFlow::Break(end));
        }
        self.rounds += 1;
        let [width, height] = self.sides();
        let mut charge = self.own.clone();
        charge.set_sizes(&width, &height)?;
        let [dx, dy] = self.margins();
        let movable = charge.movable();
        let back = |at: &[f64], by: &[f64]| at.iter().zip(by).map(|(at, by)| at - by).collect();
        Ok(ControlFlow::Continue(Grown {
            netlist: self.netlist.with_pins_moved(&dx[..movable], &dy[..movable]),
            x: back(&own.0, &dx),
            y: back(&own.1, &dy),
            charge,
        }))
    }

    /// Returns the area that cells have gained, layout units squared.
    fn added(&self) -> f64 {
        let area = |i: usize| self.own.width()[i] * self.own.height()[i];
        self.growth.iter().enumerate().map(|(i, [w, h])| area(i) * (w * h - 1.0)).sum()
    }

    /// Grows and shrinks the cells that lie at `at` at their own sizes, unless that is not worth it.
    fn grow_by(
        &mut self,
        demand: &Directions,
        capacity: Capacity,
        at: &(Vec<f64>, Vec<f64>),
    ) -> ControlFlow<End> {
        let options = self.options;
        let factors = |demand: &Map<f64>, tracks: f64| {
            let most = options.most_growth;
            demand.map(|demand| (demand / tracks).powf(options.exponent).clamp(1.0 / most, most))
        };
        // Tracks of vertical wires follow one another along the width.
        let factors = [
            factors(&demand.vertical, capacity.vertical),
            factors(&demand.horizontal, capacity.horizontal),
        ];
        let (width, height) = (self.own.width(), self.own.height());
        let area = |i: usize| width[i] * height[i];
        let asked = parallel::map(self.growth.len(), |i| {
            if !self.grows[i] {
                return [1.0; 2];
            }
            let rect = Rect::at(at.0[i], at.1[i], width[i], height[i]);
            let side = |k: usize| {
                let wanted = mean_over(&factors[k], &self.grid, &rect).ln();
                let change =
                    if self.rounds == 0 { 2.0 * wanted } else { self.change[i][k] + wanted };
                (self.growth[i][k] * (0.5 * change).exp()).max(1.0)
            };
            let sides = [side(0), side(1)];
            let grown = sides[0] * sides[1];
            let within = (options.most_in_all.ln() / grown.ln()).min(1.0);
            if grown > 1.0 { sides.map(|side| side.powf(within)) } else { sides }
        });
        let gain = |i: usize| {
            let product = |[w, h]: [f64; 2]| w * h;
            area(i) * (product(asked[i]) - product(self.growth[i]))
        };
        let all = 0..asked.len();
        let gained: f64 = all.clone().map(|i| gain(i).max(0.0)).sum();
        let lost: f64 = all.map(|i| gain(i).min(0.0)).sum();
        let cells = self.own.movable_area();
        let left = self.space * self.filler_growth;
        let room = (options.most_added * cells - self.added()).min(left - 0.5 * self.space);
        let room = room.max(0.0) - lost;
        let share = if gained > room { room / gained } else { 1.0 };
        if share * gained - lost <= options.least_added * cells {
            let is_full = share < 1.0;
            return ControlFlow::Break(if is_full { End::NoArea } else { End::LittleChange });
        }
        self.filler_growth = (left - share * gained - lost) / self.space;
        let sides = parallel::map(asked.len(), |i| {
            // The area of a cell that grows gains the share, its sides in proportion.
            let (was, asked) = (self.growth[i], asked[i]);
            let factor = [asked[0] / was[0], asked[1] / was[1]];
            let grown = factor[0] * factor[1];
            let power = (1.0 + share * (grown - 1.0)).ln() / grown.ln();
            let part = |k: usize| was[k] * factor[k].powf(power);
            if grown > 1.0 && share < 1.0 { [part(0), part(1)] } else { asked }
        });
        let change = |(now, was): (&[f64; 2], &[f64; 2])| [0, 1].map(|k| (now[k] / was[k]).ln());
        self.change = sides.iter().zip(&self.growth).map(change).collect();
        self.growth = sides;
        ControlFlow::Continue(())
    }

    /// Widths and heights of all bodies, grown.
    fn sides(&self) -> [Vec<f64>; 2] {
        let fillers = [self.filler_growth.sqrt(); 2];
        let factors = |i: usize| *self.growth.get(i).unwrap_or(&fillers);
        let along = |sides: &[f64], k: usize| {
            sides.iter().enumerate().map(|(i, side)| side * factors(i)[k]).collect()
        };
        [along(self.own.width(), 0), along(self.own.height(), 1)]
    }

    /// Returns how far every body now reaches beyond its own size on each side, along x and along
    /// y.
    fn margins(&self) -> [Vec<f64>; 2] {
        let [width, height] = self.sides();
        let margins = |grown: Vec<f64>, own: &[f64]| {
            grown.iter().zip(own).map(|(grown, own)| 0.5 * (grown - own)).collect()
        };
        [margins(width, self.own.width()), margins(height, self.own.height())]
    }
}

/// Returns the capacity, equal in both directions, that is too low in this share of the bins with
/// demand.
fn crowding(demand: &Directions, share: f64) -> Capacity {
    let tracks = |map: &Map<f64>| {
        let mut values: Vec<f64> = map.as_slice().iter().copied().filter(|v| *v > 0.0).collect();
        let at = (values.len() as f64 * (1.0 - share)) as usize;
        match values.len() {
            0 => f64::MIN_POSITIVE,
            count => *values.select_nth_unstable_by(at.min(count - 1), f64::total_cmp).1,
        }
    };
    Capacity { horizontal: tracks(&demand.horizontal), vertical: tracks(&demand.vertical) }
}

/// Mean of a map over a rectangle; 1 outside the die.
fn mean_over(map: &Map<f64>, grid: &BinGrid, rect: &Rect) -> f64 {
    let die = grid.die();
    let span = |low: f64, high: f64, die_low: f64, bin: f64, bins: usize| {
        let last = bins - 1;
        let at = |v: f64| (((v - die_low) / bin).max(0.0) as usize).min(last);
        at(low)..=at(high)
    };
    let (mut sum, mut area) = (0.0, 0.0);
    for i in span(rect.xl, rect.xh, die.xl, grid.bin_x(), grid.nx()) {
        for j in span(rect.yl, rect.yh, die.yl, grid.bin_y(), grid.ny()) {
            let (x, y) = (die.xl + i as f64 * grid.bin_x(), die.yl + j as f64 * grid.bin_y());
            let overlap = rect.overlap(&Rect::at(x, y, grid.bin_x(), grid.bin_y()));
            sum += overlap * map[(i, j)];
            area += overlap;
        }
    }
    if area > 0.0 { sum / area } else { 1.0 }
}

impl std::fmt::Display for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Round { round, hpwl, overflow, worst_utilization: worst, added_area } = self;
        write!(
            f,
            "routability round {round}: worst 1 % at {:.4} of capacity, worst 5 % at {:.4}, \
             overflow {:.3} % of the wire, HPWL {hpwl:.6e}, {:.2} % area added",
            worst.one_percent,
            worst.five_percent,
            100.0 * overflow,
            100.0 * added_area
        )
    }
}

#[cfg(test)]
mod tests;
