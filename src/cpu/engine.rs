//! The CPU engine: density, solve and force on its own thread pool.

use super::density::CpuDensity;
use super::solve::{FieldSlices, Fields, SolveTimes, Solver};
use crate::charge::Charge;
use crate::engine::{
    Choice, DensityStats, Descriptor, Done, Engine, EngineError, EngineOptions, Evaluation,
    GradientOptions, Layout, MAX_THREADS, MapKind, Pipeline, Progress, StageTimes, StepTimes,
    Timed, add_background, check_bins, check_lengths, check_positions, check_positions_in,
    check_range, check_same_grid, check_weight,
};
use crate::grid::Map;
use crate::memory::require;
use crate::parallel::{self, chunks, chunks_mut, each_mut};
use crate::real::Real;
use rayon::ThreadPool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// [`Engine`] on the CPU. The same positions give the same bits for any
/// number of threads and on every run.
pub struct CpuEngine<T: Real> {
    charge: Arc<Charge>,
    choice: Choice,
    pool: Arc<ThreadPool>,
    density: CpuDensity,
    /// ρ less the background, the map of every region.
    centered: Map<T>,
    /// By [`Pipeline::ALL`]; made when a pipeline is first used. Where there are several regions
    /// and threads, several solvers take a share of the regions each.
    solvers: [Vec<Solver<T>>; Pipeline::ALL.len()],
    fields: Fields<T>,
    /// For each region, as last computed.
    evaluations: Vec<Evaluation>,
    force_x: Vec<T>,
    force_y: Vec<T>,
    done: Done,
    times: StageTimes,
}

impl<T: Real> std::fmt::Debug for CpuEngine<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CpuEngine")
            .field("grid", &self.charge.grid())
            .field("bodies", &self.charge.bodies())
            .field("regions", &self.charge.regions())
            .field("choice", &self.choice)
            .field("threads", &self.threads())
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl<T: Real> CpuEngine<T> {
    /// The most bytes per bin of one region that a [`Charge`], an engine of it in any pipeline and
    /// a copy of its four maps take together, besides those for bodies.
    pub const BYTES_PER_BIN: usize = 24 + 12 * size_of::<T>();

    /// Returns an engine for `charge`; all its memory is allocated here, except for pipelines other
    /// than that of [`Engine::choice`], which are planned on first use.
    ///
    /// # Errors
    /// When a size or starting position is beyond what `T` can hold, when there is not enough
    /// memory, and when the threads cannot be started or are more than [`MAX_THREADS`].
    pub fn new(
        charge: impl Into<Arc<Charge>>,
        options: &EngineOptions,
    ) -> Result<Self, EngineError> {
        let charge = charge.into();
        check_range::<T>(&charge)?;
        // Not the map of the charge, nor the copies of four maps.
        Self::check_memory(&charge, Self::BYTES_PER_BIN - 8 - 4 * size_of::<T>())?;
        let pool = thread_pool(options.threads)?;
        let [nx, ny] = charge.stacked_bins();
        let (density, [force_x, force_y]) = Self::parts(&charge);
        let mut engine = CpuEngine {
            centered: Map::filled(nx, ny, T::zero()),
            solvers: [const { Vec::new() }; Pipeline::ALL.len()],
            fields: Fields::new(nx, ny),
            evaluations: vec![Evaluation::default(); charge.regions()],
            density,
            force_x,
            force_y,
            done: Done::Nothing,
            times: StageTimes::default(),
            choice: options.pipeline.map_or_else(fastest, Choice::asked_for),
            pool: Arc::new(pool),
            charge,
        };
        engine.plan(engine.choice.pipeline);
        Ok(engine)
    }

    /// Checks that there is memory for the bodies of `charge` and so many bytes for each bin of
    /// every region.
    fn check_memory(charge: &Charge, each: usize) -> Result<(), EngineError> {
        let [nx, ny] = charge.stacked_bins();
        Ok(require("the bins and bodies", (nx * ny * each + charge.bodies() * BODY) as u64)?)
    }

    /// Returns the parts made from a charge: the density, and buffers for forces along x and y.
    fn parts(charge: &Charge) -> (CpuDensity, [Vec<T>; 2]) {
        let room = || vec![T::zero(); charge.bodies()];
        (CpuDensity::centered(charge), [room(), room()])
    }

    /// Returns the number of threads it works with.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Returns the threads it works with.
    pub(crate) fn pool(&self) -> Arc<ThreadPool> {
        self.pool.clone()
    }

    /// Returns centered ρ, `nx × ny` for each region: ρ less [`Charge::backgrounds`]. This map is
    /// solved; [`Engine::read_map`] gives ρ itself.
    ///
    /// # Errors
    /// When the density was not computed for the current positions.
    pub fn centered_density(&self) -> Result<&Map<T>, EngineError> {
        self.done.require("the density", Done::Density)?;
        Ok(&self.centered)
    }

    /// Returns φ, Ex and Ey, `nx × ny` for each region.
    ///
    /// # Errors
    /// When the field was not solved for the current positions.
    pub fn fields(&self) -> Result<&Fields<T>, EngineError> {
        self.done.require("the field", Done::Solve)?;
        Ok(&self.fields)
    }

    /// Returns the forces along x and y, one per body ([`Engine::read_force`]).
    ///
    /// # Errors
    /// When the forces were not computed for the current positions.
    pub fn force(&self) -> Result<(&[T], &[T]), EngineError> {
        self.done.require("the forces", Done::Force)?;
        Ok((&self.force_x, &self.force_y))
    }

    /// Makes the solvers of a pipeline, if they are not there yet.
    fn plan(&mut self, pipeline: Pipeline) {
        let (threads, grid) = (self.pool.current_num_threads(), self.charge.grid());
        let solver = || Solver::new(&grid, pipeline, threads);
        self.solvers[pipeline as usize].resize_with(threads.min(self.charge.regions()), solver);
    }
}

