//! Bins that must not be filled beyond their target density.

use super::wires::Pose;
use crate::charge::Charge;
use crate::charge::overlap::Axis;
use crate::design::Design;

/// Share of a bin's area that counts as zero, because sums are rounded.
const ROUNDING: f64 = 1e-9;

/// The fill of every bin, of the design or of each fence region. Areas are shares of a bin's area.
#[derive(Clone, Debug)]
pub(super) struct Density {
    axes: (Axis, Axis),
    /// Bins along y, the number in one column.
    ny: usize,
    /// By region and bin, the area that movable nodes may fill and the area that they fill.
    room: Vec<f64>,
    filled: Vec<f64>,
    /// Width and height of every node in its present orientation, and the first bin of its region.
    nodes: Vec<(f64, f64, usize)>,
    changes: Vec<(usize, f64)>,
}

impl Density {
    /// Returns the bins of `charge`, which is of this design, with its movable nodes at their
    /// present positions.
    pub(super) fn new(charge: &Charge, design: &Design) -> Self {
        let grid = charge.grid();
        let (bins, regions) = (grid.bins(), charge.regions());
        let room = |region: usize, bin: usize| {
            let by_bin = charge.target_densities().map(|targets| targets.as_slice()[bin]);
            let target = by_bin.unwrap_or(charge.region_target_density(region));
            target - charge.region_fixed(region).as_slice()[bin] / grid.bin_area()
        };
        let all = (0..regions).flat_map(|region| (0..bins).map(move |bin| (region, bin)));
        let size = |node| design.size(node);
        let mut density = Density {
            axes: Axis::of(&grid),
            ny: grid.ny(),
            room: all.map(|(region, bin)| room(region, bin)).collect(),
            filled: vec![0.0; regions * bins],
            nodes: (0..design.nodes.len()).map(size).map(|(w, h)| (w, h, 0)).collect(),
            changes: Vec::new(),
        };
        // A macro counts with its area times the target density.
        let mut weight = vec![1.0; charge.movable()];
        for &body in charge.macros() {
            let body = body as usize;
            weight[body] = charge.region_target_density(charge.region(body));
        }
        for ((body, node), weight) in design.movable().enumerate().zip(weight) {
            let (rect, first) = (design.rect(node), charge.region(body) * bins);
            density.nodes[node].2 = first;
            density.add(first, (rect.xl, rect.width()), (rect.yl, rect.height()), weight);
        }
        for (bin, area) in density.changes.drain(..) {
            density.filled[bin] += area;
        }
        density
    }

    /// Whether these nodes fill no bin beyond its target density, or further if it already was
    /// beyond. If so, the nodes have been moved from the first poses to the second ones.
    pub(super) fn allows(&mut self, moves: impl Iterator<Item = (u32, Pose, Pose)>) -> bool {
        self.changes.clear();
        for (node, from, to) in moves {
            let (w, h, first) = self.nodes[node as usize];
            for (pose, sign) in [(from, -1.0), (to, 1.0)] {
                self.add(first, (pose.x - w / 2.0, w), (pose.y - h / 2.0, h), sign);
            }
        }
        self.changes.sort_by_key(|change| change.0);
        let sum = |of_bin: &[(usize, f64)]| of_bin.iter().map(|change| change.1).sum::<f64>();
        let by_bin = || self.changes.chunk_by(|a, b| a.0 == b.0);
        let fits = by_bin().all(|of_bin| {
            let (bin, more) = (of_bin[0].0, sum(of_bin));
            more <= ROUNDING || self.filled[bin] + more <= self.room[bin] + ROUNDING
        });
        if fits {
            for &(bin, area) in &self.changes {
                self.filled[bin] += area;
            }
        }
        fits
    }

    /// Notes `weight` times the area of a rectangle in the region whose first bin is given, with
    /// its left edge and width, bottom edge and height.
    fn add(&mut self, first: usize, x: (f64, f64), y: (f64, f64), weight: f64) {
        let (x, y) = (self.axes.0.span(x.0, x.1), self.axes.1.span(y.0, y.1));
        let (Some(x), Some(y)) = (x, y) else { return };
        for i in x.first..=x.last {
            for j in y.first..=y.last {
                self.changes.push((first + i * self.ny + j, weight * x.of_bin(i) * y.of_bin(j)));
            }
        }
    }
}
