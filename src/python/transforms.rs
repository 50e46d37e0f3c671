//! The field of a density, and single transforms: host memory in and out, on any device; or device
//! memory in and out.

use super::arrays::Array;
use super::devices::PlanKey;
use super::dlpack::ImportedArray;
use super::errors::{Failure, detached};
use super::options::Options;
use crate::cpu::engine::thread_pool;
use crate::cpu::solve::FieldSlices;
use crate::cpu::transforms::Plan;
use crate::engine::EngineOptions;
use crate::engines::{Device, EngineReal};
use crate::ffi::open_solver;
use crate::grid::{BinGrid, Rect};
use crate::parallel;
use crate::transform::{Method, Transform, Transform1d, TransformNd};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::ThreadPool;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// The field of `density`, shape (nx, ny): potential, field_x and field_y are written to `out`,
/// shape (3, nx, ny). Returns the energy.
#[pyfunction]
pub(super) fn solve(
    py: Python<'_>,
    density: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    bin_size: (f64, f64),
    options: &Bound<'_, PyDict>,
) -> PyResult<f64> {
    let density = ImportedArray::take(density, "density", 1)?;
    let mut out = ImportedArray::take(out, "out", 1)?;
    let options = Options(options);
    let (device, options) = (options.device()?, options.engine()?);
    detached(py, move || {
        let grid = grid_of(&density, bin_size)?;
        out.check_shape(&[&[3, grid.nx(), grid.ny()]])?;
        out.check_type(density.bits)?;
        out.check_writable(&[&density])?;
        match density.bits {
            32 => run::<f32>(&grid, device, &options, &density, &mut out),
            _ => run::<f64>(&grid, device, &options, &density, &mut out),
        }
    })
}

/// Solves in device memory, enqueued to `stream`. Potential, field_x, field_y and energy (a double
/// without axes) are written to `out` if given, else to new arrays, which are returned.
#[pyfunction]
#[pyo3(signature = (density, out, bin_size, options, *, stream))]
pub(super) fn solve_on_device(
    py: Python<'_>,
    density: &Bound<'_, PyAny>,
    out: Vec<Bound<'_, PyAny>>,
    bin_size: (f64, f64),
    options: &Bound<'_, PyDict>,
    stream: usize,
) -> PyResult<Vec<Array>> {
    let density = ImportedArray::take(density, "density", stream)?;
    let out = outputs(&out, 4, stream)?;
    let pipeline = Options(options).engine()?.pipeline;
    detached(py, move || {
        let grid = grid_of(&density, bin_size)?;
        let map = &[grid.nx(), grid.ny()][..];
        on_device(PlanKey::Solve { grid, pipeline }, &density, &out, &[map, map, map, &[]], stream)
    })
}

/// The grid of a density.
fn grid_of(density: &ImportedArray, bin_size: (f64, f64)) -> Result<BinGrid, Failure> {
    let &[nx, ny] = &density.shape[..] else {
        let found = density.shape.len();
        return Err(Failure::Value(format!("density: expected two axes, found {found}")));
    };
    let die = Rect::at(0.0, 0.0, bin_size.0 * nx as f64, bin_size.1 * ny as f64);
    Ok(BinGrid::new(die, nx, ny)?)
}

