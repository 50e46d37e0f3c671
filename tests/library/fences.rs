//! Several density systems over one grid: fence regions.

use crate::common::fences::{
    BINS, CELLS, Cells, REGIONS, fences, find, goes_on_with_other_regions, grid, options,
    the_die_is_no_fence, together_is_alone,
};
use placefield::Real;
use placefield::charge::{Charge, ChargeError, ChargeOptions, Rectangles};
use placefield::cpu::energy_gradient::energy_gradient;
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineOptions, Evaluation, GradientOptions, Pipeline};
use placefield::grid::{BinGrid, Map, Rect};

fn open<T: Real>(charge: Charge, threads: usize) -> Box<dyn Engine<T>> {
    Box::new(CpuEngine::new(charge, &EngineOptions::default().threads(threads)).unwrap())
}

#[test]
fn regions_together_are_regions_alone() {
    for fillers in [false, true] {
        together_is_alone::<f64>(fillers, |charge| open(charge, 2));
        together_is_alone::<f32>(fillers, |charge| open(charge, 2));
    }
}

#[test]
fn a_fence_around_the_die_changes_no_bit() {
    the_die_is_no_fence::<f64>(|charge| open(charge, 2));
    the_die_is_no_fence::<f32>(|charge| open(charge, 2));
}

/// More threads than regions, fewer, and one; every pipeline.
#[test]
fn bits_are_the_same_for_any_number_of_threads() {
    let charge = Cells::new().together(&options().fillers(true));
    for pipeline in Pipeline::ALL {
        let run = |threads| {
            let options = EngineOptions::default().threads(threads).pipeline(pipeline);
            find(&mut CpuEngine::<f32>::new(charge.clone(), &options).unwrap())
        };
        let want = run(1);
        for threads in [2, 3, 7] {
            let got = run(threads);
            assert_eq!((got.evaluation, &got.regions), (want.evaluation, &want.regions));
            assert!(got.exact == want.exact && got.maps == want.maps && got.force == want.force);
        }
    }
}

/// 4 × 2 bins of 10 × 20; a fence over the two columns on the left, one bin high.
#[test]
fn area_outside_a_fence_is_full() {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 40.0, 40.0), 4, 2).unwrap();
    let at = [1.0, 30.0];
    let cells = Rectangles::movable(&[2.0; 2], &[4.0; 2], &at, &at);
    let mut charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    charge.set_fences(&[vec![Rect::at(0.0, 0.0, 15.0, 20.0)]], &[0, 1]).unwrap();
    assert_eq!((charge.regions(), charge.region(0), charge.region(1)), (2, 0, 1));
    // Column by column, from the bottom up.
    let fenced = [0.0, 200.0, 100.0, 200.0, 200.0, 200.0, 200.0, 200.0];
    assert_eq!(charge.region_fixed(0).as_slice(), fenced);
    let rest = fenced.map(|area| 200.0 - area);
    assert_eq!(charge.region_fixed(1).as_slice(), rest);
    assert_eq!((charge.region_movable_area(0), charge.region_movable_area(1)), (8.0, 8.0));
    // Both cells in the fence again, of which the rest of the die is then no region.
    charge.set_fences(&[vec![Rect::at(0.0, 0.0, 15.0, 20.0)]], &[0, 0]).unwrap();
    assert_eq!((charge.regions(), charge.region_movable_area(0)), (1, 16.0));
    assert_eq!(charge.fixed().as_slice(), fenced);
    charge.set_fences(&[], &[0, 0]).unwrap();
    assert_eq!(charge.fixed().as_slice(), [0.0; 8]);
}

