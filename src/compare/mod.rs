//! Pipelines side by side, iteration by iteration, while the cells spread.
//!
//! Every iteration, each engine computes the density of the same positions and each pipeline solves
//! it; times and the differences of φ, Ex and Ey are kept. Then the cells take one step down the
//! density energy alone (Nesterov's, preconditioned by area), so that overflow falls along the
//! table and the pipelines solve densities of every kind. Or the positions come from elsewhere
//! ([`Comparison::measure`]), as from a placement.

mod descent;

use crate::charge::Charge;
use crate::engine::{
    DensityStats, EngineError, MapKind, Pipeline, StepTimes, Timed, check_lengths,
};
use crate::grid::Map;
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::Real;
use descent::Descent;
use schemars::JsonSchema;
use serde::Serialize;

/// Stage times of one engine with one pipeline in one iteration, milliseconds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Side {
    /// Name of the engine.
    pub engine: &'static str,
    /// Pipeline.
    pub pipeline: Pipeline,
    /// The path that ran for it ([`crate::engine::Engine::path`]).
    pub path: &'static str,
    /// Density map, overflow and maximum.
    #[serde(rename = "density_ms")]
    pub density: f64,
    /// Forward transform.
    #[serde(rename = "forward_ms")]
    pub forward: f64,
    /// Spectral scaling if it is a separate pass, else zero.
    #[serde(rename = "scaling_ms")]
    pub scaling: f64,
    /// Inverse transforms.
    #[serde(rename = "inverse_ms")]
    pub inverse: f64,
    /// Forward, scaling and inverse.
    #[serde(rename = "solve_ms")]
    pub solve: f64,
    /// Force on every body.
    #[serde(rename = "force_ms")]
    pub force: f64,
    /// The first side's solve divided by this side's.
    pub ratio: f64,
    /// Whole steps and solves back to back, where the engine runs on a device.
    #[serde(flatten, serialize_with = "milliseconds")]
    #[schemars(with = "StepMilliseconds")]
    pub steps: Option<StepTimes>,
    /// The difference of φ, Ex and Ey from the first side's.
    pub difference: Difference,
}

/// Differences from another side's maps: the largest one relative to the largest magnitude, and the
/// root mean square one relative to the root mean square magnitude.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// φ, largest.
    pub potential: f64,
    /// Ex, largest.
    pub field_x: f64,
    /// Ey, largest.
    pub field_y: f64,
    /// φ, root mean square.
    pub potential_rms: f64,
    /// Ex, root mean square.
    pub field_x_rms: f64,
    /// Ey, root mean square.
    pub field_y_rms: f64,
}

impl Difference {
    /// Returns the largest of the three maps.
    pub fn largest(&self) -> f64 {
        worse(worse(self.potential, self.field_x), self.field_y)
    }

    /// Returns the largest root mean square of the three maps.
    pub fn largest_rms(&self) -> f64 {
        worse(worse(self.potential_rms, self.field_x_rms), self.field_y_rms)
    }
}

/// Returns the larger number; one that is not a number is the worst.
fn worse(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

/// One row of the comparison.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Iteration {
    /// From 0.
    pub iteration: usize,
    /// Smoothed overflow and maximum.
    #[serde(flatten)]
    pub density: DensityStats,
    /// Σ φ·ρ by the first side.
    pub energy: f64,
    /// Length of the step after this iteration.
    pub step: f64,
    /// Every engine with every pipeline.
    pub sides: Vec<Side>,
}

/// A comparison in progress.
pub struct Comparison<'e, T: Real> {
    engines: Vec<&'e mut dyn Timed<T>>,
    pipelines: Vec<Pipeline>,
    descent: Descent,
    bodies: usize,
    iteration: usize,
    x: Vec<T>,
    y: Vec<T>,
    force: [Vec<T>; 2],
    /// φ, Ex, Ey of the first side, and one map to compare with.
    reference: [Map<T>; 3],
    other: Map<T>,
}

const MAPS: [MapKind; 3] = [MapKind::Potential, MapKind::FieldX, MapKind::FieldY];

