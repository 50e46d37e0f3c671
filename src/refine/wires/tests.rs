use super::*;
use crate::design::{NodeKind, Nodes, Orientation, Placement};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const CELLS: usize = 12;

/// Twelve cells and four fixed nodes with random nets, among them one of many pins.
fn design(rng: &mut Pcg64Mcg) -> Design {
    let nodes = CELLS + 4;
    let kind = |k| if k < CELLS { NodeKind::Movable } else { NodeKind::Fixed };
    let mut nets = Nets { net_start: vec![0], ..Nets::default() };
    for net in 0..20 {
        for _ in 0..if net == 7 { 40 } else { rng.random_range(1..6usize) } {
            nets.pin_node.push(rng.random_range(0..nodes as u32));
            nets.pin_dx.push(f64::from(rng.random_range(-8..8i32)) / 4.0);
            nets.pin_dy.push(f64::from(rng.random_range(-8..8i32)) / 4.0);
        }
        nets.net_start.push(nets.pin_node.len() as u32);
        nets.weight.push(f64::from(rng.random_range(0..4u32)));
    }
    let mut place = || (0..nodes).map(|_| f64::from(rng.random_range(0..100u32))).collect();
    Design {
        nodes: Nodes {
            width: vec![4.0; nodes],
            height: vec![6.0; nodes],
            kind: (0..nodes).map(kind).collect(),
            ..Nodes::default()
        },
        placement: Placement { x: place(), y: place(), orientation: vec![Orientation::FS; nodes] },
        nets: Some(nets),
        ..Design::default()
    }
}

fn any_pose(rng: &mut impl Rng) -> Pose {
    Pose {
        x: f64::from(rng.random_range(0..100u32)),
        y: f64::from(rng.random_range(0..100u32)),
        mirrored: rng.random(),
        flipped: rng.random(),
    }
}

fn place(design: &mut Design, step: &Moved) {
    let (cell, at) = (step.cell as usize, &mut design.placement);
    (at.x[cell], at.y[cell]) = (step.pose.x - 2.0, step.pose.y - 3.0);
    let mut orientation = Orientation::FS;
    if step.pose.mirrored {
        orientation = orientation.mirrored();
    }
    if step.pose.flipped {
        orientation = orientation.flipped();
    }
    at.orientation[cell] = orientation;
}

#[test]
fn gains_are_what_the_whole_length_says() {
    for seed in 0..20 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut design = design(&mut rng);
        let cell_of: Vec<Option<u32>> =
            (0..CELLS + 4).map(|k| (k < CELLS).then_some(k as u32)).collect();
        let nets = design.nets.clone().unwrap();
        let mut wires = Wires::new(&design, &nets, &cell_of, CELLS);
        wires.count_in_units(Rect::at(-1e3, -1e3, 2e3, 2e3), 4, 1.0);
        let (mut scratch, mut without) = (Scratch::default(), CellNets::default());
        for _ in 0..50 {
            let before = design.hpwl().unwrap().weighted;
            assert!((wires.hpwl() - before).abs() < 1e-9 * before);
            let first = rng.random_range(0..CELLS as u32);
            let moves: Vec<Moved> = (0..rng.random_range(1..5u32))
                .map(|k| Moved { cell: (first + k) % 12, pose: any_pose(&mut rng) })
                .collect();
            let gain = wires.length_of_units(wires.gain(&moves, &mut scratch).into());
            if let [step] = &moves[..] {
                wires.leave_out(step.cell, &mut without);
                let (now, then) =
                    (wires.length_of(step.cell), wires.length_at(step.cell, &step.pose));
                assert!((now - then - gain).abs() < 1e-9 * before);
                assert_eq!(without.length_at(&step.pose), then);
            }
            for step in &moves {
                wires.apply(step);
                place(&mut design, step);
            }
            let after = design.hpwl().unwrap().weighted;
            assert!((before - after - gain).abs() < 1e-9 * before);
        }
    }
}

