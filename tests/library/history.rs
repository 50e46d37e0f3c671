//! Results of an engine depend on the positions it is given, not on those before.

use placefield::Real;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineOptions, MapKind};
use placefield::grid::{BinGrid, Map, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Cells of half a bin to six, on a grid of several tiles of an order by bin.
fn charge() -> Charge {
    let grid = BinGrid::new(Rect::at(-50.0, 20.0, 256.0, 384.0), 256, 192).unwrap();
    let (die, mut random) = (grid.die(), Pcg64Mcg::seed_from_u64(1));
    let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    let mut columns = [const { Vec::new() }; 4];
    for _ in 0..5000 {
        let (w, h) = (draw(0.5, 6.0), draw(1.0, 12.0));
        let cell =
            [w, h, draw(die.xl - 3.0, die.xh - w + 3.0), draw(die.yl - 3.0, die.yh - h + 3.0)];
        columns.iter_mut().zip(cell).for_each(|(column, value)| column.push(value));
    }
    let [w, h, x, y] = columns;
    let cells = Rectangles::movable(&w, &h, &x, &y);
    Charge::from_rectangles(grid, &cells, &ChargeOptions::default().fillers(true)).unwrap()
}

fn computes_the_same<T: Real + std::fmt::Debug>() {
    let charge = charge();
    let (x, y) = charge.initial_positions::<T>();
    let (mut moved_x, mut moved_y) = (x.clone(), y.clone());
    // Too few that a new order by bin would be made, and far from where they were.
    for i in (0..charge.movable()).step_by(170) {
        (moved_x[i], moved_y[i]) = (x[(i + 85) % 5000], y[(i + 2000) % 5000]);
    }
    let options = EngineOptions::default().threads(2);
    let mut old = CpuEngine::<T>::new(charge.clone(), &options).unwrap();
    let mut new = CpuEngine::<T>::new(charge.clone(), &options).unwrap();
    old.evaluate(&x, &y).unwrap();
    let [before, fresh] = [&mut old, &mut new].map(|engine| {
        let evaluation = engine.evaluate(&moved_x, &moved_y).unwrap();
        let [mut fx, mut fy] = [(); 2].map(|()| vec![T::zero(); charge.bodies()]);
        engine.read_force(&mut fx, &mut fy).unwrap();
        let mut rho = Map::filled(256, 192, T::zero());
        engine.read_map(MapKind::Density, &mut rho).unwrap();
        (evaluation, fx, fy, rho)
    });
    assert_eq!(before.0.energy, fresh.0.energy);
    assert!(before.3.as_slice() == fresh.3.as_slice(), "the densities differ");
    let differ = |a: &[T], b: &[T]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    assert_eq!([differ(&before.1, &fresh.1), differ(&before.2, &fresh.2)], [0, 0], "forces");
}

#[test]
fn earlier_evaluations_leave_no_trace() {
    computes_the_same::<f32>();
    computes_the_same::<f64>();
}
