//! 2-D transforms: by lines, row-column or fused.
//!
//! By lines there are two passes, of our own kernels, 4 values read or written for each.
//! Fused is Jiang et al., algorithm 2: pre-processing, one 2-D real FFT,
//! post-processing; for each value 2 are read or written in each of pre- and
//! post-processing and, by cuFFT, 4 or more between them. Row-column is four
//! passes along each axis, 16 values read or written for each.

use super::transposed::TransposedReordering;
use super::{Stage, check_grid, check_shape};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, KernelUse, check_length,
};
use crate::cuda::fft::{Counter, Maps, Passes, Quads, RealFft, Reordering, Sines, Threshold};
use crate::cuda::lines::{Direction, LineTransform};
use crate::transform::{FftLayout, Method, Plan2dOptions, Transform};
use std::marker::PhantomData;

/// What a [`Plan2d`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Path2d {
    /// Transforms of lines and transposes.
    RowColumn,
    /// Fused, the FFT along y last.
    Straight,
    /// Fused, the FFT along x last: the transposes are part of pre- and
    /// post-processing.
    Transposed,
    /// In two passes, along y and along x, with all that comes before and after a line's FFT
    /// done in registers.
    Lines,
}

/// A plan for a batch of `nx × ny` maps in precision `T`; its input holds
/// values of type `I`.
pub struct Plan2d<T: CudaReal, I: Input<T> = T> {
    gpu: Gpu,
    kind: Transform,
    shape: [usize; 2],
    batch: usize,
    options: Plan2dOptions,
    implementation: Implementation<T>,
    /// Of a plan that is ready for thresholds.
    counter: Option<Counter>,
    of: PhantomData<fn(I)>,
}

enum Implementation<T: CudaReal> {
    RowColumn(Box<Passes<T>>),
    Fused(Box<FusedStages<T>>),
    Lines(Box<LineTransform<T>>),
}

/// A fused transform's three stages.
struct FusedStages<T: CudaReal> {
    quads: Quads<T>,
    reordering: Form<T>,
    fft: RealFft<T>,
    spectra: DeviceVec<T::Complex>,
    /// What an inverse FFT leaves. (A forward one reads from the output.)
    reordered: Option<DeviceVec<T>>,
}

/// How maps are reordered for their FFTs.
enum Form<T: CudaReal> {
    Straight(Reordering<T>),
    Transposed(TransposedReordering<T>),
}

/// Whether the transposed variant is the faster one. cuFFT prefers the long axis
/// contiguous while it has a single kernel for lines of its length, up to 64 KiB,
/// and beyond, in f64, the short one. (An H200, 1-million-bin maps from 16 × 65536
/// to 500 × 2000 and back, transposed or not: in f64 27.4 and 27.9 µs for
/// 100 × 10000, 29.5 and 25.8 for 10000 × 100, 27.3 and 28.4 for 2000 × 500; in f32
/// 20.2 and 16.9, 19.0 and 20.4, 22.6 and 21.3.)
fn transposes<T: CudaReal>(nx: usize, ny: usize) -> bool {
    let single = |n: usize| n * size_of::<T>() <= 64 << 10;
    match size_of::<T>() {
        8 => (nx >= 4 * ny && single(nx)) || (ny >= 4 * nx && !single(ny)),
        _ => nx >= 16 * ny && single(nx),
    }
}

impl<T: CudaReal, I: Input<T>> Plan2d<T, I> {
    /// A plan for one map, with the default options.
    ///
    /// # Errors
    /// As [`Plan2d::batched`].
    pub fn new(gpu: &Gpu, kind: Transform, nx: usize, ny: usize) -> Result<Self, CudaError> {
        Self::batched(gpu, kind, nx, ny, Plan2dOptions::default(), 1)
    }

