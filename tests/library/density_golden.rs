//! Density, overflow and force on the CPU against golden values and against a
//! naive sum over every body and bin.

use crate::common::bodies::golden_case;
use crate::common::{golden, numbers, rounded, wide};
use placefield::Real;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::density::CpuDensity;
use placefield::cpu::simd::Simd;
use placefield::engine::DensityStats;
use placefield::grid::{BinGrid, Map, Rect};
use proptest::prelude::*;
use serde_json::Value;

/// Rectangles by column, as `[x, y, w, h]` lists give them.
#[derive(Clone, Debug, Default)]
struct Boxes {
    x: Vec<f64>,
    y: Vec<f64>,
    width: Vec<f64>,
    height: Vec<f64>,
}

impl Boxes {
    fn of(lists: &[[f64; 4]]) -> Self {
        let column = |k: usize| lists.iter().map(|r| r[k]).collect();
        Boxes { x: column(0), y: column(1), width: column(2), height: column(3) }
    }

    /// Returns this case with every number rounded to `f32`.
    fn rounded(&self) -> Self {
        let round = |column: &[f64]| wide(&rounded::<f32>(column));
        Boxes {
            x: round(&self.x),
            y: round(&self.y),
            width: round(&self.width),
            height: round(&self.height),
        }
    }

    fn reversed(&self) -> Self {
        let turn = |column: &[f64]| column.iter().rev().copied().collect();
        Boxes {
            x: turn(&self.x),
            y: turn(&self.y),
            width: turn(&self.width),
            height: turn(&self.height),
        }
    }

    /// x for y.
    fn transposed(self) -> Self {
        Boxes { x: self.y, y: self.x, width: self.height, height: self.width }
    }

    fn rects(&self) -> Vec<Rect> {
        (0..self.x.len())
            .map(|i| Rect::at(self.x[i], self.y[i], self.width[i], self.height[i]))
            .collect()
    }
}

fn lists(value: &Value) -> Vec<[f64; 4]> {
    value.as_array().unwrap().iter().map(|r| numbers(r).try_into().unwrap()).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn charge_of(
    grid: BinGrid,
    movable: &Boxes,
    fixed: &[Rect],
    fillers: &Boxes,
    target_density: f64,
    macros: Option<&[bool]>,
) -> Charge {
    let cells = Rectangles::movable(&movable.width, &movable.height, &movable.x, &movable.y)
        .fixed(fixed)
        .row_height(1.0)
        .macros(macros);
    let options = ChargeOptions::default().target_density(target_density);
    let mut charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
    for f in 0..fillers.x.len() {
        let at = (&fillers.x[f..=f], &fillers.y[f..=f]);
        charge.add_fillers(fillers.width[f], fillers.height[f], at.0, at.1).unwrap();
    }
    charge
}

struct Outcome {
    smoothed: DensityStats,
    exact: DensityStats,
    rho: Vec<f64>,
    exact_map: Vec<f64>,
}

/// Density of the bodies where they start, in precision `T`.
fn density<T: Real>(charge: &Charge) -> Outcome {
    density_at::<T>(charge, charge.initial_x(), charge.initial_y())
}

fn density_at<T: Real>(charge: &Charge, x: &[f64], y: &[f64]) -> Outcome {
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let (x, y) = (rounded::<T>(x), rounded::<T>(y));
    // Stale values must not show.
    let (mut rho, mut map) = (Map::filled(nx, ny, T::nan()), Map::filled(nx, ny, T::nan()));
    let mut stage = CpuDensity::new(charge, 0.0);
    let exact = stage.exact_map(&x, &y, &mut map);
    let smoothed = stage.smoothed(&x, &y, &mut rho);
    assert_eq!(stage.exact(&x, &y), exact);
    Outcome { smoothed, exact, rho: wide(rho.as_slice()), exact_map: wide(map.as_slice()) }
}

fn force<T: Real>(charge: &Charge, field_x: &[f64], field_y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    force_at::<T>(charge, [charge.initial_x(), charge.initial_y()], field_x, field_y)
}

fn force_at<T: Real>(
    charge: &Charge,
    [x, y]: [&[f64]; 2],
    field_x: &[f64],
    field_y: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let map = |values: &[f64]| Map::from_vec(nx, ny, rounded::<T>(values));
    let (x, y) = (rounded::<T>(x), rounded::<T>(y));
    let mut fx = vec![T::nan(); charge.bodies()];
    let mut fy = fx.clone();
    let mut stage = CpuDensity::new(charge, 0.0);
    stage.set_positions(&x, &y);
    stage.force(&map(field_x), &map(field_y), &mut fx, &mut fy);
    (wide(&fx), wide(&fy))
}

#[track_caller]
fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * scale, "{what}[{k}]: {g}, expected {w}");
    }
}

