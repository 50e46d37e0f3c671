//! The options of pictures that `plot` and `diff` share.

use super::failure::{Failure, usage};
use super::options::{has_repeats, named, number};
use crate::congestion::Convention;
use crate::design::LengthUnit;
use crate::engine::MapKind;
use crate::grid::{Map, Rect};
use crate::maps::Kind;
use crate::parallel;
use crate::plot::{
    COLORS, Colors, Curves, Format, HeatMap, Picture, PlotError, SHADINGS, Series, Shading, Size,
    profile,
};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Options of every command that draws maps.
#[derive(Args, Clone, Debug)]
pub(crate) struct PictureArgs {
    /// File formats, joined by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "both", value_name = "FORMATS")]
    format: Vec<FormatArg>,
    /// Scale of colours and histograms: linear up to the largest value, linear but clipped at a few
    /// extreme bins, or logarithmic
    #[arg(long, value_parser = named(SHADINGS), default_value = "clipped", value_name = "SCALE")]
    scale: Shading,
    /// Range of the colours: LO:HI if --pictures names one picture, else NAME=LO:HI, joined by
    /// commas
    #[arg(long, value_delimiter = ',', value_name = "[NAME=]LO:HI", allow_hyphen_values = true)]
    range: Vec<RangeArg>,
    /// Colours of the maps, joined by commas: red-blue and purple-green apply to maps with both
    /// signs, the others to maps without negative values
    #[arg(long, value_parser = named(COLORS), value_delimiter = ',', value_name = "NAMES")]
    colors: Vec<Colors>,
    /// Width of a picture on paper, millimetres; text then has the size of --font-size
    #[arg(long, value_name = "MM")]
    width: Option<f64>,
    /// Font size at the axes, points [default: 8]
    #[arg(long, value_name = "PT", requires = "width")]
    font_size: Option<f64>,
    /// Pixels per inch, of PNG files and of maps in other files [default with --width: 300]
    #[arg(long, value_name = "DPI", value_parser = dpi)]
    dpi: Option<f64>,
    /// Leave out the titles and the line below the picture
    #[arg(long)]
    no_title: bool,
}

/// The options of [`PictureArgs`] by name, for a command that draws only with another option.
pub(crate) const PICTURE_ARGS: [&str; 8] =
    ["format", "scale", "range", "colors", "width", "font_size", "dpi", "no_title"];

/// Options of commands that show potential and field.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FieldArgs {
    /// Draw this many lines of equal potential [default without a number: 12]
    #[arg(
        long,
        value_name = "LINES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "12",
        value_parser = clap::value_parser!(u8).range(1..=100)
    )]
    pub(crate) contours: Option<u8>,
    /// Draw lines along the field instead of arrows
    #[arg(long)]
    pub(crate) streamlines: bool,
    /// Draw density and potential along a line between two points of the die, in layout units (DEF
    /// units of a .def design)
    #[arg(long, value_name = "X0,Y0,X1,Y1", value_parser = cut, allow_hyphen_values = true)]
    pub(crate) cut: Option<Cut>,
}

/// A line between two points, layout units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    from: (f64, f64),
    to: (f64, f64),
}

/// Parses `--cut`.
fn cut(text: &str) -> Result<Cut, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|v| v.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[x0, y0, x1, y1]) if (x1 - x0).hypot(y1 - y0).is_normal() => {
            Ok(Cut { from: (x0, y0), to: (x1, y1) })
        }
        _ => Err("expected two points, X0,Y0,X1,Y1, as in 0,50,100,50".to_owned()),
    }
}

impl FieldArgs {
    /// Returns the number of contours of a map; only the potential has contours.
    pub(crate) fn contours_of(&self, kind: Kind) -> usize {
        let is_potential = kind == Kind::Engine(MapKind::Potential);
        self.contours.filter(|_| is_potential).map_or(0, usize::from)
    }

