//! Which cell stands where: rows to stand on, the cells in every band, and the room between them.

use crate::legalize::sites::Run;

/// Sites `left..right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) left: i32,
    pub(super) right: i32,
}

/// A row, as [`SiteRow`](crate::legalize::sites::SiteRow) has it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Left edge of site 0, and from one site's to the next one's.
    pub(super) x: f64,
    pub(super) pitch: f64,
    /// Bottom edge.
    pub(super) y: f64,
    /// Whether its sites are upside down.
    pub(super) flipped: bool,
    /// The band at its bottom.
    pub(super) band: u32,
    /// Its free sites, ascending.
    pub(super) segments: Vec<Run>,
}

/// A cell in a band.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) span: Span,
    pub(super) cell: u32,
}

/// A cell that is put into a band or taken out of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) standing: Standing,
    pub(super) is_put: bool,
}

/// A strip that no edge of a row divides; usually a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Band {
    /// Its free sites, ascending.
    pub(super) free: Vec<Run>,
    /// The cells in it, ascending.
    pub(super) cells: Vec<Standing>,
}

impl Span {
    pub(super) fn width(&self) -> i32 {
        self.right - self.left
    }

    /// Whether one of the runs, of this fence, holds it.
    fn lies_in(&self, runs: &[Run], fence: Option<u32>) -> bool {
        let after = runs.partition_point(|run| run.start <= self.left);
        let holds = |run: &Run| run.end >= self.right && run.fence == fence;
        after.checked_sub(1).is_some_and(|k| holds(&runs[k]))
    }
}

impl Row {
    /// Returns the left edge of a site.
    #[inline]
    pub(super) fn left(&self, site: i32) -> f64 {
        self.x + f64::from(site) * self.pitch
    }

    /// Returns the part of `span` in the run of the fence that is nearest to `near`.
    pub(super) fn within(&self, span: Span, near: i32, fence: Option<u32>) -> Option<Span> {
        let after = self.segments.partition_point(|run| run.start <= near);
        let part = |k: usize| {
            let run = self.segments.get(k)?;
            let (left, right) = (span.left.max(run.start), span.right.min(run.end));
            (left < right && run.fence == fence).then_some(Span { left, right })
        };
        let before = after.checked_sub(1).and_then(part);
        if before.is_some_and(|before| before.left <= near && near < before.right) {
            return before;
        }
        let distance = |span: &Span| (span.left - near).max(near - span.right).max(0);
        [before, part(after)].into_iter().flatten().min_by_key(distance)
    }

    /// Whether a cell of the fence may stand on the sites of `span`, whatever cells are there.
    pub(super) fn holds(&self, span: Span, fence: Option<u32>) -> bool {
        span.lies_in(&self.segments, fence)
    }
}

impl Band {
    /// Returns the index of the first cell whose left edge is at `site` or beyond.
    #[inline]
    pub(super) fn from(&self, site: i32) -> usize {
        self.cells.partition_point(|standing| standing.span.left < site)
    }

    /// Returns the sites between cells `k − 1` and `k`, free as far as cells are concerned.
    #[inline]
    pub(super) fn between(&self, k: usize) -> Span {
        self.around(k, k)
    }

    /// Returns the sites that would be free without cells `from..to`, as far as cells are
    /// concerned.
    #[inline]
    pub(super) fn around(&self, from: usize, to: usize) -> Span {
        Span {
            left: from.checked_sub(1).map_or(i32::MIN, |k| self.cells[k].span.right),
            right: self.cells.get(to).map_or(i32::MAX, |standing| standing.span.left),
        }
    }

    /// Whether the sites of `span` are free for a cell of the fence, with no cell on them but those
    /// that `passes` says may be.
    pub(super) fn is_free(
        &self,
        span: Span,
        fence: Option<u32>,
        passes: impl Fn(u32) -> bool,
    ) -> bool {
        let mut k = self.from(span.right);
        while k > 0 && self.cells[k - 1].span.right > span.left {
            if !passes(self.cells[k - 1].cell) {
                return false;
            }
            k -= 1;
        }
        span.lies_in(&self.free, fence)
    }

    pub(super) fn insert(&mut self, standing: Standing) {
        let k = self.from(standing.span.left);
        self.cells.insert(k, standing);
    }

    /// Takes away the cell whose left edge is at `site`.
    pub(super) fn remove(&mut self, site: i32) {
        let k = self.from(site);
        self.cells.remove(k);
    }

    /// Takes cells out and puts others in, which fit then, ascending by left edge; of the same edge
    /// first the one that is taken out.
    pub(super) fn exchange<'a>(
        &mut self,
        exchanges: impl DoubleEndedIterator<Item = &'a Exchange> + Clone,
    ) {
        let left = |exchange: &Exchange| exchange.standing.span.left;
        let ends = (exchanges.clone().next(), exchanges.clone().next_back());
        let (Some(first), Some(last)) = ends else { return };
        let (from, end) = (self.from(left(first)), self.from(left(last) + 1));
        let mut old = self.cells[from..end].iter().copied().peekable();
        let mut new = Vec::with_capacity(end - from + 8);
        for exchange in exchanges {
            let before = |old: &Standing| old.span.left < left(exchange);
            new.extend(std::iter::from_fn(|| old.next_if(before)));
            if exchange.is_put {
                new.push(exchange.standing);
            } else {
                old.next();
            }
        }
        new.extend(old);
        self.cells.splice(from..end, new);
    }
}
