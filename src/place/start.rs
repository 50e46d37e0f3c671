//! Where a placement starts.

use crate::charge::Charge;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

/// Standard deviation of a centred start, as a share of the die's extent: too
/// little to matter, enough to tell cells of the same nets apart.
const SPREAD: f64 = 1e-3;

/// Returns lower-left corners of every body: the movable cells' centres normally distributed about
/// the centre of the die, the fillers where the charge has them. The same `seed` gives the same
/// start.
pub fn centred(charge: &Charge, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let die = charge.grid().die();
    let mut random = Pcg64::seed_from_u64(seed);
    let mut x = charge.initial_x().to_vec();
    let mut y = charge.initial_y().to_vec();
    let normal = Normal::new(0.0, SPREAD).expect("a positive deviation");
    for i in 0..charge.movable() {
        let (dx, dy): (f64, f64) = (normal.sample(&mut random), normal.sample(&mut random));
        x[i] = die.xl + (0.5 + dx) * die.width() - charge.width()[i] / 2.0;
        y[i] = die.yl + (0.5 + dy) * die.height() - charge.height()[i] / 2.0;
    }
    (x, y)
}

/// Moves every body by up to half of `ratio` times its size, to either side along both axes,
/// uniformly. The same `seed` does the same.
pub fn shake(charge: &Charge, x: &mut [f64], y: &mut [f64], ratio: f64, seed: u64) {
    let mut random = Pcg64::seed_from_u64(seed ^ NOISE);
    for (positions, sizes) in [(x, charge.width()), (y, charge.height())] {
        for (at, size) in positions.iter_mut().zip(sizes) {
            let share: f64 = random.random();
            *at += (share - 0.5) * ratio * size;
        }
    }
}

/// Tells the noise's random numbers from those of the start.
const NOISE: u64 = 0x6e6f_6973_6521;
