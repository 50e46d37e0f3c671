//! Wrong usage, help and version.

use crate::tiny::Tiny;
use crate::{placefield, run};
use predicates::prelude::*;

#[test]
fn wrong_usage_exits_with_2() {
    let tiny = Tiny::new();
    let aux = tiny.aux();
    let aux = aux.to_str().unwrap();
    for args in [
        vec![],
        vec!["frobnicate"],
        vec!["eval"],
        vec!["eval", aux, "--frobnicate"],
        vec!["eval", aux, "--bins", "abc"],
        vec!["eval", aux, "--bins", "4x"],
        vec!["eval", aux, "--bins=-4"],
        vec!["eval", aux, "--bins", "99999999999999999999"],
        vec!["eval", aux, "--bins", "0"],
        vec!["eval", aux, "--bins", "0x64"],
        vec!["eval", aux, "--bins", "100000"],
        vec!["eval", aux, "--bins", "32768x8193"],
        vec!["eval", aux, "--bins", "18446744073709551615"],
        vec!["eval", aux, "--target-density", "half"],
        vec!["eval", aux, "--target-density", "0"],
        vec!["eval", aux, "--target-density", "-1"],
        vec!["eval", aux, "--target-density", "NaN"],
        vec!["eval", aux, "--target-density", "2"],
        vec!["eval", aux, "--seed", "-1"],
        vec!["eval", "-", "--pl", "-"],
        vec!["compare", aux, "--iterations", "0"],
        vec!["compare", aux, "--pipeline", "fused"],
        vec!["eval", aux, "--precision", "f16"],
        vec!["eval", aux, "--pipeline", "fast"],
        vec!["eval", aux, "--engine", "gpu"],
        vec!["eval", aux, "--engine", "cuda:-1"],
        vec!["eval", aux, "--engine", "cuda:0,"],
        vec!["eval", aux, "--engine", "cuda:1,1"],
        vec!["eval", aux, "--engine", "both:all"],
        vec!["dct", "a.npy", "-o", "b.npy", "--engine", "cuda:0,1"],
        vec!["bench", "all", "--engine", "cuda:all"],
        vec!["eval", aux, "--threads", "1025"],
        vec!["eval", aux, "--pin-offset", "top"],
        vec!["plot", aux],
        vec!["plot", aux, "--out", "b", "--pictures", "density,density"],
        vec!["compare", aux, "--iterations", "-1"],
        vec!["compare", aux, "--csv", "-", "--json", "-"],
        vec!["compare", aux, "--tolerance", "NaN"],
        vec!["place", aux, "-o", "-"],
        vec!["legalize", aux, "-o", "-"],
        vec!["refine", aux, "-o", "-"],
        vec!["refine", aux, "-o", "b", "--rounds", "0"],
        vec!["place", aux, "-o", "b", "--gamma", "1e300"],
        vec!["place", aux, "-o", "b", "--gamma", "1e-300"],
        vec!["place", aux, "-o", "b", "--density-weight", "1e7"],
        vec!["place", aux, "-o", "b", "--reference-rise", "1e-13"],
        vec!["place", aux, "-o", "b", "--pressure", "inf"],
        vec!["place", aux, "-o", "b", "--noise", "1e300"],
        vec!["compare", aux, "--tolerance", "-1"],
        vec!["compress", "a.png", "-o", "b.png"],
        vec!["diff", aux, aux],
        vec!["diff", aux, aux, aux, "--pl", aux],
        vec!["diff", aux, aux, aux, aux, "--maps", "m"],
        vec!["diff", aux, aux, aux, aux, "--plots", "p", "--format", "svg"],
        vec!["diff", "a.json", "b.json", "--bins", "8"],
        vec!["diff", "a.json", "b.json", "--maps", "m"],
        vec!["solve", "a.npy"],
        vec!["solve", "a.npy", "--out", "b", "--bin-size", "0"],
        vec!["dct", "a.npy", "-o", "-", "--json", "-"],
        vec!["completions"],
        vec!["compress", "a.png", "--threshold", "1"],
        vec!["compress", "a.png", "--threshold", "-1", "-o", "b.png"],
        vec!["compress", "a.png", "--threshold", "NaN", "-o", "b.png"],
        vec!["compress", "a.png", "--threshold", "inf", "-o", "b.png"],
        vec!["compress", "a.png", "--threshold", "ten", "-o", "b.png"],
        vec!["compress", "a.png", "--threshold", "1", "-o", "b.png", "--engine", "both"],
        vec!["compress", "a.png", "--threshold", "1", "-o", "-", "--json", "-"],
        vec!["generate", "--out", "x"],
        vec!["generate", "adaptec1"],
        vec!["generate", "adaptec1", "--cells", "9", "--out", "x"],
    ] {
        let usage =
            predicate::str::contains("Usage: placefield").or(predicate::str::contains("--help"));
        placefield(&[]).args(&args).assert().code(2).stdout("").stderr(usage);
    }
}

