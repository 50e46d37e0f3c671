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
    refused(folder, &[&"diff", &aux, &pl, &other, &"--json", &other], is_input);
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

#[cfg(unix)]
#[test]
fn outputs_never_damage_inputs_by_their_other_names() {
    let tiny = Tiny::new();
    let (folder, aux, out) = (tiny.folder(), tiny.aux(), tiny.folder().join("out.pl"));
    let is_input = "is an input of the run";
    let csv = folder.join("h.csv");
    std::fs::hard_link(tiny.file("nodes"), &csv).unwrap();
    refused(folder, &[&"place", &aux, &"-o", &out, &"--history", &csv], is_input);
    for command in ["eval", "compare", "legalize -o", "refine -o", "place -o", "report --out"] {
        let args: &[&dyn Words] = match command.contains(' ') {
            true => &[&command, &out, &aux],
            false => &[&command, &aux],
        };
        refused(folder, &[&args, &"--log", &csv], is_input);
    }
    refused(folder, &[&"eval", &aux, &"--csv", &csv], is_input);
    refused(folder, &[&"convert", &aux, &folder.join("a.def"), &"--json", &csv], is_input);
    refused(folder, &[&"legalize", &aux, &"-o", &out, &"--json", &csv], is_input);
    // Two names of one output.
    std::fs::write(folder.join("a.json"), "").unwrap();
    std::fs::hard_link(folder.join("a.json"), folder.join("b.csv")).unwrap();
    let both: &[&dyn Words] = &[&"--json", &folder.join("a.json"), &"--csv", &folder.join("b.csv")];
    refused(folder, &[&"eval", &aux, &both], "is what --json writes");
    // The file of --config is an input, too.
    let toml = folder.join("c.toml");
    std::fs::write(&toml, "bins = 8\n").unwrap();
    refused(folder, &[&"eval", &aux, &"--config", &toml, &"--log", &toml], is_input);
    let generate: &[&dyn Words] = &[&"generate --cells 50 --out", &folder.join("g")];
    refused(folder, &[&generate, &"--config", &toml, &"--log", &toml], is_input);
    // By a name within a folder of results.
    std::fs::create_dir(folder.join("plots")).unwrap();
    std::fs::hard_link(tiny.file("nets"), folder.join("plots/density.png")).unwrap();
    let has_input = "has an input of the run in it";
    let contents = tiny.text("nets");
    placefield(&[&"eval", &aux, &"--plots", &folder.join("plots")])
        .assert()
        .code(2)
        .stderr(predicate::str::contains(has_input));
    assert_eq!(tiny.text("nets"), contents);
}

#[cfg(unix)]
#[test]
fn the_file_of_standard_input_is_an_input() {
    let tiny = Tiny::new();
    let read = tiny.folder().join("read.csv");
    std::fs::copy(tiny.file("pl"), &read).unwrap();
    let program = placefield(&[]).get_program().to_owned();
    for args in ["eval --log", "eval --json", "place -o o.pl --history"] {
        let mut command = std::process::Command::new(&program);
        command.args(args.split(' ')).arg(&read).arg(tiny.aux()).args(["--pl", "-"]);
        command.current_dir(tiny.folder()).stdin(std::fs::File::open(&read).unwrap());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("is an input of the run"), "{said}");
        assert_eq!(text_of(&read), tiny.text("pl"));
    }
}

#[test]
fn folders_of_the_same_names_are_not_shared() {
    let tiny = Tiny::new();
    let (aux, out, both) = (tiny.aux(), tiny.folder().join("o.pl"), tiny.folder().join("both"));
    let place: &[&dyn Words] = &[&"place", &aux, &"-o", &out, &"--plots", &both, &"--frames"];
    let roundabout = tiny.folder().join("..").join(tiny.folder().file_name().unwrap()).join("both");
    refused(tiny.folder(), &[&place, &both], "is the folder of --plots");
    refused(tiny.folder(), &[&place, &roundabout], "is the folder of --plots");
    // Through a folder that is not there yet.
    let new = tiny.folder().join("new/../both");
    refused(tiny.folder(), &[&place, &new], "is the folder of --plots");
    let maps = tiny.folder().join("maps");
    run(&[&"eval", &aux, &"--bins 8 --maps", &maps]);
    let solve: &[&dyn Words] = &[&"solve", &maps.join("potential.npy"), &"--out"];
    let new = tiny.folder().join("new/deeper/../../maps");
    refused(tiny.folder(), &[&solve, &new], "has an input of the run in it");
    // A file cannot have the name of a folder.
    let one = tiny.folder().join("one");
    refused(tiny.folder(), &[&"eval", &aux, &"--json", &one, &"--maps", &one], "--json writes");
    let place: &[&dyn Words] = &[&"place", &aux, &"-o", &one, &"--report", &both, &"--frames"];
    refused(tiny.folder(), &[&place, &both], "is the file that --report writes");
    // Arrays and pictures have different names.
    run(&[&"eval", &aux, &"--bins 8 --maps", &both, &"--plots", &both]);
}

