//! Transfers of a solve by slabs for ranks that do not write into each other's memory but send
//! messages.
//!
//! The passes are the same. The first pass stores a rank's row pairs in the rank's own panels,
//! `[panel][row pair][column]`. The columns of each receiving rank are consecutive and form one
//! message. Received messages are copied to the panels of all row pairs, as an interval of the row
//! pairs. The second pass stores P and Q of the rank's columns for each rank's rows separately;
//! they arrive in the memory that the third pass reads.
//!
//! A rank sends (1 + 2)·nx·ny·(P−1)/P² values of P ranks, as with peer access, and copies another
//! nx·ny/P.

use super::nccl::Transfer;
use crate::cuda::device::{CudaError, Gpu};
use cudarc::driver::sys;

/// Division of row pairs and panels of columns among ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division<'a> {
    /// The first row pair of each rank, and the number of row pairs.
    pub(super) pairs: &'a [usize],
    pub(super) panels: &'a [usize],
    /// Columns of a panel.
    pub(super) width: usize,
    /// Columns of the map: the last panel may have more.
    pub(super) columns: usize,
    /// Bytes of a complex number.
    pub(super) size: usize,
}

impl Division<'_> {
    fn ranks(&self) -> usize {
        self.pairs.len() - 1
    }

    fn all_pairs(&self) -> usize {
        self.pairs[self.ranks()]
    }

    fn pairs_of(&self, rank: usize) -> usize {
        self.pairs[rank + 1] - self.pairs[rank]
    }

    /// Returns the number of bytes of one row pair in a rank's panels, and in the panels before
    /// them.
    fn columns_of(&self, rank: usize) -> usize {
        (self.panels[rank + 1] - self.panels[rank]) * self.width * self.size
    }

    fn columns_before(&self, rank: usize) -> usize {
        self.panels[rank] * self.width * self.size
    }

    /// Returns the number of row pairs of ranks before `peer`, without those of `rank`.
    fn others_before(&self, rank: usize, peer: usize) -> usize {
        self.pairs[peer] - if rank < peer { self.pairs_of(rank) } else { 0 }
    }

    /// Returns the offset in bytes of a rank's numbers for a peer's rows, their bytes, and their
    /// offset in the peer's rows. Numbers for all peers are consecutive.
    pub(super) fn to_peer(self, rank: usize, peer: usize) -> [usize; 3] {
        let start = self.columns_of(rank) * self.others_before(rank, peer);
        let rows = self.pairs_of(peer);
        [start, self.columns_of(rank) * rows, self.columns_before(rank) * rows]
    }

    /// Returns the address at which the second pass must store a peer's rows, so that they lie in
    /// memory from `out` on. The pass counts columns from the map's first.
    pub(super) fn second_target(&self, rank: usize, peer: usize, out: u64) -> u64 {
        let [start, _, there] = self.to_peer(rank, peer);
        (out + start as u64).wrapping_sub(there as u64)
    }

    /// Returns the number of complex numbers that a rank has of other ranks' rows in its own
    /// columns.
    pub(super) fn others(&self, rank: usize) -> usize {
        self.columns_of(rank) / self.size * (self.all_pairs() - self.pairs_of(rank))
    }
}

/// Addresses of a rank's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// Its panels of all row pairs.
    pub(super) panels: u64,
    /// P and Q of its rows. The same memory first holds the output of the first pass and the
    /// received data; Q has room for at least [`Division::others`].
    pub(super) p: u64,
    pub(super) q: u64,
    /// P and Q of other ranks' rows, [`Division::others`] each.
    pub(super) out: [u64; 2],
    /// The energy's parts.
    pub(super) partial: u64,
}

/// Lines of bytes, copied within the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowBlock {
    from: u64,
    to: u64,
    /// Bytes of a line, distances between lines at the source and at the target, and the number of
    /// lines.
    bytes: usize,
    pitch: [usize; 2],
    count: usize,
}

/// Sources and targets of one rank's transfers.
pub(super) struct Exchange {
    /// Addresses at which the first pass stores columns of each rank, and the number of row pairs
    /// in panels.
    pub(super) first: Vec<[u64; 4]>,
    pub(super) own_pairs: usize,
    /// Addresses at which the second pass finds its panels and stores P, Q and the energy's parts
    /// for each rank.
    pub(super) second: Vec<[u64; 4]>,
    /// After the first and after the second pass.
    pub(super) transfers: [Vec<Transfer>; 2],
    unpack: Vec<RowBlock>,
    /// Columns of the last panel beyond the map: the data that arrives there is stale.
    clear: Option<RowBlock>,
}

