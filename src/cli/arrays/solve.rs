//! `placefield solve`: the potential and field of a density in an array.

use super::{ArrayArgs, check_result, read::Array, rounded, sizes};
use crate::cli::document::{Content, write_document};
use crate::cli::engines::on_cpu as cpu_descriptor;
use crate::cli::failure::{Failure, usage};
use crate::cli::input::use_threads;
use crate::cli::maps::{Element, write_npy};
use crate::cli::memory;
use crate::cli::options::{PipelineArg, pipeline};
use crate::cli::outputs::{Names, Outputs, PICTURES, to_stdout};
use crate::cli::picture_args::FieldArgs;
use crate::cli::pictures::draw_solve;
use crate::cli::ranks::{RankArgs, RankOptions, writes};
use crate::cli::results::{list, tell};
use crate::cli::terminal::stdout;
use crate::cpu::solve::{Fields, Solver, VolumeFields, VolumeSolver};
use crate::engine::{Descriptor, Pipeline};
use crate::engines::{self, EngineChoice, Opened};
use crate::evaluate::FieldReport;
use crate::grid::{BinGrid, Map, Rect};
use crate::real::with_precision;
use crate::transform::Method;
use clap::Args;
use clap::error::ErrorKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `placefield solve`.
#[derive(Args)]
pub(crate) struct SolveArrayArgs {
    /// A NumPy file with the density ρ of nx x ny bins, y contiguous, or of nx x ny x nz bins, z
    /// contiguous; - for standard input
    #[arg(value_name = "RHO.npy")]
    rho: PathBuf,
    /// Folder for potential.npy, field_x.npy, field_y.npy and, for three axes, field_z.npy; created
    /// if needed
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Width and height of a bin, and its depth for three axes. Only their ratios matter, because
    /// lengths are in bin widths
    #[arg(long, value_name = "W[xH[xD]]", default_value = "1", value_parser = bin_size)]
    bin_size: BinSize,
    /// Method of the solve; auto uses the fastest. Three axes have no three-pass
    #[arg(long, value_parser = pipeline(), default_value = "auto", value_name = "NAME")]
    pipeline: PipelineArg,
    #[command(flatten)]
    array: ArrayArgs,
    /// Write the numbers as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw density, potential and field as PNG and SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    #[command(flatten)]
    lines: FieldArgs,
    #[command(flatten)]
    pub(crate) ranks: RankArgs,
}

/// The lengths of a bin along the first axes, or one along all.
#[derive(Clone, Copy)]
struct BinSize {
    lengths: [f64; 3],
    count: usize,
}

impl BinSize {
    /// Returns the lengths along so many axes.
    fn along(&self, axes: usize) -> Result<&[f64], Failure> {
        match self.count {
            1 => Ok(&self.lengths[..axes]),
            count if count == axes => Ok(&self.lengths[..axes]),
            count => {
                let message = format!(
                    "--bin-size: {count} lengths of an array of {axes} axes: expected {axes}"
                );
                Err(usage(ErrorKind::ValueValidation, &message))
            }
        }
    }
}

/// Parses `--bin-size`.
fn bin_size(text: &str) -> Result<BinSize, String> {
    let expected =
        "expected a length from 1e-100 to 1e100 or two or three joined by x, as in 20x12";
    // Areas of dies are finite in this range.
    let length = |text: &str| text.parse().ok().filter(|v| (1e-100..=1e100).contains(v));
    let given: Option<Vec<f64>> = text.split('x').map(length).collect();
    match given.as_deref() {
        Some(&[all]) => Ok(BinSize { lengths: [all; 3], count: 1 }),
        Some(&[w, h]) => Ok(BinSize { lengths: [w, h, h], count: 2 }),
        Some(&[w, h, d]) => Ok(BinSize { lengths: [w, h, d], count: 3 }),
        _ => Err(expected.to_owned()),
    }
}

/// The names of a solve's files; the last is of three axes.
const FILES: [&str; 4] = ["potential.npy", "field_x.npy", "field_y.npy", "field_z.npy"];

