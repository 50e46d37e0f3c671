//! How γ and λ change while cells spread.
//!
//! The formulas are from ePlace and RePlAce with DREAMPlace's constants (Lu et al., "ePlace",
//! TODAES 2015, §5; Cheng et al., "RePlAce", TCAD 2019; Lin et al., "DREAMPlace", TCAD 2021). Each
//! exception is stated. All are independent of units.

use crate::charge::Charge;
use crate::grid::BinGrid;

/// Below this smoothed overflow λ grows by [`Schedule::late_growth`](super::Schedule::late_growth).
/// The moves of cells in this last phase decide the wirelength; earlier moves matter little.
pub const LATE: f64 = 0.6;

/// Least factor on λ, and its largest.
const LEAST_MU: f64 = 0.95;
const LARGEST_MU: f64 = 1.05;

/// A share of the reference rise. If HPWL falls by this much in an iteration, λ grows at
/// DREAMPlace's rate for falling HPWL.
pub const FALL_SHARE: f64 = 0.25;

/// Below this smoothed overflow momentum is at most
/// [`Schedule::momentum`](super::Schedule::momentum). Far moves need more momentum before.
pub const SPREAD: f64 = 0.2;

/// Largest mean distance of cells that counts for γ, over the side of a square cell: cells of a
/// sparse design need not be as far apart as its die allows.
const FARTHEST: f64 = 4.0;

/// Returns ten times γ at overflow 0.1, in layout units: `gamma` (bin_x + bin_y). If cells are
/// farther apart than bins, it is `gamma` times twice their `pitch`. DREAMPlace's `gamma` is 4, and
/// it has no pitch.
pub fn base_gamma(grid: &BinGrid, gamma: f64, pitch: f64) -> f64 {
    gamma * (grid.bin_x() + grid.bin_y()).max(2.0 * pitch)
}

/// Returns the mean distance of movable cells spread over the whole die, in layout units. It is at
/// most four times the mean distance of cells side by side.
pub fn pitch(charge: &Charge) -> f64 {
    let cells = charge.movable().max(1) as f64;
    let [over_die, packed] = [charge.grid().die().area(), charge.movable_area()];
    (over_die / cells).sqrt().min(FARTHEST * (packed / cells).sqrt())
}

/// Returns γ / [`base_gamma`] at a smoothed overflow: 10 at overflow 1, and 0.1 at 0.1. So
/// wirelength is smooth while cells are far from their final positions and sharp when they are
/// near.
pub fn gamma_factor(overflow: f64) -> f64 {
    10f64.powf((overflow - 0.1) * 20.0 / 9.0 - 1.0)
}

/// Returns DREAMPlace's factor on λ after iteration `iteration` (from 1), in which HPWL rose by
/// `rise`. `reference` is the rise at which λ stays constant, in the same unit.
///
/// The factor is 1.05 if HPWL stays, and less if it rises by much. If it falls, the factor is a
/// little less in later iterations.
///
/// DREAMPlace applies all of that reduction at the smallest fall. So if HPWL hardly changes, its
/// last digit decides on 2 % of λ. Here the reduction grows with the fall, up to [`FALL_SHARE`] of
/// the reference.
pub fn mu(iteration: usize, rise: f64, reference: f64) -> f64 {
    if rise < 0.0 {
        let late = 0.9999f64.powf(iteration as f64).max(0.98);
        LARGEST_MU * late.powf((-rise / (FALL_SHARE * reference)).min(1.0))
    } else {
        LARGEST_MU * LARGEST_MU.powf(-rise / reference).clamp(LEAST_MU, LARGEST_MU)
    }
}

/// Whether the density may cause a rise of HPWL, so that the rise must slow the growth of λ. The
/// density pulls with the share `pressure` of the wires' force.
///
/// The density does not cause the rise if its share is a hundredth or less after so many
/// iterations. Descents of more than a few dozen cells have several times as much by then. In a
/// design of twelve cells, which oscillated about the centre, λ was constant for 900 iterations.
pub fn is_felt(iteration: usize, pressure: f64) -> bool {
    iteration < 240 || pressure > 0.01
}

/// Returns DREAMPlace's factor on λ with `growth` instead of 1.05 as its largest value. A factor
/// above 1 comes nearer to 1 by the same ratio, and a factor below 1 is unchanged. So λ does not
/// shrink if HPWL oscillates.
pub fn growth(mu: f64, growth: f64) -> f64 {
    if mu > 1.0 { mu.powf(growth.ln() / LARGEST_MU.ln()) } else { mu }
}

/// Estimates the HPWL of a placement once it is spread, layout units: hpwl / (1 − overflow^2.5),
/// where `hpwl` is its present value at smoothed overflow `overflow`.
///
/// The formula fits descents of ibm01, within a tenth from overflow 0.9 on. RePlAce and DREAMPlace
/// set the rise of HPWL at which λ stays constant to 350000 layout units. That is 0.5 % of the
/// final HPWL of adaptec1, 0.05 % of bigblue4's, and next to nothing of a design measured in
/// nanometres. A share of the final HPWL suits designs of every size and unit. A share of the
/// current HPWL would hold λ back as long as wires are short because nothing is spread.
pub fn final_hpwl(hpwl: f64, overflow: f64) -> f64 {
    hpwl / (1.0 - overflow.clamp(0.0, CLUMPED).powf(2.5))
}

/// The final HPWL is not estimated above this overflow.
const CLUMPED: f64 = 0.9999;

/// Returns λ‖∇density‖₁ / ‖∇WA‖₁ at a warm start of this smoothed overflow. If nothing is spread,
/// it is `cold`, the ratio at a centred start. If everything is spread, it is 1. Between, it is the
/// geometric mean of the two, weighted by overflow. A weight for a centred start would let a given
/// placement that is nearly spread collapse.
pub fn first_density_weight(overflow: f64, cold: f64) -> f64 {
    cold.powf(overflow.clamp(0.0, 1.0))
}
