//! Density and force on a device against the CPU's in float64, for the same
//! positions.

use crate::common::bodies::{mixed as charge, some};
use crate::common::{pairs, relative_rms, wide};
use crate::device::{close, gpu};
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::density::CpuDensity;
use placefield::cuda::Bodies;
use placefield::cuda::internals::{Density, Force, PositionLayout};
use placefield::cuda::{CudaReal, DeviceVec, Gpu};
use placefield::engine::{DensityStats, Layout};
use placefield::grid::{BinGrid, Map, Rect};
use placefield::{Precision, Real};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn rounded<T: Real>(values: &[f64], shift: f64, seed: u64) -> Vec<T> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    values.iter().map(|v| T::cast(v + shift * (random.random::<f64>() - 0.5))).collect()
}

/// Results of the CPU in float64.
struct Reference {
    rho: Vec<f64>,
    smoothed: DensityStats,
    own_size: DensityStats,
    force: [Vec<f64>; 2],
}

fn reference(charge: &Charge, x: &[f64], y: &[f64], field: &[Map<f64>; 2]) -> Reference {
    let mut rho = Map::filled(charge.grid().nx(), charge.grid().ny(), 0.0);
    let mut density = CpuDensity::new(charge, 0.0);
    let smoothed = density.smoothed(x, y, &mut rho);
    let own_size = density.exact(x, y);
    let mut force = [vec![0.0; x.len()], vec![0.0; x.len()]];
    let [fx, fy] = &mut force;
    density.force(&field[0], &field[1], fx, fy);
    Reference { rho: rho.into_vec(), smoothed, own_size, force }
}

/// Where the bodies of a charge begin.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    Spread,
    /// All in one place: those of one size are all rounded the same way, and
    /// where one outside none may or all do.
    Heap,
}

