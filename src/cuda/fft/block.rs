//! How lines of the block FFT are divided over threads and blocks: the shapes that
//! the kernels (`kernels/fft/block_fft.cuh`) name for each length, and the twiddles
//! for them.

use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, Kernel, MOST_BLOCKS};
use cudarc::driver::sys::CUfunction_attribute;
use cudarc::driver::{CudaFunction, CudaModule, LaunchConfig};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Lengths of lines that have kernels, if powers of two.
pub(in crate::cuda) const LENGTHS: RangeInclusive<usize> = 64..=8192;

/// Whether there are kernels for lines of `n` elements.
pub(in crate::cuda) fn has_kernels(n: usize) -> bool {
    n.is_power_of_two() && LENGTHS.contains(&n)
}

/// `struct Shape` of `kernels/fft/shapes.cuh`: seven integers.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cuda) struct Shape {
    /// Of a line in a thread.
    elements: u32,
    /// Radices of the second and third of four stages; 1 where there is no such stage.
    middle: [u32; 2],
    /// Row pairs, or pairs of columns, of a block.
    pub(in crate::cuda) lines: u32,
    threads: u32,
    /// Shared memory of a block.
    pub(in crate::cuda) bytes: u32,
    /// Whether the kernel is persistent: a block takes another unit of lines when
    /// it is done with one.
    persistent: bool,
}

impl Shape {
    /// `kind` names what the module's lines of this length are for, e.g. `rows`.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        kind: &str,
        length: usize,
    ) -> Result<Self, CudaError> {
        let mut bytes = [0; 7 * size_of::<u32>()];
        {
            let stream = gpu.enter()?;
            let symbol = module.get_global(&format!("{kind}_shape_{length}"), stream.stream())?;
            assert_eq!(symbol.len(), bytes.len(), "`Shape` in the kernels is seven integers");
            stream.stream().memcpy_dtoh(&symbol, &mut bytes)?;
            stream.stream().synchronize()?;
        }
        let (numbers, _) = bytes.as_chunks();
        let [elements, second, third, lines, threads, bytes, persistent] =
            std::array::from_fn(|k| u32::from_ne_bytes(numbers[k]));
        let middle = [second, third];
        Ok(Shape { elements, middle, lines, threads, bytes, persistent: persistent != 0 })
    }

    /// A launch of this many blocks.
    pub(in crate::cuda) fn config(&self, blocks: u32) -> LaunchConfig {
        LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (self.threads, 1, 1),
            shared_mem_bytes: self.bytes,
        }
    }

    /// A kernel for lines of this length, and its launch for each of `maps` maps.
    pub(in crate::cuda) fn batched(
        &self,
        module: &Arc<CudaModule>,
        (name, length): (&str, usize),
        blocks: u32,
        maps: usize,
    ) -> Result<Kernel, CudaError> {
        let mut config = self.config(blocks);
        config.grid_dim.1 = maps as u32;
        let name = format!("{name}_{length}");
        let function = self.kernel(module, &name)?;
        Ok(Kernel { name, function, config })
    }

    /// A kernel, allowed the shared memory it takes.
    pub(in crate::cuda) fn kernel(
        &self,
        module: &Arc<CudaModule>,
        name: &str,
    ) -> Result<CudaFunction, CudaError> {
        let kernel = module.load_function(name)?;
        let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        kernel.set_attribute(most, self.bytes as i32)?;
        Ok(kernel)
    }

    /// The blocks of a launch of `kernel` over so many `units` of lines: one for
    /// each, or as many as run at once where the kernel is persistent.
    pub(in crate::cuda) fn blocks(
        &self,
        gpu: &Gpu,
        kernel: &CudaFunction,
        units: u32,
    ) -> Result<u32, CudaError> {
        if !self.persistent {
            return Ok(units);
        }
        let (threads, bytes) = (self.threads, self.bytes as usize);
        let each = kernel.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None)?;
        Ok(units.min(each.max(1) * gpu.info().multiprocessors as u32))
    }

    /// Columns of a unit.
    pub(in crate::cuda) fn columns(&self) -> usize {
        2 * self.lines as usize
    }

    /// The twiddles of n-point lines, as `Stages` of `kernels/fft/block_fft.cuh`
    /// has them: for every stage but the first, of radix X after stages of
    /// total length L, and for every power of two p < X, e^{-2πipm/(LX)} for
    /// m < L; then e^{iπk/2n} for k up to the number of a line's threads.
    fn twiddles(&self, n: usize) -> Vec<(f64, f64)> {
        let end = self.elements as usize / 2;
        let [second, third] = self.middle.map(|radix| radix as usize);
        let mut table = Vec::new();
        let mut length = end;
        for radix in [second, third, end] {
            let powers = std::iter::successors(Some(1), |p| Some(2 * p)).take_while(|&p| p < radix);
            for power in powers {
                table.extend((0..length).map(|m| {
                    let (sin, cos) = turn(power * m, length * radix);
                    (cos, -sin)
                }));
            }
            length *= radix;
        }
        debug_assert_eq!(length, n);
        table.extend((0..=n / self.elements as usize).map(|k| {
            let (sin, cos) = turn(k, 4 * n);
            (cos, sin)
        }));
        table
    }
}

