//! Transfers of a solve by slabs, when ranks do not write into each other's memory but send
//! messages.
//!
//! The passes are the same. The first stores a rank's row pairs in panels of its own, `[panel][row
//! pair][column]`, those of each rank's columns one behind the other: a message each. Received
//! messages are copied to the panels of all row pairs, of which it is an interval. The second pass
//! stores P and Q of the rank's columns for each rank's rows separately; they arrive where the
//! third pass reads them.
//!
//! A rank sends (1 + 2)·nx·ny·(P−1)/P² values of P ranks, as with peer access, and copies another
//! nx·ny/P.

use super::nccl::Transfer;
use crate::cuda::device::{CudaError, Gpu};
use cudarc::driver::sys;

/// Which row pairs and panels of columns are whose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division<'a> {
    /// The first of each rank, and their number.
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

    /// Returns the number of bytes of one row pair in a rank's panels, and in those before them.
    fn columns_of(&self, rank: usize) -> usize {
        (self.panels[rank + 1] - self.panels[rank]) * self.width * self.size
    }

    fn columns_before(&self, rank: usize) -> usize {
        self.panels[rank] * self.width * self.size
    }

    /// Returns the number of row pairs of ranks before `peer` that are not of `rank`.
    fn others_before(&self, rank: usize, peer: usize) -> usize {
        self.pairs[peer] - if rank < peer { self.pairs_of(rank) } else { 0 }
    }

    /// Returns where a rank's numbers of a peer's rows begin, in bytes, their bytes, and where they
    /// belong in that one's rows; numbers for all peers follow one another.
    pub(super) fn to_peer(self, rank: usize, peer: usize) -> [usize; 3] {
        let start = self.columns_of(rank) * self.others_before(rank, peer);
        let rows = self.pairs_of(peer);
        [start, self.columns_of(rank) * rows, self.columns_before(rank) * rows]
    }

    /// Returns where the second pass, which counts columns from the map's first, is to store a
    /// peer's rows, for them to lie in memory from `out` on.
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
    /// P and Q of its rows, or of the same size what the first pass makes and gets; Q for
    /// [`Division::others`] at least.
    pub(super) p: u64,
    pub(super) q: u64,
    /// P and Q of others' rows, [`Division::others`] each.
    pub(super) out: [u64; 2],
    /// The energy's parts.
    pub(super) partial: u64,
}

/// RowBlock of bytes from one place on the device to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowBlock {
    from: u64,
    to: u64,
    /// Bytes of a line; from one to the next where they come from and where they go; and lines.
    bytes: usize,
    pitch: [usize; 2],
    count: usize,
}

/// Sources and targets of one rank's transfers.
pub(super) struct Exchange {
    /// Where the first pass stores columns of each rank, and how many row pairs it counts in
    /// panels.
    pub(super) first: Vec<[u64; 4]>,
    pub(super) own_pairs: usize,
    /// Where the second pass finds its panels and stores P, Q and the energy's parts for each rank.
    pub(super) second: Vec<[u64; 4]>,
    /// After the first and after the second pass.
    pub(super) transfers: [Vec<Transfer>; 2],
    unpack: Vec<RowBlock>,
    /// Columns of the last panel that the map has not: what arrives there is left from before.
    clear: Option<RowBlock>,
}

impl Exchange {
    /// `partial` is the first of each rank's parts of the energy, and their number.
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

    /// Enqueues that the first passes' output for all rows goes to the rank's panels.
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
mod tests {
    use super::super::divide;
    use super::*;
    use std::collections::HashMap;

    /// Bytes of a number here.
    const SIZE: usize = 8;
    /// Where ranks' memory begins, by kind: far from each other, so that what leaves its own is
    /// noticed.
    const FAR: u64 = 1 << 40;

    /// A rank's memory: numbers by address.
    #[derive(Default)]
    struct Memory(HashMap<u64, u64>);

