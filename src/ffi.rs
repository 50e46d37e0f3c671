//! Code that the C and the Python interface share: solvers and engines whose device and precision
//! are chosen when the program runs.

use crate::charge::{Charge, ChargeError};
use crate::cpu::engine::thread_pool;
use crate::cpu::solve::{FieldSlices, Solver};
use crate::engine::{
    Engine, EngineError, EngineOptions, Evaluation, GradientOptions, Pipeline, check_finite,
};
use crate::engines::{Device, DeviceEngine, EngineReal, open_on_device};
use crate::grid::BinGrid;
use crate::memory::require;
use crate::real::Precision;
use rayon::ThreadPool;
use std::sync::Arc;

/// ρ → φ, Ex, Ey from and to memory of the host, maps of `nx × ny`, y contiguous.
pub(crate) trait HostSolver<T>: Send {
    /// Returns the energy Σ φ·ρ.
    fn solve(&mut self, rho: &[T], fields: FieldSlices<'_, T>) -> Result<f64, EngineError>;
}

/// Returns a solver of `grid`; `options.pipeline` `None` is three-pass.
pub(crate) fn open_solver<T: EngineReal>(
    grid: &BinGrid,
    device: Device,
    options: &EngineOptions,
) -> Result<Box<dyn HostSolver<T>>, EngineError> {
    let pipeline = options.pipeline.unwrap_or(Pipeline::ThreePass);
    Ok(match device {
        Device::Cpu => {
            require("the bins", (4 * size_of::<T>() * grid.bins()) as u64)?;
            let pool = thread_pool(options.threads)?;
            let solver = Solver::new(grid, pipeline, pool.current_num_threads());
            Box::new(OnCpu { pool, solver })
        }
        Device::Cuda(ordinal) => cuda::open_solver(grid, ordinal, pipeline)?,
    })
}

/// An engine in one of the precisions.
pub(crate) enum AnyEngine {
    F32(DeviceEngine<f32>),
    F64(DeviceEngine<f64>),
}

/// Evaluates `$body` with an [`AnyEngine`]'s engine, in whichever precision it is.
macro_rules! with_engine {
    ($made:expr, $engine:ident => $body:expr) => {
        match $made {
            $crate::ffi::AnyEngine::F32($engine) => $body,
            $crate::ffi::AnyEngine::F64($engine) => $body,
        }
    };
}
pub(crate) use with_engine;

impl AnyEngine {
    pub(crate) fn charge(&mut self) -> &Charge {
        with_engine!(self, engine => engine.as_dyn().charge())
    }

    /// Gives the engine its charge changed ([`Engine::set_charge`]); after an error it is as it
    /// was.
    pub(crate) fn change<E: From<ChargeError> + From<EngineError>>(
        &mut self,
        change: impl FnOnce(&mut Charge) -> Result<(), ChargeError>,
    ) -> Result<(), E> {
        let charge = self.charge();
        let bytes = 8 * charge.grid().bins() * charge.regions() + 64 * charge.bodies();
        require("the bins and bodies", bytes as u64).map_err(EngineError::from)?;
        let mut charge = charge.clone();
        change(&mut charge)?;
        Ok(with_engine!(self, engine => engine.settled()?.set_charge(Arc::new(charge)))?)
    }
}

/// Opens an engine for `charge`.
pub(crate) fn open_any_engine(
    charge: Charge,
    precision: Precision,
    device: Device,
    options: &EngineOptions,
) -> Result<AnyEngine, EngineError> {
    let (charge, device) = (charge.into(), device.into());
    Ok(match precision {
        Precision::F32 => AnyEngine::F32(open_on_device(charge, device, options)?.engine),
        Precision::F64 => AnyEngine::F64(open_on_device(charge, device, options)?.engine),
    })
}

impl<T: EngineReal> DeviceEngine<T> {
    /// Returns the engine, for work from and to memory of the host: whatever graphs of the caller's
    /// hold of its work has run.
    pub(crate) fn settled(&mut self) -> Result<&mut dyn Engine<T>, EngineError> {
        #[cfg(feature = "cuda")]
        if let DeviceEngine::Cuda(engine) = self {
            engine.wait_for_graphs()?;
        }
        Ok(self.as_dyn())
    }

