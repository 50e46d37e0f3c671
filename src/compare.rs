//! Pipelines side by side, iteration by iteration, while the cells spread.
//!
//! Every iteration, each engine computes the density of the same positions and
//! each pipeline solves it; times and the largest differences of φ, Ex and Ey
//! are kept. Then the cells take one step down the density energy alone
//! ([`crate::nesterov`], preconditioned by area), so that overflow falls along
//! the table and the pipelines meet densities of every kind.

use crate::charge::Charge;
use crate::engine::{DensityStats, Engine, EngineError, MapKind, Pipeline, check_lengths};
use crate::grid::Map;
use crate::nesterov::Nesterov;
use crate::real::Real;
use serde::Serialize;

/// Stage times of one engine with one pipeline in one iteration, milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Engine, as its descriptor names it.
    pub engine: &'static str,
    /// Pipeline.
    pub pipeline: Pipeline,
    /// Density map, overflow and maximum.
    pub density: f64,
    /// Forward transform.
    pub forward: f64,
    /// Spectral scaling where it is a pass of its own, zero where it is folded.
    pub scaling: f64,
    /// Inverse transforms.
    pub inverse: f64,
    /// Forward, scaling and inverse.
    pub solve: f64,
    /// Force on every body.
    pub force: f64,
    /// The first side's solve over this one's.
    pub ratio: f64,
    /// Largest |difference| from the first side's φ, Ex and Ey over its largest magnitude.
    pub difference: Difference,
}

/// Largest difference of each map, relative to the largest magnitude.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// φ.
    pub potential: f64,
    /// Ex.
    pub field_x: f64,
    /// Ey.
    pub field_y: f64,
}

/// One row of the comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Iteration {
    /// From 0.
    pub iteration: usize,
    /// Smoothed overflow and maximum.
    #[serde(flatten)]
    pub density: DensityStats,
    /// Σ φ·ρ by the first side.
    pub energy: f64,
    /// Step length taken afterwards.
    pub step: f64,
    /// Every engine with every pipeline.
    pub sides: Vec<Side>,
}

/// A comparison in progress.
pub struct Comparison<'e, T: Real> {
    engines: Vec<&'e mut dyn Engine<T>>,
    pipelines: Vec<Pipeline>,
    descent: Nesterov,
    /// Half of the unknowns: bodies.
    bodies: usize,
    iteration: usize,
    x: Vec<T>,
    y: Vec<T>,
    force: [Vec<T>; 2],
    gradient: Vec<f64>,
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
        engines: Vec<&'e mut dyn Engine<T>>,
        pipelines: &[Pipeline],
    ) -> Result<Self, EngineError> {
        let (Some(first), false) = (engines.first(), pipelines.is_empty()) else {
            return Err(EngineError::Length { what: "sides", expected: 1, found: 0 });
        };
        let charge = first.charge();
        let (bodies, nx, ny) = (charge.bodies(), charge.grid.nx(), charge.grid.ny());
        for engine in &engines {
            check_lengths(bodies, &[("bodies of another engine", engine.charge().bodies())])?;
        }
        let start = clamped(first.charge(), |i| (charge.initial_x[i], charge.initial_y[i]));
        let map = || Map::filled(nx, ny, T::zero());
        let mut comparison = Comparison {
            pipelines: pipelines.to_vec(),
            descent: Nesterov::new(start),
            bodies,
            iteration: 0,
            x: vec![T::zero(); bodies],
            y: vec![T::zero(); bodies],
            force: [vec![T::zero(); bodies], vec![T::zero(); bodies]],
            gradient: vec![0.0; 2 * bodies],
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

    /// Positions as they stand: lower-left corners of every body, x then y.
    pub fn positions(&self) -> (&[f64], &[f64]) {
        self.descent.point().split_at(self.bodies)
    }

    /// Runs every side on the positions as they stand, then moves the cells.
    ///
    /// # Errors
    /// When a stage fails.
    pub fn advance(&mut self) -> Result<Iteration, EngineError> {
        self.round_positions();
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
        }
        let step = self.step();
        let iteration = self.iteration;
        self.iteration += 1;
        Ok(Iteration { iteration, density, energy, step, sides })
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
        let mut differences = [0.0; 3];
        for ((kind, reference), difference) in
            MAPS.into_iter().zip(&mut self.reference).zip(&mut differences)
        {
            if first_solve.is_none() {
                engine.read_map(kind, reference)?;
            } else {
                engine.read_map(kind, &mut self.other)?;
                *difference = largest_difference(reference.as_slice(), self.other.as_slice());
            }
        }
        if first_solve.is_none() {
            let [fx, fy] = &mut self.force;
            engine.read_force(fx, fy)?;
        }
        let [potential, field_x, field_y] = differences;
        let side = Side {
            engine: engine.descriptor().engine,
            pipeline,
            density: times.density,
            forward: times.forward,
            scaling: times.scaling,
            inverse: times.inverse,
            solve: times.solve(),
            force: times.force,
            ratio: first_solve.map_or(1.0, |first| first / times.solve()),
            difference: Difference { potential, field_x, field_y },
        };
        Ok((side, energy))
    }

    /// One step against the gradient −F/area of every body, kept inside the die.
    fn step(&mut self) -> f64 {
        let charge = self.engines[0].charge();
        for i in 0..self.bodies {
            let area = charge.width[i] * charge.height[i];
            let per_area = if area > 0.0 { 1.0 / area } else { 0.0 };
            self.gradient[i] = -self.force[0][i].wide() * per_area;
            self.gradient[self.bodies + i] = -self.force[1][i].wide() * per_area;
        }
        let half_a_bin = 0.5 * (charge.grid.bin_x() * charge.grid.bin_y()).sqrt();
        self.descent.advance(&self.gradient, half_a_bin, |i, value| clamp(charge, i, value))
    }

    fn round_positions(&mut self) {
        let (x, y) = self.descent.point().split_at(self.bodies);
        for (to, from) in [(&mut self.x, x), (&mut self.y, y)] {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = T::of(from));
        }
    }
}

/// Unknown `i` (all x, then all y) kept where its body lies inside the die.
fn clamp(charge: &Charge, i: usize, value: f64) -> f64 {
    let die = charge.grid.die();
    let n = charge.bodies();
    let (low, high) = if i < n {
        (die.xl, die.xh - charge.width[i])
    } else {
        (die.yl, die.yh - charge.height[i - n])
    };
    value.min(high).max(low)
}

/// Starting unknowns inside the die.
fn clamped(charge: &Charge, at: impl Fn(usize) -> (f64, f64)) -> Vec<f64> {
    let n = charge.bodies();
    let x = (0..n).map(|i| clamp(charge, i, at(i).0));
    let y = (0..n).map(|i| clamp(charge, n + i, at(i).1));
    x.chain(y).collect()
}

fn largest_difference<T: Real>(reference: &[T], other: &[T]) -> f64 {
    let scale = reference.iter().fold(0.0, |m, v| v.wide().abs().max(m));
    let pairs = reference.iter().zip(other);
    let worst = pairs.fold(0.0, |m: f64, (a, b)| (a.wide() - b.wide()).abs().max(m));
    if scale > 0.0 { worst / scale } else { worst }
}
