//! DLPack (dlpack.h, versions before and from 1.0), NumPy's `__array_interface__` and
//! `__cuda_array_interface__`: arrays of other libraries, taken without a copy.
//!
//! An array is used during one call. Its owner lives until the call ends, and the caller's stream
//! orders work on a device.

use super::devices::order;
use super::errors::Failure;
use crate::engines::Device;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use std::ffi::{CStr, c_void};

/// `DLDevice::device_type` of the host, of CUDA's page-locked host memory, and of CUDA.
pub(super) const CPU: i32 = 1;
pub(super) const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
/// `DLDataType::code` of integers with a sign, and of floating-point numbers.
pub(super) const INT: u8 = 0;
pub(super) const FLOAT: u8 = 2;
/// `DLManagedTensorVersioned::flags`: memory that must not be written.
pub(super) const READ_ONLY: u64 = 1;

pub(super) const OLD: &CStr = c"dltensor";
pub(super) const OLD_USED: &CStr = c"used_dltensor";
pub(super) const VERSIONED: &CStr = c"dltensor_versioned";
pub(super) const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct DlDevice {
    pub(super) device_type: i32,
    pub(super) device_id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct DlDataType {
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
}

#[repr(C)]
pub(super) struct DlTensor {
    pub(super) data: *mut c_void,
    pub(super) device: DlDevice,
    pub(super) ndim: i32,
    pub(super) dtype: DlDataType,
    pub(super) shape: *mut i64,
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

#[repr(C)]
pub(super) struct DlManaged {
    pub(super) tensor: DlTensor,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut DlManaged)>,
}

#[repr(C)]
pub(super) struct DlVersion {
    pub(super) major: u32,
    pub(super) minor: u32,
}

#[repr(C)]
pub(super) struct DlManagedVersioned {
    pub(super) version: DlVersion,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut DlManagedVersioned)>,
    pub(super) flags: u64,
    pub(super) tensor: DlTensor,
}

