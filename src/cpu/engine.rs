//! The CPU engine: density, solve and force on a thread pool of its own.

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
            density.place(x, y);
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
            density.place_in(layout, positions);
            Ok::<(), EngineError>(())
        })?;
        self.done = Done::Positions;
        Ok(())
    }

    fn compute_density(&mut self) -> Result<DensityStats, EngineError> {
        self.done.require("the density", Done::Positions)?;
        let start = Instant::now();
        let (density, centered) = (&mut self.density, &mut self.centered);
        let stats = self.pool.install(|| density.smoothed_of_placed(centered));
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
        Ok(self.pool.install(|| density.exact_of_placed()))
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
                let weight = T::of(options.first_weight());
                self.put_gradient(gradient, options, |_| weight);
            }
            _ => self.put_gradient(gradient, options, |i| {
                T::of(options.weight * of_region[region[i] as usize])
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
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};
    use crate::grid::{BinGrid, Rect};

    fn engine() -> CpuEngine<f64> {
        let grid = BinGrid::new(Rect::at(0.0, 0.0, 8.0, 8.0), 8, 8).unwrap();
        let cells = Rectangles {
            width: &[1.0, 2.0],
            height: &[1.0, 1.0],
            x: &[1.0, 3.0],
            y: &[2.0, 5.0],
            ..Rectangles::default()
        };
        let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
        CpuEngine::new(charge, &EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap()
    }

    #[test]
    fn stages_out_of_order_are_errors() {
        let mut e = engine();
        let mut map = Map::filled(8, 8, 0.0);
        assert!(e.compute_density().is_err());
        e.set_positions(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
        assert!(e.solve(Pipeline::Fused).is_err());
        e.compute_density().unwrap();
        assert!(e.read_map(MapKind::Density, &mut map).is_ok());
        let error = e.read_map(MapKind::FieldX, &mut map).unwrap_err();
        assert_eq!(error.to_string(), "field_x was asked for before the field was solved");
        e.solve(Pipeline::Fused).unwrap();
        assert!(e.read_force(&mut [0.0; 2], &mut [0.0; 2]).is_err());
        // New positions make everything that followed from the old ones stale.
        e.compute_force().unwrap();
        e.set_positions(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
        assert!(e.read_force(&mut [0.0; 2], &mut [0.0; 2]).is_err());
    }

    #[test]
    fn a_pipeline_left_open_is_three_pass() {
        assert_eq!(engine().choice(), &fastest());
        let pipeline = Some(Pipeline::RowColumn);
        let options = EngineOptions { pipeline, threads: 1, ..EngineOptions::default() };
        let asked = CpuEngine::<f64>::new(engine().charge, &options).unwrap();
        assert_eq!(asked.choice(), &Choice::asked_for(Pipeline::RowColumn));
        assert!(asked.solvers[Pipeline::ThreePass as usize].is_empty());
    }

    #[test]
    fn too_many_threads_or_too_wide_cells_fail() {
        let charge = engine().charge;
        let threads = MAX_THREADS + 1;
        let options = EngineOptions { threads, ..EngineOptions::default() };
        let error = CpuEngine::<f64>::new(charge.clone(), &options).unwrap_err();
        assert_eq!(error.to_string(), "cannot start 1025 threads: expected at most 1024");
        let grid = charge.grid();
        let (width, height, x, y) = ([1.0, 1e39], [1.0; 2], [1.0, 3.0], [2.0, 5.0]);
        let cells = Rectangles::movable(&width, &height, &x, &y);
        let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
        let error = CpuEngine::<f32>::new(charge, &EngineOptions::default()).unwrap_err();
        let want = "width of body 1: 1e39: expected a number within the range of f32";
        assert_eq!(error.to_string(), want);
    }

    #[test]
    fn a_map_of_other_bins_is_refused() {
        let mut e = engine();
        e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
        for kind in MapKind::ALL {
            e.read_map(kind, &mut Map::filled(8, 8, 0.0)).unwrap();
            // As many bins, but not the same.
            let error = e.read_map(kind, &mut Map::filled(16, 4, 0.0)).unwrap_err();
            assert_eq!(error.to_string(), "bins of the map along x: 16 values, expected 8");
        }
    }

    #[test]
    fn bad_positions_leave_the_engine_usable() {
        let mut e = engine();
        assert!(e.evaluate(&[1.0], &[2.0, 5.0]).is_err());
        let error = e.evaluate(&[1.0, 2.0], &[2.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "y of body 1: NaN: expected a finite number");
        assert!(e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).is_ok());
    }

    /// Cells wholly and partly off the die, a macro that counts its target density, and a cell that
    /// only rounding moves beyond the die's edge: against areas by hand, and in f32.
    #[test]
    fn area_off_the_die_is_overflow() {
        let grid = BinGrid::new(Rect::at(-3.0, 2.0, 7.4, 16.0), 8, 8).unwrap();
        let (width, height) = ([1.0, 4.0, 3.0, 2.0], [1.5, 2.0, 5.0, 2.0]);
        let at = |x: [f64; 4], y: [f64; 4]| {
            let cells = Rectangles::movable(&width, &height, &x, &y)
                .macros(&[false, false, true, false][..]);
            let options = ChargeOptions::default().target_density(0.8);
            let charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
            let mut wide =
                CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();
            let mut narrow =
                CpuEngine::<f32>::new(charge.clone(), &EngineOptions::default()).unwrap();
            let found = wide.evaluate(&x, &y).unwrap();
            let [x32, y32] = [x, y].map(|values| values.map(|v| v as f32));
            let single = narrow.evaluate(&x32, &y32).unwrap();
            assert!((single.area_off_die - found.area_off_die).abs() < 1e-5);
            assert_eq!(single.area_off_die == 0.0, found.area_off_die == 0.0);
            let mut of_region = [Evaluation::default()];
            wide.read_regions(&mut of_region).unwrap();
            assert_eq!(of_region, [found]);
            let exact = wide.exact_density().unwrap().overflow;
            (found.area_off_die, found.density.overflow, exact, charge)
        };
        // On the die up to its edges; f32 rounds 3.4 up.
        let inside = at([3.4, 0.0, 1.4, -3.0], [2.0, 16.0, 13.0, 2.0]);
        assert_eq!(inside.0, 0.0);
        // 1.5 of the first, three quarters of the second, 5 of the macro and none of the last.
        let [x, y] = [[-4.0, -6.0, 2.4, 0.0], [3.0, 5.0, 9.0, 5.0]];
        let (area, overflow, exact, charge) = at(x, y);
        assert!((area - (1.5 + 6.0 + 5.0)).abs() < 1e-12, "{area}");
        assert!((area - charge.clipped_area(&x, &y).area).abs() < 1e-12);
        let share = area / charge.movable_area();
        assert!(overflow >= share && exact >= share, "{overflow} {exact} {share}");
        // Everything is off the die, near and far.
        for far in [-20.0, -1e6] {
            let (area, overflow, exact, charge) = at([far; 4], y);
            for share in [area / charge.movable_area(), overflow, exact] {
                assert!((share - 1.0).abs() < 1e-12, "{share}");
            }
        }
    }

    fn is_out_of_order<R>(result: Result<R, EngineError>) -> bool {
        matches!(result, Err(EngineError::OutOfOrder { .. }))
    }

    /// Whether every result is out of order.
    fn has_no_results(e: &mut CpuEngine<f64>) -> bool {
        let (mut map, mut one) = (Map::filled(8, 8, 0.0), [Evaluation::default()]);
        let options = GradientOptions::default();
        MapKind::ALL.into_iter().all(|kind| is_out_of_order(e.read_map(kind, &mut map)))
            && is_out_of_order(e.exact_density())
            && is_out_of_order(e.read_regions(&mut one))
            && is_out_of_order(e.read_force(&mut [0.0; 2], &mut [0.0; 2]))
            && is_out_of_order(e.write_gradient(&mut [0.0; 4], &options))
            && is_out_of_order(e.centered_density())
            && is_out_of_order(e.fields())
            && is_out_of_order(e.force())
    }

    #[test]
    fn results_belong_to_the_positions_last_given() {
        let mut e = engine();
        assert!(has_no_results(&mut e), "before the first evaluation");
        let refused: [(&[f64], &[f64]); 3] =
            [(&[1.0], &[2.0, 5.0]), (&[1.0, f64::NAN], &[2.0, 5.0]), (&[1.0; 2], &[0.0; 3])];
        for (x, y) in refused {
            e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
            assert!(e.force().is_ok() && e.fields().is_ok() && e.centered_density().is_ok());
            assert!(e.evaluate(x, y).is_err());
            assert!(has_no_results(&mut e), "{x:?} {y:?}");
        }
        for positions in [&[1.0; 3][..], &[f64::INFINITY; 4]] {
            e.evaluate(&[1.0, 3.0], &[2.0, 5.0]).unwrap();
            assert!(e.set_positions_in(Layout::Pairs, positions).is_err());
            assert!(has_no_results(&mut e), "{positions:?}");
        }
    }
}
