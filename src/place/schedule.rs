//! How γ and λ change while cells spread.
//!
//! The formulas are those of ePlace and RePlAce with DREAMPlace's constants
//! (Lu et al., "ePlace", TODAES 2015, §5; Cheng et al., "RePlAce", TCAD 2019;
//! Lin et al., "DREAMPlace", TCAD 2021) but where said, and free of units.

use crate::charge::Charge;
use crate::grid::BinGrid;

/// Smoothed overflow from which on λ grows by
/// [`Schedule::late_growth`](super::Schedule::late_growth): where cells go in
/// what is left decides on the wirelength, and before that little.
pub const LATE: f64 = 0.6;

/// Least factor on λ, and its largest.
const LEAST_MU: f64 = 0.95;
const LARGEST_MU: f64 = 1.05;

/// The fall of HPWL in an iteration, as a share of the reference rise, from
/// which on λ grows as DREAMPlace's does while HPWL falls.
pub const FALL_SHARE: f64 = 0.25;

/// Smoothed overflow from which on momentum is at most
/// [`Schedule::momentum`](super::Schedule::momentum): before, far moves need it.
pub const SPREAD: f64 = 0.2;

/// Largest mean distance of cells that counts for γ, over the side of a square cell: cells of a
/// sparse design need not be as far apart as its die allows.
const FARTHEST: f64 = 4.0;

/// Returns ten times γ at overflow 0.1, layout units: `gamma` (bin_x + bin_y), or where cells are
/// farther apart than bins `gamma` times twice their `pitch`. DREAMPlace's `gamma` is 4, and it has
/// no pitch.
pub fn base_gamma(grid: &BinGrid, gamma: f64, pitch: f64) -> f64 {
    gamma * (grid.bin_x() + grid.bin_y()).max(2.0 * pitch)
}

/// Returns the mean distance of movable cells spread over the whole die, layout units, or four times
/// that of cells side by side if that is less.
pub fn pitch(charge: &Charge) -> f64 {
    let cells = charge.movable().max(1) as f64;
    let [over_die, packed] = [charge.grid().die().area(), charge.movable_area()];
    (over_die / cells).sqrt().min(FARTHEST * (packed / cells).sqrt())
}

/// Returns γ / [`base_gamma`] at a smoothed overflow: 10 where it is 1, 0.1 at 0.1, so that
/// wirelength is smooth while cells are far from their places and sharp when they are near.
pub fn gamma_factor(overflow: f64) -> f64 {
    10f64.powf((overflow - 0.1) * 20.0 / 9.0 - 1.0)
}

/// Returns DREAMPlace's factor on λ after iteration `iteration` (from 1), in which HPWL rose by
/// `rise`; `reference` is the rise at which λ stays, in the same unit.
///
/// 1.05 where HPWL stays, less when it rises by much; when it falls, a little
/// less in later iterations.
///
/// DREAMPlace takes all of that little at the least fall, so that where HPWL
/// hardly changes a last digit of it decides on 2 % of λ. Here it comes in over
/// a fall of [`FALL_SHARE`] of the reference.
pub fn mu(iteration: usize, rise: f64, reference: f64) -> f64 {
    if rise < 0.0 {
        let late = 0.9999f64.powf(iteration as f64).max(0.98);
        LARGEST_MU * late.powf((-rise / (FALL_SHARE * reference)).min(1.0))
    } else {
        LARGEST_MU * LARGEST_MU.powf(-rise / reference).clamp(LEAST_MU, LARGEST_MU)
    }
}

/// Whether a rise of HPWL may be the doing of the density, which pulls with so large a share
/// (`pressure`) of the wires' force, and is to hold λ back.
///
/// It is not with a hundredth or less after so many iterations. Descents of more than a few dozen
/// cells have several times as much by then; of twelve cells, which oscillated about the centre, λ
/// stood for 900 iterations.
pub fn is_felt(iteration: usize, pressure: f64) -> bool {
    iteration < 240 || pressure > 0.01
}

/// Returns DREAMPlace's factor on λ with `growth` in place of its largest, 1.05: where it is above
/// 1 that many times as near to 1, below 1 as it is. Where HPWL oscillates λ does not shrink for
/// that.
pub fn growth(mu: f64, growth: f64) -> f64 {
    if mu > 1.0 { mu.powf(growth.ln() / LARGEST_MU.ln()) } else { mu }
}

/// Estimates the HPWL that a placement of `hpwl` at smoothed overflow `overflow` will have once it
/// is spread, layout units: hpwl / (1 − overflow^2.5).
///
/// The formula is read off descents of ibm01, of which it is true within a tenth from
/// overflow 0.9 on. RePlAce and DREAMPlace set the rise of HPWL at which λ stays to
/// 350000 layout units: 0.5 % of the final HPWL of adaptec1, 0.05 % of bigblue4's, and
/// next to nothing of a design measured in nanometres. A share of the final HPWL
/// serves designs of every size and unit alike; a share of HPWL as it is would
/// hold λ back as long as wires are short because nothing is spread.
pub fn final_hpwl(hpwl: f64, overflow: f64) -> f64 {
    hpwl / (1.0 - overflow.clamp(0.0, CLUMPED).powf(2.5))
}

/// Overflow above which the final HPWL is not estimated.
const CLUMPED: f64 = 0.9999;

/// Returns λ‖∇density‖₁ / ‖∇WA‖₁ at a warm start of this smoothed overflow: `cold`, that of a
/// centred start, where nothing is spread, 1 where everything is, and the geometric mean of the two
/// by overflow between. A given placement that is nearly spread would collapse under a weight meant
/// for a centred start.
pub fn first_density_weight(overflow: f64, cold: f64) -> f64 {
    cold.powf(overflow.clamp(0.0, 1.0))
}