/// The owner that keeps the memory alive.
enum Owner {
    Old(*mut DlManaged),
    Versioned(*mut DlManagedVersioned),
    /// The object itself, which was not taken by DLPack.
    Object(#[allow(dead_code)] Py<PyAny>),
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: a structure that was taken over from its capsule, which nobody else gives back.
        unsafe {
            match *self {
                Owner::Old(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Owner::Versioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Owner::Object(_) => {}
            }
        }
    }
}

/// An array of another library: compact, row after row, of `f32` or `f64`.
pub(super) struct ImportedArray {
    what: &'static str,
    pub(super) place: Device,
    pub(super) shape: Vec<usize>,
    /// 32 or 64.
    pub(super) bits: u8,
    pub(super) address: usize,
    read_only: bool,
    _owner: Owner,
}

// SAFETY: the memory is plain numbers, and DLPack's deleters may be called from any thread.
unsafe impl Send for ImportedArray {}
// SAFETY: as above; it is read through `&self` and written through `&mut self`.
unsafe impl Sync for ImportedArray {}

fn wrong(what: &str, text: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{what}: {text}"))
}

impl ImportedArray {
    /// Imports `object`, an array that errors call `what`. Work that the array's library has
    /// enqueued for it is ordered before work enqueued to `stream` (as DLPack numbers them: 1 is
    /// the legacy default stream).
    pub(super) fn take(
        object: &Bound<'_, PyAny>,
        what: &'static str,
        stream: usize,
    ) -> PyResult<Self> {
        // By DLPack many versions of NumPy lend no array that must not be written.
        if object.hasattr("__array_interface__")? {
            return ImportedArray::by_interface(object, what, None);
        }
        if object.hasattr("__dlpack__")? && object.hasattr("__dlpack_device__")? {
            return ImportedArray::by_dlpack(object, what, stream);
        }
        if object.hasattr("__cuda_array_interface__")? {
            return ImportedArray::by_interface(object, what, Some(stream));
        }
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "{what}: expected an array (NumPy, PyTorch, CuPy or another with __dlpack__), \
             found {kind}"
        )))
    }

    fn by_dlpack(object: &Bound<'_, PyAny>, what: &'static str, stream: usize) -> PyResult<Self> {
        let py = object.py();
        let (device, _): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
        let arguments = PyDict::new(py);
        if device == CUDA {
            arguments.set_item("stream", stream)?;
        }
        arguments.set_item("max_version", (1, 0))?;
        let capsule = match object.call_method("__dlpack__", (), Some(&arguments)) {
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                // A library from before DLPack 1.0.
                arguments.del_item("max_version")?;
                object.call_method("__dlpack__", (), Some(&arguments))?
            }
            other => other?,
        };
        let capsule = capsule.cast_into::<PyCapsule>()?;
        let pointer = capsule.as_ptr();
        // SAFETY: a capsule of one of these names holds such a structure, by DLPack's contract; it
        // is taken over by giving the capsule the other name, once.
        let (owner, tensor, read_only) = unsafe {
            if ffi::PyCapsule_IsValid(pointer, VERSIONED.as_ptr()) != 0 {
                let managed = ffi::PyCapsule_GetPointer(pointer, VERSIONED.as_ptr());
                let managed = managed.cast::<DlManagedVersioned>();
                ffi::PyCapsule_SetName(pointer, VERSIONED_USED.as_ptr());
                let owner = Owner::Versioned(managed);
                if (*managed).version.major != 1 {
                    let major = (*managed).version.major;
                    return Err(wrong(what, format_args!("DLPack {major} is not known here")));
                }
                (owner, &(*managed).tensor, (*managed).flags & READ_ONLY != 0)
            } else if ffi::PyCapsule_IsValid(pointer, OLD.as_ptr()) != 0 {
                let managed = ffi::PyCapsule_GetPointer(pointer, OLD.as_ptr()).cast::<DlManaged>();
                ffi::PyCapsule_SetName(pointer, OLD_USED.as_ptr());
                (Owner::Old(managed), &(*managed).tensor, false)
            } else {
                return Err(wrong(what, "__dlpack__ gave no capsule that DLPack knows"));
            }
        };
        let place = match tensor.device.device_type {
            CPU | CUDA_HOST => Device::Cpu,
            CUDA => Device::Cuda(tensor.device.device_id.max(0) as usize),
            other => return Err(wrong(what, format_args!("memory of DLPack device type {other}"))),
        };
        let DlDataType { code, bits, lanes } = tensor.dtype;
        if code != FLOAT || lanes != 1 || (bits != 32 && bits != 64) {
            let found = match code {
                INT => "int",
                1 => "uint",
                FLOAT => "float",
                _ => "another type of bits: ",
            };
            return Err(PyTypeError::new_err(format!(
                "{what}: expected float32 or float64, found {found}{bits}"
            )));
        }
        let axes = usize::try_from(tensor.ndim).unwrap_or(0);
        // SAFETY: DLPack has `ndim` sizes there, and `ndim` strides if they are given.
        let (shape, strides) = unsafe {
            let shape = match axes {
                0 => &[][..],
                _ => std::slice::from_raw_parts(tensor.shape, axes),
            };
            let strides = (axes > 0 && !tensor.strides.is_null())
                .then(|| std::slice::from_raw_parts(tensor.strides, axes));
            (shape, strides)
        };
        let shape = sizes(what, shape)?;
        if let Some(strides) = strides {
            check_compact(what, &shape, strides, 1)?;
        }
        let address = tensor.data.expose_provenance().wrapping_add(tensor.byte_offset as usize);
        ImportedArray { what, place, shape, bits, address, read_only, _owner: owner }.aligned()
    }

    /// By NumPy's array interface, or where there is a `stream` by the CUDA Array Interface,
    /// versions 2 and 3 (Numba's documentation). An array that names the stream of its last work is
    /// waited for by `stream`, on the device.
    fn by_interface(
        object: &Bound<'_, PyAny>,
        what: &'static str,
        stream: Option<usize>,
    ) -> PyResult<Self> {
        let interface = object.getattr(match stream {
            None => "__array_interface__",
            Some(_) => "__cuda_array_interface__",
        })?;
        let entry = |key| -> PyResult<Option<Bound<'_, PyAny>>> {
            let found = interface.call_method1("get", (key,))?;
            Ok((!found.is_none()).then_some(found))
        };
        if entry("mask")?.is_some() {
            return Err(wrong(what, "an array with a mask, of which some values do not count"));
        }
        let shape: Vec<i64> = interface.get_item("shape")?.extract()?;
        let shape = sizes(what, &shape)?;
        let kind: String = interface.get_item("typestr")?.extract()?;
        let bits: u8 = match kind.as_str() {
            "<f4" => 32,
            "<f8" => 64,
            other => {
                let found = object.getattr("dtype").and_then(|dtype| Ok(dtype.str()?.to_string()));
                let found = found.unwrap_or_else(|_| other.to_owned());
                let text = format!("{what}: expected float32 or float64, found {found}");
                return Err(PyTypeError::new_err(text));
            }
        };
        let (address, read_only): (usize, bool) = interface.get_item("data")?.extract()?;
        if let Some(strides) = entry("strides")? {
            let strides: Vec<i64> = strides.extract()?;
            check_compact(what, &shape, &strides, i64::from(bits / 8))?;
        }
        let owner = Owner::Object(object.clone().unbind());
        let Some(stream) = stream else {
            let place = Device::Cpu;
            return ImportedArray { what, place, shape, bits, address, read_only, _owner: owner }
                .aligned();
        };
        let producer: Option<usize> =
            entry("stream")?.map(|stream| stream.extract()).transpose()?;
        if producer == Some(0) {
            // Of the legacy default stream and a thread's own nobody knows which it would be.
            return Err(wrong(
                what,
                "its stream is 0, which names none: expected 1, 2 or a stream",
            ));
        }
        let place = Device::Cuda(0);
        let mut array =
            ImportedArray { what, place, shape, bits, address, read_only, _owner: owner };
        if array.len() > 0 {
            // The interface does not name the device: the driver does.
            array = array.aligned()?;
            let ordinal = device_at(what, address)?;
            array.place = Device::Cuda(ordinal);
            if let Some(producer) = producer {
                order(ordinal, producer, stream)?;
            }
        }
        Ok(array)
    }

    fn aligned(self) -> PyResult<Self> {
        if self.len() > 0 && (self.address == 0 || !self.address.is_multiple_of(self.bytes())) {
            return Err(wrong(self.what, "its memory is not aligned to its numbers"));
        }
        Ok(self)
    }

    /// Returns the bytes of one number.
    fn bytes(&self) -> usize {
        usize::from(self.bits / 8)
    }

    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// An error unless its numbers are of so many bits.
    pub(super) fn check_type(&self, bits: u8) -> Result<(), Failure> {
        if self.bits == bits {
            return Ok(());
        }
        let text = format!("{}: expected float{bits}, found float{}", self.what, self.bits);
        Err(Failure::Python(PyTypeError::new_err(text)))
    }

    /// An error unless it is where the work is done.
    pub(super) fn check_place(&self, place: Device) -> Result<(), Failure> {
        // Of an array without numbers by `__cuda_array_interface__` nobody knows the device.
        let nowhere = self.len() == 0 && self.place != Device::Cpu && place != Device::Cpu;
        if self.place == place || nowhere {
            return Ok(());
        }
        let name = |place| match place {
            Device::Cpu => "host memory".to_owned(),
            Device::Cuda(ordinal) => format!("memory of CUDA device {ordinal}"),
        };
        let (found, expected) = (name(self.place), name(place));
        Err(Failure::Value(format!("{}: expected {expected}, found {found}", self.what)))
    }

    /// An error unless it has one of these shapes.
    pub(super) fn check_shape(&self, shapes: &[&[usize]]) -> Result<(), Failure> {
        if shapes.contains(&&self.shape[..]) {
            return Ok(());
        }
        let expected: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
        let (expected, found) = (expected.join(" or "), &self.shape);
        Err(Failure::Value(format!("{}: expected shape {expected}, found {found:?}", self.what)))
    }

    /// An error where it must not be written, or shares memory with one of `others`.
    pub(super) fn check_writable(&self, others: &[&ImportedArray]) -> Result<(), Failure> {
        if self.read_only {
            return Err(Failure::Value(format!("{}: it is read-only", self.what)));
        }
        let end = |array: &ImportedArray| array.address + array.len() * array.bytes();
        for other in others {
            if other.place == self.place && self.address < end(other) && other.address < end(self) {
                let text = format!("{}: it shares memory with {}", self.what, other.what);
                return Err(Failure::Value(text));
            }
        }
        Ok(())
    }

    /// The address as a pointer: its provenance was exposed by whoever gave it as an integer.
    fn pointer<T>(&self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.address)
    }

    /// Its numbers, of an array of the host.
    pub(super) fn values<T: crate::Real>(&self) -> Result<&[T], Failure> {
        self.check_place(Device::Cpu)?;
        self.check_type(8 * size_of::<T>() as u8)?;
        if self.len() == 0 {
            return Ok(&[]);
        }
        // SAFETY: so many compact, aligned numbers of this type, which their owner, kept here,
        // keeps; that other threads do not write them meanwhile is the caller's duty, as in NumPy.
        Ok(unsafe { std::slice::from_raw_parts(self.pointer(), self.len()) })
    }

    /// Returns [`ImportedArray::values`], to be written.
    pub(super) fn values_mut<T: crate::Real>(&mut self) -> Result<&mut [T], Failure> {
        self.check_place(Device::Cpu)?;
        self.check_type(8 * size_of::<T>() as u8)?;
        self.check_writable(&[])?;
        if self.len() == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as above, writable, and borrowed here alone.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.len()) })
    }
}

