//! The vectors of an accelerated descent on a device: `kernels/place/descent.cu`.
//!
//! A point has v, at which the gradient is evaluated; u, the other sequence of Nesterov's method;
//! and g, the gradient at v, divided by the diagonal preconditioner max(1, β pin weight + α λ area)
//! (Lu et al., "ePlace", TODAES 2015, §5). A step leads from the current point to the next one.
//! There are two u and two g, which alternate. Of three v one is the current, one the next, and one
//! may be kept without a copy. Positions are lower-left corners in layout units, one value per
//! body, movable cells first.
//!
//! Kernels read weights, step, momentum and the roles of the vectors from device memory. So all of
//! it can be captured in one [`Graph`](crate::cuda::Graph) and replayed with other numbers. The
//! kernel that adds the sums up writes them, 96 bytes, to memory of the host. Sums are in f64 in a
//! fixed order: they are bit-identical on every run, and for any number of devices.
//!
//! Each of several devices moves the bodies of its share ([`BodyDivision`]), and writes their
//! positions to the devices that need them. It stores its blocks' sums on the first device, which
//! adds them up.

use super::wirelength::CudaWirelength;
use crate::cuda::bodies::{BodyDivision, BodyForces, RawStatistics};
use crate::cuda::device::bindings::bodies::Positions;
use crate::cuda::device::bindings::place::{
    Bodies, DescentGradient, DescentPlace, DescentSample, DescentStep, Parameters, RankReports,
    Vector, Vectors,
};
use crate::cuda::device::constants::{DESCENT_NUMBERS as NUMBERS, DESCENT_SUMS as SUMS};
use crate::cuda::device::{
    Array, CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Kernel, Pinned,
    Resource, check_aligned, check_length, grid_of,
};
use crate::engine::EngineError;
use crate::place::ready::NOTHING_KEPT;
use crate::place::{PointVector, Sample, Weights};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

/// Blocks of the kernel that makes a sample: one for each sum, including the sum of the step.
const SAMPLERS: usize = SUMS + 1;

/// The constant properties of bodies; each has one value per body, and `pin_weight` one per movable
/// cell.
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

/// The points of a descent on a device, and the kernels that lead from one to the next. Nothing is
/// allocated after creation.
pub struct Descent<T: CudaReal> {
    gpu: Gpu,
    blocks: BodyDivision,
    /// The index of this rank, and the number of ranks.
    rank: usize,
    ranks: usize,
    low: [T; 2],
    high: [DeviceVec<T>; 2],
    area: DeviceVec<T>,
    /// Bodies from this index on have the same size.
    uniform: usize,
    pin_weight: DeviceVec<T>,
    /// x and y each.
    v: [[DeviceVec<T>; 2]; 3],
    u: [[DeviceVec<T>; 2]; 2],
    g: [[DeviceVec<T>; 2]; 2],
    /// Indices of the current v, the next v and the kept v, and of the current u and g.
    current: usize,
    next: usize,
    kept: Option<usize>,
    turn: usize,
    place: Kernel<DescentPlace<T>>,
    step: Kernel<DescentStep<T>>,
    gradient: Kernel<DescentGradient<T>>,
    total: Kernel<DescentSample>,
    /// The sums of all ranks' blocks, in memory of the first rank: those of the gradient, then Σ
    /// (v' − v)² of the step.
    parts: Arc<DeviceVec<f64>>,
    parameters: DeviceVec<Parameters>,
    /// The numbers last sent, and whether a copy to `parameters` may still read them.
    sent: Box<[Parameters]>,
    sending: bool,
    /// Evaluations so far.
    evaluations: u64,
    /// The numbers of an evaluation, and the number of evaluations before it, for each of
    /// [`SAMPLERS`]; the device writes them.
    sample: Pinned<f64>,
}

