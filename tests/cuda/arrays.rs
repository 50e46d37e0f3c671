//! Positions and gradients in device memory of the caller's, on the caller's stream and in the
//! caller's graph, and what of them is refused.

use crate::common::bodies::mixed;
use crate::common::pairs;
use crate::device::{gpu, gpu_alone};
use crate::engine::positions;
use placefield::charge::Charge;
use placefield::cuda::interop::cudarc::driver::sys::{self, CUstream};
use placefield::cuda::interop::cudarc::driver::{CudaStream, result};
use placefield::cuda::interop::{self, on_stream};
use placefield::cuda::{CudaEngine, CudaError, CudaReal, DeviceVec, Gpu};
use placefield::engine::{
    DensityStats, Engine, EngineError, EngineOptions, GradientOptions, Layout, MapKind,
};
use placefield::grid::Map;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const LAYOUTS: [Layout; 2] = [Layout::Halves, Layout::Pairs];

pub(crate) fn laid_out<T: Copy>(layout: Layout, x: &[T], y: &[T]) -> Vec<T> {
    match layout {
        Layout::Halves => [x, y].concat(),
        Layout::Pairs => pairs(x, y),
    }
}

/// A body of every kind, and what an engine of its own finds at two places.
pub(crate) fn charge() -> Charge {
    mixed(64, 96, 5000, 0.9)
}

pub(crate) fn make<T: CudaReal>(gpu: &Gpu, charge: &Charge) -> CudaEngine<T> {
    CudaEngine::on(gpu, charge.clone(), &EngineOptions::default()).unwrap()
}

/// Statistics, energy, ρ, and forces along x and y.
#[derive(Debug, PartialEq)]
pub(crate) struct Found<T> {
    stats: DensityStats,
    pub(crate) energy: f64,
    rho: Vec<T>,
    pub(crate) force: [Vec<T>; 2],
}

fn rho<T: CudaReal>(engine: &mut CudaEngine<T>) -> Vec<T> {
    let grid = engine.charge().grid();
    let mut map = Map::filled(grid.nx(), grid.ny(), T::nan());
    engine.read_map(MapKind::Density, &mut map).unwrap();
    map.as_slice().to_vec()
}

/// Results for positions in host memory.
pub(crate) fn want<T: CudaReal>(gpu: &Gpu, charge: &Charge, [x, y]: &[Vec<T>; 2]) -> Found<T> {
    let mut engine = make::<T>(gpu, charge);
    let found = engine.evaluate(x, y).unwrap();
    let mut force = [vec![T::nan(); x.len()], vec![T::nan(); x.len()]];
    let [fx, fy] = &mut force;
    engine.read_force(fx, fy).unwrap();
    assert_ne!(fx, fy);
    Found { stats: found.density, energy: found.energy, rho: rho(&mut engine), force }
}

pub(crate) fn has<T: CudaReal>(engine: &mut CudaEngine<T>, want: &Found<T>, what: &str) {
    let found = engine.read_evaluation().unwrap();
    assert_eq!((found.density, found.energy), (want.stats, want.energy), "{what}");
    assert!(rho(engine) == want.rho, "{what}: density");
}

fn product<T: CudaReal>(weight: f64, force: T) -> T {
    T::cast(weight) * force
}