#[test]
fn bounds_hold_after_every_move() {
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let design = design(&mut rng);
    let nets = design.nets.as_ref().unwrap();
    let cell_of: Vec<Option<u32>> =
        (0..CELLS + 4).map(|k| (k < CELLS).then_some(k as u32)).collect();
    let mut wires = Wires::new(&design, nets, &cell_of, CELLS);
    let mut of_cell = CellNets::default();
    let (mut tight, mut unpulled) = (0, 0);
    for round in 0..300 {
        for cell in 0..CELLS as u32 {
            let now = wires.pose(cell);
            let to = Pose { mirrored: now.mirrored, ..any_pose(&mut rng) };
            let gain = wires.length_of(cell) - wires.length_at(cell, &to);
            assert_eq!(wires.gain_of(cell, &to), gain);
            let most = wires.most_gain(cell, &to);
            assert!(most >= gain - 1e-9, "{most} below {gain}");
            tight += usize::from(most < 0.0);
            let beside = Pose { x: to.x, ..now };
            let along_x = wires.length_of(cell) - wires.length_at(cell, &beside);
            assert_eq!(wires.gain_along_x(cell, to.x), along_x);
            if !wires.is_pulled(cell) {
                wires.leave_out(cell, &mut of_cell);
                let [x, y] = of_cell.best_region(&now);
                assert!(x.0 <= now.x && now.x <= x.1 && y.0 <= now.y && now.y <= y.1);
                unpulled += 1;
            }
            let has =
                |net: usize, cell: u32| nets.pins_of(net).any(|pin| nets.pin_node[pin] == cell);
            let other = rng.random_range(0..CELLS as u32);
            let shared = |&net: &usize| has(net, cell) && has(net, other);
            let any = (0..nets.len()).filter(shared).any(|net| nets.weight[net] > 0.0);
            assert!(other == cell || wires.share_a_net(cell, other) == any);
        }
        // One move at a time, and several at once. Now and then cells keep their best positions.
        let cell = rng.random_range(0..CELLS as u32 - 1);
        let mut pose = any_pose(&mut rng);
        if round % 3 == 0 {
            wires.leave_out(cell, &mut of_cell);
            let [x, y] = of_cell.best_region(&pose);
            (pose.x, pose.y) = (pose.x.max(x.0).min(x.1), pose.y.max(y.0).min(y.1));
        }
        match round % 2 {
            0 => wires.apply(&Moved { cell, pose }),
            _ => wires.apply_all(&[
                Moved { cell, pose },
                Moved { cell: cell + 1, pose: any_pose(&mut rng) },
            ]),
        }
    }
    assert!(tight > 100 && unpulled > 10, "{tight} {unpulled}");
}

#[test]
fn nothing_is_shorter_than_in_the_best_region() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let design = design(&mut rng);
    let cell_of: Vec<Option<u32>> =
        (0..CELLS + 4).map(|k| (k < CELLS).then_some(k as u32)).collect();
    let wires = Wires::new(&design, design.nets.as_ref().unwrap(), &cell_of, CELLS);
    let mut without = CellNets::default();
    for cell in 0..CELLS as u32 {
        let pose = wires.pose(cell);
        wires.leave_out(cell, &mut without);
        let [x, y] = without.best_region(&pose);
        let best = Pose { x: pose.x.max(x.0).min(x.1), y: pose.y.max(y.0).min(y.1), ..pose };
        let least = without.length_at(&best);
        for _ in 0..100 {
            let (x, y) = (rng.random_range(-10.0..110.0), rng.random_range(-10.0..110.0));
            assert!(without.length_at(&Pose { x, y, ..pose }) >= least - 1e-9);
        }
        let outside = Pose { x: x.0 - 1.0, ..best };
        assert!(!x.0.is_finite() || without.length_at(&outside) > least);
    }
}
