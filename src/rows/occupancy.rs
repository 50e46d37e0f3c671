//! The cells of every band, in order of their sites.

use super::{Access, Run};

/// Free runs that a search for room looks at, to either side.
const RUNS: usize = 16;

/// Sites `left..right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) left: i32,
    pub(crate) right: i32,
}

impl Span {
    /// Returns the number of sites.
    pub(crate) fn width(&self) -> i32 {
        self.right - self.left
    }

    /// Returns whether a cell with this access may lie there, by the runs that it may use.
    pub(crate) fn lies_in(&self, runs: &[Run], access: Access) -> bool {
        let after = runs.partition_point(|run| run.start <= self.left);
        let holds = |run: &Run| run.end >= self.right && run.fence == access.fence;
        after.checked_sub(1).is_some_and(|k| holds(&runs[k]))
    }

    /// Returns its part in the run nearest to `near`, of the runs for a cell with this access.
    pub(crate) fn nearest_part(&self, runs: &[Run], near: i32, access: Access) -> Option<Span> {
        let after = runs.partition_point(|run| run.start <= near);
        let part = |k: usize| {
            let run = runs.get(k)?;
            let (left, right) = (self.left.max(run.start), self.right.min(run.end));
            (left < right && run.fence == access.fence).then_some(Span { left, right })
        };
        let before = after.checked_sub(1).and_then(part);
        if before.is_some_and(|before| before.left <= near && near < before.right) {
            return before;
        }
        let distance = |span: &Span| {
            span.left.saturating_sub(near).max(near.saturating_sub(span.right)).max(0)
        };
        [before, part(after)].into_iter().flatten().min_by_key(distance)
    }

    /// Returns its part nearest to `near` with so many sites at least, of the runs for a cell with
    /// this access. Looks at [`RUNS`] runs on each side.
    pub(crate) fn nearest_room(
        &self,
        runs: &[Run],
        near: i32,
        access: Access,
        sites: i32,
    ) -> Option<Span> {
        let after = runs.partition_point(|run| run.start <= near);
        let room = |run: &Run| {
            let part = Span { left: self.left.max(run.start), right: self.right.min(run.end) };
            (run.fence == access.fence && part.width() >= sites).then_some(part)
        };
        let to_the_left = runs[..after].iter().rev().take_while(|run| run.end > self.left);
        let to_the_right = runs[after..].iter().take_while(|run| run.start < self.right);
        let left = to_the_left.take(RUNS).find_map(room);
        let right = to_the_right.take(RUNS).find_map(room);
        let distance = |span: &Span| {
            let left = near.saturating_sub(span.right.saturating_sub(sites));
            left.max(span.left.saturating_sub(near)).max(0)
        };
        [left, right].into_iter().flatten().min_by_key(distance)
    }
}

/// A cell on the sites of a band.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupant {
    pub(crate) span: Span,
    pub(crate) cell: u32,
}

/// A cell that is put into a band or taken out of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) occupant: Occupant,
    pub(crate) is_put: bool,
}

/// The cells of one band, ascending and without overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowCells {
    pub(crate) cells: Vec<Occupant>,
}

impl RowCells {
    /// Returns the index of the first cell whose left edge is at `site` or beyond.
    #[inline]
    pub(crate) fn from(&self, site: i32) -> usize {
        self.cells.partition_point(|occupant| occupant.span.left < site)
    }

    /// Returns the sites between cells `k − 1` and `k`, without regard to runs.
    #[inline]
    pub(crate) fn between(&self, k: usize) -> Span {
        self.around(k, k)
    }

    /// Returns the sites that would be free without cells `from..to`, without regard to runs.
    #[inline]
    pub(crate) fn around(&self, from: usize, to: usize) -> Span {
        Span {
            left: from.checked_sub(1).map_or(i32::MIN, |k| self.cells[k].span.right),
            right: self.cells.get(to).map_or(i32::MAX, |occupant| occupant.span.left),
        }
    }

    /// Returns the cells that occupy sites of `span`.
    #[inline]
    pub(crate) fn within(&self, span: Span) -> &[Occupant] {
        let end = self.from(span.right);
        let before = &self.cells[..end];
        let first = before.iter().rposition(|occupant| occupant.span.right <= span.left);
        &before[first.map_or(0, |k| k + 1)..]
    }

    /// Returns whether the sites of `span` are in one of the `free` runs, those for a cell with this
    /// access, with no cell on them but those that `passes` accepts.
    pub(crate) fn is_free(
        &self,
        free: &[Run],
        span: Span,
        access: Access,
        passes: impl Fn(u32) -> bool,
    ) -> bool {
        self.within(span).iter().all(|occupant| passes(occupant.cell)) && span.lies_in(free, access)
    }

    /// Inserts a cell where sites are free.
    pub(crate) fn insert(&mut self, occupant: Occupant) {
        let k = self.from(occupant.span.left);
        self.cells.insert(k, occupant);
    }

    /// Removes the cell whose left edge is at `site`.
    pub(crate) fn remove(&mut self, site: i32) {
        let k = self.from(site);
        self.cells.remove(k);
    }

    /// Removes cells and inserts others, which fit then. The exchanges ascend by left edge; of one
    /// edge the removal comes first.
    pub(crate) fn exchange<'a>(
        &mut self,
        exchanges: impl DoubleEndedIterator<Item = &'a Exchange> + Clone,
    ) {
        let left = |exchange: &Exchange| exchange.occupant.span.left;
        let ends = (exchanges.clone().next(), exchanges.clone().next_back());
        let (Some(first), Some(last)) = ends else { return };
        let (from, end) = (self.from(left(first)), self.from(left(last) + 1));
        let mut old = self.cells[from..end].iter().copied().peekable();
        let mut new = Vec::with_capacity(end - from + 8);
        for exchange in exchanges {
            let before = |old: &Occupant| old.span.left < left(exchange);
            new.extend(std::iter::from_fn(|| old.next_if(before)));
            if exchange.is_put {
                new.push(exchange.occupant);
            } else {
                old.next();
            }
        }
        new.extend(old);
        self.cells.splice(from..end, new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_looked_for_beyond_runs_that_are_too_short() {
        let run = |start, end| Run { start, end, fence: None };
        let runs = [run(0, 6), run(8, 10), run(12, 14), run(15, 19), run(30, 40)];
        let all = Span { left: i32::MIN, right: i32::MAX };
        let room = |near, sites| all.nearest_room(&runs, near, Access::ALL, sites);
        assert_eq!(room(9, 2), Some(Span { left: 8, right: 10 }));
        assert_eq!(room(13, 4), Some(Span { left: 15, right: 19 }));
        assert_eq!(room(9, 4), Some(Span { left: 15, right: 19 }));
        assert_eq!(room(9, 5), Some(Span { left: 0, right: 6 }));
        assert_eq!(room(9, 10), Some(Span { left: 30, right: 40 }));
        assert_eq!(room(9, 11), None);
        // Cells beside it limit the room.
        let part = Span { left: 3, right: 18 };
        assert_eq!(part.nearest_room(&runs, 9, Access::ALL, 3), Some(Span { left: 3, right: 6 }));
        assert_eq!(part.nearest_room(&runs, 9, Access::ALL, 4), None);
    }
}
