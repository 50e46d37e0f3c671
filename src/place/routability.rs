//! Placing by congestion: cells in crowded bins grow, so that the density spreads what connects
//! them.
//!
//! After a placement the RUDY of its nets is compared with the routing tracks
//! ([`crate::congestion`]). A cell's area grows by the utilization of the bins it covers, to a
//! power, weighted by the share of the cell in each (RePlAce, Cheng et al., TCAD 2019, §IV;
//! DREAMPlace, Lin et al., TCAD 2021, and its `AdjustNodeArea`; Xplace, Liu et al., DAC 2022):
//!
//! ```text
//! growth = Σ overlap · clamp(utilizationᵉ, 1, most) / area
//! ```
//!
//! and stays grown. Its centre stays where it is, and so do its pins. Fillers shrink by as much
//! area as cells have gained. Then the placement is taken up again from where it is, with a small
//! weight of the density, so that nets find their way anew (OpenROAD's placer goes back to overflow
//! 0.6 for the same reason), until no bin asks for growth or the area that may be added or the
//! rounds are spent.
//!
//! Macros and cells that stay do not grow.

use super::options::{BadOption, check_range};
use crate::charge::{Charge, ChargeError};
use crate::congestion::{
    Capacity, CongestionError, Convention, Demand, Directions, Figures, RoutingGrid,
};
use crate::design::{Design, DesignError};
use crate::grid::{BinGrid, Map, Rect};
use crate::parallel;
use crate::wirelength::Netlist;
use serde::Serialize;

/// How cells grow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoutabilityOptions {
    /// Most rounds.
    pub rounds: usize,
    /// Routing tracks. Where they are not known, so many that [`RoutabilityOptions::crowded`]
    /// of the bins with demand have too few in the first round.
    pub capacity: Option<Capacity>,
    /// Share of the bins with demand that are crowded where no capacity is known.
    pub crowded: f64,
    /// Power of the utilization.
    pub exponent: f64,
    /// Largest factor by which a cell's area grows in a round …
    pub most_growth: f64,
    /// … and in all rounds together.
    pub most_in_all: f64,
    /// Most area that all cells gain in all rounds, over their own. Fillers give at most half of
    /// theirs; without fillers, cells take at most half of the area that fillers would have.
    pub most_added: f64,
    /// Less growth of all cells' area than this share of it ends the rounds.
    pub least_added: f64,
    /// Bins of the placement along each axis that make one bin in which demand is counted; from 1.
    pub bins: usize,
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
            most_growth: 2.0,
            most_in_all: 2.5,
            most_added: 0.1,
            least_added: 0.002,
            bins: 4,
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
    /// No congestion can be computed.
    #[error(transparent)]
    Congestion(#[from] CongestionError),
    /// An option with a value outside its range.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// Sizes that no charge can have.
    #[error(transparent)]
    Charge(#[from] ChargeError),
}

/// A round in numbers: how crowded the placement is, and how much cells have grown.
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
    /// Demand over capacity of the worst 5 % of bins, each counting once for each direction.
    pub worst_utilization: f64,
    /// Demand of the same, wires per layout unit.
    pub worst_demand: f64,
    /// Area that cells have gained since the start, over all cells' own area.
    pub added_area: f64,
}

