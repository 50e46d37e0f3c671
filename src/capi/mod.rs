//! The functions that `placefield.h` declares, for placers in C and C++.
//!
//! The header beside this file is made from it (`tests/borders` sees that it is current). Its first
//! page has the rules of all functions: ownership, threads, errors.
//!
//! ```sh
//! cargo rustc --release --lib --features capi --crate-type cdylib,staticlib
//! cc -I src/capi program.c -L target/release -lplacefield
//! ```
//!
//! Every function checks its arguments, calls the
//! library and turns its error into a [`Status`] and a message. A handle is not an
//! address but a number, which is never used twice. A table maps it to the object, so
//! freed and invalid handles are rejected. No panic leaves a function.
//!
//! # Safety
//! All functions ask the same of their callers: what the header's first page says of pointers,
//! lengths and threads.

// Each body is under that one promise as a whole.
#![allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]

#[doc = include_str!("openroad.md")]
pub mod openroad {}

mod arrays;
mod bodies;
mod changes;
mod design;
mod device;
mod engine;
mod handles;
mod memory;
mod place;
mod regions;
mod solver;
mod status;
#[cfg(test)]
mod tests;
mod wirelength;

pub use arrays::*;
pub use bodies::*;
pub use changes::*;
pub use design::*;
pub use device::*;
pub use engine::*;
pub use place::*;
pub use regions::*;
pub use solver::*;
pub use status::{ErrorText, Status};
pub use wirelength::*;

use crate::engine::{EngineOptions, Pipeline};
use crate::engines::Device;
use crate::grid::{BinGrid, Rect};
use crate::real::Precision;
use memory::{output, structure};
use status::{Failure, call};
use std::ffi::c_char;

/// Numbers of `options.precision`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecisionName {
    /// Maps, positions and forces are `float`.
    F32 = 0,
    /// They are `double`.
    F64 = 1,
}

/// Numbers of `options.pipeline`: the method of a solve.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineName {
    /// The fastest for the grid on the device.
    Fastest = 0,
    /// 1-D transforms along one axis, then the other.
    RowColumn = 1,
    /// One 2-D real FFT for each 2-D transform.
    Fused = 2,
    /// Three passes over memory for the whole solve.
    ThreePass = 3,
}

/// The value of `options.device` for the CPU; devices of CUDA count from 0.
pub const CPU: i32 = -1;

/// A die divided evenly into nx × ny bins. Bins need not be square, and nx and ny need not be
/// powers of two.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Left edge of the die, layout units.
    pub xl: f64,
    /// Bottom edge.
    pub yl: f64,
    /// Right edge.
    pub xh: f64,
    /// Top edge.
    pub yh: f64,
    /// Bins along x, the slow axis of maps: 1 to 32768.
    pub nx: u32,
    /// Bins along y, the contiguous axis: 1 to 32768, and at most 2^28 bins in all.
    pub ny: u32,
}

/// Device, precision, method and threads. Filled by placefield_options_init, then changed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Set by placefield_options_init.
    pub struct_size: u32,
    /// A placefield_precision: that of every map, position and force.
    pub precision: i32,
    /// PLACEFIELD_CPU, or the ordinal of a CUDA device.
    pub device: i32,
    /// A placefield_pipeline.
    pub pipeline: i32,
    /// Threads on the CPU, at most 1024; 0 uses all processors.
    pub threads: u32,
}

/// Evaluates `$body` with `$real` the number type that a placefield_precision names. Another number
/// is an error, which is written to `$error`.
macro_rules! in_precision {
    ($precision:expr, $error:expr, $real:ident => $body:expr) => {
        match $precision {
            p if p == $crate::capi::PrecisionName::F32 as i32 => {
                type $real = f32;
                $body
            }
            p if p == $crate::capi::PrecisionName::F64 as i32 => {
                type $real = f64;
                $body
            }
            other => $crate::capi::status::call($error, || {
                let text = format!("precision {other}: no such precision");
                Err($crate::capi::status::Failure::argument(text))
            }),
        }
    };
}
use in_precision;

