//! Numbers of demand: total, overflow, and the demand of the worst bins.

use super::{Capacity, Directions, RoutingGrid};
use crate::grid::Map;
use serde::Serialize;

/// Shares of the bins whose mean is given, the worst bins first: those of the DAC 2012 contest's
/// ACE.
pub const WORST_SHARES: [f64; 4] = [0.005, 0.01, 0.02, 0.05];

/// The mean of the worst bins: ACE, "average congestion of g-cell edges" (Wei et al., "GLARE", DAC
/// 2012; Viswanathan et al., "The DAC 2012 routability-driven placement contest", DAC 2012).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Worst {
    /// Mean of the worst 0.5 % of the bins.
    pub half_percent: f64,
    /// Mean of the worst 1 % of the bins.
    pub one_percent: f64,
    /// Mean of the worst 2 % of the bins.
    pub two_percent: f64,
    /// Mean of the worst 5 % of the bins.
    pub five_percent: f64,
    /// Mean of the four: the contest's "peak weighted congestion".
    pub mean: f64,
}

/// One direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct DirectionFigures {
    /// Wirelength in all bins.
    pub wire: f64,
    /// Demand of the worst bin, wires per layout unit.
    pub max: f64,
    /// Demand of the worst bins, wires per layout unit.
    pub worst: Worst,
    /// Wirelength above the capacity, summed over bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<f64>,
    /// Bins whose demand exceeds the capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflowing_bins: Option<usize>,
}

/// Demand of a placement in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Figures of horizontal wires.
    pub horizontal: DirectionFigures,
    /// Figures of vertical wires.
    pub vertical: DirectionFigures,
    /// Demand of the worst bins, each of which counts once for each direction.
    pub worst_demand: Worst,
    /// Demand divided by capacity of the worst bins, as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_utilization: Option<Worst>,
    /// Demand above the capacity, divided by all demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<f64>,
    /// Capacity that demand is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

impl Figures {
    /// Returns the figures of a demand over the bins of `grid`.
    pub fn of(demand: &Directions, grid: &RoutingGrid, capacity: Option<Capacity>) -> Self {
        let Directions { horizontal, vertical } = demand;
        let tracks = [capacity.map(|c| c.horizontal), capacity.map(|c| c.vertical)];
        let figures = [
            DirectionFigures::of(horizontal, grid, tracks[0]),
            DirectionFigures::of(vertical, grid, tracks[1]),
        ];
        let over = |by: [f64; 2]| {
            let of = |map: &Map<f64>, by: f64| map.as_slice().iter().map(move |v| v / by).collect();
            let both: [Vec<f64>; 2] = [of(horizontal, by[0]), of(vertical, by[1])];
            worst(both.concat())
        };
        let wire = figures[0].wire + figures[1].wire;
        let too_much: Option<f64> = figures.iter().map(|of| of.overflow).sum();
        Figures {
            horizontal: figures[0],
            vertical: figures[1],
            worst_demand: over([1.0, 1.0]),
            worst_utilization: capacity.map(|c| over([c.horizontal, c.vertical])),
            overflow: too_much.map(|v| if wire > 0.0 { v / wire } else { 0.0 }),
            capacity,
        }
    }
}

impl DirectionFigures {
    fn of(map: &Map<f64>, grid: &RoutingGrid, tracks: Option<f64>) -> Self {
        let (mut wire, mut overflow, mut overflowing, mut max) = (0.0, 0.0, 0, 0.0_f64);
        for i in 0..grid.nx() {
            for (j, &demand) in map.row(i).iter().enumerate() {
                let area = grid.bin_area(i, j);
                wire += demand * area;
                max = max.max(demand);
                let beyond = tracks.map_or(0.0, |tracks| demand - tracks).max(0.0);
                overflow += beyond * area;
                overflowing += usize::from(beyond > 0.0);
            }
        }
        DirectionFigures {
            wire,
            max,
            worst: worst(map.as_slice().to_vec()),
            overflow: tracks.map(|_| overflow),
            overflowing_bins: tracks.map(|_| overflowing),
        }
    }
}

