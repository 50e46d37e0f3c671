//! A charge that has changed, and an engine that goes on with it, against ones made anew.

use crate::common::relative_rms;
use placefield::Real;
use placefield::charge::{Charge, ChargeError, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineError, EngineOptions, Evaluation, MapKind};
use placefield::grid::{BinGrid, Map, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const CELLS: usize = 600;
const BINS: [usize; 2] = [24, 40];

/// Sizes and corners of cells, one of them a macro, on a die and in bins that are not square.
struct Cells {
    columns: [Vec<f64>; 4],
    macros: Vec<bool>,
}

fn grid() -> BinGrid {
    BinGrid::new(Rect::at(-31.0, 12.0, 240.0, 280.0), BINS[0], BINS[1]).unwrap()
}

impl Cells {
    fn new() -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
        let mut columns = [const { Vec::new() }; 4];
        for i in 0..CELLS {
            let (w, h) = if i == 7 { (70.0, 30.0) } else { (draw(1.0, 14.0), 6.0) };
            let at = (draw(-31.0, 209.0 - w), draw(12.0, 292.0 - h));
            for (column, value) in columns.iter_mut().zip([w, h, at.0, at.1]) {
                column.push(value);
            }
        }
        Cells { columns, macros: (0..CELLS).map(|i| i == 7).collect() }
    }

    fn rectangles(&self) -> Rectangles<'_> {
        let [width, height, x, y] = &self.columns;
        let cells = Rectangles::movable(width, height, x, y);
        cells.fixed(&FIXED).row_height(6.0).macros(&self.macros[..])
    }

    fn charge(&self, options: &ChargeOptions) -> Charge {
        Charge::from_rectangles(grid(), &self.rectangles(), options).unwrap()
    }
}

const FIXED: [Rect; 2] = [
    Rect { xl: 0.0, yl: 20.0, xh: 33.0, yh: 100.0 },
    Rect { xl: 20.0, yl: 60.0, xh: 70.0, yh: 90.0 },
];

fn options() -> ChargeOptions {
    ChargeOptions::default().target_density(0.8).fillers(true)
}

/// Sizes of all bodies, every third cell wider by half and all of them taller.
fn inflated(charge: &Charge) -> [Vec<f64>; 2] {
    let factor = |i: usize| if i.is_multiple_of(3) && i < CELLS { 1.5 } else { 1.0 };
    let width = charge.width().iter().enumerate().map(|(i, w)| w * factor(i)).collect();
    let height = charge.height().iter().map(|h| h + 0.25).collect();
    [width, height]
}

struct Found<T> {
    evaluation: Evaluation,
    exact: f64,
    rho: Vec<T>,
    force: [Vec<T>; 2],
}

fn evaluate<T: Real>(engine: &mut CpuEngine<T>) -> Found<T> {
    let (x, y) = engine.charge().initial_positions::<T>();
    let evaluation = engine.evaluate(&x, &y).unwrap();
    let mut map = Map::filled(BINS[0], BINS[1], T::zero());
    engine.read_map(MapKind::Density, &mut map).unwrap();
    let (fx, fy) = engine.force().unwrap();
    let force = [fx.to_vec(), fy.to_vec()];
    let exact = engine.exact_density().unwrap().overflow;
    Found { evaluation, exact, rho: map.as_slice().to_vec(), force }
}

fn engine<T: Real>(charge: &Charge) -> CpuEngine<T> {
    CpuEngine::new(charge.clone(), &EngineOptions::default().threads(2)).unwrap()
}

/// That an engine which has worked for `before` finds for `after` what one made for it does.
fn goes_on<T: Real>(before: &Charge, after: &Charge) -> Found<T> {
    let mut fresh = engine::<T>(after);
    let want = evaluate(&mut fresh);
    let mut going = engine::<T>(before);
    evaluate(&mut going);
    going.set_charge(after.clone().into()).unwrap();
    let stale = going.compute_density().unwrap_err();
    assert!(matches!(stale, EngineError::OutOfOrder { .. }), "{stale}");
    let found = evaluate(&mut going);
    assert_eq!(found.evaluation, want.evaluation);
    assert!(found.exact == want.exact && found.rho == want.rho && found.force == want.force);
    assert_ne!(found.force[0], found.force[1]);
    found
}

