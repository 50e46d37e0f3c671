//! The transforms as a library: plans for lines, maps, volumes and arrays of more dimensions.
//!
//! A plan is made once for a kind, a shape and a batch, with `new` for one transform as it is
//! computed fastest, with `batched` for more and for other choices. It owns its tables and its
//! working memory, made for the rayon pool that it was planned in; `plan.run(input, output)`
//! spreads its work over the pool it is called in and allocates nothing. Input may be integers (see
//! [`InputElement`]); it is left as it is. Definitions and scalings are those of the [crate's
//! table](crate#the-transforms-and-their-scaling). On a device `cuda::transforms` has plans of the
//! same names and methods.
//!
//! ```
//! use placefield::cpu::transforms::Plan2d;
//! use placefield::transform::Transform;
//!
//! let (nx, ny) = (3, 4);
//! let mut dct = Plan2d::<f64>::new(Transform::Dct, nx, ny)?;
//! let mut idct = Plan2d::<f64>::new(Transform::Idct, nx, ny)?;
//!
//! let pixels: [u8; 12] = [9, 0, 3, 255, 17, 4, 80, 2, 1, 1, 0, 30];
//! let (mut spectrum, mut back) = ([0.0; 12], [0.0; 12]);
//! dct.run(&pixels, &mut spectrum)?;
//! idct.run(&spectrum, &mut back)?;
//!
//! assert!((spectrum[0] - 402.0).abs() < 1e-12); // the sum
//! let scale = (nx * ny) as f64 / 4.0;
//! assert!(back.iter().zip(pixels).all(|(b, p)| (b / scale - f64::from(p)).abs() < 1e-12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(super) mod coefficients;
mod fused;
mod lines;
pub(super) mod maps;
mod plan1d;
mod plan2d;
mod plan3d;
mod plan_nd;
mod rounds;
mod row_column;
pub(super) mod scratch;
#[cfg(test)]
mod tests;
mod transposed;
mod volume;

pub use crate::transform::{InputElement, LengthError, Method, ShapeError};
pub(crate) use coefficients::Threshold;
pub(crate) use fused::FusedMaps;
pub use plan_nd::PlanNd;
pub use plan1d::Plan1d;
pub use plan2d::Plan2d;
pub use plan3d::Plan3d;
pub(crate) use scratch::Scratch;

// A plan may go to another thread, whatever its method.
const _: () = {
    const fn sent<P: Send + Sync>() {}
    sent::<Plan1d<f32>>();
    sent::<Plan2d<f32>>();
    sent::<Plan3d<f64>>();
    sent::<PlanNd<f64>>();
};