/// Bytes of a body in an engine, about.
const BODY: usize = 80;

/// Bodies whose gradient or force one task writes, at least.
const AT_ONCE: usize = 1 << 14;

/// Measured with one and two threads, f32 and f64, from 1 × 1 to 2048², odd and prime sizes among
/// them: the three-pass solve is 1.1 to 4 times as fast as the fused one, except for maps of up to
/// three long rows (0.8 to 1.1).
fn fastest() -> Choice {
    Choice { pipeline: Pipeline::ThreePass, reason: "fastest on a CPU at every size".to_owned() }
}

/// Returns a pool of `threads` threads, or of as many as there are for 0.
///
/// # Errors
/// When they cannot be started or are more than [`MAX_THREADS`].
pub fn thread_pool(threads: usize) -> Result<ThreadPool, EngineError> {
    if threads > MAX_THREADS {
        let reason = format!("expected at most {MAX_THREADS}");
        return Err(EngineError::Threads { threads, reason });
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("placefield-{i}"))
        .build()
        .map_err(|e| EngineError::Threads {
            threads: if threads == 0 { available() } else { threads },
            reason: e.to_string(),
        })
}

/// Returns the number of threads that the system reports.
fn available() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

pub(crate) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

impl<T: Real> Engine<T> for CpuEngine<T> {
    fn charge(&self) -> &Charge {
        &self.charge
    }

    fn set_charge(&mut self, charge: Arc<Charge>) -> Result<(), EngineError> {
        check_same_grid(&self.charge, &charge)?;
        check_range::<T>(&charge)?;
        let maps = if charge.regions() == self.charge.regions() { 0 } else { 4 * size_of::<T>() };
        Self::check_memory(&charge, 16 + maps)?;
        let (density, [force_x, force_y]) = self.pool.install(|| Self::parts(&charge));
        (self.density, self.force_x, self.force_y) = (density, force_x, force_y);
        if charge.regions() != self.charge.regions() {
            let [nx, ny] = charge.stacked_bins();
            self.centered = Map::filled(nx, ny, T::zero());
            self.fields = Fields::new(nx, ny);
            self.evaluations = vec![Evaluation::default(); charge.regions()];
        }
        self.charge = charge;
        self.plan(self.choice.pipeline);
        self.done = Done::Nothing;
        Ok(())
    }

    fn descriptor(&self) -> Descriptor {
        let threads = self.threads();
        Descriptor {
            engine: "cpu",
            device: format!("{threads} thread{}", if threads == 1 { "" } else { "s" }),
        }
    }

    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn discard_positions(&mut self) {
        self.done = Done::Nothing;
    }

    fn set_positions(&mut self, x: &[T], y: &[T]) -> Result<(), EngineError> {
        self.discard_positions();
        check_lengths(self.charge.bodies(), &[("x positions", x.len()), ("y positions", y.len())])?;
        let density = &mut self.density;
        self.pool.install(|| {
            check_positions(x, y)?;
            density.set_positions(x, y);
            Ok::<(), EngineError>(())
        })?;
        self.done = Done::Positions;
        Ok(())
    }

