//! The interface of a placer: density → field → force.
//!
//! An [`Engine`] is made once, from a design or from rectangles. For
//! given positions it computes density, overflow, energy, field and
//! forces. Maps are per bin. Lengths in the field are bin widths
//! (multiply φ by bin_x² and E by bin_x for layout units); positions and sizes
//! are layout units.
//!
//! Every engine is deterministic: equal positions give equal bits on
//! every run, for any number of threads.
//!
//! Engines store the *centered* density: ρ minus a constant ([`Charge::background`]), which is
//! subtracted before rounding and has no effect on a solve. The density that they return and report
//! is ρ itself ([`MapKind::Density`]).

mod checks;
mod options;

#[cfg(any(feature = "capi", feature = "python"))]
pub(crate) use checks::check_finite;
pub use checks::check_range;
#[cfg(feature = "cli")]
pub(crate) use checks::check_range_of;
pub(crate) use checks::{
    Done, Progress, add_background, check_bins, check_lengths, check_positions, check_positions_in,
    check_same_grid, check_weight,
};
pub use options::{Choice, EngineOptions, GradientOptions, Layout};

use crate::charge::{Charge, ChargeError};
use crate::design::DesignError;
use crate::grid::{BinGrid, GridError, Map};
use crate::memory::OutOfMemory;
use crate::real::Real;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A method to compute a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Pipeline {
    /// 1-D transforms along one axis, then the other, with transposes.
    RowColumn,
    /// The paper's pipeline: pre-processing, one 2-D real FFT, post-processing.
    Fused,
    /// Forward transform, Green's function and inverses fused across
    /// transforms: three passes over memory for the whole solve.
    ThreePass,
}

impl Pipeline {
    /// Every pipeline, in the order of tables.
    pub const ALL: [Pipeline; 3] = [Pipeline::RowColumn, Pipeline::Fused, Pipeline::ThreePass];

    /// Returns the name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Pipeline::RowColumn => "row-column",
            Pipeline::Fused => "fused",
            Pipeline::ThreePass => "three-pass",
        }
    }
}

impl std::fmt::Display for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Overflow and largest density of one density map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct DensityStats {
    /// (Σ over bins of max(0, area − T · bin area) + movable area off the die) / Σ movable area;
    /// fillers left out.
    #[serde(rename = "overflow_smoothed")]
    pub overflow: f64,
    /// Largest area of a bin over the bin area; fillers left out.
    #[serde(rename = "max_smoothed")]
    pub max: f64,
}

/// The numbers that one evaluation yields, besides maps and forces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Evaluation {
    /// Smoothed overflow and maximum: what placers log.
    pub density: DensityStats,
    /// Σ φ·ρ over bins (no ½, no bin area), and over regions.
    pub energy: f64,
    /// Area of the movable cells off the die at their exact sizes, layout units squared. No bin
    /// holds it, and it counts as overflow.
    pub area_off_die: f64,
}

/// A map an engine can hand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapKind {
    /// ρ: area in the bin over the bin's area; fixed, movable and fillers.
    Density,
    /// φ, in bin widths squared.
    Potential,
    /// E along x, in bin widths.
    FieldX,
    /// E along y, in bin widths.
    FieldY,
}

impl MapKind {
    /// Every map, in the order of reports.
    pub const ALL: [MapKind; 4] =
        [MapKind::Density, MapKind::Potential, MapKind::FieldX, MapKind::FieldY];

    /// Returns the name of its file.
    pub fn name(self) -> &'static str {
        match self {
            MapKind::Density => "density",
            MapKind::Potential => "potential",
            MapKind::FieldX => "field_x",
            MapKind::FieldY => "field_y",
        }
    }
}

/// Milliseconds spent in each stage when it last ran; zero for a stage that
/// has not run or is folded into its neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageTimes {
    /// Density map, overflow and maximum.
    pub density: f64,
    /// Forward transform of ρ.
    pub forward: f64,
    /// Green's function and wavenumbers, if they are a separate pass.
    pub scaling: f64,
    /// The three inverse transforms.
    pub inverse: f64,
    /// Force on every body.
    pub force: f64,
}

