//! Whether a placement is legal, by plain loops over rectangles.

use placefield::design::{
    BlockageKind, Design, Master, NodeKind, Orientation, Placement, Row, StandsOn,
};
use placefield::grid::Rect;

/// Cells of more rows than this have no padding.
const MOST_ROWS_WITH_PADDING: f64 = 4.0;

/// Returns what is wrong with `placement`, one line for each fault; nothing for a legal one.
/// Nodes of `left_out` are not looked at. Cells keep `padding` sites free at each side.
pub fn faults(
    design: &Design,
    placement: &Placement,
    left_out: &[usize],
    padding: u32,
) -> Vec<String> {
    let check = Check { design, placement, near: 1e-3 * pitch(design) };
    let nodes = 0..design.nodes.len();
    let is = |kind| move |i: &usize| design.nodes.kind[*i] == kind;
    let movable: Vec<usize> = nodes
        .clone()
        .filter(is(NodeKind::Movable))
        .filter(|&i| check.rect(i).area() > 0.0 && !left_out.contains(&i))
        .collect();
    let fixed: Vec<usize> = nodes.filter(is(NodeKind::Fixed)).collect();
    let mut faults = Vec::new();
    for &i in &movable {
        let found = [check.stand(i), check.orientation(i), check.fence(i)];
        faults.extend(found.into_iter().flatten().map(|fault| format!("node {i}: {fault}")));
    }
    let room = f64::from(padding) * pitch(design);
    let padded = |i: usize| {
        let rows = design.nodes.height[i] / design.row_height().unwrap_or(1.0);
        let room = if rows > MOST_ROWS_WITH_PADDING + 1e-3 { 0.0 } else { room };
        let rect = check.rect(i);
        Rect { xl: rect.xl - room, xh: rect.xh + room, ..rect }
    };
    // Each area with what it is, and the node that may reach into it.
    let mut areas: Vec<(Rect, String, Option<usize>)> = Vec::new();
    for blockage in design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard) {
        areas.push((blockage.rect, "a hard blockage".to_owned(), None));
    }
    for &i in &fixed {
        areas.push((check.rect(i), format!("fixed node {i}"), None));
    }
    for halo in design.halos.iter().filter(|halo| !halo.soft) {
        let node = halo.node as usize;
        if left_out.contains(&node) || design.nodes.kind[node] == NodeKind::FixedNoImage {
            continue;
        }
        let around = halo.around(&check.rect(node), placement.orientation[node]);
        areas.push((around, format!("the halo of node {node}"), Some(node)));
        for &i in fixed.iter().filter(|&&i| i != node) {
            if design.nodes.kind[node] == NodeKind::Movable && check.meet(&around, &check.rect(i)) {
                faults.push(format!("fixed node {i} is in the halo of node {node}"));
            }
        }
    }
    for &i in &movable {
        for (area, name, own) in &areas {
            if *own != Some(i) && check.meet(&padded(i), area) {
                faults.push(format!("node {i} reaches into {name}"));
            }
        }
    }
    let mut sorted: Vec<(Rect, usize)> = movable.iter().map(|&i| (padded(i), i)).collect();
    sorted.sort_by(|a, b| a.0.xl.total_cmp(&b.0.xl));
    for (k, (a, i)) in sorted.iter().enumerate() {
        for (b, j) in sorted[k + 1..].iter().take_while(|(b, _)| b.xl < a.xh) {
            if check.meet(a, b) {
                faults.push(format!("nodes {i} and {j} overlap"));
            }
        }
    }
    faults
}

/// Returns the smallest pitch of sites, layout units.
pub fn pitch(design: &Design) -> f64 {
    design.rows.iter().map(|row| row.pitch).fold(f64::INFINITY, f64::min)
}

/// Returns the parts of `rect` that none of `others` covers.
pub fn uncovered(rect: &Rect, others: impl Iterator<Item = Rect>) -> Vec<Rect> {
    let mut left = vec![*rect];
    for other in others {
        let mut next = Vec::new();
        for piece in left {
            let (xl, xh) = (piece.xl.max(other.xl), piece.xh.min(other.xh));
            let (yl, yh) = (piece.yl.max(other.yl), piece.yh.min(other.yh));
            if xl >= xh || yl >= yh {
                next.push(piece);
                continue;
            }
            next.push(Rect { xh: xl, ..piece });
            next.push(Rect { xl: xh, ..piece });
            next.push(Rect { xl, xh, yh: yl, ..piece });
            next.push(Rect { xl, xh, yl: yh, ..piece });
            next.retain(|r| r.xl < r.xh && r.yl < r.yh);
        }
        left = next;
    }
    left
}

