//! An engine allocates nothing once it is made.

use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineOptions, Pipeline};
use placefield::grid::{BinGrid, Rect};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, and how many bytes were asked of it.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promises are those `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above; `at` came from `System`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn an_iteration_allocates_nothing() {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 400.0, 300.0), 128, 100).unwrap();
    let count = 40_000;
    let mut width = vec![2.5; count];
    width[7] = 90.0;
    let height = vec![3.0; count];
    let x: Vec<f64> = (0..count).map(|i| (i * 37 % 3970) as f64 / 10.0).collect();
    let y: Vec<f64> = (0..count).map(|i| (i * 53 % 2960) as f64 / 10.0).collect();
    let cells =
        Rectangles { width: &width, height: &height, x: &x, y: &y, ..Rectangles::default() };
    let mut charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    charge.add_fillers(2.0, 3.0, &y, &y);
    let (x, y) = (charge.initial_x.clone(), charge.initial_y.clone());

    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    for pipeline in Pipeline::ALL {
        let mut engine = CpuEngine::<f64>::new(
            charge.clone(),
            &EngineOptions { pipeline: Some(pipeline), ..options },
        )
        .unwrap();
        let mut iterate = || {
            let evaluation = engine.evaluate(&x, &y).unwrap();
            let exact = engine.exact_density().unwrap();
            assert!(evaluation.energy > 0.0 && exact.max > 0.0);
        };
        // The threads set up what they keep for themselves at first use.
        (0..3).for_each(|_| iterate());
        let before = BYTES.load(Relaxed);
        (0..5).for_each(|_| iterate());
        let bytes = BYTES.load(Relaxed) - before;
        // Less than one byte per hundred bodies: the thread pool's own queues.
        assert!(bytes < x.len() / 100, "{pipeline}: {bytes} bytes in five iterations");
    }
}
