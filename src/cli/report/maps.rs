//! The maps of a page: pictures, values for its script, and the objects on them.

use super::pack::{self, Levels};
use crate::Real;
use crate::cli::evaluation::Evaluated;
use crate::cli::failure::Failure;
use crate::cli::picture_args::FieldArgs;
use crate::congestion::Convention;
use crate::design::{Design, LengthUnit, NodeKind};
use crate::engine::MapKind;
use crate::evaluate::force_maps;
use crate::grid::field_lines;
use crate::grid::sample::shrink;
use crate::grid::{BinGrid, Map, Rect};
use crate::maps::{Entry, Kind, fences, layers, magnitude, of_congestion};
use crate::plot::{Indexed, Look, Scale, Shading};
use crate::real::largest_first;
use serde::Serialize;

/// Most bins of a stored map along an axis; larger maps are averaged down.
pub(crate) const MOST_BINS: usize = 512;
/// Most nodes listed by name and position.
const MOST_NODES: usize = 60_000;
/// Squares along each side of the die. If not all nodes are listed, the largest nodes of each
/// square are.
const SQUARES: usize = 64;
/// Levels of a density: its values differ from bin to bin, so that each level takes space …
const COARSE: u16 = 4095;
/// … and of a smooth map.
const FINE: u16 = 65_000;
/// Stops of the gradient beside a map.
const STOPS: usize = 64;
/// Width of the drawings over a map; heights are in proportion.
pub(crate) const WIDTH: f64 = 1000.0;

/// All maps of a page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Maps {
    pub(super) note: String,
    /// Width over height of the die.
    aspect: f64,
    view_box: String,
    /// Outlines of blockages, fixed nodes, macros and fences, for a page without its script.
    outlines: String,
    panels: Vec<Panel>,
    #[serde(skip)]
    pub(super) data: MapData,
}

/// One map.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Panel {
    /// Data for the script, with the map's name, title and unit.
    data: PanelData,
    /// A description for readers who do not see it.
    description: String,
    image: String,
    low: String,
    high: String,
    /// Colours of the gradient, evenly spaced.
    colors: Vec<String>,
    /// A remark on things the picture does not show.
    remark: String,
}

/// Data of all maps for the script.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MapData {
    die: [f64; 4],
    /// The unit that lengths are shown in, and the layout units in it.
    unit: (&'static str, f64),
    bins: [usize; 2],
    bin: [f64; 2],
    panels: Vec<PanelData>,
    pub(super) nodes: Boxes,
    rows: Boxes,
    fences: Boxes,
    blockages: Boxes,
}

#[derive(Clone, Debug, Serialize)]
struct PanelData {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: &'static str,
    /// Evenly spaced.
    colors: Vec<String>,
    /// Colours of values above the mark, evenly spaced.
    above: Vec<String>,
    mark: Option<f64>,
    /// The colour of zero, where it has its own.
    zero: Option<String>,
    /// The meaning of an absent number.
    absent: Option<&'static str>,
    nx: usize,
    ny: usize,
    /// Values at the ends of the colours.
    ends: [f64; 2],
    /// One map, or two that are a vector's x and y.
    parts: Vec<Levels>,
    /// Contours or streamlines, as a path over a drawing of the die.
    lines: String,
}

/// Rectangles, by column; of nodes with their names and kinds.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Boxes {
    /// How many there are, listed or not.
    total: usize,
    x: String,
    y: String,
    w: String,
    h: String,
    /// 0 movable cell, 1 movable macro, 2 fixed, 3 fixed and blocks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    kinds: Option<String>,
    /// One a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<String>,
}

/// The name of a map, and its style.
#[derive(Clone, Copy, Debug)]
pub(super) struct PanelOf {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) scale: Scale,
    pub(super) mark: Option<f64>,
    /// The ends of the colours, if other maps have the same.
    pub(super) range: Option<(f64, f64)>,
    /// The meaning of NaN as a value.
    pub(super) absent: Option<&'static str>,
    /// Number of contours of a scalar, and whether a vector has streamlines instead of arrows.
    pub(super) contours: usize,
    pub(super) streamlines: bool,
}

impl From<Entry> for PanelOf {
    fn from(Entry { name: id, title, unit, scale, .. }: Entry) -> PanelOf {
        PanelOf {
            id,
            title,
            unit,
            scale,
            mark: None,
            range: None,
            absent: None,
            contours: 0,
            streamlines: false,
        }
    }
}