    impl Memory {
        fn get(&self, address: u64) -> u64 {
            *self.0.get(&address).unwrap_or_else(|| panic!("nothing at {address:#x}"))
        }
    }

    fn exchange(of: Division<'_>, all: &mut [Memory], exchanges: &[Exchange], after: usize) {
        let mut moved = Vec::new();
        for (rank, exchange) in exchanges.iter().enumerate() {
            for peer in 0..of.ranks() {
                let of_pair = |rank: usize, peer: usize, send: bool| {
                    let all = exchanges[rank].transfers[after].iter().copied();
                    all.filter(|t| t.peer == peer && t.send == send).collect::<Vec<Transfer>>()
                };
                let (sent, received) = (of_pair(rank, peer, true), of_pair(peer, rank, false));
                assert_eq!(sent.len(), received.len());
                for (sent, received) in sent.into_iter().zip(received) {
                    assert_eq!(sent.bytes, received.bytes, "{rank} to {peer}");
                    for k in (0..sent.bytes as u64).step_by(SIZE) {
                        moved.push((peer, received.address + k, all[rank].get(sent.address + k)));
                    }
                }
            }
            assert!(exchange.transfers[after].iter().all(|t| t.peer != rank));
        }
        // All of it is read before any of it is written: nothing is sent and overwritten at once.
        let sent: Vec<(usize, Transfer)> = exchanges
            .iter()
            .enumerate()
            .flat_map(|(rank, e)| e.transfers[after].iter().map(move |&t| (rank, t)))
            .filter(|(_, t)| t.send)
            .collect();
        for (rank, address, value) in moved {
            let being_sent = |(of, t): &(usize, Transfer)| {
                *of == rank && (t.address..t.address + t.bytes as u64).contains(&address)
            };
            assert!(!sent.iter().any(being_sent), "{address:#x} is sent and received");
            all[rank].0.insert(address, value);
        }
    }

