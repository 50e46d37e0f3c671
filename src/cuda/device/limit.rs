//! Uses a device as if it had fewer resources than it has. One GPU can then show which kernels are
//! chosen on smaller GPUs, and which kernels replace those that do not fit.
//!
//! A limit changes only the choice of kernels and the target of their code. Clocks, caches,
//! multiprocessors and the shared memory of a multiprocessor remain the device's own. Times under a
//! limit are therefore times of the device itself, and its name always includes the limit.

use super::error::CudaError;
use super::info::{DeviceInfo, OLDEST};
use std::env;

/// Names the limit of every device that is opened without an explicit limit.
const VARIABLE: &str = "PLACEFIELD_DEVICE_LIMIT";

/// Shared memory in bytes that every device grants a block without a request.
const SHARED_ANYWHERE: usize = 48 << 10;

/// A limit on the use of a device: the shared memory that a block may have, and the architecture
/// that code is compiled for. The default is no limit.
///
/// As text, in `PLACEFIELD_DEVICE_LIMIT`: `shared=99` in KB of 1024 bytes, at least 48; `arch=80`
/// for compute capability 8.0, at least 75; or both, separated by a comma. A value beyond the
/// device's own has no effect.
///
/// ```
/// use placefield::cuda::DeviceLimit;
/// let limit: DeviceLimit = "shared=99,arch=80".parse()?;
/// assert_eq!(limit, DeviceLimit::none().shared_memory(99 * 1024).architecture(80));
/// # Ok::<(), placefield::cuda::CudaError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceLimit {
    shared_memory: Option<usize>,
    architecture: Option<u32>,
}

impl DeviceLimit {
    /// Returns no limit.
    pub fn none() -> Self {
        DeviceLimit::default()
    }

    /// Sets the most bytes of shared memory for a block, at least 48 KB.
    #[must_use]
    pub fn shared_memory(self, bytes: usize) -> Self {
        DeviceLimit { shared_memory: Some(bytes.max(SHARED_ANYWHERE)), ..self }
    }

    /// Sets the newest architecture that code is for, as ten times its compute capability: 80 for
    /// 8.0. The minimum is 75.
    #[must_use]
    pub fn architecture(self, sm: u32) -> Self {
        DeviceLimit { architecture: Some(sm.max(OLDEST)), ..self }
    }

    /// Returns the limit in `PLACEFIELD_DEVICE_LIMIT`; no limit if it is unset or empty.
    ///
    /// # Errors
    /// [`CudaError::BadLimit`] if the text is not a valid limit.
    pub fn from_environment() -> Result<Self, CudaError> {
        let text = env::var_os(VARIABLE).unwrap_or_default();
        match text.to_str() {
            Some("") => Ok(DeviceLimit::none()),
            Some(text) => text.parse(),
            None => Err(CudaError::BadLimit(text.to_string_lossy().into())),
        }
    }

    /// Reduces the device's description to the limit, and adds the reduced properties to its name.
    pub(super) fn apply(self, info: &mut DeviceInfo) {
        let mut limits = Vec::new();
        if let Some(bytes) = self.shared_memory.filter(|&bytes| bytes < info.shared_memory) {
            info.shared_memory = bytes;
            limits.push(format!("{} KB", bytes >> 10));
        }
        if let Some(sm) = self.architecture.filter(|&sm| sm < info.architecture()) {
            info.compute_capability = ((sm / 10) as i32, (sm % 10) as i32);
            limits.push(format!("compute capability {}.{}", sm / 10, sm % 10));
        }
        if !limits.is_empty() {
            info.name = format!("{} limited to {}", info.name, limits.join(", "));
        }
    }
}

impl std::str::FromStr for DeviceLimit {
    type Err = CudaError;

    fn from_str(text: &str) -> Result<Self, CudaError> {
        let bad = || CudaError::BadLimit(text.into());
        let mut limit = DeviceLimit::none();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(bad)?;
            // No sign, and no number that a device would overflow.
            let digits = value.len() <= 6 && value.bytes().all(|b| b.is_ascii_digit());
            let value: u32 = value.parse().ok().filter(|_| digits).ok_or_else(bad)?;
            limit = match key {
                "shared"
                    if limit.shared_memory.is_none() && value as usize >= SHARED_ANYWHERE >> 10 =>
                {
                    limit.shared_memory((value as usize) << 10)
                }
                "arch" if limit.architecture.is_none() && value >= OLDEST => {
                    limit.architecture(value)
                }
                _ => return Err(bad()),
            };
        }
        Ok(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200() -> DeviceInfo {
        DeviceInfo::called("NVIDIA H200", (9, 0), 227 << 10)
    }

    #[test]
    fn limits_parse_in_any_order_and_bad_ones_fail() {
        let both = DeviceLimit::none().shared_memory(101_376).architecture(86);
        for text in ["shared=99,arch=86", "arch=86,shared=99"] {
            assert_eq!(text.parse::<DeviceLimit>().unwrap(), both, "{text}");
        }
        let bad = [
            "",
            "99",
            "shared",
            "shared=",
            "shared=99KB",
            "shared=-99",
            "shared=+99",
            "shared=47",
            "arch=74",
            "arch=8.6",
            "arch=sm_86",
            "shared=99,",
            "shared=99,shared=64",
            "arch=80,arch=80",
            "l2=50",
            "shared=99999999999999999999",
            "shared=99 arch=80",
        ];
        for text in bad {
            let error = text.parse::<DeviceLimit>().unwrap_err();
            assert!(matches!(&error, CudaError::BadLimit(t) if t == text), "{text}");
            assert!(error.to_string().contains("shared=99,arch=80"), "{error}");
        }
    }

    #[test]
    fn limits_show_in_the_name_and_only_lower() {
        let with = |text: &str| {
            let mut info = h200();
            text.parse::<DeviceLimit>().unwrap().apply(&mut info);
            info
        };
        let limited = with("shared=99");
        assert_eq!(limited.name, "NVIDIA H200 limited to 99 KB");
        assert_eq!((limited.shared_memory, limited.compute_capability), (101_376, (9, 0)));
        let limited = with("arch=86,shared=64");
        assert_eq!(limited.name, "NVIDIA H200 limited to 64 KB, compute capability 8.6");
        assert_eq!((limited.shared_memory, limited.compute_capability), (65_536, (8, 6)));
        for text in ["shared=227,arch=90", "shared=999,arch=120"] {
            assert_eq!(with(text), h200(), "{text}");
        }
    }
}
