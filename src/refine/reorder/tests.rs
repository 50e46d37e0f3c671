use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

#[test]
fn the_shortest_order_is_found() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for count in 1..=WINDOW {
        let nets = WindowNets::default();
        let mut orders = Orders {
            count,
            nets: &nets,
            x: [[0.0; SETS]; WINDOW],
            lengths: std::array::from_fn(|_| std::array::from_fn(|_| rng.random_range(0.0..9.0))),
            least: [0.0; SETS],
            order: [0; WINDOW],
            centres: [0.0; WINDOW],
            best: f64::INFINITY,
            found: None,
        };
        orders.measure(&[0.0; SETS], [0.0; WINDOW]);
        orders.search(0, 0, 0.0);
        // Every order: numbers of `count` digits, all of them different.
        let digits = |number: usize| (0..count).map(move |k| number / count.pow(k as u32) % count);
        let length = |number: usize| {
            digits(number).try_fold((0, 0.0), |(set, sum), k| {
                let is_new = set >> k & 1 == 0;
                is_new.then(|| (set | 1 << k, sum + orders.lengths[k][set]))
            })
        };
        let all = (0..count.pow(count as u32)).filter_map(length);
        assert_eq!(orders.best, all.map(|found| found.1).fold(f64::INFINITY, f64::min));
    }
}
