//! The nets of a wirelength on a device: their order, and how they are divided among blocks, warps
//! and ranks, for `kernels/place/wirelength.cu`.

use crate::cuda::bodies::blocks_of;
use crate::cuda::device::bindings::place::{NetList, NetLists, Nets, Piece};
use crate::cuda::device::constants::{self, CHUNK_PINS, PIECE_PINS};
use crate::cuda::device::{
    BLOCK, CudaError, CudaReal, DeviceVec, Function, Gpu, blocks_at_once, check_length,
};
use crate::parallel::{self, cut};
use crate::wirelength::{Netlist, blocks};
use cudarc::driver::LaunchConfig;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// A warp takes nets of at most this many pins, some at a time, and a block those of more; of nets
/// beyond [`PIECE_PINS`] a piece.
const SMALL_NET: usize = CHUNK_PINS;
/// So many small nets in the netlist's order are sorted by their number of pins: enough that chunks
/// are of one size, few enough that their pins' cells stay near one another.
const SORTED_NETS: usize = 4096;
/// A thread sums the pins of a cell of at most this many.
const HEAVY: u32 = constants::HEAVY as u32;

/// Threads of a warp, and most nets of a chunk.
pub(super) const WARP: u32 = 32;
/// Most intervals of chunks, which a warp takes each, so many that warps end at much the same time:
/// an H200 runs 6336 at once.
const MOST_INTERVALS: usize = 1 << 17;
/// Most intervals of wide nets.
const MOST_WIDE: usize = 2048;

pub(super) struct DeviceNets<T: CudaReal> {
    pub(super) net_start: DeviceVec<u32>,
    pub(super) weight: DeviceVec<T>,
    pub(super) pin_body: DeviceVec<u32>,
    /// A pair per pin.
    pub(super) pin_offset: DeviceVec<T>,
    /// The net of the netlist at every place.
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
    /// So many, in intervals of one rank, of which there are `most` at most.
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

/// How they are cut depends on the nets alone.
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

    /// Returns a launch of `kernel`, which takes a rank's intervals in turn.
    pub(super) fn config(&self, gpu: &Gpu, kernel: &Function) -> Result<LaunchConfig, CudaError> {
        let blocks = self.chunks.len().div_ceil(BLOCK / WARP).max(self.wide.len());
        blocks_at_once(gpu, kernel, blocks as usize)
    }
}

impl<T: CudaReal> DeviceNets<T> {
    /// Takes the net weights of the netlist, which has as many nets as before.
    pub(super) fn set_weights(&mut self, gpu: &Gpu, netlist: &Netlist) -> Result<(), CudaError> {
        check_length("nets", netlist.nets(), self.net.len())?;
        gpu.write(&weights::<T>(&self.net, netlist), &mut self.weight)
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
pub(super) struct NetLayout {
    /// Net of the netlist at every place, small ones first.
    net: Arc<Vec<u32>>,
    small: usize,
    /// First net and first pin of every chunk of small nets, and their end.
    chunk: Vec<[u32; 2]>,
    /// First pin of every net, and their end.
    net_start: Vec<u32>,
    /// Place of the first pin of every net of the netlist.
    place_of: Vec<u32>,
    /// Pins of nets that take part in the weighted average; they stand first.
    pub(super) smooth_pins: usize,
}

impl NetLayout {
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
        NetLayout { net: Arc::new(net), small, chunk, net_start, place_of, smooth_pins }
    }

    /// Place of pin `pin` of net `e`.
    fn place(&self, netlist: &Netlist, e: usize, pin: usize) -> u32 {
        self.place_of[e] + (pin - netlist.pins_of(e).start) as u32
    }

    /// Returns all nets, which of several ranks each has its part of.
    pub(super) fn lists(&self, netlist: &Netlist) -> NetLists {
        let huge = (self.small..netlist.nets()).filter(|&net| self.pins(net) > PIECE_PINS);
        NetLists::new(netlist.nets() - self.small, self.chunk.len() - 1, huge.count())
    }

    /// Returns the number of pins of the net at a place.
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

    /// Cells of more pins than a thread sums.
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
        let body_pin = self.body_pin(netlist);
        let body_start =
            if netlist.body_start().is_empty() { &[0][..] } else { netlist.body_start() };
        Ok(DeviceNets {
            net_start: gpu.upload(&self.net_start)?,
            weight: gpu.upload(&weights::<T>(&self.net, netlist))?,
            net: self.net.clone(),
            pin_body: gpu.upload(&self.placed(netlist, |pin| [netlist.pin_body()[pin]]))?,
            pin_offset: gpu.upload(&self.placed(netlist, |pin| {
                [netlist.pin_x(), netlist.pin_y()].map(|along| T::of(along[pin]))
            }))?,
            chunk: gpu.upload(self.chunk.as_flattened())?,
            small: self.small as u32,
            smooth: netlist.smooth() as u32,
            body_start: gpu.upload(body_start)?,
            body_pin: gpu.upload(&body_pin)?,
        })
    }

