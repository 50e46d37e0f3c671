//! Random designs: results are legal by a check that shares no code with the legalizer, and a
//! failed cell fits nowhere.

use super::{LegalizeOptions, Legalized, Reason};
use crate::design::*;
use crate::grid::Rect;
use crate::legality::{self, LegalityOptions};
use crate::rows::RowsError;
use proptest::prelude::*;
use std::ops::ControlFlow;

fn legalize(design: &Design, options: &LegalizeOptions) -> Result<Legalized, RowsError> {
    super::legalize(design, options, &mut |_| ControlFlow::Continue(()))
}

/// The parts of a random design.
#[derive(Clone, Debug)]
struct Recipe {
    rows: usize,
    sites: u64,
    /// Rows are in so many parts.
    parts: u64,
    /// Rows from the middle on are so much higher, and of another kind of sites.
    higher: f64,
    fences: usize,
    fixed: usize,
    blockages: usize,
    /// Of a cell, rows at most.
    most_rows: usize,
    fill: f64,
    seed: u64,
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let floor = (2usize..14, 20u64..90, 1u64..4, prop_oneof![3 => Just(0.0), 1 => Just(4.0)]);
    let inside = (0usize..3, 0usize..4, 0usize..3, 1usize..5);
    (floor, inside, 0.6f64..0.99, any::<u64>()).prop_map(
        |((rows, sites, parts, higher), (fences, fixed, blockages, most_rows), fill, seed)| {
            Recipe { rows, sites, parts, higher, fences, fixed, blockages, most_rows, fill, seed }
        },
    )
}

/// Returns the numbers below a bound, one after the other.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below.max(1)
    }
}

