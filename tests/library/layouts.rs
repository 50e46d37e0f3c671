//! Positions and gradients in one array of two values per body, on the CPU.

use crate::common::bodies::mixed;
use crate::common::pairs;
use placefield::Real;
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineError, EngineOptions, GradientOptions, Layout, MapKind};
use placefield::grid::Map;

fn engine<T: Real>() -> CpuEngine<T> {
    CpuEngine::new(mixed(24, 40, 300, 0.9), &EngineOptions::default().threads(2)).unwrap()
}

/// x and y of every body as both layouts have them.
fn laid_out<T: Real>(layout: Layout, x: &[T], y: &[T]) -> Vec<T> {
    match layout {
        Layout::Halves => [x, y].concat(),
        Layout::Pairs => pairs(x, y),
    }
}

fn step<T: Real>(engine: &mut CpuEngine<T>) {
    engine.compute_density().unwrap();
    engine.solve(engine.choice().pipeline).unwrap();
    engine.compute_force().unwrap();
}

fn is_the_same<T: Real>() {
    let mut apart = engine::<T>();
    let (x, y) = apart.charge().initial_positions::<T>();
    let bodies = x.len();
    apart.evaluate(&x, &y).unwrap();
    let (mut fx, mut fy) = (vec![T::zero(); bodies], vec![T::zero(); bodies]);
    apart.read_force(&mut fx, &mut fy).unwrap();
    assert!(fx.iter().zip(&fy).any(|(x, y)| x != y), "x and y can be told apart");
    let mut want = Map::filled(24, 40, T::zero());
    apart.read_map(MapKind::Density, &mut want).unwrap();
    for layout in [Layout::Halves, Layout::Pairs] {
        let mut engine = engine::<T>();
        engine.set_positions_in(layout, &laid_out(layout, &x, &y)).unwrap();
        step(&mut engine);
        let mut map = Map::filled(24, 40, T::zero());
        engine.read_map(MapKind::Density, &mut map).unwrap();
        assert_eq!(map.as_slice(), want.as_slice(), "{layout:?}");
        let options = GradientOptions::default().layout(layout);
        let forces = laid_out(layout, &fx, &fy);
        let mut gradient = vec![T::nan(); 2 * bodies];
        engine.write_gradient(&mut gradient, &options).unwrap();
        assert!(gradient.iter().zip(&forces).all(|(g, f)| *g == -*f), "{layout:?}");
        let third = T::cast(1.0 / 3.0);
        let before: Vec<T> = (0..2 * bodies).map(|k| T::cast(k as f64)).collect();
        gradient.clone_from(&before);
        let options = options.weight(1.0 / 3.0).accumulate(true);
        engine.write_gradient(&mut gradient, &options).unwrap();
        let sums = before.iter().zip(&forces).map(|(b, f)| *b + third * *f);
        assert!(gradient.iter().copied().eq(sums), "{layout:?}");
    }
}

#[test]
fn one_array_gives_the_bits_of_two_in_f32() {
    is_the_same::<f32>();
}

#[test]
fn one_array_gives_the_bits_of_two_in_f64() {
    is_the_same::<f64>();
}

/// The documented weight makes the gradient the derivative of the energy.
#[test]
fn weighted_gradients_are_energy_derivatives() {
    // The macro of index 5 covers so many bins that what the field varies within one matters
    // little, along either axis; it lies within the die.
    let charge = mixed(48, 64, 300, 0.9);
    let mut engine = CpuEngine::<f64>::new(charge, &EngineOptions::default()).unwrap();
    let (x, y) = engine.charge().initial_positions::<f64>();
    let (grid, bodies) = (engine.charge().grid(), x.len());
    let weight = -2.0 / (grid.bin_area() * grid.bin_x());
    let mut positions = pairs(&x, &y);
    let energy = |engine: &mut CpuEngine<f64>, positions: &[f64]| {
        engine.set_positions_in(Layout::Pairs, positions).unwrap();
        engine.compute_density().unwrap();
        engine.solve(engine.choice().pipeline).unwrap()
    };
    energy(&mut engine, &positions);
    engine.compute_force().unwrap();
    let mut gradient = vec![0.0; 2 * bodies];
    let options = GradientOptions::default().layout(Layout::Pairs).weight(weight);
    engine.write_gradient(&mut gradient, &options).unwrap();
    assert!((gradient[10] - gradient[11]).abs() > 0.5 * gradient[10].abs(), "x and y differ");
    for k in [10, 11] {
        let (at, step) = (positions[k], 1.0);
        let mut moved = |to: f64| {
            positions[k] = to;
            energy(&mut engine, &positions)
        };
        let slope = (moved(at + step) - moved(at - step)) / (2.0 * step);
        moved(at);
        let error = (slope - gradient[k]).abs() / slope.abs();
        assert!(error < 0.1, "{k}: {slope}, gradient {}", gradient[k]);
    }
}

#[test]
fn bad_arrays_leave_the_engine_usable() {
    let mut engine = engine::<f32>();
    let (x, y) = engine.charge().initial_positions::<f32>();
    let bodies = x.len();
    let mut positions = pairs(&x, &y);
    let error = engine.set_positions_in(Layout::Pairs, &positions[1..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("positions: {} values, expected {}", 2 * bodies - 1, 2 * bodies)
    );
    positions[7] = f32::INFINITY;
    let error = engine.set_positions_in(Layout::Pairs, &positions).unwrap_err();
    assert_eq!(error.to_string(), "y of body 3: inf: expected a finite number");
    let error = engine.set_positions_in(Layout::Halves, &positions).unwrap_err();
    assert_eq!(error.to_string(), "x of body 7: inf: expected a finite number");
    let mut halves = [x.as_slice(), &y].concat();
    halves[bodies + 2] = f32::NAN;
    let error = engine.set_positions_in(Layout::Halves, &halves).unwrap_err();
    assert_eq!(error.to_string(), "y of body 2: NaN: expected a finite number");

    let mut gradient = vec![0.0; 2 * bodies];
    let options = GradientOptions::default();
    assert!(engine.write_gradient(&mut gradient, &options).is_err(), "no forces yet");
    engine.evaluate(&x, &y).unwrap();
    let error = engine.write_gradient(&mut gradient[1..], &options).unwrap_err();
    assert!(matches!(error, EngineError::Length { what: "gradient", .. }), "{error}");
    for weight in [f64::NAN, f64::INFINITY, 1e39] {
        let error = engine.write_gradient(&mut gradient, &options.weight(weight)).unwrap_err();
        assert!(matches!(error, EngineError::Weight(_)), "{error}");
    }
    assert!(gradient.iter().all(|&g| g == 0.0), "nothing was written");
    engine.write_gradient(&mut gradient, &options).unwrap();
}
