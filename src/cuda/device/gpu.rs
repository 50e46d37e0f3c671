//! A device that is ready to work: its context, its one stream, its kernels.

use super::compile::{self, Architectures, Code, Instance, Loaded, Origin};
use super::error::{CudaError, OLDEST_DRIVER};
use super::limit::DeviceLimit;
use super::real::CudaReal;
use crate::real::Precision;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaModule, CudaStream, DriverError, result};
use serde::Serialize;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The oldest architecture the kernels are compiled for: ten times its compute
/// capability.
pub(super) const OLDEST: u32 = 75;

/// One GPU, as the driver describes it and a [`DeviceLimit`] leaves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// The number it is opened by.
    pub ordinal: usize,
    /// Its own name, and its limit if it has one.
    pub name: String,
    /// Compute capability, major and minor: what code is compiled for.
    pub compute_capability: (i32, i32),
    /// Shared memory that a block can have, in bytes.
    pub shared_memory: usize,
    /// Device memory in bytes.
    pub memory: usize,
    /// L2 cache in bytes.
    pub l2_cache: usize,
    /// Streaming multiprocessors.
    pub multiprocessors: i32,
}

impl DeviceInfo {
    /// Ten times the compute capability: 90 for 9.0.
    pub fn architecture(&self) -> u32 {
        let (major, minor) = self.compute_capability;
        (major * 10 + minor) as u32
    }
}

/// What of CUDA this machine has.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Capabilities {
    /// The driver's library opens.
    pub driver: bool,
    /// The CUDA version the driver supports, e.g. `(13, 0)`.
    pub driver_version: Option<(i32, i32)>,
    /// cuFFT's library opens.
    pub cufft: bool,
    /// cuFFT's version, when its library opens.
    pub cufft_version: Option<(i32, i32)>,
    /// NVRTC's version, when its library opens.
    pub nvrtc: Option<(i32, i32)>,
    /// The program holds machine code for its kernels and needs no NVRTC.
    pub precompiled: bool,
    /// Every GPU the driver finds.
    pub devices: Vec<DeviceInfo>,
}

impl Capabilities {
    /// What keeps device `ordinal` from being used; `None` when nothing does. (Only some
    /// pipelines and transforms need cuFFT: it is no obstacle that it is not there.)
    pub fn obstacle(&self, ordinal: usize) -> Option<CudaError> {
        if !self.driver {
            return Some(CudaError::NoDriver);
        }
        if let Some(driver) = self.driver_version.filter(|&version| version < OLDEST_DRIVER) {
            return Some(CudaError::OldDriver { driver, needed: OLDEST_DRIVER });
        }
        if self.devices.is_empty() {
            return Some(CudaError::NoDevice);
        }
        let Some(device) = self.devices.get(ordinal) else {
            return Some(CudaError::NoSuchDevice { ordinal, count: self.devices.len() });
        };
        if device.architecture() < OLDEST {
            let (major, minor) = device.compute_capability;
            return Some(CudaError::TooOld { device: device.name.clone(), major, minor });
        }
        if !self.precompiled && self.nvrtc.is_none() {
            return Some(CudaError::NoNvrtc);
        }
        None
    }
}

/// Looks for driver, cuFFT, NVRTC and devices, these as `PLACEFIELD_DEVICE_LIMIT`
/// leaves them. Never fails: what is missing is reported as missing, and a limit that is
/// none is ignored here ([`Gpu::open`] refuses it).
pub fn probe() -> Capabilities {
    let limit = DeviceLimit::from_environment().unwrap_or_default();
    let mut found = probe_devices();
    found.devices.iter_mut().for_each(|device| limit.apply(device));
    // SAFETY: only opens the library and closes it again.
    found.cufft = unsafe { cudarc::cufft::sys::is_culib_present() };
    found.cufft_version = found.cufft.then(cufft_version).flatten();
    found.nvrtc = compile::nvrtc_version();
    found
}

