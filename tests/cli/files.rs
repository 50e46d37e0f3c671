//! Files in and out: what is never written over, compressed and piped input, names, permissions.

use crate::tiny::Tiny;
use crate::{Words, eval_json, failure, json_of, names_in, placefield, run, run_json, text_of};
use predicates::prelude::*;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

/// Wrong usage that says this, and a folder that is as it was.
fn refused(folder: &Path, args: &[&dyn Words], says: &str) {
    let contents = |folder: &Path| -> Vec<_> {
        let names = names_in(folder);
        names.into_iter().map(|n| (std::fs::read(folder.join(&n)).ok(), n)).collect()
    };
    let before = contents(folder);
    let line = predicate::str::contains(says).and(predicate::str::contains("error: "));
    placefield(args).assert().code(2).stdout("").stderr(line);
    assert!(contents(folder) == before, "{says}");
}

#[test]
fn outputs_never_overwrite_inputs_or_each_other() {
    let tiny = Tiny::new();
    let (folder, aux) = (tiny.folder(), tiny.aux());
    let is_input = "is an input of the run";
    for kind in ["aux", "nodes", "nets", "wts", "pl", "scl"] {
        refused(folder, &[&"eval", &aux, &"--json", &tiny.file(kind)], is_input);
        refused(folder, &[&"compare", &aux, &"--csv", &tiny.file(kind)], is_input);
        refused(folder, &[&"place", &aux, &"-o", &tiny.file(kind)], is_input);
        refused(folder, &[&"report", &aux, &"--out", &tiny.file(kind)], is_input);
    }
    let other = folder.join("other.pl");
    std::fs::copy(tiny.file("pl"), &other).unwrap();
    refused(folder, &[&"eval", &aux, &"--pl", &other, &"--json", &other], is_input);
    let pl = tiny.file("pl");
    refused(folder, &[&"diff", &aux, &"--from", &pl, &"--to", &other, &"--json", &other], is_input);
    // By another way to the same file.
    let roundabout = folder.join("../").join(folder.file_name().unwrap()).join("t.nodes");
    refused(folder, &[&"eval", &aux, &"--json", &roundabout], is_input);
    #[cfg(unix)]
    {
        let link = folder.join("link");
        std::os::unix::fs::symlink(tiny.file("nodes"), &link).unwrap();
        refused(folder, &[&"eval", &aux, &"--json", &link], is_input);
    }
    let csv = folder.join("z.csv");
    let same = "--history";
    refused(folder, &[&"place", &aux, &"-o", &csv, &"--history", &csv], same);
    refused(folder, &[&"compare", &aux, &"--csv", &csv, &"--json", &csv], "is what --csv writes");
    // A folder of results is looked into for what would be written there.
    let map = folder.join("maps/density.npy");
    refused(
        folder,
        &[&"eval", &aux, &"--json", &map, &"--maps", &folder.join("maps")],
        "holds what --json writes",
    );
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let tiny = Tiny::new();
    let path = tiny.folder().join("none/deeper/eval.json");
    let line = failure(&[&"eval", &tiny.aux(), &"--json", &path]);
    let none = tiny.folder().join("none");
    let want = format!("{}: the folder {} does not exist", path.display(), none.display());
    assert_eq!(line, format!("placefield: {want}"));
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let tiny = Tiny::new();
    let json = tiny.folder().join("eval.json");
    std::fs::write(&json, "old").unwrap();
    std::fs::set_permissions(&json, std::fs::Permissions::from_mode(0o640)).unwrap();
    let listed = run(&[&"eval", &tiny.aux(), &"--bins 8 --json", &json]);
    assert_eq!(std::fs::metadata(&json).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(listed.ends_with(&format!("\n{}\n", json.display())), "{listed}");
    assert_ne!(std::fs::read(&json).unwrap(), b"old");
}

/// The numbers that must not depend on how the files were given.
fn numbers(json: Value) -> Value {
    let keys = ["design", "density", "field", "hpwl", "hpwl_weighted"];
    keys.iter().map(|k| (k.to_string(), json[k].clone())).collect()
}

#[test]
fn compressed_designs_are_read_as_plain_ones() {
    let tiny = Tiny::new();
    let want = numbers(eval_json(&[&tiny.aux(), &"--bins 8"]));
    for kind in ["nodes", "nets", "wts", "pl", "scl", "aux"] {
        let plain = std::fs::read(tiny.file(kind)).unwrap();
        let packed = std::fs::File::create(tiny.folder().join(format!("t.{kind}.gz"))).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::default());
        encoder.write_all(&plain).unwrap();
        encoder.finish().unwrap();
        std::fs::remove_file(tiny.file(kind)).unwrap();
    }
    let json = eval_json(&[&tiny.folder().join("t.aux.gz"), &"--bins 8"]);
    let inputs = json["inputs"].as_array().unwrap();
    assert!(inputs.iter().all(|i| i.as_str().unwrap().ends_with(".gz")), "{inputs:?}");
    assert_eq!(numbers(json), want);
    let packed = tiny.folder().join("t.nets.gz");
    refused(tiny.folder(), &[&"eval", &tiny.aux(), &"--json", &packed], "is an input of the run");
}

