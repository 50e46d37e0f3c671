//! Net degrees: a power law with a given number of nets and pins.
//!
//! Placement netlists have about half of their nets with two pins and a tail to thousands;
//! `P(degree = d) ∝ d^−α` describes them with one parameter, which is solved for the mean degree.

/// Highest degree drawn from the power law.
pub(super) const MAX_DEGREE: u64 = 2048;

/// Returns how many nets have each degree, as `(degree, nets)`: `nets` nets and `pins` pins in all,
/// exactly. Degrees start at 2 where there are pins enough and do not pass `nodes` where that can
/// be helped.
///
/// Expects `pins >= nets`.
pub(super) fn histogram(nets: u64, pins: u64, nodes: u64) -> Vec<(u64, u64)> {
    if nets == 0 {
        return Vec::new();
    }
    let least = if pins >= 2 * nets { 2 } else { 1 };
    let most = nodes.min(MAX_DEGREE);
    let mean = pins as f64 / nets as f64;
    if mean >= most as f64 || most <= least {
        let (all, more) = (pins / nets, pins % nets);
        return vec![(all, nets - more), (all + 1, more)];
    }
    let exponent = solve_exponent(least, most, mean);
    let mut counts = quantiles(least, most, exponent, nets);
    settle(&mut counts, pins);
    counts
}

/// Returns the exponent at which the power law on `least..=most` has this mean.
fn solve_exponent(least: u64, most: u64, mean: f64) -> f64 {
    let mean_at = |exponent: f64| {
        let (sum, weights) = (least..=most).fold((0.0, 0.0), |(sum, weights), d| {
            let weight = (d as f64 / least as f64).powf(-exponent);
            (sum + weight * d as f64, weights + weight)
        });
        sum / weights
    };
    // The mean falls as the exponent grows.
    let (mut low, mut high) = (-60.0, 60.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if mean_at(middle) > mean { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Returns the power law's quantiles: as many nets of each degree as its distribution function
/// says.
fn quantiles(least: u64, most: u64, exponent: f64, nets: u64) -> Vec<(u64, u64)> {
    let weight = |d: u64| (d as f64 / least as f64).powf(-exponent);
    let total: f64 = (least..=most).map(weight).sum();
    let (mut below, mut given) = (0.0, 0);
    (least..=most)
        .map(|d| {
            below += weight(d);
            let upto = if d == most { nets } else { (below / total * nets as f64).round() as u64 };
            let count = upto.min(nets).max(given) - given;
            given += count;
            (d, count)
        })
        .collect()
}

/// Moves nets to neighbouring degrees, the smallest first, until the pins are right.
fn settle(counts: &mut [(u64, u64)], pins: u64) {
    let mut have: u64 = counts.iter().map(|(d, n)| d * n).sum();
    while have != pins {
        for i in 1..counts.len() {
            if have < pins {
                let moved = counts[i - 1].1.min(pins - have);
                counts[i - 1].1 -= moved;
                counts[i].1 += moved;
                have += moved;
            } else {
                let moved = counts[i].1.min(have - pins);
                counts[i].1 -= moved;
                counts[i - 1].1 += moved;
                have -= moved;
            }
        }
    }
}

#[cfg(test)]
mod tests;
