//! Density, overflow and force on the CPU against golden values and against a
//! naive sum over every body and bin.

mod common;

use common::{golden, numbers};
use placefield::Real;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::density::CpuDensity;
use placefield::cpu::force::CpuForce;
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
    let cells = Rectangles {
        width: &movable.width,
        height: &movable.height,
        x: &movable.x,
        y: &movable.y,
        fixed,
        row_height: Some(1.0),
        macros,
        rows: &[],
    };
    let options = ChargeOptions { target_density, ..ChargeOptions::default() };
    let mut charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
    for f in 0..fillers.x.len() {
        let at = (&fillers.x[f..=f], &fillers.y[f..=f]);
        charge.add_fillers(fillers.width[f], fillers.height[f], at.0, at.1);
    }
    charge
}

fn cast<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::of(v)).collect()
}

fn widen<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.wide()).collect()
}

struct Outcome {
    smoothed: DensityStats,
    exact: DensityStats,
    rho: Vec<f64>,
    exact_map: Vec<f64>,
}

/// Density of the bodies where they start, in precision `T`.
fn density<T: Real>(charge: &Charge) -> Outcome {
    let (nx, ny) = (charge.grid.nx(), charge.grid.ny());
    let (x, y) = (cast::<T>(&charge.initial_x), cast::<T>(&charge.initial_y));
    // Stale values must not show.
    let (mut rho, mut map) = (Map::filled(nx, ny, T::nan()), Map::filled(nx, ny, T::nan()));
    let mut room = CpuDensity::<T>::new(charge);
    let exact = room.exact_map(&x, &y, &mut map);
    let smoothed = room.smoothed(&x, &y, &mut rho);
    assert_eq!(room.exact(&x, &y), exact);
    Outcome { smoothed, exact, rho: widen(rho.as_slice()), exact_map: widen(map.as_slice()) }
}

fn force<T: Real>(charge: &Charge, field_x: &[f64], field_y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (nx, ny) = (charge.grid.nx(), charge.grid.ny());
    let map = |values: &[f64]| Map::from_vec(nx, ny, cast::<T>(values));
    let (x, y) = (cast::<T>(&charge.initial_x), cast::<T>(&charge.initial_y));
    let mut fx = vec![T::nan(); charge.bodies()];
    let mut fy = fx.clone();
    CpuForce::<T>::new(charge).gather(&x, &y, &map(field_x), &map(field_y), &mut fx, &mut fy);
    (widen(&fx), widen(&fy))
}

#[track_caller]
fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * scale, "{what}[{k}]: {g}, expected {w}");
    }
}

fn golden_case(case: &Value) -> Charge {
    let die = &case["die"];
    let die = Rect {
        xl: number(&die["xl"]),
        yl: number(&die["yl"]),
        xh: number(&die["xh"]),
        yh: number(&die["yh"]),
    };
    let bins = |key: &str| case[key].as_u64().unwrap() as usize;
    let grid = BinGrid::new(die, bins("num_bins_x"), bins("num_bins_y")).unwrap();
    let boxes = |key: &str| Boxes::of(&lists(&case[key]));
    let macros: Option<Vec<bool>> = case["movable_macro_mask"]
        .as_array()
        .map(|mask| mask.iter().map(|m| m.as_bool().unwrap()).collect());
    charge_of(
        grid,
        &boxes("movable"),
        &boxes("fixed").rects(),
        &boxes("filler"),
        number(&case["target_density"]),
        macros.as_deref(),
    )
}

fn check_golden<T: Real>(tolerance: f64) {
    let Some(file) = golden("density_force.json") else { return };
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let expected = &case["expected"];
        let charge = golden_case(case);
        let area = charge.grid.bin_area();
        let out = density::<T>(&charge);
        if name == "negative_area_pitfall" {
            // The cell is outside; truncation toward zero would fold it in as negative area.
            assert!(out.rho.iter().all(|&v| v == 0.0));
            assert_eq!(out.smoothed, DensityStats::default());
            assert_eq!(charge.clipped_area(&charge.initial_x, &charge.initial_y).wholly, 1);
            let fields = numbers(&expected["field_x"]);
            assert_eq!(force::<T>(&charge, &fields, &fields), (vec![0.0], vec![0.0]));
            continue;
        }
        let stretched = &case["stretched"];
        assert_close(
            &charge.ratio[..charge.movable],
            &numbers(&stretched["ratio"]),
            1e-14,
            &format!("{name}: ratio"),
        );
        let check = |got: f64, key: &str| {
            assert_close(&[got], &[number(&expected[key])], tolerance, &format!("{name}: {key}"));
        };
        check(charge.movable_area, "total_movable_area");
        check(out.smoothed.overflow, "overflow_ratio");
        check(out.smoothed.max, "max_density");
        let rho: Vec<f64> = out.rho.iter().map(|d| d * area).collect();
        if expected["density_map_total"].is_null() {
            check(rho.iter().sum(), "density_total_sum");
            check(charge.fixed.as_slice().iter().sum(), "initial_density_sum");
            check(charge.fixed.range().1, "initial_density_max");
            for sample in expected["samples"].as_array().unwrap() {
                let at = |k: &str| sample[k].as_u64().unwrap() as usize;
                let got = rho[at("i") * charge.grid.ny() + at("j")] / area;
                let want = number(&sample["density"]);
                // Whether these are areas or densities, zero is zero and full is full.
                let want = if want > 1.0 { want / area } else { want };
                assert_close(&[got], &[want], tolerance, &format!("{name}: {sample}"));
            }
            continue;
        }
        let map = |key: &str| numbers(&expected[key]);
        let what = |part: &str| format!("{name}: {part}");
        assert_close(&rho, &map("density_map_total"), tolerance, &what("total"));
        assert_close(charge.fixed.as_slice(), &map("initial_density_map"), 1e-12, &what("fixed"));
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
    check_golden::<f64>(1e-12);
}

#[test]
fn golden_density_and_force_in_f32() {
    check_golden::<f32>(1e-6);
}

#[test]
fn golden_exact_density() {
    let Some(case) = golden("density_overflow_exact_op.json") else { return };
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
    let room = number(&case["target_density"]) * grid.bin_area();
    let cost: f64 = areas.iter().map(|a| (a - room).max(0.0)).sum();
    assert_close(&[cost], &[number(&case["density_cost"])], 1e-15, "cost");
}
