//! The three-pass pipeline on a device: `kernels/three_pass.cu`, typed.
//!
//! Three kernels a solve: DCTs along y; DCTs along x, Green's function and both
//! inverses along x; the three inverses along y (see [`crate::spectral`] for
//! what is solved). A kernel keeps its lines in registers from the first of its
//! transforms to the last, so that a solve moves 10 words of memory per bin
//! where the fused pipeline moves 28; without the potential, 9. How and why:
//! [`crate::spectral`].
//!
//! Lines are powers of two, 64 to 8192, and a block's lines must fit the
//! device's shared memory. [`ThreePass::new`] says so where they do not, and
//! [`solver`](super::solver()) takes the fused pipeline then.

use super::device::Gpu;
use super::error::CudaError;
use super::launch::{
    Kernel, MOST_BLOCKS, Overlap, address, address_mut, argument, check_length, launch,
};
use super::real::CudaReal;
use super::solver::{FieldSolver, Fields, Green};
use super::usage::KernelUse;
use crate::engine::Pipeline;
use crate::grid::BinGrid;
use crate::transform::Transform;
use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, DeviceRepr, LaunchConfig};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Lengths of lines that have kernels, if powers of two.
const LENGTHS: RangeInclusive<usize> = 64..=8192;

/// Up to here passes overlap where the device can: an H200 gains some 3 % by it
/// at 512² and loses up to 15 % at 1024² and beyond.
const OVERLAP: usize = 1 << 18;

/// The three-pass pipeline for one grid.
pub struct ThreePass<T: CudaReal> {
    gpu: Gpu,
    bins: usize,
    /// Row pairs of the map.
    pairs: u32,
    rows: Lines<T>,
    columns: Lines<T>,
    /// Rows on the way back.
    back: Lines<T>,
    forward: CudaFunction,
    solve: CudaFunction,
    inverse: CudaFunction,
    inverse_field: CudaFunction,
    overlap: Overlap,
    green: Green<T>,
    step_y: T,
    /// P and Q, half-way back: `[panel][row pair][column]`, rows in pairs. P
    /// first holds ρ's transform along y.
    p: CudaSlice<T::Complex>,
    q: CudaSlice<T::Complex>,
    /// The second pass's groups of columns that are neighbours.
    units: u32,
    /// The energy, by block of the second pass.
    partial: CudaSlice<f64>,
}

/// Whether there are kernels for lines of `n` elements.
pub(super) fn has_kernels(n: usize) -> bool {
    n.is_power_of_two() && LENGTHS.contains(&n)
}

impl<T: CudaReal> ThreePass<T> {
    /// Whether there are kernels for `grid`'s numbers of bins.
    pub fn is_made_for(grid: &BinGrid) -> bool {
        has_kernels(grid.nx()) && has_kernels(grid.ny())
    }

    /// Compiles (or loads) the kernels of both line lengths and allocates
    /// everything a solve needs.
    ///
    /// # Errors
    /// [`CudaError::NoThreePass`] for a grid or device it is not made for; else
    /// when kernels cannot be compiled or memory runs out.
    pub fn new(gpu: &Gpu, grid: &BinGrid) -> Result<Self, CudaError> {
        let (nx, ny) = (grid.nx(), grid.ny());
        let not_here = |reason: String| CudaError::NoThreePass { nx, ny, reason };
        for n in [nx, ny] {
            if !has_kernels(n) {
                let (least, most) = (LENGTHS.start(), LENGTHS.end());
                return Err(not_here(format!(
                    "{n} bins: expected a power of two from {least} to {most}"
                )));
            }
        }
        let along_y = gpu.kernels_for::<T>("three_pass", ny)?;
        let along_x = gpu.kernels_for::<T>("three_pass", nx)?;
        let rows = Lines::new(gpu, &along_y, "rows", ny)?;
        let columns = Lines::new(gpu, &along_x, "columns", nx)?;
        let back = Lines::new(gpu, &along_y, "inverse", ny)?;
        let most = shared_memory(gpu)?;
        if let Some(bytes) =
            [&rows, &columns, &back].map(|l| l.shape.bytes).into_iter().find(|&b| b > most)
        {
            return Err(not_here(format!(
                "{bytes} bytes of shared memory for a block: the device has {most}"
            )));
        }
        let forward = rows.shape.kernel(&along_y, &format!("rows_forward_{ny}"))?;
        let solve = columns.shape.kernel(&along_x, &format!("columns_{nx}"))?;
        let inverse = back.shape.kernel(&along_y, &format!("rows_inverse_{ny}"))?;
        let inverse_field = back.shape.kernel(&along_y, &format!("rows_inverse_field_{ny}"))?;
        let units = (ny / columns.shape.columns()) as u32;
        let blocks = columns.shape.blocks(gpu, &solve, units)?;
        let green = Green::new(grid, SCALE / grid.bins() as f64);
        let overlap = match grid.bins() <= OVERLAP {
            true => Overlap::where_possible(gpu),
            false => Overlap::None,
        };
        Ok(ThreePass {
            gpu: gpu.clone(),
            bins: grid.bins(),
            pairs: nx as u32 / 2,
            forward,
            solve,
            inverse,
            inverse_field,
            overlap,
            step_y: green.step_y(),
            green,
            p: gpu.zeros(grid.bins() / 2)?,
            q: gpu.zeros(grid.bins() / 2)?,
            units,
            partial: gpu.zeros(blocks as usize)?,
            rows,
            columns,
            back,
        })
    }

