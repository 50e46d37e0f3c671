//! placefield turns a chip placement into its electrostatic picture.
//!
//! Cells are charges, their density is ρ, the potential φ solves Poisson's
//! equation with Neumann walls around the die, and the field E = −∇φ pushes
//! cells apart (Lu et al., "ePlace", TODAES 2015; Lin et al., "DREAMPlace",
//! TCAD 2021). The transforms behind it are the fused cosine and sine
//! transforms of Jiang, Gu and Pan, "A New Acceleration Paradigm for Discrete
//! Cosine Transform and Other Fourier-Related Transforms".
//!
//! # Quick start
//!
//! A placer makes an engine once and then asks it for density, overflow,
//! energy and forces every iteration; nothing is allocated meanwhile.
//!
//! ```
//! use placefield::charge::{Charge, ChargeOptions, Rectangles};
//! use placefield::cpu::engine::CpuEngine;
//! use placefield::engine::{Engine, EngineOptions};
//! use placefield::grid::{BinGrid, Rect};
//!
//! // Two overlapping cells on a die of 16 x 16 bins, and a fixed macro on the left.
//! let grid = BinGrid::new(Rect::at(0.0, 0.0, 160.0, 160.0), 16, 16)?;
//! let (width, height, blocks) = ([20.0; 2], [20.0; 2], [Rect::at(0.0, 0.0, 40.0, 160.0)]);
//! let cells = Rectangles::movable(&width, &height, &[80.0, 90.0], &[70.0, 80.0]).fixed(&blocks);
//! let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default())?;
//! let mut engine = CpuEngine::<f32>::new(charge, &EngineOptions::default())?;
//!
//! let (mut x, mut y) = (vec![80.0, 90.0], vec![70.0, 80.0]);
//! let first = engine.evaluate(&x, &y)?;
//! for _ in 0..50 {
//!     let (fx, fy) = engine.force()?;
//!     for i in 0..2 {
//!         // Divided by the area, the force is the mean field under the cell, in bin widths.
//!         let [dx, dy] = [fx[i], fy[i]].map(|force| 10.0 * (force / 400.0).clamp(-1.0, 1.0));
//!         x[i] = (x[i] + dx).clamp(0.0, 140.0);
//!         y[i] = (y[i] + dy).clamp(0.0, 140.0);
//!     }
//!     engine.evaluate(&x, &y)?;
//! }
//! let last = engine.evaluate(&x, &y)?;
//! assert!(first.density.overflow > 0.1 && last.density.overflow < 0.01);
//! assert!(last.energy < first.energy && last.area_off_die == 0.0);
//! # Ok::<(), placefield::engine::EngineError>(())
//! ```
//!
//! [`bookshelf::read_design`] reads a design from files and
//! [`charge::Charge::from_design`] takes its cells' areas from it.
//!
#![doc = include_str!("overview.md")]
//!
//! # Examples
//!
//! Under `benchmarks/examples/`, each run by `cargo run --release --example NAME`.
//!
//! `evaluate` reads a design from files:
//!
#![doc = "```no_run"]
#![doc = include_str!("../benchmarks/examples/evaluate.rs")]
#![doc = "```"]
//!
//! `spread` is a spreading loop on the CPU:
//!
#![doc = "```no_run"]
#![doc = include_str!("../benchmarks/examples/spread.rs")]
#![doc = "```"]
//!
//! `spread_gpu` is a spreading loop that never leaves the GPU, with a kernel of its
//! own (shown in `cuda::interop`).
//!
//! `adam` is a global placer with another optimiser, whose result ends legal and refined:
//!
#![doc = "```no_run"]
#![doc = include_str!("../benchmarks/examples/adam.rs")]
#![doc = "```"]
//!
//! `timing` raises net weights between iterations until the longest path is shorter:
//!
#![doc = "```no_run"]
#![doc = include_str!("../benchmarks/examples/timing.rs")]
#![doc = "```"]
//!
//! `transform` uses one transform alone:
//!
#![doc = "```no_run"]
#![doc = include_str!("../benchmarks/examples/transform.rs")]
#![doc = "```"]
//!
#![doc = include_str!("command_line.md")]

pub mod bookshelf;
#[cfg(feature = "capi")]
pub mod capi;
pub mod causes;
pub mod charge;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod compare;
pub mod congestion;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod design;
pub mod displacement;
pub mod engine;
pub mod engines;
pub mod evaluate;
#[cfg(any(feature = "capi", feature = "python"))]
mod ffi;
pub mod flow;
pub mod formats;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod generate;
pub mod grid;
#[cfg(any(feature = "cli", feature = "cuda", feature = "python"))]
mod hash;
pub mod lefdef;
pub mod legality;
pub mod legalize;
mod lists;
mod memory;
mod output;
pub mod paper;
mod parallel;
#[doc = include_str!("pitfalls.md")]
pub mod pitfalls {}
#[cfg(any(feature = "cli", feature = "python"))]
mod maps;
pub mod place;
#[cfg(feature = "plot")]
pub mod plot;
#[cfg(feature = "python")]
mod python;
mod real;
pub mod refine;
pub mod rows;
pub mod scaled_hpwl;
mod setters;
pub mod spectral;
mod text;
pub mod transform;
pub mod warning;
pub mod wirelength;

pub use memory::OutOfMemory;
pub use real::{Precision, Real};

// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
