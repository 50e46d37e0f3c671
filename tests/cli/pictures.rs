//! `plot`, `compare`, `generate`, `demo`: what they write.

use crate::common::png::Png;
use crate::tiny::Tiny;
use crate::{PIPELINES, Words, eval_json, json_of, names_in, run, text_of};
use std::path::Path;

/// The pictures of an evaluation.
pub(crate) const PICTURES: [&str; 9] = [
    "density",
    "cells",
    "overflow",
    "histogram",
    "potential",
    "field_x",
    "field_y",
    "field",
    "force",
];

/// Every name as a PNG and an SVG, which must look like it.
pub(crate) fn check_pictures(folder: &Path, names: &[&str]) {
    for name in names {
        let png = Png::open(&folder.join(name).with_extension("png"));
        let first = png.at(0, 0);
        assert!(png.pixels().any(|p| p.2 != first), "{name}.png is blank");
        let svg = text_of(folder.join(name).with_extension("svg"));
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}.svg");
    }
}

#[test]
fn plot_and_eval_draw_the_same_files() {
    let tiny = Tiny::new();
    let (aux, out, plots) = (tiny.aux(), tiny.folder().join("a/b"), tiny.folder().join("plots"));
    let listed = run(&[&"plot", &aux, &"--bins 8x4 --out", &out]);
    check_pictures(&out, &PICTURES);
    assert_eq!(names_in(&out).len(), 2 * PICTURES.len());
    assert_eq!(listed.lines().count(), 2 * PICTURES.len());
    assert!(listed.lines().all(|l| Path::new(l).is_file()), "{listed}");

    run(&[&"eval", &aux, &"--bins 8x4 --plots", &plots]);
    assert_eq!(names_in(&plots), names_in(&out));
    for file in names_in(&out) {
        let same =
            std::fs::read(plots.join(&file)).unwrap() == std::fs::read(out.join(&file)).unwrap();
        assert!(same, "{file}");
    }
}

