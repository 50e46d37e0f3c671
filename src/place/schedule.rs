//! How γ and λ change while cells spread.
//!
//! The formulas are those of ePlace and RePlAce with DREAMPlace's constants
//! (Lu et al., "ePlace", TODAES 2015, §5; Cheng et al., "RePlAce", TCAD 2019;
//! Lin et al., "DREAMPlace", TCAD 2021) but where said, and free of units.

use crate::charge::Charge;
use crate::grid::BinGrid;
use crate::wirelength::Netlist;

/// λ‖∇density‖₁ / ‖∇WA‖₁ at a start with everything in one place.
pub const FIRST_DENSITY_SHARE: f64 = 8e-5;

/// The rise of HPWL in an iteration at which λ stays as it is, as a share of
/// HPWL itself.
///
/// RePlAce and DREAMPlace set the rise to 350000 layout units: 0.5 % of the
/// final HPWL of adaptec1, 0.05 % of bigblue4's, and next to nothing of a design
/// measured in nanometres. A share serves designs of every size and unit alike.
/// On ibm01 shares from 0.5 % to 5 %, and on ibm05, ibm07 and ibm01-ms from 1 %
/// to 2 %, give final HPWL within 1.5 % of one another.
pub const REFERENCE_SHARE: f64 = 0.01;

/// Least factor on λ, and its largest.
const LEAST_MU: f64 = 0.95;
const LARGEST_MU: f64 = 1.05;

/// The fall of HPWL in an iteration, as a share of the reference rise, from
/// which on λ grows as DREAMPlace's does while HPWL falls.
pub const FALL_SHARE: f64 = 0.25;

/// γ at overflow 0.1 is a tenth of this: 4 (bin_x + bin_y), layout units.
pub fn base_gamma(grid: &BinGrid) -> f64 {
    4.0 * (grid.bin_x() + grid.bin_y())
}

/// γ / [`base_gamma`] at a smoothed overflow: 10 where it is 1, 0.1 at 0.1, so
/// that wirelength is smooth while cells are far from their places and sharp
/// when they are near.
pub fn gamma_factor(overflow: f64) -> f64 {
    10f64.powf((overflow - 0.1) * 20.0 / 9.0 - 1.0)
}

/// The factor on λ after iteration `iteration` (from 1), in which HPWL rose by
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

/// The rise of HPWL at which λ stays, layout units: [`REFERENCE_SHARE`] of `hpwl`,
/// or of `least` where that is more.
pub fn reference(hpwl: f64, least: f64) -> f64 {
    REFERENCE_SHARE * hpwl.max(least)
}

/// About the least HPWL of a spread placement, layout units: every net joins
/// its pins by abutting cells, one mean cell pitch from pin to pin.
pub fn least_hpwl(netlist: &Netlist, charge: &Charge) -> f64 {
    let joints = netlist.pins() - netlist.nets();
    let area = charge.movable_area() / charge.target_density();
    joints as f64 * (area / charge.movable().max(1) as f64).sqrt()
}

/// λ‖∇density‖₁ / ‖∇WA‖₁ at a start of this smoothed overflow: that of a
/// centred start where nothing is spread, 1 where everything is, and the
/// geometric mean of the two by overflow between. A given placement that is
/// nearly spread would collapse under a weight meant for a centred start.
pub fn first_density_share(overflow: f64) -> f64 {
    FIRST_DENSITY_SHARE.powf(overflow.clamp(0.0, 1.0))
}