fn is_the_hosts<T: CudaReal>(gpu: &Gpu) {
    let charge = charge();
    let places = [0.0, 40.0].map(|shift| positions::<T>(&charge, shift, 9));
    let wants = [0, 1].map(|k| want(gpu, &charge, &places[k]));
    let n = 2 * charge.bodies();
    for layout in LAYOUTS {
        let mut engine = make::<T>(gpu, &charge);
        for ([x, y], want) in places.iter().zip(&wants) {
            let what = format!("{layout:?} {}", T::PRECISION);
            let corners = gpu.upload(&laid_out(layout, x, y)).unwrap();
            engine.enqueue_energy(layout, &corners).unwrap();
            has(&mut engine, want, &what);
            // Written, whatever there was.
            let forces = laid_out(layout, &want.force[0], &want.force[1]);
            let mut gradient = gpu.upload(&vec![T::nan(); n]).unwrap();
            let options = GradientOptions::default().layout(layout);
            engine.enqueue_gradient(&options, None, &mut gradient).unwrap();
            let got = gpu.download(&gradient).unwrap();
            assert!(got.iter().zip(&forces).all(|(g, f)| *g == -*f), "{what}: gradient");
            // Added, with a number of the device besides: 1/4 and 2 leave no rounding.
            let factor = gpu.upload(&[T::cast(0.25)]).unwrap();
            let options = options.weight(2.0).accumulate(true);
            engine.enqueue_gradient(&options, Some(factor.as_view()), &mut gradient).unwrap();
            let got = gpu.download(&gradient).unwrap();
            let half = got.iter().zip(&forces).all(|(g, f)| *g == -*f + product(0.5, *f));
            assert!(half, "{what}: gradient added to");
            // On the host, by the trait.
            engine.compute_force().unwrap();
            let mut host = vec![T::nan(); n];
            engine.write_gradient(&mut host, &options.accumulate(false)).unwrap();
            assert!(host.iter().zip(&forces).all(|(g, f)| *g == product(2.0, *f)), "{what}");
            engine.write_gradient(&mut host, &options.weight(-1.0)).unwrap();
            assert!(host == forces, "{what}: 2 f − f");
            engine.set_positions_in(layout, &laid_out(layout, x, y)).unwrap();
            assert_eq!(engine.compute_density().unwrap(), want.stats, "{what}");
        }
    }
}

#[test]
fn device_arrays_give_the_bits_of_host_arrays() {
    let gpu = gpu();
    is_the_hosts::<f32>(&gpu);
    is_the_hosts::<f64>(&gpu);
}

/// Results from positions that only the bodies have kept, beside those of the engine's own.
#[test]
fn stages_follow_the_positions_last_given() {
    let (gpu, charge) = (gpu(), charge());
    let [here, there] = [0.0, 60.0].map(|shift| positions::<f32>(&charge, shift, 9));
    let mut engine = make::<f32>(&gpu, &charge);
    engine.set_positions(&here[0], &here[1]).unwrap();
    let exact_here = engine.exact_density().unwrap();
    let mut other = make::<f32>(&gpu, &charge);
    other.set_positions(&there[0], &there[1]).unwrap();
    let (exact, stats) = (other.exact_density().unwrap(), other.compute_density().unwrap());
    assert_ne!(exact, exact_here);

    let corners = gpu.upload(&[there[0].as_slice(), &there[1]].concat()).unwrap();
    engine.enqueue_energy(Layout::Halves, &corners).unwrap();
    drop(corners); // read by what has been enqueued alone
    assert_eq!(engine.exact_density().unwrap(), exact);
    assert_eq!(engine.compute_density().unwrap(), stats);
    for refused in [engine.enqueue_step(), engine.use_slots(true), engine.order_time(1).map(|_| ())]
    {
        assert!(matches!(refused, Err(EngineError::OutOfOrder { .. })), "{refused:?}");
    }
    // An order made from what the bodies have kept.
    let solved = engine.solve(engine.choice().pipeline).unwrap();
    engine.compute_force().unwrap();
    let orders = engine.bodies().orders();
    let mut force = [vec![0.0; there[0].len()], vec![0.0; there[0].len()]];
    let [fx, fy] = &mut force;
    engine.read_force(fx, fy).unwrap();
    for _ in 0..300 {
        engine.order_if_due().unwrap();
        engine.compute_density().unwrap();
    }
    assert!(engine.bodies().orders() > orders, "256 steps are the most");
    assert_eq!(engine.exact_density().unwrap(), exact);
    assert_eq!(engine.compute_density().unwrap(), stats);
    assert_eq!(engine.solve(engine.choice().pipeline).unwrap(), solved);
    engine.compute_force().unwrap();
    let mut again = [vec![0.0; there[0].len()], vec![0.0; there[0].len()]];
    let [fx, fy] = &mut again;
    engine.read_force(fx, fy).unwrap();
    assert!([&*fx, &*fy] == [&force[0], &force[1]], "forces in another order");
    // The engine's own again.
    engine.evaluate(&here[0], &here[1]).unwrap();
    assert_eq!(engine.exact_density().unwrap(), exact_here);
    // In slots the caller's order is not at hand.
    engine.use_slots(true).unwrap();
    let corners = gpu.zeros(2 * charge.bodies()).unwrap();
    let refused = engine.enqueue_energy(Layout::Pairs, &corners).unwrap_err();
    assert!(matches!(refused, EngineError::OutOfOrder { .. }), "{refused}");
    engine.evaluate_on_device().unwrap();
    let mut gradient = vec![0.0; 2 * charge.bodies()];
    let options = GradientOptions::default().weight(1.0);
    engine.write_gradient(&mut gradient, &options).unwrap();
    engine.read_force(fx, fy).unwrap();
    assert!(gradient == [fx.as_slice(), fy].concat(), "from slots to the caller's order");
}