#[test]
fn compare_writes_a_table_and_curves() {
    let tiny = Tiny::new();
    let at = |name: &str| tiny.folder().join(name);
    let (aux, csv, json, plots) = (tiny.aux(), at("c.csv"), at("c.json"), at("plots"));
    let printed = run(&[
        &"compare",
        &aux,
        &"--bins 8x4 --iterations 4 --csv",
        &csv,
        &"--json",
        &json,
        &"--plots",
        &plots,
    ]);
    assert!(PIPELINES.iter().all(|p| printed.contains(p)), "{printed}");
    check_pictures(&plots, &["compare_time", "compare_ratio", "compare_overflow"]);

    let text = text_of(csv);
    let table: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert!(table[0].starts_with(&["iteration", "overflow"]), "{:?}", table[0]);
    assert_eq!(table.len(), 1 + 4 * PIPELINES.len());
    assert!(table.iter().all(|row| row.len() == table[0].len()), "{text}");
    let pipeline = table[0].iter().position(|c| *c == "pipeline").unwrap();
    for (k, row) in table[1..].iter().enumerate() {
        assert_eq!(row[0], (k / PIPELINES.len()).to_string());
        assert_eq!(row[pipeline], PIPELINES[k % PIPELINES.len()]);
    }

    let json = json_of(json);
    assert_eq!(json["iterations"].as_array().unwrap().len(), 4);
    assert_eq!(json["summary"].as_array().unwrap().len(), PIPELINES.len());
    assert_eq!(json["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn a_seed_gives_the_same_design_again() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |out: &str, seed: &str| {
        let out = folder.path().join(out);
        let listed = run(&[&"generate --cells 800 --out", &out, &"--seed", &seed]);
        let names = names_in(&out);
        assert_eq!(listed.lines().count(), names.len());
        names.iter().map(|n| std::fs::read(out.join(n)).unwrap()).collect::<Vec<_>>()
    };
    let (first, again, other) = (bytes("a", "7"), bytes("b", "7"), bytes("c", "8"));
    assert_eq!(first.len(), 6);
    assert!(first == again && first != other);

    let json = eval_json(&[&folder.path().join("a/cells800.aux")]);
    assert_eq!(json["design"]["movable"], 800);
    assert!(json["result"]["hpwl"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_demo_needs_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("demo");
    let told = run(&[&"demo --out", &out, &"--cells 2000 --iterations 5"]);
    for step in ["1. ", "2. ", "3. ", "4. ", "5. ", "6. "] {
        assert!(told.lines().any(|l| l.starts_with(step)), "{told}");
    }
    check_pictures(&out, &PICTURES);
    check_pictures(&out, &["compare_time", "compare_ratio", "compare_overflow"]);
    let json = |name: &str| json_of(out.join(name));
    assert_eq!(json("eval.json")["design"]["movable"], 2000);
    assert!(json("eval.json")["options"]["filler_count"].as_u64().unwrap() > 0);
    assert_eq!(json("compare.json")["iterations"].as_array().unwrap().len(), 5);
    for page in ["report.html", "placed.html"] {
        let text = text_of(out.join(page));
        assert!(text.contains("cells2000") && text.trim_end().ends_with("</html>"), "{page}");
    }
    assert!(out.join("placed.pl").is_file());
}

#[test]
fn pictures_take_names_formats_and_ranges() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    let base: &[&dyn Words] = &[&"plot", &aux, &"--bins 8x4 --out", &out];
    let with = |more: &str| run(&[&base, &more]);
    with("--pictures density,overflow --format png");
    assert_eq!(names_in(&out), ["density.png", "overflow.png"]);
    let drawn = |name: &str, more: &str| {
        with(&format!("--pictures {name} --format svg {more}"));
        text_of(out.join(name).with_extension("svg"))
    };
    let density = |more: &str| drawn("density", more);
    let marked = density("--target-density 0.1");
    assert!(marked.contains(">T<"), "the target density is marked");
    assert!(density("--scale log").contains("colours by the logarithm"));
    assert!(density("--range 0:0.25").contains("colours end at 0 and 0.250"));
    for wrong in ["--range 0:1", "--range 1:0", "--scale cubic"] {
        crate::placefield(&[&base, &wrong]).assert().code(2);
    }
    let named = with("--pictures density,field --range field=0:3 --format svg");
    assert_eq!(named.lines().count(), 2);
    let field = text_of(out.join("field.svg"));
    assert!(field.contains(">3.0<") || field.contains(">3<"), "the end of the colours is a tick");
    let histogram = |more: &str| drawn("histogram", more);
    assert!(!histogram("").contains(">above<"));
    assert!(histogram("--range 0:0.1").contains(">above<"));
    let decades = histogram("--scale log");
    assert!(decades.contains(">10⁻¹<"), "values go by the logarithm");
}

#[test]
fn pictures_for_papers_have_width_and_font() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    let base: &[&dyn Words] = &[&"plot", &aux, &"--bins 8x4 --out", &out];
    let paper = "--width 88 --font-size 7 --dpi 200 --no-title";
    let all = "--format png,svg,pdf --colors grey,purple-green";
    run(&[&base, &paper, &all]);
    assert_eq!(names_in(&out).len(), 3 * PICTURES.len());
    for name in PICTURES {
        let png = Png::open(&out.join(name).with_extension("png"));
        assert!(png.width.abs_diff(693) <= 1, "{name}: {} pixels", png.width);
        let svg = text_of(out.join(name).with_extension("svg"));
        assert!(svg.contains("width=\"249.45pt\"") && !svg.contains("overflow 0."), "{name}");
        assert!(!svg.contains("<text x=\"") || !svg.contains("font-weight=\"bold\""), "{name}");
        let pdf = std::fs::read(out.join(name).with_extension("pdf")).unwrap();
        assert!(pdf.starts_with(b"%PDF-1.7") && pdf.trim_ascii_end().ends_with(b"%%EOF"), "{name}");
    }
    for wrong in ["--width 5", "--font-size 8", "--dpi 5", "--colors jet", "--range nothing=0:1"] {
        crate::placefield(&[&base, &wrong]).assert().code(2);
    }
    let large = crate::placefield(&[&base, &"--width 30 --font-size 12"]).assert().code(2);
    assert!(crate::said(&large).contains("at most 3.8"));
    for format in ["png", "svg", "pdf"] {
        let paper = format!("--width 2000 --font-size 2 --dpi 2400 --format {format}");
        let large = crate::placefield(&[&base, &paper]).assert().code(1);
        assert!(crate::said(&large).contains("pixels: expected at most 268435456 in all"));
    }
}

#[test]
fn several_placements_have_one_scale() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    // Three cells on one place, so that the density is higher.
    let heap = tiny.folder().join("heap.pl");
    std::fs::write(&heap, tiny.text("pl").replace("c 18 5", "c 5 2")).unwrap();
    let listed = run(&[
        &"plot",
        &aux,
        &"--bins 8x4 --out",
        &out,
        &"--also",
        &heap,
        &"--format svg --scale linear",
    ]);
    assert_eq!(listed.lines().count(), 2 * PICTURES.len());
    let ticks = |folder: &str, name: &str| {
        let svg = text_of(out.join(folder).join(name));
        let starts = svg.lines().filter(|l| l.starts_with("<text") && l.contains("\"start\""));
        let texts = starts.filter_map(|l| Some(l.split_once('>')?.1.to_owned()));
        // Numbers beside the colours alone, no title and no note.
        texts.filter(|t| !t.contains([':', ','])).collect::<Vec<_>>()
    };
    for name in ["density.svg", "potential.svg", "field.svg"] {
        let [alone, heaped] = ["t", "heap"].map(|folder| ticks(folder, name));
        assert!(alone.len() > 1 && alone == heaped, "{name}: {alone:?} {heaped:?}");
    }
    let same: &[&dyn Words] = &[&"plot", &aux, &"--out", &out, &"--also", &tiny.file("pl")];
    crate::placefield(same).assert().code(2);
}

