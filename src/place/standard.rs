//! Parts of the overflow of a placement, and the overflow of standard cells beside movable macros.
//!
//! Overflow is a share of the movable area. If macros are most of this area, little overflow does
//! not mean that the other cells are spread: they may all overlap in a few bins. Their own overflow
//! is the excess share of their area,
//!
//! ```text
//! Σ over bins of min(area of standard cells, max(0, area − T · bin area))
//!     / Σ area of standard cells
//! ```
//!
//! with every cell smoothed as in the density ([`crate::charge::stretch`]) and without fillers.

use crate::charge::{Charge, ChargeError};
use crate::cpu::density::CpuDensity;
use crate::grid::Map;

/// Where the overflowing area of a placement lies, layout units squared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverflowParts {
    /// In bins in which fixed cells take half the space or more.
    pub on_fixed: f64,
    /// In other bins that movable macros fill by half or more.
    pub on_macros: f64,
    /// In the remaining bins, which only standard cells use.
    pub elsewhere: f64,
    /// Excess area of standard cells.
    pub standard_cells: f64,
}

/// Computes the overflow of the standard cells beside movable macros, on the host.
#[derive(Debug)]
pub struct ClassOverflow {
    /// Movable cells by index: standard cells and macros.
    indices: [Vec<usize>; 2],
    density: [CpuDensity; 2],
    map: [Map<f64>; 2],
    positions: [Vec<f64>; 2],
    /// Fixed density of every bin of every region.
    fixed: Vec<f64>,
    /// By region.
    targets: Vec<f64>,
    /// Area of the movable cells, by region.
    areas: Vec<f64>,
    bin_area: f64,
    /// Area of the standard cells.
    area: f64,
}

impl ClassOverflow {
    /// Prepares the overflow of the movable cells of `charge`.
    ///
    /// # Errors
    /// Never for a valid charge.
    pub fn of(charge: &Charge) -> Result<Self, ChargeError> {
        let mut is_macro = vec![false; charge.movable()];
        let all = charge.movable_macros().iter().map(|&i| i as usize);
        let macros: Vec<usize> = all.filter(|&i| !charge.is_fixed(i)).collect();
        macros.iter().for_each(|&i| is_macro[i] = true);
        let standard = (0..charge.movable()).filter(|&i| !is_macro[i] && !charge.is_fixed(i));
        let standard: Vec<usize> = standard.collect();
        let area = standard.iter().map(|&i| charge.width()[i] * charge.height()[i]).sum::<f64>();
        let part = |indices: &[usize]| -> Result<CpuDensity, ChargeError> {
            Ok(CpuDensity::new(&charge.part(indices)?, 0.0))
        };
        let [nx, ny] = charge.stacked_bins();
        let zeros = || Map::filled(nx, ny, 0.0);
        let (bin_area, regions) = (charge.grid().bin_area(), 0..charge.regions());
        let fixed = regions.clone().flat_map(|region| charge.region_fixed(region).as_slice());
        Ok(ClassOverflow {
            density: [part(&standard)?, part(&macros)?],
            indices: [standard, macros],
            map: [zeros(), zeros()],
            positions: [Vec::new(), Vec::new()],
            fixed: fixed.map(|area| area / bin_area).collect(),
            targets: regions.clone().map(|region| charge.region_target_density(region)).collect(),
            areas: regions.map(|region| charge.region_movable_area(region)).collect(),
            bin_area,
            area,
        })
    }

    /// Whether cells of `charge` move beside macros that move. Without such cells and without
    /// fences the overflow of all bodies suffices.
    pub(super) fn are_beside_macros(charge: &Charge) -> bool {
        let macros = charge.movable_macros();
        let is_standard = |&i: &usize| macros.binary_search(&(i as u32)).is_err();
        let mut standard = (0..charge.movable()).filter(is_standard);
        macros.iter().any(|&i| !charge.is_fixed(i as usize))
            && standard.any(|i| !charge.is_fixed(i) && charge.width()[i] * charge.height()[i] > 0.0)
    }

    /// Returns the movable macros, by index, ascending.
    pub fn macros(&self) -> &[usize] {
        &self.indices[1]
    }

    /// Returns the overflow of the standard cells with the movable cells' lower-left corners at the
    /// first values of `x` and `y`, layout units.
    ///
    /// # Panics
    /// When `x` or `y` has fewer values than there are movable cells.
    pub fn overflow(&mut self, x: &[f64], y: &[f64]) -> f64 {
        let OverflowParts { standard_cells, .. } = self.parts(x, y);
        if self.area > 0.0 { standard_cells / self.area } else { 0.0 }
    }

    /// Returns the overflow of every fence region as a share of the area of its cells. The
    /// placement is given as in [`ClassOverflow::overflow`].
    ///
    /// # Panics
    /// When `x` or `y` has fewer values than there are movable cells.
    pub fn of_regions(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        self.measure(x, y);
        let map = self.fixed.len() / self.targets.len();
        let of = |(region, &area): (usize, &f64)| {
            let bins = region * map..(region + 1) * map;
            let over: f64 = bins.map(|bin| self.over(bin)).sum();
            if area > 0.0 { over / area } else { 0.0 }
        };
        self.areas.iter().enumerate().map(of).collect()
    }

