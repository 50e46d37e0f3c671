//! Compiles the CUDA C++ under `kernels/`, embedded in the program, to code that the device runs.
//!
//! NVRTC compiles a kernel file for one precision, one architecture and one set of macros at a
//! time, to machine code (a CUBIN). A cache on disk keeps the code, so that a second start compiles
//! nothing. If the driver refuses the CUBIN, or NVRTC does not know the architecture, NVRTC
//! compiles PTX instead. The cache keeps the PTX too, and the driver compiles it to machine code. A
//! program built with `PLACEFIELD_PRECOMPILE` already contains most code and needs no NVRTC for it.
//!
//! The cache is `$PLACEFIELD_CACHE`, else `$XDG_CACHE_HOME/placefield`, else `~/.cache/placefield`,
//! and takes 512 MB at most. A cache that cannot be read or written costs time, but the run
//! succeeds.

mod cache;
mod load;

use super::error::CudaError;
use crate::hash::Fnv1a;
use crate::real::Precision;
use cudarc::nvrtc::{result, sys};
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

pub use cache::cache_folder;
pub(super) use load::{Architectures, Instance, Loaded, load_all};
pub use load::{Code, Origin};

mod embedded {
    #[allow(unused_imports)] // where nothing is compiled with the program
    use super::{Precision, Target};
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}
use embedded::{COMPILER, HEADERS, IMAGES, UNITS};

/// A compilation target, with ten times the compute capability (90 for 9.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Machine code for one architecture.
    Cubin(u32),
    /// Portable assembly for this architecture and every later one.
    Ptx(u32),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Cubin(sm) => write!(f, "sm_{sm}"),
            Target::Ptx(sm) => write!(f, "compute_{sm}"),
        }
    }
}

/// NVRTC's output for a kernel file.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// A CUBIN, or PTX text without its final zero.
    pub image: Vec<u8>,
    /// The compiler's log.
    pub log: String,
}

/// Returns the names of the kernel files, without extension.
pub fn units() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|&(name, _)| name)
}

/// Whether the program contains compiled code for its kernels.
pub fn precompiled() -> bool {
    !IMAGES.is_empty()
}

/// Returns NVRTC's version; `None` if its library does not open.
pub fn nvrtc_version() -> Option<(i32, i32)> {
    static FOUND: OnceLock<Option<(i32, i32)>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: opens the library and closes it again; writes two integers if it is there.
        unsafe {
            let found = sys::is_culib_present();
            let told = found && sys::nvrtcVersion(&mut major, &mut minor).result().is_ok();
            told.then_some((major, minor))
        }
    })
}

/// Returns a hash of all kernel files.
pub(crate) fn source_hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(|| {
        let files = UNITS.iter().chain(HEADERS);
        files.fold(Fnv1a::new(), |hash, (name, text)| hash.text(name).text(text)).finish()
    })
}

/// Returns the embedded name that equals `name`.
pub(super) fn unit_name(name: &str) -> Result<&'static str, CudaError> {
    units().find(|&unit| unit == name).ok_or_else(|| CudaError::NoSuchUnit(name.into()))
}

/// Compiles a kernel file in one precision, with `options` after the usual ones. Several threads
/// may compile at once, because each has a separate NVRTC program.
///
/// # Errors
/// [`CudaError::NoNvrtc`], an error for an unknown name, or the compiler's log.
pub fn compile(
    unit: &str,
    precision: Precision,
    target: Target,
    options: &[&str],
) -> Result<Compiled, CudaError> {
    if nvrtc_version().is_none() {
        return Err(CudaError::NoNvrtc);
    }
    let options: Vec<String> = usual_options(precision, target)
        .into_iter()
        .chain(options.iter().map(|&option| option.to_owned()))
        .collect();
    let fail =
        |log: String| CudaError::Compile { unit: unit.into(), target: target.to_string(), log };
    let program = Program::new(unit_name(unit)?).map_err(|e| fail(format!("{e:?}")))?;
    // SAFETY: `program` is live until the end of this function.
    let outcome = unsafe { result::compile_program(program.0, &options) };
    let log = program.log();
    outcome.map_err(|e| fail(format!("{e:?}\n{log}")))?;
    let image = program.image(target).map_err(|e| fail(format!("{e:?}\n{log}")))?;
    Ok(Compiled { image, log })
}