    /// Returns the engine, to ask what it is.
    pub(crate) fn as_dyn(&mut self) -> &mut dyn Engine<T> {
        match self {
            DeviceEngine::Cpu(engine) => &mut **engine,
            #[cfg(feature = "cuda")]
            DeviceEngine::Cuda(engine) => &mut **engine,
        }
    }
}

struct OnCpu<T: EngineReal> {
    pool: ThreadPool,
    solver: Solver<T>,
}

impl<T: EngineReal> HostSolver<T> for OnCpu<T> {
    fn solve(&mut self, rho: &[T], fields: FieldSlices<'_, T>) -> Result<f64, EngineError> {
        let solver = &mut self.solver;
        self.pool.install(|| {
            check_finite(&[("density of bin", rho)])?;
            Ok(solver.solve_slices(rho, fields)?.0)
        })
    }
}

pub(crate) use cuda::devices as cuda_devices;
#[cfg(feature = "capi")]
pub(crate) use cuda::is_missing;
#[cfg(any(feature = "capi", feature = "python"))]
pub(crate) use cuda::is_the_callers;
#[cfg(all(feature = "cuda", feature = "python"))]
pub(crate) use cuda::stream_of;

#[cfg(feature = "cuda")]
mod cuda {
    use super::*;
    #[cfg(any(feature = "capi", feature = "python"))]
    use crate::cuda::CudaError;
    #[cfg(feature = "python")]
    use crate::cuda::DeviceVec;
    use crate::cuda::interop::cudarc::driver::sys::CUstream;
    use crate::cuda::{CudaEngine, Gpu, HostSolve, interop, probe};
    use crate::engine::Layout;
    #[cfg(feature = "python")]
    use crate::engine::MapKind;

    /// Returns the CUDA devices there are, and why there is none that can be used.
    pub(crate) fn devices() -> (usize, Option<String>) {
        let found = probe();
        match found.obstacle(0) {
            None => (found.devices.len(), None),
            Some(why) => (0, Some(why.to_string())),
        }
    }

    /// Whether an engine's error says that CUDA cannot be used at all.
    #[cfg(feature = "capi")]
    pub(crate) fn is_missing(error: &EngineError) -> bool {
        let EngineError::Device(cause) = error else { return false };
        matches!(
            cause.downcast_ref::<CudaError>(),
            Some(
                CudaError::NoDriver
                    | CudaError::NoDevice
                    | CudaError::NoSuchDevice { .. }
                    | CudaError::NoCufft
                    | CudaError::NoNvrtc
                    | CudaError::TooOld { .. }
                    | CudaError::OldDriver { .. }
            )
        )
    }

    /// Whether an engine's error is about memory or a stream that was given.
    #[cfg(any(feature = "capi", feature = "python"))]
    pub(crate) fn is_the_callers(error: &EngineError) -> bool {
        let EngineError::Device(cause) = error else { return false };
        matches!(
            cause.downcast_ref::<CudaError>(),
            Some(CudaError::BadAddress { .. } | CudaError::OtherContext | CudaError::Shape(_))
        )
    }

    pub(super) fn open_solver<T: EngineReal>(
        grid: &BinGrid,
        ordinal: usize,
        pipeline: Pipeline,
    ) -> Result<Box<dyn HostSolver<T>>, EngineError> {
        Ok(Box::new(HostSolve::new(&Gpu::open(ordinal)?, grid, pipeline)?))
    }

    /// Returns a stream of the caller's: 0 or 1 for the legacy default one, 2 for that of a thread.
    pub(crate) fn stream_of(number: usize) -> CUstream {
        std::ptr::without_provenance_mut(number)
    }

    /// Work enqueued to a stream of the caller's, from and to device memory: x of all bodies, then
    /// y.
    impl<T: EngineReal> DeviceEngine<T> {
        fn on_device(&mut self) -> Result<&mut CudaEngine<T>, EngineError> {
            match self {
                DeviceEngine::Cuda(engine) => Ok(engine),
                DeviceEngine::Cpu(_) => Err(EngineError::Device(
                    "the engine is on the CPU, the memory on a device".into(),
                )),
            }
        }

        /// Density and solve; the energy, a double, is copied to `energy`.
        ///
        /// # Safety
        /// The requirements of [`interop::view`], with two values per body, and of
        /// [`interop::on_stream`].
        pub(crate) unsafe fn enqueue_energy(
            &mut self,
            positions: u64,
            energy: Option<u64>,
            stream: usize,
        ) -> Result<(), EngineError> {
            let engine = self.on_device()?;
            let (gpu, values) = (engine.gpu().clone(), 2 * engine.charge().bodies());
            // SAFETY: the caller's promise.
            unsafe {
                let positions = interop::view(&gpu, positions, values)?;
                let energy = energy.map(|to| interop::view_mut::<f64>(&gpu, to, 1)).transpose()?;
                interop::on_stream(&gpu, stream_of(stream), || {
                    engine.enqueue_energy(Layout::Halves, positions)?;
                    if let Some(to) = energy {
                        gpu.copy(engine.evaluation_device(0).1, to)?;
                    }
                    Ok(())
                })?
            }
        }

        /// A step: the energy, of the engine's precision, is written to `energy`, and where a
        /// gradient is wanted the weight of `options` times the force to `gradient`.
        ///
        /// # Safety
        /// The requirements of [`interop::view`], with two values per body, and of
        /// [`interop::on_stream`].
        #[cfg(feature = "python")]
        pub(crate) unsafe fn enqueue_step(
            &mut self,
            options: &GradientOptions,
            positions: u64,
            energy: u64,
            gradient: Option<u64>,
            stream: usize,
        ) -> Result<(), EngineError> {
            let engine = self.on_device()?;
            let gpu = engine.gpu().clone();
            // SAFETY: the caller's promise.
            unsafe {
                interop::on_stream(&gpu, stream_of(stream), || {
                    engine.enqueue_at(options, positions, energy, gradient)
                })?
            }
        }

