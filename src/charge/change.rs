//! Properties of a charge that change while a placer runs: sizes, fixed cells, blocked area, target
//! densities, fillers. A changed charge equals a new charge with the changed values, because
//! everything that depends on the change is computed again. Only fillers do not change until
//! [`Charge::refill`].

use super::fences::Region;
use super::{
    Charge, ChargeError, Clipped, Source, check_length, check_total, fillers, fixed, raised,
    rectangles, smoothing,
};
use crate::grid::{Map, Rect};
use crate::memory::require;
use crate::parallel;
use crate::warning::{Warning, WarningCode};
use std::borrow::Cow;

impl Charge {
    /// Gives every body another size, layout units, one value per body: movable cells, then
    /// fillers. Macros stay macros, and fillers stay as many. Positions are lower-left corners: to
    /// let a body grow about its centre, the caller moves it.
    ///
    /// # Errors
    /// When a slice does not have one value per body, a size is not finite or negative, or areas
    /// overflow. The charge is then unchanged.
    pub fn set_sizes(&mut self, width: &[f64], height: &[f64]) -> Result<(), ChargeError> {
        check_length("widths of bodies", self.bodies(), width.len())?;
        check_length("heights of bodies", self.bodies(), height.len())?;
        let names = ["width of body", "height of body", "x of body", "y of body"];
        for (i, (&width, &height)) in width.iter().zip(height).enumerate() {
            rectangles::check(names, i, [width, height, 0.0, 0.0])?;
        }
        self.change(|charge| {
            charge.width.copy_from_slice(width);
            charge.height.copy_from_slice(height);
            check_total("fillers", charge.filler_area())
        })
    }

    /// Fixes the marked cells from now on, at lower-left corners `x`, `y`, and makes the others
    /// movable; one value per movable cell ([`Charge::movable`]), of which corners are read for
    /// marked ones only. A fixed cell remains a body, so that no array changes: it takes fixed
    /// area, counts nowhere else and feels no force, and engines ignore its position.
    ///
    /// # Errors
    /// When a slice does not have one value per movable cell, a corner that counts is not finite,
    /// or areas overflow. The charge is then unchanged.
    pub fn set_fixed_cells(
        &mut self,
        fixed_cells: &[bool],
        x: &[f64],
        y: &[f64],
    ) -> Result<(), ChargeError> {
        let expected = self.movable;
        check_length("marks of fixed cells", expected, fixed_cells.len())?;
        check_length("x of fixed cells", expected, x.len())?;
        check_length("y of fixed cells", expected, y.len())?;
        let marked = || (0..expected).filter(|&i| fixed_cells[i]);
        for i in marked() {
            let names = ["width of cell", "height of cell", "x of fixed cell", "y of fixed cell"];
            rectangles::check(names, i, [self.width[i], self.height[i], x[i], y[i]])?;
        }
        self.change(|charge| {
            charge.source.fixed_cells = fixed_cells.to_vec();
            for i in marked() {
                (charge.initial_x[i], charge.initial_y[i]) = (x[i], y[i]);
            }
            Ok(())
        })
    }

    /// Sets the area of every bin that is blocked besides fixed cells, layout units squared,
    /// `nx × ny`: routing or power blockage, say. The sum of both is clamped to the bin's area.
    /// `None`: no area.
    ///
    /// # Errors
    /// When the map does not have the grid's bins, or an area is not finite or negative. The charge
    /// is then unchanged.
    pub fn set_blocked_area(&mut self, area: Option<Map<f64>>) -> Result<(), ChargeError> {
        if let Some(area) = &area {
            self.check_map("blocked area of bin", area, |v| v.is_finite() && v >= 0.0)?;
        }
        self.change(|charge| {
            charge.source.blocked_map = area;
            Ok(())
        })
    }

    /// Sets a target density for every bin, each in (0, 1], `nx × ny`. Overflow counts above it,
    /// fixed area in the bin is scaled by it, and fillers fill up to it. Macros are
    /// weighted by its mean. With `None` all bins have the target density of the options.
    ///
    /// # Errors
    /// When the map does not have the grid's bins, or a value is outside (0, 1]. The charge is then
    /// unchanged.
    pub fn set_target_densities(&mut self, targets: Option<Map<f64>>) -> Result<(), ChargeError> {
        if let Some(targets) = &targets {
            self.check_map("target density of bin", targets, |v| v > 0.0 && v <= 1.0)?;
        }
        self.change(|charge| {
            let target = targets.as_ref().map_or(charge.source.requested_density, mean);
            charge.regions.iter_mut().for_each(|region| region.target_density = target);
            charge.source.targets = targets;
            Ok(())
        })
    }

