//! Detailed placement on a device has the bits of the CPU's.

use crate::common::legal::generate::Generated;
use crate::device::{fill, gpu, gpu_alone};
use crate::place::{charge, design};
use placefield::cuda::Gpu;
use placefield::design::{Design, Names, Nets};
use placefield::legalize::{LegalizeOptions, legalize};
use placefield::refine::{Progress, RefineOptions, Refined, Step, refine};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::ControlFlow;

/// Nets of two to nine pins, some with fractions as weights or none, and two of hundreds of pins.
fn nets(design: &Design, seed: u64) -> Nets {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let count = design.nodes.len();
    let mut nets = Nets { net_start: vec![0], names: Names::default(), ..Nets::default() };
    let cells = Vec::from_iter(design.movable());
    let sizes = (0..2 * cells.len()).map(|_| [2, 2, 3, 5, 9][rng.random_range(0..5usize)]);
    let sizes: Vec<usize> = sizes.chain([300, 70]).collect();
    for size in sizes {
        let middle = rng.random_range(0..count);
        for _ in 0..size {
            // Most pins of a net are of nodes with numbers near one another.
            let near = (middle + rng.random_range(0..8usize)) % count;
            let node = if rng.random::<f64>() < 0.6 { near } else { rng.random_range(0..count) };
            let (width, height) = (design.nodes.width[node], design.nodes.height[node]);
            nets.pin_node.push(node as u32);
            nets.pin_dx.push(width * rng.random_range(-0.5..0.5));
            nets.pin_dy.push(height * (rng.random_range(-4..4) as f64) / 8.0);
        }
        nets.net_start.push(nets.pin_node.len() as u32);
        nets.weight.push([0.0, 0.37, 1.0, 1.0, 2.9][rng.random_range(0..5usize)]);
    }
    nets
}

/// A legal design with fences, blockages and cells of several rows.
pub(crate) fn varied(seed: u64) -> Design {
    let Generated { mut design, solution, .. } = Generated::new(seed);
    design.placement = solution;
    design.nets = Some(nets(&design, seed));
    design
}

/// A legal design of so many cells, with a net of them all and a cell of many pins.
fn large(cells: u64) -> Design {
    let mut design = design(cells);
    let die = design.die().unwrap();
    let mut rng = Pcg64Mcg::seed_from_u64(cells);
    for node in Vec::from_iter(design.movable()) {
        design.placement.x[node] = die.xl + 0.95 * die.width() * rng.random::<f64>();
        design.placement.y[node] = die.yl + 0.95 * die.height() * rng.random::<f64>();
    }
    let legal = legalize(&design, &LegalizeOptions::default(), &mut |_| ControlFlow::Continue(()));
    let legal = legal.unwrap();
    assert!(legal.failed.is_empty());
    design.placement = legal.placement;
    design
}

/// Returns the result on so many threads, with every report on the way.
fn run(design: &Design, options: &RefineOptions<'_>, threads: usize) -> (Refined, Vec<Progress>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut reports = Vec::new();
        let refined = refine(design, options, &mut |progress| {
            reports.push(*progress);
            ControlFlow::Continue(())
        });
        (refined.unwrap(), reports)
    })
}

/// Refines on the CPU with several numbers of threads and on the device. Returns the result, which
/// is always the same, step by step and batch by batch.
pub(crate) fn refined_alike(gpu: &Gpu, design: &Design, options: &RefineOptions<'_>) -> Refined {
    let cpu = run(design, options, 1);
    for threads in [2, 16] {
        assert_eq!(run(design, options, threads), cpu, "{threads} threads");
    }
    let device = run(design, &options.device(gpu), 2);
    for (k, (device, cpu)) in device.1.iter().zip(&cpu.1).enumerate() {
        assert_eq!(device, cpu, "report {k}");
    }
    assert_eq!(device.0, cpu.0);
    cpu.0
}

#[test]
fn refined_placements_are_the_cpus() {
    let gpu = gpu();
    let mut shortened = [0.0; Step::ALL.len()];
    for seed in 0..40 {
        let design = varied(seed);
        // Without insertion the device does all rounds, with it the first one.
        let all = RefineOptions::default().insert_up_to(0);
        let options = match seed % 5 {
            0 => all,
            1 => all.max_displacement(Some(3.0)),
            2 => all.mirror(false),
            3 => all.padding(1),
            _ => RefineOptions::default(),
        };
        let refined = refined_alike(&gpu, &design, &options);
        shortened.iter_mut().zip(refined.shortened).for_each(|(sum, of)| *sum += of);
    }
    for step in Step::ALL {
        assert!(shortened[step as usize] > 0.0, "{step:?} has moved no cell");
    }
}

#[test]
fn refined_placements_of_several_batches_are_the_cpus() {
    let gpu = gpu();
    for cells in [300, 6000, 40_000] {
        for insert_up_to in [0, 10_000] {
            let options = RefineOptions::default().insert_up_to(insert_up_to);
            let refined = refined_alike(&gpu, &large(cells), &options);
            assert!(refined.hpwl_after < 0.9 * refined.hpwl_before);
        }
    }
}

#[test]
fn the_cpu_refines_what_the_device_cannot() {
    let gpu = gpu_alone();
    let design = large(2000);
    let reason = |options: RefineOptions<'_>, expected: &str| {
        let mut on_device = run(&design, &options.device(&*gpu), 2);
        let why = on_device.0.not_on_device.take().unwrap();
        assert!(why.contains(expected), "{why}");
        assert_eq!(on_device, run(&design, &options, 2));
    };
    let charge = charge(&design, 16);
    reason(RefineOptions::default().density(&charge), "target density");
    reason(RefineOptions::default().no_one_site_gaps(true), "gaps of one site");
    let _full = fill(&gpu);
    reason(RefineOptions::default(), "memory");
}
