//! The CUDA engine ([`CudaEngine`]), its stages and their building blocks.
//!
//! The build needs no part of CUDA. Driver, NVRTC and cuFFT, each of CUDA 12 or 13, are opened at
//! run time. [`probe`] says which of them are present. [`Gpu::open`] returns an error that names
//! the missing library, or [`CudaError::OldDriver`] with the version that would suffice. Plans that
//! use cuFFT open it. Kernels are CUDA C++ under `kernels/`. A plan compiles the kernels that it
//! needs for the device and caches them on disk (`compile`).
//!
//! The solve computes φ, Ex, Ey and the energy Σ φ·ρ from ρ ([`FieldSolver`]), all in device
//! memory. There are three pipelines: row-column (1-D transforms and transposes) and fused (Jiang
//! et al.: one 2-D real FFT per 2-D DCT), both `Spectral`, and `ThreePass` (three passes over
//! memory for the whole solve). Maps are `[nx][ny]`, y contiguous; lengths are bin widths.
//!
//! [`Gpu`] is a [`Device`](crate::refine::Device) of detailed placement. Its refined placements are
//! bit-identical to those of the CPU.
//!
//! # Streams, threads and memory
//!
//! All work of a [`Gpu`] runs in the order in which it was enqueued, and nothing waits on the host.
//! It runs on the `Gpu`'s own stream, or on a caller's stream in [`interop::on_stream`]. Any number
//! of engines on any threads may share a `Gpu`. Device memory is held in [`DeviceVec`]s, each of
//! which belongs to one `Gpu`. Work refuses memory of another `Gpu`, even of the same device opened
//! a second time. While one thread captures a [`Graph`], other threads that enqueue wait for the
//! capture's end. Types of other libraries appear only in [`interop`].
//!
//! # Smaller GPUs
//!
//! The properties of a device decide which kernels it runs: the shared memory of a block, and the
//! architecture that code is compiled for. `PLACEFIELD_DEVICE_LIMIT`, or a [`DeviceLimit`] passed
//! to [`Gpu::open_with`], uses a device as if it had less of them.
//!
//! # Several GPUs
//!
//! [`Peers`] are devices of one machine that reach each other's memory. [`SlabSolver`] solves one
//! large map on all of them in three passes (worth it from some 4096² bins on).
//! [`CudaEngine::on_peers`] runs whole steps of one design (worth it from some 4 million bodies
//! on). [`CudaBackend::on_peers`] places one design, and [`BatchSolver`] distributes independent
//! maps. [`Peers::choose`] says how many devices are worth it. Devices of one process that do not
//! reach each other's memory send messages by NCCL ([`Peers::open_any`]), which suits only solves
//! and batches.
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
//! With one process per GPU, on one host or several, each process does its rank's part. `torchrun`
//! or `mpirun` starts the processes, or the caller does, with its own options ([`RankOptions`]).
//! NCCL must be on the loader's path. It connects the processes at the address `HOST:PORT` of rank
//! 0 in `NCCL_COMM_ID`, which must be set before they start. If one rank fails, all ranks return an
//! error within seconds.
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
//! [`Gpu::open`] fails if the driver or NVRTC is missing, or if the device does not exist or is too
//! old. Making an engine fails with
//! [`EngineError::OutOfMemory`](crate::engine::EngineError::OutOfMemory) if the design is too large
//! for the free memory. In both cases the CPU can do the same work. Engines share a charge that is
//! in an [`Arc`](std::sync::Arc).
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
//! To get a `CudaError` back from an [`EngineError::Device`](crate::engine::EngineError::Device),
//! call `downcast_ref::<CudaError>()` on the error inside.

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

/// Stages of the engine, only for this crate's tests and benchmarks: anything here may change from
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
