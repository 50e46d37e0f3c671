//! The fused pipeline on a device: `kernels/solve/fused.cu`, around cuFFT.
//!
//! A forward DCT is reorder → 2-D real FFT → post-processing; an inverse is
//! pre-processing → 2-D real inverse FFT → reorder (Jiang et al., algorithm 2).
//! In values read or written per bin a solve moves 28 with
//! [`Folding::Shared`] and 32 with [`Folding::PerTransform`], counting a 2-D
//! FFT as two passes.

use super::field_solver::{FieldSolver, Fields, Folding, Green, SolverOptions, private};
use crate::cuda::device::reals;
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Kernel, SumScratch, check_length, cover_for_sum, function,
};
use crate::cuda::fft::{ForwardFft, InverseFft, Maps, Quads, Reordering, Sines, share_work_area};
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::{PostProcessing, Transform};
use cudarc::driver::CudaModule;
use std::ops::Range;
use std::sync::Arc;

/// The fused pipeline for one grid.
pub struct Fused<T: CudaReal> {
    stages: Stages<T>,
    reordering: Reordering<T>,
    forward_fft: ForwardFft<T>,
    inverse_fft: InverseFft<T>,
    inverses: Inverses<T>,
    /// FFT spectra, as many as are alive at once.
    spectra: DeviceVec<T::Complex>,
    /// Maps as the inverse FFTs leave them, as many as are alive at once.
    reordered: DeviceVec<T>,
}

/// [`Folding`], with what each needs.
enum Inverses<T: CudaReal> {
    /// All three inverses as one batch.
    Shared(InverseFft<T>),
    /// ρ's DCT spectrum, written out between the transforms.
    PerTransform(DeviceVec<T>),
}

/// φ, Ex, Ey: the sine transforms each is made by.
pub(in crate::cuda) const SINES: [Sines; 3] =
    [Sines { x: false, y: false }, Sines { x: true, y: false }, Sines { x: false, y: true }];

impl<T: CudaReal> Fused<T> {
    /// Compiles (or loads) kernels, plans the FFTs and allocates everything a
    /// solve needs.
    ///
    /// # Errors
    /// When kernels cannot be compiled, cuFFT refuses the size, or memory runs out.
    pub fn new(gpu: &Gpu, grid: &BinGrid, options: SolverOptions) -> Result<Self, CudaError> {
        let shape = [grid.nx(), grid.ny()];
        let module = gpu.kernels::<T>("fused")?;
        let mut forward_fft = ForwardFft::new(gpu, &shape, 1)?;
        let mut inverse_fft = InverseFft::new(gpu, &shape, 1)?;
        let (inverses, maps) = match options.folding {
            Folding::Shared => {
                let mut batch = InverseFft::new(gpu, &shape, SINES.len())?;
                share_work_area(gpu, &mut [&mut forward_fft, &mut inverse_fft, &mut batch])?;
                (Inverses::Shared(batch), SINES.len())
            }
            Folding::PerTransform => {
                share_work_area(gpu, &mut [&mut forward_fft, &mut inverse_fft])?;
                (Inverses::PerTransform(gpu.zeros(grid.bins())?), 1)
            }
        };
        Ok(Fused {
            reordering: Reordering::new(
                gpu,
                &module,
                options.reorder,
                Maps::one(grid.nx(), grid.ny()),
                true,
                T::TYPE,
            )?,
            stages: Stages::new(gpu, &module, grid, 0..grid.ny() / 2 + 1, options.post)?,
            forward_fft,
            inverse_fft,
            inverses,
            spectra: gpu.zeros(maps * grid.nx() * (grid.ny() / 2 + 1))?,
            reordered: gpu.zeros(maps * grid.bins())?,
        })
    }
}

impl<T: CudaReal> private::Sealed for Fused<T> {}

impl<T: CudaReal> FieldSolver<T> for Fused<T> {
    fn pipeline(&self) -> Pipeline {
        Pipeline::Fused
    }

    fn forward(&mut self, rho: &DeviceVec<T>) -> Result<(), CudaError> {
        let Fused { stages, reordering, forward_fft, inverses, spectra, .. } = self;
        match inverses {
            Inverses::Shared(_) => {
                // The last spectrum's place is free until the inverses begin, and
                // the next kernel writes over it while it is still in the cache.
                let half = stages.quads.half_spectra();
                let (first, last) = spectra.split_at_mut(2 * half);
                let mut map = reals::<T>(last).first(stages.quads.elements());
                reordering.reorder(rho, map.reborrow())?;
                forward_fft.run(map.as_view(), first)
            }
            Inverses::PerTransform(spectrum) => {
                dct2(stages, reordering, forward_fft, rho, spectra, spectrum)
            }
        }
    }

    fn inverse(&mut self, fields: &mut Fields<T>) -> Result<(), CudaError> {
        check_length("energy", fields.energy.len(), 1)?;
        let Fields { potential, field_x, field_y, energy } = fields;
        let outputs = [potential, field_x, field_y];
        match &mut self.inverses {
            Inverses::Shared(batch) => {
                self.stages.solve_spectra(&mut self.spectra, energy)?;
                batch.run(&mut self.spectra, &mut self.reordered)?;
                self.reordering.restore(&self.reordered, outputs, SINES)
            }
            Inverses::PerTransform(spectrum) => {
                for (map, (output, sines)) in outputs.into_iter().zip(SINES).enumerate() {
                    self.stages.solve_pre(spectrum, &mut self.spectra, map as i32, energy)?;
                    self.inverse_fft.run(&mut self.spectra, &mut self.reordered)?;
                    self.reordering.restore(&self.reordered, [output], [sines])?;
                }
                Ok(())
            }
        }
    }

