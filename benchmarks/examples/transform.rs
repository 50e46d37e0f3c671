//! One transform: the DCT of a map, its long waves, and the way back.
//!
//! `cargo run --release --example transform`

use placefield::cpu::transforms::Plan;
use placefield::transform::Transform;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A plan is made once for a transform and a shape ([nx][ny], y contiguous); it owns what a
    // run works in.
    let (nx, ny) = (48, 100);
    let mut dct = Plan::<f64>::new(Transform::Dct, &[nx, ny])?;
    let mut idct = Plan::<f64>::new(Transform::Idct, &[nx, ny])?;

    // A long wave and a short one.
    let wave =
        |i: usize, k: f64, n: usize| (std::f64::consts::PI * (i as f64 + 0.5) * k / n as f64).cos();
    let value = |i: usize| wave(i / ny, 2.0, nx) + 0.25 * wave(i % ny, 40.0, ny);
    let map: Vec<f64> = (0..nx * ny).map(value).collect();

    let mut spectrum = vec![0.0; nx * ny];
    dct.run(&map, &mut spectrum)?;

    // X(u, v) stands at u * ny + v: keep the long waves alone.
    for (k, coefficient) in spectrum.iter_mut().enumerate() {
        if k / ny > 8 || k % ny > 8 {
            *coefficient = 0.0;
        }
    }

    // IDCT(DCT(x)) = nx/2 * ny/2 * x: nothing is normalised on the way.
    let mut smooth = vec![0.0; nx * ny];
    idct.run(&spectrum, &mut smooth)?;
    let scale = (nx * ny) as f64 / 4.0;
    let error =
        (0..nx * ny).map(|i| (smooth[i] / scale - wave(i / ny, 2.0, nx)).abs()).fold(0.0, f64::max);
    println!("the long wave comes back within {error:.1e}");
    assert!(error < 1e-12);
    Ok(())
}
