//! Placements of many small generated designs on the CPU: how many ended how.
//!
//! `cargo bench --bench place_many -- [--designs N] [--first K] [FILE.json]`
//!
//! 2000 designs unless said otherwise, of 2 to 5000 cells (as many of every size on a
//! logarithmic scale), utilisation 0.3 to 0.98, with and without macros and pads, each with a
//! seed of its own; on `place`'s default bins, with fillers, target density 1, to a smoothed
//! overflow of 0.07. Each is placed twice: from a centred start, and from the clusters that it
//! was generated with as a start to be kept near to. Every placement is looked at: its cells are
//! inside the die, and no iteration had both less overflow and wires shorter by more than 3 %.

use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::EngineOptions;
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;
use placefield::place::{HostBackend, Outcome, PlaceOptions, Placer, default_bins, limits, start};
use placefield::wirelength::Netlist;
use serde::Serialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// One placement that has ended.
#[derive(Clone, Debug, Serialize)]
struct Row {
    number: u64,
    cells: u64,
    macros: u64,
    pads: u64,
    utilisation: f64,
    warm: bool,
    bins: [usize; 2],
    outcome: Outcome,
    iterations: usize,
    hpwl: f64,
    overflow: f64,
    /// Cause that keeps the overflow from falling, if the target was not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    /// Faults of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// A design's placements, cold and warm; none where it cannot be generated.
type Placed = Option<[Row; 2]>;

#[derive(Serialize)]
struct Report {
    designs: u64,
    /// Designs whose fixed nodes found no room, which are not placed.
    not_generated: usize,
    cold: BTreeMap<String, usize>,
    warm: BTreeMap<String, usize>,
    faults: usize,
    seconds: f64,
    /// All that did not converge.
    others: Vec<Row>,
}

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!("place_many: {faults} results are wrong");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("place_many: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<usize, Box<dyn Error>> {
    let (mut designs, mut first, mut file) = (2000, 0, None);
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64, Box<dyn Error>> {
            Ok(arguments.next().ok_or("a number is missing")?.parse()?)
        };
        match argument.as_str() {
            "--designs" => designs = number()?,
            "--first" => first = number()?,
            _ => file = Some(argument),
        }
    }
    let begun = Instant::now();
    let placed = place_all(first..first + designs)?;
    let not_generated = placed.iter().filter(|p| p.is_none()).count();
    let rows: Vec<Row> = placed.into_iter().flatten().flatten().collect();
    let count = |warm: bool| {
        let mut counts = BTreeMap::new();
        for row in rows.iter().filter(|row| row.warm == warm) {
            *counts.entry(format!("{:?}", row.outcome)).or_insert(0) += 1;
        }
        counts
    };
    let faults = rows.iter().filter(|row| row.fault.is_some()).count();
    let report = Report {
        designs,
        not_generated,
        cold: count(false),
        warm: count(true),
        faults,
        seconds: begun.elapsed().as_secs_f64(),
        others: rows
            .iter()
            .filter(|row| row.outcome != Outcome::Converged || row.fault.is_some())
            .cloned()
            .collect(),
    };
    for row in &report.others {
        println!(
            "{:>5} {:>5} cells {:>3} macros {:>4} pads, utilisation {:.2}, {}, {} x {} bins: {:?} \
             after {}, HPWL {:.3e}, overflow {:.4} {} {}",
            row.number,
            row.cells,
            row.macros,
            row.pads,
            row.utilisation,
            if row.warm { "warm" } else { "cold" },
            row.bins[0],
            row.bins[1],
            row.outcome,
            row.iterations,
            row.hpwl,
            row.overflow,
            row.limit.as_deref().unwrap_or_default(),
            row.fault.as_deref().unwrap_or_default()
        );
    }
    println!(
        "{designs} designs in {:.0} s; cold {:?}; warm {:?}; {not_generated} not generated; \
         {faults} results wrong",
        report.seconds, report.cold, report.warm
    );
    if let Some(file) = file {
        std::fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    Ok(faults)
}

/// Every design, one after the other on each of as many threads as there are.
fn place_all(numbers: std::ops::Range<u64>) -> Result<Vec<Placed>, String> {
    let next = AtomicU64::new(numbers.start);
    let worker = || -> Result<Vec<(u64, Placed)>, String> {
        let mut placed = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return Ok(placed);
            }
            placed.push((number, place(number).map_err(|e| format!("design {number}: {e}"))?));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut placed = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            placed.extend(worker.join().expect("a placement does not panic")?);
        }
        Ok::<(), String>(())
    })?;
    placed.sort_by_key(|(number, _)| *number);
    Ok(placed.into_iter().map(|(_, rows)| rows).collect())
}

