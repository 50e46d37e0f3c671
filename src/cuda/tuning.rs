//! Measures on a device how lines are best divided.
//!
//! [`tune`] times whole solves, and pairs of a DCT and an IDCT, with every division of the
//! lines of one pass while the others stay as they are. A candidate must give the seed's results
//! first: wrong kernels are fast.

use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, Graph, measure};
use crate::cuda::lines::measured::Tuned;
use crate::cuda::lines::{
    Arrays, Instance, LineTransform, Role, Shape, Shapes, SpectrumStorage, candidates, compile,
};
use crate::cuda::solve::{FieldSolver, Fields, ThreePass};
use crate::grid::{BinGrid, Rect};

/// Values of a map that are compared with the seed's: so many from each of so many places.
const COMPARED: usize = 1 << 13;
const SAMPLES: usize = 8;
/// Number of the fastest coarse divisions whose details are then varied.
const BEST: usize = 4;
/// Candidates that are compiled at once.
const AT_ONCE: usize = 32;
/// Faster by less than this is not better.
const NOISE: f64 = 0.995;

/// Times every division of the lines of n elements of an n × n map, in precision `T`: the
/// passes of the solve and those of single transforms. Calls `done` for each pass.
///
/// # Errors
/// When the device cannot have such lines, or memory runs out, or the table's own choice fails.
pub fn tune<T: CudaReal>(
    gpu: &Gpu,
    n: usize,
    mut done: impl FnMut(&Tuned),
) -> Result<Vec<Tuned>, CudaError> {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, n as f64, n as f64), n, n).map_err(|_| {
        CudaError::NoTransform { shape: vec![n, n], batch: 1, reason: "expected bins" }
    })?;
    // Any numbers will do that are neither all alike nor all small or large.
    let values = (0..n * n).map(|k| T::cast((k as f64 * 0.618_033_988_75).fract() - 0.5));
    let map = gpu.upload(&values.collect::<Vec<T>>())?;
    let mut shapes = Shapes::from_table(gpu)?;
    let mut rows = Vec::new();
    for role in [Role::Solve, Role::Fields, Role::Rows, Role::Columns] {
        if let Some(row) = best(gpu, &mut shapes, role, &grid, &map)? {
            done(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The work timed for a role: a solve, a DCT and an IDCT_IDXST of its output, or both.
struct Subject<T: CudaReal> {
    solve: Option<(ThreePass<T>, Fields<T>)>,
    /// Each with its result, which the next one reads.
    transforms: Vec<(LineTransform<T>, DeviceVec<T>)>,
}

impl<T: CudaReal> Subject<T> {
    /// Returns whether passes of this role are in solves and in transforms.
    fn parts(role: Role) -> [bool; 2] {
        [role != Role::Columns, matches!(role, Role::Rows | Role::Columns)]
    }

    /// Returns the transforms.
    fn arrays<'a>(role: Role, shape: &'a [usize]) -> impl Iterator<Item = Arrays<'a>> {
        let [_, transforms] = Self::parts(role);
        let directions = [true, false].into_iter().filter(move |_| transforms);
        directions.map(move |forward| Arrays { forward, sines: &[false, true], shape, batch: 1 })
    }

    /// Returns the instances that it needs.
    fn instances(role: Role, shapes: &Shapes, grid: &BinGrid) -> Vec<Instance> {
        let ([solve, _], shape) = (Self::parts(role), [grid.nx(), grid.ny()]);
        let solve = solve.then(|| ThreePass::<T>::instances(shapes, grid, 1)).into_iter();
        let transforms = Self::arrays(role, &shape)
            .filter_map(|arrays| LineTransform::<T>::instances::<T>(shapes, &arrays));
        solve.flatten().flatten().chain(transforms.flat_map(|(_, all)| all)).collect()
    }

    fn new(gpu: &Gpu, role: Role, shapes: &Shapes, grid: &BinGrid) -> Result<Self, CudaError> {
        let ([solve, _], shape) = (Self::parts(role), [grid.nx(), grid.ny()]);
        let plan = |arrays| {
            let plan = LineTransform::shaped::<T>(gpu, shapes, &arrays)?;
            let reason = "no lines of this length on this device";
            let none = || CudaError::NoTransform { shape: shape.to_vec(), batch: 1, reason };
            Ok((plan.ok_or_else(none)?, gpu.zeros(grid.bins())?))
        };
        let solver = || -> Result<_, CudaError> {
            Ok((ThreePass::shaped(gpu, shapes, grid, 1)?, Fields::new(gpu, grid.bins())?))
        };
        let transforms = Self::arrays(role, &shape).map(plan).collect::<Result<_, CudaError>>()?;
        Ok(Subject { solve: solve.then(solver).transpose()?, transforms })
    }

    fn run(&mut self, map: &DeviceVec<T>) -> Result<(), CudaError> {
        if let Some((solver, fields)) = &mut self.solve {
            solver.solve(map, fields)?;
        }
        let mut from = map;
        for (plan, result) in &mut self.transforms {
            plan.run(from.as_view(), result.as_view_mut(), None)?;
            from = result;
        }
        Ok(())
    }

    fn results(&mut self) -> Vec<&mut DeviceVec<T>> {
        let mut all = Vec::new();
        if let Some((_, Fields { potential, field_x, field_y, .. })) = &mut self.solve {
            all.extend([potential, field_x, field_y]);
        }
        all.extend(self.transforms.iter_mut().map(|(_, result)| result));
        all
    }
}

/// Returns some values of every result, after a run on results that are NaN in those places.
fn sampled<T: CudaReal>(
    gpu: &Gpu,
    subject: &mut Subject<T>,
    map: &DeviceVec<T>,
) -> Result<Vec<f64>, CudaError> {
    let places: Vec<_> = (0..SAMPLES)
        .map(|k| k * (map.len() / SAMPLES))
        .map(|start| start..(start + COMPARED).min(map.len()))
        .collect();
    for result in subject.results() {
        for place in &places {
            gpu.write(&vec![T::nan(); place.len()], result.slice_mut(place.clone()))?;
        }
    }
    subject.run(map)?;
    let mut values = Vec::new();
    for result in subject.results() {
        for place in &places {
            let part: Vec<T> = gpu.download(result.slice(place.clone()))?;
            values.extend(part.into_iter().map(T::widen));
        }
    }
    Ok(values)
}

/// Returns the microseconds of a run: the median of several replays of a graph.
fn time<T: CudaReal>(
    gpu: &Gpu,
    subject: &mut Subject<T>,
    map: &DeviceVec<T>,
) -> Result<f64, CudaError> {
    let runs = if map.len() > 1 << 24 { 2 } else { 10 };
    // SAFETY: the graph is dropped here, before what it works on.
    let mut graph =
        unsafe { Graph::capture(gpu, || (0..runs).try_for_each(|_| subject.run(map))) }?;
    Ok(measure(gpu, 7, 1, || graph.launch())?.median / runs as f64)
}

/// Returns the properties shared by candidates that differ in details alone.
fn kind(shape: &Shape) -> (usize, usize, bool, SpectrumStorage) {
    (shape.elements, shape.lanes, shape.split, shape.keep)
}

/// Returns one of each kind, as like the seed in the small as there is.
fn kinds(all: &[Shape], seed: &Shape) -> Vec<Shape> {
    let unlike = |shape: &Shape| {
        let recompute = u32::from(shape.recompute != seed.recompute);
        recompute + u32::from(shape.resident != seed.resident)
    };
    let mut found: Vec<Shape> = Vec::new();
    for shape in all {
        match found.iter_mut().find(|other| kind(other) == kind(shape)) {
            Some(other) if unlike(shape) < unlike(other) => *other = *shape,
            Some(_) => {}
            None => found.push(*shape),
        }
    }
    found
}

/// The candidates for one pass, and their times.
struct Trial<'a, T: CudaReal> {
    gpu: &'a Gpu,
    shapes: &'a Shapes,
    role: Role,
    grid: &'a BinGrid,
    map: &'a DeviceVec<T>,
    /// The seed's results, and how far others may be off.
    want: Vec<f64>,
    limit: f64,
    /// Microseconds; the seed first.
    timed: Vec<(f64, Shape)>,
    failed: usize,
}

