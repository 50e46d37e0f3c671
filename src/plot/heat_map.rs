//! Heat maps over the die.

use super::arrows::{self, Arrows};
use super::axis::{Axis, short};
use super::canvas::{Canvas, filled, stroke};
use super::color::{
    ABSENT, Colors, GREY, INK, Look, NOT_FINITE, Palette, Rgb, Scale, Shading, WHITE,
};
use super::drawing::{Align, Drawing, Pixels, SMALLEST, Text};
use super::error::{PlotError, check_pixels};
use super::font::{self, CAPITALS};
use super::frame;
use super::frame::{Chart, Titles};
use super::geometry::{Area, Point};
#[cfg(feature = "cli")]
use super::indexed::Indexed;
use super::picture::Picture;
use super::size::Size;
use crate::Real;
use crate::design::LengthUnit;
use crate::grid::field_lines::{contours, streamlines};
use crate::grid::sample::{finite_range, shrink};
use crate::grid::{BinGrid, Map, Rect};
use plotters::element::{EmptyElement, PathElement, Polygon, Rectangle};

/// A map over the die as a picture.
///
/// Maps with more bins than pixels are averaged down, so that no bin is left out. Bins of smaller
/// maps are crisp rectangles. Values that are not finite are drawn in cyan and counted below the
/// picture.
#[derive(Clone, Debug)]
pub struct HeatMap<'a, T> {
    /// The first line: the quantity and the design.
    pub title: String,
    /// The second line, e.g. grid and overflow.
    pub subtitle: String,
    /// The quantity of the values and its unit; drawn at the colour bar.
    pub label: String,
    /// One value per bin, `[nx][ny]`.
    pub values: &'a Map<T>,
    /// The positions of the bins.
    pub grid: BinGrid,
    /// The scale from values to colours.
    pub scale: Scale,
    /// Values at the ends of the scale, the lower first. Without a valid range, the ends follow
    /// from the drawn map, [`Scale`] and `shading`.
    pub range: Option<(f64, f64)>,
    /// The distribution of values over the colours.
    pub shading: Shading,
    /// Colours that replace the scale's.
    pub colors: Option<Colors>,
    /// The meaning of NaN as a bin's value, such as "no cells"; such bins are then grey.
    pub absent: Option<&'a str>,
    /// A value to mark at the colour bar, and its name: the target density.
    pub mark: Option<(f64, &'a str)>,
    /// Rectangles to outline, in layout units: macros and fixed blocks.
    pub outlines: &'a [Rect],
    /// Layers of rectangles over the map, with a legend below it.
    pub layers: &'a [Layer],
    /// Rectangles to draw as translucent boxes, in layout units: movable cells. More than 20 000
    /// are left out, because they would hide the map.
    pub cells: &'a [Rect],
    /// A field to draw as arrows.
    pub arrows: Option<Arrows<'a, T>>,
    /// Whether the field is drawn as lines along it instead.
    pub streamlines: bool,
    /// Number of lines of equal value, evenly spaced between the extremes of the values.
    pub contours: usize,
    /// Whether a line below lists data that the picture cannot show, such as values beyond the
    /// colours' ends.
    pub note: bool,
    /// The unit of the axes.
    pub unit: LengthUnit,
    /// The size of the picture.
    pub size: Size,
}

/// Rectangles of one kind over a map: macros, blockages or fences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// Its name in the legend.
    pub name: String,
    /// In layout units; rectangles off the die are left out.
    pub rects: Vec<Rect>,
    /// Names of the first rectangles, drawn if there is room.
    pub names: Vec<String>,
    /// Red, green, blue.
    pub color: [u8; 3],
    /// Opacity inside the outline, 0 to 1.
    pub opacity: f64,
}

/// On paper the map's height is at most this many times the picture's width.
const HIGHEST: f64 = 1.2;
/// Height of the arrow at an end of the colour bar with values beyond it.
const BEYOND: f64 = 26.0;
/// Approximate longer side of the map in picture units.
const LONG: usize = 1280;
/// The longer side is at most this many times the shorter; beyond, axes differ in scale.
const MOST_STRETCHED: f64 = 8.0;
/// Least height of the room for the map; a flatter map is in its middle.
const LEAST_ROOM: f64 = 360.0;
/// Least width of a picture: room for the note.
const LEAST_WIDTH: f64 = 960.0;
/// Most cells drawn.
const MOST_CELLS: usize = 20_000;
const BAR: f64 = 34.0;
const BAR_GAP: f64 = 48.0;
/// Font size of the note, and the distance of its lines.
const NOTE: f64 = 20.0;
const NOTE_STEP: f64 = 28.0;
/// Room of a colour before its meaning.
const SWATCH: f64 = 28.0;

