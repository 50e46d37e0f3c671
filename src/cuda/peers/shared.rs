//! Maps that all ranks read and write at one address, while each device stores a part.
//!
//! A kernel written for a map on one device then works on a map whose rows lie in several devices'
//! memory. Nearly all of its reads and writes are to its own device, and the rest goes over the
//! link. The driver maps memory in pieces (2 MB), so that a boundary between devices may be off by
//! one piece. This affects only the speed.

use super::Peers;
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUdeviceptr};
use cudarc::driver::{DriverError, result};
use std::mem::ManuallyDrop;

/// A map of which every rank's device stores a part.
pub(crate) struct SharedMap<T: CudaReal> {
    /// The memory, as each rank sees it. With one rank the view owns it; otherwise `memory` frees
    /// it.
    views: Vec<ManuallyDrop<DeviceVec<T>>>,
    peers: Peers,
    memory: Option<Memory>,
}

impl<T: CudaReal> SharedMap<T> {
    /// Returns `length` zeros. Those from `first[rank]` on, up to the next rank's first, are in the
    /// rank's memory.
    pub(crate) fn new(peers: &Peers, length: usize, first: &[usize]) -> Result<Self, CudaError> {
        let gpus = peers.gpus();
        let peers = peers.clone();
        if let [gpu] = gpus[..] {
            let views = vec![ManuallyDrop::new(gpu.zeros(length)?)];
            return Ok(SharedMap { views, peers, memory: None });
        }
        let bytes = length.max(1) * size_of::<T>();
        let home = |byte: usize| {
            let value = byte / size_of::<T>();
            first[1..first.len() - 1].partition_point(|&begin| begin <= value)
        };
        let memory = Memory::new(&gpus, bytes, home)?;
        let of = |gpu: &Gpu| {
            // SAFETY: the vector has as many values as the memory, which every rank may use
            // (`Memory`). The vector is never dropped, so it does not free the memory.
            ManuallyDrop::new(unsafe { DeviceVec::from_raw(gpu, memory.address, length) })
        };
        let views = gpus.iter().map(|gpu| of(gpu)).collect();
        let address = memory.address;
        let map = SharedMap { views, peers, memory: Some(memory) };
        let stream = gpus[0].stream_guard()?;
        // SAFETY: the memory is at least `bytes` long and may be used by this device, and nothing
        // else uses it yet.
        unsafe { result::memset_d8_async(address, 0, bytes, stream.raw()) }?;
        drop(stream);
        gpus[0].synchronize()?;
        Ok(map)
    }

    /// Returns the whole map as memory of a rank.
    pub(crate) fn of(&self, rank: usize) -> &DeviceVec<T> {
        &self.views[rank]
    }

    /// Returns the whole map as memory that the rank may write.
    pub(crate) fn of_mut(&mut self, rank: usize) -> &mut DeviceVec<T> {
        &mut self.views[rank]
    }
}

impl<T: CudaReal> Drop for SharedMap<T> {
    fn drop(&mut self) {
        let is_shared = self.memory.is_some();
        if is_shared && self.peers.synchronize().is_err() {
            // Work of a rank may still use it: it is never freed.
            std::mem::forget(self.memory.take());
        }
        for view in &mut self.views {
            // SAFETY: taken once; nothing uses the views after this.
            let view = unsafe { ManuallyDrop::take(view) };
            if is_shared {
                drop(view.into_raw());
            }
        }
    }
}

/// Memory of several devices at consecutive addresses, which all devices may use.
struct Memory {
    address: CUdeviceptr,
    bytes: usize,
    /// Bytes mapped so far, from the start, and their allocations.
    mapped: usize,
    parts: Vec<sys::CUmemGenericAllocationHandle>,
}

impl Memory {
    /// `home` returns the rank whose device must store a byte.
    fn new(gpus: &[&Gpu], bytes: usize, home: impl Fn(usize) -> usize) -> Result<Self, CudaError> {
        let mut piece = 1;
        for gpu in gpus {
            let attribute = Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
            if gpu.context().attribute(attribute)? == 0 {
                let device = gpu.context().cu_device();
                let reason = format!("device {device} cannot map another device's memory");
                return Err(CudaError::Peers(reason));
            }
            let (mut least, of) = (0, properties(gpu));
            let option = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
            // SAFETY: writes one number; the properties outlive the call.
            unsafe { sys::cuMemGetAllocationGranularity(&mut least, &of, option) }.result()?;
            piece = piece.max(least);
        }
        let bytes = bytes.next_multiple_of(piece);
        let mut address = 0;
        // SAFETY: writes one address; no particular address is requested.
        unsafe { sys::cuMemAddressReserve(&mut address, bytes, piece, 0, 0) }.result()?;
        let mut memory = Memory { address, bytes, mapped: 0, parts: Vec::new() };
        let device = |begin: usize| gpus[home(begin + piece / 2)].context().cu_device();
        while memory.mapped < bytes {
            let begin = memory.mapped;
            let mut end = begin + piece;
            while end < bytes && device(end) == device(begin) {
                end += piece;
            }
            memory.map(gpus[home(begin + piece / 2)], end - begin)?;
        }
        let mut access: Vec<_> = gpus.iter().map(|gpu| access_of(gpu)).collect();
        access.dedup_by_key(|of| of.location.id);
        // SAFETY: all of it is mapped. The count is the number of descriptions, which outlive the
        // call.
        unsafe { sys::cuMemSetAccess(address, bytes, access.as_ptr(), access.len()) }.result()?;
        Ok(memory)
    }

    /// Maps this many more bytes, of one device.
    fn map(&mut self, gpu: &Gpu, bytes: usize) -> Result<(), CudaError> {
        let mut handle = 0;
        // SAFETY: writes one handle; the properties outlive the call.
        let made = unsafe { sys::cuMemCreate(&mut handle, bytes, &properties(gpu), 0) }.result();
        made.map_err(|error| gpu.allocation(error, bytes))?;
        self.parts.push(handle);
        let at = self.address + self.mapped as CUdeviceptr;
        // SAFETY: the addresses are reserved and not mapped yet; the handle has the same number of
        // bytes.
        unsafe { sys::cuMemMap(at, bytes, 0, handle, 0) }.result()?;
        self.mapped += bytes;
        Ok(())
    }
}

/// Returns a description that lets a device's work read and write memory.
pub(super) fn access_of(gpu: &Gpu) -> sys::CUmemAccessDesc {
    let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    sys::CUmemAccessDesc { location: properties(gpu).location, flags }
}

/// Returns the properties of a device's memory, for no other process.
fn properties(gpu: &Gpu) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: gpu.context().cu_device(),
        },
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let ignore = |_: Result<(), DriverError>| ();
        // SAFETY: all of it was mapped, made and reserved here, and not freed. The owner waits for
        // its use before it drops this.
        unsafe {
            if self.mapped > 0 {
                ignore(sys::cuMemUnmap(self.address, self.mapped).result());
            }
            for &handle in &self.parts {
                ignore(sys::cuMemRelease(handle).result());
            }
            ignore(sys::cuMemAddressFree(self.address, self.bytes).result());
        }
    }
}
