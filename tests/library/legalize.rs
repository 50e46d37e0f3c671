//! Legalization of designs that are known to fit: as many cells as a greedy algorithm places, and
//! legal by a checker that shares no code with the library.

use crate::common::legal::check::faults;
use crate::common::legal::generate::{Generated, heap, macros};
use crate::common::legal::greedy::greedy;
use placefield::design::{
    Blockage, BlockageKind, Design, EdgeSpacing, Halo, Master, Nets, NodeKind, Nodes, Orientation,
    Placement, Row, Symmetry,
};
use placefield::displacement;
use placefield::grid::Rect;
use placefield::legality::{self, Fault, LegalityOptions};
use placefield::legalize::{Failed, LegalizeOptions, Legalized, Reason, legalize};
use placefield::refine::{RefineOptions, refine};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::time::Instant;

fn legalized(design: &Design) -> Legalized {
    let options = LegalizeOptions::default();
    legalize(design, &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Whether the library finds a placement legal.
fn is_legal(design: &Design, placement: &Placement) -> bool {
    let placed = Design { placement: placement.clone(), ..design.clone() };
    let options = LegalityOptions::default().reference(&design.placement);
    legality::check(&placed, &options).unwrap().is_legal()
}

/// Returns an error where the library and the checker do not agree on a placement.
fn agree(design: &Design, placement: &Placement, what: &str) -> Result<(), String> {
    let found = faults(design, placement, &[], 0);
    match is_legal(design, placement) == found.is_empty() {
        true => Ok(()),
        false => Err(format!("the library and the checker differ on {what}: {:?}", found.first())),
    }
}

/// What is wrong with the legalization of a design; and whether the greedy algorithm has placed
/// all of its cells.
fn judge(generated: &Generated) -> (bool, Vec<String>) {
    let Generated { design, solution, .. } = generated;
    assert_eq!(faults(design, solution, &[], 0), [""; 0], "the solution is not legal");
    let (by_greedy, left) = greedy(design);
    assert_eq!(faults(design, &by_greedy, &left, 0), [""; 0], "the greedy result is not legal");
    let result = legalized(design);
    let mut wrong = Vec::new();
    if left.is_empty() && !result.failed.is_empty() {
        let cells = design.movable().count();
        wrong.push(format!("{} of {cells} cells are not placed", result.failed.len()));
    }
    let failed: Vec<usize> = result.failed.iter().map(|failed| failed.node as usize).collect();
    wrong.extend(faults(design, &result.placement, &failed, 0).into_iter().take(2));
    let solved = [(&design.placement, "the start"), (solution, "the solution")];
    for (placement, what) in solved.into_iter().chain([(&result.placement, "the result")]) {
        wrong.extend(agree(design, placement, what).err());
    }
    if legalized(design) != result {
        wrong.push("a second call gives another result".to_owned());
    }
    (left.is_empty(), wrong)
}

/// Legalizes the designs of these seeds, and prints those on which it does not do well.
fn property(seeds: std::ops::Range<u64>) {
    let all: Vec<_> = seeds
        .into_par_iter()
        .map(|seed| (seed, Generated::new(seed)))
        .map(|(seed, generated)| (seed, judge(&generated), generated.text))
        .collect();
    let complete = all.iter().filter(|(_, (complete, _), _)| *complete).count();
    let wrong: Vec<_> = all.iter().filter(|(_, (_, wrong), _)| !wrong.is_empty()).collect();
    for (seed, (_, wrong), text) in &wrong {
        println!("seed {seed}: {}\n  {text}", wrong.join("; "));
    }
    let seeds: Vec<u64> = wrong.iter().map(|(seed, ..)| *seed).collect();
    println!("{} designs, {complete} complete by the greedy algorithm", all.len());
    assert!(complete * 3 > all.len(), "the greedy algorithm places too few designs");
    assert!(wrong.is_empty(), "{} of {} designs: seeds {seeds:?}", wrong.len(), all.len());
}

#[test]
fn what_a_greedy_algorithm_places_is_placed_legally() {
    property(0..60);
}

#[test]
#[ignore = "half a minute"]
fn what_a_greedy_algorithm_places_is_placed_legally_in_1000_designs() {
    property(0..1000);
}

/// Two cells of 4 × 10, one with a halo of 2, and a fixed one of 4 × 10, in rows of 40 sites.
#[test]
fn the_checker_knows_halos_and_padding() {
    let row = Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 40, ..Row::default() };
    let (left, right) = (2.0, 2.0);
    let design = Design {
        nodes: Nodes {
            width: vec![4.0; 3],
            height: vec![10.0; 3],
            kind: vec![NodeKind::Movable, NodeKind::Movable, NodeKind::Fixed],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![0.0, 6.0, 20.0],
            y: vec![0.0; 3],
            orientation: vec![Orientation::N; 3],
        },
        rows: vec![row, Row { y: 10.0, ..row }],
        halos: vec![Halo { node: 1, left, right, ..Halo::default() }],
        ..Design::default()
    };
    let found = |x: [f64; 2], padding| {
        let mut at = design.placement.clone();
        at.x[..2].copy_from_slice(&x);
        let found = faults(&design, &at, &[], padding);
        assert_eq!(padding > 0 || found.is_empty(), padding > 0 || is_legal(&design, &at));
        found
    };
    assert_eq!(found([0.0, 6.0], 0), [""; 0]);
    assert_eq!(found([1.0, 6.0], 0), ["node 0 reaches into the halo of node 1"]);
    assert_eq!(found([12.0, 6.0], 0), [""; 0]);
    assert_eq!(found([0.0, 15.0], 0), ["fixed node 2 is in the halo of node 1"]);
    assert_eq!(found([2.0, 14.0], 1), [""; 0]);
    assert_eq!(found([17.0, 10.0], 0).len(), 1);
    // Each keeps one site free, which makes two between cells, and one beside the fixed one.
    assert_eq!(found([0.0, 14.0], 2), [""; 0]);
    assert_eq!(found([15.0, 6.0], 1), [""; 0]);
    assert_eq!(found([16.0, 6.0], 1), ["node 0 reaches into fixed node 2"]);
    assert_eq!(
        found([0.0, 7.0], 2),
        ["node 0 reaches into the halo of node 1", "nodes 0 and 1 overlap"]
    );
}

/// One cell of a legal placement is moved by some sites and rows, or turned.
#[test]
fn the_checkers_agree_on_single_faults() {
    // Whether the library finds each legal, and the error if the checker does not agree.
    let found: Vec<(bool, Option<String>)> = (0..60u64)
        .into_par_iter()
        .flat_map_iter(|seed| {
            let Generated { design, solution, .. } = Generated::new(seed);
            let random = &mut Pcg64::seed_from_u64(seed);
            let movable: Vec<usize> = design.movable().collect();
            let mut found = Vec::new();
            for _ in 0..20 {
                let mut moved = solution.clone();
                let node = movable[random.random_range(0..movable.len())];
                let row = &design.rows[0];
                let single = design.nodes.height[node] < 1.5 * row.height;
                match random.random_range(0..4) {
                    0 => moved.x[node] += row.pitch * f64::from(random.random_range(-6i32..=6)),
                    1 => moved.y[node] += row.height * f64::from(random.random_range(-3i32..=3)),
                    2 => moved.x[node] += row.pitch * random.random::<f64>(),
                    _ if single => {
                        moved.orientation[node] = Orientation::ALL[random.random_range(0..8)];
                    }
                    _ => moved.y[node] += 2.0 * row.height,
                }
                let error = agree(&design, &moved, &format!("node {node} of seed {seed}")).err();
                found.push((is_legal(&design, &moved), error));
            }
            found
        })
        .collect();
    let legal = found.iter().filter(|(legal, _)| *legal).count();
    assert!(legal > 50 && found.len() - legal > 500, "{legal} of {} are legal", found.len());
    let differ: Vec<String> = found.into_iter().filter_map(|(_, error)| error).collect();
    assert!(differ.is_empty(), "{} times: {:#?}", differ.len(), &differ[..differ.len().min(8)]);
}

/// Prints the seconds that one thread takes.
fn time(name: &str, design: &Design) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let begun = Instant::now();
    let result = pool.install(|| legalized(design));
    println!("{name}: {:.2} s, {} failed", begun.elapsed().as_secs_f64(), result.failed.len());
    assert!(result.failed.is_empty() && is_legal(design, &result.placement));
}

