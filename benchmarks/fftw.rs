//! The CPU field solve compared with one that is written with FFTW, and single transforms with
//! those of FFTW and `rustdct`.
//!
//! `cargo bench --features rustdct --bench fftw -- --fftw DIR [--transforms] [--bins N[,N…]]
//! [--threads N[,N…]] [--seconds S] [--json FILE]`
//!
//! DIR holds FFTW's shared libraries (`libfftw3.so.3`, `libfftw3_omp.so.3` and those for `f32`),
//! opened at run time through the public interface; `benchmarks/fftw-compare` finds or fetches them.
//!
//! Timed: ρ in, φ, Ex and Ey out, data resident, plans and tables made beforehand; this crate's
//! solve and the fused one in turn, those with OpenMP after them. FFTW's plans are measured
//! (`FFTW_MEASURE`), each for at most S seconds (20). Its solves are
//!
//! * fused: the four 2-D transforms by one real FFT each (`r2c`, `c2r`), with the pre- and
//!   post-processing of the paper in loops over rows, which LLVM vectorises for the same vector
//!   units as this crate's;
//! * r2r: the four transforms by FFTW's own cosine and sine transforms.
//!
//! Each by two kinds of threads: those of the pool that the loops run on
//! (`fftw_threads_set_callback`), and FFTW's own with OpenMP. The crate's ratio is taken over the
//! faster of the two.
//!
//! `--transforms` times one DCT and one IDCT of maps of many shapes on one thread instead: this
//! crate's plan as it chooses and by each method, FFTW's `REDFT10` and `REDFT01`, and lines by
//! `rustdct` with a transposition after each axis.

#[path = "harness/mod.rs"]
mod harness;

use harness::Sample;
use libloading::Library;
use num_complex::Complex;
use placefield::Real;
use placefield::cpu::simd::Simd;
use placefield::cpu::solve::{Fields, Solver};
use placefield::cpu::transforms::Plan as Transforms;
use placefield::engine::Pipeline;
use placefield::grid::{BinGrid, Map, Rect};
use placefield::spectral::Spectrum;
use placefield::transform::{Method, Transform};
use rayon::prelude::*;
use rustdct::{DctNum, DctPlanner, TransformType2And3};
use serde::Serialize;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::Arc;

const MEASURE: c_uint = 0;
const DESTROY_INPUT: c_uint = 1;
/// FFTW's names of the DCT, its inverse and the sine transform that goes with it.
const REDFT10: c_int = 5;
const REDFT01: c_int = 4;
const RODFT01: c_int = 8;

/// FFTW's `parallel_loop`: calls `work` for `count` jobs, `size` bytes apart.
type ParallelLoop = extern "C" fn(
    extern "C" fn(*mut c_char) -> *mut c_void,
    *mut c_char,
    usize,
    c_int,
    *mut c_void,
);

/// Jobs of FFTW on the pool of threads that it was called in.
extern "C" fn on_this_pool(
    work: extern "C" fn(*mut c_char) -> *mut c_void,
    jobs: *mut c_char,
    size: usize,
    count: c_int,
    _: *mut c_void,
) {
    let jobs = jobs as usize;
    (0..count as usize).into_par_iter().with_max_len(1).for_each(|job| {
        work((jobs + job * size) as *mut c_char);
    });
}

/// FFTW for one precision.
struct Fftw<T> {
    plan_with_nthreads: unsafe extern "C" fn(c_int),
    threads_set_callback: unsafe extern "C" fn(Option<ParallelLoop>, *mut c_void),
    plan_r2c: unsafe extern "C" fn(c_int, c_int, *mut T, *mut Complex<T>, c_uint) -> *mut c_void,
    plan_c2r: unsafe extern "C" fn(c_int, c_int, *mut Complex<T>, *mut T, c_uint) -> *mut c_void,
    plan_r2r:
        unsafe extern "C" fn(c_int, c_int, *mut T, *mut T, c_int, c_int, c_uint) -> *mut c_void,
    execute: unsafe extern "C" fn(*mut c_void),
    destroy_plan: unsafe extern "C" fn(*mut c_void),
    _libraries: [Library; 2],
}