/// Outputs on a device: none, or so many.
fn outputs(out: &[Bound<'_, PyAny>], count: usize, stream: usize) -> PyResult<Vec<ImportedArray>> {
    if !out.is_empty() && out.len() != count {
        let text = format!("out: expected {count} arrays or none, found {}", out.len());
        return Err(Failure::Value(text).into());
    }
    out.iter().map(|out| ImportedArray::take(out, "out", stream)).collect()
}

#[cfg(feature = "cuda")]
fn on_device(
    work: PlanKey,
    input: &ImportedArray,
    given: &[ImportedArray],
    shapes: &[&[usize]],
    stream: usize,
) -> Result<Vec<Array>, Failure> {
    super::on_device::run(work, input, super::on_device::Outputs { given, shapes }, stream)
}

#[cfg(not(feature = "cuda"))]
fn on_device(
    _: PlanKey,
    _: &ImportedArray,
    _: &[ImportedArray],
    _: &[&[usize]],
    _: usize,
) -> Result<Vec<Array>, Failure> {
    Err(Failure::without_cuda())
}

fn run<T: EngineReal>(
    grid: &BinGrid,
    device: Device,
    options: &EngineOptions,
    density: &ImportedArray,
    out: &mut ImportedArray,
) -> Result<f64, Failure> {
    let rho = density.values::<T>()?;
    let out = out.values_mut::<T>()?;
    let (potential, field) = out.split_at_mut(grid.bins());
    let (field_x, field_y) = field.split_at_mut(grid.bins());
    let mut solver = open_solver::<T>(grid, device, options)?;
    Ok(solver.solve(rho, FieldSlices { potential, field_x, field_y })?)
}

/// Transforms the last axes of `input` to `out`, of the same shape: "dct", "idct" and
/// "idxst" of lines; "dct2", "idct2", "idct_idxst" and "idxst_idct" of maps; "dctn" and "idctn" of
/// the last `axes` axes, an option. On the CPU.
#[pyfunction]
pub(super) fn transform(
    py: Python<'_>,
    kind: &str,
    input: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let options = Options(options);
    let axes = options.count("axes", 1..=u64::from(u8::MAX))?.unwrap_or(1) as usize;
    let (kind, threads) = (Kind::of(kind, axes)?, options.threads()?);
    let input = ImportedArray::take(input, "input", 1)?;
    let mut out = ImportedArray::take(out, "out", 1)?;
    detached(py, move || {
        out.check_shape(&[&input.shape[..]])?;
        out.check_type(input.bits)?;
        out.check_writable(&[&input])?;
        let mut run = |threads| match input.bits {
            32 => kind.run::<f32>(&input, &mut out, threads),
            _ => kind.run::<f64>(&input, &mut out, threads),
        };
        // The values do not depend on the number of threads.
        match threads == 1 || input.len() <= SMALL {
            true => run(1),
            false => pool(threads)?.install(|| run(parallel::threads())),
        }
    })
}

/// Values up to which one thread transforms faster than others take to wake.
const SMALL: usize = 1 << 14;

/// Most plans that are kept, and most values of one of them: a plan has about as much memory as its
/// input.
const MOST_PLANS: usize = 8;
const MOST_VALUES: usize = 1 << 20;

/// A transform, by which its plan is found again.
#[derive(PartialEq)]
struct HostKey {
    kind: Kind,
    shape: Vec<usize>,
    batch: usize,
    bits: u8,
    threads: usize,
}

/// Plans that no call uses, the last used first.
static PLANS: Mutex<Vec<(HostKey, Box<dyn Any + Send>)>> = Mutex::new(Vec::new());

/// The pool of the last call, by the number of threads in its options.
static POOL: Mutex<Option<(usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// Returns a pool of `threads` threads, or of as many as there are for 0.
fn pool(threads: usize) -> Result<Arc<ThreadPool>, Failure> {
    let mut last = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((count, pool)) = &*last
        && *count == threads
    {
        return Ok(pool.clone());
    }
    let pool = Arc::new(thread_pool(threads)?);
    *last = Some((threads, pool.clone()));
    Ok(pool)
}

/// Transforms in device memory, enqueued to `stream`. The result is written to the one array of
/// `out`, or to a new array, which is returned.
#[pyfunction]
#[pyo3(signature = (kind, input, out, *, stream))]
pub(super) fn transform_on_device(
    py: Python<'_>,
    kind: &str,
    input: &Bound<'_, PyAny>,
    out: Vec<Bound<'_, PyAny>>,
    stream: usize,
) -> PyResult<Vec<Array>> {
    let kind = Kind::of(kind, 1)?;
    let input = ImportedArray::take(input, "input", stream)?;
    let out = outputs(&out, 1, stream)?;
    detached(py, move || {
        let (batch, shape) = kind.split(&input)?;
        let work = match kind {
            Kind::Line(kind) => PlanKey::Lines { kind, n: shape[0], batch },
            Kind::Map(kind) => PlanKey::Maps { kind, shape: [shape[0], shape[1]], batch },
            Kind::Array(..) => {
                return Err(Failure::Value("input: expected host memory".to_owned()));
            }
        };
        on_device(work, &input, &out, &[&input.shape], stream)
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Line(Transform1d),
    Map(Transform),
    /// Of so many axes.
    Array(TransformNd, usize),
}

impl From<Kind> for TransformNd {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Line(kind) => kind.into(),
            Kind::Map(kind) => kind.into(),
            Kind::Array(kind, _) => kind,
        }
    }
}

impl Kind {
    fn of(name: &str, axes: usize) -> PyResult<Self> {
        Ok(match name {
            "dct" => Kind::Line(Transform1d::Dct),
            "idct" => Kind::Line(Transform1d::Idct),
            "idxst" => Kind::Line(Transform1d::Idxst),
            "dct2" => Kind::Map(Transform::Dct),
            "idct2" => Kind::Map(Transform::Idct),
            "idct_idxst" => Kind::Map(Transform::IdctIdxst),
            "idxst_idct" => Kind::Map(Transform::IdxstIdct),
            "dctn" => Kind::Array(TransformNd::Dct, axes),
            "idctn" => Kind::Array(TransformNd::Idct, axes),
            other => {
                let text = format!("kind: no transform is called {other}");
                return Err(Failure::Value(text).into());
            }
        })
    }

    /// How many there are in `input`, and the axes of one.
    fn split(self, input: &ImportedArray) -> Result<(usize, &[usize]), Failure> {
        let axes = match self {
            Kind::Line(_) => 1,
            Kind::Map(_) => 2,
            Kind::Array(_, axes) => axes,
        };
        let Some(leading) = input.shape.len().checked_sub(axes) else {
            let found = input.shape.len();
            return Err(Failure::Value(format!(
                "input: expected {axes} axes or more, found {found}"
            )));
        };
        let (batch, shape) = input.shape.split_at(leading);
        Ok((batch.iter().product(), shape))
    }

    fn run<T: EngineReal>(
        self,
        input: &ImportedArray,
        out: &mut ImportedArray,
        threads: usize,
    ) -> Result<(), Failure> {
        let (batch, shape) = self.split(input)?;
        let (from, to) = (input.values::<T>()?, out.values_mut::<T>()?);
        let bits = input.bits;
        let key = HostKey { kind: self, shape: shape.to_vec(), batch, bits, threads };
        let plans = || PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = {
            let mut plans = plans();
            plans.iter().position(|(of, _)| *of == key).map(|at| plans.remove(at).1)
        };
        let mut plan = match kept {
            Some(plan) => plan.downcast::<Plan<T>>().expect("the key names the type"),
            None => Box::new(Plan::for_threads(self, shape, Method::default(), batch, threads)?),
        };
        plan.run(from, to)?;
        if from.len() <= MOST_VALUES {
            let mut plans = plans();
            plans.insert(0, (key, plan));
            plans.truncate(MOST_PLANS);
        }
        Ok(())
    }
}