impl<'e, T: Real> Comparison<'e, T> {
    /// Starts at the positions the first engine's charge begins with.
    ///
    /// Every side is run once, so that tables are made and memory is touched
    /// before anything is timed.
    ///
    /// # Errors
    /// When there is no engine or pipeline, the engines' charges differ in
    /// their number of bodies, or a stage fails.
    pub fn new(
        engines: Vec<&'e mut dyn Timed<T>>,
        pipelines: &[Pipeline],
    ) -> Result<Self, EngineError> {
        let (Some(first), false) = (engines.first(), pipelines.is_empty()) else {
            return Err(EngineError::Length { what: "sides", expected: 1, found: 0 });
        };
        let charge = first.charge();
        let (bodies, [nx, ny]) = (charge.bodies(), charge.stacked_bins());
        for engine in &engines {
            check_lengths(bodies, &[("bodies of another engine", engine.charge().bodies())])?;
        }
        let start = |i| clamp(charge, i, charge.initial_x()[i], charge.initial_y()[i]);
        let (x, y): (Vec<f64>, Vec<f64>) = (0..bodies).map(start).unzip();
        let map = || Map::filled(nx, ny, T::zero());
        let mut comparison = Comparison {
            pipelines: pipelines.to_vec(),
            descent: Descent::new(&x, &y),
            bodies,
            iteration: 0,
            x: vec![T::zero(); bodies],
            y: vec![T::zero(); bodies],
            force: [vec![T::zero(); bodies], vec![T::zero(); bodies]],
            reference: [map(), map(), map()],
            other: map(),
            engines,
        };
        comparison.round_positions();
        for engine in &mut comparison.engines {
            engine.set_positions(&comparison.x, &comparison.y)?;
            engine.compute_density()?;
            for &pipeline in pipelines {
                engine.solve(pipeline)?;
            }
            engine.compute_force()?;
        }
        Ok(comparison)
    }

    /// Returns the current positions: lower-left corners of every body, x then y.
    pub fn positions(&self) -> (&[f64], &[f64]) {
        self.descent.point()
    }

    /// Returns the positions that the last iteration was measured at, x and y.
    pub fn measured(&self) -> [Vec<f64>; 2] {
        let [x, y] = self.engines[0].charge().origin();
        let on_die = |values: &[T], from: f64| values.iter().map(|v| v.widen() + from).collect();
        [on_die(&self.x, x), on_die(&self.y, y)]
    }

    /// Runs every side on the current positions, then moves the cells.
    ///
    /// # Errors
    /// When a stage fails.
    pub fn advance(&mut self) -> Result<Iteration, EngineError> {
        self.round_positions();
        let iteration = self.run_sides()?;
        Ok(Iteration { step: self.step(), ..iteration })
    }

    /// Runs every side on given positions, one per body: an iteration of a
    /// placement that is led from elsewhere. The step is zero.
    ///
    /// # Errors
    /// When `x` or `y` has another length, or a stage fails.
    pub fn measure(&mut self, x: &[f64], y: &[f64]) -> Result<Iteration, EngineError> {
        check_lengths(self.bodies, &[("x positions", x.len()), ("y positions", y.len())])?;
        let origin = self.engines[0].charge().origin();
        round(&mut self.x, x, origin[0]);
        round(&mut self.y, y, origin[1]);
        self.run_sides()
    }

    fn run_sides(&mut self) -> Result<Iteration, EngineError> {
        let mut sides: Vec<Side> = Vec::new();
        let (mut density, mut energy) = (DensityStats::default(), 0.0);
        for e in 0..self.engines.len() {
            self.engines[e].set_positions(&self.x, &self.y)?;
            let stats = self.engines[e].compute_density()?;
            for p in 0..self.pipelines.len() {
                let first = sides.first().map(|s| s.solve);
                let (side, side_energy) = self.run_side(e, self.pipelines[p], first)?;
                if sides.is_empty() {
                    (density, energy) = (stats, side_energy);
                }
                sides.push(side);
            }
            // Apart from the solves above: a step computes the density anew, and
            // sums of f32 on a device may round otherwise.
            for p in 0..self.pipelines.len() {
                let steps = self.engines[e].step_times(self.pipelines[p], 1)?;
                let side = sides.len() - self.pipelines.len() + p;
                sides[side].steps = steps;
            }
        }
        let iteration = self.iteration;
        self.iteration += 1;
        Ok(Iteration { iteration, density, energy, step: 0.0, sides })
    }

    /// Solves by one pipeline; the first side's maps and forces become the reference.
    fn run_side(
        &mut self,
        e: usize,
        pipeline: Pipeline,
        first_solve: Option<f64>,
    ) -> Result<(Side, f64), EngineError> {
        let engine = &mut self.engines[e];
        let energy = engine.solve(pipeline)?;
        engine.compute_force()?;
        let times = engine.times();
        let mut differences = [[0.0; 2]; 3];
        for ((kind, reference), difference) in
            MAPS.into_iter().zip(&mut self.reference).zip(&mut differences)
        {
            if first_solve.is_none() {
                engine.read_map(kind, reference)?;
            } else {
                engine.read_map(kind, &mut self.other)?;
                *difference = difference_of(reference.as_slice(), self.other.as_slice());
            }
        }
        if first_solve.is_none() {
            let [fx, fy] = &mut self.force;
            engine.read_force(fx, fy)?;
        }
        let [[potential, potential_rms], [field_x, field_x_rms], [field_y, field_y_rms]] =
            differences;
        let side = Side {
            engine: engine.descriptor().engine,
            pipeline,
            path: engine.path(pipeline),
            density: times.density,
            forward: times.forward,
            scaling: times.scaling,
            inverse: times.inverse,
            solve: times.solve(),
            force: times.force,
            ratio: first_solve.map_or(1.0, |first| first / times.solve()),
            steps: None,
            difference: Difference {
                potential,
                field_x,
                field_y,
                potential_rms,
                field_x_rms,
                field_y_rms,
            },
        };
        Ok((side, energy))
    }

