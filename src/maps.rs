//! The catalogue of maps for pictures, pages, files and Python: names, units and colours, and the
//! outlines of nodes.

#[cfg(feature = "cli")]
use crate::Real;
use crate::charge::{Charge, ChargeError, ChargeOptions};
use crate::congestion::{CongestionKind, CongestionMaps, Convention, Directions};
#[cfg(feature = "cli")]
use crate::design::Fence;
use crate::design::{Design, NodeKind};
use crate::engine::MapKind;
use crate::grid::{BinGrid, Map, Rect};
#[cfg(feature = "cli")]
use crate::plot::Layer;
use crate::plot::Scale;
use std::borrow::Cow;

/// A map of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A map of an engine.
    Engine(MapKind),
    /// Cells alone at their exact sizes.
    Cells,
    /// Density of the cells above the target.
    Overflow,
    /// |E|, with E as arrows.
    Field,
    /// Force over cell area, with arrows.
    Force,
    Congestion(CongestionKind),
    /// Routing demand of horizontal, or else vertical wires.
    Demand {
        horizontal: bool,
    },
    /// That demand over the capacity.
    Utilization {
        horizontal: bool,
    },
}

/// How a map is called and drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The name of files and options.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The symbol or the name of the quantity at a colour bar; may be empty.
    pub(crate) symbol: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) scale: Scale,
}

impl Kind {
    /// All maps, in the order of lists.
    pub(crate) const ALL: [Kind; 19] = {
        use CongestionKind::*;
        [
            Kind::Engine(MapKind::Density),
            Kind::Cells,
            Kind::Overflow,
            Kind::Engine(MapKind::Potential),
            Kind::Engine(MapKind::FieldX),
            Kind::Engine(MapKind::FieldY),
            Kind::Field,
            Kind::Force,
            Kind::Congestion(Rudy),
            Kind::Congestion(PinRudy),
            Kind::Congestion(RudyLong),
            Kind::Congestion(RudyShort),
            Kind::Congestion(MacroRegion),
            Kind::Congestion(CellDensity),
            Kind::Congestion(PinDensity),
            Kind::Demand { horizontal: true },
            Kind::Demand { horizontal: false },
            Kind::Utilization { horizontal: true },
            Kind::Utilization { horizontal: false },
        ]
    };

    /// Whether it is made from the nets and pins alone, without an engine.
    pub(crate) fn is_congestion(self) -> bool {
        matches!(self, Kind::Congestion(_) | Kind::Demand { .. } | Kind::Utilization { .. })
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        self.entry(Convention::default()).name
    }

    /// Returns how it is called and drawn; of congestion by a convention.
    pub(crate) fn entry(self, convention: Convention) -> Entry {
        use Scale::{Diverging, Magnitude, Overflow, Target};
        let entry = |name, title, symbol, unit, scale| Entry { name, title, symbol, unit, scale };
        match self {
            Kind::Engine(MapKind::Density) => {
                entry("density", "density", "density ρ", "area / bin area", Target)
            }
            Kind::Cells => entry("cells", "cells", "", "area of cells / area", Target),
            Kind::Overflow => {
                let unit = "area above the target / bin area";
                entry("overflow", "overflow", "cells'", unit, Overflow)
            }
            Kind::Engine(MapKind::Potential) => {
                entry("potential", "potential", "φ", "bin widths²", Diverging)
            }
            Kind::Engine(MapKind::FieldX) => {
                entry("field_x", "field along x", "Ex", "bin widths", Diverging)
            }
            Kind::Engine(MapKind::FieldY) => {
                entry("field_y", "field along y", "Ey", "bin widths", Diverging)
            }
            Kind::Field => entry("field", "field", "|E|", "bin widths", Magnitude),
            Kind::Force => {
                entry("force", "force per cell area", "|Σ force| / Σ area", "bin widths", Magnitude)
            }
            Kind::Congestion(kind) => {
                entry(kind.name(), kind.title(), "", kind.unit(convention), Magnitude)
            }
            Kind::Demand { horizontal: true } => {
                let unit = "wires / layout unit";
                entry("demand_horizontal", "horizontal demand", "", unit, Magnitude)
            }
            Kind::Demand { horizontal: false } => {
                let unit = "wires / layout unit";
                entry("demand_vertical", "vertical demand", "", unit, Magnitude)
            }
            Kind::Utilization { horizontal: true } => {
                let title = "horizontal demand over capacity";
                entry("utilization_horizontal", title, "", "demand / capacity", Target)
            }
            Kind::Utilization { horizontal: false } => {
                let title = "vertical demand over capacity";
                entry("utilization_vertical", title, "", "demand / capacity", Target)
            }
        }
    }
}

impl Entry {
    /// Returns the label of its colours.
    pub(crate) fn label(&self) -> String {
        match (self.symbol, self.unit) {
            ("", unit) => unit.to_owned(),
            ("cells'", unit) => format!("cells' {unit}"),
            (symbol, unit) => format!("{symbol} ({unit})"),
        }
    }
}

