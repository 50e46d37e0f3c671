//! `placefield plot`: one placement in pictures.

use super::evaluation::evaluate;
use super::failure::{Failure, usage};
use super::input::{open_design, with_precision};
use super::options::{EvaluationArgs, has_repeats};
use super::outputs::{Outputs, PICTURES, design_files, one_standard_input};
use super::pictures::{self, DrawOptions, PictureName};
use super::results::{list, tell};
use crate::plot::{Format, Shading};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of `placefield plot`.
#[derive(Args)]
pub(crate) struct PlotArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Folder the pictures go to; made when it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Which pictures, joined by commas; all unless given
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    pictures: Vec<PictureName>,
    /// File formats
    #[arg(long, value_enum, default_value_t = FormatArg::Both, value_name = "FORMAT")]
    format: FormatArg,
    /// How values become colours: in proportion up to the largest, up to where a few bins stand out,
    /// or by the logarithm
    #[arg(long, value_enum, default_value_t = ScaleArg::Clipped, value_name = "SCALE")]
    scale: ScaleArg,
    /// Values at the ends of the colours, of the one map that --pictures names
    #[arg(long, value_name = "LO:HI", value_parser = range, requires = "pictures", allow_hyphen_values = true)]
    range: Option<(f64, f64)>,
}

/// `--format`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    Png,
    Svg,
    Both,
}

/// `--scale`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleArg {
    Linear,
    Clipped,
    Log,
}

/// `--range`.
fn range(text: &str) -> Result<(f64, f64), String> {
    let ends = text.split_once(':').and_then(|(lo, hi)| Some((lo.parse().ok()?, hi.parse().ok()?)));
    let range = ends.filter(|(lo, hi): &(f64, f64)| lo < hi && lo.is_finite() && hi.is_finite());
    range.ok_or_else(|| "expected two numbers, the lower first, as in 0:1.5".to_owned())
}

impl PlotArgs {
    fn draw_options(&self) -> Result<DrawOptions, Failure> {
        if has_repeats(&self.pictures) {
            let message = "'--pictures': each picture can be named once";
            return Err(usage(ErrorKind::ValueValidation, message));
        }
        // The histogram has no colours.
        let map = matches!(self.pictures[..], [name] if name != PictureName::Histogram);
        if self.range.is_some() && !map {
            let message = "'--range' is of one map: name one with '--pictures'";
            return Err(usage(ErrorKind::ArgumentConflict, message));
        }
        let all = DrawOptions::default();
        Ok(DrawOptions {
            pictures: if self.pictures.is_empty() { all.pictures } else { self.pictures.clone() },
            formats: match self.format {
                FormatArg::Png => vec![Format::Png],
                FormatArg::Svg => vec![Format::Svg],
                FormatArg::Both => all.formats,
            },
            shading: match self.scale {
                ScaleArg::Linear => Shading::Linear,
                ScaleArg::Clipped => Shading::Clipped,
                ScaleArg::Log => Shading::Log,
            },
            range: self.range,
        })
    }
}

/// Reads, evaluates, draws, and lists the files on standard output.
pub(crate) fn run(args: &PlotArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    let drawn = args.draw_options()?;
    let pl = args.evaluation.pl.as_deref();
    one_standard_input([Some(&*args.aux), pl].into_iter().flatten())?;
    Outputs::default()
        .folder("--out", Some(&args.out), PICTURES)
        .check(&design_files(&args.aux, pl))?;
    let opened = open_design(&args.aux, &args.evaluation)?;
    let options = &args.evaluation.options;
    with_precision!(options.precision(), T => {
        let evaluated = evaluate::<T>(&opened, options)?;
        let files = pictures::draw(&opened.design, &evaluated, &args.out, &drawn)?;
        tell(&evaluated.notes, &evaluated.report.warnings);
        Ok(list(&files)?)
    })
}
