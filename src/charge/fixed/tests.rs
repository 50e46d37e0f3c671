use super::super::Clipped;
use super::*;

const DIE: Rect = Rect { xl: 0.0, yl: 0.0, xh: 8.0, yh: 6.0 };

#[test]
fn union_counts_shared_area_once() {
    let rects =
        [Rect::at(1.0, 1.0, 3.0, 2.0), Rect::at(2.0, 2.0, 4.0, 3.0), Rect::at(7.0, 4.0, 9.0, 9.0)];
    // 6 + 12 − 2 shared + 2 of the protruding rectangle
    assert_eq!(union_area(&rects, &DIE), 18.0);
    assert_eq!(union_area(&[], &DIE), 0.0);
}

#[test]
fn gaps_and_union_make_the_die() {
    let rows = [
        Rect::at(0.0, 0.0, 8.0, 1.0),
        Rect::at(0.0, 1.0, 3.0, 1.0),
        Rect::at(2.0, 1.0, 3.0, 1.0), // overlaps its neighbour
        Rect::at(6.0, 4.0, 2.0, 1.0),
    ];
    let gaps = gaps(&rows, &DIE);
    let area: f64 = gaps.iter().map(Rect::area).sum();
    assert_eq!(area, DIE.area() - union_area(&rows, &DIE));
    for (k, g) in gaps.iter().enumerate() {
        assert!(contains(&DIE, g));
        assert!(rows.iter().all(|r| r.overlap(g) == 0.0));
        assert!(gaps[..k].iter().all(|other| other.overlap(g) == 0.0));
    }
    assert!(gaps.contains(&Rect { xl: 5.0, yl: 1.0, xh: 8.0, yh: 2.0 }));
}

/// Returns the rectangles of all sizes all over `DIE` and beyond, on a lattice of halves.
fn heap(count: usize) -> Vec<Rect> {
    let mut state = 1u64;
    let mut next = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as f64 % most as f64 / 2.0
    };
    (0..count).map(|_| Rect::at(next(20) - 1.0, next(16) - 1.0, next(9), next(7))).collect()
}

#[test]
fn heaps_are_measured_as_cell_by_cell() {
    for count in [1, 2, 3, 5, 8, 13, 40] {
        let rects = heap(count);
        let cell = |k: u32| Rect::at(f64::from(k % 16) / 2.0, f64::from(k / 16) / 2.0, 0.5, 0.5);
        let taken = |cell: &Rect| rects.iter().any(|r| r.overlap(cell) > 0.0);
        let want = 0.25 * (0..16 * 12).filter(|&k| taken(&cell(k))).count() as f64;
        assert_eq!(union_area(&rects, &DIE), want, "{count}");
        let gaps = gaps(&rects, &DIE);
        assert_eq!(gaps.iter().map(Rect::area).sum::<f64>(), DIE.area() - want, "{count}");
        assert!(gaps.iter().all(|g| rects.iter().all(|r| r.overlap(g) == 0.0)), "{count}");

        let grid = BinGrid::new(DIE, 5, 7).unwrap();
        let found = map(rects.iter(), None, &grid, |_| 0.5);
        for (k, &area) in found.as_slice().iter().enumerate() {
            let (x, y) = ((k / 7) as f64 * grid.bin_x(), (k % 7) as f64 * grid.bin_y());
            let bin = Rect::at(x, y, grid.bin_x(), grid.bin_y());
            let sum: f64 = rects.iter().map(|r| r.overlap(&bin)).sum();
            assert!((area - 0.5 * sum.min(bin.area())).abs() < 1e-12, "{count}, bin {k}");
        }
    }
}

/// 100 000 rectangles of a tenth of the die and more, on 1024 × 1024 bins: to go through those
/// that overlap at every edge, or through all the bins of each, would take minutes.
#[test]
fn a_heap_of_large_cells_takes_seconds() {
    let die = Rect::at(0.0, 0.0, 1e4, 1e4);
    let at = |k: usize, prime: usize| (k * prime % 50_021) as f64 * 0.1;
    let rects: Vec<Rect> = (0..100_000)
        .map(|k| Rect::at(at(k, 7919), at(k, 104_729), 3000.0 + at(k, 31), 3000.0))
        .collect();
    let start = std::time::Instant::now();
    assert!(union_area(&rects, &die) < die.area());
    assert!(!gaps(&rects, &die).is_empty());
    let full = map(rects.iter(), None, &BinGrid::new(die, 1024, 1024).unwrap(), |_| 1.0);
    assert!(full[(512, 300)] == full.range().1);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn cells_outside_are_counted_not_folded_in() {
    let rects = [
        Rect::at(-2.0, 1.0, 3.0, 2.0), // 4 of 6 outside
        Rect::at(-9.0, 1.0, 1.0, 1.0), // wholly outside
        Rect::at(8.0, 0.0, 1.0, 1.0),  // touches only
        Rect::at(3.0, 3.0, 1.0, 2.0),
    ];
    let mut clipped = Clipped::default();
    assert_eq!(rects.iter().map(|rect| clipped.add(rect, &DIE)).sum::<f64>(), 4.0);
    assert_eq!(clipped, Clipped { area: 6.0, wholly: 2, partly: 1 });
    let grid = BinGrid::new(DIE, 4, 2).unwrap();
    let map = map(rects.iter(), None, &grid, |_| 0.5);
    for (got, want) in map.as_slice().iter().zip([1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]) {
        assert!((got - want).abs() < 1e-12, "{:?}", map.as_slice());
    }
}
