#![doc = include_str!("maps.md")]

mod cells;
mod figures;
mod grid;
#[cfg(feature = "cuda")]
mod tables;
mod wires;

pub use figures::{DirectionFigures, Figures, WORST_SHARES, Worst};
pub use grid::RoutingGrid;
#[cfg(feature = "cuda")]
pub(crate) use tables::Tables;
pub use wires::{Demand, Directions};

use crate::design::{Design, DesignError};
use crate::grid::Map;
use crate::lefdef::{LayerDirection, RoutingLayer};
use crate::setters::setters;
use grid::Counting;
use serde::Serialize;

/// The program whose formulas the maps follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Convention {
    /// The features of CircuitNet, as its script computes them.
    CircuitNet,
    /// DREAMPlace's operators: RISA's table gives the net weights, and demand is divided by
    /// capacity.
    #[default]
    DreamPlace,
    /// OpenROAD's global router: per cent of a bin's area that wires cover.
    OpenRoad,
}

impl Convention {
    /// All of them.
    pub const ALL: [Convention; 3] =
        [Convention::CircuitNet, Convention::DreamPlace, Convention::OpenRoad];

    /// Returns the name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Convention::CircuitNet => "circuitnet",
            Convention::DreamPlace => "dreamplace",
            Convention::OpenRoad => "openroad",
        }
    }

    fn counting(self) -> Counting {
        match self {
            Convention::CircuitNet => Counting::ButTheLast,
            Convention::DreamPlace | Convention::OpenRoad => Counting::Whole,
        }
    }
}

impl std::fmt::Display for Convention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Routing tracks per layout unit across them: Σ 1/pitch over the layers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// Horizontal tracks per unit of height.
    pub horizontal: f64,
    /// Vertical tracks per unit of width.
    pub vertical: f64,
}

impl Capacity {
    /// Capacity that DREAMPlace assumes by default: `unit_horizontal_capacity` and
    /// `unit_vertical_capacity` of its `params.json`.
    pub const DREAMPLACE: Capacity = Capacity { horizontal: 1.5625, vertical: 1.45 };

    /// Returns the capacity of routing layers, each horizontal or not, with its pitch in layout
    /// units. A layer without a pitch above zero is left out.
    pub fn of_layers(layers: impl IntoIterator<Item = (bool, f64)>) -> Self {
        let mut capacity = Capacity { horizontal: 0.0, vertical: 0.0 };
        for (is_horizontal, pitch) in layers {
            let tracks = if pitch > 0.0 { 1.0 / pitch } else { 0.0 };
            match is_horizontal {
                true => capacity.horizontal += tracks,
                false => capacity.vertical += tracks,
            }
        }
        capacity
    }

    /// Returns the capacity of LEF's routing layers, whose pitches are in micrometres; `None`
    /// unless there are tracks in both directions. Layers whose direction or pitch the library does
    /// not say are left out.
    pub fn of_lef(layers: &[RoutingLayer], units_per_micron: f64) -> Option<Self> {
        let tracks = layers.iter().filter_map(|layer| {
            // Tracks of horizontal wires follow one another along y.
            let (is_horizontal, pitch) = match layer.direction {
                LayerDirection::Horizontal => (true, layer.pitch[1]),
                LayerDirection::Vertical => (false, layer.pitch[0]),
                LayerDirection::Unknown => return None,
            };
            Some((is_horizontal, pitch * units_per_micron))
        });
        Some(Capacity::of_layers(tracks)).filter(Capacity::is_good)
    }

    fn is_good(&self) -> bool {
        [self.horizontal, self.vertical].iter().all(|c| *c > 0.0 && c.is_finite())
    }

    /// Returns OpenROAD's wire width, layout units: 1.25 / Σ 1/pitch over all layers.
    pub fn wire_width(&self) -> f64 {
        1.25 / (self.horizontal + self.vertical)
    }
}

/// Default of DREAMPlace for the pins that a bin has room for, per layout unit squared:
/// `unit_pin_capacity` of its `params.json`.
pub const DREAMPLACE_PIN_CAPACITY: f64 = 0.058;

/// Error of maps that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CongestionError {
    /// The design has no nets or its columns do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// OpenROAD's convention needs the layers' pitches.
    #[error(
        "convention openroad takes the wires' width from the capacity: \
         expected the tracks of both directions"
    )]
    NoCapacity,
    /// A capacity that is not above zero, or not finite.
    #[error(
        "capacity {horizontal} horizontal, {vertical} vertical: expected finite numbers above zero"
    )]
    BadCapacity {
        /// Horizontal tracks per layout unit.
        horizontal: f64,
        /// Vertical tracks per layout unit.
        vertical: f64,
    },
}

/// Options of the maps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CongestionOptions {
    /// The program whose formulas are used.
    pub convention: Convention,
    /// Routing tracks, if they are known.
    pub capacity: Option<Capacity>,
}

impl CongestionOptions {
    setters! {
        /// Sets the convention whose formulas are used.
        convention: Convention,
        /// Sets the capacity of the routing tracks.
        capacity: Option<Capacity>,
    }

    /// Returns the capacity that demand is divided by: the one given, or that of DREAMPlace.
    ///
    /// # Errors
    /// When a capacity is not above zero, or OpenROAD's convention has none.
    pub fn checked_capacity(&self) -> Result<Option<Capacity>, CongestionError> {
        match (self.capacity, self.convention) {
            (Some(capacity), _) if capacity.is_good() => Ok(Some(capacity)),
            (Some(Capacity { horizontal, vertical }), _) => {
                Err(CongestionError::BadCapacity { horizontal, vertical })
            }
            (None, Convention::OpenRoad) => Err(CongestionError::NoCapacity),
            (None, Convention::DreamPlace) => Ok(Some(Capacity::DREAMPLACE)),
            (None, Convention::CircuitNet) => Ok(None),
        }
    }
}

