//! Congestion maps of an evaluation: their options, files and numbers.

use super::failure::Failure;
use super::input::Opened;
use super::maps::write_map;
use super::options::named;
use super::outputs::MapsFormat;
use crate::congestion::{
    Capacity, CongestionError, CongestionMaps, CongestionOptions, Convention, RoutingGrid, Tracks,
};
use crate::evaluate::CongestionReport;
use crate::maps::{Kind, of_congestion};
use clap::Args;
use clap::builder::TypedValueParser;
use std::path::{Path, PathBuf};

/// Options of commands that report congestion.
#[derive(Args, Clone, Debug)]
pub(crate) struct CongestionArgs {
    /// Add congestion: maps of RUDY, macros, cells and pins by one of these conventions
    #[arg(long, value_parser = convention(), value_name = "CONVENTION")]
    congestion: Option<Convention>,
    /// Routing tracks per layout unit, horizontal and vertical. Or LEF layers, each with the usable
    /// share of its tracks: metal1-metal6,metal1:0.2 [default: all LEF layers]
    #[arg(long, value_name = "H,V|LAYERS", requires = "congestion")]
    capacity: Option<Tracks>,
}

/// Parses `--congestion`.
pub(crate) fn convention() -> impl TypedValueParser<Value = Convention> {
    named(Convention::ALL.map(|one| (one.name(), one)))
}

/// Returns the routing tracks given, or else those of a DEF design's layers.
pub(crate) fn capacity(
    opened: &Opened,
    given: Option<&Tracks>,
) -> Result<Option<Capacity>, Failure> {
    let capacity = Tracks::capacity(given, &opened.layers, opened.design.units_per_micron);
    Ok(capacity.map_err(|error| error.to_string())?)
}

/// The maps that the options select.
pub(crate) struct Congestion {
    pub(crate) report: CongestionReport,
    pub(crate) maps: CongestionMaps,
    /// The bins.
    grid: RoutingGrid,
}

impl CongestionArgs {
    /// Whether there is congestion.
    pub(crate) fn is_asked(&self) -> bool {
        self.congestion.is_some()
    }

    /// Returns the maps of a design at its current positions, if they are enabled.
    pub(crate) fn maps(
        &self,
        opened: &Opened,
        grid: RoutingGrid,
    ) -> Result<Option<Congestion>, Failure> {
        let Some(convention) = self.congestion else { return Ok(None) };
        let capacity = capacity(opened, self.capacity.as_ref())?;
        let options = CongestionOptions::default().convention(convention).capacity(capacity);
        let start = std::time::Instant::now();
        let maps =
            CongestionMaps::of(&opened.design, &grid, &options).map_err(|error| match error {
                CongestionError::NoCapacity => {
                    format!("{error}: of LEF's layers, or by '--capacity H,V'")
                }
                error => error.to_string(),
            })?;
        let report = CongestionReport {
            convention,
            bins: [grid.nx(), grid.ny()],
            time_ms: start.elapsed().as_secs_f64() * 1e3,
            figures: maps.figures(&grid),
        };
        Ok(Some(Congestion { report, maps, grid }))
    }
}

impl Congestion {
    /// Writes every map as `[nx][ny]`; returns the files.
    pub(crate) fn write_maps(
        &self,
        folder: &Path,
        format: MapsFormat,
    ) -> Result<Vec<PathBuf>, Failure> {
        let demand = self.maps.demand.total();
        let write = |kind: Kind| {
            let map = of_congestion(kind, &self.maps, &demand)?;
            Some(write_map(folder, kind.name(), &map, &self.grid, format))
        };
        Kind::ALL.into_iter().filter_map(write).collect()
    }
}
