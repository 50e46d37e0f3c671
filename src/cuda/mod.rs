//! The CUDA engine ([`CudaEngine`]), its stages, and what they are made of.
//!
//! Nothing of CUDA is needed at build time. Driver, NVRTC and cuFFT, each of CUDA 12 or 13, are
//! opened at run time: [`probe`] says which are there, and [`Gpu::open`] returns an error that
//! names the missing one, or [`CudaError::OldDriver`] with the version that would do. cuFFT is
//! opened by the plans that use it. Kernels are CUDA C++ under `kernels/`, compiled for the device
//! when a plan that needs them is made and cached on disk (`compile`).
//!
//! The solve takes ρ to φ, Ex, Ey and the energy Σ φ·ρ ([`FieldSolver`]), all of them in device
//! memory, by any of three pipelines: row-column (1-D transforms and transposes) and fused (Jiang
//! et al.: one 2-D real FFT per 2-D DCT), both `Spectral`, and `ThreePass` (three passes over
//! memory for the whole solve). Maps are `[nx][ny]`, y contiguous; lengths are bin widths.
//!
//! [`Gpu`] is a [`Device`](crate::refine::Device) of detailed placement: refined placements are the
//! CPU's, bit for bit.
//!
//! # Streams, threads and memory
//!
//! All work of a [`Gpu`] runs in the order in which it was enqueued, and nothing waits on the host.
//! It runs on the `Gpu`'s own stream, or on a caller's in [`interop::on_stream`]. A `Gpu` may be shared by any number of
//! engines on any threads. Device memory is held in [`DeviceVec`]s, each of which belongs to one
//! `Gpu`: work refuses memory of another one, even of the same device opened a second time. While
//! one thread captures a [`Graph`], others that want to enqueue wait for the capture's end. Types
//! of other libraries appear in [`interop`] alone.
//!
//! # Smaller GPUs
//!
//! The kernels for a device are chosen by its properties: the shared memory of a block, and the
//! architecture that code is compiled for. `PLACEFIELD_DEVICE_LIMIT`, or a [`DeviceLimit`] given to
//! [`Gpu::open_with`], uses a device as if it had less of them.
//!
//! # Several GPUs
//!
//! [`Peers`] are devices of one machine that reach each other's memory. [`SlabSolver`] solves one
//! large map on all of them, in three passes (worth it from some 4096² bins on),
//! [`CudaEngine::on_peers`] takes whole steps of one design (from some 4 million bodies on),
//! [`CudaBackend::on_peers`] places one, [`BatchSolver`] spreads independent maps.
//! [`Peers::choose`] says how many devices are worth it. Devices of one process that do not reach
//! each other's memory send messages by NCCL
//! ([`Peers::open_any`]), which suits solves and batches alone.
//!
//! ```no_run
//! use placefield::cuda::{Peers, SlabSolver};
//! use placefield::grid::{BinGrid, Rect};
//!
//! let peers = Peers::open(&[0, 1])?;
//! let grid = BinGrid::new(Rect::at(0.0, 0.0, 1e4, 1e4), 8192, 8192)?;
//! let mut solver = SlabSolver::<f32>::new(&peers, &grid)?;
//! let rho = solver.upload(&vec![1.0; grid.bins()])?; // each device its own rows
//! let mut fields = solver.fields()?;
//! solver.solve(&rho, &mut fields)?;
//! peers.synchronize()?;
//! let below = peers.gpu(1).download(&fields[1].potential)?; // of solver.rows(1)
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With a process for each GPU, on one host or several, started by `torchrun`, `mpirun` or with
//! options of one's own ([`RankOptions`]), each has its rank's part. NCCL has to be on the loader's
//! path; it connects the processes at the address `HOST:PORT` of rank 0 in `NCCL_COMM_ID`, which is
//! set before they start. A failure on one rank is an error of all within seconds.
//!
//! ```no_run
//! use placefield::cuda::{Peers, RankOptions, SlabSolver};
//! use placefield::grid::{BinGrid, Rect};
//!
//! let options = RankOptions::from_environment()?.expect("started by torchrun or mpirun");
//! let peers = Peers::join(&options, options.local_rank())?;
//! let grid = BinGrid::new(Rect::at(0.0, 0.0, 1e4, 1e4), 8192, 8192)?;
//! let mut solver = SlabSolver::<f32>::new(&peers, &grid)?;
//! let own = vec![1.0; solver.rows(options.rank()).len() * grid.ny()]; // this rank's rows
//! let rho = [peers.gpu(options.rank()).upload(&own)?];
//! let mut fields = solver.fields()?;
//! solver.solve(&rho, &mut fields)?;
//! let whole = solver.gather(&fields)?; // in the process of rank 0
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Without a usable GPU
//!
//! [`Gpu::open`] fails where driver or NVRTC is missing, or there is no such
//! device or it is too old; making an engine fails with
//! [`EngineError::OutOfMemory`](crate::engine::EngineError::OutOfMemory) where the
//! design is too large for the memory that is free. Either way the CPU can do the
//! same work. Engines share a charge that is in an [`Arc`](std::sync::Arc).
//!
//! ```no_run
//! use placefield::charge::Charge;
//! use placefield::cpu::engine::CpuEngine;
//! use placefield::cuda::{CudaEngine, Gpu};
//! use placefield::engine::{Engine, EngineError, EngineOptions};
//! use std::sync::Arc;
//!
//! fn engine(charge: Charge) -> Result<Box<dyn Engine<f32>>, EngineError> {
//!     let (charge, options) = (Arc::new(charge), EngineOptions::default());
//!     match Gpu::open(0) {
//!         Ok(gpu) => match CudaEngine::<f32>::on(&gpu, charge.clone(), &options) {
//!             Ok(engine) => return Ok(Box::new(engine)),
//!             Err(error @ EngineError::OutOfMemory { .. }) => {
//!                 eprintln!("{error}; on the CPU instead");
//!             }
//!             Err(error) => return Err(error),
//!         },
//!         // A `CudaError`, as `NoDriver`.
//!         Err(missing) => eprintln!("{missing}; on the CPU instead"),
//!     }
//!     Ok(Box::new(CpuEngine::<f32>::new(charge, &options)?))
//! }
//! ```
//!
//! A `CudaError` that has become an [`EngineError::Device`](crate::engine::EngineError::Device) is
//! got back by `downcast_ref::<CudaError>()` of what is inside.

