//! Behaviour that scripts need: which messages go where, options from a file, several placements at
//! once, windows, and exit codes that say what is wrong.

use crate::tiny::Tiny;
use crate::{Words, close, eval_json, failure, generated, json_of, placefield, run, said, text_of};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn quiet_leaves_warnings_and_verbose_adds() {
    let tiny = Tiny::new();
    let (aux, log) = (tiny.aux(), tiny.folder().join("run.log"));
    let eval: &[&dyn Words] = &[&"eval", &aux, &"--bins 8x4"];
    let with = |more: &[&dyn Words]| said(&placefield(&[&eval, &more]).assert().success());
    let (plain, quiet, verbose) = (with(&[]), with(&[&"-q"]), with(&[&"-v"]));
    let warning = "warning: ";
    assert!(plain.contains("pipeline: ") && plain.contains(warning), "{plain}");
    assert!(quiet.starts_with(warning) && quiet.lines().count() == 1, "{quiet}");
    assert!(verbose.contains(" s: reading ") && verbose.contains(" s: evaluating"), "{verbose}");
    assert!(verbose.ends_with(&plain), "{verbose}");
    // The file has all of it, whatever is said, and keeps what it had.
    std::fs::write(&log, "before\n").unwrap();
    assert_eq!(with(&[&"-q --log", &log]), quiet);
    let kept = text_of(&log);
    assert!(kept.starts_with("before\n"), "{kept}");
    for part in ["eval", " reading ", " pipeline: ", &quiet] {
        assert!(kept.contains(part), "{part}: {kept}");
    }
    // An error is there as well, and no input is written to.
    let line = failure(&[&"eval", &tiny.file("none"), &"--log", &log]);
    assert!(text_of(&log).trim_end().ends_with(&line), "{line}");
    placefield(&[&eval, &"--log", &tiny.file("pl")]).assert().code(2);
}

#[test]
fn progress_is_told_without_a_terminal() {
    let (folder, aux) = generated(300);
    let pl = folder.path().join("out.pl");
    let args: &[&dyn Words] = &[&"place", &aux, &"-o", &pl, &"--engine cpu"];
    let told = |more: &str| {
        let mut command = placefield(&[&args, &more]);
        said(&command.env("PLACEFIELD_PROGRESS", "0.005").assert().success())
    };
    let lines = told("");
    let line = lines.lines().find(|line| line.contains(" s: iteration "));
    let line = line.unwrap_or_else(|| panic!("{lines}"));
    assert!(line.contains("HPWL ") && line.contains("overflow "), "{line}");
    assert!(!told("--quiet").contains("iteration"));
    let mut wrong = placefield(args);
    wrong.env("PLACEFIELD_PROGRESS", "often").assert().code(1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_history_grows_while_cells_are_placed() {
    use std::process::{Command, Stdio};
    let (folder, aux) = generated(300);
    let (pl, history) = (folder.path().join("out.pl"), folder.path().join("h.csv"));
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("placefield"));
    let endless = "--engine cpu --stop-overflow 0 --iterations 100000 --history";
    let args: &[&dyn Words] = &[&"place", &aux, &"-o", &pl, &endless, &history];
    let command = crate::heeding(command.args(args.words()));
    let mut child = crate::Running::start(command.stderr(Stdio::null()).stdout(Stdio::null()));
    let lines = || std::fs::read_to_string(&history).unwrap_or_default().lines().count();
    while lines() < 20 {
        assert!(child.try_wait().unwrap().is_none(), "ended before");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(!pl.exists());
    crate::interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let all = text_of(&history);
    let columns = all.lines().next().unwrap().split(',').count();
    assert!(all.ends_with('\n') && all.lines().all(|line| line.split(',').count() == columns));
    let numbers =
        all.lines().skip(1).map(|line| line.split(',').next().unwrap().parse::<usize>().unwrap());
    assert!(numbers.eq(0..all.lines().count() - 1), "every iteration once");
}

#[test]
#[cfg(target_os = "linux")]
fn an_interruption_while_reading_ends_at_once() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let pl = folder.path().join("out.pl");
    for name in ["place", "refine"] {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("placefield"));
        // It waits for the end of standard input.
        let args: &[&dyn Words] = &[&name, &"- -v -o", &pl];
        let command =
            crate::heeding(command.args(args.words())).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = crate::Running::start(command);
        let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains(" s: reading -") {
            line.clear();
            assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0);
        }
        crate::interrupt(child.id());
        // `wait` would end standard input, and the command might see that first.
        let open = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        drop(open);
        line.clear();
        std::io::Read::read_to_string(&mut said, &mut line).unwrap();
        assert_eq!(line, "placefield: interrupted\n");
        assert!(!pl.exists());
    }
}