/// All that opening a device needs, without limits; cuFFT is not opened, nor NVRTC where
/// the program holds code.
fn probe_devices() -> Capabilities {
    // SAFETY: only opens the library and closes it again.
    let driver = unsafe { sys::is_culib_present() };
    let precompiled = compile::precompiled();
    Capabilities {
        driver,
        driver_version: driver.then(driver_version).flatten(),
        nvrtc: if precompiled { None } else { compile::nvrtc_version() },
        precompiled,
        devices: if driver { devices().unwrap_or_default() } else { Vec::new() },
        ..Capabilities::default()
    }
}

/// Whether cuFFT is there, and one that the driver is new enough for.
///
/// # Errors
/// [`CudaError::NoCufft`] or [`CudaError::OldDriver`].
pub(in crate::cuda) fn check_cufft() -> Result<(), CudaError> {
    // SAFETY: only opens the library and closes it again.
    if !unsafe { cudarc::cufft::sys::is_culib_present() } {
        return Err(CudaError::NoCufft);
    }
    fits_driver(cufft_version(), driver_version())
}

/// cuFFT 11 is CUDA 12's, and cuFFT 12 CUDA 13's.
fn fits_driver(cufft: Option<(i32, i32)>, driver: Option<(i32, i32)>) -> Result<(), CudaError> {
    match (cufft, driver) {
        (Some((cufft, _)), Some(driver)) if driver.0 <= cufft => {
            Err(CudaError::OldDriver { driver, needed: (cufft + 1, 0) })
        }
        _ => Ok(()),
    }
}

/// The CUDA version that the driver is for. Its library must be there.
pub(super) fn driver_version() -> Option<(i32, i32)> {
    let mut version = 0;
    // SAFETY: writes one integer; the library is there.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().ok()?;
    Some((version / 1000, version % 1000 / 10))
}

fn cufft_version() -> Option<(i32, i32)> {
    let mut version = 0;
    // SAFETY: writes one integer; the library is there.
    unsafe { cudarc::cufft::sys::cufftGetVersion(&mut version) }.result().ok()?;
    Some((version / 1000, version % 1000 / 100))
}

fn devices() -> Result<Vec<DeviceInfo>, DriverError> {
    result::init()?;
    (0..result::device::get_count()?).map(describe).collect()
}

fn describe(ordinal: i32) -> Result<DeviceInfo, DriverError> {
    let device = result::device::get(ordinal)?;
    // SAFETY: `device` is a handle the driver has just given.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) };
    Ok(DeviceInfo {
        ordinal: ordinal as usize,
        name: result::device::get_name(device)?,
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        shared_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
            as usize,
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(device) }?,
        l2_cache: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as usize,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
    })
}

/// How a device is opened. By default with the quickest code, and the limit that
/// `PLACEFIELD_DEVICE_LIMIT` names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    code: Code,
    limit: Option<DeviceLimit>,
}

impl GpuOptions {
    /// Where the kernels' machine code may come from.
    #[must_use]
    pub fn code(self, code: Code) -> Self {
        GpuOptions { code, ..self }
    }

    /// The most that is used of the device, whatever the environment says.
    #[must_use]
    pub fn limit(self, limit: DeviceLimit) -> Self {
        GpuOptions { limit: Some(limit), ..self }
    }
}

/// A device, opened. Clones share it.
///
/// All work goes to one stream. Any number of engines and plans may share a
/// `Gpu`, from any threads: while one thread captures a
/// [`Graph`](super::Graph), work of the others waits until the capture is over.
#[derive(Clone)]
pub struct Gpu(Arc<Shared>);

struct Shared {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    info: DeviceInfo,
    /// The device's own architecture, whatever its limit.
    architecture: u32,
    options: GpuOptions,
    kernels: Mutex<HashMap<Instance, Loaded>>,
    /// Held to be read while something is enqueued or waited for, to be written
    /// during a capture.
    capture: RwLock<()>,
}

