//! An all-to-all: blocks of maps that go from every rank to every other, between the passes of the
//! paper's pipelines by slabs. Copied by `kernels/peers/lines.cu`.
//!
//! Ranks that reach each other's memory copy their blocks there. Others send a message a block,
//! straight from where it lies or to where it belongs if its lines follow each other there, else
//! from or to memory for that, which holds it line after line.

use super::nccl::Transfer;
use crate::cuda::device::{CudaError, DeviceVec, Gpu, Kernel, blocks_for};

/// Units that a warp copies at once: `PER_WARP` in `kernels/peers/lines.cu`.
const PER_WARP: u64 = 256;
/// Blocks of threads for each multiprocessor.
const BLOCKS_EACH: u32 = 8;

/// Where a block lies in one of a rank's arrays, in bytes: its start, and from one line to the
/// next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) array: usize,
    pub(super) start: usize,
    pub(super) pitch: usize,
}

/// What goes from one rank to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) from: Side,
    pub(super) to: Side,
    /// Of a line.
    pub(super) bytes: usize,
    pub(super) lines: usize,
}

/// `struct Lines` of `kernels/peers/lines.cu`, but for the unit: addresses, pitches, bytes of a
/// line, lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lines {
    from: u64,
    to: u64,
    pitch: [u64; 2],
    bytes: u64,
    count: u64,
}

impl Lines {
    /// The most bytes that can be copied at once.
    fn unit(&self) -> u64 {
        let all = self.from | self.to | self.pitch[0] | self.pitch[1] | self.bytes;
        1 << all.trailing_zeros().min(4)
    }
}

/// What a rank does in an exchange, in this order.
#[derive(Debug, Default)]
struct Plan {
    before: Vec<Lines>,
    transfers: Vec<Transfer>,
    after: Vec<Lines>,
    /// Bytes that it needs beside the arrays.
    room: usize,
}

impl Plan {
    /// `blocks(a, b)` are those that go from rank a to b. `address(rank, array)` is asked of the
    /// rank's own arrays, and with `reached` of all ranks'.
    fn new(
        (rank, count): (usize, usize),
        reached: bool,
        address: impl Fn(usize, usize) -> u64,
        room: u64,
        blocks: impl Fn(usize, usize) -> Vec<Block>,
    ) -> Plan {
        let mut plan = Plan::default();
        let at = |rank: usize, side: Side| address(rank, side.array) + side.start as u64;
        for peer in 0..count {
            let message = peer != rank && !reached;
            for Block { from, to, bytes, lines } in blocks(rank, peer) {
                let start = at(rank, from);
                let mut lines_to = |to: u64, pitch: usize| {
                    let pitch = [from.pitch as u64, pitch as u64];
                    let (bytes, count) = (bytes as u64, lines as u64);
                    plan.before.push(Lines { from: start, to, pitch, bytes, count });
                };
                if !message {
                    lines_to(at(peer, to), to.pitch);
                    continue;
                }
                let address = if from.pitch == bytes { start } else { room + plan.room as u64 };
                if from.pitch != bytes {
                    lines_to(address, bytes);
                    plan.room += (bytes * lines).next_multiple_of(16);
                }
                plan.transfers.push(Transfer { send: true, peer, address, bytes: bytes * lines });
            }
            if !message {
                continue;
            }
            for Block { to, bytes, lines, .. } in blocks(peer, rank) {
                let end = at(rank, to);
                let address = if to.pitch == bytes { end } else { room + plan.room as u64 };
                if to.pitch != bytes {
                    let pitch = [bytes as u64, to.pitch as u64];
                    let (bytes, count) = (bytes as u64, lines as u64);
                    plan.after.push(Lines { from: address, to: end, pitch, bytes, count });
                    plan.room += (bytes * count).next_multiple_of(16) as usize;
                }
                plan.transfers.push(Transfer { send: false, peer, address, bytes: bytes * lines });
            }
        }
        plan
    }
}

/// A rank's part of an exchange.
pub(super) struct AllToAll {
    gpu: Gpu,
    before: Option<Copies>,
    pub(super) transfers: Vec<Transfer>,
    after: Option<Copies>,
    /// What messages are packed in.
    _room: DeviceVec<u8>,
}

