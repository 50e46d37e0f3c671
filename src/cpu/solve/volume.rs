//! The field solve in three dimensions, for placers of stacked dies.

use super::composed::Composed;
use crate::memory::require;
use crate::real::Real;
use crate::spectral::{Spectrum, check_bin};
use crate::transform::{LengthError, Method, ShapeError, check_length, check_shape};

/// Where a solve in three dimensions puts its results, each `nx × ny × nz` values, z contiguous.
#[derive(Debug)]
pub struct VolumeFields<'a, T> {
    /// φ, in bin widths (along x) squared.
    pub potential: &'a mut [T],
    /// E along x, y and z, in bin widths (along x).
    pub field: [&'a mut [T]; 3],
}

/// A planned solve of densities of `nx × ny × nz` bins, z contiguous. No call allocates.
///
/// φ solves `∇²φ = −(ρ − mean ρ)` with zero normal derivative on all six faces, and E = −∇φ; the
/// unit of length is a bin's along x (see [`spectral`](crate::spectral)). It is composed of one DCT
/// and four inverse transforms of three dimensions. Work is spread over the rayon pool it is called
/// in.
///
/// ```
/// use placefield::cpu::solve::{VolumeFields, VolumeSolver};
/// use placefield::transform::Method;
///
/// // Two dies of 32 × 24 bins, a full bin on the lower one; bins are 10 × 10 × 40 units.
/// let shape = [32, 24, 2];
/// let bins = 32 * 24 * 2;
/// let mut rho = vec![0.0; bins];
/// rho[(10 * 24 + 12) * 2] = 1.0;
/// let mut solver = VolumeSolver::<f64>::new(shape, [10.0, 10.0, 40.0], Method::Fastest, 0)?;
/// let (mut phi, mut x, mut y, mut z) = (rho.clone(), rho.clone(), rho.clone(), rho.clone());
/// let fields = VolumeFields { potential: &mut phi, field: [&mut x, &mut y, &mut z] };
/// let energy = solver.solve(&rho, fields)?;
/// assert!(energy > 0.0);
/// // The field points away from the full bin: up, onto the other die.
/// assert!(z[(10 * 24 + 12) * 2] > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct VolumeSolver<T: Real> {
    bins: usize,
    solve: Composed<T>,
}

impl<T: Real> VolumeSolver<T> {
    /// Plans a solve of `shape` bins, of which each is `bin` long along x, y and z, for a pool of
    /// `threads` threads, or for 0 of as many as the pool has that this is called in. Only the ratios
    /// of `bin` matter.
    ///
    /// # Errors
    /// When a size is zero, the sizes are beyond any memory, there is not enough of it, or a length
    /// is not above zero and finite.
    pub fn new(
        shape: [usize; 3],
        bin: [f64; 3],
        method: Method,
        threads: usize,
    ) -> Result<Self, ShapeError> {
        let bins = check_shape(&shape, 1)?;
        check_bin(bin)?;
        // The spectrum, its copy in panels, tables of every bin of a layer.
        let values = (2 * bins as u64).saturating_add(24 * (shape[1] * shape[2]) as u64);
        require("the arrays of the solve", values * size_of::<T>() as u64)?;
        let threads = if threads == 0 { rayon::current_num_threads() } else { threads };
        let spectrum = Spectrum::of_bins(&shape, &bin);
        Ok(VolumeSolver { bins, solve: Composed::new(&spectrum, method, threads) })
    }

    /// Computes φ and E of `rho`; returns the energy Σ φ·ρ.
    ///
    /// # Errors
    /// When a slice does not have `nx × ny × nz` values.
    pub fn solve(&mut self, rho: &[T], fields: VolumeFields<'_, T>) -> Result<f64, LengthError> {
        let VolumeFields { potential, mut field } = fields;
        check_length("density", self.bins, rho.len())?;
        check_length("potential", self.bins, potential.len())?;
        for (name, field) in ["field along x", "field along y", "field along z"].iter().zip(&field)
        {
            check_length(name, self.bins, field.len())?;
        }
        self.solve.forward(rho);
        Ok(self.solve.inverse(rho, potential, &mut field))
    }
}
