//! Fused 2-D transforms in two passes: `kernels/two_pass.cu`, typed.
//!
//! What reordering and twiddling cost as kernels of their own, two passes over
//! the map, is no memory traffic here: they are the first and the last steps of
//! an FFT that keeps its line in registers, the three-pass solve's. 4 words a
//! value, for 8 or more by way of cuFFT. Lines are powers of two, 64 to 8192, and
//! must fit the device's shared memory.

use crate::cuda::device::Gpu;
use crate::cuda::error::CudaError;
use crate::cuda::input::Input;
use crate::cuda::launch::{
    Kernel, MOST_BLOCKS, Overlap, address, address_mut, check_length, launch,
};
use crate::cuda::real::CudaReal;
use crate::cuda::reorder::Sines;
use crate::cuda::three_pass::{Lines, arg, has_kernels, shared_memory};
use crate::cuda::usage::KernelUse;
use crate::transform::Transform;
use cudarc::driver::CudaSlice;

/// The most rows a map can have. A DCT of as many begins along x: see
/// kernels/two_pass.cu (an H200, 8192² in f64: 1.6 ms, by cuFFT too, otherwise).
const MOST_ROWS: usize = 8192;

/// The two kernels of a transform of a batch of maps.
pub(super) struct TwoPass<T: CudaReal> {
    gpu: Gpu,
    forward: bool,
    /// Whether the columns come first.
    columns_first: bool,
    sines: [i32; 2],
    nx: u32,
    ny: u32,
    values: usize,
    rows: Lines<T>,
    columns: Lines<T>,
    along_x: Kernel,
    along_y: Kernel,
    /// Between the passes: `[panel][row pair][column]`, rows in pairs.
    between: CudaSlice<T::Complex>,
}

impl<T: CudaReal> TwoPass<T> {
    /// Whether there are kernels for these lengths, this device and input.
    pub(super) fn takes(
        gpu: &Gpu,
        (nx, ny): (usize, usize),
        batch: usize,
        input: &str,
    ) -> Result<bool, CudaError> {
        if !has_kernels(nx) || !has_kernels(ny) || batch > MOST_BLOCKS as usize || !input.is_empty()
        {
            return Ok(false);
        }
        let (rows, columns) = lines::<T>(gpu, (nx, ny))?;
        Ok(rows.shape.bytes.max(columns.shape.bytes) <= shared_memory(gpu)?)
    }

    /// For lengths that it [`TwoPass::takes`].
    pub(super) fn new(
        gpu: &Gpu,
        kind: Transform,
        (nx, ny): (usize, usize),
        batch: usize,
    ) -> Result<Self, CudaError> {
        let forward = kind == Transform::Dct;
        let (rows, columns) = lines::<T>(gpu, (nx, ny))?;
        let columns_first = !forward || nx == MOST_ROWS;
        let [along_x, along_y] = match (forward, columns_first) {
            (true, false) => ["columns_forward", "rows_forward"],
            (true, true) => ["columns_forward_first", "rows_forward_last"],
            (false, _) => ["columns_inverse", "rows_inverse"],
        };
        let named = |lines: &Lines<T>, what: &str, length: usize, blocks: usize| {
            let module = gpu.kernels_for::<T>("two_pass", length)?;
            let name = format!("map_{what}");
            let mut config = lines.shape.config(blocks as u32);
            config.grid_dim.1 = batch as u32;
            let function = lines.kernel(&module, &name)?;
            Ok::<_, CudaError>(Kernel { name: format!("{name}_{length}"), function, config })
        };
        Ok(TwoPass {
            gpu: gpu.clone(),
            forward,
            columns_first,
            sines: [Sines::of(kind).x, Sines::of(kind).y].map(i32::from),
            nx: nx as u32,
            ny: ny as u32,
            values: batch * nx * ny,
            along_x: named(&columns, along_x, nx, ny / columns.shape.columns())?,
            along_y: named(&rows, along_y, ny, nx / 2 / rows.shape.lines as usize)?,
            rows,
            columns,
            between: gpu.zeros(batch * nx * ny / 2)?,
        })
    }

    /// Enqueues the transform.
    pub(super) fn run<I: Input<T>>(
        &mut self,
        input: &CudaSlice<I>,
        output: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check_length("map to transform", input.len(), self.values)?;
        check_length("transformed map", output.len(), self.values)?;
        assert!(I::SUFFIX.is_empty(), "two passes take the plan's own type");
        let gpu = &self.gpu;
        let (from, to) = (address(gpu, input), address_mut(gpu, output));
        let between = address_mut(gpu, &mut self.between);
        let (rows, columns) = (address(gpu, &self.rows.table), address(gpu, &self.columns.table));
        let pairs = self.nx / 2;
        let [sine_x, sine_y] = &self.sines;
        let along_y = [arg(&rows), arg(&pairs), arg(sine_y)];
        let along_x = [arg(&columns), arg(&self.ny), arg(sine_x)];
        let passes = if self.columns_first {
            [(&self.along_x, along_x), (&self.along_y, along_y)]
        } else {
            [(&self.along_y, along_y), (&self.along_x, along_x)]
        };
        let ways = [(arg(&from), arg(&between)), (arg(&between), arg(&to))];
        for ((kernel, [table, across, sine]), (read, written)) in passes.into_iter().zip(ways) {
            let mut arguments = [read, written, table, across, sine];
            // A DCT has no sines.
            let arguments = &mut arguments[..if self.forward { 4 } else { 5 }];
            // SAFETY: the arguments are those of map_rows_*_N and map_columns_*_N
            // of kernels/two_pass.cu, N = ny and nx;
            // both maps hold `values` values (checked above) of the kernels' type
            // (asserted), `between` a complex number per two, and the tables were
            // made for the kernels' stages.
            unsafe { launch(gpu, &kernel.function, kernel.config, Overlap::None, arguments) }?;
        }
        Ok(())
    }

    /// What the two kernels take, in the order in which they run.
    pub(super) fn uses(&self) -> Result<Vec<KernelUse>, CudaError> {
        let mut kernels = [&self.along_y, &self.along_x];
        if self.columns_first {
            kernels.reverse();
        }
        let bytes = 2 * self.values * size_of::<T>();
        kernels.into_iter().map(|kernel| KernelUse::of_kernel(&self.gpu, kernel, bytes)).collect()
    }
}

/// How rows and columns are cut up.
fn lines<T: CudaReal>(
    gpu: &Gpu,
    (nx, ny): (usize, usize),
) -> Result<(Lines<T>, Lines<T>), CudaError> {
    let along_y = gpu.kernels_for::<T>("two_pass", ny)?;
    let along_x = gpu.kernels_for::<T>("two_pass", nx)?;
    Ok((Lines::new(gpu, &along_y, "rows", ny)?, Lines::new(gpu, &along_x, "columns", nx)?))
}