impl Scale {
    /// Returns its name in the page's script.
    fn name(self) -> &'static str {
        match self {
            Scale::Sequential => "sequential",
            Scale::Target => "target",
            Scale::Overflow => "overflow",
            Scale::Magnitude => "magnitude",
            Scale::Diverging => "diverging",
        }
    }
}

/// Returns colours in the syntax of style sheets.
pub(super) fn css_colors(colors: impl Iterator<Item = [u8; 3]>) -> Vec<String> {
    colors.map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}")).collect()
}

impl Panel {
    /// Makes the panel of a scalar, or of a vector by its components.
    pub(super) fn new(of: PanelOf, maps: &[&Map<f64>], die: &Rect) -> Result<Panel, Failure> {
        let PanelOf { id, title, unit, scale, mark, range, absent, contours, streamlines } = of;
        let parts: Vec<Map<f64>> =
            maps.iter().map(|map| shrink(map, MOST_BINS, MOST_BINS)).collect();
        let shown = match &parts[..] {
            [x, y] => magnitude(x, y),
            parts => parts[0].clone(),
        };
        let shading = Shading::Clipped;
        let look = Look { scale, shading, mark, range, ..Look::default() };
        let palette = look.palette(shown.as_slice()).with_absent(absent.is_some());
        let finite = shown.as_slice().iter().copied().filter(|v| v.is_finite());
        let (least, most) =
            finite.fold((f64::INFINITY, 0.0f64), |(lo, hi), v| (lo.min(v), hi.max(v)));
        let remark = match scale {
            Scale::Overflow if most == 0.0 => "no bin is above the target".to_owned(),
            _ if most > palette.hi => format!("up to {}", number(most)),
            _ => String::new(),
        };
        let levels = if scale == Scale::Target { COARSE } else { FINE };
        let shades = palette.shades();
        let stops = (0..STOPS).map(|k| shades[k * (shades.len() - 1) / (STOPS - 1)]);
        let data = PanelData {
            id,
            title,
            unit,
            scale: scale.name(),
            colors: css_colors(scale.points()),
            above: match scale {
                Scale::Target => css_colors(Scale::points_above_mark()),
                _ => Vec::new(),
            },
            mark: mark.filter(|_| scale == Scale::Target),
            zero: (scale == Scale::Overflow).then(|| css_colors([shades[0]].into_iter()).concat()),
            absent,
            nx: shown.nx(),
            ny: shown.ny(),
            ends: [palette.lo, palette.hi],
            parts: parts.iter().map(|map| Levels::of(map, levels)).collect(),
            lines: match &parts[..] {
                [x, y] if streamlines => {
                    drawn(field_lines::streamlines(x, y, die.height() / die.width()), die)
                }
                [map] => {
                    drawn(field_lines::contours(map, contours).into_iter().flat_map(|of| of.1), die)
                }
                _ => String::new(),
            },
        };
        Ok(Panel {
            data,
            description: format!(
                "Map of the {title}, from {} to {} {unit}",
                number(least),
                number(most)
            ),
            image: pack::image("png", &Indexed::of_map(&shown, &palette).png()?),
            low: number(palette.lo),
            high: number(palette.hi),
            colors: css_colors(stops),
            remark,
        })
    }
}

