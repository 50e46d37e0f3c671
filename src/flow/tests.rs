//! Whole placements of small designs on the CPU.

use super::*;
use crate::cpu::engine::CpuEngine;
use crate::design::{Nets, NodeKind, Nodes, Orientation, Row};
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
fn seeds_are_chosen_by_their_last_stage() {
    let (mut design, mut options) =
        (self::design(0), FlowOptions { seeds: 4, ..Default::default() });
    for until in Stage::ALL {
        options.until = Some(until);
        let placed = placed(&mut design, &options, &mut OnCpu::default());
        let least = placed.seeds.iter().map(|seed| seed.hpwl).fold(f64::INFINITY, f64::min);
        let (last, report) = placed.stages.last();
        assert_eq!((placed.seeds.len(), last), (4, until));
        assert_eq!(report.hpwl_weighted, Some(least));
        let hpwl = design.hpwl().unwrap().weighted;
        assert!((hpwl - least).abs() <= 1e-9 * least, "{until:?}: {hpwl} and {least}");
        assert_eq!(placed.stages.is_legal(), until > Stage::Global);
        assert_eq!(placed.before.is_some(), until > Stage::Global);
    }
    // The stages of one seed leave nothing to the next.
    let seeds = placed(&mut design, &options, &mut OnCpu::default()).seeds;
    options.seeds = 1;
    for seed in seeds {
        options.seed = seed.seed;
        let alone = placed(&mut self::design(0), &options, &mut OnCpu::default());
        assert_eq!(alone.seeds, [seed]);
    }
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
    // Cells go on from the result, of one descent or the other, and all iterations are told.
    let before = placed.before.expect("others followed the global stage");
    assert_eq!(placed.global.x[..206], before.x[..]);
    let iterations = placed.global.records.iter().map(|record| record.iteration);
    assert!(iterations.eq(0..placed.global.records.len()));
}

#[test]
fn both_descents_share_the_iterations() {
    let mut design = design(6);
    let whole = placed(&mut design.clone(), &FlowOptions::default(), &mut OnCpu::default());
    let mut options = FlowOptions::default();
    options.place.iterations = whole.global.records.len() - 20;
    let limited = placed(&mut design, &options, &mut OnCpu::default());
    let last = limited.global.records.last().unwrap().iteration;
    // The second descent has an iteration 0 of its own.
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
