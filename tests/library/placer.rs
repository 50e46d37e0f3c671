//! The library as a placer's author uses it: a spreading loop in thirty lines.

use placefield::charge::{Charge, ChargeOptions};
use placefield::cli::generate::{Spec, generate};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineError, EngineOptions};
use placefield::grid::BinGrid;

/// Moves every cell along the mean field over it; returns overflow before and after.
fn spread(iterations: usize) -> Result<(f64, f64), EngineError> {
    let design = generate(&Spec::with_cells(2_000)).expect("a small design");
    let die = design.die().expect("it has rows");
    let grid = BinGrid::new(die, 64, 64)?;
    let options = ChargeOptions::default().fillers(true);
    let charge = Charge::from_design(&design, grid, &options)?;

    let area: Vec<f64> = charge.width().iter().zip(charge.height()).map(|(w, h)| w * h).collect();
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    let mut engine = CpuEngine::<f64>::new(charge, &EngineOptions::default())?;
    let start = engine.evaluate(&x, &y)?.density.overflow;
    for _ in 0..iterations {
        let (fx, fy) = engine.force()?;
        for i in 0..x.len() {
            x[i] =
                (x[i] + 3.0 * fx[i] / area[i]).clamp(die.xl, die.xh - engine.charge().width()[i]);
            y[i] =
                (y[i] + 3.0 * fy[i] / area[i]).clamp(die.yl, die.yh - engine.charge().height()[i]);
        }
        engine.evaluate(&x, &y)?;
    }
    Ok((start, engine.evaluate(&x, &y)?.density.overflow))
}

#[test]
fn cells_spread() {
    let (start, end) = spread(100).unwrap();
    assert!(start > 0.3, "the start is clustered: {start}");
    assert!(end < 0.1, "the end is spread: {end} from {start}");
}