fn check_golden<T: Real>(tolerance: f64) {
    let file = golden("density_force.json");
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let expected = &case["expected"];
        let charge = golden_case(case);
        let area = charge.grid().bin_area();
        let out = density::<T>(&charge);
        if name == "negative_area_pitfall" {
            // The cell is outside; truncation toward zero would fold it in as negative area.
            assert!(out.rho.iter().all(|&v| v == 0.0));
            // No bin holds it, so all of the movable area overflows.
            assert_eq!(out.smoothed, DensityStats { overflow: 1.0, max: 0.0 });
            assert_eq!(charge.clipped_area(charge.initial_x(), charge.initial_y()).wholly, 1);
            let fields = numbers(&expected["field_x"]);
            assert_eq!(force::<T>(&charge, &fields, &fields), (vec![0.0], vec![0.0]));
            continue;
        }
        let stretched = &case["stretched"];
        assert_close(
            &charge.ratio()[..charge.movable()],
            &numbers(&stretched["ratio"]),
            1e-14,
            &format!("{name}: ratio"),
        );
        let check = |got: f64, key: &str| {
            assert_close(&[got], &[number(&expected[key])], tolerance, &format!("{name}: {key}"));
        };
        check(charge.movable_area(), "total_movable_area");
        // The golden values leave area off the die out.
        let off_die = charge.clipped_area(charge.initial_x(), charge.initial_y()).area;
        let overflow = out.smoothed.overflow - off_die / charge.movable_area();
        check(overflow, "overflow_ratio");
        check(out.smoothed.max, "max_density");
        let rho: Vec<f64> = out.rho.iter().map(|d| d * area).collect();
        if expected["density_map_total"].is_null() {
            check(rho.iter().sum(), "density_total_sum");
            check(charge.fixed().as_slice().iter().sum(), "initial_density_sum");
            check(charge.fixed().range().1, "initial_density_max");
            for sample in expected["samples"].as_array().unwrap() {
                let at = |k: &str| sample[k].as_u64().unwrap() as usize;
                let got = out.rho[at("i") * charge.grid().ny() + at("j")];
                let want = number(&sample["density"]);
                assert_close(&[got], &[want], tolerance, &format!("{name}: {sample}"));
            }
            continue;
        }
        let map = |key: &str| numbers(&expected[key]);
        let what = |part: &str| format!("{name}: {part}");
        assert_close(&rho, &map("density_map_total"), tolerance, &what("total"));
        assert_close(charge.fixed().as_slice(), &map("initial_density_map"), 1e-12, &what("fixed"));
        let (fx, fy) = force::<T>(&charge, &map("field_x"), &map("field_y"));
        let minus = |a: &str, b: &str| -> Vec<f64> {
            [map(a), map(b)].concat().iter().map(|g| -g).collect()
        };
        assert_close(&fx, &minus("grad_x_movable", "grad_x_filler"), tolerance, &what("force x"));
        assert_close(&fy, &minus("grad_y_movable", "grad_y_filler"), tolerance, &what("force y"));
    }
}

#[test]
fn golden_density_and_force_in_f64() {
    check_golden::<f64>(1e-11);
}

#[test]
fn golden_density_and_force_in_f32() {
    check_golden::<f32>(1e-6);
}

