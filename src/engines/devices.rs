//! CUDA devices of engines, opened in advance or when they are needed.

use super::choice::Devices;
use crate::charge::Charge;
#[cfg(feature = "cli")]
use crate::cuda::{CudaBackend, CudaEngine, CudaReal};
use crate::cuda::{CudaError, Gpu, Peers, Workload, probe};
use crate::real::Precision;
#[cfg(feature = "cli")]
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(feature = "cli")]
use std::thread::JoinHandle;

/// A device that a thread opens. The thread then loads kernels there.
#[cfg(feature = "cli")]
struct Prefetch {
    device: usize,
    /// Until it is taken.
    opened: Option<Receiver<Result<Gpu, CudaError>>>,
    thread: JoinHandle<()>,
}

#[cfg(feature = "cli")]
static PREFETCH: Mutex<Option<Prefetch>> = Mutex::new(None);

/// Devices that `auto` or `prefetch` opened: all later engines there share them. An engine on
/// another device opens it, so that its work waits for no other engine's.
static OPEN: Mutex<Vec<(usize, Gpu)>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to open a device on a thread. Loads the kernels of an engine, and of a placement if
/// `to_place`.
#[cfg(feature = "cli")]
pub(crate) fn prefetch<T: CudaReal>(device: usize, to_place: bool) {
    let (send, opened) = channel();
    let open = move || {
        let result = Gpu::open(device);
        let gpu = result.as_ref().ok().cloned();
        // The result may not be needed, and kernels that cannot be loaded now are tried again when
        // they are needed.
        let _ = send.send(result);
        let _ = gpu.map(|gpu| match to_place {
            true => CudaBackend::<T>::load_kernels(&gpu),
            false => CudaEngine::<T>::load_kernels(&gpu),
        });
    };
    let mut prefetch = lock(&PREFETCH);
    // Without a thread it is opened when it is needed.
    if prefetch.is_none()
        && let Ok(thread) = std::thread::Builder::new().spawn(open)
    {
        *prefetch = Some(Prefetch { device, opened: Some(opened), thread });
    }
}

/// Waits for a device that is still being opened: the program must not end meanwhile.
#[cfg(feature = "cli")]
pub(crate) fn finish_prefetch() {
    let prefetch = lock(&PREFETCH).take();
    // Its result no longer matters.
    prefetch.into_iter().for_each(|prefetch| drop(prefetch.thread.join()));
}

/// Returns a device that `prefetch` opened and nothing has taken.
#[cfg(feature = "cli")]
fn prefetched(device: usize) -> Option<Result<Gpu, CudaError>> {
    let mut prefetch = lock(&PREFETCH);
    let prefetch = prefetch.as_mut().filter(|prefetch| prefetch.device == device)?;
    prefetch.opened.take()?.recv().ok()
}

#[cfg(not(feature = "cli"))]
fn prefetched(_: usize) -> Option<Result<Gpu, CudaError>> {
    None
}

/// Returns the device that was opened for all engines, if there is one, or opens it.
pub(super) fn gpu(device: usize) -> Result<Gpu, CudaError> {
    let mut open = lock(&OPEN);
    if let Some((_, gpu)) = open.iter().find(|(ordinal, _)| *ordinal == device) {
        return Ok(gpu.clone());
    }
    let Some(opened) = prefetched(device) else { return Gpu::open(device) };
    let gpu = opened?;
    open.push((device, gpu.clone()));
    Ok(gpu)
}

/// Opens a device for all engines. Returns its name, or the reason why it cannot be used.
pub(super) fn usable_name(device: usize) -> Result<String, CudaError> {
    let gpu = gpu(device)?;
    let name = gpu.info().name.clone();
    let mut open = lock(&OPEN);
    if open.iter().all(|(ordinal, _)| *ordinal != device) {
        open.push((device, gpu));
    }
    Ok(name)
}

/// Returns which devices were taken, and why.
pub(crate) fn devices_note(ordinals: &[usize], why: &str) -> String {
    let list: Vec<String> = ordinals.iter().map(usize::to_string).collect();
    format!("engine: cuda:{} ({why})", list.join(","))
}

/// Returns the ordinals of the named devices, all of which the machine must have.
pub(crate) fn named_devices(devices: Devices) -> Result<Vec<usize>, CudaError> {
    let found = probe();
    let mut named = devices.ordinals(found.devices.len());
    if named.is_empty() {
        named.push(0); // the error is about a machine without devices
    }
    match named.iter().find_map(|&device| found.obstacle(device)) {
        Some(obstacle) => Err(obstacle),
        None => Ok(named),
    }
}

/// Returns as many of the devices as make a step or a placement faster, and a note about them.
pub(super) fn choose(
    devices: Devices,
    to_place: bool,
    charge: &Charge,
    precision: Precision,
) -> Result<(Peers, String), CudaError> {
    let bodies = charge.bodies();
    let work = match to_place {
        true => Workload::Place { bodies },
        false => Workload::Step { bodies },
    };
    let named = named_devices(devices)?;
    let (ordinals, why) = Peers::choose(&named, work, &charge.grid(), precision);
    let alone = |why: &str| Ok((Peers::on(vec![gpu(named[0])?])?, devices_note(&named[..1], why)));
    if ordinals.len() < 2 {
        return alone(&why);
    }
    if charge.regions() > 1 {
        return alone("fence regions are for one device");
    }
    let gpus = ordinals.iter().map(|&device| gpu(device)).collect::<Result<_, _>>()?;
    match Peers::on(gpus) {
        Ok(peers) => Ok((peers, devices_note(&ordinals, &why))),
        // If they do not reach each other, one works alone.
        Err(error @ CudaError::Peers(_)) => alone(&error.to_string()),
        Err(error) => Err(error),
    }
}
