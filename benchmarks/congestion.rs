//! Congestion maps at the statistics of a contest's design, on the CPU and on a device.
//!
//! `cargo bench --bench congestion -- [DESIGN] [BINS]` (bigblue4, 512)
//!
//! The design is generated ([`placefield::generate`]); cells lie where a placer would leave
//! them: along the curve by which nets were made, so that boxes are small, and for comparison
//! anywhere on the die. Times are milliseconds, medians of 15 after 3: on the CPU the wires alone
//! ([`Demand::of`]) and all maps; on a device all maps, from positions in its memory to maps there.

use placefield::congestion::{CongestionMaps, CongestionOptions, Convention, Demand, RoutingGrid};
use placefield::design::Design;
use placefield::generate::{Spec, generate};
use placefield::grid::BinGrid;
use std::time::Instant;

fn median(mut run: impl FnMut()) -> f64 {
    let sample = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..18).map(sample).skip(3).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn time(what: &str, design: &Design, grid: &RoutingGrid) {
    let options = CongestionOptions::default().convention(Convention::DreamPlace);
    let wires = median(|| drop(Demand::of(design, grid, Convention::DreamPlace).unwrap()));
    let all = median(|| drop(CongestionMaps::of(design, grid, &options).unwrap()));
    let threads = rayon::current_num_threads();
    println!("{what}: {threads} threads: wires {wires:.2} ms, all maps {all:.2} ms");
    #[cfg(feature = "cuda")]
    if let Ok(gpu) = placefield::cuda::Gpu::open(0) {
        let mut device =
            placefield::cuda::CudaCongestion::new(&gpu, design, grid, &options).unwrap();
        let x = gpu.upload(&design.placement.x).unwrap();
        let y = gpu.upload(&design.placement.y).unwrap();
        let ten = median(|| {
            (0..10).for_each(|_| device.enqueue(&x, &y).unwrap());
            gpu.synchronize().unwrap();
        });
        println!("{what}: {}: all maps {:.3} ms", gpu.info().name, ten / 10.0);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let name = arguments.first().map_or("bigblue4", String::as_str);
    let bins = arguments.get(1).map_or(512, |bins| bins.parse().expect("a number of bins"));
    let mut design = generate(&Spec::preset(name).expect("a contest's design")).unwrap();
    let grid = RoutingGrid::from(&BinGrid::new(design.die().unwrap(), bins, bins).unwrap());
    let nets = design.nets.as_ref().unwrap();
    println!("{name}: {} nets, {} pins, {bins} x {bins} bins", nets.len(), nets.pins());
    time("as generated", &design, &grid);
    let die = design.die().unwrap();
    let cells: Vec<usize> = design.movable().collect();
    for (k, i) in cells.into_iter().enumerate() {
        let part = |times: u64| (k as u64).wrapping_mul(times) as f64 / u64::MAX as f64;
        design.placement.x[i] = die.xl + die.width() * part(0x9e37_79b9_7f4a_7c15);
        design.placement.y[i] = die.yl + die.height() * part(0xd1b5_4a32_d192_ed03);
    }
    time("scattered", &design, &grid);
}
