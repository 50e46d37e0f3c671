//! Commands on mutated designs: whatever happens to a file, `legalize`, `refine` and `convert` end
//! with an exit code from 0 to 3 in memory bounded by the files. What they call legal is legal for
//! a check that shares no code with theirs, and what they write reads back.

use crate::mutated::{self, Mutation, config, mutate, mutation_with};
use crate::{alone, mutated_lefdef};
use placefield::design::{BlockageKind, Design, NodeKind};
use placefield::formats::{ReadOptions, read_design};
use placefield::grid::Rect;
use proptest::prelude::*;
use proptest::sample::Index;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of memory for each byte of the files.
const PER_BYTE: u64 = 2000;
/// Bytes besides: threads, and what every run takes.
const BESIDES: u64 = 64 << 20;
/// Seconds of processor time after which a run counts as endless.
const SECONDS: libc::rlim_t = 60;

/// Words of LEF, DEF and Bookshelf that are about rows, sizes and units.
const TELLING: [&str; 26] = [
    "ROW r9 core 0 2000 N DO 1 BY 1 STEP 1000000000 0 ;\n",
    "ROW r9 core 0.5 2000 N DO 40 BY 1 STEP 400 0 ;\n",
    "DO 4294967295 BY 16000 STEP 1 1 ",
    "DO 0 BY 1 STEP 0 0 ",
    "UNITS DISTANCE MICRONS 1 ;\n",
    "REGIONS 1 ; - g ( 0 0 ) ( 9000 9000 ) + TYPE FENCE ; END REGIONS\n",
    "BLOCKAGES 1 ; - PLACEMENT RECT ( 0 0 ) ( 4000 4000 ) ; END BLOCKAGES\n",
    "+ REGION f ",
    "+ PLACED ( 1 1 ) FS ",
    "+ FIXED ( 400 0 ) N ",
    "+ UNPLACED ",
    "+ HALO 400 0 400 0 ",
    "CLASS BLOCK ;\n",
    "SIZE 1.2 BY 4 ;\n",
    "SIZE 0 BY 2 ;\n",
    "Sitespacing : 1e6\n",
    "Height : 3\n",
    "NumSites : 1\n",
    "SubrowOrigin : 0.5 NumSites : 30\n",
    "/FIXED",
    "terminal ",
    "-1 ",
    "1e9 ",
    "0.5 ",
    "0 ",
    "\n",
];

/// Words that take the place of others.
const WORDS: [&str; 16] = [
    "0", "1", "2", "-1", "0.5", "1e6", "1e9", "400", "4000", "100000", "N", "FS", "E", "/FIXED",
    "terminal", "u3",
];