impl AllToAll {
    /// As [`Plan::new`] has it. The arrays are of so many bytes as blocks reach to.
    pub(super) fn new(
        gpu: &Gpu,
        ranks: (usize, usize),
        reached: bool,
        address: impl Fn(usize, usize) -> u64,
        blocks: impl Fn(usize, usize) -> Vec<Block>,
    ) -> Result<AllToAll, CudaError> {
        let plan = |room| Plan::new(ranks, reached, &address, room, &blocks);
        let room = gpu.zeros(plan(0).room.max(1))?;
        let Plan { before, transfers, after, .. } = plan(*room.address());
        Ok(AllToAll {
            before: Copies::new(gpu, &before)?,
            transfers,
            after: Copies::new(gpu, &after)?,
            gpu: gpu.clone(),
            _room: room,
        })
    }

    /// Enqueues what goes before the messages: with ranks that reach each other, all of it.
    ///
    /// # Safety
    /// The arrays, of this rank and those that it reaches, live until its stream has passed this;
    /// what is copied is used on other streams only before ranks have met, or after they have met
    /// again.
    pub(super) unsafe fn begin(&self) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        self.before.as_ref().map_or(Ok(()), |copies| unsafe { copies.run(&self.gpu) })
    }

    /// Enqueues what comes after them.
    ///
    /// # Safety
    /// As [`AllToAll::begin`].
    pub(super) unsafe fn end(&self) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        self.after.as_ref().map_or(Ok(()), |copies| unsafe { copies.run(&self.gpu) })
    }
}

/// Lines that are copied by one launch.
struct Copies {
    table: DeviceVec<u64>,
    kernel: Kernel,
}

impl Copies {
    fn new(gpu: &Gpu, lines: &[Lines]) -> Result<Option<Copies>, CudaError> {
        let lines: Vec<&Lines> = lines.iter().filter(|of| of.bytes * of.count > 0).collect();
        let pieces = |of: &&Lines| of.count * (of.bytes / of.unit() + 31).div_ceil(PER_WARP);
        let Some(most) = lines.iter().map(pieces).max() else { return Ok(None) };
        let numbers = |of: &&Lines| {
            let Lines { from, to, pitch, bytes, count } = **of;
            [from, to, pitch[0], pitch[1], bytes, count, of.unit()]
        };
        let table: Vec<u64> = lines.iter().flat_map(numbers).collect();
        let mut config = blocks_for(most as usize * 32);
        let at_once = (gpu.info().multiprocessors as u32).max(1) * BLOCKS_EACH;
        config.grid_dim.0 = config.grid_dim.0.min(at_once.div_ceil(lines.len() as u32));
        config.grid_dim.1 = lines.len() as u32;
        let kernel = Kernel::new(&gpu.kernels::<f32>("lines")?, "copy_lines", config)?;
        Ok(Some(Copies { table: gpu.upload(&table)?, kernel }))
    }

