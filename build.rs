//! Embeds the CUDA kernels: their source always, and compiled code as well when
//! `PLACEFIELD_PRECOMPILE` asks for it (needs `nvcc`, on the path or in `$NVCC`),
//! so that the program then runs without NVRTC. It is 1 for every supported
//! architecture that this `nvcc` knows, or names some by their compute capability times
//! ten, as in `80,90`.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Architectures that get machine code unless others are asked for.
const MACHINE_CODE: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// Architectures that get PTX, for every other and later one; of a list of others, its
/// oldest does.
const PTX: [u32; 2] = [75, 90];

/// Lines of these lengths are compiled for, those of the solve.
const LENGTHS: [usize; 8] = [64, 128, 256, 512, 1024, 2048, 4096, 8192];

#[path = "src/cuda/lines/instances.rs"]
mod lines;
#[path = "src/cuda/lines/shapes.rs"]
#[allow(dead_code)]
mod shapes;

/// A set of macros that a kernel file is compiled with: name and value, by name.
type Defines = Vec<(&'static str, String)>;

/// The sets of macros with which a kernel file gets compiled code for architecture `sm`
/// in a precision (`float` or `double`). What is not among them is compiled at run time,
/// or something else stands in for it.
fn instances(unit: &str, real: &str, target: Target) -> Vec<Defines> {
    let kernels = lines::solve(false);
    if unit != "transform" && kernels.iter().all(|(of, ..)| *of != unit) {
        return lines::others(unit);
    }
    let bytes = if real == "double" { 8 } else { 4 };
    let mut limits = vec![lines::limits_of(target.architecture())];
    if let Target::Ptx(90) = target {
        limits.push(lines::limits_of(120));
    }
    let lengths = LENGTHS.iter().flat_map(|&n| limits.iter().map(move |&limits| (n, limits)));
    let of = |(n, limits)| lines::of_length(unit, &kernels, (bytes, n), limits);
    let mut all: Vec<Defines> = lengths.flat_map(of).collect();
    all.sort();
    all.dedup();
    all
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=kernels");
    println!("cargo::rerun-if-changed=src/cuda/lines");
    println!("cargo::rerun-if-env-changed=PLACEFIELD_PRECOMPILE");
    println!("cargo::rerun-if-env-changed=NVCC");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    let kernels = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("kernels");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let units = files(&kernels, "cu");
    let mut stems: Vec<&str> = units.iter().map(|unit| stem(unit)).collect();
    stems.sort_unstable();
    assert!(stems.windows(2).all(|pair| pair[0] != pair[1]), "two kernel files share a name");
    let headers = files(&kernels, "cuh");

    let constants = std::fs::read_to_string(kernels.join("device/constants.cuh"));
    std::fs::write(out.join("constants.rs"), shared(&constants.expect("the shared constants")))
        .unwrap();
    let mut code = String::new();
    table(&mut code, "UNITS", &units, stem);
    table(&mut code, "HEADERS", &headers, |header| {
        header.strip_prefix(&kernels).unwrap().to_str().expect("a kernel file's name is UTF-8")
    });
    let asked = env::var("PLACEFIELD_PRECOMPILE").unwrap_or_default();
    let nvcc = (!matches!(asked.as_str(), "" | "0")).then(Nvcc::find);
    let images = nvcc.as_ref().map(|nvcc| images(&units, &targets(&asked, nvcc)));
    let images = images.unwrap_or_default();
    if let Some(nvcc) = &nvcc {
        at_once(&images, |image| nvcc.assemble(&kernels, &out, image));
    }
    let compiler = nvcc.map(|nvcc| nvcc.version);
    writeln!(code, "pub(crate) const COMPILER: Option<(i32, i32)> = {compiler:?};").unwrap();
    code.push_str("pub(crate) const IMAGES: &[(&str, Precision, &str, Target, &[u8])] = &[\n");
    for image in &images {
        let (unit, precision) =
            (stem(image.unit), if image.real == "float" { "F32" } else { "F64" });
        let (defined, target, path) = (image.defined(), image.target, image.path(&out));
        writeln!(
            code,
            "    ({unit:?}, Precision::{precision}, {defined:?}, Target::{target:?}, \
             include_bytes!({path:?})),"
        )
        .unwrap();
    }
    code.push_str("];\n");
    std::fs::write(out.join("kernels.rs"), code).unwrap();
}

/// Returns the Rust constants of the numbers that a header shares with the host.
///
/// # Panics
/// When a line defines something else.
fn shared(header: &str) -> String {
    let mut code = String::new();
    for line in header.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let definition = match line.starts_with("//") {
            true => line.starts_with("///").then(|| line.to_owned()),
            false => {
                let (name, value) = line
                    .strip_prefix("constexpr ")
                    .and_then(|rest| rest.strip_suffix(';')?.split_once(" = "))
                    .unwrap_or_else(|| panic!("device/constants.cuh: {line}"));
                let name = name.rsplit(' ').next().unwrap();
                let value: usize = value.parse().expect("a number");
                Some(format!("pub(in crate::cuda) const {name}: usize = {value};"))
            }
        };
        definition.iter().for_each(|line| writeln!(code, "{line}").unwrap());
    }
    code
}