impl<T> Fftw<T> {
    /// # Panics
    /// When the libraries are not there.
    fn open(folder: &Path, prefix: &str, file: &str, seconds: f64) -> Self {
        let open = |name: String| {
            let path = folder.join(name);
            // SAFETY: opening FFTW runs no code but its own initialisers.
            unsafe { Library::new(&path) }.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        let main = open(format!("lib{file}.so.3"));
        let threads = open(format!("lib{file}_omp.so.3"));
        let symbol = |name: &str| format!("{prefix}_{name}");
        // SAFETY: the names and signatures are those of fftw3.h, `T` is the type of the prefix, and
        // the libraries stay open as long as what was found in them is used.
        unsafe {
            let init: extern "C" fn() -> c_int = find(&threads, &symbol("init_threads"));
            assert_ne!(init(), 0, "FFTW's threads");
            let limit: extern "C" fn(f64) = find(&main, &symbol("set_timelimit"));
            limit(seconds);
            Fftw {
                plan_with_nthreads: find(&threads, &symbol("plan_with_nthreads")),
                threads_set_callback: find(&threads, &symbol("threads_set_callback")),
                plan_r2c: find(&main, &symbol("plan_dft_r2c_2d")),
                plan_c2r: find(&main, &symbol("plan_dft_c2r_2d")),
                plan_r2r: find(&main, &symbol("plan_r2r_2d")),
                execute: find(&main, &symbol("execute")),
                destroy_plan: find(&main, &symbol("destroy_plan")),
                _libraries: [main, threads],
            }
        }
    }

    /// The function that runs FFTW's jobs from now on.
    fn threads(&self, threads: usize, pool: bool) {
        let callback = pool.then_some(on_this_pool as ParallelLoop);
        // SAFETY: the callback runs every job once and returns when all are done.
        unsafe {
            (self.threads_set_callback)(callback, std::ptr::null_mut());
            (self.plan_with_nthreads)(threads as c_int);
        }
    }
}

/// A function of a library.
///
/// # Safety
/// It has the type `F`, and is called while the library is open.
///
/// # Panics
/// When the library has none of this name: `threads_set_callback` came with FFTW 3.3.9.
unsafe fn find<F: Copy>(library: &Library, name: &str) -> F {
    // SAFETY: the caller's promise.
    let found = unsafe { library.get::<F>(name) };
    *found.unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Plans of FFTW, run by the threads that they were made for.
struct Plan<'a, T> {
    fftw: &'a Fftw<T>,
    plan: *mut c_void,
    threads: usize,
    pool: bool,
}

impl<T> Plan<'_, T> {
    /// # Safety
    /// The buffers that the plan was made for are there, and nothing else uses them.
    unsafe fn run(&self) {
        self.fftw.threads(self.threads, self.pool);
        // SAFETY: the plan is whole; the caller promises the rest.
        unsafe { (self.fftw.execute)(self.plan) }
    }
}

impl<T> Drop for Plan<'_, T> {
    fn drop(&mut self) {
        // SAFETY: made by FFTW, and nobody runs it any more.
        unsafe { (self.fftw.destroy_plan)(self.plan) }
    }
}

/// Numbers at the beginning of a cache line, as FFTW's own allocation gives.
struct Buffer<T> {
    memory: Vec<[u64; 8]>,
    len: usize,
    _numbers: std::marker::PhantomData<T>,
}

impl<T: bytemuck::Pod> Buffer<T> {
    fn new(len: usize) -> Self {
        // A vector of 64-byte elements need not begin at a multiple of 64: one more, to move up in.
        let memory = vec![[0; 8]; (len * size_of::<T>()).div_ceil(64) + 1];
        Buffer { memory, len, _numbers: std::marker::PhantomData }
    }

    fn numbers(&mut self) -> &mut [T] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.memory);
        let up = bytes.as_ptr().align_offset(64);
        bytemuck::cast_slice_mut(&mut bytes[up..][..self.len * size_of::<T>()])
    }
}

/// `e^{−jπk/2n}`, k = 0 … n.
fn quarter_wave<T: Real>(n: usize) -> Vec<Complex<T>> {
    let turn =
        |k: usize| Complex::from_polar(1.0, -std::f64::consts::FRAC_PI_2 * k as f64 / n as f64);
    (0..=n).map(turn).map(|w| Complex::new(T::cast(w.re), T::cast(w.im))).collect()
}

/// Factors that both solves on FFTW multiply by.
struct Tables<T> {
    n: usize,
    green: Vec<T>,
    waves: Vec<T>,
    turns: Vec<Complex<T>>,
}

