//! Embeds the CUDA kernels: their source always, and machine code as well when
//! `PLACEFIELD_PRECOMPILE` asks for it (needs `nvcc`, on the path or in `$NVCC`),
//! so that the program then runs without NVRTC. It is 1 for every supported
//! architecture, or names some by their compute capability times ten, as in
//! `80,90`.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Architectures that get machine code unless others are asked for; every other one
/// gets the oldest one's PTX.
const ARCHITECTURES: [u32; 4] = [75, 80, 90, 100];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=kernels");
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
    let architectures = architectures();

    let mut code = String::new();
    table(&mut code, "UNITS", &units, stem);
    table(&mut code, "HEADERS", &headers, |header| {
        header.strip_prefix(&kernels).unwrap().to_str().expect("a kernel file's name is UTF-8")
    });
    code.push_str("pub(crate) const MACHINE_CODE: &[(&str, &str, &[u8])] = &[\n");
    for unit in units.iter().filter(|_| !architectures.is_empty()) {
        for real in ["float", "double"] {
            let image = assemble(&kernels, unit, real, &architectures, &out);
            let name = stem(unit);
            writeln!(code, "    ({name:?}, {real:?}, include_bytes!({image:?})),").unwrap();
        }
    }
    code.push_str("];\n");
    std::fs::write(out.join("kernels.rs"), code).unwrap();
}

/// What is asked for, ascending; none for no machine code.
fn architectures() -> Vec<u32> {
    let asked = env::var("PLACEFIELD_PRECOMPILE").unwrap_or_default();
    let mut found: Vec<u32> = match asked.as_str() {
        "" | "0" => Vec::new(),
        "1" => ARCHITECTURES.to_vec(),
        list => list
            .split(',')
            .map(|sm| match sm.parse() {
                Ok(sm) if sm >= ARCHITECTURES[0] => sm,
                _ => panic!("PLACEFIELD_PRECOMPILE={asked}: expected 1 or a list such as 80,90"),
            })
            .collect(),
    };
    found.sort_unstable();
    found.dedup();
    found
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

/// Compiles one unit for every architecture into one file.
fn assemble(kernels: &Path, unit: &Path, real: &str, architectures: &[u32], out: &Path) -> PathBuf {
    let image = out.join(format!("{}_{real}.fatbin", stem(unit)));
    let nvcc = env::var_os("NVCC").unwrap_or_else(|| OsString::from("nvcc"));
    let mut command = Command::new(&nvcc);
    command.args(["-fatbin", "-std=c++17", "-O3"]).arg(format!("-DPF_REAL={real}"));
    command.arg("-I").arg(kernels);
    for sm in architectures {
        command.arg("-gencode").arg(format!("arch=compute_{sm},code=sm_{sm}"));
    }
    let oldest = architectures[0];
    command.arg("-gencode").arg(format!("arch=compute_{oldest},code=compute_{oldest}"));
    let status = command.arg("-o").arg(&image).arg(unit).status();
    match status {
        Ok(status) if status.success() => image,
        Ok(status) => panic!("PLACEFIELD_PRECOMPILE: nvcc on {}: {status}", unit.display()),
        Err(error) => panic!("PLACEFIELD_PRECOMPILE: cannot run {}: {error}", nvcc.display()),
    }
}