#[test]
fn options_come_from_a_file() {
    let tiny = Tiny::new();
    let (aux, config) = (tiny.aux(), tiny.folder().join("c.toml"));
    let with = |toml: &str, more: &str| {
        std::fs::write(&config, toml).unwrap();
        eval_json(&[&aux, &"--config", &config, &more])
    };
    let toml = "bins = \"8x4\"\nlegality = true\n# of another command\nstop-overflow = 0.1\n\
                [eval]\ntarget_density = 0.9\nregion = [\"0,0,4,4\", \"0,0,8,8\"]\n\
                [place]\nprecision = \"f64\"\n";
    let json = with(toml, "");
    assert_eq!(json["grid"]["bins"], json!([8, 4]));
    assert_eq!(json["options"]["target_density"], 0.9);
    assert_eq!(json["options"]["precision"], "f32");
    assert!(json["legality"].is_object());
    assert_eq!(json["windows"].as_array().unwrap().len(), 2);
    // The command line goes first.
    assert_eq!(with(toml, "--bins 16")["grid"]["bins"], json!([16, 16]));
    assert_eq!(with("engine = \"cpu\"\nbins = 8\n", "")["grid"]["bins"], json!([8, 8]));
    let wrong = |toml: &str| {
        std::fs::write(&config, toml).unwrap();
        let line = failure(&[&"eval", &aux, &"--config", &config]);
        let start = format!("placefield: {}:", config.display());
        line.strip_prefix(&start).unwrap_or_else(|| panic!("{line}")).to_owned()
    };
    assert_eq!(wrong("bins = 8\n binns = 8\n"), "2:2: `binns` is no option of any command");
    assert_eq!(wrong("[eval]\nbins = 8\ninit = \"file\"\n"), "3:1: `init` is no option of eval");
    assert_eq!(wrong("[place]\nlegality = true\n"), "2:1: `legality` is no option of place");
    assert!(wrong("legality = 1\n").starts_with("1:12: expected true or false"));
    assert!(wrong("target-density = 2.0\n").contains("expected a number above 0 and at most 1"));
    assert!(wrong("bins = {x = 1}\n").starts_with("1:8: expected a text or a number"));
    assert!(wrong("engine = \"cpu\"\nbins = \n").starts_with("2:"), "no TOML");
    placefield(&[&"eval", &aux, &"--config", &tiny.file("none")]).assert().code(1);
}

#[test]
fn several_placements_make_one_table() {
    let tiny = Tiny::new();
    let (aux, at) = (tiny.aux(), |name: &str| tiny.folder().join(name));
    let (second, csv, json) = (at("second.pl"), at("t.csv"), at("t.json"));
    std::fs::write(&second, tiny.text("pl").replace("c 18 5", "c 4 12")).unwrap();
    let first = tiny.file("pl");
    let two: &[&dyn Words] = &[&aux, &"--pl", &first, &"--pl", &second];
    let table = run(&[&"eval", &two, &"--bins 8x4 --csv", &csv, &"--json", &json]);
    let all = json_of(&json);
    let all = all.as_array().unwrap();
    let lines: Vec<Vec<String>> =
        text_of(&csv).lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    assert_eq!((all.len(), lines.len()), (2, 3));
    let column = |name: &str| lines[0].iter().position(|n| n == name).unwrap();
    for ((pl, json), line) in [&first, &second].into_iter().zip(all).zip(&lines[1..]) {
        let alone = eval_json(&[&aux, &"--pl", pl, &"--bins 8x4"]);
        assert_eq!((&json["result"], &json["density"]), (&alone["result"], &alone["density"]));
        assert_eq!(line[column("placement")], pl.display().to_string());
        for (name, want) in [
            ("hpwl", &alone["result"]["hpwl"]),
            ("overflow_exact", &alone["result"]["overflow_exact"]),
        ] {
            assert_eq!(line[column(name)].parse::<f64>().ok(), want.as_f64(), "{name}");
        }
        assert!(table.lines().any(|line| line.contains(&pl.display().to_string())), "{table}");
    }
    assert_ne!(all[0]["result"]["hpwl"], all[1]["result"]["hpwl"]);
    // Several designs, and what one of them fails in.
    let other = Tiny::new();
    other.edit("pl", "a 5 2", "a 500 2");
    let both: &[&dyn Words] = &[&"eval", &aux, &other.aux(), &"--bins 8"];
    assert_eq!(run(both).lines().count(), 3);
    let said = said(&placefield(&[&both, &"--require-on-die"]).assert().code(1));
    let of_other =
        format!("placefield: {}: 1 movable cells are not on the die", other.aux().display());
    assert!(said.contains(&of_other), "{said}");
    placefield(&[&both, &"--maps m"]).assert().code(2);
    placefield(&[&both, &"--pl", &first]).assert().code(2);
    placefield(&[&"plot", &two, &"--out", &at("p")]).assert().code(2);
}

