//! The vectors of an accelerated descent on a device: `kernels/place/descent.cu`.
//!
//! A point has v, where the gradient is taken; u, the other sequence of
//! Nesterov's method; and g, the gradient at v, divided by the diagonal
//! preconditioner max(1, β pin weight + α λ area) (Lu et al., "ePlace", TODAES
//! 2015, §5). Two points take turns: a step leads from the current one to the
//! other. Positions are lower-left corners in layout units, one value per body,
//! movable cells first.
//!
//! Weights, step and momentum come from device memory, so that all of it can be
//! captured in a [`Graph`](crate::cuda::Graph) and replayed with other numbers; the
//! sums come back in one read of 88 bytes. Sums are in f64 in a fixed order: the
//! same bits on every run of a device.

use super::wirelength::CudaWirelength;
use crate::cuda::bodies::RawStatistics;
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, KernelArgument, Launch,
    Pinned, blocks_at_once, blocks_for, check_aligned, check_length,
};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, LaunchConfig};

/// Sums of `descent_gradient`.
const SUMS: usize = 5;
/// Numbers of a sample: the sums, HPWL, WA, energy, three statistics.
const SAMPLE: usize = SUMS + 6;

/// What stays the same of the bodies; one value per body each, and of
/// `pin_weight` one per movable cell.
#[derive(Clone, Copy, Debug)]
pub struct DescentBodies<'a, T> {
    /// Least x and y of a lower-left corner.
    pub low: [T; 2],
    /// Largest x of every body's lower-left corner.
    pub high_x: &'a [T],
    /// Largest y of every body's lower-left corner.
    pub high_y: &'a [T],
    /// Width × height.
    pub area: &'a [T],
    /// Σ of the net weights over the pins of every movable cell.
    pub pin_weight: &'a [T],
}

/// What changes from one evaluation to the next.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DescentParameters {
    /// Smoothing length γ of the wirelength, layout units.
    pub gamma: f64,
    /// Weight λ of the force.
    pub lambda: f64,
    /// β: how much the wirelength counts in the preconditioner.
    pub pin_factor: f64,
    /// α: how much the force counts in the preconditioner.
    pub area_factor: f64,
    /// Length of the step.
    pub step: f64,
    /// Momentum.
    pub momentum: f64,
}

/// Numbers of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DescentSample {
    /// Σ |∂WA|, both coordinates.
    pub wirelength_norm: f64,
    /// Σ |force|, both coordinates.
    pub force_norm: f64,
    /// Σ g²; not finite where a position or a gradient is not.
    pub gradient_squared: f64,
    /// Σ (v' − v)².
    pub moved_squared: f64,
    /// Σ (g' − g)².
    pub changed_squared: f64,
    /// Weighted HPWL, layout units.
    pub hpwl: f64,
    /// Weighted average, layout units.
    pub wirelength: f64,
    /// Σ φ·ρ over bins.
    pub energy: f64,
    /// Of the density, for
    /// [`CudaEngine::take_evaluation`](crate::cuda::CudaEngine::take_evaluation).
    pub statistics: RawStatistics,
}

/// Two points of a descent on a device, and what leads from one to the other.
/// Nothing is allocated after creation.
pub struct Descent<T: CudaReal> {
    gpu: Gpu,
    bodies: usize,
    movable: usize,
    low: [T; 2],
    high: [DeviceVec<T>; 2],
    area: DeviceVec<T>,
    pin_weight: DeviceVec<T>,
    points: [Point<T>; 2],
    current: usize,
    step: CudaFunction,
    gradient: CudaFunction,
    gradient_config: LaunchConfig,
    partial: DeviceVec<f64>,
    ticket: DeviceVec<u32>,
    parameters: DeviceVec<f64>,
    sample: DeviceVec<f64>,
    /// What is copied to and from the device, in page-locked memory: copies of it do not wait.
    sent: Pinned<f64>,
    received: Pinned<f64>,
}

/// A vector of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointVector {
    /// Where the gradient is taken.
    V,
    /// Nesterov's other sequence.
    U,
    /// The gradient at v.
    G,
}

/// x and y of v, u and g.
struct Point<T: CudaReal> {
    v: [DeviceVec<T>; 2],
    u: [DeviceVec<T>; 2],
    g: [DeviceVec<T>; 2],
}

/// `Vector` in `kernels/place/descent.cu`.
type Pair = [CUdeviceptr; 2];

/// `Point` in `kernels/place/descent.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Addresses {
    v: Pair,
    u: Pair,
    g: Pair,
}

// SAFETY: addresses in C order, as the kernels declare them.
unsafe impl KernelArgument for Addresses {}

/// `Vector` as an argument of its own.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Vector(Pair);

// SAFETY: as above.
unsafe impl KernelArgument for Vector {}

/// `Bodies` in `kernels/place/descent.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Constants<T> {
    high: Pair,
    area: CUdeviceptr,
    pin_weight: CUdeviceptr,
    low: [T; 2],
    bodies: u32,
    movable: u32,
}