impl<'a, T: Real> HeatMap<'a, T> {
    /// Makes a map without titles, outlines or arrows.
    pub fn new(values: &'a Map<T>, grid: BinGrid, scale: Scale) -> Self {
        HeatMap {
            title: String::new(),
            subtitle: String::new(),
            label: String::new(),
            values,
            grid,
            scale,
            range: None,
            shading: Shading::Linear,
            colors: None,
            absent: None,
            mark: None,
            outlines: &[],
            layers: &[],
            cells: &[],
            arrows: None,
            streamlines: false,
            contours: 0,
            note: true,
            unit: LengthUnit::default(),
            size: Size::default(),
        }
    }

    /// Lays out the picture.
    ///
    /// # Errors
    /// If a map does not have the grid's bins, or the picture would have more pixels than
    /// [`MAX_PIXELS`](super::MAX_PIXELS) or than fit into memory.
    pub fn draw(&self) -> Result<Picture, PlotError> {
        self.check()?;
        let (width, height) = drawn_size(&self.grid);
        // On paper the colours are the same as on a screen.
        let on_screen = shrink(self.values, width, height);
        let palette = self.palette(&on_screen);
        let ends = beyond(&on_screen, &palette);
        let layout = Layout::new(self, &palette, ends, [width as f64, height as f64]);
        let drawn = match self.size == Size::default() {
            true => on_screen,
            false => {
                let pixels = |units: f64| ((units * self.size.scale).round() as usize).max(1);
                let (width, height) = (pixels(layout.map.width()), pixels(layout.map.height()));
                check_pixels(width, height)?;
                shrink(self.values, width, height)
            }
        };

        let parts = if self.note { self.note(&layout, &drawn, &palette) } else { Vec::new() };
        let room = layout.width - layout.map.left - frame::MARGIN;
        let note = Note::new(parts, room);
        let height = layout.bottom + note.height();
        let mut drawing = Drawing::new(layout.width, height, self.size);
        let labels = ["x", "y"].map(|axis| format!("{axis} ({})", self.unit.name));
        let axes = [(&layout.x, &*labels[0]), (&layout.y, &*labels[1])];
        drawing.image(layout.map, paint(&drawn, &palette));
        frame::chart(&mut drawing, &layout.map, axes, [false; 2], |chart| {
            self.draw_cells(chart)?;
            self.draw_lines(chart)
        });
        drawing.image(layout.bar, bar(&palette));
        self.draw_blocks(&mut drawing, &layout);
        if let (Some(field), false) = (&self.arrows, self.streamlines) {
            arrows::draw(&mut drawing, &layout.map, field, self.contrast());
        }
        drawing.line(layout.map.outline(), 2.0, INK);
        layout.draw_bar(&mut drawing, &self.label, self.mark, &palette);
        layout.titles.draw(&mut drawing, layout.map.left);
        note.draw(&mut drawing, (layout.map.left, layout.bottom));
        Ok(Picture(drawing))
    }

    fn palette(&self, drawn: &Map<f64>) -> Palette {
        let look = Look {
            scale: self.scale,
            shading: self.shading,
            colors: self.colors,
            mark: self.mark.map(|(value, _)| value),
            range: self.range,
        };
        look.palette(drawn.as_slice()).with_absent(self.absent.is_some())
    }

    /// Returns only the map, one pixel per bin.
    #[cfg(feature = "cli")]
    pub(crate) fn image(&self) -> Indexed {
        let map = self.values.map(|v| v.widen());
        Indexed::of_map(&map, &self.palette(&map))
    }

    /// Returns the values at the ends of the picture's colours.
    pub fn colors_end(&self) -> (f64, f64) {
        let (width, height) = drawn_size(&self.grid);
        let palette = self.palette(&shrink(self.values, width, height));
        (palette.lo, palette.hi)
    }

    fn check(&self) -> Result<(), PlotError> {
        let (nx, ny) = (self.grid.nx(), self.grid.ny());
        let field =
            self.arrows.iter().flat_map(|a| [("arrows along x", a.x), ("arrows along y", a.y)]);
        for (what, map) in std::iter::once(("values", self.values)).chain(field) {
            let (found_x, found_y) = (map.nx(), map.ny());
            if (found_x, found_y) != (nx, ny) {
                return Err(PlotError::Shape { what, found_x, found_y, nx, ny });
            }
        }
        Ok(())
    }