#[test]
#[ignore = "takes time, which it prints"]
fn time_of_65905_cells_at_one_point() {
    time("65,905 cells at one point", &heap(65_905));
}

#[test]
#[ignore = "takes time, which it prints"]
fn time_of_132054_cells_at_one_point() {
    time("132,054 cells at one point", &heap(132_054));
}

#[test]
#[ignore = "takes time, which it prints"]
fn time_of_a_million_cells_at_one_point() {
    time("1,000,000 cells at one point", &heap(1_000_000));
}

#[test]
#[ignore = "takes time, which it prints"]
fn time_of_23000_macros() {
    time("23,000 macros", &macros(23_000));
}

#[test]
#[ignore = "takes time, which it prints"]
fn time_of_6000_macros_at_one_point() {
    let mut design = macros(6_000);
    (design.placement.x, design.placement.y) = (vec![4000.0; 6_000], vec![4000.0; 6_000]);
    time("6,000 macros at one point", &design);
}

/// Gaps of one site are as good as always removed, and the result stays legal.
#[test]
fn gaps_of_one_site_are_removed() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..60 {
        let Generated { design, .. } = Generated::new(seed);
        let gaps = |options: &LegalizeOptions| {
            let result = legalize(&design, options, &mut |_| ControlFlow::Continue(())).unwrap();
            let failed: Vec<usize> = result.failed.iter().map(|f| f.node as usize).collect();
            assert_eq!(faults(&design, &result.placement, &failed, 0), [""; 0], "seed {seed}");
            let placed = Design { placement: result.placement, ..design.clone() };
            let options = LegalityOptions::default().no_one_site_gaps(true);
            legality::check(&placed, &options).unwrap().count(Fault::OneSiteGap)
        };
        before += gaps(&LegalizeOptions::default());
        after += gaps(&LegalizeOptions::default().no_one_site_gaps(true));
    }
    // Some designs are too full for a better result.
    println!("{before} gaps of one site, {after} are left");
    assert!(before > 1000 && after * 4 < before, "{before} gaps, {after} left");
}

