//! The division of bodies among blocks that sum over them, and of blocks among ranks:
//! `kernels/bodies/shares.cuh`.

use crate::cuda::device::bindings::bodies::{BodyBlocks, Positions, Shares};
pub(crate) use crate::cuda::device::constants::MOST_RANKS;
use crate::cuda::device::{CudaReal, DeviceVec, Pointer, grid_of};
use cudarc::driver::LaunchConfig;
use std::ops::Range;

/// Most groups of blocks: many ranks divide them evenly.
const MOST_GROUPS: usize = 48;
/// Most blocks of a group. All groups together have four times as many as an H200 runs at once;
/// half of them keep it busy.
const MOST_OF_A_GROUP: usize = 44;
/// Bodies of a block if there are fewer blocks; two per thread.
const LEAST_EACH: usize = 510;

/// Bodies, movable cells first, and their division among blocks. It depends only on the numbers of
/// bodies and cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyDivision {
    pub(crate) cells: usize,
    pub(crate) bodies: usize,
    groups: usize,
    /// Blocks of a group, and its cells and fillers.
    of_a_group: usize,
    cells_each: usize,
    fillers_each: usize,
}

impl<T: CudaReal> Positions<T> {
    /// Returns the positions of the only device.
    pub(crate) fn alone(own: Pointer<T>) -> Self {
        let mut of = [Pointer::NULL; MOST_RANKS];
        of[0] = own;
        Positions::on_rank(of, Pointer::NULL, [0, 1])
    }

    /// Returns the positions of all ranks for one rank that writes them, and for each body the rank
    /// that processes it.
    pub(crate) fn on_rank(
        of: [Pointer<T>; MOST_RANKS],
        worker: Pointer<u8>,
        [rank, ranks]: [usize; 2],
    ) -> Self {
        let (nets, rank, ranks) = (Pointer::NULL, rank as u32, ranks as u32);
        Positions { of, worker, nets, cells: 0, rank, ranks, padding: 0 }
    }

    /// Adds the ranks in `nets`, a bit for each, that need the positions of movable cells, too.
    pub(crate) fn needed_by_nets(self, nets: &DeviceVec<u16>) -> Self {
        Positions { nets: nets.into(), cells: nets.len() as u32, ..self }
    }
}

/// Returns the blocks of one of `count` ranks among `blocks`.
pub(crate) fn blocks_of(blocks: usize, rank: usize, count: usize) -> Range<usize> {
    blocks * rank / count..blocks * (rank + 1) / count
}

impl BodyDivision {
    /// Divides `bodies` bodies, the first `cells` of which are movable cells.
    pub(crate) fn new(cells: usize, bodies: usize) -> Self {
        let blocks = bodies.div_ceil(LEAST_EACH).clamp(1, MOST_GROUPS * MOST_OF_A_GROUP);
        let groups = blocks.min(MOST_GROUPS);
        let (cells_each, fillers_each) =
            (cells.div_ceil(groups), (bodies - cells).div_ceil(groups));
        let of_a_group = blocks.div_ceil(groups);
        BodyDivision { cells, bodies, groups, of_a_group, cells_each, fillers_each }
    }

    /// Returns the number of blocks of all ranks.
    pub(crate) fn blocks(&self) -> usize {
        self.groups * self.of_a_group
    }

    /// Returns the movable cells and the fillers of one of `count` ranks.
    pub(crate) fn share(&self, rank: usize, count: usize) -> [Range<usize>; 2] {
        let groups = blocks_of(self.groups, rank, count);
        let (begin, end) = (self.first(groups.start), self.first(groups.end));
        [begin[0]..end[0], begin[1]..end[1]]
    }

    /// Returns the first movable cell and filler of a group.
    fn first(&self, group: usize) -> [usize; 2] {
        let cell = (group * self.cells_each).min(self.cells);
        [cell, self.cells + (group * self.fillers_each).min(self.bodies - self.cells)]
    }

    /// Returns the arguments of a rank's kernels and their launch. `None` if there are fewer groups
    /// than ranks and this rank has no group.
    pub(crate) fn launch(&self, rank: usize, count: usize) -> Option<(BodyBlocks, LaunchConfig)> {
        let groups = blocks_of(self.groups, rank, count);
        let own = BodyBlocks {
            cells: self.cells as u32,
            bodies: self.bodies as u32,
            cells_each: self.cells_each as u32,
            fillers_each: self.fillers_each as u32,
            group: self.of_a_group as u32,
            first: (groups.start * self.of_a_group) as u32,
            blocks: self.blocks() as u32,
        };
        (!groups.is_empty()).then(|| (own, grid_of(groups.len() * self.of_a_group)))
    }

    /// Returns the start of the share of each of `count` ranks.
    pub(crate) fn shares(&self, count: usize) -> Shares {
        let mut shares = Shares {
            first_cell: [0; MOST_RANKS],
            first_filler: [0; MOST_RANKS],
            cells: self.cells as u32,
            ranks: count as u32,
        };
        for rank in 0..count {
            let [cells, fillers] = self.share(rank, count);
            shares.first_cell[rank] = cells.start as u32;
            shares.first_filler[rank] = fillers.start as u32;
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_split_all_bodies_evenly() {
        for (cells, bodies) in [(0, 0), (1, 1), (3, 900), (900, 900), (1_000_000, 3_000_001)] {
            let all = BodyDivision::new(cells, bodies);
            for count in [1, 2, 3, 16] {
                let shares: Vec<_> = (0..count).map(|rank| all.share(rank, count)).collect();
                for (kind, range) in [(0, 0..cells), (1, cells..bodies)] {
                    assert_eq!(shares[0][kind].start, range.start);
                    assert_eq!(shares[count - 1][kind].end, range.end);
                    let ends = shares.windows(2).all(|two| two[0][kind].end == two[1][kind].start);
                    assert!(ends, "{shares:?}");
                }
                if bodies > 1 << 20 {
                    let sizes =
                        || shares.iter().map(|[cells, fillers]| cells.len() + fillers.len());
                    assert!(
                        sizes().max().unwrap() - sizes().min().unwrap()
                            <= bodies.div_ceil(MOST_GROUPS)
                    );
                }
            }
            assert_eq!(blocks_of(all.blocks(), 0, 1), 0..all.blocks());
        }
    }
}