#[test]
fn errors_name_the_option_and_its_range() {
    let place = &["place", "a.aux", "-o", "b.pl"][..];
    let [solve, generate] =
        [["solve", "a.npy", "--out", "b"], ["generate", "adaptec1", "--out", "b"]];
    let length = "a length from 1e-100 to 1e100 or two or three joined by x, as in 20x12";
    for (command, option, value, expected) in [
        (place, "--gamma <BINS>", "1e300", "a number from 1e-12 to 1e6"),
        (place, "--noise <RATIO>", "-1", "a number from 0 to 1e6"),
        (&solve, "--bin-size <W[xH[xD]]>", "1e300", length),
        (&generate, "--cells <N>", "-5", "a whole number of at least 1"),
    ] {
        let name = option.split(' ').next().unwrap();
        let said = format!("error: invalid value '{value}' for '{option}': expected {expected}\n");
        let said = predicate::str::contains(said);
        placefield(&[]).args(command).args([name, value]).assert().code(2).stderr(said);
    }
}

/// Also where all of the command line had to be known to see that it is wrong.
#[test]
fn wrong_usage_shows_that_of_the_command() {
    let usage = predicate::str::contains("Usage: placefield eval [OPTIONS] <DESIGN>");
    placefield(&[&"eval a.aux --lef a.lef"]).assert().code(2).stderr(usage);
    let usage = predicate::str::contains("Usage: placefield bench all [OPTIONS]");
    placefield(&[&"bench all --engine cuda:all"]).assert().code(2).stderr(usage);
}

#[test]
fn help_and_version_exit_with_0() {
    assert_eq!(run(&[&"--version"]), format!("placefield {}\n", env!("CARGO_PKG_VERSION")));
    assert!(run(&[&"--help"]).contains("compare"));
    for command in [
        "eval",
        "diff",
        "compare",
        "plot",
        "place",
        "legalize",
        "refine",
        "convert",
        "solve",
        "dct",
        "generate",
        "compress",
        "demo",
        "bench",
        "info",
        "completions",
        "man",
    ] {
        let help = run(&[&command, &"--help"]);
        assert!(help.contains(&format!("Usage: placefield {command}")), "{help}");
    }
}

#[test]
fn info_names_the_engines() {
    let info = run(&[&"info"]);
    for line in ["placefield ", "cpu ", "cuda "] {
        assert!(info.lines().any(|l| l.starts_with(line)), "{info}");
    }
}

#[cfg(feature = "cuda")]
#[test]
fn malformed_device_limits_are_refused() {
    let expected = "PLACEFIELD_DEVICE_LIMIT=99 KB: expected the KB of shared memory of a block";
    let mut info = placefield(&[&"info"]);
    info.env("PLACEFIELD_DEVICE_LIMIT", "99 KB");
    info.assert().success().stdout(predicate::str::contains(expected));
    let tiny = Tiny::new();
    let mut eval = placefield(&[&"eval", &tiny.aux(), &"--engine cuda"]);
    eval.env("PLACEFIELD_DEVICE_LIMIT", "99 KB");
    eval.assert().code(1).stderr(predicate::str::contains(expected));
}