#[test]
fn fillers_fill_their_own_region() {
    let charge = Cells::new().together(&options().fillers(true));
    let die = grid().die();
    let within = |rect: &Rect, of: &Rect| {
        let slack = 1e-9;
        rect.xl >= of.xl - slack
            && rect.xh <= of.xh + slack
            && rect.yl >= of.yl - slack
            && rect.yh <= of.yh + slack
    };
    let mut areas = [0.0; REGIONS];
    for i in CELLS..charge.bodies() {
        let at = (charge.initial_x()[i], charge.initial_y()[i]);
        let body = Rect::at(at.0, at.1, charge.width()[i], charge.height()[i]);
        let region = charge.region(i);
        areas[region] += body.area();
        let own = fences().get(region).cloned();
        match own {
            // The L's two rectangles, or a third where they meet.
            Some(rects) if region == 0 => {
                let inside: f64 = rects.iter().map(|rect| rect.overlap(&body)).sum();
                assert!(inside >= body.area() - 1e-9, "filler {i}");
            }
            Some(rects) => assert!(within(&body, &rects[0]) && within(&body, &die), "filler {i}"),
            None => {
                let mut rects = fences().concat().into_iter();
                assert!(rects.all(|rect| rect.overlap(&body) < 1e-9), "filler {i}");
            }
        }
    }
    // Region 1: 85 × 230 less a fixed cell of 20 × 30 and a macro, at the target density, less
    // cells.
    let macro_area = 50.0 * 30.0;
    let cells = charge.region_movable_area(1) - macro_area;
    let want = 0.8 * (85.0 * 230.0 - 600.0 - macro_area) - cells;
    assert!((areas[1] - want).abs() < 50.0, "{} {want}", areas[1]);
}

#[test]
fn an_engine_goes_on_with_other_regions() {
    goes_on_with_other_regions::<f64>(|charge| open(charge, 2));
}

/// A region's area off the die is overflow in that region alone.
#[test]
fn area_off_the_die_counts_in_its_region() {
    let charge = Cells::new().together(&options());
    let mut engine = open(charge.clone(), 2);
    let (mut x, y) = charge.initial_positions::<f64>();
    let mut before = vec![Evaluation::default(); charge.regions()];
    let all_before = engine.evaluate(&x, &y).unwrap();
    engine.read_regions(&mut before).unwrap();
    let moved: Vec<usize> = (0..charge.movable()).filter(|&i| charge.region(i) == 1).collect();
    moved.iter().for_each(|&i| x[i] = -1e4);
    let all = engine.evaluate(&x, &y).unwrap();
    let mut found = vec![Evaluation::default(); charge.regions()];
    engine.read_regions(&mut found).unwrap();
    let area = charge.region_movable_area(1);
    for (region, (found, before)) in found.iter().zip(&before).enumerate() {
        match region {
            1 => {
                assert_eq!(found.area_off_die, area);
                assert!((found.density.overflow - 1.0).abs() < 1e-9, "{found:?}");
            }
            _ => assert_eq!(found, before, "{region}"),
        }
    }
    let added = area - before[1].area_off_die;
    assert!(added > 0.0);
    assert!((all.area_off_die - all_before.area_off_die - added).abs() < 1e-9 * area);
}

/// Against central differences of the energy in sum.
#[test]
fn gradients_over_all_regions_match_differences() {
    let charge = Cells::new().together(&options());
    let mut engine =
        CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default().threads(2)).unwrap();
    let (x, y) = charge.initial_positions::<f64>();
    engine.evaluate(&x, &y).unwrap();
    let (mut gx, mut gy) = (vec![0.0; CELLS], vec![0.0; CELLS]);
    let potential = engine.fields().unwrap().potential.clone();
    energy_gradient(&charge, &potential, [&x, &y], [&mut gx, &mut gy]).unwrap();
    let step = 1e-5;
    for body in [0, 1, 2, 3, 9, 12] {
        for axis in 0..2 {
            let mut energy = |by: f64| {
                let mut moved = [x.clone(), y.clone()];
                moved[axis][body] += by;
                engine.evaluate(&moved[0], &moved[1]).unwrap().energy
            };
            let want = (energy(step) - energy(-step)) / (2.0 * step);
            let got = [&gx, &gy][axis][body];
            assert!((got - want).abs() < 1e-4 * (1.0 + want.abs()), "{body} {axis}: {got} {want}");
        }
    }
}