#[test]
fn a_demo_replaces_no_log_and_other_commands_have_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("eval.json");
    std::fs::write(&log, "earlier\n").unwrap();
    let demo: &[&dyn Words] = &[&"demo --cells 50 --iterations 1 --out", &folder.path()];
    refused(folder.path(), &[&demo, &"--log", &log], "holds what --log writes");
    for command in ["man", "completions bash", "schema eval"] {
        run(&[&command, &"--log", &log]);
    }
    let lines = text_of(&log);
    assert!(lines.contains(" man --log ") && lines.contains(" completions bash "), "{lines}");
}

#[cfg(unix)]
#[test]
fn pipes_with_names_are_no_outputs() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("o.pl"));
    let pipe = |name: &str| {
        let pipe = tiny.folder().join(name);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        pipe
    };
    let (csv, pl) = (pipe("p.csv"), pipe("p.pl"));
    std::fs::create_dir(tiny.folder().join("plots")).unwrap();
    pipe("plots/density.svg");
    pipe("plots/placed.html");
    let cases: [&[&dyn Words]; 9] = [
        &[&"demo --cells 50 --iterations 1 --out", &tiny.folder().join("plots")],
        &[&"eval", &aux, &"--json", &csv],
        &[&"eval", &aux, &"--csv", &csv],
        &[&"eval", &aux, &"--plots", &tiny.folder().join("plots")],
        &[&"eval", &aux, &"--log", &csv],
        &[&"place", &aux, &"-o", &pl],
        &[&"place", &aux, &"-o", &out, &"--history", &csv],
        &[&"place", &aux, &"-o", &out, &"--checkpoint", &csv],
        &[&"report", &aux, &"--out", &csv],
    ];
    for args in cases {
        let mut command = placefield(args);
        let seconds = std::time::Duration::from_secs(60);
        let says = predicate::str::contains("is a pipe: expected a file");
        command.timeout(seconds).assert().code(2).stdout("").stderr(says);
    }
    // A pipe without a name has its reader.
    let json: Value = serde_json::from_str(
        &run(&[&"eval", &aux, &"--json /dev/stdout --quiet"])
            .split_inclusive('\n')
            .take_while(|line| !line.starts_with("t: "))
            .collect::<String>(),
    )
    .unwrap();
    assert_eq!(json["command"], "eval");
}

/// Returns `text` compressed by gzip.
fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_files_unpack_to_no_more_than_is_allowed() {
    let tiny = Tiny::new();
    let packed = tiny.folder().join("other.pl.gz");
    let places = tiny.text("pl");
    let eval = |more: &[&dyn Words]| {
        let args: &[&dyn Words] = &[&"eval", &tiny.aux(), &"--bins 8 --json - --pl", &packed];
        placefield(&[&args, &more]).assert()
    };
    // 20 MB of names that the design does not have.
    let bomb = format!("{places}{}", "x 1 1 : N\n".repeat(2_000_000));
    std::fs::write(&packed, gzip(bomb.as_bytes())).unwrap();
    let says = "other.pl.gz: it unpacks to more than the 0.001 GB that are allowed \
                (--max-unpacked)\n";
    eval(&[&"--max-unpacked 1M"]).code(1).stderr(predicate::str::ends_with(says));
    eval(&[&"--max-unpacked 1G"]).code(1).stderr(predicate::str::contains("`x`"));
    // Blanks and comments are not held.
    let bomb = format!("{places}{}{}", " \n".repeat(10_000_000), "# none\n".repeat(3_000_000));
    std::fs::write(&packed, gzip(bomb.as_bytes())).unwrap();
    let json = eval(&[&"--max-unpacked 3M"]).success().get_output().stdout.clone();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["result"], eval_json(&[&tiny.aux(), &"--bins 8"])["result"]);
    eval(&[&"--max-unpacked 1X"]).code(2);
}

#[test]
fn conversions_replace_no_file_that_nobody_named() {
    let tiny = Tiny::new();
    let (folder, aux) = (tiny.folder(), tiny.aux());
    let convert: &[&dyn Words] = &[&"convert", &aux, &folder.join("a.def")];
    std::fs::write(folder.join("a.lef"), "VERSION 5.8 ;\nEND LIBRARY\n").unwrap();
    refused(folder, convert, "a.lef: expected no file of that name");
    std::fs::remove_file(folder.join("a.lef")).unwrap();
    // Files of an earlier conversion are replaced.
    run(convert);
    run(convert);
    let back: &[&dyn Words] = &[&"convert", &folder.join("a.def"), &"--lef", &folder.join("a.lef")];
    std::fs::write(folder.join("b.pl"), "UCLA pl 1.0\n").unwrap();
    refused(folder, &[&back, &folder.join("b.aux")], "b.pl: expected no file of that name");
    std::fs::remove_file(folder.join("b.pl")).unwrap();
    run(&[&back, &folder.join("b.aux")]);
    run(&[&back, &folder.join("b.aux")]);
}

