//! The Python module: `placefield._placefield`, on which the package in
//! `scripts/python/placefield` is written.
//!
//! This module only converts. It reads arrays of NumPy, PyTorch and CuPy without a copy
//! ([`dlpack`]) and returns arrays in its own memory ([`arrays`]), on the host as NumPy arrays. It
//! checks an array's type, device, shape and strides before it reads its memory. Options are a
//! dictionary, and each is checked by its name ([`options`]). The interpreter is released while the
//! library works, and errors are exceptions with the library's text ([`errors`]).

mod arrays;
mod design;
mod devices;
mod dlpack;
mod engine;
mod errors;
mod evaluation;
mod from_arrays;
mod maps;
#[cfg(feature = "cuda")]
mod on_device;
mod options;
mod place;
mod transforms;

use pyo3::prelude::*;

/// The compiled half of the package `placefield`.
#[pymodule(gil_used = false)]
fn _placefield(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrays::Array>()?;
    module.add_class::<design::Design>()?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<evaluation::Evaluation>()?;
    module.add_function(wrap_pyfunction!(cuda_devices, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::solve, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::transform, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::solve_on_device, module)?)?;
    module.add_function(wrap_pyfunction!(transforms::transform_on_device, module)?)?;
    module.add_function(wrap_pyfunction!(design::read_design, module)?)?;
    module.add_function(wrap_pyfunction!(design::design_of_state, module)?)?;
    module.add_function(wrap_pyfunction!(from_arrays::design_of_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(design::diff, module)?)?;
    module.add_function(wrap_pyfunction!(place::place, module)?)?;
    module.add_function(wrap_pyfunction!(place::legalize, module)?)?;
    module.add_function(wrap_pyfunction!(place::refine, module)?)?;
    module.add_function(wrap_pyfunction!(maps::maps, module)?)?;
    module.add_function(wrap_pyfunction!(maps::maps_on_device, module)?)?;
    module.add_function(wrap_pyfunction!(maps::map_label, module)?)?;
    module.add_function(wrap_pyfunction!(maps::heat_map, module)?)?;
    module.add_function(wrap_pyfunction!(maps::histogram, module)?)?;
    module.add_function(wrap_pyfunction!(maps::profile, module)?)?;
    module.add_function(wrap_pyfunction!(maps::forces, module)?)?;
    Ok(())
}

/// Returns the number of usable CUDA devices and, if there are none, the reason.
#[pyfunction]
fn cuda_devices(py: Python<'_>) -> (usize, Option<String>) {
    py.detach(crate::ffi::cuda_devices)
}
