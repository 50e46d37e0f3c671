//! Fence regions: several density systems over one grid.
//!
//! A fence is a union of rectangles. Its cells must lie in it, and no others may. The cells of each
//! fence are the movable charge of a separate *region*, in which everything outside the fence is
//! blocked, as if by fixed cells. Cells without a fence form one more region, in which the
//! fences are blocked (DREAMPlace 3.0, Gu et al., ICCAD 2020). A region has its own fixed area,
//! target density, fillers and background; cells of different regions do not push each other.
//! Without fences there is one region, the die.
//!
//! A fence of a design may admit other cells ([`crate::design::Fence::admits_others`]). Such a
//! fence is not blocked for cells without a fence, but its members' share of its area is.

use super::fixed::{self, clip, gaps};
use super::{Charge, ChargeError, check_length};
use crate::design::Design;
use crate::grid::{MAX_BINS, Map, Rect};
use crate::parallel;
use crate::warning::{Warning, WarningCode};
use std::borrow::Cow;

/// The properties of a charge that differ between regions.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) target_density: f64,
    pub(super) movable_area: f64,
    pub(super) fixed: Map<f64>,
}

impl Region {
    /// Returns a region whose fixed area has not been computed yet.
    pub(super) fn new(target_density: f64) -> Self {
        Region { target_density, movable_area: 0.0, fixed: Map::filled(0, 0, 0.0) }
    }
}

/// The area that a region's cells may lie in, and the rest of the die, each as rectangles that do
/// not overlap.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    inside: Vec<Rect>,
    outside: Vec<Rect>,
}

impl Fence {
    fn new(rects: &[Rect], die: &Rect) -> Self {
        let outside = gaps(rects, die);
        Fence { inside: gaps(&outside, die), outside }
    }

    /// Returns the fence of everything outside `rects`.
    fn complement(rects: &[Rect], die: &Rect) -> Self {
        let Fence { inside, outside } = Fence::new(rects, die);
        Fence { inside: outside, outside: inside }
    }

    /// Returns the fence `rects` without `holes`.
    fn without(rects: &[Rect], holes: &[Rect], die: &Rect) -> Self {
        let outside = [gaps(rects, die), holes.to_vec()].concat();
        Fence::complement(&outside, die)
    }

    /// Returns all blocked rectangles if `rects` are blocked: the area outside, and the parts of
    /// `rects` inside.
    fn blocked_rects(&self, rects: &[Rect]) -> Vec<Rect> {
        let parts = |rect| self.inside.iter().filter_map(move |piece| clip(rect, piece));
        self.outside.iter().copied().chain(rects.iter().flat_map(parts)).collect()
    }
}

impl Charge {
    /// Divides the cells into fence regions with separate densities. `fences[r]` is the union of
    /// the rectangles in which the cells of region r must lie. `region` has one index per movable
    /// cell ([`Charge::movable`]): the index of its fence, or `fences.len()` for a cell without a
    /// fence. Cells without a fence are one more region. Parts of a rectangle
    /// outside the die are ignored. Without fences there is one region, the die.
    ///
    /// Each region gets new fillers over its own area, and its target density
    /// rises if its cells do not fit. Fillers that the caller added are removed
    /// ([`Charge::add_fillers_in`]).
    ///
    /// # Errors
    /// When a fence has no rectangle, a rectangle has no area or lies outside the die, fences
    /// overlap, `region` does not have one index per movable cell or one is beyond `fences.len()`,
    /// the cells of a region have more area than is free there, more than [`MAX_BINS`] bins would
    /// be needed, or too many fillers. The charge is then unchanged.
    pub fn set_fences(&mut self, fences: &[Vec<Rect>], region: &[u32]) -> Result<(), ChargeError> {
        self.set_named_fences(fences, &vec![false; fences.len()], region, Vec::new())
    }

