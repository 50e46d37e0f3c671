//! `placefield convert`: writes a design in another format.

use super::document::{Content, write_document};
use super::failure::{Failure, usage};
use super::input::{Opened, needs_f64, read_design, rounded_for, use_threads};
use super::options::DesignArgs;
use super::outputs::{Outputs, check_placement_output, to_stdout};
use super::results::{list, tell};
use crate::bookshelf;
use crate::bookshelf::write::MARK;
use crate::design::{BlockageKind, Design, Names};
use crate::evaluate::DesignReport;
use crate::flow::StageReport;
use crate::formats::{Format, write_placement};
use crate::lefdef;
use crate::text::index::NameIndex;
use crate::warning::{Warning, WarningCode};
use clap::Args;
use clap::error::ErrorKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Options of `placefield convert`.
#[derive(Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    design: DesignArgs,
    /// Write the design: an .aux file with the files that it names, or a .def file. A Bookshelf
    /// design as .def also gets a .lef file of the same name
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Write a summary with the losses as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The JSON document of a conversion.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConvertReport {
    /// The numbers of the design.
    design: DesignReport,
    /// Wirelength of the input, in its layout units.
    result: StageReport,
    /// Layout units of the output per layout unit of the input.
    units_per_layout_unit: f64,
    /// Content that the output cannot express, with its number.
    lost: BTreeMap<&'static str, usize>,
    /// Warnings for readers of the numbers.
    warnings: Vec<Warning>,
}

impl Content for ConvertReport {
    const COMMAND: &'static str = "convert";
}

/// Reads, writes, and reports losses.
pub(crate) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    args.design.check()?;
    let to = kind_of(&args.output)?;
    let outputs = match (to, args.design.is_def()) {
        (Format::Bookshelf, _) => bookshelf::design_paths(&args.output),
        (Format::Def, true) => vec![args.output.clone()],
        (Format::Def, false) => vec![args.output.clone(), args.output.with_extension("lef")],
    };
    if to == Format::Def {
        match args.design.is_def() {
            true => check_placement_output(&args.output, &args.design.path)?,
            false if args.output.extension().is_some_and(|ending| ending == "def") => {}
            false => return Err(wrong(&args.output, "a name that ends in .def")),
        }
    }
    let all = outputs.iter().fold(Outputs::default(), |all, path| all.file("OUT", Some(path)));
    all.file("--json", args.json.as_ref()).check(&args.design.files())?;
    // Files that nobody named are replaced only if an earlier conversion wrote them.
    if let Some(path) = outputs.iter().find(|path| **path != args.output && is_foreign(path)) {
        let expected = "expected no file of that name, or one that placefield wrote";
        let message = format!("OUT {}: {expected}", path.display());
        return Err(usage(ErrorKind::ArgumentConflict, &message));
    }
    use_threads(0)?;
    // What a design holds is converted, its fillers as well.
    let mut opened = read_design(&args.design.keeping_fillers())?;
    let mut warnings = opened.warnings.clone();
    warnings.extend(needs_f64(&opened.design));
    let (mut lost, mut units_per_layout_unit) = (BTreeMap::new(), 1.0);
    let outputs = match (to, args.design.is_def()) {
        (Format::Bookshelf, _) => {
            warnings.extend(rename_repeated(&mut opened.design.nodes.names));
            lost = lost_by_bookshelf(&opened.design);
            bookshelf::write_design(&args.output, &opened.design)?
        }
        (Format::Def, true) => {
            rounded_for(&args.output, &mut opened.design, &mut warnings);
            write_placement(&args.output, &args.design.path, &opened.design)?;
            outputs
        }
        (Format::Def, false) => {
            let written = lefdef::write_design(&args.output, &opened.design)?;
            units_per_layout_unit = written.units_per_layout_unit;
            warnings.extend(written.warnings);
            written.files
        }
    };
    let report = report(&opened, units_per_layout_unit, lost, warnings);
    write_document(args.json.as_ref(), &opened.files, &outputs, &report)?;
    if to_stdout(&args.json) {
        return Ok(());
    }
    let mut warnings = report.warnings.clone();
    let lost = report.lost.iter().map(|(what, count)| {
        Warning::new(WarningCode::NotWritten, format!("not written: {count} {what}"))
    });
    warnings.extend(lost);
    tell(&[], &warnings);
    Ok(list(&outputs)?)
}

/// Whether a file is there that does not begin as those of this program do.
fn is_foreign(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut begin));
    read.is_ok() && !begin.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

/// Gives nodes of equal names, such as pins of a DEF file, distinct names.
fn rename_repeated(names: &mut Names) -> Option<Warning> {
    let index = NameIndex::new(names);
    if !index.has_repeats() {
        return None;
    }
    let (mut renamed, mut given) = (Names::default(), HashSet::new());
    let mut first = None;
    for (i, name) in names.iter().enumerate() {
        if index.find(name.as_bytes()) == Some(i as u32) {
            renamed.push(name);
            continue;
        }
        let is_free = |new: &String| index.find(new.as_bytes()).is_none() && !given.contains(new);
        let new = (2..).map(|k| format!("{name}.{k}")).find(is_free)?;
        first.get_or_insert_with(|| format!("`{name}` to `{new}`"));
        renamed.push(&new);
        given.insert(new);
    }
    let message =
        format!("{} nodes have the name of another and are renamed: {}", given.len(), first?);
    *names = renamed;
    Some(Warning::new(WarningCode::Rounded, message))
}

fn report(
    opened: &Opened,
    units_per_layout_unit: f64,
    lost: BTreeMap<&'static str, usize>,
    warnings: Vec<Warning>,
) -> ConvertReport {
    let design = &opened.design;
    ConvertReport {
        design: DesignReport::without_charge(design, opened.summaries()),
        result: StageReport::of(design, None, None),
        units_per_layout_unit,
        lost,
        warnings,
    }
}

/// Returns the format of a design that is to be written, by its name.
fn kind_of(output: &Path) -> Result<Format, Failure> {
    match Format::of(output) {
        Format::Def => Ok(Format::Def),
        Format::Bookshelf if output.extension().is_some_and(|ending| ending == "aux") => {
            Ok(Format::Bookshelf)
        }
        Format::Bookshelf => Err(wrong(output, "a name that ends in .aux or .def")),
    }
}

fn wrong(output: &Path, expected: &str) -> Failure {
    usage(ErrorKind::InvalidValue, &format!("{}: expected {expected}", output.display()))
}

/// Returns the things of a design that Bookshelf cannot express, with their number.
fn lost_by_bookshelf(design: &Design) -> BTreeMap<&'static str, usize> {
    let blockages =
        |is: fn(&BlockageKind) -> bool| design.blockages.iter().filter(|b| is(&b.kind)).count();
    let die = design.die().filter(|_| design.row_blockage && !design.rows.is_empty());
    let rows: Vec<_> = design.rows.iter().map(|row| row.rect()).collect();
    let gaps = die.is_some_and(|die| crate::charge::fixed::union_area(&rows, &die) < die.area());
    let all = [
        ("fences", design.fences.len()),
        ("hard blockages", blockages(|kind| *kind == BlockageKind::Hard)),
        ("soft blockages", blockages(|kind| *kind == BlockageKind::Soft)),
        ("partial blockages", blockages(|kind| matches!(kind, BlockageKind::Partial(_)))),
        ("halos", design.halos.len()),
        ("library cells with their sites and symmetries", design.masters.len()),
        ("scale (layout units in a micrometre)", usize::from(design.units_per_micron.is_some())),
        (
            "die with area outside its rows, which has to be asked for as --row-blockage",
            usize::from(gaps),
        ),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}
