//! `solve` by several processes: how they meet, disagree and fail. None of this gets as far as a
//! GPU.
#![cfg(feature = "cuda")]

use crate::arrays::{values, write};
use crate::{names_in, placefield};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A place of this host where nobody listens.
fn place() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// A density in a folder.
fn density(folder: &Path, name: &str, count: usize) -> PathBuf {
    let path = folder.join(name);
    write(&path, &[count as u64 / 8, 8], &values(count));
    path
}

fn start(rank: usize, world: usize, place: &str, rho: &Path, out: &Path) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("placefield"));
    command.arg("solve").arg(rho).arg("--out").arg(out).args(["--engine", "cuda"]);
    command.args(["--rank", &rank.to_string(), "--world", &world.to_string()]);
    command.args(["--rendezvous", place, "--patience", "2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the messages of failed processes, one line each, and checks that there is nothing else.
fn said(child: Child) -> String {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len(), text.lines().count()), (Some(1), 0, 1), "{text}");
    text.trim_end().to_owned()
}

#[test]
fn ranks_with_other_densities_disagree_on_all() {
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (place(), folder.path().join("out"));
    let (one, other) = (density(folder.path(), "a.npy", 128), density(folder.path(), "b.npy", 256));
    let ranks =
        [(0, &one), (1, &other), (2, &one)].map(|(rank, rho)| start(rank, 3, &place, rho, &out));
    for said in ranks.map(said) {
        let expected = "placefield: ranks disagree: the number of bins is 16 x 8 on rank 0 and 32 x 8 \
                        on rank 1";
        assert_eq!(said, expected);
    }
    assert_eq!(names_in(&out), [""; 0], "nothing was solved");
}

#[test]
fn a_failure_of_one_rank_is_reported_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (place(), folder.path().join("out"));
    let (here, gone) = (density(folder.path(), "a.npy", 128), folder.path().join("gone.npy"));
    let [first, second] =
        [(0, &here), (1, &gone)].map(|(rank, rho)| start(rank, 2, &place, rho, &out));
    let own = said(second);
    assert!(own.contains("gone.npy") && !own.contains("rank"), "{own}");
    let message = own.strip_prefix("placefield: ").unwrap();
    assert_eq!(said(first), format!("placefield: rank 1 failed: {message}"));
}

#[test]
fn killed_processes_end_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (place(), folder.path().join("out"));
    let rho = density(folder.path(), "a.npy", 128);
    // It waits for standard input, and the others for it.
    let mut killed = start(2, 3, &place, Path::new("-"), &out);
    let others = [0, 1].map(|rank| start(rank, 3, &place, &rho, &out));
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    killed.kill().unwrap();
    for said in others.map(said) {
        assert_eq!(said, "placefield: rank 2 failed: its process ended");
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    killed.wait().unwrap();
}

#[test]
fn absent_ranks_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (place(), folder.path().join("out"));
    let rho = density(folder.path(), "a.npy", 128);
    let begin = Instant::now();
    for said in [0, 2].map(|rank| start(rank, 3, &place, &rho, &out)).map(said) {
        let expected = format!("placefield: rank 1 of 3 has not come to {place} within 2 s");
        assert_eq!(said, expected);
    }
    let alone = said(start(1, 3, &place, &rho, &out));
    let expected = format!("placefield: rank 0 of 3 has not come to {place} within 2 s");
    assert_eq!(alone, expected);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// Variables set by launchers do as well as options.
#[test]
fn ranks_are_read_from_launcher_variables() {
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (place(), folder.path().join("out"));
    let (host, port) = place.split_once(':').unwrap();
    let rho = density(folder.path(), "a.npy", 128);
    let mut command = placefield(&[&"solve", &rho, &"--out", &out, &"--engine", &"cuda"]);
    command.args(["--patience", "1"]);
    command.env("OMPI_COMM_WORLD_RANK", "0").env("OMPI_COMM_WORLD_SIZE", "2");
    let said = |command: &mut assert_cmd::Command| {
        let assert = command.assert().code(1);
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    };
    let missing = said(&mut command);
    assert!(missing.contains("rank 0 of 2 is not told where to meet"), "{missing}");
    let absent = said(command.env("MASTER_ADDR", host).env("MASTER_PORT", port));
    let expected = format!("placefield: rank 1 of 2 has not come to {place} within 1 s\n");
    assert_eq!(absent, expected);
    // Whoever solves on the CPU is no rank.
    let mut on_cpu = placefield(&[&"solve", &rho, &"--out", &out, &"--engine", &"cpu"]);
    on_cpu.env("OMPI_COMM_WORLD_RANK", "0").env("OMPI_COMM_WORLD_SIZE", "2");
    on_cpu.assert().success();
}

#[test]
fn invalid_ranks_are_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let rho = density(folder.path(), "a.npy", 128);
    for (engine, options, expected) in [
        ("cuda", &["--rank", "2", "--world", "2", "--rendezvous", "h:1"][..], "counted from 0"),
        ("cuda", &["--rank", "0", "--world", "17", "--rendezvous", "h:1"], "expected 1 to 16"),
        ("cuda", &["--rank", "0", "--world", "2"], "'--rank' needs '--rendezvous HOST:PORT'"),
        ("cuda", &["--rank", "0", "--world", "2", "--rendezvous", "h"], "expected HOST:PORT"),
        ("cuda", &["--rank", "0"], "--world"),
        ("cuda", &["--rendezvous", "h:1"], "expected '--rank' and '--world'"),
        ("cpu", &["--rank", "0", "--world", "2", "--rendezvous", "h:1"], "ranks solve on GPUs"),
    ] {
        let mut command =
            placefield(&[&"solve", &rho, &"--out", &folder.path(), &"--engine", &engine]);
        let assert = command.args(options).assert().code(2);
        let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(said.contains(expected), "{options:?}: {said}");
    }
}
