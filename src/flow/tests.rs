//! Whole placements of small designs on the CPU.

use super::*;
use crate::congestion::{Capacity, CongestionMaps, CongestionOptions, RoutingGrid};
use crate::cpu::engine::CpuEngine;
use crate::design::{Master, MasterClass, Nets, NodeKind, Nodes, Orientation, Row, Symmetry};
use crate::displacement;
use crate::engine::EngineOptions;
use crate::place::HostBackend;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// On one thread; remembers what began, and asks to stop after so many iterations of a descent.
#[derive(Default)]
struct OnCpu {
    begun: Vec<Part>,
    most: Option<usize>,
    iterations: usize,
    /// Asks to stop once this part has begun.
    last: Option<Part>,
    /// The net that weighs a hundred times as much from iteration 50 of a descent on; and how far
    /// its nodes were then.
    critical: Option<usize>,
    length: f64,
    /// Ends descents after so many iterations.
    enough: Option<usize>,
}

impl Host for OnCpu {
    type Error = FlowError;

    fn backend(
        &mut self,
        charge: &Arc<Charge>,
        netlist: &Netlist,
    ) -> Result<Box<dyn Backend>, FlowError> {
        let options = EngineOptions::default().threads(1);
        let engine = CpuEngine::<f64>::new(charge.clone(), &options).map_err(PlaceError::from)?;
        let backend = HostBackend::new(engine, netlist).map_err(PlaceError::from)?;
        Ok(Box::new(backend))
    }

    fn begin(&mut self, part: Part) {
        self.begun.push(part);
    }

    fn follow(&mut self, _: &mut Placer<'_>, records: &[Record]) -> Result<(), FlowError> {
        self.iterations = records.len() - 1;
        Ok(())
    }

    fn between(&mut self, between: &mut Between<'_, '_>) -> Result<Option<Vec<f64>>, FlowError> {
        let iteration = between.last().iteration;
        if self.enough == Some(iteration) {
            between.stop();
        }
        let Some(net) = self.critical.filter(|_| iteration == 50) else { return Ok(None) };
        let design = between.design()?;
        self.length = design.net_lengths().expect("it has nets")[net];
        let mut weights = design.nets.as_ref().expect("it has nets").weight.clone();
        weights[net] = 100.0;
        Ok(Some(weights))
    }

    fn is_asked_to_stop(&mut self) -> bool {
        self.most.is_some_and(|most| self.iterations + 1 >= most)
            || self.last.is_some_and(|last| self.begun.contains(&last))
    }
}

/// 200 cells of 4 × 10, and so many macros of 40 × 60, on 20 rows of 200 sites, with nets of two or
/// three of them.
fn design(macros: usize) -> Design {
    let count = 200 + macros;
    let row = |k: u32| Row {
        y: 10.0 * f64::from(k),
        height: 10.0,
        site_width: 1.0,
        pitch: 1.0,
        sites: 200,
        ..Row::default()
    };
    let mut random = Pcg64::seed_from_u64(3);
    let mut nets = Nets { net_start: vec![0], ..Nets::default() };
    for e in 0..300 {
        for _ in 0..2 + e % 2 {
            nets.pin_node.push((random.random::<f64>() * count as f64) as u32);
        }
        nets.net_start.push(nets.pin_node.len() as u32);
    }
    nets.weight = vec![1.0; 300];
    nets.pin_dx = vec![0.0; nets.pin_node.len()];
    nets.pin_dy = nets.pin_dx.clone();
    let of = |cell: f64, large: f64| [vec![cell; 200], vec![large; macros]].concat();
    Design {
        nodes: Nodes {
            width: of(4.0, 40.0),
            height: of(10.0, 60.0),
            kind: vec![NodeKind::Movable; count],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![0.0; count],
            y: vec![0.0; count],
            orientation: vec![Orientation::N; count],
        },
        nets: Some(nets),
        rows: (0..20).map(row).collect(),
        ..Design::default()
    }
}

