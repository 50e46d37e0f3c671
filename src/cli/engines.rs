//! Which engine runs: what the user chose and what the machine has.

use super::Failure;
use super::common::SolveArgs;
use placefield::charge::Charge;
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Choice, Engine, EngineOptions, Pipeline};
use placefield::place::{Backend, HostBackend};
use placefield::wirelength::Netlist;
use std::str::FromStr;

/// Floating-point types every engine of this build computes in.
#[cfg(not(feature = "cuda"))]
pub(crate) use placefield::Real as EngineReal;
#[cfg(feature = "cuda")]
pub(crate) use placefield::cuda::CudaReal as EngineReal;

/// `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineChoice {
    Auto,
    Cpu,
    Cuda(usize),
    /// The CPU and a CUDA device side by side.
    Both(usize),
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, device) = match text.split_once(':') {
            Some((name, number)) => (name, number.parse().ok()),
            None => (text, Some(0)),
        };
        match (name, device) {
            ("auto", _) if name == text => Ok(EngineChoice::Auto),
            ("cpu", _) if name == text => Ok(EngineChoice::Cpu),
            ("cuda", Some(device)) => Ok(EngineChoice::Cuda(device)),
            ("both", Some(device)) => Ok(EngineChoice::Both(device)),
            _ => {
                Err("expected auto, cpu, cuda or cuda:N (compare: also both or both:N)".to_owned())
            }
        }
    }
}

impl EngineChoice {
    /// Wrong usage for a command that runs one engine when two are asked for.
    pub(crate) fn only_one(self) -> Result<(), Failure> {
        match self {
            EngineChoice::Both(_) => {
                let message = "'--engine both' is for compare: expected auto, cpu, cuda or cuda:N";
                Err(super::usage(clap::error::ErrorKind::InvalidValue, message))
            }
            _ => Ok(()),
        }
    }
}

/// The engines the user chose, one or two, and what `auto` took and why.
pub(crate) struct Chosen<T: EngineReal> {
    pub(crate) engines: Vec<Box<dyn Engine<T>>>,
    pub(crate) note: Option<String>,
}

/// Opens the engines of `choice`.
pub(crate) fn open<T: EngineReal>(
    charge: Charge,
    options: &EngineOptions,
    choice: EngineChoice,
) -> Result<Chosen<T>, Failure> {
    let cpu = |charge| -> Result<Box<dyn Engine<T>>, Failure> {
        Ok(Box::new(CpuEngine::new(charge, options)?))
    };
    let one = |engine| Chosen { engines: vec![engine], note: None };
    match choice {
        EngineChoice::Cpu => Ok(one(cpu(charge)?)),
        EngineChoice::Cuda(device) => Ok(one(cuda::open(charge, options, device)?)),
        // The device first: what it lacks is known at once.
        EngineChoice::Both(device) => {
            let gpu = cuda::open(charge.clone(), options, device)?;
            Ok(Chosen { engines: vec![cpu(charge)?, gpu], note: None })
        }
        EngineChoice::Auto => {
            let (engine, what) = match cuda::obstacle(0) {
                Some(why) => (cpu(charge)?, format!("cpu ({why})")),
                None => {
                    let gpu = cuda::open(charge, options, 0)
                        .map_err(|e| format!("{e} (--engine cpu does without CUDA)"))?;
                    let what = format!("cuda:0 ({} can be used)", gpu.descriptor().device);
                    (gpu, what)
                }
            };
            Ok(Chosen { engines: vec![engine], note: Some(format!("engine: {what}")) })
        }
    }
}

/// The machine of a placement, its pipeline, and what each `auto` took and why.
pub(crate) struct ChosenBackend {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) pipeline: Pipeline,
    pub(crate) notes: Vec<String>,
}

/// Opens what places on the engine of `options`, of two on the first.
pub(crate) fn open_backend<T: EngineReal>(
    charge: Charge,
    netlist: &Netlist,
    options: &SolveArgs,
) -> Result<ChosenBackend, Failure> {
    let engine_options = options.engine_options();
    let Chosen { mut engines, note } = open::<T>(charge, &engine_options, options.engine)?;
    let engine = engines.remove(0);
    let Choice { pipeline, reason } = engine.choice().clone();
    let mut notes = Vec::from_iter(note);
    if options.pipeline().is_none() {
        notes.push(format!("pipeline: {pipeline} ({reason})"));
    }
    let backend = HostBackend::new(engine, netlist, engine_options.threads)?;
    Ok(ChosenBackend { backend: Box::new(backend), pipeline, notes })
}

#[cfg(feature = "cuda")]
mod cuda {
    use super::*;
    use placefield::cuda::{CudaEngine, probe};

    /// What keeps a device from being used, if anything.
    pub(super) fn obstacle(device: usize) -> Option<String> {
        probe().obstacle(device).map(|e| e.to_string())
    }

    pub(super) fn open<T: EngineReal>(
        charge: Charge,
        options: &EngineOptions,
        device: usize,
    ) -> Result<Box<dyn Engine<T>>, Failure> {
        Ok(Box::new(CudaEngine::new(charge, options, device)?))
    }
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    use super::*;

    pub(super) fn obstacle(_: usize) -> Option<String> {
        Some("no CUDA: this program was built without the cuda feature".to_owned())
    }

    pub(super) fn open<T: EngineReal>(
        _: Charge,
        _: &EngineOptions,
        device: usize,
    ) -> Result<Box<dyn Engine<T>>, Failure> {
        Err(obstacle(device).unwrap_or_default().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_names() {
        assert_eq!("auto".parse(), Ok(EngineChoice::Auto));
        assert_eq!("cpu".parse(), Ok(EngineChoice::Cpu));
        assert_eq!("cuda:3".parse(), Ok(EngineChoice::Cuda(3)));
        assert_eq!("cuda".parse(), Ok(EngineChoice::Cuda(0)));
        assert_eq!("both:1".parse(), Ok(EngineChoice::Both(1)));
        for wrong in ["gpu", "cuda:", "cuda:-1", "cpu:0", "auto:1", ":0", ""] {
            assert!(wrong.parse::<EngineChoice>().is_err(), "{wrong:?}");
        }
    }
}
