//! A design with cells off the die. Tests of the command line, of C and of Python compare with the
//! same file of numbers: no interface may add to them.

use placefield::charge::{Charge, ChargeOptions};
use placefield::engine::{EngineOptions, Timed};
use placefield::engines::{self, EngineChoice};
use placefield::evaluate::evaluate;
use placefield::formats::{ReadOptions, read_design};
use placefield::grid::BinGrid;
use std::path::Path;

#[test]
fn cells_off_the_die_count_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/off_die");
    let design = read_design(&folder.join("t.aux"), &ReadOptions::default()).unwrap().design;
    let numbers = std::fs::read_to_string(folder.join("numbers.json")).unwrap();
    let numbers: serde_json::Value = serde_json::from_str(&numbers).unwrap();
    let close = |found: f64, key: &str| {
        let expected = numbers[key].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-12 * expected, "{key}: {found}");
    };
    let grid = BinGrid::new(design.die().unwrap(), 8, 4).unwrap();
    let charge = Charge::from_design(&design, grid, &ChargeOptions::default()).unwrap();
    let opened = engines::open(charge, EngineChoice::Cpu, &EngineOptions::default()).unwrap();
    let mut engine: Box<dyn Timed<f64>> = opened.engine;
    let report = evaluate(&design, &mut *engine).unwrap().report;
    close(report.result.overflow.smoothed, "overflow");
    close(report.result.overflow.exact, "overflow");
    close(report.result.hpwl.unwrap(), "hpwl");
    close(report.density.clipped_area, "area_off_die");
    close(report.design.movable_area, "movable_area");
    let (x, y) = engine.charge().initial_positions::<f64>();
    let step = engine.evaluate(&x, &y).unwrap();
    close(step.density.overflow, "overflow");
    close(step.area_off_die, "area_off_die");
}