    /// Colours of a mark and its rim that are visible on the scale: one of them on dark shades, the
    /// other on bright ones.
    fn contrast(&self) -> (Rgb, Rgb) {
        match self.scale.is_bright(self.colors) {
            true => (INK, WHITE),
            false => (WHITE, INK),
        }
    }

    fn draw_cells(&self, chart: &mut Chart<'_, '_>) -> frame::Drawn {
        if self.cells.len() > MOST_CELLS {
            return Ok(());
        }
        let die = self.grid.die();
        let cells = || self.cells.iter().filter(|cell| cell.overlap(&die) > 0.0);
        let mean = cells().map(|cell| cell.area().sqrt()).sum::<f64>() / cells().count() as f64;
        let (color, _) = self.contrast();
        chart.draw_series(cells().map(|c| Rectangle::new(self.corners(c), filled(color, 0.2))))?;
        // Outlines if they leave room between them, with a bright rim if they leave more.
        let at = |x: f64| f64::from(chart.backend_coord(&(x, 0.0)).0) / f64::from(Canvas::UNIT);
        let [(left, _), (right, _)] = self.corners(&Rect::at(die.xl, die.yl, mean, mean));
        let size = at(right) - at(left);
        for (least, style) in [(12.0, stroke(WHITE, 4.0)), (6.0, stroke(INK, 1.5))] {
            let outlined = cells().filter(|_| size > least);
            chart.draw_series(outlined.map(|c| Rectangle::new(self.corners(c), style)))?;
        }
        Ok(())
    }

    /// Draws contours, and streamlines with an arrow in their middle.
    fn draw_lines(&self, chart: &mut Chart<'_, '_>) -> frame::Drawn {
        let die = self.grid.die();
        let at = |&(x, y): &Point| {
            (self.unit.of(die.xl + x * die.width()), self.unit.of(die.yl + y * die.height()))
        };
        let path = |line: &Vec<Point>, style| {
            PathElement::new(line.iter().map(at).collect::<Vec<_>>(), style)
        };
        let (color, rim) = self.contrast();
        for (_, lines) in contours(self.values, self.contours) {
            chart.draw_series(lines.iter().map(|line| path(line, stroke(color, 1.5))))?;
        }
        let Some(field) = self.arrows.filter(|_| self.streamlines) else { return Ok(()) };
        let lines = streamlines(field.x, field.y, die.height() / die.width());
        for style in [stroke(rim, 3.0), stroke(color, 1.5)] {
            chart.draw_series(lines.iter().map(|line| path(line, style)))?;
        }
        for line in &lines {
            let middle = line.len() / 2;
            let [from, to] = [middle - 1, middle].map(|k| chart.backend_coord(&at(&line[k])));
            let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
            let length = dx.hypot(dy).max(1.0);
            let corner = |along: f64, across: f64| {
                let [ux, uy] = [dx / length, dy / length].map(|v| v * f64::from(Canvas::UNIT));
                (
                    (along * ux - across * uy).round() as i32,
                    (along * uy + across * ux).round() as i32,
                )
            };
            let head = vec![corner(6.0, 0.0), corner(-5.0, 5.0), corner(-5.0, -5.0)];
            let head = EmptyElement::at(at(&line[middle])) + Polygon::new(head, filled(color, 1.0));
            chart.draw_series([head])?;
        }
        Ok(())
    }

    /// Returns the corners of a rectangle, cut at the die, in the unit of the axes.
    fn corners(&self, rect: &Rect) -> [(f64, f64); 2] {
        let die = self.grid.die();
        let [xl, xh] = [rect.xl, rect.xh].map(|x| self.unit.of(x.clamp(die.xl, die.xh)));
        let [yl, yh] = [rect.yl, rect.yh].map(|y| self.unit.of(y.clamp(die.yl, die.yh)));
        [(xl, yl), (xh, yh)]
    }