fn placed(design: &mut Design, options: &FlowOptions<'_>, host: &mut OnCpu) -> Placed {
    let (charge, netlist) = options.bodies.of(design).unwrap();
    place(design, &charge, &netlist, options, host).unwrap()
}

#[test]
fn seeds_are_compared_early_and_by_their_legal_stage() {
    let mut options = FlowOptions { seeds: 8, ..Default::default() };
    for until in Stage::ALL {
        options.until = Some(until);
        let (mut design, mut host) = (self::design(0), OnCpu::default());
        let placed = placed(&mut design, &options, &mut host);
        let continued: Vec<u64> = (host.begun.iter())
            .filter_map(|part| if let Part::Continued(seed) = part { Some(*seed) } else { None })
            .collect();
        let begun = host.begun.iter().take_while(|part| matches!(part, Part::Seed(_))).count();
        assert_eq!((begun, continued.len(), placed.candidates.len()), (8, 2, 8));
        // The others were longer at the same overflow, and the result is the shortest in the end.
        let of = |seed: u64| placed.candidates.iter().find(|of| of.seed == seed).unwrap();
        let left = placed.candidates.iter().filter(|of| !continued.contains(&of.seed));
        for other in left {
            assert!((0.35..=0.4).contains(&other.overflow_smoothed), "{other:?}");
            assert_eq!((other.status, other.is_result), (Outcome::Stopped, false));
        }
        let least = continued.iter().map(|&seed| of(seed).hpwl).fold(f64::INFINITY, f64::min);
        assert!(of(placed.seed).hpwl == least && of(placed.seed).is_result);
        let stage = placed.stages.all().nth(usize::from(until > Stage::Global)).unwrap().1;
        assert_eq!((stage.hpwl_weighted, placed.stages.last().0), (Some(least), until));
        let hpwl = design.hpwl().unwrap().weighted;
        assert_eq!(placed.stages.last().1.hpwl_weighted, Some(hpwl));
        assert_eq!(placed.stages.is_legal(), until > Stage::Global);
        assert_eq!(placed.before.is_some(), until > Stage::Global);
    }
}

#[test]
fn a_seed_is_placed_as_it_is_alone() {
    let (mut design, mut options) = (design(0), FlowOptions { seeds: 5, ..Default::default() });
    let mut host = OnCpu::default();
    let several = placed(&mut design, &options, &mut host);
    (options.seeds, options.seed) = (1, several.seed);
    let mut alone = self::design(0);
    let placed = placed(&mut alone, &options, &mut OnCpu::default());
    assert_eq!(alone.placement, design.placement);
    let samples = |of: &Placed| of.global.records.iter().map(|r| r.sample).collect::<Vec<_>>();
    assert_eq!(samples(&placed), samples(&several));
    // The best at the comparison is continued.
    let mut hpwl: Vec<(u64, f64)> = Vec::new();
    for seed in 1000..1005 {
        options.seed = seed;
        let placed = self::placed(&mut self::design(0), &options, &mut OnCpu::default());
        let is_near = |r: &&Record| r.sample.density.overflow <= 0.4;
        let near = placed.global.records.iter().find(is_near).unwrap();
        hpwl.push((seed, near.sample.hpwl));
    }
    hpwl.sort_by(|a, b| a.1.total_cmp(&b.1));
    let continued = hpwl[..2].iter().map(|&(seed, _)| Part::Continued(seed));
    assert!(
        host.begun[5..]
            .iter()
            .filter(|part| matches!(part, Part::Continued(_)))
            .copied()
            .eq(continued)
    );
}