/// A stream of the caller's.
pub(crate) fn new_stream(gpu: &Gpu) -> Arc<CudaStream> {
    // SAFETY: no memory is made through the context.
    unsafe { interop::context(gpu) }.new_stream().unwrap()
}

/// Has the host keep `stream` waiting.
fn hold(stream: CUstream) {
    unsafe extern "C" fn sleep(_: *mut std::ffi::c_void) {
        std::thread::sleep(Duration::from_millis(150));
    }
    // SAFETY: the function calls nothing of CUDA and takes no data.
    unsafe { sys::cuLaunchHostFunc(stream, Some(sleep), null_mut()) }.result().unwrap();
}

fn is_idle(stream: CUstream) -> bool {
    // SAFETY: a stream that lives.
    let answer = unsafe { sys::cuStreamQuery(stream) };
    assert!([sys::CUresult::CUDA_SUCCESS, sys::CUresult::CUDA_ERROR_NOT_READY].contains(&answer));
    answer == sys::CUresult::CUDA_SUCCESS
}

/// Enqueues a copy of as many values on `stream`.
pub(crate) fn copy<T: CudaReal>(stream: CUstream, from: &DeviceVec<T>, to: &mut DeviceVec<T>) {
    let (bytes, to) = (from.len() * size_of::<T>(), interop::address_mut(to));
    // SAFETY: both have as many values and outlive the tests' waits for the stream.
    unsafe { result::memcpy_dtod_async(to, interop::address(from), bytes, stream) }.unwrap();
}

