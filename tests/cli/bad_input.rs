//! Input that cannot be evaluated: one line on stderr, exit code 1, and
//! neither output nor a file left behind.

use crate::tiny::Tiny;
use crate::{Words, failure, names_in, placefield};
use std::path::Path;

/// Evaluates `tiny`, which must fail and leave nothing behind; gives what the
/// line says behind the folder.
fn refused(tiny: &Tiny, options: &[&dyn Words]) -> String {
    let before = names_in(tiny.folder());
    let out = tempfile::tempdir().unwrap();
    let (aux, json) = (tiny.aux(), out.path().join("eval.json"));
    let (maps, plots) = (out.path().join("maps"), out.path().join("plots"));
    let outputs: &[&dyn Words] = &[&"--json", &json, &"--maps", &maps, &"--plots", &plots];
    let line = failure(&[&"eval", &aux, &outputs, &"--bins 8", &options]);
    assert_eq!(names_in(tiny.folder()), before, "left beside the design");
    for folder in [&maps, &plots] {
        assert!(!folder.exists() || names_in(folder).is_empty(), "left in {}", folder.display());
    }
    let left = names_in(out.path());
    assert!(left.iter().all(|n| n == "maps" || n == "plots"), "left: {left:?}");
    let line = line.strip_prefix("placefield: ").unwrap();
    line.strip_prefix(&format!("{}/", tiny.folder().display())).unwrap_or(line).to_owned()
}

/// Each edit of one file alone is refused with this line.
fn each_edit(kind: &str, cases: &[(&str, &str, &str)]) {
    for (from, to, want) in cases {
        let tiny = Tiny::new();
        tiny.edit(kind, from, to);
        assert_eq!(refused(&tiny, &[]), format!("t.{kind}:{want}"), "{from:?} -> {to:?}");
    }
}

#[test]
fn bad_nodes() {
    let sized = |at: &str, what: &str, found: &str| {
        format!("{at}: expected a {what} from 0 to 1e100, found `{found}`")
    };
    each_edit(
        "nodes",
        &[
            (
                ": 4\n",
                ": 4000000000000\n",
                "2:12: expected 4000000000000 nodes as the header counts, found 4",
            ),
            (": 4\n", ": 5\n", "2:12: expected 5 nodes as the header counts, found 4"),
            (": 4\n", ": four\n", "2:12: expected a count, found `four`"),
            (": 1\n", ": 2\n", "3:16: expected 2 terminals as the header counts, found 1"),
            ("b 0 0", "a 0 0", "6:3: expected each node once, found `a` again (first on line 4)"),
            ("c 3 2", "c -3 2", &sized("7:5", "width", "-3")),
            ("c 3 2", "c NaN 2", &sized("7:5", "width", "NaN")),
            ("c 3 2", "c 3 inf", &sized("7:7", "height", "inf")),
            ("c 3 2", "c three 2", &sized("7:5", "width", "three")),
        ],
    );
}

#[test]
fn bad_nets() {
    each_edit(
        "nets",
        &[
            (
                ": 2\n",
                ": 2000000000000\n",
                "2:11: expected 2000000000000 nets as the header counts, found 2",
            ),
            (": 4\n", ": 5\n", "3:11: expected 5 pins as the header counts, found 4"),
            (
                "2 n0",
                "2000000000000 n0",
                "7:1: expected pin 3 of the 2000000000000 of net `n0`, found `NetDegree`",
            ),
            ("2 n0", "1 n0", "6:3: expected `NetDegree`, found `b`"),
            ("a I", "z I", "5:3: expected a node that the .nodes file describes, found `z`"),
            (": 1 0", ": nan 0", "5:9: expected an x offset, found `nan`"),
            (": 1 0", ": 1 up", "5:11: expected a y offset, found `up`"),
        ],
    );
}

#[test]
fn bad_placement() {
    each_edit(
        "pl",
        &[
            ("b 12", "z 12", "4:1: expected a node that the .nodes file describes, found `z`"),
            ("b 12", "a 12", "4:1: expected each node once, found `a` again (first on line 3)"),
            ("b 12", "b left", "4:3: expected an x coordinate, found `left`"),
            ("b 12", "b inf", "4:3: expected an x coordinate, found `inf`"),
            ("b 12 4", "b 12", "4:6: expected a y coordinate, found `:`"),
            (
                "12 4 : N",
                "12 4 : Q",
                "4:10: expected an orientation (N, S, E, W, FN, FS, FE or FW), found `Q`",
            ),
        ],
    );
}

