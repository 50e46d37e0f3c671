//! Bodies of every kind on a grid, for tests of density and force.

use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::grid::{BinGrid, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Cells from a third of a bin to five bins, some of 30 bins, some off the die;
/// bins and die are not square, and the die does not begin at 0.
pub fn mixed(nx: usize, ny: usize, fillers: usize, target: f64) -> Charge {
    some(4 * nx * ny, [nx, ny], fillers, target)
}

/// As [`mixed`], so many of them and not four to a bin.
pub fn some(count: usize, [nx, ny]: [usize; 2], fillers: usize, target: f64) -> Charge {
    let die = Rect { xl: -31.7, yl: 12.3, xh: -31.7 + 9.3 * nx as f64, yh: 12.3 + 6.1 * ny as f64 };
    let grid = BinGrid::new(die, nx, ny).unwrap();
    let mut random = Pcg64Mcg::seed_from_u64((nx * 1000 + ny) as u64);
    let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    let (mut w, mut h, mut x, mut y) = (vec![], vec![], vec![], vec![]);
    for i in 0..count {
        let large = i % 997 == 5;
        w.push(if large { draw(90.0, 280.0) } else { draw(3.0, 45.0) });
        h.push(if large { draw(60.0, 180.0) } else { 6.0 });
        let out = if i % 50 == 7 { 80.0 } else { 0.0 };
        x.push(draw(die.xl - out, die.xh - w[i] + out));
        y.push(draw(die.yl - out, die.yh - h[i] + out));
    }
    let fixed = [Rect::at(die.xl + 20.0, die.yl + 10.0, die.width() / 3.0, die.height() / 7.0)];
    let rectangles = Rectangles {
        width: &w,
        height: &h,
        x: &x,
        y: &y,
        fixed: &fixed,
        row_height: Some(6.0),
        macros: None,
        rows: &[],
    };
    let options =
        ChargeOptions { target_density: target, fillers: false, row_blockage: false, seed: 1 };
    let mut charge = Charge::from_rectangles(grid, &rectangles, &options).unwrap();
    let along = |from: f64, to: f64, draw: &mut dyn FnMut(f64, f64) -> f64| -> Vec<f64> {
        (0..fillers).map(|_| draw(from, to)).collect()
    };
    let fx = along(die.xl, die.xh - 15.0, &mut draw);
    let fy = along(die.yl, die.yh - 6.0, &mut draw);
    charge.add_fillers(15.0, 6.0, &fx, &fy);
    charge
}
