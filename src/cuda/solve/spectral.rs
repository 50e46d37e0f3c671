//! The pipelines with cuFFT on a device, fused and row-column: `kernels/solve/spectral.cu`.
//!
//! In the fused pipeline, a forward DCT is reorder → 2-D real FFT → post-processing. An inverse is
//! pre-processing → 2-D real inverse FFT → reorder (Jiang et al., algorithm 2). A solve reads or
//! writes 28 values per bin, with its inverses as one batch. It takes 32 if every transform has
//! three separate stages, as in the paper. Both count a 2-D FFT as two passes. In the row-column
//! pipeline, a transform is eight passes over the map, along y and then along x, and a solve is 32
//! (64 values). The pre-processing scales the spectrum without an additional pass.

use super::field_solver::{FieldSolver, FieldsMut, Green, private};
use crate::cuda::device::bindings::solve::{SolvePre, SolveSpectra};
use crate::cuda::device::{
    Arguments, CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Kernel, WIDEST,
    check_aligned, cover_for_sum, reals,
};
use crate::cuda::fft::{FusedTransform, RealFft, Rounds, Sines, TransformSpec, share_work_area};
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::Transform;
use crate::transform::variants::{PostProcessing, Reorder};

/// The fused or the row-column pipeline for one grid.
pub struct Spectral<T: CudaReal> {
    pipeline: Pipeline,
    bins: usize,
    transforms: Rounds<T>,
    inverses: Inverses<T>,
}

/// A kernel that processes the spectrum between a solve's FFTs. It applies Green's function with
/// the factor of a round trip of the transforms.
struct Scaling<T: CudaReal, A> {
    kernel: Kernel<A>,
    /// Memory for the energy's sum over the grid between its two stages.
    partial: DeviceVec<f64>,
    ticket: DeviceVec<u32>,
    green: Green<T>,
}

impl<T: CudaReal, A: Arguments> Scaling<T, A> {
    /// One thread for each position and all its mirror images, in `rows` rows.
    fn new(
        FusedTransform { gpu, module, .. }: &FusedTransform<T>,
        grid: &BinGrid,
        rows: usize,
    ) -> Result<Self, CudaError> {
        let kernel = Kernel::new(module)?;
        let config = cover_for_sum(gpu, &kernel, (grid.ny() / 2 + 1, rows))?;
        Ok(Scaling {
            kernel: kernel.with(config),
            partial: gpu.zeros(config.grid_dim.0 as usize * config.grid_dim.1 as usize)?,
            ticket: gpu.zeros(1)?,
            // With the factor of a round trip of the transforms.
            green: Green::new(grid, 4.0 / grid.bins() as f64),
        })
    }
}

/// The start of a solve's inverses.
enum Inverses<T: CudaReal> {
    /// All three as one batch, from ρ's FFT spectrum.
    Shared(RealFft<T>, Scaling<T, SolveSpectra<T>>),
    /// One after the other, from ρ's DCT spectrum, which is stored in between.
    Separate(DeviceVec<T>, Scaling<T, SolvePre<T>>),
}

/// The sine transforms that make φ, Ex and Ey.
const SINES: [Sines; 3] =
    [Sines { x: false, y: false }, Sines { x: true, y: false }, Sines { x: false, y: true }];

impl<T: CudaReal> Spectral<T> {
    /// Compiles (or loads) kernels, plans the FFTs and allocates everything that a solve by
    /// [`Pipeline::Fused`] or [`Pipeline::RowColumn`] needs.
    ///
    /// # Errors
    /// When kernels cannot be compiled, cuFFT refuses the size, or memory runs out.
    ///
    /// # Panics
    /// If it is another pipeline.
    pub fn new(gpu: &Gpu, grid: &BinGrid, pipeline: Pipeline) -> Result<Self, CudaError> {
        match pipeline {
            // One pass leads from the forward FFT's output to the input of all three inverses,
            // which then run as one batch. One reordering serves all three.
            Pipeline::Fused => Self::with_rounds(gpu, grid, pipeline, &[2], true),
            Pipeline::RowColumn => Self::with_rounds(gpu, grid, pipeline, &[1, 1], false),
            Pipeline::ThreePass => panic!("the three-pass solve has no FFTs of cuFFT"),
        }
    }

