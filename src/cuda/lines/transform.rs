//! Transforms of arrays of any number of axes, with one pass for each axis:
//! `kernels/lines/transform.cu`.
//!
//! As separate kernels, reordering and twiddling are two passes over the array. Here they cost no
//! memory traffic: they are the first and the last steps of an FFT that keeps its line in
//! registers. For each value and axis, one value is read and one is written.
//!
//! The two fastest axes form maps, with panels between their passes. Every slower axis forms the
//! columns of maps of all faster ones, transformed in place. Lines must fit the device's shared
//! memory, and their length must have stages (multiples of 4: `shapes.rs`).

use super::instances;
use super::kernel::{Instance, LineBatch, LineKernel, Shapes, compile};
use super::shapes::{Role, Shape};
use crate::cuda::device::bindings::lines::Transform;
use crate::cuda::device::{
    Any, Array, CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Input, KernelUse,
    MOST_BLOCKS, check_length,
};
use crate::cuda::fft::Threshold;

/// A transform of a batch of arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrays<'a> {
    /// Whether it is a DCT along every axis, not the inverses.
    pub(crate) forward: bool,
    /// For inverses: whether each axis has sines, not cosines.
    pub(crate) sines: &'a [bool],
    /// Lengths, slowest axis first.
    pub(crate) shape: &'a [usize],
    pub(crate) batch: usize,
}

/// A pass along one axis.
type TransformKernel<T> = LineKernel<T, Transform<T, Array<Any>>>;

/// The kernels of a transform of a batch of arrays.
pub(crate) struct LineTransform<T: CudaReal> {
    gpu: Gpu,
    shapes: Shapes,
    /// Launches along one axis each, in the order in which they run.
    passes: Vec<(TransformKernel<T>, Step)>,
    /// The last pass's kernel of a DCT with a threshold.
    with_threshold: Option<TransformKernel<T>>,
    /// The [`Input::TYPE`] that the first pass reads.
    input: &'static str,
    values: usize,
    /// Values between the passes of the two fastest axes, with memory for whole panels.
    between: DeviceVec<T::Complex>,
}

/// The properties of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    role: Role,
    n: usize,
    /// Lines (pairs of real ones) of a map. They are columns of a map of columns, rows of a map of
    /// rows, or columns side by side in groups.
    lines: u32,
    across: u32,
    maps: u32,
    sine: bool,
    from: Memory,
    to: Memory,
}

/// The memory that a pass reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Input,
    Output,
    Between,
}

/// Returns the number of complex numbers of a panel's row pair: `PANEL` of
/// `kernels/lines/places.cuh`.
pub(crate) fn panel<T: CudaReal>() -> usize {
    64 / size_of::<T::Complex>()
}

/// Returns a transform's passes in the order in which they run; `None` if a launch cannot count
/// them.
fn steps(&Arrays { forward, sines, shape, batch }: &Arrays<'_>) -> Option<Vec<Step>> {
    let count = |n: usize| u32::try_from(n).ok();
    let axes = shape.len();
    // The memory that holds the array after this many passes.
    let memory = |passes: usize| match passes {
        0 => Memory::Input,
        _ if passes == axes => Memory::Output,
        _ if passes == if forward { 1 } else { axes - 1 } => Memory::Between,
        _ => Memory::Output,
    };
    let mut steps = Vec::new();
    // In the order of a DCT, with the fastest axis first.
    for (k, axis) in (0..axes).rev().enumerate() {
        let inner: usize = shape[axis + 1..].iter().product();
        let outer = batch * shape[..axis].iter().product::<usize>();
        let (role, lines, across, maps) = match k {
            0 if axes == 1 => (Role::Rows, outer.div_ceil(2), outer, 1),
            0 => (Role::Rows, shape[axis - 1] / 2, shape[axis - 1], outer / shape[axis - 1]),
            _ => (Role::Columns, inner / 2, inner, outer),
        };
        if maps > MOST_BLOCKS as usize {
            return None;
        }
        let passes = if forward { k } else { axes - 1 - k };
        let (from, to) = (memory(passes), memory(passes + 1));
        let (lines, across, maps) = (count(lines)?, count(across)?, maps as u32);
        let (n, sine) = (shape[axis], !forward && sines[axis]);
        steps.push(Step { role, n, lines, across, maps, sine, from, to });
    }
    if !forward {
        steps.reverse();
    }
    Some(steps)
}

/// Bytes that memory transfers at once.
const SECTOR: usize = 32;

/// From this many rows on, a DCT begins along columns. (On an H200 in f64, a DCT of 8192² that
/// begins along rows takes 1.6 ms, the same as by cuFFT.)
const MANY_ROWS: usize = 8192;

