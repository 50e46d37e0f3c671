//! Maps of a placement, several at once, and pictures of maps.

use super::arrays::Array;
use super::design::{Design, positions};
use super::dlpack::ImportedArray;
use super::errors::{Failure, detached};
use super::options::{Charging, Options};
use super::place::{on_threads, tracks};
use crate::charge::Charge;
use crate::congestion::{
    CongestionError, CongestionMaps, CongestionOptions, Convention, RoutingGrid, Tracks,
};
use crate::cpu::engine::CpuEngine;
use crate::design::{Design as Core, LengthUnit};
use crate::engine::{Engine, EngineOptions};
use crate::evaluate::{cells_and_overflow, force_maps, over_die};
use crate::grid::{BinGrid, Map, Rect};
use crate::maps::{Kind, charge_of_cells, of_congestion};
use crate::memory::require;
use crate::plot::{
    self, Arrows, COLORS, Format, HeatMap, Histogram, SHADINGS, Scale, Shading, Size,
};
use crate::real::{Precision, Real};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::borrow::Cow;

/// Returns the maps that [`maps`] takes, which have one value per bin.
fn of_bins() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Field | Kind::Force))
}

fn names(kinds: impl Iterator<Item = Kind>) -> String {
    kinds.map(Kind::name).collect::<Vec<_>>().join(", ")
}

/// Returns the title of a picture of a map, the label of its colours and their kind.
#[pyfunction]
pub(super) fn map_label(
    picture: &str,
    convention: &str,
) -> PyResult<(String, String, &'static str)> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == picture).ok_or_else(|| {
        let names = names(Kind::ALL.into_iter());
        let text = format!("picture: expected histogram, {names}, found '{picture}'");
        PyValueError::new_err(text)
    })?;
    let of = Convention::ALL.into_iter().find(|of| of.name() == convention).unwrap_or_default();
    let entry = found.entry(of);
    let scale = SCALES.into_iter().find(|(_, scale)| *scale == entry.scale);
    Ok((entry.title.to_owned(), entry.label(), scale.expect("every scale has a name").0))
}

/// How maps are made.
struct Making {
    kinds: Vec<Kind>,
    precision: Precision,
    charging: Charging,
    engine: EngineOptions,
    congestion: CongestionOptions,
    tracks: Option<Tracks>,
    gcells: bool,
}

/// The maps of `kinds`, an array of shape (kinds, nx, ny), of `design` with its nodes at `x`, `y`.
#[pyfunction]
pub(super) fn maps<'py>(
    py: Python<'py>,
    design: &Bound<'py, Design>,
    x: Option<&Bound<'py, PyAny>>,
    y: Option<&Bound<'py, PyAny>>,
    kinds: Vec<String>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let making = Making::of(&kinds, options)?;
    let (x, y) = (positions(x, "x")?, positions(y, "y")?);
    let of = design.get();
    let threads = Options(options).threads()?;
    let array = detached(py, || {
        of.at(x.as_ref(), y.as_ref(), |placed| {
            on_threads(threads, |_| match making.precision {
                Precision::F32 => making.maps::<f32>(of, placed),
                Precision::F64 => making.maps::<f64>(of, placed),
            })
        })
    })?;
    array.numpy(py)
}

/// Returns maps of congestion for `x` and `y` in device memory, in an array there; the work is
/// enqueued to `stream`.
#[pyfunction]
#[pyo3(signature = (design, x, y, kinds, options, *, stream))]
pub(super) fn maps_on_device(
    py: Python<'_>,
    design: &Bound<'_, Design>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    kinds: Vec<String>,
    options: &Bound<'_, PyDict>,
    stream: usize,
) -> PyResult<Array> {
    let making = Making::of(&kinds, options)?;
    let is_there = |kind: &Kind| matches!(kind, Kind::Congestion(_) | Kind::Demand { .. });
    let named = making.kinds.iter().zip(&kinds).find(|(kind, _)| !is_there(kind));
    if let Some((_, name)) = named {
        let text = format!(
            "kinds: of positions in device memory there are maps of congestion alone, \
             found '{name}'; the others are those of an Engine"
        );
        return Err(PyValueError::new_err(text));
    }
    let (x, y) = (ImportedArray::take(x, "x", stream)?, ImportedArray::take(y, "y", stream)?);
    let of = design.get();
    detached(py, || making.on_device(of, [&x, &y], stream))
}