#[test]
fn golden_exact_density() {
    let case = golden("density_overflow_exact_op.json");
    let die: [f64; 4] = numbers(&case["die"]).try_into().unwrap();
    let [nx, ny] = [0, 1].map(|k| case["num_bins"][k].as_u64().unwrap() as usize);
    let die = Rect { xl: die[0], yl: die[1], xh: die[2], yh: die[3] };
    let grid = BinGrid::new(die, nx, ny).unwrap();
    let movable = Boxes::of(&lists(&case["movable"]));
    let terminals = Boxes::of(&lists(&case["terminal"])).rects();
    // That operator does not scale fixed cells: take them at target density 1 …
    let charge = charge_of(grid, &movable, &terminals, &Boxes::default(), 1.0, None);
    let out = density::<f64>(&charge);
    let areas: Vec<f64> = out.exact_map.iter().map(|d| d * grid.bin_area()).collect();
    assert_close(&areas, &numbers(&case["density_map_area"]), 1e-15, "areas");
    assert_close(&[out.exact.max], &[number(&case["max_density"])], 1e-15, "max");
    // … and its cost, an area, against its own target.
    let capacity = number(&case["target_density"]) * grid.bin_area();
    let cost: f64 = areas.iter().map(|a| (a - capacity).max(0.0)).sum();
    assert_close(&[cost], &[number(&case["density_cost"])], 1e-15, "cost");
}

/// Every body against every bin, with plain rectangle overlaps.
struct Naive {
    /// Density of everything, smoothed, and of fixed and movable cells alone.
    rho: Vec<f64>,
    smoothed: Vec<f64>,
    exact: Vec<f64>,
    force_x: Vec<f64>,
    force_y: Vec<f64>,
}

fn naive(charge: &Charge, field_x: &[f64], field_y: &[f64]) -> Naive {
    let grid = charge.grid();
    let (bx, by) = (grid.bin_x(), grid.bin_y());
    let bin = |k: usize| {
        let (i, j) = (k / grid.ny(), k % grid.ny());
        let die = grid.die();
        Rect::at(die.xl + i as f64 * bx, die.yl + j as f64 * by, bx, by)
    };
    let mut smoothed: Vec<f64> = wide(charge.fixed().as_slice());
    smoothed.iter_mut().for_each(|v| *v /= grid.bin_area());
    let mut exact = smoothed.clone();
    let mut fillers = vec![0.0; grid.bins()];
    let (mut force_x, mut force_y) = (Vec::new(), Vec::new());
    for i in 0..charge.bodies() {
        let (x, y) = (charge.initial_x()[i], charge.initial_y()[i]);
        let (w, h) = (charge.width()[i], charge.height()[i]);
        let (sw, sh) = (w.max(2f64.sqrt() * bx), h.max(2f64.sqrt() * by));
        let stretched = Rect::at(x + (w - sw) / 2.0, y + (h - sh) / 2.0, sw, sh);
        let is_macro = charge.macros().contains(&(i as u32));
        let own = if is_macro { charge.target_density() } else { 1.0 };
        let ratio = own * w * h / (sw * sh);
        let (mut fx, mut fy) = (0.0, 0.0);
        for k in 0..grid.bins() {
            let area = ratio * stretched.overlap(&bin(k));
            fx += area * field_x[k];
            fy += area * field_y[k];
            let map = if i < charge.movable() { &mut smoothed } else { &mut fillers };
            map[k] += area / grid.bin_area();
            if i < charge.movable() {
                exact[k] += own * Rect::at(x, y, w, h).overlap(&bin(k)) / grid.bin_area();
            }
        }
        force_x.push(fx);
        force_y.push(fy);
    }
    let rho = smoothed.iter().zip(&fillers).map(|(a, b)| a + b).collect();
    Naive { rho, smoothed, exact, force_x, force_y }
}

fn stats_of(map: &[f64], charge: &Charge) -> [f64; 2] {
    let over: f64 = map.iter().map(|d| (d - charge.target_density()).max(0.0)).sum();
    let off_die = charge.clipped_area(charge.initial_x(), charge.initial_y()).area;
    let area = over * charge.grid().bin_area() + off_die;
    let overflow = if charge.movable_area() > 0.0 { area / charge.movable_area() } else { 0.0 };
    [overflow, map.iter().fold(0.0, |a: f64, &b| a.max(b))]
}

/// An edge and a length: inside, across an edge, outside, or far beyond on both sides.
fn interval(extent: f64) -> impl Strategy<Value = (f64, f64)> {
    let length = prop_oneof![
        Just(0.0),
        0.0..extent / 50.0,
        0.0..extent / 4.0,
        Just(extent),
        extent..extent * 20.0
    ];
    (-0.6 * extent..1.3 * extent, length)
}

