//! Opens engines by the name of a device: `auto`, `cpu`, `cuda`, `cuda:N`, `cuda:N,M…` or
//! `cuda:all`. The command line, the C interface and the Python module open their engines here.
//!
//! ```
//! use placefield::charge::{Charge, ChargeOptions};
//! use placefield::engine::{Engine, EngineOptions};
//! use placefield::engines::{self, EngineChoice, Opened};
//! # use placefield::design::Design;
//! # fn evaluated(charge: Charge) -> Result<f64, Box<dyn std::error::Error>> {
//! let choice: EngineChoice = "auto".parse()?;
//! let Opened { mut engine, note } =
//!     engines::open::<f32>(charge, choice, &EngineOptions::default())?;
//! note.iter().for_each(|note| eprintln!("{note}")); // which engine `auto` took, and why
//! let (x, y) = engine.charge().initial_positions::<f32>();
//! let overflow = engine.evaluate(&x, &y)?.density.overflow;
//! # Ok(overflow)
//! # }
//! ```

mod choice;
#[cfg(feature = "cuda")]
mod devices;

pub use choice::{Device, Devices, EngineChoice};
#[cfg(all(feature = "cli", feature = "cuda"))]
pub(crate) use devices::{devices_note, finish_prefetch, named_devices, prefetch};

use crate::charge::Charge;
use crate::cpu::engine::CpuEngine;
#[cfg(feature = "cuda")]
use crate::cuda::{CudaBackend, CudaEngine, Peers};
use crate::engine::{EngineError, EngineOptions, Timed};
use crate::place::{Backend, HostBackend, Term};
use crate::refine;
use crate::wirelength::Netlist;
use std::sync::Arc;

/// Floating-point types that every engine of this build computes in.
#[cfg(not(feature = "cuda"))]
pub use crate::Real as EngineReal;
/// Floating-point types that every engine of this build computes in.
#[cfg(feature = "cuda")]
pub use crate::cuda::CudaReal as EngineReal;

#[cfg(not(feature = "cuda"))]
pub(crate) const NO_CUDA: &str = "no CUDA: this library was built without the cuda feature";

/// An opened engine.
#[derive(Debug)]
pub struct Opened<E> {
    /// The engine.
    pub engine: E,
    /// If the choice was `auto` or several devices: which engine was taken, and why.
    pub note: Option<String>,
}

impl<E> Opened<E> {
    fn map<F>(self, make: impl FnOnce(E) -> F) -> Opened<F> {
        Opened { engine: make(self.engine), note: self.note }
    }
}

/// An engine on one of the devices.
pub(crate) enum DeviceEngine<T: EngineReal> {
    Cpu(Box<CpuEngine<T>>),
    #[cfg(feature = "cuda")]
    Cuda(Box<CudaEngine<T>>),
}

/// Opens the engine of `choice` for `charge`. Uses only as many of several devices as make
/// a step faster.
///
/// # Errors
/// Those of [`CpuEngine::new`] and `CudaEngine::on_peers`, and if a chosen device cannot be used.
/// `auto` takes the CPU if CUDA device 0 cannot be used.
pub fn open<T: EngineReal>(
    charge: impl Into<Arc<Charge>>,
    choice: impl Into<EngineChoice>,
    options: &EngineOptions,
) -> Result<Opened<Box<dyn Timed<T>>>, EngineError> {
    Ok(open_on_device(charge.into(), choice.into(), options)?.map(|engine| match engine {
        DeviceEngine::Cpu(engine) => engine as Box<dyn Timed<T>>,
        #[cfg(feature = "cuda")]
        DeviceEngine::Cuda(engine) => engine,
    }))
}

/// Opens an engine as [`open`] does, and returns which kind it is.
pub(crate) fn open_on_device<T: EngineReal>(
    charge: Arc<Charge>,
    choice: EngineChoice,
    options: &EngineOptions,
) -> Result<Opened<DeviceEngine<T>>, EngineError> {
    open_with(&charge, choice, T::PRECISION, false, |place| {
        Ok(match place {
            Place::Cpu => DeviceEngine::Cpu(Box::new(CpuEngine::new(charge.clone(), options)?)),
            #[cfg(feature = "cuda")]
            Place::Cuda(peers) => {
                let engine = CudaEngine::on_peers(peers, charge.clone(), options)?;
                DeviceEngine::Cuda(Box::new(engine))
            }
        })
    })
}

