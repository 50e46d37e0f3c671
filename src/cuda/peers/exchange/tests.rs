use super::super::divide;
use super::*;
use std::collections::HashMap;

/// Bytes of a number here.
const SIZE: usize = 8;
/// Distance of ranks' memories, by kind. They are far from each other, so that an access outside a
/// rank's own memory is noticed.
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
    // All data is read before any is written: no transfer may read data that another overwrites.
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
                let to = exchange.first[owner][0] + panel_at(own, line, exchange.own_pairs, width);
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
    // The second pass: SlabColumns in kernels/solve/panels.cuh. P is the data read, and Q twice as
    // much.
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
    // The third pass: PanelRows, and all parts of the energy.
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
        // Within the allocated memory.
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
