use super::*;

#[test]
fn counts_are_exact() {
    for (nets, pins, nodes) in [
        (221_142, 944_053, 211_447),
        (1, 1, 1),
        (3, 9, 3),
        (3, 13, 3),
        (10, 15, 100),
        (10, 20, 100),
        (10, 21, 2),
        (7, 7 * 2048, 5000),
        (1, 100_000_000, 10),
        (5, 999, 1000),
        (0, 0, 4),
    ] {
        let counts = histogram(nets, pins, nodes);
        assert_eq!(counts.iter().map(|c| c.1).sum::<u64>(), nets, "{nets} nets, {pins} pins");
        assert_eq!(counts.iter().map(|c| c.0 * c.1).sum::<u64>(), pins, "{nets}, {pins}");
        if pins <= nets * nodes {
            assert!(counts.iter().all(|&(d, n)| n == 0 || d <= nodes), "{nets}, {pins}");
        }
    }
}

#[test]
fn adaptec1_nets_are_small_with_a_long_tail() {
    let counts = histogram(221_142, 944_053, 211_447);
    let share = |d: u64| counts[d as usize - 2].1 as f64 / 221_142.0;
    assert!((0.48..0.62).contains(&share(2)), "{}", share(2));
    assert!((0.12..0.22).contains(&share(3)), "{}", share(3));
    let longest = counts.iter().rev().find(|c| c.1 > 0).unwrap().0;
    assert!(longest > 500, "{longest}");
}
