//! The start of a placement.

use crate::charge::Charge;
use crate::charge::overlap::Axis;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

/// Standard deviation of a centred start, as a share of the die's extent: too little to affect the
/// result, but enough to distinguish cells of the same nets.
const SPREAD: f64 = 1e-3;

/// Returns lower-left corners of every body. The movable cells' centres are normally distributed
/// about the centre of the die, and the fillers keep their positions in the charge. The same `seed`
/// gives the same start.
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

/// Returns lower-left corners of every body. Movable cells keep their positions in the charge.
/// Cells outside the die move to its edge, and cells at one point move a little apart. Fillers go
/// where the cells leave room.
pub fn given(charge: &Charge, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let die = charge.grid().die();
    let within = |v: f64, low: f64, high: f64| v.min(high).max(low);
    let at = |i: usize| {
        let (x, y) = (charge.initial_x()[i], charge.initial_y()[i]);
        let (right, top) = (die.xh - charge.width()[i], die.yh - charge.height()[i]);
        (within(x, die.xl, right), within(y, die.yl, top))
    };
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    let mut random = Pcg64::seed_from_u64(seed ^ NOISE);
    let mut order: Vec<usize> = (0..charge.movable()).filter(|&i| !charge.is_fixed(i)).collect();
    order.sort_by(|&i, &j| {
        at(i).0.total_cmp(&at(j).0).then(at(i).1.total_cmp(&at(j).1)).then(i.cmp(&j))
    });
    for same in order.chunk_by(|&i, &j| at(i) == at(j)).filter(|run| run.len() > 1) {
        for &i in same {
            let mut near = |v: f64, size: f64, low: f64, high: f64| {
                let by = (random.random::<f64>() - 0.5) * size;
                // Cells on the edge of the die move inwards.
                if v + by < low || v + by + size > high { v - by } else { v + by }
            };
            x[i] = near(at(i).0, charge.width()[i], die.xl, die.xh);
            y[i] = near(at(i).1, charge.height()[i], die.yl, die.yh);
        }
    }
    for region in 0..charge.regions() {
        fill_up(charge, region, &mut x, &mut y, &mut random);
    }
    (x, y)
}

/// Moves the fillers of a region to where its cells and fixed area leave room at the target
/// density: each bin gets its share of the fillers, at random positions.
fn fill_up(charge: &Charge, region: usize, x: &mut [f64], y: &mut [f64], random: &mut Pcg64) {
    let fillers = charge.movable()..charge.bodies();
    let fillers: Vec<usize> = fillers.filter(|&i| charge.region(i) == region).collect();
    let grid = charge.grid();
    let die = grid.die();
    let (target, bin_area) = (charge.region_target_density(region), grid.bin_area());
    let fixed = charge.region_fixed(region).as_slice();
    let mut free: Vec<f64> = fixed.iter().map(|fixed| target * bin_area - fixed).collect();
    let (along_x, along_y) = Axis::of(&grid);
    for i in (0..charge.movable()).filter(|&i| charge.region(i) == region && !charge.is_fixed(i)) {
        let spans =
            along_x.span(x[i], charge.width()[i]).zip(along_y.span(y[i], charge.height()[i]));
        let Some((across, up)) = spans else { continue };
        for a in across.first..=across.last {
            for b in up.first..=up.last {
                free[a * grid.ny() + b] -= across.of_bin(a) * up.of_bin(b) * bin_area;
            }
        }
    }
    let room: f64 = free.iter().map(|free| free.max(0.0)).sum();
    if room <= 0.0 {
        return;
    }
    let (mut bin, mut before) = (0, 0.0);
    for (k, &i) in fillers.iter().enumerate() {
        let at = (k as f64 + 0.5) / fillers.len() as f64 * room;
        while bin + 1 < free.len() && before + free[bin].max(0.0) < at {
            before += free[bin].max(0.0);
            bin += 1;
        }
        let mut within = |index: usize, size: f64| (index as f64 + random.random::<f64>()) * size;
        x[i] = die.xl + within(bin / grid.ny(), grid.bin_x()) - charge.width()[i] / 2.0;
        y[i] = die.yl + within(bin % grid.ny(), grid.bin_y()) - charge.height()[i] / 2.0;
    }
}

/// Moves every body by up to half of `ratio` times its size, in both directions along both axes,
/// uniformly. The same `seed` gives the same moves.
pub fn shake(charge: &Charge, x: &mut [f64], y: &mut [f64], ratio: f64, seed: u64) {
    let mut random = Pcg64::seed_from_u64(seed ^ NOISE);
    for (positions, sizes) in [(x, charge.width()), (y, charge.height())] {
        for (at, size) in positions.iter_mut().zip(sizes) {
            let share: f64 = random.random();
            *at += (share - 0.5) * ratio * size;
        }
    }
}

/// Separates the noise's random numbers from those of the start.
const NOISE: u64 = 0x6e6f_6973_6521;