/// Cells that exceed the limit are named, and there are fewer of them than without a limit.
#[test]
fn cells_beyond_the_limit_are_named() {
    let beyond = |design: &Design, limit: Option<f64>| {
        let options = LegalizeOptions::default().max_displacement(limit);
        let result = legalize(design, &options, &mut |_| ControlFlow::Continue(())).unwrap();
        let moved = displacement::between(design, &design.placement, &result.placement).unwrap();
        let far = |f: &&Failed| matches!(f.reason, Reason::TooFar { .. });
        let named = result.too_far.iter().filter(far).count();
        let rows = design.row_height().unwrap();
        assert_eq!(named > 0, limit.is_some_and(|limit| moved.largest > limit * rows * 1.0001));
        (moved.largest / rows, named)
    };
    let mut all = 0;
    for seed in 0..60 {
        let Generated { design, .. } = Generated::new(seed);
        let (largest, none) = beyond(&design, None);
        assert_eq!(none, 0);
        let (within, named) = beyond(&design, Some(0.7 * largest));
        assert!(named > 0 || within <= 0.7001 * largest, "seed {seed}: {within} of {largest}");
        all += usize::from(named == 0);
    }
    println!("the limit was kept in {all} designs of 60");
    assert!(all > 5);
}

/// Rows of 200 sites of 1 × 10, and cells of 2 to 6 sites anywhere, connected at random.
fn open_design(rows: usize, cells: usize, seed: u64) -> Design {
    let random = &mut Pcg64::seed_from_u64(seed);
    let row = Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 200, ..Row::default() };
    let width: Vec<f64> = (0..cells).map(|_| f64::from(random.random_range(2..7))).collect();
    let top = 10.0 * rows as f64;
    let x = width.iter().map(|w| random.random::<f64>() * (200.0 - w)).collect();
    let y = (0..cells).map(|_| random.random::<f64>() * (top - 10.0)).collect();
    let pins = 3 * cells;
    Design {
        nodes: Nodes {
            width,
            height: vec![10.0; cells],
            kind: vec![NodeKind::Movable; cells],
            ..Nodes::default()
        },
        placement: Placement { x, y, orientation: vec![Orientation::N; cells] },
        nets: Some(Nets {
            net_start: (0..=cells as u32).map(|net| 3 * net).collect(),
            weight: vec![1.0; cells],
            pin_node: (0..pins).map(|_| random.random_range(0..cells as u32)).collect(),
            pin_dx: vec![0.0; pins],
            pin_dy: vec![0.0; pins],
            ..Nets::default()
        }),
        rows: (0..rows).map(|k| Row { y: 10.0 * k as f64, ..row }).collect(),
        ..Design::default()
    }
}

