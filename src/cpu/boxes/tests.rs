use super::*;

fn part(first: usize, values: &[f64]) -> AxisPart<[f64; 1]> {
    let last = first + values.len() - 1;
    let of = |k: usize| [values.get(k).copied().unwrap_or(0.0)];
    let values = match values.len() {
        1 => [of(0), [0.0], [0.0]],
        2 => [of(0), [0.0], of(1)],
        n => [of(0), of(1), of(n - 1)],
    };
    AxisPart { first, last, values }
}

#[test]
fn boxes_add_up_bin_by_bin() {
    let (nx, ny) = (40, 7);
    let lines: [(usize, &[f64]); 5] = [
        (0, &[0.5]),
        (3, &[0.25, 0.75]),
        (0, &[0.5, 1.0, 1.0, 0.125]),
        (5, &[1.0]),
        (4, &[0.5; 3]),
    ];
    let shift = [0, 17, 33, 39 - 5];
    let mut expected = vec![0.0; nx * ny];
    let mut items = Vec::new();
    for &(fx, vx) in &lines {
        for &(fy, vy) in &lines {
            for by in shift {
                let fx = if fx + by + vx.len() > nx { nx - vx.len() } else { fx + by };
                for (i, a) in vx.iter().enumerate() {
                    for (j, b) in vy.iter().enumerate() {
                        expected[(fx + i) * ny + fy + j] += a * b;
                    }
                }
                items.push((part(fx, vx), part(fy, vy)));
            }
        }
    }
    let mut sums = BoxSums::<1>::new(nx, ny, scale(items.len() as f64, 1.0));
    sums.add(items.len(), |i, adder| adder.add_box(&items[i].0, &items[i].1));
    let Sums { boxes: [boxes], bins: [bins] } = sums.finish();
    assert_eq!(boxes, expected);
    assert_eq!(bins, vec![0.0; nx * ny]);
}

#[test]
fn single_bins_are_apart_from_boxes() {
    let mut sums = BoxSums::<2>::new(40, 3, scale(100.0, 1.0));
    sums.add(80, |i, adder| adder.add_bin((i / 2, i % 3), [0.5, 0.25]));
    let Sums { boxes, bins } = sums.finish();
    assert!(boxes.iter().flatten().all(|v| *v == 0.0));
    for (i, [a, b]) in (0..120).map(|k| (k, [bins[0][k], bins[1][k]])) {
        let times = (0..80).filter(|n| n / 2 * 3 + n % 3 == i).count() as f64;
        assert_eq!([a, b], [0.5 * times, 0.25 * times], "{i}");
    }
}

/// A thread that divides work while it holds its own value can wait for itself for ever.
#[test]
fn threads_make_large_maps_alone() {
    let (nx, ny, count) = (900, 1100, 2000);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let Sums { boxes: [boxes], bins: [bins] } = pool.install(|| {
        let mut sums = BoxSums::<1>::new(nx, ny, scale(count as f64, 1.0));
        sums.add(count, |i, adder| {
            adder.add_box(&part(i % nx, &[0.5]), &part(i % ny, &[1.0]));
            adder.add_bin((i % nx, i % 7), [0.25]);
        });
        sums.finish()
    });
    assert_eq!(boxes.iter().sum::<f64>(), 0.5 * count as f64);
    assert_eq!(bins.iter().sum::<f64>(), 0.25 * count as f64);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (nx, ny, count) = (61, 47, 20_000);
    let add = |i: usize, adder: &mut Adder<2>| {
        let (a, b) = (i * 7919 % 50, i * 104_729 % 40);
        let v = |k: usize| [1.0 / (1 + (i * k) % 97) as f64, 1.0 / (2 + (i + k) % 89) as f64];
        let x = AxisPart { first: a, last: a + i % 11, values: [v(3), v(5), v(7)] };
        adder.add_box(&x, &AxisPart { first: b, last: b + i % 7, values: [v(2), v(1), v(9)] });
        adder.add_bin((a, b), v(4));
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut sums = BoxSums::<2>::new(nx, ny, scale(count as f64, 1.0));
            sums.add(count, add);
            let Sums { boxes, bins } = sums.finish();
            [boxes, bins]
                .map(|maps| maps.map(|map| map.into_iter().map(f64::to_bits).collect::<Vec<_>>()))
        })
    };
    let one = run(1);
    assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
}