    /// Returns the excess area in a bin, as last measured.
    fn over(&self, bin: usize) -> f64 {
        let target = self.targets[bin / (self.fixed.len() / self.targets.len())];
        let movable: f64 = self.map.iter().map(|map| map.as_slice()[bin]).sum();
        (movable + self.fixed[bin] - target).max(0.0) * self.bin_area
    }

    /// Returns the parts of the overflow of a placement, given as in [`ClassOverflow::overflow`].
    ///
    /// # Panics
    /// When `x` or `y` has fewer values than there are movable cells.
    pub fn parts(&mut self, x: &[f64], y: &[f64]) -> OverflowParts {
        self.measure(x, y);
        let [standard, macros] = &self.map;
        let mut sum = OverflowParts::default();
        let bins = standard.as_slice().iter().zip(macros.as_slice()).zip(&self.fixed);
        let map = self.fixed.len() / self.targets.len();
        for (bin, ((&cells, &macros), &fixed)) in bins.enumerate() {
            let (target, over) = (self.targets[bin / map], self.over(bin));
            sum.standard_cells += over.min(cells * self.bin_area);
            *match (2.0 * fixed >= target, 2.0 * macros >= target) {
                (true, _) => &mut sum.on_fixed,
                (false, true) => &mut sum.on_macros,
                (false, false) => &mut sum.elsewhere,
            } += over;
        }
        sum
    }

    /// Computes the density of standard cells and of macros.
    fn measure(&mut self, x: &[f64], y: &[f64]) {
        let density = self.indices.iter().zip(&mut self.density).zip(&mut self.map);
        for ((indices, density), map) in density {
            for (to, from) in self.positions.iter_mut().zip([x, y]) {
                to.clear();
                to.extend(indices.iter().map(|&i| from[i]));
            }
            let [x, y] = &self.positions;
            density.smoothed(x, y, map);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};
    use crate::grid::{BinGrid, Rect};

    /// Eight cells of 1 x 1 and a macro of 6 x 5, on bins of 1 x 1.
    fn charge(target: f64) -> Charge {
        let grid = BinGrid::new(Rect::at(0.0, 0.0, 16.0, 8.0), 16, 8).unwrap();
        let (mut width, mut height) = (vec![1.0; 8], vec![1.0; 8]);
        width.push(6.0);
        height.push(5.0);
        let nowhere = vec![0.0; 9];
        let block = [Rect::at(12.0, 0.0, 4.0, 8.0)];
        let macros = [[false; 8].as_slice(), &[true]].concat();
        let cells = Rectangles::movable(&width, &height, &nowhere, &nowhere);
        let cells = cells.fixed(&block).macros(&macros[..]);
        let options = ChargeOptions::default().target_density(target);
        Charge::from_rectangles(grid, &cells, &options).unwrap()
    }

    #[test]
    fn only_what_lies_on_standard_cells_counts() {
        let charge = charge(1.0);
        assert_eq!(charge.movable_macros(), [8]);
        assert!(ClassOverflow::are_beside_macros(&charge));
        let mut cells = ClassOverflow::of(&charge).unwrap();
        // All eight in one place, away from everything: spread over √2 x √2 bins, half of each is
        // in the middle bin, which has room for one of those four.
        let (mut x, mut y) = (vec![9.0; 9], vec![6.0; 9]);
        (x[8], y[8]) = (0.0, 0.0);
        let stacked = cells.overflow(&x, &y);
        assert!((stacked - 3.0 / 8.0).abs() < 1e-6, "{stacked}");
        // If the cells lie wholly on the macro, or on the fixed block, all of their area overflows.
        for (at_x, at_y) in [(3.0, 1.0), (13.0, 4.0)] {
            x[..8].fill(at_x);
            y[..8].fill(at_y);
            assert!((cells.overflow(&x, &y) - 1.0).abs() < 1e-12);
            let parts = cells.parts(&x, &y);
            let lies = [parts.on_macros, parts.on_fixed].map(|area| (area - 8.0).abs() < 1e-9);
            assert_eq!(lies, [at_x == 3.0, at_x == 13.0], "{parts:?}");
        }
        // A macro alone on the fixed block does not affect the cells.
        for i in 0..8 {
            (x[i], y[i]) = (1.0 + 2.0 * (i % 4) as f64, 2.0 * (i / 4) as f64);
        }
        (x[8], y[8]) = (10.0, 3.0);
        assert_eq!(cells.overflow(&x, &y), 0.0);
    }

    #[test]
    fn designs_without_macros_have_no_macro_overflow() {
        let grid = BinGrid::new(Rect::at(0.0, 0.0, 16.0, 8.0), 16, 8).unwrap();
        let (width, height, at) = ([1.0, 2.0, 30.0], [1.0; 3], [0.0; 3]);
        let cells = Rectangles::movable(&width, &height, &at, &at);
        let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
        assert!(!ClassOverflow::are_beside_macros(&charge));
        assert!(ClassOverflow::of(&charge).unwrap().macros().is_empty());
    }
}