    /// A plan for `batch` maps, one after the other in memory.
    ///
    /// [`Method::Fastest`] is [`Path2d::Lines`] where both lengths are multiples of 4, have no prime
    /// factor above 5 and fit the device's shared memory, and else [`Method::Fused`], for which the
    /// other options are. [`FftLayout::Transposed`] has tiled forms of its own, for which
    /// [`Plan2dOptions::reorder`] and [`Plan2dOptions::post`] do not matter.
    ///
    /// # Errors
    /// [`CudaError::Shape`] for lengths or batches of zero or beyond any memory,
    /// [`CudaError::NoTransform`] for those beyond what cuFFT and a launch can
    /// take; else when kernels cannot be compiled, cuFFT refuses the lengths, or
    /// memory runs out.
    pub fn batched(
        gpu: &Gpu,
        kind: Transform,
        nx: usize,
        ny: usize,
        options: Plan2dOptions,
        batch: usize,
    ) -> Result<Self, CudaError> {
        check_shape(&[nx, ny], batch)?;
        let lines = match options.method {
            Method::Fastest => {
                let sines = Sines::of(kind);
                let direction = match kind {
                    Transform::Dct => Direction::Forward,
                    _ => Direction::Inverse { sines: &[sines.x, sines.y] },
                };
                LineTransform::new::<I>(gpu, direction, &[nx, ny], batch)?
            }
            _ => None,
        };
        let implementation = match (lines, options.method) {
            (Some(lines), _) => Implementation::Lines(Box::new(lines)),
            (None, Method::RowColumn) => {
                let (unit, how) = ("transforms_1d", options.reorder);
                let passes = Passes::new(gpu, unit, &[nx, ny], batch, how, I::TYPE)?;
                Implementation::RowColumn(Box::new(passes))
            }
            (None, _) => {
                let fused = FusedStages::new(gpu, kind, (nx, ny), batch, options, I::TYPE)?;
                Implementation::Fused(Box::new(fused))
            }
        };
        Ok(Plan2d {
            gpu: gpu.clone(),
            kind,
            shape: [nx, ny],
            batch,
            options,
            implementation,
            counter: None,
            of: PhantomData,
        })
    }

    /// Makes a DCT's plan ready for [`Plan2d::run_thresholded`].
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for an inverse; else when a kernel cannot be compiled.
    pub fn with_threshold(mut self) -> Result<Self, CudaError> {
        if self.kind != Transform::Dct {
            return Err(CudaError::NotPlanned { what: "a threshold", needs: "a DCT" });
        }
        if let Implementation::Lines(lines) = &mut self.implementation {
            lines.prepare_threshold::<I>()?;
        }
        self.counter = Some(Counter::new(&self.gpu)?);
        Ok(self)
    }

    /// What it transforms to.
    pub fn kind(&self) -> Transform {
        self.kind
    }

    /// `[nx, ny]`.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Number of maps.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How it was asked to compute; [`Plan2d::path`] says how it does.
    pub fn options(&self) -> Plan2dOptions {
        self.options
    }

    /// Values of all maps.
    fn values(&self) -> usize {
        self.batch * self.shape[0] * self.shape[1]
    }

    /// How, [`FftLayout::Auto`] having been decided.
    pub fn path(&self) -> Path2d {
        match &self.implementation {
            Implementation::RowColumn(_) => Path2d::RowColumn,
            Implementation::Lines(_) => Path2d::Lines,
            Implementation::Fused(fused) => match fused.reordering {
                Form::Straight(_) => Path2d::Straight,
                Form::Transposed(_) => Path2d::Transposed,
            },
        }
    }

    /// Enqueues the transform of every map; both buffers hold `batch · nx · ny` values.
    ///
    /// # Errors
    /// When a buffer has the wrong length or a launch fails.
    pub fn run(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        self.check(input, output)?;
        run(self.kind, &mut self.implementation, input, output, None)
    }