/// Positions arrive on the caller's stream after a while; nothing before them is read, the host
/// waits for nothing, and what follows on any stream finds the results.
#[test]
fn work_goes_to_the_callers_stream_in_order() {
    let (gpu, charge) = (gpu_alone(), charge());
    let places = [0.0, 40.0, 80.0].map(|shift| positions::<f32>(&charge, shift, 9));
    let wants = [0, 1, 2].map(|k| want(&gpu, &charge, &places[k]));
    let mut engine = make::<f32>(&gpu, &charge);
    let values = 2 * charge.bodies();
    let sources = [0, 1, 2].map(|k| {
        let [x, y] = &places[k];
        gpu.upload(&[x.as_slice(), y].concat()).unwrap()
    });
    let (mut corners, mut gradient) = (gpu.zeros(values).unwrap(), gpu.zeros(values).unwrap());
    gpu.synchronize().unwrap();
    let (first, second) = (new_stream(&gpu), new_stream(&gpu));
    let options = GradientOptions::default().weight(1.0);
    // The legacy default stream too, and the same one twice.
    for (turn, stream) in [first.cu_stream(), first.cu_stream(), second.cu_stream(), null_mut()]
        .into_iter()
        .enumerate()
    {
        let k = turn % 3;
        hold(stream);
        copy(stream, &sources[k], &mut corners);
        // SAFETY: the stream lives.
        unsafe {
            on_stream(&gpu, stream, || {
                engine.enqueue_energy(Layout::Halves, &corners).unwrap();
                engine.enqueue_gradient(&options, None, &mut gradient).unwrap();
            })
        }
        .unwrap();
        assert!(!is_idle(stream), "turn {turn}: the host has waited");
        let forces = [wants[k].force[0].as_slice(), &wants[k].force[1]].concat();
        if turn % 2 == 0 {
            // Read on the own stream, which waits for the caller's.
            has(&mut engine, &wants[k], &format!("turn {turn}"));
            assert!(gpu.download(&gradient).unwrap() == forces, "turn {turn}");
        } else {
            // SAFETY: the stream lives.
            unsafe {
                on_stream(&gpu, stream, || {
                    has(&mut engine, &wants[k], &format!("turn {turn}"));
                    assert!(gpu.download(&gradient).unwrap() == forces, "turn {turn}");
                })
            }
            .unwrap();
        }
    }
    // The engine's own graph, launched on the caller's stream while it is captured for the first
    // time and when replayed.
    let [x, y] = &places[1];
    for _ in 0..3 {
        // SAFETY: the stream lives.
        let found = unsafe { on_stream(&gpu, first.cu_stream(), || engine.evaluate(x, y)) };
        let found = found.unwrap().unwrap();
        assert_eq!((found.density, found.energy), (wants[1].stats, wants[1].energy));
    }
    has(&mut engine, &wants[1], "afterwards");
    // Memory given back on one stream is not taken on another before its use is over.
    hold(second.cu_stream());
    // SAFETY: the stream lives.
    unsafe { on_stream(&gpu, second.cu_stream(), || drop(gradient)) }.unwrap();
    assert!(gpu.download(&gpu.zeros::<f32>(values).unwrap()).unwrap().iter().all(|&v| v == 0.0));
}

/// A graph of the caller's, ready to run.
struct CallersGraph(sys::CUgraphExec);

impl CallersGraph {
    /// Captures what `body` enqueues, as PyTorch does: calls that could break it are forbidden to
    /// all threads, so that no other test may use the device.
    fn capture(stream: CUstream, body: impl FnOnce()) -> Self {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        let (mut graph, mut ready) = (null_mut(), null_mut());
        // SAFETY: the stream lives; what is captured does too, until the last run is over.
        unsafe {
            sys::cuStreamBeginCapture_v2(stream, mode).result().unwrap();
            body();
            sys::cuStreamEndCapture(stream, &mut graph).result().unwrap();
            sys::cuGraphInstantiateWithFlags(&mut ready, graph, 0).result().unwrap();
            sys::cuGraphDestroy(graph).result().unwrap();
        }
        CallersGraph(ready)
    }

    fn run(&self, stream: CUstream) {
        // SAFETY: as for `capture`.
        unsafe { sys::cuGraphLaunch(self.0, stream) }.result().unwrap();
    }
}

impl Drop for CallersGraph {
    fn drop(&mut self) {
        // SAFETY: not used again.
        unsafe { sys::cuGraphExecDestroy(self.0) }.result().unwrap();
    }
}

