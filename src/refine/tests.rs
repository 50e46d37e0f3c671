use super::*;
use crate::charge::ChargeOptions;
use crate::congestion::{Capacity, Convention, Demand, Directions, RoutingGrid};
use crate::design::{Fence, NodeKind, Orientation, Row, Symmetry};
use crate::grid::{BinGrid, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SITES: usize = 60;
const ROWS: usize = 12;
const HEIGHT: f64 = 10.0;
const PITCH: f64 = 2.0;
const X: f64 = -7.0;
const Y: f64 = 30.0;

/// Properties of a generated design.
#[derive(Clone, Copy, Default)]
struct Kind {
    seed: u64,
    /// Every other row is upside down.
    flipped: bool,
    fence: bool,
    /// Share of the sites that cells occupy.
    full: f64,
}

/// Returns a legal design: cells of one to three rows, fixed blocks, a fence, random nets with
/// weights.
fn design(kind: Kind) -> Design {
    let mut rng = Pcg64Mcg::seed_from_u64(kind.seed);
    let mut taken = vec![[false; SITES]; ROWS];
    let mut design = Design::default();
    let orientation = |row: usize| match kind.flipped && row % 2 == 1 {
        true => Orientation::FS,
        false => Orientation::N,
    };
    for row in 0..ROWS {
        design.rows.push(Row {
            x: X,
            y: Y + row as f64 * HEIGHT,
            height: HEIGHT,
            site_width: PITCH,
            pitch: PITCH,
            sites: SITES as u64,
            orientation: orientation(row),
            symmetry: Symmetry { x: false, y: true, r90: false },
            site: None,
        });
    }
    let fence = Rect::at(X + 20.0 * PITCH, Y + 3.0 * HEIGHT, 24.0 * PITCH, 5.0 * HEIGHT);
    if kind.fence {
        design.fences.push(Fence { name: "f".to_owned(), rects: vec![fence], ..Fence::default() });
    }
    let mut free = (kind.full * (SITES * ROWS) as f64) as i64;
    for attempt in 0..4000 {
        if free <= 0 {
            break;
        }
        let fixed = attempt < 3;
        let rows = if fixed { 2 } else { [1, 1, 1, 1, 2, 3][rng.random_range(0..6usize)] };
        let sites = rng.random_range(1..6usize);
        let (row, site) = (rng.random_range(0..=ROWS - rows), rng.random_range(0..=SITES - sites));
        let rect = Rect::at(
            X + site as f64 * PITCH,
            Y + row as f64 * HEIGHT,
            sites as f64 * PITCH,
            rows as f64 * HEIGHT,
        );
        let within = kind.fence && rect.overlap(&fence) == rect.area();
        let cut = kind.fence && !within && rect.overlap(&fence) > 0.0;
        let range = site..site + sites;
        if cut || taken[row..row + rows].iter().any(|row| row[range.clone()].contains(&true)) {
            continue;
        }
        taken[row..row + rows].iter_mut().for_each(|row| row[range.clone()].fill(true));
        free -= (rows * sites) as i64;
        let nodes = &mut design.nodes;
        // The width is not a whole number of sites.
        nodes.width.push(rect.width() - if fixed { 0.0 } else { 0.5 });
        nodes.height.push(rect.height());
        nodes.kind.push(if fixed { NodeKind::Fixed } else { NodeKind::Movable });
        nodes.fence.push((within && !fixed).then_some(0));
        design.placement.x.push(rect.xl);
        design.placement.y.push(rect.yl);
        let lies = if rows == 2 || fixed { Orientation::N } else { orientation(row) };
        design.placement.orientation.push(lies);
    }
    let count = design.nodes.len();
    let mut nets = Nets { net_start: vec![0], ..Nets::default() };
    for _ in 0..count {
        for _ in 0..[2, 2, 3, 4, 9][rng.random_range(0..5usize)] {
            let node = rng.random_range(0..count);
            let mut offset = |size: f64| (rng.random_range(-0.5..0.5) * size * 8.0).round() / 8.0;
            nets.pin_dx.push(offset(design.nodes.width[node]));
            nets.pin_dy.push(offset(design.nodes.height[node]));
            nets.pin_node.push(node as u32);
        }
        nets.net_start.push(nets.pin_node.len() as u32);
        nets.weight.push([0.0, 0.5, 1.0, 1.0, 3.0][rng.random_range(0..5usize)]);
    }
    design.nets = Some(nets);
    design
}

fn kinds() -> impl Iterator<Item = Kind> {
    (0..24).map(|seed| Kind {
        seed,
        flipped: seed % 2 == 1,
        fence: seed % 3 == 0,
        full: [0.3, 0.6, 0.9][seed as usize / 8],
    })
}

fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(work)
}