fn boxes(die: Rect, count: std::ops::Range<usize>) -> impl Strategy<Value = Boxes> {
    let one = (interval(die.width()), interval(die.height()))
        .prop_map(move |((x, w), (y, h))| [die.xl + x, die.yl + y, w, h]);
    prop::collection::vec(one, count).prop_map(|lists| Boxes::of(&lists))
}

/// With `rounding`, sizes and positions as `f32` holds them.
fn any_charge(rounding: bool) -> impl Strategy<Value = Charge> {
    let grid = (1_usize..70, 1_usize..12, -50.0..50.0, -9.0..9.0, 1.0..90.0, 1.0..40.0)
        .prop_map(|(nx, ny, x, y, w, h)| BinGrid::new(Rect::at(x, y, w, h), nx, ny).unwrap());
    grid.prop_flat_map(|grid| {
        let die = grid.die();
        let parts = (boxes(die, 0..12), boxes(die, 0..4), boxes(die, 0..5));
        (Just(grid), parts, 0.1..1.0, any::<[bool; 12]>())
    })
    .prop_map(move |(grid, (mut movable, fixed, mut fillers), target, marks)| {
        if rounding {
            (movable, fillers) = (movable.rounded(), fillers.rounded());
        }
        let marks = &marks[..movable.x.len()];
        charge_of(grid, &movable, &fixed.rects(), &fillers, target, Some(marks))
    })
}

fn waves(charge: &Charge) -> (Vec<f64>, Vec<f64>) {
    (0..charge.grid().bins())
        .map(|k| ((k as f64 * 0.7).sin(), (k as f64 * 1.3).cos() + 0.2))
        .unzip()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn agrees_with_the_naive_sum(charge in any_charge(false)) {
        let (field_x, field_y) = waves(&charge);
        let want = naive(&charge, &field_x, &field_y);
        let got = density::<f64>(&charge);
        assert_close(&got.rho, &want.rho, 1e-10, "rho");
        assert_close(&got.exact_map, &want.exact, 1e-10, "exact map");
        let stats = [got.smoothed.overflow, got.smoothed.max];
        assert_close(&stats, &stats_of(&want.smoothed, &charge), 1e-10, "smoothed");
        let stats = [got.exact.overflow, got.exact.max];
        assert_close(&stats, &stats_of(&want.exact, &charge), 1e-10, "exact");
        let (fx, fy) = force::<f64>(&charge, &field_x, &field_y);
        assert_close(&fx, &want.force_x, 1e-9, "force x");
        assert_close(&fy, &want.force_y, 1e-9, "force y");
    }

    #[test]
    fn single_precision_agrees_with_double(charge in any_charge(true)) {
        // Rounding the positions is the caller's, not ours.
        let (single, double) = (density::<f32>(&charge), density::<f64>(&charge));
        assert_close(&single.rho, &double.rho, 1e-6, "rho");
        assert_close(&single.exact_map, &double.exact_map, 1e-6, "exact map");
    }
}

/// A design of several tiles, chunks and strips: cells, macros and fillers, some over the edge.
struct Crowd {
    grid: BinGrid,
    cells: Boxes,
    fixed: Boxes,
    fillers: Boxes,
}

fn crowd(cells: usize) -> Crowd {
    let die = Rect { xl: -30.0, yl: 100.0, xh: 470.0, yh: 400.0 };
    let grid = BinGrid::new(die, 150, 90).unwrap();
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1 << 24) as f64
    };
    let mut lists: Vec<[f64; 4]> = (0..cells)
        .map(|_| [510.0 * random() - 35.0, 305.0 * random() + 98.0, 1.0 + 3.0 * random(), 2.0])
        .collect();
    lists[cells / 2] = [20.0, 120.0, 200.0, 90.0];
    lists[cells - 1] = [-90.0, 90.0, 700.0, 150.0];
    let fillers: Vec<[f64; 4]> =
        (0..300).map(|_| [480.0 * random() - 30.0, 290.0 * random() + 100.0, 9.0, 4.0]).collect();
    let fixed = [[50.0, 300.0, 80.0, 60.0], [100.0, 310.0, 70.0, 200.0]];
    let [cells, fixed, fillers] = [&lists[..], &fixed, &fillers].map(Boxes::of);
    Crowd { grid, cells, fixed, fillers }
}