    fn transform(
        &mut self,
        transform: Transform,
        input: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        if transform == Transform::Dct {
            let Fused { stages, reordering, forward_fft, spectra, .. } = self;
            return dct2(stages, reordering, forward_fft, input, spectra, output);
        }
        let sines = Sines::of(transform);
        self.stages.quads.pre(input, &mut self.spectra, sines)?;
        self.inverse_fft.run(&mut self.spectra, &mut self.reordered)?;
        self.reordering.restore(&self.reordered, [output], [sines])
    }
}

/// Enqueues the three stages of a DCT. The output holds the reordered map in
/// between: one buffer less to pass through the cache (an H200, 2048²: 5 % faster
/// in f32).
fn dct2<T: CudaReal>(
    stages: &Stages<T>,
    reordering: &Reordering<T>,
    fft: &mut ForwardFft<T>,
    input: &DeviceVec<T>,
    spectrum: &mut DeviceVec<T::Complex>,
    output: &mut DeviceVec<T>,
) -> Result<(), CudaError> {
    check_length("transformed map", output.len(), stages.quads.elements())?;
    reordering.reorder(input, output.as_view_mut())?;
    fft.run(&*output, &mut *spectrum)?;
    stages.quads.post(spectrum, output, None)
}

/// The kernels between the FFTs and their tables.
pub(in crate::cuda) struct Stages<T: CudaReal> {
    gpu: Gpu,
    /// The spectra's first column, and how many there are.
    first: u32,
    width: u32,
    /// Those of single transforms.
    quads: Quads<T>,
    green: Green<T>,
    sum: SumScratch,
    solve_pre: Kernel,
    solve_spectra: Kernel,
}

impl<T: CudaReal> Stages<T> {
    /// For spectra of these columns; all of them for [`Stages::solve_pre`].
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        grid: &BinGrid,
        columns: Range<usize>,
        post: PostProcessing,
    ) -> Result<Self, CudaError> {
        assert!(columns.end <= grid.ny() / 2 + 1);
        let spectra = function(module, "solve_spectra")?;
        // One thread for four elements.
        let config = cover_for_sum(gpu, &spectra, (columns.len(), grid.nx() / 2 + 1))?;
        Ok(Stages {
            gpu: gpu.clone(),
            first: columns.start as u32,
            width: columns.len() as u32,
            quads: Quads::new(gpu, module, (grid.nx(), grid.ny()), 1, post, T::TYPE)?,
            // The kernels take a quarter of this: see ENERGY in kernels/solve/fused.cu.
            green: Green::new(grid, 1.0 / grid.bins() as f64),
            sum: SumScratch::new(gpu, config)?,
            solve_pre: Kernel::new(module, "solve_pre", config)?,
            solve_spectra: Kernel::new(module, "solve_spectra", config)?,
        })
    }

    /// Enqueues the pre-processing of one of the solve's inverses: 0 is φ (and
    /// the energy), 1 is Ex, 2 is Ey.
    fn solve_pre(
        &mut self,
        input: &DeviceVec<T>,
        spectrum: &mut DeviceVec<T::Complex>,
        map: i32,
        energy: &mut DeviceVec<f64>,
    ) -> Result<(), CudaError> {
        assert!(
            input.len() == self.quads.elements() && spectrum.len() >= self.quads.half_spectra()
        );
        let Quads { nx, ny, a, b, .. } = &self.quads;
        let SumScratch { partial, ticket } = &self.sum;
        let mut launch = self.solve_pre.on(&self.gpu);
        launch.args(&[input, spectrum, nx, ny, a, b, &self.green, &map, partial, ticket, energy]);
        // SAFETY: the types are those of solve_pre in kernels/solve/fused.cu; lengths
        // are checked above, `energy` by the caller, and the scratch was made
        // for this launch, whose blocks are of BLOCK threads.
        unsafe { launch.launch(self.solve_pre.config) }
    }

    /// Enqueues the pass from ρ's FFT spectrum, the first of `spectra`, to the
    /// three that the inverses start from.
    pub(in crate::cuda) fn solve_spectra(
        &mut self,
        spectra: &mut DeviceVec<T::Complex>,
        energy: &mut DeviceVec<f64>,
    ) -> Result<(), CudaError> {
        let spectra = &*spectra;
        let Stages { first, width, .. } = &*self;
        assert!(spectra.len() == 3 * self.quads.nx as usize * *width as usize);
        let Quads { nx, ny, a, b, .. } = &self.quads;
        let SumScratch { partial, ticket } = &self.sum;
        let mut launch = self.solve_spectra.on(&self.gpu);
        launch.args(&[spectra, spectra, nx, ny, first, width, a, b, &self.green]);
        launch.args(&[partial, ticket, energy]);
        // SAFETY: the types are those of solve_spectra in kernels/solve/fused.cu,
        // which allows its input to be the
        // first of its outputs; lengths are checked above, `energy` by the
        // caller, and the scratch was made for this launch, whose blocks are of
        // BLOCK threads.
        unsafe { launch.launch(self.solve_spectra.config) }
    }
}