        /// The weight of `options` times the one value at `factor`, times the force.
        ///
        /// # Safety
        /// The requirements of [`interop::view_mut`], with two values per body, and of
        /// [`interop::on_stream`].
        pub(crate) unsafe fn enqueue_gradient(
            &mut self,
            options: &GradientOptions,
            factor: Option<u64>,
            gradient: u64,
            stream: usize,
        ) -> Result<(), EngineError> {
            let engine = self.on_device()?;
            let (gpu, values) = (engine.gpu().clone(), 2 * engine.charge().bodies());
            // SAFETY: the caller's promise.
            unsafe {
                let factor = factor.map(|from| interop::view(&gpu, from, 1)).transpose()?;
                let gradient = interop::view_mut(&gpu, gradient, values)?;
                interop::on_stream(&gpu, stream_of(stream), || {
                    engine.enqueue_gradient(options, factor, gradient)
                })?
            }
        }

        /// Overflow and energy of the last step; waits for it.
        ///
        /// # Safety
        /// The requirements of [`interop::on_stream`].
        pub(crate) unsafe fn read_evaluation(
            &mut self,
            stream: usize,
        ) -> Result<Evaluation, EngineError> {
            let engine = self.on_device()?;
            let gpu = engine.gpu().clone();
            // SAFETY: the caller's promise.
            unsafe { interop::on_stream(&gpu, stream_of(stream), || engine.read_evaluation())? }
        }

        /// A new order of the bodies, if one is due.
        ///
        /// # Safety
        /// The requirements of [`interop::on_stream`].
        pub(crate) unsafe fn order_if_due(&mut self, stream: usize) -> Result<(), EngineError> {
            let engine = self.on_device()?;
            let gpu = engine.gpu().clone();
            // SAFETY: the caller's promise.
            Ok(unsafe { interop::on_stream(&gpu, stream_of(stream), || engine.order_if_due())? }?)
        }

        /// Returns a copy of a map of the last step; of the density that is ρ less its background.
        #[cfg(feature = "python")]
        pub(crate) fn device_map(&mut self, kind: MapKind) -> Result<DeviceVec<T>, EngineError> {
            let engine = self.on_device()?;
            engine.wait_for_graphs()?;
            let map = match kind {
                MapKind::Density => engine.centered_density_device()?,
                MapKind::Potential => engine.potential_device()?,
                MapKind::FieldX => engine.field_device()?.0,
                MapKind::FieldY => engine.field_device()?.1,
            };
            Ok(map.try_clone()?)
        }
    }

    impl<T: EngineReal> HostSolver<T> for HostSolve<T> {
        fn solve(&mut self, rho: &[T], fields: FieldSlices<'_, T>) -> Result<f64, EngineError> {
            let FieldSlices { potential, field_x, field_y } = fields;
            HostSolve::solve(self, rho, [potential, field_x, field_y])
        }
    }
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    use super::*;
    use crate::engines::NO_CUDA;

    pub(crate) fn devices() -> (usize, Option<String>) {
        (0, Some(NO_CUDA.to_owned()))
    }

    #[cfg(feature = "capi")]
    pub(crate) fn is_missing(error: &EngineError) -> bool {
        matches!(error, EngineError::Device(_))
    }

    #[cfg(any(feature = "capi", feature = "python"))]
    pub(crate) fn is_the_callers(_: &EngineError) -> bool {
        false
    }

    fn none() -> EngineError {
        EngineError::Device(NO_CUDA.into())
    }

    pub(super) fn open_solver<T: EngineReal>(
        _: &BinGrid,
        _: usize,
        _: Pipeline,
    ) -> Result<Box<dyn HostSolver<T>>, EngineError> {
        Err(none())
    }

    /// Methods that work enqueued to a stream has, and that give [`none`].
    macro_rules! unavailable {
        ($($(#[$when:meta])* $name:ident($($argument:ty),*) -> $result:ty;)*) => {
            impl<T: EngineReal> DeviceEngine<T> {
                $($(#[$when])*
                pub(crate) unsafe fn $name(
                    &mut self,
                    $(_: $argument),*
                ) -> Result<$result, EngineError> {
                    Err(none())
                })*
            }
        };
    }

    unavailable! {
        enqueue_energy(u64, Option<u64>, usize) -> ();
        #[cfg(feature = "python")]
        enqueue_step(&GradientOptions, u64, u64, Option<u64>, usize) -> ();
        enqueue_gradient(&GradientOptions, Option<u64>, u64, usize) -> ();
        read_evaluation(usize) -> Evaluation;
        order_if_due(usize) -> ();
    }
}
