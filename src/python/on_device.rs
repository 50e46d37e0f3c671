//! Single transforms and the field solve in device memory, on a stream of the caller's.
//!
//! Plans are kept, the last used first: kernels, tables and memory to work in. A graph of the
//! caller's may run at the same time as other work, and as other graphs: a plan that was captured
//! serves that capture alone from then on. Nobody tells when the graph is gone, so it is kept.

use super::arrays::{Array, Memory};
use super::devices::{PlanKey, gpu_of};
use super::dlpack::ImportedArray;
use super::errors::Failure;
use crate::congestion::{CongestionKind, CongestionOptions, RoutingGrid};
use crate::cuda::interop::{self, CallersCapture, on_stream};
use crate::cuda::transforms;
use crate::cuda::{
    self, CudaCongestion, CudaCongestionError, CudaError, CudaReal, DeviceSlice, DeviceSliceMut,
    DeviceVec, FieldSolver, FieldsMut, Gpu,
};
use crate::design::Design;
use crate::engine::Pipeline;
use crate::engines::Device;
use crate::ffi::stream_of;
use crate::maps::Kind;
use crate::real::Precision;
use crate::transform::Method;
use std::any::Any;
use std::sync::{Mutex, PoisonError};

/// Plans that no graph holds; the one not used for longest goes first.
const MOST_PLANS: usize = 8;

/// Alignment, in bytes, of allocations, which kernels that read several values at once rely on.
const ALIGNMENT: usize = 256;

enum Plan<T: CudaReal> {
    Transform(Box<transforms::Plan<T>>),
    Solve(Box<dyn FieldSolver<T>>),
}

impl<T: CudaReal> Plan<T> {
    fn new(gpu: &Gpu, work: PlanKey) -> Result<Self, CudaError> {
        Ok(match work {
            PlanKey::Lines { kind, n, batch } => {
                let plan = transforms::Plan::of_lines(gpu, kind, n, Method::default(), batch)?;
                Plan::Transform(Box::new(plan))
            }
            PlanKey::Maps { kind, shape: [nx, ny], batch } => {
                let method = Method::default();
                let plan = transforms::Plan::of_maps(gpu, kind, nx, ny, method, batch)?;
                Plan::Transform(Box::new(plan))
            }
            PlanKey::Solve { grid, pipeline } => {
                let pipeline = pipeline.unwrap_or(Pipeline::ThreePass);
                Plan::Solve(cuda::solver(gpu, &grid, pipeline)?)
            }
        })
    }
}

struct Kept {
    /// Device, bits of a number, and purpose.
    of: (usize, u8, PlanKey),
    plan: Box<dyn Any + Send>,
    /// The capture of the caller's that it became a part of.
    captured: Option<CallersCapture>,
}

/// The plan for some work: of one capture, or one that no graph holds.
fn find<K: PartialEq>(
    plans: impl Iterator<Item = (K, Option<CallersCapture>)> + Clone,
    of: K,
    capture: Option<CallersCapture>,
) -> Option<usize> {
    let with = |capture| plans.clone().position(|(key, held)| key == of && held == capture);
    with(capture).or_else(|| with(None))
}

static PLANS: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// Arrays of the work enqueued, from `input` to `out`; a solve writes three maps and one `energy`.
struct Arrays<'a, T: CudaReal> {
    input: DeviceSlice<'a, T>,
    out: Vec<DeviceSliceMut<'a, T>>,
    energy: Option<DeviceSliceMut<'a, f64>>,
}

/// Runs the plan for some work on one device, and makes it first if there is none.
fn enqueue<T: CudaReal>(gpu: &Gpu, work: PlanKey, arrays: Arrays<'_, T>) -> Result<(), CudaError> {
    let of = (gpu.info().ordinal, 8 * size_of::<T>() as u8, work);
    let capture = gpu.callers_capture()?;
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    match find(plans.iter().map(|kept| (kept.of, kept.captured)), of, capture) {
        Some(at) => plans[..=at].rotate_right(1),
        // Nothing is loaded nor allocated in a capture.
        None if capture.is_some() => return Err(CudaError::Capturing),
        None => {
            let plan = Box::new(Plan::<T>::new(gpu, work)?);
            plans.insert(0, Kept { of, plan, captured: None });
            let free = |kept: &Kept| kept.captured.is_none();
            if plans.iter().filter(|&kept| free(kept)).count() > MOST_PLANS
                && let Some(last) = plans.iter().rposition(free)
            {
                plans.remove(last);
            }
        }
    }
    let kept = &mut plans[0];
    kept.captured = capture;
    let plan = kept.plan.downcast_mut::<Plan<T>>().expect("the key names the type");
    let Arrays { input, mut out, energy } = arrays;
    match (plan, energy) {
        (Plan::Transform(plan), _) => plan.run(input, out.swap_remove(0)),
        (Plan::Solve(solver), Some(energy)) => {
            let [potential, field_x, field_y] =
                out.try_into().ok().expect("a solve has three maps");
            solver.forward(input)?;
            solver.inverse(FieldsMut { potential, field_x, field_y, energy })
        }
        _ => unreachable!("a solve has an energy"),
    }
}

