//! The engine that runs: the user's choice and the machine's devices.

use super::failure::Failure;
#[cfg(feature = "cuda")]
use super::options::Devices;
use super::options::{EngineChoice, SolveArgs};
use super::paper::{Target, cpu_target};
use crate::charge::Charge;
use crate::cpu::engine::CpuEngine;
use crate::engine::{Choice, Descriptor, EngineOptions, Timed};
use crate::place::{Backend, HostBackend};
use crate::refine::Device;
use crate::wirelength::Netlist;
use std::sync::Arc;

/// Floating-point types every engine of this build computes in.
#[cfg(not(feature = "cuda"))]
pub(crate) use crate::Real as EngineReal;
#[cfg(feature = "cuda")]
pub(crate) use crate::cuda::CudaReal as EngineReal;

/// Runs `$body` with `$t` standing for the precision's type.
macro_rules! with_precision {
    ($precision:expr, $t:ident => $body:expr) => {
        match $precision {
            crate::Precision::F32 => {
                type $t = f32;
                $body
            }
            crate::Precision::F64 => {
                type $t = f64;
                $body
            }
        }
    };
}
pub(crate) use with_precision;

const NO_CUDA: &str = "no CUDA: this program was built without the cuda feature";

/// What runs, and the choice of `auto` with its reason.
pub(crate) struct Chosen<E> {
    pub(crate) engine: E,
    pub(crate) note: Option<String>,
}

/// One engine, or two to compare.
pub(crate) type Engines<T> = Vec<Box<dyn Timed<T>>>;

/// Opens the engines of `choice`.
pub(crate) fn open<T: EngineReal>(
    charge: Charge,
    options: &EngineOptions,
    choice: EngineChoice,
) -> Result<Chosen<Engines<T>>, Failure> {
    let cpu = |charge| -> Result<Box<dyn Timed<T>>, Failure> {
        Ok(Box::new(CpuEngine::new(charge, options)?))
    };
    let Chosen { engine: choice, note } = decide(choice)?;
    let engine = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => {
            vec![cuda::open(charge, options, device).map_err(|e| advise(e, &note))?]
        }
        #[cfg(feature = "cuda")]
        EngineChoice::Several(devices) => {
            let (engine, note) = cuda::open_several(charge, options, devices)?;
            return Ok(Chosen { engine: vec![engine], note: Some(note) });
        }
        // The device first: anything it lacks is known at once.
        #[cfg(feature = "cuda")]
        EngineChoice::Both(device) => {
            let gpu = cuda::open(charge.clone(), options, device)?;
            vec![cpu(charge)?, gpu]
        }
        _ => vec![cpu(charge)?],
    };
    Ok(Chosen { engine, note })
}

/// Begins to open the requested device, if any, while the design is read. Loads the kernels of an
/// engine, and of a placement if `to_place`.
pub(crate) fn prefetch_device(options: &SolveArgs, to_place: bool) {
    let device = match options.engine {
        EngineChoice::Cpu => return,
        EngineChoice::Several(_) if !to_place => return,
        EngineChoice::Several(devices) => devices.first(),
        EngineChoice::Auto => 0,
        EngineChoice::Cuda(device) | EngineChoice::Both(device) => device,
    };
    with_precision!(options.precision, T => cuda::prefetch_device::<T>(device, to_place));
}

/// Waits for a device that is still being opened: the program must not end meanwhile.
pub(crate) fn finish_ahead() {
    cuda::finish_ahead();
}

/// Opens what places on the engine of `options`.
pub(crate) fn open_backend<T: EngineReal>(
    charge: Arc<Charge>,
    netlist: &Netlist,
    options: &SolveArgs,
) -> Result<Chosen<Box<dyn Backend>>, Failure> {
    let engine_options = options.engine_options();
    let Chosen { engine: choice, note } = decide(options.engine)?;
    let engine: Box<dyn Backend> = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Several(devices) => {
            let (engine, note) =
                cuda::open_backend_on::<T>(charge, netlist, &engine_options, devices)?;
            return Ok(Chosen { engine, note: Some(note) });
        }
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => {
            cuda::open_backend::<T>(charge, netlist, &engine_options, device)
                .map_err(|e| advise(e, &note))?
        }
        _ => {
            let engine = CpuEngine::<T>::new(charge, &engine_options)?;
            Box::new(HostBackend::new(engine, netlist)?)
        }
    };
    Ok(Chosen { engine, note })
}