/// What code is for, by ten times a compute capability.
#[derive(Clone, Copy, Debug)]
enum Target {
    Cubin(u32),
    Ptx(u32),
}

impl Target {
    fn architecture(self) -> u32 {
        let (Target::Cubin(sm) | Target::Ptx(sm)) = self;
        sm
    }

    /// As nvcc calls it.
    fn code(self) -> String {
        match self {
            Target::Cubin(sm) => format!("sm_{sm}"),
            Target::Ptx(sm) => format!("compute_{sm}"),
        }
    }
}

/// What is `asked` for.
fn targets(asked: &str, nvcc: &Nvcc) -> Vec<Target> {
    let (machine_code, ptx) = match asked {
        "1" => (MACHINE_CODE.to_vec(), PTX.to_vec()),
        list => {
            let mut found: Vec<u32> = list
                .split(',')
                .map(|sm| match sm.parse() {
                    Ok(sm) if sm >= MACHINE_CODE[0] => sm,
                    _ => {
                        panic!("PLACEFIELD_PRECOMPILE={asked}: expected 1 or a list such as 80,90")
                    }
                })
                .collect();
            found.sort_unstable();
            found.dedup();
            let oldest = found[0];
            (found, vec![oldest])
        }
    };
    let all = machine_code.into_iter().map(Target::Cubin).chain(ptx.into_iter().map(Target::Ptx));
    let (known, unknown): (Vec<_>, Vec<_>) =
        all.partition(|target| nvcc.architectures.contains(&target.architecture()));
    let unknown: Vec<_> = unknown.into_iter().map(Target::code).collect();
    if !unknown.is_empty() {
        let (major, minor) = nvcc.version;
        let lacks = format!("nvcc {major}.{minor} does not know {}", unknown.join(", "));
        assert!(asked == "1", "PLACEFIELD_PRECOMPILE={asked}: {lacks}");
        println!("cargo::warning=PLACEFIELD_PRECOMPILE: no code for some architectures: {lacks}");
    }
    known
}

/// Code to be compiled: one set of kernels for one architecture.
struct Image<'a> {
    unit: &'a Path,
    real: &'static str,
    defines: Defines,
    target: Target,
}

impl Image<'_> {
    fn defined(&self) -> String {
        let defines = self.defines.iter().map(|(name, value)| format!("{name}={value}"));
        defines.collect::<Vec<_>>().join(" ")
    }

    fn path(&self, out: &Path) -> PathBuf {
        // All macros together are too long for the name of a file.
        let mut hasher = DefaultHasher::new();
        self.defines.hash(&mut hasher);
        let (unit, code, hash) = (stem(self.unit), self.target.code(), hasher.finish());
        out.join(format!("{unit}_{}_{code}_{hash:016x}.fatbin", self.real))
    }
}