/// The design with its placement made legal; all of its cells have a place.
fn made_legal(design: &Design, options: &LegalizeOptions) -> Design {
    let result = legalize(design, options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(result.failed, []);
    Design { placement: result.placement, ..design.clone() }
}

/// The design with its placement refined.
fn refined(design: &Design, options: &RefineOptions<'_>) -> Design {
    let result = refine(design, options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(result.hpwl_after < 0.95 * result.hpwl_before);
    Design { placement: result.placement, ..design.clone() }
}

fn found(design: &Design) -> legality::Legality {
    legality::check(design, &LegalityOptions::default().no_one_site_gaps(true)).unwrap()
}

#[test]
fn partial_blockages_are_not_filled_beyond_their_share() {
    for (seed, share) in [(1, 0.4), (2, 0.15), (3, 0.8)] {
        let mut design = open_design(20, 400, seed);
        let rect = Rect::at(37.0, 40.0, 90.0, 85.0);
        design.blockages = vec![Blockage { rect, kind: BlockageKind::Partial(share) }];
        design.placement.x.iter_mut().for_each(|x| *x = 40.0 + 0.4 * *x);
        assert_eq!(found(&design).count(Fault::Overfilled), 1, "the start fills the blockage");
        let legal = made_legal(&design, &LegalizeOptions::default());
        let refined = refined(&legal, &RefineOptions::default());
        for design in [&legal, &refined] {
            let area = |i| design.rect(i).overlap(&rect);
            let filled: f64 = design.movable().map(area).sum::<f64>() / rect.area();
            assert!(filled <= share && filled > 0.5 * share, "{filled} of {share}");
            assert_eq!(found(design).count(Fault::Overfilled), 0);
        }
    }
}

#[test]
fn soft_blockages_take_more_cells_only_if_there_is_no_other_room() {
    let mut design = open_design(20, 400, 4);
    let rect = Rect::at(50.0, 50.0, 60.0, 100.0);
    design.blockages = vec![Blockage { rect, kind: BlockageKind::Soft }];
    let inside = |design: &Design| -> Vec<usize> {
        design.movable().filter(|&i| design.rect(i).overlap(&rect) > 0.0).collect()
    };
    let before = inside(&design);
    let legal = made_legal(&design, &LegalizeOptions::default());
    let refined = refined(&legal, &RefineOptions::default());
    for after in [inside(&legal), inside(&refined)] {
        assert!(after.iter().all(|i| before.contains(i)) && after.len() > before.len() / 2);
    }
    // Too many cells for the rest of the die.
    let mut design = open_design(20, 900, 5);
    design.blockages = vec![Blockage { rect, kind: BlockageKind::Soft }];
    design.placement.x.fill(0.0);
    assert!(inside(&design).is_empty());
    assert!(inside(&made_legal(&design, &LegalizeOptions::default())).len() > 20);
}

#[test]
fn edge_spacings_are_kept() {
    let mut design = open_design(20, 400, 6);
    design.edge_spacing = EdgeSpacing::new(2);
    design.edge_spacing.set(0, 0, 3.0, false);
    design.edge_spacing.set(0, 1, 1.0, false);
    let symmetry = Symmetry { x: true, y: true, r90: false };
    let master = |edge| Master { edge, symmetry, ..Master::default() };
    design.masters = vec![
        master([Some(0), Some(0)]),
        master([Some(0), Some(1)]),
        master([Some(1), None]),
        Master::default(),
    ];
    design.nodes.master = (0..400).map(|k| Some(k % 4)).collect();
    let legal = made_legal(&design, &LegalizeOptions::default());
    let refined_of = |legal: &Design| refined(legal, &RefineOptions::default());
    for design in [&legal, &refined_of(&legal)] {
        assert_eq!(found(design).count(Fault::EdgeSpacing), 0);
    }
    // Fixed cells have edges, too.
    let mut with_fixed = Design { placement: legal.placement.clone(), ..design.clone() };
    (0..400).step_by(5).for_each(|node| with_fixed.nodes.kind[node] = NodeKind::Fixed);
    let moves = |node: usize| with_fixed.nodes.kind[node] == NodeKind::Movable;
    let moving: Vec<usize> = (0..400).filter(|&node| moves(node)).collect();
    for node in moving {
        with_fixed.placement.x[node] = design.placement.x[node];
        with_fixed.placement.y[node] = design.placement.y[node];
    }
    let legal = made_legal(&with_fixed, &LegalizeOptions::default());
    assert_eq!(found(&legal).count(Fault::EdgeSpacing), 0);
    assert_eq!(found(&refined_of(&legal)).count(Fault::EdgeSpacing), 0);
    // Without regard to edges there are many too near.
    let careless = Design { edge_spacing: EdgeSpacing::default(), ..design.clone() };
    let careless = made_legal(&careless, &LegalizeOptions::default());
    let careless = Design { edge_spacing: design.edge_spacing, ..careless };
    assert!(found(&careless).count(Fault::EdgeSpacing) > 20);
}

/// One row of 12 sites for a cell of 8 and one of 1 that keeps one free at either side.
#[test]
fn cells_with_halos_leave_room_for_wider_ones() {
    let row = Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 12, ..Row::default() };
    let design = Design {
        nodes: Nodes {
            width: vec![8.0, 1.0],
            height: vec![10.0; 2],
            kind: vec![NodeKind::Movable; 2],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![1.0, 5.0],
            y: vec![0.0; 2],
            orientation: vec![Orientation::N; 2],
        },
        rows: vec![row],
        halos: vec![Halo { node: 1, left: 1.0, right: 1.0, ..Halo::default() }],
        ..Design::default()
    };
    let result = legalized(&design);
    assert_eq!((&result.failed, result.macros), (&Vec::new(), 1));
    assert_eq!(faults(&design, &result.placement, &[], 0), [""; 0]);
}

/// Cells of three rows that lie on their side or upside down at first; rows say how they lie.
#[test]
fn halos_are_those_of_the_final_orientation() {
    let mut design = open_design(20, 60, 8);
    design.rows.iter_mut().step_by(2).for_each(|row| row.orientation = Orientation::FS);
    for node in 0..60 {
        (design.nodes.width[node], design.nodes.height[node]) = (4.0, 30.0);
        design.placement.orientation[node] =
            [Orientation::N, Orientation::FS, Orientation::E][node % 3];
        design.halos.push(Halo { node: node as u32, left: 3.0, top: 10.0, ..Halo::default() });
    }
    let master = Master { symmetry: Symmetry { x: true, y: true, r90: true }, ..Master::default() };
    (design.masters, design.nodes.master) = (vec![master], vec![Some(0); 60]);
    let result = legalized(&design);
    assert_eq!(result.failed, []);
    assert_eq!(faults(&design, &result.placement, &[], 0), [""; 0]);
}

#[test]
fn refinement_keeps_its_limits() {
    let legal =
        made_legal(&open_design(20, 750, 7), &LegalizeOptions::default().no_one_site_gaps(true));
    assert_eq!(found(&legal).count(Fault::OneSiteGap), 0);
    let free = refined(&legal, &RefineOptions::default());
    let gaps = found(&free).count(Fault::OneSiteGap);
    assert!(gaps > 5, "{gaps}");
    let options = RefineOptions::default().no_one_site_gaps(true).max_displacement(Some(4.0));
    let limited = refined(&legal, &options);
    assert_eq!(found(&limited).count(Fault::OneSiteGap), 0);
    let largest = |to: &Design| {
        displacement::between(&legal, &legal.placement, &to.placement).unwrap().largest
    };
    assert!(largest(&free) > 60.0 && largest(&limited) <= 40.0 && largest(&limited) > 30.0);
}