impl Maps {
    /// Returns the density, overflow, potential, field and force of an evaluation, in bin widths.
    pub(crate) fn of<T: Real>(
        design: &Design,
        evaluated: &Evaluated<T>,
        shown: &[Map<f64>; 2],
        field: &FieldArgs,
    ) -> Result<Maps, Failure> {
        let charge = evaluated.engine.charge();
        let mark = Some(charge.target_density());
        let wide = |kind| evaluated.map(kind).map(|v| v.widen());
        let [cells, overflow] = shown;
        let die = charge.grid().die();
        let of = |kind: Kind| PanelOf {
            contours: field.contours_of(kind),
            streamlines: field.streamlines,
            ..PanelOf::from(kind.entry(Convention::default()))
        };
        let density = PanelOf { mark, ..of(Kind::Engine(MapKind::Density)) };
        let mut panels = Vec::new();
        let legal = evaluated.report.legality.as_ref().is_some_and(|legality| legality.legal);
        if legal {
            // Nothing overlaps: full bins are right, and smoothed density misleads at macros.
            let of = PanelOf { title: "exact density of cells", mark: Some(1.0), ..density };
            panels.push(Panel::new(of, &[cells], &die)?);
        } else if charge.fillers() > 0 {
            let title = "density with fillers";
            panels.push(Panel::new(
                PanelOf { title, ..density },
                &[&wide(MapKind::Density)],
                &die,
            )?);
            let of = PanelOf { id: "cells", title: "density of cells", ..density };
            panels.push(Panel::new(of, &[cells], &die)?);
        } else {
            panels.push(Panel::new(density, &[&wide(MapKind::Density)], &die)?);
        }
        if !legal {
            panels.push(Panel::new(of(Kind::Overflow), &[overflow], &die)?);
        }
        let potential = wide(MapKind::Potential);
        panels.push(Panel::new(of(Kind::Engine(MapKind::Potential)), &[&potential], &die)?);
        let vector = [wide(MapKind::FieldX), wide(MapKind::FieldY)];
        panels.push(Panel::new(of(Kind::Field), &vector.each_ref(), &die)?);
        let force = [&evaluated.force[0][..], &evaluated.force[1]];
        let (_, force) = force_maps(design, charge, force)?;
        let absent = Some("no cells");
        panels.push(Panel::new(PanelOf { absent, ..of(Kind::Force) }, &force.each_ref(), &die)?);
        if let Some(congestion) = &evaluated.congestion {
            let demand = congestion.maps.demand.total();
            for kind in Kind::ALL {
                if let Some(map) = of_congestion(kind, &congestion.maps, &demand) {
                    let mark = matches!(kind, Kind::Utilization { .. }).then_some(1.0);
                    let of = PanelOf::from(kind.entry(congestion.report.convention));
                    panels.push(Panel::new(PanelOf { mark, ..of }, &[&map], &die)?);
                }
            }
        }
        Ok(Maps::over(design, charge.grid(), panels))
    }

    /// Returns these maps over a design's die.
    pub(super) fn over(design: &Design, grid: BinGrid, panels: Vec<Panel>) -> Maps {
        let die = grid.die();
        let fences = fences(design);
        Maps {
            note: note(&grid, design.length_unit()),
            aspect: die.width() / die.height(),
            view_box: format!("0 0 {WIDTH} {}", WIDTH * die.height() / die.width()),
            outlines: path(&layers(design, die).map(|layer| layer.rects).concat(), &die),
            data: MapData {
                die: [die.xl, die.yl, die.xh, die.yh],
                unit: (design.length_unit().name, design.length_unit().size),
                bins: [grid.nx(), grid.ny()],
                bin: [grid.bin_x(), grid.bin_y()],
                panels: panels.iter().map(|p| p.data.clone()).collect(),
                nodes: nodes(design, die, MOST_NODES),
                rows: boxes(&design.rows.iter().map(|row| row.rect()).collect::<Vec<_>>()),
                fences: named(&fences.rects, &fences.names),
                blockages: boxes(&design.blockages.iter().map(|of| of.rect).collect::<Vec<_>>()),
            },
            panels,
        }
    }

    /// Lists only fixed nodes and macros, so that the page is smaller.
    pub(super) fn list_fewer_nodes(&mut self, design: &Design) {
        let [xl, yl, xh, yh] = self.data.die;
        self.data.nodes = nodes(design, Rect { xl, yl, xh, yh }, 0);
    }
}

/// Returns a note on the stored values.
fn note(grid: &BinGrid, unit: LengthUnit) -> String {
    let (nx, ny) = (grid.nx(), grid.ny());
    let mut note = format!(
        "{nx} × {ny} bins of {} × {} {}; a bin width is {0} of them. \
         Overflow is of cells at their exact sizes, without fillers. \
         Colours may end below the largest value where few bins reach it.",
        number(unit.of(grid.bin_x())),
        number(unit.of(grid.bin_y())),
        unit.name
    );
    if nx > MOST_BINS || ny > MOST_BINS {
        let [x, y] = [nx, ny].map(|n| n.min(MOST_BINS));
        note += &format!(" The page holds means over {x} × {y} equal parts of the die.");
    }
    note
}