#[test]
fn names_and_paths_print_no_control_characters() {
    let tiny = Tiny::new();
    let hidden = "\u{1b}[31m\u{9b}2J\u{202e}\u{7f}\u{200b}";
    let shown = "\\u{1b}[31m\\u{9b}2J\\u{202e}\\u{7f}\\u{200b}";
    let clean = |text: &[u8]| {
        let text = String::from_utf8(text.to_vec()).unwrap();
        let bad = |c: char| c != '\n' && c.is_control() || "\u{202e}\u{200b}".contains(c);
        assert!(!text.contains(bad), "{text:?}");
        text
    };
    let both = |args: &[&dyn Words]| {
        let output = placefield(args).output().unwrap();
        (clean(&output.stdout), clean(&output.stderr))
    };
    // Paths of the user's.
    let json = tiny.folder().join(format!("{hidden}.json"));
    let log = tiny.folder().join("log");
    let eval: &[&dyn Words] = &[&"eval", &tiny.aux(), &"--bins 8 --verbose --json", &json];
    let (listed, _) = both(&[&eval, &"--log", &log]);
    assert!(listed.ends_with(&format!("{shown}.json\n")), "{listed}");
    assert!(clean(&std::fs::read(log).unwrap()).contains(shown));
    let pl = tiny.folder().join(format!("{hidden}.pl"));
    let (_, said) = both(&[&"eval", &tiny.aux(), &"--pl", &pl]);
    assert!(said.contains(&format!("{shown}.pl: ")), "{said}");
    // The name that the program was called by.
    #[cfg(unix)]
    for args in ["--help", "eval --help", "eval"] {
        use std::os::unix::process::CommandExt;
        let mut called = std::process::Command::new(placefield(&[]).get_program());
        let output = called.arg0(hidden).args(args.split(' ')).output().unwrap();
        let said = clean(&output.stdout) + &clean(&output.stderr);
        assert!(said.contains("Usage: placefield"), "{said}");
    }
    // In JSON they mean the same.
    std::fs::write(&pl, tiny.text("pl")).unwrap();
    let json = &[&"eval", &tiny.aux() as &dyn Words, &"--bins 8 --json - --pl", &pl];
    let (text, _) = both(json);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert!(texts_of(&json["inputs"]).contains(&pl.to_str().unwrap()), "{text}");
    let (table, _) =
        both(&[&"eval", &tiny.aux(), &"--bins 8 --pl", &pl, &"--pl", &tiny.file("pl")]);
    assert!(table.contains(shown), "{table}");
    // Words of the command line, and keys of a configuration.
    let (_, said) = both(&[&"eval", &tiny.aux(), &Path::new(&format!("--{hidden}"))]);
    assert!(said.starts_with("error: "), "{said}");
    let (_, said) = both(&[&"eval", &tiny.aux(), &"--bins", &Path::new(hidden)]);
    assert!(said.starts_with("error: "), "{said}");
    let toml = tiny.folder().join("c.toml");
    std::fs::write(&toml, "\"\\u001b[31m\\u202e\" = 1\n").unwrap();
    let (_, said) = both(&[&"eval", &tiny.aux(), &"--config", &toml]);
    assert!(said.contains("`\\u{1b}[31m\\u{202e}` is no option"), "{said}");
}

/// The texts of a list.
fn texts_of(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn names_in_csv_are_no_formulas() {
    let tiny = Tiny::new();
    let folder = tiny.folder();
    for name in ["=1+2.pl", "@a,b.pl", "-x.pl"] {
        std::fs::write(folder.join(name), tiny.text("pl")).unwrap();
    }
    let mut command = placefield(&[&"eval t.aux --bins 8 --pl==1+2.pl --pl=@a,b.pl --pl=-x.pl"]);
    command.args(["--csv", "o.csv"]).current_dir(folder).assert().success();
    let text = text_of(folder.join("o.csv"));
    for cell in [",'=1+2.pl,", ",\"'@a,b.pl\",", ",'-x.pl,"] {
        assert!(text.contains(cell), "{cell}: {text}");
    }
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
    let keys = ["design", "result", "density", "field"];
    keys.iter().map(|k| (k.to_string(), json[k].clone())).collect()
}

#[test]
fn compressed_designs_are_read_as_plain_ones() {
    let tiny = Tiny::new();
    let want = numbers(eval_json(&[&tiny.aux(), &"--bins 8"]));
    for kind in ["nodes", "nets", "wts", "pl", "scl", "aux"] {
        let packed = gzip(&std::fs::read(tiny.file(kind)).unwrap());
        std::fs::write(tiny.folder().join(format!("t.{kind}.gz")), packed).unwrap();
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
