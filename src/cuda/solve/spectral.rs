//! The pipelines of cuFFT on a device, fused and row-column: `kernels/solve/spectral.cu`.
//!
//! Fused, a forward DCT is reorder → 2-D real FFT → post-processing; an inverse is pre-processing →
//! 2-D real inverse FFT → reorder (Jiang et al., algorithm 2). In values read or written per bin a
//! solve moves 28, its inverses as one batch, and 32 with every transform its own three stages as
//! the paper has it, counting a 2-D FFT as two passes. Row-column, a transform is eight passes over
//! the map, along y and then along x, and a solve 32 (64 values). Scaling in the spectrum costs no
//! pass of its own, for the pre-processing does it.

use super::field_solver::{FieldSolver, Fields, Green, private};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Kernel, KernelArgument, check_length, cover_for_sum,
    function, reals,
};
use crate::cuda::fft::{FusedTransform, RealFft, Rounds, Sines, TransformSpec, share_work_area};
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::Transform;
use crate::transform::variants::{PostProcessing, Reorder};

/// The fused or the row-column pipeline for one grid.
pub struct Spectral<T: CudaReal> {
    pipeline: Pipeline,
    transforms: Rounds<T>,
    way: Implementation<T>,
    scaling: Scaling<T>,
}

/// A kernel of the spectrum between a solve's FFTs: Green's function with the factor of a round
/// trip of the transforms.
struct Scaling<T: CudaReal> {
    gpu: Gpu,
    kernel: Kernel,
    /// What the energy's sum over the grid needs between its two stages.
    partial: DeviceVec<f64>,
    ticket: DeviceVec<u32>,
    green: Green<T>,
}

impl<T: CudaReal> Scaling<T> {
    /// `solve_spectra`.
    fn of_spectra(transform: &FusedTransform<T>, grid: &BinGrid) -> Result<Self, CudaError> {
        let cells = (grid.ny() / 2 + 1, grid.nx() / 2 + 1);
        Self::new(transform, "solve_spectra", grid, cells)
    }

    /// `solve_pre`, of all rows.
    fn of_rows(transform: &FusedTransform<T>, grid: &BinGrid) -> Result<Self, CudaError> {
        let (maps, rows) = (transform.rank == 2, grid.nx());
        let cells = (grid.ny() / 2 + 1, if maps { rows / 2 + 1 } else { rows });
        Self::new(transform, "solve_pre", grid, cells)
    }

    fn new(
        transform: &FusedTransform<T>,
        name: &str,
        grid: &BinGrid,
        cells: (usize, usize),
    ) -> Result<Self, CudaError> {
        let FusedTransform { gpu, module, .. } = transform;
        // One thread for all that is at a place and at its mirror images.
        let config = cover_for_sum(gpu, &function(module, name)?, cells)?;
        Ok(Scaling {
            gpu: gpu.clone(),
            kernel: Kernel::new(module, name, config)?,
            partial: gpu.zeros(config.grid_dim.0 as usize * config.grid_dim.1 as usize)?,
            ticket: gpu.zeros(1)?,
            // With the factor of a round trip of the transforms.
            green: Green::new(grid, 4.0 / grid.bins() as f64),
        })
    }

    /// Enqueues the pass from ρ's FFT spectrum, the first of `spectra`, to the
    /// three that the inverses start from.
    fn spectra(
        &mut self,
        transform: &FusedTransform<T>,
        spectra: &mut DeviceVec<T::Complex>,
        energy: &mut DeviceVec<f64>,
    ) -> Result<(), CudaError> {
        assert!(spectra.len() == 3 * transform.half_spectra);
        // SAFETY: the types are those of solve_spectra in kernels/solve/spectral.cu, which allows
        // its input to be the first of its outputs; lengths are checked above.
        unsafe { self.enqueue(transform, [spectra, spectra], None, energy) }
    }

    /// Enqueues the pre-processing of one of the solve's inverses: that of φ (0, with the
    /// energy), of Ex (1) or of Ey (2).
    fn pre(
        &mut self,
        transform: &FusedTransform<T>,
        spectrum: &DeviceVec<T>,
        half: &mut DeviceVec<T::Complex>,
        map: i32,
        energy: &mut DeviceVec<f64>,
    ) -> Result<(), CudaError> {
        check_length("spectrum", spectrum.len(), transform.values)?;
        assert!(half.len() >= transform.half_spectra);
        // SAFETY: the types are those of solve_pre in kernels/solve/spectral.cu; lengths are
        // checked above.
        unsafe { self.enqueue(transform, [spectrum, half], Some(&map), energy) }
    }

    /// Enqueues the kernel, that of one inverse with its `map`.
    ///
    /// # Safety
    /// Input and output have the lengths, and all the types, that the kernel counts on.
    unsafe fn enqueue(
        &self,
        transform: &FusedTransform<T>,
        [input, output]: [&dyn KernelArgument; 2],
        map: Option<&i32>,
        energy: &mut DeviceVec<f64>,
    ) -> Result<(), CudaError> {
        let Scaling { gpu, kernel, partial, ticket, green } = self;
        check_length("energy", energy.len(), 1)?;
        let mut launch = kernel.on(gpu);
        launch.args(&[input, output]).args(&transform.axes());
        launch.arg(green);
        if let Some(map) = map {
            launch.arg(map);
        }
        launch.args(&[partial, ticket, energy]);
        // SAFETY: the caller's promise; the scratch was made for this launch, whose blocks are of
        // BLOCK threads.
        unsafe { launch.launch(kernel.config) }
    }
}

