//! How fast a placement of bigblue4's size is looked at for legality:
//! `cargo bench --bench legality [-- --design NAME --runs R --threads T]`.
//!
//! Generates a design at the statistics of ISPD 2005's `NAME` and measures `legality::check` on two
//! placements of it, after one warm-up: a legal one, cells packed into the free sites of the rows
//! in the order of their names, and the generated start, Gaussian clusters, where cells overlap by
//! the dozen. Prints the median, the least and the most of `R` runs.

#[path = "harness/mod.rs"]
mod harness;

use placefield::design::{Design, NodeKind};
use placefield::generate::{Spec, generate};
use placefield::legality::{self, Fault, Legality, LegalityOptions};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = harness::option("--design").unwrap_or("bigblue4".to_owned());
    let runs: usize = harness::option("--runs").map_or(Ok(9), |r| r.parse())?.max(1);
    let threads: usize = harness::option("--threads").map_or(Ok(0), |t| t.parse())?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;

    let mut design = generate(&Spec { nets: 0, pins: 0, ..Spec::preset(&name)? })?;
    let start = measure("generated", &design, runs)?;
    assert!(!start.is_legal());
    pack(&mut design)?;
    let legal = measure("legal", &design, runs)?;
    assert!(legal.is_legal(), "{legal:?}");
    Ok(())
}

fn measure(
    what: &str,
    design: &Design,
    runs: usize,
) -> Result<Legality, Box<dyn std::error::Error>> {
    let found = legality::check(design, &LegalityOptions::default())?;
    let times = (0..runs).map(|_| -> Result<f64, legality::LegalityError> {
        let start = Instant::now();
        legality::check(design, &LegalityOptions::default())?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    });
    let mut times = times.collect::<Result<Vec<f64>, _>>()?;
    times.sort_by(f64::total_cmp);
    println!(
        "{what}: {} nodes on {} threads, {} overlaps: {:.0} ms ({:.0} to {:.0})",
        design.nodes.len(),
        rayon::current_num_threads(),
        found.count(Fault::Overlap),
        times[times.len() / 2],
        times[0],
        times[times.len() - 1]
    );
    Ok(found)
}

/// Puts the movable cells onto the free sites of the rows, from the lowest row on and spread
/// evenly.
fn pack(design: &mut Design) -> Result<(), String> {
    let fixed: Vec<_> = (0..design.nodes.len())
        .filter(|&i| design.nodes.kind[i] == NodeKind::Fixed)
        .map(|i| design.rect(i))
        .collect();
    let mut spans = Vec::new();
    for row in &design.rows {
        let rect = row.rect();
        let mut within: Vec<_> = fixed.iter().filter(|f| f.overlap(&rect) > 0.0).collect();
        within.sort_by(|a, b| a.xl.total_cmp(&b.xl));
        let mut from = rect.xl;
        for block in within {
            if block.xl > from {
                spans.push((row.y, from, block.xl));
            }
            from = block.xh.max(from);
        }
        if rect.xh > from {
            spans.push((row.y, from, rect.xh));
        }
    }
    let cells: Vec<usize> = design.movable().collect();
    let taken: f64 = cells.iter().map(|&i| design.nodes.width[i]).sum();
    let free: f64 = spans.iter().map(|(_, from, to)| to - from).sum();
    // A little less than even: what is left over at the end of a span is lost.
    let stretch = 0.9 * free / taken;
    let mut cells = cells.into_iter().peekable();
    for (y, mut from, to) in spans {
        while let Some(i) = cells.next_if(|&i| from + design.nodes.width[i] <= to) {
            (design.placement.x[i], design.placement.y[i]) = (from, y);
            let width = design.nodes.width[i];
            from = (from + (width * stretch).round().max(width)).ceil();
        }
    }
    cells.next().map_or(Ok(()), |_| Err("the cells do not fit".to_owned()))
}