fn images<'a>(units: &'a [PathBuf], targets: &[Target]) -> Vec<Image<'a>> {
    let mut found = Vec::new();
    for unit in units {
        for real in ["float", "double"] {
            for &target in targets {
                let all = instances(stem(unit), real, target).into_iter();
                found.extend(all.map(|defines| Image { unit, real, defines, target }));
            }
        }
    }
    found
}

/// Does `work` on every item, as many at a time as cargo allows.
fn at_once<I: Sync>(items: &[I], work: impl Fn(&I) + Sync) {
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..items.len().min(jobs) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

/// The files with this extension in `folder` and the folders in it, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().expect("a kernel file's name is UTF-8")
}

/// A table of (key, source). A unit's key is its file's name without extension; a
/// header's is its path below `kernels`, by which it is included.
fn table<'a>(
    code: &mut String,
    name: &str,
    files: &'a [PathBuf],
    key: impl Fn(&'a Path) -> &'a str,
) {
    writeln!(code, "pub(crate) const {name}: &[(&str, &str)] = &[").unwrap();
    for file in files {
        writeln!(code, "    ({:?}, include_str!({file:?})),", key(file)).unwrap();
    }
    code.push_str("];\n");
}

/// The compiler.
struct Nvcc {
    program: OsString,
    version: (i32, i32),
    /// Those it compiles for, as ten times a compute capability.
    architectures: Vec<u32>,
}

impl Nvcc {
    fn find() -> Nvcc {
        let program = env::var_os("NVCC").unwrap_or_else(|| OsString::from("nvcc"));
        let said = |option| match Command::new(&program).arg(option).output() {
            Ok(run) if run.status.success() => String::from_utf8_lossy(&run.stdout).into_owned(),
            Ok(run) => {
                panic!("PLACEFIELD_PRECOMPILE: {} {option}: {}", program.display(), run.status)
            }
            Err(error) => {
                panic!("PLACEFIELD_PRECOMPILE: cannot run {}: {error}", program.display())
            }
        };
        // "Cuda compilation tools, release 13.0, V13.0.88"
        let about = said("--version");
        let version = about.split_once("release ").and_then(|(_, rest)| {
            let (major, rest) = rest.split_once('.')?;
            Some((major.parse().ok()?, rest.split(',').next()?.parse().ok()?))
        });
        let version = version.unwrap_or_else(|| {
            panic!("PLACEFIELD_PRECOMPILE: no version in what {} says: {about}", program.display())
        });
        let listed = said("--list-gpu-arch");
        let architectures =
            listed.lines().filter_map(|line| line.trim().strip_prefix("compute_")?.parse().ok());
        let architectures = architectures.collect();
        Nvcc { program, version, architectures }
    }

    /// Compiles one image.
    fn assemble(&self, kernels: &Path, out: &Path, image: &Image) {
        let mut command = Command::new(&self.program);
        command.args(["-fatbin", "-std=c++17", "-O3"]).arg(format!("-DPF_REAL={}", image.real));
        command.args(image.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        // Drivers of CUDA 12 do not all know these ways of compressing.
        if self.version >= (13, 0) {
            command.arg("--compress-mode=size");
        }
        let (sm, code) = (image.target.architecture(), image.target.code());
        command.arg("-gencode").arg(format!("arch=compute_{sm},code={code}"));
        command.arg("-I").arg(kernels).arg("-o").arg(image.path(out)).arg(image.unit);
        let what = || format!("{} for {code} {}", image.unit.display(), image.defined());
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("PLACEFIELD_PRECOMPILE: nvcc on {}: {status}", what()),
            Err(error) => {
                panic!("PLACEFIELD_PRECOMPILE: cannot run {}: {error}", self.program.display())
            }
        }
    }
}