#[test]
fn a_window_has_its_own_numbers() {
    // `a` is 4 x 2 at (5, 2), `c` 3 x 2 at (18, 5), and `p`, fixed, 4 x 4 at (30, 8).
    let tiny = Tiny::new();
    tiny.edit("pl", "c 18 5", "c 6 2");
    let regions = "--region 5,2,9,4 --region 0,0,40,16 --region 30,8,34,12 --region 7,0,8,3";
    let json = eval_json(&[&tiny.aux(), &"--bins 40x16 --precision f64", &regions]);
    let windows = json["windows"].as_array().unwrap();
    let number = |k: usize, key: &str| windows[k][key].as_f64().unwrap();
    // `c` lies on `a` from 6 to 9: of the two, 6 of area above 1.
    assert_eq!(windows[0]["window"], json!([5.0, 2.0, 9.0, 4.0]));
    assert_eq!((number(0, "movable"), number(0, "movable_area")), (2.0, 14.0));
    assert_eq!((number(0, "overflow_area"), number(0, "max_exact")), (6.0, 2.0));
    assert_eq!(number(0, "utilization"), 14.0 / 8.0);
    // The whole die has what the placement has.
    let density = &json["density"];
    let exact = json["result"]["overflow_exact"].as_f64().unwrap();
    close("overflow", number(1, "overflow_exact"), exact, exact, 1e-12);
    assert_eq!(windows[1]["max_exact"], density["max_exact"]);
    assert_eq!((number(1, "movable"), number(1, "fixed_area")), (3.0, 16.0));
    // Under the fixed cell nothing is free.
    assert_eq!((&windows[2]["utilization"], number(2, "movable_area")), (&Value::Null, 0.0));
    // Half of the bins' height is below the cells.
    assert_eq!((number(3, "movable_area"), number(3, "overflow_area")), (2.0, 1.0));
    for wrong in ["5,2,9", "9,2,5,4", "a,b,c,d", "0,0,inf,1", "0,0,1,1,1"] {
        placefield(&[&"eval", &tiny.aux(), &"--region", &wrong]).assert().code(2);
    }
}

#[test]
fn longer_wires_fail_where_that_is_asked_for() {
    let tiny = Tiny::new();
    let (from, to) = (tiny.file("pl"), tiny.folder().join("to.pl"));
    // n1 goes from 17 to 25 of 22: HPWL is 30.
    std::fs::write(&to, tiny.text("pl").replace("c 18 5", "c 10 5")).unwrap();
    let gate = |from: &Path, to: &Path, most: &str| {
        let sides: &[&dyn Words] = &[&from, &to];
        placefield(&[&"diff", &tiny.aux(), &sides, &"--bins 8 --max-hpwl-rise", &most]).assert()
    };
    gate(&from, &to, "37%").success();
    gate(&from, &to, "0.364").success();
    gate(&to, &from, "0").success();
    let failed = gate(&from, &to, "1%").code(1).get_output().clone();
    let said = String::from_utf8(failed.stderr).unwrap();
    assert!(
        said.contains("to: HPWL rises by 36.3636 %, and --max-hpwl-rise allows 1.0000 %"),
        "{said}"
    );
    assert!(String::from_utf8(failed.stdout).unwrap().contains("HPWL"), "the numbers are there");
    for wrong in ["-1%", "much", "nan"] {
        gate(&from, &to, wrong).code(2);
    }
    std::fs::remove_file(tiny.file("nets")).unwrap();
    std::fs::remove_file(tiny.file("wts")).unwrap();
    gate(&from, &to, "1%").code(1);
}

#[test]
#[cfg(unix)]
fn linked_aux_files_find_files_at_either_end() {
    let tiny = Tiny::new();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.aux");
    std::os::unix::fs::symlink(tiny.aux(), &link).unwrap();
    let want = eval_json(&[&tiny.aux(), &"--bins 8"]);
    assert_eq!(eval_json(&[&link, &"--bins 8"])["result"], want["result"]);
    // A file beside the link goes first.
    let moved = tiny.text("pl").replace("c 18 5", "c 10 5");
    std::fs::write(folder.path().join("t.pl"), moved).unwrap();
    assert_eq!(eval_json(&[&link, &"--bins 8"])["result"]["hpwl"], 30.0);
    // No input is written over, at either end.
    placefield(&[&"place", &link, &"-o", &folder.path().join("t.pl")]).assert().code(2);
    std::fs::remove_file(tiny.file("nodes")).unwrap();
    assert!(failure(&[&"eval", &link]).contains("t.nodes"));
}
