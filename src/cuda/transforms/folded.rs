//! Fused 2-D transforms of maps with an axis of 10000, in three passes:
//! `kernels/transforms/folded.cu`.
//!
//! By two passes ([`super::two_pass`]) a line is a block, of which such a map has too
//! few for a large device, and which axis is the contiguous one makes a difference.
//! Folded into 100 × 100 the long axis takes two passes, with work for all of it and
//! neighbours to read and write whichever axis is the contiguous one.

use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, KernelUse, check_length,
};
use crate::cuda::fft::{BlockLines, Shape, Sines, Threshold, fits, twiddles};
use crate::transform::Transform;

/// `LONG` and `FOLD` of kernels/transforms/folded.cuh.
const LONG: usize = 10_000;
const FOLD: usize = 100;

/// Lengths of the other axis that have kernels: by two passes, such maps have at most
/// 64 blocks. (An H200 in f64, 100 × 10000 and 10000 × 100: the DCT in 14.7 and 14.2 µs,
/// 19.0 and 24.9 by two passes; the IDCT in 14.6 and 14.3, 21.5 and 18.7.)
const SHORT: [usize; 3] = [64, 100, 128];

/// The kernels of a transform of a batch of maps.
pub(in crate::cuda) struct Folded<T: CudaReal> {
    gpu: Gpu,
    /// Of a DCT the long axis' passes come first, of an inverse the short one's.
    forward: bool,
    first: Kernel,
    last: Kernel,
    short: Kernel,
    /// The last pass of a DCT with a threshold.
    short_threshold: Option<Kernel>,
    /// [`Input::INTEGER`] of what the first pass reads.
    integer: Option<i32>,
    values: usize,
    /// Of rows where the long axis is y, of columns where it is x.
    pairs: u32,
    /// Of an inverse, whether it is of sines along either axis.
    sine: i32,
    long_sine: i32,
    long_lines: BlockLines<T>,
    short_lines: BlockLines<T>,
    /// e^{-jπk/2n} of the long axis.
    turns: DeviceVec<T::Complex>,
    between: DeviceVec<T::Complex>,
}

