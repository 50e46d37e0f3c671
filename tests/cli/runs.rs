//! `diff` of several placements or runs, and its page of two.

use crate::tiny::Tiny;
use crate::{
    Words, failure, generated, json_of, names_in, placefield, run, run_json, said, text_of, texts,
};
use serde_json::{Value, json};
use std::path::PathBuf;

/// JSON of three placements of one design: as it is, with longer wires, and with cells on one
/// another.
fn evaluated(tiny: &Tiny) -> [PathBuf; 3] {
    let moves = [("c 18 5", "c 18 5"), ("c 18 5", "c 4 12"), ("c 18 5", "c 6 2")];
    let names = ["start", "far", "heap"];
    [0, 1, 2].map(|k| {
        let file = |ending: &str| tiny.folder().join(names[k]).with_extension(ending);
        let (pl, out) = (file("pl"), file("json"));
        std::fs::write(&pl, tiny.text("pl").replace(moves[k].0, moves[k].1)).unwrap();
        run(&[&"eval", &tiny.aux(), &"--pl", &pl, &"--bins 8x4 --json", &out]);
        out
    })
}

#[test]
fn runs_that_no_other_beats_are_marked() {
    let tiny = Tiny::new();
    let [start, far, heap] = evaluated(&tiny);
    let out = run_json(&[&"diff", &start, &far, &heap, &"--json -"]);
    let runs = out["placements"].as_array().unwrap();
    let names = texts(&out["placements"], "name");
    assert_eq!((&out["design"]["name"], &names[..]), (&json!("t"), &["start", "far", "heap"][..]));
    for (run, path) in runs.iter().zip([&start, &far, &heap]) {
        let alone = json_of(path);
        assert_eq!(run["result"], alone["result"]);
        // By the definition, from the numbers of all.
        let both =
            |r: &Value| ["hpwl", "overflow_smoothed"].map(|key| r["result"][key].as_f64().unwrap());
        let mine = both(run);
        let beaten = runs
            .iter()
            .map(both)
            .any(|other| (0..2).all(|k| other[k] <= mine[k]) && (0..2).any(|k| other[k] < mine[k]));
        assert_eq!(run["pareto"], json!(!beaten));
    }
    assert!(runs.iter().any(|r| r["pareto"] == json!(false)), "{out}");
    let table = run(&[&"diff", &start, &far]);
    assert!(table.lines().any(|l| l.starts_with("far ")) && table.contains("HPWL"), "{table}");
}

#[test]
fn several_placements_are_compared_with_the_first() {
    let tiny = Tiny::new();
    let jsons = evaluated(&tiny);
    let files = ["start.pl", "far.pl", "heap.pl"].map(|name| tiny.folder().join(name));
    let out = run_json(&[&"diff", &tiny.aux(), &files, &"--bins 8x4 --json -"]);
    let runs = run_json(&[&"diff", &jsons, &"--json -"]);
    for k in 0..3 {
        let (placement, run) = (&out["placements"][k], &runs["placements"][k]);
        for key in ["name", "result", "hpwl_relative", "pareto", "bins", "target_density"] {
            assert_eq!(placement[key], run[key], "{k}: {key}");
        }
        assert_eq!((k > 0, true), (!placement["change"].is_null(), run["change"].is_null()));
    }
    // One cell went from (18, 5) to (6, 2).
    assert_eq!(out["placements"][2]["change"]["displacement"]["max"], 15.0);
    let table = run(&[&"diff", &tiny.aux(), &files, &"--bins 8x4"]);
    assert!(table.lines().any(|l| l.starts_with("heap ")), "{table}");
    // The first file can come through a pipe.
    let piped = placefield(&[&"diff -", &jsons[1], &"--json -"])
        .write_stdin(std::fs::read(&jsons[0]).unwrap())
        .assert()
        .success();
    let piped: Value = serde_json::from_slice(&piped.get_output().stdout).unwrap();
    assert_eq!(piped["placements"][1]["hpwl_relative"], runs["placements"][1]["hpwl_relative"]);
    let longer = placefield(&[&"diff", &jsons, &"--max-hpwl-rise 1%"]).assert().code(1);
    let text = said(&longer);
    assert!(text.contains("far: HPWL rises by"), "{text}");
}

#[test]
fn target_densities_have_four_decimals() {
    let tiny = Tiny::new();
    let [start, far] = ["start.json", "far.json"].map(|name| tiny.folder().join(name));
    run(&[&"eval", &tiny.aux(), &"--target-density 0.96980168 --json", &start]);
    run(&[&"eval", &tiny.aux(), &"--target-density 0.97 --json", &far]);
    let compared = placefield(&[&"diff", &start, &far]).assert().success();
    for text in [&compared.get_output().stdout, &compared.get_output().stderr] {
        let text = String::from_utf8_lossy(text);
        assert!(text.contains("0.9698") && !text.contains("0.96980"), "{text}");
        assert!(text.contains("0.97"), "{text}");
    }
}

