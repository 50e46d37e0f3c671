use super::*;

/// The ratios are printed beside the times, so a mistyped time shows.
#[test]
fn times_give_the_printed_ratios() {
    let printed = [
        (MATLAB, DCT_FUSED, [20.18, 26.34, 20.91, 21.15, 20.37, 20.85, 20.74]),
        (DCT_ROW_COLUMN, DCT_FUSED, [1.61, 1.76, 1.76, 2.11, 2.10, 2.29, 2.26]),
        (RFFT, DCT_FUSED, [0.81, 0.88, 0.77, 0.77, 0.78, 0.86, 1.05]),
        (IDCT_ROW_COLUMN, IDCT_FUSED, [1.87, 2.10, 2.13, 2.45, 2.35, 2.82, 2.80]),
        (IRFFT, IDCT_FUSED, [0.81, 0.83, 0.79, 0.78, 0.79, 0.81, 0.96]),
    ];
    for (over, under, ratios) in printed {
        for ((over, under), printed) in over.into_iter().zip(under).zip(ratios) {
            // Times and ratios are printed with two decimals.
            let half = 0.005;
            let least = (over - half) / (under + half) - half;
            let most = (over + half) / (under - half) + half;
            assert!((least..=most).contains(&printed), "{over} / {under}");
        }
    }
    let printed = [1.90, 1.99, 1.75, 1.53, 1.78, 1.68, 1.69, 1.29];
    for (row, printed) in DESIGNS.iter().zip(printed) {
        let ratio = row.row_column / row.fused;
        assert!((ratio / printed - 1.0).abs() < 0.02, "{}: {ratio}", row.name);
    }
}

/// Every algorithm slows down with N, and N-point is the fastest.
#[test]
fn one_dimensional_times_are_in_order() {
    let fastest = ONE_DIMENSIONAL[3].1;
    for (k, (_, times)) in ONE_DIMENSIONAL.iter().enumerate() {
        assert!(times.is_sorted_by(|a, b| a < b));
        assert!(k == 3 || times.iter().zip(fastest).all(|(&time, least)| time > least));
    }
}