/// The specification of design `number`: the numbers follow from a low-discrepancy sequence, so
/// that any run of them covers all kinds.
fn spec(number: u64) -> Spec {
    // Additive recurrence in four dimensions: powers of the root of x⁵ = x + 1.
    let root = 1.167_303_978_261_418_7_f64;
    let along = |k: i32| (0.5 + (number + 1) as f64 / root.powi(k)).fract();
    let cells = (2.0 * (2500.0_f64).powf(along(1))).round() as u64;
    let mut spec = Spec::with_cells(cells).seeded(number);
    spec.name = format!("many{number}");
    spec.utilisation = 0.3 + 0.68 * along(2);
    let macros = along(3) < 0.5;
    if macros {
        spec.density = spec.utilisation + (0.99 - spec.utilisation) * (0.2 + 0.6 * along(4));
        spec.macros = 1 + (along(4) * 8.0) as u64;
    } else {
        (spec.density, spec.macros) = (spec.utilisation, 0);
    }
    if number.is_multiple_of(3) {
        spec.pads = 0;
    }
    spec.nets = spec.nets.max(spec.nodes());
    spec.pins = spec.pins.max(spec.nets).min(spec.nets * spec.nodes());
    spec
}

/// Both placements of a design; none where it cannot be generated.
fn place(number: u64) -> Result<Placed, Box<dyn Error>> {
    let spec = spec(number);
    let Ok(design) = generate(&spec) else { return Ok(None) };
    let die = design.die().ok_or("no rows")?;
    let bins = default_bins(&design, die, 1.0);
    let grid = BinGrid::new(die, bins[0], bins[1])?;
    let charge = Charge::from_design(&design, grid, &ChargeOptions::default().fillers(true))?;
    let netlist = Netlist::from_design(&design, Netlist::ALL)?;
    let engine = CpuEngine::<f32>::new(charge.clone(), &EngineOptions::default().threads(1))?;
    let mut backend = HostBackend::new(engine, &netlist)?;
    let mut run = |warm: bool| -> Result<Row, Box<dyn Error>> {
        let (x, y) = match warm {
            true => (charge.initial_x().to_vec(), charge.initial_y().to_vec()),
            false => start::centred(&charge, number),
        };
        let options = PlaceOptions::default().warm(warm);
        let mut placer = Placer::new(&mut backend, &x, &y, &options)?;
        let mut records = vec![*placer.last()];
        while let Some(record) = placer.step()? {
            records.push(*record);
        }
        let outcome = placer.outcome().ok_or("it did not end")?;
        let result = records[placer.result_iteration()].sample;
        let (x, y) = placer.positions()?;
        let overflow = result.density.overflow;
        let better = records
            .iter()
            .map(|r| &r.sample)
            .filter(|s| s.density.overflow <= overflow && 1.03 * s.hpwl < result.hpwl);
        let fault = match (charge.clipped_area(&x, &y).area, better.count()) {
            (outside, _) if outside > 0.0 => Some(format!("{outside} of the area is outside")),
            (_, better) if better > 0 => Some(format!("{better} iterations were better")),
            _ => None,
        };
        let limit = match outcome {
            Outcome::Converged => None,
            _ => Some(limits::limit(&charge, &x, &y)?),
        };
        Ok(Row {
            number,
            cells: spec.cells,
            macros: spec.macros,
            pads: spec.pads,
            utilisation: spec.utilisation,
            warm,
            bins,
            outcome,
            iterations: placer.last().iteration,
            hpwl: result.hpwl,
            overflow,
            limit,
            fault,
        })
    };
    Ok(Some([run(false)?, run(true)?]))
}
