//! The row-column pipeline on a device: `kernels/row_column.cu`, typed, around
//! batched 1-D cuFFT.
//!
//! A 2-D transform is eight passes over the map: reordering (or
//! pre-processing), FFT and post-processing (or reordering) along y, a tiled
//! transpose, the same along x, and a transpose back (Jiang et al., "Examples and
//! Summary"). A solve is 32 passes, 64 words of traffic per bin;
//! spectral scaling costs none of its own, for the pre-processing does it.

use super::device::Gpu;
use super::error::CudaError;
use super::fft::{ForwardFft, InverseFft, share_work_area};
use super::launch::{BLOCK, SumScratch, check_length, cover, cover_for_sum};
use super::real::CudaReal;
use super::reorder::{Reordering, Sines};
use super::solver::{FieldSolver, Fields, Green, SolverOptions, twiddles};
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::Transform;
use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, LaunchConfig, PushKernelArg};
use std::sync::Arc;

/// The row-column pipeline for one grid.
pub struct RowColumn<T: CudaReal> {
    gpu: Gpu,
    passes: Passes<T>,
    solve_pre: CudaFunction,
    sum_config: LaunchConfig,
    sum: SumScratch,
    green: Green<T>,
    /// ρ's DCT spectrum.
    spectrum: CudaSlice<T>,
}

impl<T: CudaReal> RowColumn<T> {
    /// Compiles (or loads) kernels, plans the FFTs and allocates everything a
    /// solve needs. Of the options only [`SolverOptions::reorder`] matters here.
    ///
    /// # Errors
    /// When kernels cannot be compiled, cuFFT refuses the size, or memory runs out.
    pub fn new(gpu: &Gpu, grid: &BinGrid, options: SolverOptions) -> Result<Self, CudaError> {
        let module = gpu.kernels::<T>("row_column")?;
        let solve_pre = module.load_function("solve_pre")?;
        let sum_config = cover_for_sum(gpu, &solve_pre, (grid.ny() / 2 + 1, grid.nx()))?;
        Ok(RowColumn {
            gpu: gpu.clone(),
            passes: Passes::new(gpu, &module, grid, options)?,
            solve_pre,
            sum_config,
            sum: SumScratch::new(gpu, sum_config)?,
            green: Green::new(grid, 4.0 / grid.bins() as f64),
            spectrum: gpu.zeros(grid.bins())?,
        })
    }

    /// Enqueues the pre-processing along y of one of the solve's inverses: 0 is
    /// φ (and the energy), 1 is Ex, 2 is Ey.
    fn solve_pre(&mut self, map: i32, energy: &mut CudaSlice<f64>) -> Result<(), CudaError> {
        let along_y = &self.passes.along_y;
        // SAFETY: the types are those of solve_pre in kernels/row_column.cu; the
        // spectrum holds nx × ny elements and `half` at least nx × (ny/2 + 1);
        // the scratch was made for this launch, whose blocks are of BLOCK
        // threads; `energy` has been checked to hold one number.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.solve_pre)
                .arg(&self.spectrum)
                .arg(&mut self.passes.half)
                .arg(&along_y.rows)
                .arg(&along_y.n)
                .arg(&along_y.twiddles)
                .arg(&self.green)
                .arg(&map)
                .arg(&mut self.sum.partial)
                .arg(&mut self.sum.ticket)
                .arg(energy)
                .launch(self.sum_config)
        }?;
        Ok(())
    }
}

impl<T: CudaReal> FieldSolver<T> for RowColumn<T> {
    fn pipeline(&self) -> Pipeline {
        Pipeline::RowColumn
    }

    fn forward(&mut self, rho: &CudaSlice<T>) -> Result<(), CudaError> {
        self.passes.dct2(rho, &mut self.spectrum)
    }

    fn inverse(&mut self, fields: &mut Fields<T>) -> Result<(), CudaError> {
        check_length("energy", fields.energy.len(), 1)?;
        self.solve_pre(0, &mut fields.energy)?;
        self.passes.inverse(Sines { x: false, y: false }, &mut fields.potential)?;
        self.solve_pre(1, &mut fields.energy)?;
        self.passes.inverse(Sines { x: true, y: false }, &mut fields.field_x)?;
        self.solve_pre(2, &mut fields.energy)?;
        self.passes.inverse(Sines { x: false, y: true }, &mut fields.field_y)
    }

    fn transform(
        &mut self,
        transform: Transform,
        input: &CudaSlice<T>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let passes = &mut self.passes;
        let sines = match transform {
            Transform::Dct => return passes.dct2(input, output),
            Transform::Idct => Sines { x: false, y: false },
            Transform::IdctIdxst => Sines { x: false, y: true },
            Transform::IdxstIdct => Sines { x: true, y: false },
        };
        passes.along_y.pre(input, &mut passes.half, sines.y)?;
        passes.inverse(sines, output)
    }
}

/// The eight passes of a 2-D transform, and the buffers between them.
struct Passes<T: CudaReal> {
    /// Along y, on `[nx][ny]` maps.
    along_y: Lines<T>,
    /// Along x, on `[ny][nx]` maps.
    along_x: Lines<T>,
    half: CudaSlice<T::Complex>,
    first: CudaSlice<T>,
    second: CudaSlice<T>,
}

