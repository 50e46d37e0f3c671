use super::*;

#[test]
fn statistics_by_hand() {
    let s = Timing::of(&[4.0, 1.0, 3.0, 2.0, 10.0]).unwrap();
    assert_eq!((s.mean, s.median, s.quartiles), (4.0, 3.0, [2.0, 4.0]));
    assert_eq!((s.min, s.max, s.repetitions), (1.0, 10.0, 5));
    // Squares 0, 9, 1, 4, 36 over four.
    assert!((s.deviation - 12.5f64.sqrt()).abs() < 1e-15);
    assert_eq!(Timing::of(&[1.0, 2.0]).unwrap().quartiles, [1.25, 1.75]);
    assert_eq!(Timing::of(&[7.0]).unwrap().deviation, 0.0);
    assert_eq!(Timing::of(&[]), None);
    assert_eq!(s.scaled(1e3).median, 3000.0);
}

#[test]
fn ratios_are_over_the_line_named() {
    let line = |what: &str, paper, here, over: &str| {
        let (what, over) = (what.to_owned(), Some(over.to_owned()));
        Line { what, paper, here, over, ..Line::default() }
    };
    let lines = vec![
        line("a", Some(6.0), Some(3.0), "b"),
        line("b", Some(2.0), Some(4.0), "b"),
        line("c", Some(2.0), None, "b"),
        line("d", None, Some(1.0), "nowhere"),
    ];
    let group = Group::new("512", Some(512), lines);
    assert_eq!((group.lines[0].paper_ratio, group.lines[0].here_ratio), (Some(3.0), Some(0.75)));
    assert_eq!(group.lines[1].here_ratio, Some(1.0));
    assert_eq!((group.lines[2].paper_ratio, group.lines[2].here_ratio), (Some(1.0), None));
    assert_eq!(group.lines[3].here_ratio, None);
    assert_eq!(group.ratio("a", "d"), Some(3.0));
    assert_eq!(group.ratio("a", "c"), None);
}

#[test]
fn a_claim_follows_from_what_was_observed() {
    let claim = |values: &[f64]| {
        let observed = values.iter().enumerate().map(|(k, &value)| (format!("c{k}"), value));
        let observed: Vec<Observed> = observed.collect();
        Claim::of(
            "twice",
            "row-column over fused",
            Rule("at least 1.8", " ×", |v| v >= 1.8),
            &observed,
        )
    };
    let all = claim(&[2.0, 1.9]);
    assert_eq!(all.verdict, Verdict::Holds);
    assert_eq!(
        all.here,
        "row-column over fused: 1.90 × (c1) to 2.00 × (c0); at least 1.8 in all 2 cases."
    );
    let some = claim(&[2.0, 1.5, 1.7]);
    assert_eq!(some.verdict, Verdict::HoldsInPart);
    assert!(some.here.ends_with("at least 1.8 in 1 of 3 cases."), "{}", some.here);
    let one = claim(&[1.5]);
    assert_eq!(one.verdict, Verdict::DoesNotHold);
    assert_eq!(one.here, "row-column over fused: 1.50 × (c0); not at least 1.8.");
    assert_eq!(claim(&[]).verdict, Verdict::NotMeasured);
}

#[test]
fn numbers_keep_three_digits() {
    let cases =
        [(0.0, "0.00"), (0.0123, "0.0123"), (1.2345, "1.23"), (54.18, "54.2"), (1099.31, "1099")];
    for (value, text) in cases {
        assert_eq!(short(value), text);
    }
}