fn go_on(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn with(design: &Design, placement: &Placement) -> Design {
    Design { placement: placement.clone(), ..design.clone() }
}

/// Whether cells keep to the fence: its cells are inside, all others outside.
fn keeps_fences(design: &Design) -> bool {
    design.fences.iter().enumerate().all(|(fence, of)| {
        design.movable().all(|node| {
            let rect = design.rect(node);
            let inside = rect.overlap(&of.rects[0]);
            let most = if design.nodes.fence_of(node) == Some(fence) { rect.area() } else { 0.0 };
            (inside - most).abs() < 1e-9
        })
    })
}

#[test]
fn wires_get_shorter_and_cells_stay_legal() {
    for kind in kinds() {
        let design = design(kind);
        let refined = refine(&design, &RefineOptions::default(), &mut go_on).unwrap();
        let after = with(&design, &refined.placement);
        let legality =
            legality::check(&after, &LegalityOptions::default().reference(&design.placement));
        assert!(legality.unwrap().is_legal(), "seed {}", kind.seed);
        assert!(keeps_fences(&design) && keeps_fences(&after), "seed {}", kind.seed);
        let (before, hpwl) = (design.hpwl().unwrap().weighted, after.hpwl().unwrap().weighted);
        assert!(hpwl < 0.95 * before, "seed {}: {before} to {hpwl}", kind.seed);
        assert!((hpwl - refined.hpwl_after).abs() < 1e-9 * before);
        let steps: f64 = refined.shortened.iter().sum();
        assert!((before - hpwl - steps).abs() < 1e-9 * before);
        assert!(refined.moved > 0 && refined.stayed == 0 && !refined.interrupted);
        for (k, node_kind) in design.nodes.kind.iter().enumerate() {
            let same = after.placement.x[k] == design.placement.x[k];
            assert!(same || *node_kind == NodeKind::Movable);
        }
    }
}

#[test]
fn insertion_makes_wires_shorter() {
    let (mut with_it, mut without) = (0.0, 0.0);
    for kind in kinds() {
        let design = design(kind);
        let hpwl = |insert_up_to: usize| {
            let options = RefineOptions::default().insert_up_to(insert_up_to);
            let refined = refine(&design, &options, &mut go_on).unwrap();
            assert!(insert_up_to > 0 || refined.shortened[Step::Insert as usize] == 0.0);
            refined.hpwl_after
        };
        let movable = design.movable().count();
        assert_eq!(hpwl(movable), hpwl(usize::MAX), "seed {}", kind.seed);
        with_it += hpwl(movable);
        without += hpwl(0);
    }
    assert!(with_it < 0.99 * without, "{with_it}, without insertion {without}");
}

/// Makes all moves of a pass in the same placement. Returns the wirelength saved.
fn run(host: &mut Host<'_>, pass: Pass) -> f64 {
    let count = host.begin(pass).unwrap();
    host.batch(Tasks { all: count, apart: 1, first: 0, count }).unwrap()
}

#[test]
fn cells_go_back_if_swaps_have_made_wires_longer() {
    let mut longer = 0;
    for kind in kinds().step_by(2) {
        let (design, stops) = (design(kind), AtomicBool::new(false));
        let spots = |state: &State| state.cells.iter().map(|cell| cell.spot).collect::<Vec<_>>();
        let mut host = Host::new(state_of(&design, &RefineOptions::default()), &stops);
        while run(&mut host, Pass::Swap) > 0.0 {}
        let (shortest, best) = (host.state.wires.hpwl(), spots(&host.state));
        host.accept(host.state.wires.median_length());
        let gain = run(&mut host, Pass::Swap);
        let after = host.state.wires.hpwl();
        assert!((shortest - gain - after).abs() < 1e-9 * shortest);
        host.accept(0.0);
        let (state, saved) = host.end();
        if gain < 0.0 {
            longer += 1;
            assert_eq!(spots(&state), best, "seed {}", kind.seed);
            assert!((saved + gain).abs() < 1e-9 * shortest, "seed {}: {saved} {gain}", kind.seed);
        } else {
            assert_eq!((saved, state.wires.hpwl()), (0.0, after));
        }
    }
    assert!(longer > 3, "{longer}");
}

#[test]
fn the_last_rounds_accept_no_loss() {
    for rounds in 1..20 {
        let plan =
            Plan { rounds: 1..rounds, least_gain: 0.0, inserts: true, mirrors: true, loss: 1.0 };
        let losses: Vec<f64> = plan.rounds.clone().map(|round| plan.loss(round)).collect();
        let accepting = losses.iter().take_while(|loss| **loss > 0.0).count();
        assert_eq!(accepting, ROUNDS_WITH_LOSS.min(rounds.saturating_sub(3)));
        assert!(losses[accepting..].iter().all(|loss| *loss == 0.0));
        assert!(losses.is_sorted_by(|a, b| a > b || *b == 0.0));
    }
}

fn state_of(design: &Design, options: &RefineOptions<'_>) -> State {
    let (still, nets) = (setup::without_nets(design), design.nets.as_ref().unwrap());
    let sites = Sites::new(&still).unwrap();
    let legality = legality::check(design, &LegalityOptions::default()).unwrap();
    setup::state(&still, nets, &sites, 0, legality.orientations_assigned, options).unwrap()
}

/// The CPU's state after a device's placement.
#[test]
fn a_state_goes_to_any_legal_placement() {
    for kind in kinds() {
        let design = design(kind);
        let options = RefineOptions::default().mirror(false);
        let refined = refine(&design, &options, &mut go_on).unwrap();
        let after = with(&design, &refined.placement);
        let (mut state, expected) = (state_of(&design, &options), state_of(&after, &options));
        // Cells are numbered in another order.
        let spot_of = |node: u32| {
            expected.cells.iter().find(|cell| cell.node == node).map(|cell| cell.spot).unwrap()
        };
        state.go_to(state.cells.iter().map(|cell| spot_of(cell.node)).collect());
        let occupants = |state: &State, band: usize| {
            let of = |o: &crate::rows::Occupant| (o.span, state.cells[o.cell as usize].node);
            state.bands[band].cells.iter().map(of).collect::<Vec<_>>()
        };
        for band in 0..state.bands.len() {
            assert_eq!(occupants(&state, band), occupants(&expected, band), "seed {}", kind.seed);
        }
        assert!((state.wires.hpwl() - refined.hpwl_after).abs() < 1e-9 * refined.hpwl_before);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for kind in kinds().step_by(5) {
        let design = design(kind);
        for wire_price in [None, Some(few_tracks(&design, 1.0))] {
            let options = RefineOptions::default().wire_price(wire_price);
            let refined = [1, 2, 5].map(|threads| {
                on_threads(threads, || refine(&design, &options, &mut go_on).unwrap())
            });
            assert_eq!(refined[0], refined[1]);
            assert_eq!(refined[0], refined[2]);
        }
    }
}

#[test]
fn every_task_has_its_turn() {
    for (count, apart) in [(0, 31), (5, 31), (31, 31), (1000, 31), (1023, 31), (7, 1), (64, 8)] {
        let tasks = Tasks { all: count, apart, first: 0, count };
        let expected: Vec<usize> = (0..apart).flat_map(|k| (k..count).step_by(apart)).collect();
        assert_eq!((0..count).map(|place| tasks.nth(place)).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn progress_rises_within_each_step() {
    let design = design(Kind { seed: 3, full: 0.7, ..Kind::default() });
    let mut seen: Vec<Progress> = Vec::new();
    let mut watch = |progress: &Progress| {
        seen.push(*progress);
        ControlFlow::Continue(())
    };
    refine(&design, &RefineOptions::default(), &mut watch).unwrap();
    for pair in seen.windows(2).filter(|pair| pair[0].step == pair[1].step) {
        assert!(pair[0].done <= pair[1].done && pair[1].done <= 1.0);
    }
    let ends = seen.iter().filter(|progress| progress.done == 1.0);
    let steps: std::collections::BTreeSet<Step> = ends.map(|progress| progress.step).collect();
    assert_eq!(steps.len(), Step::ALL.len());
    let halves = seen.iter().filter(|progress| progress.done == 0.5);
    assert!(halves.count() > 0, "the first of two passes is half of a step");
}

#[test]
fn an_interrupted_placement_is_legal() {
    for calls in [1, 5, 9] {
        let (design, mut left) = (design(Kind { seed: 3, full: 0.7, ..Kind::default() }), calls);
        let mut hpwl = f64::INFINITY;
        let refined = refine(&design, &RefineOptions::default(), &mut |progress| {
            assert!(progress.hpwl <= hpwl);
            hpwl = progress.hpwl;
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let refined = refined.unwrap();
        // Within a batch that took long, the last report may be older than the result.
        assert!(refined.interrupted && refined.hpwl_after <= hpwl);
        let after = with(&design, &refined.placement);
        let hpwl_after = after.hpwl().unwrap().weighted;
        assert!((hpwl_after - refined.hpwl_after).abs() < 1e-9 * hpwl_after);
        assert!(legality::check(&after, &LegalityOptions::default()).unwrap().is_legal());
    }
}

#[test]
fn bins_are_not_filled_beyond_their_target() {
    for seed in 0..6 {
        let design = design(Kind { seed, full: 0.5, ..Kind::default() });
        let grid = BinGrid::new(design.die().unwrap(), 7, 6).unwrap();
        let options = ChargeOptions::default().target_density(0.6);
        let charge = Charge::from_design(&design, grid, &options).unwrap();
        let refine = |options: &RefineOptions<'_>| {
            let placement = refine(&design, options, &mut go_on).unwrap().placement;
            most_filled(&with(&design, &placement), &grid)
        };
        let before = most_filled(&design, &grid);
        let kept = refine(&RefineOptions::default().density(&charge));
        for (before, kept) in before.iter().zip(kept) {
            assert!(kept <= before.max(0.6) + 1e-6, "{before} to {kept}");
        }
        let free = refine(&RefineOptions::default());
        assert!(free.iter().zip(&before).any(|(free, before)| *free > before.max(0.6) + 0.01));
    }
}

/// Returns 7 × 6 bins with tracks for the mean wire of `design`, and twice the tracks for vertical
/// wire.
fn few_tracks(design: &Design, price: f64) -> WirePrice {
    let grid = BinGrid::new(design.die().unwrap(), 7, 6).unwrap();
    let [horizontal, vertical] = wires(design, &grid);
    let mean = |wires: &[f64]| wires.iter().sum::<f64>() / wires.len() as f64;
    let capacity = Capacity { horizontal: mean(&horizontal), vertical: 2.0 * mean(&vertical) };
    WirePrice { grid, capacity, price }
}

fn wires(design: &Design, grid: &BinGrid) -> [Vec<f64>; 2] {
    let demand = Demand::of(design, &RoutingGrid::from(grid), Convention::DreamPlace).unwrap();
    let Directions { horizontal, vertical } = demand.total();
    [horizontal, vertical].map(|map| map.as_slice().to_vec())
}

/// Length of all wire beyond the tracks.
fn beyond(design: &Design, price: &WirePrice) -> f64 {
    let [horizontal, vertical] = wires(design, &price.grid);
    let over = |wires: &[f64], tracks| wires.iter().map(|w| f64::max(0.0, w - tracks)).sum::<f64>();
    let Capacity { horizontal: across, vertical: up } = price.capacity;
    (over(&horizontal, across) + over(&vertical, up)) * price.grid.bin_area()
}

#[test]
fn wire_beyond_the_tracks_has_its_price() {
    let mut sums = [0.0; 3];
    for kind in kinds() {
        let design = design(kind);
        let refined = |price| {
            let wire_price = (price > 0.0).then(|| few_tracks(&design, price));
            let options = RefineOptions::default().wire_price(wire_price);
            let refined = refine(&design, &options, &mut go_on).unwrap();
            let after = with(&design, &refined.placement);
            let hpwl = after.hpwl().unwrap().weighted;
            assert!((hpwl - refined.hpwl_after).abs() < 1e-9 * refined.hpwl_before);
            assert!(legality::check(&after, &LegalityOptions::default()).unwrap().is_legal());
            let price = few_tracks(&design, price);
            let cost = |design: &Design| price.price * beyond(design, &price);
            let before = refined.hpwl_before + cost(&design);
            assert!(hpwl + cost(&after) <= before * (1.0 + 1e-9), "seed {}", kind.seed);
            beyond(&after, &price)
        };
        for (sum, price) in sums.iter_mut().zip([0.0, 1.0, 10.0]) {
            *sum += refined(price);
        }
    }
    assert!(sums[1] < 0.9 * sums[0] && sums[2] < 0.9 * sums[1], "{sums:?}");
}

#[test]
fn rounds_go_on_while_the_objective_falls() {
    let mut longer = 0;
    for kind in kinds() {
        let design = design(kind);
        let shortest = refine(&design, &RefineOptions::default(), &mut go_on).unwrap().placement;
        let design = with(&design, &shortest);
        let price = Some(few_tracks(&design, 10.0));
        let options = RefineOptions::default().wire_price(price).insert_up_to(0);
        let of_one = refine(&design, &options.rounds(1), &mut go_on).unwrap();
        if of_one.hpwl_after > of_one.hpwl_before {
            longer += 1;
            let refined = refine(&design, &options, &mut go_on).unwrap();
            assert!(refined.rounds > 1, "seed {}", kind.seed);
        }
    }
    assert!(longer > 3, "{longer}");
}

#[test]
fn the_wire_of_bins_follows_every_move() {
    for kind in kinds().step_by(3) {
        let design = design(kind);
        let price = few_tracks(&design, 2.0);
        let options = RefineOptions::default().wire_price(Some(price));
        let mut state = state_of(&design, &options);
        state.crowding = Some(Crowding::new(&design, &price).unwrap());
        let stops = AtomicBool::new(false);
        let mut host = Host::new(state, &stops);
        let mut after = design.clone();
        for pass in [Pass::Swap, Pass::Reorder(0), Pass::Shift(0), Pass::Mirror] {
            run(&mut host, pass);
        }
        assert!(setup::write_back(&host.state, &mut after.placement) > 0);
        let now = Crowding::new(&after, &price).unwrap();
        assert!((host.cost() - price.price * beyond(&after, &price)).abs() < 1e-9 * host.cost());
        let followed = host.state.crowding.as_ref().unwrap().beyond().iter().flatten();
        for (followed, now) in followed.zip(now.beyond().iter().flatten()) {
            assert!((followed - now).abs() < 1e-9, "seed {}: {followed} {now}", kind.seed);
        }
    }
}

#[test]
fn prices_that_are_no_numbers_are_refused() {
    let design = design(Kind { full: 0.3, ..Kind::default() });
    let price = few_tracks(&design, 1.0);
    let of_tracks = |vertical| {
        let capacity = Capacity { vertical, ..price.capacity };
        WirePrice { capacity, ..price }
    };
    let prices = [-1.0, f64::NAN, f64::INFINITY, 1e7].map(|bad| WirePrice { price: bad, ..price });
    for bad in prices.into_iter().chain([0.0, f64::NAN].map(of_tracks)) {
        let options = RefineOptions::default().wire_price(Some(bad));
        let refused = refine(&design, &options, &mut go_on);
        assert!(matches!(refused, Err(RefineError::BadPrice(_))), "{refused:?}");
    }
}

/// Returns, for every bin, the share that nodes fill.
fn most_filled(design: &Design, grid: &BinGrid) -> Vec<f64> {
    let die = grid.die();
    let bins = (0..grid.nx()).flat_map(|i| (0..grid.ny()).map(move |j| (i, j)));
    bins.map(|(i, j)| {
        let (x, y) = (i as f64 * grid.bin_x(), j as f64 * grid.bin_y());
        let bin = Rect::at(die.xl + x, die.yl + y, grid.bin_x(), grid.bin_y());
        let fixed = |node: &usize| design.nodes.kind[*node] == NodeKind::Fixed;
        let weight = |node: usize| if fixed(&node) { 0.6 } else { 1.0 };
        let areas = (0..design.nodes.len()).map(|n| weight(n) * design.rect(n).overlap(&bin));
        areas.sum::<f64>() / grid.bin_area()
    })
    .collect()
}

#[test]
fn moved_cells_keep_their_padding() {
    let before = design(Kind { seed: 8, full: 0.2, ..Kind::default() });
    let refined = refine(&before, &RefineOptions::default().padding(1), &mut go_on).unwrap();
    assert!(refined.moved > 5 && refined.stayed > 0);
    let after = with(&before, &refined.placement);
    // A cell's own sites and one on each side; the cell does not fill the last of its sites.
    let room = |node: usize| {
        let Rect { xl, xh, yl, yh } = after.rect(node);
        Rect { xl: xl - PITCH, xh: xh + 0.5 + PITCH, yl, yh }
    };
    let place = |design: &Design, node: usize| (design.placement.x[node], design.placement.y[node]);
    let moved = |node: usize| place(&before, node) != place(&after, node);
    for node in (0..after.nodes.len()).filter(|&node| moved(node)) {
        let Rect { xl, xh, .. } = room(node);
        assert!(xl >= X && xh <= X + SITES as f64 * PITCH);
        for other in (0..after.nodes.len()).filter(|&other| other != node) {
            let other = if moved(other) { room(other) } else { after.rect(other) };
            assert_eq!(room(node).overlap(&other), 0.0);
        }
    }
}

#[test]
fn illegal_input_is_refused() {
    let mut overlapping = design(Kind { seed: 1, full: 0.5, ..Kind::default() });
    let [a, b] = [4, 5];
    overlapping.placement.x[b] = overlapping.placement.x[a];
    overlapping.placement.y[b] = overlapping.placement.y[a];
    let error = refine(&overlapping, &RefineOptions::default(), &mut go_on).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the placement is not legal: nodes "), "{text}");
    let mut bad = design(Kind { seed: 1, full: 0.5, ..Kind::default() });
    bad.nets.as_mut().unwrap().pin_dx[3] = f64::NAN;
    let error = refine(&bad, &RefineOptions::default(), &mut go_on).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x offset of pin 3: NaN: expected a finite number, of weights not below 0"
    );
    bad.nets = None;
    let error = refine(&bad, &RefineOptions::default(), &mut go_on).unwrap_err();
    assert_eq!(error, RefineError::Design(DesignError::NoNets));
}

#[test]
fn without_mirroring_no_cell_is_mirrored() {
    let design = design(Kind { seed: 5, flipped: true, full: 0.6, ..Kind::default() });
    let refined = refine(&design, &RefineOptions::default().mirror(false), &mut go_on).unwrap();
    let mirrored = |o: &Orientation| matches!(o, Orientation::FN | Orientation::S);
    assert!(!refined.placement.orientation.iter().any(mirrored));
    assert_eq!(refined.shortened[Step::Mirror as usize], 0.0);
    let refined = refine(&design, &RefineOptions::default(), &mut go_on).unwrap();
    assert!(refined.placement.orientation.iter().any(mirrored));
}