/// Where results go: arrays of the caller's, of these lengths, or new ones of these shapes.
pub(super) struct Outputs<'a> {
    pub(super) given: &'a [ImportedArray],
    pub(super) shapes: &'a [&'a [usize]],
}

/// Enqueues `work` on `input` to `stream`. The first outputs have the type of `input`; the fourth
/// output of a solve is the energy, a double. Makes new arrays if none are given.
pub(super) fn run(
    work: PlanKey,
    input: &ImportedArray,
    outputs: Outputs<'_>,
    stream: usize,
) -> Result<Vec<Array>, Failure> {
    match input.bits {
        32 => run_as::<f32>(work, input, outputs, stream),
        _ => run_as::<f64>(work, input, outputs, stream),
    }
}

fn run_as<T: CudaReal>(
    work: PlanKey,
    input: &ImportedArray,
    Outputs { given, shapes }: Outputs<'_>,
    stream: usize,
) -> Result<Vec<Array>, Failure> {
    let Device::Cuda(ordinal) = input.place else {
        return Err(Failure::Value("expected an array in device memory".to_owned()));
    };
    let energy_at = matches!(work, PlanKey::Solve { .. }).then(|| shapes.len() - 1);
    let bits = |k| if Some(k) == energy_at { 64 } else { input.bits };
    for (k, out) in given.iter().enumerate() {
        out.check_shape(&[shapes[k]])?;
        out.check_type(bits(k))?;
        out.check_place(input.place)?;
        let (before, _) = given.split_at(k);
        let others: Vec<&ImportedArray> = before.iter().chain([input]).collect();
        out.check_writable(&others)?;
        if !out.address.is_multiple_of(ALIGNMENT) {
            let text =
                format!("out: expected memory that begins at a multiple of {ALIGNMENT} bytes");
            return Err(Failure::Value(text));
        }
    }
    let gpu = gpu_of(ordinal)?;
    let body = || -> Result<Vec<Array>, CudaError> {
        // SAFETY: the array's owner, kept by the caller, keeps the memory of so many values, which
        // is used in the order of the stream that it is used on.
        let given_input = unsafe { interop::view::<T>(&gpu, input.address as u64, input.len()) }?;
        let length = |k: usize| shapes[k].iter().product::<usize>();
        let mut made: Vec<Memory> = Vec::new();
        if given.is_empty() {
            for k in 0..shapes.len() {
                made.push(match bits(k) {
                    32 => Memory::Cuda(Box::new(gpu.zeros::<f32>(length(k))?)),
                    _ => Memory::Cuda(Box::new(gpu.zeros::<f64>(length(k))?)),
                });
            }
        }
        let address = |k: usize| match made.get(k) {
            Some(memory) => memory.address() as u64,
            None => given[k].address as u64,
        };
        // SAFETY: as above, and `made` keeps its own.
        let (out, energy) = unsafe {
            let maps = energy_at.unwrap_or(shapes.len());
            let out = (0..maps).map(|k| interop::view_mut::<T>(&gpu, address(k), length(k)));
            let energy = energy_at.map(|k| interop::view_mut::<f64>(&gpu, address(k), 1));
            (out.collect::<Result<Vec<_>, _>>()?, energy.transpose()?)
        };
        let aligned = match input.address.is_multiple_of(ALIGNMENT) {
            true => None,
            false => {
                let mut copy = gpu.zeros(input.len())?;
                gpu.copy(given_input, &mut copy)?;
                Some(copy)
            }
        };
        let input = aligned.as_ref().map_or(given_input, DeviceVec::as_view);
        enqueue(&gpu, work, Arrays { input, out, energy })?;
        let arrays = made.into_iter().zip(shapes);
        Ok(arrays.map(|(memory, shape)| Array::new(memory, shape)).collect())
    };
    // SAFETY: a live stream, as the caller says.
    Ok(unsafe { on_stream(&gpu, stream_of(stream), body) }??)
}

/// The maps of one design on a device, as they were last asked for.
pub(super) type KeptCongestion =
    Mutex<Option<((usize, RoutingGrid, CongestionOptions), CudaCongestion)>>;

/// The requested maps of congestion.
pub(super) struct Wanted<'a> {
    pub(super) grid: RoutingGrid,
    pub(super) options: CongestionOptions,
    pub(super) kinds: &'a [Kind],
    pub(super) precision: Precision,
}