/// A word of a file that another one takes the place of.
type Replaced = (Index, &'static str);

/// Replaces words of a text, then changes its bytes.
fn change(
    text: &mut Vec<u8>,
    (words, mutations): &(Vec<Replaced>, Vec<Mutation>),
    seeds: &[impl AsRef<[Vec<u8>]>],
) {
    for (index, word) in words {
        let starts: Vec<usize> = (1..text.len())
            .filter(|&i| text[i - 1].is_ascii_whitespace() && !text[i].is_ascii_whitespace())
            .collect();
        let Some(&start) = starts.get(index.index(starts.len().max(1))) else { break };
        let length = text[start..].iter().take_while(|b| !b.is_ascii_whitespace()).count();
        text.splice(start..start + length, word.bytes());
    }
    mutate(text, mutations, seeds);
}

/// Changes of a file: of words most often, of bytes in every third one.
fn changes() -> impl Strategy<Value = (Vec<Replaced>, Vec<Mutation>)> {
    let word = (any::<Index>(), prop::sample::select(&WORDS[..]));
    let bytes = prop::collection::vec(mutation_with(&TELLING), 1..4);
    let none = Just(Vec::new());
    (prop::collection::vec(word, 0..4), prop_oneof![none.clone(), none, bytes])
}

/// A design of four rows and twelve cells, one of them two rows high and one fixed.
fn def() -> [Vec<u8>; 2] {
    let lef = "VERSION 5.8 ;\nUNITS DATABASE MICRONS 1000 ; END UNITS\n\
        LAYER m1 TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 0.4 ; WIDTH 0.1 ; END m1\n\
        SITE core CLASS CORE ; SIZE 0.2 BY 2 ; END core\n\
        MACRO inv CLASS CORE ; SIZE 0.6 BY 2 ; SYMMETRY X Y ; SITE core ;\n\
        PIN A PORT LAYER m1 ; RECT 0 0.9 0.2 1.1 ; END END A END inv\n\
        MACRO two CLASS CORE ; SIZE 0.8 BY 4 ; SYMMETRY X Y ; SITE core ;\n\
        PIN A PORT LAYER m1 ; RECT 0 0.9 0.2 1.1 ; END END A END two\nEND LIBRARY\n";
    let row = |k: usize| {
        let orientation = ["N", "FS"][k % 2];
        format!("ROW r{k} core 0 {} {orientation} DO 40 BY 1 STEP 400 0 ;\n", 4000 * k)
    };
    let cell = |k: usize| {
        let status = match k {
            3 => "FIXED ( 4000 4000 ) FS".to_owned(),
            k => format!("PLACED ( {} {} ) N", 1100 * k, 1700 * (k % 5)),
        };
        format!("- u{k} {} + {status} ;\n", if k == 5 { "two" } else { "inv" })
    };
    let net = |k: usize| format!("- n{k} ( u{k} A ) ( u{} A ) ;\n", (k + 5) % 12);
    let rows: String = (0..4).map(row).collect();
    let cells: String = (0..12).map(cell).collect();
    let nets: String = (0..12).map(net).collect();
    let def = format!(
        "VERSION 5.8 ;\nDESIGN d ;\nUNITS DISTANCE MICRONS 2000 ;\n\
         DIEAREA ( 0 0 ) ( 16000 16000 ) ;\n{rows}COMPONENTS 12 ;\n{cells}END COMPONENTS\n\
         NETS 12 ;\n{nets}END NETS\nEND DESIGN\n"
    );
    [lef.into(), def.into()]
}

/// The same as Bookshelf files.
fn bookshelf() -> mutated::Files {
    let fixed = |k: usize, mark: &'static str| if k == 3 { mark } else { "" };
    let all = |line: &dyn Fn(usize) -> String| (0..12).map(line).collect::<String>();
    let node = all(&|k| format!("u{k} 3 {}{}\n", 2 + 2 * (k / 11), fixed(k, " terminal")));
    let net = all(&|k| format!("NetDegree : 2 n{k}\nu{k} O : 0 0\nu{} I : 1 0\n", (k + 5) % 12));
    let place = all(&|k| format!("u{k} {} {} : N{}\n", 3 * k, 2 * (k % 3), fixed(k, " /FIXED")));
    let row = |k: usize| {
        format!(
            "CoreRow Horizontal\nCoordinate : {}\nHeight : 2\nSitewidth : 1\nSitespacing : 1\n\
             Siteorient : N\nSubrowOrigin : 0 NumSites : 40\nEnd\n",
            2 * k
        )
    };
    let rows: String = (0..4).map(row).collect();
    [
        "RowBasedPlacement : d.nodes d.nets d.wts d.pl d.scl\n".to_owned(),
        format!("UCLA nodes 1.0\nNumNodes : 12\nNumTerminals : 1\n{node}"),
        format!("UCLA nets 1.0\nNumNets : 12\nNumPins : 24\n{net}"),
        format!("UCLA pl 1.0\n{place}"),
        format!("UCLA scl 1.0\nNumRows : 4\n{rows}"),
        "UCLA wts 1.0\nn0 2\n".to_owned(),
    ]
    .map(String::into_bytes)
}

/// Exit code, peak of memory in bytes, and standard error of a run.
fn run(folder: &Path, args: &str) -> (i32, u64, String) {
    let said = folder.join("said");
    let mut child = Command::new(env!("CARGO_BIN_EXE_placefield"))
        .args(args.split_whitespace())
        .current_dir(folder)
        .env("PLACEFIELD_PROGRESS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let limit = libc::rlimit { rlim_cur: SECONDS, rlim_max: SECONDS };
    // SAFETY: `limit` is only read, and the child is this one's and has not been waited for.
    let limited = unsafe {
        libc::prlimit(child.id() as i32, libc::RLIMIT_CPU, &raw const limit, std::ptr::null_mut())
    };
    assert_eq!(limited, 0);
    let mut status = 0;
    // SAFETY: all zero bytes are a `rusage`, which is only written to, as `status` is; the child is
    // this one's and has not been waited for.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let waited = libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage);
        assert_eq!(waited, child.id() as i32);
        usage
    };
    // Nothing is left to wait for.
    let _ = child.try_wait();
    let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -status };
    (code, 1024 * usage.ru_maxrss as u64, fs::read_to_string(said).unwrap())
}

