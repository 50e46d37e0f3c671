//! Ranks that send messages by NCCL: in one process, and in one each. The processes are this test
//! program, started again. NCCL takes each device of a host once: where there is one device alone,
//! every process says that it is on another host (`NCCL_HOSTID`), and they talk over sockets.

use crate::common::bodies::mixed;
use crate::common::{limit, relative_rms, started_for, wide};
use crate::device::{gpu_alone, poisoned};
use crate::maps::{grid, off_axis};
use crate::slabs::{by_one, read, solves_like_one};
use placefield::cuda::internals::ThreePass;
use placefield::cuda::{
    BatchSolver, CudaError, CudaReal, Fields, Gpu, Peers, RankOptions, SlabSolver, probe,
};
use placefield::engine::Pipeline;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Task of a started process: `ROLE RANK`.
const ROLE: &str = "PLACEFIELD_TEST_ROLE";
/// How many processes there are.
const WORLD: usize = 2;
const SIZES: [(usize, usize); 6] =
    [(64, 64), (128, 512), (72, 100), (100, 72), (1024, 512), (512, 1024)];

fn has_two() -> bool {
    probe().devices.len() >= 2
}

#[test]
fn messages_in_one_process_solve_like_one_device() {
    let gpu = gpu_alone();
    let devices = probe().devices.len().min(4);
    for ranks in 1..=devices {
        let peers =
            Peers::open_by_nccl(&(0..ranks).collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{e}"));
        assert!(peers.link().starts_with("NCCL 2."), "{}", peers.link());
        solves_like_one::<f32>(&gpu, &peers, &SIZES);
        solves_like_one::<f64>(&gpu, &peers, &SIZES);
        if ranks > 1 {
            solves_like_one::<f32>(&gpu, &peers, &[(2048, 2048), (4096, 512)]);
        }
    }
}

#[test]
fn graphs_and_engines_need_peer_memory() {
    let _alone = gpu_alone();
    let error = Peers::open_by_nccl(&[0, 0]).err().unwrap().to_string();
    assert_eq!(error, "several devices: device 0 is named twice: NCCL takes each once");
    let peers = Peers::open_by_nccl(&[0]).unwrap();
    let mut solver = SlabSolver::<f32>::new(&peers, &grid(64, 64)).unwrap();
    let (rho, mut fields) =
        (solver.upload(&off_axis::<f32>(64, 64)).unwrap(), solver.fields().unwrap());
    // SAFETY: nothing is captured.
    let refused = unsafe { solver.graphs(&rho, &mut fields) };
    assert!(matches!(refused.err(), Some(CudaError::Peers(_))));
    let charge = mixed(64, 64, 0, 1.0);
    let refused =
        placefield::cuda::CudaEngine::<f32>::on_peers(&peers, charge, &Default::default());
    assert!(refused.err().unwrap().to_string().contains("reach each other's memory"));
}

/// Starts this test program again as a rank: it runs the same test, which then is that rank.
fn start(test: &str, role: &str, rank: usize, place: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.env(ROLE, format!("{role} {rank}")).env("NCCL_COMM_ID", place);
    if !has_two() {
        command.env("NCCL_HOSTID", format!("host of rank {rank}"));
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs as the rank that this process was started as. Returns whether it was started as one.
fn is_rank() -> bool {
    let Some(what) = started_for(ROLE) else { return false };
    let (role, rank) = what.split_once(' ').unwrap_or_else(|| panic!("{what}"));
    let outcome = as_rank(role, rank.parse().unwrap());
    println!("[[{}]]", outcome.map_or_else(|error| error.to_string(), str::to_owned));
    true
}

/// Returns an address of this host where nobody listens.
fn place() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Returns the text that a process printed between brackets.
fn said(role: &str, child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{role}: {text}{}", String::from_utf8_lossy(&output.stderr));
    let begin = text.find("[[").map_or(0, |at| at + 2);
    text[begin..].split("]]").next().unwrap_or_default().to_owned()
}

/// Returns the text of each of two processes, and the time that all took.
fn all(test: &str, role: &str) -> ([String; WORLD], Duration) {
    let (begin, place) = (Instant::now(), place());
    let ranks: [Child; WORLD] = std::array::from_fn(|rank| start(test, role, rank, &place));
    (ranks.map(|child| said(role, child)), begin.elapsed())
}

#[test]
fn two_processes_solve_like_one_device() {
    if !is_rank() {
        let _alone = gpu_alone();
        let (said, _) = all("ranks::two_processes_solve_like_one_device", "solve");
        assert_eq!(said, ["done"; WORLD]);
    }
}

/// A process that ends in the middle, one that is asked for nothing more, one without memory for a
/// solver or for fields, one that leaves too early, and one that has other values.
#[test]
fn faults_of_one_rank_are_errors_of_all() {
    if !is_rank() {
        let _alone = gpu_alone();
        faults_end_all_ranks(|role| all("ranks::faults_of_one_rank_are_errors_of_all", role));
    }
}

fn faults_end_all_ranks(all: impl Fn(&str) -> ([String; WORLD], Duration)) {
    let ([first, _], took) = all("die");
    assert!(first.starts_with("NCCL, "), "{first}");
    assert!(took < Duration::from_secs(25), "{took:?}");
    let ([first, second], _) = all("idle");
    assert!(first.starts_with("NCCL, ") && second == "left", "{first}; {second}");
    // Memory of a device that both ranks share runs out for both.
    if has_two() {
        for role in ["full", "full-later"] {
            let ([first, second], _) = all(role);
            assert!(second.starts_with("out of GPU memory: "), "{role}: {second}");
            assert!(first.starts_with("NCCL, "), "{role}: {first}");
        }
    }
    let ([first, second], _) = all("other");
    assert!(first.starts_with("NCCL, ") && second == "left", "{first}; {second}");
    let (said, _) = all("disagree");
    for (rank, said) in said.iter().enumerate() {
        let expected = format!(
            "several devices: the number is not the same on rank 0 and on rank 1: \
             on rank {rank} it is {rank}"
        );
        assert_eq!(*said, expected);
    }
}

/// Ranks that wait for one that never comes.
#[test]
fn absent_ranks_are_waited_for_with_patience() {
    if !is_rank() {
        let _alone = gpu_alone();
        let begin = Instant::now();
        let place = place();
        for rank in 0..WORLD {
            let test = "ranks::absent_ranks_are_waited_for_with_patience";
            let said = said("alone", start(test, "alone", rank, &place));
            assert!(said.starts_with("NCCL, "), "{said}");
        }
        assert!(begin.elapsed() < Duration::from_secs(25), "{:?}", begin.elapsed());
    }
}

fn as_rank(role: &str, rank: usize) -> Result<&'static str, CudaError> {
    let options = RankOptions::new(rank, WORLD)?.patience(Duration::from_secs(4));
    let peers = Peers::join(&options, rank % probe().devices.len().max(1))?;
    assert_eq!((peers.count(), peers.local()), (WORLD, rank..rank + 1));
    if role == "solve" {
        for turn in 0..2 {
            for size in SIZES.into_iter().chain([(2048, 2048), (4096, 512)]) {
                one_map::<f32>(&peers, size, turn)?;
                one_map::<f64>(&peers, size, turn)?;
            }
        }
        batch(&peers)?;
        return Ok("done");
    }
    if role == "disagree" {
        peers.agree(&[("the name", "same".to_owned()), ("the number", rank.to_string())])?;
        return Ok("agreed");
    }
    let begin = Instant::now();
    let outcome = fault(role, rank, &peers);
    println!("after {:.1} s", begin.elapsed().as_secs_f64());
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    outcome
}

/// Rank 1 does not do its part.
fn fault(role: &str, rank: usize, peers: &Peers) -> Result<&'static str, CudaError> {
    let gpu = peers.gpu(rank);
    let long = if ThreePass::<f32>::is_made_for(gpu, &grid(8192, 8192)) { 8192 } else { 4096 };
    let (nx, ny) = if role.starts_with("full") { (long, long) } else { (2048, 2048) };
    // All but the memory of one map: a rank's part of the fields takes one and a half.
    let fill = || gpu.zeros::<u8>(gpu.memory()?.free - 4 * nx * ny);
    let _room = match (role, rank) {
        ("full", 1) => Some(fill()?),
        ("other", 1) => return Ok("left"),
        _ => None,
    };
    let mut solver = SlabSolver::<f32>::new(peers, &grid(nx, ny))?;
    let _rest = if (role, rank) == ("full-later", 1) { Some(fill()?) } else { None };
    let rho = solver.upload(&off_axis::<f32>(nx, ny))?;
    let mut fields = solver.fields()?;
    solver.solve(&rho, &mut fields)?;
    peers.synchronize()?;
    match (role, rank) {
        ("die", 1) => std::process::abort(),
        // Longer than the other waits.
        ("idle", 1) => {
            std::thread::sleep(Duration::from_secs(6));
            return Ok("left");
        }
        _ => {}
    }
    for _ in 0..100_000 {
        solver.solve(&rho, &mut fields)?;
        // Not `Peers::synchronize`: whatever waits for a device goes on.
        gpu.synchronize()?;
    }
    peers.synchronize()?;
    Ok("done")
}

fn one_map<T: CudaReal>(
    peers: &Peers,
    (nx, ny): (usize, usize),
    turn: usize,
) -> Result<(), CudaError> {
    let rho = off_axis::<T>(nx, ny);
    let mut solver = SlabSolver::<T>::new(peers, &grid(nx, ny))?;
    let slabs = solver.upload(&rho)?;
    let mut fields: Vec<_> = peers
        .local()
        .map(|rank| poisoned::<T>(peers.gpu(rank), solver.rows(rank).len() * ny))
        .collect();
    for _ in 0..3 {
        solver.solve(&slabs, &mut fields)?;
    }
    match solver.gather(&fields)? {
        Some(got) => is_like_one(peers, (nx, ny), turn, &got, &fields[0]),
        None => Ok(()), // which rank 0 has
    }
}

/// Compares the fields gathered by rank 0 with those of one device and of two ranks on it.
fn is_like_one<T: CudaReal>(
    peers: &Peers,
    (nx, ny): (usize, usize),
    turn: usize,
    got: &[Vec<T>; 3],
    fields: &Fields<T>,
) -> Result<(), CudaError> {
    let rho = off_axis::<T>(nx, ny);
    let what = format!("{nx} x {ny} {}, turn {turn}", T::PRECISION);
    let gpu = Gpu::open(0)?;
    let (want, energy) = by_one(&gpu, Pipeline::ThreePass, (nx, ny), &rho);
    let own = read(peers.gpu(0), fields).1;
    assert!((own - energy).abs() <= 1e-6 * energy.abs(), "{what}: energy {own} for {energy}");
    // Two ranks in one device's memory: the same kernels, so the same bits.
    let shared = Peers::open(&[0, 0])?;
    let mut solver = SlabSolver::<T>::new(&shared, &grid(nx, ny))?;
    let (slabs, mut fields) = (solver.upload(&rho)?, solver.fields()?);
    solver.solve(&slabs, &mut fields)?;
    let same = solver.gather(&fields)?.unwrap();
    for (k, name) in ["phi", "Ex", "Ey"].into_iter().enumerate() {
        let error = relative_rms(&wide(&got[k]), &wide(&want[k]));
        println!("{what} {name}: {error:.1e}{}", if got[k] == want[k] { ", same" } else { "" });
        assert!(error <= limit::<T>(), "{what}: {name} is off by {error:e}");
        assert!(got[k] == same[k], "{what}: {name} has other bits than by peer access");
    }
    assert_eq!(own, read(shared.gpu(0), &fields[0]).1, "{what}");
    Ok(())
}

/// Each process has its own maps of a batch.
fn batch(peers: &Peers) -> Result<(), CudaError> {
    let (nx, ny) = (128, 64);
    let mut solver = BatchSolver::<f32>::new(peers, &grid(nx, ny), Pipeline::ThreePass)?;
    let map = |k: usize| -> Vec<f32> {
        off_axis::<f32>(nx, ny).iter().map(|v| v * (k + 1) as f32).collect()
    };
    for count in [0, 1, 7] {
        let own: Vec<usize> = solver.maps(count).collect();
        assert_eq!(own, (peers.local().start..count).step_by(WORLD).collect::<Vec<_>>());
        let rho: Vec<_> = own.iter().map(|&k| solver.gpu(k).upload(&map(k)).unwrap()).collect();
        let mut fields: Vec<_> = own.iter().map(|&k| poisoned(solver.gpu(k), nx * ny)).collect();
        solver.solve(&rho, &mut fields)?;
        peers.synchronize()?;
        for (&k, fields) in own.iter().zip(&fields) {
            let gpu = solver.gpu(k);
            let want = by_one(gpu, Pipeline::ThreePass, (nx, ny), &map(k));
            assert!(read(gpu, fields) == want, "map {k} of {count}");
        }
    }
    Ok(())
}
