//! The Python module: `placefield._placefield`, on which the package in
//! `scripts/python/placefield` is written.
//!
//! Nothing here computes. Arrays come and go by DLPack ([`dlpack`]), so that NumPy, PyTorch and
//! CuPy are alike and none of them is needed to build or import; what an array is asked for, its
//! type, device, shape and strides, is checked before its memory is looked at. The interpreter is
//! released while the library works, and errors are exceptions with the library's text ([`errors`]).

mod arguments;
mod arrays;
mod design;
mod dlpack;
mod engine;
mod errors;
mod evaluation;
#[cfg(feature = "cuda")]
mod on_device;
mod transforms;

use pyo3::prelude::*;

/// The compiled half of the package `placefield`.
#[pymodule(gil_used = false)]
fn _placefield(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrays::Array>()?;
    module.add_class::<design::Design>()?;
    module.add_class::<design::Placement>()?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<evaluation::Evaluation>()?;
    module.add_function(wrap_pyfunction!(cuda_devices, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::solve, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::transform, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::solve_on_device, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::transform_on_device, module)?)?;
    module.add_function(wrap_pyfunction!(design::read_design, module)?)?;
    module.add_function(wrap_pyfunction!(design::place, module)?)?;
    Ok(())
}

/// The number of CUDA devices that can be used, and why there are none where there are none.
#[pyfunction]
fn cuda_devices(py: Python<'_>) -> (usize, Option<String>) {
    py.detach(crate::border::cuda_devices)
}
