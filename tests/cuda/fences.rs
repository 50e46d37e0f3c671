//! Fence regions, of which a device takes one so far.

use crate::common::fences::{Cells, find, options, the_die_is_no_fence};
use crate::device::gpu;
use placefield::cuda::CudaEngine;
use placefield::engine::{Engine, EngineError, EngineOptions};

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_fence_around_the_die_changes_no_bit() {
    let gpu = gpu();
    let options = EngineOptions::default();
    the_die_is_no_fence::<f64>(|charge| Box::new(CudaEngine::on(&gpu, charge, &options).unwrap()));
    the_die_is_no_fence::<f32>(|charge| Box::new(CudaEngine::on(&gpu, charge, &options).unwrap()));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn several_regions_are_refused() {
    let (gpu, cells) = (gpu(), Cells::new());
    let fenced = cells.together(&options());
    let mut engine =
        CudaEngine::<f32>::on(&gpu, cells.unfenced(&options()), &EngineOptions::default()).unwrap();
    let want = find(&mut engine).evaluation;
    let refused = engine.set_charge(fenced.clone().into()).unwrap_err();
    assert!(matches!(refused, EngineError::Regions(4)), "{refused}");
    assert_eq!(find(&mut engine).evaluation, want);
    let refused = CudaEngine::<f32>::on(&gpu, fenced, &EngineOptions::default()).err().unwrap();
    assert_eq!(refused.to_string(), "a charge of 4 fence regions: the CUDA engine takes one");
}
