//! A placement in which cells have fences.

use crate::common::fenced_placement::cells_end_in_their_fences;
use placefield::cpu::engine::CpuEngine;
use placefield::engine::EngineOptions;
use placefield::place::HostBackend;

#[test]
fn cpu_placements_end_in_their_fences() {
    cells_end_in_their_fences(|charge, netlist| {
        let options = EngineOptions::default().threads(2);
        let engine = CpuEngine::<f64>::new(charge.clone(), &options).unwrap();
        Box::new(HostBackend::new(engine, netlist).unwrap())
    });
}
