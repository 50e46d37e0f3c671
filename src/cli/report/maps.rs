//! The maps of a page: as pictures, as values for its script, and what lies on them.

use super::pack::{self, Levels};
use crate::Real;
use crate::cli::evaluation::Evaluated;
use crate::cli::failure::Failure;
use crate::cli::views::{force_maps, magnitude, movable_macros, node_name, outlines};
use crate::design::{Design, NodeKind};
use crate::grid::{BinGrid, Map, Rect};
use crate::plot::{Indexed, Palette, Scale, Shading, shrink};
use serde::Serialize;

/// Most bins of a stored map along an axis; larger maps are averaged down.
pub(crate) const MOST_BINS: usize = 512;
/// Most nodes listed by name and place.
const MOST_NODES: usize = 60_000;
/// Squares along each side of the die, of each of which the largest nodes are listed when not all are.
const SQUARES: usize = 64;
/// Levels of a density, whose values differ from bin to bin so that each level costs its room …
const COARSE: u16 = 4095;
/// … and of a smooth map.
const FINE: u16 = 65_000;
/// Width of the drawings over a map; heights are in proportion.
pub(crate) const WIDTH: f64 = 1000.0;

/// All maps of a page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Maps {
    pub(super) note: String,
    /// Width over height of the die.
    aspect: f64,
    view_box: String,
    /// Outlines of fixed nodes and macros.
    outlines: String,
    panels: Vec<Panel>,
    #[serde(skip)]
    data: MapData,
}

/// One map.
#[derive(Clone, Debug, Serialize)]
struct Panel {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: &'static str,
    /// What it shows, for who does not see it.
    description: String,
    image: String,
    low: String,
    high: String,
    colors: Vec<String>,
    #[serde(skip)]
    data: PanelData,
}

/// What the script needs of all maps.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MapData {
    die: [f64; 4],
    bins: [usize; 2],
    bin: [f64; 2],
    panels: Vec<PanelData>,
    pub(super) nodes: Boxes,
    rows: Boxes,
}

#[derive(Clone, Debug, Serialize)]
struct PanelData {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: &'static str,
    colors: Vec<String>,
    nx: usize,
    ny: usize,
    /// Values at the ends of the colours.
    ends: [f64; 2],
    /// One map, or two that are a vector's x and y.
    parts: Vec<Levels>,
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

/// What a map is called and how it is drawn.
struct Look {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: Scale,
    levels: u16,
    mark: Option<f64>,
}

impl Scale {
    /// As the page's script calls it.
    fn name(self) -> &'static str {
        match self {
            Scale::Sequential => "sequential",
            Scale::Magnitude => "magnitude",
            Scale::Diverging => "diverging",
        }
    }
}

/// The colours of a scale as a style sheet writes them, evenly spaced.
pub(super) fn css_colors(scale: Scale) -> Vec<String> {
    scale.points().map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}")).collect()
}

impl Panel {
    /// Of a scalar, or of a vector by its components; values are multiplied by `unit`.
    fn new(look: Look, maps: &[&Map<f64>], unit: f64) -> Result<Panel, Failure> {
        let Look { id, title, unit: unit_name, scale, levels, mark } = look;
        let scaled = |map: &&Map<f64>| {
            let small = shrink(map, MOST_BINS, MOST_BINS);
            let values = small.as_slice().iter().map(|v| v * unit).collect();
            Map::from_vec(small.nx(), small.ny(), values)
        };
        let parts: Vec<Map<f64>> = maps.iter().map(scaled).collect();
        let shown = match &parts[..] {
            [x, y] => magnitude(x, y),
            parts => parts[0].clone(),
        };
        let palette = Palette::shaded(scale, Shading::Clipped, shown.as_slice(), mark);
        let (least, most) = shown.range();
        let data = PanelData {
            id,
            title,
            unit: unit_name,
            scale: scale.name(),
            colors: css_colors(scale),
            nx: shown.nx(),
            ny: shown.ny(),
            ends: [palette.lo, palette.hi],
            parts: parts.iter().map(|map| Levels::of(map, levels)).collect(),
        };
        Ok(Panel {
            id,
            title,
            unit: unit_name,
            scale: scale.name(),
            description: format!(
                "Map of the {title}, from {} to {} {unit_name}",
                number(least),
                number(most)
            ),
            image: pack::image("png", &Indexed::of_map(&shown, &palette).png()?),
            low: number(palette.lo),
            high: number(palette.hi),
            colors: data.colors.clone(),
            data,
        })
    }
}

