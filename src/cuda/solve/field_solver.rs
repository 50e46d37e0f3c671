//! The interface of every pipeline on a device: ρ → φ, Ex, Ey and the energy.
//!
//! a(u,v) are the DCT coefficients of ρ, with wavenumbers w_u = πu/nx and w_v =
//! (πv/ny)·(bin_x/bin_y). The potential's coefficients are a/(w_u² + w_v²), zero at u = v = 0. The
//! field's are w_u and w_v times the potential's, synthesised with a sine along their own axis.
//! Source: ePlace, section on the numerical solution of Poisson's equation. By Parseval, Σ φ·ρ is a
//! sum over the spectrum, which is computed in `f64` in a fixed order.

pub(crate) use crate::cuda::device::bindings::solve::{FieldMaps, Green};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, WIDEST, check_aligned,
};
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::Transform;
use std::f64::consts::PI;

pub(super) mod private {
    pub trait Sealed {}
}

/// The results of a solve, in device memory.
pub struct Fields<T: CudaReal> {
    /// φ, `[nx][ny]`, in bin widths squared.
    pub potential: DeviceVec<T>,
    /// E along x, `[nx][ny]`, in bin widths.
    pub field_x: DeviceVec<T>,
    /// E along y, `[nx][ny]`, in bin widths.
    pub field_y: DeviceVec<T>,
    /// One number: Σ φ·ρ over bins. For several maps: the total, then one per map.
    pub energy: DeviceVec<f64>,
}

impl<T: CudaReal> Fields<T> {
    /// Returns zero fields over `bins` bins ([`BinGrid::bins`]).
    ///
    /// # Errors
    /// When device memory runs out.
    pub fn new(gpu: &Gpu, bins: usize) -> Result<Self, CudaError> {
        Fields::of_maps(gpu, bins, 1)
    }

    /// Returns zero fields of `maps` maps of `bins` bins each, one after the other.
    pub(crate) fn of_maps(gpu: &Gpu, bins: usize, maps: usize) -> Result<Self, CudaError> {
        Ok(Fields {
            potential: gpu.zeros(maps * bins)?,
            field_x: gpu.zeros(maps * bins)?,
            field_y: gpu.zeros(maps * bins)?,
            energy: gpu.zeros(with_total(maps))?,
        })
    }

    /// Returns a mutable view of all results.
    pub fn as_mut(&mut self) -> FieldsMut<'_, T> {
        FieldsMut {
            potential: self.potential.as_view_mut(),
            field_x: self.field_x.as_view_mut(),
            field_y: self.field_y.as_view_mut(),
            energy: self.energy.as_view_mut(),
        }
    }
}

/// Memory for the results of a solve, borrowed; see [`Fields`].
pub struct FieldsMut<'a, T: CudaReal> {
    /// φ, `[nx][ny]`, in bin widths squared.
    pub potential: DeviceSliceMut<'a, T>,
    /// E along x, `[nx][ny]`, in bin widths.
    pub field_x: DeviceSliceMut<'a, T>,
    /// E along y, `[nx][ny]`, in bin widths.
    pub field_y: DeviceSliceMut<'a, T>,
    /// Σ φ·ρ over bins.
    pub energy: DeviceSliceMut<'a, f64>,
}

impl<T: CudaReal> FieldsMut<'_, T> {
    pub(crate) fn check(&self, gpu: &Gpu, bins: usize, maps: usize) -> Result<(), CudaError> {
        let fields = [&self.potential, &self.field_x, &self.field_y].map(|map| map.as_view());
        check_fields(gpu, [bins, maps], fields, self.energy.as_view())
    }
}