/// The JSON document of a solve.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SolveReport {
    /// The bins; only the ratios of their sizes matter.
    grid: BinsReport,
    /// The options.
    options: SolveOptions,
    /// Mean of ρ, which has no field.
    mean: f64,
    /// Energy and extremes of φ and E.
    field: SolvedReport,
    /// Milliseconds of each part.
    timings_ms: SolveTimings,
}

#[derive(Serialize, JsonSchema)]
struct BinsReport {
    /// `[nx, ny]` or `[nx, ny, nz]`.
    bins: Vec<usize>,
    /// The lengths of a bin along these axes.
    bin_size: Vec<f64>,
}

#[derive(Serialize, JsonSchema)]
struct SolvedReport {
    #[serde(flatten)]
    field: FieldReport,
    /// Largest |Ez|, of three axes.
    #[serde(skip_serializing_if = "Option::is_none")]
    field_z_max: Option<f64>,
}

impl Content for SolveReport {
    const COMMAND: &'static str = "solve";
}

#[derive(Serialize, JsonSchema)]
struct SolveOptions {
    /// `"cpu"` or `"cuda"`.
    engine: &'static str,
    /// The device's name.
    device: String,
    /// The pipeline that ran.
    pipeline: Pipeline,
    /// Working precision.
    precision: crate::Precision,
}

#[derive(Serialize, JsonSchema)]
struct SolveTimings {
    /// The solve, without copies to and from a device.
    solve: f64,
}

/// φ and the field along every axis, in host memory.
struct Solved<T> {
    maps: Vec<Vec<T>>,
    energy: f64,
    pipeline: Pipeline,
    milliseconds: f64,
    ran: Descriptor,
    note: Option<String>,
}

/// Reads, solves, writes, prints; of several processes rank 0 writes and prints.
pub(crate) fn run(args: &SolveArrayArgs) -> Result<(), Failure> {
    let rank = args.ranks.options(args.array.engine)?;
    use_threads(args.array.threads)?;
    let rho = Array::read(&args.rho)?;
    let axes = rho.shape.len();
    if !(2..=3).contains(&axes) {
        let shape = sizes(&rho.shape);
        let expected = "expected two axes, x and y, or three";
        return Err(format!("{}: {shape} values: {expected}", rho.path).into());
    }
    let precision = args.array.precision(&rho);
    with_precision!(precision, T => solve::<T>(args, &rho, rank.as_ref()))
}