fn is_captured<T: CudaReal>(gpu: &Gpu) {
    let charge = charge();
    let places = [0.0, 40.0, 300.0].map(|shift| positions::<T>(&charge, shift, 9));
    let wants = [0, 1, 2].map(|k| want(gpu, &charge, &places[k]));
    let values = 2 * charge.bodies();
    for layout in LAYOUTS {
        let mut engine = make::<T>(gpu, &charge);
        let sources = [0, 1, 2].map(|k| {
            let [x, y] = &places[k];
            gpu.upload(&laid_out(layout, x, y)).unwrap()
        });
        let (mut corners, mut gradient) =
            (sources[0].try_clone().unwrap(), gpu.zeros(values).unwrap());
        let mut factor = gpu.upload(&[T::cast(1.0)]).unwrap();
        let options = GradientOptions::default().layout(layout).accumulate(true);
        let stream = new_stream(gpu);
        let raw = stream.cu_stream();
        let step = |engine: &mut CudaEngine<T>, gradient: &mut DeviceVec<T>| {
            engine.enqueue_energy(layout, &corners)?;
            engine.enqueue_gradient(&options, Some(factor.as_view()), gradient)
        };
        // Nothing that has not run before, and nothing that waits, is captured.
        // SAFETY: the stream lives, and so does all that is captured until the last run is over.
        let captured = |body: &mut dyn FnMut()| unsafe { on_stream(gpu, raw, body) }.unwrap();
        drop(CallersGraph::capture(raw, || {
            captured(&mut || {
                let refused = step(&mut engine, &mut gradient).unwrap_err();
                assert!(matches!(refused, EngineError::OutOfOrder { .. }), "{refused}");
                assert!(matches!(gpu.zeros::<u8>(1), Err(CudaError::Capturing)));
            });
        }));
        captured(&mut || step(&mut engine, &mut gradient).unwrap());
        let graph = CallersGraph::capture(raw, || {
            captured(&mut || {
                step(&mut engine, &mut gradient).unwrap();
                let refused = engine.read_evaluation().unwrap_err();
                let EngineError::Device(refused) = refused else { panic!("{refused}") };
                assert!(matches!(refused.downcast_ref(), Some(CudaError::Capturing)));
            });
        });
        let two = gpu.upload(&[T::cast(2.0)]).unwrap();
        let zero = gpu.zeros(values).unwrap();
        gpu.synchronize().unwrap();
        copy(raw, &two, &mut factor);
        for (turn, k) in [0, 1, 2, 2, 1, 0].into_iter().enumerate() {
            copy(raw, &sources[k], &mut corners);
            copy(raw, &zero, &mut gradient);
            graph.run(raw);
            graph.run(raw);
            captured(&mut || {
                let what = format!("{layout:?} {} {turn}", T::PRECISION);
                has(&mut engine, &wants[k], &what);
                // Twice the factor, twice, and the sign.
                let got = gpu.download(&gradient).unwrap();
                let forces = laid_out(layout, &wants[k].force[0], &wants[k].force[1]);
                let right = got.iter().zip(&forces).all(|(g, f)| *g == product(-4.0, *f));
                assert!(right, "{what}");
                engine.order_if_due().unwrap();
            });
        }
        assert!(engine.bodies().orders() > 1, "bodies that moved 30 bins were ordered anew");
        // Runs on streams whose work the device is told of are in order with everything else.
        graph.run(raw);
        captured(&mut || ());
        has(&mut engine, &wants[0], "after the last run");
    }
}

#[test]
fn a_step_is_captured_in_a_graph_of_the_callers() {
    let gpu = gpu_alone();
    is_captured::<f32>(&gpu);
    is_captured::<f64>(&gpu);
}

fn is_bad<T>(result: Result<T, CudaError>, reason: &str) {
    match result {
        Err(CudaError::BadAddress { reason: found, .. }) => assert_eq!(found, reason),
        Err(other) => panic!("{other}, expected {reason}"),
        Ok(_) => panic!("expected {reason}"),
    }
}

#[test]
fn bad_device_addresses_are_refused() {
    let gpu = gpu();
    let foreign = "no memory of this device";
    let host = [0.0f32; 64];
    // SAFETY: nothing is enqueued with what these return.
    unsafe {
        is_bad(interop::view::<f32>(&gpu, 0, 1), foreign);
        is_bad(interop::view::<f32>(&gpu, host.as_ptr() as u64, 64), foreign);
        let locked = result::malloc_host(4096, 0).unwrap();
        is_bad(interop::view_mut::<f32>(&gpu, locked as u64, 64), foreign);
        result::free_host(locked).unwrap();
        let at = result::malloc_sync(4096).unwrap();
        assert_eq!(interop::view::<f64>(&gpu, at, 512).unwrap().len(), 512);
        assert_eq!(interop::view::<f32>(&gpu, at + 4, 1023).unwrap().len(), 1023);
        is_bad(interop::view::<f32>(&gpu, at + 2, 8), "an address that is not aligned to them");
        is_bad(interop::view_mut::<f64>(&gpu, at + 4, 8), "an address that is not aligned to them");
        is_bad(interop::view::<f64>(&gpu, at, 513), "the memory there ends before them");
        is_bad(interop::view::<f64>(&gpu, at, 1 << 40), "the memory there ends before them");
        is_bad(interop::view::<f64>(&gpu, at, usize::MAX / 4), "they would not end");
        assert!(interop::view::<f32>(&gpu, 0, 0).unwrap().is_empty());
        result::free_sync(at).unwrap();
        // Of the driver's pools.
        let pooled = gpu.zeros::<f32>(100).unwrap();
        let address = interop::address(&pooled);
        assert_eq!(interop::view::<f32>(&gpu, address, 100).unwrap().len(), 100);
        is_bad(interop::view::<f32>(&gpu, address, 1 << 44), "the memory there ends before them");
    }
}