/// Refuses fields of another device, over another number of bins, of another number of maps, or at
/// addresses that kernels cannot write to.
pub(crate) fn check_fields<T: CudaReal>(
    gpu: &Gpu,
    [bins, maps]: [usize; 2],
    fields: [DeviceSlice<'_, T>; 3],
    energy: DeviceSlice<'_, f64>,
) -> Result<(), CudaError> {
    for (what, map) in ["potential", "field along x", "field along y"].into_iter().zip(fields) {
        gpu.check(what, map, maps * bins)?;
        check_aligned(what, *map.address(), WIDEST)?;
    }
    gpu.check("energy", energy, with_total(maps))
}

/// Returns the number of energies for `maps` maps: the total, plus one per map if there are
/// several.
pub(crate) fn with_total(maps: usize) -> usize {
    if maps == 1 { 1 } else { 1 + maps }
}

/// One pipeline on one device for one grid.
///
/// Every method only enqueues: it neither allocates on the device nor waits for it, so a
/// [`Graph`](crate::cuda::Graph) can capture all of them. Memory of another [`Gpu`] is refused.
/// Sealed:
///
/// ```compile_fail
/// # use placefield::cuda::{DeviceVec, FieldSolver, Fields};
/// struct Mine;
/// impl FieldSolver<f32> for Mine {}
/// ```
pub trait FieldSolver<T: CudaReal>: Send + private::Sealed {
    /// Returns which pipeline this is.
    fn pipeline(&self) -> Pipeline;

    /// Enqueues the forward transform of ρ (`nx·ny` values), whose result stays inside. A constant
    /// in ρ affects only rounding: subtract the mean of a flat ρ in `f32` first
    /// ([`Charge::background`](crate::charge::Charge::background)).
    ///
    /// # Errors
    /// When ρ has the wrong length or the launch fails.
    fn forward(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError>;

    /// Enqueues scaling and inverse transforms of the result of [`FieldSolver::forward`]; once for
    /// each time it ran.
    ///
    /// # Errors
    /// When a field has the wrong length or the launch fails.
    fn inverse(&mut self, fields: FieldsMut<'_, T>) -> Result<(), CudaError>;

    /// Enqueues the same without φ, if the pipeline can omit it: the energy does not need φ
    /// (Parseval). [`FieldSolver::potential`] computes φ later.
    ///
    /// # Errors
    /// When a field has the wrong length or the launch fails.
    fn inverse_field(&mut self, fields: FieldsMut<'_, T>) -> Result<(), CudaError> {
        self.inverse(fields)
    }

    /// Enqueues φ of the last solve, if [`FieldSolver::inverse_field`] has omitted it.
    ///
    /// # Errors
    /// When a field has the wrong length or the launch fails.
    fn potential(&mut self, _fields: FieldsMut<'_, T>) -> Result<(), CudaError> {
        Ok(())
    }

    /// Enqueues the whole solve.
    ///
    /// # Errors
    /// When a map has the wrong length or the launch fails.
    fn solve(&mut self, rho: &DeviceVec<T>, fields: &mut Fields<T>) -> Result<(), CudaError> {
        self.forward(rho.as_view())?;
        self.inverse(fields.as_mut())
    }

    /// Enqueues one transform of one map, both `[nx][ny]`; by default an error.
    ///
    /// # Errors
    /// When a map has the wrong length, the launch fails, or the pipeline has no single transforms
    /// ([`CudaError::SolvesOnly`]).
    fn transform(
        &mut self,
        _transform: Transform,
        _input: DeviceSlice<'_, T>,
        _output: DeviceSliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        Err(CudaError::SolvesOnly(self.pipeline()))
    }
}

/// φ is map 0, Ex map 1 and Ey map 2.
impl FieldMaps {
    pub(crate) const ALL: Self = FieldMaps { first: 0, step: 1, count: 3 };
    pub(crate) const POTENTIAL: Self = FieldMaps { first: 0, step: 1, count: 1 };
    pub(crate) const FIELD: Self = FieldMaps { first: 1, step: 1, count: 2 };
    pub(crate) const POTENTIAL_AND_Y: Self = FieldMaps { first: 0, step: 2, count: 2 };
    pub(crate) const X: Self = FieldMaps { first: 1, step: 1, count: 1 };
}

impl<T: CudaReal> Green<T> {
    pub(crate) fn new(grid: &BinGrid, scale: f64) -> Self {
        Green {
            step_x: T::cast(PI / grid.nx() as f64),
            step_y: T::cast(PI / grid.ny() as f64 * (grid.bin_x() / grid.bin_y())),
            scale: T::cast(scale),
        }
    }
}