impl Maps {
    /// Density, overflow, potential, field and force of an evaluation, in layout units.
    pub(crate) fn of<T: Real>(
        design: &Design,
        evaluated: &Evaluated<T>,
        shown: &[Map<f64>; 2],
    ) -> Result<Maps, Failure> {
        let charge = evaluated.engine.charge();
        let (grid, target) = (charge.grid(), charge.target_density());
        let wide = |map: &Map<T>| {
            let values = map.as_slice().iter().map(|v| v.wide()).collect();
            Map::from_vec(map.nx(), map.ny(), values)
        };
        let [density, potential, field_x, field_y] = evaluated.maps.each_ref().map(wide);
        let [cells, overflow] = shown;
        let look =
            |id, title, unit, scale, levels, mark| Look { id, title, unit, scale, levels, mark };
        let (sequential, magnitude) = (Scale::Sequential, Scale::Magnitude);
        let t = Some(target);
        let mut panels = Vec::new();
        if charge.fillers() > 0 {
            let name = "density with fillers";
            let with = look("density", name, "", sequential, COARSE, t);
            panels.push(Panel::new(with, &[&density], 1.0)?);
            let name = "density of cells";
            let without = look("cells", name, "", sequential, COARSE, t);
            panels.push(Panel::new(without, &[cells], 1.0)?);
        } else {
            panels.push(Panel::new(
                look("density", "density", "", sequential, COARSE, t),
                &[&density],
                1.0,
            )?);
        }
        let unit = "layout units² per bin";
        panels.push(Panel::new(
            look("overflow", "overflow", unit, magnitude, COARSE, None),
            &[overflow],
            grid.bin_area(),
        )?);
        let unit = "layout units²";
        panels.push(Panel::new(
            look("potential", "potential", unit, Scale::Diverging, FINE, None),
            &[&potential],
            grid.bin_x() * grid.bin_x(),
        )?);
        let unit = "layout units";
        panels.push(Panel::new(
            look("field", "field", unit, magnitude, FINE, None),
            &[&field_x, &field_y],
            grid.bin_x(),
        )?);
        let (_, [force_x, force_y]) = force_maps(evaluated)?;
        panels.push(Panel::new(
            look("force", "force per cell area", unit, magnitude, FINE, None),
            &[&force_x, &force_y],
            grid.bin_x(),
        )?);
        let die = grid.die();
        Ok(Maps {
            note: note(&grid),
            aspect: die.width() / die.height(),
            view_box: format!("0 0 {WIDTH} {}", WIDTH * die.height() / die.width()),
            outlines: path(&outlines(design, die), &die),
            data: MapData {
                die: [die.xl, die.yl, die.xh, die.yh],
                bins: [grid.nx(), grid.ny()],
                bin: [grid.bin_x(), grid.bin_y()],
                panels: panels.iter().map(|p| p.data.clone()).collect(),
                nodes: nodes(design, die, MOST_NODES),
                rows: rows(design),
            },
            panels,
        })
    }

    pub(super) fn data(&self) -> &MapData {
        &self.data
    }

    /// Lists fixed nodes and macros alone, so that the page is smaller.
    pub(super) fn list_fewer_nodes(&mut self, design: &Design) {
        let [xl, yl, xh, yh] = self.data.die;
        self.data.nodes = nodes(design, Rect { xl, yl, xh, yh }, 0);
    }
}

/// What a reader should know of the stored values.
fn note(grid: &BinGrid) -> String {
    let (nx, ny) = (grid.nx(), grid.ny());
    let mut note = format!(
        "{nx} × {ny} bins of {} × {} layout units. Overflow is of cells at their exact sizes, without \
         fillers. Colours may end below the largest value where few bins reach it.",
        number(grid.bin_x()),
        number(grid.bin_y())
    );
    if nx > MOST_BINS || ny > MOST_BINS {
        let [x, y] = [nx, ny].map(|n| n.min(MOST_BINS));
        note += &format!(" The page holds means over {x} × {y} equal parts of the die.");
    }
    note
}

/// Four significant digits.
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

/// Rectangles as one path over a drawing of the die, cut at its edges.
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

/// Fixed nodes and macros, and up to `most` cells: all, or the largest of every part of the die.
fn nodes(design: &Design, die: Rect, most: usize) -> Boxes {
    let mut kinds = vec![0u8; design.nodes.len()];
    for (kind, of) in kinds.iter_mut().zip(&design.nodes.kind) {
        *kind = match of {
            NodeKind::Movable => 0,
            NodeKind::Fixed => 2,
            NodeKind::FixedNoImage => 3,
        };
    }
    movable_macros(design).into_iter().for_each(|i| kinds[i] = 1);
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
            square.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            square.iter().take(each).map(|&(_, i)| i).collect::<Vec<_>>()
        };
        let mut listed: Vec<usize> = squares.iter_mut().flat_map(largest).collect();
        listed.extend((0..kinds.len()).filter(|&i| kinds[i] != 0));
        listed.sort_unstable();
        listed
    };
    let rects: Vec<Rect> = listed.iter().map(|&i| design.rect(i)).collect();
    let name = |i: &usize| node_name(design, *i).replace('\n', " ");
    let names: Vec<String> = listed.iter().map(name).collect();
    Boxes {
        total: kinds.len(),
        kinds: Some(pack::bytes(&listed.iter().map(|&i| kinds[i]).collect::<Vec<_>>())),
        names: Some(pack::bytes(names.join("\n").as_bytes())),
        ..boxes(&rects)
    }
}

fn rows(design: &Design) -> Boxes {
    boxes(&design.rows.iter().map(|row| row.rect()).collect::<Vec<_>>())
}

fn boxes(rects: &[Rect]) -> Boxes {
    Boxes {
        total: rects.len(),
        x: pack::floats(rects.iter().map(|r| r.xl)),
        y: pack::floats(rects.iter().map(|r| r.yl)),
        w: pack::floats(rects.iter().map(Rect::width)),
        h: pack::floats(rects.iter().map(Rect::height)),
        kinds: None,
        names: None,
    }
}