    fn set_positions_in(&mut self, layout: Layout, positions: &[T]) -> Result<(), EngineError> {
        self.discard_positions();
        let (bodies, density) = (self.charge.bodies(), &mut self.density);
        self.pool.install(|| {
            check_positions_in(bodies, layout, positions)?;
            density.set_positions_in(layout, positions);
            Ok::<(), EngineError>(())
        })?;
        self.done = Done::Positions;
        Ok(())
    }

    fn compute_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the density", Done::Positions)?;
        let start = Instant::now();
        let (density, centered) = (&mut self.density, &mut self.centered);
        let stats = self.pool.install(|| density.smoothed_here(centered));
        for (evaluation, of_region) in self.evaluations.iter_mut().zip(density.stats()) {
            (evaluation.density, evaluation.area_off_die) = of_region;
        }
        self.times.density = milliseconds(start);
        self.done = Done::Density;
        Ok(stats)
    }

    fn exact_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the exact density", Done::Positions)?;
        let density = &mut self.density;
        Ok(self.pool.install(|| density.exact_here()))
    }

    fn solve(&mut self, pipeline: Pipeline) -> Result<f64, EngineError> {
        self.done.require("the field", Done::Density)?;
        self.done = Done::Density;
        self.plan(pipeline);
        let solvers = &mut self.solvers[pipeline as usize];
        let (bins, each) =
            (self.charge.grid().bins(), self.charge.regions().div_ceil(solvers.len()));
        let (centered, evaluations) = (self.centered.as_slice(), &mut self.evaluations);
        let FieldSlices { potential, field_x, field_y } = (&mut self.fields).into();
        let [phi, ex, ey] = [potential, field_x, field_y].map(|map| chunks_mut(map, each * bins));
        let maps = (chunks(centered, each * bins), phi, ex, ey);
        let shares = (maps, chunks_mut(evaluations, each), each_mut(solvers));
        let solve = |solver: &mut Solver<T>, maps, evaluations: &mut [Evaluation]| {
            let (rho, phi, ex, ey): (&[T], &mut [T], &mut [T], &mut [T]) = maps;
            let [phi, ex, ey] = [phi, ex, ey].map(|map| map.chunks_mut(bins));
            let maps = rho.chunks(bins).zip(phi).zip(ex).zip(ey);
            let mut times = SolveTimes::default();
            for ((((rho, potential), field_x), field_y), evaluation) in maps.zip(evaluations) {
                let fields = FieldSlices { potential, field_x, field_y };
                let (energy, took) = solver.solve_slices(rho, fields)?;
                evaluation.energy = energy;
                times.forward += took.forward;
                times.inverse += took.inverse;
            }
            Ok::<_, EngineError>(times)
        };
        // Not a list of all shares' times: an iteration allocates nothing.
        let solved = Mutex::new(Ok(SolveTimes::default()));
        self.pool.install(|| {
            parallel::for_each(shares, |_, (maps, evaluations, solver)| {
                let share = solve(solver, maps, evaluations);
                let mut solved = solved.lock().unwrap_or_else(PoisonError::into_inner);
                match (&mut *solved, share) {
                    (Ok(times), Ok(share)) => *times = times.at_least(share),
                    (_, Err(error)) => *solved = Err(error),
                    (Err(_), Ok(_)) => (),
                }
            });
        });
        let times = solved.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        self.times.forward = times.forward;
        self.times.inverse = times.inverse;
        self.done = Done::Solve;
        Ok(self.evaluations.iter().map(|region| region.energy).sum())
    }

    fn compute_force(&mut self) -> Result<(), EngineError> {
        self.done.require("the force", Done::Solve)?;
        let start = Instant::now();
        let (ex, ey) = (&self.fields.field_x, &self.fields.field_y);
        let (fx, fy) = (&mut self.force_x, &mut self.force_y);
        let density = &mut self.density;
        self.pool.install(|| density.force(ex, ey, fx, fy));
        self.times.force = milliseconds(start);
        self.done = Done::Force;
        Ok(())
    }

    fn evaluate(&mut self, x: &[T], y: &[T]) -> Result<Evaluation, EngineError> {
        self.set_positions(x, y)?;
        let density = self.compute_density()?;
        let energy = self.solve(self.choice.pipeline)?;
        self.compute_force()?;
        Ok(Evaluation { density, energy, area_off_die: self.density.area_off_die() })
    }

    fn read_regions(&mut self, out: &mut [Evaluation]) -> Result<(), EngineError> {
        self.done.require("the regions' evaluations", Done::Solve)?;
        check_lengths(self.charge.regions(), &[("evaluations of regions", out.len())])?;
        out.copy_from_slice(&self.evaluations);
        Ok(())
    }

    fn read_map(&mut self, kind: MapKind, out: &mut Map<T>) -> Result<(), EngineError> {
        let (map, needs) = match kind {
            MapKind::Density => (&self.centered, Done::Density),
            MapKind::Potential => (&self.fields.potential, Done::Solve),
            MapKind::FieldX => (&self.fields.field_x, Done::Solve),
            MapKind::FieldY => (&self.fields.field_y, Done::Solve),
        };
        self.done.require(kind.name(), needs)?;
        check_bins([map.nx(), map.ny()], out)?;
        out.as_mut_slice().copy_from_slice(map.as_slice());
        let maps = out.as_mut_slice().chunks_mut(self.charge.grid().bins());
        maps.zip(self.density.backgrounds()).for_each(|(map, b)| add_background(kind, b, map));
        Ok(())
    }

    fn read_force(&mut self, fx: &mut [T], fy: &mut [T]) -> Result<(), EngineError> {
        self.done.require("the forces' read-back", Done::Force)?;
        check_lengths(self.charge.bodies(), &[("x forces", fx.len()), ("y forces", fy.len())])?;
        self.pool.install(|| {
            for (to, from) in [(fx, &self.force_x), (fy, &self.force_y)] {
                let parts = (chunks_mut(to, AT_ONCE), chunks(from, AT_ONCE));
                parallel::for_each(parts, |_, (to, from)| to.copy_from_slice(from));
            }
        });
        Ok(())
    }

    fn write_gradient(
        &mut self,
        gradient: &mut [T],
        options: &GradientOptions,
    ) -> Result<(), EngineError> {
        self.done.require("the gradient", Done::Force)?;
        let bodies = self.charge.bodies();
        check_lengths(2 * bodies, &[("gradient", gradient.len())])?;
        check_weight::<T>(options, self.charge.regions())?;
        let region = self.charge.region_of_bodies();
        let of_region = options.region_weights;
        self.pool.install(|| match *of_region {
            [] | [_] => {
                let weight = T::cast(options.first_weight());
                self.put_gradient(gradient, options, |_| weight);
            }
            _ => self.put_gradient(gradient, options, |i| {
                T::cast(options.weight * of_region[region[i] as usize])
            }),
        });
        Ok(())
    }
}