/// Returns the first index from which on all values equal the last one.
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
    /// [`CudaError::Length`] if `bodies`' slices differ in length, other errors if kernels cannot
    /// be compiled or memory runs out.
    pub fn new(gpu: &Gpu, bodies: &DescentBodies<'_, T>) -> Result<Self, CudaError> {
        Ok(Self::on_each(&[gpu], bodies)?.remove(0))
    }

    /// Like [`Descent::new`], on several devices that reach each other's memory, each with its
    /// share of the bodies.
    pub(crate) fn on_each(
        gpus: &[&Gpu],
        bodies: &DescentBodies<'_, T>,
    ) -> Result<Vec<Self>, CudaError> {
        let (count, movable) = (bodies.area.len(), bodies.pin_weight.len());
        check_length("largest x of bodies", bodies.high_x.len(), count)?;
        check_length("largest y of bodies", bodies.high_y.len(), count)?;
        check_length("pin weights", movable, movable.min(count))?;
        if i32::try_from(count).is_err() {
            return Err(CudaError::TooManyBodies(count));
        }
        let blocks = BodyDivision::new(movable, count);
        let parts = Arc::new(gpus[0].zeros(SAMPLERS * blocks.blocks())?);
        Gpu::on_each(gpus, |rank, gpu| {
            Self::of_rank(gpu, bodies, blocks, [rank, gpus.len()], &parts)
        })
    }

    fn of_rank(
        gpu: &Gpu,
        bodies: &DescentBodies<'_, T>,
        blocks: BodyDivision,
        [rank, ranks]: [usize; 2],
        parts: &Arc<DeviceVec<f64>>,
    ) -> Result<Self, CudaError> {
        let count = bodies.area.len();
        let module = gpu.kernels::<T>("descent")?;
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
            place: Kernel::new(&module)?,
            step: Kernel::new(&module)?,
            gradient: Kernel::new(&module)?,
            total: Kernel::new(&module)?.with(grid_of(SAMPLERS)).overlapping(),
            parts: parts.clone(),
            parameters: gpu.zeros(1)?,
            sent: Box::default(),
            sending: false,
            evaluations: 0,
            sample: Pinned::zeros(gpu, NUMBERS + SAMPLERS)?,
            gpu: gpu.clone(),
            blocks,
            rank,
            ranks,
        })
    }

    /// Replaces the net weights of the cells' pins, one value per movable cell.
    pub(crate) fn set_pin_weights(&mut self, pin_weight: &[T]) -> Result<(), CudaError> {
        check_length("pin weights", pin_weight.len(), self.blocks.cells)?;
        self.gpu.write(pin_weight, &mut self.pin_weight)
    }

    /// Returns the movable cells and the fillers whose values the vectors store here.
    pub(crate) fn share(&self) -> [Range<usize>; 2] {
        self.blocks.share(self.rank, self.ranks)
    }

    /// Sets u and v of the current point.
    pub(crate) fn start(&mut self, x: &[T], y: &[T]) -> Result<(), CudaError> {
        self.set_vector(PointVector::Reference, x, y)?;
        self.set_vector(PointVector::Solution, x, y)
    }

    /// Returns x and y of one of the current point's vectors, or of the kept v, one value per body.
    pub(crate) fn vector(&self, which: PointVector) -> Result<&[DeviceVec<T>; 2], EngineError> {
        Ok(match which {
            PointVector::Reference => &self.v[self.current],
            PointVector::Solution => &self.u[self.turn],
            PointVector::Gradient => &self.g[self.turn],
            PointVector::Best => &self.v[self.kept.ok_or(NOTHING_KEPT)?],
        })
    }

    /// Sets one of these vectors. If v is overwritten, the kept placement is not lost.
    pub(crate) fn set_vector(
        &mut self,
        which: PointVector,
        x: &[T],
        y: &[T],
    ) -> Result<(), CudaError> {
        let (share, free) = (self.share(), self.other_than(self.next));
        let to = match which {
            PointVector::Reference => {
                if self.kept == Some(self.current) {
                    self.current = free;
                }
                &mut self.v[self.current]
            }
            PointVector::Solution => &mut self.u[self.turn],
            PointVector::Gradient => &mut self.g[self.turn],
            PointVector::Best => &mut self.v[free],
        };
        for (from, to) in [x, y].into_iter().zip(to) {
            check_length("values of a vector", from.len(), to.len())?;
            for range in share.clone() {
                self.gpu.write(&from[range.clone()], to.slice_mut(range))?;
            }
        }
        if which == PointVector::Best {
            self.kept = Some(free);
        }
        Ok(())
    }

    /// Keeps v of the current point unchanged, in place of the v kept before. Nothing is copied.
    pub(crate) fn keep(&mut self) {
        self.kept = Some(self.current);
    }

    /// Returns the v that is neither the current one nor `taken`.
    fn other_than(&self, taken: usize) -> usize {
        let free = |k: &usize| *k != self.current && *k != taken;
        (0..self.v.len()).find(free).unwrap_or(0)
    }

    /// Makes the point of the last step the current one.
    pub(crate) fn swap(&mut self) {
        self.current = self.next;
        self.turn = 1 - self.turn;
    }

    /// Enqueues the copy of the numbers that all later kernels and graphs use. Waits for the
    /// previous copy, unless it is known to be done.
    pub(crate) fn send(
        &mut self,
        weights: &Weights,
        step: f64,
        momentum: f64,
    ) -> Result<(), CudaError> {
        if self.sending {
            self.gpu.synchronize()?;
        }
        self.next = self.other_than(self.kept.unwrap_or(self.current));
        let Weights { gamma, lambda, pin_factor, area_factor } = *weights;
        self.evaluations += 1;
        self.sent = Box::new([Parameters {
            gamma,
            lambda,
            pin_factor,
            area_factor,
            step,
            momentum,
            v: self.current as f64,
            next_v: self.next as f64,
            turn: self.turn as f64,
            number: self.evaluations as f64,
        }]);
        self.sending = true;
        // For pageable memory a copy only "might be synchronous with respect to host" ("API
        // synchronization behavior" in NVIDIA's manual of the driver). On an H100 an iteration at
        // adaptec1's statistics took 3 µs longer with page-locked memory.
        // SAFETY: the values do not change until the copy is done. The next call waits unless they
        // have arrived, and `drop` leaves them to `Gpu::free`, which waits.
        unsafe { self.gpu.write_later(&self.sent[..], &mut self.parameters) }
    }

    /// Returns γ among the numbers last sent, on the device.
    pub(crate) fn gamma(&self) -> DeviceSlice<'_, f64> {
        const { assert!(offset_of!(Parameters, gamma) == 0) };
        // SAFETY: a number at the start of memory that is borrowed for as long as the slice.
        unsafe { DeviceSlice::from_raw(&self.gpu, *self.parameters.address(), 1) }
    }

    /// Enqueues the step from the current point to u and v of the next. v is clamped to the bounds
    /// and also written to `positions`, x and y of a body side by side. The numbers last sent say
    /// which vectors these are.
    ///
    /// # Errors
    /// If `positions` do not have two values per body or are not aligned for a pair, or the launch
    /// fails.
    pub fn step(&mut self, positions: DeviceSliceMut<'_, T>) -> Result<(), CudaError> {
        self.gpu.check("positions", positions.as_view(), 2 * self.blocks.bodies)?;
        check_aligned("positions", *positions.address(), 2 * size_of::<T>())?;
        // SAFETY: two values per body, borrowed exclusively, of this device (checked above).
        unsafe { self.step_to(Positions::alone((&positions).into())) }
    }

    /// Enqueues the same for the share, and writes positions to this rank and to others that need
    /// them.
    ///
    /// # Safety
    /// `to` has arrays with a pair for every body, in memory that this device reaches, and for each
    /// body and cell the ranks that need it. Nothing reads the written positions before ranks have
    /// met. Ranks have also met after all earlier writes and reads of them.
    pub(crate) unsafe fn step_to(&mut self, to: Positions<T>) -> Result<(), CudaError> {
        let Some((blocks, config)) = self.blocks.launch(self.rank, self.ranks) else {
            return Ok(());
        };
        let arguments = DescentStep {
            blocks,
            bodies: self.device_bodies(),
            parameters: (&self.parameters).into(),
            vectors: self.vectors(),
            to,
            moved: self.step_sums(),
        };
        // SAFETY: every vector has one value per body, and the arrays in `to` two. Bounds and areas
        // reach to `uniform`. The first rank's `parts` have one value more per block of all ranks
        // than the gradient's sums.
        unsafe { self.step.launch_as(&self.gpu, config, &arguments) }
    }

    /// Enqueues the copy of a vector to positions, as in [`Descent::step_to`].
    ///
    /// # Safety
    /// See [`Descent::step_to`].
    ///
    /// # Panics
    /// If the vector does not exist.
    pub(crate) unsafe fn place(
        &self,
        vector: PointVector,
        to: Positions<T>,
    ) -> Result<(), CudaError> {
        let Some((blocks, config)) = self.blocks.launch(self.rank, self.ranks) else {
            return Ok(());
        };
        let vector = self.vector(vector).expect("a vector that is there");
        let arguments = DescentPlace { blocks, v: pointers(vector), to };
        // SAFETY: the vector has one value per body; the rest is the caller's promise.
        unsafe { self.place.launch_as(&self.gpu, config, &arguments) }
    }

    /// Enqueues g of the share's bodies and the sums of their blocks. The point is the one
    /// `proposed` by the last step, or the current one. The inputs are the results of `wirelength`
    /// and of an engine (`forces`) at its v. For a proposed point, the sums include the changes
    /// since the current one.
    pub(crate) fn gradient(
        &mut self,
        proposed: bool,
        wirelength: &CudaWirelength<T>,
        forces: &BodyForces<'_, T>,
    ) -> Result<(), CudaError> {
        let (wx, wy) = wirelength.gradient();
        self.gpu.check("wirelength's gradient", wx, self.blocks.cells)?;
        check_length("forces", forces.values.len(), 2 * self.blocks.bodies)?;
        if let Some(slots) = &forces.slot_of {
            check_length("slots of bodies", slots.len(), self.blocks.bodies)?;
        }
        let Some((blocks, config)) = self.blocks.launch(self.rank, self.ranks) else {
            return Ok(());
        };
        let arguments = DescentGradient {
            blocks,
            bodies: self.device_bodies(),
            parameters: (&self.parameters).into(),
            vectors: self.vectors(),
            proposed: i32::from(proposed),
            wirelength: Vector { x: wx.into(), y: wy.into() },
            forces: forces.values.into(),
            slot_of: forces.slot_of.as_ref().into(),
            parts: Array::at(*self.parts.address()), // of the first rank
        };
        // SAFETY: vectors have one value per body, forces two. Slots have one value per body, each
        // of which is one of all bodies (`CudaEngine::forces`). Wirelength's gradient and pin
        // weights have one value per movable cell. Areas reach to `uniform`. The first rank's
        // `parts` have SUMS per block of all ranks.
        unsafe { self.gradient.launch_as(&self.gpu, config, &arguments) }
    }

    /// Enqueues, on the first rank once all have met after their gradients, the numbers that
    /// [`Descent::receive`] returns.
    ///
    /// # Safety
    /// The arrays in `all` are of this device or can be reached from it, and live until this has
    /// run.
    pub(crate) unsafe fn sample(
        &mut self,
        proposed: bool,
        wirelength: &CudaWirelength<T>,
        energy: &DeviceVec<f64>,
        all: RankReports,
    ) -> Result<(), CudaError> {
        check_length("energy", energy.len().min(1), 1)?;
        let arguments = DescentSample {
            parts: (&*self.parts).into(),
            moved: self.step_sums(),
            blocks: self.blocks.blocks() as u32,
            proposed: i32::from(proposed),
            lengths: wirelength.lengths().into(),
            energy: energy.into(),
            all,
            parameters: (&self.parameters).into(),
            sample: Array::at(self.sample.address()),
        };
        // SAFETY: `parts` has SUMS and one more for each of `blocks`. `sample` has NUMBERS values
        // and one for each of its SAMPLERS blocks. The kernel waits before it reads.
        unsafe { self.total.launch(&self.gpu, &arguments) }
    }

    /// Returns the numbers of the last evaluation, of all ranks, without terms and density. The
    /// density's statistics follow, and then whether a rank has waited for another in vain. Waits
    /// for them.
    ///
    /// # Errors
    /// The failure of the device since the last wait.
    pub(crate) fn receive(&mut self) -> Result<(Sample, RawStatistics, bool), CudaError> {
        let found = self.sample.wait_for(self.evaluations as f64, SAMPLERS)?;
        let sample = Sample {
            wirelength_norm: found[0],
            density_norm: found[1],
            gradient_squared: found[2],
            changed_squared: found[3],
            moved_squared: found[4],
            hpwl: found[5],
            wirelength: found[6],
            energy: found[7],
            ..Sample::default()
        };
        Ok((sample, [8, 9, 10].map(|k| found[k].to_bits()).into(), found[11] != 0.0))
    }

    /// Records that the numbers sent have arrived: all ranks have used them for the results that
    /// the first rank received.
    pub(crate) fn arrived(&mut self) {
        self.sending = false;
    }

    /// Returns the memory of the step's sums of blocks.
    fn step_sums(&self) -> Array<f64> {
        let before = SUMS * self.blocks.blocks() * size_of::<f64>();
        Array::at(self.parts.address() + before as u64)
    }

    fn device_bodies(&self) -> Bodies<T> {
        let ([high_x, high_y], [low_x, low_y]) = (&self.high, self.low);
        Bodies {
            high_x: high_x.into(),
            high_y: high_y.into(),
            area: (&self.area).into(),
            pin_weight: (&self.pin_weight).into(),
            low_x,
            low_y,
            uniform: self.uniform as u32,
        }
    }

    fn vectors(&self) -> Vectors<T> {
        Vectors {
            v: self.v.each_ref().map(pointers),
            u: self.u.each_ref().map(pointers),
            g: self.g.each_ref().map(pointers),
        }
    }
}

impl<T: CudaReal> Drop for Descent<T> {
    fn drop(&mut self) {
        if self.sending {
            let sent = std::mem::take(&mut self.sent);
            // SAFETY: memory of the host, which nothing reads after the last enqueued copy.
            unsafe { self.gpu.free(Resource::Other(Box::new(move || drop(sent)))) };
        }
    }
}

fn pointers<T: CudaReal>([x, y]: &[DeviceVec<T>; 2]) -> Vector<T> {
    Vector { x: x.into(), y: y.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_one_size_at_the_end_are_listed_once() {
        let (x, y, area) = ([1.0, 5.0, 5.0, 5.0], [2.0, 2.0, 3.0, 3.0], [7.0; 4]);
        assert_eq!(uniform_from([&x, &y, &area]), 2);
        assert_eq!(uniform_from([&area, &area, &x]), 1);
        assert_eq!(uniform_from([&area, &area, &[1.0, 1.0, 1.0, 2.0]]), 3);
        assert_eq!(uniform_from::<f32>([&[], &[], &[]]), 0);
    }
}