    /// # Safety
    /// As [`AllToAll::begin`].
    unsafe fn run(&self, gpu: &Gpu) -> Result<(), CudaError> {
        // SAFETY: the argument is that of copy_lines in kernels/peers/lines.cu, as many lines as
        // the grid has blocks down; the rest is the caller's promise.
        unsafe { self.kernel.launch(gpu, &[&self.table]) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cuda::device::kernel_constant;
    use std::collections::HashMap;

    /// Every rank's arrays, by address: far from each other, and of messages beside them.
    const FAR: u64 = 1 << 32;
    const ROOM: u64 = 1 << 56;

    /// Ranks, rows and columns of divisions that exchanges are tested with, and whether the ranks
    /// reach each other.
    pub(in super::super) const DIVISIONS: [(usize, usize, usize, bool); 5] =
        [(1, 1, 1, true), (2, 8, 5, true), (2, 7, 4, false), (3, 11, 3, true), (4, 30, 9, false)];

    fn copy(memory: &mut HashMap<u64, u64>, lines: &[Lines], size: u64) {
        for of in lines {
            for (line, k) in (0..of.count)
                .flat_map(|line| (0..of.bytes).step_by(size as usize).map(move |k| (line, k)))
            {
                let value = memory[&(of.from + line * of.pitch[0] + k)];
                memory.insert(of.to + line * of.pitch[1] + k, value);
            }
        }
    }

    /// Has every rank do its part of an exchange of numbers of `size` bytes, with one memory for
    /// all that is at [`array_at`].
    pub(in super::super) fn exchange(
        memory: &mut HashMap<u64, u64>,
        count: usize,
        reached: bool,
        size: usize,
        blocks: impl Fn(usize, usize) -> Vec<Block>,
    ) {
        let plan = |rank| {
            let room = ROOM + rank as u64 * FAR;
            let address = |of: usize, array: usize| {
                assert!(of == rank || reached, "rank {rank} does not know rank {of}'s memory");
                array_at(of, array)
            };
            Plan::new((rank, count), reached, address, room, &blocks)
        };
        let plans: Vec<Plan> = (0..count).map(plan).collect();
        plans.iter().for_each(|plan| copy(memory, &plan.before, size as u64));
        for (from, to) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
            let of = |rank: usize, peer: usize, send: bool| {
                let all = plans[rank].transfers.iter().copied();
                all.filter(move |t| t.peer == peer && t.send == send)
            };
            let mut received = of(to, from, false);
            for sent in of(from, to, true) {
                let received = received.next().expect("as many as are sent");
                assert_eq!(sent.bytes, received.bytes, "{from} to {to}");
                for k in (0..sent.bytes as u64).step_by(size) {
                    let value = memory[&(sent.address + k)];
                    memory.insert(received.address + k, value);
                }
            }
            assert!(received.next().is_none() && (from != to || of(from, to, true).count() == 0));
        }
        plans.iter().for_each(|plan| copy(memory, &plan.after, size as u64));
    }

    pub(in super::super) fn array_at(rank: usize, array: usize) -> u64 {
        (1 + rank * 16 + array) as u64 * FAR
    }

    #[test]
    fn blocks_come_where_they_belong() {
        // A matrix that every rank has three rows of, [3][ranks], to its columns, [ranks * 3], and,
        // packed, back.
        for (count, reached) in [(1, true), (3, true), (3, false), (4, false)] {
            let mut memory = HashMap::new();
            for (rank, k) in (0..count).flat_map(|rank| (0..3 * count).map(move |k| (rank, k))) {
                memory.insert(array_at(rank, 0) + 8 * k as u64, (rank * 100 + k) as u64);
            }
            exchange(&mut memory, count, reached, 8, |from, to| {
                vec![Block {
                    from: Side { array: 0, start: 8 * to, pitch: 8 * count },
                    to: Side { array: 1, start: 24 * from, pitch: 8 },
                    bytes: 8,
                    lines: 3,
                }]
            });
            exchange(&mut memory, count, reached, 8, |from, to| {
                vec![Block {
                    from: Side { array: 1, start: 24 * to, pitch: 8 },
                    to: Side { array: 2, start: 8 * from, pitch: 8 * count },
                    bytes: 8,
                    lines: 3,
                }]
            });
            for (rank, k) in (0..count).flat_map(|rank| (0..3 * count).map(move |k| (rank, k))) {
                let (column, back) = (memory[&(array_at(rank, 1) + 8 * k as u64)], 8 * k as u64);
                assert_eq!(column, (k / 3 * 100 + k % 3 * count + rank) as u64);
                assert_eq!(memory[&(array_at(rank, 2) + back)], (rank * 100 + k) as u64);
            }
        }
    }

    #[test]
    fn as_many_bytes_are_copied_at_once_as_all_places_allow() {
        let lines = |from, bytes, pitch| Lines { from, to: 4096, pitch, bytes, count: 1 };
        assert_eq!(lines(256, 64, [64, 128]).unit(), 16);
        assert_eq!(lines(256 + 8, 64, [64, 128]).unit(), 8);
        assert_eq!(lines(256, 60, [64, 128]).unit(), 4);
        assert_eq!(kernel_constant("lines", "PER_WARP"), PER_WARP.to_string());
    }
}
