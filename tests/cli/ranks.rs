//! `solve` by several processes: what is refused before they look for a GPU and each other.
#![cfg(feature = "cuda")]

use crate::arrays::{values, write};
use crate::placefield;
use std::path::{Path, PathBuf};

/// A density in a folder.
fn density(folder: &Path) -> PathBuf {
    let path = folder.join("a.npy");
    write(&path, &[16, 8], &values(128));
    path
}

/// Variables set by launchers do as well as options.
#[test]
fn ranks_are_read_from_launcher_variables() {
    let folder = tempfile::tempdir().unwrap();
    let (rho, out) = (density(folder.path()), folder.path().join("out"));
    let mut on_gpus = placefield(&[&"solve", &rho, &"--out", &out, &"--engine", &"cuda"]);
    on_gpus.env("OMPI_COMM_WORLD_RANK", "0").env("OMPI_COMM_WORLD_SIZE", "2");
    let assert = on_gpus.assert().code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("rank 0 of 2 does not know where to meet"), "{said}");
    // A process that solves on the CPU is no rank.
    let mut on_cpu = placefield(&[&"solve", &rho, &"--out", &out, &"--engine", &"cpu"]);
    on_cpu.env("OMPI_COMM_WORLD_RANK", "0").env("OMPI_COMM_WORLD_SIZE", "2");
    on_cpu.assert().success();
}

#[test]
fn invalid_ranks_are_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let rho = density(folder.path());
    for (engine, options, expected) in [
        ("cuda", &["--rank", "2", "--world", "2", "--rendezvous", "h:1"][..], "counted from 0"),
        ("cuda", &["--rank", "0", "--world", "17", "--rendezvous", "h:1"], "expected 1 to 16"),
        ("cuda", &["--rank", "0", "--world", "2"], "expected --rendezvous HOST:PORT"),
        (
            "cuda",
            &["--rank", "0", "--world", "2", "--rendezvous", "h"],
            "expected --rendezvous HOST:PORT",
        ),
        ("cuda", &["--rank", "0"], "--world"),
        ("cuda", &["--rendezvous", "h:1"], "expected '--rank' and '--world'"),
        ("cpu", &["--rank", "0", "--world", "2", "--rendezvous", "h:1"], "ranks solve on GPUs"),
    ] {
        let mut command =
            placefield(&[&"solve", &rho, &"--out", &folder.path(), &"--engine", &engine]);
        let assert = command.args(options).assert().code(2);
        let said = crate::said(&assert);
        assert!(said.contains(expected), "{options:?}: {said}");
    }
}
