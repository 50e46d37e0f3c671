//! Arguments of kernels.

use super::error::CudaError;
use super::gpu::Gpu;
use super::memory::{DeviceSlice, DeviceSliceMut, DeviceVec};
use super::value::DeviceValue;
use cudarc::driver::sys::CUdeviceptr;
use std::ffi::c_void;
use std::marker::PhantomData;

/// An address in a structure that kernels take: 0, or the address of values of type `E`.
#[repr(transparent)]
pub(crate) struct Pointer<E>(pub(crate) CUdeviceptr, PhantomData<fn(E)>);

/// Values in device memory as an argument of a kernel. Memory of another device is refused.
pub(crate) struct Array<E> {
    address: CUdeviceptr,
    /// [`Gpu::id`] of the memory's device, where that is checked.
    owner: Option<usize>,
    of: PhantomData<fn(E)>,
}

/// Values of a type that a kernel was compiled for.
pub(crate) enum Any {}

impl<E> std::fmt::Debug for Pointer<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl<E> Clone for Pointer<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Pointer<E> {}

impl<E> Pointer<E> {
    /// No address.
    pub(crate) const NULL: Self = Self::at(0);

    pub(crate) const fn at(address: CUdeviceptr) -> Self {
        Pointer(address, PhantomData)
    }
}

impl<E> Clone for Array<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Array<E> {}

impl<E> Array<E> {
    /// No values.
    pub(crate) const NULL: Self = Self::at(0);

    /// Returns the values at an address. The caller ensures that the device can access them.
    pub(crate) const fn at(address: CUdeviceptr) -> Self {
        Array { address, owner: None, of: PhantomData }
    }

    /// Returns the same memory, as values of another type.
    pub(crate) fn cast<F>(self) -> Array<F> {
        Array { address: self.address, owner: self.owner, of: PhantomData }
    }
}

macro_rules! memory {
    ($([$($lifetime:lifetime)?] $memory:ty),*) => {
        $(impl<$($lifetime,)? E: DeviceValue> From<&$memory> for Array<E> {
            fn from(memory: &$memory) -> Self {
                let (address, owner) = (*memory.address(), Some(memory.gpu().id()));
                Array { address, owner, of: PhantomData }
            }
        }

        impl<$($lifetime,)? E: DeviceValue> From<&$memory> for Pointer<E> {
            fn from(memory: &$memory) -> Self {
                Pointer::at(*memory.address())
            }
        })*
    };
}
memory!([] DeviceVec<E>, ['a] DeviceSlice<'a, E>, ['a] DeviceSliceMut<'a, E>);

impl<E, M: Into<Array<E>>> From<Option<M>> for Array<E> {
    fn from(memory: Option<M>) -> Self {
        memory.map_or(Array::NULL, Into::into)
    }
}

/// Returns one array of addresses for each rank.
pub(crate) fn pointers<'a, E: DeviceValue, const N: usize>(
    arrays: impl IntoIterator<Item = &'a DeviceVec<E>>,
) -> [Pointer<E>; N] {
    let mut pointers = [Pointer::NULL; N];
    pointers.iter_mut().zip(arrays).for_each(|(to, array)| *to = array.into());
    pointers
}

/// A type that kernels take by value: a number, a structure or the address of memory.
///
/// # Safety
/// `pointer` leads to a value of the type that the kernel declares, laid out as in C++. Addresses
/// in the value are of memory that `check` checks or that the caller of the launch ensures.
pub(crate) unsafe trait KernelArgument {
    /// Refuses memory of another device.
    fn check(&self, _gpu: &Gpu) -> Result<(), CudaError> {
        Ok(())
    }

    /// Returns a pointer to the value, which is only read.
    fn pointer(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Returns the size of the value in bytes.
    fn size(&self) -> usize {
        size_of_val(self)
    }
}

// SAFETY: numbers are alike on both sides, and `build.rs` makes structures from the kernels'.
unsafe impl<E: DeviceValue> KernelArgument for E {}

// SAFETY: an address is passed as a pointer to values of this type.
unsafe impl<E> KernelArgument for Array<E> {
    fn check(&self, gpu: &Gpu) -> Result<(), CudaError> {
        match self.owner {
            Some(owner) if owner != gpu.id() => Err(CudaError::OtherGpu),
            _ => Ok(()),
        }
    }

    fn pointer(&self) -> *mut c_void {
        std::ptr::from_ref(&self.address).cast_mut().cast()
    }

    fn size(&self) -> usize {
        size_of_val(&self.address)
    }
}

/// The largest number of arguments of a kernel.
const MOST_ARGUMENTS: usize = 20;

/// The addresses and sizes in bytes of a launch's arguments.
pub(crate) struct ArgumentList<'a> {
    gpu: &'a Gpu,
    pointers: [*mut c_void; MOST_ARGUMENTS],
    sizes: [usize; MOST_ARGUMENTS],
    count: usize,
    of: PhantomData<&'a ()>,
}

impl<'a> ArgumentList<'a> {
    pub(super) fn of(gpu: &'a Gpu, arguments: &'a impl Arguments) -> Result<Self, CudaError> {
        let pointers = [std::ptr::null_mut(); MOST_ARGUMENTS];
        let sizes = [0; MOST_ARGUMENTS];
        let mut list = ArgumentList { gpu, pointers, sizes, count: 0, of: PhantomData };
        arguments.list(&mut list)?;
        Ok(list)
    }

    pub(super) fn pointers(&mut self) -> *mut *mut c_void {
        self.pointers.as_mut_ptr()
    }

    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes[..self.count]
    }

    /// Adds the next argument.
    pub(crate) fn add(&mut self, argument: &'a impl KernelArgument) -> Result<(), CudaError> {
        argument.check(self.gpu)?;
        self.pointers[self.count] = argument.pointer();
        self.sizes[self.count] = argument.size();
        self.count += 1;
        Ok(())
    }

    /// Adds the next argument if the kernel was compiled with it.
    pub(crate) fn add_if(
        &mut self,
        argument: &'a Option<impl KernelArgument>,
    ) -> Result<(), CudaError> {
        argument.as_ref().map_or(Ok(()), |argument| self.add(argument))
    }
}

/// The arguments of a kernel by name, which `build.rs` makes from the kernel's declaration.
///
/// # Safety
/// The arguments are the kernels' arguments, in the same order.
pub(crate) unsafe trait Arguments {
    /// The kernels that take them.
    const NAMES: &'static [&'static str];

    /// Adds all of them to a list.
    fn list<'a>(&'a self, list: &mut ArgumentList<'a>) -> Result<(), CudaError>;
}
