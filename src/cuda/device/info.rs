//! The description of a device.

use serde::Serialize;

/// The oldest architecture the kernels are compiled for: ten times its compute capability.
pub(super) const OLDEST: u32 = 75;

/// One GPU, as the driver describes it and a [`DeviceLimit`](super::DeviceLimit) leaves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// The ordinal that opens it.
    pub ordinal: usize,
    /// The device's own name, followed by its limit if it has one.
    pub name: String,
    /// Compute capability, major and minor, that code is compiled for.
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
    /// Returns ten times the compute capability: 90 for 9.0.
    pub fn architecture(&self) -> u32 {
        let (major, minor) = self.compute_capability;
        (major * 10 + minor) as u32
    }
}

#[cfg(test)]
impl DeviceInfo {
    /// Returns a device for tests.
    pub(super) fn called(name: &str, compute_capability: (i32, i32), shared_memory: usize) -> Self {
        let (memory, l2_cache, multiprocessors) = (1 << 37, 50 << 20, 132);
        let name = name.into();
        DeviceInfo {
            ordinal: 0,
            name,
            compute_capability,
            shared_memory,
            memory,
            l2_cache,
            multiprocessors,
        }
    }
}