fn agrees<T: CudaReal>(gpu: &Gpu, charge: &Charge, begin: Start) {
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let bound = match (T::PRECISION, begin) {
        (Precision::F32, _) => 1e-6,
        (Precision::F64, Start::Spread) => 3e-13,
        (Precision::F64, Start::Heap) => 1e-12,
    };
    let field = [1, 2].map(|seed| {
        let flat = rounded::<T>(&vec![0.0; nx * ny], 2.0, seed);
        Map::from_vec(nx, ny, wide(&flat))
    });
    let narrow = |map: &Map<f64>| map.as_slice().iter().map(|&v| T::cast(v)).collect::<Vec<T>>();
    let (ex, ey) =
        (gpu.upload(&narrow(&field[0])).unwrap(), gpu.upload(&narrow(&field[1])).unwrap());

    let mut bodies = Bodies::<T>::new(gpu, charge.clone()).unwrap();
    // Zero, and about the mean, for the map; overflow and maximum do not see it.
    let background = if begin == Start::Heap { 0.0 } else { charge.background() };
    let mut density = Density::new(&bodies, background).unwrap();
    let mut force = Force::new(&bodies).unwrap();
    let mut rho = gpu.zeros::<T>(nx * ny).unwrap();
    let n = charge.bodies();
    let mut forces = gpu.zeros::<T>(2 * n).unwrap();

    let start = [charge.initial_x(), charge.initial_y()].map(|v| rounded::<T>(v, 0.0, 0));
    let start = gpu.upload(&pairs(&start[0], &start[1])).unwrap();
    assert!(bodies.order_is_due());
    assert!(density.run(&bodies, false, (Layout::Pairs, &start), &mut rho).is_err());
    bodies.order(&start).unwrap();
    // Where they were ordered, then up to 10 bins from there.
    for shift in [0.0, 20.0 * charge.grid().bin_x()] {
        let now = [charge.initial_x(), charge.initial_y()].map(|v| rounded::<T>(v, shift, 3));
        let mut want = reference(charge, &wide(&now[0]), &wide(&now[1]), &field);
        if T::PRECISION == Precision::F32 {
            // Far from zero rounding alone takes cells off the die, and such area does not count.
            let mut cpu = CpuDensity::new(charge, 0.0);
            let mut rho = Map::filled(nx, ny, T::zero());
            want.smoothed.overflow = cpu.smoothed(&now[0], &now[1], &mut rho).overflow;
            want.own_size.overflow = cpu.exact(&now[0], &now[1]).overflow;
        }
        let corners = gpu.upload(&pairs(&now[0], &now[1])).unwrap();
        let check_density = |density: &mut Density<T>,
                             (bodies, slots): (&Bodies<T>, Option<&DeviceVec<T>>),
                             rho: &[T],
                             expected: &DensityStats| {
            if std::ptr::eq(expected, &want.smoothed) {
                let rho: Vec<f64> = rho.iter().map(|v| v.widen() + background).collect();
                let error = relative_rms(&rho, &want.rho);
                assert!(error < bound, "rho of {nx} x {ny}: {error:e}");
            }
            let found = density.report(bodies, slots).unwrap();
            close("overflow", found.stats.overflow, expected.overflow, 20.0 * bound);
            // Shares of a bin are rounded to a fixed part of the bin, however thin the map.
            let thin = expected.max.min(1.0);
            close("maximum", found.stats.max, expected.max, 20.0 * bound / thin);
            found.outside_halo
        };

        density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho).unwrap();
        let first = gpu.download(&rho).unwrap();
        let outside = check_density(&mut density, (&bodies, None), &first, &want.smoothed);
        let some = shift > 0.0 && (nx > 40 || ny > 40);
        assert!(outside == 0 || some, "{outside} outside");
        assert!(outside > 0 || !some || begin == Start::Heap, "no outside");
        force.run(&bodies, (&ex, &ey), &mut forces).unwrap();
        let want_force = pairs(&want.force[0], &want.force[1]);
        let first_force = gpu.download(&forces).unwrap();
        let error = relative_rms(&wide(&first_force), &want_force);
        assert!(error < 2.0 * bound, "force of {nx} x {ny}: {error:e}");

        density.run(&bodies, true, (Layout::Pairs, &corners), &mut rho).unwrap();
        check_density(&mut density, (&bodies, None), &[], &want.own_size);

        // The same in slot order, and once more in a new one.
        let mut slots = gpu.zeros::<T>(2 * n).unwrap();
        bodies.rearrange_pairs(bodies.id_of(), &corners, &mut slots).unwrap();
        for again in [false, true] {
            if again {
                let mut from = bodies.permutation().unwrap();
                let before = slots.try_clone().unwrap();
                bodies.order_slots(&mut slots, &mut from).unwrap();
                let mut moved = gpu.zeros::<T>(2 * n).unwrap();
                bodies.rearrange_pairs(&from, &before, &mut moved).unwrap();
                let moved = gpu.download(&moved).unwrap();
                assert!(gpu.download(&slots).unwrap() == moved, "corners move with the order");
            }
            density.run(&bodies, false, (PositionLayout::Slots, &slots), &mut rho).unwrap();
            let map = gpu.download(&rho).unwrap();
            check_density(&mut density, (&bodies, Some(&slots)), &map, &want.smoothed);
            assert!(map == first, "the same bits in every order");
            force.run_slots(&bodies, &slots, (&ex, &ey), &mut forces).unwrap();
            let mut home = gpu.zeros::<T>(2 * n).unwrap();
            bodies.rearrange_pairs(bodies.slot_of().unwrap(), &forces, &mut home).unwrap();
            assert!(gpu.download(&home).unwrap() == first_force, "forces in every order");
        }
        bodies.order(&start).unwrap();
    }
}

#[test]
fn density_and_force_match_the_cpu() {
    let gpu = gpu();
    for (nx, ny) in [(64, 64), (100, 37), (33, 128), (7, 200), (1, 1), (5, 3)] {
        for (fillers, target) in [(0, 1.0), (3 * nx * ny, 0.8)] {
            let charge = charge(nx, ny, fillers, target);
            agrees::<f32>(&gpu, &charge, Start::Spread);
            agrees::<f64>(&gpu, &charge, Start::Spread);
        }
    }
}

/// More tiles than a block that makes an order can count in shared memory.
#[test]
fn bodies_of_many_tiles_match_the_cpu() {
    let gpu = gpu();
    let charge = some(20_000, [2432, 2400], 10_000, 0.9);
    agrees::<f32>(&gpu, &charge, Start::Spread);
    agrees::<f64>(&gpu, &charge, Start::Spread);
}

