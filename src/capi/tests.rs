//! Outputs that overlap other memory of the call: an error, and nothing is written.

use super::*;
use std::ptr::null_mut;

const CELLS: usize = 4;
const F64: i32 = PrecisionName::F64 as i32;

/// Returns an engine of four cells in two fence regions.
fn engine() -> *mut EngineHandle {
    let grid = Grid { xl: 0.0, yl: 0.0, xh: 16.0, yh: 16.0, nx: 8, ny: 8 };
    let [width, height] = [[1.0; CELLS], [2.0; CELLS]];
    let region = [0, 0, 1, 1];
    let (fence_of_rect, corner, size) = ([0], [0.0], [8.0]);
    let mut engine = null_mut();
    // SAFETY: structures that are filled here, and arrays of the lengths given.
    unsafe {
        let (mut options, mut bodies) = (std::mem::zeroed::<Options>(), std::mem::zeroed());
        let (a, b) = (size_of::<Options>(), size_of::<Bodies>());
        assert_eq!(placefield_options_init(&mut options, a, null_mut()), Status::Ok);
        assert_eq!(placefield_bodies_init(&mut bodies, b, null_mut()), Status::Ok);
        options.precision = F64;
        (bodies.movable, bodies.fences, bodies.fence_rects) = (CELLS, 1, 1);
        (bodies.width, bodies.height) = (width.as_ptr(), height.as_ptr());
        bodies.region = region.as_ptr();
        bodies.fence_of_rect = fence_of_rect.as_ptr();
        (bodies.fence_x, bodies.fence_y) = (corner.as_ptr(), corner.as_ptr());
        (bodies.fence_width, bodies.fence_height) = (size.as_ptr(), size.as_ptr());
        let place = (&raw const bodies.width).cast_mut().cast();
        let refused = placefield_engine_new(&grid, &bodies, &options, place, null_mut());
        assert_eq!((refused, bodies.width), (Status::BadArgument, width.as_ptr()));
        let place = width.as_ptr().cast_mut().cast();
        let refused = placefield_engine_new(&grid, &bodies, &options, place, null_mut());
        assert_eq!((refused, width), (Status::BadArgument, [1.0; CELLS]));
        let made = placefield_engine_new(&grid, &bodies, &options, &mut engine, null_mut());
        assert_eq!(made, Status::Ok);
    }
    engine
}

/// Checks that `call`, given memory of some numbers, returns `expected` for `message` and leaves
/// the numbers as they were.
fn check(message: &str, call: impl FnOnce(*mut f64, *mut ErrorText) -> Status) {
    let mut numbers: [f64; 16] = std::array::from_fn(|i| i as f64 / 2.0);
    let before = numbers.map(f64::to_bits);
    let mut error = ErrorText { status: 0, message: [0; 508] };
    let status = call(numbers.as_mut_ptr(), &mut error);
    // SAFETY: it ends in a zero.
    let said = unsafe { std::ffi::CStr::from_ptr(error.message.as_ptr()) };
    assert_eq!((status, said.to_str()), (Status::BadArgument, Ok(message)));
    assert_eq!(numbers.map(f64::to_bits), before, "{message}");
}

#[test]
fn overlapping_outputs_are_refused_untouched() {
    let engine = engine();
    // SAFETY: all memory is that of `check`, which is large enough for each.
    unsafe {
        check("bodies overlaps movable", |at, error| {
            placefield_engine_bodies(engine, at.cast(), at.cast(), error)
        });
        check("result overlaps x", |at, error| {
            let y = at.add(CELLS).cast();
            placefield_engine_evaluate(engine, F64, at.cast(), y, CELLS, at.cast(), error)
        });
        check("result overlaps y", |at, error| {
            let result = at.add(2 * CELLS - 1).cast();
            let y = at.add(CELLS).cast();
            placefield_engine_evaluate(engine, F64, at.cast(), y, CELLS, result, error)
        });
        check("of_bodies overlaps regions", |at, error| {
            placefield_engine_regions(engine, at.cast(), at.cast(), CELLS, error)
        });
        let (x, y) = ([1.0; CELLS], [3.0; CELLS]);
        let (x, y, none) = (x.as_ptr().cast(), y.as_ptr().cast(), null_mut());
        let done = placefield_engine_evaluate(engine, F64, x, y, CELLS, none, null_mut());
        assert_eq!(done, Status::Ok);
        check("max_density overlaps overflow", |at, error| {
            placefield_engine_exact(engine, at, at, error)
        });
        check("gradient overlaps weights", |at, error| {
            let weights = at.add(2 * CELLS - 1);
            placefield_engine_region_gradient(engine, F64, at.cast(), CELLS, weights, 2, 0, error)
        });
        check("force_y overlaps force_x", |at, error| {
            let y = at.add(1).cast();
            placefield_engine_force(engine, F64, at.cast(), y, CELLS, error)
        });
        assert_eq!(placefield_engine_free(engine, null_mut()), Status::Ok);
    }
}
