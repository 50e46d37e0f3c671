//! `placefield dct`: cosine and sine transforms of an array along chosen axes.

use super::order::{inverse, permuted};
use super::{ArrayArgs, check_result, read::Array, rounded, sizes};
use crate::cli::document::{Content, write_document};
use crate::cli::engines::on_cpu;
use crate::cli::failure::{Failure, usage};
use crate::cli::input::use_threads;
use crate::cli::maps::{Element, write_npy};
use crate::cli::options::{has_repeats, only_one_device};
use crate::cli::outputs::Outputs;
use crate::cli::results::{list, tell};
use crate::cli::terminal::stdout;
use crate::cpu::transforms::Plan;
use crate::engine::Descriptor;
#[cfg(feature = "cuda")]
use crate::engines::EngineChoice;
use crate::engines::{self, Opened};
use crate::memory;
use crate::real::with_precision;
use crate::transform::{Method, Transform, Transform1d, TransformNd};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `placefield dct`.
#[derive(Args)]
pub(crate) struct DctArgs {
    /// A NumPy file of real numbers; - for standard input
    #[arg(value_name = "IN.npy")]
    input: PathBuf,
    /// Write the transformed array as a NumPy file; - for standard output
    #[arg(short, long, value_name = "OUT.npy")]
    out: PathBuf,
    /// Transform along every axis, or two transforms, for the first and the second axis. All are
    /// unnormalised sums; the documentation compares their scaling with SciPy and FFTW
    #[arg(long, value_enum, value_name = "KIND", default_value_t = Kind::Dct)]
    kind: Kind,
    /// Axes, from 0, or backwards from -1 for the last one [default: all, or the last two for kinds
    /// of two transforms]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', allow_hyphen_values = true)]
    axes: Option<Vec<i64>>,
    #[command(flatten)]
    array: ArrayArgs,
    /// Write a summary as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Dct,
    Idct,
    Idxst,
    IdctIdxst,
    IdxstIdct,
}

/// A transform of the last axes of an array, in one plan.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Lines(Transform1d),
    Maps(Transform),
}

impl Kind {
    fn is_joined(self) -> bool {
        matches!(self, Kind::IdctIdxst | Kind::IdxstIdct)
    }

    /// Returns the steps that transform `axes` axes, each with the number of axes that it takes.
    fn steps(self, axes: usize) -> Vec<Step> {
        // Two axes at a time, as the fused transforms take them.
        let in_pairs = |pair, line| {
            let mut steps = vec![Step::Maps(pair); axes / 2];
            steps.extend((axes % 2 == 1).then_some(Step::Lines(line)));
            steps
        };
        match self {
            Kind::Dct => in_pairs(Transform::Dct, Transform1d::Dct),
            Kind::Idct => in_pairs(Transform::Idct, Transform1d::Idct),
            Kind::Idxst => vec![Step::Lines(Transform1d::Idxst); axes],
            Kind::IdctIdxst => vec![Step::Maps(Transform::IdctIdxst)],
            Kind::IdxstIdct => vec![Step::Maps(Transform::IdxstIdct)],
        }
    }
}

impl Step {
    /// Axes that it takes.
    fn axes(self) -> usize {
        match self {
            Step::Lines(_) => 1,
            Step::Maps(_) => 2,
        }
    }
}

/// The JSON document of a transform.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DctReport {
    /// Length of the array along every axis.
    shape: Vec<usize>,
    /// The options.
    options: DctOptions,
    /// Milliseconds of each part.
    timings_ms: DctTimings,
}

impl Content for DctReport {
    const COMMAND: &'static str = "dct";
}

#[derive(Serialize, JsonSchema)]
struct DctOptions {
    /// The transform.
    kind: Kind,
    /// Along these axes, from 0.
    axes: Vec<usize>,
    /// `"cpu"` or `"cuda"`.
    engine: &'static str,
    /// The device's name.
    device: String,
    /// Working precision.
    precision: crate::Precision,
}

#[derive(Serialize, JsonSchema)]
struct DctTimings {
    /// The transforms, copies to and from a device with them.
    transform: f64,
}

/// Reads, transforms, writes, prints.
pub(crate) fn run(args: &DctArgs) -> Result<(), Failure> {
    only_one_device(args.array.engine)?;
    Outputs::default()
        .file("--out", Some(&args.out))
        .file("--json", args.json.as_ref())
        .check(std::slice::from_ref(&args.input))?;
    use_threads(args.array.threads)?;
    let array = Array::read(&args.input)?;
    let axes = chosen_axes(args, &array.shape)?;
    let precision = args.array.precision(&array);
    // The array, its copy in the working precision, the output, and working memory.
    memory::require(&format!("{} values", sizes(&array.shape)), 32 * array.values.len() as u64)?;
    with_precision!(precision, T => transform::<T>(args, &array, axes))
}

const NAMED_ONCE: &str = "--axes: each axis can be named once";
const TWO_AXES: &str = "--kind: two joined transforms take two axes";

/// Returns the axes given, each below the number there are.
fn chosen_axes(args: &DctArgs, shape: &[usize]) -> Result<Vec<usize>, Failure> {
    let there = shape.len();
    // Wrong whatever the array is: the command line's fault.
    let wrong = |message: &str| Err(usage(ErrorKind::ValueValidation, message));
    let asked = args.axes.as_deref().unwrap_or_default();
    if has_repeats(asked) {
        return wrong(NAMED_ONCE);
    }
    if args.kind.is_joined() && args.axes.is_some() && asked.len() != 2 {
        return wrong(TWO_AXES);
    }
    let axes: Vec<usize> = match &args.axes {
        None if args.kind.is_joined() => (there.saturating_sub(2)..there).collect(),
        None => (0..there).collect(),
        Some(asked) => {
            let resolve = |&a: &i64| {
                let axis = if a < 0 { a + there as i64 } else { a };
                usize::try_from(axis).ok().filter(|&axis| axis < there)
            };
            match asked.iter().map(resolve).collect() {
                Some(axes) => axes,
                None => return Err(format!("--axes: the array has {there} axes").into()),
            }
        }
    };
    if has_repeats(&axes) {
        return Err(NAMED_ONCE.into());
    }
    if args.kind.is_joined() && axes.len() != 2 {
        return Err(TWO_AXES.into());
    }
    Ok(axes)
}