#[test]
fn bad_rows() {
    each_edit(
        "scl",
        &[
            (
                ": 8\n",
                ": 8000000000000\n",
                "2:11: expected 8000000000000 rows as the header counts, found 8",
            ),
            ("Height : 2", "Height : 0", "5:12: expected a height above 0, found `0`"),
            ("Height : 2", "Height : -2", "5:12: expected a height above 0, found `-2`"),
            ("Coordinate : 0", "Coordinate : low", "4:16: expected a y coordinate, found `low`"),
            ("  Coordinate : 0\n", "", "10:1: expected `Coordinate` of the row, found `End`"),
        ],
    );
}

#[test]
fn designs_without_rows_or_sites_are_refused() {
    let tiny = Tiny::new();
    tiny.write("scl", b"UCLA scl 1.0\nNumRows : 0\n");
    assert_eq!(refused(&tiny, &[]), "t.scl:3:1: expected `CoreRow`, found end of file");
    let tiny = Tiny::new();
    tiny.write("scl", tiny.text("scl").replace("NumSites : 40", "NumSites : 0").as_bytes());
    assert_eq!(refused(&tiny, &[]), "t.scl:75:1: expected a subrow with sites, found end of file");
}

#[test]
fn empty_truncated_and_junk_files_are_errors() {
    // Header counts find a cut between lines in most files, but nothing counts .pl and .wts.
    let cut_within_a_line =
        [("aux", 30), ("nodes", 48), ("nets", 60), ("pl", 29), ("scl", 400), ("wts", 15)];
    let junk: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    for (kind, length) in cut_within_a_line {
        let tiny = Tiny::new();
        tiny.write(kind, &tiny.text(kind).as_bytes()[..length]);
        let line = refused(&tiny, &[]);
        assert!(line.starts_with(&format!("t.{kind}:")) && line.contains(": expected "), "{line}");

        tiny.write(kind, &junk);
        let line = refused(&tiny, &[]);
        assert!(line.starts_with(&format!("t.{kind}:")) && line.contains(": expected "), "{line}");

        std::fs::remove_file(tiny.file(kind)).unwrap();
        std::fs::create_dir(tiny.file(kind)).unwrap();
        assert_eq!(refused(&tiny, &[]), format!("t.{kind}: is a directory"));
    }
    for (kind, want) in [
        ("aux", "the name of a .nodes file"),
        ("nodes", "a node"),
        ("nets", "`NetDegree`"),
        ("pl", "the place of a node"),
        ("scl", "`CoreRow`"),
    ] {
        let tiny = Tiny::new();
        tiny.write(kind, b"");
        let line = format!("t.{kind}:1:1: expected {want}, found end of file");
        assert_eq!(refused(&tiny, &[]), line);
    }
}

#[test]
fn missing_files_are_errors() {
    for kind in ["aux", "nodes", "pl", "scl"] {
        let tiny = Tiny::new();
        std::fs::remove_file(tiny.file(kind)).unwrap();
        let line = refused(&tiny, &[]);
        assert!(line.starts_with(&format!("t.{kind}: No such file")), "{line}");
    }
    let tiny = Tiny::new();
    assert!(refused(&tiny, &[&"--pl no/such.pl"]).starts_with("no/such.pl: No such file"));
    let nodes = tiny.file("nodes");
    let line = refused(&tiny, &[&"--pl", &nodes]);
    assert_eq!(line, "t.nodes:1:6: expected a `pl` file, found `nodes`");
}

#[test]
fn positions_beyond_f32_are_refused() {
    let tiny = Tiny::new();
    tiny.edit("pl", "c 18", "c 1e39");
    let line = refused(&tiny, &[]);
    assert_eq!(line, "node `c`: x of body 2: 1e39: expected a number within the range of f32");
    crate::run(&[&"eval", &tiny.aux(), &"--bins 8 --precision f64"]);
}

