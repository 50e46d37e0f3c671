use super::*;
use crate::design::Design;

#[cfg(feature = "cli")]
fn degrees_of_small(order: &NetOrder) -> Vec<u32> {
    order.net_start[..=order.small].windows(2).map(|w| w[1] - w[0]).collect()
}

#[cfg(feature = "cli")] // it has the generator
#[test]
fn pins_have_unique_places_and_chunks_fit_blocks() {
    use crate::generate::{Spec, generate};
    let design = generate(&Spec::with_cells(3000)).unwrap();
    let netlist = Netlist::from_design(&design, 30).unwrap();
    let order = NetOrder::new(&netlist);
    let (pin_at, places) = (order.pins_by_place(&netlist), order.places(&netlist));
    let mut pins = pin_at.clone();
    pins.sort_unstable();
    assert!(pins.iter().enumerate().all(|(k, &pin)| pin as usize == k));
    assert!(netlist.smooth() < netlist.nets());
    assert_eq!(order.small, netlist.smooth(), "no net of less than 30 pins is wide");
    let all = NetOrder::new(&Netlist::from_design(&design, Netlist::ALL).unwrap());
    let degrees: Vec<u32> = all.net_start.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(all.small < degrees.len());
    assert!(degrees[..all.small].iter().all(|d| *d <= 128));
    assert!(degrees[all.small..].iter().all(|d| *d > 128));
    assert_eq!(order.chunk.last().unwrap()[0] as usize, order.small);
    for ends in order.chunk.windows(2) {
        let [first, last] = [ends[0][0] as usize, ends[1][0] as usize];
        assert!(first < last && last - first <= WARP as usize);
        let starts = &order.net_start[first..=last];
        assert_eq!([starts[0], starts[last - first]], [ends[0][1], ends[1][1]]);
        assert!((starts[last - first] - starts[0]) as usize <= CHUNK_PINS);
        let pins: Vec<u32> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(pins[0] >= 2 && pins.iter().all(|d| (pins[0]..=2 * pins[0]).contains(d)));
    }
    for sorted in degrees_of_small(&order).chunks(SORTED_NETS) {
        assert!(sorted.is_sorted());
    }
    // A net's pins stay together and in order.
    for (place, &net) in order.net.iter().enumerate() {
        for (k, pin) in netlist.pins_of(net as usize).enumerate() {
            let at = order.net_start[place] + k as u32;
            assert_eq!(pin_at[at as usize] as usize, pin);
            assert!(net as usize >= netlist.smooth() || places[pin] == at);
        }
    }
    assert_eq!(places.len(), order.smooth_pins);
    assert!(places.iter().all(|place| (*place as usize) < order.smooth_pins));
}

/// Ranks get nets by the intervals that the kernel processes, and together they get all nets.
#[cfg(feature = "cli")]
#[test]
fn cells_are_needed_where_their_nets_are() {
    use crate::generate::{Spec, generate};
    let design = generate(&Spec::with_cells(3000)).unwrap();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let order = NetOrder::new(&netlist);
    // There are several wide nets and several chunks in an interval, too.
    let (wide, chunks) = (netlist.nets() - order.small, order.chunk.len() - 1);
    let mut lists = order.lists(&netlist);
    assert_eq!(lists.sums as usize, wide + chunks);
    for (most, ranks) in [(1 << 17, 2), (7, 2), (7, 3)] {
        lists.wide = NetList::new(wide, most, 0);
        lists.chunks = NetList::new(chunks, most, 0);
        let mut want = vec![0; netlist.movable()];
        let mut taken = vec![0; netlist.nets()];
        let mut take = |rank: usize, places: Range<usize>| {
            for place in places {
                taken[place] += 1;
                let net = order.net[place] as usize;
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
                take(rank, order.chunk[k][0] as usize..order.chunk[k + 1][0] as usize);
            });
            each(of.wide, &mut |k| take(rank, order.small + k..order.small + k + 1));
        }
        assert!(taken.iter().all(|&times| times == 1), "{ranks} ranks");
        assert!(order.needed(&netlist, lists, ranks) == want, "{ranks} ranks");
        assert!(want.contains(&0b01) && want.contains(&0b10) && want.contains(&0b11));
    }
}

/// Returns an order of nets with these numbers of pins.
fn order_of(pins: &[u32]) -> NetOrder {
    let end = |end: &mut u32, pins: &u32| {
        *end += pins;
        Some(*end)
    };
    let net_start = Vec::from_iter([0].into_iter().chain(pins.iter().scan(0, end)));
    let (net, place_of) = (Arc::default(), Vec::new());
    let chunk = vec![[0; 2]];
    NetOrder { net, small: 1, chunk, net_start, place_of, smooth_pins: 0 }
}

#[test]
fn nets_of_many_pins_are_cut_into_pieces() {
    let order = order_of(&[300, 1024, 1025, 400, 5000]);
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
        order.pieces(lists).into_iter().map(numbers).collect::<Vec<_>>()
    };
    assert_eq!(pieces(&lists), all);
    // Every net belongs to one rank, and its lengths go to the same position.
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
    let order = NetOrder::new(&netlist);
    assert_eq!((order.chunk, order.net_start), (vec![[0; 2]], vec![0]));
}