#[test]
fn names_from_json_print_no_control_characters() {
    let tiny = Tiny::new();
    let runs = evaluated(&tiny);
    for path in &runs {
        let mut run = json_of(path);
        run["design"]["name"] = "\u{1b}[2J\u{9b}m\u{202e}\r\nplacefield: ok".into();
        std::fs::write(path, run.to_string()).unwrap();
    }
    let shown = "\\u{1b}[2J\\u{9b}m\\u{202e}\\r\\nplacefield: ok";
    let table = run(&[&"diff", &runs]);
    assert_eq!(table.lines().next(), Some(shown));
    let mut other = json_of(&runs[0]);
    other["design"]["name"] = "t".into();
    std::fs::write(&runs[0], other.to_string()).unwrap();
    let said = failure(&[&"diff", &runs]);
    assert!(said.contains(&shown.replace("\\n", " ")), "{said}");
}

#[test]
fn lists_of_eval_count_as_several_runs() {
    let tiny = Tiny::new();
    let [start, ..] = evaluated(&tiny);
    let file = |name: &str| tiny.folder().join(name);
    let (far, heap, both) = (file("far.pl"), file("heap.pl"), file("both.json"));
    run(&[&"eval", &tiny.aux(), &"--pl", &far, &"--pl", &heap, &"--bins 8x4 --json", &both]);
    let out = run_json(&[&"diff", &start, &both, &"--json -"]);
    let names = ["start", "far", "heap"].map(|name| json!(name));
    assert_eq!([0, 1, 2].map(|k| out["placements"][k]["name"].clone()), names);
    for (k, of) in json_of(&both).as_array().unwrap().iter().enumerate() {
        assert_eq!(out["placements"][k + 1]["result"], of["result"]);
    }
    assert_ne!(out["placements"][1]["result"], out["placements"][2]["result"]);
    // A list alone is enough.
    assert!(run(&[&"diff", &both]).contains("heap"));
}

#[test]
fn runs_with_a_history_have_curves() {
    let (folder, aux) = generated(200);
    let at = |name: &str| folder.path().join(name);
    let place = |name: &str, more: &str| {
        let (pl, history) = (at(name).with_extension("pl"), at(name).with_extension("json"));
        run(&[&"place", &aux, &"-o", &pl, &"--engine cpu --history", &history, &more]);
        history
    };
    let (rough, fine) = (place("rough", "--stop-overflow 0.3"), place("fine", ""));
    let (plots, page) = (at("plots"), at("runs.html"));
    run(&[&"diff", &rough, &fine, &"--plots", &plots, &"--report", &page]);
    let names = ["runs_overflow", "runs_pareto", "runs_wirelength"];
    crate::pictures::check_pictures(&plots, &names);
    assert_eq!(names_in(&plots).len(), 2 * names.len());
    let text = text_of(page);
    assert!(text.contains("2 placements side by side") && text.contains("rough"));
    assert_eq!(text.matches("data:image/svg+xml").count(), 3);
}

#[test]
fn runs_of_other_designs_or_files_are_refused() {
    let tiny = Tiny::new();
    let [start, far, _] = evaluated(&tiny);
    let mut other = json_of(&far);
    other["design"]["name"] = json!("another");
    std::fs::write(&far, other.to_string()).unwrap();
    let said = failure(&[&"diff", &start, &far]);
    assert!(said.contains("design another of 3 movable cells, expected t of 3"), "{said}");
    std::fs::write(&far, "{\"design\": 3}").unwrap();
    let said = failure(&[&"diff", &start, &far]);
    assert!(said.contains("far.json: expected what eval or place writes as JSON"), "{said}");
    placefield(&[&"diff", &start, &start]).assert().code(2);
    placefield(&[&"diff", &start]).assert().code(2);
}

#[test]
fn comparison_pages_share_one_cursor() {
    let tiny = Tiny::new();
    let (aux, from) = (tiny.aux(), tiny.file("pl"));
    let (to, page) = (tiny.folder().join("to.pl"), tiny.folder().join("d.html"));
    std::fs::write(&to, tiny.text("pl").replace("c 18 5", "c 6 2")).unwrap();
    run(&[&"diff", &aux, &from, &to, &"--bins 8x4 --report", &page]);
    let text = text_of(&page);
    let data = crate::report::data(&text);
    let panels = data["maps"]["panels"].as_array().unwrap();
    let ids = texts(&data["maps"]["panels"], "id");
    let pairs =
        ["density_from", "density_to", "density_difference", "overflow_from", "overflow_to"];
    assert_eq!((&ids[..5], ids[5]), (&pairs[..], "displacement"));
    assert_eq!(panels[0]["ends"], panels[1]["ends"], "densities can be compared");
    assert_eq!(panels[3]["ends"], panels[4]["ends"]);
    for part in ["Both placements in numbers", "Cells that moved farthest", "to.pl beside t.pl"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("t: how far cells moved"), "the page has a title for it");
    assert!(!text.contains("http:") && !text.contains("https:"));
}

