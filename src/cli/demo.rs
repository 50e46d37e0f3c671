//! `placefield demo`: evaluates, draws, compares and places a generated design.

use super::document::{NO_FILES, write_document};
use super::evaluation::evaluate;
use super::failure::{Failure, usage};
use super::input::{open_design, use_threads};
use super::options::EvaluationArgs;
use super::outputs::{Names, Outputs};
use super::place::{self, PlaceArgs};
use super::report::page::Page;
use super::results::tell;
use super::terminal::stdout;
use super::{compare, eval, pictures};
use crate::engines::EngineChoice;
use crate::generate::{Spec, generate, write_bookshelf};
use clap::Args;
use clap::error::ErrorKind;
use std::io::Write;
use std::path::PathBuf;

/// Options of `placefield demo`.
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Folder for the design, its pictures and its numbers
    #[arg(long, value_name = "DIR", default_value = "placefield-demo")]
    out: PathBuf,
    /// Movable cells of the generated design
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    cells: u64,
    /// Iterations of the comparison
    #[arg(long, value_name = "K", default_value_t = 30)]
    iterations: usize,
    /// Engine: auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    engine: EngineChoice,
}

/// The names of the files of a demo: the design, placements, pictures, pages and numbers.
const FILES: Names =
    Names::Ending(&["aux", "nodes", "nets", "wts", "pl", "scl", "png", "svg", "html", "json"]);

/// Generates, writes, reads back, evaluates, draws, compares, places.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    use_threads(0)?;
    let design = generate(&Spec::with_cells(args.cells))
        .map_err(|e| usage(ErrorKind::ValueValidation, &e.to_string()))?;
    Outputs::default().folder("--out", Some(&args.out), FILES).check(&[])?;
    let mut out = stdout()?;
    writeln!(
        out,
        "1. A design of {} movable cells, generated in {}:",
        args.cells,
        args.out.display()
    )?;
    let files = write_bookshelf(&design, &args.out)?;
    let aux = files.iter().find(|f| f.extension().is_some_and(|e| e == "aux"));
    let aux = aux.ok_or("the generated design has no .aux file")?;
    writeln!(out, "   {}", aux.display())?;

    let evaluation = EvaluationArgs::for_demo(aux, args.engine);
    writeln!(out, "\n2. placefield eval, with fillers:")?;
    let opened = open_design(&evaluation)?;
    let evaluated = evaluate::<f32>(&opened, &evaluation.options)?;
    tell(&evaluated.notes, &evaluated.report.warnings);
    eval::print(&evaluated.report)?;
    let json = args.out.join("eval.json");
    write_document(Some(&json), &opened.files, NO_FILES, &evaluated.report)?;

    writeln!(out, "   {}", json.display())?;
    writeln!(out, "\n3. placefield plot:")?;
    let subject =
        pictures::Subject { design: &opened.design, evaluated: &evaluated, folder: &args.out };
    for file in pictures::draw(&[subject], &Default::default())? {
        writeln!(out, "   {}", file.display())?;
    }
    let mut page = Page::of_evaluation(&opened, &evaluated, &evaluation, &Default::default())?;
    drop(evaluated);
    let path = args.out.join("report.html");
    page.write(Some(&opened.design), &path)?;
    writeln!(out, "\n4. placefield report, a page to open in a browser:\n   {}", path.display())?;
    writeln!(out, "\n5. placefield compare, the cells spreading by the density's force alone:")?;
    let table =
        compare::compare(&opened, &evaluation.options, &[args.engine], args.iterations, None)?;
    compare::print(&table)?;
    let json = args.out.join("compare.json");
    write_document(Some(&json), &opened.files, NO_FILES, &table)?;
    writeln!(out, "   {}", json.display())?;
    for file in pictures::draw_comparison(&opened.design.name, &table.iterations, &args.out)? {
        writeln!(out, "   {}", file.display())?;
    }
    writeln!(out, "\n6. placefield place, with a page of its iterations:")?;
    let (pl, page) = (args.out.join("placed.pl"), args.out.join("placed.html"));
    place::run(&PlaceArgs::for_demo(aux, &pl, &page, args.engine))
}
