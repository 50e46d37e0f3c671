//! From the CUDA C++ under `kernels/`, embedded in the program, to code the
//! device runs.
//!
//! A kernel file is compiled once per precision and architecture, with NVRTC,
//! to machine code (a CUBIN), and kept in a cache on disk, so that a second
//! start compiles nothing. Where the driver refuses the CUBIN, or NVRTC does not
//! know the architecture, PTX is compiled instead and the driver does the rest.
//! A program built with `PLACEFIELD_PRECOMPILE` holds machine code already and
//! needs no NVRTC.
//!
//! The cache is `$PLACEFIELD_CACHE`, else `$XDG_CACHE_HOME/placefield`, else
//! `~/.cache/placefield`. A cache that cannot be read or written costs time,
//! never the run.

use super::error::CudaError;
use super::real::CudaReal;
use crate::output::write_whole;
use crate::real::Precision;
use cudarc::driver::{CudaContext, CudaModule, DriverError};
use cudarc::nvrtc::{Ptx, result, sys};
use serde::Serialize;
use std::ffi::{CString, c_char};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}
use embedded::{HEADERS, MACHINE_CODE, UNITS};

/// Where a device's code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Origin {
    /// Machine code built into the program.
    Embedded,
    /// Machine code from the cache on disk.
    Cached,
    /// Compiled to machine code at this start.
    Compiled,
    /// Compiled to PTX at this start; the driver made machine code of it.
    CompiledPtx,
}

/// Where a device's machine code may come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The quickest that there is: machine code in the program, then in the cache,
    /// then compiled, then PTX.
    #[default]
    Quickest,
    /// Compiled to machine code at every start, whatever the program and the cache
    /// hold.
    Compiled,
    /// Compiled to PTX at every start; the driver makes machine code of it, as it
    /// does on a device that NVRTC is too old for.
    Ptx,
}

/// What to compile to, with the compute capability times ten (90 for 9.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What NVRTC made of a kernel file.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// A CUBIN, or PTX text without its final zero.
    pub image: Vec<u8>,
    /// The compiler's remarks.
    pub log: String,
}

/// The text of a kernel file: a `.cu` by its name without extension, a header by its
/// path below `kernels`. For tests that hold host constants to the kernels' own.
#[cfg(test)]
pub(in crate::cuda) fn kernel_source(file: &str) -> &'static str {
    let mut files = UNITS.iter().chain(HEADERS);
    files.find(|(key, _)| *key == file).unwrap_or_else(|| panic!("no kernel file {file}")).1
}

/// What a kernel file sets the constant `name` to, as it is written there.
///
/// # Panics
/// When the file does not define it exactly once, at the outermost level.
#[cfg(test)]
pub(in crate::cuda) fn kernel_constant(file: &str, name: &str) -> &'static str {
    let definition = format!(" {name} = ");
    let lines = kernel_source(file).lines().filter(|line| line.starts_with("constexpr "));
    let found: Vec<&str> = lines
        .filter_map(|line| line.split_once(&definition))
        .map(|(_, rest)| rest.split([',', ';']).next().unwrap_or(rest))
        .collect();
    assert_eq!(found.len(), 1, "definitions of {name} in {file}: {found:?}");
    found[0]
}

/// The kernel files' names, without extension.
pub fn units() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|&(name, _)| name)
}

/// Whether the program holds machine code for its kernels.
pub fn precompiled() -> bool {
    !MACHINE_CODE.is_empty()
}

/// NVRTC's version; `None` when its library does not open.
pub fn nvrtc_version() -> Option<(i32, i32)> {
    // SAFETY: opens the library and closes it again.
    if !unsafe { sys::is_culib_present() } {
        return None;
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two integers; the library is there.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) }.result().ok()?;
    Some((major, minor))
}

/// The embedded name equal to `name`.
pub(super) fn unit_name(name: &str) -> Result<&'static str, CudaError> {
    units().find(|&unit| unit == name).ok_or_else(|| CudaError::NoSuchUnit(name.into()))
}

/// Compiles a kernel file in one precision. `options` are added to the usual ones.
///
/// # Errors
/// [`CudaError::NoNvrtc`], an unknown name, or the compiler's log.
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
        // SAFETY: all strings end in zero and outlive the call, which copies
        // them; the arrays hold as many entries as it is told.
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
        // SAFETY: the program is live and has been compiled; the buffer has the
        // size NVRTC asks for.
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

