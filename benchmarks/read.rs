//! How fast a design of bigblue4's size is read, and in how much memory.
//!
//! `cargo bench --bench read [-- --nodes N] [--runs R] [--threads T] [--folder DIR]`
//!
//! Writes a seeded random design to a temporary folder (or to `DIR`, and keeps it there), then reads it `R`
//! times, each time in a fresh process, so that the peak of resident memory
//! (`VmHWM`, mapped file pages included) is that of one read. The files are in
//! the page cache: what is timed is `read_design`, from the call to the
//! design, not the disk. Pins sit on nodes drawn uniformly from the whole
//! design, the worst case for finding names; real netlists are more local.

use placefield::bookshelf::{ReadOptions, read_design};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Nodes, nets and pins of ISPD2005's bigblue4.
const BIGBLUE4: [u64; 3] = [2_177_353, 2_229_886, 8_900_078];
const SEED: u64 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let at = args.iter().position(|a| a == name)?;
        args.get(at + 1).cloned()
    };
    let number = |name: &str, otherwise: u64| -> Result<u64, std::num::ParseIntError> {
        option(name).map_or(Ok(otherwise), |text| text.parse())
    };
    if let Some(aux) = option("--read") {
        return read_once(Path::new(&aux));
    }
    let nodes = number("--nodes", BIGBLUE4[0])?;
    let runs = number("--runs", 7)?;
    let threads = number("--threads", 2)?;

    let temporary = tempfile::tempdir()?;
    let folder = option("--folder").map_or(temporary.path().to_owned(), PathBuf::from);
    let mut aux = folder.join("d.aux");
    if !aux.exists() {
        aux = generate(&folder, nodes)?;
    }
    let mut results = Vec::new();
    for _ in 0..=runs {
        let child = Command::new(std::env::current_exe()?)
            .args(["--read".as_ref(), aux.as_os_str()])
            .env("RAYON_NUM_THREADS", threads.to_string())
            .output()?;
        if !child.status.success() {
            return Err(String::from_utf8_lossy(&child.stderr).into());
        }
        results.push(serde_json::from_slice::<Value>(&child.stdout)?);
    }
    results.remove(0); // warm-up
    let report = report(&results, threads);
    println!("{report:#}");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("benchmarks/results");
    fs::create_dir_all(&kept)?;
    fs::write(kept.join("read.json"), format!("{report:#}\n"))?;
    Ok(())
}

/// The child: reads the design and says how long it took and how much it held.
fn read_once(aux: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let loaded = read_design(aux, &ReadOptions::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let peak = peak_bytes()?;
    let nets = loaded.design.nets.as_ref().ok_or("no nets")?;
    println!(
        "{}",
        json!({
            "seconds": seconds,
            "cpu_seconds": cpu_seconds()?,
            "peak_bytes": peak,
            "file_bytes": loaded.bytes_read,
            "nodes": loaded.design.nodes.len(),
            "nets": nets.len(),
            "pins": nets.pins(),
        })
    );
    Ok(())
}

/// Most memory this process had resident so far.
fn peak_bytes() -> Result<u64, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}

/// Processor time this process used so far, user and system, all threads.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    const TICKS_PER_SECOND: f64 = 100.0; // USER_HZ
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, a name in parentheses, may hold anything; utime and stime are 14 and 15.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|t| t.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}