fn solve<T: Element>(
    args: &SolveArrayArgs,
    rho: &Array,
    rank: Option<&RankOptions>,
) -> Result<(), Failure> {
    // All checks come before a folder is made.
    let (shape, bin) = (&rho.shape[..], args.bin_size.along(rho.shape.len())?);
    let bins = match *shape {
        [nx, ny] => {
            let die = Rect::at(0.0, 0.0, bin[0] * nx as f64, bin[1] * ny as f64);
            let grid = BinGrid::new(die, nx, ny).map_err(|e| format!("{}: {e}", rho.path))?;
            memory::check_bins(&grid, 1, T::PRECISION)?;
            Bins::Plane(grid)
        }
        _ => Bins::Volume(method_of_volume(args, rank)?),
    };
    // Without its mean ρ has the same field, and loses less when it is rounded.
    let mean = rho.values.iter().sum::<f64>() / rho.values.len() as f64;
    let centred = rounded::<T>(rho, mean)?;
    let names = if shape.len() == 2 { &FILES[..3] } else { &FILES };
    if rank.is_none_or(writes) {
        Outputs::default()
            .file("--json", args.json.as_ref())
            .folder("--out", Some(&args.out), Names::These(names))
            .folder("--plots", args.plots.as_ref(), PICTURES)
            .check(std::slice::from_ref(&args.rho))?;
    }
    let (solved, note) = match &bins {
        Bins::Plane(grid) => in_plane(args, grid, centred, rank)?,
        Bins::Volume(how) => {
            let (solved, note) = in_volume(args, rho, centred, bin, *how)?;
            (Some(solved), note)
        }
    };
    let Some(solved) = solved else { return Ok(()) };
    let Solved { maps, energy, pipeline, milliseconds, ran, note: other } = solved;
    check_result("the energy", &[energy])?;
    maps.iter().try_for_each(|map| check_result("the field", map))?;

    let mut files = Vec::new();
    for (name, map) in names.iter().zip(&maps) {
        let path = args.out.join(name);
        write_npy(&path, shape, map)?;
        files.push(path);
    }
    if let (Some(folder), Bins::Plane(grid)) = (&args.plots, &bins) {
        let map = |values: &[T]| Map::from_vec(shape[0], shape[1], values.to_vec());
        let maps = [0, 1, 2].map(|k| map(&maps[k]));
        let density = Map::from_vec(shape[0], shape[1], rho.values.clone());
        let name = Path::new(&rho.path).file_stem().unwrap_or_default().to_string_lossy();
        files.extend(draw_solve(&name, &density, &maps, grid, &args.lines, folder)?);
    }
    let (potential, field) = (&maps[0], &maps[1..]);
    let range = |of: fn(f64, f64) -> f64, from: f64, map: &[T]| {
        map.iter().fold(from, |m, v| of(m, v.widen()))
    };
    let largest = |map: &[T]| map.iter().fold(0.0, |m: f64, v| m.max(v.widen().abs()));
    let report = SolveReport {
        grid: BinsReport { bins: shape.to_vec(), bin_size: bin.to_vec() },
        options: SolveOptions {
            engine: ran.engine,
            device: ran.device,
            pipeline,
            precision: T::PRECISION,
        },
        mean,
        field: SolvedReport {
            field: FieldReport {
                energy,
                potential_min: range(f64::min, f64::INFINITY, potential),
                potential_max: range(f64::max, f64::NEG_INFINITY, potential),
                field_x_max: largest(&field[0]),
                field_y_max: largest(&field[1]),
            },
            field_z_max: field.get(2).map(|field| largest(field)),
        },
        timings_ms: SolveTimings { solve: milliseconds },
    };
    write_document(args.json.as_ref(), &[&rho.path], &files, &report)?;
    files.extend(args.json.clone());
    tell(&Vec::from_iter(note.into_iter().chain(other)), &[]);
    if to_stdout(&args.json) {
        return Ok(());
    }
    print(&report)?;
    Ok(list(&files)?)
}

/// The bins of a density.
enum Bins {
    Plane(BinGrid),
    /// Of three axes, with how they are solved.
    Volume((Method, Pipeline)),
}

/// Solves a density of two axes; of several processes only rank 0 has the result. The message is of
/// the choice of an engine.
fn in_plane<T: Element>(
    args: &SolveArrayArgs,
    grid: &BinGrid,
    centred: Vec<T>,
    rank: Option<&RankOptions>,
) -> Result<(Option<Solved<T>>, Option<String>), Failure> {
    let centred = Map::from_vec(grid.nx(), grid.ny(), centred);
    let Opened { engine: choice, note } = engines::resolve(args.array.engine)?;
    let pipeline = args.pipeline.unwrap_or(Pipeline::ThreePass);
    let solved = match choice {
        choice if let Some(rank) = rank => on_ranks(&centred, grid, pipeline, rank, choice)?,
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => Some(
            on_device(&centred, grid, pipeline, device).map_err(|e| engines::advise(e, &note))?,
        ),
        #[cfg(feature = "cuda")]
        EngineChoice::Several(devices) => Some(on_devices(&centred, grid, pipeline, devices)?),
        _ => Some(on_cpu(&centred, grid, pipeline)),
    };
    Ok((solved, note))
}