    /// Takes one step against the gradient −F/area of every body, kept inside the die.
    fn step(&mut self) -> f64 {
        let charge = self.engines[0].charge();
        for (gradient, force) in self.descent.gradient().iter_mut().zip(&self.force) {
            let (width, height) = (charge.width(), charge.height());
            parallel::for_each(chunks_mut(gradient, CHUNK), |chunk, gradient| {
                for (i, to) in (chunk * CHUNK..).zip(gradient) {
                    let area = width[i] * height[i];
                    *to = if area > 0.0 { -force[i].widen() / area } else { 0.0 };
                }
            });
        }
        let half_a_bin = 0.5 * (charge.grid().bin_x() * charge.grid().bin_y()).sqrt();
        self.descent.advance(half_a_bin, |i, x, y| clamp(charge, i, x, y))
    }

    fn round_positions(&mut self) {
        let (x, y) = self.descent.point();
        let origin = self.engines[0].charge().origin();
        round(&mut self.x, x, origin[0]);
        round(&mut self.y, y, origin[1]);
    }
}

/// Positions in the precision of an engine, which counts them from `origin`.
fn round<T: Real>(to: &mut [T], from: &[f64], origin: f64) {
    parallel::for_each((chunks_mut(to, CHUNK), chunks(from, CHUNK)), |_, (to, from)| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = T::cast(from - origin));
    });
}

/// Returns corner `(x, y)` of body `i`, moved to where the body lies inside the die.
fn clamp(charge: &Charge, i: usize, x: f64, y: f64) -> (f64, f64) {
    let die = charge.grid().die();
    let (high_x, high_y) = (die.xh - charge.width()[i], die.yh - charge.height()[i]);
    (x.min(high_x).max(die.xl), y.min(high_y).max(die.yl))
}

/// Values a thread takes at a time; sums over them are added up in order.
const CHUNK: usize = 1 << 16;

/// Returns the largest and root mean square difference, each relative to the reference's.
fn difference_of<T: Real>(reference: &[T], other: &[T]) -> [f64; 2] {
    let parts = parallel::map_blocks(reference.len(), CHUNK, |block| {
        let [mut scale, mut worst, mut squares, mut apart] = [0.0; 4];
        for (a, b) in reference[block.clone()].iter().zip(&other[block]) {
            let (a, d) = (a.widen(), (a.widen() - b.widen()).abs());
            scale = worse(scale, a.abs());
            worst = worse(worst, d);
            squares += a * a;
            apart += d * d;
        }
        [scale, worst, squares, apart]
    });
    let [scale, worst, squares, apart] = parts.iter().fold([0.0; 4], |sum, part| {
        [worse(sum[0], part[0]), worse(sum[1], part[1]), sum[2] + part[2], sum[3] + part[3]]
    });
    let relative = |value: f64, scale: f64| if scale > 0.0 { value / scale } else { value };
    [relative(worst, scale), relative(apart.sqrt(), squares.sqrt())]
}

/// [`StepTimes`] with their unit in their keys, null where there are none.
#[derive(Serialize, JsonSchema)]
struct StepMilliseconds {
    /// A whole step as one graph.
    step_graph_ms: Option<f64>,
    /// A whole step as plain launches.
    step_plain_ms: Option<f64>,
    /// A solve as one graph.
    solve_graph_ms: Option<f64>,
    /// A solve as plain launches.
    solve_plain_ms: Option<f64>,
}

fn milliseconds<S: serde::Serializer>(
    steps: &Option<StepTimes>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let of = StepMilliseconds {
        step_graph_ms: steps.map(|t| t.step_graph),
        step_plain_ms: steps.map(|t| t.step_plain),
        solve_graph_ms: steps.map(|t| t.solve_graph),
        solve_plain_ms: steps.map(|t| t.solve_plain),
    };
    of.serialize(serializer)
}

#[cfg(test)]
mod tests;
