//! The iterations of a page: numbers, charts and frames with one slider.

use super::maps::number;
use super::pack;
use super::part::{Chart, Table};
use crate::cli::failure::Failure;
use crate::parallel;
use crate::plot::{Curves, Indexed, Series};
use serde::Serialize;

/// Bytes that all frames together may take, before base64.
const MOST_FRAME_BYTES: usize = 1_650_000;
/// Qualities of a JPEG, the best first.
const QUALITIES: [u8; 6] = [85, 70, 55, 40, 25, 12];
/// Rows of the table.
const MOST_ROWS: usize = 25;

/// One number of every iteration.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Column {
    /// With its unit.
    pub(crate) name: String,
    /// Values; numbers that are not finite are written as null.
    pub(crate) values: Vec<f64>,
}

/// The columns of a chart.
pub(crate) struct ChartOf<'a> {
    pub(crate) title: &'a str,
    pub(crate) y_label: &'a str,
    /// Columns by number, and their names in the legend.
    pub(crate) columns: Vec<(usize, String)>,
    pub(crate) log: bool,
}

/// A run of iterations.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    title: &'static str,
    rows: usize,
    frames: Option<Frames>,
    charts: Vec<Chart>,
    table: Table,
    #[serde(skip)]
    pub(super) data: RunData,
    #[serde(skip)]
    film: Option<Film>,
    /// The next of [`QUALITIES`].
    #[serde(skip)]
    quality: usize,
}

/// Densities of the cells, one frame after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Film {
    /// The density at the end of the colours.
    pub(crate) full: f64,
    /// The density above which they are red.
    pub(crate) mark: f64,
    /// Iterations and maps.
    pub(crate) frames: Vec<(usize, Indexed)>,
    /// Outlines of fixed nodes, and if macros move, of macros for every frame. There is one for all
    /// frames, or one for each.
    pub(crate) outlines: Vec<String>,
    /// Width and height that the outlines are in.
    pub(crate) drawing: [f64; 2],
}

#[derive(Clone, Debug, Serialize)]
struct Frames {
    nx: usize,
    ny: usize,
    caption: String,
    images: Vec<Frame>,
}

#[derive(Clone, Debug, Serialize)]
struct Frame {
    iteration: usize,
    /// The row of the table that it belongs to.
    row: usize,
    image: String,
}

/// Data for the script.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct RunData {
    iterations: Vec<usize>,
    columns: Vec<Column>,
    outlines: Vec<String>,
    drawing: [f64; 2],
}

impl Run {
    /// Returns the numbers of ascending `iterations`, charts of some of them, and frames.
    pub(crate) fn new(
        title: &'static str,
        iterations: Vec<usize>,
        columns: Vec<Column>,
        charts: &[ChartOf<'_>],
        film: Option<Film>,
    ) -> Result<Run, Failure> {
        let charts = charts.iter().map(|of| chart(of, &iterations, &columns));
        let charts = charts.filter_map(Result::transpose).collect::<Result<_, Failure>>()?;
        let film = film.filter(|film| !film.frames.is_empty());
        let mut run = Run {
            title,
            rows: iterations.len(),
            frames: None,
            charts,
            table: table(&iterations, &columns),
            data: RunData {
                iterations,
                columns,
                outlines: film.as_ref().map_or_else(Vec::new, |f| f.outlines.clone()),
                drawing: film.as_ref().map_or([1.0; 2], |f| f.drawing),
            },
            film,
            quality: 0,
        };
        while run.coarsen() && run.frame_bytes() > MOST_FRAME_BYTES * 4 / 3 {}
        Ok(run)
    }

    fn frame_bytes(&self) -> usize {
        self.frames.iter().flat_map(|f| &f.images).map(|i| i.image.len()).sum()
    }

    /// Encodes the frames with less detail than before; false when there is no less.
    pub(super) fn coarsen(&mut self) -> bool {
        let (Some(film), Some(&quality)) = (&self.film, QUALITIES.get(self.quality)) else {
            return false;
        };
        self.quality += 1;
        let row = |iteration: usize| {
            let after = self.data.iterations.partition_point(|&i| i <= iteration);
            after.saturating_sub(1)
        };
        let frame = |(iteration, image): &(usize, Indexed)| Frame {
            iteration: *iteration,
            row: row(*iteration),
            image: pack::image("jpeg", &image.jpeg(quality)),
        };
        let caption = format!(
            "Cells without fillers while they move: red above a density of {}, darkest at {} or \
             more. As JPEG of quality {quality}: near, not exact",
            number(film.mark),
            film.full
        );
        let images = parallel::map(film.frames.len(), |i| frame(&film.frames[i]));
        let (nx, ny) = film.frames[0].1.size();
        self.frames = Some(Frames { nx, ny, caption, images });
        true
    }
}

/// Returns the curves of some columns over the iterations; `None` without two iterations or a value
/// to draw.
fn chart(
    of: &ChartOf<'_>,
    iterations: &[usize],
    columns: &[Column],
) -> Result<Option<Chart>, Failure> {
    let drawn = |v: &f64| v.is_finite() && (!of.log || *v > 0.0);
    let values = |k: usize| &columns[k].values;
    if iterations.len() < 2 || !of.columns.iter().any(|(k, _)| values(*k).iter().any(drawn)) {
        return Ok(None);
    }
    let series = |(k, name): &(usize, String)| Series {
        name: name.clone(),
        points: iterations.iter().map(|&i| i as f64).zip(values(*k).iter().copied()).collect(),
        ..Series::default()
    };
    let curves = Curves {
        x_label: "iteration".to_owned(),
        y_label: of.y_label.to_owned(),
        log_y: of.log,
        series: of.columns.iter().map(series).collect(),
        size: Chart::size(),
        ..Curves::default()
    };
    let ends = |(k, name): &(usize, String)| {
        let ends = [values(*k).first(), values(*k).last()].map(|v| v.copied().unwrap_or(f64::NAN));
        format!("{name} from {:.4} to {:.4}", ends[0], ends[1])
    };
    let description = of.columns.iter().map(ends).collect::<Vec<_>>().join("; ");
    let description = format!("{}: {description}", of.title);
    Chart::of(of.title, description, &curves.draw(), true).map(Some)
}

/// At most [`MOST_ROWS`] iterations, evenly spaced, the last among them.
fn table(iterations: &[usize], columns: &[Column]) -> Table {
    let last = iterations.len().saturating_sub(1);
    let every = iterations.len().div_ceil(MOST_ROWS).max(1);
    let chosen = (0..iterations.len()).filter(|k| k % every == 0 || *k == last);
    let cell = |value: f64| if value.is_finite() { number(value) } else { "none".to_owned() };
    let row = |k: usize| {
        let first = std::iter::once(iterations[k].to_string());
        first.chain(columns.iter().map(|c| cell(c.values[k]))).collect()
    };
    let names = columns.iter().map(|c| c.name.clone());
    Table {
        caption: match every {
            1 => "Every iteration".to_owned(),
            n => format!("One of every {n} iterations, and the last"),
        },
        header: std::iter::once("Iteration".to_owned()).chain(names).collect(),
        words: 0,
        rows: chosen.map(row).collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