impl Making {
    fn of(kinds: &[String], options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = Options(options);
        let kind = |name: &String| {
            of_bins().find(|kind| kind.name() == name).ok_or_else(|| {
                let names = names(of_bins());
                PyValueError::new_err(format!("kinds: expected some of {names}, found '{name}'"))
            })
        };
        let kinds = kinds.iter().map(kind).collect::<PyResult<Vec<Kind>>>()?;
        let conventions = Convention::ALL.map(|convention| (convention.name(), convention));
        let convention = options.word("convention", &conventions)?.unwrap_or_default();
        // `Design.plot` calls them bins.
        let bins = if options.get("bins")?.is_some() { "bins" } else { "grid" };
        let gcells = options.get("grid")?.is_some_and(|grid| grid.extract::<&str>().is_ok());
        let charging = match gcells {
            true => {
                options.word("grid", &[("gcells", ())])?;
                Charging { bins: None, options: options.charge()? }
            }
            false => Charging::of(&options, bins)?,
        };
        if gcells && kinds.iter().any(|kind| !kind.is_congestion()) {
            let text = "grid: gcells are for maps of congestion alone";
            return Err(PyValueError::new_err(text));
        }
        let congestion = CongestionOptions::default().convention(convention);
        let tracks = tracks(&options)?;
        let (precision, engine) = (options.precision()?, options.engine()?);
        Ok(Making { kinds, precision, charging, engine, congestion, tracks, gcells })
    }

    /// The bins.
    fn grid(&self, of: &Design, design: &Core) -> Result<RoutingGrid, Failure> {
        Ok(match self.gcells {
            true => RoutingGrid::from_gcells(&of.source.gcell_grid).ok_or_else(|| {
                let text = "grid: the design has no GCELLGRID along both axes";
                Failure::Value(text.to_owned())
            })??,
            false => RoutingGrid::from(&self.charging.grid(design)?),
        })
    }

    fn maps<T: Real>(&self, of: &Design, design: &Core) -> Result<Array, Failure>
    where
        super::arrays::Memory: From<Vec<T>>,
    {
        let grid = self.grid(of, design)?;
        let has = |any: fn(&Kind) -> bool| self.kinds.iter().any(any);
        let each = size_of::<T>() * self.kinds.len()
            + if has(|kind| kind.is_congestion()) { 96 } else { 0 }
            + if has(|kind| matches!(kind, Kind::Cells | Kind::Overflow)) { 40 } else { 0 };
        require("the maps", (grid.nx() * grid.ny()) as u64 * each as u64)?;
        let congestion = match self.kinds.iter().any(|kind| kind.is_congestion()) {
            true => Some(self.congestion(of, design, &grid)?),
            false => None,
        };
        let demand = congestion.as_ref().map(|maps| maps.demand.total());
        let mut engine = match self.kinds.iter().any(|kind| matches!(kind, Kind::Engine(_))) {
            true => Some(self.stepped::<T>(design)?),
            false => None,
        };
        let cells = match self.kinds.iter().any(|k| matches!(k, Kind::Cells | Kind::Overflow)) {
            true => Some(self.cells(design)?),
            false => None,
        };
        let mut values = Vec::with_capacity(self.kinds.len() * grid.nx() * grid.ny());
        for kind in &self.kinds {
            let map = match (kind, &congestion, &demand, &cells) {
                (Kind::Cells, .., Some([cells, _])) => Cow::Borrowed(cells),
                (Kind::Overflow, .., Some([_, overflow])) => Cow::Borrowed(overflow),
                (Kind::Engine(kind), ..) => {
                    let engine = engine.as_mut().expect("made where one of its maps is asked for");
                    let [nx, ny] = engine.charge().stacked_bins();
                    let mut map = Map::filled(nx, ny, T::zero());
                    engine.read_map(*kind, &mut map)?;
                    over_die(engine.charge(), *kind, &mut map);
                    values.extend_from_slice(map.as_slice());
                    continue;
                }
                (kind, Some(maps), Some(demand), _) => of_congestion(*kind, maps, demand)
                    .ok_or_else(|| {
                        let text = "demand over capacity needs the capacity: of LEF's layers, or \
                                    by capacity=(h, v)";
                        Failure::Value(text.to_owned())
                    })?,
                _ => unreachable!("made where it is asked for"),
            };
            values.extend(map.as_slice().iter().map(|&value| T::cast(value)));
        }
        Ok(Array::new(values, &[self.kinds.len(), grid.nx(), grid.ny()]))
    }

