//! `placefield solve`: the field of a density that is given as an array.

use super::{ArrayArgs, check_result, read::Array, rounded, sizes};
use crate::cli::document::{Content, write_document};
#[cfg(feature = "cuda")]
use crate::cli::engines::advise;
use crate::cli::engines::{self, Chosen, decide, with_precision};
use crate::cli::failure::Failure;
use crate::cli::input::use_threads;
use crate::cli::maps::{Element, write_npy};
use crate::cli::memory;
use crate::cli::options::{EngineChoice, PipelineArg, pipeline};
use crate::cli::outputs::{Names, Outputs, PICTURES, to_stdout};
use crate::cli::picture_args::FieldArgs;
use crate::cli::pictures::draw_solve;
use crate::cli::ranks::{RankArgs, RankOptions, writes};
use crate::cli::report::{FieldReport, GridReport};
use crate::cli::results::{list, tell};
use crate::cli::terminal::stdout;
use crate::cpu::solve::{Fields, Solver};
use crate::engine::{Descriptor, Pipeline};
use crate::grid::{BinGrid, Map, Rect};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Options of `placefield solve`.
#[derive(Args)]
pub(crate) struct SolveArrayArgs {
    /// The density ρ of nx x ny bins, y contiguous, as a NumPy file; - for standard input
    #[arg(value_name = "RHO.npy")]
    rho: PathBuf,
    /// Folder for potential.npy, field_x.npy and field_y.npy; made when it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Width and height of a bin; of both only the ratio matters, for lengths are in bin widths
    #[arg(long, value_name = "W[xH]", default_value = "1x1", value_parser = bin_size)]
    bin_size: (f64, f64),
    /// How the solve is composed of transforms; auto takes the fastest
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

/// Parses `--bin-size`.
fn bin_size(text: &str) -> Result<(f64, f64), String> {
    let (width, height) = text.split_once('x').unwrap_or((text, text));
    // Areas of dies are finite in this range.
    let length = |text: &str| text.parse().ok().filter(|v| (1e-100..=1e100).contains(v));
    length(width).zip(length(height)).ok_or_else(|| {
        "expected a length from 1e-100 to 1e100 or two joined by x, as in 20x12".to_owned()
    })
}

/// The names of a solve's files.
const FILES: [&str; 3] = ["potential.npy", "field_x.npy", "field_y.npy"];

/// The JSON document of a solve.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SolveReport {
    /// The bins; of their sizes only the ratio matters.
    grid: GridReport,
    /// How it was solved.
    options: SolveOptions,
    /// Mean of ρ, which has no field.
    mean: f64,
    /// Energy and extremes of φ and E.
    field: FieldReport,
    /// Milliseconds by what was done.
    timings_ms: SolveTimings,
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
    /// The solve, copies to and from a device left out.
    solve: f64,
}

/// φ, Ex and Ey, in host memory.
struct Solved<T> {
    maps: [Vec<T>; 3],
    energy: f64,
    pipeline: Pipeline,
    milliseconds: f64,
    ran: Descriptor,
    note: Option<String>,
}

/// Reads, solves, writes, prints; of several processes rank 0 writes and prints.
pub(crate) fn run(args: &SolveArrayArgs) -> Result<(), Failure> {
    args.array.engine.only_one()?;
    let rank = args.ranks.options(args.array.engine)?;
    use_threads(args.array.threads)?;
    let rho = Array::read(&args.rho)?;
    let [nx, ny] = rho.shape[..] else {
        let shape = sizes(&rho.shape);
        return Err(format!("{}: {shape} values: expected two axes, x and y", rho.path).into());
    };
    let (width, height) = args.bin_size;
    let die = Rect::at(0.0, 0.0, width * nx as f64, height * ny as f64);
    let grid = BinGrid::new(die, nx, ny).map_err(|e| format!("{}: {e}", rho.path))?;
    let precision = args.array.precision(&rho);
    memory::check_bins(&grid, 1, precision)?;
    with_precision!(precision, T => solve::<T>(args, &rho, &grid, rank.as_ref()))
}

