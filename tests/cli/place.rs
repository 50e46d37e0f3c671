//! `place` from outside: what it writes, says and does when it is stopped.

use crate::common::png::Png;
use crate::tiny::Tiny;
use crate::{
    Words, eval_json, failure, generated, json_of, names_in, placefield, run, run_json, text_of,
};

use predicates::prelude::*;
use serde_json::Value;
use std::path::Path;

/// Places globally on the CPU with more arguments; it must reach the overflow asked for.
fn place(aux: &Path, out: &Path, more: &[&dyn Words]) -> String {
    ended(aux, out, more, 0).0
}

/// Places and expects an exit code; returns standard output and error.
fn ended(aux: &Path, out: &Path, more: &[&dyn Words], code: i32) -> (String, String) {
    let base: &[&dyn Words] = &[&"place", &aux, &"-o", &out, &"--engine cpu --until global"];
    let output = placefield(&[&base, &more]).assert().code(code).get_output().clone();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

/// Returns the report of `eval` on a placement, on the bins and at the target density of `place`.
fn eval_alike(placed: &Value, more: &[&dyn Words]) -> Value {
    let (bins, target) = (&placed["grid"]["bins"], &placed["options"]["target_density"]);
    let alike = format!("--bins {}x{} --target-density {target}", bins[0], bins[1]);
    eval_json(&[&more, &"--engine cpu", &alike])
}

#[test]
fn crowded_cells_grow_by_the_area_given() {
    let (folder, aux) = generated(200);
    let (pl, out) = (folder.path().join("out.pl"), folder.path().join("out.json"));
    for (area, more) in [("0.02", ""), ("0.1", ""), ("0.1", "--no-fillers")] {
        let crowded = "--routability --capacity 0.05,0.05 --routability-area";
        place(&aux, &pl, &[&crowded, &area, &"--json", &out, &more]);
        let placed = json_of(&out);
        let rounds = placed["routability"].as_array().unwrap();
        let added: Vec<f64> = rounds.iter().map(|r| r["added_area"].as_f64().unwrap()).collect();
        let most: f64 = area.parse().unwrap();
        assert!(added[0] == 0.0 && added.len() > 1, "{added:?}");
        assert!((added.last().unwrap() - most).abs() < 1e-9, "{added:?}");
        let end = &placed["routability_end"];
        let result = &rounds[end["result"].as_u64().unwrap() as usize]["overflow"];
        let least = rounds.iter().map(|r| r["overflow"].as_f64().unwrap());
        assert_eq!(result.as_f64(), least.reduce(f64::min));
        assert!(["rounds", "no_area"].contains(&end["reason"].as_str().unwrap()), "{end}");
    }
    let enough = "--routability --capacity 1000,1000 --until global --json";
    let placed = placefield(&[&"place", &aux, &"-o", &pl, &enough, &out]).assert().success();
    let said = crate::said(&placed);
    assert!(said.contains("round 0 is the result; every bin has enough tracks"), "{said}");
    let end = &json_of(&out)["routability_end"];
    assert_eq!((&end["result"], &end["reason"]), (&0.into(), &"no_overflow".into()));
    let layers = "--routability --capacity metal2-metal4";
    let mut layers = placefield(&[&"place", &aux, &"-o", &pl, &layers]);
    let said = crate::said(&layers.assert().code(1));
    assert!(said.contains("`metal2`: expected one of the LEF routing layers: no layers"), "{said}");
    placefield(&[&"place", &aux, &"-o", &pl, &"--routability-area 0.1"]).assert().code(2);
}

#[test]
fn eval_reads_the_same_numbers_back() {
    let (folder, aux) = generated(1000);
    let (pl, history) = (folder.path().join("out.pl"), folder.path().join("h.json"));
    for precision in ["f32", "f64"] {
        let text = place(&aux, &pl, &[&"--history", &history, &"--precision", &precision]);
        assert!(text.contains("done after"), "{text}");
        let placed = json_of(&history);
        assert_eq!(placed["grid"]["bins"], serde_json::json!([64, 64]));
        assert_eq!(placed["options"]["target_density"], 0.95);
        let again = eval_alike(&placed, &[&aux, &"--pl", &pl, &"--precision", &precision]);
        assert_eq!(placed["outcome"], "converged");
        assert_eq!(placed["result"]["hpwl"], again["result"]["hpwl"]);
        assert_eq!(placed["result"]["hpwl_weighted"], again["result"]["hpwl_weighted"]);
        for overflow in ["overflow_smoothed", "overflow_exact"] {
            // But for the order in which areas are added.
            let [placed, again] =
                [&placed["result"], &again["result"]].map(|v| v[overflow].as_f64().unwrap());
            assert!((placed - again).abs() <= 1e-14 * again, "{precision}: {placed} {again}");
        }
        assert!(again["result"]["overflow_smoothed"].as_f64().unwrap() <= 0.07);
        let warnings = again["warnings"].as_array().unwrap();
        let beyond =
            |w: &&Value| w["message"].as_str().unwrap().contains("movable cells reach beyond");
        assert_eq!(warnings.iter().find(beyond), None);

        let records = placed["history"].as_array().unwrap();
        let last = records.len() - 1;
        assert_eq!(placed["result"]["iteration"], last);
        assert_eq!(records[last]["overflow_smoothed"], placed["result"]["overflow_smoothed"]);
        let length = |k: usize| records[k]["hpwl_weighted"].as_f64().unwrap();
        let written = placed["result"]["hpwl_weighted"].as_f64().unwrap();
        assert!((length(last) - written).abs() < 1e-5 * written);
        assert!(records[0]["overflow_smoothed"].as_f64().unwrap() > 0.5);
    }
}

#[test]
fn files_depend_on_the_seed_but_not_on_threads() {
    let (folder, aux) = generated(1000);
    let placed = |name: &str, seed: &str, threads: &str| {
        let pl = folder.path().join(name);
        let few: &[&dyn Words] =
            &[&"--seed", &seed, &"--threads", &threads, &"--deterministic --iterations 200"];
        ended(&aux, &pl, few, 3);
        std::fs::read(pl).unwrap()
    };
    let first = placed("a.pl", "7", "1");
    assert!(first == placed("b.pl", "7", "1"), "two runs differ");
    assert!(first == placed("c.pl", "7", "3"), "runs with 1 and 3 threads differ");
    assert!(first != placed("d.pl", "8", "1"), "the seed has no effect");
}

#[test]
fn initial_positions_are_those_of_the_file() {
    let (folder, aux) = generated(1000);
    let file = |name: &str| folder.path().join(name);
    let (rough_pl, said) = (file("rough.pl"), file("rough.json"));
    place(&aux, &rough_pl, &[&"--stop-overflow 0.2 --json", &said]);
    let rough = eval_alike(&json_of(&said), &[&aux, &"--pl", &rough_pl]);
    let history = file("h.csv");
    let text =
        place(&aux, &file("fine.pl"), &[&"--init file --pl", &rough_pl, &"--history", &history]);
    assert!(text.contains("done after"), "{text}");
    let csv = text_of(history);
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(columns[..4], ["iteration", "hpwl_weighted", "wirelength", "overflow_smoothed"]);
    let start: Vec<f64> = lines.next().unwrap().split(',').map(|v| v.parse().unwrap()).collect();
    assert_eq!(start.len(), columns.len());
    // The fillers, which count nowhere, lie elsewhere.
    let overflow = rough["result"]["overflow_smoothed"].as_f64().unwrap();
    assert!((start[3] / overflow - 1.0).abs() < 1e-12, "{} {overflow}", start[3]);
    assert!((start[1] / rough["result"]["hpwl"].as_f64().unwrap() - 1.0).abs() < 1e-5);
}

#[test]
fn plots_and_frames() {
    let (folder, aux) = generated(1000);
    let [plots, frames, page] =
        ["plots", "frames", "page.html"].map(|name| folder.path().join(name));
    let files: &[&dyn Words] = &[&"--plots", &plots, &"--frames", &frames, &"--report", &page];
    let few: &[&dyn Words] = &[&"--iterations 4 --frame-every 3", &files];
    let (text, _) = ended(&aux, &folder.path().join("out.pl"), few, 3);
    assert!(text.contains("frames took"), "{text}");
    assert!(text.contains("stopped before the overflow asked for"), "{text}");
    let drawn = ["place.png", "place.svg", "place_weights.png", "place_weights.svg"];
    let names = names_in(&plots);
    assert!(drawn.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    let want = ["frame_00000.png", "frame_00003.png", "frame_00004.png", "placement.gif"];
    assert_eq!(names_in(&frames), want);
    // Bins of a film are smaller than cells: those inside one are full, not too dense.
    assert!(text_of(page).contains("red above a density of 1, "));
    let gif = std::fs::File::open(frames.join("placement.gif")).unwrap();
    let mut gif = gif::DecodeOptions::new().read_info(std::io::BufReader::new(gif)).unwrap();
    let mut shown = Vec::new();
    while let Some(frame) = gif.read_next_frame().unwrap() {
        shown.push(frame.clone());
    }
    assert_eq!(shown.len(), 3);
    assert!(shown[0].buffer != shown[2].buffer, "nothing moves");
    // One size, and an even one: what encoders of video ask for.
    let size = (shown[0].width, shown[0].height);
    assert_eq!((size.0 % 2, size.1 % 2), (0, 0));
    for (name, shown) in want.iter().zip(&shown) {
        let png = Png::open(&frames.join(name));
        assert_eq!((png.width, png.height), (size.0.into(), size.1.into()), "{name}");
        assert_eq!((shown.width, shown.height), size);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn interruptions_after_the_global_stage_have_their_exit_code() {
    let (folder, aux) = generated(4000);
    let pl = folder.path().join("o.pl");
    for more in ["--iterations 3", "--iterations 3 --until legal"] {
        let args: &[&dyn Words] = &[&"place", &aux, &"--engine cpu -o", &pl, &more];
        let output = crate::interrupted_at("making the placement legal", args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("placefield: interrupted"), "{said}");
        assert!(pl.exists());
        std::fs::remove_file(&pl).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_writes_the_placement_at_hand() {
    let (folder, aux) = generated(1000);
    let pl = folder.path().join("out.pl");
    let endless = "--stop-overflow 0 --iterations 100000000";
    let output = crate::interrupted(&[&"place", &aux, &"--engine cpu -o", &pl, &endless]);
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{text} {said}");
    assert!(text.contains("interrupted after") && said.contains("it was interrupted"), "{text}");
    assert!(
        eval_json(&[&aux, &"--pl", &pl, &"--engine cpu"])["result"]["hpwl"].as_f64().unwrap() > 0.0
    );
}

#[test]
fn a_design_of_three_cells_is_placed() {
    let tiny = Tiny::new();
    let pl = tiny.folder().join("out.pl");
    for init in ["center", "file"] {
        place(&tiny.aux(), &pl, &[&"--init", &init, &"--stop-overflow 0.3"]);
        let text = text_of(&pl);
        assert!(text.contains("p\t30\t8\t: N /FIXED"), "{text}");
    }
}

#[test]
fn the_summary_says_how_it_ended() {
    let (folder, aux) = generated(1000);
    let (pl, file) = (folder.path().join("out.pl"), folder.path().join("s.json"));
    let text = place(&aux, &pl, &[&"--json - --stop-overflow 0.2"]);
    let done: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(done["outcome"]["status"], "converged");
    assert_eq!(done["best"]["iteration"], done["result"]["iteration"]);
    for key in ["design", "grid", "options", "timings_ms", "warnings"] {
        assert!(!done[key].is_null(), "{key}");
    }
    let again = eval_json(&[&aux, &"--pl", &pl, &"--engine cpu"]);
    assert_eq!(done["result"]["hpwl"], again["result"]["hpwl"]);

    let (text, said) = ended(&aux, &pl, &[&"--json", &file, &"--iterations 5"], 3);
    let stopped = json_of(&file);
    assert_eq!(stopped["outcome"]["status"], "stopped");
    assert_eq!(stopped["outcome"]["iterations"], 5);
    assert!(
        text.contains("stopped before") && said.contains("the iterations were spent"),
        "{said}"
    );
    let (_, said) = ended(&aux, &pl, &[&"--json", &file, &"--time-limit 0"], 3);
    assert!(said.contains("the time was spent"), "{said}");
    assert_eq!(json_of(&file)["outcome"]["status"], "stopped");
    let (_, said) = ended(&aux, &pl, &[&"--json", &file, &"--stop-overflow 0"], 3);
    let plateau = json_of(&file);
    assert_eq!(plateau["outcome"]["status"], "plateau");
    let limit = plateau["outcome"]["limit"].as_str().unwrap();
    assert!(said.contains(limit) && limit.contains("of the overflow lies"), "{said}");
    let (hpwl, rough) = (&plateau["result"]["hpwl"], &done["result"]["hpwl"]);
    assert!(hpwl.as_f64().unwrap() < 1.4 * rough.as_f64().unwrap(), "{hpwl} for {rough}");
}

#[test]
fn a_target_density_that_cannot_be_had_stops() {
    let (folder, aux) = generated(1000);
    let (pl, file) = (folder.path().join("out.pl"), folder.path().join("s.json"));
    let args: &[&dyn Words] = &[&"--json", &file, &"--target-density 0.05"];
    let (text, said) = ended(&aux, &pl, args, 3);
    let summary = json_of(&file);
    assert_eq!(summary["outcome"]["status"], "stopped");
    assert_eq!(summary["options"]["target_density_asked"], 0.05);
    assert!(summary["options"]["target_density"].as_f64().unwrap() > 0.05);
    let reason = summary["outcome"]["reason"].as_str().unwrap();
    assert!(said.contains(reason) && reason.contains("at a target density of 0.05"), "{said}");
    assert!(text.contains("another target density") && pl.exists(), "{text}");
    ended(&aux, &pl, &[&args, &"--raise-density"], 0);
    assert_eq!(json_of(&file)["outcome"]["status"], "converged");
}

#[test]
fn too_low_target_densities_are_raised() {
    // 0.97 of the free area in cells of four rows, which are no macros. Any placement will do.
    let tiny = Tiny::new();
    tiny.edit("nodes", "a 4 2", "a 38 8");
    tiny.edit("nodes", "b 0 0", "b 38 8");
    let (aux, pl, file) = (tiny.aux(), tiny.file("out.pl"), tiny.file("s.json"));
    let args: &[&dyn Words] = &[&"--json", &file, &"--stop-overflow 1"];
    ended(&aux, &pl, args, 0);
    let taken = || json_of(&file)["options"]["target_density"].as_f64().unwrap();
    assert!(taken() > 0.95, "{}", taken());
    let (_, said) = ended(&aux, &pl, &[&args, &"--target-density 0.95"], 3);
    assert!(taken() > 0.95 && said.contains("at a target density of 0.95"), "{said}");
    ended(&aux, &pl, &[&args, &"--target-density 1"], 0);
    assert_eq!(taken(), 1.0);
}

#[test]
fn a_resumed_placement_is_the_same_bit_for_bit() {
    let (folder, aux) = generated(1000);
    let file = |name: &str| folder.path().join(name);
    let (saved, history) = (file("c"), file("h.json"));
    place(&aux, &file("whole.pl"), &[]);
    ended(&aux, &file("half.pl"), &[&"--checkpoint", &saved, &"--iterations 150"], 3);
    place(&aux, &file("resumed.pl"), &[&"--resume", &saved, &"--history", &history]);
    let read = |name: &str| std::fs::read(file(name)).unwrap();
    assert!(read("whole.pl") == read("resumed.pl"), "the placements differ");
    let records = json_of(&history)["history"].as_array().unwrap().len();
    assert_eq!(json_of(&history)["result"]["iteration"], records - 1, "all iterations are there");
    // A film of what is left, and the end of what has ended.
    let frames: &[&dyn Words] = &[&"--resume", &saved, &"--frames", &folder.path()];
    place(&aux, &file("filmed.pl"), &[&frames, &"--checkpoint", &file("done")]);
    assert!(read("whole.pl") == read("filmed.pl") && file("placement.gif").exists());
    place(&aux, &file("again.pl"), &[&"--resume", &file("done")]);
    assert!(read("whole.pl") == read("again.pl"), "what has converged goes on");
    // The checkpoint resumed from is an input of the run.
    let (_, said) = ended(&aux, &saved, &[&"--resume", &saved], 2);
    assert!(said.contains("is an input of the run"), "{said}");
    // Of something else it is refused, in one line.
    let resume = |more: &str| {
        let (_, said) = ended(&aux, &file("no.pl"), &[&"--resume", &saved, &more], 1);
        assert!(!file("no.pl").exists());
        said
    };
    assert!(resume("--bins 48").contains("bins [64, 64], expected [48, 48]"));
    assert!(resume("--seed 3").contains("a checkpoint of seed"));
    assert!(resume("--gamma 3").contains("a checkpoint of options"));
    assert!(resume("--pipeline fused").contains("a checkpoint of options"));
    let whole = std::fs::read(&saved).unwrap();
    for at in [300, whole.len() / 2, whole.len() - 2] {
        let mut damaged = whole.clone();
        // Of the line of JSON a digit, of the numbers any byte.
        damaged[at] = if damaged[at] == b'7' { b'8' } else { b'7' };
        std::fs::write(&saved, &damaged).unwrap();
        let said = resume("");
        assert!(said.contains("damaged") || said.contains("a checkpoint"), "{at}: {said}");
    }
    std::fs::write(&saved, &whole[..whole.len() - 1]).unwrap();
    assert!(resume("").contains("bytes, expected"));
    std::fs::write(&saved, "{}").unwrap();
    assert!(resume("").contains("line 1: expected a checkpoint"));
}

/// A full disk, say, after hours.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_checkpoint_keeps_the_placement() {
    let (folder, aux) = generated(1000);
    let file = |name: &str| folder.path().join(name);
    let (pl, summary) = (file("placed.pl"), file("s.json"));
    let (_, said) = ended(&aux, &pl, &[&"--checkpoint /dev/full --json", &summary], 1);
    assert!(said.contains("/dev/full: No space left on device"), "{said}");
    assert!(pl.exists());
    assert_eq!(json_of(&summary)["outcome"]["status"], "converged");
}

#[test]
fn the_best_of_several_seeds_is_written() {
    let (folder, aux) = generated(1000);
    let file = |name: &str| folder.path().join(name);
    let rough = "--stop-overflow 0.3 --json -";
    let several = place(&aux, &file("best.pl"), &[&rough, &"--seeds 3 --effort low"]);
    let several: Value = serde_json::from_str(&several).unwrap();
    let seeds = several["candidates"].as_array().unwrap();
    assert_eq!(seeds.len(), 3);
    let best = seeds.iter().find(|of| of["is_result"] == true).unwrap();
    assert_eq!(several["options"]["seed"], best["seed"]);
    assert_eq!(several["result"]["hpwl_weighted"], best["hpwl_weighted"]);
    // Positions of the fillers are those of the first seed; the cells' start is the seed's own.
    let seed = best["seed"].to_string();
    let alone = place(&aux, &file("alone.pl"), &[&rough, &"--effort low --seed", &seed]);
    let alone: Value = serde_json::from_str(&alone).unwrap();
    assert_eq!(best["iterations"], alone["outcome"]["iterations"]);
    let placed = eval_json(&[&aux, &"--pl", &file("best.pl"), &"--engine cpu"]);
    assert_eq!(placed["result"]["hpwl"], several["result"]["hpwl"]);
}

#[test]
fn experts_options_take_effect() {
    let (folder, aux) = generated(1000);
    let pl = folder.path().join("out.pl");
    // Far enough for every one of them to take part.
    let plain = "--stop-overflow 0.15";
    ended(&aux, &pl, &[&plain], 0);
    let usual = std::fs::read(&pl).unwrap();
    for option in [
        "--gamma 4",
        "--density-weight 1e-3",
        "--growth 1.03",
        "--late-growth 1.05",
        "--reference-rise 1e-4",
        "--momentum 0.5",
        "--ignore-net-degree 3",
        "--no-fillers",
        "--no-precondition --iterations 20",
        "--noise 0.5",
    ] {
        let all: &[&dyn Words] = &[&"place", &aux, &"-o", &pl, &"--engine cpu", &plain, &option];
        let output = placefield(all).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{option}: {output:?}");
        assert!(std::fs::read(&pl).unwrap() != usual, "{option} has no effect");
    }
}

#[test]
fn cells_that_cannot_fit_are_reported_at_start() {
    let (folder, aux) = generated(1000);
    let pl = folder.path().join("out.pl");
    // Blocks all over: cells of 4 times their width.
    let nodes = aux.with_extension("nodes");
    let wider: String = std::fs::read_to_string(&nodes)
        .unwrap()
        .lines()
        .map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [name, width, height] if name.starts_with('o') && width != ":" => {
                format!("{name} {} {height}\n", 4 * width.parse::<u32>().unwrap())
            }
            _ => format!("{line}\n"),
        })
        .collect();
    std::fs::write(&nodes, wider).unwrap();
    let (_, said) = ended(&aux, &pl, &[], 3);
    let warned = said.find("no placement on the die has less exact overflow than").expect(&said);
    let stopped = said.find("stopped at iteration").expect(&said);
    assert!(warned < stopped, "{said}");
}

#[test]
fn unplaceable_designs_are_one_error_line() {
    let tiny = Tiny::new();
    let out = tiny.folder().join("out.pl");
    std::fs::remove_file(tiny.file("nets")).unwrap();
    let no_nets = failure(&[&"place", &tiny.aux(), &"-o", &out, &"--engine cpu"]);
    assert!(no_nets.contains("no nets"), "{no_nets}");
    let tiny = Tiny::new();
    for node in ["a 4 2", "b 0 0", "c 3 2"] {
        tiny.edit("nodes", node, &format!("{node} terminal"));
    }
    tiny.edit("nodes", "NumTerminals : 1", "NumTerminals : 4");
    let out = tiny.folder().join("out.pl");
    let fixed = failure(&[&"place", &tiny.aux(), &"-o", &out, &"--engine cpu"]);
    assert!(fixed.contains("no node is movable"), "{fixed}");
    assert!(!out.exists());
    let nowhere = failure(&[&"place", &tiny.aux(), &"-o /nonexistent/out.pl"]);
    assert!(nowhere.contains("/nonexistent/out.pl"), "{nowhere}");
}

#[test]
fn wrong_usage_is_reported() {
    let tiny = Tiny::new();
    for (option, value, said) in [
        ("--history", "h.txt", ".csv or .json"),
        ("--stop-overflow", "2", "from 0 to 1"),
        ("--init", "middle", "possible values"),
        ("--frame-every", "0", "1.."),
        ("--time-limit", "soon", "a number of seconds"),
        ("--late-growth", "1", "above 1"),
        ("--momentum", "2", "from 0 to 1"),
    ] {
        placefield(&[&"place", &tiny.aux(), &"-o out.pl", &option, &value])
            .assert()
            .code(2)
            .stderr(predicate::str::contains(said));
    }
}

#[test]
fn pipelines_are_compared_along_a_placement() {
    // Early on wires decide, and last digits that differ are rounded away.
    let (folder, aux) = generated(1000);
    let (plots, table) = (folder.path().join("plots"), folder.path().join("t.json"));
    let printed = run(&[
        &"compare",
        &aux,
        &"--engine cpu --trajectory place --iterations 120 --plots",
        &plots,
        &"--json",
        &table,
    ]);
    assert!(printed.contains("the whole placement (120 iterations"), "{printed}");
    let table = json_of(&table);
    assert_eq!(table["iterations"].as_array().unwrap().len(), 121);
    let placement = &table["placement"];
    for (led, pipeline) in placement["led"].as_array().unwrap().iter().zip(crate::PIPELINES) {
        assert_eq!(led["pipeline"], pipeline);
        assert_eq!(led["hpwl"].as_array().unwrap().len(), 121);
        assert!(led["largest_difference"].as_f64().unwrap() < 1e-3);
    }
    let nudged = &placement["nudged"];
    assert_eq!(nudged["pipeline"], placement["led"][0]["pipeline"]);
    assert_eq!(nudged["hpwl"].as_array().unwrap().len(), 121);
    let apart = nudged["largest_difference"].as_f64().unwrap();
    assert!(apart > 0.0 && apart < 1e-3, "{apart}");
    assert!(printed.contains("another last digit"), "{printed}");
    for total in placement["totals"].as_array().unwrap() {
        let number = |key: &str| total[key].as_f64().unwrap();
        assert!(
            (number("solve_share") - number("solve_ms") / number("placement_ms")).abs() < 1e-12
        );
        assert!(number("solve_share") > 0.0 && number("solve_share") < 1.0);
    }
    let solves = |s: usize| -> f64 {
        let rows = table["iterations"].as_array().unwrap();
        rows.iter().map(|row| row["sides"][s]["solve_ms"].as_f64().unwrap()).sum()
    };
    // Every iteration took one evaluation at least.
    assert!(placement["totals"][1]["solve_ms"].as_f64().unwrap() >= solves(1) * (1.0 - 1e-12));
    assert!(names_in(&plots).contains(&"compare_total.svg".to_owned()));
}

#[test]
fn a_cell_larger_than_the_die_is_named() {
    let tiny = Tiny::new();
    tiny.edit("nodes", "a 4 2", "a 4 20");
    let out = tiny.folder().join("out.pl");
    let line = failure(&[&"place", &tiny.aux(), &"-o", &out]);
    let want =
        "placefield: node `a`: 4 x 20: expected a movable node no larger than the die, 40 x 16";
    assert_eq!(line, want);
    assert!(!out.exists());
}

#[test]
fn compressed_output_names_are_refused() {
    let tiny = Tiny::new();
    let out = tiny.folder().join("out.pl.gz");
    let said = predicate::str::contains("a .pl file is written as plain text");
    placefield(&[&"place", &tiny.aux(), &"-o", &out]).assert().code(2).stderr(said);
    assert!(!out.exists());
}

#[test]
fn placements_end_legal_unless_told_otherwise() {
    let (folder, aux) = generated(1000);
    let [global, legal, again] = ["g.pl", "l.pl", "a.pl"].map(|name| folder.path().join(name));
    place(&aux, &global, &[]);
    let document = folder.path().join("l.json");
    let how = "--engine cpu --until legal --json";
    let printed = run(&[&"place", &aux, &"-o", &legal, &how, &document]);
    assert!(printed.contains("\nlegality   legal\n"), "{printed}");
    let placed = json_of(&document);
    assert_eq!(placed["legality"]["legal"], true);
    let stages = &placed["stages"];
    let written = eval_alike(&placed, &[&aux, &"--pl", &legal, &"--legality"]);
    assert_eq!(stages["legal"]["hpwl"], written["result"]["hpwl"]);
    // The report holds for the file.
    assert_eq!(placed["result"]["stage"], "legal");
    assert_eq!(placed["result"]["hpwl"], written["result"]["hpwl"]);
    assert_ne!(placed["result"]["hpwl"], stages["global"]["hpwl"]);
    for overflow in ["overflow_smoothed", "overflow_exact"] {
        assert_eq!(placed["result"][overflow], stages["legal"][overflow]);
        let [said, counted] =
            [&placed["result"], &written["result"]].map(|v| v[overflow].as_f64().unwrap());
        // Counted in f32 by `eval`.
        assert!((said - counted).abs() <= 1e-4, "{overflow}: {said} {counted}");
    }
    let length = format!("\nwirelength HPWL {:.6e}", written["result"]["hpwl"].as_f64().unwrap());
    assert!(printed.contains(&length), "{printed}");
    assert_eq!(written["legality"]["legal"], true);
    // The command makes the same of the same global placement.
    let pictures = folder.path().join("pictures");
    let printed = run(&[
        &"legalize",
        &aux,
        &"--pl",
        &global,
        &"-o",
        &again,
        &"--threads 3 --plots",
        &pictures,
    ]);
    assert!(printed.contains("moved "), "{printed}");
    assert_eq!(std::fs::read(&legal).unwrap(), std::fs::read(&again).unwrap());
    assert!(pictures.join("displacement.png").exists());
    let moved = run_json(&[&"legalize", &aux, &"--pl", &global, &"-o", &again, &"--json -"]);
    assert_eq!(moved["displacement"], placed["displacement"]);
    let rows = &moved["displacement"]["rows"];
    assert!(rows["mean"].as_f64().unwrap() < rows["p95"].as_f64().unwrap());
    assert_eq!(moved["stages"]["global"]["hpwl"], stages["global"]["hpwl"]);
}

#[test]
fn placements_are_refined_by_default() {
    let (folder, aux) = generated(1000);
    let [legal, placed, again] = ["l.pl", "p.pl", "a.pl"].map(|name| folder.path().join(name));
    let document = folder.path().join("p.json");
    let placing: &[&dyn Words] = &[&"place", &aux, &"--engine cpu -o"];
    run(&[&placing, &legal, &"--until legal"]);
    let printed = run(&[&placing, &placed, &"--json", &document]);
    let said = json_of(&document);
    let stages = &said["stages"];
    for stage in ["global", "legal", "detailed"] {
        let hpwl = format!("\n{stage:<10} HPWL {:.6e}", stages[stage]["hpwl"].as_f64().unwrap());
        assert!(printed.contains(&hpwl), "{printed}");
    }
    assert_eq!(said["result"]["stage"], "detailed");
    assert_eq!(said["result"]["hpwl"], stages["detailed"]["hpwl"]);
    let hpwl = |stage: &str| stages[stage]["hpwl"].as_f64().unwrap();
    assert!(hpwl("detailed") < hpwl("legal"), "{stages}");
    let written = eval_json(&[&aux, &"--pl", &placed, &"--engine cpu --legality"]);
    assert_eq!(stages["detailed"]["hpwl"], written["result"]["hpwl"]);
    assert_eq!(written["legality"]["legal"], true);
    // The command makes the same of the same legal placement.
    run(&[&"refine", &aux, &"--pl", &legal, &"-o", &again, &"--threads 3"]);
    assert_eq!(std::fs::read(&placed).unwrap(), std::fs::read(&again).unwrap());
}

#[test]
fn cells_that_fit_nowhere_are_named() {
    let tiny = Tiny::new();
    let out = tiny.file("out.pl");
    // As many sites of padding as no row has.
    let padded: &[&dyn Words] = &[&"legalize", &tiny.aux(), &"-o", &out, &"--padding 1000"];
    let said = predicate::str::contains("no legal place was found for `");
    placefield(padded).assert().code(3).stderr(said);
    assert!(out.exists());
}

#[test]
fn net_weights_come_from_a_file() {
    let tiny = Tiny::new();
    let (weights, aux) = (tiny.folder().join("critical.txt"), tiny.aux());
    // n1 weighs 2 in the design's own file, and keeps it.
    std::fs::write(&weights, "# slack\nn0 7.5\nno_such_net 2\n").unwrap();
    let plain = eval_json(&[&aux, &"--engine cpu"]);
    let weighed = eval_json(&[&aux, &"--engine cpu --net-weights", &weights]);
    let hpwl = |report: &Value, name: &str| report["result"][name].as_f64().unwrap();
    let [own, new] = [&plain, &weighed].map(|report| hpwl(report, "hpwl_weighted"));
    let [all, same] = [&plain, &weighed].map(|report| hpwl(report, "hpwl"));
    // HPWL of n0 and of n1: their sum, and with 1 and 2.
    let (n1, n0) = (own - all, 2.0 * all - own);
    assert!(all == same && (new - (7.5 * n0 + 2.0 * n1)).abs() < 1e-9, "{own} {new}");
    let warnings = weighed["warnings"].to_string();
    assert!(warnings.contains("critical.txt") && warnings.contains("no_such_net"), "{warnings}");

    std::fs::write(&weights, "n0 1\nn1 heavy\n").unwrap();
    let error = failure(&[&"eval", &aux, &"--net-weights", &weights]);
    assert!(error.ends_with("critical.txt:2:4: expected a weight from 0 to 1e100, found `heavy`"));
}

#[test]
fn heavy_nets_are_placed_shorter() {
    let (folder, aux) = generated(300);
    let (pl, weights) = (folder.path().join("out.pl"), folder.path().join("w.txt"));
    let lines: String = (0..300).step_by(15).map(|e| format!("n{e} 20\n")).collect();
    std::fs::write(&weights, lines).unwrap();
    // With weights of 20 for 20 nets the weighted HPWL tells how long these are.
    let critical = |more: &[&dyn Words]| {
        place(&aux, &pl, more);
        let eval: &[&dyn Words] = &[&aux, &"--pl", &pl, &"--engine cpu --net-weights", &weights];
        let report = eval_json(eval);
        let of = |name: &str| report["result"][name].as_f64().unwrap();
        (of("hpwl_weighted") - of("hpwl")) / 19.0
    };
    let (plain, weighed) = (critical(&[]), critical(&[&"--net-weights", &weights]));
    assert!(weighed < 0.6 * plain && weighed > 0.0, "{weighed} {plain}");
}

/// A design of 400 cells, four of which are macros as high as ten rows.
fn with_macros() -> (tempfile::TempDir, std::path::PathBuf) {
    let (folder, aux) = generated(400);
    let nodes = aux.with_extension("nodes");
    let text = text_of(&nodes);
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name @ ("o7" | "o99" | "o150" | "o301"), _, _] => format!("{name} 100 120\n"),
            _ => format!("{line}\n"),
        }
    });
    std::fs::write(&nodes, lines.collect::<String>()).unwrap();
    (folder, aux)
}