/// Makes the first two steps of a DCT process columns first, in groups of `lanes`. This is for maps
/// with many rows, for which a block has room for too few columns to write whole sectors.
fn columns_first(steps: &mut [Step], lanes: usize) {
    let (rows, columns) = (steps[0], steps[1]);
    steps[0] = Step { from: Memory::Input, to: Memory::Between, ..columns };
    steps[1] = Step { from: Memory::Between, to: Memory::Output, across: lanes as u32, ..rows };
}

/// Whether the columns of a map fill blocks for less than half of the multiprocessors. (On an H200,
/// the IDCT of 16384 × 64 in f32 takes 32.6 µs, by cuFFT 17.0; of 10000 × 100 it takes 24.6 and
/// 18.4, in f64 29.5 and 28.0.)
fn few_columns<T: CudaReal>(gpu: &Gpu, shapes: &Shapes, nx: usize, ny: usize) -> bool {
    let lines = |shape: Shape| (ny / 2).div_ceil(shape.lines());
    let blocks = shapes.choose::<T>(Role::Columns, (nx, ny / 2)).map(lines);
    blocks.is_some_and(|blocks| 2 * blocks < gpu.info().multiprocessors as usize)
}

impl Step {
    /// Returns the layout of lines in `memory`: `kernels/lines/places.cuh`. A DCT that begins along
    /// columns stores `groups` between its passes.
    fn place(&self, memory: Memory, groups: bool) -> &'static str {
        match (memory, self.role) {
            (Memory::Between, Role::Rows) if groups => "GroupRows",
            (Memory::Between, Role::Rows) => "PanelRows",
            (_, Role::Rows) => "MapRows",
            (Memory::Between, _) if groups => "GroupColumns",
            (Memory::Between, _) => "PanelColumns",
            _ => "MapColumns",
        }
    }

    /// Returns the instance that does the step. The last pass compensates for all factors ½.
    fn instance<T: CudaReal>(
        &self,
        shapes: &Shapes,
        forward: bool,
        input: &str,
        halves: usize,
        threshold: bool,
    ) -> Option<Instance> {
        let rows = self.role == Role::Rows;
        let alone = ![self.from, self.to].contains(&Memory::Between);
        let pass = instances::Pass {
            forward,
            places: [self.place(self.from, forward && rows), self.place(self.to, forward && !rows)],
            input: match self.from {
                Memory::Input => input,
                Memory::Output => "real",
                Memory::Between => "cplx",
            },
            // Only for lines: maps have a multiple of 4 rows.
            odd: rows && alone && !self.across.is_multiple_of(2),
            halves,
            threshold,
            in_place: self.from == self.to,
            batch: self.maps > 1,
        };
        let (count, maps) = (self.lines as usize, self.maps as usize);
        let lines = LineBatch { n: self.n, count, maps };
        Instance::choose::<T>(shapes, ("transform", self.role, pass.defines()), lines)
    }
}

impl<T: CudaReal> LineTransform<T> {
    /// Returns the transform for arrays with values of type `I`; `None` if the device cannot run
    /// lines of these lengths, or would have too few of them.
    pub(crate) fn new<I: Input<T>>(
        gpu: &Gpu,
        arrays: &Arrays<'_>,
    ) -> Result<Option<Self>, CudaError> {
        let shapes = Shapes::of(gpu)?;
        if let (1, &[nx, ny]) = (arrays.batch, arrays.shape)
            && nx >= MANY_ROWS
            && few_columns::<T>(gpu, &shapes, nx, ny)
        {
            return Ok(None);
        }
        match Self::shaped::<I>(gpu, &shapes, arrays) {
            Err(error) if error.allows_fallback() => Ok(None),
            done => done,
        }
    }

    /// Returns such a transform with lines divided as `shapes` says.
    pub(crate) fn shaped<I: Input<T>>(
        gpu: &Gpu,
        shapes: &Shapes,
        arrays: &Arrays<'_>,
    ) -> Result<Option<Self>, CudaError> {
        let Some((steps, instances)) = Self::instances::<I>(shapes, arrays) else {
            return Ok(None);
        };
        let modules = compile::<T>(gpu, &instances)?;
        let kernels = instances.iter().zip(&modules).map(|of| LineKernel::new(gpu, of, false));
        let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
        let &Arrays { shape, batch, .. } = arrays;
        let values = batch * shape.iter().product::<usize>();
        let between = match *shape {
            [.., rows, n] => values / n / rows * (rows / 2) * n.next_multiple_of(panel::<T>()),
            _ => 0,
        };
        Ok(Some(LineTransform {
            gpu: gpu.clone(),
            shapes: shapes.clone(),
            with_threshold: None,
            passes: kernels.into_iter().zip(steps).collect(),
            input: I::TYPE,
            values,
            between: gpu.zeros(between)?,
        }))
    }

