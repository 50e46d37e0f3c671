//! Time of one density and one force evaluation on the CPU, by size, precision
//! and number of threads: `cargo bench --bench density [-- REPETITIONS]`.
//!
//! Each size holds movable cells 3 to 29 wide and 12 high and fillers 15 × 12,
//! uniformly over the die, with positions moved a little before every
//! repetition so that no run sees the very same input twice. Two repetitions warm up;
//! the table gives the median and the least in milliseconds.

use placefield::Real;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::density::CpuDensity;
use placefield::cpu::force::CpuForce;
use placefield::grid::{BinGrid, Map, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::time::Instant;

/// Name, movable cells, fillers, die edge, bins along each axis.
const SIZES: [(&str, usize, usize, f64, usize); 3] = [
    ("adaptec1-like", 211_000, 160_000, 10_692.0, 512),
    ("bigblue3-like", 1_100_000, 710_000, 27_800.0, 1024),
    ("bigblue4-like", 2_170_000, 2_720_000, 32_000.0, 2048),
];

fn main() {
    let repetitions = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(9);
    println!("| design | bodies | bins | precision | threads | density ms | exact ms | force ms |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, cells, fillers, edge, bins) in SIZES {
        let charge = charge(cells, fillers, edge, bins);
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let row = |precision, [density, exact, force]: [String; 3]| {
                let bodies = charge.bodies();
                println!(
                    "| {name} | {bodies} | {bins}² | {precision} | {threads} | {density} | {exact} | {force} |"
                );
            };
            row("f32", pool.install(|| measure::<f32>(&charge, repetitions)));
            row("f64", pool.install(|| measure::<f64>(&charge, repetitions)));
        }
    }
}

fn charge(cells: usize, fillers: usize, edge: f64, bins: usize) -> Charge {
    let mut random = Pcg64::seed_from_u64(1);
    let die = Rect::at(0.0, 0.0, edge, edge);
    let grid = BinGrid::new(die, bins, bins).unwrap();
    let width: Vec<f64> = (0..cells).map(|_| random.random_range(3..=29).into()).collect();
    let mut uniform =
        |n: usize| -> Vec<f64> { (0..n).map(|_| random.random::<f64>() * (edge - 29.0)).collect() };
    let (x, y) = (uniform(cells), uniform(cells));
    let height = vec![12.0; cells];
    let rectangles = Rectangles::movable(&width, &height, &x, &y).row_height(12.0);
    let mut charge = Charge::from_rectangles(grid, &rectangles, &ChargeOptions::default()).unwrap();
    charge.add_fillers(15.0, 12.0, &uniform(fillers), &uniform(fillers)).unwrap();
    charge
}

/// Median and least milliseconds of density, exact density and force.
fn measure<T: Real>(charge: &Charge, repetitions: usize) -> [String; 3] {
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let cast = |v: &[f64]| -> Vec<T> { v.iter().map(|&v| T::of(v)).collect() };
    let (mut x, mut y) = (cast(charge.initial_x()), cast(charge.initial_y()));
    let mut rho = Map::filled(nx, ny, T::zero());
    let (mut fx, mut fy) = (vec![T::zero(); x.len()], vec![T::zero(); x.len()]);
    let mut density = CpuDensity::new(charge, charge.background());
    let force = CpuForce::new(&density);
    let mut times = [const { Vec::new() }; 3];
    for repetition in 0..repetitions + 2 {
        let shift = T::of(if repetition % 2 == 0 { 0.7 } else { -0.6 });
        x.iter_mut().chain(&mut y).for_each(|v| *v += shift);
        let run = [
            time(|| _ = density.smoothed(&x, &y, &mut rho)),
            time(|| _ = density.exact(&x, &y)),
            time(|| force.gather(&x, &y, &rho, &rho, &mut fx, &mut fy)),
        ];
        if repetition >= 2 {
            times.iter_mut().zip(run).for_each(|(all, one)| all.push(one));
        }
    }
    times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        format!("{:.1} ({:.1})", t[t.len() / 2], t[0])
    })
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e3
}