impl<T: CudaReal> Passes<T> {
    fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        grid: &BinGrid,
        options: SolverOptions,
    ) -> Result<Self, CudaError> {
        let (nx, ny) = (grid.nx(), grid.ny());
        let mut y = Lines::new(gpu, module, (nx, ny), options)?;
        let mut x = Lines::new(gpu, module, (ny, nx), options)?;
        share_work_area(
            gpu,
            &mut [&mut y.forward_fft, &mut y.inverse_fft, &mut x.forward_fft, &mut x.inverse_fft],
        )?;
        Ok(Passes {
            half: gpu.zeros(y.half_spectra().max(x.half_spectra()))?,
            first: gpu.zeros(grid.bins())?,
            second: gpu.zeros(grid.bins())?,
            along_y: y,
            along_x: x,
        })
    }

    /// Enqueues a DCT along both axes.
    fn dct2(&mut self, input: &CudaSlice<T>, output: &mut CudaSlice<T>) -> Result<(), CudaError> {
        let Passes { along_y, along_x, half, first, second } = self;
        along_y.reordering.reorder(input, first)?;
        along_y.forward_fft.run(first, half)?;
        along_y.post(half, second)?;
        along_y.transpose(second, first)?;
        along_x.reordering.reorder(first, second)?;
        along_x.forward_fft.run(second, half)?;
        along_x.post(half, first)?;
        along_x.transpose(first, output)
    }

    /// Enqueues an inverse transform whose pre-processing along y is in `half`.
    fn inverse(&mut self, sines: Sines, output: &mut CudaSlice<T>) -> Result<(), CudaError> {
        let Passes { along_y, along_x, half, first, second } = self;
        // A line's own axis is the columns here, whichever axis of the map it is.
        let [sine_y, sine_x] = [sines.y, sines.x].map(|sine| [Sines { x: false, y: sine }]);
        along_y.inverse_fft.run(half, first)?;
        along_y.reordering.restore(first, [second], sine_y)?;
        along_y.transpose(second, first)?;
        along_x.pre(first, half, sines.x)?;
        along_x.inverse_fft.run(half, second)?;
        along_x.reordering.restore(second, [first], sine_x)?;
        along_x.transpose(first, output)
    }
}

/// 1-D transforms of all rows of a `[rows][n]` map.
struct Lines<T: CudaReal> {
    gpu: Gpu,
    rows: u32,
    n: u32,
    /// e^{-jπk/2n}.
    twiddles: CudaSlice<T::Complex>,
    reordering: Reordering<T>,
    forward_fft: ForwardFft<T>,
    inverse_fft: InverseFft<T>,
    dct_post: CudaFunction,
    idct_pre: CudaFunction,
    half_config: LaunchConfig,
    transpose: CudaFunction,
    transpose_config: LaunchConfig,
}

/// Side of a transpose's tile: `TILE` in `kernels/row_column.cu`.
const TILE: u32 = 32;

impl<T: CudaReal> Lines<T> {
    fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        (rows, n): (usize, usize),
        options: SolverOptions,
    ) -> Result<Self, CudaError> {
        Ok(Lines {
            gpu: gpu.clone(),
            rows: rows as u32,
            n: n as u32,
            twiddles: twiddles::<T>(gpu, n)?,
            reordering: Reordering::new(gpu, module, options.reorder, (rows, n), false)?,
            forward_fft: ForwardFft::new(gpu, &[n], rows)?,
            inverse_fft: InverseFft::new(gpu, &[n], rows)?,
            dct_post: module.load_function("dct_post")?,
            idct_pre: module.load_function("idct_pre")?,
            half_config: cover(128, (n / 2 + 1, rows)),
            transpose: module.load_function("transpose")?,
            transpose_config: LaunchConfig {
                grid_dim: ((n as u32).div_ceil(TILE), (rows as u32).div_ceil(TILE), 1),
                block_dim: (TILE, BLOCK / TILE, 1),
                shared_mem_bytes: 0,
            },
        })
    }

    fn elements(&self) -> usize {
        self.rows as usize * self.n as usize
    }

    fn half_spectra(&self) -> usize {
        self.rows as usize * (self.n as usize / 2 + 1)
    }

    /// Enqueues the DCT's post-processing of every row.
    fn post(
        &self,
        half: &CudaSlice<T::Complex>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        assert!(half.len() >= self.half_spectra() && output.len() == self.elements());
        // SAFETY: the types are those of dct_post in kernels/row_column.cu;
        // lengths are checked above, the table holds n + 1 elements.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.dct_post)
                .arg(half)
                .arg(output)
                .arg(&self.rows)
                .arg(&self.n)
                .arg(&self.twiddles)
                .launch(self.half_config)
        }?;
        Ok(())
    }

    /// Enqueues the inverse's pre-processing of every row.
    fn pre(
        &self,
        input: &CudaSlice<T>,
        half: &mut CudaSlice<T::Complex>,
        sine: bool,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.elements())?;
        assert!(half.len() >= self.half_spectra());
        let sine = i32::from(sine);
        // SAFETY: the types are those of idct_pre in kernels/row_column.cu;
        // lengths are checked above, the table holds n + 1 elements.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.idct_pre)
                .arg(input)
                .arg(half)
                .arg(&self.rows)
                .arg(&self.n)
                .arg(&self.twiddles)
                .arg(&sine)
                .launch(self.half_config)
        }?;
        Ok(())
    }

    /// Enqueues the transpose of a `[rows][n]` map.
    fn transpose(&self, input: &CudaSlice<T>, output: &mut CudaSlice<T>) -> Result<(), CudaError> {
        check_length("transformed map", output.len(), self.elements())?;
        assert!(input.len() == self.elements());
        // SAFETY: the types are those of transpose in kernels/row_column.cu,
        // lengths are checked above, and blocks are TILE × BLOCK / TILE threads.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.transpose)
                .arg(input)
                .arg(output)
                .arg(&self.rows)
                .arg(&self.n)
                .launch(self.transpose_config)
        }?;
        Ok(())
    }
}