    /// Enqueues one stage of a fused transform on what the one before it left in
    /// the plan, or for a DCT, whose first stage leaves it there, in `output`.
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for a plan that is not made of stages; else as
    /// [`Plan2d::run`].
    pub fn run_stage(
        &mut self,
        stage: Stage,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        self.check(input, output)?;
        match &mut self.implementation {
            Implementation::Fused(fused) => fused.run(self.kind, stage, input, output, None),
            _ => Err(CudaError::NotPlanned { what: "a single stage", needs: "a fused plan" }),
        }
    }

    /// Enqueues a DCT whose coefficients smaller in magnitude than `epsilon`
    /// become zero, as the last kernel writes them: no pass of its own
    /// (Jiang et al., "Image Compression"). `kept`, one number, gets how many are not.
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for a plan without [`Plan2d::with_threshold`]; else as [`Plan2d::run`].
    pub fn run_thresholded(
        &mut self,
        input: &DeviceVec<I>,
        epsilon: T,
        output: &mut DeviceVec<T>,
        kept: &mut DeviceVec<u64>,
    ) -> Result<(), CudaError> {
        self.check(input, output)?;
        let Some(counter) = &mut self.counter else {
            let needs = "a DCT's plan made ready by with_threshold";
            return Err(CudaError::NotPlanned { what: "a threshold", needs });
        };
        let threshold = counter.threshold(epsilon, kept)?;
        run(self.kind, &mut self.implementation, input, output, Some(threshold))
    }

    fn check(&self, input: &DeviceVec<I>, output: &DeviceVec<T>) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.values())?;
        check_length("transformed map", output.len(), self.values())
    }

    /// The plan's own kernels in the order in which they run, the FFTs left out.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn kernels(&self) -> Result<Vec<KernelUse>, CudaError> {
        let forward = self.kind == Transform::Dct;
        match &self.implementation {
            Implementation::RowColumn(passes) => {
                let each = self.values() * size_of::<T>();
                let kernels = passes.kernels(forward);
                kernels
                    .into_iter()
                    .map(|kernel| KernelUse::of_kernel(&self.gpu, kernel, 2 * each))
                    .collect()
            }
            Implementation::Lines(lines) => lines.uses(size_of::<I>()),
            Implementation::Fused(fused) => {
                fused.uses(&self.gpu, forward, self.values(), size_of::<I>())
            }
        }
    }
}

/// Enqueues a transform; only a DCT has a threshold.
fn run<T: CudaReal, I: Input<T>>(
    kind: Transform,
    implementation: &mut Implementation<T>,
    input: &DeviceVec<I>,
    output: &mut DeviceVec<T>,
    mut threshold: Option<Threshold<T>>,
) -> Result<(), CudaError> {
    let sines = Sines::of(kind);
    match implementation {
        Implementation::RowColumn(passes) if kind == Transform::Dct => {
            passes.dct(input, output, threshold)
        }
        Implementation::RowColumn(passes) => {
            passes.pre(input, sines.y)?;
            passes.inverse(&[sines.x, sines.y], output)
        }
        Implementation::Lines(lines) => lines.run(input, output, threshold),
        Implementation::Fused(fused) => Stage::ALL.into_iter().try_for_each(|stage| {
            let keep = if stage == Stage::Post { threshold.take() } else { None };
            fused.run(kind, stage, input, output, keep)
        }),
    }
}