fn solve<T: Element>(
    args: &SolveArrayArgs,
    rho: &Array,
    grid: &BinGrid,
    rank: Option<&RankOptions>,
) -> Result<(), Failure> {
    let shape = [grid.nx(), grid.ny()];
    // Without its mean ρ has the same field, and loses less when it is rounded.
    let mean = rho.values.iter().sum::<f64>() / rho.values.len() as f64;
    let centred = Map::from_vec(shape[0], shape[1], rounded::<T>(rho, mean)?);
    if rank.is_none_or(writes) {
        Outputs::default()
            .file("--json", args.json.as_ref())
            .folder("--out", Some(&args.out), Names::These(&FILES))
            .folder("--plots", args.plots.as_ref(), PICTURES)
            .check(std::slice::from_ref(&args.rho))?;
    }
    let Chosen { engine: choice, note } = decide(args.array.engine)?;
    let pipeline = args.pipeline.unwrap_or(Pipeline::ThreePass);
    let solved = match choice {
        choice if let Some(rank) = rank => {
            let Some(solved) = on_ranks(&centred, grid, pipeline, rank, choice)? else {
                return Ok(());
            };
            solved
        }
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => {
            on_device(&centred, grid, pipeline, device).map_err(|e| advise(e, &note))?
        }
        #[cfg(feature = "cuda")]
        EngineChoice::Several(devices) => on_devices(&centred, grid, pipeline, devices)?,
        _ => on_cpu(&centred, grid, pipeline),
    };
    let Solved { maps, energy, pipeline, milliseconds, ran, note: other } = solved;
    check_result("the energy", &[energy])?;
    maps.iter().try_for_each(|map| check_result("the field", map))?;

    let mut files = Vec::new();
    for (name, map) in FILES.iter().zip(&maps) {
        let path = args.out.join(name);
        write_npy(&path, &shape, map)?;
        files.push(path);
    }
    if let Some(folder) = &args.plots {
        let maps = maps.each_ref().map(|map| Map::from_vec(shape[0], shape[1], map.clone()));
        let density = Map::from_vec(shape[0], shape[1], rho.values.clone());
        let name = Path::new(&rho.path).file_stem().unwrap_or_default().to_string_lossy();
        files.extend(draw_solve(&name, &density, &maps, grid, &args.lines, folder)?);
    }
    let [potential, field_x, field_y] = &maps;
    let range = |of: fn(f64, f64) -> f64, from: f64, map: &[T]| {
        map.iter().fold(from, |m, v| of(m, v.wide()))
    };
    let largest = |map: &[T]| map.iter().fold(0.0, |m: f64, v| m.max(v.wide().abs()));
    let report = SolveReport {
        grid: GridReport::of(grid),
        options: SolveOptions {
            engine: ran.engine,
            device: ran.device,
            pipeline,
            precision: T::PRECISION,
        },
        mean,
        field: FieldReport {
            energy,
            potential_min: range(f64::min, f64::INFINITY, potential),
            potential_max: range(f64::max, f64::NEG_INFINITY, potential),
            field_x_max: largest(field_x),
            field_y_max: largest(field_y),
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

fn on_cpu<T: Element>(rho: &Map<T>, grid: &BinGrid, pipeline: Pipeline) -> Solved<T> {
    let mut solver = Solver::<T>::new(grid, pipeline, 0);
    let mut fields = Fields::new(grid.nx(), grid.ny());
    let start = Instant::now();
    let (energy, _) = solver.solve(rho, &mut fields);
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let Fields { potential, field_x, field_y } = fields;
    let maps = [potential, field_x, field_y].map(Map::into_vec);
    Solved { maps, energy, pipeline, milliseconds, ran: engines::on_cpu(), note: None }
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
    let maps = [
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
    devices: crate::cli::options::Devices,
) -> Result<Solved<T>, Failure> {
    use crate::cli::engines::{devices_named, devices_note};
    use crate::cuda::{CudaError, Peers, SlabSolver, Workload};
    let asked = devices_named(devices)?;
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
    let Some(maps) = solver.gather(&fields)? else { return Ok(None) };
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
    let hash = Fnv1a::new().list(rho.as_slice().iter().map(|value| value.wide().to_bits()));
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
    let (bins, f) = (report.grid.bins, &report.field);
    let SolveOptions { engine, device, pipeline, precision } = &report.options;
    writeln!(out, "density    {} x {} bins, mean {:.6}", bins[0], bins[1], report.mean)?;
    writeln!(
        out,
        "solve      {engine} ({device}), {pipeline}, {precision}: {:.3} ms",
        report.timings_ms.solve
    )?;
    writeln!(
        out,
        "field      energy {:.6e}, potential {:.4} to {:.4}, |Ex| <= {:.4}, |Ey| <= {:.4}",
        f.energy, f.potential_min, f.potential_max, f.field_x_max, f.field_y_max
    )
}