    fn congestion(
        &self,
        of: &Design,
        design: &Core,
        grid: &RoutingGrid,
    ) -> Result<CongestionMaps, Failure> {
        Ok(CongestionMaps::of(design, grid, &self.capacious(of)?)?)
    }

    /// How congestion is computed: with the tracks given, or else those of the layers of LEF.
    fn capacious(&self, of: &Design) -> Result<CongestionOptions, Failure> {
        let (layers, units) = (&of.source.layers, of.design.units_per_micron);
        let capacity = Tracks::capacity(self.tracks.as_ref(), layers, units)?;
        let options = self.congestion.capacity(capacity);
        options.checked_capacity().map_err(|error| match error {
            CongestionError::NoCapacity => {
                Failure::Value(format!("{error}: of LEF's layers, or by capacity=(h, v)"))
            }
            error => error.into(),
        })?;
        Ok(options)
    }

    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        of: &Design,
        at: [&ImportedArray; 2],
        stream: usize,
    ) -> Result<Array, Failure> {
        use super::on_device::{Wanted, congestion};
        let grid = self.grid(of, &of.design)?;
        let options = self.capacious(of)?;
        let wanted = Wanted { grid, options, kinds: &self.kinds, precision: self.precision };
        congestion(&of.congestion, &of.design, wanted, at, stream)
    }

    #[cfg(not(feature = "cuda"))]
    fn on_device(&self, _: &Design, _: [&ImportedArray; 2], _: usize) -> Result<Array, Failure> {
        Err(Failure::without_cuda())
    }

    /// An engine after a step with the cells where the design has them.
    fn stepped<T: Real>(&self, design: &Core) -> Result<CpuEngine<T>, Failure> {
        let charge = self.charging.charge(design)?;
        let (x, y) = charge.initial_positions::<T>();
        let mut engine = CpuEngine::new(charge, &self.engine)?;
        engine.evaluate(&x, &y)?;
        Ok(engine)
    }

    /// The density of cells without fillers, and their overflow.
    fn cells(&self, design: &Core) -> Result<[Map<f64>; 2], Failure> {
        let charge: Charge = match self.kinds.contains(&Kind::Overflow) {
            true => self.charging.charge(design)?,
            false => charge_of_cells(design, self.charging.grid(design)?, &self.charging.options)?,
        };
        Ok(cells_and_overflow(&charge))
    }
}

/// The kinds of values by name.
const SCALES: [(&str, Scale); 5] = [
    ("sequential", Scale::Sequential),
    ("target", Scale::Target),
    ("magnitude", Scale::Magnitude),
    ("overflow", Scale::Overflow),
    ("diverging", Scale::Diverging),
];

const FORMATS: [(&str, Format); 3] =
    [("png", Format::Png), ("svg", Format::Svg), ("pdf", Format::Pdf)];

/// Bars of a histogram.
const BARS: usize = 80;