/// Returns a map of congestion; `None` for another, and for one over a capacity that is not known.
/// `demand` is the total of the maps' demand.
pub(crate) fn of_congestion<'a>(
    kind: Kind,
    maps: &'a CongestionMaps,
    demand: &'a Directions,
) -> Option<Cow<'a, Map<f64>>> {
    let along = |horizontal| if horizontal { &demand.horizontal } else { &demand.vertical };
    Some(match kind {
        Kind::Congestion(kind) => Cow::Borrowed(maps.map(kind)),
        Kind::Demand { horizontal } => Cow::Borrowed(along(horizontal)),
        Kind::Utilization { horizontal } => {
            let capacity = maps.capacity?;
            let tracks = if horizontal { capacity.horizontal } else { capacity.vertical };
            Cow::Owned(along(horizontal).map(|demand| demand / tracks))
        }
        _ => return None,
    })
}

/// Most macros outlined; beyond that the outlines hide the map.
const MOST_OUTLINES: usize = 5_000;
/// The colour of blockages.
#[cfg(feature = "cli")]
const GREY: [u8; 3] = [0xb4, 0xb4, 0xb4];
/// Opacity of macros among the cells: those that overlap them shine through.
#[cfg(feature = "cli")]
const FILLED: f64 = 0.85;

/// Returns the fixed nodes that block area inside the die, largest first.
pub(crate) fn fixed(design: &Design, die: Rect) -> Vec<Rect> {
    let is_fixed = |i: &usize| design.nodes.kind[*i] == NodeKind::Fixed;
    largest((0..design.nodes.len()).filter(is_fixed).map(|i| design.rect(i)), die)
}

/// Returns the movable macros, largest first.
pub(crate) fn movable(design: &Design, die: Rect) -> Vec<Rect> {
    largest(design.movable_macros().into_iter().map(|i| design.rect(i)), die)
}

/// Returns the blockages, largest first.
pub(crate) fn blockages(design: &Design, die: Rect) -> Vec<Rect> {
    largest(design.blockages.iter().map(|of| of.rect), die)
}

/// Returns the fences with their names, in the design's order.
#[cfg(feature = "cli")]
pub(crate) fn fences(design: &Design) -> Layer {
    let named = |fence: &Fence| {
        let name = fence.name.clone();
        fence.rects.iter().map(|rect| (*rect, name.clone())).collect::<Vec<_>>()
    };
    let (rects, names) = design.fences.iter().take(MOST_OUTLINES).flat_map(named).unzip();
    Layer { name: "fences".to_owned(), rects, names, color: [0xcc, 0x79, 0xa7], opacity: 0.0 }
}

#[cfg(feature = "cli")]
fn layer(name: &str, rects: Vec<Rect>, color: [u8; 3], opacity: f64) -> Layer {
    Layer { name: name.to_owned(), rects, color, opacity, ..Layer::default() }
}

/// Returns blockages and fences as outlines over a map.
#[cfg(feature = "cli")]
pub(crate) fn floorplan(design: &Design, die: Rect) -> [Layer; 2] {
    [layer("blockages", blockages(design, die), GREY, 0.0), fences(design)]
}

/// Returns what lies among the cells, by kind.
#[cfg(feature = "cli")]
pub(crate) fn layers(design: &Design, die: Rect) -> [Layer; 4] {
    [
        layer("blockages", blockages(design, die), GREY, FILLED),
        layer("fixed", fixed(design, die), [0x44, 0x55, 0x66], FILLED),
        layer("movable macros", movable(design, die), [0x56, 0xb4, 0xe9], FILLED),
        fences(design),
    ]
}

/// Returns the largest of the rectangles that lie on the die, as many as can be outlined.
fn largest(rects: impl Iterator<Item = Rect>, die: Rect) -> Vec<Rect> {
    let mut rects: Vec<Rect> = rects.filter(|r| r.overlap(&die) > 0.0).collect();
    rects.sort_by(|a, b| b.area().total_cmp(&a.area()));
    rects.truncate(MOST_OUTLINES);
    rects
}

/// Returns the charge of a design's cells as if there were no fences: one density of all of them.
pub(crate) fn charge_of_cells(
    design: &Design,
    grid: BinGrid,
    options: &ChargeOptions,
) -> Result<Charge, ChargeError> {
    let mut charge = Charge::from_design(design, grid, options)?;
    if charge.regions() > 1 {
        charge.set_fences(&[], &vec![0; charge.movable()])?;
    }
    Ok(charge)
}

/// Returns √(x² + y²) bin by bin.
#[cfg(feature = "cli")]
pub(crate) fn magnitude<T: Real>(x: &Map<T>, y: &Map<T>) -> Map<T> {
    x.zip(y, |&x, &y| (x * x + y * y).sqrt())
}

#[cfg(test)]
mod tests;