#[test]
fn changed_sizes_equal_a_charge_made_with_them() {
    let before = Cells::new().charge(&options());
    assert!(before.fillers() > 100 && before.macros() == [7]);
    let mut after = before.clone();
    let [width, height] = inflated(&before);
    after.set_sizes(&width, &height).unwrap();
    // Made anew with those sizes; and its fillers.
    let mut cells = Cells::new();
    cells.columns[0].copy_from_slice(&width[..CELLS]);
    cells.columns[1].copy_from_slice(&height[..CELLS]);
    let mut anew = cells.charge(&options().fillers(false));
    let (x, y) = (&before.initial_x()[CELLS..], &before.initial_y()[CELLS..]);
    anew.add_fillers(width[CELLS], height[CELLS], x, y).unwrap();
    assert_eq!((after.movable_area(), after.ratio()), (anew.movable_area(), anew.ratio()));
    assert_eq!(after.background(), anew.background());
    let (found, want) = (goes_on::<f64>(&before, &after), evaluate(&mut engine::<f64>(&anew)));
    assert!(found.rho == want.rho && found.force == want.force && found.exact == want.exact);
    goes_on::<f32>(&before, &after);
    // Width and height are not one another.
    let mut turned = before.clone();
    turned.set_sizes(&height, &width).unwrap();
    assert_ne!(evaluate(&mut engine::<f64>(&turned)).rho, found.rho);
    // As many fillers as that leaves room for.
    let filled = cells.charge(&options());
    after.refill().unwrap();
    assert!(after.fillers() < before.fillers());
    assert_eq!((after.fillers(), after.target_density()), (filled.fillers(), 0.8));
    assert_eq!((after.initial_x(), after.width()), (filled.initial_x(), filled.width()));
    goes_on::<f64>(&before, &after);
}

#[test]
fn fixed_cells_only_take_fixed_area() {
    let cells = Cells::new();
    let before = cells.charge(&options());
    let stays: Vec<bool> = (0..CELLS).map(|i| i == 7 || i % 50 == 3).collect();
    let [_, _, x, y] = &cells.columns;
    // Where they stay is not where they start.
    let at = [x, y].map(|v| v.iter().map(|v| v + 3.0).collect::<Vec<f64>>());
    let mut after = before.clone();
    after.set_fixed_cells(&stays, &at[0], &at[1]).unwrap();
    assert_eq!(after.bodies(), before.bodies());
    assert!(after.is_fixed(7) && !after.is_fixed(8) && after.macros().is_empty());
    // The same without them, and with as much that is fixed.
    let kept: Vec<usize> = (0..CELLS).filter(|&i| !stays[i]).collect();
    let some = |column: &[f64]| kept.iter().map(|&i| column[i]).collect::<Vec<f64>>();
    let columns = [0, 1, 2, 3].map(|k| some(&cells.columns[k]));
    let fixed: Vec<Rect> = FIXED
        .into_iter()
        .chain(
            (0..CELLS)
                .filter(|&i| stays[i])
                .map(|i| Rect::at(at[0][i], at[1][i], cells.columns[0][i], cells.columns[1][i])),
        )
        .collect();
    let rectangles = Rectangles::movable(&columns[0], &columns[1], &columns[2], &columns[3]);
    let none = vec![false; kept.len()];
    let rectangles = rectangles.fixed(&fixed).row_height(6.0).macros(&none[..]);
    let mut without =
        Charge::from_rectangles(grid(), &rectangles, &options().fillers(false)).unwrap();
    let fillers = CELLS..before.bodies();
    let (fx, fy) = (&before.initial_x()[fillers.clone()], &before.initial_y()[fillers]);
    without.add_fillers(before.width()[CELLS], before.height()[CELLS], fx, fy).unwrap();
    assert!((after.movable_area() - without.movable_area()).abs() < 1e-9);
    assert_eq!((after.fixed_area(), after.fixed()), (without.fixed_area(), without.fixed()));

    let (found, want) = (goes_on::<f64>(&before, &after), evaluate(&mut engine::<f64>(&without)));
    assert!(relative_rms(&found.rho, &want.rho) < 1e-13);
    let near = |got: f64, want: f64| (got - want).abs() <= 1e-11 * want.abs();
    assert!(near(found.evaluation.density.overflow, want.evaluation.density.overflow));
    assert!(near(found.exact, want.exact) && near(found.evaluation.energy, want.evaluation.energy));
    for (found, want) in found.force.iter().zip(&want.force) {
        let moving = |i: &usize| *i >= CELLS || !stays[*i];
        let others: Vec<f64> = (0..found.len()).filter(moving).map(|i| found[i]).collect();
        assert!(relative_rms(&others, want) < 1e-12);
        assert!((0..CELLS).filter(|&i| stays[i]).all(|i| found[i] == 0.0));
    }
    // Wherever they are said to be.
    let mut going = engine::<f64>(&after);
    let (mut x, y) = after.initial_positions::<f64>();
    (0..CELLS).filter(|&i| stays[i]).for_each(|i| x[i] = -5000.0 + i as f64);
    assert_eq!(going.evaluate(&x, &y).unwrap(), found.evaluation);
    assert_eq!(after.clipped_area(&x, &y).wholly, 0);
    // And they move again.
    after.set_fixed_cells(&vec![false; CELLS], &at[0], &at[1]).unwrap();
    assert_eq!((after.ratio(), after.fixed()), (before.ratio(), before.fixed()));
    assert_eq!((after.macros(), after.fixed_area()), (before.macros(), before.fixed_area()));
}

