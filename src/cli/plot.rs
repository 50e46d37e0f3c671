//! `placefield plot`: draws placements.

use super::congestion::CongestionArgs;
use super::evaluation::{Evaluated, evaluate};
use super::failure::{Failure, usage};
use super::input::{Opened, open_design};
use super::options::EvaluationArgs;
use super::outputs::{Outputs, PICTURES, one_standard_input};
use super::picture_args::{FieldArgs, PictureArgs, name_of};
use super::pictures::{self, PictureName, Subject};
use super::results::{list, make_folder, tell};
use crate::formats::read_placement;
use crate::real::with_precision;
use clap::Args;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};

/// Options of `placefield plot`.
#[derive(Args)]
pub(crate) struct PlotArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    #[command(flatten)]
    congestion: CongestionArgs,
    /// Folder of the pictures, created if needed
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Pictures, joined by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    pictures: Vec<PictureName>,
    /// Also draw another placement, with the same colour range, into a folder of its name. Repeat it
    /// for more placements
    #[arg(long, value_name = "FILE.pl")]
    also: Vec<PathBuf>,
    #[command(flatten)]
    field: FieldArgs,
    #[command(flatten)]
    drawing: PictureArgs,
}

/// Reads, evaluates, draws, and lists the files on standard output.
pub(crate) fn run(args: &PlotArgs) -> Result<(), Failure> {
    let mut drawn = args.drawing.resolve(&args.pictures)?;
    drawn.field = args.field.clone();
    let asked = |name: &&PictureName| name.is_congestion();
    if let (Some(name), false) = (args.pictures.iter().find(asked), args.congestion.is_asked()) {
        let message = format!("'--pictures {}' needs '--congestion'", name_of(name));
        return Err(usage(ErrorKind::MissingRequiredArgument, &message));
    }
    let design = &args.evaluation.design;
    design.check()?;
    one_standard_input(
        [&*design.path]
            .into_iter()
            .chain(design.pl.first().map(PathBuf::as_path))
            .chain(args.also.iter().map(|p| &**p)),
    )?;
    let mut inputs = design.files();
    inputs.extend(args.also.iter().cloned());
    Outputs::default().folder("--out", Some(&args.out), PICTURES).check(&inputs)?;
    let mut opened = open_design(&args.evaluation)?;
    let first = design.pl.first().cloned().unwrap_or_else(|| design.path.clone());
    let folders = folders(&args.out, &first, &args.also)?;
    let options = &args.evaluation.options;
    with_precision!(options.precision, T => {
        let mut evaluated = evaluate::<T>(&opened, options)?;
        evaluated.add_congestion(&opened, &args.congestion, None)?;
        let (notes, mut warnings) = (evaluated.notes.clone(), evaluated.report.warnings.clone());
        let mut others: Vec<(Opened, Evaluated<T>)> = Vec::new();
        for path in &args.also {
            let position = args.evaluation.design.pin_position();
            let read = read_placement(path, &opened.design.nodes, position)?;
            let mut other = Opened { warnings: read.warnings, ..opened.clone() };
            other.design.placement = read.placement;
            other.design.nodes.kind = read.kind;
            let mut evaluated = evaluate::<T>(&other, options)?;
            evaluated.add_congestion(&other, &args.congestion, None)?;
            let new = evaluated.report.warnings.iter().filter(|w| !warnings.contains(w));
            warnings.extend(new.cloned().collect::<Vec<_>>());
            others.push((other, evaluated));
        }
        if !others.is_empty() {
            opened.design.name = format!("{}, {}", opened.design.name, stem(&first));
        }
        for ((other, _), path) in others.iter_mut().zip(&args.also) {
            other.design.name = format!("{}, {}", other.design.name, stem(path));
        }
        let all = std::iter::once((&opened, &evaluated)).chain(others.iter().map(|(o, e)| (o, e)));
        let subjects: Vec<Subject<'_, T>> = all
            .zip(&folders)
            .map(|((opened, evaluated), folder)| Subject {
                design: &opened.design,
                evaluated,
                folder,
            })
            .collect();
        let files = pictures::draw(&subjects, &drawn)?;
        tell(&notes, &warnings);
        Ok(list(&files)?)
    })
}

/// Returns a file's name without its endings.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Returns the folder for the pictures of each placement: `out` for a single one, for several a
/// folder of each one's name, which is made.
fn folders(out: &Path, first: &Path, also: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if also.is_empty() {
        return Ok(vec![out.to_owned()]);
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for path in std::iter::once(first).chain(also.iter().map(PathBuf::as_path)) {
        let folder = out.join(stem(path));
        if folders.contains(&folder) {
            let message = format!("'--also': two placements are called {}", stem(path));
            return Err(usage(ErrorKind::ArgumentConflict, &message));
        }
        make_folder(&folder)?;
        folders.push(folder);
    }
    Ok(folders)
}
