//! The nets of a wirelength on a device: their order, and their division among blocks, warps and
//! ranks, for `kernels/place/wirelength.cu`.

use crate::cuda::bodies::blocks_of;
use crate::cuda::device::bindings::place::{NetList, NetLists, Nets, Piece};
use crate::cuda::device::constants::{self, CHUNK_PINS, PIECE_PINS};
use crate::cuda::device::{
    BLOCK, CudaError, CudaReal, DeviceVec, Function, Gpu, blocks_at_once, check_length,
};
use crate::parallel;
use crate::wirelength::Netlist;
use cudarc::driver::LaunchConfig;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// A warp processes nets of at most this many pins, some at a time, and a block each larger net. Of
/// a net beyond [`PIECE_PINS`] a block processes a piece.
const SMALL_NET: usize = CHUNK_PINS;
/// This many small nets in the netlist's order are sorted by their number of pins. This is enough
/// for chunks of one size, and few enough that their pins' cells stay near one another.
const SORTED_NETS: usize = 4096;
/// A thread sums the pins of a cell with at most this many pins.
const HEAVY: u32 = constants::HEAVY as u32;

/// Threads of a warp, and most nets of a chunk.
pub(super) const WARP: u32 = 32;
/// Most intervals of chunks. A warp processes one interval at a time, and there are so many that
/// warps end at about the same time: an H200 runs 6336 at once.
const MOST_INTERVALS: usize = 1 << 17;
/// Most intervals of wide nets.
const MOST_WIDE: usize = 2048;

pub(super) struct DeviceNets<T: CudaReal> {
    pub(super) net_start: DeviceVec<u32>,
    pub(super) weight: DeviceVec<T>,
    pub(super) pin_body: DeviceVec<u32>,
    /// A pair per pin.
    pub(super) pin_offset: DeviceVec<T>,
    /// The net of the netlist at every position.
    pub(super) net: Arc<Vec<u32>>,
    /// A pair per chunk, and one more.
    pub(super) chunk: DeviceVec<u32>,
    /// Nets below `small` are small, the others wide; those below `smooth` take part in the
    /// weighted average.
    pub(super) small: u32,
    pub(super) smooth: u32,
    pub(super) body_start: DeviceVec<u32>,
    pub(super) body_pin: DeviceVec<u32>,
}

impl NetList {
    /// Returns this many items, in intervals of one rank; there are at most `most` intervals.
    fn new(count: usize, most: usize, sums: u32) -> Self {
        let each = count.div_ceil(most).max(1);
        let end = count.div_ceil(each) as u32;
        NetList { count: count as u32, each: each as u32, begin: 0, end, sums }
    }

    pub(super) fn of_rank(self, rank: usize, ranks: usize) -> Self {
        let Range { start, end } = blocks_of(self.end as usize, rank, ranks);
        NetList { begin: start as u32, end: end as u32, ..self }
    }

    fn len(&self) -> u32 {
        self.end - self.begin
    }

    /// Returns the indices in this rank's intervals.
    fn range(&self) -> Range<usize> {
        let [begin, end] = [self.begin, self.end].map(|k| (k * self.each).min(self.count) as usize);
        begin..end
    }
}

/// The cuts depend only on the nets.
impl NetLists {
    fn new(wide: usize, chunks: usize, huge: usize) -> Self {
        let wide = NetList::new(wide, MOST_WIDE, 0);
        let chunks = NetList::new(chunks, MOST_INTERVALS, wide.len());
        let huge_sums = chunks.sums + chunks.len();
        NetLists { wide, chunks, huge_sums, sums: huge_sums + huge as u32 }
    }

    pub(super) fn of_rank(self, rank: usize, ranks: usize) -> Self {
        let of = |list: NetList| list.of_rank(rank, ranks);
        NetLists { wide: of(self.wide), chunks: of(self.chunks), ..self }
    }

    /// Returns a launch of `kernel`, which processes a rank's intervals in turn.
    pub(super) fn config(&self, gpu: &Gpu, kernel: &Function) -> Result<LaunchConfig, CudaError> {
        let blocks = self.chunks.len().div_ceil(BLOCK / WARP).max(self.wide.len());
        blocks_at_once(gpu, kernel, blocks as usize)
    }
}

impl<T: CudaReal> DeviceNets<T> {
    /// Copies the net weights of the netlist, which has as many nets as before.
    pub(super) fn set_weights(&mut self, gpu: &Gpu, netlist: &Netlist) -> Result<(), CudaError> {
        check_length("nets", netlist.nets(), self.net.len())?;
        gpu.write_each(&mut self.weight, weights(&self.net, netlist))
    }

