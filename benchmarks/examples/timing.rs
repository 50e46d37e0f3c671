//! Timing-driven placement: nets on long paths weigh more from one iteration to the next.
//!
//! `cargo run --release --example timing`

use placefield::charge::Charge;
use placefield::cpu::engine::CpuEngine;
use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement, Row};
use placefield::engine::EngineOptions;
use placefield::flow::{self, Between, FlowOptions, Host};
use placefield::place::{Backend, HostBackend};
use placefield::wirelength::Netlist;
use std::sync::Arc;

/// Paths of a pipeline, from a pad at the left to a pad at the right, and cells of each.
const PATHS: usize = 24;
const CELLS: usize = 12;
/// Nets of a path.
const NETS: usize = CELLS + 1;
/// Iterations between two looks at the paths.
const EVERY: usize = 10;
/// Largest weight of a net.
const MOST: f64 = 4.0;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A placer's host that weighs nets by the paths that they are on.
struct Timing {
    weights: Vec<f64>,
    drives: bool,
}

impl Host for Timing {
    type Error = Failure;

    fn backend(
        &mut self,
        charge: &Arc<Charge>,
        netlist: &Netlist,
    ) -> Result<Box<dyn Backend>, Failure> {
        let engine = CpuEngine::<f32>::new(charge.clone(), &EngineOptions::default())?;
        Ok(Box::new(HostBackend::new(engine, netlist)?))
    }

    fn between(&mut self, between: &mut Between<'_, '_>) -> Result<Option<Vec<f64>>, Failure> {
        let iteration = between.last().iteration;
        if !self.drives || iteration < 100 || !iteration.is_multiple_of(EVERY) {
            return Ok(None);
        }
        // A path's delay is taken as its length: the longer, the more its nets gain.
        let paths = path_lengths(between.design()?);
        let longest = paths.iter().copied().fold(0.0, f64::max);
        for (path, length) in paths.iter().enumerate() {
            let gain = 1.0 + 0.2 * (length / longest).powi(8);
            for weight in &mut self.weights[path * NETS..(path + 1) * NETS] {
                *weight = (*weight * gain).min(MOST);
            }
        }
        // Nets of short paths would gain as well, so all are divided by the least.
        let least = self.weights.iter().copied().fold(MOST, f64::min);
        self.weights.iter_mut().for_each(|weight| *weight /= least);
        Ok(Some(self.weights.clone()))
    }
}

/// Lengths of the nets of each path, added up.
fn path_lengths(design: &Design) -> Vec<f64> {
    let lengths = design.net_lengths().expect("the pipeline has nets");
    lengths[..PATHS * NETS].chunks(NETS).map(|path| path.iter().sum()).collect()
}

/// Cells of 4 × 10 on rows of 200 sites. Pads of a path stand at its place in the left column and
/// at another in the right column; nets between the paths hold them together.
fn pipeline() -> Design {
    let (cells, pads) = (PATHS * CELLS, 2 * PATHS);
    let of = |cell: f64, pad: f64| [vec![cell; cells], vec![pad; pads]].concat();
    let mut placement = Placement {
        x: vec![0.0; cells + pads],
        y: vec![0.0; cells + pads],
        orientation: vec![Orientation::N; cells + pads],
    };
    let mut nets = Nets { net_start: vec![0], ..Nets::default() };
    let mut join = |nodes: &[usize]| {
        nets.pin_node.extend(nodes.iter().map(|&node| node as u32));
        nets.net_start.push(nets.pin_node.len() as u32);
        nets.weight.push(1.0);
    };
    for path in 0..PATHS {
        let (from, to) = (cells + 2 * path, cells + 2 * path + 1);
        (placement.x[from], placement.y[from]) = (0.0, 10.0 * path as f64);
        (placement.x[to], placement.y[to]) = (199.0, 10.0 * (path * 7 % PATHS) as f64);
        let first = path * CELLS;
        join(&[from, first]);
        (first..first + CELLS - 1).for_each(|cell| join(&[cell, cell + 1]));
        join(&[first + CELLS - 1, to]);
    }
    for cell in 0..cells {
        // A step that meets every cell joins cells of different paths.
        join(&[cell, (cell * 65 + 31) % cells]);
    }
    nets.pin_dx = vec![0.0; nets.pin_node.len()];
    nets.pin_dy = nets.pin_dx.clone();
    let row = |k: usize| Row {
        y: 10.0 * k as f64,
        height: 10.0,
        site_width: 1.0,
        pitch: 1.0,
        sites: 200,
        ..Row::default()
    };
    Design {
        nodes: Nodes {
            width: of(4.0, 1.0),
            height: of(10.0, 10.0),
            kind: [vec![NodeKind::Movable; cells], vec![NodeKind::FixedOverlappable; pads]]
                .concat(),
            ..Nodes::default()
        },
        placement,
        nets: Some(nets),
        rows: (0..PATHS).map(row).collect(),
        ..Design::default()
    }
}

/// Places the pipeline. Returns the length of its longest path, and that of all nets, where every
/// cell stands legally.
pub fn place(drives: bool) -> Result<(f64, f64), Failure> {
    let mut design = pipeline();
    let weights = vec![1.0; design.nets.as_ref().map_or(0, Nets::len)];
    let options = FlowOptions::default();
    let (charge, netlist) = options.bodies.of(&design)?;
    let mut host = Timing { weights, drives };
    let placed = flow::place(&mut design, &charge, &netlist, &options, &mut host)?;
    if !placed.stages.is_legal() {
        return Err("the placement is not legal".into());
    }
    let hpwl = design.hpwl().map_or(f64::NAN, |hpwl| hpwl.unweighted);
    Ok((path_lengths(&design).into_iter().fold(0.0, f64::max), hpwl))
}

fn main() -> Result<(), Failure> {
    let [(own, own_hpwl), (driven, driven_hpwl)] = [place(false)?, place(true)?];
    println!("longest path  {own:.0}, by timing {driven:.0}");
    println!("HPWL          {own_hpwl:.0}, by timing {driven_hpwl:.0}");
    Ok(())
}