impl<T: Real> Tables<T> {
    fn new(grid: &BinGrid) -> Self {
        let (n, spectrum) = (grid.nx(), Spectrum::new(grid));
        Tables {
            n,
            green: (0..n * n).map(|i| T::cast(spectrum.green(i / n, i % n))).collect(),
            waves: spectrum.wx().iter().map(|&w| T::cast(w)).collect(),
            turns: quarter_wave(n),
        }
    }
}

/// The solve by 2-D real FFTs.
struct Fused<'a, T> {
    tables: &'a Tables<T>,
    forward: Plan<'a, T>,
    inverse: Plan<'a, T>,
    real: Buffer<T>,
    half: Buffer<Complex<T>>,
    spectrum: Vec<T>,
}

/// Along which axis the sine stands.
#[derive(Clone, Copy, PartialEq)]
enum Sine {
    None,
    X,
    Y,
}

impl<'a, T: Real> Fused<'a, T> {
    fn new(fftw: &'a Fftw<T>, tables: &'a Tables<T>, threads: usize, pool: bool) -> Self {
        let n = tables.n;
        let (mut real, mut half) = (Buffer::new(n * n), Buffer::new(n * (n / 2 + 1)));
        fftw.threads(threads, pool);
        let (a, b, size) = (real.numbers().as_mut_ptr(), half.numbers().as_mut_ptr(), n as c_int);
        let flags = MEASURE | DESTROY_INPUT;
        // SAFETY: the buffers are as large as these transforms want them.
        let [forward, inverse] = unsafe {
            [(fftw.plan_r2c)(size, size, a, b, flags), (fftw.plan_c2r)(size, size, b, a, flags)]
        };
        let plan = |plan: *mut c_void| {
            assert!(!plan.is_null(), "FFTW makes a plan");
            Plan { fftw, plan, threads, pool }
        };
        let (forward, inverse) = (plan(forward), plan(inverse));
        Fused { tables, forward, inverse, real, half, spectrum: vec![T::zero(); n * n] }
    }

    fn solve(&mut self, rho: &[T], fields: &mut Fields<T>) {
        let n = self.tables.n;
        let real = self.real.numbers();
        real.par_chunks_exact_mut(n).enumerate().for_each(|(x, to)| {
            let from = &rho[sample(x, n) * n..][..n];
            wide(
                #[inline(always)]
                || {
                    let (first, second) = to.split_at_mut(n / 2);
                    for (j, (a, b)) in first.iter_mut().zip(second.iter_mut().rev()).enumerate() {
                        (*a, *b) = (from[2 * j], from[2 * j + 1]);
                    }
                },
            );
        });
        // SAFETY: both buffers are this struct's, and nothing else uses them now.
        unsafe { self.forward.run() };
        self.post_process();
        let Fields { potential, field_x, field_y } = fields;
        for (sine, out) in [(Sine::None, potential), (Sine::X, field_x), (Sine::Y, field_y)] {
            self.pre_process(sine);
            // SAFETY: as above.
            unsafe { self.inverse.run() };
            let real = &*self.real.numbers();
            out.as_mut_slice().par_chunks_exact_mut(n).enumerate().for_each(|(x, to)| {
                let from = &real[place(x, n) * n..][..n];
                let sign = |odd: bool| if odd { -T::one() } else { T::one() };
                let even = sign(sine == Sine::X && x % 2 == 1);
                let odd = even * sign(sine == Sine::Y);
                wide(
                    #[inline(always)]
                    || {
                        let (first, second) = from.split_at(n / 2);
                        let pairs = first.iter().zip(second.iter().rev());
                        for (to, (&a, &b)) in to.chunks_exact_mut(2).zip(pairs) {
                            (to[0], to[1]) = (even * a, odd * b);
                        }
                    },
                );
            });
        }
    }