// SAFETY: addresses and plain numbers in C order, as the kernels declare them.
unsafe impl<T: CudaReal> KernelArgument for Constants<T> {}

fn pair<T: CudaReal>([x, y]: &[DeviceVec<T>; 2]) -> Pair {
    [*x.address(), *y.address()]
}

impl<T: CudaReal> Point<T> {
    fn new(gpu: &Gpu, bodies: usize) -> Result<Self, CudaError> {
        let zeros = || -> Result<_, CudaError> { Ok([gpu.zeros(bodies)?, gpu.zeros(bodies)?]) };
        Ok(Point { v: zeros()?, u: zeros()?, g: zeros()? })
    }

    fn addresses(&self) -> Addresses {
        Addresses { v: pair(&self.v), u: pair(&self.u), g: pair(&self.g) }
    }
}

impl<T: CudaReal> Descent<T> {
    /// Allocates two points.
    ///
    /// # Errors
    /// [`CudaError::Length`] when `bodies`' slices differ in length, other errors
    /// when kernels cannot be compiled or memory runs out.
    pub fn new(gpu: &Gpu, bodies: &DescentBodies<'_, T>) -> Result<Self, CudaError> {
        let (count, movable) = (bodies.area.len(), bodies.pin_weight.len());
        check_length("largest x of bodies", bodies.high_x.len(), count)?;
        check_length("largest y of bodies", bodies.high_y.len(), count)?;
        check_length("pin weights", movable, movable.min(count))?;
        if i32::try_from(count).is_err() {
            return Err(CudaError::TooManyBodies(count));
        }
        let module = gpu.kernels::<T>("descent")?;
        let gradient = module.load_function("descent_gradient")?;
        let gradient_config =
            blocks_at_once(gpu, &gradient, blocks_for(count).grid_dim.0 as usize)?;
        Ok(Descent {
            low: bodies.low,
            high: [gpu.upload(bodies.high_x)?, gpu.upload(bodies.high_y)?],
            area: gpu.upload(bodies.area)?,
            pin_weight: gpu.upload(bodies.pin_weight)?,
            points: [Point::new(gpu, count)?, Point::new(gpu, count)?],
            current: 0,
            step: module.load_function("descent_step")?,
            gradient,
            partial: gpu.zeros(SUMS * gradient_config.grid_dim.0 as usize)?,
            gradient_config,
            ticket: gpu.zeros(1)?,
            parameters: gpu.zeros(size_of::<DescentParameters>() / size_of::<f64>())?,
            sample: gpu.zeros(SAMPLE)?,
            sent: Pinned::zeros(gpu, size_of::<DescentParameters>() / size_of::<f64>())?,
            received: Pinned::zeros(gpu, SAMPLE)?,
            gpu: gpu.clone(),
            bodies: count,
            movable,
        })
    }

    /// Sets u and v of the current point.
    ///
    /// # Errors
    /// When a slice has another length than there are bodies, or the copy fails.
    pub fn start(&mut self, x: &[T], y: &[T]) -> Result<(), CudaError> {
        for (axis, from) in [x, y].into_iter().enumerate() {
            check_length("positions to start from", from.len(), self.bodies)?;
            let Point { v, u, .. } = &mut self.points[self.current];
            self.gpu.write(from, &mut v[axis])?;
            self.gpu.copy(&v[axis], &mut u[axis])?;
        }
        Ok(())
    }

    /// x and y of one of the current point's vectors, one value per body.
    pub fn vector(&self, which: PointVector) -> &[DeviceVec<T>; 2] {
        let Point { v, u, g } = &self.points[self.current];
        match which {
            PointVector::V => v,
            PointVector::U => u,
            PointVector::G => g,
        }
    }

    /// Sets one of the current point's vectors.
    ///
    /// # Errors
    /// When a slice has another length than there are bodies, or the copy fails.
    pub fn set_vector(&mut self, which: PointVector, x: &[T], y: &[T]) -> Result<(), CudaError> {
        let Point { v, u, g } = &mut self.points[self.current];
        let to = match which {
            PointVector::V => v,
            PointVector::U => u,
            PointVector::G => g,
        };
        for (from, to) in [x, y].into_iter().zip(to) {
            check_length("values of a vector", from.len(), self.bodies)?;
            self.gpu.write(from, to)?;
        }
        Ok(())
    }

    /// Which of the two points is the current one: 0 or 1.
    pub fn current(&self) -> usize {
        self.current
    }

    /// x and y of v of a point, one value per body.
    ///
    /// # Panics
    /// When `point` is neither 0 nor 1.
    pub fn positions(&self, point: usize) -> (&DeviceVec<T>, &DeviceVec<T>) {
        let [x, y] = &self.points[point].v;
        (x, y)
    }

    /// Makes the other point the current one.
    pub fn swap(&mut self) {
        self.current = 1 - self.current;
    }

