//! Bodies of every kind on a grid, for tests of density and force.

use super::numbers;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::grid::{BinGrid, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

/// Cells from a third of a bin to five bins, some of 30 bins, some off the die;
/// bins and die are not square, and the die does not begin at 0.
pub fn mixed(nx: usize, ny: usize, fillers: usize, target: f64) -> Charge {
    some(4 * nx * ny, [nx, ny], fillers, target)
}

/// Returns bodies like those of [`mixed`], `count` of them instead of four to a bin.
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
    let rectangles = Rectangles::movable(&w, &h, &x, &y).fixed(&fixed).row_height(6.0);
    let options = ChargeOptions::default().target_density(target).seed(1);
    let mut charge = Charge::from_rectangles(grid, &rectangles, &options).unwrap();
    let along = |from: f64, to: f64, draw: &mut dyn FnMut(f64, f64) -> f64| -> Vec<f64> {
        (0..fillers).map(|_| draw(from, to)).collect()
    };
    let fx = along(die.xl, die.xh - 15.0, &mut draw);
    let fy = along(die.yl, die.yh - 6.0, &mut draw);
    charge.add_fillers(15.0, 6.0, &fx, &fy).unwrap();
    charge
}

/// Cells that tile the left half of a die and fillers that tile the right one, each a
/// little out of its place: what is left of φ is small beside ρ. They go on beyond
/// the die, where smoothing would else thin them out. Positions are numbers of `f32`,
/// and n bins along each axis a multiple of 16.
pub fn flat(n: usize) -> Charge {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, n as f64, n as f64), n, n).unwrap();
    let (middle, height) = (n as f64 / 2.0, 1.6);
    let mut random = Pcg64Mcg::seed_from_u64(n as u64);
    let mut tiles = |low: f64, high: f64, width: f64| -> [Vec<f64>; 2] {
        let count = |low: f64, high: f64, size: f64| ((high - low) / size).round() as usize;
        let (columns, rows) = (count(low, high, width), count(0.0, n as f64, height) + 2);
        let mut near = |v: f64| f64::from((v + 0.02 * random.random::<f64>()) as f32);
        (0..columns * rows)
            .map(|k| {
                let y = ((k % rows) as f64 - 1.0) * height;
                (near(low + (k / rows) as f64 * width), near(y))
            })
            .unzip()
            .into()
    };
    let [x, y] = tiles(-1.6, middle, 0.8);
    let (width, height) = (vec![0.8; x.len()], vec![height; x.len()]);
    let cells = Rectangles::movable(&width, &height, &x, &y);
    let mut charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    let [x, y] = tiles(middle, n as f64 + 1.5, 0.5);
    charge.add_fillers(0.5, 1.6, &x, &y).unwrap();
    charge
}

/// The bodies of a case of `density_force.json`.
pub fn golden_case(case: &Value) -> Charge {
    let die = &case["die"];
    let [xl, yl, xh, yh] = ["xl", "yl", "xh", "yh"].map(|key| die[key].as_f64().unwrap());
    let bins = |key: &str| case[key].as_u64().unwrap() as usize;
    let (nx, ny) = (bins("num_bins_x"), bins("num_bins_y"));
    let grid = BinGrid::new(Rect { xl, yl, xh, yh }, nx, ny).unwrap();
    let boxes = |key: &str| -> Vec<[f64; 4]> {
        case[key].as_array().unwrap().iter().map(|b| numbers(b).try_into().unwrap()).collect()
    };
    let movable = boxes("movable");
    let column = |k: usize| movable.iter().map(|b| b[k]).collect::<Vec<f64>>();
    let [x, y, width, height] = [0, 1, 2, 3].map(column);
    let fixed: Vec<Rect> =
        boxes("fixed").iter().map(|&[x, y, w, h]| Rect::at(x, y, w, h)).collect();
    let macros: Option<Vec<bool>> = case["movable_macro_mask"]
        .as_array()
        .map(|mask| mask.iter().map(|m| m.as_bool().unwrap()).collect());
    let cells = Rectangles::movable(&width, &height, &x, &y)
        .fixed(&fixed)
        .row_height(1.0)
        .macros(macros.as_deref());
    let target_density = case["target_density"].as_f64().unwrap();
    let options = ChargeOptions::default().target_density(target_density);
    let mut charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
    for [x, y, w, h] in boxes("filler") {
        charge.add_fillers(w, h, &[x], &[y]).unwrap();
    }
    charge
}