    /// Makes new fillers that fill the remaining area, at new positions. As for a new charge, the
    /// target density rises if the cells do not fit. The number of
    /// bodies changes. Without [`ChargeOptions::fillers`](super::ChargeOptions::fillers) the charge
    /// then has no fillers.
    ///
    /// # Errors
    /// If there would be too many fillers. The charge is then unchanged.
    pub fn refill(&mut self) -> Result<(), ChargeError> {
        let mut changed = self.clone();
        changed.fill()?;
        *self = changed;
        Ok(())
    }

    fn change(
        &mut self,
        change: impl FnOnce(&mut Charge) -> Result<(), ChargeError>,
    ) -> Result<(), ChargeError> {
        let mut changed = self.clone();
        change(&mut changed)?;
        changed.derive()?;
        *self = changed;
        Ok(())
    }

    fn check_map(
        &self,
        what: &'static str,
        map: &Map<f64>,
        is_good: impl Fn(f64) -> bool,
    ) -> Result<(), ChargeError> {
        check_length("bins of the map along x", self.grid.nx(), map.nx())?;
        check_length("bins of the map along y", self.grid.ny(), map.ny())?;
        match map.as_slice().iter().position(|&v| !is_good(v)) {
            Some(index) => Err(ChargeError::BadBin { what, index, value: map.as_slice()[index] }),
            None => Ok(()),
        }
    }

    /// Returns the rectangles that take fixed area: fixed nodes and fixed cells.
    fn staying(&self) -> Vec<Rect> {
        let rect = |i: usize| {
            Rect::at(self.initial_x[i], self.initial_y[i], self.width[i], self.height[i])
        };
        let cells = parallel::filter(self.movable, |i| self.is_fixed(i)).into_iter().map(rect);
        self.source.fixed.iter().copied().chain(cells).collect()
    }

    pub(super) fn size(&self, i: usize) -> f64 {
        self.width[i] * self.height[i]
    }

    /// Computes everything that follows from sizes, positions of fixed cells, and target densities,
    /// except for the fillers.
    pub(super) fn derive(&mut self) -> Result<(), ChargeError> {
        let movable_area =
            parallel::sum(self.movable, |i| if self.is_fixed(i) { 0.0 } else { self.size(i) });
        check_total("movable cells", movable_area)?;
        self.movable_area = movable_area;
        let staying = self.staying();
        let mut clipped = Clipped::default();
        let inside = staying.iter().map(|rect| clipped.add(rect, &self.grid.die())).sum::<f64>();
        check_total("fixed cells", inside + clipped.area)?;
        self.warnings.retain(|warning| warning.code != WarningCode::FixedOffDie);
        let Clipped { area, wholly, partly } = clipped;
        if wholly + partly > 0 {
            let message = format!(
                "fixed cells reach beyond the die: {wholly} wholly, {partly} partly; their area \
                 outside, {area}, is left out"
            );
            self.warnings.push(Warning::new(WarningCode::FixedOffDie, message));
        }
        self.fixed_area = inside;
        self.fixed_clipped = clipped;
        let all = [&staying[..], &self.source.blocked_rects].concat();
        let derived = |r: usize| {
            let blocked_map = self.blocked_map_of(r);
            let target_density = self.regions[r].target_density;
            let targets = self.source.targets.as_ref();
            let target = |bin: usize| targets.map_or(target_density, |t| t.as_slice()[bin]);
            Region {
                target_density,
                movable_area: self.sum_in(r, |i| self.size(i)),
                fixed: fixed::map(
                    self.blocked_rects_in(r, &all).iter(),
                    blocked_map.as_deref(),
                    &self.grid,
                    target,
                ),
            }
        };
        self.regions = parallel::map(self.regions(), derived);
        let below_one = |&i: &u32| {
            let target = self.region_target_density(self.region(i as usize));
            target < 1.0 && !self.is_fixed(i as usize)
        };
        self.macros = self.source.macros.iter().copied().filter(below_one).collect();
        let ratio = |i: usize| match self.is_fixed(i) {
            true => 0.0,
            false => smoothing::ratio(self.width[i], self.height[i], &self.grid),
        };
        self.ratio = parallel::map(self.bodies(), ratio);
        for &i in &self.macros {
            self.ratio[i as usize] *= self.region_target_density(self.region(i as usize));
        }
        self.check_fit()
    }

