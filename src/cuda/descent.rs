//! The vectors of an accelerated descent on a device: `kernels/descent.cu`, typed.
//!
//! A point has v, where the gradient is taken; u, the other sequence of
//! Nesterov's method; and g, the gradient at v, divided by the diagonal
//! preconditioner max(1, pin weight + α λ area) (Lu et al., "ePlace", TODAES
//! 2015, §5). Two points take turns: a step leads from the current one to the
//! other. Positions are lower-left corners in layout units, one value per body,
//! movable cells first.
//!
//! Weights, step and momentum come from device memory, so that all of it can be
//! captured in a [`Graph`](super::Graph) and replayed with other numbers; the
//! sums come back in one read of 88 bytes. Sums are in f64 in a fixed order: the
//! same bits on every run of a device.

use super::bodies::{blocks_for, upload};
use super::device::Gpu;
use super::error::CudaError;
use super::launch::{address, address_mut, check_length};
use super::real::CudaReal;
use super::wirelength::{CudaWirelength, at_once};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaFunction, CudaSlice, CudaViewMut, DeviceRepr, LaunchConfig, PinnedHostSlice, PushKernelArg,
    ValidAsZeroBits,
};

/// Sums of `descent_gradient`.
const SUMS: usize = 5;
/// Numbers of a sample: the sums, HPWL, WA, energy, three words of statistics.
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
    /// The words of [`CudaEngine::evaluation_device`](super::CudaEngine::evaluation_device).
    pub statistics: [u64; 3],
}

/// Two points of a descent on a device, and what leads from one to the other.
/// Nothing is allocated after creation.
pub struct Descent<T: CudaReal> {
    gpu: Gpu,
    bodies: usize,
    movable: usize,
    low: [T; 2],
    high: [CudaSlice<T>; 2],
    area: CudaSlice<T>,
    pin_weight: CudaSlice<T>,
    points: [Point<T>; 2],
    current: usize,
    step: CudaFunction,
    gradient: CudaFunction,
    gradient_config: LaunchConfig,
    partial: CudaSlice<f64>,
    ticket: CudaSlice<u32>,
    parameters: CudaSlice<f64>,
    sample: CudaSlice<f64>,
    /// What crosses, in page-locked memory: copies of it do not wait.
    sent: PinnedHostSlice<f64>,
    received: PinnedHostSlice<f64>,
}

/// x and y of v, u and g.
struct Point<T: CudaReal> {
    v: [CudaSlice<T>; 2],
    u: [CudaSlice<T>; 2],
    g: [CudaSlice<T>; 2],
}

/// `Vector` in `kernels/descent.cu`.
type Pair = [CUdeviceptr; 2];

/// `Point` in `kernels/descent.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Addresses {
    v: Pair,
    u: Pair,
    g: Pair,
}

// SAFETY: addresses in C order, as the kernels declare them.
unsafe impl DeviceRepr for Addresses {}

/// `Vector` as an argument of its own.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Vector(Pair);

// SAFETY: as above.
unsafe impl DeviceRepr for Vector {}

/// `Bodies` in `kernels/descent.cu`.
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
unsafe impl<T: CudaReal> DeviceRepr for Constants<T> {}

fn pair<T: CudaReal>(gpu: &Gpu, values: &[CudaSlice<T>; 2]) -> Pair {
    [address(gpu, &values[0]), address(gpu, &values[1])]
}

impl<T: CudaReal> Point<T> {
    fn new(gpu: &Gpu, bodies: usize) -> Result<Self, CudaError> {
        let zeros = || -> Result<_, CudaError> {
            Ok([gpu.zeros(bodies.max(1))?, gpu.zeros(bodies.max(1))?])
        };
        Ok(Point { v: zeros()?, u: zeros()?, g: zeros()? })
    }

    fn addresses(&self, gpu: &Gpu) -> Addresses {
        Addresses { v: pair(gpu, &self.v), u: pair(gpu, &self.u), g: pair(gpu, &self.g) }
    }
}

impl<T: CudaReal> Descent<T> {
    /// Room for two points.
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
        let gradient_config = at_once(gpu, &gradient, blocks_for(count).grid_dim.0 as usize)?;
        Ok(Descent {
            low: bodies.low,
            high: [upload(gpu, bodies.high_x)?, upload(gpu, bodies.high_y)?],
            area: upload(gpu, bodies.area)?,
            pin_weight: upload(gpu, bodies.pin_weight)?,
            points: [Point::new(gpu, count)?, Point::new(gpu, count)?],
            current: 0,
            step: module.load_function("descent_step")?,
            gradient,
            partial: gpu.zeros(SUMS * gradient_config.grid_dim.0 as usize)?,
            gradient_config,
            ticket: gpu.zeros(1)?,
            parameters: gpu.zeros(size_of::<DescentParameters>() / size_of::<f64>())?,
            sample: gpu.zeros(SAMPLE)?,
            sent: pinned(gpu, size_of::<DescentParameters>() / size_of::<f64>())?,
            received: pinned(gpu, SAMPLE)?,
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
            if !from.is_empty() {
                let Point { v, u, .. } = &mut self.points[self.current];
                self.gpu.stream().memcpy_htod(from, &mut v[axis])?;
                self.gpu.stream().memcpy_htod(from, &mut u[axis])?;
            }
        }
        // The caller may do with its slices what it likes from here on.
        self.gpu.synchronize()
    }

    /// Which of the two points is the current one: 0 or 1.
    pub fn current(&self) -> usize {
        self.current
    }