/// The ordinal of the device whose memory is at an address.
#[cfg(feature = "cuda")]
fn device_at(what: &str, address: usize) -> PyResult<usize> {
    let found = crate::cuda::interop::device_of(address as u64).map_err(Failure::from)?;
    found.ok_or_else(|| wrong(what, "there is no memory of a CUDA device at its address"))
}

#[cfg(not(feature = "cuda"))]
fn device_at(_: &str, _: usize) -> PyResult<usize> {
    Err(Failure::without_cuda().into())
}

fn sizes(what: &str, shape: &[i64]) -> PyResult<Vec<usize>> {
    let sizes: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
    let sizes = sizes.filter(|sizes| {
        let bytes = sizes.iter().try_fold(8_usize, |bytes, &n| bytes.checked_mul(n));
        bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
    });
    sizes.ok_or_else(|| wrong(what, format_args!("no array has shape {shape:?}")))
}

/// An error unless numbers lie row after row, without gaps; `unit` is what strides count in.
fn check_compact(what: &str, shape: &[usize], strides: &[i64], unit: i64) -> PyResult<()> {
    let mut expected = unit;
    if shape.contains(&0) {
        return Ok(()); // whatever the strides of nothing are
    }
    for (&n, &stride) in shape.iter().zip(strides).rev() {
        if n > 1 && stride != expected {
            return Err(wrong(what, "expected a contiguous array, row after row (C order)"));
        }
        expected *= n.max(1) as i64;
    }
    Ok(())
}

/// `(device_type, device_id)` as `__dlpack_device__` returns it.
pub(super) fn device_tuple<'py>(py: Python<'py>, place: Device) -> PyResult<Bound<'py, PyTuple>> {
    let (kind, id) = match place {
        Device::Cpu => (CPU, 0),
        Device::Cuda(ordinal) => (CUDA, ordinal as i32),
    };
    (kind, id).into_pyobject(py)
}
