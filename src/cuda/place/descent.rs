//! The vectors of an accelerated descent on a device: `kernels/place/descent.cu`.
//!
//! A point has v, where the gradient is taken; u, the other sequence of
//! Nesterov's method; and g, the gradient at v, divided by the diagonal
//! preconditioner max(1, β pin weight + α λ area) (Lu et al., "ePlace", TODAES
//! 2015, §5). A step leads from the current point to the next one: two u and two g take
//! turns, and of three v one is the current, one the next, and one may be kept without a copy.
//! Positions are lower-left corners in layout units, one value per body,
//! movable cells first.
//!
//! Weights, step, momentum and which vectors take which part come from device memory, so that
//! all of it can be captured in one [`Graph`](crate::cuda::Graph) and replayed with other numbers; the
//! sums come back in one read of 88 bytes. Sums are in f64 in a fixed order: the
//! same bits on every run of a device.

use super::wirelength::CudaWirelength;
use crate::cuda::bodies::RawStatistics;
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, KernelArgument, Launch,
    Pinned, SumScratch, blocks_at_once, blocks_for, check_aligned, check_length,
};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, LaunchConfig};

/// Sums of `descent_gradient`.
const SUMS: usize = 4;
/// Numbers of a sample: the sums, that of the step, HPWL, WA, energy, three statistics.
const SAMPLE: usize = SUMS + 7;
/// Numbers that are sent: those of [`DescentParameters`], and which vectors take part.
const SENT: usize = 9;

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

/// The points of a descent on a device, and what leads from one to the next.
/// Nothing is allocated after creation.
pub struct Descent<T: CudaReal> {
    gpu: Gpu,
    bodies: usize,
    movable: usize,
    low: [T; 2],
    high: [DeviceVec<T>; 2],
    area: DeviceVec<T>,
    /// Bodies from here on are as large as this one.
    uniform: usize,
    pin_weight: DeviceVec<T>,
    /// x and y each.
    v: [[DeviceVec<T>; 2]; 3],
    u: [[DeviceVec<T>; 2]; 2],
    g: [[DeviceVec<T>; 2]; 2],
    /// Which v is the current one, the next one, and kept; which u and g are the current ones.
    current: usize,
    next: usize,
    kept: Option<usize>,
    turn: usize,
    step: CudaFunction,
    step_config: LaunchConfig,
    gradient: CudaFunction,
    gradient_config: LaunchConfig,
    /// Of the step and of the gradient.
    scratch: [SumScratch; 2],
    /// Σ (v' − v)² of the last step.
    moved: DeviceVec<f64>,
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

/// `Vector` in `kernels/place/descent.cu`.
type Pair = [CUdeviceptr; 2];

/// `Vectors` in `kernels/place/descent.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Addresses {
    v: [Pair; 3],
    u: [Pair; 2],
    g: [Pair; 2],
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
    uniform: u32,
}

// SAFETY: addresses and plain numbers in C order, as the kernels declare them.
unsafe impl<T: CudaReal> KernelArgument for Constants<T> {}

fn pair<T: CudaReal>([x, y]: &[DeviceVec<T>; 2]) -> Pair {
    [*x.address(), *y.address()]
}

/// Of values per body, the first from which on all are as the last one.
fn uniform_from<T: PartialEq>(columns: [&[T]; 3]) -> usize {
    let first = |column: &[T]| {
        let other = column.iter().rposition(|value| Some(value) != column.last());
        other.map_or(0, |k| k + 1)
    };
    columns.into_iter().map(first).max().unwrap_or(0)
}