#[test]
fn a_placement_may_come_through_a_pipe() {
    let tiny = Tiny::new();
    let want = numbers(eval_json(&[&tiny.aux(), &"--bins 8"]));
    let places = std::fs::read(tiny.file("pl")).unwrap();
    tiny.write("pl", b"a 0 0 : N\n");
    let mut piped = placefield(&[&"eval", &tiny.aux(), &"--pl - --bins 8 --json -"]);
    let output = piped.write_stdin(places).assert().success().get_output().clone();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["inputs"].as_array().unwrap().contains(&"-".into()));
    assert_eq!(numbers(json), want);
}

#[test]
fn names_with_blanks_are_read_and_written() {
    let tiny = Tiny::new();
    let want = numbers(eval_json(&[&tiny.aux(), &"--bins 8"]));
    for kind in ["nodes", "nets", "wts", "pl", "scl"] {
        std::fs::rename(tiny.file(kind), tiny.folder().join(format!("a b.{kind}"))).unwrap();
    }
    tiny.write("aux", b"R : \"a b.nodes\" 'a b.nets' a\\ b.wts \"a b.pl\" \"a b.scl\"\n");
    let json = tiny.folder().join("my results.json");
    run(&[&"eval", &tiny.aux(), &"--bins 8 --json", &json]);
    assert_eq!(numbers(json_of(json)), want);
}

#[cfg(target_os = "linux")]
#[test]
fn grids_beyond_the_memory_are_refused() {
    let tiny = Tiny::new();
    let program = placefield(&[]).get_program().to_owned();
    // 16384² bins would take 17 GB, of 3 that there are.
    let mut shell = assert_cmd::Command::new("sh");
    shell.args(["-c", "ulimit -v 3000000; exec \"$0\" eval \"$1\" --bins 16384 --engine cpu"]);
    let line = predicate::str::is_match(
        r"(?x) \A placefield:\ 16384\ x\ 16384\ bins\ need\ about\ 19\.3\ GB\ of\ memory,\ and
          \ [0-3]\.\d\ GB\ are\ available\n \z",
    );
    shell.arg(program).arg(tiny.aux()).assert().code(1).stdout("").stderr(line.unwrap());
}

#[test]
fn info_describes_the_machine_as_json() {
    let json = run_json(&[&"info --json -"]);
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json["cpu"]["threads"].as_u64().unwrap() > 0);
    assert_eq!(json["pipelines"], serde_json::json!(crate::PIPELINES));
    assert_eq!(json["cuda"]["usable"], json["cuda"]["obstacle"].is_null());
}

#[test]
fn completions_and_man_pages_cover_all_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&[&"completions", &shell]);
        for word in ["diff", "require-legal"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // These complete values too.
        let values = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(script.contains("idxst-idct"), values, "{shell}");
    }
    let page = run(&[&"man"]);
    assert!(page.contains(".TH placefield 1") && page.contains("completions"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let listed = run(&[&"man --out", &folder.path()]);
    let names = names_in(folder.path());
    assert_eq!(listed.lines().count(), names.len());
    for name in ["placefield.1", "placefield-eval.1", "placefield-bench-all.1"] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
    }
    let eval = text_of(folder.path().join("placefield-eval.1"));
    assert!(eval.contains("placefield eval") && eval.contains("require"), "{eval}");
}
