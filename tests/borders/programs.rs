//! Programs in C and C++ against the header and the library, by the machine's compilers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The static and the dynamic library, of the core alone.
struct Libraries {
    fixed: PathBuf,
    dynamic: PathBuf,
}

fn libraries() -> &'static Libraries {
    static BUILT: OnceLock<Libraries> = OnceLock::new();
    BUILT.get_or_init(|| {
        let arguments =
            "rustc --quiet --lib --no-default-features --features capi --message-format json";
        let output = Command::new(env!("CARGO"))
            .args(arguments.split(' '))
            .args(["--crate-type", "cdylib,staticlib"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let messages = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{messages}{}", String::from_utf8_lossy(&output.stderr));
        let mut files: Vec<PathBuf> = Vec::new();
        for line in messages.lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            if message["target"]["name"] == "placefield" {
                let made = message["filenames"].as_array().into_iter().flatten();
                files.extend(made.filter_map(|file| file.as_str()).map(PathBuf::from));
            }
        }
        let with = |extension: &str| {
            let found = files.iter().find(|file| file.extension().is_some_and(|e| e == extension));
            found.unwrap_or_else(|| panic!("no .{extension} in {files:?}")).clone()
        };
        Libraries { fixed: with("a"), dynamic: with(std::env::consts::DLL_EXTENSION) }
    })
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/borders/c").join(file)
}

#[derive(Clone, Copy)]
enum Link {
    Static,
    Dynamic,
}

/// Compiles `file` with every warning an error; the program's path.
fn compile(file: &str, link: Link, flags: &[&str], name: &str) -> PathBuf {
    let cpp = file.ends_with(".cpp");
    let (compiler, standard) = if cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(compiler);
    command.args([standard, "-g", "-O1", "-pthread", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    command.args(flags).arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi"));
    command.arg(source(file)).arg("-o").arg(&program);
    match link {
        Link::Static => command.arg(&libraries().fixed).args(["-ldl", "-lm"]),
        Link::Dynamic => {
            let folder = libraries().dynamic.parent().unwrap();
            command.arg(&libraries().dynamic).arg("-lm");
            command.arg(format!("-Wl,-rpath,{}", folder.display()))
        }
    };
    succeeded(command.output().unwrap(), &format!("compiling {file}"));
    program
}

fn succeeded(output: Output, what: &str) -> String {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{out}{err}", output.status);
    format!("{out}{err}")
}

/// Runs a test program in a folder of its own; it says at the end how many checks it made.
fn run(command: &mut Command, what: &str) {
    let folder = tempfile::tempdir().unwrap();
    command.current_dir(folder.path());
    let said = succeeded(command.output().unwrap(), what);
    let checks = said.lines().find_map(|line| line.strip_suffix(" checks passed"));
    let checks: usize =
        checks.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{what}: {said}"));
    assert!(checks > 15, "{what}: only {checks} checks");
}

fn compiles_and_runs(file: &str, link: Link, name: &str) {
    run(&mut Command::new(compile(file, link, &[], name)), file);
}

/// With AddressSanitizer, where the compiler has it.
fn under_address_sanitizer(file: &str, link: Link, name: &str) {
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compile(file, link, &flags, name);
    run(Command::new(program).env("ASAN_OPTIONS", "detect_leaks=0"), "under AddressSanitizer");
}

/// Under Valgrind, where there is one; in any case the program runs.
fn under_valgrind(file: &str, link: Link, name: &str) {
    let program = compile(file, link, &[], name);
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    let mut command = Command::new(if valgrind { Path::new("valgrind") } else { &program });
    if valgrind {
        command.args(["--quiet", "--error-exitcode=99", "--leak-check=full"]);
        command.args(["--errors-for-leak-kinds=definite", "--fair-sched=yes"]).arg(&program);
    }
    run(&mut command, "under Valgrind");
}

#[test]
fn a_c_program_goes_through_every_function() {
    compiles_and_runs("whole.c", Link::Dynamic, "whole-dynamic");
    under_address_sanitizer("whole.c", Link::Static, "whole-asan");
    under_valgrind("whole.c", Link::Static, "whole-valgrind");
}

/// The numbers are those of the library, of Python and of the command line.
#[test]
fn overflow_off_the_die_in_c_is_the_librarys() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/off_die");
    let numbers = std::fs::read_to_string(folder.join("numbers.json")).unwrap();
    let numbers: serde_json::Value = serde_json::from_str(&numbers).unwrap();
    let program = compile("off_die.c", Link::Dynamic, &[], "off_die");
    let output = Command::new(program).arg(folder.join("t.aux")).output().unwrap();
    let said = succeeded(output, "the program");
    let found: Vec<f64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    for (found, key) in found.iter().zip(["overflow", "area_off_die", "hpwl"]) {
        let expected = numbers[key].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-12 * expected, "{key}: {found}");
    }
    assert_eq!(found.len(), 3, "{said}");
}

#[test]
fn the_example_in_c_spreads_its_cells() {
    let program = compile("../package/spread.c", Link::Dynamic, &[], "spread");
    let said = succeeded(Command::new(program).output().unwrap(), "the example");
    assert!(said.contains("after 200 steps 0.0"), "{said}");
}

#[test]
fn the_placer_in_c_ends_with_a_legal_placement() {
    let program = compile("../package/adam.c", Link::Dynamic, &[], "adam");
    let said = succeeded(Command::new(program).output().unwrap(), "the placer");
    assert!(said.trim_end().ends_with(", legal"), "{said}");
}

#[test]
fn the_openroad_adapter_solves_poissons_equation() {
    compiles_and_runs("openroad.cpp", Link::Static, "openroad-static");
    under_address_sanitizer("openroad.cpp", Link::Dynamic, "openroad-asan");
    under_valgrind("openroad.cpp", Link::Dynamic, "openroad-valgrind");
}

#[cfg(target_os = "linux")]
#[test]
fn refused_memory_is_a_status() {
    compiles_and_runs("memory.c", Link::Dynamic, "memory");
}

/// On device memory: `scripts/gpu-check.sh` runs it where there is a device. Here the library is
/// without CUDA.
#[test]
fn the_device_program_reports_a_missing_device() {
    let output = Command::new(compile("device.c", Link::Static, &[], "device")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no CUDA device: no CUDA: this library was built without"), "{said}");
}