#[test]
fn streams_of_other_contexts_are_refused() {
    let gpu = gpu();
    // SAFETY: the context and its stream are destroyed after their last use; the primary one is
    // current again whenever the library is called.
    unsafe {
        let mut context = null_mut();
        let device = result::device::get(0).unwrap();
        sys::cuCtxCreate_v4(&mut context, null_mut(), 0, device).result().unwrap();
        let mut stream = null_mut();
        sys::cuStreamCreate(&mut stream, 1).result().unwrap();
        let refused = on_stream::<()>(&gpu, stream, || panic!("not to be called"));
        assert!(matches!(refused, Err(CudaError::OtherContext)));
        // Usable as before, and the same thread may try again.
        gpu.download(&gpu.zeros::<f32>(4).unwrap()).unwrap();
        let own = new_stream(&gpu);
        let within = on_stream(&gpu, own.cu_stream(), || {
            on_stream::<()>(&gpu, own.cu_stream(), || panic!("not to be called"))
        });
        assert!(matches!(within.unwrap(), Err(CudaError::Capturing)));
        sys::cuCtxSetCurrent(context).result().unwrap();
        sys::cuStreamDestroy_v2(stream).result().unwrap();
        sys::cuCtxDestroy_v2(context).result().unwrap();
    }
}