/// Architectures NVRTC can compile for, oldest first.
fn architectures() -> Vec<u32> {
    let mut count = 0;
    // SAFETY: the library is there (the caller has asked for its version); the
    // buffer has the size NVRTC asks for.
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

/// Loads a kernel file, compiled for architecture `sm`, onto a device of architecture
/// `device` or limited from that to `sm`; with `options` where it must be compiled.
pub(super) fn load<T: CudaReal>(
    context: &Arc<CudaContext>,
    unit: &'static str,
    (sm, device): (u32, u32),
    code: Code,
    options: &[&str],
) -> Result<(Arc<CudaModule>, Origin), CudaError> {
    let quickest = code == Code::Quickest;
    let embedded = MACHINE_CODE.iter().find(|(name, real, _)| *name == unit && *real == T::C_NAME);
    // The driver would choose the device's own of the architectures in the image.
    if let Some((_, _, image)) = embedded.filter(|_| quickest && sm == device) {
        return Ok((load_image(context, image)?, Origin::Embedded));
    }
    let version = nvrtc_version().ok_or(CudaError::NoNvrtc)?;
    let known = architectures();
    // Machine code runs on its own generation alone.
    if code != Code::Ptx && sm / 10 == device / 10 && (known.is_empty() || known.contains(&sm)) {
        let target = Target::Cubin(sm);
        let entry = CacheEntry::new(unit, T::PRECISION, target, version, options);
        let cached = if quickest { entry.read() } else { None };
        if let Some(module) = cached.and_then(|image| load_image(context, &image).ok()) {
            return Ok((module, Origin::Cached));
        }
        let image = compile(unit, T::PRECISION, target, options)?.image;
        if let Ok(module) = load_image(context, &image) {
            entry.write(&image);
            return Ok((module, Origin::Compiled));
        }
    }
    let newest = known.into_iter().filter(|&known| known <= sm).max().unwrap_or(sm);
    let ptx = compile(unit, T::PRECISION, Target::Ptx(newest), options)?.image;
    let module = context.load_module(Ptx::from_src(String::from_utf8_lossy(&ptx)))?;
    Ok((module, Origin::CompiledPtx))
}

fn load_image(context: &Arc<CudaContext>, image: &[u8]) -> Result<Arc<CudaModule>, DriverError> {
    context.load_module(Ptx::from_binary(image.to_vec()))
}

/// One file of the cache.
struct CacheEntry {
    /// `None` when there is nowhere to keep a cache.
    path: Option<PathBuf>,
}

/// What a cache file begins with; its payload's hash follows.
const MAGIC: &[u8; 16] = b"placefield-cubin";

impl CacheEntry {
    fn new(
        unit: &str,
        precision: Precision,
        target: Target,
        nvrtc: (i32, i32),
        options: &[&str],
    ) -> CacheEntry {
        let source = UNITS.iter().find(|(name, _)| *name == unit);
        let key = hash(&(source, HEADERS, usual_options(precision, target), options, nvrtc));
        let file = format!("{unit}-{precision}-{target}-{key:016x}.cubin");
        CacheEntry { path: cache_folder().map(|dir| dir.join(file)) }
    }

    /// The machine code, if it is there and whole.
    fn read(&self) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path.as_ref()?).ok()?;
        let (sum, image) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
        (hash(&image) == u64::from_le_bytes(*sum)).then(|| image.to_vec())
    }

    /// Keeps the machine code; a failure is no error, only a slower next start.
    fn write(&self, image: &[u8]) {
        let Some(path) = &self.path else { return };
        let parts: [&[u8]; 3] = [MAGIC, &hash(&image).to_le_bytes(), image];
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let _ = folder.and_then(|()| {
            write_whole(path, |file| parts.iter().try_for_each(|part| file.write_all(part)))
        });
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The folder that compiled kernels are kept in; `None` when the environment
/// names no place for one. It need not exist.
pub fn cache_folder() -> Option<PathBuf> {
    cache_folder_in(|name| std::env::var_os(name))
}

/// The cache's folder, given a way to look up environment variables.
fn cache_folder_in(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PLACEFIELD_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("placefield")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache").join("placefield")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_folder_follows_the_environment() {
        let find = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            cache_folder_in(|name| set.iter().find(|(k, _)| k == name).map(|(_, v)| v.into()))
        };
        let all = [("PLACEFIELD_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(find(&all), Some("/a".into()));
        assert_eq!(find(&all[1..]), Some("/b/placefield".into()));
        assert_eq!(find(&all[2..]), Some("/c/.cache/placefield".into()));
        assert_eq!(find(&[("PLACEFIELD_CACHE", "")]), None);
    }

    #[test]
    fn what_is_cached_comes_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("kernels.cubin");
        let entry = CacheEntry { path: Some(path.clone()) };
        assert_eq!(entry.read(), None);
        entry.write(b"machine code");
        assert_eq!(entry.read().as_deref(), Some(&b"machine code"[..]));
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(entry.read(), None);
        std::fs::write(&path, b"plac").unwrap();
        assert_eq!(entry.read(), None);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"").unwrap();
        let entry = CacheEntry { path: Some(file.join("under").join("a-file.cubin")) };
        entry.write(b"machine code");
        assert_eq!(entry.read(), None);
        CacheEntry { path: None }.write(b"machine code");
    }

    /// Of a program with machine code, every kernel file in both precisions.
    #[test]
    fn machine_code_is_for_all_kernel_files_or_none() {
        let has = |unit, real| {
            MACHINE_CODE.iter().any(|&(u, r, code)| (u, r) == (unit, real) && !code.is_empty())
        };
        let all = units().all(|unit| has(unit, "float") && has(unit, "double"));
        assert!(all && MACHINE_CODE.len() == 2 * UNITS.len() || MACHINE_CODE.is_empty());
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