    /// Calls [`Charge::set_fences`] with fences of these names, if any, some of which admit cells
    /// of no fence as well.
    fn set_named_fences(
        &mut self,
        fences: &[Vec<Rect>],
        admits: &[bool],
        region: &[u32],
        names: Vec<String>,
    ) -> Result<(), ChargeError> {
        check_length("regions of movable cells", self.movable, region.len())?;
        let regions = fences.len() + 1;
        let of_a_region = |&region: &u32| (region as usize) < regions;
        if let Some(index) = region.iter().position(|region| !of_a_region(region)) {
            let (what, region) = ("movable cell", region[index] as usize);
            return Err(ChargeError::NoSuchRegion { what, index, region, regions });
        }
        let die = self.grid.die();
        check_fences(fences, admits, &die)?;
        let outside = fences.is_empty() || region.iter().any(|&r| r as usize == fences.len());
        let regions = fences.len() + usize::from(outside);
        let bins = self.grid.bins();
        if regions.saturating_mul(bins) > MAX_BINS {
            return Err(ChargeError::TooManyRegions { regions, bins });
        }
        let mut changed = self.clone();
        let source = &mut changed.source;
        source.fence_names = names;
        let exclusive = fences.iter().zip(admits).filter(|(_, admits)| !**admits);
        let exclusive: Vec<Rect> = exclusive.flat_map(|(rects, _)| rects).copied().collect();
        let fence = |(rects, admits): (&Vec<Rect>, &bool)| match admits {
            true => Fence::without(rects, &exclusive, &die),
            false => Fence::new(rects, &die),
        };
        source.fences = fences.iter().zip(admits).map(fence).collect();
        source.open.clear();
        if outside && !fences.is_empty() {
            source.fences.push(Fence::complement(&exclusive, &die));
            source.open = (0..fences.len()).filter(|&fence| admits[fence]).collect();
        }
        source.region = if regions > 1 { region.to_vec() } else { Vec::new() };
        changed.regions = vec![Region::new(source.requested_density); regions];
        changed.fill()?;
        *self = changed;
        Ok(())
    }

    /// Calls [`Charge::set_fences`] with the fences of a design that movable nodes belong to; other
    /// fences are ignored.
    pub(super) fn fence_as(&mut self, design: &Design) -> Result<(), ChargeError> {
        let with_members = populated(design);
        let fences: Vec<usize> = (0..design.fences.len()).filter(|&f| with_members[f]).collect();
        if fences.is_empty() {
            return Ok(());
        }
        let die = self.grid.die();
        let on_die = |&fence: &usize| -> Vec<Rect> {
            let all = &design.fences[fence].rects;
            let on_die: Vec<Rect> =
                all.iter().copied().filter(|rect| clip(rect, &die).is_some()).collect();
            // For a fence that is nowhere on the die, all is kept, for the error to report.
            if on_die.is_empty() { all.clone() } else { on_die }
        };
        let rects: Vec<Vec<Rect>> = fences.iter().map(on_die).collect();
        let number = |fence| fences.binary_search(&fence).unwrap_or(fences.len()) as u32;
        let region = |node| design.nodes.fence_of(node).map_or(fences.len() as u32, number);
        let region: Vec<u32> = design.movable().map(region).collect();
        let admits: Vec<bool> =
            fences.iter().map(|&fence| design.fences[fence].admits_others).collect();
        let names = fences.iter().map(|&fence| design.fences[fence].name.clone()).collect();
        self.set_named_fences(&rects, &admits, &region, names).map_err(|error| {
            error.about_fences(|k| fences.get(k).copied().unwrap_or(design.fences.len()))
        })
    }

    /// Returns the name of a region's fence; `None` if it has no name, and for cells of no fence.
    pub fn region_name(&self, region: usize) -> Option<&str> {
        self.source.fence_names.get(region).map(String::as_str)
    }

    /// Returns the number of fence regions, which have separate densities; 1 without fences.
    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    /// Returns the region of body `i`.
    pub fn region(&self, i: usize) -> usize {
        self.region.get(i).map_or(0, |&region| region as usize)
    }

    /// Returns the region of every body, movable cells, then fillers; empty where there is one
    /// region.
    pub(crate) fn region_of_bodies(&self) -> &[u32] {
        &self.region
    }

    /// Returns the bins along x and y of the regions' maps, one after the other along x.
    pub(crate) fn stacked_bins(&self) -> [usize; 2] {
        [self.regions() * self.grid.nx(), self.grid.ny()]
    }

    /// Returns the target density of one region, as [`Charge::target_density`] does for the die.
    ///
    /// # Panics
    /// When there is no such region.
    pub fn region_target_density(&self, region: usize) -> f64 {
        self.regions[region].target_density
    }

    /// Returns [`Charge::fixed`] of one region: the area outside its fence is blocked.
    ///
    /// # Panics
    /// When there is no such region.
    pub fn region_fixed(&self, region: usize) -> &Map<f64> {
        &self.regions[region].fixed
    }