#[test]
fn missing_devices_are_errors() {
    for engine in ["cuda:99", "cuda:0,99", "cuda:98,99"] {
        let line = refused(&Tiny::new(), &[&"--engine", &engine]);
        assert!(line.to_lowercase().contains("cuda"), "{line}");
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let tiny = Tiny::new();
    let (aux, below_a_file) = (tiny.aux(), tiny.file("pl").join("below"));
    let no_folder = tiny.folder().join("none/eval.json");
    let before = names_in(tiny.folder());
    let is_refused = |args: &[&dyn Words], path: &Path| {
        let line = failure(args);
        let reason = line.strip_prefix(&format!("placefield: {}: ", path.display()));
        let reason = reason.unwrap_or_else(|| panic!("{line}"));
        assert!(!reason.contains(".placefield-"), "names a temporary file: {line}");
        assert_eq!(names_in(tiny.folder()), before);
    };
    for path in [&below_a_file, &no_folder, &tiny.folder().to_owned()] {
        is_refused(&[&"eval", &aux, &"--bins 8 --json", path], path);
        is_refused(&[&"compare", &aux, &"--bins 8 --csv", path], path);
        is_refused(&[&"compare", &aux, &"--bins 8 --json", path], path);
    }
    for path in [&below_a_file, &tiny.file("nets")] {
        is_refused(&[&"eval", &aux, &"--bins 8 --maps", path], path);
        is_refused(&[&"eval", &aux, &"--bins 8 --plots", path], path);
        is_refused(&[&"plot", &aux, &"--bins 8 --out", path], path);
        is_refused(&[&"compare", &aux, &"--bins 8 --plots", path], path);
        is_refused(&[&"generate --cells 100 --out", path], path);
        is_refused(&[&"demo --cells 100 --out", path], path);
    }
    // A device takes what it is given, stays a device, and its errors are the run's. It is
    // reached through a link, so that a mistake here could not replace the device itself.
    #[cfg(target_os = "linux")]
    {
        let full = tiny.folder().join("full");
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let line = failure(&[&"eval", &aux, &"--bins 8 --json", &full]);
        assert!(line.contains("No space left"), "{line}");
        assert!(std::fs::symlink_metadata(&full).unwrap().is_symlink());
    }
}

#[test]
fn invalid_generate_options_write_no_file() {
    let out = tempfile::tempdir().unwrap();
    for what in ["nope", "--cells=0", "--cells=99999999999999"] {
        placefield(&[&"generate", &what, &"--out", &out.path()]).assert().code(2).stdout("");
        assert!(names_in(out.path()).is_empty());
    }
    placefield(&[&"demo --cells=0 --out", &out.path()]).assert().code(2);
    assert!(names_in(out.path()).is_empty());
}

#[test]
fn closed_output_pipes_are_no_error() {
    let tiny = Tiny::new();
    for args in [
        vec!["eval", "--json", "-"],
        vec!["eval"],
        vec!["compare", "--iterations", "3", "--csv", "-"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = std::process::Command::new(placefield(&[]).get_program());
        let output = command.args(&args).arg(tiny.aux()).args(["--bins", "8", "--engine", "cpu"]);
        let output = output.stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {told}");
        assert!(!told.contains("placefield:"), "{told}");
    }
}

/// Standard error is closed, as with `2>&1 | head -1`, or full.
#[cfg(target_os = "linux")]
#[test]
fn exit_codes_do_not_depend_on_stderr() {
    use std::process::Stdio;
    let tiny = Tiny::new();
    let run = |aux: &Path, stderr: Stdio| {
        let mut command = std::process::Command::new(placefield(&[]).get_program());
        let command = command.args(["eval", "--bins", "8", "--engine", "cpu"]).arg(aux);
        command.stdout(Stdio::null()).stderr(stderr).status().unwrap().code()
    };
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    for stderr in [closed, full] {
        assert_eq!(run(&tiny.aux(), stderr()), Some(0), "a warning is lost");
        assert_eq!(run(&tiny.file("none"), stderr()), Some(1));
    }
}

#[test]
fn empty_placement_files_are_refused() {
    let tiny = Tiny::new();
    tiny.write("pl", b"UCLA pl 1.0\n# nothing else\n");
    assert_eq!(refused(&tiny, &[]), "t.pl:3:1: expected the place of a node, found end of file");
}

#[test]
fn widths_over_1e100_are_refused() {
    let width = |width: &str| {
        let tiny = Tiny::new();
        tiny.edit("nodes", "c 3 2", &format!("c {width} 2"));
        refused(&tiny, &[])
    };
    for large in ["1e308", "1e101"] {
        let found = format!("t.nodes:7:5: expected a width from 0 to 1e100, found `{large}`");
        assert_eq!(width(large), found);
    }
}

#[test]
fn dies_too_wide_for_f32_are_refused() {
    let tiny = Tiny::new();
    let rows: String = (0..8).map(|i| crate::tiny::row(2 * i, 0, 1_000_000)).collect();
    tiny.write("scl", format!("UCLA scl 1.0\nNumRows : 8\n{rows}").as_bytes());
    let line = refused(&tiny, &[]);
    assert!(line.starts_with("f32 holds coordinates of 1e6 in steps of 0.1"), "{line}");
    assert!(line.ends_with("expected --precision f64"), "{line}");
    crate::eval_json(&[&tiny.aux(), &"--bins 5x4 --precision f64"]);
}

#[test]
fn distant_dies_give_the_same_results() {
    let (near, far) = (Tiny::new(), Tiny::new());
    let rows: String =
        (0..8).map(|i| crate::tiny::row(500_000_000 + 2 * i, 300_000_000, 40)).collect();
    far.write("scl", format!("UCLA scl 1.0\nNumRows : 8\n{rows}").as_bytes());
    for (at, moved) in [
        ("18 5", "300000018 500000005"),
        ("5 2", "300000005 500000002"),
        ("12 4", "300000012 500000004"),
        ("30 8", "300000030 500000008"),
    ] {
        far.edit("pl", at, moved);
    }
    for precision in ["f32", "f64"] {
        let of = |tiny: &Tiny| {
            let mut json = crate::eval_json(&[&tiny.aux(), &"--bins 5x4 --precision", &precision]);
            for key in ["inputs", "timings_ms", "warnings"] {
                json[key].take();
            }
            json["design"]["die"].take();
            json
        };
        assert_eq!(of(&near), of(&far));
    }
    let placed = |tiny: &Tiny| {
        let pl = tiny.folder().join("out.pl");
        let to = "--until global --bins 8x8 --engine cpu --stop-overflow 0.1";
        crate::run(&[&"place", &tiny.aux(), &"-o", &pl, &to]);
        crate::eval_json(&[&tiny.aux(), &"--pl", &pl, &"--bins 8x8"])
    };
    let [near, far] = [placed(&near), placed(&far)];
    assert_eq!(far["density"]["clipped_area"], 0.0);
    let [near, far] = [near, far].map(|json| json["result"]["hpwl"].as_f64().unwrap());
    // Nets shrink to next to nothing on a die of 40 x 16.
    assert!((near - far).abs() < 0.1, "{near} {far}");
}

#[test]
fn die_areas_out_of_the_range_of_f32_are_refused() {
    let scaled = |power: i32| {
        let (tiny, scale) = (Tiny::new(), 2f64.powi(power));
        for kind in ["nodes", "nets", "pl", "scl"] {
            let number = |word: &str| match word.parse::<f64>() {
                Ok(value) => format!("{:e}", value * scale),
                Err(_) => word.to_owned(),
            };
            let line = |line: &str| {
                let [key, rest] = match line.split_once("NumSites : ") {
                    Some((before, sites)) => [before, &format!("NumSites : {sites}")],
                    None if line.contains("Num") || line.contains("NetDegree") => ["", line],
                    None => [line, ""],
                };
                key.split(' ').map(number).collect::<Vec<_>>().join(" ") + rest
            };
            let header = |at: usize, text: &str| if at == 0 { text.to_owned() } else { line(text) };
            let text: Vec<_> =
                tiny.text(kind).lines().enumerate().map(|(k, l)| header(k, l)).collect();
            tiny.write(kind, (text.join("\n") + "\n").as_bytes());
        }
        tiny
    };
    let numbers = |tiny: &Tiny, precision: &str| {
        let json = crate::eval_json(&[&tiny.aux(), &"--bins 5x4 --precision", &precision]);
        let [smoothed, exact] = ["max_smoothed", "max_exact"].map(|k| json["density"][k].clone());
        [smoothed, exact, json["result"]["overflow_exact"].clone()]
    };
    let [at_one, in_single] = ["f64", "f32"].map(|precision| numbers(&Tiny::new(), precision));
    for power in [100, -200] {
        let tiny = scaled(power);
        let line = refused(&tiny, &[]);
        assert!(line.starts_with("the die has an area of "), "{line}");
        assert!(
            line.ends_with(
                ": f32 computes with areas from 1e-30 to 1e30: expected --precision f64"
            ),
            "{line}"
        );
        assert_eq!(numbers(&tiny, "f64"), at_one);
    }
    assert_eq!(numbers(&scaled(44), "f32"), in_single);
    assert_eq!(numbers(&scaled(-44), "f32"), in_single);
}

#[cfg(unix)]
#[test]
fn endless_devices_are_not_read() {
    let out = tempfile::tempdir().unwrap();
    let line = failure(&[&"solve /dev/zero --out", &out.path()]);
    assert_eq!(line, "placefield: /dev/zero: neither a file nor a pipe");
    assert_eq!(failure(&[&"info --config /dev/zero"]), line);
}