    /// `N` values of every pin at its place.
    fn placed<B: Copy + Default + Send, const N: usize>(
        &self,
        netlist: &Netlist,
        value: impl Fn(usize) -> [B; N] + Sync,
    ) -> Vec<B> {
        let mut placed = vec![B::default(); N * netlist.pins()];
        let ends = blocks(self.net.len()).map(|block| N * self.net_start[block.end] as usize);
        let mut parts = cut(&mut placed, ends);
        let blocks: Vec<_> = blocks(self.net.len()).collect();
        parallel::for_each(parallel::each_mut(&mut parts), |k, part| {
            let pins =
                self.net[blocks[k].clone()].iter().flat_map(|&e| netlist.pins_of(e as usize));
            let values = pins.flat_map(&value);
            part.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        });
        placed
    }

    /// Returns the places of every cell's pins.
    fn body_pin(&self, netlist: &Netlist) -> Vec<u32> {
        let mut pin_place = vec![0; self.smooth_pins];
        let ends = blocks(netlist.smooth()).map(|block| netlist.net_start()[block.end] as usize);
        let mut parts = cut(&mut pin_place, ends);
        let blocks: Vec<_> = blocks(netlist.smooth()).collect();
        parallel::for_each(parallel::each_mut(&mut parts), |k, part| {
            let pins = blocks[k].clone().flat_map(|e| netlist.pins_of(e).map(move |pin| (e, pin)));
            part.iter_mut().zip(pins).for_each(|(to, (e, pin))| *to = self.place(netlist, e, pin));
        });
        let pins = netlist.body_pin();
        parallel::map(pins.len(), |i| pin_place[pins[i] as usize])
    }
}

/// Returns the weights of nets of the netlist.
fn weights<T: CudaReal>(nets: &[u32], netlist: &Netlist) -> Vec<T> {
    nets.iter().map(|&e| T::of(netlist.weight()[e as usize])).collect()
}

/// Cuts nets into runs that a warp takes at once: the first net and pin of each, and their end. No
/// net of a run has more than twice as many pins as its first, nor fewer: all have as many lanes.
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

