//! The library as a placer's author uses it: the loop of the README.

use crate::common::design_dir;
use placefield::bookshelf;
use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::CpuEngine;
use placefield::design::Design;
use placefield::engine::{Engine, EngineOptions, Evaluation};
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;

/// Spreads the cells of a design, from a heap in the middle of the die, until their overflow is below
/// 0.1; returns x and y of their lower-left corners.
fn spread(design: &Design) -> Result<[Vec<f64>; 2], Box<dyn std::error::Error>> {
    let die = design.die().ok_or("the design has no rows")?;
    let grid = BinGrid::new(die, 128, 128)?;
    let charge = Charge::from_design(design, grid, &ChargeOptions::default())?;
    let (width, height) = (charge.width().to_vec(), charge.height().to_vec());
    let mut engine = CpuEngine::<f64>::new(charge, &EngineOptions::default())?;
    // Cells at one place would feel one force and stay together, so each starts at its own.
    let (cells, bin) = (width.len(), grid.bin_x());
    let spiral = |i: usize| (4.0 * bin * (i as f64 / cells as f64).sqrt(), 2.4 * i as f64);
    let at = |i: usize| spiral(i).0 * spiral(i).1.cos() + 0.5 * (die.xl + die.xh - width[i]);
    let mut x: Vec<f64> = (0..cells).map(at).collect();
    let at = |i: usize| spiral(i).0 * spiral(i).1.sin() + 0.5 * (die.yl + die.yh - height[i]);
    let mut y: Vec<f64> = (0..cells).map(at).collect();
    for _ in 0..1000 {
        // Density, solve and force; nothing is allocated.
        if engine.evaluate(&x, &y)?.density.overflow < 0.1 {
            return Ok([x, y]);
        }
        let (fx, fy) = engine.force()?;
        for i in 0..cells {
            // Divided by the area, the force is the mean field under the cell, in bin widths. A
            // step is at most a bin, and ends on the die.
            let area = (width[i] * height[i]).max(f64::MIN_POSITIVE);
            let [dx, dy] = [fx[i], fy[i]].map(|force| bin * (force / area).clamp(-1.0, 1.0));
            x[i] = (x[i] + dx).min(die.xh - width[i]).max(die.xl);
            y[i] = (y[i] + dy).min(die.yh - height[i]).max(die.yl);
        }
    }
    Err("the cells overflow after 1000 steps".into())
}

#[test]
fn the_readme_has_this_loop() {
    let (this, readme) = (include_str!("placer.rs"), include_str!("../../README.md"));
    let from = &this[this.find("/// Spreads").unwrap()..];
    let (function, _) = from.split_once("\n}\n").unwrap();
    assert!(readme.contains(function), "README.md has another loop than this file");
}

/// The evaluation on other bins than the loop's.
fn evaluated(design: &Design, [x, y]: &[Vec<f64>; 2]) -> Evaluation {
    let grid = BinGrid::new(design.die().unwrap(), 100, 100).unwrap();
    let charge = Charge::from_design(design, grid, &ChargeOptions::default()).unwrap();
    CpuEngine::<f64>::new(charge, &EngineOptions::default()).unwrap().evaluate(x, y).unwrap()
}

fn spreads(design: &Design) {
    let found = evaluated(design, &spread(design).unwrap());
    assert_eq!(found.area_off_die, 0.0);
    assert!(found.density.overflow < 0.15, "{found:?}");
}

#[test]
fn cells_spread() {
    let design = generate(&Spec::with_cells(2_000)).unwrap();
    let (x, y): (Vec<f64>, Vec<f64>) = design.movable().map(|_| (0.0, 0.0)).unzip();
    let heap = evaluated(&design, &[x, y]);
    assert!(heap.density.overflow > 0.5, "{heap:?}");
    spreads(&design);
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn cells_of_a_real_design_spread() {
    let aux = design_dir("ibm01").join("ibm01-cu85.aux");
    spreads(&bookshelf::read_design(&aux, &Default::default()).unwrap().design);
}