#[test]
fn frames_and_history_show_both_descents() {
    let (folder, aux) = with_macros();
    let file = |name: &str| folder.path().join(name);
    let (pl, json, csv, frames) = (file("o.pl"), file("o.json"), file("o.csv"), file("frames"));
    placefield(&[&"place", &aux, &"-o", &pl, &"--engine cpu --json", &json])
        .args([&"--history" as &dyn Words, &csv, &"--frames", &frames].words())
        .assert()
        .success();
    let text = text_of(&csv);
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|value| value.parse().unwrap()).collect())
        .collect();
    let iterations: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    assert!(iterations.iter().copied().eq((0..rows.len()).map(|k| k as f64)), "{iterations:?}");
    // Where the second descent begins, λ is far less than where the first ended.
    let lambda = text.lines().next().unwrap().split(',').position(|name| name == "lambda");
    let lambda = rows.iter().map(|row| row[lambda.unwrap()]).collect::<Vec<f64>>();
    let second = (1..rows.len()).find(|&k| lambda[k] < 1e-3 * lambda[k - 1]).unwrap();
    assert!(second > 50 && second < rows.len() - 20, "{second} of {}", rows.len());
    let shown = names_in(&frames).into_iter().filter_map(|name| {
        name.strip_prefix("frame_")?.strip_suffix(".png")?.parse::<usize>().ok()
    });
    let (first, later): (Vec<usize>, Vec<usize>) = shown.partition(|&frame| frame < second);
    assert!(first.len() > 5 && later.len() > 2, "{first:?} {later:?}");
    assert_eq!(later.last(), Some(&(rows.len() - 1)));
    assert_eq!(json_of(&json)["outcome"]["iterations"], serde_json::json!(rows.len() - 1));
}

