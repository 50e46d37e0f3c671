//! Failures of the system: full disks, file sizes, threads, signals.

use crate::tiny::Tiny;
use crate::{Running, Words, heeding, names_in, placefield, text_of};
use predicates::prelude::*;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program in the place of a shell that has run some commands.
fn behind(shell: &str, args: &[&dyn Words]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell}\nexec \"$0\" \"$@\"")])
        .arg(assert_cmd::cargo::cargo_bin("placefield"))
        .args(args.words())
        .env("PLACEFIELD_PROGRESS", "0");
    command
}

#[test]
fn output_that_cannot_be_printed_is_an_error() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    let cases: [&[&dyn Words]; 9] = [
        &[&"--help"],
        &[&"--version"],
        &[&"help eval"],
        &[&"eval --help"],
        &[&"info"],
        &[&"completions bash"],
        &[&"man"],
        &[&"generate --cells 50 --out", &out],
        &[&"eval", &aux, &"--bins 8 --json -"],
    ];
    let line = "placefield: standard output: No space left on device (os error 28)\n";
    for args in cases {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = behind("", args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
        // A reader that has gone is no error.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = behind("", args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    }
}

#[test]
fn output_to_a_closed_descriptor_is_an_error() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out.pl"));
    let cases: [&[&dyn Words]; 6] = [
        &[&"eval", &aux, &"--bins 8 --json -"],
        &[&"eval", &aux, &"--bins 8"],
        &[&"--help"],
        &[&"schema eval"],
        &[&"completions bash"],
        &[&"legalize", &aux, &"--quiet -o", &out],
    ];
    for args in cases {
        let output = behind("exec >&-", args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.ends_with("placefield: standard output: it is closed\n"), "{said}");
        assert_eq!(output.status.code(), Some(1));
    }
    assert!(out.exists());
    // A device is no closed descriptor, however it was opened.
    for shell in ["exec >/dev/null", "exec 1<>/dev/null"] {
        let output = behind(shell, &[&"eval", &aux, &"--bins 8"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    let tiny = Tiny::new();
    let line = "placefield: /dev/full: No space left on device (os error 28)\n";
    let output = behind("", &[&"eval", &tiny.aux(), &"--bins 8 --log /dev/full"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]));
    // A disk that is full later on costs no result, but is an error all the same.
    let log = tiny.folder().join("log");
    let args: &[&dyn Words] = &[&"eval", &tiny.aux(), &"--bins 8 --json - --log", &log];
    assert!(behind("", args).output().unwrap().status.success());
    let first = text_of(&log).lines().next().unwrap().len() + 1;
    // The first line fits into a block of 512 bytes, the second does not.
    std::fs::write(&log, "x".repeat(510 - first)).unwrap();
    let output = behind("ulimit -f 1", args).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.ends_with("log: File too large (os error 27)\n"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.ends_with(b"}\n"), "the numbers are there");
}

#[test]
fn files_over_the_size_limit_are_removed() {
    let tiny = Tiny::new();
    let out = tempfile::tempdir().unwrap();
    let is_one_error = |args: &[&dyn Words], file: &str| {
        // Blocks of 512 bytes.
        let Output { status, stderr, .. } = behind("ulimit -f 8", args).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        let about = format!("placefield: {}: ", out.path().join(file).display());
        assert!(
            said.starts_with(&about) && said.ends_with("File too large (os error 27)\n"),
            "{said}"
        );
        assert_eq!((status.code(), said.lines().count()), (Some(1), 1));
        assert!(names_in(out.path()).is_empty(), "{:?}", names_in(out.path()));
    };
    is_one_error(&[&"generate --cells 2000 --out", &out.path()], "cells2000.nodes");
    // The nodes fit, the nets do not.
    is_one_error(&[&"generate --cells 50 --out", &out.path()], "cells50.nets");
    let maps = "--bins 64 --engine cpu --maps";
    is_one_error(&[&"eval", &tiny.aux(), &maps, &out.path()], "density.npy");
}

#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    let cases: [&[&dyn Words]; 5] = [
        &[&"eval", &aux],
        &[&"place", &aux, &"-o", &out],
        &[&"compare", &aux],
        &[&"generate --cells 50 --out", &out],
        &[&"demo --out", &out],
    ];
    for args in cases {
        // A stack of 100 TB is more than a process can have.
        let one_line = r"\Aplacefield: no threads? could be started[^\n]+\(os error \d+\)\n\z";
        let said = predicate::str::is_match(one_line).unwrap();
        let mut command = placefield(args);
        command.env("RUST_MIN_STACK", "100000000000000");
        command.assert().code(1).stdout("").stderr(said);
    }
    assert!(!out.exists());
}

/// A design being generated into `folder`, the first of its files begun, by a program started as in
/// `behind`.
fn generating(shell: &str, folder: &Path) -> Running {
    let mut command = behind(shell, &[&"generate --cells 200000 --out", &folder]);
    let command = heeding(&mut command).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Running::start(command);
    while names_in(folder).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "ended before it wrote anything");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child
}

fn signal(child: &Running, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn interrupted_runs_leave_no_partial_files() {
    let out = tempfile::tempdir().unwrap();
    let old = "RowBasedPlacement : old.nodes\n";
    for name in ["-INT", "-TERM", "-HUP"] {
        let child = generating("", out.path());
        signal(&child, name);
        let output = child.output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &said[..]), (Some(130), "placefield: interrupted\n"));
        assert!(names_in(out.path()).is_empty(), "{:?}", names_in(out.path()));
    }
    // Files of that name stay as they were, all of them.
    let (out, aux) = (tempfile::tempdir().unwrap(), "cells200000.aux");
    let child = generating("", out.path());
    std::fs::write(out.path().join(aux), old).unwrap();
    signal(&child, "-INT");
    assert_eq!(child.output().status.code(), Some(130));
    assert_eq!(names_in(out.path()), [aux]);
    assert_eq!(text_of(out.path().join(aux)), old);
}

#[test]
fn signals_ignored_at_the_start_stay_ignored() {
    // As `nohup` has it, and the `&` of a script.
    for (ignored, name) in [("HUP", "-HUP"), ("INT", "-INT")] {
        let out = tempfile::tempdir().unwrap();
        let child = generating(&format!("trap '' {ignored}"), out.path());
        signal(&child, name);
        let output = child.output();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
        assert_eq!(names_in(out.path()).len(), 6);
    }
}