/// Cells that grow from one round to the next.
#[derive(Clone, Debug)]
pub struct Routability {
    options: RoutabilityOptions,
    grid: BinGrid,
    /// The charge before any cell has grown.
    own: Charge,
    netlist: Netlist,
    /// Every movable cell's area over its own.
    growth: Vec<f64>,
    /// Area of the fillers before any cell has grown; without fillers, the area that they would
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
    /// The nets, whose pins stay where they are.
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
            growth: vec![1.0; movable],
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
    /// As there.
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
            worst_utilization: figures.worst_utilization.map_or(0.0, |worst| worst.five_percent),
            worst_demand: figures.worst_demand.five_percent,
            added_area: self.added() / self.own.movable_area(),
        })
    }

    /// Grows the cells by the last measurement. Returns `None` if another round is not worth it or
    /// not allowed; `x` and `y` are lower-left corners of the bodies at their present sizes.
    ///
    /// # Errors
    /// When sizes do not fit a charge.
    pub fn grow(&mut self, x: &[f64], y: &[f64]) -> Result<Option<Grown>, RoutabilityError> {
        let (Some(demand), Some(capacity)) = (self.demand.take(), self.capacity) else {
            return Ok(None);
        };
        let own = self.at_own_size(x, y);
        if self.rounds == self.options.rounds || !self.grow_by(&demand, capacity, &own) {
            return Ok(None);
        }
        self.rounds += 1;
        let [width, height] = self.sides();
        let mut charge = self.own.clone();
        charge.set_sizes(&width, &height)?;
        let [dx, dy] = self.margins();
        let movable = charge.movable();
        let back = |at: &[f64], by: &[f64]| at.iter().zip(by).map(|(at, by)| at - by).collect();
        Ok(Some(Grown {
            netlist: self.netlist.with_pins_moved(&dx[..movable], &dy[..movable]),
            x: back(&own.0, &dx),
            y: back(&own.1, &dy),
            charge,
        }))
    }

    /// Returns the area that cells have gained, layout units squared.
    fn added(&self) -> f64 {
        let area = |i: usize| self.own.width()[i] * self.own.height()[i];
        self.growth.iter().enumerate().map(|(i, growth)| area(i) * (growth - 1.0)).sum()
    }

    /// Grows the cells that lie at `at` at their own sizes; whether that was worth it.
    fn grow_by(
        &mut self,
        demand: &Directions,
        capacity: Capacity,
        at: &(Vec<f64>, Vec<f64>),
    ) -> bool {
        let options = &self.options;
        let of = |h: f64, v: f64| (h / capacity.horizontal).max(v / capacity.vertical);
        let (h, v) = (demand.horizontal.as_slice(), demand.vertical.as_slice());
        let factors = parallel::map(h.len(), |bin| {
            of(h[bin], v[bin]).powf(options.exponent).clamp(1.0, options.most_growth)
        });
        let map = Map::from_vec(self.grid.nx(), self.grid.ny(), factors);
        let (width, height) = (self.own.width(), self.own.height());
        let asked = parallel::map(self.growth.len(), |i| {
            let rect = Rect::at(at.0[i], at.1[i], width[i], height[i]);
            match self.grows[i] {
                true => (self.growth[i] * mean_over(&map, &self.grid, &rect))
                    .min(options.most_in_all)
                    .max(self.growth[i]),
                false => 1.0,
            }
        });
        let area = |i: usize| width[i] * height[i];
        let gain: f64 =
            asked.iter().zip(&self.growth).enumerate().map(|(i, (a, b))| area(i) * (a - b)).sum();
        let cells = self.own.movable_area();
        let left = self.space * self.filler_growth;
        let room = (options.most_added * cells - self.added()).min(left - 0.5 * self.space);
        let room = room.max(0.0);
        let share = if gain > room { room / gain } else { 1.0 };
        let gain = gain * share;
        if gain <= 0.0 || gain < options.least_added * cells {
            return false;
        }
        self.filler_growth = (left - gain) / self.space;
        self.growth.iter_mut().zip(asked).for_each(|(growth, a)| *growth += share * (a - *growth));
        true
    }

    /// Widths and heights of all bodies, grown.
    fn sides(&self) -> [Vec<f64>; 2] {
        let factor =
            |i: usize| self.growth.get(i).map_or(self.filler_growth, |growth| *growth).sqrt();
        [self.own.width(), self.own.height()]
            .map(|sides| sides.iter().enumerate().map(|(i, side)| side * factor(i)).collect())
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

/// So many tracks in both directions that this share of the bins with demand has too few.
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

/// Mean of a map over a rectangle; 1 beyond the die.
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
        let Round { round, hpwl, overflow, worst_utilization, added_area, .. } = self;
        write!(
            f,
            "routability round {round}: worst 5 % at {worst_utilization:.4} of capacity, overflow \
             {:.3} % of the wire, HPWL {hpwl:.6e}, {:.2} % area added",
            100.0 * overflow,
            100.0 * added_area
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};

    const SIDE: f64 = 160.0;

    /// 64 cells of 4 × 4 in the lower left quarter, all connected to their neighbours, with
    /// fillers elsewhere; and one on its own far away.
    fn crowded() -> (Design, Charge) {
        use crate::design::{Nets, NodeKind, Nodes, Orientation, Placement, Row};
        let count = 65;
        let at =
            |i: usize, k: usize| if i == 64 { 150.0 } else { 2.0 + 5.0 * [i % 8, i / 8][k] as f64 };
        let column = |k: usize| (0..count).map(|i| at(i, k)).collect::<Vec<f64>>();
        let mut nets = Nets { net_start: vec![0], ..Nets::default() };
        for i in 0..56_u32 {
            for other in [i + 1, i + 8] {
                nets.pin_node.extend([i, other]);
                nets.pin_dx.extend([0.5, -0.25]);
                nets.pin_dy.extend([-1.0, 1.0]);
                nets.weight.push(1.0);
                nets.net_start.push(nets.pin_node.len() as u32);
            }
        }
        let design = Design {
            nodes: Nodes {
                width: vec![4.0; count],
                height: vec![4.0; count],
                kind: vec![NodeKind::Movable; count],
                ..Nodes::default()
            },
            placement: Placement {
                x: column(0),
                y: column(1),
                orientation: vec![Orientation::N; count],
            },
            nets: Some(nets),
            rows: vec![Row { height: SIDE, site_width: SIDE, sites: 1, ..Row::default() }],
            ..Design::default()
        };
        let grid = BinGrid::new(Rect::at(0.0, 0.0, SIDE, SIDE), 16, 16).unwrap();
        let (width, height) = (vec![4.0; count], vec![4.0; count]);
        let (x, y) = (column(0), column(1));
        let cells = Rectangles::movable(&width, &height, &x, &y);
        let options = ChargeOptions::default().fillers(true);
        (design, Charge::from_rectangles(grid, &cells, &options).unwrap())
    }

    #[test]
    fn cells_in_crowded_bins_grow_in_place() {
        let (design, charge) = crowded();
        let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
        let options = RoutabilityOptions {
            rounds: 1,
            crowded: 0.7,
            bins: 1,
            most_added: 1.0,
            ..RoutabilityOptions::default()
        };
        let mut state = Routability::new(&charge, &netlist, &options).unwrap();
        let before = state.measure(&design).unwrap();
        assert!(before.worst_utilization > 1.0 && before.added_area == 0.0, "{before}");
        let (x, y) = (charge.initial_x(), charge.initial_y());
        let grown = state.grow(x, y).unwrap().unwrap();
        let after = state.measure(&design).unwrap();
        // Only what is crowded grows, and fillers make room for it.
        let area = |charge: &Charge, i: usize| charge.width()[i] * charge.height()[i];
        assert!(
            area(&grown.charge, 9) > 1.05 * 16.0 && area(&grown.charge, 9) <= 2.0 * 16.0 + 1e-9
        );
        assert_eq!(area(&grown.charge, 64), 16.0);
        let total = |charge: &Charge| charge.movable_area() + charge.filler_area();
        assert!((total(&grown.charge) - total(&charge)).abs() < 1e-6 * total(&charge));
        let added = grown.charge.movable_area() / charge.movable_area() - 1.0;
        assert!((after.added_area - added).abs() < 1e-9 && added > 0.0);
        // Centres and pins stay.
        let pin = |netlist: &Netlist, x: &[f64], p: usize| {
            x[netlist.pin_body()[p] as usize] + netlist.pin_x()[p]
        };
        for p in 0..netlist.pin_body().len() {
            let (was, is) = (pin(&netlist, x, p), pin(&grown.netlist, &grown.x, p));
            assert!((was - is).abs() < 1e-9, "pin {p}: {was} {is}");
        }
        let (own_x, own_y) = state.at_own_size(&grown.x, &grown.y);
        assert!(own_x.iter().zip(x).chain(own_y.iter().zip(y)).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!(state.grow(&grown.x, &grown.y).unwrap().is_none(), "the rounds are spent");
    }

    /// Returns the area added in all rounds, over the cells' own, and the fillers' over theirs.
    fn grown_by(most_added: f64, bins: usize, filler_area: f64) -> (f64, f64) {
        let (design, charge) = crowded();
        let mut charge = charge;
        let (mut width, height) = (charge.width().to_vec(), charge.height().to_vec());
        let movable = charge.movable();
        width[movable..].iter_mut().for_each(|side| *side *= filler_area / charge.filler_area());
        charge.set_sizes(&width, &height).unwrap();
        let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
        let capacity = Some(Capacity { horizontal: 1e-3, vertical: 1e-3 });
        let default = RoutabilityOptions::default();
        let options = RoutabilityOptions {
            rounds: 9,
            least_added: 0.0,
            capacity,
            most_added,
            bins,
            ..default
        };
        let mut state = Routability::new(&charge, &netlist, &options).unwrap();
        let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
        let mut fillers = 1.0;
        state.measure(&design).unwrap();
        while let Some(grown) = state.grow(&x, &y).unwrap() {
            (x, y) = (grown.x, grown.y);
            fillers = grown.charge.filler_area() / charge.filler_area();
            state.measure(&design).unwrap();
        }
        (state.measure(&design).unwrap().added_area, fillers)
    }

    #[test]
    fn cells_gain_no_more_area_than_allowed() {
        let cells = 65.0 * 16.0;
        // All rounds together gain what may be added, in fine bins and in coarse ones.
        for (bins, most) in [(1, 0.1), (4, 0.1), (1, 0.4)] {
            let (added, fillers) = grown_by(most, bins, 10.0 * cells);
            assert!((added - most).abs() < 1e-9, "{bins} {most}: {added}");
            assert!((fillers - (1.0 - 0.1 * most)).abs() < 1e-9, "{fillers}");
        }
        // Fillers keep half of their area, and a cell is at most 2.5 times itself.
        let (added, fillers) = grown_by(10.0, 1, 0.2 * cells);
        assert!((added - 0.1).abs() < 1e-9 && (fillers - 0.5).abs() < 1e-9, "{added} {fillers}");
        let (added, _) = grown_by(10.0, 1, 10.0 * cells);
        assert!((added - 1.5 * 64.0 / 65.0).abs() < 1e-9, "{added}");
        assert_eq!(grown_by(0.0, 1, 10.0 * cells), (0.0, 1.0));
    }

    #[test]
    fn nothing_grows_where_demand_fits() {
        let (design, charge) = crowded();
        let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
        let capacity = Some(Capacity { horizontal: 1e3, vertical: 1e3 });
        let options = RoutabilityOptions { capacity, ..RoutabilityOptions::default() };
        let mut state = Routability::new(&charge, &netlist, &options).unwrap();
        let round = state.measure(&design).unwrap();
        assert_eq!((round.overflow, round.round), (0.0, 0));
        assert!(state.grow(charge.initial_x(), charge.initial_y()).unwrap().is_none());
    }

    /// Returns the crowded cells without fillers, beside fixed rectangles.
    fn without_fillers(fixed: &[Rect]) -> (Design, Charge) {
        let (design, charge) = crowded();
        let column = |values: &[f64]| values[..charge.movable()].to_vec();
        let (width, height) = (column(charge.width()), column(charge.height()));
        let (x, y) = (column(charge.initial_x()), column(charge.initial_y()));
        let cells = Rectangles::movable(&width, &height, &x, &y).fixed(fixed);
        let options = ChargeOptions::default();
        (design, Charge::from_rectangles(charge.grid(), &cells, &options).unwrap())
    }

    #[test]
    fn without_fillers_cells_take_free_space() {
        let options = RoutabilityOptions {
            least_added: 0.0,
            capacity: Some(Capacity { horizontal: 1e-3, vertical: 1e-3 }),
            ..RoutabilityOptions::default()
        };
        let cells = 65.0 * 16.0;
        // All of the die is free, as much as a tenth of the cells' area, or nothing.
        for (free, most) in [(SIDE * SIDE - cells, 0.1), (0.1 * cells, 0.05), (0.0, 0.0)] {
            let width = SIDE - (free + cells) / SIDE;
            let width = if free > 0.0 { width } else { SIDE };
            let (design, charge) = without_fillers(&[Rect::at(SIDE - width, 0.0, width, SIDE)]);
            let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
            let mut state = Routability::new(&charge, &netlist, &options).unwrap();
            state.measure(&design).unwrap();
            let grown = state.grow(charge.initial_x(), charge.initial_y()).unwrap();
            assert_eq!(grown.is_some(), most > 0.0, "{free}");
            let added = state.measure(&design).unwrap().added_area;
            assert!((added - most).abs() < 1e-9, "{free}: {added}");
            assert!(grown.is_none_or(|grown| grown.charge.fillers() == 0));
        }
    }

    #[test]
    fn options_outside_their_range_are_refused() {
        let (design, charge) = crowded();
        let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
        type Change = fn(&mut RoutabilityOptions);
        let changes: [(Change, &str); 5] = [
            (|o| o.least_added = -0.1, "least_added: -0.1: expected a finite number, at least 0"),
            (|o| o.most_added = f64::NAN, "most_added: NaN: expected a finite number, at least 0"),
            (|o| o.most_growth = 0.5, "most_growth: 0.5: expected a finite number, at least 1"),
            (|o| o.crowded = 2.0, "crowded: 2: expected a number from 0 to 1"),
            (
                |o| o.capacity = Some(Capacity { horizontal: 1.0, vertical: 0.0 }),
                "vertical capacity: 0: expected a finite number above 0",
            ),
        ];
        for (change, want) in changes {
            let mut options = RoutabilityOptions::default();
            change(&mut options);
            let error = Routability::new(&charge, &netlist, &options).unwrap_err();
            assert_eq!(error.to_string(), want);
        }
    }
}
