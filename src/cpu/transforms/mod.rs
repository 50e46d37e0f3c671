//! The transforms as a library: plans for lines, maps, volumes and arrays of
//! more dimensions.
//!
//! A plan is made once for a kind, a shape and a batch; it is immutable,
//! `Send` and `Sync`, and holds tables and FFT plans only. What a call works in
//! is the caller's: `plan.make_scratch()` makes it, any number of calls use
//! it, one at a time. `plan.process(input, output, scratch)` spreads its work
//! over the rayon pool it is called in and allocates nothing. Input may be
//! integers (see [`Sample`]); it is left as it is. Definitions and scalings are
//! those of the [crate's table](crate#the-transforms-and-their-scaling).
//!
//! ```
//! use placefield::cpu::transforms::{Plan2d, Plan2dOptions};
//! use placefield::transform::Transform;
//!
//! let (nx, ny) = (3, 4);
//! let options = Plan2dOptions::default();
//! let dct = Plan2d::<f64>::new(Transform::Dct, nx, ny, options, 1)?;
//! let idct = Plan2d::<f64>::new(Transform::Idct, nx, ny, options, 1)?;
//! let mut scratch = dct.make_scratch();
//!
//! let pixels: [u8; 12] = [9, 0, 3, 255, 17, 4, 80, 2, 1, 1, 0, 30];
//! let (mut spectrum, mut back) = ([0.0; 12], [0.0; 12]);
//! dct.process(&pixels, &mut spectrum, &mut scratch)?;
//! idct.process(&spectrum, &mut back, &mut scratch)?;
//!
//! assert!((spectrum[0] - 402.0).abs() < 1e-12); // the sum
//! let scale = (nx * ny) as f64 / 4.0;
//! assert!(back.iter().zip(pixels).all(|(b, p)| (b / scale - f64::from(p)).abs() < 1e-12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod plan1d;
mod plan2d;
mod plan3d;
mod plan_nd;
mod volume;

pub use super::scratch::{Scratch, ScratchLen};
pub use crate::transform::{LengthError, Method, Orientation, Plan2dOptions, Sample, ShapeError};
pub use plan_nd::PlanNd;
pub use plan1d::Plan1d;
pub use plan2d::Plan2d;
pub use plan3d::Plan3d;