    /// Draws the outlines, and the rectangles of all layers with their names.
    fn draw_blocks(&self, drawing: &mut Drawing, layout: &Layout) {
        let map = &layout.map;
        let inside = map.grown(-1.0); // clear of the map's own frame
        let x = |value: f64| map.left + layout.x.share(value) * map.width();
        let y = |value: f64| map.bottom - layout.y.share(value) * map.height();
        let place = |rect: &Rect| {
            let [(xl, yl), (xh, yh)] = self.corners(rect);
            let area = Area { left: x(xl), top: y(yh), right: x(xh), bottom: y(yl) };
            (xl < xh && yl < yh).then(|| area.within(&inside))
        };
        let outline = |drawing: &mut Drawing, area: &Area, (color, rim): (Rgb, Rgb), thin: f64| {
            // A smaller one would consist only of its rim.
            if area.width().max(area.height()) >= 3.0 {
                drawing.line(area.outline(), 4.0 * thin, rim);
                drawing.line(area.outline(), 2.0 * thin, color);
            }
        };
        // On paper there is less room between them than letters need.
        let thin = (map.width().max(map.height()) / LONG as f64).min(1.0);
        for block in self.outlines.iter().filter_map(place) {
            outline(drawing, &block, self.contrast(), thin);
        }
        for layer in self.layers {
            for (k, rect) in layer.rects.iter().enumerate() {
                let Some(area) = place(rect) else { continue };
                if layer.opacity > 0.0 {
                    drawing.polygon(area.outline(), layer.color, layer.opacity);
                }
                // Outlines without a fill are thicker.
                let thick = if layer.opacity > 0.0 { 1.0 } else { 1.0 + thin };
                outline(drawing, &area, (layer.color, WHITE), thick);
                let Some(name) = layer.names.get(k) else { continue };
                let at = (area.left + 10.0, area.top + 10.0 + frame::NUMBERS * CAPITALS);
                let name = Text::new(name.as_str(), at, frame::NUMBERS, INK).bold();
                // The smallest letters may reach beyond a narrow rectangle.
                let least = (SMALLEST * name.width()).min(1.6 * area.width());
                let name = name.within(least.max(area.width() - 20.0).min(map.right - at.0 - 10.0));
                let (left, top) = (area.left + 4.0, area.top + 4.0);
                let right = area.left + 16.0 + name.width();
                let plate = Area { left, top, right, bottom: at.1 + 6.0 };
                if name.width() > frame::NUMBERS && plate.bottom < area.bottom {
                    drawing.polygon(plate.outline(), WHITE, 0.85);
                    drawing.text(name);
                }
            }
        }
    }

    /// Returns a note of data that the picture cannot show: true extremes, averaging and values
    /// that are not finite. The note also explains colours with a meaning.
    fn note(&self, layout: &Layout, drawn: &Map<f64>, palette: &Palette) -> Vec<Part> {
        let mut parts = Vec::new();
        if let Some((lo, hi)) = finite_range(self.values.as_slice()) {
            parts.push(format!("min {}, max {}", short(lo), short(hi)));
        }
        if beyond(drawn, palette).contains(&true) {
            let ends = [palette.lo, palette.hi].map(short);
            parts.push(format!("colours end at {} and {}", ends[0], ends[1]));
        }
        if palette.is_log() {
            parts.push("colours by the logarithm".to_owned());
        }
        // To two decimals, without trailing zeros.
        let per = |n: usize, m: usize| (100.0 * n as f64 / m as f64).round() / 100.0;
        let (x, y) = (per(self.grid.nx(), drawn.nx()), per(self.grid.ny(), drawn.ny()));
        if (x, y) != (1.0, 1.0) {
            parts.push(format!("pixel = mean of {x} × {y} bins"));
        }
        let lines = contours(self.values, self.contours);
        if let [(first, _), (second, _), ..] = lines[..] {
            parts.push(format!("contours every {}", short(second - first)));
        }
        if self.arrows.is_some() && !self.streamlines {
            parts.push("arrow length ∝ √magnitude".to_owned());
        }
        if self.cells.len() > MOST_CELLS {
            parts.push(format!("{} cells not drawn", self.cells.len()));
        }
        if layout.stretched {
            parts.push("axes not to one scale".to_owned());
        }
        let mut keys: Vec<Part> = Vec::new();
        let bad = self.values.as_slice().iter().filter(|v| !v.widen().is_finite()).count();
        if bad > 0 {
            keys.push(match self.absent {
                Some(absent) => (Some(ABSENT), absent.to_owned()),
                None => (Some(NOT_FINITE), format!("{bad} bins not finite")),
            });
        }
        let layers = self.layers.iter().filter(|layer| !layer.rects.is_empty());
        keys.extend(layers.map(|layer| (Some(layer.color), layer.name.clone())));
        keys.extend(parts.into_iter().map(|part| (None, part)));
        keys
    }
}

/// A part of a note, with its colour if it is a key to the picture's colours.
type Part = (Option<Rgb>, String);