/// Enqueues maps of `design` with its nodes, all or the movable ones, at the positions `at` to
/// `stream`. Data that does not depend on positions stays in `kept` for the next call.
pub(super) fn congestion(
    kept: &KeptCongestion,
    design: &Design,
    wanted: Wanted<'_>,
    at: [&ImportedArray; 2],
    stream: usize,
) -> Result<Array, Failure> {
    let [x, y] = at;
    let Device::Cuda(ordinal) = x.place else {
        return Err(Failure::Value("x: expected an array in device memory".to_owned()));
    };
    let (nodes, movable) = (design.nodes.len(), design.movable().count());
    x.check_shape(&[&[movable], &[nodes]])?;
    y.check_shape(&[&x.shape])?;
    y.check_type(x.bits)?;
    y.check_place(x.place)?;
    let gpu = gpu_of(ordinal)?;
    let shape = [wanted.kinds.len(), wanted.grid.nx(), wanted.grid.ny()];
    // Before the device is locked, because the replaced memory may belong to another device.
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let of = (ordinal, wanted.grid, wanted.options);
    let body = || -> Result<Memory, Failure> {
        if gpu.callers_capture()?.is_some() {
            // A graph would have to keep all of this.
            return Err(CudaError::Capturing.into());
        }
        if kept.as_ref().is_none_or(|(key, _)| *key != of) {
            *kept = None;
            let maps =
                CudaCongestion::new(&gpu, design, &of.1, &of.2).map_err(|error| match error {
                    CudaCongestionError::Congestion(error) => error.into(),
                    CudaCongestionError::Cuda(error) => Failure::from(error),
                })?;
            *kept = Some((of, maps));
        }
        let (_, maps) = kept.as_mut().expect("made above");
        match (x.bits, wanted.precision) {
            (32, Precision::F32) => made::<f32, f32>(&gpu, maps, at, wanted.kinds),
            (32, Precision::F64) => made::<f32, f64>(&gpu, maps, at, wanted.kinds),
            (_, Precision::F32) => made::<f64, f32>(&gpu, maps, at, wanted.kinds),
            (_, Precision::F64) => made::<f64, f64>(&gpu, maps, at, wanted.kinds),
        }
    };
    // SAFETY: a live stream, as the caller says.
    let memory = unsafe { on_stream(&gpu, stream_of(stream), body) }??;
    Ok(Array::new(memory, &shape))
}

fn made<T: CudaReal, O: CudaReal>(
    gpu: &Gpu,
    maps: &mut CudaCongestion,
    at: [&ImportedArray; 2],
    wanted: &[Kind],
) -> Result<Memory, Failure> {
    // SAFETY: the array's owner, kept by the caller, keeps the memory of so many values, which is
    // used in the order of the stream that it is used on.
    let [x, y] = unsafe { at.map(|of| interop::view::<T>(gpu, of.address as u64, of.len())) };
    maps.enqueue(x?, y?)?;
    let bins = maps.map(CongestionKind::Rudy).len();
    let mut out = gpu.zeros::<O>(wanted.len() * bins)?;
    let mut demand = None;
    for (k, kind) in wanted.iter().enumerate() {
        let plane = k * bins..(k + 1) * bins;
        let k = match kind {
            Kind::Congestion(kind) => {
                maps.copy_map(*kind, out.slice_mut(plane))?;
                continue;
            }
            Kind::Demand { horizontal: true } => 0,
            Kind::Demand { horizontal: false } => 1,
            _ => unreachable!("refused before"),
        };
        if demand.is_none() {
            let [mut horizontal, mut vertical] = [gpu.zeros::<O>(bins)?, gpu.zeros::<O>(bins)?];
            maps.copy_demand(&mut horizontal, &mut vertical)?;
            demand = Some([horizontal, vertical]);
        }
        gpu.copy(&demand.as_ref().expect("made above")[k], out.slice_mut(plane))?;
    }
    Ok(Memory::Cuda(Box::new(out)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_plans_are_not_shared() {
        let capture = |number, stream| Some(CallersCapture { number, stream });
        let plans = [("a", capture(1, 7)), ("a", None), ("b", capture(1, 7))];
        let found = |of, capture| find(plans.into_iter(), of, capture);
        assert_eq!(found("a", None), Some(1));
        assert_eq!(found("a", capture(1, 7)), Some(0));
        // Another capture, or another stream of the same, takes what no graph holds.
        assert_eq!(found("a", capture(2, 7)), Some(1));
        assert_eq!(found("a", capture(1, 8)), Some(1));
        assert_eq!(found("b", None), None);
        assert_eq!(found("b", capture(2, 7)), None);
    }
}