fn report(results: &[Value], threads: u64) -> Value {
    let sorted = |key: &str| {
        let mut all: Vec<f64> = results.iter().filter_map(|r| r[key].as_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (seconds, peaks) = (sorted("seconds"), sorted("peak_bytes"));
    let cpu = sorted("cpu_seconds");
    let median = seconds[seconds.len() / 2];
    let bytes = results[0]["file_bytes"].as_f64().unwrap_or(f64::NAN);
    json!({
        "benchmark": "read",
        "machine": machine(),
        "threads": threads,
        "design": {
            "nodes": results[0]["nodes"], "nets": results[0]["nets"], "pins": results[0]["pins"],
            "file_bytes": results[0]["file_bytes"], "seed": SEED,
        },
        "timed": "read_design in a fresh process, files in the page cache",
        "warm_up": 1,
        "repetitions": seconds.len(),
        "seconds": { "median": median, "min": seconds[0], "max": seconds[seconds.len() - 1] },
        "cpu_seconds": { "median": cpu[cpu.len() / 2], "min": cpu[0], "max": cpu[cpu.len() - 1] },
        "megabytes_per_second": bytes / median / 1e6,
        "peak_bytes": peaks[peaks.len() - 1] as u64,
        "peak_over_file_bytes": peaks[peaks.len() - 1] / bytes,
    })
}

fn machine() -> Value {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")?.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    json!({ "cpu": model.unwrap_or("unknown"), "cores": cores })
}

/// Writes a design of bigblue4's shape with `nodes` nodes and gives its `.aux`.
fn generate(folder: &Path, nodes: u64) -> io::Result<PathBuf> {
    let scaled = |n: u64| n * nodes / BIGBLUE4[0];
    let (nets, pins) = (scaled(BIGBLUE4[1]), scaled(BIGBLUE4[2]));
    let mut rng = Pcg64Mcg::seed_from_u64(SEED);
    let side = ((nodes as f64 * 10.0 * 12.0).sqrt() as u64 / 12 + 1) * 12;
    let file = |name: &str, kind: &str| -> io::Result<BufWriter<File>> {
        let mut out = BufWriter::new(File::create(folder.join(name))?);
        if !kind.is_empty() {
            writeln!(out, "UCLA {kind} 1.0\n")?;
        }
        Ok(out)
    };
    let mut out = file("d.aux", "")?;
    writeln!(out, "RowBasedPlacement :  d.nodes  d.nets  d.wts  d.pl  d.scl")?;
    out.flush()?;
    file("d.wts", "wts")?.flush()?;

    let mut out = file("d.nodes", "nodes")?;
    writeln!(out, "NumNodes : \t\t{nodes}\nNumTerminals : \t\t{}", nodes / 256)?;
    for i in 0..nodes {
        let terminal = if i >= nodes - nodes / 256 { "\tterminal" } else { "" };
        writeln!(out, "\to{i}\t{}\t12{terminal}", rng.random_range(4..17))?;
    }
    out.flush()?;

    let mut out = file("d.pl", "pl")?;
    for i in 0..nodes {
        let fixed = if i >= nodes - nodes / 256 { " /FIXED" } else { "" };
        let (x, y) = (rng.random_range(0..side), rng.random_range(0..side));
        writeln!(out, "o{i}\t{x}\t{y}\t: N{fixed}")?;
    }
    out.flush()?;

    let mut out = file("d.nets", "nets")?;
    writeln!(out, "NumNets : {nets}\nNumPins : {pins}\n")?;
    for e in 0..nets {
        let degree = pins * (e + 1) / nets - pins * e / nets;
        writeln!(out, "NetDegree : {degree}   n{e}")?;
        for k in 0..degree {
            let (dx, dy) = (rng.random_range(-16..17), rng.random_range(-12..13));
            let (node, direction) = (rng.random_range(0..nodes), if k == 0 { 'O' } else { 'I' });
            let (dx, dy) = (f64::from(dx) / 2.0, f64::from(dy) / 2.0);
            writeln!(out, "\to{node}\t{direction} : {dx:.6}\t{dy:.6}")?;
        }
    }
    out.flush()?;

    let mut out = file("d.scl", "scl")?;
    writeln!(out, "NumRows : {}\n", side / 12)?;
    for y in (0..side).step_by(12) {
        writeln!(
            out,
            "CoreRow Horizontal\n  Coordinate : {y}\n  Height : 12\n  Sitewidth : 1\n  Sitespacing : 1\n  \
             Siteorient : 1\n  Sitesymmetry : 1\n  SubrowOrigin : 0\tNumSites : {side}\nEnd"
        )?;
    }
    out.flush()?;
    Ok(folder.join("d.aux"))
}