    /// DCT coefficients times Green's function from the FFT: row k with row n − k.
    fn post_process(&mut self) {
        let Tables { n, green, turns, .. } = self.tables;
        let (n, h) = (*n, *n / 2 + 1);
        let half = &*self.half.numbers();
        let rows = Rows::new(&mut self.spectrum, n);
        (0..=n / 2).into_par_iter().for_each(|k| {
            let near = &half[k * h..][..h];
            let far = &half[(n - k) % n * h..][..h];
            let sides = [(k, near, far), (n - k, far, near)];
            for &(k, near, far) in &sides[..partners(k, n)] {
                // SAFETY: rows k and n - k are this task's alone.
                let row = unsafe { rows.row(k) };
                let (w, green) = (turns[k] * T::cast(0.5), &green[k * n..][..n]);
                wide(
                    #[inline(always)]
                    || {
                        let z = |near: Complex<T>, far: Complex<T>, turn: Complex<T>| {
                            turn * (w * near + w.conj() * far)
                        };
                        let (low, high) = row.split_at_mut(n / 2);
                        low[0] = z(near[0], far[0], turns[0]).re * green[0];
                        high[0] = z(near[n / 2], far[n / 2], turns[n / 2]).re * green[n / 2];
                        let lines = near[1..n / 2].iter().zip(&far[1..n / 2]).zip(&turns[1..n / 2]);
                        let to = low[1..].iter_mut().zip(high[1..].iter_mut().rev());
                        let by = green[1..n / 2].iter().zip(green[n / 2 + 1..].iter().rev());
                        for ((((&near, &far), &turn), (low, high)), (&by_low, &by_high)) in
                            lines.zip(to).zip(by)
                        {
                            let z = z(near, far, turn);
                            (*low, *high) = (z.re * by_low, -z.im * by_high);
                        }
                    },
                );
            }
        });
    }

    /// The input of the inverse FFT.
    fn pre_process(&mut self, sine: Sine) {
        let Tables { n, waves, turns, .. } = self.tables;
        let (n, h) = (*n, *n / 2 + 1);
        let spectrum = &self.spectrum;
        let zeros = vec![T::zero(); n];
        let half = self.half.numbers();
        let rows = Rows::new(half, h);
        (0..=n / 2).into_par_iter().for_each(|k| {
            let row = |k: usize| if k == n { &zeros[..] } else { &spectrum[k * n..][..n] };
            for &k in &[k, n - k][..partners(k, n)] {
                // SAFETY: rows k and n - k are this task's alone.
                let to = unsafe { rows.row(k) };
                // A sine takes the coefficients backwards, each times its wavenumber.
                let (a, b) = match sine {
                    Sine::X => (n - k, k),
                    _ => (k, n - k),
                };
                let of_row = |k: usize| match sine {
                    Sine::X if k == n || k == 0 => T::zero(),
                    Sine::X => waves[k],
                    _ => T::one(),
                };
                let (scale_a, scale_b) = (of_row(a), of_row(b));
                let (row_a, row_b, w) = (row(a), row(b), turns[k].conj() * T::cast(0.5));
                wide(
                    #[inline(always)]
                    || match sine {
                        Sine::Y => {
                            pre_process_row::<T, true>(to, [row_a, row_b], [waves; 2], w, turns);
                        }
                        _ => {
                            let [scale_a, scale_b] = [scale_a, scale_b].map(|scale| [scale]);
                            let scales = [&scale_a[..], &scale_b];
                            pre_process_row::<T, false>(to, [row_a, row_b], scales, w, turns);
                        }
                    },
                );
            }
        });
    }
}

/// A row of the inverse FFT's input from the coefficients of that row and of its partner. Along y
/// they are a cosine's, times the one number of `scales` for each row, or a `SINE`'s, times
/// `scales`.
#[inline(always)]
fn pre_process_row<T: Real, const SINE: bool>(
    to: &mut [Complex<T>],
    [a, b]: [&[T]; 2],
    scales: [&[T]; 2],
    w: Complex<T>,
    turns: &[Complex<T>],
) {
    let (n, half) = (a.len(), T::cast(0.5));
    let combined = |near: [T; 2], far: [T; 2], turn: Complex<T>| {
        let turn = turn.conj() * half;
        let (p, q) = (turn * Complex::new(near[0], -far[0]), turn * Complex::new(near[1], -far[1]));
        w * Complex::new(p.re + q.im, p.im - q.re)
    };
    let zero = [T::zero(); 2];
    to[0] = match SINE {
        true => Complex::default(),
        false => combined([a[0] * scales[0][0], b[0] * scales[1][0]], zero, turns[0]),
    };
    let low = a[1..=n / 2].iter().zip(&b[1..=n / 2]);
    let high = a[n / 2..].iter().rev().zip(b[n / 2..].iter().rev());
    let lines = to[1..].iter_mut().zip(&turns[1..=n / 2]).zip(low.zip(high));
    if SINE {
        let by = scales[0][1..=n / 2].iter().zip(scales[0][n / 2..].iter().rev());
        for (((to, &turn), ((a, b), (a_high, b_high))), (&low, &high)) in lines.zip(by) {
            *to = combined([*a_high * high, *b_high * high], [*a * low, *b * low], turn);
        }
    } else {
        let (of_a, of_b) = (scales[0][0], scales[1][0]);
        for ((to, &turn), ((a, b), (a_high, b_high))) in lines {
            *to = combined([*a * of_a, *b * of_b], [*a_high * of_a, *b_high * of_b], turn);
        }
    }
}

