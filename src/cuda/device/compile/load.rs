//! Loads code for one device from the program, the cache or the compiler, whichever is quickest.

use super::cache::CacheEntry;
use super::{
    COMPILER, IMAGES, Target, architectures, compile, nvrtc_version, precompiled, source_hash,
    unit_name, usual_options,
};
use crate::cuda::device::error::CudaError;
use crate::cuda::device::probe::driver_version;
use crate::cuda::device::real::CudaReal;
use crate::real::Precision;
use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, CudaModule, DriverError};
use cudarc::nvrtc::Ptx;
use serde::Serialize;
use std::cmp::Reverse;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The source of a device's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Origin {
    /// Machine code built into the program.
    Embedded,
    /// PTX built into the program, which the driver compiled to machine code.
    EmbeddedPtx,
    /// Machine code from the cache on disk.
    Cached,
    /// PTX from the cache on disk, which the driver compiled to machine code.
    CachedPtx,
    /// Compiled to machine code at this start.
    Compiled,
    /// Compiled to PTX at this start; the driver compiled it to machine code.
    CompiledPtx,
}

/// The allowed sources of a device's machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The quickest available: code in the program, then code in the cache, then compiled code; in
    /// each case machine code before PTX.
    #[default]
    Quickest,
    /// Compiled to machine code at every start, regardless of the program's code and the cache.
    Compiled,
    /// Compiled to PTX at every start. The driver compiles it to machine code, as it does on a
    /// device that is too new for NVRTC.
    Ptx,
}

/// A kernel file with its precision and macros: one set of kernels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::cuda::device) struct Instance {
    pub(in crate::cuda::device) unit: &'static str,
    pub(in crate::cuda::device) precision: Precision,
    /// Names and values, sorted by name.
    defines: Vec<(&'static str, String)>,
}

impl Instance {
    /// Describes an instance of the kernel file `unit` in precision `T`.
    pub(in crate::cuda::device) fn new<T: CudaReal>(
        unit: &str,
        defines: &[(&'static str, String)],
    ) -> Result<Self, CudaError> {
        let mut defines = defines.to_vec();
        defines.sort();
        Ok(Instance { unit: unit_name(unit)?, precision: T::PRECISION, defines })
    }

    /// Returns the macros as `NAME=VALUE`, separated by spaces, as the program's images have them.
    pub(in crate::cuda::device) fn defined(&self) -> String {
        let defines = self.defines.iter().map(|(name, value)| format!("{name}={value}"));
        defines.collect::<Vec<_>>().join(" ")
    }

    fn options(&self) -> Vec<String> {
        let define = |(name, value): &(_, _)| format!("--define-macro={name}={value}");
        self.defines.iter().map(define).collect()
    }

    /// Returns the instance's file in the cache.
    fn entry(&self, target: Target, nvrtc: (i32, i32)) -> CacheEntry {
        let key = format!(
            "placefield {}, kernels {:016x}, NVRTC {}.{}\n{}.cu {}\n{}",
            env!("CARGO_PKG_VERSION"),
            source_hash(),
            nvrtc.0,
            nvrtc.1,
            self.unit,
            usual_options(self.precision, target).join(" "),
            self.defined(),
        );
        CacheEntry::new(&format!("{}-{}-{target}", self.unit, self.precision), key)
    }
}

/// The architectures whose code a device runs, as ten times a compute capability.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda::device) struct Architectures {
    /// The device's own architecture.
    pub(in crate::cuda::device) device: u32,
    /// The newest architecture that code may be for: the device's own, or its limit.
    pub(in crate::cuda::device) last: u32,
}

impl Architectures {
    /// Returns whether the device should run code for `target`. Machine code runs on its own
    /// generation, from its own minor version on; PTX runs from its own architecture on.
    fn take(self, target: Target) -> bool {
        match target {
            Target::Cubin(sm) => sm / 10 == self.device / 10 && sm <= self.last,
            Target::Ptx(sm) => sm <= self.last,
        }
    }

    /// Returns the `images` that the device should run, the best first.
    fn best<I>(self, images: impl Iterator<Item = (Target, I)>) -> Vec<(Target, I)> {
        let mut fit: Vec<_> = images.filter(|(target, _)| self.take(*target)).collect();
        fit.sort_by_key(|(target, _)| match target {
            Target::Cubin(sm) => (0, Reverse(*sm)),
            Target::Ptx(sm) => (1, Reverse(*sm)),
        });
        fit
    }

