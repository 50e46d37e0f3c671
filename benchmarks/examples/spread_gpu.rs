//! A spreading loop that never leaves the GPU: the engine computes forces, and a
//! kernel of the placer's own, compiled here at run time, moves the bodies along
//! them. The host only launches, and waits where it prints.
//!
//! `cargo run --release --example spread_gpu` (needs an NVIDIA GPU)

use cudarc::driver::{LaunchConfig, PushKernelArg};
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cuda::interop::{self, cudarc};
use placefield::cuda::{CudaEngine, Gpu};
use placefield::engine::{Engine, EngineOptions};
use placefield::grid::{BinGrid, Rect};
use std::error::Error;

/// Positions and forces are pairs: x and y of a body side by side. A body stays on
/// a die of 512 × 512 layout units.
const MOVE: &str = r#"
extern "C" __global__ void move_bodies(const float2* force, float2* corner, unsigned bodies,
                                       float step) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= bodies) return;
    float x = corner[i].x + step * force[i].x;
    float y = corner[i].y + step * force[i].y;
    corner[i] = make_float2(fminf(fmaxf(x, 0.0f), 508.0f), fminf(fmaxf(y, 0.0f), 508.0f));
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    // 8,000 cells of 4 × 4 on top of each other in one corner, no two at the same place,
    // and a fixed macro in the middle.
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 512.0, 512.0), 128, 128)?;
    let cells = 8000;
    let size = vec![4.0; cells];
    let x: Vec<f64> = (0..cells).map(|i| 20.0 + (i % 97) as f64 * 1.1).collect();
    let y: Vec<f64> = (0..cells).map(|i| 30.0 + (i / 97) as f64 * 1.3).collect();
    let fixed = [Rect::at(200.0, 200.0, 100.0, 60.0)];
    let rectangles = Rectangles::movable(&size, &size, &x, &y).fixed(&fixed);
    let charge = Charge::from_rectangles(grid, &rectangles, &ChargeOptions::default())?;

    let gpu = Gpu::open(0)?;
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default())?;
    let narrow = |values: &[f64]| values.iter().map(|&v| v as f32).collect::<Vec<f32>>();
    let first = engine.evaluate(&narrow(&x), &narrow(&y))?;
    println!("start: overflow {:.3}, energy {:.4e}", first.density.overflow, first.energy);

    // SAFETY: only this thread uses the device; what runs on the stream below uses
    // the engine's memory alone, which outlives it, and is waited for at the end.
    let (context, stream) = unsafe { (interop::context(&gpu), interop::stream(&gpu)) };
    let module = context.load_module(cudarc::nvrtc::compile_ptx(MOVE)?)?;
    let kernel = module.load_function("move_bodies")?;
    let (bodies, step) = (engine.charge().bodies() as u32, 0.02f32);
    for iteration in 1..=400 {
        let (forces, corners) = engine.force_and_positions_device(0)?;
        let (from, to) = (interop::address(forces), interop::address_mut(corners));
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&from).arg(&to).arg(&bodies).arg(&step);
        // SAFETY: the kernel's parameters in its order; both arrays hold a pair per body.
        unsafe { launch.launch(LaunchConfig::for_num_elems(bodies)) }?;
        // Density, solve and force at the new positions: one launch of a graph.
        engine.enqueue_step()?;
        if iteration % 100 == 0 {
            let now = engine.read_evaluation()?; // waits
            println!(
                "{iteration:5}: overflow {:.3}, energy {:.4e}",
                now.density.overflow, now.energy
            );
        }
    }
    Ok(())
}