#[test]
fn a_legal_placement_shows_no_overflow() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    let overflow = |more: &str| {
        run(&[&"plot", &aux, &"--bins 8x4 --pictures overflow --out", &out, &more]);
        text_of(out.join("overflow.svg"))
    };
    assert!(overflow("").contains("no bin is above the target"));
    assert!(!overflow("--target-density 0.1").contains("no bin is above the target"));
}

#[test]
fn cells_off_the_die_and_few_cells_are_seen() {
    let tiny = Tiny::new();
    let (aux, out, off) = (tiny.aux(), tiny.folder().join("out"), tiny.folder().join("off.pl"));
    let plot: &[&dyn Words] = &[&"plot", &aux, &"--bins 8x4 --format svg --out", &out];
    run(&[&plot, &"--pictures cells"]);
    // Cells have an outline with a bright rim.
    let svg = text_of(out.join("cells.svg"));
    let outlines = |style: &str| svg.matches(&format!("stroke=\"{style}\"")).count();
    assert_eq!(outlines("#262626\" stroke-width=\"1.5"), 2, "{svg}");
    assert!(outlines("#FFFFFF\" stroke-width=\"4") >= 2, "{svg}");
    std::fs::write(&off, tiny.text("pl").replace("c 18 5", "c 90 5")).unwrap();
    run(&[&plot, &"--pictures overflow --pl", &off]);
    // The cells have areas of 8 and 6.
    let svg = text_of(out.join("overflow.svg"));
    assert!(svg.contains("0.4286 of it of cells off the die"), "{svg}");
}

