//! Arrays of this library's, lent to others without a copy.

use super::dlpack::{
    CPU, CUDA, DlDataType, DlDevice, DlManaged, DlManagedVersioned, DlTensor, DlVersion, FLOAT,
    INT, OLD, READ_ONLY, VERSIONED, device_tuple,
};
use crate::engines::Device;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyMemoryError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// Numbers of this library, freed when the last that has them is done.
pub(super) enum Memory {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
    #[cfg(feature = "cuda")]
    Cuda(Box<dyn DeviceMemory>),
}

/// Device memory, whatever its numbers.
#[cfg(feature = "cuda")]
pub(super) trait DeviceMemory: Send + Sync {
    fn address(&self) -> u64;
    fn bits(&self) -> u8;
    fn gpu(&self) -> &crate::cuda::Gpu;
}

#[cfg(feature = "cuda")]
impl<T: crate::cuda::CudaReal> DeviceMemory for crate::cuda::DeviceVec<T> {
    fn address(&self) -> u64 {
        crate::cuda::interop::address(self)
    }

    fn bits(&self) -> u8 {
        8 * size_of::<T>() as u8
    }

    fn gpu(&self) -> &crate::cuda::Gpu {
        self.gpu()
    }
}

#[cfg(feature = "cuda")]
impl Drop for Memory {
    fn drop(&mut self) {
        if let Memory::Cuda(memory) = self {
            // Work of others on any stream may still read it, and it is freed in the order of ours.
            // SAFETY: nothing is enqueued and nothing allocated, the context only waits. Where the
            // device has failed there is nothing to wait for.
            let _ = unsafe { crate::cuda::interop::context(memory.gpu()) }.synchronize();
        }
    }
}

impl From<Vec<f32>> for Memory {
    fn from(values: Vec<f32>) -> Self {
        Memory::F32(values)
    }
}

impl From<Vec<f64>> for Memory {
    fn from(values: Vec<f64>) -> Self {
        Memory::F64(values)
    }
}

impl From<Vec<i64>> for Memory {
    fn from(values: Vec<i64>) -> Self {
        Memory::I64(values)
    }
}

impl Memory {
    fn place(&self) -> Device {
        match self {
            Memory::F32(_) | Memory::F64(_) | Memory::I64(_) => Device::Cpu,
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => Device::Cuda(memory.gpu().info().ordinal),
        }
    }

    fn bits(&self) -> u8 {
        match self {
            Memory::F32(_) => 32,
            Memory::F64(_) | Memory::I64(_) => 64,
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.bits(),
        }
    }

    pub(super) fn address(&self) -> usize {
        match self {
            // Given to other libraries as an integer, which they make a pointer again.
            Memory::F32(values) => values.as_ptr().expose_provenance(),
            Memory::F64(values) => values.as_ptr().expose_provenance(),
            Memory::I64(values) => values.as_ptr().expose_provenance(),
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) => memory.address() as usize,
        }
    }

    /// DLPack's code of the numbers.
    fn code(&self) -> u8 {
        if matches!(self, Memory::I64(_)) { INT } else { FLOAT }
    }

    /// With provenance, for those who are lent it.
    fn pointer(&self) -> *mut c_void {
        match self {
            Memory::F32(values) => values.as_ptr().cast_mut().cast(),
            Memory::F64(values) => values.as_ptr().cast_mut().cast(),
            Memory::I64(values) => values.as_ptr().cast_mut().cast(),
            #[cfg(feature = "cuda")]
            Memory::Cuda(_) => std::ptr::without_provenance_mut(self.address()),
        }
    }
}

/// An array of this library's: `numpy.asarray`, `torch.from_dlpack`, `cupy.asarray` and the like
/// take it without a copy.
#[pyclass(frozen, module = "placefield")]
pub(super) struct Array {
    memory: Arc<Memory>,
    shape: Vec<usize>,
    read_only: bool,
}

impl Array {
    pub(super) fn new(memory: impl Into<Memory>, shape: &[usize]) -> Self {
        Array { memory: Arc::new(memory.into()), shape: shape.to_vec(), read_only: false }
    }

    /// Values that nobody may write.
    pub(super) fn column<T>(values: Vec<T>) -> Self
    where
        Memory: From<Vec<T>>,
    {
        let shape = vec![values.len()];
        Array { memory: Arc::new(values.into()), shape, read_only: true }
    }

    /// Returns a NumPy array over this memory.
    pub(super) fn numpy(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        py.import("numpy")?.call_method1("asarray", (self,))
    }

    fn type_name(&self) -> &'static str {
        match (self.memory.code(), self.memory.bits()) {
            (INT, _) => "<i8",
            (_, 32) => "<f4",
            _ => "<f8",
        }
    }

    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("typestr", self.type_name())?;
        interface.set_item("data", (self.memory.address(), self.read_only))?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }
}