/// A note below a picture, in as many lines as necessary.
struct Note {
    lines: usize,
    /// Texts by the left end of the first line, each with the colour before it.
    texts: Vec<(Option<Rgb>, Text)>,
}

impl Note {
    fn new(parts: Vec<Part>, room: f64) -> Note {
        let (mut left, mut lines, mut texts) = (0.0, usize::from(!parts.is_empty()), Vec::new());
        let mut after_text = false;
        for (color, what) in parts {
            let swatch = if color.is_some() { SWATCH } else { 0.0 };
            let text = |separator: &str| {
                Text::new(format!("{separator}{what}"), (0.0, 0.0), NOTE, GREY)
                    .within(room - swatch)
            };
            let mut set = text(if after_text { "· " } else { "" });
            if left > 0.0 && left + swatch + set.width() > room {
                (left, lines, set) = (0.0, lines + 1, text(""));
            }
            set.at = (left + swatch, NOTE_STEP * lines as f64 - 14.0);
            left = set.at.0 + set.width() + if color.is_some() { 24.0 } else { 7.0 };
            after_text = color.is_none();
            texts.push((color, set));
        }
        Note { lines, texts }
    }

    fn height(&self) -> f64 {
        match self.lines {
            0 => 0.0,
            lines => NOTE_STEP * lines as f64 + 12.0,
        }
    }

    fn draw(self, drawing: &mut Drawing, (left, top): Point) {
        for (color, mut text) in self.texts {
            text.at = (left + text.at.0, top + text.at.1);
            if let Some(color) = color {
                let (left, y) = (text.at.0 - SWATCH, text.at.1);
                let swatch = Area { left, top: y - 17.0, right: left + 18.0, bottom: y + 1.0 };
                drawing.polygon(swatch.outline(), color, 1.0);
            }
            drawing.text(text);
        }
    }
}

/// Returns the size of the drawn map in picture units.
///
/// Along the longer side each bin takes a whole number of pixels, or each pixel a whole number of
/// bins, if a size near [`LONG`] allows it.
fn drawn_size(grid: &BinGrid) -> (usize, usize) {
    let die = grid.die();
    let ratio = (die.width() / die.height()).clamp(1.0 / MOST_STRETCHED, MOST_STRETCHED);
    if ratio >= 1.0 {
        let width = whole(grid.nx());
        (width, (width as f64 / ratio).round() as usize)
    } else {
        let height = whole(grid.ny());
        ((height as f64 * ratio).round() as usize, height)
    }
}

fn whole(bins: usize) -> usize {
    let rounded = |a: usize, b: usize| ((a + b / 2) / b).max(1);
    if bins <= LONG * 5 / 4 {
        return bins * rounded(LONG, bins);
    }
    let bins_per_pixel = rounded(bins, LONG).max(2);
    if bins.is_multiple_of(bins_per_pixel) { bins / bins_per_pixel } else { LONG }
}

/// Returns whether there are values below the colours and above them.
fn beyond(drawn: &Map<f64>, palette: &Palette) -> [bool; 2] {
    let (least, most) = finite_range(drawn.as_slice()).unwrap_or((palette.lo, palette.hi));
    [least < palette.lo && !palette.is_log(), most > palette.hi]
}

/// Returns the map as an image: x to the right, y upward.
fn paint(map: &Map<f64>, palette: &Palette) -> Pixels {
    let (width, height) = (map.nx(), map.ny());
    Pixels::from_fn(width, height, |i, row| palette.color(map[(i, height - 1 - row)]))
}

/// Returns the colour bar as an image one pixel wide, highest value at the top.
fn bar(palette: &Palette) -> Pixels {
    let shades = palette.shades();
    Pixels::from_fn(1, shades.len(), |_, row| shades[shades.len() - 1 - row])
}

/// Positions of all parts of a picture.
struct Layout {
    width: f64,
    /// The lower end of all parts except the note.
    bottom: f64,
    map: Area,
    bar: Area,
    x: Axis,
    y: Axis,
    values: Axis,
    /// Whether the bar ends in an arrow below and above.
    ends: [bool; 2],
    titles: Titles,
    stretched: bool,
}

