//! Errors of opening and using a device.

use crate::engine::{EngineError, Pipeline, out_of_memory};
use crate::transform::ShapeError;
use cudarc::cufft::result::CufftError;
use cudarc::cufft::sys::cufftResult;
use cudarc::driver::sys::CUresult;
use cudarc::driver::{DriverError, result};

/// The oldest driver with every function that is called, as the CUDA version it is for.
pub(super) const OLDEST_DRIVER: (i32, i32) = (12, 0);

/// A reason why CUDA cannot be used, or a failure while it is used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// `libcuda` is missing.
    #[error("no CUDA: the NVIDIA driver (libcuda) is not installed")]
    NoDriver,
    /// The driver is installed but finds no GPU.
    #[error("no CUDA: the NVIDIA driver finds no GPU")]
    NoDevice,
    /// The ordinal is beyond the number of devices.
    #[error("CUDA device {ordinal} does not exist: this machine has {count}, counted from 0")]
    NoSuchDevice {
        /// The requested ordinal.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    },
    /// `libcufft` is missing.
    #[error("no CUDA: cuFFT (libcufft) is not on the loader's path (LD_LIBRARY_PATH)")]
    NoCufft,
    /// `libnccl` is missing.
    #[error("NCCL (libnccl.so.2) is not on the loader's path (LD_LIBRARY_PATH)")]
    NoNccl,
    /// `libnvrtc` is missing, and this program was built without machine code for its kernels.
    #[error("no CUDA: NVRTC (libnvrtc) is not on the loader's path (LD_LIBRARY_PATH)")]
    NoNvrtc,
    /// The device is older than the kernels support.
    #[error("{device} has compute capability {major}.{minor}: 7.5 or newer is needed")]
    TooOld {
        /// The device's name.
        device: String,
        /// Major version.
        major: i32,
        /// Minor version.
        minor: i32,
    },
    /// The text is not a valid [`DeviceLimit`](super::DeviceLimit).
    #[error(
        "PLACEFIELD_DEVICE_LIMIT={0}: expected the KB of shared memory of a block (48 or more), \
         the architecture (75 or more), or both, as in shared=99,arch=80"
    )]
    BadLimit(String),
    /// The driver is too old for the program, or for the code that the compiler makes.
    #[error(
        "the NVIDIA driver is one for CUDA {}.{}: a driver for CUDA {}.{} or newer is needed{}",
        .driver.0, .driver.1, .needed.0, .needed.1,
        if .needed > &OLDEST_DRIVER { ", or NVRTC and cuFFT of an older CUDA" } else { "" }
    )]
    OldDriver {
        /// The CUDA version that the driver is for.
        driver: (i32, i32),
        /// The CUDA version that the driver has to support.
        needed: (i32, i32),
    },
    /// This program was not built with the code, and there is no `libnvrtc` to compile it.
    #[error(
        "this program holds no code of {unit}.cu{}{defined} for the device, and NVRTC (libnvrtc) \
         is not on the loader's path (LD_LIBRARY_PATH)",
        if .defined.is_empty() { "" } else { " with " }
    )]
    NotPrecompiled {
        /// File name without extension.
        unit: String,
        /// The macros it would be compiled with.
        defined: String,
    },
    /// The loaded code lacks this kernel.
    #[error("there is no kernel {0} in the code for this device")]
    NoKernel(String),
    /// Device memory ran out.
    #[error("{}", out_of_memory(*.needed, *.free))]
    OutOfMemory {
        /// Bytes requested; 0 if the driver requested them itself.
        needed: usize,
        /// Bytes free at the time of the request.
        free: usize,
    },
    /// NVRTC refuses a kernel file.
    #[error("kernel file {unit}.cu does not compile for {target}:\n{log}")]
    Compile {
        /// File name without extension.
        unit: String,
        /// Architecture it was compiled for.
        target: String,
        /// The compiler's log.
        log: String,
    },
    /// A buffer has the wrong length.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// A view begins where a kernel cannot read or write as many bytes at once.
    #[error("{what}: a view that does not begin at a multiple of {bytes} bytes")]
    Misaligned {
        /// Which buffer.
        what: &'static str,
        /// Bytes that are read or written at once.
        bytes: usize,
    },
    /// Memory or a graph belongs to another [`Gpu`](super::Gpu) than the work that uses it.
    #[error("memory of another device or of another opening of the same device")]
    OtherGpu,
    /// The bodies are not those that a density, force or permutation was made for.
    #[error("{0} of other bodies")]
    OtherBodies(&'static str),
    /// A capture contains another capture, an allocation or a wait, which it cannot hold.
    #[error(
        "a graph is being captured on this thread already: it can hold neither another nor new \
         memory, nor wait"
    )]
    Capturing,
    /// A [`DeviceTerm`](crate::cuda::interop::DeviceTerm) that enqueues its work began a capture,
    /// or work on another stream.
    #[error(
        "a term of the objective is enqueuing its work on this thread: it can begin neither a \
         capture nor work on another stream"
    )]
    Enqueuing,
    /// A stream belongs to another context than the device's primary one.
    #[error("a stream of another CUDA context than the primary one of this device")]
    OtherContext,
    /// An address cannot be valid.
    #[error("{length} values of {size} bytes at {address:#x}: {reason}")]
    BadAddress {
        /// The address.
        address: u64,
        /// Values expected there.
        length: usize,
        /// Bytes of each.
        size: usize,
        /// The reason for the refusal.
        reason: &'static str,
    },
    /// There are more bodies than kernels can count.
    #[error("{0} bodies: at most 2147483647 are possible")]
    TooManyBodies(usize),
    /// The fence regions have more bins in total than kernels can count.
    #[error("{0} bins of all fence regions: at most 2147483647 are possible")]
    TooManyBins(usize),
    /// There are more fence regions than kernels can take.
    #[error(
        "a charge of {0} fence regions: a device takes at most {max}",
        max = super::MOST_BLOCKS
    )]
    Regions(usize),
    /// There are more pins than kernels can count.
    #[error("{0} pins of a netlist: at most {max} are possible", max = super::MOST_PINS)]
    TooManyPins(usize),
    /// Density or force was requested for bodies that were never ordered.
    #[error("density or force was asked for before the bodies were ordered")]
    NotOrdered,
    /// The three-pass pipeline does not support the grid or the device.
    #[error("no three-pass solve of {nx} x {ny} bins here: {reason}")]
    NoThreePass {
        /// Bins along x.
        nx: usize,
        /// Bins along y.
        ny: usize,
        /// The reason.
        reason: String,
    },
    /// The pipeline only solves and has no single transforms.
    #[error("the {0} pipeline has no transform of a single map")]
    SolvesOnly(Pipeline),
    /// Devices cannot work together, for this reason.
    #[error("several devices: {0}")]
    Peers(String),
    /// A rank waited for another one in vain.
    #[error(
        "rank {rank} waited in vain for rank {peer}: work of that one failed or was not asked for"
    )]
    PeerMissing {
        /// The rank that waited.
        rank: usize,
        /// The rank it waited for.
        peer: usize,
    },
    /// An error occurred on one of several ranks.
    #[error("rank {rank}: {source}")]
    OnRank {
        /// The rank.
        rank: usize,
        /// The error there.
        source: Box<CudaError>,
    },
    /// NCCL refused an operation, or a rank waited for another one in vain.
    #[error("NCCL, {what}: {reason}")]
    Nccl {
        /// The operation.
        what: &'static str,
        /// NCCL's answer.
        reason: String,
    },
    /// Lengths are zero or too large.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A device has no plan for the transform.
    #[error("no plan for {batch} transforms of {shape:?} values: {reason}")]
    NoTransform {
        /// Lengths, slowest axis first.
        shape: Vec<usize>,
        /// Number of transforms.
        batch: usize,
        /// The reason.
        reason: &'static str,
    },
    /// The plan was not made for this operation.
    #[error("{what} needs {needs}")]
    NotPlanned {
        /// The operation.
        what: &'static str,
        /// The kind of plan it needs.
        needs: &'static str,
    },
    /// No kernel file has this name.
    #[error("there is no kernel file {0}.cu")]
    NoSuchUnit(String),
    /// The driver refused anything else.
    #[error("CUDA driver: {0}")]
    Driver(DriverFailure),
    /// cuFFT refused an operation.
    #[error("cuFFT, {what}: {source}")]
    Cufft {
        /// The operation.
        what: String,
        /// cuFFT's answer.
        source: CufftFailure,
    },
}