impl<T: CudaReal> Descent<T> {
    /// Allocates all vectors.
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
        let load = |name| -> Result<_, CudaError> {
            let kernel = module.load_function(name)?;
            let config = blocks_at_once(gpu, &kernel, blocks_for(count).grid_dim.0 as usize)?;
            Ok((kernel, config))
        };
        let ((step, step_config), (gradient, gradient_config)) =
            (load("descent_step")?, load("descent_gradient")?);
        let vector = || -> Result<_, CudaError> { Ok([gpu.zeros(count)?, gpu.zeros(count)?]) };
        let uniform = uniform_from([bodies.high_x, bodies.high_y, bodies.area]);
        let listed = count.min(uniform + 1);
        let high_x = gpu.upload(&bodies.high_x[..listed])?;
        let high_y = gpu.upload(&bodies.high_y[..listed])?;
        Ok(Descent {
            low: bodies.low,
            high: [high_x, high_y],
            area: gpu.upload(&bodies.area[..listed])?,
            uniform,
            pin_weight: gpu.upload(bodies.pin_weight)?,
            v: [vector()?, vector()?, vector()?],
            u: [vector()?, vector()?],
            g: [vector()?, vector()?],
            current: 0,
            next: 1,
            kept: None,
            turn: 0,
            step,
            scratch: [
                SumScratch::of(gpu, 1, step_config)?,
                SumScratch::of(gpu, SUMS, gradient_config)?,
            ],
            step_config,
            gradient,
            gradient_config,
            moved: gpu.zeros(1)?,
            parameters: gpu.zeros(SENT)?,
            sample: gpu.zeros(SAMPLE)?,
            sent: Pinned::zeros(gpu, SENT)?,
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
        self.leave_kept();
        for (axis, from) in [x, y].into_iter().enumerate() {
            check_length("positions to start from", from.len(), self.bodies)?;
            let (v, u) = (&mut self.v[self.current][axis], &mut self.u[self.turn][axis]);
            self.gpu.write(from, &mut *v)?;
            self.gpu.copy(&*v, u)?;
        }
        Ok(())
    }

    /// x and y of one of the current point's vectors, one value per body.
    pub fn vector(&self, which: PointVector) -> &[DeviceVec<T>; 2] {
        match which {
            PointVector::V => &self.v[self.current],
            PointVector::U => &self.u[self.turn],
            PointVector::G => &self.g[self.turn],
        }
    }

    /// Sets one of the current point's vectors.
    ///
    /// # Errors
    /// When a slice has another length than there are bodies, or the copy fails.
    pub fn set_vector(&mut self, which: PointVector, x: &[T], y: &[T]) -> Result<(), CudaError> {
        if which == PointVector::V {
            self.leave_kept();
        }
        let to = match which {
            PointVector::V => &mut self.v[self.current],
            PointVector::U => &mut self.u[self.turn],
            PointVector::G => &mut self.g[self.turn],
        };
        write_pair(&self.gpu, [x, y], to, self.bodies)
    }

    /// Keeps v of the current point as it is, in place of what was kept before. Nothing is copied.
    pub fn keep(&mut self) {
        self.kept = Some(self.current);
    }

    /// x and y of the v kept, one value per body; none before [`Descent::keep`].
    pub fn kept(&self) -> Option<&[DeviceVec<T>; 2]> {
        self.kept.map(|kept| &self.v[kept])
    }

    /// Sets the v that is kept.
    ///
    /// # Errors
    /// When a slice has another length than there are bodies, or the copy fails.
    pub fn set_kept(&mut self, x: &[T], y: &[T]) -> Result<(), CudaError> {
        let kept = self.other_than(self.next);
        write_pair(&self.gpu, [x, y], &mut self.v[kept], self.bodies)?;
        self.kept = Some(kept);
        Ok(())
    }

    /// Before the current v is overwritten: what is kept stays.
    fn leave_kept(&mut self) {
        if self.kept == Some(self.current) {
            self.current = self.other_than(self.next);
        }
    }

    /// The v that is neither the current one nor `taken`.
    fn other_than(&self, taken: usize) -> usize {
        let free = |k: &usize| *k != self.current && *k != taken;
        (0..self.v.len()).find(free).unwrap_or(0)
    }

    /// Makes the point that the last step led to the current one.
    pub fn swap(&mut self) {
        self.current = self.next;
        self.turn = 1 - self.turn;
    }

    /// Enqueues the copy of the numbers that kernels enqueued from here on, and
    /// graphs replayed, work with. Waits for the copy before, if that is not
    /// done yet.
    ///
    /// # Errors
    /// When the copy fails.
    pub fn send(&mut self, parameters: &DescentParameters) -> Result<(), CudaError> {
        self.next = self.other_than(self.kept.unwrap_or(self.current));
        let DescentParameters { gamma, lambda, pin_factor, area_factor, step, momentum } =
            *parameters;
        let [v, next_v, turn] = [self.current, self.next, self.turn].map(|k| k as f64);
        let values = [gamma, lambda, pin_factor, area_factor, step, momentum, v, next_v, turn];
        self.sent.send(&values, &mut self.parameters)
    }

    /// γ among the numbers last sent, on the device.
    pub fn gamma(&self) -> DeviceSlice<'_, f64> {
        self.parameters.slice(0..1)
    }