#[test]
fn all_seeds_go_on_where_wires_do_not_tell_early() {
    let options = FlowOptions { seeds: 3, ..Default::default() };
    let mut host = OnCpu::default();
    let several = placed(&mut design(6), &options, &mut host);
    assert!(!host.begun.iter().any(|part| matches!(part, Part::Continued(_))));
    assert_eq!(host.begun.iter().filter(|part| **part == Part::Detailed).count(), 1);
    let legal = several.stages.stages.legal.as_ref().unwrap().stage.hpwl_weighted.unwrap();
    let hpwls = several.candidates.iter().map(|of| of.hpwl);
    assert_eq!(hpwls.fold(f64::INFINITY, f64::min), legal);
    assert_eq!(several.candidates.iter().filter(|of| of.is_result).count(), 1);

    // Nor where the host weighs nets anew on the way.
    let mut host = OnCpu { critical: Some(7), ..OnCpu::default() };
    let several = placed(&mut design(0), &options, &mut host);
    assert!(several.candidates.iter().all(|of| of.overflow_smoothed < 0.4));
}

#[test]
fn without_time_the_best_seed_so_far_is_the_result() {
    let deadline = Some(Instant::now());
    let options = FlowOptions { deadline, seeds: 4, ..FlowOptions::default() };
    let mut host = OnCpu::default();
    let placed = self::placed(&mut design(0), &options, &mut host);
    assert_eq!((placed.global.outcome, host.begun[1]), (Outcome::OutOfTime, Part::Legal));
    let mut host = OnCpu { last: Some(Part::Seed(1002)), ..OnCpu::default() };
    let options = FlowOptions { seeds: 4, ..FlowOptions::default() };
    let placed = self::placed(&mut design(0), &options, &mut host);
    let [first, .., last] = &host.begun[..] else { panic!("{:?}", host.begun) };
    assert!(matches!((first, last), (Part::Seed(1000), Part::Continued(1000 | 1001))));
    assert_eq!((placed.global.outcome, placed.candidates.len()), (Outcome::Interrupted, 3));
}

#[test]
fn cells_are_placed_again_beside_legal_macros() {
    let (mut design, options) = (design(6), FlowOptions::default());
    let mut host = OnCpu::default();
    let kinds = design.nodes.kind.clone();
    let placed = placed(&mut design, &options, &mut host);
    let parts = [Part::Seed(1000), Part::Beside(6), Part::Legal, Part::Legal, Part::Detailed];
    assert_eq!(host.begun, parts);
    assert!(placed.stages.is_legal(), "{:?}", placed.stages.legality);
    assert_eq!(design.nodes.kind, kinds);
    // Cells continue from the result of either descent, and all iterations are reported.
    let before = placed.before.expect("others followed the global stage");
    assert_eq!(placed.global.x[..206], before.x[..]);
    let iterations = placed.global.records.iter().map(|record| record.iteration);
    assert!(iterations.eq(0..placed.global.records.len()));
}

/// A design whose pins are anywhere on its macros.
fn design_with_pins(macros: usize) -> Design {
    let mut design = design(macros);
    let mut random = Pcg64::seed_from_u64(5);
    let mut at = |size: f64| size * (random.random::<f64>() - 0.5);
    let nets = design.nets.as_mut().unwrap();
    for (pin, &node) in nets.pin_node.iter().enumerate() {
        if node >= 200 {
            (nets.pin_dx[pin], nets.pin_dy[pin]) = (at(40.0), at(60.0));
        }
    }
    design
}