/// One of the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CongestionKind {
    /// Wires of all nets.
    Rudy,
    /// Pins, weighed by their nets' boxes.
    PinRudy,
    /// Wires of nets whose box covers several bins.
    RudyLong,
    /// Wires of nets whose box is within one bin.
    RudyShort,
    /// Where macros are.
    MacroRegion,
    /// Cells: their area or their number.
    CellDensity,
    /// Pins.
    PinDensity,
}

impl CongestionKind {
    /// All of them, in the order of [`CongestionMaps::maps`].
    pub const ALL: [CongestionKind; 7] = [
        CongestionKind::Rudy,
        CongestionKind::PinRudy,
        CongestionKind::RudyLong,
        CongestionKind::RudyShort,
        CongestionKind::MacroRegion,
        CongestionKind::CellDensity,
        CongestionKind::PinDensity,
    ];

    /// Returns the name that files have.
    pub fn name(self) -> &'static str {
        match self {
            CongestionKind::Rudy => "rudy",
            CongestionKind::PinRudy => "pin_rudy",
            CongestionKind::RudyLong => "rudy_long",
            CongestionKind::RudyShort => "rudy_short",
            CongestionKind::MacroRegion => "macro_region",
            CongestionKind::CellDensity => "cell_density",
            CongestionKind::PinDensity => "pin_density",
        }
    }

    /// Returns the name for readers.
    pub fn title(self) -> &'static str {
        match self {
            CongestionKind::Rudy => "RUDY",
            CongestionKind::PinRudy => "pin RUDY",
            CongestionKind::RudyLong => "RUDY of long nets",
            CongestionKind::RudyShort => "RUDY of short nets",
            CongestionKind::MacroRegion => "macro region",
            CongestionKind::CellDensity => "cell density",
            CongestionKind::PinDensity => "pin density",
        }
    }

    /// Returns the unit of its values.
    pub fn unit(self, convention: Convention) -> &'static str {
        use CongestionKind::*;
        match (self, convention) {
            (Rudy | RudyLong | RudyShort, Convention::CircuitNet) => "1 / layout unit",
            (Rudy | RudyLong | RudyShort, Convention::DreamPlace) => "demand / capacity",
            (Rudy | RudyLong | RudyShort, Convention::OpenRoad) => "% of area",
            (PinRudy, Convention::CircuitNet) => "1 / layout unit",
            (PinRudy, Convention::DreamPlace) => "Σ weight / bins of nets",
            (PinRudy, Convention::OpenRoad) => "%",
            (CellDensity, Convention::CircuitNet) => "cells",
            (MacroRegion, Convention::CircuitNet) => "1 where a macro is",
            (CellDensity | MacroRegion, _) => "area / bin area",
            (PinDensity, Convention::DreamPlace) => "pins / capacity",
            (PinDensity, _) => "pins",
        }
    }
}

/// All maps of a placement, `[nx][ny]`.
#[derive(Clone, Debug)]
pub struct CongestionMaps {
    /// In the order of [`CongestionKind::ALL`].
    pub maps: [Map<f64>; 7],
    /// The demand that [`CongestionKind::Rudy`] is computed from.
    pub demand: Demand,
    /// Capacity that demand is compared with, if it is known.
    pub capacity: Option<Capacity>,
}

impl CongestionMaps {
    /// Returns the maps of `design` in its placement, over the bins of `grid`.
    ///
    /// # Errors
    /// When the design has no nets, its columns do not fit together, or the capacity is not valid.
    pub fn of(
        design: &Design,
        grid: &RoutingGrid,
        options: &CongestionOptions,
    ) -> Result<Self, CongestionError> {
        let capacity = options.checked_capacity()?;
        let convention = options.convention;
        let demand = Demand::of(design, grid, convention)?;
        let rudy = |of: &Directions| rudy(of, convention, capacity);
        let (pin_rudy, pins) = wires::pins(design, grid, convention, capacity)?;
        let cells = cells::cells(design, grid, convention);
        let pin_density = match convention {
            Convention::DreamPlace => cells::pin_utilization(design, grid),
            _ => pins,
        };
        let maps = [
            rudy(&demand.total()),
            pin_rudy,
            rudy(&demand.long),
            rudy(&demand.short),
            cells.macro_region,
            cells.density,
            pin_density,
        ];
        Ok(CongestionMaps { maps, demand, capacity })
    }

    /// Returns the map of a kind.
    pub fn map(&self, kind: CongestionKind) -> &Map<f64> {
        &self.maps[kind as usize]
    }

    /// Returns the figures of the demand, alone and over capacity.
    pub fn figures(&self, grid: &RoutingGrid) -> Figures {
        Figures::of(&self.demand.total(), grid, self.capacity)
    }
}

/// Returns a convention's own number for demand in both directions.
fn rudy(of: &Directions, convention: Convention, capacity: Option<Capacity>) -> Map<f64> {
    let capacity = capacity.unwrap_or(Capacity::DREAMPLACE);
    of.horizontal.zip(&of.vertical, |&h, &v| match convention {
        Convention::CircuitNet => h + v,
        Convention::DreamPlace => (h / capacity.horizontal).max(v / capacity.vertical),
        Convention::OpenRoad => 100.0 * capacity.wire_width() * (h + v),
    })
}