fn design(recipe: &Recipe) -> Design {
    let mut next = numbers(recipe.seed);
    let mut design = Design::default();
    let (mut y, site) = (100.0, 2.0);
    for k in 0..recipe.rows {
        let upper = recipe.higher > 0.0 && 2 * k >= recipe.rows;
        let height = if upper { 10.0 + recipe.higher } else { 10.0 };
        let part = recipe.sites / recipe.parts;
        for p in 0..recipe.parts {
            design.rows.push(Row {
                x: 50.0 + site * (p * part) as f64,
                y,
                height,
                site_width: site,
                pitch: site,
                // Between two parts some sites are missing now and then.
                sites: part - [0, 0, 3][next(3)].min(part - 1),
                orientation: if k % 2 == 0 { Orientation::N } else { Orientation::FS },
                site: Some(u32::from(upper)),
                ..Row::default()
            });
        }
        y += height;
    }
    let (width, height) = (site * recipe.sites as f64, y - 100.0);
    let somewhere = |next: &mut dyn FnMut(usize) -> usize, share: f64| {
        let (w, h) = (width * share, height * share);
        let of = |span: f64, k: usize| (span * k as f64 / 64.0).floor();
        let (x, y) = (50.0 + of(width - w, next(64)), 100.0 + of(height - h, next(64)));
        Rect::at(x, y, w.ceil().max(3.0), h.ceil().max(3.0))
    };
    for k in 0..recipe.fences {
        let rect = somewhere(&mut next, 0.35);
        // Fences do not overlap.
        let apart = |f: &Fence| f.rects.iter().all(|r| r.overlap(&rect) == 0.0);
        if design.fences.iter().all(apart) {
            design.fences.push(Fence {
                name: format!("f{k}"),
                rects: vec![rect],
                ..Fence::default()
            });
        }
    }
    for _ in 0..recipe.blockages {
        let kind = if next(2) == 0 { BlockageKind::Hard } else { BlockageKind::Soft };
        design.blockages.push(Blockage { rect: somewhere(&mut next, 0.15), kind });
    }
    let all = Symmetry { x: true, y: true, r90: false };
    let stands = [StandsOn::Any, StandsOn::Any, StandsOn::Upright, StandsOn::UpsideDown];
    for (k, stands_on) in stands.into_iter().enumerate() {
        let site = [None, Some(0), None, None][k];
        design.masters.push(Master { symmetry: all, stands_on, site, ..Master::default() });
    }
    let put = |design: &mut Design, rect: Rect, kind, fence, master| {
        design.nodes.width.push(rect.width());
        design.nodes.height.push(rect.height());
        design.nodes.kind.push(kind);
        design.nodes.fence.push(fence);
        design.nodes.master.push(master);
        design.placement.x.push(rect.xl);
        design.placement.y.push(rect.yl);
        design.placement.orientation.push(Orientation::N);
    };
    for k in 0..recipe.fixed {
        let rect = somewhere(&mut next, 0.12);
        put(&mut design, rect, NodeKind::Fixed, None, None);
        if next(2) == 0 {
            let (node, left, top) = (k as u32, next(7) as f64, next(7) as f64);
            design.halos.push(Halo { node, left, top, ..Halo::default() });
        }
    }
    // Cells until the space is as full as asked.
    let free = (0..design.rows.len()).flat_map(|row| {
        let Row { x, y, height, sites, .. } = design.rows[row];
        (0..sites).map(move |k| Rect::at(x + site * k as f64, y, site, height))
    });
    let taken = |rect: &Rect| {
        let hard = design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard);
        let fixed = (0..design.nodes.len()).map(|i| design.rect(i));
        hard.map(|b| b.rect).chain(fixed).any(|other| other.overlap(rect) > 0.0)
    };
    let mut left = recipe.fill * free.filter(|rect| !taken(rect)).map(|r| r.area()).sum::<f64>();
    while left > 0.0 {
        let upper = recipe.higher > 0.0 && next(2) == 0;
        let row = if upper { 10.0 + recipe.higher } else { 10.0 };
        // No cell is so high that it takes its sites before the others.
        let most_rows = recipe.most_rows.min((10.0 * MOST_ROWS_OF_A_CELL / row) as usize);
        let rows = if next(4) == 0 { 1 + next(most_rows) } else { 1 };
        // Not whole sites, all of them.
        let (w, h) = (1.0 + next(11) as f64, row * rows as f64);
        let of = next(8);
        let fence = if of < design.fences.len() { Some(of as u32) } else { None };
        let x = 40.0 + next(64) as f64 * width / 64.0;
        let y = 95.0 + next(64) as f64 * height / 64.0;
        let master =
            [Some(0), None, Some(if upper { 0 } else { 1 }), Some(2 + next(2) as u32)][next(4)];
        put(&mut design, Rect::at(x, y, w, h), NodeKind::Movable, fence, master);
        left -= w * h;
    }
    design
}

/// Whether node `i` may lie at a place, whatever other movable nodes do.
fn may_lie(design: &Design, i: usize, x: f64, y: f64, orientation: Orientation) -> bool {
    let (w, h) = design.nodes.size(i, orientation);
    let rect = Rect::at(x, y, w, h);
    let on = |row: &&Row| {
        let site = (x - row.x) / row.pitch;
        row.y == y && site >= 0.0 && site.fract() == 0.0 && site < row.sites as f64
    };
    let Some(row) = design.rows.iter().find(on) else { return false };
    let covered: f64 = design.rows.iter().map(|row| row.rect().overlap(&rect)).sum();
    let upside_down = row.orientation == Orientation::FS;
    let master = design.nodes.master[i].map(|m| &design.masters[m as usize]);
    let rails = master.is_none_or(|m| match m.stands_on {
        StandsOn::Any => true,
        StandsOn::Upright => !upside_down,
        StandsOn::UpsideDown => upside_down,
    });
    let kind = |m: &Master| {
        m.site.is_none() || m.site == row.site || design.rows.iter().all(|r| r.site != m.site)
    };
    let turned = h != row.height || (orientation == Orientation::FS) == upside_down;
    let hard = design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard).map(|b| b.rect);
    let fixed = (0..design.nodes.len()).filter(|&k| design.nodes.kind[k] == NodeKind::Fixed);
    let halos = design.halos.iter().map(|halo| {
        let r = design.rect(halo.node as usize);
        Rect { xl: r.xl - halo.left, yh: r.yh + halo.top, ..r }
    });
    let in_the_way = hard.chain(fixed.map(|k| design.rect(k))).chain(halos);
    let own = design.nodes.fence[i];
    let inside = design.fences.iter().enumerate().all(|(k, fence)| {
        let shared: f64 = fence.rects.iter().map(|r| r.overlap(&rect)).sum();
        if own == Some(k as u32) { shared == rect.area() } else { shared == 0.0 }
    });
    covered == rect.area()
        && rails
        && master.is_none_or(kind)
        && turned
        && inside
        && in_the_way.map(|other| other.overlap(&rect)).sum::<f64>() == 0.0
}