/// Cells of these sizes, all at one place when `heap`, else anywhere on the die.
fn cells(grid: BinGrid, sizes: &[[f64; 2]], macros: bool, heap: bool) -> Charge {
    let (die, mut random) = (grid.die(), Pcg64Mcg::seed_from_u64(9));
    let along = |low: f64, high: f64, random: &mut Pcg64Mcg| {
        low + (high - low) * if heap { 0.5 } else { random.random::<f64>() }
    };
    let (x, y): (Vec<f64>, Vec<f64>) = sizes
        .iter()
        .map(|[w, h]| {
            (along(die.xl, die.xh - w, &mut random), along(die.yl, die.yh - h, &mut random))
        })
        .unzip();
    let (width, height): (Vec<f64>, Vec<f64>) = sizes.iter().map(|&[w, h]| (w, h)).unzip();
    let marks = vec![macros; sizes.len()];
    let rectangles = Rectangles::movable(&width, &height, &x, &y).macros(&marks[..]);
    let options = ChargeOptions::default().target_density(if macros { 0.9 } else { 1.0 });
    Charge::from_rectangles(grid, &rectangles, &options).unwrap()
}

/// Rounding the die's edge to `f32` moves it by up to a third of a bin here.
#[test]
fn a_die_far_from_zero_loses_no_area() {
    let gpu = gpu();
    for [xl, yl] in [[1_000_000.03, -100_000.3], [-100_000.3, 1_000_000.03]] {
        let grid = BinGrid::new(Rect::at(xl, yl, 51.2, 76.8), 512, 768).unwrap();
        let charge = cells(grid, &vec![[0.1, 0.3]; 4000], false, false);
        agrees::<f32>(&gpu, &charge, Start::Spread);
        agrees::<f64>(&gpu, &charge, Start::Spread);
    }
}

/// A macro thinner than a bin has the charge of its area, and less of it in each bin.
#[test]
fn thin_macros_on_a_heap_overflow_as_on_the_cpu() {
    let gpu = gpu();
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 1024.0, 1.0), 1024, 1).unwrap();
    let charge = cells(grid, &vec![[200.0, 0.2]; 100], true, true);
    agrees::<f32>(&gpu, &charge, Start::Heap);
    agrees::<f64>(&gpu, &charge, Start::Heap);
}

#[test]
fn fillers_of_several_sizes_match_the_cpu() {
    let gpu = gpu();
    let mut charge = charge(48, 40, 500, 1.0);
    charge.add_fillers(40.0, 30.0, &[0.0, 100.0, 200.0], &[50.0, 70.0, 90.0]).unwrap();
    charge.add_fillers(120.0, 90.0, &[10.0], &[20.0]).unwrap();
    agrees::<f32>(&gpu, &charge, Start::Spread);
    agrees::<f64>(&gpu, &charge, Start::Spread);
}

/// All bodies in one tile, as a placer may begin: their sum exceeds 32 bits.
#[test]
fn bodies_in_one_place_match_the_cpu() {
    let gpu = gpu();
    for (nx, ny) in [(64, 64), (50, 43)] {
        let mut charge = charge(nx, ny, 40_000, 1.0);
        let die = charge.grid().die();
        let centre = [0.5 * (die.xl + die.xh), 0.5 * (die.yl + die.yh)];
        let [x, y] = centre.map(|at| vec![at; charge.bodies()]);
        charge.set_initial(&x, &y).unwrap();
        agrees::<f32>(&gpu, &charge, Start::Heap);
        agrees::<f64>(&gpu, &charge, Start::Heap);
    }
}

#[test]
fn bad_positions_affect_no_other_body() {
    let gpu = gpu();
    let charge = charge(40, 44, 700, 1.0);
    let mut at = [charge.initial_x(), charge.initial_y()].map(|v| rounded::<f32>(v, 0.0, 0));
    for (i, bad) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30].into_iter().enumerate() {
        at[i % 2][i] = bad;
    }
    let corners = gpu.upload(&pairs(&at[0], &at[1])).unwrap();
    let mut bodies = Bodies::<f32>::new(&gpu, charge.clone()).unwrap();
    let mut density = Density::new(&bodies, 0.0).unwrap();
    let mut rho = gpu.zeros::<f32>(40 * 44).unwrap();
    bodies.order(&corners).unwrap();
    density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho).unwrap();
    let got = gpu.download(&rho).unwrap();
    at[0][..4].fill(-1e6);
    let mut want = Map::filled(40, 44, 0.0);
    CpuDensity::new(&charge, 0.0).smoothed(&wide(&at[0]), &wide(&at[1]), &mut want);
    assert!(relative_rms(&wide(&got), want.as_slice()) < 1e-6);
}