#[test]
fn contours_streamlines_and_cuts_are_drawn() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    let base: &[&dyn Words] = &[&"plot", &aux, &"--bins 8x4 --format svg --out", &out];
    let with = |more: &str| run(&[&base, &more]);
    let strokes = |name: &str| text_of(out.join(name)).matches("<polyline").count();
    with("--pictures potential,field");
    let (plain, arrows) = (strokes("potential.svg"), text_of(out.join("field.svg")));
    assert!(arrows.contains("arrow length"));
    let listed = with("--pictures potential,field --contours=7 --streamlines --cut 0,8,40,8");
    assert_eq!(listed.lines().count(), 4);
    assert!(strokes("potential.svg") >= plain + 7);
    assert!(text_of(out.join("potential.svg")).contains("contours every"));
    assert!(!text_of(out.join("field.svg")).contains("arrow length"));
    for (name, label) in [("cut_density", "density ρ"), ("cut_potential", "φ (bin widths²)")] {
        let svg = text_of(out.join(name).with_extension("svg"));
        for part in [label, "distance from (0, 8) (layout units)", ">40<"] {
            assert!(svg.contains(part), "{name}: {part}");
        }
    }
    for wrong in ["--contours=0", "--cut 1,2,3", "--cut 1,2,1,2", "--cut a,0,1,1"] {
        crate::placefield(&[&base, &wrong]).assert().code(2);
    }
    let off_die = crate::placefield(&[&base, &"--cut 0,0,41,0"]).assert().code(1);
    assert!(crate::said(&off_die).contains("'--cut': expected points on the die, 0,0 to 40,16"));

    // The same of an array, and on a page.
    let maps = tiny.folder().join("maps");
    run(&[&"eval", &aux, &"--bins 8x4 --maps", &maps]);
    let (fields, drawn) = (tiny.folder().join("fields"), tiny.folder().join("drawn"));
    let rho = maps.join("density.npy");
    let lines = "--contours --streamlines --cut 0,2,8,2 --plots";
    run(&[&"solve", &rho, &"--bin-size 5x4 --out", &fields, &lines, &drawn]);
    check_pictures(&drawn, &["density", "potential", "field", "cut_density", "cut_potential"]);
    assert!(text_of(drawn.join("cut_potential.svg")).contains("density: potential along a line"));
    assert!(text_of(drawn.join("potential.svg")).contains("contours every"));
    let page = tiny.folder().join("page.html");
    run(&[&"report", &aux, &"--bins 8x4 --contours --streamlines --cut 0,8,40,8 --out", &page]);
    let text = text_of(&page);
    assert!(text.contains("The potential along a line") && text.contains("distance from (0, 8)"));
    let data = crate::report::data(&text);
    for panel in data["maps"]["panels"].as_array().unwrap() {
        let has = ["potential", "field", "force"].contains(&panel["id"].as_str().unwrap());
        assert_eq!(panel["lines"].as_str().unwrap().starts_with('M'), has, "{}", panel["id"]);
    }
}

#[test]
fn demand_is_drawn_beside_its_capacity() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out"));
    let base: &[&dyn Words] = &[&"plot", &aux, &"--bins 8x4 --format svg --out", &out];
    let congestion = "--congestion circuitnet";
    run(&[&base, &congestion]);
    assert!(out.join("demand_vertical.svg").is_file());
    assert!(!out.join("utilization_vertical.svg").exists(), "no capacity is known");
    run(&[&base, &congestion, &"--capacity 2,1 --pictures utilization_horizontal"]);
    let svg = text_of(out.join("utilization_horizontal.svg"));
    assert!(svg.contains("horizontal demand over capacity") && svg.contains("demand / capacity"));
    let maps = tiny.folder().join("maps");
    let files: &[&dyn Words] = &[&"eval", &aux, &congestion, &"--capacity 2,1 --maps", &maps];
    run(&[&files]);
    assert!(maps.join("utilization_horizontal.npy").is_file());
    let said = crate::placefield(&[&base, &"--pictures demand_vertical"]).assert().code(2);
    assert!(crate::said(&said).contains("'--pictures demand_vertical' needs '--congestion'"));
}