#[test]
fn macros_are_mirrored_as_their_library_cells_allow() {
    use Orientation::{E, FN, FS, N, S};
    let mut random = Pcg64::seed_from_u64(7);
    let (mut seen, symmetry) = (Vec::new(), |x, y| Symmetry { x, y, r90: false });
    for round in 0..40 {
        let mut design = design_with_pins(6);
        for k in 0..206 {
            design.placement.x[k] = 160.0 * random.random::<f64>();
            design.placement.y[k] = 140.0 * random.random::<f64>();
        }
        let [x, y] = [round % 2 == 0, round % 4 < 2];
        match round % 8 < 4 {
            // By the library, or by the rows without one.
            true => {
                let (symmetry, class) = (symmetry(x, y), MasterClass::Other);
                design.masters.push(Master { symmetry, class, ..Master::default() });
                design.nodes.master = [vec![None; 200], vec![Some(0); 6]].concat();
            }
            false => design.rows.iter_mut().for_each(|row| row.symmetry = symmetry(x, y)),
        }
        design.placement.orientation[203] = E;
        let before = design.clone();
        mirror::mirror_macros(&mut design);
        let hpwl = |design: &Design| design.hpwl().unwrap().weighted;
        assert!(hpwl(&design) <= hpwl(&before));
        assert_eq!((&design.placement.x, &design.nets), (&before.placement.x, &before.nets));
        for (node, &orientation) in design.placement.orientation.iter().enumerate() {
            let same = orientation == before.placement.orientation[node];
            assert!(same || node >= 200 && node != 203, "{node} is {orientation:?}");
            seen.push(((x, y), orientation));
        }
        // No macro alone can be mirrored to a shorter result.
        let mut ways = vec![N];
        ways.extend(
            [(y, FN), (x, FS), (x && y, S)].into_iter().filter_map(|(may, o)| may.then_some(o)),
        );
        for node in (200..206).filter(|&node| node != 203) {
            for &way in &ways {
                let mut other = design.clone();
                other.placement.orientation[node] = way;
                assert!(hpwl(&other) >= hpwl(&design) * (1.0 - 1e-12), "{node} as {way:?}");
            }
        }
    }
    for (symmetry, way) in [((false, true), FN), ((true, false), FS), ((true, true), S)] {
        assert!(seen.contains(&(symmetry, way)), "none of {symmetry:?} is {way:?}");
    }
    let allowed = |&((x, y), o): &((bool, bool), Orientation)| match o {
        FN => y,
        FS => x,
        S => x && y,
        _ => o == N || o == E,
    };
    assert!(seen.iter().all(allowed));
}

#[test]
fn mirrored_macros_stand_so_in_the_result() {
    let (mut design, mut options) = (design_with_pins(6), FlowOptions::default());
    let turned = |of: &Design| of.placement.orientation[200..].iter().any(|&o| o != Orientation::N);
    let mut still = design.clone();
    let placed = self::placed(&mut design, &options, &mut OnCpu::default());
    assert!(placed.stages.is_legal() && turned(&design));
    assert_eq!(placed.stages.last().1.hpwl_weighted, Some(design.hpwl().unwrap().weighted));
    options.refine.mirror = false;
    self::placed(&mut still, &options, &mut OnCpu::default());
    assert!(!turned(&still));
}

#[test]
fn the_variant_with_the_shortest_wires_once_legal_is_refined() {
    let mut before = design(0);
    before.nodes.width.iter_mut().step_by(5).for_each(|width| *width = 14.0);
    let options = |effort| FlowOptions { effort, ..FlowOptions::default() };
    let (mut design, mut host) = (before.clone(), OnCpu::default());
    let placed = self::placed(&mut design, &options(Effort::High), &mut host);
    let variants = Effort::High.variants(&options(Effort::High).bodies.charge, false, 200);
    let parts: Vec<Part> = [Part::Seed(1000)]
        .into_iter()
        .chain(variants.iter().map(|variant| Part::Variant(*variant)))
        .chain([Part::Legal; 5])
        .chain([Part::Detailed])
        .collect();
    assert_eq!(host.begun, parts);
    let hpwl = |of: &&Candidate| of.hpwl;
    let best = placed.candidates.iter().min_by(|a, b| hpwl(a).total_cmp(&hpwl(b))).unwrap();
    let legal = placed.stages.stages.legal.as_ref().unwrap();
    assert_eq!(legal.stage.hpwl_weighted, Some(best.hpwl));
    assert!(best.is_result && placed.candidates.iter().filter(|of| of.is_result).count() == 1);
    assert!(placed.stages.is_legal() && placed.candidates.len() == 5);
    let hpwls: Vec<f64> = placed.candidates.iter().map(|of| of.hpwl).collect();
    assert!(hpwls.iter().enumerate().all(|(k, a)| !hpwls[..k].contains(a)), "{hpwls:?}");

    // The first is the placement without variants; the others share its first iterations.
    let alone = self::placed(&mut before, &options(Effort::Low), &mut OnCpu::default());
    let first = |of: &Candidate| (of.iterations, of.hpwl);
    assert_eq!(first(&alone.candidates[0]), first(&placed.candidates[0]));
    let both = alone.global.records.iter().zip(&placed.global.records);
    let shared = both.take_while(|(a, b)| a.sample == b.sample).count();
    assert!(shared > alone.global.records.len() / 2, "{shared}");
    let iterations = placed.global.records.iter().map(|record| record.iteration);
    assert!(iterations.eq(0..placed.global.records.len()));
}