    /// Follows a number for every column and row pair through both exchanges, stored as the kernels
    /// do.
    fn follow(
        ranks: usize,
        (all_pairs, all_panels): (usize, usize),
        (width, beyond): (usize, usize),
        written: usize,
    ) {
        let columns = all_panels * width - beyond;
        let (pairs, panels) = (divide(all_pairs, ranks), divide(all_panels, ranks));
        let of = Division { pairs: &pairs, panels: &panels, width, columns, size: SIZE };
        let place = |k: u64| (k + 1) * FAR;
        let at = Places {
            panels: place(0),
            p: place(1),
            q: place(2),
            out: [place(3), place(4)],
            partial: place(5),
        };
        let partial: Vec<usize> = (0..=ranks).map(|rank| 3 * rank + rank * rank).collect();
        let exchanges: Vec<Exchange> =
            (0..ranks).map(|rank| Exchange::new(of, rank, at, &partial)).collect();
        let mut all: Vec<Memory> = (0..ranks).map(|_| Memory::default()).collect();
        let value = |column: usize, pair: usize| (column * 1_000_003 + pair) as u64;
        let panel_at = |column: usize, pair: usize, pairs: usize, width: usize| {
            (((column / width * pairs + pair) * width + column % width) * SIZE) as u64
        };
        let owner = |first: &[usize], index: usize| {
            first[1..ranks].iter().filter(|&&first| index >= first).count()
        };
        // The first pass: SlabPanelRows in kernels/lines/places.cuh.
        for (rank, exchange) in exchanges.iter().enumerate() {
            for line in 0..exchange.own_pairs {
                for column in 0..all_panels * width {
                    let owner = owner(&panels, column / width);
                    let own = column - panels[owner] * width;
                    let to =
                        exchange.first[owner][0] + panel_at(own, line, exchange.own_pairs, width);
                    let left_over = column >= columns;
                    let value = if left_over { 99 } else { value(column, pairs[rank] + line) };
                    all[rank].0.insert(to, value);
                }
            }
        }
        exchange(of, &mut all, &exchanges, 0);
        for (memory, exchange) in all.iter_mut().zip(&exchanges) {
            for lines in &exchange.unpack {
                for line in 0..lines.count {
                    for k in (0..lines.bytes).step_by(SIZE) {
                        let value = memory.get(lines.from + (line * lines.pitch[0] + k) as u64);
                        memory.0.insert(lines.to + (line * lines.pitch[1] + k) as u64, value);
                    }
                }
            }
            if let Some(lines) = &exchange.clear {
                for (line, k) in (0..lines.count)
                    .flat_map(|line| (0..lines.bytes).step_by(SIZE).map(move |k| (line, k)))
                {
                    let at = lines.to + (line * lines.pitch[1] + k) as u64;
                    assert_eq!(memory.0.insert(at, 0), Some(99));
                }
            }
        }
        // The second: SlabColumns in kernels/solve/panels.cuh. P is what was read, Q twice as much.
        for (rank, exchange) in exchanges.iter().enumerate() {
            let mut stored = Vec::new();
            for own in 0..(panels[rank + 1] - panels[rank]) * width {
                let column = panels[rank] * width + own;
                for pair in 0..all_pairs {
                    let from = exchange.second[rank][0] + panel_at(own, pair, all_pairs, width);
                    let want = if column >= columns { 0 } else { value(column, pair) };
                    assert_eq!(all[rank].get(from), want, "{ranks} ranks, {rank}");
                    let owner = owner(&pairs, pair);
                    let rows = pairs[owner + 1] - pairs[owner];
                    let to = panel_at(column, pair - pairs[owner], rows, written);
                    for q in [false, true] {
                        let start = exchange.second[owner][1 + usize::from(q)];
                        let value = value(column, pair) << usize::from(q);
                        stored.push((start.wrapping_add(to), value));
                    }
                }
            }
            for part in partial[rank]..partial[rank + 1] {
                stored.push((exchange.second[rank][3] + (part * SIZE) as u64, part as u64));
            }
            all[rank].0.extend(stored);
        }
        exchange(of, &mut all, &exchanges, 1);
        // The third: PanelRows, and all parts of the energy.
        for (rank, memory) in all.iter().enumerate() {
            for column in 0..all_panels * width {
                for line in 0..pairs[rank + 1] - pairs[rank] {
                    let from = panel_at(column, line, pairs[rank + 1] - pairs[rank], written);
                    let want = value(column, pairs[rank] + line);
                    assert_eq!(memory.get(at.p + from), want);
                    assert_eq!(memory.get(at.q + from), want << 1);
                }
            }
            for part in 0..partial[ranks] {
                assert_eq!(memory.get(at.partial + (part * SIZE) as u64), part as u64);
            }
            // Within what is allocated.
            let own = (pairs[rank + 1] - pairs[rank]) * all_panels * width;
            let last = |start: u64, length: usize| start..start + (length * SIZE) as u64;
            let within = [
                last(at.panels, of.columns_of(rank) / SIZE * all_pairs),
                last(at.p, own),
                last(at.q, own.max(of.others(rank))),
                last(at.out[0], of.others(rank)),
                last(at.out[1], of.others(rank)),
                last(at.partial, partial[ranks]),
            ];
            let stray = memory.0.keys().find(|key| within.iter().all(|of| !of.contains(key)));
            assert_eq!(stray, None, "{ranks} ranks, {rank}");
        }
    }

    #[test]
    fn exchanges_deliver_every_value_to_its_reader() {
        for (ranks, of, panel, written) in [
            (1, (5, 3), (4, 1), 2),
            (2, (8, 4), (4, 0), 4),
            (2, (5, 3), (4, 3), 2),
            (3, (7, 5), (2, 1), 1),
            (3, (5, 11), (4, 0), 2),
            (4, (7, 5), (4, 2), 1),
            (5, (5, 7), (2, 0), 2),
        ] {
            follow(ranks, of, panel, written);
        }
    }
}
