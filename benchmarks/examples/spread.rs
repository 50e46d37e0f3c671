//! A spreading loop on the CPU: cells on one heap are pushed apart by the
//! force of their own density until the overflow is small.
//!
//! `cargo run --release --example spread`

use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineError, EngineOptions};
use placefield::grid::{BinGrid, Rect};

fn main() -> Result<(), EngineError> {
    // Five hundred cells of 3 to 12 by 8, side by side in the middle of a die of 256 x 256 with
    // 64 x 64 bins, and a block in its corner.
    let die = Rect::at(0.0, 0.0, 256.0, 256.0);
    let grid = BinGrid::new(die, 64, 64)?;
    let cells = 500;
    let width: Vec<f64> = (0..cells).map(|i| f64::from(3 + i % 10)).collect();
    let height = vec![8.0; width.len()];
    let x: Vec<f64> = (0..cells).map(|i| 110.0 + f64::from(i % 32)).collect();
    let y: Vec<f64> = (0..cells).map(|i| 110.0 + f64::from(i / 32)).collect();
    let blocks = [Rect::at(0.0, 0.0, 64.0, 32.0)];
    let rectangles = Rectangles::movable(&width, &height, &x, &y).fixed(&blocks);
    let charge = Charge::from_rectangles(grid, &rectangles, &ChargeOptions::default())?;

    // The engine allocates everything here, and nothing in the loop below.
    let (mut x, mut y) = charge.initial_positions::<f64>();
    let mut engine = CpuEngine::<f64>::new(charge, &EngineOptions::default())?;
    for iteration in 0..100 {
        let found = engine.evaluate(&x, &y)?;
        let overflow = found.density.overflow;
        println!("{iteration:2}  overflow {overflow:.4}  energy {:.4e}", found.energy);
        if overflow < 0.05 {
            break;
        }
        // The force is the direction that spreads. Divided by the cell's area it is the mean
        // field under the cell, in bin widths; here it is followed directly, while a placer adds
        // the pull of the wires and takes its steps by Nesterov's method.
        let (force_x, force_y) = engine.force()?;
        for i in 0..x.len() {
            let area = width[i] * height[i];
            x[i] = (x[i] + 2.0 * force_x[i] / area).clamp(die.xl, die.xh - width[i]);
            y[i] = (y[i] + 2.0 * force_y[i] / area).clamp(die.yl, die.yh - height[i]);
        }
    }
    Ok(())
}