impl<T: CudaReal> FusedStages<T> {
    fn new(
        gpu: &Gpu,
        kind: Transform,
        (nx, ny): (usize, usize),
        batch: usize,
        options: Plan2dOptions,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let forward = kind == Transform::Dct;
        let module = gpu.kernels_reading::<T>(input, "transforms_2d")?;
        let transposed = match options.layout {
            FftLayout::Auto => transposes::<T>(nx, ny),
            FftLayout::Straight => false,
            FftLayout::Transposed => true,
        };
        let (quads, reordering, shape) = if transposed {
            (
                Quads::transposed(gpu, &module, (nx, ny), batch, input)?,
                TransposedReordering::new(gpu, &module, (nx, ny), batch, input)
                    .map(Form::Transposed)?,
                [ny, nx],
            )
        } else {
            let maps = Maps { count: batch, depth: 1, rows: nx, cols: ny };
            (
                Quads::new(gpu, &module, (nx, ny), batch, options.post, input)?
                    .with_threshold(&module)?,
                Reordering::new(gpu, &module, options.reorder, maps, true, input)
                    .map(Form::Straight)?,
                [nx, ny],
            )
        };
        let fused = FusedStages {
            fft: RealFft::new(gpu, forward, &shape, batch)?,
            spectra: gpu.zeros(quads.half_spectra())?,
            reordered: if forward { None } else { Some(gpu.zeros(batch * nx * ny)?) },
            quads,
            reordering,
        };
        for kernel in fused.kernels(forward) {
            check_grid(&[nx, ny], batch, batch, kernel.config.grid_dim.1 as usize)?;
        }
        Ok(fused)
    }

    /// One stage; a threshold is the last one's of a DCT. The output of a forward
    /// transform holds the reordered map in between: one buffer less to pass through
    /// the cache.
    fn run<I: Input<T>>(
        &mut self,
        kind: Transform,
        stage: Stage,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        let FusedStages { quads, reordering, fft, spectra, reordered } = self;
        let sines = Sines::of(kind);
        match (stage, reordered, reordering) {
            (Stage::Pre, None, Form::Straight(reordering)) => {
                reordering.reorder(input, output.as_view_mut())
            }
            (Stage::Pre, None, Form::Transposed(reordering)) => reordering.reorder(input, output),
            (Stage::Fft, None, _) => fft.run(output, spectra),
            (Stage::Post, None, _) => quads.post(spectra, output, threshold),
            (Stage::Pre, Some(_), _) => quads.pre(input, spectra, sines),
            (Stage::Fft, Some(reordered), _) => fft.run(reordered, spectra),
            (Stage::Post, Some(reordered), Form::Straight(reordering)) => {
                reordering.restore(reordered, [output], [sines])
            }
            (Stage::Post, Some(reordered), Form::Transposed(reordering)) => {
                reordering.restore(reordered, output, sines)
            }
        }
    }

    /// What the two kernels around the FFT take.
    fn uses(
        &self,
        gpu: &Gpu,
        forward: bool,
        values: usize,
        input: usize,
    ) -> Result<Vec<KernelUse>, CudaError> {
        let map = values * size_of::<T>();
        let spectra = self.spectra.len() * size_of::<T::Complex>();
        let bytes = if forward {
            [values * input + map, spectra + map]
        } else {
            [values * input + spectra, 2 * map]
        };
        let kernels = self.kernels(forward).into_iter().zip(bytes);
        kernels.map(|(kernel, bytes)| KernelUse::of_kernel(gpu, kernel, bytes)).collect()
    }

    /// The kernels before and after the FFT.
    fn kernels(&self, forward: bool) -> [&Kernel; 2] {
        let (reorder, restore) = match &self.reordering {
            Form::Straight(maps) => (maps.reorder_kernel(), maps.restore_kernel()),
            Form::Transposed(maps) => (&maps.reorder, &maps.restore),
        };
        if forward { [reorder, &self.quads.dct2_post] } else { [&self.quads.idct2_pre, restore] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_orientation_depends_on_shape_and_precision() {
        for square in [1, 100, 8192] {
            assert!(!transposes::<f32>(square, square) && !transposes::<f64>(square, square));
        }
        // One FFT shape for a map and its mirror image.
        assert!(transposes::<f64>(100, 10000) && !transposes::<f64>(10000, 100));
        assert!(!transposes::<f32>(100, 10000) && transposes::<f32>(10000, 100));
        assert!(!transposes::<f64>(200, 5000) && transposes::<f64>(5000, 200));
    }
}