    /// Enqueues the step from the current point to u and v of the next, the
    /// latter kept inside the bounds and also written to `positions`, x and y of a body side by
    /// side. Which those are [`Descent::send`] has decided.
    ///
    /// # Errors
    /// When `positions` have not two values per body or do not begin where a pair can,
    /// or the launch fails.
    pub fn step(&mut self, positions: DeviceSliceMut<'_, T>) -> Result<(), CudaError> {
        check_length("positions", positions.len(), 2 * self.bodies)?;
        check_aligned("positions", *positions.address(), 2 * size_of::<T>())?;
        let constants = self.constants();
        let vectors = self.addresses();
        let SumScratch { partial, ticket } = &self.scratch[0];
        // SAFETY: arguments are those of descent_step (addresses stand for
        // pointers); every vector has one value per body, `positions` two; bounds and areas
        // reach to `uniform`; `partial` has one value per block.
        unsafe {
            Launch::new(&self.gpu, &self.step)
                .arg(&constants)
                .arg(&self.parameters)
                .arg(&vectors)
                .arg(&positions)
                .arg(partial)
                .arg(ticket)
                .arg(&self.moved)
                .launch(self.step_config)
        }
    }

    /// Enqueues g of the point that the last step `proposed`, or of the current one, from what
    /// `wirelength` and an engine (its forces, and
    /// [`CudaEngine::evaluation_device`](crate::cuda::CudaEngine::evaluation_device))
    /// have computed at its v, and the numbers that [`Descent::receive`] brings.
    /// Of a point proposed, the changes since the current one are among them.
    ///
    /// # Errors
    /// When an array has the wrong length, or the launch fails.
    pub fn gradient(
        &mut self,
        proposed: bool,
        wirelength: &CudaWirelength<T>,
        forces: &DeviceVec<T>,
        (statistics, energy): (&DeviceVec<u64>, &DeviceVec<f64>),
    ) -> Result<(), CudaError> {
        let (wx, wy) = wirelength.gradient();
        check_length("wirelength's gradient", wx.len(), self.movable)?;
        check_length("forces", forces.len(), 2 * self.bodies)?;
        // Of several regions those of each follow.
        check_length("statistics", statistics.len().min(3), 3)?;
        check_length("energy", energy.len().min(1), 1)?;
        self.gpu.check_own(wx.gpu())?;
        let pull = Vector([*wx.address(), *wy.address()]);
        let vectors = self.addresses();
        let proposed = i32::from(proposed);
        let constants = self.constants();
        let SumScratch { partial, ticket } = &self.scratch[1];
        // SAFETY: arguments are those of descent_gradient (addresses stand for
        // pointers); vectors have one value per body, forces two, wirelength's
        // gradient and pin weights one per movable cell; areas reach to `uniform`; `partial` has
        // SUMS per block.
        unsafe {
            Launch::new(&self.gpu, &self.gradient)
                .arg(&constants)
                .arg(&self.parameters)
                .arg(&vectors)
                .arg(&proposed)
                .arg(&pull)
                .arg(forces)
                .arg(partial)
                .arg(ticket)
                .arg(&self.moved)
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
            changed_squared: found[3],
            moved_squared: found[4],
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
            uniform: self.uniform as u32,
        }
    }

    fn addresses(&self) -> Addresses {
        Addresses {
            v: self.v.each_ref().map(pair),
            u: self.u.each_ref().map(pair),
            g: self.g.each_ref().map(pair),
        }
    }
}

/// Copies the host's x and y, `bodies` values each, to a vector on the device.
fn write_pair<T: CudaReal>(
    gpu: &Gpu,
    from: [&[T]; 2],
    to: &mut [DeviceVec<T>; 2],
    bodies: usize,
) -> Result<(), CudaError> {
    for (from, to) in from.into_iter().zip(to) {
        check_length("values of a vector", from.len(), bodies)?;
        gpu.write(from, to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::kernel_source;

    #[test]
    fn bodies_of_one_size_at_the_end_are_listed_once() {
        let (x, y, area) = ([1.0, 5.0, 5.0, 5.0], [2.0, 2.0, 3.0, 3.0], [7.0; 4]);
        assert_eq!(uniform_from([&x, &y, &area]), 2);
        assert_eq!(uniform_from([&area, &area, &x]), 1);
        assert_eq!(uniform_from([&area, &area, &[1.0, 1.0, 1.0, 2.0]]), 3);
        assert_eq!(uniform_from::<f32>([&[], &[], &[]]), 0);
    }

    #[test]
    fn a_sample_is_laid_out_as_in_the_kernels() {
        let source = kernel_source("descent");
        assert!(source.contains(&format!("double sums[{SUMS}] = ")));
        assert!(source.contains(&format!("sample[{SUMS}] = proposed ? *moved : 0;")));
        assert!(source.contains(&format!("sample[{}] = lengths[0];", SUMS + 1)));
        assert!(source.contains(&format!("k < 3; ++k) sample[{} + k] = ", SAMPLE - 3)));
    }
}
