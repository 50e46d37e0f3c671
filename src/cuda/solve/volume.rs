//! The solve in three dimensions on a device: `kernels/solve/volume.cu`, between a DCT and four
//! inverses of all axes.
//!
//! An inverse with a sine along an axis is an inverse with cosines of the reversed coefficients,
//! with odd values negated: w(n−k)·a(n−k) at k.

use crate::cuda::device::bindings::solve::{VolumeCoefficients, VolumeSigns};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Kernel, blocks_at_once, blocks_for,
};
use crate::cuda::transforms::{Path, Plan};
use crate::spectral::{Spectrum, check_bin};
use crate::transform::{Method, TransformNd, check_shape};
use std::f64::consts::PI;

/// The results of a solve in three dimensions, in device memory, each `[nx][ny][nz]`.
pub struct VolumeFields<T: CudaReal> {
    /// φ, in bin widths (along x) squared.
    pub potential: DeviceVec<T>,
    /// E along x, y and z, in bin widths (along x).
    pub field: [DeviceVec<T>; 3],
    /// One number: Σ φ·ρ over bins.
    pub energy: DeviceVec<f64>,
}

impl<T: CudaReal> VolumeFields<T> {
    /// Returns zero fields over `bins` bins.
    ///
    /// # Errors
    /// When device memory runs out.
    pub fn new(gpu: &Gpu, bins: usize) -> Result<Self, CudaError> {
        Ok(VolumeFields {
            potential: gpu.zeros(bins)?,
            field: [gpu.zeros(bins)?, gpu.zeros(bins)?, gpu.zeros(bins)?],
            energy: gpu.zeros(1)?,
        })
    }
}

/// A planned solve of densities of `nx × ny × nz` bins, z contiguous, on a device. For the
/// equations see the CPU's [`VolumeSolver`](crate::cpu::solve::VolumeSolver).
pub struct VolumeSolver<T: CudaReal> {
    gpu: Gpu,
    shape: [u32; 3],
    steps: [T; 3],
    scale: T,
    dct: Plan<T>,
    idct: Plan<T>,
    /// DCT of ρ.
    spectrum: DeviceVec<T>,
    /// The input of an inverse.
    coefficients: DeviceVec<T>,
    scaling: Kernel<VolumeCoefficients<T>>,
    signs: Kernel<VolumeSigns<T>>,
    /// Memory for the energy's sum over the grid between its two stages.
    partial: DeviceVec<f64>,
    ticket: DeviceVec<u32>,
}

impl<T: CudaReal> VolumeSolver<T> {
    /// Plans a solve of `shape` bins. Each bin has the lengths `bin` along x, y and z, of which
    /// only the ratios matter.
    ///
    /// # Errors
    /// [`CudaError::Shape`] when a size is zero or the sizes are beyond any memory, or a length is
    /// not above zero and finite; [`CudaError::NoTransform`] from 2³¹ bins on; else when kernels
    /// cannot be compiled, cuFFT refuses the sizes, or memory runs out.
    pub fn new(
        gpu: &Gpu,
        shape: [usize; 3],
        bin: [f64; 3],
        method: Method,
    ) -> Result<Self, CudaError> {
        let bins = check_shape(&shape, 1)?;
        check_bin(bin)?;
        if bins > i32::MAX as usize {
            let (shape, reason) = (shape.to_vec(), "expected fewer than 2^31 bins of a volume");
            return Err(CudaError::NoTransform { shape, batch: 1, reason });
        }
        let module = gpu.kernels::<T>("volume")?;
        let scaling = Kernel::new(&module)?;
        let blocks = blocks_for(bins).grid_dim.0;
        let few = blocks_at_once(gpu, &scaling, blocks as usize)?;
        let plan = |kind| Plan::of_arrays(gpu, kind, &shape, method, 1);
        let step = |axis: usize| PI / shape[axis] as f64 * (bin[0] / bin[axis]);
        Ok(VolumeSolver {
            gpu: gpu.clone(),
            shape: shape.map(|n| n as u32),
            steps: [0, 1, 2].map(|axis| T::cast(step(axis))),
            scale: T::cast(Spectrum::of_bins(&shape, &bin).normalisation()),
            dct: plan(TransformNd::Dct)?,
            idct: plan(TransformNd::Idct)?,
            spectrum: gpu.zeros(bins)?,
            coefficients: gpu.zeros(bins)?,
            scaling: scaling.with(few),
            signs: Kernel::new(&module)?.with(few),
            partial: gpu.zeros(few.grid_dim.0 as usize)?,
            ticket: gpu.zeros(1)?,
        })
    }

    /// Returns the method of its transforms.
    pub fn path(&self) -> Path {
        self.dct.path()
    }

    /// Enqueues φ, E and the energy of `rho`. It neither allocates nor waits for the device.
    ///
    /// # Errors
    /// When an array does not have `nx × ny × nz` values, another device owns it, or a launch
    /// fails.
    pub fn solve(
        &mut self,
        rho: &DeviceVec<T>,
        fields: &mut VolumeFields<T>,
    ) -> Result<(), CudaError> {
        let bins = self.spectrum.len();
        let VolumeFields { potential, field: [x, y, z], energy } = fields;
        let names = ["density", "potential", "field along x", "field along y", "field along z"];
        for (name, array) in names.into_iter().zip([rho, potential, x, y, z]) {
            self.gpu.check(name, array, bins)?;
        }
        self.gpu.check("energy", &*energy, 1)?;
        self.dct.run(rho, &mut self.spectrum)?;
        let [nx, ny, nz] = self.shape;
        let [step_x, step_y, step_z] = self.steps;
        for (map, output) in [potential, x, y, z].into_iter().enumerate() {
            let arguments = VolumeCoefficients {
                r#in: (&self.spectrum).into(),
                out: (&self.coefficients).into(),
                nx,
                ny,
                nz,
                step_x,
                step_y,
                step_z,
                scale: self.scale,
                map: map as i32,
                partial: (&self.partial).into(),
                ticket: (&self.ticket).into(),
                energy: (&*energy).into(),
            };
            // SAFETY: both arrays have nx·ny·nz values, fewer than 2³¹; the energy is one number,
            // and the scratch memory was made for this launch.
            unsafe { self.scaling.launch(&self.gpu, &arguments)? };
            self.idct.run(&self.coefficients, &mut *output)?;
            if let Some(axis) = map.checked_sub(1) {
                let inner = self.shape[axis + 1..].iter().product();
                let (count, n) = (bins as u32, self.shape[axis]);
                let arguments = VolumeSigns { values: (&*output).into(), count, n, inner };
                // SAFETY: there are `count` values (checked above), and n and inner are not zero.
                unsafe { self.signs.launch(&self.gpu, &arguments)? };
            }
        }
        Ok(())
    }
}
