//! A global placer of one's own: Adam (Kingma and Ba, ICLR 2015) on wirelength plus density. The
//! library makes its result legal and refines it.
//!
//! `cargo run --release --example adam`

use placefield::charge::Charge;
use placefield::cpu::engine::CpuEngine;
use placefield::cpu::wirelength::CpuWirelength;
use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement, Row};
use placefield::engine::{Engine, EngineOptions};
use placefield::flow::{Bodies, StageReport, Stages};
use placefield::legalize::LegalizeOptions;
use placefield::place::{Bounds, schedule, start};
use placefield::refine::RefineOptions;
use placefield::wirelength::Netlist;

/// Smoothed overflow at which cells are spread.
const OVERFLOW: f64 = 0.08;
/// Decay of the mean gradient and of its mean square.
const DECAY: [f64; 2] = [0.9, 0.99];

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Cells of 4 × 10 on a grid of `side` × `side`, each joined with its neighbours, in any order.
fn grid_of_cells(side: usize) -> Design {
    let cells = side * side;
    let mut nets = Nets { net_start: vec![0], ..Nets::default() };
    for (a, b) in (0..cells).flat_map(|cell| [(cell, cell + 1), (cell, cell + side)]) {
        if b < cells && !(b == a + 1 && b.is_multiple_of(side)) {
            nets.pin_node.extend([a as u32, b as u32]);
            nets.net_start.push(nets.pin_node.len() as u32);
        }
    }
    nets.weight = vec![1.0; nets.net_start.len() - 1];
    nets.pin_dx = vec![0.0; nets.pin_node.len()];
    nets.pin_dy = nets.pin_dx.clone();
    let row = |k: usize| Row {
        y: 10.0 * k as f64,
        height: 10.0,
        site_width: 1.0,
        pitch: 1.0,
        sites: 6 * side as u64,
        ..Row::default()
    };
    Design {
        nodes: Nodes {
            width: vec![4.0; cells],
            height: vec![10.0; cells],
            kind: vec![NodeKind::Movable; cells],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![0.0; cells],
            y: vec![0.0; cells],
            orientation: vec![Orientation::N; cells],
        },
        nets: Some(nets),
        rows: (0..side).map(row).collect(),
        ..Design::default()
    }
}

/// Returns the lower-left corners of the spread bodies, and their overflow.
fn spread(charge: &Charge, netlist: &Netlist) -> Result<([Vec<f64>; 2], f64), Failure> {
    let grid = charge.grid();
    let mut engine = CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default())?;
    let mut wires = CpuWirelength::<f64>::new(netlist, charge.origin());
    let bounds = Bounds::<f64>::of(charge);
    let bodies = charge.bodies();
    // Around the centre, no two cells at one place.
    let (x, y) = start::centred(charge, 1);
    let mut at = [x, y];
    let mut pull = [vec![0.0; bodies], vec![0.0; bodies]];
    let mut mean = pull.clone();
    let mut square = pull.clone();
    let base_gamma = schedule::base_gamma(&grid, 2.0, schedule::pitch(charge));
    let (mut gamma, mut lambda) = (base_gamma * schedule::gamma_factor(1.0), 0.0);
    let mut overflow = 1.0;
    for iteration in 1..=2000 {
        let [x, y] = &at;
        overflow = engine.evaluate(x, y)?.density.overflow;
        if overflow <= OVERFLOW {
            break;
        }
        let [pull_x, pull_y] = &mut pull;
        wires.evaluate(x, y, gamma, pull_x, pull_y)?;
        let (force_x, force_y) = engine.force()?;
        let push = [force_x, force_y];
        if iteration == 1 {
            let norm = |of: [&[f64]; 2]| of.concat().iter().map(|v| v.abs()).sum::<f64>();
            lambda = 1e-3 * norm([&pull[0], &pull[1]]) / norm(push);
        }
        for axis in 0..2 {
            for i in 0..bodies {
                let area = charge.width()[i] * charge.height()[i];
                // Divided by the area large bodies move no faster than small ones.
                let gradient = (pull[axis][i] - lambda * push[axis][i]) / area;
                let [fast, slow] = DECAY;
                let (mean, square) = (&mut mean[axis][i], &mut square[axis][i]);
                *mean = fast * *mean + (1.0 - fast) * gradient;
                *square = slow * *square + (1.0 - slow) * gradient * gradient;
                let [a, b] = DECAY.map(|decay| 1.0 - decay.powi(iteration));
                let step = (*mean / a) / ((*square / b).sqrt() + 1e-12);
                at[axis][i] -= 0.2 * grid.bin_x() * step;
            }
        }
        let [x, y] = &mut at;
        for (i, (x, y)) in x.iter_mut().zip(y).enumerate() {
            (*x, *y) = bounds.clamp(i, *x, *y);
        }
        gamma = base_gamma * schedule::gamma_factor(overflow);
        lambda *= 1.02;
    }
    Ok((at, overflow))
}

/// Places the cells. Returns the overflow of the spread cells, and the stages that followed.
pub fn place(side: usize) -> Result<(f64, Stages), Failure> {
    let mut design = grid_of_cells(side);
    let (charge, netlist) = Bodies::default().of(&design)?;
    let ([x, y], overflow) = spread(&charge, &netlist)?;
    charge.set_movable_positions(&mut design, &x, &y);
    let global = design.placement.clone();
    let mut stages = Stages::of_global(StageReport::of(&design, Some(&charge), None));
    let options = LegalizeOptions::default();
    stages.legalize(&mut design, &options, Some(&charge), &mut |_| None)?;
    let options = RefineOptions::default();
    stages.refine(&mut design, &options, &charge, &global, &mut |_| None)?;
    Ok((overflow, stages))
}

fn main() -> Result<(), Failure> {
    let (overflow, stages) = place(20)?;
    println!("overflow {overflow:.3}, legal: {}", stages.is_legal());
    for (stage, report) in stages.all() {
        println!("{:8} HPWL {:.0}", stage.name(), report.hpwl.unwrap_or(f64::NAN));
    }
    Ok(())
}
