use super::*;
use crate::design::{NodeKind, Nodes, Orientation, Placement, Row};

/// 25 rows of height 2 and 50 wide: 3 × 3 bins of 20, of which the last are 10.
fn design(cells: &[(Rect, NodeKind)]) -> Design {
    let row = |k| Row {
        x: 5.0,
        y: 2.0 * f64::from(k) - 7.0,
        height: 2.0,
        site_width: 1.0,
        pitch: 1.0,
        sites: 50,
        ..Row::default()
    };
    Design {
        nodes: Nodes {
            width: cells.iter().map(|c| c.0.width()).collect(),
            height: cells.iter().map(|c| c.0.height()).collect(),
            kind: cells.iter().map(|c| c.1).collect(),
            ..Nodes::default()
        },
        placement: Placement {
            x: cells.iter().map(|c| c.0.xl).collect(),
            y: cells.iter().map(|c| c.0.yl).collect(),
            orientation: vec![Orientation::N; cells.len()],
        },
        rows: (0..25).map(row).collect(),
        ..Design::default()
    }
}

#[test]
fn score_matches_the_contest_formula() {
    use NodeKind::{Fixed, Movable};
    // Bin (0, 0) is [5, 25] × [-7, 13]: half of it fixed, 150 of its free 200 movable. Bin (2,
    // 1) is [45, 55] × [13, 33]: 200 free, 40 movable. Bin (1, 2) is full of fixed cells, and
    // what moves there counts as area but overflows nothing.
    let design = design(&[
        (Rect::at(5.0, -7.0, 10.0, 20.0), Fixed),
        (Rect::at(15.0, -7.0, 10.0, 15.0), Movable),
        (Rect::at(45.0, 13.0, 2.0, 20.0), Movable),
        (Rect::at(25.0, 33.0, 20.0, 10.0), Fixed),
        (Rect::at(25.0, 33.0, 5.0, 2.0), Movable),
        (Rect::at(5.0, 13.0, 20.0, 20.0), NodeKind::FixedOverlappable),
    ]);
    let got = score(&design, 0.6).unwrap();
    assert_eq!((got.bins, got.crowded_bins, got.hpwl), ([3, 3], 1, None));
    let overflow: f64 = 150.0 - 0.6 * 200.0;
    let want = (overflow * 36.0 * 0.6 / 200.0).powi(2);
    assert!((got.overflow_area - overflow).abs() < 1e-9);
    assert!(
        (got.scaled_overflow - want).abs() < 1e-9 && (got.largest_overflow - 0.15).abs() < 1e-9
    );
    let none = score(&design, 0.8).unwrap();
    assert_eq!((none.overflow_area, none.scaled_overflow), (0.0, 0.0));
}

/// An overflow of 21624 of 53307432 at T = 0.9, as the contest's script prints it for adaptec1.
#[test]
fn scale_matches_contest_rows_of_height_12() {
    let scaled = (SCALE * 0.9 * 21_624.0 / 53_307_432.0f64).powi(2);
    assert_eq!(format!("{scaled:.6}"), "0.000173");
    assert_eq!(SCALE, 120.0 * 120.0 / 400.0);
}

#[test]
fn scores_need_rows_and_a_target_density() {
    let mut bare = design(&[]);
    assert_eq!(score(&bare, 0.0), Err(ScoreError::TargetDensity(0.0)));
    assert_eq!(score(&bare, 1.0).unwrap().scaled_overflow, 0.0);
    bare.rows.clear();
    assert_eq!(score(&bare, 1.0), Err(ScoreError::NoRows));
}