impl StageTimes {
    /// Returns the sum of forward, scaling and inverse, milliseconds.
    pub fn solve(&self) -> f64 {
        self.forward + self.scaling + self.inverse
    }
}

/// Most threads that the CPU engine starts.
pub const MAX_THREADS: usize = 1024;

/// Milliseconds of a whole step (density, solve, force) and of its solve alone,
/// on a device: medians, back to back, everything resident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct StepTimes {
    /// A step replayed as one graph.
    pub step_graph: f64,
    /// A step as plain launches.
    pub step_plain: f64,
    /// A solve replayed as one graph.
    pub solve_graph: f64,
    /// A solve as plain launches.
    pub solve_plain: f64,
}

/// Which engine this is and which way it computes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Descriptor {
    /// `"cpu"` or `"cuda"`.
    pub engine: &'static str,
    /// The device's own name (CPU: number of threads).
    pub device: String,
}

/// Why an engine could not be made or could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The die and bin counts make no grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The charge cannot be made.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// The design's columns do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// A position or density that is not finite.
    #[error("{what} {index}: {value}: expected a finite number")]
    NotFinite {
        /// Name of the number, e.g. `"x of body"`.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A size or position that the engine's precision cannot hold.
    #[error("{what} {index}: {value:e}: expected a number within the range of {precision}")]
    OutOfRange {
        /// Name of the number, e.g. `"width of body"`.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its value.
        value: f64,
        /// The name of the precision.
        precision: &'static str,
    },
    /// Positions from the charge's origin that single precision is too coarse for.
    #[error("{0}: expected f64, or positions from an origin nearer to the die")]
    CoarsePositions(#[source] ChargeError),
    /// A die or bin so large or small that areas times fields leave the range of the engine's
    /// precision.
    #[error(
        "the {what} has an area of {area:e}: {precision} computes with areas from {least:e} to \
         {most:e}"
    )]
    AreaOutOfRange {
        /// `"die"` or `"bin"`.
        what: &'static str,
        /// Its area, square layout units.
        area: f64,
        /// The least area.
        least: f64,
        /// The largest area.
        most: f64,
        /// The name of the precision.
        precision: &'static str,
    },
    /// A charge over another grid than the engine's.
    #[error(
        "a charge over {} x {} bins of {:?}: the engine is for {} x {} bins of {:?}",
        .found.nx(),
        .found.ny(),
        .found.die(),
        .expected.nx(),
        .expected.ny(),
        .expected.die()
    )]
    OtherGrid {
        /// The engine's.
        expected: BinGrid,
        /// The charge's.
        found: BinGrid,
    },
    /// The charge has more fence regions than a device supports, 65535.
    #[error("a charge of {0} fence regions: the CUDA engine takes at most 65535")]
    Regions(usize),
    /// A length γ by which no wirelength can be smoothed.
    #[error("smoothing length {gamma:e}: expected a number above 0 with an inverse in {precision}")]
    SmoothingLength {
        /// The length, layout units.
        gamma: f64,
        /// The name of the precision.
        precision: &'static str,
    },
    /// A gradient's weight that is not finite in the engine's precision.
    #[error("weight of the gradient: {0}: expected a finite number")]
    Weight(f64),
    /// A slice of the wrong length.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Which argument.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// A stage was requested before the stage that it needs.
    #[error("{stage} was asked for before {needs}")]
    OutOfOrder {
        /// The stage asked for.
        stage: &'static str,
        /// The stage that must run first.
        needs: &'static str,
    },
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// The system's reason.
        reason: String,
    },
    /// The host has not enough memory.
    #[error(transparent)]
    HostMemory(#[from] OutOfMemory),
    /// Device memory ran out.
    #[error("{}", out_of_memory(*.needed, *.free))]
    OutOfMemory {
        /// Bytes asked for; 0 where it was the driver that lacked memory for itself.
        needed: usize,
        /// Free bytes at the time of the request.
        free: usize,
    },
    /// The device or one of its libraries failed or is missing: a
    /// `cuda::CudaError`, which `downcast_ref` gives back.
    #[error("{0}")]
    Device(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Returns the message for exhausted device memory, in bytes; `needed` is 0 if it is unknown.
pub(crate) fn out_of_memory(needed: usize, free: usize) -> String {
    let free = free >> 20;
    match needed >> 20 {
        0 => format!("out of GPU memory: more was needed than the {free} MiB that are free"),
        needed => {
            format!("out of GPU memory: {needed} MiB more were needed and {free} MiB are free")
        }
    }
}

/// Density → field → force, in precision `T`.
///
/// Stages run in this order and may be called separately; [`Engine::evaluate`]
/// runs all. No stage allocates memory. After an error the engine can be used again. After an error
/// in positions, results are [`EngineError::OutOfOrder`] until new positions are given.
///
/// With fences ([`Charge::set_fences`]) every region has a separate density, field and energy,
/// computed together. The force on a body comes from its region's field. Overflow is then the sum
/// over regions divided by all movable area, the maximum is the largest, and the energy is the sum.
pub trait Engine<T: Real> {
    /// Returns the charge of the engine.
    fn charge(&self) -> &Charge;

    /// Replaces the charge by another one over the same grid. Sizes, fixed cells, fixed area,
    /// target densities, fillers and even all bodies may differ (see [`Charge`]). Later results are
    /// bit-identical to those of a new engine for that charge. Plans, kernels and threads depend
    /// only on the grid and are reused. Positions must be set again.
    ///
    /// # Errors
    /// If the grid differs, a size or starting position is out of the range of `T`, the
    /// charge has more fence regions than the engine supports ([`EngineError::Regions`]), or device
    /// memory does not suffice. The engine is then unchanged.
    fn set_charge(&mut self, charge: Arc<Charge>) -> Result<(), EngineError>;

    /// Returns the name and the device of the engine.
    fn descriptor(&self) -> Descriptor;

    /// Returns the pipeline of [`Engine::evaluate`], settled at creation.
    fn choice(&self) -> &Choice;

    /// Returns the name of the pipeline that runs for `pipeline`: that pipeline, or
    /// its replacement on this engine.
    fn path(&self, pipeline: Pipeline) -> &'static str {
        pipeline.name()
    }

    /// Discards the positions and all results: they are [`EngineError::OutOfOrder`] until new
    /// positions are given. For callers that refuse positions themselves.
    fn discard_positions(&mut self);

    /// Takes lower-left corners, layout units: movable cells, then fillers.
    ///
    /// # Errors
    /// When `x` or `y` does not have one value per body, a value is not finite,
    /// or the device failed. The positions before are then discarded.
    fn set_positions(&mut self, x: &[T], y: &[T]) -> Result<(), EngineError>;

    /// Sets the positions from one array with two values per body, arranged by `layout`
    /// ([`Engine::set_positions`]).
    ///
    /// # Errors
    /// See [`Engine::set_positions`].
    fn set_positions_in(&mut self, layout: Layout, positions: &[T]) -> Result<(), EngineError>;

    /// ρ of everything, and the smoothed overflow and maximum without fillers.
    ///
    /// # Errors
    /// When no positions were given, or the device failed.
    fn compute_density(&mut self) -> Result<DensityStats, EngineError>;

    /// Overflow and maximum with every cell at its exact size, not smoothed.
    /// Does not change ρ.
    ///
    /// # Errors
    /// When no positions were given, or the device failed.
    fn exact_density(&mut self) -> Result<DensityStats, EngineError>;

    /// φ, Ex and Ey of ρ by `pipeline`; returns the energy Σ φ·ρ.
    ///
    /// # Errors
    /// When the density was not computed, or the device failed.
    fn solve(&mut self, pipeline: Pipeline) -> Result<f64, EngineError>;

    /// The force on every body from E.
    ///
    /// # Errors
    /// When the field was not solved, or the device failed.
    fn compute_force(&mut self) -> Result<(), EngineError>;

    /// Sets the positions as [`Engine::set_positions`] does and computes density, field and force,
    /// by the pipeline of [`Engine::choice`].
    ///
    /// # Errors
    /// See [`Engine::set_positions`].
    fn evaluate(&mut self, x: &[T], y: &[T]) -> Result<Evaluation, EngineError>;

    /// The evaluation of every fence region ([`Charge::set_fences`]): overflow and maximum of the
    /// region's cells and area, and the energy of its density. Without fences there is one entry,
    /// the evaluation itself.
    ///
    /// # Errors
    /// When `out` does not have one entry per region, the field was not solved for the current
    /// positions, or the device failed.
    fn read_regions(&mut self, out: &mut [Evaluation]) -> Result<(), EngineError>;

    /// Copies a map, `nx × ny`, y contiguous, to the host; with fences the map of every region, one
    /// after the other along x: `regions · nx × ny`.
    ///
    /// # Errors
    /// When `out` does not have `nx × ny` bins for each region (one of `ny × nx` is refused too),
    /// the map was not computed for the current positions, or the device failed.
    fn read_map(&mut self, kind: MapKind, out: &mut Map<T>) -> Result<(), EngineError>;

    /// Copies forces, one per body: the direction that spreads, in units of layout area × bin
    /// widths. The derivative of the energy by a body's x or y, per layout unit, is −2/(bin_area ·
    /// bin_x) of it, except for the variation of the field within a bin.
    ///
    /// # Errors
    /// When `fx` or `fy` does not have one value per body, the forces were not computed for the
    /// current positions, or the device failed.
    fn read_force(&mut self, fx: &mut [T], fy: &mut [T]) -> Result<(), EngineError>;

    /// Writes the force times a weight to `gradient`, or adds it to `gradient`: two values per
    /// body, in the layout of `options` and the caller's order.
    ///
    /// # Errors
    /// When `gradient` does not have two values per body, a weight is not finite, regions' weights
    /// are not one for each, the forces were not computed for the current positions, or the device
    /// failed.
    fn write_gradient(
        &mut self,
        gradient: &mut [T],
        options: &GradientOptions,
    ) -> Result<(), EngineError>;
}

/// An engine that says how long its stages take.
pub trait Timed<T: Real>: Engine<T> {
    /// Returns the time that each stage took when it last ran.
    fn times(&self) -> StageTimes;

    /// Returns the times of whole steps and solves by `pipeline` at the current positions, over
    /// `repetitions` runs or more, or `None` if the engine does not measure them. Afterwards all
    /// results are those of a step by `pipeline`.
    ///
    /// # Errors
    /// When no positions were given, or the device failed.
    fn step_times(
        &mut self,
        pipeline: Pipeline,
        repetitions: usize,
    ) -> Result<Option<StepTimes>, EngineError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn device_errors_keep_their_source() {
        let error = EngineError::Device(Box::new(GridError::BinCount { nx: 0, ny: 3 }));
        let source = error.source().and_then(|source| source.downcast_ref::<GridError>());
        assert_eq!(source, Some(&GridError::BinCount { nx: 0, ny: 3 }));
        assert_eq!(error.to_string(), source.unwrap().to_string());
    }

    /// Engines store a solver per pipeline at index `pipeline as usize`, so a new pipeline must be
    /// at this index of `Pipeline::ALL`.
    #[test]
    fn pipelines_stand_in_order() {
        for (place, pipeline) in Pipeline::ALL.into_iter().enumerate() {
            assert_eq!(pipeline as usize, place);
        }
        match Pipeline::ALL[Pipeline::ALL.len() - 1] {
            // The last one; another is added here and to `Pipeline::ALL`.
            Pipeline::ThreePass => (),
            Pipeline::RowColumn | Pipeline::Fused => panic!("not the last one"),
        }
    }

    #[test]
    fn builders_change_only_the_named_options() {
        let options = EngineOptions::default().pipeline(Pipeline::Fused).threads(2);
        let written =
            EngineOptions { pipeline: Some(Pipeline::Fused), threads: 2, deterministic: false };
        assert_eq!(options, written);
        assert_eq!(options.pipeline(None).threads(0), EngineOptions::default());
    }
}
