//! Where a device's code comes from: the program, the cache on disk or the compiler.

use crate::device::gpu;
use crate::maps::grid;
use placefield::cuda::internals::ThreePass;
use placefield::cuda::internals::compile::precompiled;
use placefield::cuda::{DeviceLimit, Gpu, GpuOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints where its kernels came from, each origin once if all have the same; run by the tests
/// below in a process of its own.
#[test]
fn kernel_origins() {
    let gpu = gpu();
    ThreePass::<f32>::new(&gpu, &grid(64, 64)).unwrap();
    let mut origins: Vec<_> = gpu.kernel_origins().into_iter().map(|found| found.origin).collect();
    origins.dedup();
    println!("origins: {origins:?}");
}

/// Returns the output of [`kernel_origins`] in a new process with this cache and limit.
fn start(cache: &Path, limit: &str) -> String {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "code::kernel_origins", "--nocapture"])
        .env("PLACEFIELD_CACHE", cache)
        .env("PLACEFIELD_DEVICE_LIMIT", limit)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = String::from_utf8_lossy(&run.stdout);
    said.lines().find_map(|line| line.strip_prefix("origins: ")).expect("origins").to_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A second start with `limit` compiles nothing, and a damaged cache or none costs time
/// alone. `ptx` is what PTX adds to the names of origins.
fn second_start(limit: &str, ptx: &str) {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let origins = |cache: &Path, origin: &str| {
        assert_eq!(start(cache, limit), format!("[{origin}{ptx}]"), "with {limit}");
    };
    if precompiled() {
        // Then not even the first start compiles, and nothing is kept.
        origins(&cache, "Embedded");
        assert!(!cache.exists());
    } else {
        origins(&cache, "Compiled");
        origins(&cache, "Cached");
        for file in files(&files(&cache)[0]) {
            std::fs::write(&file, b"damaged").unwrap();
        }
        origins(&cache, "Compiled");
        origins(&cache, "Cached");
        let blocked = folder.path().join("file");
        std::fs::write(&blocked, b"").unwrap();
        origins(&blocked, "Compiled");
    }
}

#[test]
fn a_second_start_compiles_nothing() {
    second_start("", "");
}

#[test]
fn a_second_start_compiles_no_ptx_either() {
    let whole = Gpu::open_with(0, GpuOptions::default().limit(DeviceLimit::none())).unwrap();
    // Machine code for 7.5 runs on no other generation.
    let ptx = if whole.info().architecture() / 10 == 7 { "" } else { "Ptx" };
    second_start("arch=75", ptx);
}