/// Which sample stands at a place of the FFT's input: the even ones, then the odd ones backwards.
fn sample(place: usize, n: usize) -> usize {
    if place < n / 2 { 2 * place } else { 2 * (n - 1 - place) + 1 }
}

/// At which place a sample stands.
fn place(sample: usize, n: usize) -> usize {
    if sample.is_multiple_of(2) { sample / 2 } else { n - 1 - sample / 2 }
}

/// How many rows k and n − k are, n even: two that are their own partners, and 0 with none.
fn partners(k: usize, n: usize) -> usize {
    if k == 0 || 2 * k == n { 1 } else { 2 }
}

/// The rows of a map, for tasks that write two each.
struct Rows<'a, T> {
    start: *mut T,
    length: usize,
    rows: usize,
    _map: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: the map is borrowed exclusively, and whoever asks for a row promises to be alone.
unsafe impl<T: Send> Sync for Rows<'_, T> {}

impl<'a, T> Rows<'a, T> {
    fn new(map: &'a mut [T], length: usize) -> Self {
        let (start, rows) = (map.as_mut_ptr(), map.len() / length);
        Rows { start, length, rows, _map: std::marker::PhantomData }
    }

    /// # Safety
    /// Nobody else has this row.
    #[allow(clippy::mut_from_ref)] // that is the caller's promise
    unsafe fn row(&self, row: usize) -> &mut [T] {
        assert!(row < self.rows, "a row of the map");
        // SAFETY: a row of the borrowed map, nobody else's by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.length), self.length) }
    }
}

/// Loops compiled for the vector unit that this crate's use.
#[inline(always)]
fn wide<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
        fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        match Simd::current() {
            // SAFETY: the processor has what `current` names.
            Simd::Avx512 => return unsafe { with_avx512(work) },
            // SAFETY: as above.
            Simd::Avx2 => return unsafe { with_avx2(work) },
            _ => {}
        }
    }
    work()
}

/// The solve by FFTW's cosine and sine transforms.
struct RealToReal<'a, T> {
    tables: &'a Tables<T>,
    plans: [Plan<'a, T>; 4],
    input: Buffer<T>,
    out: Buffer<T>,
    spectrum: Vec<T>,
}

impl<'a, T: Real> RealToReal<'a, T> {
    fn new(fftw: &'a Fftw<T>, tables: &'a Tables<T>, threads: usize, pool: bool) -> Self {
        let (n, size) = (tables.n, tables.n as c_int);
        let (mut input, mut out) = (Buffer::new(n * n), Buffer::new(n * n));
        fftw.threads(threads, pool);
        let (a, b) = (input.numbers().as_mut_ptr(), out.numbers().as_mut_ptr());
        let kinds =
            [(REDFT10, REDFT10), (REDFT01, REDFT01), (RODFT01, REDFT01), (REDFT01, RODFT01)];
        let plans = kinds.map(|(x, y)| {
            // SAFETY: the buffers are as large as these transforms want them.
            let plan = unsafe { (fftw.plan_r2r)(size, size, a, b, x, y, MEASURE | DESTROY_INPUT) };
            assert!(!plan.is_null(), "FFTW makes a plan");
            Plan { fftw, plan, threads, pool }
        });
        RealToReal { tables, plans, input, out, spectrum: vec![T::zero(); n * n] }
    }