/// The forces on the movable cells by square of a coarse grid, over their area: an array of shape
/// (2, nx, ny), NaN where there are no cells.
#[pyfunction]
pub(super) fn forces<'py>(
    py: Python<'py>,
    design: &Bound<'py, Design>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let making = Making::of(&[], options)?;
    let threads = Options(options).threads()?;
    let of = design.get();
    let array = detached(py, || {
        on_threads(threads, |_| -> Result<Array, Failure> {
            let engine = making.stepped::<f64>(&of.design)?;
            let (x, y) = engine.force()?;
            let (grid, [fx, fy]) = force_maps(&of.design, engine.charge(), [x, y])?;
            let both = [fx.as_slice(), fy.as_slice()].concat();
            Ok(Array::new(both, &[2, grid.nx(), grid.ny()]))
        })
    })?;
    array.numpy(py)
}

/// How a picture is written.
struct Paper {
    format: Format,
    titled: bool,
    width: Option<f64>,
    font: Option<f64>,
    dpi: Option<f64>,
}

impl Paper {
    fn of(options: &Options<'_, '_>) -> PyResult<Paper> {
        let good = |dpi: f64| (10.0..=2400.0).contains(&dpi);
        Ok(Paper {
            format: options.word("format", &FORMATS)?.unwrap_or(Format::Png),
            titled: !options.flag("no_title")?,
            width: options.number("width", "a width in millimetres", |_| true)?,
            font: options.number("font_size", "a size in points", |_| true)?,
            dpi: options.number("dpi", "a number from 10 to 2400", good)?,
        })
    }

    fn title(&self, options: &Options<'_, '_>, name: &str) -> PyResult<String> {
        if self.titled { options.text(name) } else { Ok(String::new()) }
    }

    fn size(&self) -> Result<Size, Failure> {
        let size = match self.width {
            Some(width) => Size::print(width, self.font.unwrap_or(8.0))?,
            None if self.font.is_some() => {
                let text = "font_size: expected a width too, the millimetres of the picture";
                return Err(Failure::Value(text.to_owned()));
            }
            None => Size::default(),
        };
        Ok(self.dpi.map_or(size, |dpi| size.dpi(dpi)))
    }
}

/// How many values are in which part of their range, as a picture, the bytes of a file.
#[pyfunction]
pub(super) fn histogram<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = Options(options);
    let paper = Paper::of(&options)?;
    let values = ImportedArray::take(values, "values", 1)?;
    let (title, subtitle) = (paper.title(&options, "title")?, paper.title(&options, "subtitle")?);
    let label = options.text("label")?;
    let range = options.pair("range", "two numbers, the lower first", |lo, hi| lo < hi)?;
    let mark = options.number("mark", "a number", |_| true)?;
    let bytes = detached(py, || {
        let wide = to_f64(&values)?;
        let finite = || wide.iter().copied().filter(|v| v.is_finite());
        let most = finite().fold(mark.map_or(0.0, |mark| 1.2 * mark), f64::max);
        let least = finite().fold(0.0, f64::min);
        let (lo, hi) = range.unwrap_or((least, if most > least { most } else { least + 1.0 }));
        let histogram = Histogram {
            title,
            subtitle,
            x_label: label,
            y_label: "bins".to_owned(),
            mark: mark.map(|mark| (mark, "target density".to_owned())),
            size: paper.size()?,
            ..Histogram::of(finite(), (lo, hi), false, BARS)
        };
        Ok::<_, Failure>(histogram.draw().encode(paper.format)?)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Distances along a line between two points of a die and the values of a map there: an array of
/// shape (2, points).
#[pyfunction]
pub(super) fn profile<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    die: (f64, f64, f64, f64),
    line: (f64, f64, f64, f64),
) -> PyResult<Bound<'py, PyAny>> {
    let values = ImportedArray::take(values, "values", 1)?;
    let array = detached(py, || {
        let map = map_of(&values)?;
        let die = Rect { xl: die.0, yl: die.1, xh: die.2, yh: die.3 };
        BinGrid::new(die, map.nx(), map.ny())?;
        let points = plot::profile(&map, &die, (line.0, line.1), (line.2, line.3));
        let (at, value): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        Ok::<_, Failure>(Array::new([&at[..], &value].concat(), &[2, at.len()]))
    })?;
    array.numpy(py)
}