    /// Returns the fused pipeline with three separate stages for every transform, as in the paper:
    /// the pre-processing includes spectral scaling. For benchmarks.
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
        let half = grid.nx() / 2 + 1;
        let inverses = if shared {
            let mut batch = RealFft::new(gpu, false, shape, SINES.len())?;
            share_work_area(gpu, &mut round.ffts().chain([&mut batch]).collect::<Vec<_>>())?;
            Inverses::Shared(batch, Scaling::new(round, grid, half)?)
        } else {
            let rows = if round.rank == 2 { half } else { grid.nx() };
            Inverses::Separate(gpu.zeros(grid.bins())?, Scaling::new(round, grid, rows)?)
        };
        Ok(Spectral { pipeline, bins: grid.bins(), transforms, inverses })
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

    fn forward(&mut self, rho: DeviceSlice<'_, T>) -> Result<(), CudaError> {
        check_aligned("density map", *rho.address(), WIDEST)?;
        match &mut self.inverses {
            Inverses::Separate(spectrum, _) => {
                self.transforms.dct(rho, spectrum.as_view_mut(), None)
            }
            Inverses::Shared(..) => {
                // The last spectrum's memory is free until the inverses begin, and the next kernel
                // overwrites it while it is still in the cache.
                let Rounds { rounds, spectra, .. } = &mut self.transforms;
                let round = &mut rounds[0];
                let (first, last) = spectra.split_at_mut(2 * round.half_spectra);
                let mut map = reals::<T>(last).part(0..round.values);
                round.reorder(rho, map.reborrow())?;
                round.forward_fft(map.as_view(), first)
            }
        }
    }

    fn inverse(&mut self, fields: FieldsMut<'_, T>) -> Result<(), CudaError> {
        let round = &self.transforms.rounds[0];
        fields.check(&round.gpu, self.bins, 1)?;
        let all = SINES.map(|sines| self.sines(sines));
        let FieldsMut { potential, field_x, field_y, energy } = fields;
        let outputs = [potential, field_x, field_y];
        let Spectral { transforms, inverses, .. } = self;
        match inverses {
            Inverses::Shared(batch, Scaling { kernel, partial, ticket, green }) => {
                let Rounds { rounds, spectra, reordered, .. } = transforms;
                let round = &rounds[0];
                assert!(spectra.len() == 3 * round.half_spectra);
                let ([l, m, n], [wl, wm, wn]) = round.axes();
                let out = (&*spectra).into();
                let arguments = SolveSpectra {
                    r#in: out,
                    out,
                    l,
                    m,
                    n,
                    wl,
                    wm,
                    wn,
                    green: *green,
                    partial: (&*partial).into(),
                    ticket: (&*ticket).into(),
                    energy: (&energy).into(),
                };
                // SAFETY: the kernel transforms ρ's FFT spectrum, the first of its outputs, to the
                // three spectra that the inverses start from; lengths are checked above, and the
                // scratch memory was made for this launch.
                unsafe { kernel.launch(&round.gpu, &arguments) }?;
                batch.run_inverse(&mut *spectra, &mut *reordered)?;
                round.restore(reordered, outputs, SINES)
            }
            Inverses::Separate(spectrum, Scaling { kernel, partial, ticket, green }) => {
                for (map, (output, (sines, rounds))) in outputs.into_iter().zip(all).enumerate() {
                    let round = &transforms.rounds[0];
                    assert!(spectrum.len() == round.values);
                    assert!(transforms.spectra.len() >= round.half_spectra);
                    let ([l, m, n], [wl, wm, wn]) = round.axes();
                    let arguments = SolvePre {
                        r#in: (&*spectrum).into(),
                        out: (&transforms.spectra).into(),
                        l,
                        m,
                        n,
                        wl,
                        wm,
                        wn,
                        green: *green,
                        map: map as i32,
                        partial: (&*partial).into(),
                        ticket: (&*ticket).into(),
                        energy: (&energy).into(),
                    };
                    // SAFETY: as above.
                    unsafe { kernel.launch(&round.gpu, &arguments) }?;
                    transforms.rest_of_inverse(output, &sines[..rounds])?;
                }
                Ok(())
            }
        }
    }

    fn transform(
        &mut self,
        transform: Transform,
        input: DeviceSlice<'_, T>,
        output: DeviceSliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        check_aligned("array to transform", *input.address(), WIDEST)?;
        check_aligned("transformed array", *output.address(), WIDEST)?;
        if transform == Transform::Dct {
            return self.transforms.dct(input, output, None);
        }
        let (sines, rounds) = self.sines(Sines::of(transform));
        self.transforms.inverse(input, output, &sines[..rounds])
    }
}