#[test]
fn variants_differ_from_what_is_asked_for() {
    let of = |target_density: f64, keeps| {
        let given = ChargeOptions::default().target_density(target_density);
        let variants = Effort::Medium.variants(&given, keeps, MANY_CELLS);
        variants.iter().map(|of| (of.target_density, of.widen_large)).collect::<Vec<_>>()
    };
    assert_eq!(of(0.95, false), [(0.95, true), (0.98, false)]);
    assert_eq!(of(0.95, true), [(0.95, true)]);
    assert_eq!(of(1.0, false), [(1.0, true)]);
    let given = ChargeOptions::default();
    assert!(Effort::Low.variants(&given, false, 1).is_empty());
    assert!(Effort::Medium.variants(&given, false, MANY_CELLS + 1).is_empty());
    assert_eq!(Effort::High.variants(&given, false, usize::MAX).len(), 2);
}

/// A host that weighs nets anew makes wirelengths that do not compare.
#[test]
fn wire_beyond_the_tracks_has_its_price_in_the_detailed_stage() {
    let capacity = Capacity { horizontal: 0.3, vertical: 0.3 };
    let grid = BinGrid::new(design(0).die().unwrap(), 16, 16).unwrap();
    let excess = |options: &FlowOptions<'_>| {
        let mut design = design(0);
        let placed = placed(&mut design, options, &mut OnCpu::default());
        assert!(placed.stages.stages.detailed.is_some());
        let options = CongestionOptions::default().capacity(Some(capacity));
        let maps = CongestionMaps::of(&design, &RoutingGrid::from(&grid), &options).unwrap();
        maps.figures(&RoutingGrid::from(&grid)).overflow.unwrap()
    };
    let in_rounds = |price: f64| {
        let rounds = RoutabilityOptions { capacity: Some(capacity), price, ..Default::default() };
        excess(&FlowOptions { routability: Some(rounds), ..FlowOptions::default() })
    };
    let (free, dear) = (in_rounds(0.0), in_rounds(10.0));
    assert!(dear < 0.9 * free, "{free} {dear}");
    let alone = |price: f64| {
        let price = WirePrice { grid, capacity, price };
        let refine = RefineOptions::default().wire_price(Some(price));
        excess(&FlowOptions { refine, ..FlowOptions::default() })
    };
    let (free, dear) = (alone(0.0), alone(10.0));
    assert!(dear < 0.9 * free, "{free} {dear}");
}

/// The legal stage has the same report whether a later stage follows or not. Displacements are those
/// of the last stage.
#[test]
fn the_legal_stage_is_reported_alike_before_and_without_refinement() {
    let of = |until| {
        let mut design = design(0);
        let options = FlowOptions { until: Some(until), ..FlowOptions::default() };
        let Placed { stages, before, .. } = placed(&mut design, &options, &mut OnCpu::default());
        let before = before.expect("legalization followed");
        let moved = displacement::between(&design, &before, &design.placement).unwrap();
        assert_eq!(stages.displacement, Some(DisplacementReport::of(&design, &moved)));
        let legal = stages.stages.legal.expect("it was made legal");
        let own = Overflow::of(&design, &FlowOptions::default().bodies.of(&design).unwrap().0);
        (legal.stage, own, stages.stages.detailed)
    };
    let (legal, own, detailed) = of(Stage::Legal);
    assert_eq!((legal.overflow, detailed), (Some(own), None));
    let (again, own, detailed) = of(Stage::Detailed);
    let detailed = detailed.expect("it was refined").stage;
    assert_eq!(again, StageReport { seconds: again.seconds, ..legal });
    assert_eq!(detailed.overflow, Some(own));
    assert!(detailed.overflow != legal.overflow && detailed.hpwl < legal.hpwl);
}