/// Returns an array of two axes as a map.
fn map_of(array: &ImportedArray) -> Result<Map<f64>, Failure> {
    let &[nx, ny] = &array.shape[..] else {
        let found = array.shape.len();
        return Err(Failure::Value(format!("values: expected two axes, found {found}")));
    };
    require("the values", 8 * array.len() as u64)?;
    Ok(Map::from_vec(nx, ny, to_f64(array)?))
}

/// Returns the values of an array in double precision.
fn to_f64(array: &ImportedArray) -> Result<Vec<f64>, Failure> {
    Ok(match array.bits {
        32 => array.values::<f32>()?.iter().map(|v| f64::from(*v)).collect(),
        _ => array.values::<f64>()?.to_vec(),
    })
}

/// A map as a picture, the bytes of a file.
#[pyfunction]
pub(super) fn heat_map<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = Options(options);
    let arrays = |name: &'static str| -> PyResult<Option<ImportedArray>> {
        options.get(name)?.map(|array| ImportedArray::take(&array, name, 1)).transpose()
    };
    let values = ImportedArray::take(values, "values", 1)?;
    let (arrows_x, arrows_y) = (arrays("arrows_x")?, arrays("arrows_y")?);
    let outlines = arrays("outlines")?;
    let expected = "four numbers, xl, yl, xh and yh";
    let die: Option<(f64, f64, f64, f64)> =
        options.taken("die", expected, |value| value.extract().ok())?;
    let (kind, shading) = (options.word("kind", &SCALES)?, options.word("scale", &SHADINGS)?);
    let colors = options.word("colors", &COLORS)?;
    let paper = Paper::of(&options)?;
    let range = options.pair("range", "two numbers, the lower first", |lo, hi| lo < hi)?;
    let (title, subtitle) = (paper.title(&options, "title")?, paper.title(&options, "subtitle")?);
    let label = options.text("label")?;
    let mark = options.number("mark", "a number", |_| true)?;
    let contours = options.count("contours", 0..=100)?.unwrap_or(0) as usize;
    let streamlines = options.flag("streamlines")?;
    let absent = Some(options.text("absent")?).filter(|text| !text.is_empty());
    let microns = options.number("microns", "a number above 0", |v| v > 0.0 && v.is_finite())?;
    let bytes =
        detached(py, || {
            let shown = map_of(&values)?;
            let (nx, ny) = (shown.nx(), shown.ny());
            let map = |array: &ImportedArray| -> Result<Map<f64>, Failure> {
                array.check_shape(&[&[nx, ny]])?;
                map_of(array)
            };
            let die = die.map_or(Rect::at(0.0, 0.0, nx as f64, ny as f64), |(xl, yl, xh, yh)| {
                Rect { xl, yl, xh, yh }
            });
            let grid = BinGrid::new(die, nx, ny)?;
            let arrows = match (&arrows_x, &arrows_y) {
                (Some(x), Some(y)) => Some((map(x)?, map(y)?)),
                _ => None,
            };
            let outlines: Vec<Rect> = match &outlines {
                Some(outlines) => {
                    outlines.check_shape(&[&[outlines.shape.first().copied().unwrap_or(0), 4]])?;
                    let rects = outlines.values::<f64>()?.chunks_exact(4);
                    rects.map(|r| Rect::at(r[0], r[1], r[2], r[3])).collect()
                }
                None => Vec::new(),
            };
            let picture = HeatMap {
                title,
                subtitle,
                label,
                range,
                shading: shading.unwrap_or(Shading::Clipped),
                colors,
                mark: mark.map(|mark| (mark, "T")),
                outlines: &outlines,
                arrows: arrows.as_ref().map(|(x, y)| Arrows { x, y }),
                note: paper.titled,
                absent: absent.as_deref(),
                unit: microns.map_or_else(LengthUnit::default, LengthUnit::microns),
                contours,
                streamlines,
                size: paper.size()?,
                ..HeatMap::new(&shown, grid, kind.unwrap_or_default())
            };
            Ok(picture.draw()?.encode(paper.format)?)
        })?;
    Ok(PyBytes::new(py, &bytes))
}