/// Runs the program on files of so many bytes; returns its exit code.
fn sound(folder: &Path, args: &str, bytes: usize) -> Result<i32, TestCaseError> {
    let (code, held, said) = run(folder, args);
    prop_assert!((0..=3).contains(&code), "{args}: exit code {code}: {said}");
    prop_assert!(!said.contains("panicked"), "{args}: {said}");
    let most = BESIDES + PER_BYTE * bytes as u64;
    // The memory of a run that does nothing does not count. It is measured only if it matters.
    let fits = held <= most || held <= most + run(folder, "--version").1;
    prop_assert!(fits, "{args}: {held} bytes for {bytes}");
    Ok(code)
}

/// Returns a reason why a placement is not legal, found by comparing everything with everything.
fn fault(design: &Design) -> Option<String> {
    let pitch = design.rows.iter().map(|row| row.pitch).filter(|pitch| *pitch > 0.0);
    // Twice what the program takes for none.
    let tolerance = 2e-3 * pitch.fold(f64::INFINITY, f64::min).min(1e300);
    let (nodes, at) = (&design.nodes, &design.placement);
    let rect = |i: usize| {
        let (width, height) = nodes.size(i, at.orientation[i]);
        Rect::at(at.x[i], at.y[i], width, height)
    };
    let share = |a: &Rect, b: &Rect| {
        a.xh.min(b.xh) - a.xl.max(b.xl) > tolerance && a.yh.min(b.yh) - a.yl.max(b.yl) > tolerance
    };
    let cells = (0..nodes.len()).filter(|&i| nodes.kind[i] != NodeKind::FixedOverlappable);
    let cells: Vec<usize> = cells.filter(|&i| rect(i).area() > 0.0).collect();
    for &i in cells.iter().filter(|&&i| nodes.kind[i] == NodeKind::Movable) {
        let (cell, name) = (rect(i), nodes.names.get(i));
        let of_row = |y: f64| design.rows.iter().filter(move |row| (row.y - y).abs() <= tolerance);
        let on_site = of_row(cell.yl).any(|row| {
            let site = ((cell.xl - row.x) / row.pitch).round();
            let off = (row.x + site * row.pitch - cell.xl).abs();
            off <= tolerance && site >= 0.0 && site < row.sites as f64
        });
        if !on_site {
            return Some(format!("{name} is on no site: {cell:?}"));
        }
        // Rows may overlap: those that reach above a height cover the cell up to the lowest top.
        let mut y = cell.yl;
        while y < cell.yh - tolerance {
            let rows = design.rows.iter().map(|row| row.rect());
            let rows: Vec<Rect> =
                rows.filter(|row| row.yl <= y + tolerance && row.yh > y + tolerance).collect();
            let mut x = cell.xl;
            while let Some(row) = rows.iter().find(|row| {
                row.xl <= x + tolerance && row.xh > x + tolerance && x < cell.xh - tolerance
            }) {
                x = row.xh;
            }
            if x < cell.xh - tolerance || rows.is_empty() {
                return Some(format!("{name} has no sites at {x} {y}: {cell:?}"));
            }
            y = rows.iter().map(|row| row.yh).fold(f64::INFINITY, f64::min);
        }
        let other = cells.iter().find(|&&other| other != i && share(&rect(other), &cell));
        if let Some(&other) = other {
            return Some(format!("{name} lies on {}", nodes.names.get(other)));
        }
        let hard = design.blockages.iter().filter(|of| of.kind == BlockageKind::Hard);
        if hard.clone().any(|of| share(&of.rect, &cell)) {
            return Some(format!("{name} lies in a blockage"));
        }
        if let Some(fence) = nodes.fence_of(i).map(|fence| &design.fences[fence]) {
            let inside: f64 = fence.rects.iter().map(|rect| rect.overlap(&cell)).sum();
            if inside < 0.99 * cell.area() {
                return Some(format!("{name} lies outside its fence"));
            }
        }
    }
    None
}