thread_local! {
    /// The device whose stream this thread is capturing; null for none.
    static CAPTURING: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// A [`Gpu`]'s stream, with its context current on this thread, and no capture by
/// another thread while this is held. Nothing that enters a second time may be
/// called meanwhile.
pub(in crate::cuda) struct Entered<'a> {
    gpu: &'a Gpu,
    _no_capture: Option<RwLockReadGuard<'a, ()>>,
}

impl Entered<'_> {
    pub(in crate::cuda) fn stream(&self) -> &Arc<CudaStream> {
        &self.gpu.0.stream
    }

    pub(in crate::cuda) fn raw(&self) -> sys::CUstream {
        self.stream().cu_stream()
    }
}

/// A [`Gpu`]'s stream while this thread alone may enqueue to it.
pub(in crate::cuda) struct Exclusive<'a> {
    _alone: RwLockWriteGuard<'a, ()>,
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        CAPTURING.set(std::ptr::null());
    }
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
    /// Says which of driver, device or NVRTC is missing, that the device or the driver
    /// is too old, that `PLACEFIELD_DEVICE_LIMIT` is no limit, or what the driver
    /// answered.
    pub fn open(ordinal: usize) -> Result<Gpu, CudaError> {
        Gpu::open_with(ordinal, GpuOptions::default())
    }

    /// As [`Gpu::open`], with other than the usual options.
    ///
    /// # Errors
    /// As [`Gpu::open`].
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
        let mut info = found.devices.swap_remove(ordinal);
        let architecture = info.architecture();
        limit.apply(&mut info);
        Ok(Gpu(Arc::new(Shared {
            context,
            stream,
            info,
            architecture,
            options,
            kernels: Mutex::default(),
            capture: RwLock::default(),
        })))
    }

    /// The device's description.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Shared memory that a block can have, in bytes: the device's, or what its limit
    /// leaves of it.
    pub fn shared_memory_limit(&self) -> usize {
        self.info().shared_memory
    }

    /// Bytes per second that device memory moves at most, from its clock (two
    /// transfers a cycle) and bus width; none where the driver does not say.
    pub fn peak_bandwidth(&self) -> Option<f64> {
        let attribute = |which| self.context().attribute(which).ok().filter(|&v| v > 0);
        let khz = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
        let bits = attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
        Some(2.0 * 1e3 * f64::from(khz) * f64::from(bits) / 8.0)
    }

    pub(in crate::cuda) fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    pub(in crate::cuda) fn stream(&self) -> &Arc<CudaStream> {
        &self.0.stream
    }

    /// Whether both are clones of one opened device.
    pub fn is(&self, other: &Gpu) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Refuses memory that belongs to another one.
    pub(in crate::cuda) fn check_own(&self, owner: &Gpu) -> Result<(), CudaError> {
        if self.is(owner) { Ok(()) } else { Err(CudaError::OtherGpu) }
    }

    /// The stream, to enqueue to or to wait for.
    pub(in crate::cuda) fn enter(&self) -> Result<Entered<'_>, CudaError> {
        let capturing = CAPTURING.get() == Arc::as_ptr(&self.0);
        let no_capture =
            (!capturing).then(|| self.0.capture.read().unwrap_or_else(PoisonError::into_inner));
        self.context().bind_to_thread()?;
        Ok(Entered { gpu: self, _no_capture: no_capture })
    }

    /// The stream for this thread alone, for a capture: every other thread waits.
    pub(in crate::cuda) fn exclusive(&self) -> Result<Exclusive<'_>, CudaError> {
        if !CAPTURING.get().is_null() {
            return Err(CudaError::Capturing);
        }
        let alone = self.0.capture.write().unwrap_or_else(PoisonError::into_inner);
        self.context().bind_to_thread()?;
        CAPTURING.set(Arc::as_ptr(&self.0));
        Ok(Exclusive { _alone: alone })
    }

    /// An event that can be timed.
    pub(in crate::cuda) fn event(&self) -> Result<CudaEvent, CudaError> {
        Ok(self.context().new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?)
    }

    /// Waits until everything enqueued so far has run, and reports what failed.
    ///
    /// # Errors
    /// What failed on the device since the last wait.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        let stream = self.enter()?;
        stream.stream().synchronize()?;
        Ok(self.context().check_err()?)
    }

    /// Device memory, free and in all.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn memory(&self) -> Result<MemoryInfo, CudaError> {
        let (free, total) = self.context().mem_get_info()?;
        Ok(MemoryInfo { free, total })
    }

    /// Device memory of this many bytes, not zero, not initialised.
    pub(super) fn allocate(&self, bytes: usize) -> Result<sys::CUdeviceptr, CudaError> {
        // It would be memory of the graph, there only while that runs.
        if CAPTURING.get() == Arc::as_ptr(&self.0) {
            return Err(CudaError::Capturing);
        }
        let stream = self.enter()?;
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

    /// Gives memory back once everything enqueued before has run.
    ///
    /// # Safety
    /// `address` is of [`Gpu::allocate`] on this device, or allocated like it, and
    /// is not used again.
    pub(super) unsafe fn free(&self, address: sys::CUdeviceptr) {
        let Ok(stream) = self.enter() else { return };
        // SAFETY: the caller's promise; the context is current. Freed at once,
        // memory must not be in use any more: hence the wait.
        let freed = unsafe {
            match self.context().has_async_alloc() {
                true => result::free_async(address, stream.raw()),
                false => stream.stream().synchronize().and_then(|()| result::free_sync(address)),
            }
        };
        self.context().record_err(freed);
    }

    fn allocation(&self, error: DriverError, needed: usize) -> CudaError {
        match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let free = self.context().mem_get_info().map_or(0, |(free, _)| free);
                CudaError::OutOfMemory { needed, free }
            }
            _ => error.into(),
        }
    }

    /// The kernels of `kernels/<unit>.cu` in precision `T`, loaded once per device.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be compiled or loaded.
    pub(in crate::cuda) fn kernels<T: CudaReal>(
        &self,
        unit: &str,
    ) -> Result<Arc<CudaModule>, CudaError> {
        self.instance::<T>(unit, &[])
    }

    /// As [`Gpu::kernels`], compiled with the macros `defines`, in any order: a file of
    /// which there are many instances.
    pub(in crate::cuda) fn instance<T: CudaReal>(
        &self,
        unit: &str,
        defines: &[(&'static str, String)],
    ) -> Result<Arc<CudaModule>, CudaError> {
        Ok(self.prepare::<T>(&[(unit, defines)])?.remove(0))
    }

    /// Every instance of a list of kernel files with their macros, in its order. Those
    /// that are not loaded yet are compiled at the same time, each on a thread of its own
    /// as far as the machine has cores; those that could be loaded stay so where another
    /// one fails.
    ///
    /// # Errors
    /// Of the first one that fails, as [`Gpu::kernels`].
    pub(in crate::cuda) fn prepare<T: CudaReal>(
        &self,
        instances: &[(&str, &[(&'static str, String)])],
    ) -> Result<Vec<Arc<CudaModule>>, CudaError> {
        let instances = instances.iter().map(|(unit, defines)| Instance::new::<T>(unit, defines));
        let instances: Vec<Instance> = instances.collect::<Result<_, _>>()?;
        // Held meanwhile, so that nothing is compiled twice.
        let mut kernels = self.0.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing: Vec<&Instance> = Vec::new();
        for instance in &instances {
            if !kernels.contains_key(instance) && !missing.contains(&instance) {
                missing.push(instance);
            }
        }
        let on = Architectures { device: self.0.architecture, last: self.info().architecture() };
        let code = self.0.options.code;
        let loaded = compile::load_all(self.context(), &missing, on, code);
        let mut failed = None;
        for (instance, loaded) in missing.into_iter().zip(loaded) {
            match loaded {
                Ok(loaded) => drop(kernels.insert(instance.clone(), loaded)),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(instances.iter().map(|instance| kernels[instance].module.clone()).collect()),
        }
    }

    /// Where each set of kernels loaded so far came from, by name.
    pub fn kernel_origins(&self) -> Vec<KernelOrigin> {
        let kernels = self.0.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = |(instance, loaded): (&Instance, &Loaded)| KernelOrigin {
            unit: instance.unit,
            precision: instance.precision,
            defined: instance.defined(),
            origin: loaded.origin,
        };
        let mut origins: Vec<_> = kernels.iter().map(origin).collect();
        origins.sort_by(|a, b| {
            let key = |o: &KernelOrigin| (o.unit, o.precision.to_string(), o.defined.clone());
            key(a).cmp(&key(b))
        });
        origins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(major: i32, minor: i32) -> DeviceInfo {
        DeviceInfo {
            ordinal: 0,
            name: "card".into(),
            compute_capability: (major, minor),
            shared_memory: 64 << 10,
            memory: 1 << 30,
            l2_cache: 1 << 20,
            multiprocessors: 10,
        }
    }

    #[test]
    fn the_error_names_what_is_missing() {
        let all = Capabilities {
            driver: true,
            driver_version: Some((13, 0)),
            cufft: true,
            cufft_version: Some((12, 0)),
            nvrtc: Some((13, 0)),
            precompiled: false,
            devices: vec![card(7, 5)],
        };
        assert!(all.obstacle(0).is_none());
        let missing = |change: &dyn Fn(&mut Capabilities), ordinal| {
            let mut less = all.clone();
            change(&mut less);
            less.obstacle(ordinal).unwrap()
        };
        assert!(matches!(missing(&|c| c.driver = false, 0), CudaError::NoDriver));
        assert!(matches!(missing(&|c| c.devices.clear(), 0), CudaError::NoDevice));
        assert!(matches!(missing(&|c| c.nvrtc = None, 0), CudaError::NoNvrtc));
        let old = missing(&|c| c.driver_version = Some((11, 8)), 0);
        assert_eq!(
            old.to_string(),
            "the NVIDIA driver is one for CUDA 11.8: a driver for CUDA 12.0 or newer is needed"
        );
        let old = missing(&|c| c.devices[0] = card(7, 0), 0);
        assert_eq!(old.to_string(), "card has compute capability 7.0: 7.5 or newer is needed");
        let beyond = missing(&|_| {}, 3).to_string();
        assert_eq!(beyond, "CUDA device 3 does not exist: this machine has 1, counted from 0");
    }

    #[test]
    fn a_newer_cufft_names_the_driver_that_it_needs() {
        assert!(fits_driver(Some((11, 4)), Some((12, 0))).is_ok());
        assert!(fits_driver(Some((11, 4)), Some((13, 0))).is_ok());
        assert!(fits_driver(Some((12, 0)), Some((13, 0))).is_ok());
        let old = fits_driver(Some((12, 0)), Some((12, 8))).unwrap_err().to_string();
        assert!(old.contains("CUDA 12.8") && old.contains("CUDA 13.0"), "{old}");
        assert!(old.contains("cuFFT of an older CUDA"), "{old}");
    }

    #[test]
    fn code_in_the_program_needs_no_nvrtc_and_most_work_no_cufft() {
        let found = Capabilities {
            driver: true,
            precompiled: true,
            devices: vec![card(9, 0)],
            ..Default::default()
        };
        assert!(found.obstacle(0).is_none());
    }

    #[test]
    fn probing_and_opening_without_cuda_is_an_error_not_a_panic() {
        let found = probe();
        if let Some(obstacle) = found.obstacle(0) {
            assert_eq!(Gpu::open(0).unwrap_err().to_string(), obstacle.to_string());
        }
        assert!(Gpu::open(usize::MAX).is_err());
    }
}