    /// Returns a map of the design called `name` along the line of `--cut` as a curve.
    ///
    /// # Errors
    /// If a point of the line is not on the die.
    pub(crate) fn cut_of<T: crate::Real>(
        &self,
        name: &str,
        kind: Kind,
        map: &Map<T>,
        die: &Rect,
        unit: LengthUnit,
    ) -> Result<Option<Curves>, Failure> {
        let Some(Cut { from, to }) = self.cut else { return Ok(None) };
        let on_die =
            |(x, y): (f64, f64)| (die.xl..=die.xh).contains(&x) && (die.yl..=die.yh).contains(&y);
        if !on_die(from) || !on_die(to) {
            let Rect { xl, yl, xh, yh } = die;
            let message = format!("'--cut': expected points on the die, {xl},{yl} to {xh},{yh}");
            return Err(message.into());
        }
        let points = profile(map, die, from, to);
        let entry = kind.entry(Convention::default());
        let start = [from.0, from.1].map(|at| unit.of(at));
        Ok(Some(Curves {
            title: format!("{name}: {} along a line", entry.title),
            x_label: format!("distance from ({}, {}) ({})", start[0], start[1], unit.name),
            y_label: entry.label(),
            series: vec![Series {
                points: points.into_iter().map(|(at, v)| (unit.of(at), v)).collect(),
                ..Series::default()
            }],
            ..Curves::default()
        }))
    }
}

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    Png,
    Svg,
    Pdf,
    /// PNG and SVG
    Both,
}

/// `--range`.
#[derive(Clone, Debug, PartialEq)]
struct RangeArg {
    /// None for the one picture.
    name: Option<String>,
    ends: (f64, f64),
}

impl FromStr for RangeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, numbers) = match text.split_once('=') {
            Some((name, numbers)) => (Some(name.to_owned()), numbers),
            None => (None, text),
        };
        let ends = numbers.split_once(':');
        let ends = ends.and_then(|(lo, hi)| Some((lo.parse().ok()?, hi.parse().ok()?)));
        let is_range = |(lo, hi): &(f64, f64)| lo < hi && lo.is_finite() && hi.is_finite();
        let ends =
            ends.filter(is_range).ok_or("expected two numbers, the lower first, as in 0:1.5")?;
        Ok(RangeArg { name, ends })
    }
}

/// Parses `--dpi`.
fn dpi(text: &str) -> Result<f64, String> {
    number(text, |v| (10.0..=2400.0).contains(&v), "a number from 10 to 2400")
}

/// Which pictures are drawn of those that a command has, and how.
#[derive(Clone, Debug)]
pub(crate) struct DrawOptions<N> {
    pub(crate) pictures: Vec<N>,
    formats: Vec<Format>,
    pub(crate) shading: Shading,
    ranges: Vec<(N, (f64, f64))>,
    colors: Vec<Colors>,
    pub(crate) size: Size,
    titled: bool,
    pub(crate) field: FieldArgs,
}

impl<N: ValueEnum + PartialEq + Sync> Default for DrawOptions<N> {
    fn default() -> Self {
        DrawOptions {
            pictures: N::value_variants().to_vec(),
            formats: vec![Format::Png, Format::Svg],
            shading: Shading::Clipped,
            ranges: Vec::new(),
            colors: Vec::new(),
            size: Size::default(),
            titled: true,
            field: FieldArgs::default(),
        }
    }
}

/// Returns the name of a picture: its file's, and the one on the command line.
pub(crate) fn name_of<N: ValueEnum>(picture: &N) -> String {
    let value = picture.to_possible_value().expect("every picture has a name");
    value.get_name().to_owned()
}