/// A driver error: its message.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct DriverFailure(DriverError);

/// A cuFFT error: its name.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct CufftFailure(CufftError);

/// For users' own work through [`interop`](crate::cuda::interop).
impl From<DriverError> for CudaError {
    fn from(error: DriverError) -> Self {
        match error.0 {
            CUresult::CUDA_ERROR_NO_DEVICE => CudaError::NoDevice,
            CUresult::CUDA_ERROR_STUB_LIBRARY => CudaError::NoDriver,
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => CudaError::driver_lacks_memory(),
            _ => CudaError::Driver(DriverFailure(error)),
        }
    }
}

impl CudaError {
    /// Wraps cuFFT's answer to the operation `what`.
    pub(crate) fn cufft(what: impl Into<String>, answer: CufftError) -> Self {
        match answer {
            CufftError(cufftResult::CUFFT_ALLOC_FAILED) => CudaError::driver_lacks_memory(),
            answer => CudaError::Cufft { what: what.into(), source: CufftFailure(answer) },
        }
    }

    /// Returns the error if memory ran out for code, graphs or plans, which are not allocated here.
    fn driver_lacks_memory() -> Self {
        // In the current context. If there is none, that is no reason to fail.
        let free = result::mem_get_info().map_or(0, |(free, _)| free);
        CudaError::OutOfMemory { needed: 0, free }
    }

