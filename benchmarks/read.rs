//! How fast a design of bigblue4's size is read, and in how much memory:
//! `cargo bench --bench read [-- --design NAME --runs R --threads T --json FILE]`.
//!
//! Generates a design at the statistics of ISPD 2005's `NAME`, writes it to a
//! temporary folder and reads it `R` times, after one warm-up, each time in a
//! fresh process, so that the peak of resident memory (`VmHWM`, mapped file
//! pages included) is that of one read. The files are in the page cache: what
//! is timed is `read_design`, from the call to the design, not the disk. Then the
//! process writes the `.pl` anew, which is timed as well.
//!
//! Two netlists take turns: `local`, as generated, and `scattered`, with every
//! pin on a node drawn uniformly from the whole design, which is the worst
//! case for looking names up.

#[path = "harness/mod.rs"]
mod harness;

use harness::Sample;
use placefield::bookshelf::{ReadOptions, read_design, write_pl};
use placefield::cli::generate::{Spec, generate, write_bookshelf};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const SEED: u64 = 4;
const NETLISTS: [&str; 2] = ["local", "scattered"];

/// What one read took; the child writes it, the parent reads it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Read {
    wall_ms: f64,
    /// Processor time, user and system, of all threads.
    cpu_ms: f64,
    peak_bytes: u64,
    file_bytes: u64,
    nodes: usize,
    nets: usize,
    pins: usize,
    /// Of the design's `.pl`, written after it was read.
    write_ms: f64,
    written_bytes: u64,
}

#[derive(Serialize)]
struct Row {
    netlist: &'static str,
    nodes: usize,
    nets: usize,
    pins: usize,
    file_bytes: u64,
    wall: Sample,
    cpu: Sample,
    megabytes_per_second: f64,
    peak_bytes: u64,
    peak_over_file_bytes: f64,
    write_pl: Sample,
    written_bytes: u64,
    megabytes_per_second_written: f64,
}

#[derive(Serialize)]
struct Report {
    benchmark: &'static str,
    machine: String,
    design: String,
    seed: u64,
    threads: String,
    timed: &'static str,
    rows: Vec<Row>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let option =
        |name: &str, otherwise: &str| harness::option(name).unwrap_or_else(|| otherwise.to_owned());
    let child = option("--read", "");
    if !child.is_empty() {
        println!("{}", serde_json::to_string(&read_once(Path::new(&child))?)?);
        return Ok(());
    }
    let (design, threads) = (option("--design", "bigblue4"), option("--threads", "2"));
    let runs: usize = option("--runs", "7").parse()?;

    let folder = tempfile::tempdir()?;
    let files = write_designs(&design, folder.path())?;
    let mut reads = NETLISTS.map(|_| Vec::new());
    for run in 0..=runs {
        for (aux, reads) in files.iter().zip(&mut reads) {
            let read = read_in_child(aux, &threads)?;
            if run > 0 {
                reads.push(read);
            }
        }
    }
    let rows: Vec<Row> = NETLISTS.into_iter().zip(&reads).map(|(n, r)| row(n, r)).collect();
    println!("| netlist | files | wall | processor | speed | peak memory | peak / files | .pl |");
    println!("|---|---|---|---|---|---|---|---|");
    for r in &rows {
        println!(
            "| {} | {:.0} MB | {:.0} ms | {:.0} ms | {:.0} MB/s | {:.0} MB | {:.2} | {:.0} MB/s |",
            r.netlist,
            r.file_bytes as f64 / 1e6,
            r.wall.median_ms,
            r.cpu.median_ms,
            r.megabytes_per_second,
            r.peak_bytes as f64 / 1e6,
            r.peak_over_file_bytes,
            r.megabytes_per_second_written,
        );
    }
    harness::save(&Report {
        benchmark: "read",
        machine: harness::machine(),
        design,
        seed: SEED,
        threads,
        timed: "read_design in a fresh process, files in the page cache, one warm-up",
        rows,
    });
    Ok(())
}

/// Writes the design once for each of [`NETLISTS`] and gives the `.aux` files.
fn write_designs(name: &str, folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut design = generate(&Spec::preset(name)?.seeded(SEED))?;
    let mut files = Vec::new();
    for netlist in NETLISTS {
        if let ("scattered", Some(nets)) = (netlist, &mut design.nets) {
            let mut random = Pcg64Mcg::seed_from_u64(SEED);
            let nodes = design.nodes.len() as u32;
            nets.pin_node.iter_mut().for_each(|node| *node = random.random_range(0..nodes));
        }
        write_bookshelf(&design, &folder.join(netlist))?;
        files.push(folder.join(netlist).join(&design.name).with_extension("aux"));
    }
    Ok(files)
}

fn read_in_child(aux: &Path, threads: &str) -> Result<Read, Box<dyn Error>> {
    let child = Command::new(std::env::current_exe()?)
        .args(["--read".as_ref(), aux.as_os_str()])
        .env("RAYON_NUM_THREADS", threads)
        .output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into());
    }
    Ok(serde_json::from_slice(&child.stdout)?)
}

fn read_once(aux: &Path) -> Result<Read, Box<dyn Error>> {
    let start = Instant::now();
    let loaded = read_design(aux, &ReadOptions::default())?;
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    let (cpu_ms, peak_bytes) = (cpu_ms()?, peak_bytes()?);
    let written = aux.with_extension("written.pl");
    let start = Instant::now();
    write_pl(&written, &loaded.design)?;
    let write_ms = start.elapsed().as_secs_f64() * 1e3;
    let written_bytes = std::fs::metadata(&written)?.len();
    std::fs::remove_file(&written)?;
    let nets = loaded.design.nets.as_ref().ok_or("no nets")?;
    Ok(Read {
        wall_ms,
        cpu_ms,
        peak_bytes,
        file_bytes: loaded.bytes_read,
        nodes: loaded.design.nodes.len(),
        nets: nets.len(),
        pins: nets.pins(),
        write_ms,
        written_bytes,
    })
}

/// Most memory this process had resident so far.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}

/// Processor time this process used so far.
fn cpu_ms() -> Result<f64, Box<dyn Error>> {
    const MS_PER_TICK: f64 = 10.0; // USER_HZ is 100
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field, a name in parentheses, may hold anything; utime and stime are 14 and 15.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|t| t.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() * MS_PER_TICK)
}

fn row(netlist: &'static str, reads: &[Read]) -> Row {
    let wall = Sample::of(reads.iter().map(|r| r.wall_ms).collect());
    let peak_bytes = reads.iter().map(|r| r.peak_bytes).max().unwrap_or(0);
    let Read { nodes, nets, pins, file_bytes, written_bytes, .. } = reads[0];
    let write_pl = Sample::of(reads.iter().map(|r| r.write_ms).collect());
    Row {
        netlist,
        nodes,
        nets,
        pins,
        file_bytes,
        wall,
        cpu: Sample::of(reads.iter().map(|r| r.cpu_ms).collect()),
        megabytes_per_second: file_bytes as f64 / wall.median_ms / 1e3,
        peak_bytes,
        peak_over_file_bytes: peak_bytes as f64 / file_bytes as f64,
        write_pl,
        written_bytes,
        megabytes_per_second_written: written_bytes as f64 / write_pl.median_ms / 1e3,
    }
}