/// Returns the most nets of so many pins that a chunk takes. A power of two of nets leaves none of
/// the warp's lanes idle: it pays where fewer than three in ten of those that have room are lost.
fn most_nets(pins: u32) -> u32 {
    let room = WARP.min(CHUNK_PINS as u32 / pins);
    let even = 1 << room.ilog2();
    if 10 * even > 7 * room { even } else { room }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Design;

    #[cfg(feature = "cli")]
    fn degrees_of_small(layout: &NetLayout) -> Vec<u32> {
        layout.net_start[..=layout.small].windows(2).map(|w| w[1] - w[0]).collect()
    }

    #[cfg(feature = "cli")] // it has the generator
    #[test]
    fn pins_have_unique_places_and_chunks_fit_blocks() {
        use crate::cli::generate::{Spec, generate};
        let design = generate(&Spec::with_cells(3000)).unwrap();
        let netlist = Netlist::from_design(&design, 30).unwrap();
        let layout = NetLayout::new(&netlist);
        let pins_of = |e| netlist.pins_of(e).map(move |pin| (e, pin));
        let all_pins = (0..netlist.nets()).flat_map(pins_of);
        let mut places: Vec<u32> =
            all_pins.map(|(e, pin)| layout.place(&netlist, e, pin)).collect();
        places.sort_unstable();
        assert!(places.iter().enumerate().all(|(k, &place)| place as usize == k));
        assert!(netlist.smooth() < netlist.nets());
        assert_eq!(layout.small, netlist.smooth(), "no net of less than 30 pins is wide");
        let all = NetLayout::new(&Netlist::from_design(&design, Netlist::ALL).unwrap());
        let degrees: Vec<u32> = all.net_start.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(all.small < degrees.len());
        assert!(degrees[..all.small].iter().all(|d| *d <= 128));
        assert!(degrees[all.small..].iter().all(|d| *d > 128));
        assert_eq!(layout.chunk.last().unwrap()[0] as usize, layout.small);
        for ends in layout.chunk.windows(2) {
            let [first, last] = [ends[0][0] as usize, ends[1][0] as usize];
            assert!(first < last && last - first <= WARP as usize);
            let starts = &layout.net_start[first..=last];
            assert_eq!([starts[0], starts[last - first]], [ends[0][1], ends[1][1]]);
            assert!((starts[last - first] - starts[0]) as usize <= CHUNK_PINS);
            let pins: Vec<u32> = starts.windows(2).map(|w| w[1] - w[0]).collect();
            assert!(pins[0] >= 2 && pins.iter().all(|d| (pins[0]..=2 * pins[0]).contains(d)));
        }
        for sorted in degrees_of_small(&layout).chunks(SORTED_NETS) {
            assert!(sorted.is_sorted());
        }
        // A net's pins stay together and in order.
        let bodies = layout.placed(&netlist, |pin| [netlist.pin_body()[pin]]);
        let offsets = layout.placed(&netlist, |pin| [netlist.pin_x()[pin], netlist.pin_y()[pin]]);
        for (place, &net) in layout.net.iter().enumerate() {
            for (k, pin) in netlist.pins_of(net as usize).enumerate() {
                let at = layout.net_start[place] + k as u32;
                assert_eq!(layout.place(&netlist, net as usize, pin), at);
                assert_eq!(bodies[at as usize], netlist.pin_body()[pin]);
                assert_eq!(offsets[2 * at as usize + 1], netlist.pin_y()[pin]);
            }
        }
        let rows = layout.body_pin(&netlist);
        assert!((*rows.iter().max().unwrap() as usize) < layout.smooth_pins);
        for (row, body) in netlist.body_start().windows(2).zip(0..) {
            let mut row = rows[row[0] as usize..row[1] as usize].iter();
            assert!(row.all(|&place| bodies[place as usize] == body));
        }
    }

    /// Nets go to ranks by the intervals that the kernel takes, which are all of them.
    #[cfg(feature = "cli")]
    #[test]
    fn cells_are_needed_where_their_nets_are() {
        use crate::cli::generate::{Spec, generate};
        let design = generate(&Spec::with_cells(3000)).unwrap();
        let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
        let layout = NetLayout::new(&netlist);
        // Wide nets and chunks: several of each to an interval, too.
        let (wide, chunks) = (netlist.nets() - layout.small, layout.chunk.len() - 1);
        let mut lists = layout.lists(&netlist);
        assert_eq!(lists.sums as usize, wide + chunks);
        for (most, ranks) in [(1 << 17, 2), (7, 2), (7, 3)] {
            lists.wide = NetList::new(wide, most, 0);
            lists.chunks = NetList::new(chunks, most, 0);
            let mut want = vec![0; netlist.movable()];
            let mut taken = vec![0; netlist.nets()];
            let mut take = |rank: usize, places: Range<usize>| {
                for place in places {
                    taken[place] += 1;
                    let net = layout.net[place] as usize;
                    for &body in &netlist.pin_body()[netlist.pins_of(net)] {
                        want.get_mut(body as usize).into_iter().for_each(|bits| *bits |= 1 << rank);
                    }
                }
            };
            for rank in 0..ranks {
                let of = lists.of_rank(rank, ranks);
                let each = |list: NetList, take: &mut dyn FnMut(usize)| {
                    for k in list.begin..list.end {
                        let start = |k: u32| (k * list.each).min(list.count) as usize;
                        (start(k)..start(k + 1)).for_each(&mut *take);
                    }
                };
                each(of.chunks, &mut |k| {
                    take(rank, layout.chunk[k][0] as usize..layout.chunk[k + 1][0] as usize);
                });
                each(of.wide, &mut |k| take(rank, layout.small + k..layout.small + k + 1));
            }
            assert!(taken.iter().all(|&times| times == 1), "{ranks} ranks");
            assert!(layout.needed(&netlist, lists, ranks) == want, "{ranks} ranks");
            assert!(want.contains(&0b01) && want.contains(&0b10) && want.contains(&0b11));
        }
    }

    /// Of nets in an order of their own with so many pins each.
    fn layout_of(pins: &[u32]) -> NetLayout {
        let end = |end: &mut u32, pins: &u32| {
            *end += pins;
            Some(*end)
        };
        let net_start = Vec::from_iter([0].into_iter().chain(pins.iter().scan(0, end)));
        let (net, place_of) = (Arc::default(), Vec::new());
        let chunk = vec![[0; 2]];
        NetLayout { net, small: 1, chunk, net_start, place_of, smooth_pins: 0 }
    }

    #[test]
    fn nets_of_many_pins_are_cut_into_pieces() {
        let layout = layout_of(&[300, 1024, 1025, 400, 5000]);
        let lists = NetLists::new(4, 1, 2);
        assert_eq!((lists.huge_sums, lists.sums), (5, 7));
        let all = [
            [1324, 2348, 0, 2, 2, 5],
            [2348, 2349, 0, 2, 2, 5],
            [2749, 3773, 2, 5, 4, 6],
            [3773, 4797, 2, 5, 4, 6],
            [4797, 5821, 2, 5, 4, 6],
            [5821, 6845, 2, 5, 4, 6],
            [6845, 7749, 2, 5, 4, 6],
        ];
        let pieces = |lists: &NetLists| {
            let numbers = |p: Piece| [p.begin, p.end, p.first, p.pieces, p.net, p.at];
            layout.pieces(lists).into_iter().map(numbers).collect::<Vec<_>>()
        };
        assert_eq!(pieces(&lists), all);
        // Every net is one rank's, and its lengths go to the same place.
        let of = |rank| pieces(&lists.of_rank(rank, 2));
        assert_eq!(of(0), all[..2]);
        let second =
            all[2..].iter().map(|&[begin, end, _, count, net, at]| [begin, end, 0, count, net, at]);
        assert_eq!(of(1), Vec::from_iter(second));
    }

    #[test]
    fn a_netlist_without_nets_has_a_layout() {
        let design = Design { nets: Some(Default::default()), ..Design::default() };
        let netlist = Netlist::from_design(&design, 100).unwrap();
        let layout = NetLayout::new(&netlist);
        assert_eq!((layout.chunk, layout.net_start), (vec![[0; 2]], vec![0]));
    }
}