    pub(super) fn pointers(&self) -> Nets<T> {
        Nets {
            net_start: (&self.net_start).into(),
            weight: (&self.weight).into(),
            pin_body: (&self.pin_body).into(),
            pin_offset: (&self.pin_offset).into(),
        }
    }
}

/// The order of a netlist's nets and pins on the device.
#[derive(Debug)]
pub(super) struct NetOrder {
    /// Net of the netlist at every position, small ones first.
    net: Arc<Vec<u32>>,
    small: usize,
    /// First net and first pin of every chunk of small nets, and their end.
    chunk: Vec<[u32; 2]>,
    /// First pin of every net, and their end.
    net_start: Vec<u32>,
    /// Position of the first pin of every net of the netlist.
    place_of: Vec<u32>,
    /// Number of pins of nets that take part in the weighted average; these pins come first.
    pub(super) smooth_pins: usize,
}

impl NetOrder {
    pub(super) fn new(netlist: &Netlist) -> Self {
        let degree = |net: u32| netlist.pins_of(net as usize).len();
        let (mut net, wide): (Vec<u32>, Vec<u32>) =
            (0..netlist.smooth() as u32).partition(|&e| degree(e) <= SMALL_NET);
        let small = net.len();
        parallel::for_each(parallel::chunks_mut(&mut net, SORTED_NETS), |_, nets| {
            nets.sort_by_key(|&e| degree(e));
        });
        let chunk = chunks(&net, degree);
        net.extend(wide);
        net.extend(netlist.smooth() as u32..netlist.nets() as u32);

        let mut net_start = Vec::with_capacity(net.len() + 1);
        net_start.push(0);
        net_start.extend(net.iter().scan(0, |end, &e| {
            *end += degree(e) as u32;
            Some(*end)
        }));
        let mut place_of = vec![0; net.len()];
        net.iter().zip(&net_start).for_each(|(&e, &start)| place_of[e as usize] = start);
        let smooth_pins = net_start[netlist.smooth()] as usize;
        NetOrder { net: Arc::new(net), small, chunk, net_start, place_of, smooth_pins }
    }

    /// Returns all nets; each of several ranks has its part of them.
    pub(super) fn lists(&self, netlist: &Netlist) -> NetLists {
        let huge = (self.small..netlist.nets()).filter(|&net| self.pins(net) > PIECE_PINS);
        NetLists::new(netlist.nets() - self.small, self.chunk.len() - 1, huge.count())
    }

    /// Returns the number of pins of the net at a position.
    fn pins(&self, net: usize) -> usize {
        (self.net_start[net + 1] - self.net_start[net]) as usize
    }

