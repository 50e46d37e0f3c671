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
//!     let (fx, fy) = engine.force();
//!     for i in 0..2 {
//!         x[i] = (x[i] + 0.05 * fx[i]).clamp(0.0, 140.0);
//!         y[i] = (y[i] + 0.05 * fy[i]).clamp(0.0, 140.0);
//!     }
//!     engine.evaluate(&x, &y)?;
//! }
//! let last = engine.evaluate(&x, &y)?;
//! assert!(first.density.overflow > 0.1 && last.density.overflow < 0.01);
//! assert!(last.energy < first.energy);
//! # Ok::<(), placefield::engine::EngineError>(())
//! ```
//!
//! [`bookshelf::read_design`] reads a design from files and
//! [`charge::Charge::from_design`] takes its cells' areas from it.
//!
//! # Where to read on
//!
//! | for | read |
//! |---|---|
//! | a design from files, Bookshelf or LEF and DEF, and back | [`formats`], [`bookshelf`], [`lefdef`], [`design`], [`grid`] |
//! | cells, fillers, fixed area, target density, fence regions | [`charge`] |
//! | a placer that calls an engine every iteration | [`engine`], [`cpu`] |
//! | a placer whose arrays stay on a GPU | `cuda::CudaEngine`, `cuda::interop` |
//! | what to do without a usable GPU | `cuda` |
//! | the field of a density of one's own | [`cpu::solve::Solver`], `cuda::solver` |
//! | a global placer to use or to change | [`place`], [`wirelength`] |
//! | the whole way from a netlist to a legal, refined placement | [`flow`] |
//! | a placement made legal; the free sites of a design | [`legalize`] |
//! | shorter wires in a legal placement | [`refine`] |
//! | maps of congestion: RUDY, pin RUDY, macros, cells and pins, by three conventions | [`congestion`] |
//! | why a density looks bad, and what to change | [`causes`] |
//! | whether a placement is legal, how far cells moved, the contest's score | [`legality`], [`displacement`], [`scaled_hpwl`] |
//! | the equations, the pipelines, their accuracy | [`spectral`] |
//! | transforms of lines, maps and volumes alone | [`transform`], [`cpu::transforms`], `cuda::transforms` |
//! | the slower forms of them that the tables of Jiang, Gu and Pan compare | [`paper`] |
//! | the program | [the command line](#the-command-line) |
//! | the same from C, from C++ in OpenROAD, from Python | `capi` (with that feature), `scripts/python/README.md` |
//! | how fast it is, and how that was measured | `benchmarks/performance.md`, `benchmarks/paper.md` |
//!
//! A placer needs four things: a [`charge::Charge`] made once, an engine made
//! from it, [`engine::Engine::evaluate`] with the positions of every iteration,
//! and the force, which gives each body the direction that spreads
//! ([`engine::Engine::read_force`] copies it from any engine,
//! [`cpu::engine::CpuEngine::force`] lends it). Descending on wirelength plus λ
//! times density, it takes minus that force as the gradient of the density.
//!
//! # Features
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `cli` | yes | the program and all that only it needs: arguments, pictures, reports, generators, the tables of Jiang, Gu and Pan |
//! | `cuda` | yes | the CUDA engine; driver, NVRTC and cuFFT are opened at run time, nothing of CUDA is needed to build |
//! | `plot` | with `cli` | pictures from the library |
//! | `gzip`, `xz` | with `cli` | files compressed by gzip or xz |
//! | `capi` | | functions for C, declared in `src/capi/placefield.h` |
//! | `python` | | the Python module, built by `pip install ./scripts/python` |
//! | (none) | | designs, Bookshelf, LEF and DEF files, density, transforms, the CPU engine and the placer |
//!
//! # Conventions
//!
//! Maps are `[nx][ny]` with x slow and **y contiguous**. Positions are
//! lower-left corners. The die is the bounding box of the rows; bins divide it
//! evenly and need not be square nor powers of two. ρ is area over bin area,
//! of fixed cells, movable cells and fillers together; φ and E take the bin
//! width as the unit of length: multiply φ by bin_x² and E by bin_x for layout
//! units. Energy is Σ φ·ρ over bins, without ½ and without the bin area, as DREAMPlace logs it.
//! Overflow is Σ max(0, area − T·bin area) over the movable area, once on the *smoothed* map (every
//! cell stretched to √2 bins at least, which is what placers log) and once on the *exact* one.
//!
//! # The transforms and their scaling
//!
//! For N values, k = 0 … N−1, and in more dimensions along each axis:
//!
//! | here | definition | SciPy (`norm=None`) | FFTW | DREAMPlace |
//! |---|---|---|---|---|
//! | DCT | `Σ_n x_n cos(π(n+½)k/N)` | `dct(x, 2) / 2` | `REDFT10 / 2` | `dct · N/2` |
//! | IDCT | `½x_0 + Σ_{n≥1} x_n cos(πn(k+½)/N)` | `dct(x, 3) / 2` | `REDFT01 / 2` | `idct / 2` |
//! | IDXST | `Σ_{n≥1} x_n sin(πn(k+½)/N)` | `dst([x_1 … x_{N−1}, 0], 3) / 2` | `RODFT01 / 2` of the same | `idxst` |
//! | DCT2 | DCT along both | `dctn(x, 2) / 4` | `REDFT10² / 4` | `dct2 · nx·ny/4` |
//! | IDCT2 | IDCT along both | `dctn(x, 3) / 4` | `REDFT01² / 4` | `idct2 / 4` |
//! | IDCT_IDXST | IDCT along x, IDXST along y | the product of the above, `/ 4` | `REDFT01 × RODFT01 / 4` | `idct_idxst / 4` |
//! | IDXST_IDCT | IDXST along x, IDCT along y | the product of the above, `/ 4` | `RODFT01 × REDFT01 / 4` | `idxst_idct / 4` |
//! | DCT3 | DCT along all three | `dctn(x, 2) / 8` | `REDFT10³ / 8` | |
//! | IDCT3 | IDCT along all three | `dctn(x, 3) / 8` | `REDFT01³ / 8` | |
//! | DCT of D dimensions | DCT along every axis | `dctn(x, 2) / 2^D` | `REDFT10^D / 2^D` | |
//! | IDCT of D dimensions | IDCT along every axis | `dctn(x, 3) / 2^D` | `REDFT01^D / 2^D` | |
//!
//! `IDCT(DCT(x)) = (N/2)·x`, and in D dimensions the product of the sizes over
//! 2^D times x. An orthonormal DCT (SciPy's `norm="ortho"`, MATLAB's `dct` and
//! `dct2`) is this crate's times √(2/N) along every axis, and along an axis on which
//! k = 0 times √(1/N). DREAMPlace's names are those of its C++ and CUDA
//! operators; its Python prototypes of the last two 2-D ones are half of them.
//!
//! The equations of Jiang, Gu and Pan need four corrections:
//!
//! * the row V(N₁, ·) that its 2-D post-processing calls zero is V(0, ·): the FFT is periodic;
//! * its 2-D inverse pre-processing needs the conjugate factors e^{+jπn/2N};
//! * its 2-D post-processing gives four times its definition;
//! * its four 1-D algorithms give twice its definition.
//!
//! # Glossary
//!
//! | term | meaning |
//! |---|---|
//! | bin | one cell of the grid that divides the die evenly |
//! | body | a rectangle that moves: the movable cells first, then the fillers |
//! | filler | a rectangle without pins that stands for free area, so that cells spread no further than the target density asks |
//! | macro | a large cell; the area of a movable one counts T times, as that of every fixed cell does |
//! | charge | what a body or fixed cell adds to ρ: its area, smoothed and weighted ([`charge`]) |
//! | density ρ | area in a bin over the bin's area, fixed cells, movable cells and fillers together. The *centered* density is ρ minus the *background*, a constant near its mean: it has the same φ and E and loses less to rounding |
//! | target density T | the largest share of a bin that placement should fill; fixed area counts T times |
//! | overflow, smoothed and exact | Σ max(0, area − T·bin area) over the movable area, with every cell stretched to √2 bins at least, or at its exact size; fillers left out |
//! | field, force | E = −∇φ per bin; for a body the sum of E over its bins, weighted by overlap |
//! | solve | ρ to φ, Ex, Ey |
//! | step | density, solve and force at given positions |
//! | pipeline | how a solve is composed of transforms: *row-column*, *fused* or *three-pass* ([`spectral`]); a pass reads and writes a whole map once |
//! | line | a row or a column of a map, as one 1-D transform takes it |
//! | panel | a few neighbouring columns stored together, so that a block of a GPU, or a task of the CPU, reads whole sectors or cache lines of memory |
//! | tile, slot | bodies are sorted by tile of bins; a body's place in that *tile order* is its slot. A block of a GPU also holds the bins around its tile, the *halo*; a body that has left it is added separately, and when this has cost as much as sorting, bodies are sorted again |
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
pub mod congestion;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod design;
pub mod displacement;
pub mod engine;
#[cfg(any(feature = "capi", feature = "python"))]
mod ffi;
pub mod flow;
pub mod formats;
pub mod grid;
#[cfg(any(feature = "cli", feature = "cuda", feature = "python"))]
mod hash;
pub mod lefdef;
pub mod legality;
pub mod legalize;
mod memory;
mod output;
pub mod paper;
pub mod place;
#[cfg(feature = "plot")]
pub mod plot;
#[cfg(feature = "python")]
mod python;
mod real;
pub mod refine;
pub mod scaled_hpwl;
mod setters;
pub mod spectral;
mod text;
pub mod transform;
pub mod warning;
pub mod wirelength;

pub use real::{Precision, Real};

// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