#[test]
fn blocked_area_is_fixed_area() {
    let before = Cells::new().charge(&options());
    let grid = before.grid();
    // Whole bins and a half of one, some of them under fixed cells.
    let full = [(3, 30), (4, 30), (23, 0), (5, 5)];
    let mut taken = Map::filled(BINS[0], BINS[1], 0.0);
    full.iter().for_each(|&bin| taken[bin] = 3.0 * grid.bin_area());
    taken[(10, 20)] = 0.5 * grid.bin_area();
    let mut after = before.clone();
    after.set_blocked_area(Some(taken)).unwrap();
    for i in 0..BINS[0] {
        for j in 0..BINS[1] {
            let most = 0.8 * grid.bin_area();
            let want = match (i, j) {
                bin if full.contains(&bin) => most,
                (10, 20) => (before.fixed()[(i, j)] + 0.5 * most).min(most),
                bin => before.fixed()[bin],
            };
            assert!((after.fixed()[(i, j)] - want).abs() < 1e-9, "{i}, {j}");
        }
    }
    let found = goes_on::<f64>(&before, &after);
    assert!(found.rho.iter().sum::<f64>() > evaluate(&mut engine::<f64>(&before)).rho.iter().sum());
    // Fillers make room for it: a bin's area at 0.8 each, in fillers of one size.
    let area = before.filler_area();
    after.refill().unwrap();
    let free = |charge: &Charge| {
        let fixed: f64 = charge.fixed().as_slice().iter().sum();
        charge.grid().die().area() - fixed / 0.8
    };
    let want = area - 0.8 * (free(&before) - free(&after));
    let filler = before.width()[CELLS] * before.height()[CELLS];
    assert!((after.filler_area() - want).abs() <= filler, "{} {want}", after.filler_area());
    after.set_blocked_area(None).unwrap();
    assert_eq!(after.fixed(), before.fixed());
}

#[test]
fn bins_have_target_densities_of_their_own() {
    let before = Cells::new().charge(&options().fillers(false));
    let value = |i: usize, j: usize| if i < 12 { 0.3 } else { 0.9 - j as f64 / 100.0 };
    let values = (0..BINS[0]).flat_map(|i| (0..BINS[1]).map(move |j| value(i, j)));
    let targets = Map::from_vec(BINS[0], BINS[1], values.collect());
    let mut after = before.clone();
    after.set_target_densities(Some(targets.clone())).unwrap();
    let mean = targets.as_slice().iter().sum::<f64>() / targets.as_slice().len() as f64;
    assert_eq!((after.target_density(), after.ratio()[7]), (mean, mean));
    let bin_area = after.grid().bin_area();
    let fixed = before.fixed().as_slice().iter().zip(after.fixed().as_slice());
    for ((old, new), target) in fixed.zip(targets.as_slice()) {
        assert!((new - old / 0.8 * target).abs() < 1e-9);
    }
    let found = goes_on::<f64>(&before, &after);
    let over =
        found.rho.iter().zip(targets.as_slice()).map(|(rho, target)| (rho - target).max(0.0));
    let want = over.sum::<f64>() * bin_area / after.movable_area();
    assert!((found.evaluation.density.overflow - want).abs() < 1e-12 * want, "{want}");
    goes_on::<f32>(&before, &after);
    // One value everywhere is that value.
    let mut uniform = before.clone();
    uniform.set_target_densities(Some(Map::filled(BINS[0], BINS[1], 0.8))).unwrap();
    let (found, want) = (goes_on::<f64>(&before, &uniform), evaluate(&mut engine::<f64>(&before)));
    let near = (found.evaluation.density.overflow / want.evaluation.density.overflow - 1.0).abs();
    assert!(near < 1e-12 && relative_rms(&found.rho, &want.rho) < 1e-13);
    after.set_target_densities(None).unwrap();
    assert_eq!((after.target_density(), after.fixed()), (0.8, before.fixed()));
    // Fillers leave as much free as each bin is to have.
    let mut filled = Cells::new().charge(&options());
    filled.set_target_densities(Some(targets)).unwrap();
    filled.refill().unwrap();
    let least = 0.3; // of the left half
    assert!(filled.filler_area() > 0.0 && filled.warnings().is_empty());
    filled.set_target_densities(Some(Map::filled(BINS[0], BINS[1], least / 10.0))).unwrap();
    filled.refill().unwrap();
    assert_eq!((filled.fillers(), filled.warnings().len()), (0, 1));
}

