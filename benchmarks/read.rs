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
//!
//! `--def FILE --lef FILE…` reads these files in their place, and writes the `.def` anew. With
//! `--klayout PYTHON`, an interpreter that has the package `klayout`, its reader of LEF and DEF
//! takes turns with this one; what is timed is its `Layout.read`.

#[path = "harness/mod.rs"]
mod harness;

use harness::Sample;
use placefield::bookshelf::{self, write_pl};
use placefield::generate::{Spec, generate, write_bookshelf};
use placefield::lefdef;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const SEED: u64 = 4;
const NETLISTS: [&str; 2] = ["local", "scattered"];

/// Costs of one read; the child process writes them, the parent reads them.
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
    /// Time to write the design's `.pl` or `.def` after it was read.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    klayout: Option<Sample>,
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
    let (def, klayout) = (harness::option("--def"), harness::option("--klayout"));
    let design = def.clone().unwrap_or_else(|| option("--design", "bigblue4"));
    let threads = option("--threads", "2");
    let runs: usize = option("--runs", "7").parse()?;

    let folder = tempfile::tempdir()?;
    let (files, netlists) = match def {
        Some(def) => (vec![PathBuf::from(def)], &["DEF"][..]),
        None => (write_designs(&design, folder.path())?, &NETLISTS[..]),
    };
    let mut reads = vec![Vec::new(); files.len()];
    let mut others = Vec::new();
    for run in 0..=runs {
        for (file, reads) in files.iter().zip(&mut reads) {
            let read = read_in_child(file, &threads)?;
            let other = klayout.as_ref().map(|python| read_by_klayout(python, file)).transpose()?;
            if run > 0 {
                reads.push(read);
                others.extend(other);
            }
        }
    }
    let mut rows: Vec<Row> = netlists.iter().zip(&reads).map(|(n, r)| row(n, r)).collect();
    rows[0].klayout = (!others.is_empty()).then(|| Sample::of(others));
    println!(
        "| netlist | files | wall | processor | speed | peak memory | peak / files | written |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for r in &rows {
        if let Some(other) = r.klayout {
            println!("KLayout: {:.0} ms, {:.0} MB/s", other.median_ms, speed(r.file_bytes, other));
        }
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

/// The LEF files that the command line names.
fn lef_files() -> Vec<String> {
    let args: Vec<String> = std::env::args().collect();
    args.windows(2).filter(|pair| pair[0] == "--lef").map(|pair| pair[1].clone()).collect()
}

/// Milliseconds that KLayout takes to read the same files.
fn read_by_klayout(python: &str, def: &Path) -> Result<f64, Box<dyn Error>> {
    const SCRIPT: &str = "\
import sys, time, klayout.db as db
options = db.LoadLayoutOptions()
options.lefdef_config.lef_files = sys.argv[2:]
options.lefdef_config.read_lef_with_def = False
start = time.perf_counter()
db.Layout().read(sys.argv[1], options)
print(1e3 * (time.perf_counter() - start))";
    let child = Command::new(python).args(["-c", SCRIPT]).arg(def).args(lef_files()).output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into());
    }
    Ok(std::str::from_utf8(&child.stdout)?.trim().parse()?)
}

fn speed(bytes: u64, time: Sample) -> f64 {
    bytes as f64 / time.median_ms / 1e3
}

fn read_in_child(file: &Path, threads: &str) -> Result<Read, Box<dyn Error>> {
    let child = Command::new(std::env::current_exe()?)
        .args(["--read".as_ref(), file.as_os_str()])
        .args(lef_files().iter().flat_map(|lef| ["--lef", lef]))
        .env("RAYON_NUM_THREADS", threads)
        .output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into());
    }
    Ok(serde_json::from_slice(&child.stdout)?)
}

fn read_once(file: &Path) -> Result<Read, Box<dyn Error>> {
    let lef = lef_files();
    let start = Instant::now();
    let (design, file_bytes) = if lef.is_empty() {
        let loaded = bookshelf::read_design(file, &Default::default())?;
        (loaded.design, loaded.bytes_read)
    } else {
        let options = lefdef::ReadOptions::default().lef(&lef);
        let loaded = lefdef::read_design(file, &options)?;
        (loaded.design, loaded.bytes_read)
    };
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    let (cpu_ms, peak_bytes) = (cpu_ms()?, peak_bytes()?);
    let folder = tempfile::tempdir()?;
    let written = folder.path().join("written");
    let start = Instant::now();
    match lef.is_empty() {
        true => write_pl(&written, &design)?,
        false => lefdef::write_placement(&written, file, &design)?,
    }
    let write_ms = start.elapsed().as_secs_f64() * 1e3;
    let written_bytes = std::fs::metadata(&written)?.len();
    let nets = design.nets.as_ref().ok_or("no nets")?;
    Ok(Read {
        wall_ms,
        cpu_ms,
        peak_bytes,
        file_bytes,
        nodes: design.nodes.len(),
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
        megabytes_per_second: speed(file_bytes, wall),
        peak_bytes,
        peak_over_file_bytes: peak_bytes as f64 / file_bytes as f64,
        write_pl,
        written_bytes,
        megabytes_per_second_written: speed(written_bytes, write_pl),
        klayout: None,
    }
}
