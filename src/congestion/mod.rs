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
pub(crate) use wires::risa;
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

/// Where the number of routing tracks comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Tracks {
    /// It is given.
    Capacity(Capacity),
    /// LEF layers by name, joined by commas: `LAYER` or `FIRST-LAST` in the library's order. Each
    /// may end with `:SHARE`, the share of the tracks that wires may use, above 0 and at most 1. If
    /// several include a layer, the last one counts, and layers that are not named have no tracks:
    /// `metal1-metal6,metal1:0.2`.
    Layers(String),
}

impl Tracks {
    /// Returns the tracks in both directions, or those of all `layers` if none are given; `None` if
    /// these have no tracks. Pitches are in micrometres.
    ///
    /// # Errors
    /// If a layer or its share is not valid, or a direction has no tracks.
    pub fn capacity(
        given: Option<&Tracks>,
        layers: &[RoutingLayer],
        units_per_micron: Option<f64>,
    ) -> Result<Option<Capacity>, CongestionError> {
        let of = |layers: &[RoutingLayer]| Capacity::of_lef(layers, units_per_micron?);
        let text = match given {
            Some(Tracks::Capacity(capacity)) => return Ok(Some(*capacity)),
            Some(Tracks::Layers(text)) => text,
            None => return Ok(of(layers)),
        };
        let error = |reason: String| CongestionError::BadLayers { layers: text.clone(), reason };
        let index = |name: &str| layers.iter().position(|layer| layer.name == name);
        let known = |name: &str| {
            index(name).ok_or_else(|| {
                let names: Vec<&str> = layers.iter().map(|layer| &layer.name[..]).collect();
                let names = if names.is_empty() { "no layers" } else { &names.join(", ") };
                error(format!("layer `{name}`: expected one of the LEF routing layers: {names}"))
            })
        };
        let mut shares = vec![0.0; layers.len()];
        for part in text.split(',') {
            let (names, share) = part.split_once(':').unwrap_or((part, "1"));
            let share = share.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
            let share: f64 = share.ok_or_else(|| {
                error(format!("`{part}`: expected a share above 0 and at most 1 after the colon"))
            })?;
            let (first, last) = match names.split_once('-') {
                Some((first, last)) if index(names).is_none() => (known(first)?, known(last)?),
                _ => (known(names)?, known(names)?),
            };
            if first > last {
                let reason = format!("`{names}`: expected the lower layer before the higher one");
                return Err(error(reason));
            }
            shares[first..=last].fill(share);
        }
        let counted = layers.iter().zip(shares).map(|(layer, share)| {
            let pitch = layer.pitch.map(|pitch| pitch / share);
            RoutingLayer { pitch, ..layer.clone() }
        });
        let none = || error("expected layers with tracks in both directions".to_owned());
        of(&counted.collect::<Vec<_>>()).ok_or_else(none).map(Some)
    }
}

impl std::str::FromStr for Tracks {
    type Err = String;

    /// Reads two numbers joined by a comma, horizontal and vertical tracks per layout unit, or
    /// layers.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(char::is_alphabetic) {
            return Ok(Tracks::Layers(text.to_owned()));
        }
        let number = |text: &str| text.parse().ok().filter(|c: &f64| *c > 0.0 && c.is_finite());
        let both = text.split_once(',').and_then(|(h, v)| Some((number(h)?, number(v)?)));
        let both = both.map(|(horizontal, vertical)| Capacity { horizontal, vertical });
        both.map(Tracks::Capacity).ok_or_else(|| {
            "expected two numbers above zero joined by a comma, as in 12.5,10, or LEF layers, as in \
             metal2-metal6"
                .to_owned()
        })
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
    /// Layers that are not those of the library, or have no tracks.
    #[error("layers `{layers}`: {reason}")]
    BadLayers {
        /// As they were given.
        layers: String,
        /// What was expected.
        reason: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(name: &str, is_horizontal: bool, pitch: f64) -> RoutingLayer {
        let direction =
            if is_horizontal { LayerDirection::Horizontal } else { LayerDirection::Vertical };
        RoutingLayer { name: name.to_owned(), direction, pitch: [pitch; 2], width: 0.1 }
    }

    #[test]
    fn layers_have_the_tracks_that_are_asked_for() {
        let layers = [
            layer("metal1", true, 0.1),
            layer("metal2", false, 0.2),
            layer("metal3", true, 0.25),
            layer("metal-4", false, 0.5),
        ];
        let tracks = |text: &str| {
            let tracks: Tracks = text.parse().unwrap();
            Tracks::capacity(Some(&tracks), &layers, Some(1000.0)).map(|of| {
                let of = of.unwrap();
                [1000.0 * of.horizontal, 1000.0 * of.vertical].map(|v| (1e6 * v).round() / 1e6)
            })
        };
        assert_eq!(tracks("metal1-metal-4"), tracks("metal1,metal2,metal3,metal-4"));
        assert_eq!(tracks("metal1,metal2"), Ok([10.0, 5.0]));
        assert_eq!(tracks("metal2-metal3"), Ok([4.0, 5.0]));
        assert_eq!(tracks("metal1:0.2,metal2-metal3:0.5,metal-4"), Ok([4.0, 4.5]));
        assert_eq!(tracks("metal1-metal-4,metal1:0.2"), Ok([6.0, 7.0]));
        assert_eq!(tracks("12.5,10"), Ok([12_500.0, 10_000.0]));
        let all = Tracks::capacity(None, &layers, Some(1000.0)).unwrap().unwrap();
        assert!((1000.0 * all.horizontal - 14.0).abs() < 1e-9, "{all:?}");
        for (text, want) in [
            ("metal5", "layer `metal5`: expected one of the LEF routing layers: metal1, metal2, "),
            ("metal1-metal7", "layer `metal7`: expected one of the LEF routing layers"),
            ("metal2-metal1", "`metal2-metal1`: expected the lower layer before the higher one"),
            ("metal1:0,metal2", "`metal1:0`: expected a share above 0 and at most 1"),
            ("metal1:x,metal2", "`metal1:x`: expected a share above 0 and at most 1"),
            ("metal1", "expected layers with tracks in both directions"),
        ] {
            let error = tracks(text).unwrap_err().to_string();
            assert!(error.contains(want) && error.contains(text), "{error}");
        }
        let without = Tracks::capacity(Some(&Tracks::Layers("m".to_owned())), &[], None);
        assert!(without.unwrap_err().to_string().contains("layers: no layers"));
        assert_eq!(Tracks::capacity(None, &[], None), Ok(None));
        assert!("1,0".parse::<Tracks>().is_err() && "".parse::<Tracks>().is_err());
    }
}
