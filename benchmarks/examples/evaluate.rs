//! Reads a design from Bookshelf files and prints what a placer logs of it.
//!
//! `cargo run --release --example evaluate -- DESIGN.aux`

use placefield::bookshelf::{ReadOptions, read_design};
use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineOptions, MapKind};
use placefield::grid::{BinGrid, Map};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let aux = std::env::args().nth(1).ok_or("usage: evaluate DESIGN.aux")?;
    let loaded = read_design(Path::new(&aux), &ReadOptions::default())?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    let design = loaded.design;

    // The die is the bounding box of the rows. Bins divide it evenly, any number along each axis.
    let die = design.die().ok_or("the design has no rows, so it has no die")?;
    let grid = BinGrid::new(die, 512, 512)?;

    // The weights of all cells, made once. The engine then takes positions in its own precision.
    let options = ChargeOptions::default().target_density(0.9);
    let charge = Charge::from_design(&design, grid, &options)?;
    let (x, y) = charge.initial_positions::<f32>();
    let mut engine = CpuEngine::<f32>::new(charge, &EngineOptions::default())?;

    let found = engine.evaluate(&x, &y)?;
    println!("overflow, smoothed  {:.4}", found.density.overflow);
    println!("overflow, exact     {:.4}", engine.exact_density()?.overflow);
    println!("energy              {:.4e}", found.energy);
    if let Some(hpwl) = design.hpwl() {
        println!("HPWL                {:.4e}", hpwl.weighted);
    }

    // Maps are [nx][ny], y contiguous; the potential is in bin widths squared.
    let mut potential = Map::filled(grid.nx(), grid.ny(), 0.0);
    engine.read_map(MapKind::Potential, &mut potential)?;
    let (low, high) = potential.range();
    println!("potential           {low:.4} to {high:.4}");
    Ok(())
}