impl PictureArgs {
    /// Returns the options, with the pictures that `--pictures` names; all where it names none.
    pub(crate) fn resolve<N: ValueEnum + PartialEq + Sync>(
        &self,
        named: &[N],
    ) -> Result<DrawOptions<N>, Failure> {
        let wrong = |message: &str| usage(ErrorKind::ValueValidation, message);
        if has_repeats(named) {
            return Err(wrong("'--pictures': each picture can be named once"));
        }
        let all = DrawOptions::default();
        let pictures = if named.is_empty() { all.pictures } else { named.to_vec() };
        let mut ranges: Vec<(N, (f64, f64))> = Vec::new();
        for RangeArg { name, ends } in &self.range {
            let picture = match (name, &pictures[..]) {
                (Some(name), _) => {
                    pictures.iter().find(|p| name_of(*p) == *name).ok_or_else(|| {
                        wrong(&format!(
                            "'--range': '{name}' is none of the pictures that are drawn"
                        ))
                    })?
                }
                (None, [only]) => only,
                (None, _) => {
                    let message =
                        "'--range' of no name is of one picture: name one with '--pictures'";
                    return Err(usage(ErrorKind::ArgumentConflict, message));
                }
            };
            if ranges.iter().any(|(other, _)| other == picture) {
                return Err(wrong("'--range': each picture has one range"));
            }
            ranges.push((picture.clone(), *ends));
        }
        let both = [Format::Png, Format::Svg];
        let mut formats: Vec<Format> = Vec::new();
        for format in &self.format {
            let named: &[Format] = match format {
                FormatArg::Png => &both[..1],
                FormatArg::Svg => &both[1..],
                FormatArg::Pdf => &[Format::Pdf],
                FormatArg::Both => &both,
            };
            formats.extend(named.iter().filter(|f| !formats.contains(f)).collect::<Vec<_>>());
        }
        let size = match self.width {
            Some(width) => Size::print(width, self.font_size.unwrap_or(8.0))
                .map_err(|e| wrong(&format!("'--width': {e}")))?,
            None => Size::default(),
        };
        Ok(DrawOptions {
            pictures,
            formats,
            shading: self.scale,
            ranges,
            colors: self.colors.clone(),
            size: self.dpi.map_or(size, |dpi| size.dpi(dpi)),
            titled: !self.no_title,
            field: FieldArgs::default(),
        })
    }
}

impl<N: ValueEnum + PartialEq + Sync> DrawOptions<N> {
    /// Returns the ends given.
    pub(crate) fn range(&self, picture: &N) -> Option<(f64, f64)> {
        self.ranges.iter().find(|(of, _)| of == picture).map(|(_, ends)| *ends)
    }

    /// Returns a title; empty with `--no-title`.
    pub(crate) fn title(&self, title: String) -> String {
        if self.titled { title } else { String::new() }
    }

    /// Applies all options to a map, except its ends.
    pub(crate) fn dress<'a, T: crate::Real>(&self, map: HeatMap<'a, T>) -> HeatMap<'a, T> {
        let signed = |c: &Colors| matches!(c, Colors::RedBlue | Colors::PurpleGreen);
        let is_signed = map.scale == crate::plot::Scale::Diverging;
        HeatMap {
            title: self.title(map.title),
            subtitle: self.title(map.subtitle),
            shading: self.shading,
            colors: self.colors.iter().copied().find(|c| signed(c) == is_signed),
            size: self.size,
            note: self.titled,
            ..map
        }
    }

    /// Writes pictures into a folder, in every format; returns the files.
    pub(crate) fn write(
        &self,
        pictures: &[(String, Picture)],
        folder: &Path,
    ) -> Result<Vec<PathBuf>, Failure> {
        let write = |(name, picture): &(String, Picture)| -> Result<Vec<PathBuf>, PlotError> {
            let path = |format: &Format| folder.join(name).with_extension(format.extension());
            let paths: Vec<PathBuf> = self.formats.iter().map(path).collect();
            paths.iter().try_for_each(|path| picture.write(path))?;
            Ok(paths)
        };
        let written = parallel::map(pictures.len(), |i| write(&pictures[i]));
        Ok(written.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// Returns the ends that hold all of several.
pub(crate) fn common_ends(ends: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests;
