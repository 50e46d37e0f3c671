//! `placefield info`: engines and devices found, and why one is missing.

use super::failure::Failure;
use crate::engine::Pipeline;
use clap::Args;
use std::io::{self, Write};

/// Options of `placefield info`.
#[derive(Args)]
pub(crate) struct InfoArgs {}

/// Lists engines and devices.
pub(crate) fn run(_: &InfoArgs) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let pipelines = Pipeline::ALL.map(Pipeline::name).join(", ");
    writeln!(out, "placefield {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "cpu   {threads} threads; pipelines {pipelines} (auto: three-pass); f32, f64")?;
    cuda(&mut out)?;
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn cuda(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "cuda  not available: this program was built without the cuda feature")
}

#[cfg(feature = "cuda")]
fn cuda(out: &mut impl Write) -> io::Result<()> {
    use crate::cuda::{DeviceLimit, compile, probe};
    let found = probe();
    let limit = DeviceLimit::from_environment();
    match limit.err().or_else(|| found.obstacle(0)) {
        Some(why) => writeln!(out, "cuda  not available: {why}")?,
        None => {
            writeln!(
                out,
                "cuda  pipelines {}; f32, f64 (auto: three-pass where both numbers of bins are even and without large prime factors, else fused)",
                Pipeline::ALL.map(Pipeline::name).join(", ")
            )?;
        }
    }
    let version = |version: Option<(i32, i32)>| {
        version.map_or("not found".to_owned(), |(major, minor)| format!("{major}.{minor}"))
    };
    let cache = compile::cache_folder()
        .map_or("none: no $PLACEFIELD_CACHE and no home".into(), |f| f.display().to_string());
    let kernels = if found.precompiled { "built into the program" } else { "compiled by NVRTC" };
    writeln!(out, "  driver    {}", version(found.driver_version))?;
    writeln!(out, "  cuFFT     {}", version(found.cufft_version))?;
    writeln!(out, "  NVRTC     {}", version(found.nvrtc))?;
    writeln!(out, "  kernels   {kernels}; cached in {cache}")?;
    for device in &found.devices {
        let (major, minor) = device.compute_capability;
        let unfit = found.obstacle(device.ordinal).map_or(String::new(), |why| format!(": {why}"));
        writeln!(
            out,
            "  device {}  {}, compute capability {major}.{minor}, {} MiB, {} multiprocessors, {} KB of shared memory a block{unfit}",
            device.ordinal,
            device.name,
            device.memory >> 20,
            device.multiprocessors,
            device.shared_memory >> 10
        )?;
    }
    Ok(())
}