#[test]
fn invalid_fences_are_refused() {
    let mut charge = Cells::new().unfenced(&options());
    let before = (charge.bodies(), charge.fixed().clone());
    let region = vec![0; CELLS];
    let mut refuse = |fences: &[Vec<Rect>], region: &[u32]| {
        let error = charge.set_fences(fences, region).unwrap_err();
        assert_eq!((charge.bodies(), charge.fixed()), (before.0, &before.1));
        assert_eq!(charge.regions(), 1);
        (error.to_string(), error)
    };
    let whole = || vec![Rect::at(-31.0, 12.0, 240.0, 280.0)];
    let left = || vec![Rect::at(-31.0, 12.0, 100.0, 280.0)];
    let (text, _) = refuse(&[whole()], &region[1..]);
    assert_eq!(text, "regions of movable cells: 399 values, expected 400");
    let mut beyond = region.clone();
    beyond[5] = 2;
    let (text, _) = refuse(&[whole()], &beyond);
    assert_eq!(text, "movable cell 5: region 2: expected a number below 2");
    let (text, _) = refuse(&[whole(), Vec::new()], &region);
    assert_eq!(text, "fence 1: no rectangles");
    let off = vec![left()[0], Rect::at(300.0, 20.0, 5.0, 5.0)];
    let (text, _) = refuse(&[off], &region);
    assert_eq!(text, "fence 0, rectangle 1: [300, 305] x [20, 25] lies outside the die");
    for bad in [Rect::at(0.0, 20.0, 0.0, 5.0), Rect::at(f64::NAN, 20.0, 5.0, 5.0)] {
        let (text, error) = refuse(&[vec![bad]], &region);
        assert!(text.ends_with("has no area"), "{text}");
        assert!(matches!(error, ChargeError::BadFence { fence: 0, index: 0, off_die: false, .. }));
    }
    let right = vec![Rect::at(68.0, 12.0, 10.0, 280.0)];
    let (_, error) = refuse(&[right, vec![Rect::at(100.0, 12.0, 9.0, 9.0)], left()], &region);
    assert_eq!(error, ChargeError::FencesOverlap { first: 0, second: 2 });
    let (text, error) = refuse(&[vec![Rect::at(100.0, 200.0, 10.0, 20.0)]], &region);
    assert!(matches!(error, ChargeError::DoesNotFit { region: 0, free: 200.0, .. }), "{text}");
    let fences: Vec<_> =
        (0..300).map(|i| vec![Rect::at(-31.0 + 0.5 * f64::from(i), 12.0, 0.5, 280.0)]).collect();
    let grid = BinGrid::new(grid().die(), 1024, 1024).unwrap();
    let cells = Rectangles::movable(&[0.1], &[0.1], &[0.0], &[20.0]);
    let mut fine = Charge::from_rectangles(grid, &cells, &options()).unwrap();
    let error = fine.set_fences(&fences, &[0]).unwrap_err();
    assert_eq!(error, ChargeError::TooManyRegions { regions: 300, bins: 1 << 20 });
}

#[test]
fn bad_region_counts_and_weights_are_refused() {
    let charge = Cells::new().together(&options());
    let mut engine = open::<f64>(charge.clone(), 1);
    let (x, y) = charge.initial_positions::<f64>();
    engine.evaluate(&x, &y).unwrap();
    let error = engine.read_regions(&mut [Evaluation::default(); 3]).unwrap_err();
    assert_eq!(error.to_string(), "evaluations of regions: 3 values, expected 4");
    let mut map = Map::filled(BINS[0], BINS[1], 0.0);
    let error = engine.read_map(placefield::engine::MapKind::Density, &mut map).unwrap_err();
    assert_eq!(error.to_string(), "bins of the map along x: 24 values, expected 96");
    let mut gradient = vec![0.0; 2 * CELLS];
    for (weights, text) in [
        (&[1.0, 2.0][..], "weights of regions: 2 values, expected 4"),
        (&[1.0, 2.0, f64::NAN, 1.0], "weight of the gradient: NaN: expected a finite number"),
    ] {
        let options = GradientOptions::default().region_weights(weights);
        assert_eq!(engine.write_gradient(&mut gradient, &options).unwrap_err().to_string(), text);
    }
    let mut other = charge.clone();
    let error = other.add_fillers_in(4, 1.0, 1.0, &[0.0], &[0.0]).unwrap_err();
    assert!(matches!(error, ChargeError::NoSuchRegion { region: 4, regions: 4, .. }), "{error}");
    // Cells inflated beyond the room there is.
    let width: Vec<f64> = charge.width().iter().map(|w| 5.0 * w).collect();
    let error = other.set_sizes(&width, charge.height()).unwrap_err();
    assert!(matches!(error, ChargeError::DoesNotFit { .. }), "{error}");
    assert_eq!(other.width(), charge.width());
}