impl<T: CudaReal> Trial<'_, T> {
    /// Times `candidates`, those that are timed already left out.
    fn time(&mut self, mut candidates: Vec<Shape>) -> Result<(), CudaError> {
        candidates.retain(|shape| self.timed.iter().all(|(_, other)| other != shape));
        for some in candidates.chunks(AT_ONCE) {
            let of = |shape| Subject::<T>::instances(self.role, &self.with(shape), self.grid);
            let instances: Vec<_> = some.iter().flat_map(of).collect();
            // Candidates that fail do so again when they are launched.
            let _ = compile::<T>(self.gpu, &instances);
            for shape in some {
                match self.candidate(shape) {
                    Ok(Some(microseconds)) => self.timed.push((microseconds, *shape)),
                    Ok(None) | Err(CudaError::Compile { .. }) => self.failed += 1,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Returns the microseconds; `None` if the results differ from the seed's.
    fn candidate(&self, shape: &Shape) -> Result<Option<f64>, CudaError> {
        let mut subject = self.subject(shape)?;
        let got = sampled(self.gpu, &mut subject, self.map)?;
        let squares = got.iter().zip(&self.want).map(|(a, b)| (a - b) * (a - b));
        let error = (squares.sum::<f64>() / self.want.len() as f64).sqrt();
        // NaN is no agreement.
        match error <= self.limit {
            true => time(self.gpu, &mut subject, self.map).map(Some),
            false => Ok(None),
        }
    }

    /// Returns the shapes with this one.
    fn with(&self, shape: &Shape) -> Shapes {
        self.shapes.clone().with(*shape)
    }

    /// Returns the work that is timed with this shape.
    fn subject(&self, shape: &Shape) -> Result<Subject<T>, CudaError> {
        Subject::new(self.gpu, self.role, &self.with(shape), self.grid)
    }

    /// Returns the fastest so far, the seed left out.
    fn fastest(&self, count: usize) -> Vec<Shape> {
        let mut others = self.timed[1..].to_vec();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        others.into_iter().take(count).map(|(_, shape)| shape).collect()
    }
}

/// Returns the best shape for one pass, which `shapes` has from then on.
fn best<T: CudaReal>(
    gpu: &Gpu,
    shapes: &mut Shapes,
    role: Role,
    grid: &BinGrid,
    map: &DeviceVec<T>,
) -> Result<Option<Tuned>, CudaError> {
    let n = grid.nx();
    let Some(seed) = shapes.choose::<T>(role, (n, n / 2)) else { return Ok(None) };
    let mut seeded = Subject::new(gpu, role, shapes, grid)?;
    let want = sampled(gpu, &mut seeded, map)?;
    let size = (want.iter().map(|v| v * v).sum::<f64>() / want.len() as f64).sqrt();
    let limit = size * T::epsilon().widen() * 64.0;
    let timed = vec![(time(gpu, &mut seeded, map)?, seed)];
    let all = candidates(role, size_of::<T>(), n, shapes.limits);
    let mut trial = Trial { gpu, shapes, role, grid, map, want, limit, timed, failed: 0 };
    trial.time(kinds(&all, &seed))?;
    let mut near: Vec<_> = trial.fastest(BEST).iter().map(kind).collect();
    near.push(kind(&seed));
    trial.time(all.into_iter().filter(|shape| near.contains(&kind(shape))).collect())?;
    // The nearest ones once more, in turns with the seed.
    let mut last: Vec<(f64, Shape)> =
        [seed].into_iter().chain(trial.fastest(BEST)).map(|shape| (f64::INFINITY, shape)).collect();
    for _ in 0..3 {
        for (microseconds, shape) in &mut last {
            let mut subject = trial.subject(shape)?;
            *microseconds = time(gpu, &mut subject, map)?.min(*microseconds);
        }
    }
    let (table, _) = last[0];
    let &(least, shape) =
        last.iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("the seed is among them");
    let (least, shape) = if least < NOISE * table { (least, shape) } else { (table, seed) };
    let counts = [trial.timed.len(), trial.failed];
    *shapes = shapes.clone().with(shape);
    Ok(Some(Tuned::new(&shape, [least, table], counts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::lines::{Limits, choose};

    const LIMITS: Limits = Limits { shared: 227 << 10, threads: 2048 };

    #[test]
    fn one_of_each_kind_is_tried_first() {
        let seed = choose(Role::Rows, 8, (1024, 512), LIMITS).unwrap();
        let all = candidates(Role::Rows, 8, 1024, LIMITS);
        let first = kinds(&all, &seed);
        assert!(first.len() < all.len() && first.len() > 4);
        for shape in &first {
            assert_eq!(first.iter().filter(|other| kind(other) == kind(shape)).count(), 1);
        }
        let like = |shape: &&Shape| kind(shape) == kind(&seed);
        let alike = first.iter().find(like).unwrap();
        assert_eq!((alike.recompute, alike.blocks(LIMITS)), (seed.recompute, seed.blocks(LIMITS)));
    }
}