#[pymethods]
impl Array {
    /// Sizes, slowest axis first.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// "float32", "float64" or "int64".
    #[getter]
    fn dtype(&self) -> String {
        let kind = if self.memory.code() == INT { "int" } else { "float" };
        format!("{kind}{}", self.memory.bits())
    }

    /// NumPy's: of arrays in host memory.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.memory.place() {
            Device::Cpu => self.interface(py),
            Device::Cuda(_) => Err(PyAttributeError::new_err("the array is not in host memory")),
        }
    }

    /// CuPy's and Numba's: of arrays in device memory. Everything before it has run.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if matches!(self.memory.place(), Device::Cpu) {
            return Err(PyAttributeError::new_err("the array is not in device memory"));
        }
        #[cfg(feature = "cuda")]
        if let Memory::Cuda(memory) = &*self.memory {
            super::errors::detached(py, || Ok(memory.gpu().synchronize()?))?;
        }
        self.interface(py)
    }

    /// DLPack's device: (1, 0) of the host, (2, ordinal) of CUDA.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        device_tuple(py, self.memory.place())
    }

    /// Returns DLPack's capsule. For device memory, `stream` waits on the device for enqueued work.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<isize>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let place = self.memory.place();
        let device = match place {
            Device::Cpu => (CPU, 0),
            Device::Cuda(ordinal) => (CUDA, ordinal as i32),
        };
        if dl_device.is_some_and(|asked| asked != device) || copy == Some(true) {
            return Err(PyBufferError::new_err("the array is lent where it is, without a copy"));
        }
        match &*self.memory {
            #[cfg(feature = "cuda")]
            Memory::Cuda(memory) if stream != Some(-1) => {
                super::errors::detached(py, || {
                    let stream = crate::ffi::stream_of(stream.unwrap_or(1) as usize);
                    // SAFETY: a live stream, as DLPack has it; nothing is enqueued but the wait.
                    unsafe { crate::cuda::interop::on_stream(memory.gpu(), stream, || ()) }?;
                    Ok(())
                })?;
            }
            Memory::F32(_) | Memory::F64(_) | Memory::I64(_) if stream.is_some() => {
                return Err(PyBufferError::new_err("stream: the array is in host memory"));
            }
            _ => {}
        }
        let mut lent = Box::new(ExportedArray {
            shape: self.shape.iter().map(|&n| n as i64).collect(),
            memory: self.memory.clone(),
        });
        let tensor = DlTensor {
            data: lent.memory.pointer(),
            device: DlDevice { device_type: device.0, device_id: device.1 },
            ndim: lent.shape.len() as i32,
            dtype: DlDataType { code: self.memory.code(), bits: lent.memory.bits(), lanes: 1 },
            shape: lent.shape.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let context: *mut c_void = Box::into_raw(lent).cast();
        if max_version.is_some_and(|(major, _)| major >= 1) {
            let version = DlVersion { major: 1, minor: 0 };
            let flags = if self.read_only { READ_ONLY } else { 0 };
            capsule(py, DlManagedVersioned { version, context, deleter: Some(free), flags, tensor })
        } else {
            capsule(py, DlManaged { tensor, context, deleter: Some(free) })
        }
    }

    fn __repr__(&self) -> String {
        format!("placefield.Array(shape={:?}, dtype={})", self.shape, self.dtype())
    }
}

/// The array that a capsule's structure points to.
struct ExportedArray {
    shape: Vec<i64>,
    memory: Arc<Memory>,
}

/// What a capsule points to.
trait Managed {
    const NAME: &'static CStr;

    /// The [`ExportedArray`].
    fn context(&self) -> *mut c_void;
}

impl Managed for DlManaged {
    const NAME: &'static CStr = OLD;

    fn context(&self) -> *mut c_void {
        self.context
    }
}

impl Managed for DlManagedVersioned {
    const NAME: &'static CStr = VERSIONED;

    fn context(&self) -> *mut c_void {
        self.context
    }
}

fn capsule<M: Managed>(py: Python<'_>, managed: M) -> PyResult<Bound<'_, PyAny>> {
    let managed = Box::into_raw(Box::new(managed));
    // SAFETY: the name is static and the destructor is this structure's.
    let made =
        unsafe { ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(drop_capsule::<M>)) };
    if made.is_null() {
        // SAFETY: nobody has got it.
        unsafe { free(managed) };
        return Err(PyMemoryError::new_err("no memory for a capsule"));
    }
    // SAFETY: a new reference.
    Ok(unsafe { Bound::from_owned_ptr(py, made) })
}

/// DLPack's deleter: it touches nothing of Python's and may run on any thread.
unsafe extern "C" fn free<M: Managed>(managed: *mut M) {
    // SAFETY: both boxes were made above, and this is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context().cast::<ExportedArray>()));
    }
}

/// Frees what nobody has taken out of the capsule.
unsafe extern "C" fn drop_capsule<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with the capsule; under this name it holds the structure.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) != 0 {
            free::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}