    /// What each kernel takes of a multiprocessor: forward, columns, inverse, and
    /// inverse without φ.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn kernels(&self) -> Result<[KernelUse; 4], CudaError> {
        let back = self.back.shape;
        let blocks = |maps: u32| self.pairs * maps / back.lines;
        let rows = self.rows.shape.config(self.pairs / self.rows.shape.lines);
        let columns = self.columns.shape.config(self.partial.len() as u32);
        let words = |n: usize| n * self.bins * size_of::<T>();
        let of =
            |name, kernel, config, words| KernelUse::of(&self.gpu, name, kernel, &config, words);
        Ok([
            of("rows_forward", &self.forward, rows, words(2))?,
            of("columns", &self.solve, columns, words(3))?,
            of("rows_inverse", &self.inverse, back.config(blocks(3)), words(5))?,
            of("rows_inverse_field", &self.inverse_field, back.config(blocks(2)), words(4))?,
        ])
    }

    /// Enqueues the solve without φ: Ex, Ey and the energy, which needs no φ
    /// (Parseval). `fields.potential` is left as it is.
    ///
    /// # Errors
    /// When a map has the wrong length or a launch fails.
    pub fn solve_field(
        &mut self,
        rho: &CudaSlice<T>,
        fields: &mut Fields<T>,
    ) -> Result<(), CudaError> {
        self.forward(rho)?;
        self.inverse_maps(fields, false)
    }

    /// The second and third pass.
    fn inverse_maps(&mut self, fields: &mut Fields<T>, potential: bool) -> Result<(), CudaError> {
        check_length("energy", fields.energy.len(), 1)?;
        check_length("potential", fields.potential.len(), self.bins)?;
        check_length("field along x", fields.field_x.len(), self.bins)?;
        check_length("field along y", fields.field_y.len(), self.bins)?;
        let gpu = &self.gpu;
        let (p, q) = (address_mut(gpu, &mut self.p), address_mut(gpu, &mut self.q));
        let partial = address_mut(gpu, &mut self.partial);
        let blocks = self.partial.len() as u32;
        let table = address(gpu, &self.columns.table);
        // SAFETY: the arguments are those of columns_N, N = nx; P and Q hold a
        // complex number per two bins, the table was made for the kernel's
        // stages, `units` are all of the map's columns, `partial` has a number per block.
        unsafe {
            launch(
                gpu,
                &self.solve,
                self.columns.shape.config(blocks),
                self.overlap,
                &mut [
                    argument(&p),
                    argument(&q),
                    argument(&table),
                    argument(&self.green),
                    argument(&self.units),
                    argument(&partial),
                ],
            )
        }?;
        let phi = address_mut(gpu, &mut fields.potential);
        let ex = address_mut(gpu, &mut fields.field_x);
        let ey = address_mut(gpu, &mut fields.field_y);
        let energy = address_mut(gpu, &mut fields.energy);
        let table = address(gpu, &self.back.table);
        let (maps, kernel) = if potential { (3, &self.inverse) } else { (2, &self.inverse_field) };
        let mut outputs = vec![argument(&phi), argument(&ex), argument(&ey)];
        outputs.drain(..3 - maps);
        let mut arguments = vec![argument(&p), argument(&q)];
        arguments.extend(outputs);
        arguments.extend([
            argument(&table),
            argument(&self.step_y),
            argument(&self.pairs),
            argument(&partial),
            argument(&blocks),
            argument(&energy),
        ]);
        let blocks = self.pairs * maps as u32 / self.back.shape.lines;
        // SAFETY: the arguments are those of rows_inverse_N, N = ny, or, without
        // the first output, of rows_inverse_field_N; every map holds `bins`
        // values, and the rest is as above.
        unsafe { launch(gpu, kernel, self.back.shape.config(blocks), self.overlap, &mut arguments) }
    }
}

impl<T: CudaReal> FieldSolver<T> for ThreePass<T> {
    fn pipeline(&self) -> Pipeline {
        Pipeline::ThreePass
    }

