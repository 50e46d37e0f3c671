//! The step in device memory, on a stream of the caller's.

use super::engine::{EngineHandle, EvaluationResult, check_bodies, gradient_options, on_any};
use super::memory::output;
use super::status::{ErrorText, Status};
use crate::ffi::with_engine;
use std::ffi::c_void;

/// For an engine on a CUDA device: enqueues density and solve at `positions` to `stream`, a
/// CUstream or cudaStream_t (NULL: the legacy default stream), and returns at once. `positions` is
/// memory of that device, 2 · `bodies` values of the engine's precision: x of every body, then y.
/// `energy`, if not NULL, is where on the device the energy is copied to, a double. Both are used
/// when the work runs, so they live until then. Where the stream is being captured, the work
/// becomes a part of the caller's graph, once the same has run before; the graph is not to run when
/// the engine is gone or was changed (placefield_engine_set_sizes and the like).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_enqueue_energy(
    engine: *mut EngineHandle,
    positions: *const c_void,
    bodies: usize,
    energy: *mut f64,
    stream: *mut c_void,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        check_bodies(engine.charge(), bodies)?;
        let (positions, stream) = (positions.addr() as u64, stream.addr());
        let energy = (!energy.is_null()).then_some(energy.addr() as u64);
        Ok(with_engine!(engine, engine => engine.enqueue_energy(positions, energy, stream))?)
    })
}

/// For an engine on a CUDA device: enqueues weight · factor · force at the positions last given to
/// placefield_engine_enqueue_energy to `stream`, and returns at once. `gradient` is memory of that
/// device, 2 · `bodies` values of the engine's precision, x of every body, then y; written, or
/// added to where `accumulate` is not 0. `factor`, if not NULL, is one value of that precision on
/// the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_enqueue_gradient(
    engine: *mut EngineHandle,
    gradient: *mut c_void,
    bodies: usize,
    weight: f64,
    factor: *const c_void,
    accumulate: i32,
    stream: *mut c_void,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        check_bodies(engine.charge(), bodies)?;
        let options = gradient_options(weight, accumulate);
        let (gradient, stream) = (gradient.addr() as u64, stream.addr());
        let factor = (!factor.is_null()).then_some(factor.addr() as u64);
        Ok(with_engine!(engine, engine => {
            engine.enqueue_gradient(&options, factor, gradient, stream)
        })?)
    })
}

/// For an engine on a CUDA device: reads overflow, largest density and energy of the evaluation
/// last enqueued to `stream`; waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_read_evaluation(
    engine: *mut EngineHandle,
    stream: *mut c_void,
    result: *mut EvaluationResult,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let result = output(result, "result", &[])?;
        let stream = stream.addr();
        let evaluation = with_engine!(engine, engine => engine.read_evaluation(stream))?;
        result.write(evaluation.into());
        Ok(())
    })
}

/// Between the runs of a caller's graph that holds steps of this engine: sorts the bodies again on
/// `stream`, if that is due, so that the runs stay fast. No result depends on it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_order_if_due(
    engine: *mut EngineHandle,
    stream: *mut c_void,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        Ok(with_engine!(engine, engine => engine.order_if_due(stream.addr()))?)
    })
}