fn movable_at(design: &Design, at: &Placement, failed: &[usize]) -> Vec<(usize, Rect)> {
    let all = design.movable().filter(|i| !failed.contains(i));
    all.map(|i| {
        let (w, h) = design.nodes.size(i, at.orientation[i]);
        (i, Rect::at(at.x[i], at.y[i], w, h))
    })
    .collect()
}

/// Returns every place that a cell may have: each site of each row, of those that it fills if there
/// are any, and no place that ends within a row, for all of that row's height is taken.
fn places<'a>(
    whole: &'a Design,
    design: &'a Design,
    i: usize,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let fills = move |row: &Row| design.nodes.height[i] % row.height == 0.0;
    let any = design.rows.iter().any(fills);
    let sites = design
        .rows
        .iter()
        .filter(move |row| !any || fills(row))
        .flat_map(|row| (0..row.sites).map(|k| (row.x + row.pitch * k as f64, row.y)));
    let top = move |y: f64| y + design.nodes.height[i];
    let ends = move |y: f64| design.rows.iter().any(|row| row.y + row.height == top(y));
    sites.filter(move |&(_, y)| ends(y)).filter(move |&(x, y)| {
        [Orientation::N, Orientation::FS].iter().any(|&o| may_lie(whole, i, x, y, o))
    })
}

/// Returns nine macros, the first two fixed and some on their side, in a heap with cells, on 60 rows
/// of 300 sites.
fn design_of_macros(seed: u64) -> Design {
    let mut next = numbers(seed);
    let row = Row { height: 10.0, site_width: 2.0, pitch: 2.0, sites: 300, ..Row::default() };
    let rows = (0..60).map(|k| Row { y: 10.0 * f64::from(k), ..row }).collect();
    let mut design = Design { rows, ..Design::default() };
    for node in 0..150 {
        let is_macro = node < 9;
        let (width, height) = match is_macro {
            true => (30 + 2 * next(40), 50 + 10 * next(5)),
            false => (2 + 2 * next(4), 10),
        };
        design.nodes.width.push(width as f64);
        design.nodes.height.push(height as f64);
        design.nodes.kind.push(if node < 2 { NodeKind::Fixed } else { NodeKind::Movable });
        // Fixed macros do not overlap.
        let [x, y] = [(); 2].map(|()| 150.0 + next(200_000) as f64 / 997.0);
        design.placement.x.push(if node < 2 { 20.0 + 340.0 * node as f64 } else { x });
        design.placement.y.push(y);
        let turned = is_macro && next(3) == 0;
        design.placement.orientation.push(if turned { Orientation::E } else { Orientation::N });
    }
    design
}