    /// Returns whether the device, its code or the grid rules out only this implementation, so that
    /// another may replace it.
    pub(crate) fn allows_fallback(&self) -> bool {
        use CudaError::{NoKernel, NoThreePass, NotPrecompiled};
        matches!(self, NoThreePass { .. } | NoKernel(_) | NotPrecompiled { .. })
    }
}

impl From<CudaError> for EngineError {
    fn from(error: CudaError) -> Self {
        match error {
            CudaError::OutOfMemory { needed, free } => EngineError::OutOfMemory { needed, free },
            CudaError::Regions(regions) => EngineError::Regions(regions),
            error => EngineError::Device(Box::new(error)),
        }
    }
}

/// Fails unless a buffer has the length that a kernel relies on.
pub(crate) fn check_length(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), CudaError> {
    if found == expected { Ok(()) } else { Err(CudaError::Length { what, expected, found }) }
}

/// The largest number of bytes that one thread of a transform kernel reads or writes at once.
pub(crate) const WIDEST: usize = 16;

/// Fails unless memory begins at an address where `bytes` bytes can be read or written at once.
pub(crate) fn check_aligned(
    what: &'static str,
    address: u64,
    bytes: usize,
) -> Result<(), CudaError> {
    let aligned = address.is_multiple_of(bytes as u64);
    if aligned { Ok(()) } else { Err(CudaError::Misaligned { what, bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_from_an_odd_value_on_holds_no_pairs() {
        assert!(check_aligned("pairs", 1024 + 8, 8).is_ok());
        let refused = check_aligned("pairs", 1024 + 4, 8).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "pairs: a view that does not begin at a multiple of 8 bytes"
        );
    }

    #[test]
    fn engine_errors_tell_out_of_memory_from_others() {
        let (needed, free) = (5 << 20, 3 << 20);
        let message = CudaError::OutOfMemory { needed, free }.to_string();
        assert_eq!(message, "out of GPU memory: 5 MiB more were needed and 3 MiB are free");
        let unknown = CudaError::OutOfMemory { needed: 0, free }.to_string();
        assert_eq!(unknown, "out of GPU memory: more was needed than the 3 MiB that are free");
        let error = EngineError::from(CudaError::OutOfMemory { needed, free });
        assert_eq!(error.to_string(), message);
        let EngineError::OutOfMemory { needed: n, free: f } = error else { panic!("{error}") };
        assert_eq!((n, f), (needed, free));
        let error = EngineError::from(CudaError::NoDevice);
        assert_eq!(error.to_string(), CudaError::NoDevice.to_string());
        let EngineError::Device(source) = error else { panic!("{error}") };
        assert!(matches!(source.downcast_ref(), Some(CudaError::NoDevice)));
    }
}