/// Whether a node of `height` may lie so on `row`, as far as the row and the library cell tell.
pub fn may_lie(row: &Row, master: Option<&Master>, height: f64, orientation: Orientation) -> bool {
    use Orientation::{FN, FS, N, S};
    let rows = height / row.height;
    // Supply rails alternate: a cell of an odd number of rows lies as its row asks. A block, for
    // which no site is named, has no rails of rows.
    let odd = (rows - rows.round()).abs() < 1e-3 && rows.round() % 2.0 == 1.0;
    let bound = rows < 1.5 || odd && master.is_some_and(|master| master.site.is_some());
    let upside_down = |o| matches!(o, S | FS);
    let mirrored = |o| matches!(o, S | FN);
    let by_library = master.is_none_or(|master| match orientation {
        N => true,
        FN => master.symmetry.y,
        FS => master.symmetry.x,
        S => master.symmetry.x && master.symmetry.y,
        _ => master.symmetry.r90,
    });
    let by_row = match (orientation.swaps_axes(), row.orientation.swaps_axes()) {
        (false, false) => {
            let by_x = upside_down(orientation) != upside_down(row.orientation);
            let by_y = mirrored(orientation) != mirrored(row.orientation);
            (row.symmetry.x || !by_x) && (row.symmetry.y || !by_y)
        }
        (true, true) => true,
        _ => row.symmetry.r90,
    };
    by_library && (by_row || !bound)
}

/// Whether the bottom edge of a library cell may be on `row`; `kinds` says whether a row of some
/// kind of sites exists.
pub fn may_stand(row: &Row, master: Option<&Master>, kinds: impl Fn(u32) -> bool) -> bool {
    let Some(master) = master else { return true };
    let upside_down = matches!(row.orientation, Orientation::S | Orientation::FS);
    let rails = match master.stands_on {
        StandsOn::Any => true,
        StandsOn::Upright => !upside_down,
        StandsOn::UpsideDown => upside_down,
    };
    rails && master.site.is_none_or(|site| row.site == Some(site) || !kinds(site))
}

/// Returns the library cell of a node.
pub fn master(design: &Design, node: usize) -> Option<&Master> {
    let index = design.nodes.master.get(node).copied().flatten();
    index.map(|index| &design.masters[index as usize])
}

struct Check<'a> {
    design: &'a Design,
    placement: &'a Placement,
    /// The length that counts as none.
    near: f64,
}

impl Check<'_> {
    fn rect(&self, i: usize) -> Rect {
        let Placement { x, y, orientation } = self.placement;
        let (w, h) = (self.design.nodes.width[i], self.design.nodes.height[i]);
        let (w, h) = if orientation[i].swaps_axes() { (h, w) } else { (w, h) };
        Rect { xl: x[i], yl: y[i], xh: x[i] + w, yh: y[i] + h }
    }

    fn meet(&self, a: &Rect, b: &Rect) -> bool {
        a.xh.min(b.xh) - a.xl.max(b.xl) > self.near && a.yh.min(b.yh) - a.yl.max(b.yl) > self.near
    }

    /// Whether `rect` is covered, but for slivers.
    fn is_covered(&self, rect: &Rect, by: impl Iterator<Item = Rect>) -> bool {
        let left = uncovered(rect, by.filter(|other| self.meet(rect, other)));
        left.iter().all(|r| r.width() <= self.near || r.height() <= self.near)
    }

    /// The rows that the lower-left corner of a rectangle is on.
    fn below(&self, rect: &Rect) -> impl Iterator<Item = &Row> {
        let (x, y, near) = (rect.xl, rect.yl, self.near);
        self.design.rows.iter().filter(move |row| {
            let end = row.x + row.pitch * row.sites as f64;
            (row.y - y).abs() <= near && row.x <= x + near && x + near < end
        })
    }

    /// Rows, sites, rails, kinds of sites.
    fn stand(&self, i: usize) -> Option<String> {
        let rect = self.rect(i);
        if self.below(&rect).next().is_none() {
            return Some(format!("stands on no row at {rect:?}"));
        }
        let on_site = |row: &&Row| {
            let site = ((rect.xl - row.x) / row.pitch).round();
            (row.x + site * row.pitch - rect.xl).abs() <= self.near
        };
        if !self.below(&rect).any(|row| on_site(&row)) {
            return Some(format!("stands on no site at {rect:?}"));
        }
        if !self.is_covered(&rect, self.design.rows.iter().map(Row::rect)) {
            return Some(format!("reaches beyond the sites at {rect:?}"));
        }
        let kinds = |site| self.design.rows.iter().any(|row| row.site == Some(site));
        let of = master(self.design, i);
        let fits = |row: &Row| may_stand(row, of, kinds);
        (!self.below(&rect).any(fits)).then(|| format!("stands on a wrong row at {rect:?}"))
    }

    fn orientation(&self, i: usize) -> Option<String> {
        let (orientation, height) = (self.placement.orientation[i], self.design.nodes.height[i]);
        let of = master(self.design, i);
        let rect = self.rect(i);
        let mut rows = self.below(&rect).peekable();
        rows.peek()?;
        let fits = rows.any(|row| may_lie(row, of, height, orientation));
        (!fits).then(|| format!("may not lie {}", orientation.name()))
    }

    fn fence(&self, i: usize) -> Option<String> {
        let own = self.design.nodes.fence.get(i).copied().flatten();
        let rect = self.rect(i);
        for (k, fence) in (0u32..).zip(&self.design.fences) {
            if own == Some(k) && !self.is_covered(&rect, fence.rects.iter().copied()) {
                return Some(format!("reaches out of its fence at {rect:?}"));
            }
            if own != Some(k) && fence.rects.iter().any(|other| self.meet(&rect, other)) {
                return Some(format!("reaches into a fence that is not its own at {rect:?}"));
            }
        }
        None
    }
}