/// Returns how a density of three axes is solved. Fails where the options ask for what only one of
/// two axes has.
fn method_of_volume(
    args: &SolveArrayArgs,
    rank: Option<&RankOptions>,
) -> Result<(Method, Pipeline), Failure> {
    if args.plots.is_some() {
        let message = "--plots draws densities of two axes, and this one has three";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    if rank.is_some() || matches!(args.array.engine, EngineChoice::Several(_)) {
        let message = "a density of three axes is solved by one engine: expected '--engine' auto, cpu or cuda";
        return Err(usage(ErrorKind::InvalidValue, message));
    }
    match args.pipeline {
        Some(Pipeline::ThreePass) => {
            let message = "--pipeline: three-pass has two axes: expected row-column or fused";
            Err(usage(ErrorKind::InvalidValue, message))
        }
        Some(Pipeline::Fused) => Ok((Method::Fused, Pipeline::Fused)),
        Some(Pipeline::RowColumn) => Ok((Method::RowColumn, Pipeline::RowColumn)),
        None => Ok((Method::Fastest, Pipeline::RowColumn)),
    }
}

/// Solves a density of three axes. The message is of the choice of an engine.
fn in_volume<T: Element>(
    args: &SolveArrayArgs,
    rho: &Array,
    centred: Vec<T>,
    bin: &[f64],
    how: (Method, Pipeline),
) -> Result<(Solved<T>, Option<String>), Failure> {
    let (&[nx, ny, nz], &[x, y, z]) = (&rho.shape[..], bin) else { unreachable!("three axes") };
    let Opened { engine: choice, note } = engines::resolve(args.array.engine)?;
    let solved = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => {
            volume_on_device(&centred, [nx, ny, nz], [x, y, z], how.0, device)
                .map_err(|e| engines::advise(e, &note))?
        }
        _ => volume_on_cpu(rho, centred, [nx, ny, nz], [x, y, z], how)?,
    };
    Ok((solved, note))
}

#[cfg(feature = "cuda")]
fn volume_on_device<T: Element>(
    centred: &[T],
    shape: [usize; 3],
    bin: [f64; 3],
    method: Method,
    device: usize,
) -> Result<Solved<T>, Failure> {
    use crate::cuda::{self, Gpu, transforms::Path};
    let gpu = Gpu::open(device)?;
    let mut solver = cuda::VolumeSolver::<T>::new(&gpu, shape, bin, method)?;
    let mut fields = cuda::VolumeFields::new(&gpu, centred.len())?;
    let rho = gpu.upload(centred)?;
    gpu.synchronize()?;
    let start = Instant::now();
    solver.solve(&rho, &mut fields)?;
    gpu.synchronize()?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let [x, y, z] = &fields.field;
    let maps = [&fields.potential, x, y, z].map(|map| gpu.download(map));
    let maps = maps.into_iter().collect::<Result<Vec<_>, _>>()?;
    let fused = solver.path() == Path::Fused;
    let pipeline = if fused { Pipeline::Fused } else { Pipeline::RowColumn };
    let ran = Descriptor { engine: "cuda", device: gpu.info().name.clone() };
    let energy = gpu.download(&fields.energy)?[0];
    Ok(Solved { maps, energy, pipeline, milliseconds, ran, note: None })
}

fn volume_on_cpu<T: Element>(
    rho: &Array,
    centred: Vec<T>,
    shape: [usize; 3],
    bin: [f64; 3],
    (method, pipeline): (Method, Pipeline),
) -> Result<Solved<T>, Failure> {
    let mut solver =
        VolumeSolver::<T>::new(shape, bin, method, 0).map_err(|e| format!("{}: {e}", rho.path))?;
    // ρ and the results.
    let bytes = 5 * rho.values.len() as u64 * size_of::<T>() as u64;
    crate::memory::require(&format!("{} bins", sizes(&shape)), bytes)?;
    let mut maps = vec![vec![T::zero(); centred.len()]; 4];
    let [potential, x, y, z] = &mut maps[..] else { unreachable!("four maps") };
    let start = Instant::now();
    let energy = solver.solve(&centred, VolumeFields { potential, field: [x, y, z] })?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    Ok(Solved { maps, energy, pipeline, milliseconds, ran: cpu_descriptor(), note: None })
}

fn on_cpu<T: Element>(rho: &Map<T>, grid: &BinGrid, pipeline: Pipeline) -> Solved<T> {
    let mut solver = Solver::<T>::new(grid, pipeline, 0);
    let mut fields = Fields::new(grid.nx(), grid.ny());
    let start = Instant::now();
    let (energy, _) = solver.solve(rho, &mut fields);
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let Fields { potential, field_x, field_y } = fields;
    let maps = [potential, field_x, field_y].map(Map::into_vec).into();
    Solved { maps, energy, pipeline, milliseconds, ran: cpu_descriptor(), note: None }
}

