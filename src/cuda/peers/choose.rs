//! The number of devices that are worth it.

use super::Peers;
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::real::Precision;

/// The work of the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Workload {
    /// A solve of a map that lies on the devices.
    Solve {
        /// The pipeline of the solve.
        pipeline: Pipeline,
    },
    /// A step of this number of bodies: density, solve and force.
    Step {
        /// Movable cells and fillers.
        bodies: usize,
    },
    /// A placement of this number of bodies.
    Place {
        /// Movable cells and fillers.
        bodies: usize,
    },
}

/// Bins from which on two devices solve in three passes in less time than one.
const LEAST_BINS: usize = 1 << 24;

impl Peers {
    /// Returns the devices of `devices` with which `work` over `grid` takes least time, all or only
    /// the first, and the reason. The limits were measured on two H200s with NVLink between them
    /// (benchmarks/experiments.md); other machines may differ.
    pub fn choose(
        devices: &[usize],
        work: Workload,
        grid: &BinGrid,
        precision: Precision,
    ) -> (Vec<usize>, String) {
        let first = |why: String| (devices.iter().copied().take(1).collect(), why);
        if devices.len() < 2 {
            return first("one device was named or found".to_owned());
        }
        let (what, size, least) = match work {
            Workload::Solve { pipeline } if pipeline != Pipeline::ThreePass => {
                return first(format!("{pipeline} runs on one device alone"));
            }
            Workload::Solve { .. } => ("bins", grid.bins(), LEAST_BINS),
            Workload::Step { bodies } | Workload::Place { bodies } => {
                // From this number of bins on, a step with any number of bodies.
                let (least_bins, least) = match precision {
                    Precision::F32 => (1 << 25, 4_000_000),
                    Precision::F64 => (1 << 24, 2_000_000),
                };
                ("bodies", bodies, if grid.bins() >= least_bins { 0 } else { least })
            }
        };
        match size >= least {
            true => (devices.to_vec(), format!("{size} {what}")),
            false => {
                first(format!("{size} {what}: several devices take less time from {least} on"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Rect;

    #[test]
    fn only_large_work_runs_on_several_devices() {
        let grid = |n| BinGrid::new(Rect::at(0.0, 0.0, 1.0, 1.0), n, n).unwrap();
        let choose = |work, n, precision| Peers::choose(&[3, 1], work, &grid(n), precision).0;
        let solve = Workload::Solve { pipeline: Pipeline::ThreePass };
        assert_eq!(choose(solve, 8192, Precision::F32), [3, 1]);
        assert_eq!(choose(solve, 4096, Precision::F64), [3, 1]);
        assert_eq!(choose(solve, 2048, Precision::F64), [3]);
        let solve = Workload::Solve { pipeline: Pipeline::Fused };
        let (one, why) = Peers::choose(&[3, 1], solve, &grid(16384), Precision::F32);
        assert_eq!((one, why.as_str()), (vec![3], "fused runs on one device alone"));
        let step = |bodies| Workload::Step { bodies };
        assert_eq!(choose(step(20_000_000), 4096, Precision::F32), [3, 1]);
        assert_eq!(choose(step(200_000), 512, Precision::F64), [3]);
        let (one, why) = Peers::choose(&[5], step(1 << 30), &grid(64), Precision::F32);
        assert_eq!((one, why.as_str()), (vec![5], "one device was named or found"));
    }
}
