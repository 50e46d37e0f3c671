//! Fused 2-D transforms in two passes: `kernels/transforms/two_pass.cu`.
//!
//! What reordering and twiddling cost as kernels of their own, two passes over
//! the map, is no memory traffic here: they are the first and the last steps of
//! an FFT that keeps its line in registers, the three-pass solve's. For each value
//! 4 are read or written, by cuFFT 8 or more. Lines are the three-pass solve's, powers of
//! two from 64 to 8192, and the hundreds up to 10000 that divide it, and must fit
//! the device's shared memory.

use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, KernelUse, check_length,
};
use crate::cuda::fft::{self, BlockLines, Sines, Threshold, fits};
use crate::transform::Transform;

/// From so many rows on a DCT begins along x, and an inverse of short rows lays them
/// out by column between its passes: see kernels/transforms/two_pass.cu. (An H200 in f64, otherwise: DCT of 8192²
/// 1.6 ms, by cuFFT too; 10000 × 100 in 28.4 and 28.9 µs, not 24.4 and 24.2.)
const MANY_ROWS: usize = 8192;

/// Whether there are kernels for lines of `n` elements.
fn has_kernels(n: usize) -> bool {
    fft::has_kernels(n) || (n > 0 && n.is_multiple_of(100) && 10_000_usize.is_multiple_of(n))
}

/// The two kernels of a transform of a batch of maps.
pub(in crate::cuda) struct TwoPass<T: CudaReal> {
    gpu: Gpu,
    first: Pass,
    last: Pass,
    /// The last pass of a DCT with a threshold.
    last_threshold: Option<Pass>,
    /// [`Input::INTEGER`] of what the first pass reads.
    integer: Option<i32>,
    values: usize,
    rows: BlockLines<T>,
    columns: BlockLines<T>,
    /// Between the passes, with memory for whole panels of row pairs.
    between: DeviceVec<T::Complex>,
}

/// The lines along one axis.
struct Pass {
    kernel: Kernel,
    along_y: bool,
    /// How many there are: row pairs or columns.
    across: u32,
    /// Of an inverse, whether it is of sines; of the last pass of a DCT of many
    /// rows, how many of a row's complex numbers the first one left together.
    how: Option<i32>,
}

impl<T: CudaReal> TwoPass<T> {
    /// `None` where there are no kernels for these lengths or this device. `integer`
    /// is [`Input::INTEGER`] of what it reads.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        kind: Transform,
        (nx, ny): (usize, usize),
        batch: usize,
        integer: Option<i32>,
    ) -> Result<Option<Self>, CudaError> {
        if !has_kernels(nx) || !has_kernels(ny) {
            return Ok(None);
        }
        let along_y = gpu.instance::<T>("two_pass", &[("PF_LINE", ny.to_string())])?;
        let along_x = gpu.instance::<T>("two_pass", &[("PF_LINE", nx.to_string())])?;
        let rows = BlockLines::new(gpu, &along_y, "rows", ny)?;
        let columns = BlockLines::new(gpu, &along_x, "columns", nx)?;
        if !fits(gpu, &[rows.shape, columns.shape], batch)? {
            return Ok(None);
        }
        let forward = kind == Transform::Dct;
        let pass = |of_rows: bool, name: String, how: Option<i32>| -> Result<Pass, CudaError> {
            let (shape, module, length, across, each) = match of_rows {
                true => (rows.shape, &along_y, ny, nx / 2, rows.shape.lines as usize),
                false => (columns.shape, &along_x, nx, ny, columns.shape.columns()),
            };
            let blocks = across.div_ceil(each) as u32;
            let name = format!("map_{name}");
            let kernel = shape.batched(module, (&name, length), blocks, batch)?;
            Ok(Pass { kernel, along_y: of_rows, across: across as u32, how })
        };
        // The first pass by what it reads, the last of a DCT by what it keeps.
        let reads = |name: &str| match integer {
            None => name.to_owned(),
            Some(_) => format!("{name}_integer"),
        };
        let keeps = |name: &str| format!("{name}_threshold");
        let (first, last, last_threshold) = if !forward {
            let sines = Sines::of(kind);
            let form = if nx >= MANY_ROWS && rows.shape.lines > 1 { "_by_column" } else { "" };
            let columns = reads(&format!("columns_inverse{form}"));
            let first = pass(false, columns, Some(i32::from(sines.x)))?;
            (first, pass(true, format!("rows_inverse{form}"), Some(i32::from(sines.y)))?, None)
        } else if nx < MANY_ROWS {
            let last = "columns_forward";
            (
                pass(true, reads("rows_forward"), None)?,
                pass(false, last.into(), None)?,
                Some(pass(false, keeps(last), None)?),
            )
        } else {
            let (last, together) = ("rows_forward_last", Some(columns.shape.lines as i32));
            (
                pass(false, reads("columns_forward_first"), None)?,
                pass(true, last.into(), together)?,
                Some(pass(true, keeps(last), together)?),
            )
        };
        // `PANEL` of kernels/fft/real_lines.cuh.
        let panel = 64 / size_of::<T::Complex>();
        Ok(Some(TwoPass {
            gpu: gpu.clone(),
            first,
            last,
            last_threshold,
            integer,
            values: batch * nx * ny,
            rows,
            columns,
            between: gpu.zeros(batch * (nx / 2) * ny.next_multiple_of(panel))?,
        }))
    }

    /// Enqueues the transform; only a DCT has a threshold.
    pub(in crate::cuda) fn run<I: Input<T>>(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.values)?;
        check_length("transformed map", output.len(), self.values)?;
        assert_eq!(I::INTEGER, self.integer);
        let table = |pass: &Pass| if pass.along_y { &self.rows.table } else { &self.columns.table };
        let pass = &self.first;
        let mut launch = pass.kernel.on(&self.gpu);
        launch.arg(input).arg(&self.between).arg(table(pass)).arg(&pass.across);
        [&pass.how, &self.integer].into_iter().flatten().for_each(|number| {
            launch.arg(number);
        });
        // SAFETY: the arguments are those of the passes of kernels/transforms/two_pass.cu, in
        // their order, N = ny along y and nx along x; the input holds `values`
        // values (checked above) of the type the kernel was chosen for (asserted),
        // `between` a complex number for two values of whole panels, and the tables
        // were made for the kernels' stages.
        unsafe { launch.launch(pass.kernel.config) }?;
        let pass = match &self.last_threshold {
            Some(pass) if threshold.is_some() => pass,
            _ => &self.last,
        };
        let epsilon;
        let mut launch = pass.kernel.on(&self.gpu);
        launch.arg(&self.between).arg(output).arg(table(pass)).arg(&pass.across);
        if let Some(how) = &pass.how {
            launch.arg(how);
        }
        if let Some(threshold) = threshold {
            assert!(self.last_threshold.is_some(), "an inverse drops nothing");
            epsilon = threshold.epsilon;
            launch.arg(&epsilon).arg(threshold.kept).arg(threshold.parts);
        }
        // SAFETY: as above; the output holds `values` values.
        unsafe { launch.launch(pass.kernel.config) }
    }

    /// What the two kernels take, in the order in which they run; `input` is the
    /// size of a value that the first one reads.
    pub(in crate::cuda) fn uses(&self, input: usize) -> Result<Vec<KernelUse>, CudaError> {
        let map = self.values * size_of::<T>();
        let of = |pass: &Pass, bytes| KernelUse::of_kernel(&self.gpu, &pass.kernel, bytes);
        Ok(vec![of(&self.first, self.values * input + map)?, of(&self.last, 2 * map)?])
    }
}