#[test]
fn the_best_variant_is_written_and_all_are_listed() {
    let (folder, aux) = generated(300);
    let [pl, out, state] = ["out.pl", "out.json", "state"].map(|name| folder.path().join(name));
    let run = |more: &[&dyn Words]| {
        let base: &[&dyn Words] = &[&"place", &aux, &"-o", &pl, &"--engine cpu --json", &out];
        placefield(&[&base, &more]).assert().success();
        json_of(&out)
    };
    let hpwl = |of: &Value| of["hpwl_weighted"].as_f64().unwrap();
    let low = run(&[&"--effort low"]);
    assert!(low.get("candidates").is_none() && low["options"]["effort"] == "low");
    for (effort, count) in [("", 3), ("--effort high", 5)] {
        let placed = run(&[&effort]);
        let all = placed["candidates"].as_array().unwrap();
        let best = all.iter().map(hpwl).fold(f64::INFINITY, f64::min);
        let results: Vec<f64> = all.iter().filter(|of| of["is_result"] == true).map(hpwl).collect();
        assert_eq!((all.len(), results), (count, vec![best]));
        assert_eq!(hpwl(&placed["stages"]["legal"]), best);
        assert_eq!(hpwl(&all[0]), hpwl(&low["stages"]["legal"]), "as without variants");
        assert_eq!(placed["legality"]["legal"], true);
    }
    let asked = run(&[&"--target-density 0.9"]);
    let asked = asked["candidates"].as_array().unwrap();
    assert!(asked.len() == 2 && asked.iter().all(|of| of["target_density"] == 0.9), "{asked:?}");
    assert!(run(&[&"--checkpoint", &state]).get("candidates").is_none());
    assert!(run(&[&"--init file"]).get("candidates").is_none());
}

#[test]
fn detailed_placement_keeps_the_density_asked_for() {
    let (folder, aux) = generated(300);
    let pl = folder.path().join("out.pl");
    let overflow = |more: &str| {
        let base: &[&dyn Words] = &[&"place", &aux, &"-o", &pl, &"--engine cpu --effort low -q"];
        placefield(&[&base, &more]).assert().success();
        let read = eval_json(&[&aux, &"--pl", &pl, &"--target-density 0.7"]);
        read["result"]["overflow_exact"].as_f64().unwrap()
    };
    let legal = overflow("--until legal");
    let [kept, free] = [overflow("--keep-density 0.7"), overflow("")];
    assert!(kept <= legal + 1e-9 && kept < free, "{legal} {kept} {free}");
    // The target density of the global stage is another matter.
    assert_ne!(
        overflow("--target-density 0.9"),
        overflow("--target-density 0.9 --keep-density 0.7")
    );
}