/// Means of the worst shares of some values.
fn worst(mut values: Vec<f64>) -> Worst {
    // Only the worst of all have to be in order.
    let most = count(values.len(), WORST_SHARES[3]);
    let descending = |a: &f64, b: &f64| b.total_cmp(a);
    if most < values.len() {
        values.select_nth_unstable_by(most, descending);
        values.truncate(most);
    }
    values.sort_unstable_by(descending);
    let total = values.len();
    let mut means = [0.0; 4];
    let mut sum = 0.0;
    let mut taken = 0;
    for (mean, share) in means.iter_mut().zip(WORST_SHARES) {
        // `values` are the worst 5 % of all.
        let end = count(total, share / WORST_SHARES[3]);
        sum += values[taken..end].iter().sum::<f64>();
        taken = end;
        *mean = sum / end as f64;
    }
    let [half_percent, one_percent, two_percent, five_percent] = means;
    let mean = means.iter().sum::<f64>() / 4.0;
    Worst { half_percent, one_percent, two_percent, five_percent, mean }
}

/// Returns how many a share of so many is, one at least.
fn count(all: usize, share: f64) -> usize {
    ((all as f64 * share).round() as usize).clamp(1, all.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_bins_are_averaged() {
        let values: Vec<f64> = (0..1000).map(|k| f64::from(k * 7919 % 1000)).collect();
        let worst = worst(values);
        assert_eq!(worst.half_percent, 997.0);
        assert_eq!(
            (worst.one_percent, worst.two_percent, worst.five_percent),
            (994.5, 989.5, 974.5)
        );
        assert_eq!(worst.mean, (997.0 + 994.5 + 989.5 + 974.5) / 4.0);
    }

    #[test]
    fn utilization_of_the_worst_bins_is_averaged_over_both_directions() {
        let edges: Vec<f64> = (0..=10).map(f64::from).collect();
        let grid = RoutingGrid::from_edges(edges.clone(), edges).unwrap();
        let of = |worst: &[f64]| {
            let at = |bin: usize| worst.get(bin / 7).copied().filter(|_| bin.is_multiple_of(7));
            Map::from_vec(10, 10, (0..100).map(|bin| at(bin).unwrap_or(1.0)).collect())
        };
        let capacity = Some(Capacity { horizontal: 2.0, vertical: 4.0 });
        // 3, 2, 1.5, 1.25, 1 and 0.5 of the capacity; and 2.5, 1, 0.75 and 0.5 of it.
        let horizontal = of(&[6.0, 4.0, 3.0, 2.5, 2.0]);
        let vertical = of(&[10.0, 4.0, 3.0, 2.0]);
        let figures = Figures::of(&Directions { horizontal, vertical }, &grid, capacity);
        // Of 200 values 1, 2, 4 and 10 are the worst.
        let worst = figures.worst_utilization.unwrap();
        assert_eq!((worst.half_percent, worst.one_percent), (3.0, 2.75));
        assert_eq!(worst.two_percent, (3.0 + 2.5 + 2.0 + 1.5) / 4.0);
        let all = 3.0 + 2.5 + 2.0 + 1.5 + 1.25 + 1.0 + 1.0 + 0.75 + 2.0 * 0.5;
        assert_eq!(worst.five_percent, all / 10.0);
    }

    #[test]
    fn overflow_is_wire_beyond_the_tracks() {
        let grid = RoutingGrid::from_edges(vec![0.0, 2.0, 3.0], vec![0.0, 1.0]).unwrap();
        let map = |a, b| Map::from_vec(2, 1, vec![a, b]);
        let demand = Directions { horizontal: map(3.0, 1.0), vertical: map(0.5, 4.0) };
        let capacity = Some(Capacity { horizontal: 2.0, vertical: 1.0 });
        let figures = Figures::of(&demand, &grid, capacity);
        let Figures { horizontal, vertical, .. } = figures;
        assert_eq!((horizontal.wire, horizontal.overflow, horizontal.max), (7.0, Some(2.0), 3.0));
        assert_eq!(
            (vertical.wire, vertical.overflow, vertical.overflowing_bins),
            (5.0, Some(3.0), Some(1))
        );
        assert_eq!(figures.overflow, Some(5.0 / 12.0));
        assert_eq!(figures.worst_utilization.unwrap().half_percent, 4.0);
        assert_eq!(Figures::of(&demand, &grid, None).overflow, None);
    }
}
