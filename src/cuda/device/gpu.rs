//! A device that is ready to work: its context, its one stream, its kernels.

use super::compile::{self, Architectures, Code, Instance, Loaded, Origin};
use super::error::CudaError;
use super::info::DeviceInfo;
use super::limit::DeviceLimit;
use super::probe::probe_devices;
use super::real::CudaReal;
use super::staging::Staging;
use super::stream::StreamOrder;
use crate::real::Precision;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaModule, CudaStream, DriverError, result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// How a device is opened. By default with the quickest code, and the limit that
/// `PLACEFIELD_DEVICE_LIMIT` names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    code: Code,
    limit: Option<DeviceLimit>,
}

impl GpuOptions {
    /// Sets where the kernels' machine code may come from.
    #[must_use]
    pub fn code(self, code: Code) -> Self {
        GpuOptions { code, ..self }
    }

    /// Sets the most that is used of the device, whatever the environment says.
    #[must_use]
    pub fn limit(self, limit: DeviceLimit) -> Self {
        GpuOptions { limit: Some(limit), ..self }
    }
}

/// A device, opened. Clones share it.
///
/// All work goes to one stream, or to one of the caller's
/// ([`interop::on_stream`](crate::cuda::interop::on_stream)). Any number of engines and plans may
/// share a `Gpu`, from any threads: while one thread captures a [`Graph`](super::Graph), work of
/// the others waits until the capture is over.
#[derive(Clone)]
pub struct Gpu(pub(super) Arc<Shared>);

pub(super) struct Shared {
    /// For uploads to come.
    pub(super) staging: Mutex<Vec<Staging>>,
    context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    info: DeviceInfo,
    /// The device's own architecture, whatever its limit.
    architecture: u32,
    options: GpuOptions,
    kernels: Mutex<HashMap<Instance, Arc<ModuleSlot>>>,
    /// The order of the work, and the stream that it goes to.
    pub(super) stream_order: StreamOrder,
}

/// Where an instance goes once it is loaded.
#[derive(Default)]
struct ModuleSlot {
    loaded: OnceLock<Loaded>,
    /// Held by who loads it, so that nothing is compiled twice.
    loading: Mutex<()>,
}

/// Free and total bytes of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes free.
    pub free: usize,
    /// Bytes in all.
    pub total: usize,
}

/// Where a set of kernels on a device came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelOrigin {
    /// The kernel file, without extension.
    pub unit: &'static str,
    /// Its precision.
    pub precision: Precision,
    /// The macros it was compiled with, as `NAME=VALUE`, by name, spaces between them.
    pub defined: String,
    /// Where its code came from.
    pub origin: Origin,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(&self.0.info).finish()
    }
}

impl Gpu {
    /// Opens device `ordinal`.
    ///
    /// # Errors
    /// Says which of driver, device or NVRTC is missing, that the device or the driver is too old,
    /// that `PLACEFIELD_DEVICE_LIMIT` is no limit, or what the driver answered.
    pub fn open(ordinal: usize) -> Result<Gpu, CudaError> {
        Gpu::open_with(ordinal, GpuOptions::default())
    }

    /// Opens a device as [`Gpu::open`] does, with `options`.
    ///
    /// # Errors
    /// See [`Gpu::open`].
    pub fn open_with(ordinal: usize, options: GpuOptions) -> Result<Gpu, CudaError> {
        let limit = options.limit.map_or_else(DeviceLimit::from_environment, Ok)?;
        let mut found = probe_devices();
        if let Some(obstacle) = found.obstacle(ordinal) {
            return Err(obstacle);
        }
        let context = CudaContext::new(ordinal)?;
        // SAFETY: every buffer made through this context is used on the one
        // stream below alone, whose order is all the synchronisation there is:
        // neither is handed out but by the unsafe functions of `cuda::interop`.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream()?;
        let stream_order = StreamOrder::new(&context)?;
        let is_it = |device: &DeviceInfo| device.ordinal == ordinal;
        let at = found.devices.iter().position(is_it).expect("no obstacle");
        let mut info = found.devices.swap_remove(at);
        let architecture = info.architecture();
        limit.apply(&mut info);
        Ok(Gpu(Arc::new(Shared {
            staging: Mutex::default(),
            context,
            stream,
            info,
            architecture,
            options,
            kernels: Mutex::default(),
            stream_order,
        })))
    }

    /// Returns the device's description.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Returns the shared memory that a block can have, in bytes: the device's, or what its limit
    /// leaves of it.
    pub fn shared_memory_limit(&self) -> usize {
        self.info().shared_memory
    }

    /// Returns the bytes per second that device memory moves at most, from its clock (two transfers
    /// a cycle) and bus width; `None` if the driver does not say.
    pub fn peak_bandwidth(&self) -> Option<f64> {
        let attribute = |which| self.context().attribute(which).ok().filter(|&v| v > 0);
        let khz = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
        let bits = attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
        Some(2.0 * 1e3 * f64::from(khz) * f64::from(bits) / 8.0)
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.0.stream
    }

    /// Whether both are clones of one opened device.
    pub fn is(&self, other: &Gpu) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns a number that clones of one opened device share.
    pub(super) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Refuses memory that belongs to another one.
    pub(crate) fn check_own(&self, owner: &Gpu) -> Result<(), CudaError> {
        if self.is(owner) { Ok(()) } else { Err(CudaError::OtherGpu) }
    }