    /// Returns the transform's steps and their instances.
    pub(crate) fn instances<I: Input<T>>(
        shapes: &Shapes,
        arrays: &Arrays<'_>,
    ) -> Option<(Vec<Step>, Vec<Instance>)> {
        let mut steps = steps(arrays)?;
        if let Arrays { forward: true, shape: &[.., nx, ny], .. } = *arrays {
            let rows = shapes.choose::<T>(Role::Rows, (ny, nx / 2))?;
            let columns = shapes.choose::<T>(Role::Columns, (nx, ny / 2))?;
            let butterflies = 2 * rows.per_line();
            let lanes = columns.lanes;
            let divide = (ny / 2).is_multiple_of(lanes) && butterflies.is_multiple_of(lanes);
            if nx >= MANY_ROWS && 2 * lanes * size_of::<T>() < SECTOR && divide {
                columns_first(&mut steps, lanes);
            }
        }
        let last = steps.len() - 1;
        let mut instances = Vec::new();
        for (k, step) in steps.iter().enumerate() {
            let halves = if k == last { steps.len() } else { 0 };
            instances.push(step.instance::<T>(shapes, arrays.forward, I::TYPE, halves, false)?);
        }
        Some((steps, instances))
    }

    /// Prepares a DCT for a threshold.
    pub(crate) fn prepare_threshold<I: Input<T>>(&mut self) -> Result<(), CudaError> {
        let (_, step) = self.passes.last().expect("a transform has an axis");
        let instance = step.instance::<T>(&self.shapes, true, I::TYPE, self.passes.len(), true);
        let instance = instance.expect("the pass has one without a threshold, of the same shape");
        let module = &compile::<T>(&self.gpu, std::slice::from_ref(&instance))?[0];
        self.with_threshold = Some(LineKernel::new(&self.gpu, (&instance, module), false)?);
        Ok(())
    }

    /// Enqueues the transform; a threshold needs [`LineTransform::prepare_threshold`].
    pub(crate) fn run<I: Input<T>>(
        &mut self,
        input: DeviceSlice<'_, I>,
        output: DeviceSliceMut<'_, T>,
        mut threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        check_length("array to transform", input.len(), self.values)?;
        check_length("transformed array", output.len(), self.values)?;
        assert_eq!(I::TYPE, self.input);
        let last = self.passes.len() - 1;
        for (k, (plain, step)) in self.passes.iter().enumerate() {
            let threshold = if k == last { threshold.take() } else { None };
            let LineKernel { kernel, table, .. } = match &threshold {
                Some(_) => self.with_threshold.as_ref().expect("the plan is ready for a threshold"),
                None => plain,
            };
            let memory = |of| match of {
                Memory::Input => Array::from(&input).cast(),
                Memory::Output => Array::from(&output).cast(),
                Memory::Between => Array::from(&self.between).cast(),
            };
            let arguments = Transform {
                r#in: memory(step.from),
                out: memory(step.to),
                table: table.into(),
                lines: step.lines,
                across: step.across,
                sine: threshold.is_none().then_some(step.sine.into()),
                epsilon: threshold.as_ref().map(|of| of.epsilon),
                kept: threshold.as_ref().map(|of| (&*of.kept).into()),
                parts: threshold.as_ref().map(|of| (&*of.parts).into()),
            };
            // SAFETY: the arguments are for an instance compiled for this step. Input and output
            // hold `values` values (checked above), and the input has the type that the instance
            // was compiled for (asserted). `between` holds a complex number for two values of whole
            // panels. The table belongs to the kernel's stages, and the blocks cover all maps'
            // lines.
            unsafe { kernel.launch(&self.gpu, &arguments) }?;
        }
        Ok(())
    }

    /// Returns the usage of the kernels, in the order in which they run. `input` is the size of a
    /// value that the first one reads.
    pub(crate) fn uses(&self, input: usize) -> Result<Vec<KernelUse>, CudaError> {
        let map = self.values * size_of::<T>();
        let of = |(LineKernel { kernel, .. }, step): &(TransformKernel<T>, Step)| {
            let reads = if step.from == Memory::Input { self.values * input } else { map };
            let name = format!("{} {}", step.role.name(), step.n);
            KernelUse::of(&self.gpu, name, kernel, reads + map)
        };
        self.passes.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_cover_every_integer_type() {
        fn names<T: Input<f32>>() -> &'static str {
            T::TYPE
        }
        let all = [
            names::<u8>(),
            names::<i8>(),
            names::<u16>(),
            names::<i16>(),
            names::<u32>(),
            names::<i32>(),
        ];
        assert_eq!(all, instances::INTEGERS);
    }
}