#[test]
fn refused_changes_leave_charge_and_engine_alone() {
    let cells = Cells::new();
    let before = cells.charge(&options());
    let mut charge = before.clone();
    let [mut width, height] = inflated(&before);
    let error = charge.set_sizes(&width[1..], &height).unwrap_err();
    assert!(matches!(error, ChargeError::Length { what: "widths of bodies", .. }), "{error}");
    for (i, bad) in [(9, f64::NAN), (CELLS + 1, -1.0), (0, f64::INFINITY), (5, 1e308)] {
        let good = std::mem::replace(&mut width[i], bad);
        let error = charge.set_sizes(&width, &height).unwrap_err();
        assert!(matches!(error, ChargeError::BadNumber { index, .. } if index == i), "{error}");
        width[i] = good;
    }
    let [_, _, x, y] = &cells.columns;
    let stays = vec![true; CELLS];
    assert!(charge.set_fixed_cells(&stays[1..], x, y).is_err());
    assert!(charge.set_fixed_cells(&stays, x, &y[1..]).is_err());
    let mut bad = x.clone();
    bad[4] = f64::NAN;
    let error = charge.set_fixed_cells(&stays, &bad, y).unwrap_err();
    assert_eq!(error.to_string(), "x of fixed cell 4: NaN: expected a finite number");
    let turned = Map::filled(BINS[1], BINS[0], 0.5);
    assert!(charge.set_blocked_area(Some(turned.clone())).is_err());
    assert!(charge.set_target_densities(Some(turned)).is_err());
    for value in [f64::NAN, -0.1, f64::INFINITY] {
        let mut map = Map::filled(BINS[0], BINS[1], 0.5);
        map[(1, 2)] = value;
        let error = charge.set_blocked_area(Some(map.clone())).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("blocked area of bin 42: {value}: expected a finite number, not negative")
        );
        assert!(charge.set_target_densities(Some(map)).is_err());
    }
    for value in [0.0, 1.0001] {
        let map = Map::filled(BINS[0], BINS[1], value);
        let error = charge.set_target_densities(Some(map)).unwrap_err();
        assert!(matches!(error, ChargeError::BadBin { index: 0, .. }), "{error}");
    }
    assert_eq!((charge.width(), charge.ratio()), (before.width(), before.ratio()));
    assert_eq!((charge.fixed(), charge.initial_x()), (before.fixed(), before.initial_x()));

    let mut engine = engine::<f32>(&before);
    let want = evaluate(&mut engine).evaluation;
    let other = BinGrid::new(grid().die(), BINS[1], BINS[0]).unwrap();
    let other = Charge::from_rectangles(other, &cells.rectangles(), &options()).unwrap();
    let error = engine.set_charge(other.into()).unwrap_err();
    assert!(matches!(error, EngineError::OtherGrid { .. }), "{error}");
    let mut wide = before.clone();
    width[0] = 1e39;
    wide.set_sizes(&width, &height).unwrap();
    let error = engine.set_charge(wide.into()).unwrap_err();
    assert!(matches!(error, EngineError::OutOfRange { .. }), "{error}");
    engine.compute_density().unwrap();
    assert_eq!(evaluate(&mut engine).evaluation, want);
}