/// How a solve's inverses begin.
enum Implementation<T: CudaReal> {
    /// All three as one batch, from ρ's FFT spectrum.
    Shared(RealFft<T>),
    /// One after the other, from ρ's DCT spectrum, written out in between.
    Separate(DeviceVec<T>),
}

/// φ, Ex, Ey: the sine transforms each is made by.
const SINES: [Sines; 3] =
    [Sines { x: false, y: false }, Sines { x: true, y: false }, Sines { x: false, y: true }];

impl<T: CudaReal> Spectral<T> {
    /// Compiles (or loads) kernels, plans the FFTs and allocates everything a
    /// solve by [`Pipeline::Fused`] or [`Pipeline::RowColumn`] needs.
    ///
    /// # Errors
    /// When kernels cannot be compiled, cuFFT refuses the size, or memory runs out.
    ///
    /// # Panics
    /// When it is another pipeline.
    pub fn new(gpu: &Gpu, grid: &BinGrid, pipeline: Pipeline) -> Result<Self, CudaError> {
        match pipeline {
            // One pass from the forward FFT's output to the input of all three inverses, which then
            // run as one batch; one reordering for all three.
            Pipeline::Fused => Self::with_rounds(gpu, grid, pipeline, &[2], true),
            Pipeline::RowColumn => Self::with_rounds(gpu, grid, pipeline, &[1, 1], false),
            Pipeline::ThreePass => panic!("the three-pass solve has no FFTs of cuFFT"),
        }
    }

    /// Returns the fused pipeline with every transform its own three stages, as the paper has it:
    /// spectral scaling is folded into the pre-processing. For benchmarks.
    ///
    /// # Errors
    /// See [`Spectral::new`].
    pub fn per_transform(gpu: &Gpu, grid: &BinGrid) -> Result<Self, CudaError> {
        Self::with_rounds(gpu, grid, Pipeline::Fused, &[2], false)
    }

    fn with_rounds(
        gpu: &Gpu,
        grid: &BinGrid,
        pipeline: Pipeline,
        taken: &[usize],
        shared: bool,
    ) -> Result<Self, CudaError> {
        let shape = &[grid.nx(), grid.ny()];
        let (unit, directions, input) = ("spectral", &[true, false], T::TYPE);
        let (reorder, post) = (Reorder::default(), PostProcessing::default());
        let spec = TransformSpec { unit, shape, batch: 1, directions, reorder, post, input };
        let mut transforms = Rounds::new(gpu, &spec, taken, if shared { 3 } else { 1 })?;
        let round = &mut transforms.rounds[0];
        let (way, scaling) = if shared {
            let mut batch = RealFft::new(gpu, false, shape, SINES.len())?;
            share_work_area(gpu, &mut round.ffts().chain([&mut batch]).collect::<Vec<_>>())?;
            (Implementation::Shared(batch), Scaling::of_spectra(round, grid)?)
        } else {
            let scaling = Scaling::of_rows(round, grid)?;
            (Implementation::Separate(gpu.zeros(grid.bins())?), scaling)
        };
        Ok(Spectral { pipeline, transforms, way, scaling })
    }

    /// Returns the sine transforms of each round.
    fn sines(&self, Sines { x, y }: Sines) -> ([Sines; 2], usize) {
        match self.pipeline {
            Pipeline::RowColumn => ([Sines { x: false, y }, Sines { x: false, y: x }], 2),
            _ => ([Sines { x, y }; 2], 1),
        }
    }
}

impl<T: CudaReal> private::Sealed for Spectral<T> {}

impl<T: CudaReal> FieldSolver<T> for Spectral<T> {
    fn pipeline(&self) -> Pipeline {
        self.pipeline
    }

    fn forward(&mut self, rho: &DeviceVec<T>) -> Result<(), CudaError> {
        match &mut self.way {
            Implementation::Separate(spectrum) => self.transforms.dct(rho, spectrum, None),
            Implementation::Shared(_) => {
                // The last spectrum's place is free until the inverses begin, and
                // the next kernel writes over it while it is still in the cache.
                let Rounds { rounds, spectra, .. } = &mut self.transforms;
                let round = &mut rounds[0];
                let (first, last) = spectra.split_at_mut(2 * round.half_spectra);
                let mut map = reals::<T>(last).first(round.values);
                round.reorder(rho, map.reborrow())?;
                round.forward_fft(map.as_view(), first)
            }
        }
    }

    fn inverse(&mut self, fields: &mut Fields<T>) -> Result<(), CudaError> {
        check_length("energy", fields.energy.len(), 1)?;
        let all = SINES.map(|sines| self.sines(sines));
        let Fields { potential, field_x, field_y, energy } = fields;
        let outputs = [potential, field_x, field_y];
        let Spectral { transforms, way, scaling, .. } = self;
        match way {
            Implementation::Shared(batch) => {
                let Rounds { rounds, spectra, reordered, .. } = transforms;
                scaling.spectra(&rounds[0], spectra, energy)?;
                batch.run_inverse(&mut *spectra, &mut *reordered)?;
                rounds[0].restore(reordered, outputs, SINES)
            }
            Implementation::Separate(spectrum) => {
                for (map, (output, (sines, rounds))) in outputs.into_iter().zip(all).enumerate() {
                    let round = &transforms.rounds[0];
                    scaling.pre(round, spectrum, &mut transforms.spectra, map as i32, energy)?;
                    transforms.rest_of_inverse(output, &sines[..rounds])?;
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
            return self.transforms.dct(input, output, None);
        }
        let (sines, rounds) = self.sines(Sines::of(transform));
        self.transforms.inverse(input, output, &sines[..rounds])
    }
}