/// What a batch of mutated designs came to.
#[derive(Default)]
struct Ran {
    legal: Cell<u32>,
    refined: Cell<u32>,
    converted: Cell<u32>,
}

impl Ran {
    /// Runs the commands on the design of these names, with `files` of so many bytes.
    fn run(&self, folder: &Path, files: &Names, bytes: usize) -> Result<(), TestCaseError> {
        let Names { design, lef, placed, refined, converted, back } = files;
        for name in [placed, refined].into_iter().chain(converted.iter()) {
            let _ = fs::remove_file(folder.join(name));
        }
        let more = if lef.is_empty() { String::new() } else { format!("--lef {lef}") };
        let with = |placement: &str| {
            let options = match lef.is_empty() {
                true => ReadOptions::default(),
                false => ReadOptions::default().lef([folder.join(lef)]),
            };
            let options = options.placement(folder.join(placement));
            read_design(&folder.join(design), &options).map_err(|e| e.to_string())
        };
        let is_legal = |placement: &str, count: &Cell<u32>| {
            let read = with(placement).map_err(TestCaseError::fail)?;
            let found = fault(&read.design);
            prop_assert!(found.is_none(), "{placement}: {}", found.unwrap_or_default());
            count.set(count.get() + 1);
            Ok(())
        };
        let legalize = format!("legalize {design} {more} --threads 1 -o {placed}");
        let code = sound(folder, &legalize, bytes)?;
        if code == 0 {
            is_legal(placed, &self.legal)?;
        }
        if code != 1 {
            let refine = format!("refine {design} {more} --pl {placed} --threads 1 -o {refined}");
            if sound(folder, &refine, bytes)? == 0 {
                is_legal(refined, &self.refined)?;
            }
        }
        if sound(folder, &format!("convert {design} {more} {}", converted[0]), bytes)? == 0 {
            let options = match back.is_empty() {
                true => ReadOptions::default(),
                false => ReadOptions::default().lef([folder.join(back)]),
            };
            let read = read_design(&folder.join(&converted[0]), &options);
            prop_assert!(read.is_ok(), "converted: {}", read.unwrap_err());
            self.converted.set(self.converted.get() + 1);
        }
        Ok(())
    }

    /// Some of so many designs must still have been placed and converted.
    fn check(&self, cases: u32) {
        for (what, count) in
            [("legal", &self.legal), ("refined", &self.refined), ("converted", &self.converted)]
        {
            assert!(count.get() > cases / 20, "{} of {cases} {what}", count.get());
        }
    }
}

/// The files of a design.
struct Names {
    design: String,
    lef: String,
    placed: String,
    refined: String,
    /// The first of them names the others.
    converted: Vec<String>,
    /// The LEF file of the converted design.
    back: String,
}