impl Crowd {
    fn charge(&self) -> Charge {
        charge_of(self.grid, &self.cells, &self.fixed.rects(), &self.fillers, 0.8, None)
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let charge = crowd(60_000).charge();
    let (field_x, field_y) = waves(&charge);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let out = density::<f32>(&charge);
            let clipped = charge.clipped_area(charge.initial_x(), charge.initial_y());
            let force = force::<f32>(&charge, &field_x, &field_y);
            let maps = [out.rho, out.exact_map, force.0, force.1];
            (
                maps.map(|m| m.iter().map(|v| v.to_bits()).collect::<Vec<_>>()),
                out.smoothed,
                out.exact,
                clipped,
            )
        })
    };
    let one = run(1);
    assert_eq!(one.0[0].len(), 150 * 90);
    assert!(one.1.overflow > 0.0 && one.3.partly > 0 && one.3.wholly > 0);
    for threads in [2, 3, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

/// Results of a stage, compared bit for bit: ρ, the exact density and the forces.
fn bits_at(stage: &mut CpuDensity, charge: &Charge, x: &[f32], y: &[f32]) -> [Vec<u32>; 4] {
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let map = |values: &[f64]| Map::from_vec(nx, ny, rounded::<f32>(values));
    let (field_x, field_y) = waves(charge);
    let (mut exact, mut rho) = (Map::filled(nx, ny, f32::NAN), Map::filled(nx, ny, f32::NAN));
    stage.exact_map(x, y, &mut exact);
    stage.smoothed(x, y, &mut rho);
    let (mut fx, mut fy) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
    stage.force(&map(&field_x), &map(&field_y), &mut fx, &mut fy);
    [rho.as_slice(), exact.as_slice(), &fx, &fy].map(|v| v.iter().map(|v| v.to_bits()).collect())
}

#[test]
fn every_vector_unit_gives_the_same_bits() {
    let charge = crowd(5000).charge();
    let (x, y) = charge.initial_positions::<f32>();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    let run = |simd: Simd| {
        simd.force(|| pool.install(|| bits_at(&mut CpuDensity::new(&charge, 0.0), &charge, &x, &y)))
    };
    let portable = run(Simd::Portable);
    for simd in Simd::available() {
        assert!(run(simd) == portable, "{}", simd.name());
    }
}

/// Bodies are kept in an order from one step to the next: small moves leave it, large ones have it
/// made anew, and in between some bodies are outside the bins that their neighbours share.
#[test]
fn positions_that_came_before_leave_no_trace() {
    let charge = crowd(30_000).charge();
    let (mut x, mut y) = charge.initial_positions::<f32>();
    let mut stage = CpuDensity::new(&charge, 0.0);
    let mut state = 5_u64;
    for step in [0.0, 3.0, 3.0, 12.0, 12.0, 400.0, 1.0_f32] {
        for v in x.iter_mut().chain(&mut y) {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *v += step * ((state >> 40) as f32 / (1 << 24) as f32 - 0.5);
        }
        let fresh = bits_at(&mut CpuDensity::new(&charge, 0.0), &charge, &x, &y);
        assert!(bits_at(&mut stage, &charge, &x, &y) == fresh, "after a step of {step}");
    }
}

#[test]
fn swapping_the_axes_transposes_the_map() {
    let plain = crowd(3000);
    let charge = plain.charge();
    let die = charge.grid().die();
    let turned = Rect { xl: die.yl, yl: die.xl, xh: die.yh, yh: die.xh };
    let swapped = Crowd {
        grid: BinGrid::new(turned, charge.grid().ny(), charge.grid().nx()).unwrap(),
        cells: plain.cells.transposed(),
        fixed: plain.fixed.transposed(),
        fillers: plain.fillers.transposed(),
    };
    let swapped = swapped.charge();
    let transpose = |map: &[f64], nx: usize, ny: usize| -> Vec<f64> {
        (0..nx * ny).map(|k| map[k % nx * ny + k / nx]).collect()
    };
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let (plain, turned) = (density::<f64>(&charge), density::<f64>(&swapped));
    assert_close(&turned.rho, &transpose(&plain.rho, nx, ny), 1e-12, "rho");
    assert_close(&turned.exact_map, &transpose(&plain.exact_map, nx, ny), 1e-12, "exact");
    let (field_x, field_y) = waves(&charge);
    let (fx, fy) = force::<f64>(&charge, &field_x, &field_y);
    let turn = |field: &[f64]| transpose(field, nx, ny);
    let (gy, gx) = force::<f64>(&swapped, &turn(&field_y), &turn(&field_x));
    assert_close(&gx, &fx, 1e-12, "force x");
    assert_close(&gy, &fy, 1e-12, "force y");
    let differ = fx.iter().zip(&fy).filter(|(a, b)| (**a - **b).abs() > 1e-3).count();
    assert!(differ > 1000, "the two forces must be told apart");
}

#[test]
fn the_order_of_the_cells_does_not_matter() {
    let plain = crowd(40_000);
    let charge = plain.charge();
    let reversed = Crowd { cells: plain.cells.reversed(), ..plain }.charge();
    let last = charge.movable() as u32 - 1;
    let macros: Vec<u32> = charge.macros().iter().rev().map(|i| last - i).collect();
    assert!(!macros.is_empty() && reversed.macros() == macros);
    let (a, b) = (density::<f64>(&charge), density::<f64>(&reversed));
    assert_close(&a.rho, &b.rho, 1e-12, "rho");
    assert_close(&a.exact_map, &b.exact_map, 1e-12, "exact");
}

#[test]
fn area_inside_the_die_is_conserved() {
    let grid = BinGrid::new(Rect::at(3.0, -7.0, 80.0, 40.0), 60, 37).unwrap();
    let lists: Vec<[f64; 4]> = (0..500)
        .map(|k| {
            let k = k as f64;
            [5.0 + k * 7.31 % 50.0, -5.0 + k * 3.17 % 25.0, 0.1 + k % 20.0, 0.3 + k % 9.0]
        })
        .collect();
    let charge = charge_of(grid, &Boxes::of(&lists), &[], &Boxes::default(), 1.0, None);
    let area: f64 = lists.iter().map(|r| r[2] * r[3]).sum();
    let out = density::<f64>(&charge);
    for (map, what) in [(&out.rho, "smoothed"), (&out.exact_map, "exact")] {
        let total = map.iter().sum::<f64>() * grid.bin_area();
        assert!((total - area).abs() < 1e-9 * area, "{what}: {total}, expected {area}");
    }
    assert_eq!(charge.clipped_area(charge.initial_x(), charge.initial_y()), Default::default());
}

#[test]
fn positions_that_are_not_finite_leave_no_trace() {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 40.0, 30.0), 40, 30).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (x, y) in [(bad, 3.0), (3.0, bad), (bad, bad)] {
            let cells = Boxes::of(&[[1.0, 2.0, 2.0, 1.0], [9.0, 9.0, 30.0, 2.0]]);
            let charge = charge_of(grid, &cells, &[], &Boxes::default(), 1.0, None);
            let [x, y] = [[x; 2], [y; 2]];
            let out = density_at::<f32>(&charge, &x, &y);
            assert!(out.rho.iter().chain(&out.exact_map).all(|&v| v == 0.0));
            let ones = vec![1.0; grid.bins()];
            let force = force_at::<f32>(&charge, [&x, &y], &ones, &ones);
            assert_eq!(force, (vec![0.0; 2], vec![0.0; 2]));
        }
    }
}

/// A body of 7 or 8 bins ends in the seventh or eighth column after its first; one wider by
/// rounding, in the column after that.
#[test]
fn rounding_widens_bodies_by_one_bin_at_most() {
    let grid = BinGrid::new(Rect::at(2.884e-8, 0.0, 51.2, 1.6), 512, 16).unwrap();
    for (width, last) in [(0.7, 22), (0.700_000_05, 23), (0.8, 23), (0.800_000_05, 24)] {
        let cells = Boxes::of(&[[1.6, 0.4, width, 0.8]]);
        let out = density::<f32>(&charge_of(grid, &cells, &[], &Boxes::default(), 1.0, None));
        for map in [&out.rho, &out.exact_map] {
            let columns: Vec<f64> = map.chunks(16).map(|column| column.iter().sum()).collect();
            let covered = |&i: &usize| columns[i] > 0.0;
            assert!((0..512).filter(covered).eq(15..=last), "{width}: {:?}", &columns[14..26]);
            assert!((columns.iter().sum::<f64>() - 80.0 * width).abs() < 1e-4);
        }
    }
}