#[test]
fn refused_arrays_leave_the_engine_usable() {
    let (gpu, charge) = (gpu(), charge());
    let other = Gpu::open(0).unwrap();
    let place = positions::<f32>(&charge, 0.0, 9);
    let want = want(&gpu, &charge, &place);
    let mut engine = make::<f32>(&gpu, &charge);
    let n = 2 * charge.bodies();
    let host = pairs(&place[0], &place[1]);
    let corners = gpu.upload(&host).unwrap();
    let mut gradient = gpu.zeros(n + 1).unwrap();
    let options = GradientOptions::default().layout(Layout::Pairs);
    let refused = engine.enqueue_gradient(&options, None, gradient.slice_mut(0..n)).unwrap_err();
    assert!(matches!(refused, EngineError::OutOfOrder { .. }), "{refused}");
    engine.enqueue_energy(Layout::Pairs, &corners).unwrap();
    let device = |result: Result<(), EngineError>| match result {
        Err(EngineError::Device(error)) => *error.downcast::<CudaError>().unwrap(),
        other => panic!("{other:?}"),
    };
    let long = gpu.zeros(n + 1).unwrap();
    for layout in LAYOUTS {
        let short = device(engine.enqueue_energy(layout, corners.slice(0..n - 1)));
        assert!(matches!(short, CudaError::Length { .. }), "{short}");
        let long = device(engine.enqueue_energy(layout, &long));
        assert!(matches!(long, CudaError::Length { .. }), "{long}");
        let theirs = other.upload(&host).unwrap();
        assert!(matches!(device(engine.enqueue_energy(layout, &theirs)), CudaError::OtherGpu));
        // Results of earlier positions are gone.
        assert!(matches!(engine.read_evaluation(), Err(EngineError::OutOfOrder { .. })));
        engine.enqueue_energy(Layout::Pairs, &corners).unwrap();
        let options = options.layout(layout);
        let short = device(engine.enqueue_gradient(&options, None, gradient.slice_mut(0..n - 2)));
        assert!(matches!(short, CudaError::Length { .. }), "{short}");
        let mut theirs = other.zeros(n).unwrap();
        let foreign = device(engine.enqueue_gradient(&options, None, &mut theirs));
        assert!(matches!(foreign, CudaError::OtherGpu));
        let factor = gpu.zeros(2).unwrap();
        let two = Some(factor.as_view());
        let two = device(engine.enqueue_gradient(&options, two, gradient.slice_mut(0..n)));
        assert!(matches!(two, CudaError::Length { .. }), "{two}");
    }
    // Pairs are read two at a time, halves are not.
    let odd = device(engine.enqueue_energy(Layout::Pairs, long.slice(1..n + 1)));
    assert!(matches!(odd, CudaError::Misaligned { .. }), "{odd}");
    engine.enqueue_energy(Layout::Pairs, &corners).unwrap();
    let odd = device(engine.enqueue_gradient(&options, None, gradient.slice_mut(1..n + 1)));
    assert!(matches!(odd, CudaError::Misaligned { .. }), "{odd}");
    let refused =
        engine.enqueue_gradient(&options.weight(f64::NAN), None, gradient.slice_mut(0..n));
    assert!(matches!(refused, Err(EngineError::Weight(_))));
    assert!(gpu.download(&gradient).unwrap().iter().all(|&g| g == 0.0), "nothing was written");
    // A refused gradient leaves the results.
    has(&mut engine, &want, "after what was refused");
    // Halves that begin at an odd value, both ways.
    let halves = [&[0.0], place[0].as_slice(), &place[1]].concat();
    let halves = gpu.upload(&halves).unwrap();
    engine.enqueue_energy(Layout::Halves, halves.slice(1..n + 1)).unwrap();
    has(&mut engine, &want, "halves from an odd value on");
    let options = GradientOptions::default().weight(1.0);
    engine.enqueue_gradient(&options, None, gradient.slice_mut(1..n + 1)).unwrap();
    let got = gpu.download(&gradient).unwrap();
    assert!(got[0] == 0.0 && got[1..] == [want.force[0].as_slice(), &want.force[1]].concat());
    // Positions that are not finite count nowhere and do no harm.
    let bad = gpu.upload(&vec![f32::NAN; n]).unwrap();
    engine.enqueue_energy(Layout::Halves, &bad).unwrap();
    engine.enqueue_gradient(&options, None, gradient.slice_mut(0..n)).unwrap();
    assert!(gpu.download(gradient.slice(0..n)).unwrap().iter().all(|&g| g == 0.0));
    engine.enqueue_energy(Layout::Pairs, &corners).unwrap();
    has(&mut engine, &want, "after what was not finite");
}

/// Two threads with an engine each on one `Gpu`, on streams of their own and on the `Gpu`'s.
#[test]
fn threads_take_turns() {
    let (gpu, charge) = (gpu(), charge());
    let places = [0.0, 40.0].map(|shift| positions::<f32>(&charge, shift, 9));
    let wants = [0, 1].map(|k| want(&gpu, &charge, &places[k]));
    std::thread::scope(|scope| {
        for (k, want) in wants.iter().enumerate() {
            let (gpu, charge, [x, y]) = (&*gpu, &charge, &places[k]);
            scope.spawn(move || {
                let mut engine = make::<f32>(gpu, charge);
                let corners = gpu.upload(&pairs(x, y)).unwrap();
                let stream = new_stream(gpu);
                for turn in 0..30 {
                    let mut step = || engine.enqueue_energy(Layout::Pairs, &corners).unwrap();
                    match turn % 3 {
                        0 => step(),
                        // SAFETY: the stream lives.
                        _ => unsafe { on_stream(gpu, stream.cu_stream(), step) }.unwrap(),
                    }
                    has(&mut engine, want, &format!("thread {k}, turn {turn}"));
                }
            });
        }
    });
}
