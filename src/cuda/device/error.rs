//! Errors of opening and using a device.

use crate::engine::{EngineError, Pipeline, out_of_memory};
use crate::transform::ShapeError;
use cudarc::cufft::result::CufftError;
use cudarc::cufft::sys::cufftResult;
use cudarc::driver::sys::CUresult;
use cudarc::driver::{DriverError, result};

/// The oldest driver that has all that is called, by the CUDA version it is for.
pub(super) const OLDEST_DRIVER: (i32, i32) = (12, 0);

/// Why CUDA cannot be used, or what failed while using it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// No `libcuda`.
    #[error("no CUDA: the NVIDIA driver (libcuda) is not installed")]
    NoDriver,
    /// The driver is there but finds no GPU.
    #[error("no CUDA: the NVIDIA driver finds no GPU")]
    NoDevice,
    /// An ordinal beyond the devices there are.
    #[error("CUDA device {ordinal} does not exist: this machine has {count}, counted from 0")]
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: usize,
        /// Devices there are.
        count: usize,
    },
    /// No `libcufft`.
    #[error("no CUDA: cuFFT (libcufft) is not on the loader's path (LD_LIBRARY_PATH)")]
    NoCufft,
    /// No `libnccl`.
    #[error("NCCL (libnccl.so.2) is not on the loader's path (LD_LIBRARY_PATH)")]
    NoNccl,
    /// No `libnvrtc`, and this program was built without machine code for its kernels.
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
    /// A text that is no [`DeviceLimit`](super::DeviceLimit).
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
        /// The one that it would have to be for.
        needed: (i32, i32),
    },
    /// Code that this program was not built with, and no `libnvrtc` to make it.
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
    /// A kernel that loaded code does not have.
    #[error("there is no kernel {0} in the code for this device")]
    NoKernel(String),
    /// Device memory ran out.
    #[error("{}", out_of_memory(*.needed, *.free))]
    OutOfMemory {
        /// Bytes asked for; 0 where the driver asked for them itself.
        needed: usize,
        /// Bytes free when they were asked for.
        free: usize,
    },
    /// A kernel file that NVRTC refuses.
    #[error("kernel file {unit}.cu does not compile for {target}:\n{log}")]
    Compile {
        /// File name without extension.
        unit: String,
        /// Architecture it was compiled for.
        target: String,
        /// The compiler's log.
        log: String,
    },
    /// A buffer of the wrong length.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// A view that begins where a kernel cannot read or write as many bytes at once.
    #[error("{what}: a view that does not begin at a multiple of {bytes} bytes")]
    Misaligned {
        /// Which buffer.
        what: &'static str,
        /// Bytes that are read or written at once.
        bytes: usize,
    },
    /// Memory, or a graph, of another [`Gpu`](super::Gpu) than the work it was given to.
    #[error("memory of another device or of another opening of the same device")]
    OtherGpu,
    /// Bodies other than those that a density, force or permutation was made for.
    #[error("{0} of other bodies")]
    OtherBodies(&'static str),
    /// A capture within a capture, or what a capture cannot hold: new memory, a wait.
    #[error(
        "a graph is being captured on this thread already: it can hold neither another nor new \
         memory, nor wait"
    )]
    Capturing,
    /// A capture, or work on another stream, begun by a
    /// [`DeviceTerm`](crate::cuda::interop::DeviceTerm) that enqueues its work.
    #[error(
        "a term of the objective is enqueuing its work on this thread: it can begin neither a \
         capture nor work on another stream"
    )]
    Enqueuing,
    /// A stream of another context than the device's primary one.
    #[error("a stream of another CUDA context than the primary one of this device")]
    OtherContext,
    /// An address that cannot be valid.
    #[error("{length} values of {size} bytes at {address:#x}: {reason}")]
    BadAddress {
        /// The address.
        address: u64,
        /// Values expected there.
        length: usize,
        /// Bytes of each.
        size: usize,
        /// The reason it is refused.
        reason: &'static str,
    },
    /// More bodies than kernels count.
    #[error("{0} bodies: at most 2147483647 are possible")]
    TooManyBodies(usize),
    /// More bins of all fence regions than kernels count.
    #[error("{0} bins of all fence regions: at most 2147483647 are possible")]
    TooManyBins(usize),
    /// More fence regions than kernels take.
    #[error(
        "a charge of {0} fence regions: a device takes at most {max}",
        max = super::MOST_BLOCKS
    )]
    Regions(usize),
    /// More pins than kernels count.
    #[error("{0} pins of a netlist: at most {max} are possible", max = super::MOST_PINS)]
    TooManyPins(usize),
    /// Density or force of bodies that were never ordered.
    #[error("density or force was asked for before the bodies were ordered")]
    NotOrdered,
    /// A grid or a device the three-pass pipeline is not made for.
    #[error("no three-pass solve of {nx} x {ny} bins here: {reason}")]
    NoThreePass {
        /// Bins along x.
        nx: usize,
        /// Bins along y.
        ny: usize,
        /// The reason.
        reason: String,
    },
    /// A single transform was asked of a pipeline that only solves.
    #[error("the {0} pipeline has no transform of a single map")]
    SolvesOnly(Pipeline),
    /// Devices that cannot work together: why.
    #[error("several devices: {0}")]
    Peers(String),
    /// A rank that another one waited for in vain.
    #[error(
        "rank {rank} waited in vain for rank {peer}: work of that one failed or was not asked for"
    )]
    PeerMissing {
        /// The rank that waited.
        rank: usize,
        /// For whom.
        peer: usize,
    },
    /// An error on one of several ranks.
    #[error("rank {rank}: {source}")]
    OnRank {
        /// Which.
        rank: usize,
        /// The error there.
        source: Box<CudaError>,
    },
    /// Anything that NCCL refuses, or a rank that another one waited for in vain.
    #[error("NCCL, {what}: {reason}")]
    Nccl {
        /// The operation.
        what: &'static str,
        /// Its answer.
        reason: String,
    },
    /// Lengths of zero, or too large.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A transform that a device has no plan for.
    #[error("no plan for {batch} transforms of {shape:?} values: {reason}")]
    NoTransform {
        /// Lengths, slowest axis first.
        shape: Vec<usize>,
        /// Number of transforms.
        batch: usize,
        /// The reason.
        reason: &'static str,
    },
    /// Something that a plan was not made for.
    #[error("{what} needs {needs}")]
    NotPlanned {
        /// The operation.
        what: &'static str,
        /// The kind of plan it needs.
        needs: &'static str,
    },
    /// A name that is no kernel file.
    #[error("there is no kernel file {0}.cu")]
    NoSuchUnit(String),
    /// Anything else the driver refuses.
    #[error("CUDA driver: {0}")]
    Driver(DriverFailure),
    /// Anything cuFFT refuses.
    #[error("cuFFT, {what}: {source}")]
    Cufft {
        /// The operation.
        what: String,
        /// Its answer.
        source: CufftFailure,
    },
}

/// An answer of the driver other than success: its message.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct DriverFailure(DriverError);

/// An answer of cuFFT other than success: its name.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct CufftFailure(CufftError);

/// For work of one's own by [`interop`](crate::cuda::interop).
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

    /// Memory ran out for what is not allocated here: code, graphs, plans.
    fn driver_lacks_memory() -> Self {
        // In the current context; that there is none is no reason to fail.
        let free = result::mem_get_info().map_or(0, |(free, _)| free);
        CudaError::OutOfMemory { needed: 0, free }
    }

    /// Returns whether the device, its code or the grid rules out this implementation alone, so that
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

/// Fails unless a buffer has the length a kernel counts on.
pub(crate) fn check_length(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), CudaError> {
    if found == expected { Ok(()) } else { Err(CudaError::Length { what, expected, found }) }
}

/// The most bytes that one thread of a kernel of transforms reads or writes at once.
pub(crate) const WIDEST: usize = 16;

/// Fails unless memory begins where `bytes` bytes can be read or written at once.
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