/// Sine and cosine of the `part`-th of `whole` parts of a turn, by those of an
/// angle in the first octant: neither is taken of a large rounded angle.
fn turn(part: usize, whole: usize) -> (f64, f64) {
    let eighths = 8 * (part % whole);
    let angle = |parts: usize| std::f64::consts::TAU * parts as f64 / (8 * whole) as f64;
    let octant = eighths / whole;
    // From the nearest multiple of a quarter turn.
    let quarter = octant.div_ceil(2);
    let (sin, cos) = if octant.is_multiple_of(2) {
        angle(eighths - 2 * quarter * whole).sin_cos()
    } else {
        let (sin, cos) = angle(2 * quarter * whole - eighths).sin_cos();
        (-sin, cos)
    };
    match quarter % 4 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// How the lines along one axis are transformed.
pub(in crate::cuda) struct BlockLines<T: CudaReal> {
    pub(in crate::cuda) shape: Shape,
    /// Their twiddles.
    pub(in crate::cuda) table: DeviceVec<T::Complex>,
}

impl<T: CudaReal> BlockLines<T> {
    /// `kind` is `rows`, `columns` or `inverse`; `module` has kernels for this length.
    pub(in crate::cuda) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        kind: &str,
        length: usize,
    ) -> Result<Self, CudaError> {
        let shape = Shape::new(gpu, module, kind, length)?;
        let table: Vec<T::Complex> =
            shape.twiddles(length).into_iter().map(|(re, im)| T::complex(re, im)).collect();
        Ok(BlockLines { shape, table: gpu.upload(&table)? })
    }
}

/// Whether the device has the shared memory for blocks of all these shapes, and a launch
/// the blocks for this many maps.
pub(in crate::cuda) fn fits(gpu: &Gpu, shapes: &[Shape], maps: usize) -> Result<bool, CudaError> {
    let bytes = shapes.iter().map(|s| s.bytes).max();
    Ok(maps <= MOST_BLOCKS as usize && bytes <= Some(shared_memory(gpu)?))
}

/// Shared memory a block can have, in bytes.
pub(in crate::cuda) fn shared_memory(gpu: &Gpu) -> Result<u32, CudaError> {
    Ok(gpu.shared_memory_limit() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_exact_at_the_quarters_and_right_between() {
        for (part, want) in [(0, (0.0, 1.0)), (1, (1.0, 0.0)), (2, (0.0, -1.0)), (3, (-1.0, 0.0))] {
            assert_eq!(turn(part, 4), want);
            assert_eq!(turn(8 * part, 32), want);
        }
        for part in 0..64 {
            let (sin, cos) = (std::f64::consts::TAU * part as f64 / 64.0).sin_cos();
            let (s, c) = turn(part, 64);
            assert!((s - sin).abs() < 1e-15 && (c - cos).abs() < 1e-15, "{part}");
        }
    }

    #[test]
    fn a_table_holds_every_stage_and_a_quarter_wave() {
        let shape = Shape { elements: 16, middle: [8, 4], ..Shape::default() };
        let table = shape.twiddles(2048);
        // Powers 1, 2, 4 of 8 twiddles, 1 and 2 of 64, 1, 2 and 4 of 256; k = 0…128.
        let stages = 3 * 8 + 2 * 64 + 3 * 256;
        assert_eq!(table.len(), stages + 129);
        let angle = -std::f64::consts::TAU * 4.0 * 3.0 / 64.0;
        assert!((table[2 * 8 + 3].0 - angle.cos()).abs() < 1e-15);
        assert!((table[2 * 8 + 3].1 - angle.sin()).abs() < 1e-15);
        let angle = std::f64::consts::PI * 128.0 / 4096.0;
        assert!((table[stages + 128].1 - angle.sin()).abs() < 1e-15);
    }
}