impl<T: Real> CpuEngine<T> {
    /// Writes the forces times the weight of each body to a gradient of two values per body, or
    /// adds them.
    fn put_gradient(
        &self,
        gradient: &mut [T],
        options: &GradientOptions,
        weight: impl Fn(usize) -> T + Sync,
    ) {
        let (fx, fy) = (&self.force_x, &self.force_y);
        let put = |to: &mut T, i: usize, force: T| {
            let value = weight(i) * force;
            *to = if options.accumulate { *to + value } else { value };
        };
        match options.layout {
            Layout::Halves => {
                let (x, y) = gradient.split_at_mut(fx.len());
                for (to, from) in [(x, fx), (y, fy)] {
                    let parts = (chunks_mut(to, AT_ONCE), chunks(from, AT_ONCE));
                    parallel::for_each(parts, |part, (to, from)| {
                        for ((i, to), &force) in (part * AT_ONCE..).zip(to).zip(from) {
                            put(to, i, force);
                        }
                    });
                }
            }
            Layout::Pairs => {
                let parts = chunks_mut(gradient, 2 * AT_ONCE);
                parallel::for_each(parts, |part, to| {
                    for (i, to) in (part * AT_ONCE..).zip(to.chunks_exact_mut(2)) {
                        put(&mut to[0], i, fx[i]);
                        put(&mut to[1], i, fy[i]);
                    }
                });
            }
        }
    }
}

impl<T: Real> Timed<T> for CpuEngine<T> {
    fn times(&self) -> StageTimes {
        self.times
    }

    /// `None`: steps are not replayed as graphs here.
    fn step_times(&mut self, _: Pipeline, _: usize) -> Result<Option<StepTimes>, EngineError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