    fn solve(&mut self, rho: &[T], fields: &mut Fields<T>) {
        let Tables { n, green, waves, .. } = self.tables;
        let n = *n;
        let rows = |of: &mut [T], from: &[T]| {
            let rows = of.par_chunks_exact_mut(n).zip(from.par_chunks_exact(n));
            rows.for_each(|(to, from)| to.copy_from_slice(from));
        };
        rows(self.input.numbers(), rho);
        // SAFETY: both buffers are this struct's, and nothing else uses them now.
        unsafe { self.plans[0].run() };
        // Each of FFTW's transforms along an axis is twice ours.
        let quarter = T::cast(0.25);
        let products = self.spectrum.par_chunks_exact_mut(n);
        let products = products.zip(self.out.numbers().par_chunks_exact(n));
        products.zip(green.par_chunks_exact(n)).for_each(|((to, x), g)| {
            to.iter_mut().zip(x).zip(g).for_each(|((to, &x), &g)| *to = x * g * quarter * quarter);
        });
        let Fields { potential, field_x, field_y } = fields;
        let maps = [(potential, false, false), (field_x, true, false), (field_y, false, true)];
        for (plan, (out, sine_x, sine_y)) in self.plans[1..].iter().zip(maps) {
            let spectrum = &self.spectrum;
            self.input.numbers().par_chunks_exact_mut(n).enumerate().for_each(|(u, to)| {
                // Coefficient 1 comes first in a sine transform, and none comes last.
                let row = u + usize::from(sine_x);
                if row == n {
                    to.fill(T::zero());
                    return;
                }
                let from = &spectrum[row * n..][..n];
                if sine_y {
                    for (v, to) in to[..n - 1].iter_mut().enumerate() {
                        *to = from[v + 1] * waves[v + 1];
                    }
                    to[n - 1] = T::zero();
                } else {
                    let w = if sine_x { waves[row] } else { T::one() };
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = w * from);
                }
            });
            // SAFETY: as above.
            unsafe { plan.run() };
            rows(out.as_mut_slice(), self.out.numbers());
        }
    }
}

#[derive(Serialize)]
struct Row {
    bins: usize,
    precision: &'static str,
    threads: usize,
    placefield: Sample,
    fftw_fused: Sample,
    fftw_fused_openmp: Sample,
    fftw_r2r: Option<Sample>,
    /// The faster of the two fused solves over ours.
    fused_over_placefield: f64,
}

fn measure<T: Real>(fftw: &Fftw<T>, n: usize, threads: usize, with_r2r: bool) -> Row {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, n as f64, n as f64), n, n).expect("a grid");
    // Long waves, for a solve in f32 is as exact as its largest, and noise.
    let wave = |k: usize| (std::f64::consts::PI * (k as f64 + 0.5) / n as f64).cos();
    let noise = |i: usize| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5;
    let value = |i: usize| T::cast(wave(i / n) * (1.0 + wave(3 * (i % n) + 1)) + noise(i));
    let values = (0..n * n).map(value).collect();
    let rho: Map<T> = Map::from_vec(n, n, values);
    let tables = Tables::<T>::new(&grid);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let (mut fields, mut samples) = (Vec::new(), Vec::new());
    pool.install(|| {
        let mut ours = Solver::new(&grid, Pipeline::ThreePass, threads);
        let mut fused = Fused::new(fftw, &tables, threads, true);
        let mut openmp = Fused::new(fftw, &tables, threads, false);
        let mut r2r = with_r2r.then(|| RealToReal::new(fftw, &tables, threads, false));
        fields = (0..4).map(|_| Fields::<T>::new(n, n)).collect();
        let [a, b, c, d] = &mut fields[..] else { unreachable!() };
        let density = rho.as_slice();
        let repetitions = (30_000_000 / (n * n)).clamp(5, 40);
        samples = harness::interleaved(
            repetitions,
            &mut [&mut || _ = ours.solve(&rho, a), &mut || fused.solve(density, b)],
        );
        // OpenMP's threads wait for their next work by spinning, on the cores of whoever is next.
        samples.extend(harness::interleaved(repetitions, &mut [&mut || openmp.solve(density, c)]));
        if let Some(r2r) = &mut r2r {
            samples.extend(harness::interleaved(repetitions, &mut [&mut || r2r.solve(density, d)]));
        }
    });
    // The sides must have solved the same problem.
    for other in &fields[1..samples.len()] {
        let maps = |f: &Fields<T>| [f.potential.clone(), f.field_x.clone(), f.field_y.clone()];
        for (ours, theirs) in maps(&fields[0]).iter().zip(maps(other)) {
            let both = ours.as_slice().iter().zip(theirs.as_slice());
            let off = both.map(|(a, b)| (a.widen() - b.widen()).powi(2)).sum::<f64>();
            let all = ours.as_slice().iter().map(|a| a.widen().powi(2)).sum::<f64>();
            assert!(off <= 1e-10 * all, "the sides disagree: {off:e} of {all:e}");
        }
    }
    let faster = samples[1].median_ms.min(samples[2].median_ms);
    let row = Row {
        bins: n,
        precision: T::PRECISION.name(),
        threads,
        placefield: samples[0],
        fftw_fused: samples[1],
        fftw_fused_openmp: samples[2],
        fftw_r2r: samples.get(3).copied(),
        fused_over_placefield: faster / samples[0].median_ms,
    };
    println!(
        "{n}² {} {threads} threads: placefield {:.2} ms, FFTW fused {:.2}, with OpenMP {:.2}, \
         r2r {:.2}: {:.2} x",
        row.precision,
        row.placefield.median_ms,
        row.fftw_fused.median_ms,
        row.fftw_fused_openmp.median_ms,
        row.fftw_r2r.map_or(f64::NAN, |s| s.median_ms),
        row.fused_over_placefield,
    );
    row
}