#[test]
fn faults_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, text) in ["d.lef", "d.def"].iter().zip(def()) {
        fs::write(path(name), text).unwrap();
    }
    let options = ReadOptions::default().lef([path("d.lef")]);
    let mut design = read_design(&path("d.def"), &options).unwrap().design;
    assert!(fault(&design).is_some());
    // Six in a row, and the others above them.
    for i in (0..12).filter(|i| *i != 3) {
        let (x, y) = (1600.0 * (i % 6) as f64, if i < 6 { 0.0 } else { 8000.0 });
        (design.placement.x[i], design.placement.y[i]) = (x, y);
    }
    assert_eq!(fault(&design), None);
    let broken = |change: &dyn Fn(&mut Design), says: &str| {
        let mut design = design.clone();
        change(&mut design);
        assert!(fault(&design).unwrap().contains(says), "{says}");
    };
    broken(&|d| d.placement.x[1] += 100.0, "u1 is on no site");
    broken(&|d| d.placement.x[7] = design.placement.x[6] + 400.0, "u6 lies on u7");
    broken(&|d| (d.placement.x[8], d.placement.y[8]) = (4000.0, 4000.0), "u8 lies on u3");
    broken(&|d| d.placement.x[9] = 15_600.0, "u9 has no sites");
    broken(&|d| d.placement.y[5] = 12_000.0, "u5 has no sites");
}

#[test]
fn commands_survive_mutated_designs() {
    of_both_kinds(120);
}

#[test]
#[ignore = "takes minutes"]
fn commands_survive_many_mutated_designs() {
    of_both_kinds(3000);
}

/// Runs the commands on so many mutated designs of each kind. Both kinds run at once, because a run
/// takes one core.
fn of_both_kinds(cases: u32) {
    let _alone = alone();
    rayon::join(|| lef_and_def(cases), || of_bookshelf(cases));
}

/// Runs the commands on so many mutated LEF and DEF designs.
fn lef_and_def(cases: u32) {
    let (folder, ran) = (tempfile::tempdir().unwrap(), Ran::default());
    let names = Names {
        design: "d.def".to_owned(),
        lef: "d.lef".to_owned(),
        placed: "placed.def".to_owned(),
        refined: "refined.def".to_owned(),
        converted: ["c.aux", "c.nodes", "c.nets", "c.wts", "c.pl", "c.scl"]
            .map(str::to_owned)
            .to_vec(),
        back: String::new(),
    };
    let seeds = [def(), mutated_lefdef::small()];
    let one_file = (0..3usize, 0..2usize, changes());
    proptest!(config(cases), |((design, file, changes) in one_file)| {
        // The plain one more often.
        let mut files = seeds[design / 2].clone();
        change(&mut files[file], &changes, &seeds);
        for (name, text) in ["d.lef", "d.def"].iter().zip(&files) {
            fs::write(folder.path().join(name), text).unwrap();
        }
        ran.run(folder.path(), &names, files.concat().len())?;
    });
    ran.check(cases);
}

/// Runs the commands on so many mutated Bookshelf designs.
fn of_bookshelf(cases: u32) {
    let (folder, ran) = (tempfile::tempdir().unwrap(), Ran::default());
    let names = Names {
        design: "d.aux".to_owned(),
        lef: String::new(),
        placed: "placed.pl".to_owned(),
        refined: "refined.pl".to_owned(),
        converted: vec!["c.def".to_owned(), "c.lef".to_owned()],
        back: "c.lef".to_owned(),
    };
    let seeds = [bookshelf(), mutated::small()];
    let one_file = (0..3usize, 1..mutated::ENDINGS.len(), changes());
    proptest!(config(cases), |((design, file, changes) in one_file)| {
        let mut files = seeds[design / 2].clone();
        change(&mut files[file], &changes, &seeds);
        for (ending, text) in mutated::ENDINGS.iter().zip(&files) {
            fs::write(folder.path().join(format!("d.{ending}")), text).unwrap();
        }
        ran.run(folder.path(), &names, files.concat().len())?;
    });
    ran.check(cases);
}