#[cfg(feature = "cuda")]
fn on_device<T: Element>(
    rho: &Map<T>,
    grid: &BinGrid,
    pipeline: Pipeline,
    device: usize,
) -> Result<Solved<T>, Failure> {
    use crate::cuda::{self, Gpu};
    let gpu = Gpu::open(device)?;
    let mut solver = cuda::solver::<T>(&gpu, grid, pipeline)?;
    let mut fields = cuda::Fields::new(&gpu, grid.bins())?;
    let rho = gpu.upload(rho.as_slice())?;
    gpu.synchronize()?;
    let start = Instant::now();
    solver.solve(&rho, &mut fields)?;
    gpu.synchronize()?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let maps = vec![
        gpu.download(&fields.potential)?,
        gpu.download(&fields.field_x)?,
        gpu.download(&fields.field_y)?,
    ];
    let note = stands_in(pipeline, solver.pipeline());
    let ran = Descriptor { engine: "cuda", device: gpu.info().name.clone() };
    let energy = gpu.download(&fields.energy)?[0];
    Ok(Solved { maps, energy, pipeline: solver.pipeline(), milliseconds, ran, note })
}

/// Returns the message where another pipeline runs than the one given.
#[cfg(feature = "cuda")]
fn stands_in(asked: Pipeline, ran: Pipeline) -> Option<String> {
    (ran != asked).then(|| format!("pipeline: {ran} stands in for {asked} at this size"))
}

/// On as many devices as are worth it.
#[cfg(feature = "cuda")]
fn on_devices<T: Element>(
    rho: &Map<T>,
    grid: &BinGrid,
    pipeline: Pipeline,
    devices: engines::Devices,
) -> Result<Solved<T>, Failure> {
    use crate::cuda::{CudaError, Peers, SlabSolver, Workload};
    use crate::engines::{devices_note, named_devices};
    let asked = named_devices(devices)?;
    let alone = |why: &str| {
        let first = asked[0];
        let mut solved = on_device(rho, grid, pipeline, first)?;
        let note = devices_note(&[first], why);
        solved.note = Some(solved.note.map_or(note.clone(), |other| format!("{note}\n{other}")));
        Ok(solved)
    };
    let (taken, why) = Peers::choose(&asked, Workload::Solve { pipeline }, grid, T::PRECISION);
    if taken.len() < 2 {
        return alone(&why);
    }
    let opened = match Peers::open(&taken) {
        // By messages two take longer than one, which may lack the memory.
        Err(CudaError::Peers(reason)) if taken.len() < Peers::FEWEST_BY_NCCL => {
            match alone(&format!("{reason}; {} by NCCL take more time", taken.len())) {
                Err(error) if is_out_of_memory(&error) => Peers::open_any(&taken),
                outcome => return outcome,
            }
        }
        Err(CudaError::Peers(_)) => Peers::open_any(&taken),
        opened => opened,
    };
    let made = opened.and_then(|peers| Ok((SlabSolver::<T>::new(&peers, grid)?, peers)));
    let (mut solver, peers) = match made {
        Ok(made) => made,
        Err(error @ (CudaError::Peers(_) | CudaError::NoThreePass { .. })) => {
            return alone(&error.to_string());
        }
        Err(error) => return Err(error.into()),
    };
    let note = devices_note(&taken, &format!("{why}, by {}", peers.link()));
    let solved = by_slabs(rho, &peers, &mut solver, note, || Ok(()))?;
    Ok(solved.expect("rank 0 is of this process"))
}