#[test]
fn maps_are_written_as_csv() {
    let tiny = Tiny::new();
    let (npy, csv) = (tiny.folder().join("npy"), tiny.folder().join("csv"));
    let base: &[&dyn Words] = &[&"eval", &tiny.aux(), &"--bins 8x4 --maps"];
    run(&[&base, &npy]);
    run(&[&base, &csv, &"--maps-as csv"]);
    let names = |ending: &str| {
        ["density", "field_x", "field_y", "force_x", "force_y", "potential"]
            .map(|name| format!("{name}.{ending}"))
    };
    assert_eq!((names_in(&csv), names_in(&npy)), (names("csv").to_vec(), names("npy").to_vec()));
    let text = text_of(csv.join("density.csv"));
    let (_, values) = crate::npy::<f32>(&npy.join("density.npy"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("x,y,density"));
    // Bins of 5 × 4 on a die of 40 × 16, y fastest.
    for (k, line) in lines.enumerate() {
        let [x, y, value]: [f64; 3] =
            line.split(',').map(|v| v.parse().unwrap()).collect::<Vec<f64>>().try_into().unwrap();
        assert_eq!((x, y), (2.5 + 5.0 * (k / 4) as f64, 2.0 + 4.0 * (k % 4) as f64));
        assert_eq!(value as f32, values[k]);
    }
    assert_eq!(text.lines().count(), 33);
    let force = text_of(csv.join("force_x.csv"));
    assert_eq!((force.lines().next(), force.lines().count()), (Some("force_x"), 4));
    placefield(&[&"eval", &tiny.aux(), &"--maps-as csv"]).assert().code(2);
}

#[test]
fn legal_and_refined_placements_are_runs() {
    let (folder, aux) = generated(60);
    let at = |name: &str| folder.path().join(name);
    let (legal, refined) = (at("legal.pl"), at("refined.pl"));
    run(&[&"legalize", &aux, &"-o", &legal, &"--json", &at("legal.json")]);
    run(&[&"refine", &aux, &"--pl", &legal, &"-o", &refined, &"--json", &at("refined.json")]);
    run(&[&"eval", &aux, &"--pl", &refined, &"--legality --json", &at("eval.json")]);
    let files = ["legal.json", "refined.json", "eval.json"].map(at);
    let out = run_json(&[&"diff", &files, &"--json -"]);
    for (run, stage) in out["placements"].as_array().unwrap().iter().zip(["legal", "detailed", ""])
    {
        assert_eq!(run["legal"], json!(true));
        assert_eq!(run["result"]["stage"].as_str().unwrap_or_default(), stage);
        assert!(run["result"]["hpwl"].as_f64().unwrap() > 0.0);
    }
    let hpwl = |k: usize| &out["placements"][k]["result"]["hpwl"];
    assert_eq!(hpwl(1), hpwl(2));
    // `legalize` has no bins: only the stages are known to differ.
    let warnings = out["warnings"].as_array().unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning["message"].as_str().unwrap().contains("stages (detailed, legal)"), "{warning}");
    let page = at("runs.html");
    run(&[&"diff", &files, &"--report", &page]);
    assert!(text_of(page).contains("<th scope=\"col\">legal</th>"));
    // A run of unknown overflow has no point, and no name beside the points of others.
    let plots = at("plots");
    run(&[&"diff", &files, &"--plots", &plots]);
    let svg = text_of(plots.join("runs_pareto.svg"));
    assert!(svg.contains(">refined<") && !svg.contains(">legal<"), "{svg}");
}

#[test]
fn differences_of_legal_placements_are_explained() {
    let tiny = Tiny::new();
    let (aux, from) = (tiny.aux(), tiny.file("pl"));
    let at = |name: &str| tiny.folder().join(name);
    let (to, page, plots) = (at("to.pl"), at("d.html"), at("plots"));
    // Beside the fixed node, where smoothing puts a part of the cell.
    std::fs::write(&to, tiny.text("pl").replace("c 18 5", "c 27 8")).unwrap();
    let base: &[&dyn Words] = &[&"diff", &aux, &"--bins 16x8", &from];
    run(&[base, &[&to, &"--plots", &plots, &"--width 85 --format svg"]].concat());
    let svg = text_of(plots.join("density_to.svg"));
    let words: Vec<&str> =
        svg.split(['<', '>']).filter(|part| part.contains("smoothing")).collect();
    assert!(!words.is_empty() && !svg.contains('…'), "{svg}");
    // Rounding errors are no values, and equal values do not change.
    run(&[base, &[&from as &dyn Words, &"--report", &page]].concat());
    let text = text_of(&page);
    assert!(text.contains("no change") && !text.contains("e-1"), "{text}");
}