/// A transform of maps on `rustdct`.
struct Lines<T: DctNum> {
    /// Along x and along y.
    along: [Arc<dyn TransformType2And3<T>>; 2],
    scratch: Vec<T>,
    turned: Vec<T>,
}

impl<T: Real + DctNum> Lines<T> {
    fn new([nx, ny]: [usize; 2]) -> Self {
        let mut planner = DctPlanner::new();
        let along = [planner.plan_dct2(nx), planner.plan_dct2(ny)];
        let scratch = along.iter().map(|line| line.get_scratch_len()).max().unwrap_or(0);
        Lines { along, scratch: vec![T::zero(); scratch], turned: vec![T::zero(); nx * ny] }
    }

    fn run(&mut self, kind: Transform, x: &[T], out: &mut [T]) {
        let Lines { along: [along_x, along_y], scratch, turned } = self;
        let (nx, ny) = (along_x.len(), along_y.len());
        let mut lines = |along: &Arc<dyn TransformType2And3<T>>, map: &mut [T]| {
            for line in map.chunks_exact_mut(along.len()) {
                let scratch = &mut scratch[..along.get_scratch_len()];
                match kind {
                    Transform::Dct => along.process_dct2_with_scratch(line, scratch),
                    _ => along.process_dct3_with_scratch(line, scratch),
                }
            }
        };
        out.copy_from_slice(x);
        lines(along_y, out);
        transpose(out, turned, ny);
        lines(along_x, turned);
        transpose(turned, out, nx);
    }
}

/// Transposes a matrix of rows of `columns` values.
fn transpose<T: Copy>(from: &[T], to: &mut [T], columns: usize) {
    let rows = from.len() / columns;
    for first in (0..rows).step_by(32) {
        for (column, to) in to.chunks_exact_mut(rows).enumerate() {
            for (row, to) in (first..).zip(&mut to[first..rows.min(first + 32)]) {
                *to = from[row * columns + column];
            }
        }
    }
}

#[derive(Serialize)]
struct TransformRow {
    shape: [usize; 2],
    kind: String,
    precision: &'static str,
    /// The plan as it chooses, by rows and columns, fused.
    chosen: Sample,
    row_column: Sample,
    fused: Sample,
    fftw: Sample,
    rustdct: Sample,
}

fn transform<T: Real + DctNum>(fftw: &Fftw<T>, kind: Transform, shape: [usize; 2]) -> TransformRow {
    let size = shape[0] * shape[1];
    let x: Vec<T> = (0..size).map(|i| T::cast(((i * 7919) % 1009) as f64 / 1009.0)).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        let plan = |method| Transforms::<T>::batched(kind, &shape, method, 1).expect("a shape");
        let mut chosen = Transforms::<T>::new(kind, &shape).expect("a shape");
        let (mut row_column, mut fused) = (plan(Method::RowColumn), plan(Method::Fused));
        let mut lines = Lines::new(shape);
        let (mut input, mut buffer) = (Buffer::new(size), Buffer::new(size));
        fftw.threads(1, true);
        let (a, b) = (input.numbers().as_mut_ptr(), buffer.numbers().as_mut_ptr());
        let of_fftw = if kind == Transform::Dct { REDFT10 } else { REDFT01 };
        let [nx, ny] = shape.map(|n| n as c_int);
        // SAFETY: the buffers are as large as this transform wants them.
        let theirs = unsafe { (fftw.plan_r2r)(nx, ny, a, b, of_fftw, of_fftw, MEASURE) };
        assert!(!theirs.is_null(), "FFTW makes a plan");
        let theirs = Plan { fftw, plan: theirs, threads: 1, pool: true };
        // A measured plan has overwritten its input.
        input.numbers().copy_from_slice(&x);
        let mut out = [(); 4].map(|()| vec![T::zero(); size]);
        let [of_chosen, of_row_column, of_fused, of_lines] = &mut out;
        let samples = harness::interleaved(
            (20_000_000 / size).clamp(9, 100),
            &mut [
                &mut || chosen.run(&x, of_chosen).expect("a transform"),
                &mut || row_column.run(&x, of_row_column).expect("a transform"),
                &mut || fused.run(&x, of_fused).expect("a transform"),
                // SAFETY: both buffers are here, and nothing else uses them now.
                &mut || unsafe { theirs.run() },
                &mut || lines.run(kind, &x, of_lines),
            ],
        );
        // The sides must have transformed the same map, each to its own scale.
        let scale = |side: &[T]| side.iter().map(|v| v.widen().abs()).fold(0.0, f64::max);
        let most = scale(&out[0]);
        for side in [&out[1][..], &out[2], &out[3], buffer.numbers()] {
            let factor = most / scale(side);
            let off = out[0].iter().zip(side).map(|(a, b)| (a.widen() - factor * b.widen()).abs());
            let off = off.fold(0.0, f64::max);
            assert!(off <= 1e-4 * most, "the sides disagree: {off:e} of {most:e}");
        }
        let [chosen, row_column, fused, fftw, rustdct] = samples[..] else { unreachable!() };
        let (kind, precision) = (format!("{kind:?}"), T::PRECISION.name());
        let row = TransformRow { shape, kind, precision, chosen, row_column, fused, fftw, rustdct };
        println!(
            "{shape:?} {} {precision}: chosen {:.3} ms, row-column {:.3}, fused {:.3}, FFTW {:.3}, \
             rustdct {:.3}",
            row.kind,
            chosen.median_ms,
            row_column.median_ms,
            fused.median_ms,
            fftw.median_ms,
            rustdct.median_ms,
        );
        row
    })
}

