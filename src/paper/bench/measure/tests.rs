use super::share;

#[test]
fn shares_grow_and_use_all_the_time() {
    assert!((share(1) - 1.0).abs() < 1e-12 && (share(0) - 1.0).abs() < 1e-12);
    let (mut left, mut before) = (1.0, 0.0);
    for k in (1..=14).rev() {
        let mine = left * share(k);
        assert!(mine > before, "{k}");
        (left, before) = (left - mine, mine);
    }
    assert!(left.abs() < 1e-12);
}