/// Opens the backend that places the bodies of `charge` on the engine of `choice`. Only an engine
/// on the CPU adds `terms` to the objective ([`HostBackend::add_term`]).
///
/// # Errors
/// Those of [`open`], and if `netlist` has other movable cells than the charge.
pub fn open_backend<T: EngineReal>(
    charge: Arc<Charge>,
    netlist: &Netlist,
    choice: impl Into<EngineChoice>,
    options: &EngineOptions,
    terms: impl IntoIterator<Item: Term<T> + 'static>,
) -> Result<Opened<Box<dyn Backend>>, EngineError> {
    open_with(&charge, choice.into(), T::PRECISION, true, |place| {
        Ok(match place {
            Place::Cpu => {
                let engine = CpuEngine::<T>::new(charge.clone(), options)?;
                let mut backend = HostBackend::new(engine, netlist)?;
                terms.into_iter().for_each(|term| backend.add_term(term));
                Box::new(backend) as Box<dyn Backend>
            }
            #[cfg(feature = "cuda")]
            Place::Cuda(peers) => {
                Box::new(CudaBackend::<T>::on_peers(peers, charge.clone(), options, netlist)?)
            }
        })
    })
}

/// Returns no terms, for [`open_backend`].
pub fn no_terms<T: EngineReal>() -> impl Iterator<Item: Term<T> + 'static> {
    std::iter::empty::<fn(&[T], &[T], [&mut [T]; 2]) -> f64>()
}

/// Opens the device that refines on the engine of `choice`, of several devices the first; `None`
/// on the CPU.
///
/// # Errors
/// If a chosen device cannot be used.
pub fn open_refiner(
    choice: impl Into<EngineChoice>,
) -> Result<Opened<Option<Box<dyn refine::Device>>>, EngineError> {
    let resolved = resolve(choice.into())?;
    let device: Option<Box<dyn refine::Device>> = match resolved.engine {
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => Some(Box::new(devices::gpu(device)?)),
        #[cfg(feature = "cuda")]
        EngineChoice::Several(several) => Some(Box::new(devices::gpu(several.first())?)),
        _ => None,
    };
    Ok(resolved.map(|_| device))
}

/// Turns `auto` into an engine that the machine has. Refuses CUDA devices in a build without CUDA.
pub(crate) fn resolve(choice: EngineChoice) -> Result<Opened<EngineChoice>, EngineError> {
    #[cfg(feature = "cuda")]
    let usable = || devices::usable_name(0);
    #[cfg(not(feature = "cuda"))]
    let usable = || Err::<String, _>(NO_CUDA);
    let (engine, what) = match choice {
        EngineChoice::Auto => match usable() {
            Err(why) => (EngineChoice::Cpu, format!("cpu ({why})")),
            Ok(name) => (EngineChoice::Cuda(0), format!("cuda:0 ({name} can be used)")),
        },
        #[cfg(not(feature = "cuda"))]
        EngineChoice::Cuda(_) | EngineChoice::Several(_) => {
            return Err(EngineError::Device(NO_CUDA.into()));
        }
        choice => return Ok(Opened { engine: choice, note: None }),
    };
    Ok(Opened { engine, note: Some(format!("engine: {what}")) })
}

/// Adds to the error of a device that `auto` took, what to do instead. Such a choice has a `note`.
#[cfg(feature = "cuda")]
pub(crate) fn advise<E: std::fmt::Display + From<String>>(failure: E, note: &Option<String>) -> E {
    match note {
        Some(_) => format!("{failure} (engine `cpu` needs no CUDA)").into(),
        None => failure,
    }
}

/// The place of an engine.
enum Place {
    Cpu,
    #[cfg(feature = "cuda")]
    Cuda(Peers),
}

/// Opens the devices of `choice`, and makes an engine there.
#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
fn open_with<E>(
    charge: &Charge,
    choice: EngineChoice,
    precision: crate::Precision,
    to_place: bool,
    make: impl FnOnce(&Place) -> Result<E, EngineError>,
) -> Result<Opened<E>, EngineError> {
    let Opened { engine: choice, note } = resolve(choice)?;
    match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Several(several) => {
            let (peers, note) = devices::choose(several, to_place, charge, precision)?;
            Ok(Opened { engine: make(&Place::Cuda(peers))?, note: Some(note) })
        }
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => {
            let peers = || Ok(Peers::on(vec![devices::gpu(device)?])?);
            let engine = peers().and_then(|peers| make(&Place::Cuda(peers)));
            match (engine, note) {
                (Err(error), note @ Some(_)) => {
                    Err(EngineError::Device(advise(error.to_string(), &note).into()))
                }
                (engine, note) => Ok(Opened { engine: engine?, note }),
            }
        }
        _ => Ok(Opened { engine: make(&Place::Cpu)?, note }),
    }
}