    /// x and y of v of a point, one value per body.
    ///
    /// # Panics
    /// When `point` is neither 0 nor 1.
    pub fn positions(&self, point: usize) -> (&CudaSlice<T>, &CudaSlice<T>) {
        let [x, y] = &self.points[point].v;
        (x, y)
    }

    /// Makes the other point the current one.
    pub fn swap(&mut self) {
        self.current = 1 - self.current;
    }

    /// Enqueues the copy of the numbers that kernels enqueued from here on, and
    /// graphs replayed, work with.
    ///
    /// # Errors
    /// When the copy fails.
    pub fn send(&mut self, parameters: &DescentParameters) -> Result<(), CudaError> {
        let DescentParameters { gamma, lambda, area_factor, step, momentum } = *parameters;
        // Waits for the copy before, if it is still under way.
        self.sent.as_mut_slice()?.copy_from_slice(&[gamma, lambda, area_factor, step, momentum]);
        Ok(self.gpu.stream().memcpy_htod(&self.sent, &mut self.parameters)?)
    }

    /// γ among the numbers last sent, on the device.
    pub fn gamma(&self) -> &CudaSlice<f64> {
        &self.parameters
    }

    /// Enqueues the step from the current point to u and v of the other, the
    /// latter kept inside the bounds and also written to `positions`, x and y of a body side by
    /// side.
    ///
    /// # Errors
    /// When `positions` have not two values per body, or the launch fails.
    pub fn step(&mut self, mut positions: CudaViewMut<'_, T>) -> Result<(), CudaError> {
        check_length("positions", positions.len(), 2 * self.bodies)?;
        let gpu = &self.gpu;
        let positions = address_mut(gpu, &mut positions);
        let from = self.points[self.current].addresses(gpu);
        let to = self.points[1 - self.current].addresses(gpu);
        // SAFETY: arguments are those of descent_step (addresses stand for
        // pointers); every array has one value per body.
        unsafe {
            gpu.stream()
                .launch_builder(&self.step)
                .arg(&self.constants())
                .arg(&self.parameters)
                .arg(&from)
                .arg(&to)
                .arg(&positions)
                .launch(blocks_for(self.bodies))?;
        }
        Ok(())
    }

    /// Enqueues g of `point` from what `wirelength` and an engine (its forces, and
    /// [`CudaEngine::evaluation_device`](super::CudaEngine::evaluation_device))
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
        forces: &CudaSlice<T>,
        (statistics, energy): (&CudaSlice<u64>, &CudaSlice<f64>),
    ) -> Result<(), CudaError> {
        let (wx, wy) = wirelength.gradient();
        check_length("wirelength's gradient", wx.len(), self.movable.max(1))?;
        check_length("forces", forces.len(), 2 * self.bodies.max(1))?;
        check_length("words of statistics", statistics.len(), 3)?;
        check_length("energy", energy.len(), 1)?;
        let gpu = &self.gpu;
        let pull = Vector([address(gpu, wx), address(gpu, wy)]);
        let from = self.points[self.current].addresses(gpu);
        let to = self.points[point].addresses(gpu);
        let compare = i32::from(point != self.current);
        let constants = self.constants();
        // SAFETY: arguments are those of descent_gradient (addresses stand for
        // pointers); arrays have one value per body, of wirelength's gradient and
        // pin weights one per movable cell; `partial` has SUMS per block.
        unsafe {
            gpu.stream()
                .launch_builder(&self.gradient)
                .arg(&constants)
                .arg(&self.parameters)
                .arg(&from)
                .arg(&to)
                .arg(&compare)
                .arg(&pull)
                .arg(forces)
                .arg(&mut self.partial)
                .arg(&mut self.ticket)
                .arg(wirelength.lengths())
                .arg(energy)
                .arg(statistics)
                .arg(&mut self.sample)
                .launch(self.gradient_config)?;
        }
        Ok(())
    }

    /// The numbers of the last [`Descent::gradient`]; waits for all work enqueued.
    ///
    /// # Errors
    /// What failed on the device since the last wait.
    pub fn receive(&mut self) -> Result<DescentSample, CudaError> {
        self.gpu.stream().memcpy_dtoh(&self.sample, &mut self.received)?;
        // The slice alone would wait asleep, and wake too late for a short step.
        self.gpu.synchronize()?;
        let found = self.received.as_slice()?;
        Ok(DescentSample {
            wirelength_norm: found[0],
            force_norm: found[1],
            gradient_squared: found[2],
            moved_squared: found[3],
            changed_squared: found[4],
            hpwl: found[5],
            wirelength: found[6],
            energy: found[7],
            statistics: [found[8].to_bits(), found[9].to_bits(), found[10].to_bits()],
        })
    }

    fn constants(&self) -> Constants<T> {
        Constants {
            high: pair(&self.gpu, &self.high),
            area: address(&self.gpu, &self.area),
            pin_weight: address(&self.gpu, &self.pin_weight),
            low: self.low,
            bodies: self.bodies as u32,
            movable: self.movable as u32,
        }
    }
}

/// Page-locked memory that the host reads as fast as any, zero to begin with.
fn pinned<E: DeviceRepr + ValidAsZeroBits + Copy>(
    gpu: &Gpu,
    length: usize,
) -> Result<PinnedHostSlice<E>, CudaError> {
    // SAFETY: written below before anything reads it.
    let mut memory = unsafe { gpu.context().alloc_pinned_with_flags::<E>(length, 0) }?;
    let start = memory.as_mut_ptr()?;
    // SAFETY: `length` values of a type whose zero bits are a value.
    unsafe { std::ptr::write_bytes(start, 0, length) };
    Ok(memory)
}