    /// Runs [`Charge::derive`] and makes all fillers; none from before is kept.
    pub(super) fn fill(&mut self) -> Result<(), ChargeError> {
        // The fixed area of every region, and working memory for one of them.
        let bytes = self.grid.bins() * (8 * self.regions() + 16);
        require("the bins", bytes as u64)?;
        let movable = self.movable;
        for column in [
            &mut self.width,
            &mut self.height,
            &mut self.ratio,
            &mut self.initial_x,
            &mut self.initial_y,
        ] {
            column.truncate(movable);
        }
        self.region.clear();
        self.region.extend_from_slice(&self.source.region);
        self.warnings.clone_from(&self.source.base_warnings);
        let requested_density =
            self.source.targets.as_ref().map_or(self.source.requested_density, mean);
        self.regions.iter_mut().for_each(|region| region.target_density = requested_density);
        if !self.source.fillers {
            return self.derive();
        }
        let budgets: Vec<_> = (0..self.regions()).map(|region| self.budget(region)).collect();
        for (region, budget) in budgets.iter().enumerate() {
            let of = self.warned_of(region);
            match budget.room {
                Some(room) if room - requested_density * budget.macro_area < budget.cell_area => {
                    let warning =
                        "the movable cells do not fit into what the bins' target densities leave";
                    let message = format!("{of}{warning}");
                    self.warnings.push(Warning::new(WarningCode::CellsCannotFit, message));
                }
                Some(_) => (),
                None => {
                    let least = budget.least_density();
                    self.regions[region].target_density =
                        raised(requested_density, least, &of, &mut self.warnings);
                }
            }
        }
        self.derive()?;
        for (region, budget) in budgets.iter().enumerate() {
            fillers::add(self, region, budget, &self.open_to(region))?;
        }
        Ok(())
    }

    /// Returns the area that fillers have if there are any, layout units squared.
    pub(crate) fn area_for_fillers(&self) -> f64 {
        let of = |region| self.budget(region).filler_area(self.region_target_density(region));
        (0..self.regions()).map(of).sum()
    }

    /// Returns how the movable area of a region compares with the space there is.
    pub(super) fn budget(&self, region: usize) -> fillers::Budget {
        let source = &self.source;
        let requested_density = source.targets.as_ref().map_or(source.requested_density, mean);
        let die = self.grid.die();
        let macros = source.macros.iter().map(|&i| i as usize);
        let macros = macros.filter(|&i| !self.is_fixed(i) && self.region(i) == region);
        let macro_area =
            macros.filter(|_| requested_density < 1.0).map(|i| self.size(i)).sum::<f64>();
        let cell_area = self.sum_in(region, |i| self.size(i)) - macro_area;
        let staying = self.staying();
        let by_bins = self.blocked_map_of(region);
        let by_rectangles = by_bins.is_none() && source.targets.is_none();
        if by_rectangles && !self.is_fenced(region) {
            let blocked = fixed::union_area(&staying, &die) + self.blockage_area;
            let space = (die.area() - blocked).max(0.0);
            return fillers::Budget { space, room: None, macro_area, cell_area };
        }
        let all = [&staying[..], &source.blocked_rects].concat();
        let blocked_rects = self.blocked_rects_in(region, &all);
        if by_rectangles {
            let space = (die.area() - fixed::union_area(&blocked_rects, &die)).max(0.0);
            return fillers::Budget { space, room: None, macro_area, cell_area };
        }
        let blocked = fixed::map(blocked_rects.iter(), by_bins.as_deref(), &self.grid, |_| 1.0);
        let free = blocked.as_slice().iter().map(|blocked| self.grid.bin_area() - blocked);
        let room = source.targets.as_ref().map(|targets| {
            free.clone().zip(targets.as_slice()).map(|(free, target)| free * target).sum()
        });
        fillers::Budget { space: free.sum(), room, macro_area, cell_area }
    }
}

impl Charge {
    /// Returns the blocked area of every bin of a region besides that of rectangles, if there is
    /// any.
    fn blocked_map_of(&self, region: usize) -> Option<Cow<'_, Map<f64>>> {
        let Source { partial, blocked_map, .. } = &self.source;
        let by_members = self.blocked_by_members(region).map(Cow::Owned);
        let maps =
            [partial, blocked_map].into_iter().flatten().map(Cow::Borrowed).chain(by_members);
        maps.reduce(|sum, more| {
            let mut sum = sum.into_owned();
            let bins = sum.as_mut_slice().iter_mut().zip(more.as_slice());
            bins.for_each(|(sum, more)| *sum += more);
            Cow::Owned(sum)
        })
    }
}

fn mean(map: &Map<f64>) -> f64 {
    map.as_slice().iter().sum::<f64>() / map.as_slice().len() as f64
}