    /// Returns the targets for NVRTC, which knows the architectures `known`: machine code if it can
    /// compile it, then PTX.
    fn targets(self, code: Code, known: &[u32]) -> Vec<Target> {
        let newest = known.iter().copied().filter(|&sm| sm <= self.last).max().unwrap_or(self.last);
        let cubin = Target::Cubin(newest);
        let exact = newest == self.last && self.take(cubin);
        let cubin = Some(cubin).filter(|_| exact && code != Code::Ptx);
        cubin.into_iter().chain([Target::Ptx(newest)]).collect()
    }
}

/// Code on a device.
#[derive(Clone)]
pub(in crate::cuda::device) struct Loaded {
    pub(in crate::cuda::device) module: Arc<CudaModule>,
    pub(in crate::cuda::device) origin: Origin,
}

/// Loads instances at the same time and compiles them if necessary, with one thread per instance or
/// per core, whichever are fewer. (NVRTC and the driver's compiler, which takes as long with PTX,
/// both work on several threads.)
pub(in crate::cuda::device) fn load_all(
    context: &Arc<CudaContext>,
    instances: &[&Instance],
    on: Architectures,
    code: Code,
) -> Vec<Result<Loaded, CudaError>> {
    at_once(instances, |instance| load(context, instance, on, code))
}

/// Stack size of a thread that compiles, in bytes: the size of a program's first thread.
const STACK: usize = 8 << 20;

/// Returns the results of `work` on each item, in the items' order.
fn at_once<I: Sync, O: Send>(items: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let turns = || {
        let take = || Some(next.fetch_add(1, Relaxed)).filter(|&k| k < items.len());
        std::iter::from_fn(take).map(|k| (k, work(&items[k]))).collect::<Vec<_>>()
    };
    let mut done = std::thread::scope(|scope| {
        let thread = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, turns);
        // If no thread can be started, the others do its work.
        let others: Vec<_> =
            (1..items.len().min(cores)).map(thread).filter_map(Result::ok).collect();
        let mut done = turns();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(k, _)| *k);
    done.into_iter().map(|(_, output)| output).collect()
}

/// Loads an instance, and compiles it if necessary.
fn load(
    context: &Arc<CudaContext>,
    instance: &Instance,
    on: Architectures,
    code: Code,
) -> Result<Loaded, CudaError> {
    let quickest = code == Code::Quickest;
    let mut refused = None;
    let mut attempt = |image: &[u8], origin, compiler| match load_image(context, image) {
        Ok(module) => Ok(Some(Loaded { module, origin })),
        Err(error) if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(CudaError::from(error)),
        Err(error) => {
            refused = Some(refusal(error, compiler, driver_version()));
            Ok(None)
        }
    };
    for (target, image) in on.best(embedded(instance)).into_iter().filter(|_| quickest) {
        let origin = either(target, Origin::Embedded, Origin::EmbeddedPtx);
        if let Some(loaded) = attempt(image, origin, COMPILER)? {
            return Ok(loaded);
        }
    }
    let Some(nvrtc) = nvrtc_version() else {
        return Err(refused.unwrap_or_else(|| match precompiled() {
            true => CudaError::NotPrecompiled {
                unit: instance.unit.into(),
                defined: instance.defined(),
            },
            false => CudaError::NoNvrtc,
        }));
    };
    let options = instance.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    for target in on.targets(code, &architectures()) {
        let entry = instance.entry(target, nvrtc);
        if let Some(image) = entry.read().filter(|_| quickest) {
            let origin = either(target, Origin::Cached, Origin::CachedPtx);
            if let Some(loaded) = attempt(&image, origin, Some(nvrtc))? {
                return Ok(loaded);
            }
        }
        let image = compile(instance.unit, instance.precision, target, &options)?.image;
        let origin = either(target, Origin::Compiled, Origin::CompiledPtx);
        if let Some(loaded) = attempt(&image, origin, Some(nvrtc))? {
            entry.write(&image);
            return Ok(loaded);
        }
    }
    Err(refused.unwrap_or(CudaError::NoNvrtc))
}

/// Returns the program's images of an instance.
fn embedded(instance: &Instance) -> impl Iterator<Item = (Target, &'static [u8])> {
    let key = (instance.unit, instance.precision, instance.defined());
    IMAGES
        .iter()
        .filter(move |&&(unit, precision, defined, ..)| {
            (unit, precision, defined) == (key.0, key.1, &key.2)
        })
        .map(|&(_, _, _, target, image)| (target, image))
}

fn either(target: Target, machine_code: Origin, ptx: Origin) -> Origin {
    match target {
        Target::Cubin(_) => machine_code,
        Target::Ptx(_) => ptx,
    }
}

/// Loads a CUBIN, a fat binary or PTX text.
fn load_image(context: &Arc<CudaContext>, image: &[u8]) -> Result<Arc<CudaModule>, DriverError> {
    // The driver expects a text to end in zero.
    let ended = image.iter().chain(&[0]).copied().collect();
    context.load_module(Ptx::from_binary(ended))
}

/// Returns the reason why the driver refused an image of `compiler`, the version of NVRTC or nvcc.
fn refusal(
    error: DriverError,
    compiler: Option<(i32, i32)>,
    driver: Option<(i32, i32)>,
) -> CudaError {
    let unknown_form = matches!(
        error.0,
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUresult::CUDA_ERROR_INVALID_PTX
            | CUresult::CUDA_ERROR_INVALID_IMAGE
            | CUresult::CUDA_ERROR_INVALID_SOURCE
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
    );
    match (driver, compiler) {
        (Some(driver), Some(needed)) if unknown_form && driver < needed => {
            CudaError::OldDriver { driver, needed }
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests;
