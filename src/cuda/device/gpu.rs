//! An opened device: its context, its one stream and its kernels.

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

/// Options for opening a device. The defaults are the quickest code and the limit that
/// `PLACEFIELD_DEVICE_LIMIT` names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    code: Code,
    limit: Option<DeviceLimit>,
}

impl GpuOptions {
    /// Sets the allowed sources of the kernels' machine code.
    #[must_use]
    pub fn code(self, code: Code) -> Self {
        GpuOptions { code, ..self }
    }

    /// Sets the limit on the use of the device. The environment's limit is ignored.
    #[must_use]
    pub fn limit(self, limit: DeviceLimit) -> Self {
        GpuOptions { limit: Some(limit), ..self }
    }
}

/// An opened device, shared by its clones.
///
/// All work goes to one stream, or to one of the caller's
/// ([`interop::on_stream`](crate::cuda::interop::on_stream)). Any number of engines and plans may
/// share a `Gpu`, from any threads. While one thread captures a [`Graph`](super::Graph), other
/// threads' work waits until the capture is over.
#[derive(Clone)]
pub struct Gpu(pub(super) Arc<Shared>);

pub(super) struct Shared {
    /// For future uploads.
    pub(super) staging: Mutex<Vec<Staging>>,
    context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    info: DeviceInfo,
    /// The device's own architecture, regardless of its limit.
    architecture: u32,
    options: GpuOptions,
    kernels: Mutex<HashMap<Instance, Arc<ModuleSlot>>>,
    /// The order of the work, and the stream that the work goes to.
    pub(super) stream_order: StreamOrder,
}

/// The slot for an instance once it is loaded.
#[derive(Default)]
struct ModuleSlot {
    loaded: OnceLock<Loaded>,
    /// Locked by the thread that loads the instance, so that nothing is compiled twice.
    loading: Mutex<()>,
}

/// Free and total bytes of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes free.
    pub free: usize,
    /// Total bytes.
    pub total: usize,
}

/// The origin of a set of kernels on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelOrigin {
    /// The kernel file, without extension.
    pub unit: &'static str,
    /// Its precision.
    pub precision: Precision,
    /// Its macros as `NAME=VALUE`, sorted by name and separated by spaces.
    pub defined: String,
    /// The origin of its code.
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
    /// Reports a missing driver, device or NVRTC, a device or driver that is too old, an invalid
    /// `PLACEFIELD_DEVICE_LIMIT`, or the driver's error.
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
        // SAFETY: every buffer made through this context is used only on the one stream below,
        // whose order is the only synchronisation. Only the unsafe functions of `cuda::interop`
        // hand out the context or the stream.
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

    /// Returns the shared memory that a block can have, in bytes: the device's, reduced by its
    /// limit if there is one.
    pub fn shared_memory_limit(&self) -> usize {
        self.info().shared_memory
    }

    /// Returns the peak bandwidth of device memory in bytes per second, from its clock (two
    /// transfers a cycle) and bus width; `None` if the driver does not report them.
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

    /// Refuses memory that belongs to another device.
    pub(crate) fn check_own(&self, owner: &Gpu) -> Result<(), CudaError> {
        if self.is(owner) { Ok(()) } else { Err(CudaError::OtherGpu) }
    }

    /// Makes the context current on this thread. If cudarc recorded an error when something was
    /// dropped, the error stays recorded: [`Gpu::synchronize`] and [`Gpu::read`] report it.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        // SAFETY: the context lives as long as the `Gpu`.
        Ok(unsafe { result::ctx::set_current(self.context().cu_ctx()) }?)
    }

    /// Returns an event that can be timed.
    pub(crate) fn event(&self) -> Result<CudaEvent, CudaError> {
        Ok(self.context().new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?)
    }

    /// Waits until everything enqueued so far has run, and reports failures.
    ///
    /// # Errors
    /// The failure of the device since the last wait.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.stream_guard()?.synchronize()?;
        Ok(self.context().check_err()?)
    }

    /// Returns the free and total device memory.
    ///
    /// # Errors
    /// When the driver does not report it.
    pub fn memory(&self) -> Result<MemoryInfo, CudaError> {
        let (free, total) = self.context().mem_get_info()?;
        Ok(MemoryInfo { free, total })
    }

    /// Allocates this many bytes of device memory, uninitialised; `bytes` must not be zero.
    pub(super) fn allocate(&self, bytes: usize) -> Result<sys::CUdeviceptr, CudaError> {
        let stream = self.stream_guard()?;
        // The memory would belong to the graph and exist only while the graph runs.
        stream.check_not_capturing()?;
        // SAFETY: the context is current and the stream belongs to it.
        let allocated = unsafe {
            match self.context().has_async_alloc() {
                true => result::malloc_async(stream.raw(), bytes),
                false => result::malloc_sync(bytes),
            }
        };
        drop(stream);
        allocated.map_err(|error| self.allocation(error, bytes))
    }

    /// Returns the error for the driver's refusal to allocate so many bytes.
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
    /// with many instances ([`Gpu::kernels`]).
    pub(crate) fn instance<T: CudaReal>(
        &self,
        unit: &str,
        defines: &[(&'static str, String)],
    ) -> Result<Arc<CudaModule>, CudaError> {
        Ok(self.prepare::<T>(&[(unit, defines)])?.remove(0))
    }

    /// Returns every instance of a list of kernel files with their macros, in the list's order.
    /// Instances that are not loaded yet are compiled at the same time, on one thread each, up to
    /// the number of cores. If one fails, the others that could be loaded stay loaded. Waits only
    /// for instances that other threads are loading. Afterwards the device's context is current on
    /// this thread, which the look-up of functions and their attributes needs.
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
        // Threads that need several wait for them in one order, which prevents deadlocks.
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

    /// Returns the origin of each set of kernels loaded so far, by name.
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
