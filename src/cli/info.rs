//! `placefield info`: lists engines and devices, and reasons for missing ones.

use super::document::{Content, NO_FILES, write_document};
use super::failure::Failure;
use super::outputs::{Outputs, to_stdout};
use super::terminal::stdout;
use crate::engine::Pipeline;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// Options of `placefield info`.
#[derive(Args)]
pub(crate) struct InfoArgs {
    /// Write the list as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The JSON document about this build and this machine; its keys are stable.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Info {
    /// Names of the pipelines.
    pipelines: [&'static str; Pipeline::ALL.len()],
    /// Names of the precisions.
    precisions: [&'static str; 2],
    /// The CPU engine.
    cpu: Cpu,
    /// The CUDA engine.
    cuda: Cuda,
}

impl Content for Info {
    const COMMAND: &'static str = "info";
}

#[derive(Serialize, JsonSchema)]
struct Cpu {
    /// Number of processors.
    threads: usize,
}

#[derive(Serialize, Default, JsonSchema)]
struct Cuda {
    /// Whether device 0 can be used.
    usable: bool,
    /// The reason it cannot.
    obstacle: Option<String>,
    /// Versions of the libraries opened at run time, as "13.0"; null if not found.
    driver: Option<String>,
    /// Likewise.
    cufft: Option<String>,
    /// Likewise.
    nvrtc: Option<String>,
    /// Likewise.
    nccl: Option<String>,
    /// Whether the program contains the kernels.
    precompiled: bool,
    /// Folder of compiled kernels.
    cache: Option<PathBuf>,
    /// The GPUs that were found.
    devices: Vec<Device>,
}

#[derive(Serialize, JsonSchema)]
struct Device {
    /// The device's number.
    ordinal: usize,
    /// The name of the device.
    name: String,
    /// For example "9.0".
    compute_capability: String,
    /// Memory, MiB.
    memory_mib: usize,
    /// Streaming multiprocessors.
    multiprocessors: usize,
    /// Shared memory that a block can have, KiB.
    shared_memory_kib: usize,
    /// The reason it cannot be used.
    obstacle: Option<String>,
}

/// Lists engines and devices.
pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    Outputs::default().file("--json", args.json.as_ref()).check(&[])?;
    let info = Info {
        pipelines: Pipeline::ALL.map(Pipeline::name),
        precisions: ["f32", "f64"],
        cpu: Cpu { threads: std::thread::available_parallelism().map_or(1, |n| n.get()) },
        cuda: cuda(),
    };
    write_document(args.json.as_ref(), NO_FILES, NO_FILES, &info)?;
    if to_stdout(&args.json) {
        return Ok(());
    }
    Ok(print(&info)?)
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Cuda {
    let obstacle = Some("this program was built without the cuda feature".to_owned());
    Cuda { obstacle, ..Cuda::default() }
}

#[cfg(feature = "cuda")]
fn cuda() -> Cuda {
    use crate::cuda::internals::compile;
    use crate::cuda::{DeviceLimit, Peers, probe};
    let found = probe();
    let version = |v: Option<(i32, i32)>| v.map(|(major, minor)| format!("{major}.{minor}"));
    let limit = DeviceLimit::from_environment();
    let obstacle = limit.err().or_else(|| found.obstacle(0)).map(|why| why.to_string());
    let devices = found.devices.iter().map(|device| {
        let (major, minor) = device.compute_capability;
        Device {
            ordinal: device.ordinal,
            name: device.name.clone(),
            compute_capability: format!("{major}.{minor}"),
            memory_mib: device.memory >> 20,
            multiprocessors: device.multiprocessors as usize,
            shared_memory_kib: device.shared_memory >> 10,
            obstacle: found.obstacle(device.ordinal).map(|why| why.to_string()),
        }
    });
    Cuda {
        usable: obstacle.is_none(),
        obstacle,
        driver: version(found.driver_version),
        cufft: version(found.cufft_version),
        nvrtc: version(found.nvrtc),
        nccl: Peers::nccl_version(),
        precompiled: found.precompiled,
        cache: compile::cache_folder(),
        devices: devices.collect(),
    }
}

fn print(info: &Info) -> io::Result<()> {
    let mut out = stdout()?;
    let (pipelines, cuda) = (info.pipelines.join(", "), &info.cuda);
    writeln!(out, "placefield {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(
        out,
        "cpu   {} threads; pipelines {pipelines} (auto: three-pass); f32, f64",
        info.cpu.threads
    )?;
    match &cuda.obstacle {
        Some(why) => writeln!(out, "cuda  not available: {why}")?,
        None => writeln!(
            out,
            "cuda  pipelines {pipelines}; f32, f64 (auto: three-pass where both numbers of bins \
             are multiples of 4 without prime factors above 5, else fused)"
        )?,
    }
    if cfg!(not(feature = "cuda")) {
        return Ok(());
    }
    let version = |version: &Option<String>| version.clone().unwrap_or("not found".to_owned());
    let cache = match &cuda.cache {
        Some(folder) => folder.display().to_string(),
        None => "none: no $PLACEFIELD_CACHE and no home".to_owned(),
    };
    let kernels = if cuda.precompiled { "built into the program" } else { "compiled by NVRTC" };
    writeln!(out, "  driver    {}", version(&cuda.driver))?;
    writeln!(out, "  cuFFT     {}", version(&cuda.cufft))?;
    writeln!(out, "  NVRTC     {}", version(&cuda.nvrtc))?;
    writeln!(out, "  NCCL      {}", version(&cuda.nccl))?;
    writeln!(out, "  kernels   {kernels}; cached in {cache}")?;
    for device in &cuda.devices {
        let unfit = device.obstacle.as_ref().map_or(String::new(), |why| format!(": {why}"));
        writeln!(
            out,
            "  device {}  {}, compute capability {}, {} MiB, {} multiprocessors, \
             {} KB of shared memory a block{unfit}",
            device.ordinal,
            device.name,
            device.compute_capability,
            device.memory_mib,
            device.multiprocessors,
            device.shared_memory_kib
        )?;
    }
    Ok(())
}