    /// Returns the area of the movable cells of one region, layout units squared
    /// ([`Charge::movable_area`]).
    ///
    /// # Panics
    /// When there is no such region.
    pub fn region_movable_area(&self, region: usize) -> f64 {
        self.regions[region].movable_area
    }

    /// Returns the background of every region ([`Charge::background`]), in one pass over the
    /// bodies.
    pub fn backgrounds(&self) -> Vec<f64> {
        const STEPS: f64 = 1024.0;
        let mut macros = vec![0.0; self.regions()];
        for i in self.macros.iter().map(|&i| i as usize) {
            macros[self.region(i)] += self.size(i);
        }
        let background = |((region, of), macros): ((usize, &Region), f64)| {
            let size = |i| if self.moves_in(region, i) { self.size(i) } else { 0.0 };
            let bodies = parallel::sum(self.bodies(), size);
            let fixed = parallel::sum(self.grid.bins(), |bin| of.fixed.as_slice()[bin]);
            let area = fixed + bodies - (1.0 - of.target_density) * macros;
            ((area / self.grid.die().area()).min(1.0) * STEPS).round() / STEPS
        };
        self.regions.iter().enumerate().zip(macros).map(background).collect()
    }

    /// Returns a charge of some of the movable cells alone, in their regions and with the weights
    /// they have here, and nothing fixed. Positions are counted from (0, 0).
    ///
    /// # Errors
    /// Never for indices of movable cells.
    pub(crate) fn part(&self, cells: &[usize]) -> Result<Charge, ChargeError> {
        let mut part = self.clone();
        let columns = [
            &mut part.width,
            &mut part.height,
            &mut part.ratio,
            &mut part.initial_x,
            &mut part.initial_y,
        ];
        for column in columns {
            *column = cells.iter().map(|&i| column[i]).collect();
        }
        part.movable = cells.len();
        part.origin = [0.0; 2];
        let is_macro = |i: &usize| self.macros.binary_search(&(cells[*i] as u32)).is_ok();
        let source = &mut part.source;
        source.macros = (0..cells.len()).filter(is_macro).map(|i| i as u32).collect();
        (source.targets, source.blocked_map, source.partial) = (None, None, None);
        source.fillers = false;
        // The regions stay, but nothing outside a fence is blocked.
        source.fences.clear();
        source.open.clear();
        source.fixed.clear();
        source.blocked_rects.clear();
        source.fixed_cells.clear();
        if self.regions() > 1 {
            source.region = cells.iter().map(|&i| self.region[i]).collect();
            part.region.clone_from(&source.region);
        }
        part.derive()?;
        Ok(part)
    }

    /// Whether body `i` is of this region and not fixed.
    pub(super) fn moves_in(&self, region: usize, i: usize) -> bool {
        !self.is_fixed(i) && self.region(i) == region
    }

    /// Returns the sum of `of` over the movable cells of a region that are not fixed.
    pub(super) fn sum_in(&self, region: usize, of: impl Fn(usize) -> f64 + Sync) -> f64 {
        parallel::sum(self.movable, |i| if self.moves_in(region, i) { of(i) } else { 0.0 })
    }

    /// Returns the fence of a region; `None` if it covers the whole die.
    fn fence(&self, region: usize) -> Option<&Fence> {
        self.source.fences.get(region).filter(|fence| !fence.outside.is_empty())
    }