    /// Enqueues the copy of the numbers that kernels enqueued from here on, and
    /// graphs replayed, work with. Waits for the copy before, if that is not
    /// done yet.
    ///
    /// # Errors
    /// When the copy fails.
    pub fn send(&mut self, parameters: &DescentParameters) -> Result<(), CudaError> {
        let DescentParameters { gamma, lambda, pin_factor, area_factor, step, momentum } =
            *parameters;
        let values = [gamma, lambda, pin_factor, area_factor, step, momentum];
        self.sent.send(&values, &mut self.parameters)
    }

    /// γ among the numbers last sent, on the device.
    pub fn gamma(&self) -> DeviceSlice<'_, f64> {
        self.parameters.slice(0..1)
    }

    /// Enqueues the step from the current point to u and v of the other, the
    /// latter kept inside the bounds and also written to `positions`, x and y of a body side by
    /// side.
    ///
    /// # Errors
    /// When `positions` have not two values per body or do not begin where a pair can,
    /// or the launch fails.
    pub fn step(&mut self, positions: DeviceSliceMut<'_, T>) -> Result<(), CudaError> {
        check_length("positions", positions.len(), 2 * self.bodies)?;
        check_aligned("positions", *positions.address(), 2 * size_of::<T>())?;
        let constants = self.constants();
        let from = self.points[self.current].addresses();
        let to = self.points[1 - self.current].addresses();
        // SAFETY: arguments are those of descent_step (addresses stand for
        // pointers); every array has one value per body, `positions` two.
        unsafe {
            Launch::new(&self.gpu, &self.step)
                .arg(&constants)
                .arg(&self.parameters)
                .arg(&from)
                .arg(&to)
                .arg(&positions)
                .launch(blocks_for(self.bodies))
        }
    }

    /// Enqueues g of `point` from what `wirelength` and an engine (its forces, and
    /// [`CudaEngine::evaluation_device`](crate::cuda::CudaEngine::evaluation_device))
    /// have computed at its v, and the numbers that [`Descent::receive`] brings.
    /// Of the point that is not current, the changes since the current one are
    /// among them.
    ///
    /// # Errors
    /// When an array has the wrong length, or the launch fails.
    ///
    /// # Panics
    /// When `point` is neither 0 nor 1.
    pub fn gradient(
        &mut self,
        point: usize,
        wirelength: &CudaWirelength<T>,
        forces: &DeviceVec<T>,
        (statistics, energy): (&DeviceVec<u64>, &DeviceVec<f64>),
    ) -> Result<(), CudaError> {
        let (wx, wy) = wirelength.gradient();
        check_length("wirelength's gradient", wx.len(), self.movable)?;
        check_length("forces", forces.len(), 2 * self.bodies)?;
        check_length("statistics", statistics.len(), 3)?;
        check_length("energy", energy.len(), 1)?;
        self.gpu.check_own(wx.gpu())?;
        let pull = Vector([*wx.address(), *wy.address()]);
        let from = self.points[self.current].addresses();
        let to = self.points[point].addresses();
        let compare = i32::from(point != self.current);
        let constants = self.constants();
        // SAFETY: arguments are those of descent_gradient (addresses stand for
        // pointers); arrays have one value per body, forces two, wirelength's
        // gradient and pin weights one per movable cell; `partial` has SUMS per block.
        unsafe {
            Launch::new(&self.gpu, &self.gradient)
                .arg(&constants)
                .arg(&self.parameters)
                .arg(&from)
                .arg(&to)
                .arg(&compare)
                .arg(&pull)
                .arg(forces)
                .arg(&self.partial)
                .arg(&self.ticket)
                .arg(wirelength.lengths())
                .arg(energy)
                .arg(statistics)
                .arg(&self.sample)
                .launch(self.gradient_config)
        }
    }

    /// The numbers of the last [`Descent::gradient`]; waits for all work enqueued.
    ///
    /// # Errors
    /// What failed on the device since the last wait.
    pub fn receive(&mut self) -> Result<DescentSample, CudaError> {
        let found = self.received.receive(&self.sample)?;
        Ok(DescentSample {
            wirelength_norm: found[0],
            force_norm: found[1],
            gradient_squared: found[2],
            moved_squared: found[3],
            changed_squared: found[4],
            hpwl: found[5],
            wirelength: found[6],
            energy: found[7],
            statistics: [8, 9, 10].map(|k| found[k].to_bits()).into(),
        })
    }

    fn constants(&self) -> Constants<T> {
        Constants {
            high: pair(&self.high),
            area: *self.area.address(),
            pin_weight: *self.pin_weight.address(),
            low: self.low,
            bodies: self.bodies as u32,
            movable: self.movable as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::kernel_source;

    #[test]
    fn a_sample_is_laid_out_as_in_the_kernels() {
        let source = kernel_source("descent");
        assert!(source.contains(&format!("double sums[{SUMS}] = ")));
        assert!(source.contains(&format!("sample[{SUMS}] = lengths[0];")));
        assert!(source.contains(&format!("k < 3; ++k) sample[{} + k] = ", SAMPLE - 3)));
    }
}