impl Layout {
    /// Lays out a map of this width and height; on paper the picture's width limits the map's.
    fn new<T: Real>(
        of: &HeatMap<'_, T>,
        palette: &Palette,
        ends: [bool; 2],
        [width, height]: [f64; 2],
    ) -> Layout {
        let Some(across) = of.size.width else {
            return Layout::around(of, palette, ends, [width, height]);
        };
        // The room for numbers depends on how many there are, and thus on the remaining room.
        let mut room = across - 330.0;
        let mut layout = None;
        for _ in 0..3 {
            let shape = (height / width).min(HIGHEST * across / room);
            let drawn = [f64::min(room, room * shape * width / height), room * shape];
            let tried = Layout::around(of, palette, ends, drawn);
            room += across - (tried.bar.right + frame::depth(&tried.values));
            layout = Some(tried);
        }
        layout.expect("three were tried")
    }

    fn around<T: Real>(
        of: &HeatMap<'_, T>,
        palette: &Palette,
        ends: [bool; 2],
        [width, height]: [f64; 2],
    ) -> Layout {
        let die = of.grid.die();
        let apart = if of.size.width.is_some() { 90.0 } else { 130.0 };
        let most = [width, height].map(|length| (length / apart) as usize);
        let range = |lo: f64, hi: f64| (of.unit.of(lo), of.unit.of(hi));
        let (x, y) = (range(die.xl, die.xh), range(die.yl, die.yh));
        let [x, y] = Axis::pair(x, y, most);
        let room_y =
            if of.size.width.is_some() { height.max(200.0) } else { height.max(LEAST_ROOM) };
        let most = ((room_y / 110.0) as usize).max(5);
        let values = match palette.is_log() {
            true => Axis::logarithmic_between(palette.lo, palette.hi, most),
            false => Axis::linear(palette.lo, palette.hi, most),
        };
        let left = frame::depth(&y);
        // Room for the name of the mark beside the bar.
        let name = of.mark.map_or(0.0, |(_, name)| font::width(name, frame::NUMBERS, false));
        let gap = BAR_GAP.max(name + 30.0);
        let natural = left + width + gap + BAR + frame::depth(&values);
        let widest = frame::titles_width(&of.title, &of.subtitle).min(LONG as f64);
        let on_screen = natural.max(left + widest + frame::MARGIN).max(LEAST_WIDTH).ceil();
        let across = of.size.width.unwrap_or(on_screen);
        let titles = Titles::new(&of.title, &of.subtitle, across - left - frame::MARGIN);
        let top = titles.height();
        let map_top = top + ((room_y - height) / 2.0).round();
        let map = Area { left, top: map_top, right: left + width, bottom: map_top + height };
        let bar_left = map.right + gap;
        let arrow = |end: bool| if end { BEYOND } else { 0.0 };
        let bar = Area {
            left: bar_left,
            top: top + arrow(ends[1]),
            right: bar_left + BAR,
            bottom: top + room_y - arrow(ends[0]),
        };
        let ratio = die.width() / die.height();
        Layout {
            width: across,
            bottom: top + room_y + frame::BOTTOM,
            map,
            bar,
            x,
            y,
            values,
            ends,
            titles,
            stretched: !(1.0 / MOST_STRETCHED..=MOST_STRETCHED).contains(&ratio),
        }
    }

    /// The colour bar's frame, ticks and label, on its right.
    fn draw_bar(
        &self,
        drawing: &mut Drawing,
        label: &str,
        mark: Option<(f64, &str)>,
        palette: &Palette,
    ) {
        let Area { left, right, top, bottom } = self.bar;
        let middle = (left + right) / 2.0;
        let shades = palette.shades();
        let arrows = [
            (self.ends[0], bottom, bottom + BEYOND, shades.first()),
            (self.ends[1], top, top - BEYOND, shades.last()),
        ];
        for (is_there, base, tip, color) in arrows {
            if let (true, Some(color)) = (is_there, color) {
                let arrow = vec![(left, base), (middle, tip), (right, base)];
                drawing.polygon(arrow.clone(), *color, 1.0);
                drawing.line(arrow, 2.0, INK);
            }
        }
        drawing.line(self.bar.outline(), 2.0, INK);
        if let Some((value, name)) = mark
            && (0.0..=1.0).contains(&self.values.share(value))
        {
            let y = self.bar.bottom - self.values.share(value) * self.bar.height();
            drawing.line(vec![(self.bar.left - 12.0, y), (self.bar.right, y)], 6.0, WHITE);
            drawing.line(vec![(self.bar.left - 12.0, y), (self.bar.right, y)], 3.0, INK);
            let at = (self.bar.left - 14.0, y + frame::NUMBERS * CAPITALS / 2.0);
            drawing.text(Text::new(name, at, frame::NUMBERS, INK).align(Align::End));
        }
        frame::right(drawing, &self.bar, &self.values, label);
    }
}

#[cfg(test)]
mod tests;