    /// Returns the rectangles that are blocked in a region, `all` being those that are blocked in the
    /// die.
    pub(super) fn blocked_rects_in<'a>(&self, region: usize, all: &'a [Rect]) -> Cow<'a, [Rect]> {
        match self.fence(region) {
            Some(fence) => Cow::Owned(fence.blocked_rects(all)),
            None => Cow::Borrowed(all),
        }
    }

    /// Whether part of the die is blocked in a region because it lies outside its fence.
    pub(super) fn is_fenced(&self, region: usize) -> bool {
        self.fence(region).is_some()
    }

    /// Returns the area for a region's fillers.
    pub(super) fn open_to(&self, region: usize) -> Vec<Rect> {
        self.fence(region).map_or_else(|| vec![self.grid.die()], |fence| fence.inside.clone())
    }

    /// Returns the beginning of a warning about one region, which names its number if there are
    /// fences.
    pub(super) fn warned_of(&self, region: usize) -> String {
        match self.region_name(region) {
            Some(name) => format!("fence `{name}`: "),
            None if self.regions() == 1 => String::new(),
            None if self.source.fence_names.is_empty() => format!("region {region}: "),
            None => "outside the fences: ".to_owned(),
        }
    }

    /// Returns the area of every bin that the members of fences that admit others take from the
    /// cells of `region`, layout units squared; `None` if there is none.
    pub(super) fn blocked_by_members(&self, region: usize) -> Option<Map<f64>> {
        if self.source.open.is_empty() || region + 1 != self.regions() {
            return None;
        }
        let mut blocked = Map::filled(self.grid.nx(), self.grid.ny(), 0.0);
        for &open in &self.source.open {
            let inside = &self.source.fences[open].inside;
            let members = self.sum_in(open, |i| self.size(i));
            let area: f64 = inside.iter().map(Rect::area).sum();
            let share = if area > 0.0 { (members / area).min(1.0) } else { 0.0 };
            let more = fixed::map(inside.iter(), None, &self.grid, |_| share);
            let bins = blocked.as_mut_slice().iter_mut().zip(more.as_slice());
            bins.for_each(|(sum, more)| *sum += more);
        }
        Some(blocked)
    }

    /// Fails where there are fences and the cells of a region have more area than is free there;
    /// warns instead where that is allowed.
    pub(super) fn check_fit(&mut self) -> Result<(), ChargeError> {
        const OVERFILLED: &str = "its members have more area than is free in it";
        self.warnings.retain(|warning| !warning.message.ends_with(OVERFILLED));
        // Sums of areas are rounded.
        const SLACK: f64 = 1e-9;
        let fenced = if self.source.fences.is_empty() { 0 } else { self.regions() };
        for region in 0..fenced {
            let area = self.regions[region].movable_area;
            let free = self.budget(region).space;
            if area > free * (1.0 + SLACK) {
                if !self.source.allows_overfull {
                    return Err(ChargeError::DoesNotFit { region, area, free });
                }
                let message = format!("{}{OVERFILLED}", self.warned_of(region));
                self.warnings.push(Warning::new(WarningCode::CellsCannotFit, message));
            }
        }
        Ok(())
    }
}

/// Returns which fences of a design movable nodes belong to.
pub(super) fn populated(design: &Design) -> Vec<bool> {
    let mut populated = vec![false; design.fences.len()];
    design.movable().filter_map(|i| design.nodes.fence_of(i)).for_each(|f| populated[f] = true);
    populated
}

/// Returns the number of fence regions of a design's charge ([`Charge::regions`]).
pub(crate) fn region_count(design: &Design) -> usize {
    let fences = populated(design).iter().filter(|&&with_members| with_members).count();
    let outside = fences == 0 || design.movable().any(|i| design.nodes.fence_of(i).is_none());
    fences + usize::from(outside)
}

/// Refuses fences without area on the die, and exclusive ones that overlap.
fn check_fences(fences: &[Vec<Rect>], admits: &[bool], die: &Rect) -> Result<(), ChargeError> {
    for (fence, rects) in fences.iter().enumerate() {
        if rects.is_empty() {
            return Err(ChargeError::EmptyFence(fence));
        }
        for (index, &rect) in rects.iter().enumerate() {
            let area = rect.width() > 0.0 && rect.height() > 0.0 && rect.area().is_finite();
            if !(area && clip(&rect, die).is_some()) {
                return Err(ChargeError::BadFence { fence, index, rect, off_die: area });
            }
        }
    }
    let of_fence = |(fence, rects): (usize, &Vec<Rect>)| {
        rects.iter().map(|rect| (fence, *rect)).collect::<Vec<_>>()
    };
    let exclusive = fences.iter().enumerate().filter(|(fence, _)| !admits[*fence]);
    let mut rects: Vec<(usize, Rect)> = exclusive.flat_map(of_fence).collect();
    rects.sort_by(|a, b| a.1.xl.total_cmp(&b.1.xl));
    for (k, (fence, rect)) in rects.iter().enumerate() {
        let mut beside = rects[k + 1..].iter().take_while(|(_, other)| other.xl < rect.xh);
        let overlaps = |(other, r): &&(usize, Rect)| other != fence && r.overlap(rect) > 0.0;
        if let Some((other, _)) = beside.find(overlaps) {
            let (first, second) = (*fence.min(other), *fence.max(other));
            return Err(ChargeError::FencesOverlap { first, second });
        }
    }
    Ok(())
}