    /// Makes the context current on this thread. An error that cudarc recorded when something was
    /// dropped stays recorded: [`Gpu::synchronize`] and [`Gpu::read`] report it.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        // SAFETY: the context lives as long as the `Gpu`.
        Ok(unsafe { result::ctx::set_current(self.context().cu_ctx()) }?)
    }

    /// Returns an event that can be timed.
    pub(crate) fn event(&self) -> Result<CudaEvent, CudaError> {
        Ok(self.context().new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?)
    }

    /// Waits until everything enqueued so far has run, and reports what failed.
    ///
    /// # Errors
    /// The failure of the device since the last wait.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.stream_guard()?.synchronize()?;
        Ok(self.context().check_err()?)
    }

    /// Returns the device memory, free and in all.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn memory(&self) -> Result<MemoryInfo, CudaError> {
        let (free, total) = self.context().mem_get_info()?;
        Ok(MemoryInfo { free, total })
    }

    /// Returns the device memory of this many bytes, not zero, not initialised.
    pub(super) fn allocate(&self, bytes: usize) -> Result<sys::CUdeviceptr, CudaError> {
        let stream = self.stream_guard()?;
        // It would be memory of the graph, there only while that runs.
        stream.check_not_capturing()?;
        // SAFETY: the context is current and the stream its own.
        let allocated = unsafe {
            match self.context().has_async_alloc() {
                true => result::malloc_async(stream.raw(), bytes),
                false => result::malloc_sync(bytes),
            }
        };
        drop(stream);
        allocated.map_err(|error| self.allocation(error, bytes))
    }

    /// Returns the driver's refusal of so many bytes.
    pub(crate) fn allocation(&self, error: DriverError, needed: usize) -> CudaError {
        match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let free = self.context().mem_get_info().map_or(0, |(free, _)| free);
                CudaError::OutOfMemory { needed, free }
            }
            _ => error.into(),
        }
    }

    /// Returns the kernels of `kernels/<unit>.cu` in precision `T`, loaded once per device.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be compiled or loaded.
    pub(crate) fn kernels<T: CudaReal>(&self, unit: &str) -> Result<Arc<CudaModule>, CudaError> {
        self.instance::<T>(unit, &[])
    }

    /// Returns the kernels of a file, compiled with the macros `defines` in any order, for a file
    /// of which there are many instances ([`Gpu::kernels`]).
    pub(crate) fn instance<T: CudaReal>(
        &self,
        unit: &str,
        defines: &[(&'static str, String)],
    ) -> Result<Arc<CudaModule>, CudaError> {
        Ok(self.prepare::<T>(&[(unit, defines)])?.remove(0))
    }

    /// Returns every instance of a list of kernel files with their macros, in its order. Those that
    /// are not loaded yet are compiled at the same time, each on a thread of its own as far as the
    /// machine has cores; those that could be loaded stay so where another one fails. Waits for
    /// instances that other threads are loading, and for nothing else. Afterwards the device's
    /// context is this thread's current one, which looking up functions and their attributes needs.
    ///
    /// # Errors
    /// The error of the first one that fails ([`Gpu::kernels`]).
    pub(crate) fn prepare<T: CudaReal>(
        &self,
        instances: &[(&str, &[(&'static str, String)])],
    ) -> Result<Vec<Arc<CudaModule>>, CudaError> {
        let instances = instances.iter().map(|(unit, defines)| Instance::new::<T>(unit, defines));
        let instances: Vec<Instance> = instances.collect::<Result<_, _>>()?;
        let places: Vec<Arc<ModuleSlot>> = {
            let mut kernels = self.0.kernels.lock();
            let place = |of: &Instance| kernels.entry(of.clone()).or_default().clone();
            instances.iter().map(place).collect()
        };
        let mut missing: Vec<(&Instance, &Arc<ModuleSlot>)> =
            instances.iter().zip(&places).collect();
        missing.retain(|(_, place)| place.loaded.get().is_none());
        // Threads that want several wait for them in one order, so that no deadlock occurs.
        missing.sort_by_key(|(_, place)| Arc::as_ptr(place));
        missing.dedup_by_key(|(_, place)| Arc::as_ptr(place));
        let _alone: Vec<_> = missing.iter().map(|(_, place)| place.loading.lock()).collect();
        missing.retain(|(_, place)| place.loaded.get().is_none());
        let on = Architectures { device: self.0.architecture, last: self.info().architecture() };
        let code = self.0.options.code;
        let wanted: Vec<&Instance> = missing.iter().map(|(instance, _)| *instance).collect();
        let mut failed = None;
        for ((_, place), loaded) in
            missing.iter().zip(compile::load_all(self.context(), &wanted, on, code))
        {
            match loaded {
                Ok(loaded) => drop(place.loaded.set(loaded)),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        self.bind()?;
        let module =
            |place: &Arc<ModuleSlot>| place.loaded.get().map(|loaded| loaded.module.clone());
        match failed {
            Some(error) => Err(error),
            None => Ok(places.iter().map(|place| module(place).expect("loaded above")).collect()),
        }
    }

    /// Returns where each set of kernels loaded so far came from, by name.
    pub fn kernel_origins(&self) -> Vec<KernelOrigin> {
        let kernels = self.0.kernels.lock();
        let origin = |(instance, place): (&Instance, &Arc<ModuleSlot>)| {
            Some(KernelOrigin {
                unit: instance.unit,
                precision: instance.precision,
                defined: instance.defined(),
                origin: place.loaded.get()?.origin,
            })
        };
        let mut origins: Vec<_> = kernels.iter().filter_map(origin).collect();
        origins.sort_by(|a, b| {
            let key = |o: &KernelOrigin| (o.unit, o.precision.to_string(), o.defined.clone());
            key(a).cmp(&key(b))
        });
        origins
    }
}