#[test]
fn no_variant_is_placed_by_other_net_weights() {
    let mut host = OnCpu { critical: Some(7), ..OnCpu::default() };
    let options = FlowOptions { effort: Effort::Medium, ..FlowOptions::default() };
    let placed = placed(&mut design(0), &options, &mut host);
    assert_eq!((placed.candidates.len(), host.begun.len()), (1, 3));
}

#[test]
fn both_descents_share_the_iterations() {
    let mut design = design(6);
    let whole = placed(&mut design.clone(), &FlowOptions::default(), &mut OnCpu::default());
    let mut options = FlowOptions::default();
    options.place.iterations = whole.global.records.len() - 20;
    let limited = placed(&mut design, &options, &mut OnCpu::default());
    let last = limited.global.records.last().unwrap().iteration;
    // The second descent also has an iteration 0.
    assert_eq!(last, options.place.iterations + 1);
}

#[test]
fn the_host_replaces_net_weights() {
    // Without macros, and in both descents with them.
    for macros in [0, 6] {
        let mut before = design(macros);
        let mut host = OnCpu::default();
        placed(&mut before, &FlowOptions::default(), &mut host);
        let mut after = design(macros);
        let mut host = OnCpu { critical: Some(7), ..OnCpu::default() };
        let placed = placed(&mut after, &FlowOptions::default(), &mut host);
        assert!(placed.stages.is_legal());
        assert_eq!(after.nets.as_ref().unwrap().weight[7], 100.0, "the design has the weights");
        let [before, now] = [&before, &after].map(|design| design.net_lengths().unwrap()[7]);
        assert!(now < 0.5 * before && host.length > 0.0, "{now} {before}");
        let hpwl = after.hpwl().unwrap().weighted;
        let reported = placed.stages.last().1.hpwl_weighted.unwrap();
        assert!((reported - hpwl).abs() < 1e-9 * hpwl, "{reported} {hpwl}");
    }
}

#[test]
fn a_host_ends_the_descent_and_later_stages_follow() {
    let mut host = OnCpu { enough: Some(30), ..OnCpu::default() };
    let placed = placed(&mut design(0), &FlowOptions::default(), &mut host);
    assert_eq!((placed.global.outcome, placed.global.iteration), (Outcome::Stopped, 30));
    assert_eq!(placed.global.records.len(), 31);
    assert!(placed.stages.is_legal() && placed.stages.last().0 == Stage::Detailed);
}

#[test]
fn interrupted_flows_run_no_later_stage() {
    let mut design = design(6);
    let mut host = OnCpu { most: Some(5), ..OnCpu::default() };
    let placed = placed(&mut design, &FlowOptions::default(), &mut host);
    assert_eq!(placed.global.outcome, Outcome::Interrupted);
    assert_eq!((host.begun, placed.stages.last().0), (vec![Part::Seed(1000)], Stage::Global));
    assert_eq!(placed.global.records.len(), 6);
}

#[test]
fn the_legal_stage_is_interrupted_and_has_a_deadline() {
    let mut host = OnCpu { last: Some(Part::Legal), ..OnCpu::default() };
    let placed = placed(&mut design(0), &FlowOptions::default(), &mut host);
    let legal = placed.stages.stages.legal.expect("it has begun");
    assert_eq!((placed.global.outcome, legal.status), (Outcome::Converged, Outcome::Interrupted));
    assert_eq!(placed.stages.stages.detailed, None);

    let options = FlowOptions { deadline: Some(Instant::now()), ..FlowOptions::default() };
    let placed = self::placed(&mut design(0), &options, &mut OnCpu::default());
    let legal = placed.stages.stages.legal.expect("it has begun");
    assert_eq!((placed.global.outcome, legal.status), (Outcome::OutOfTime, Outcome::OutOfTime));
}