    fn forward(&mut self, rho: &CudaSlice<T>) -> Result<(), CudaError> {
        check_length("density map", rho.len(), self.bins)?;
        let rho = address(&self.gpu, rho);
        let p = address_mut(&self.gpu, &mut self.p);
        let table = address(&self.gpu, &self.rows.table);
        let blocks = self.pairs / self.rows.shape.lines;
        // SAFETY: the arguments are those of rows_forward_N, N = ny; ρ holds
        // `bins` values, P a complex number per two bins, the table was made for
        // the kernel's stages, and lines divide the map's row pairs.
        unsafe {
            launch(
                &self.gpu,
                &self.forward,
                self.rows.shape.config(blocks),
                // What comes before is not known to let its successor start.
                Overlap::None,
                &mut [argument(&rho), argument(&p), argument(&table), argument(&self.pairs)],
            )
        }
    }

    fn inverse(&mut self, fields: &mut Fields<T>) -> Result<(), CudaError> {
        self.inverse_maps(fields, true)
    }

    /// There is no transform of a single map in this pipeline: it is an error.
    fn transform(
        &mut self,
        _: Transform,
        _: &CudaSlice<T>,
        _: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        Err(CudaError::SolvesOnly(Pipeline::ThreePass))
    }
}

/// What `Green::scale` is over the number of bins: the round trip's 4, over the
/// four halves that the kernels leave out.
const SCALE: f64 = 0.25;

/// `struct Shape` of `kernels/three_pass.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// Of a line in a thread.
    elements: u32,
    /// Radices of the second and third of four stages; 1 is none.
    middle: [u32; 2],
    /// Row pairs, or pairs of columns, of a block.
    pub(super) lines: u32,
    threads: u32,
    /// Shared memory of a block.
    pub(super) bytes: u32,
    /// Whether a block goes on to another unit of lines when it is done with one.
    goes_on: u32,
}

// SAFETY: seven integers in C order, as the kernels declare them.
unsafe impl DeviceRepr for Shape {}

impl Shape {
    /// `kind` is what the module's lines of this length are cut up for, as in `rows`.
    pub(super) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        kind: &str,
        length: usize,
    ) -> Result<Self, CudaError> {
        let symbol = module.get_global(&format!("{kind}_shape_{length}"), gpu.stream())?;
        // SAFETY: the symbol is one `Shape`.
        let symbol = unsafe { symbol.transmute::<Shape>(1) }.expect("a whole Shape");
        let mut shape = [Shape::default()];
        gpu.stream().memcpy_dtoh(&symbol, &mut shape)?;
        gpu.synchronize()?;
        let [shape] = shape;
        Ok(shape)
    }

    /// A launch of this many blocks.
    pub(super) fn config(&self, blocks: u32) -> LaunchConfig {
        LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (self.threads, 1, 1),
            shared_mem_bytes: self.bytes,
        }
    }

    /// A kernel for lines of this length, and its launch for each of `maps` maps.
    pub(super) fn batched(
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
    pub(super) fn kernel(
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
    /// each, or as many as run at once where they go on with the next.
    fn blocks(&self, gpu: &Gpu, kernel: &CudaFunction, units: u32) -> Result<u32, CudaError> {
        if self.goes_on == 0 {
            return Ok(units);
        }
        let (threads, bytes) = (self.threads, self.bytes as usize);
        let each = kernel.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None)?;
        Ok(units.min(each.max(1) * gpu.info().multiprocessors as u32))
    }

    /// Columns of a unit.
    pub(super) fn columns(&self) -> usize {
        2 * self.lines as usize
    }

    /// The twiddles of n-point lines, as `Stages` of `kernels/block_fft.cuh`
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
pub(super) struct Lines<T: CudaReal> {
    pub(super) shape: Shape,
    /// Their twiddles.
    pub(super) table: CudaSlice<T::Complex>,
}

impl<T: CudaReal> Lines<T> {
    /// `kind` is `rows`, `columns` or `inverse`; `module` has kernels for this length.
    pub(super) fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        kind: &str,
        length: usize,
    ) -> Result<Self, CudaError> {
        let shape = Shape::new(gpu, module, kind, length)?;
        let table: Vec<T::Complex> =
            shape.twiddles(length).into_iter().map(|(re, im)| T::complex(re, im)).collect();
        Ok(Lines { shape, table: gpu.upload(&table)? })
    }
}

/// Whether the device has the shared memory for blocks of all these shapes, and a launch
/// the blocks for this many maps.
pub(super) fn fit(gpu: &Gpu, shapes: &[Shape], maps: usize) -> Result<bool, CudaError> {
    let bytes = shapes.iter().map(|s| s.bytes).max();
    Ok(maps <= MOST_BLOCKS as usize && bytes <= Some(shared_memory(gpu)?))
}

/// Shared memory a block can have, in bytes.
fn shared_memory(gpu: &Gpu) -> Result<u32, CudaError> {
    let most = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    Ok(gpu.context().attribute(most)? as u32)
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