/// Solves by ranks, which begin once `ready` has returned; the process of rank 0 collects the
/// result.
#[cfg(feature = "cuda")]
fn by_slabs<T: Element>(
    rho: &Map<T>,
    peers: &crate::cuda::Peers,
    solver: &mut crate::cuda::SlabSolver<T>,
    note: String,
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<Option<Solved<T>>, Failure> {
    let (rho, mut fields) = (solver.upload(rho.as_slice())?, solver.fields()?);
    peers.synchronize()?;
    ready()?;
    let start = Instant::now();
    solver.solve(&rho, &mut fields)?;
    peers.synchronize()?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let Some(maps) = solver.gather(&fields)?.map(Vec::from) else { return Ok(None) };
    let energy = peers.gpu(0).download(&fields[0].energy)?[0];
    let device = format!("{} x {}", peers.count(), peers.gpu(0).info().name);
    let ran = Descriptor { engine: "cuda", device };
    let pipeline = Pipeline::ThreePass;
    Ok(Some(Solved { maps, energy, pipeline, milliseconds, ran, note: Some(note) }))
}

#[cfg(feature = "cuda")]
fn is_out_of_memory(error: &Failure) -> bool {
    matches!(error.downcast_ref(), Some(crate::cuda::CudaError::OutOfMemory { .. }))
}

/// Solves with the other processes, each of which has some rows; that of rank 0 collects the
/// result.
#[cfg(feature = "cuda")]
fn on_ranks<T: Element>(
    rho: &Map<T>,
    grid: &BinGrid,
    pipeline: Pipeline,
    rank: &RankOptions,
    choice: EngineChoice,
) -> Result<Option<Solved<T>>, Failure> {
    use crate::cli::ranks::device_of;
    use crate::cuda::{CudaError, Peers, SlabSolver};
    use crate::hash::Fnv1a;
    let device = device_of(rank, choice);
    // The others have nothing to do then, and find that as well.
    let alone = |why: &str| {
        if rank.rank() > 0 {
            return Ok(None);
        }
        let mut solved = on_device(rho, grid, pipeline, device)?;
        let note = format!("engine: rank 0 solves alone: {why}");
        solved.note = Some(solved.note.map_or(note.clone(), |other| format!("{note}\n{other}")));
        Ok(Some(solved))
    };
    if pipeline != Pipeline::ThreePass {
        return alone(&format!("{pipeline} runs on one device alone"));
    }
    let peers = Peers::join(rank, device)?;
    let hash = Fnv1a::new().list(rho.as_slice().iter().map(|value| value.widen().to_bits()));
    peers.agree(&[
        ("the version of placefield", env!("CARGO_PKG_VERSION").to_owned()),
        ("the number of bins", sizes(&[grid.nx(), grid.ny()])),
        ("a bin's width by its height", (grid.bin_x() / grid.bin_y()).to_string()),
        ("the precision", T::PRECISION.to_string()),
        ("the hash of the density", format!("{:016x}", hash.finish())),
    ])?;
    let mut solver = match SlabSolver::<T>::new(&peers, grid) {
        Err(error @ CudaError::NoThreePass { .. }) => return alone(&error.to_string()),
        made => made?,
    };
    let note = format!("engine: {} ranks by {}", rank.size(), peers.link());
    // All begin at once.
    by_slabs(rho, &peers, &mut solver, note, || Ok(peers.gather(&[0]).map(drop)?))
}

#[cfg(not(feature = "cuda"))]
fn on_ranks<T: Element>(
    _: &Map<T>,
    _: &BinGrid,
    _: Pipeline,
    rank: &RankOptions,
    _: EngineChoice,
) -> Result<Option<Solved<T>>, Failure> {
    match *rank {}
}

fn print(report: &SolveReport) -> io::Result<()> {
    let mut out = stdout()?;
    let (bins, f) = (sizes(&report.grid.bins), &report.field.field);
    let SolveOptions { engine, device, pipeline, precision } = &report.options;
    writeln!(out, "density    {bins} bins, mean {:.6}", report.mean)?;
    writeln!(
        out,
        "solve      {engine} ({device}), {pipeline}, {precision}: {:.3} ms",
        report.timings_ms.solve
    )?;
    write!(
        out,
        "field      energy {:.6e}, potential {:.4} to {:.4}, |Ex| <= {:.4}, |Ey| <= {:.4}",
        f.energy, f.potential_min, f.potential_max, f.field_x_max, f.field_y_max
    )?;
    match report.field.field_z_max {
        Some(z) => writeln!(out, ", |Ez| <= {z:.4}"),
        None => writeln!(out),
    }
}