fn transform<T: Element>(args: &DctArgs, array: &Array, axes: Vec<usize>) -> Result<(), Failure> {
    let Opened { engine: choice, note } = engines::resolve(args.array.engine)?;
    let start = Instant::now();
    let mut engine: Box<dyn Transforms<T>> = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => {
            let gpu = crate::cuda::Gpu::open(device);
            Box::new(gpu.map_err(|e| engines::advise(Failure::from(e), &note))?)
        }
        _ => Box::new(OnCpu),
    };
    let mut values = rounded::<T>(array, 0.0)?;
    let mut left = &axes[..];
    for step in args.kind.steps(axes.len()) {
        let (now, later) = left.split_at(step.axes());
        left = later;
        values = along(&*engine, step, &values, &array.shape, now)?;
    }
    check_result("the transform", &values)?;
    let transform_ms = start.elapsed().as_secs_f64() * 1e3;
    write_npy(&args.out, &array.shape, &values)?;
    let ran = engine.ran();
    let report = DctReport {
        shape: array.shape.clone(),
        options: DctOptions {
            kind: args.kind,
            axes,
            engine: ran.engine,
            device: ran.device,
            precision: T::PRECISION,
        },
        timings_ms: DctTimings { transform: transform_ms },
    };
    let mut outputs = vec![&args.out];
    write_document(args.json.as_ref(), &[&array.path], &outputs, &report)?;
    outputs.extend(&args.json);
    tell(note.as_slice(), &[]);
    if outputs.iter().any(|path| *path == Path::new("-")) {
        return Ok(());
    }
    print(&report)?;
    Ok(list(&outputs)?)
}

/// Runs one step along `axes` of an array: they are brought to the end, transformed, and brought
/// back.
fn along<T: Element>(
    engine: &dyn Transforms<T>,
    step: Step,
    values: &[T],
    shape: &[usize],
    axes: &[usize],
) -> Result<Vec<T>, Failure> {
    let mut order: Vec<usize> = (0..shape.len()).filter(|k| !axes.contains(k)).collect();
    order.extend(axes);
    let turned_shape: Vec<usize> = order.iter().map(|&k| shape[k]).collect();
    let as_it_lies = order.is_sorted();
    let turned = if as_it_lies { None } else { Some(permuted(values, shape, &order)) };
    let input = turned.as_deref().unwrap_or(values);
    let last = &turned_shape[turned_shape.len() - axes.len()..];
    let batch = values.len() / last.iter().product::<usize>();
    let output = engine.run(step, last, batch, input)?;
    Ok(if as_it_lies { output } else { permuted(&output, &turned_shape, &inverse(&order)) })
}

/// Batches of transforms on an engine.
trait Transforms<T> {
    /// `batch` arrays of `shape`, one or two axes.
    fn run(&self, step: Step, shape: &[usize], batch: usize, x: &[T]) -> Result<Vec<T>, Failure>;

    fn ran(&mut self) -> Descriptor;
}

struct OnCpu;

impl<T: Element> Transforms<T> for OnCpu {
    fn run(&self, step: Step, shape: &[usize], batch: usize, x: &[T]) -> Result<Vec<T>, Failure> {
        let mut out = memory::filled(x.len(), T::zero());
        let kind = match step {
            Step::Lines(kind) => TransformNd::from(kind),
            Step::Maps(kind) => TransformNd::from(kind),
        };
        Plan::batched(kind, shape, Method::default(), batch)?.run(x, &mut out)?;
        Ok(out)
    }

    fn ran(&mut self) -> Descriptor {
        on_cpu()
    }
}

#[cfg(feature = "cuda")]
impl<T: Element> Transforms<T> for crate::cuda::Gpu {
    fn run(&self, step: Step, shape: &[usize], batch: usize, x: &[T]) -> Result<Vec<T>, Failure> {
        use crate::cuda::transforms::Plan;
        let x = self.upload(x)?;
        let mut out = self.zeros(x.len())?;
        match step {
            Step::Lines(kind) => {
                let plan = Plan::of_lines(self, kind, shape[0], Method::default(), batch);
                plan?.run(&x, &mut out)?;
            }
            Step::Maps(kind) => {
                let method = Method::default();
                Plan::of_maps(self, kind, shape[0], shape[1], method, batch)?.run(&x, &mut out)?;
            }
        }
        Ok(self.download(&out)?)
    }

    fn ran(&mut self) -> Descriptor {
        Descriptor { engine: "cuda", device: self.info().name.clone() }
    }
}

fn print(report: &DctReport) -> io::Result<()> {
    let mut out = stdout()?;
    let shape = &report.shape;
    let DctOptions { kind, axes, engine, device, precision } = &report.options;
    let kind = kind.to_possible_value().map_or(String::new(), |k| k.get_name().to_owned());
    let axes = axes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    writeln!(out, "array      {}", sizes(shape))?;
    writeln!(
        out,
        "transform  {kind} along axes {axes}, {engine} ({device}), {precision}: {:.3} ms",
        report.timings_ms.transform
    )
}