fn usual_options(precision: Precision, target: Target) -> Vec<String> {
    let real = match precision {
        Precision::F32 => "float",
        Precision::F64 => "double",
    };
    vec![
        format!("--gpu-architecture={target}"),
        "--std=c++17".into(),
        "--generate-line-info".into(),
        format!("--define-macro=PF_REAL={real}"),
    ]
}

/// An NVRTC program; destroyed when dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(unit: &str) -> Result<Program, result::NvrtcError> {
        let c_string = |text: &str| CString::new(text).expect("a kernel file holds no zero byte");
        let source = UNITS.iter().find(|(name, _)| *name == unit).map_or("", |&(_, text)| text);
        let source = c_string(source);
        let name = c_string(&format!("{unit}.cu"));
        let headers: Vec<(CString, CString)> =
            HEADERS.iter().map(|&(name, text)| (c_string(name), c_string(text))).collect();
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let mut program = std::ptr::null_mut();
        // SAFETY: all strings end in zero and outlive the call, which copies them; the arrays hold
        // as many entries as the passed count.
        unsafe {
            sys::nvrtcCreateProgram(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                headers.len() as i32,
                texts.as_ptr(),
                names.as_ptr(),
            )
        }
        .result()?;
        Ok(Program(program))
    }

    fn log(&self) -> String {
        // SAFETY: the program is live.
        let log = unsafe { result::get_program_log(self.0) }.unwrap_or_default();
        let bytes: Vec<u8> = log.into_iter().map(|c| c as u8).take_while(|&b| b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn image(&self, target: Target) -> Result<Vec<u8>, result::NvrtcError> {
        let mut size = 0;
        if let Target::Ptx(_) = target {
            // SAFETY: the program is live and has been compiled.
            let text = unsafe { result::get_ptx(self.0) }?;
            return Ok(text.into_iter().map(|c| c as u8).take_while(|&b| b != 0).collect());
        }
        // SAFETY: the program is live and has been compiled; the buffer has the size that NVRTC
        // requests.
        unsafe {
            sys::nvrtcGetCUBINSize(self.0, &mut size).result()?;
            let mut image = vec![0u8; size];
            sys::nvrtcGetCUBIN(self.0, image.as_mut_ptr().cast()).result()?;
            Ok(image)
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is live and not used again.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// Returns the architectures that NVRTC can compile for, oldest first.
fn architectures() -> Vec<u32> {
    let mut count = 0;
    // SAFETY: the library is there (the caller has asked for its version); the buffer has the size
    // that NVRTC requests.
    unsafe {
        if sys::nvrtcGetNumSupportedArchs(&mut count).result().is_err() {
            return Vec::new();
        }
        let mut found = vec![0; usize::try_from(count).unwrap_or(0)];
        if sys::nvrtcGetSupportedArchs(found.as_mut_ptr()).result().is_err() {
            return Vec::new();
        }
        found.into_iter().filter_map(|sm| u32::try_from(sm).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with compiled code contains every kernel file in both precisions.
    #[test]
    fn compiled_code_is_for_all_kernel_files_or_none() {
        let has = |unit, precision| {
            IMAGES.iter().any(|&(u, p, .., code)| (u, p) == (unit, precision) && !code.is_empty())
        };
        let all = units().all(|unit| has(unit, Precision::F32) && has(unit, Precision::F64));
        assert!(all && COMPILER.is_some() || IMAGES.is_empty());
    }

    #[test]
    fn every_include_of_a_kernel_file_is_embedded() {
        for (name, text) in UNITS.iter().chain(HEADERS) {
            for line in text.lines().filter_map(|l| l.strip_prefix("#include \"")) {
                let header = line.trim_end_matches('"');
                assert!(HEADERS.iter().any(|(n, _)| *n == header), "{name} includes {header}");
            }
        }
    }
}