impl Exchange {
    /// `partial` has the first of each rank's parts of the energy, and the number of parts.
    pub(super) fn new(of: Division<'_>, rank: usize, at: Places, partial: &[usize]) -> Exchange {
        let own = of.pairs_of(rank);
        // The first pass's output is in P, the other ranks' data in Q.
        let made = |peer: usize| at.p + (of.columns_before(peer) * own) as u64;
        let others = |peer: usize| of.to_peer(rank, peer)[0] as u64;
        let source = |peer| if peer == rank { made(peer) } else { at.q + others(peer) };
        let target = |peer: usize, out: u64, own: u64| match peer == rank {
            true => own,
            false => of.second_target(rank, peer, out),
        };
        let mut transfers = [Vec::new(), Vec::new()];
        for peer in (0..of.ranks()).filter(|&peer| peer != rank) {
            let (theirs, ours) =
                (of.columns_of(peer) * own, of.columns_of(rank) * of.pairs_of(peer));
            let mut add = |after: usize, send, address, bytes| {
                transfers[after].push(Transfer { send, peer, address, bytes });
            };
            add(0, true, made(peer), theirs);
            add(0, false, source(peer), ours);
            for (out, own_rows) in at.out.into_iter().zip([at.p, at.q]) {
                add(1, true, out + others(peer), ours);
                add(1, false, own_rows + (of.columns_before(peer) * own) as u64, theirs);
            }
            let parts = |rank: usize| {
                let bytes = |count: usize| count * size_of::<f64>();
                (at.partial + bytes(partial[rank]) as u64, bytes(partial[rank + 1] - partial[rank]))
            };
            add(1, true, parts(rank).0, parts(rank).1);
            add(1, false, parts(peer).0, parts(peer).1);
        }
        let line = of.width * of.size;
        let lines = |peer: usize| RowBlock {
            from: source(peer),
            to: at.panels + (of.pairs[peer] * line) as u64,
            bytes: of.pairs_of(peer) * line,
            pitch: [of.pairs_of(peer) * line, of.all_pairs() * line],
            count: of.panels[rank + 1] - of.panels[rank],
        };
        let beyond = of.panels[of.ranks()] * of.width - of.columns;
        let panel = of.all_pairs() * line;
        let last = at.panels + (of.columns_of(rank) / line * panel) as u64;
        let clear = RowBlock {
            from: 0,
            to: last - (panel - line + beyond * of.size) as u64,
            bytes: beyond * of.size,
            pitch: [0, line],
            count: of.all_pairs(),
        };
        let [out_p, out_q] = at.out;
        let second =
            |peer| [at.panels, target(peer, out_p, at.p), target(peer, out_q, at.q), at.partial];
        Exchange {
            first: (0..of.ranks()).map(|peer| [made(peer), 0, 0, 0]).collect(),
            own_pairs: own,
            second: (0..of.ranks()).map(second).collect(),
            transfers,
            unpack: (0..of.ranks()).map(lines).collect(),
            clear: (beyond > 0 && rank + 1 == of.ranks()).then_some(clear),
        }
    }

    /// Enqueues the copy of the first passes' output for all rows to the rank's panels.
    ///
    /// # Safety
    /// The places are of this device and live until its stream has passed this.
    pub(super) unsafe fn unpack(&self, gpu: &Gpu) -> Result<(), CudaError> {
        let stream = gpu.stream_guard()?;
        for &RowBlock { from, to, bytes, pitch, count } in &self.unpack {
            // SAFETY: lines lie within the rank's memory (`Exchange::new`, tested below), which
            // lives as the caller promises; the stream is of this device.
            unsafe { stream.copy_lines((from, pitch[0]), (to, pitch[1]), (bytes, count)) }?;
        }
        if let Some(RowBlock { to, bytes, pitch, count, .. }) = self.clear {
            // SAFETY: as above.
            unsafe { sys::cuMemsetD2D8Async(to, pitch[1], 0, bytes, count, stream.raw()) }
                .result()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
