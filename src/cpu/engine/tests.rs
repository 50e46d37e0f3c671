use super::*;
use crate::charge::{ChargeOptions, Rectangles};
use crate::grid::{BinGrid, Rect};

fn engine() -> CpuEngine<f64> {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 8.0, 8.0), 8, 8).unwrap();
    let cells = Rectangles {
        width: &[1.0, 2.0],
        height: &[1.0, 1.0],
        x: &[1.0, 3.0],
        y: &[2.0, 5.0],
        ..Rectangles::default()
    };
    let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    CpuEngine::new(charge, &EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap()
}

#[test]
fn stages_out_of_order_are_errors() {
    let mut e = engine();
    let mut map = Map::filled(8, 8, 0.0);
    assert!(e.compute_density().is_err());
    e.set_positions(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
    assert!(e.solve(Pipeline::Fused).is_err());
    e.compute_density().unwrap();
    assert!(e.read_map(MapKind::Density, &mut map).is_ok());
    let error = e.read_map(MapKind::FieldX, &mut map).unwrap_err();
    assert_eq!(error.to_string(), "field_x was asked for before the field was solved");
    e.solve(Pipeline::Fused).unwrap();
    assert!(e.read_force(&mut [0.0; 2], &mut [0.0; 2]).is_err());
    // New positions make everything that followed from the old ones stale.
    e.compute_force().unwrap();
    e.set_positions(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
    assert!(e.read_force(&mut [0.0; 2], &mut [0.0; 2]).is_err());
}

#[test]
fn a_pipeline_left_open_is_three_pass() {
    assert_eq!(engine().choice(), &fastest());
    let pipeline = Some(Pipeline::RowColumn);
    let options = EngineOptions { pipeline, threads: 1, ..EngineOptions::default() };
    let asked = CpuEngine::<f64>::new(engine().charge, &options).unwrap();
    assert_eq!(asked.choice(), &Choice::asked_for(Pipeline::RowColumn));
    assert!(asked.solvers[Pipeline::ThreePass as usize].is_empty());
}

#[test]
fn too_many_threads_or_too_wide_cells_fail() {
    let charge = engine().charge;
    let threads = MAX_THREADS + 1;
    let options = EngineOptions { threads, ..EngineOptions::default() };
    let error = CpuEngine::<f64>::new(charge.clone(), &options).unwrap_err();
    assert_eq!(error.to_string(), "cannot start 1025 threads: expected at most 1024");
    let grid = charge.grid();
    let (width, height, x, y) = ([1.0, 1e39], [1.0; 2], [1.0, 3.0], [2.0, 5.0]);
    let cells = Rectangles::movable(&width, &height, &x, &y);
    let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    let error = CpuEngine::<f32>::new(charge, &EngineOptions::default()).unwrap_err();
    let want = "width of body 1: 1e39: expected a number within the range of f32";
    assert_eq!(error.to_string(), want);
}

#[test]
fn a_map_of_other_bins_is_refused() {
    let mut e = engine();
    e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
    for kind in MapKind::ALL {
        e.read_map(kind, &mut Map::filled(8, 8, 0.0)).unwrap();
        // As many bins, but not the same.
        let error = e.read_map(kind, &mut Map::filled(16, 4, 0.0)).unwrap_err();
        assert_eq!(error.to_string(), "bins of the map along x: 16 values, expected 8");
    }
}

#[test]
fn bad_positions_leave_the_engine_usable() {
    let mut e = engine();
    assert!(e.evaluate(&[1.0], &[2.0, 5.0]).is_err());
    let error = e.evaluate(&[1.0, 2.0], &[2.0, f64::NAN]).unwrap_err();
    assert_eq!(error.to_string(), "y of body 1: NaN: expected a finite number");
    assert!(e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).is_ok());
}

/// Cells wholly and partly off the die, a macro that counts its target density, and a cell that
/// only rounding moves beyond the die's edge: against areas by hand, and in f32.
#[test]
fn area_off_the_die_is_overflow() {
    let grid = BinGrid::new(Rect::at(-3.0, 2.0, 7.4, 16.0), 8, 8).unwrap();
    let (width, height) = ([1.0, 4.0, 3.0, 2.0], [1.5, 2.0, 5.0, 2.0]);
    let at = |x: [f64; 4], y: [f64; 4]| {
        let cells =
            Rectangles::movable(&width, &height, &x, &y).macros(&[false, false, true, false][..]);
        let options = ChargeOptions::default().target_density(0.8);
        let charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
        let mut wide = CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();
        let mut narrow = CpuEngine::<f32>::new(charge.clone(), &EngineOptions::default()).unwrap();
        let found = wide.evaluate(&x, &y).unwrap();
        let [x32, y32] = [x, y].map(|values| values.map(|v| v as f32));
        let single = narrow.evaluate(&x32, &y32).unwrap();
        assert!((single.area_off_die - found.area_off_die).abs() < 1e-5);
        assert_eq!(single.area_off_die == 0.0, found.area_off_die == 0.0);
        let mut of_region = [Evaluation::default()];
        wide.read_regions(&mut of_region).unwrap();
        assert_eq!(of_region, [found]);
        let exact = wide.exact_density().unwrap().overflow;
        (found.area_off_die, found.density.overflow, exact, charge)
    };
    // On the die up to its edges; f32 rounds 3.4 up.
    let inside = at([3.4, 0.0, 1.4, -3.0], [2.0, 16.0, 13.0, 2.0]);
    assert_eq!(inside.0, 0.0);
    // 1.5 of the first, three quarters of the second, 5 of the macro and none of the last.
    let [x, y] = [[-4.0, -6.0, 2.4, 0.0], [3.0, 5.0, 9.0, 5.0]];
    let (area, overflow, exact, charge) = at(x, y);
    assert!((area - (1.5 + 6.0 + 5.0)).abs() < 1e-12, "{area}");
    assert!((area - charge.clipped_area(&x, &y).area).abs() < 1e-12);
    let share = area / charge.movable_area();
    assert!(overflow >= share && exact >= share, "{overflow} {exact} {share}");
    // Everything is off the die, near and far.
    for far in [-20.0, -1e6] {
        let (area, overflow, exact, charge) = at([far; 4], y);
        for share in [area / charge.movable_area(), overflow, exact] {
            assert!((share - 1.0).abs() < 1e-12, "{share}");
        }
    }
}

fn is_out_of_order<R>(result: Result<R, EngineError>) -> bool {
    matches!(result, Err(EngineError::OutOfOrder { .. }))
}

/// Whether every result is out of order.
fn has_no_results(e: &mut CpuEngine<f64>) -> bool {
    let (mut map, mut one) = (Map::filled(8, 8, 0.0), [Evaluation::default()]);
    let options = GradientOptions::default();
    MapKind::ALL.into_iter().all(|kind| is_out_of_order(e.read_map(kind, &mut map)))
        && is_out_of_order(e.exact_density())
        && is_out_of_order(e.read_regions(&mut one))
        && is_out_of_order(e.read_force(&mut [0.0; 2], &mut [0.0; 2]))
        && is_out_of_order(e.write_gradient(&mut [0.0; 4], &options))
        && is_out_of_order(e.centered_density())
        && is_out_of_order(e.fields())
        && is_out_of_order(e.force())
}

#[test]
fn results_belong_to_the_positions_last_given() {
    let mut e = engine();
    assert!(has_no_results(&mut e), "before the first evaluation");
    let refused: [(&[f64], &[f64]); 3] =
        [(&[1.0], &[2.0, 5.0]), (&[1.0, f64::NAN], &[2.0, 5.0]), (&[1.0; 2], &[0.0; 3])];
    for (x, y) in refused {
        e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
        assert!(e.force().is_ok() && e.fields().is_ok() && e.centered_density().is_ok());
        assert!(e.evaluate(x, y).is_err());
        assert!(has_no_results(&mut e), "{x:?} {y:?}");
    }
    for positions in [&[1.0; 3][..], &[f64::INFINITY; 4]] {
        e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
        assert!(e.set_positions_in(Layout::Pairs, positions).is_err());
        assert!(has_no_results(&mut e), "{positions:?}");
    }
}