mod backend;
mod bodies;
mod congestion;
mod device;
mod engine;
mod fft;
pub mod interop;
mod lines;
mod peers;
mod place;
mod refine;
mod solve;
pub mod transforms;
mod tuning;

pub use backend::CudaBackend;
pub use bodies::{Bodies, MOST_STEPS_PER_ORDER, Permutation, PermutationView};
pub use congestion::{CudaCongestion, CudaCongestionError};
pub use device::{
    Capabilities, CudaError, CudaReal, CufftFailure, DeviceInfo, DeviceLimit, DeviceSlice,
    DeviceSliceMut, DeviceValue, DeviceVec, DriverFailure, Gpu, GpuOptions, Graph, Input, Marks,
    MemoryInfo, probe,
};
pub use engine::CudaEngine;
pub use fft::RealFft;
pub use peers::{BatchSolver, Peers, RankOptions, SlabSolver, Workload};
pub use place::CudaWirelength;
#[cfg(any(feature = "capi", feature = "python"))]
pub(crate) use solve::HostSolve;
pub use solve::{FieldSolver, Fields, FieldsMut, VolumeFields, VolumeSolver, solver};

/// Stages of the engine, for this crate's tests and benchmarks alone: anything here may change from
/// one version to the next.
#[doc(hidden)]
pub mod internals {
    pub use super::bodies::{Density, DensityReport, Force, PositionLayout, RawStatistics};
    pub use super::device::{KernelOrigin, KernelUse, Spread, compile, measure};
    pub use super::place::{Descent, DescentBodies};
    pub use super::solve::{Spectral, ThreePass};

    /// Measured shapes of lines.
    pub mod tuning {
        pub use crate::cuda::lines::measured::{Tuned, file, keep};
        pub use crate::cuda::tuning::tune;
    }
}
