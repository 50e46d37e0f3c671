//! Detects the parts of CUDA on a machine: libraries, their versions and devices.

use super::compile;
use super::error::{CudaError, OLDEST_DRIVER};
use super::info::{DeviceInfo, OLDEST};
use super::limit::DeviceLimit;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{DriverError, result};
use serde::Serialize;

/// The parts of CUDA on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Capabilities {
    /// Whether the driver's library opens.
    pub driver: bool,
    /// The CUDA version the driver supports, e.g. `(13, 0)`.
    pub driver_version: Option<(i32, i32)>,
    /// Whether cuFFT's library opens.
    pub cufft: bool,
    /// cuFFT's version, if its library opens.
    pub cufft_version: Option<(i32, i32)>,
    /// NVRTC's version, if its library opens.
    pub nvrtc: Option<(i32, i32)>,
    /// Whether the program contains machine code for its kernels and needs no NVRTC.
    pub precompiled: bool,
    /// Every GPU that the driver describes.
    pub devices: Vec<DeviceInfo>,
    /// The driver's error if it does not start or does not describe a GPU.
    #[serde(skip)]
    pub refused: Option<DriverError>,
}

impl Capabilities {
    /// Returns the reason why device `ordinal` cannot be used; `None` if it can. (A missing cuFFT
    /// is no obstacle: only some pipelines and transforms need it.)
    pub fn obstacle(&self, ordinal: usize) -> Option<CudaError> {
        if !self.driver {
            return Some(CudaError::NoDriver);
        }
        if let Some(driver) = self.driver_version.filter(|&version| version < OLDEST_DRIVER) {
            return Some(CudaError::OldDriver { driver, needed: OLDEST_DRIVER });
        }
        let Some(device) = self.devices.iter().find(|device| device.ordinal == ordinal) else {
            let missing = match self.devices.len() {
                0 => CudaError::NoDevice,
                count => CudaError::NoSuchDevice { ordinal, count },
            };
            return Some(self.refused.map_or(missing, CudaError::from));
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

/// Detects driver, cuFFT, NVRTC and devices; `PLACEFIELD_DEVICE_LIMIT` limits the devices. Never
/// fails: missing parts are reported as missing, and an invalid limit is ignored here
/// ([`Gpu::open`](super::Gpu::open) refuses it).
///
/// Libraries without a version in their names come first. Then CUDA 13 comes before CUDA 12: NVRTC
/// `libnvrtc.so.13` before `.12`, and cuFFT `libcufft.so.12` before `.11`.
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

/// Returns everything that opening a device needs, without limits. Opens neither cuFFT, nor NVRTC
/// if the program contains code.
pub(super) fn probe_devices() -> Capabilities {
    // SAFETY: only opens the library and closes it again.
    let driver = unsafe { sys::is_culib_present() };
    let precompiled = compile::precompiled();
    let (devices, refused) = if driver { devices() } else { (Vec::new(), None) };
    Capabilities {
        driver,
        driver_version: driver.then(driver_version).flatten(),
        nvrtc: if precompiled { None } else { compile::nvrtc_version() },
        precompiled,
        devices,
        refused,
        ..Capabilities::default()
    }
}

/// Fails unless cuFFT is installed and the driver is new enough for it.
///
/// # Errors
/// [`CudaError::NoCufft`] or [`CudaError::OldDriver`].
pub(crate) fn check_cufft() -> Result<(), CudaError> {
    // SAFETY: only opens the library and closes it again.
    if !unsafe { cudarc::cufft::sys::is_culib_present() } {
        return Err(CudaError::NoCufft);
    }
    fits_driver(cufft_version(), driver_version())
}

/// cuFFT 11 belongs to CUDA 12, and cuFFT 12 to CUDA 13.
fn fits_driver(cufft: Option<(i32, i32)>, driver: Option<(i32, i32)>) -> Result<(), CudaError> {
    match (cufft, driver) {
        (Some((cufft, _)), Some(driver)) if driver.0 <= cufft => {
            Err(CudaError::OldDriver { driver, needed: (cufft + 1, 0) })
        }
        _ => Ok(()),
    }
}

/// Returns the CUDA version that the driver supports. The driver's library must be there.
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

/// Returns the devices that the driver describes, and its first error.
fn devices() -> (Vec<DeviceInfo>, Option<DriverError>) {
    let described = match result::init().and_then(|()| result::device::get_count()) {
        // The driver also starts without a GPU.
        Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => Vec::new(),
        Err(error) => vec![Err(error)],
        Ok(count) => (0..count).map(describe).collect(),
    };
    let refused = described.iter().find_map(|device| device.as_ref().err().copied());
    (described.into_iter().flatten().collect(), refused)
}

fn describe(ordinal: i32) -> Result<DeviceInfo, DriverError> {
    let device = result::device::get(ordinal)?;
    // SAFETY: the driver has just returned the handle `device`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::Gpu;

    fn card(major: i32, minor: i32) -> DeviceInfo {
        DeviceInfo::called("card", (major, minor), 64 << 10)
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
            refused: None,
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
        // A device that the driver does not describe does not change the others' ordinals.
        let mut one_refused = all.clone();
        let broken = DriverError(sys::CUresult::CUDA_ERROR_SYSTEM_NOT_READY);
        (one_refused.devices[0].ordinal, one_refused.refused) = (1, Some(broken));
        assert!(one_refused.obstacle(1).is_none());
        let refused = one_refused.obstacle(0).unwrap();
        // The message comes from the driver, which may not be installed here.
        assert!(matches!(refused, CudaError::Driver(_)));
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
    fn precompiled_code_needs_no_nvrtc_or_cufft() {
        let found = Capabilities {
            driver: true,
            precompiled: true,
            devices: vec![card(9, 0)],
            ..Default::default()
        };
        assert!(found.obstacle(0).is_none());
    }

    #[test]
    fn opening_without_cuda_is_an_error() {
        let found = probe();
        if let Some(obstacle) = found.obstacle(0) {
            assert_eq!(Gpu::open(0).unwrap_err().to_string(), obstacle.to_string());
        }
        assert!(Gpu::open(usize::MAX).is_err());
    }
}