#[derive(Serialize)]
struct Results<R> {
    machine: String,
    simd: &'static str,
    timed: &'static str,
    rows: Vec<R>,
}

/// Shapes of single transforms: those of the paper, and short, long, narrow, odd and prime ones.
const SHAPES: [[usize; 2]; 20] = [
    [512, 512],
    [1024, 1024],
    [2048, 2048],
    [4096, 4096],
    [16, 16],
    [64, 64],
    [100, 100],
    [256, 256],
    [1000, 1000],
    [1023, 1025],
    [1009, 1013],
    [512, 2048],
    [2048, 512],
    [100, 10_000],
    [10_000, 100],
    [8, 10_000],
    [10_000, 8],
    [64, 32_768],
    [32_768, 64],
    [4096, 2],
];

fn main() {
    let numbers = |name: &str, otherwise: &[usize]| -> Vec<usize> {
        harness::option(name).map_or(otherwise.to_vec(), |list| {
            list.split(',').map(|n| n.parse().expect("a whole number")).collect()
        })
    };
    let Some(folder) = harness::option("--fftw") else {
        println!("fftw: --fftw DIR, a folder with FFTW's libraries (benchmarks/fftw-compare)");
        return;
    };
    let bins = numbers("--bins", &[512, 1024, 2048, 4096]);
    assert!(bins.iter().all(|n| n % 2 == 0 && *n > 0), "even numbers of bins");
    let most_r2r = numbers("--r2r", &[2048])[0];
    let seconds = harness::option("--seconds").map_or(20.0, |s| s.parse().expect("seconds"));
    let folder = Path::new(&folder);
    let single = Fftw::<f32>::open(folder, "fftwf", "fftw3f", seconds);
    let double = Fftw::<f64>::open(folder, "fftw", "fftw3", seconds);
    if std::env::args().any(|argument| argument == "--transforms") {
        let mut results = Results {
            machine: harness::machine(),
            simd: Simd::current().name(),
            timed: "one transform on one thread, data resident, the plan made beforehand; \
                    medians of repetitions in turn",
            rows: Vec::new(),
        };
        for shape in SHAPES {
            for kind in [Transform::Dct, Transform::Idct] {
                results.rows.push(transform(&single, kind, shape));
                results.rows.push(transform(&double, kind, shape));
            }
            harness::save(&results);
        }
        return;
    }
    let mut results = Results {
        machine: harness::machine(),
        simd: Simd::current().name(),
        timed: "density in, potential and both field components out; \
                medians of repetitions in turn",
        rows: Vec::new(),
    };
    for &n in &bins {
        for threads in numbers("--threads", &[1, 2]) {
            results.rows.push(measure(&single, n, threads, n <= most_r2r));
            results.rows.push(measure(&double, n, threads, n <= most_r2r));
            harness::save(&results);
        }
    }
}
