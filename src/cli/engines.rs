//! The engine of a command.

use super::failure::Failure;
use super::options::SolveArgs;
use crate::engine::{Choice, Descriptor};
use crate::engines::{self, EngineChoice, Opened};
use crate::paper::bench::{Target, cpu_target};

/// Begins to open the requested device, if any, while the design is read. Loads the kernels of an
/// engine, and of a placement if `to_place`.
#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
pub(crate) fn prefetch_device(options: &SolveArgs, to_place: bool) {
    #[cfg(feature = "cuda")]
    {
        let device = match options.engine {
            EngineChoice::Cpu => return,
            EngineChoice::Several(_) if !to_place => return,
            EngineChoice::Several(devices) => devices.first(),
            EngineChoice::Auto => 0,
            EngineChoice::Cuda(device) => device,
        };
        crate::real::with_precision!(options.precision, T => {
            engines::prefetch::<T>(device, to_place)
        });
    }
}

/// Returns the choice of `--pipeline auto`, with its reason.
pub(crate) fn pipeline_note(options: &SolveArgs, choice: &Choice) -> Option<String> {
    let Choice { pipeline, reason } = choice;
    options.pipeline.is_none().then(|| format!("pipeline: {pipeline} ({reason})"))
}

/// Returns the descriptor of transforms on the CPU without an engine.
pub(crate) fn on_cpu() -> Descriptor {
    Descriptor { engine: "cpu", device: format!("{} threads", rayon::current_num_threads()) }
}

/// Opens the target of benchmarks, which run on one device.
pub(crate) fn open_target(choice: EngineChoice, threads: usize) -> Result<Opened<Target>, Failure> {
    let Opened { engine: choice, note } = engines::resolve(choice)?;
    let engine = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => crate::paper::bench::cuda_target(device)
            .map_err(|e| engines::advise(Failure::from(e), &note))?,
        _ => cpu_target(threads)?,
    };
    Ok(Opened { engine, note })
}