impl Grid {
    fn checked(&self) -> Result<BinGrid, Failure> {
        let Grid { xl, yl, xh, yh, nx, ny } = *self;
        Ok(BinGrid::new(Rect { xl, yl, xh, yh }, nx as usize, ny as usize)?)
    }
}

/// [`Options`], checked.
struct Checked {
    precision: Precision,
    device: Device,
    engine: EngineOptions,
}

impl Options {
    /// f32, the CPU, all threads, the fastest pipeline.
    const DEFAULT: Options = Options {
        struct_size: size_of::<Options>() as u32,
        precision: PrecisionName::F32 as i32,
        device: CPU,
        pipeline: PipelineName::Fastest as i32,
        threads: 0,
    };

    fn checked(&self) -> Result<Checked, Failure> {
        let precision = match self.precision {
            0 => Precision::F32,
            1 => Precision::F64,
            other => {
                return Err(Failure::argument(format!(
                    "options.precision {other}: no such precision"
                )));
            }
        };
        let pipeline = match self.pipeline {
            0 => None,
            1 => Some(Pipeline::RowColumn),
            2 => Some(Pipeline::Fused),
            3 => Some(Pipeline::ThreePass),
            other => {
                return Err(Failure::argument(format!(
                    "options.pipeline {other}: no such pipeline"
                )));
            }
        };
        let device = match (self.device, usize::try_from(self.device)) {
            (CPU, _) => Device::Cpu,
            (_, Ok(ordinal)) => Device::Cuda(ordinal),
            (other, Err(_)) => {
                return Err(Failure::argument(format!(
                    "options.device {other}: expected PLACEFIELD_CPU or the ordinal of a CUDA \
                     device"
                )));
            }
        };
        let engine = EngineOptions::default().pipeline(pipeline).threads(self.threads as usize);
        Ok(Checked { precision, device, engine })
    }
}

/// Returns the version of the library at run time; the PLACEFIELD_VERSION_ macros give that of the
/// header: 65536 · major + 256 · minor + patch.
#[unsafe(no_mangle)]
pub extern "C" fn placefield_version() -> u32 {
    const fn number(text: &str) -> u32 {
        let (bytes, mut value, mut i) = (text.as_bytes(), 0, 0);
        while i < bytes.len() {
            value = 10 * value + (bytes[i] - b'0') as u32;
            i += 1;
        }
        value
    }
    const {
        number(env!("CARGO_PKG_VERSION_MAJOR")) << 16
            | number(env!("CARGO_PKG_VERSION_MINOR")) << 8
            | number(env!("CARGO_PKG_VERSION_PATCH"))
    }
}

/// Returns the version as text, such as "0.1.0". Static: do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn placefield_version_text() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the name of a placefield_status, such as "PLACEFIELD_STATUS_BAD_HANDLE"; "unknown" for
/// any other number. Static: do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn placefield_status_name(status: i32) -> *const c_char {
    status::name(status).as_ptr()
}

/// Writes the number of CUDA devices that can be used.
///
/// Zero devices are not an error; `error`, if given, then has a message with the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_cuda_devices(count: *mut u32, error: *mut ErrorText) -> Status {
    let mut missing = None;
    let status = call(error, || {
        let (devices, why) = crate::ffi::cuda_devices();
        output(count, "count", &[])?.write(devices as u32);
        missing = why;
        Ok(())
    });
    if let Some(why) = missing {
        status::say(error, status, &why);
    }
    status
}

/// Fills `options` with the defaults: f32, the CPU, all threads, the fastest pipeline.
/// `struct_size` is sizeof(placefield_options), by which a newer library recognises an older
/// caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_options_init(
    options: *mut Options,
    struct_size: usize,
    error: *mut ErrorText,
) -> Status {
    call(error, || memory::initialise(options, struct_size, "options", Options::DEFAULT))
}

/// Returns the options a caller gave.
///
/// # Safety
/// `options` is null or points to a structure of the size it says.
unsafe fn options(options: *const Options) -> Result<Checked, Failure> {
    // SAFETY: the caller's promise.
    unsafe { structure(options, "options", |o: &Options| o.struct_size) }?.checked()
}
