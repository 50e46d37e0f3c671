//! Fields in `f32` where the density is flat: what is left of φ is small beside
//! ρ, and with it beside what rounding does to ρ.

use crate::common::bodies::flat;
use crate::common::{relative_rms, rounded, wide};
use placefield::Real;
use placefield::charge::Charge;
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineOptions, MapKind, Pipeline};
use placefield::grid::Map;

/// ρ, φ, Ex and Ey by a pipeline.
fn maps<T: Real>(charge: &Charge, pipeline: Pipeline) -> [Vec<f64>; 4] {
    let options = EngineOptions::default().pipeline(pipeline);
    let (x, y) = (rounded::<T>(charge.initial_x()), rounded::<T>(charge.initial_y()));
    let mut engine = CpuEngine::<T>::new(charge.clone(), &options).unwrap();
    engine.evaluate(&x, &y).unwrap();
    MapKind::ALL.map(|kind| {
        let mut map = Map::filled(charge.grid().nx(), charge.grid().ny(), T::nan());
        engine.read_map(kind, &mut map).unwrap();
        wide(map.as_slice())
    })
}

#[test]
fn single_precision_is_near_double() {
    for n in [32, 64, 96] {
        let charge = flat(n);
        let want = maps::<f64>(&charge, Pipeline::Fused);
        for pipeline in Pipeline::ALL {
            let got = maps::<f32>(&charge, pipeline);
            let errors: [f64; 4] = std::array::from_fn(|k| relative_rms(&got[k], &want[k]));
            // With its mean in it, ρ's rounding and the transforms' of it took E up to
            // 1e-5 away; sizes and overlaps in f32 took φ 3e-4 and E 3e-5 away.
            let at_most = [4e-8, 3e-5, 2e-6, 2e-6];
            let near = errors.iter().zip(at_most).all(|(error, most)| *error <= most);
            assert!(near, "{n} x {n}, {pipeline}: rho, phi, Ex and Ey are off by {errors:?}");
        }
    }
}