impl<T: CudaReal> Folded<T> {
    /// `None` where there are no kernels for these lengths or this device. `integer`
    /// is [`Input::INTEGER`] of what it reads.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        kind: Transform,
        (nx, ny): (usize, usize),
        batch: usize,
        integer: Option<i32>,
    ) -> Result<Option<Self>, CudaError> {
        let forward = kind == Transform::Dct;
        let (axis, length) = if ny == LONG { ("y", nx) } else { ("x", ny) };
        if nx.max(ny) != LONG || !SHORT.contains(&length) {
            return Ok(None);
        }
        let long_module = gpu.instance::<T>("folded", &[("PF_LINE", LONG.to_string())])?;
        let short_module = gpu.instance::<T>("folded", &[("PF_LINE", length.to_string())])?;
        let long_lines = BlockLines::new(gpu, &long_module, "folded", LONG)?;
        // The same lines, divided for the pass that reads or writes the map.
        let map_shape = Shape::new(gpu, &long_module, &format!("folded_map_{axis}"), LONG)?;
        let short_lines = BlockLines::new(gpu, &short_module, &format!("short_{axis}"), length)?;
        if !fits(gpu, &[long_lines.shape, map_shape, short_lines.shape], batch)? {
            return Ok(None);
        }
        let sines = Sines::of(kind);
        let (sine, long_sine) = if ny == LONG { (sines.x, sines.y) } else { (sines.y, sines.x) };
        let pairs = length / 2;
        let blocks = |shape: Shape, units: usize| units.div_ceil(shape.lines as usize) as u32;
        // A block has lines of one pair of rows, or of any pairs of columns.
        let (units, times) = if ny == LONG { (FOLD, pairs as u32) } else { (FOLD * pairs, 1) };
        let long = |shape: Shape, name: String| {
            shape.batched(&long_module, (&name, LONG), times * blocks(shape, units), batch)
        };
        let short_blocks = blocks(short_lines.shape, LONG / 2);
        let short = |name: String| {
            short_lines.shape.batched(&short_module, (&name, length), short_blocks, batch)
        };
        let (first_shape, last_shape) =
            if forward { (map_shape, long_lines.shape) } else { (long_lines.shape, map_shape) };
        let direction = if forward { "forward" } else { "inverse" };
        // What reads a map may read integers.
        let reads = if integer.is_some() { "_integer" } else { "" };
        let (first_reads, short_reads) = if forward { (reads, "") } else { ("", reads) };
        Ok(Some(Folded {
            first: long(first_shape, format!("folded_first_{direction}{first_reads}_{axis}"))?,
            last: long(last_shape, format!("folded_last_{direction}_{axis}"))?,
            short: short(format!("short_{direction}{short_reads}_{axis}"))?,
            short_threshold: forward
                .then(|| short(format!("short_forward_threshold_{axis}")))
                .transpose()?,
            gpu: gpu.clone(),
            forward,
            integer,
            values: batch * nx * ny,
            pairs: pairs as u32,
            sine: i32::from(sine),
            long_sine: i32::from(long_sine),
            turns: twiddles::<T>(gpu, LONG)?,
            between: gpu.zeros(batch * nx * ny / 2)?,
            long_lines,
            short_lines,
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
        if self.forward {
            self.dct(input, output, threshold)
        } else {
            assert!(threshold.is_none(), "an inverse drops nothing");
            self.inverse(input, output)
        }
    }

    fn dct<I: Input<T>>(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        let (table, between) = (&self.long_lines.table, &mut self.between);
        let mut launch = self.first.on(&self.gpu);
        launch.arg(input).arg(&*between).arg(table).arg(&self.pairs);
        if let Some(integer) = &self.integer {
            launch.arg(integer);
        }
        // SAFETY: the arguments of this launch and the next two are those of
        // folded_first_forward, folded_last_forward and short_forward of
        // kernels/transforms/folded.cu, in their order; the maps hold `values` values (checked by
        // run), the input of the type the kernel was chosen for (asserted there),
        // `between` a complex number for two of them, and the tables were made for the
        // kernels' stages.
        unsafe { launch.launch(self.first.config) }?;
        let mut launch = self.last.on(&self.gpu);
        launch.arg(&*between).arg(table).arg(&self.pairs);
        // SAFETY: as above.
        unsafe { launch.launch(self.last.config) }?;
        let short = match &self.short_threshold {
            Some(kernel) if threshold.is_some() => kernel,
            _ => &self.short,
        };
        let epsilon;
        let mut launch = short.on(&self.gpu);
        launch.arg(&*between).arg(output).arg(&self.short_lines.table).arg(&self.turns);
        if let Some(threshold) = threshold {
            epsilon = threshold.epsilon;
            launch.arg(&epsilon).arg(threshold.kept).arg(threshold.parts);
        }
        // SAFETY: as above.
        unsafe { launch.launch(short.config) }
    }

    /// The output holds complex numbers until the last pass.
    fn inverse<I: Input<T>>(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let table = &self.long_lines.table;
        let mut launch = self.short.on(&self.gpu);
        launch.arg(input).arg(&*output).arg(&self.short_lines.table).arg(&self.turns);
        launch.arg(&self.sine).arg(&self.long_sine);
        if let Some(integer) = &self.integer {
            launch.arg(integer);
        }
        // SAFETY: the arguments of this launch and the next two are those of
        // short_inverse, folded_first_inverse and folded_last_inverse of
        // kernels/transforms/folded.cu, in their order; the rest is as for the DCT, and the
        // output has room for a complex number for two values.
        unsafe { launch.launch(self.short.config) }?;
        let mut launch = self.first.on(&self.gpu);
        launch.arg(&*output).arg(&self.between).arg(table).arg(&self.pairs);
        // SAFETY: as above.
        unsafe { launch.launch(self.first.config) }?;
        let mut launch = self.last.on(&self.gpu);
        launch.arg(&self.between).arg(output).arg(table).arg(&self.pairs).arg(&self.long_sine);
        // SAFETY: as above.
        unsafe { launch.launch(self.last.config) }
    }

    /// What the three kernels take, in the order in which they run; `input` is the
    /// size of a value that the first one reads.
    pub(in crate::cuda) fn uses(&self, input: usize) -> Result<Vec<KernelUse>, CudaError> {
        let kernels = if self.forward {
            [&self.first, &self.last, &self.short]
        } else {
            [&self.short, &self.first, &self.last]
        };
        let map = self.values * size_of::<T>();
        let bytes = [self.values * input + map, 2 * map, 2 * map];
        let of = |(kernel, bytes)| KernelUse::of_kernel(&self.gpu, kernel, bytes);
        kernels.into_iter().zip(bytes).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::kernel_constant;

    #[test]
    fn the_long_axis_is_folded_as_in_the_kernels() {
        let kernels = |name| kernel_constant("transforms/folded.cuh", name);
        assert_eq!(kernels("LONG"), LONG.to_string());
        assert_eq!(kernels("FOLD"), FOLD.to_string());
    }
}