/// Opens the device that refines on the engine of `choice`, of several the first; none on the CPU.
pub(crate) fn open_refiner(
    choice: EngineChoice,
) -> Result<Chosen<Option<Box<dyn Device>>>, Failure> {
    let Chosen { engine: choice, note } = decide(choice)?;
    let engine: Option<Box<dyn Device>> = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Several(devices) => Some(Box::new(cuda::gpu(devices.first())?)),
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => Some(Box::new(cuda::gpu(device)?)),
        _ => None,
    };
    Ok(Chosen { engine, note })
}

/// Turns `auto` into what the machine has. Devices are refused by a program without CUDA.
pub(crate) fn decide(choice: EngineChoice) -> Result<Chosen<EngineChoice>, &'static str> {
    let (engine, what) = match choice {
        EngineChoice::Auto => match cuda::usable(0) {
            Err(why) => (EngineChoice::Cpu, format!("cpu ({why})")),
            Ok(name) => (EngineChoice::Cuda(0), format!("cuda:0 ({name} can be used)")),
        },
        choice if cfg!(feature = "cuda") || choice == EngineChoice::Cpu => {
            return Ok(Chosen { engine: choice, note: None });
        }
        _ => return Err(NO_CUDA),
    };
    Ok(Chosen { engine, note: Some(format!("engine: {what}")) })
}

/// Returns the choice of `--pipeline auto`, with its reason.
pub(crate) fn pipeline_note(options: &SolveArgs, choice: &Choice) -> Option<String> {
    let Choice { pipeline, reason } = choice;
    options.pipeline.is_none().then(|| format!("pipeline: {pipeline} ({reason})"))
}

/// Returns what a command says that runs transforms on the CPU without an engine.
pub(crate) fn on_cpu() -> Descriptor {
    Descriptor { engine: "cpu", device: format!("{} threads", rayon::current_num_threads()) }
}

/// Opens the target of benchmarks, which run on one device.
pub(crate) fn open_target(choice: EngineChoice, threads: usize) -> Result<Chosen<Target>, Failure> {
    let Chosen { engine: choice, note } = decide(choice)?;
    let engine = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => {
            super::paper::cuda_target(device).map_err(|e| advise(Failure::from(e), &note))?
        }
        _ => cpu_target(threads)?,
    };
    Ok(Chosen { engine, note })
}

/// Says what to do instead where it was `auto` that took a device which then failed.
#[cfg(feature = "cuda")]
pub(crate) fn advise<E: std::fmt::Display + From<String>>(failure: E, note: &Option<String>) -> E {
    match note {
        Some(_) => format!("{failure} (--engine cpu does without CUDA)").into(),
        None => failure,
    }
}

/// Returns which devices were taken, and why.
#[cfg(feature = "cuda")]
pub(crate) fn devices_note(ordinals: &[usize], why: &str) -> String {
    let list: Vec<String> = ordinals.iter().map(usize::to_string).collect();
    format!("engine: cuda:{} ({why})", list.join(","))
}

/// Returns the devices that are named; every one of them must be there.
#[cfg(feature = "cuda")]
pub(crate) fn devices_named(devices: Devices) -> Result<Vec<usize>, crate::cuda::CudaError> {
    let found = crate::cuda::probe();
    let mut named = devices.ordinals(found.devices.len());
    if named.is_empty() {
        named.push(0); // of a machine without any, which is then said
    }
    match named.iter().find_map(|&device| found.obstacle(device)) {
        Some(obstacle) => Err(obstacle),
        None => Ok(named),
    }
}

