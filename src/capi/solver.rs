//! The field solve alone.

use super::memory::{Span, optional, output, outputs, plain, values};
use super::status::{ErrorText, Failure, Status, call};
use super::{Checked, Grid, Options, handles, in_precision, options};
use crate::cpu::solve::FieldSlices;
use crate::engines::EngineReal;
use crate::ffi::{HostSolver, open_solver};
use crate::grid::BinGrid;
use crate::real::{Precision, Real};
use std::any::Any;
use std::ffi::c_void;

/// A field solve planned for one grid, on one device, in one precision.
pub struct SolverHandle;

pub(super) fn wrong_precision<T: Real>(what: &str) -> Failure {
    let message = format!("the {what} was not made for {}", T::PRECISION);
    Failure::new(Status::WrongPrecision, message)
}

/// The object of a handle.
struct OnGrid {
    grid: BinGrid,
    /// A `Box<dyn HostSolver<T>>` of its precision.
    solver: Box<dyn Any + Send>,
}

/// Plans the solve of densities on `grid`. Freed by placefield_solver_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_solver_new(
    grid: *const Grid,
    options: *const Options,
    solver: *mut *mut SolverHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        let inputs = [Span::new(grid, 1, "grid"), Span::new(options, 1, "options")];
        let grid = plain(grid, "grid")?.checked()?;
        let Checked { precision, device, engine } = self::options(options)?;
        let solver = output(solver, "solver", &inputs)?;
        let planned: Box<dyn Any + Send> = match precision {
            Precision::F32 => Box::new(open_solver::<f32>(&grid, device, &engine)?),
            Precision::F64 => Box::new(open_solver::<f64>(&grid, device, &engine)?),
        };
        solver.write(handles::add(OnGrid { grid, solver: planned }));
        Ok(())
    })
}

/// Frees a solver. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_solver_free(
    solver: *mut SolverHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || handles::remove::<OnGrid, _>(solver, "solver"))
}

/// Computes φ, Ex and Ey of `density`: four maps of nx × ny values in host memory that do not
/// overlap. `bins` is nx · ny. φ is in bin widths squared, E in bin widths. `energy`, if not NULL,
/// is Σ φ·ρ. Does not change `density`. Waits until all is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_solver_solve(
    solver: *mut SolverHandle,
    precision: i32,
    density: *const c_void,
    potential: *mut c_void,
    field_x: *mut c_void,
    field_y: *mut c_void,
    bins: usize,
    energy: *mut f64,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        let fields = [potential.cast(), field_x.cast(), field_y.cast()];
        solve::<T>(solver, density.cast(), fields, bins, energy, error)
    })
}

unsafe fn solve<T: EngineReal>(
    solver: *mut SolverHandle,
    density: *const T,
    [potential, field_x, field_y]: [*mut T; 3],
    bins: usize,
    energy: *mut f64,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        handles::with(solver, "solver", |OnGrid { grid, solver }: &mut OnGrid| {
            let solver = solver.downcast_mut::<Box<dyn HostSolver<T>>>();
            let solver = solver.ok_or_else(|| wrong_precision::<T>("solver"))?;
            // Before any of the memory is looked at: a wrong length is not believed.
            check_bins(grid, 1, bins)?;
            let input = Span::new(density, bins, "density");
            let places = [(potential, "potential"), (field_x, "field_x"), (field_y, "field_y")];
            let others = [input, Span::new(energy, 1, "energy")];
            let density = values(density, bins, "density")?;
            let [potential, field_x, field_y] = outputs(places, bins, &others)?;
            let energy = optional(energy, "energy", &[input])?;
            let fields = FieldSlices { potential, field_x, field_y };
            let found = solver.solve(density, fields)?;
            energy.into_iter().for_each(|to| to.write(found));
            Ok(())
        })
    })
}

/// An error unless `bins` is that of so many maps over the grid.
pub(super) fn check_bins(grid: &BinGrid, maps: usize, bins: usize) -> Result<(), Failure> {
    if bins == maps * grid.bins() {
        return Ok(());
    }
    let maps = if maps == 1 { String::new() } else { format!("{maps} × ") };
    let message = format!("{bins} bins, expected {maps}{} × {}", grid.nx(), grid.ny());
    Err(Failure::new(Status::BadLength, message))
}
