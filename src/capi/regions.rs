//! Results of an engine for each fence region.

use super::engine::{
    EvaluationResult, check_bodies, check_count, gradient_options, on_any, on_engine,
};
use super::memory::{Span, output, outputs, values};
use super::status::{ErrorText, Status};
use super::{EngineHandle, in_precision};
use crate::engine::Evaluation;
use crate::engines::EngineReal;
use crate::ffi::with_engine;
use std::ffi::c_void;

/// Writes the number of regions, which have separate densities: one without fences, else the number
/// of fences, plus one if a cell has no fence. `of_bodies`, which may be NULL, gets the region of
/// every body, `bodies` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_regions(
    engine: *const EngineHandle,
    regions: *mut usize,
    of_bodies: *mut u32,
    bodies: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        let charge = engine.charge();
        let others = [Span::new(regions, 1, "regions")];
        let regions = output(regions, "regions", &[])?;
        if !of_bodies.is_null() {
            check_bodies(charge, bodies)?;
            let [of_bodies] = outputs([(of_bodies, "of_bodies")], bodies, &others)?;
            let of = |(body, to): (usize, &mut u32)| *to = charge.region(body) as u32;
            of_bodies.iter_mut().enumerate().for_each(of);
        }
        regions.write(charge.regions());
        Ok(())
    })
}

/// Reads the evaluation of every region at the positions last evaluated, `regions` values: overflow
/// and largest density of the region's cells and area, and the energy of its density.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_evaluations(
    engine: *mut EngineHandle,
    evaluations: *mut EvaluationResult,
    regions: usize,
    error: *mut ErrorText,
) -> Status {
    on_any(engine, error, |engine| {
        check_count("regions", regions, engine.charge().regions())?;
        let [to] = outputs([(evaluations, "evaluations")], regions, &[])?;
        let mut found = vec![Evaluation::default(); regions];
        with_engine!(engine, engine => engine.settled()?.read_regions(&mut found))?;
        to.iter_mut().zip(found).for_each(|(to, found)| *to = found.into());
        Ok(())
    })
}

/// Writes or adds the gradient of placefield_engine_gradient with a weight for the bodies of
/// every region: `weights` has `regions` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_engine_region_gradient(
    engine: *mut EngineHandle,
    precision: i32,
    gradient: *mut c_void,
    bodies: usize,
    weights: *const f64,
    regions: usize,
    accumulate: i32,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        write_gradient::<T>(engine, gradient.cast(), bodies, weights, regions, accumulate, error)
    })
}

unsafe fn write_gradient<T: EngineReal>(
    engine: *mut EngineHandle,
    gradient: *mut T,
    bodies: usize,
    weights: *const f64,
    regions: usize,
    accumulate: i32,
    error: *mut ErrorText,
) -> Status {
    on_engine::<T>(engine, error, |engine| {
        check_bodies(engine.charge(), bodies)?;
        check_count("regions", regions, engine.charge().regions())?;
        let inputs = [Span::new(weights, regions, "weights")];
        let weights = values(weights, regions, "weights")?;
        let [gradient] = outputs([(gradient, "gradient")], 2 * bodies, &inputs)?;
        let options = gradient_options(1.0, accumulate).region_weights(weights);
        Ok(engine.write_gradient(gradient, &options)?)
    })
}