#[cfg(feature = "cuda")]
mod cuda {
    use super::*;
    use crate::cuda::CudaBackend;
    use crate::cuda::{CudaEngine, CudaError, Gpu, Peers, Workload};
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Mutex, PoisonError};
    use std::thread::JoinHandle;

    /// A device that a thread opens, before it loads kernels there.
    struct Prefetch {
        device: usize,
        /// Until it is taken.
        opened: Option<Receiver<Result<Gpu, CudaError>>>,
        thread: JoinHandle<()>,
    }

    static AHEAD: Mutex<Option<Prefetch>> = Mutex::new(None);

    /// The devices that are open, by ordinal.
    static OPEN: Mutex<Vec<(usize, Gpu)>> = Mutex::new(Vec::new());

    pub(super) fn prefetch_device<T: EngineReal>(device: usize, to_place: bool) {
        let (send, opened) = channel();
        let open = move || {
            let result = Gpu::open(device);
            let gpu = result.as_ref().ok().cloned();
            // The result may not be needed, and kernels that cannot be loaded now are tried again
            // when they are needed.
            let _ = send.send(result);
            let _ = gpu.map(|gpu| match to_place {
                true => CudaBackend::<T>::load_kernels(&gpu),
                false => CudaEngine::<T>::load_kernels(&gpu),
            });
        };
        let mut ahead = AHEAD.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a thread it is opened when it is needed.
        if ahead.is_none()
            && let Ok(thread) = std::thread::Builder::new().spawn(open)
        {
            *ahead = Some(Prefetch { device, opened: Some(opened), thread });
        }
    }

    pub(super) fn finish_ahead() {
        let ahead = AHEAD.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Its result no longer matters.
        ahead.into_iter().for_each(|ahead| drop(ahead.thread.join()));
    }

    /// Returns the device, opened before or now.
    pub(super) fn gpu(device: usize) -> Result<Gpu, CudaError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, gpu)) = open.iter().find(|(ordinal, _)| *ordinal == device) {
            return Ok(gpu.clone());
        }
        let mut ahead = AHEAD.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = ahead.as_mut().filter(|ahead| ahead.device == device);
        let opened = opened.and_then(|ahead| ahead.opened.take()?.recv().ok());
        let gpu = opened.unwrap_or_else(|| Gpu::open(device))?;
        open.push((device, gpu.clone()));
        Ok(gpu)
    }

    /// Returns the name of a device that can be used, or what keeps it from that.
    pub(super) fn usable(device: usize) -> Result<String, String> {
        gpu(device).map(|gpu| gpu.info().name.clone()).map_err(|error| error.to_string())
    }

    pub(super) fn open<T: EngineReal>(
        charge: Charge,
        options: &EngineOptions,
        device: usize,
    ) -> Result<Box<dyn Timed<T>>, Failure> {
        Ok(Box::new(CudaEngine::on(&gpu(device)?, charge, options)?))
    }

    /// Returns as many of the devices as are worth it for `work`, and which were taken, and why.
    fn choose<T: EngineReal>(
        devices: Devices,
        work: Workload,
        charge: &Charge,
    ) -> Result<(Peers, String), CudaError> {
        let named = devices_named(devices)?;
        let (ordinals, why) = Peers::choose(&named, work, &charge.grid(), T::PRECISION);
        let alone =
            |why: &str| Ok((Peers::on(vec![gpu(named[0])?])?, devices_note(&named[..1], why)));
        if ordinals.len() < 2 {
            return alone(&why);
        }
        if charge.regions() > 1 {
            return alone("fence regions are for one device");
        }
        let gpus = ordinals.iter().map(|&device| gpu(device)).collect::<Result<_, _>>()?;
        match Peers::on(gpus) {
            Ok(peers) => Ok((peers, devices_note(&ordinals, &why))),
            // They do not reach each other: one does without.
            Err(error @ CudaError::Peers(_)) => alone(&error.to_string()),
            Err(error) => Err(error),
        }
    }

    /// Returns an engine on as many of the devices as are worth it, and which those are.
    pub(super) fn open_several<T: EngineReal>(
        charge: Charge,
        options: &EngineOptions,
        devices: Devices,
    ) -> Result<(Box<dyn Timed<T>>, String), Failure> {
        let work = Workload::Step { bodies: charge.bodies() };
        let (peers, note) = choose::<T>(devices, work, &charge)?;
        Ok((Box::new(CudaEngine::on_peers(&peers, charge, options)?), note))
    }

    /// Opens a placement's backend on as many of the devices as are worth it; returns which those
    /// are.
    pub(super) fn open_backend_on<T: EngineReal>(
        charge: Arc<Charge>,
        netlist: &Netlist,
        options: &EngineOptions,
        devices: Devices,
    ) -> Result<(Box<dyn Backend>, String), Failure> {
        let work = Workload::Place { bodies: charge.bodies() };
        let (peers, note) = choose::<T>(devices, work, &charge)?;
        Ok((Box::new(CudaBackend::<T>::on_peers(&peers, charge, options, netlist)?), note))
    }

    pub(super) fn open_backend<T: EngineReal>(
        charge: Arc<Charge>,
        netlist: &Netlist,
        options: &EngineOptions,
        device: usize,
    ) -> Result<Box<dyn Backend>, Failure> {
        Ok(Box::new(CudaBackend::<T>::on(&gpu(device)?, charge, options, netlist)?))
    }
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    use super::*;

    pub(super) fn usable(_: usize) -> Result<String, &'static str> {
        Err(NO_CUDA)
    }

    #[allow(clippy::extra_unused_type_parameters)] // the CUDA build's needs it
    pub(super) fn prefetch_device<T: EngineReal>(_: usize, _: bool) {}

    pub(super) fn finish_ahead() {}
}