    /// Returns the pieces of a rank's wide nets of more than [`PIECE_PINS`] pins.
    pub(super) fn pieces(&self, lists: &NetLists) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let huge = |net: &usize| self.pins(*net) > PIECE_PINS;
        let own = lists.wide.range();
        let mut at = lists.huge_sums;
        at += (self.small..self.small + own.start).filter(huge).count() as u32;
        for (net, at) in (self.small + own.start..self.small + own.end).filter(huge).zip(at..) {
            let end = self.net_start[net + 1];
            let first = pieces.len() as u32;
            let (net, count) = (net as u32, self.pins(net).div_ceil(PIECE_PINS) as u32);
            let begins = (self.net_start[net as usize]..end).step_by(PIECE_PINS);
            pieces.extend(begins.map(|begin| {
                let end = end.min(begin + PIECE_PINS as u32);
                Piece { begin, end, first, pieces: count, net, at }
            }));
        }
        pieces
    }

    /// Returns a bit set for each movable cell: bit k is set if rank k has a net of the cell.
    pub(super) fn needed(&self, netlist: &Netlist, lists: NetLists, ranks: usize) -> Vec<u16> {
        let needed: Vec<AtomicU16> = (0..netlist.movable()).map(|_| AtomicU16::new(0)).collect();
        for rank in 0..ranks {
            let of = lists.of_rank(rank, ranks);
            let (chunks, wide) = (of.chunks.range(), of.wide.range());
            let small = self.chunk[chunks.start][0] as usize..self.chunk[chunks.end][0] as usize;
            for nets in [small, self.small + wide.start..self.small + wide.end] {
                let nets = parallel::chunks(&self.net[nets], SORTED_NETS);
                parallel::for_each(nets, |_, nets| {
                    let pins = nets.iter().flat_map(|&net| netlist.pins_of(net as usize));
                    for pin in pins {
                        if let Some(of) = needed.get(netlist.pin_body()[pin] as usize)
                            && of.load(Relaxed) >> rank & 1 == 0
                        {
                            of.fetch_or(1 << rank, Relaxed);
                        }
                    }
                });
            }
        }
        needed.into_iter().map(AtomicU16::into_inner).collect()
    }

    /// Returns the cells with more pins than a thread sums.
    pub(super) fn heavy(&self, netlist: &Netlist) -> Vec<u32> {
        let pins =
            |b: &u32| netlist.body_start()[*b as usize + 1] - netlist.body_start()[*b as usize];
        (0..netlist.movable() as u32).filter(|b| pins(b) > HEAVY).collect()
    }

    pub(super) fn upload<T: CudaReal>(
        &self,
        gpu: &Gpu,
        netlist: &Netlist,
    ) -> Result<DeviceNets<T>, CudaError> {
        let (pin_at, offsets) = (self.pins_by_place(netlist), [netlist.pin_x(), netlist.pin_y()]);
        let body_start =
            if netlist.body_start().is_empty() { &[0][..] } else { netlist.body_start() };
        Ok(DeviceNets {
            net_start: gpu.upload_each(self.net_start.len(), |net| self.net_start[net])?,
            weight: gpu.upload_each(self.net.len(), weights(&self.net, netlist))?,
            net: self.net.clone(),
            pin_body: gpu.upload_each(pin_at.len(), |k| netlist.pin_body()[pin_at[k] as usize])?,
            pin_offset: gpu.upload_each(2 * pin_at.len(), |k| {
                T::cast(offsets[k % 2][pin_at[k / 2] as usize])
            })?,
            chunk: gpu.upload(self.chunk.as_flattened())?,
            small: self.small as u32,
            smooth: netlist.smooth() as u32,
            body_start: gpu.upload_each(body_start.len(), |body| body_start[body])?,
            body_pin: {
                let (place, pins) = (self.places(netlist), netlist.body_pin());
                gpu.upload_each(pins.len(), |k| place[pins[k] as usize])?
            },
        })
    }

    /// Returns the pin at every position.
    fn pins_by_place(&self, netlist: &Netlist) -> Vec<u32> {
        let pins = |nets: Range<usize>| {
            let nets = self.net[nets].iter();
            nets.flat_map(|&e| netlist.pins_of(e as usize)).map(|pin| pin as u32).collect()
        };
        parallel::concat(&parallel::map_blocks(self.net.len(), SORTED_NETS, pins))
    }

    /// Returns the position of every pin that takes part in the weighted average.
    fn places(&self, netlist: &Netlist) -> Vec<u32> {
        let places = |nets: Range<usize>| {
            let of_net = |e: usize| (self.place_of[e]..).take(netlist.pins_of(e).len());
            nets.flat_map(of_net).collect()
        };
        parallel::concat(&parallel::map_blocks(netlist.smooth(), SORTED_NETS, places))
    }
}

/// Returns the weight of each of some nets of the netlist.
fn weights<T: CudaReal>(nets: &[u32], netlist: &Netlist) -> impl Fn(usize) -> T + Sync {
    |net| T::cast(netlist.weight()[nets[net] as usize])
}

/// Cuts nets into runs that a warp processes at once: the first net and pin of each, and their end.
/// No net of a run has more than twice as many pins as its first, nor fewer: all have as many
/// lanes.
fn chunks(nets: &[u32], degree: impl Fn(u32) -> usize) -> Vec<[u32; 2]> {
    let mut starts = vec![[0; 2]];
    let (mut net, mut pin) = (0, 0);
    for &e in nets {
        let pins = degree(e) as u32;
        let [first_net, first_pin] = starts[starts.len() - 1];
        let smallest = degree(nets[first_net as usize]) as u32;
        let fits = net < first_net + most_nets(pins) && pin + pins <= first_pin + CHUNK_PINS as u32;
        if !fits || !(smallest..=2 * smallest).contains(&pins) {
            starts.push([net, pin]);
        }
        (net, pin) = (net + 1, pin + pins);
    }
    if net > 0 {
        starts.push([net, pin]);
    }
    starts
}

/// Returns the most nets with this number of pins in a chunk. If it is a power of two, no lane of
/// the warp is idle. The power of two pays if it loses fewer than three in ten of the nets that
/// have room.
fn most_nets(pins: u32) -> u32 {
    let room = WARP.min(CHUNK_PINS as u32 / pins);
    let even = 1 << room.ilog2();
    if 10 * even > 7 * room { even } else { room }
}

#[cfg(test)]
mod tests;