fn judge(recipe: &Recipe, design: &Design, padding: u32) -> Result<usize, TestCaseError> {
    let options = LegalizeOptions::default().padding(padding);
    let legalized = legalize(design, &options).unwrap();
    let failed: Vec<usize> = legalized.failed.iter().map(|f| f.node as usize).collect();
    let at = &legalized.placement;
    let placed = movable_at(design, at, &failed);
    let room = 2.0 * f64::from(padding);
    for (k, (i, rect)) in placed.iter().enumerate() {
        prop_assert!(
            may_lie(design, *i, rect.xl, rect.yl, at.orientation[*i]),
            "{i} {rect:?} {:?} {recipe:?}",
            at.orientation[*i]
        );
        for (other, r) in &placed[..k] {
            let wide = Rect { xl: rect.xl - 2.0 * room, xh: rect.xh + 2.0 * room, ..*rect };
            prop_assert!(wide.overlap(r) == 0.0, "{i} and {other}, {recipe:?}");
        }
    }
    for fixed in (0..design.nodes.len()).filter(|&i| design.nodes.kind[i] == NodeKind::Fixed) {
        let same =
            at.x[fixed] == design.placement.x[fixed] && at.y[fixed] == design.placement.y[fixed];
        prop_assert!(same);
    }
    if padding == 0 {
        // A cell takes whole sites, also where the edge of something else cuts one.
        let mut whole = design.clone();
        whole.nodes.width.iter_mut().for_each(|w| *w = (*w / 2.0).ceil() * 2.0);
        whole.placement = at.clone();
        for refused in &legalized.failed {
            let i = refused.node as usize;
            let (w, h) = (whole.nodes.width[i], whole.nodes.height[i]);
            let mut open = places(&whole, design, i);
            if refused.reason != Reason::Full {
                prop_assert_eq!(open.next(), None, "{:?} {:?}", refused, recipe);
                continue;
            }
            let free = open.find(|&(x, y)| {
                let rect = Rect::at(x, y, w, h);
                placed.iter().all(|(k, _)| whole.rect(*k).overlap(&rect) == 0.0)
            });
            prop_assert!(free.is_none(), "{refused:?} at {free:?}, {recipe:?}");
        }
        let mut now = design.clone();
        now.placement = legalized.placement.clone();
        let options = LegalityOptions::default().reference(&design.placement);
        let legality = legality::check(&now, &options).unwrap();
        prop_assert_eq!(legality.is_legal(), failed.is_empty(), "{:?} {:?}", legality, recipe);
    }
    Ok(failed.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_designs_become_legal_or_say_why(recipe in recipes()) {
        judge(&recipe, &design(&recipe), 0)?;
    }

    #[test]
    fn padding_is_kept_free(recipe in recipes()) {
        judge(&recipe, &design(&Recipe { fill: 0.4 * recipe.fill, ..recipe.clone() }), 1)?;
    }

    /// One row each, no fences: there is nothing that keeps cells from changing places.
    #[test]
    fn full_rows_of_single_cells_are_filled(recipe in recipes(), fill in 0.9f64..0.99) {
        let parts = Recipe {
            parts: 1, higher: 0.0, fences: 0, fixed: 0, blockages: 0, most_rows: 1, fill,
            rows: recipe.rows.max(4), sites: recipe.sites.max(60), ..recipe
        };
        let mut design = design(&parts);
        design.nodes.master.fill(None);
        // Whole sites, so that the requested share of them matches the recipe.
        design.nodes.width.iter_mut().for_each(|w| *w = (*w / 2.0).floor().max(1.0) * 2.0);
        let asked: f64 = design.nodes.width.iter().sum::<f64>() * 10.0;
        let has: f64 = design.rows.iter().map(|row| row.rect().area()).sum();
        let failed = judge(&parts, &design, 0)?;
        prop_assert!(asked > 0.985 * has || failed == 0, "{failed} at {}: {parts:?}", asked / has);
    }

    /// Cells of one row are pushed by other code if no cell is higher.
    #[test]
    fn a_high_cell_in_a_fence_moves_no_other(recipe in recipes()) {
        // No cell can be so far from its wish that other orders are tried.
        let (rows, sites) = (recipe.rows.min(8), recipe.sites.min(60));
        let parts = Recipe { rows, sites, higher: 0.0, fences: 0, most_rows: 1, ..recipe };
        let mut design = design(&parts);
        let (cells, top) = (design.nodes.len(), design.die().unwrap().yh);
        for (y, orientation) in [(top, Orientation::N), (top + 10.0, Orientation::FS)] {
            let sites = parts.sites;
            design.rows.push(Row { x: 50.0, y, sites, orientation, ..design.rows[0] });
        }
        let rects = vec![Rect::at(50.0, top, 2.0 * parts.sites as f64, 20.0)];
        design.fences.push(Fence { rects, ..Fence::default() });
        design.nodes.width.push(4.0);
        design.nodes.height.push(0.0);
        design.nodes.kind.push(NodeKind::Movable);
        design.nodes.fence.push(Some(0));
        design.nodes.master.push(None);
        design.placement.x.push(60.0);
        design.placement.y.push(top);
        design.placement.orientation.push(Orientation::N);
        let [low, high] = [10.0, 20.0].map(|height| {
            design.nodes.height[cells] = height;
            legalize(&design, &LegalizeOptions::default()).unwrap()
        });
        // Nor are they if all have places.
        prop_assume!(low.failed.is_empty() && high.failed.is_empty());
        let of_others = |at: &Placement| (at.x[..cells].to_vec(), at.y[..cells].to_vec());
        let (low, high) = (of_others(&low.placement), of_others(&high.placement));
        prop_assert_eq!(low, high, "{:?}", &parts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn macros_keep_halos_and_channels(
        seed: u64,
        halo in [0u32..25, 0u32..25],
        channel in [0u32..50, 0u32..50],
    ) {
        let [halo, channel] = [halo, channel].map(|sides| sides.map(f64::from));
        let plain = design_of_macros(seed);
        let mut design = plain.clone();
        design.add_macro_halos(halo);
        let options = LegalizeOptions::default().macro_channel(channel);
        let legalized = legalize(&design, &options).unwrap();
        prop_assert_eq!(&legalized.failed, &[]);
        design.placement = legalized.placement;
        for i in 2..9 {
            for k in (0..design.nodes.len()).filter(|&k| k != i) {
                let (a, b) = (design.rect(i), design.rect(k));
                let gap = [(a.xl - b.xh).max(b.xl - a.xh), (a.yl - b.yh).max(b.yl - a.yh)];
                let keeps = |least: [f64; 2]| (0..2).any(|axis| gap[axis] >= least[axis]);
                prop_assert!(keeps(halo), "{} and {}: {:?} of {:?}", i, k, gap, halo);
                prop_assert!(k >= 9 || keeps(channel), "{} and {}: {:?} of {:?}", i, k, gap, channel);
            }
        }
        let without_halos = Design { halos: Vec::new(), ..design.clone() };
        for design in [&design, &without_halos] {
            let found = legality::check(design, &LegalityOptions::default()).unwrap();
            prop_assert!(found.is_legal(), "{:?}", found);
        }
        design.halos.reverse();
        let placement = std::mem::replace(&mut design.placement, plain.placement);
        prop_assert_eq!(legalize(&design, &options).unwrap().placement, placement);
    }
}

/// Two macros move apart by the channel of the axis along which they lie, and cells lie between.
#[test]
fn a_channel_is_open_for_cells() {
    for (at, apart) in [([280.0, 205.0], [124.0, 0.0]), ([204.0, 260.0], [0.0, 110.0])] {
        let mut design = design_of_macros(1);
        design.nodes.kind[..2].fill(NodeKind::Movable);
        design.nodes.kind[2..9].fill(NodeKind::FixedOverlappable);
        design.placement.orientation.fill(Orientation::N);
        for (i, [x, y]) in [[204.0, 205.0], at].into_iter().enumerate() {
            (design.nodes.width[i], design.nodes.height[i]) = (100.0, 60.0);
            (design.placement.x[i], design.placement.y[i]) = (x, y);
        }
        let options = LegalizeOptions::default().macro_channel([23.0, 42.0]);
        let legalized = legalize(&design, &options).unwrap();
        assert_eq!(legalized.failed, []);
        let Placement { x, y, .. } = legalized.placement;
        assert_eq!([x[1] - x[0], y[1] - y[0]], apart);
        let is_between =
            |i: &usize| x[*i] > x[0] && x[*i] < x[1] + 100.0 && y[*i] > y[0] && y[*i] < y[1] + 60.0;
        assert!((9..x.len()).filter(is_between).count() > 5);
    }
}
