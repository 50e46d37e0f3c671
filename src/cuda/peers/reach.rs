//! Tests whether devices reach each other's memory: queries, enables and tries the access.

use super::shared::access_of;
use crate::cuda::device::bindings::peers::{CheckPattern, WritePattern};
use crate::cuda::device::{Array, CudaError, DeviceVec, Gpu, Kernel, blocks_for};
use cudarc::driver::sys;

/// Numbers that the test of a pair writes.
const PATTERN: u32 = 1 << 16;

/// Lets every one of `gpus` reach the memory of every other one, and tries the access.
pub(super) fn connect(gpus: &[Gpu]) -> Result<(), CudaError> {
    let pairs = || {
        let of = move |(a, from)| gpus.iter().enumerate().map(move |(b, to)| ((a, from), (b, to)));
        gpus.iter().enumerate().flat_map(of).filter(|((a, _), (b, _))| a != b)
    };
    for ((_, from), (_, to)) in pairs() {
        if device(from) != device(to) {
            allow(from, to)?;
        }
    }
    for ((a, from), (b, to)) in pairs() {
        try_pair(from, to, (a * gpus.len() + b) as u32)?;
    }
    Ok(())
}

fn device(gpu: &Gpu) -> sys::CUdevice {
    gpu.context().cu_device()
}

fn names(from: &Gpu, to: &Gpu) -> String {
    format!("device {} does not reach the memory of device {}", device(from), device(to))
}

/// Lets work of `from` reach memory of `to`, on another device.
fn allow(from: &Gpu, to: &Gpu) -> Result<(), CudaError> {
    let mut can = 0;
    // SAFETY: writes one integer; the devices are open.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, device(from), device(to)) }.result()?;
    if can == 0 {
        return Err(CudaError::Peers(format!("{}, says the driver", names(from, to))));
    }
    let _current = from.stream_guard()?;
    // SAFETY: `from`'s context is current, and `to`'s is open.
    match unsafe { sys::cuCtxEnablePeerAccess(to.context().cu_ctx(), 0) } {
        sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
        answer => answer.result()?,
    }
    if to.context().has_async_alloc() {
        let access = access_of(from);
        let mut pool = std::ptr::null_mut();
        // SAFETY: the pool is `to`'s own, from which its memory comes (`Gpu::allocate`). One
        // description is given, which outlives the call.
        unsafe {
            sys::cuDeviceGetDefaultMemPool(&mut pool, device(to)).result()?;
            sys::cuMemPoolSetAccess(pool, &access, 1).result()?;
        }
    }
    Ok(())
}

/// Writes numbers from one rank to the other's memory, checks them there, and reads them back.
fn try_pair(from: &Gpu, to: &Gpu, seed: u32) -> Result<(), CudaError> {
    let there = to.zeros::<u32>(PATTERN as usize)?;
    to.synchronize()?;
    let config = blocks_for(PATTERN as usize);
    let write = Kernel::new(&from.kernels::<f32>("meet")?)?.with(config);
    let arguments = WritePattern { to: Array::at(*there.address()), count: PATTERN, seed };
    // SAFETY: `there` holds PATTERN numbers, `from` may write them (`allow`), and nothing else uses
    // them: both streams are waited for.
    unsafe { write.launch(from, &arguments) }?;
    from.synchronize()?;
    let wrong = wrong(to, &there, seed)? + wrong(from, &there, seed)?;
    if wrong > 0 {
        let count = 2 * PATTERN;
        let names = names(from, to);
        return Err(CudaError::Peers(format!(
            "{names}: {wrong} of {count} numbers written and read were wrong"
        )));
    }
    Ok(())
}

/// Returns how many of the numbers are wrong when `reader` reads them.
fn wrong(reader: &Gpu, numbers: &DeviceVec<u32>, seed: u32) -> Result<u32, CudaError> {
    let config = blocks_for(PATTERN as usize);
    let check = Kernel::new(&reader.kernels::<f32>("meet")?)?.with(config);
    let found = reader.zeros::<u32>(1)?;
    let (from, wrong) = (Array::at(*numbers.address()), (&found).into());
    // SAFETY: `numbers` has PATTERN values, `reader` may read them (`allow`), and nothing writes
    // them any more.
    unsafe { check.launch(reader, &CheckPattern { from, count: PATTERN, seed, wrong }) }?;
    Ok(reader.download(&found)?[0])
}