/// Returns four significant digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.3e}")
    } else {
        let digits = (3 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    }
}

/// Returns lines, in shares of the die's sides, as one path over a drawing of the die.
fn drawn(lines: impl IntoIterator<Item = Vec<(f64, f64)>>, die: &Rect) -> String {
    let height = WIDTH * die.height() / die.width();
    let round = |v: f64| (v * 10.0).round() / 10.0;
    let at = |&(x, y): &(f64, f64)| format!("{} {}", round(x * WIDTH), round((1.0 - y) * height));
    let line = |line: Vec<(f64, f64)>| {
        let points: Vec<String> = line.iter().map(at).collect();
        format!("M{}", points.join("L"))
    };
    lines.into_iter().map(line).collect()
}

/// Returns the rectangles as one path over a drawing of the die, cut at its edges.
pub(crate) fn path(rects: &[Rect], die: &Rect) -> String {
    let scale = WIDTH / die.width();
    let round = |v: f64| (v * scale * 10.0).round() / 10.0;
    let one = |r: &Rect| {
        let (xl, xh) = (r.xl.max(die.xl), r.xh.min(die.xh));
        let (yl, yh) = (r.yl.max(die.yl), r.yh.min(die.yh));
        let (w, h) = (round(xh - xl), round(yh - yl));
        format!("M{} {}h{w}v{h}h-{w}z", round(xl - die.xl), round(die.yh - yh))
    };
    rects.iter().map(one).collect()
}

/// Returns the fixed nodes and macros, and up to `most` cells: all, or the largest in every part of
/// the die.
fn nodes(design: &Design, die: Rect, most: usize) -> Boxes {
    let mut kinds = vec![0u8; design.nodes.len()];
    for (kind, of) in kinds.iter_mut().zip(&design.nodes.kind) {
        *kind = match of {
            NodeKind::Movable => 0,
            NodeKind::Fixed => 2,
            NodeKind::FixedOverlappable => 3,
        };
    }
    design.movable_macros().into_iter().for_each(|i| kinds[i] = 1);
    let cells = kinds.iter().filter(|kind| **kind == 0).count();
    let listed: Vec<usize> = if cells <= most {
        (0..kinds.len()).collect()
    } else {
        let mut squares = vec![Vec::new(); SQUARES * SQUARES];
        let at = |v: f64, lo: f64, hi: f64| {
            ((v - lo) / (hi - lo) * SQUARES as f64).clamp(0.0, SQUARES as f64 - 1.0) as usize
        };
        for i in (0..kinds.len()).filter(|&i| kinds[i] == 0) {
            let r = design.rect(i);
            squares[at(r.xl, die.xl, die.xh) * SQUARES + at(r.yl, die.yl, die.yh)]
                .push((r.area(), i));
        }
        let each = most / (SQUARES * SQUARES);
        let largest = |square: &mut Vec<(f64, usize)>| {
            largest_first(square);
            square.iter().take(each).map(|&(_, i)| i).collect::<Vec<_>>()
        };
        let mut listed: Vec<usize> = squares.iter_mut().flat_map(largest).collect();
        listed.extend((0..kinds.len()).filter(|&i| kinds[i] != 0));
        listed.sort_unstable();
        listed
    };
    let rects: Vec<Rect> = listed.iter().map(|&i| design.rect(i)).collect();
    let names: Vec<String> = listed.iter().map(|&i| design.node_name(i)).collect();
    Boxes {
        total: kinds.len(),
        kinds: Some(pack::bytes(&listed.iter().map(|&i| kinds[i]).collect::<Vec<_>>())),
        ..named(&rects, &names)
    }
}

/// Returns rectangles with a name for each.
fn named(rects: &[Rect], names: &[String]) -> Boxes {
    let lines: Vec<String> = names.iter().map(|name| name.replace('\n', " ")).collect();
    Boxes { names: Some(pack::bytes(lines.join("\n").as_bytes())), ..boxes(rects) }
}

fn boxes(rects: &[Rect]) -> Boxes {
    Boxes {
        total: rects.len(),
        x: pack::floats(rects.iter().map(|r| r.xl)),
        y: pack::floats(rects.iter().map(|r| r.yl)),
        w: pack::floats(rects.iter().map(Rect::width)),
        h: pack::floats(rects.iter().map(Rect::height)),
        ..Boxes::default()
    }
}
