//! Weighted-average wirelength, its gradient and HPWL.

use crate::common::{golden, numbers};
use placefield::charge::{Charge, ChargeOptions, origin_for};
use placefield::cpu::engine::CpuEngine;
use placefield::cpu::wirelength::CpuWirelength;
use placefield::design::{Design, Names, Nets, NodeKind, Nodes, Orientation, Placement};
use placefield::engine::EngineOptions;
use placefield::grid::{BinGrid, Rect};
use placefield::wirelength::{FIXED_PIN, LARGE_NET, Netlist, Wirelength};
use placefield::{Precision, Real};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A design of points: one node without size per place, joined by `nets` of
/// node indices with weights.
fn points(places: &[[f64; 2]], nets: &[Vec<u32>], weight: &[f64]) -> Design {
    let count = places.len();
    let mut names = Names::default();
    (0..count).for_each(|i| names.push(&format!("p{i}")));
    let mut net_start = vec![0];
    nets.iter().for_each(|net| net_start.push(net_start.last().unwrap() + net.len() as u32));
    let pins = nets.iter().map(Vec::len).sum();
    Design {
        nodes: Nodes {
            names,
            width: vec![0.0; count],
            height: vec![0.0; count],
            kind: vec![NodeKind::Movable; count],
            ..Nodes::default()
        },
        placement: Placement {
            x: places.iter().map(|p| p[0]).collect(),
            y: places.iter().map(|p| p[1]).collect(),
            orientation: vec![Orientation::N; count],
        },
        nets: Some(Nets {
            names: Names::default(),
            net_start,
            weight: weight.to_vec(),
            pin_node: nets.concat(),
            pin_dx: vec![0.0; pins],
            pin_dy: vec![0.0; pins],
        }),
        ..Design::default()
    }
}

/// Wirelength and gradient with the movable nodes where `design` has them.
fn evaluate<T: Real>(design: &Design, large: usize, gamma: f64) -> (Wirelength, [Vec<f64>; 2]) {
    let netlist = Netlist::from_design(design, large).unwrap();
    let of = |values: &[f64]| design.movable().map(|i| T::cast(values[i])).collect::<Vec<T>>();
    let (x, y) = (of(&design.placement.x), of(&design.placement.y));
    // Not zero, to see that every entry is written.
    let (mut gx, mut gy) = (vec![T::one(); x.len()], vec![T::one(); x.len()]);
    let lengths =
        CpuWirelength::new(&netlist, [0.0; 2]).evaluate(&x, &y, gamma, &mut gx, &mut gy).unwrap();
    (lengths, [gx, gy].map(|g| g.iter().map(|v| v.widen()).collect()))
}

/// Cells with sizes, turns, pins off their centres, fixed nodes, repeated pins
/// and nets of 1 to 12 pins; nets of 9 pins or more count as large.
fn tangle() -> Design {
    let mut random = Pcg64::seed_from_u64(5);
    let mut unit = || -> f64 { random.random() };
    let places: Vec<[f64; 2]> = (0..40).map(|_| [900.0 + 60.0 * unit(), -30.0 * unit()]).collect();
    let nets: Vec<Vec<u32>> =
        (0..70).map(|e| (0..1 + e % 12).map(|_| (40.0 * unit()) as u32).collect()).collect();
    let weight: Vec<f64> = nets.iter().map(|_| 0.5 + unit()).collect();
    let mut design = points(&places, &nets, &weight);
    for i in 0..40 {
        design.nodes.width[i] = 1.0 + 3.0 * unit();
        design.nodes.height[i] = 2.0 + unit();
        design.placement.orientation[i] = Orientation::ALL[i % 8];
        if i % 5 == 0 {
            design.nodes.kind[i] = NodeKind::Fixed;
        }
    }
    let nets = design.nets.as_mut().unwrap();
    for p in 0..nets.pins() {
        (nets.pin_dx[p], nets.pin_dy[p]) = (unit() - 0.5, 2.0 * unit() - 1.0);
    }
    design
}

#[test]
fn golden_values() {
    let golden = golden("placer_pieces.json");
    let case = &golden["weighted_average"];
    let places: Vec<[f64; 2]> =
        numbers(&case["pin_pos_xy"]).chunks(2).map(|p| [p[0], p[1]]).collect();
    let nets: Vec<Vec<u32>> = case["nets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|net| numbers(net).iter().map(|&i| i as u32).collect())
        .collect();
    let design = points(&places, &nets, &numbers(&case["net_weights"]));
    let gamma = case["gamma"].as_f64().unwrap();
    let want: Vec<f64> = numbers(&case["grad_xy"]);
    for (run, tolerance) in
        [(evaluate::<f64> as fn(&Design, usize, f64) -> _, 1e-14), (evaluate::<f32>, 1e-6)]
    {
        let (lengths, gradient): (Wirelength, [Vec<f64>; 2]) = run(&design, LARGE_NET, gamma);
        let close =
            |got: f64, want: f64| assert!((got - want).abs() < 10.0 * tolerance, "{got} {want}");
        close(lengths.smooth, case["wirelength"].as_f64().unwrap());
        close(lengths.hpwl, case["hpwl_weighted"].as_f64().unwrap());
        for (i, pair) in want.chunks(2).enumerate() {
            close(gradient[0][i], pair[0]);
            close(gradient[1][i], pair[1]);
        }
    }
}

#[test]
fn the_gradient_is_that_of_central_differences() {
    let design = tangle();
    let (gamma, step) = (1.7, 1e-5);
    let (_, gradient) = evaluate::<f64>(&design, 9, gamma);
    let movable: Vec<usize> = design.movable().collect();
    for (body, &node) in movable.iter().enumerate() {
        for (axis, gradient) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut design = design.clone();
                let places = [&mut design.placement.x, &mut design.placement.y];
                places.into_iter().nth(axis).unwrap()[node] += by;
                evaluate::<f64>(&design, 9, gamma).0.smooth
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * step);
            assert!(
                (gradient[body] - slope).abs() < 1e-7,
                "{node} {axis}: {} {slope}",
                gradient[body]
            );
        }
    }
}

#[test]
fn half_perimeter_is_the_designs_own() {
    let design = tangle();
    let want = design.hpwl().unwrap().weighted;
    for large in [2, 9, 100] {
        let (lengths, gradient) = evaluate::<f64>(&design, large, 0.5);
        assert!((lengths.hpwl - want).abs() < 1e-10 * want, "{large}: {} {want}", lengths.hpwl);
        // With every net large nothing pulls.
        assert_eq!(large == 2, lengths.smooth == 0.0);
        assert_eq!(large == 2, gradient.iter().flatten().all(|&g| g == 0.0));
    }
    let (single, _) = evaluate::<f32>(&design, 9, 0.5);
    assert!((single.hpwl - want).abs() < 1e-5 * want);
}

#[test]
fn smooth_wirelength_tends_to_hpwl_from_below() {
    let design = tangle();
    let (sharp, _) = evaluate::<f64>(&design, 100, 1e-4);
    assert!((sharp.smooth + unmoved(&design) - sharp.hpwl).abs() < 1e-2 * sharp.hpwl);
    let (smooth, _) = evaluate::<f64>(&design, 100, 5.0);
    assert!(smooth.smooth < 0.9 * sharp.smooth);
}

/// A cell 64 and 36 units from a fixed pin, on a die 1e8 away, where f32 has steps of 8.
#[test]
fn wires_and_charge_count_positions_from_one_origin() {
    const FAR: f64 = 1e8;
    let mut design = points(&[[FAR + 100.0; 2], [FAR + 164.0, FAR + 136.0]], &[vec![0, 1]], &[1.0]);
    design.nodes.kind[1] = NodeKind::Fixed;
    (design.nodes.width[0], design.nodes.height[0]) = (10.0, 12.0);
    design.nets.as_mut().unwrap().pin_dx[0] = -5.0;
    design.nets.as_mut().unwrap().pin_dy[0] = -6.0;
    let grid = BinGrid::new(Rect::at(FAR, FAR, 1024.0, 1024.0), 8, 8).unwrap();
    let mut charge = Charge::from_design(&design, grid, &ChargeOptions::default()).unwrap();
    let open = |charge: &Charge| CpuEngine::<f32>::new(charge.clone(), &EngineOptions::default());
    let error = open(&charge).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f32 holds coordinates of 1.00001024e8 in steps of 11.9, for rows that are 12 high: \
         expected f64, or positions from an origin nearer to the die"
    );
    CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();

    charge.set_origin(origin_for(&grid.die(), Some(12.0), Precision::F32).unwrap()).unwrap();
    open(&charge).unwrap();
    let (x, y) = charge.initial_positions::<f32>();
    let netlist = Netlist::from_design(&design, LARGE_NET).unwrap();
    let mut operator = CpuWirelength::<f32>::new(&netlist, charge.origin());
    let (mut gx, mut gy) = ([0.0], [0.0]);
    let found = operator.evaluate(&x, &y, 1.0, &mut gx, &mut gy).unwrap();
    assert_eq!(found.hpwl, 100.0);
    assert_eq!(design.hpwl().unwrap().weighted, 100.0);
}

#[test]
fn what_has_no_wirelength_is_refused() {
    let design = tangle();
    let netlist = Netlist::from_design(&design, LARGE_NET).unwrap();
    let (mut operator, n) = (CpuWirelength::<f32>::new(&netlist, [0.0; 2]), netlist.movable());
    let mut refused = |lengths: [usize; 4], bad: Option<f32>, gamma: f64| {
        let [mut x, y, mut gx, mut gy] = lengths.map(|length| vec![950.0; length]);
        bad.into_iter().for_each(|bad| x[n - 1] = bad);
        operator.evaluate(&x, &y, gamma, &mut gx, &mut gy).unwrap_err().to_string()
    };
    let all = [n; 4];
    assert_eq!(refused([n - 1; 4], None, 1.0), "x positions: 31 values, expected 32");
    assert_eq!(refused([n, n - 1, n, n], None, 1.0), "y positions: 31 values, expected 32");
    assert_eq!(refused([n, n, n + 1, n], None, 1.0), "x of the gradient: 33 values, expected 32");
    assert_eq!(refused([n, n, n, 0], None, 1.0), "y of the gradient: 0 values, expected 32");
    for bad in [f32::NAN, f32::INFINITY] {
        let want = format!("x of body 31: {bad}: expected a finite number");
        assert_eq!(refused(all, Some(bad), 1.0), want);
    }
    for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-40] {
        let want =
            format!("smoothing length {gamma:e}: expected a number above 0 with an inverse in f32");
        assert_eq!(refused(all, None, gamma), want);
    }
}

#[test]
fn weights_that_are_negative_or_not_finite_are_refused() {
    let at = [[0.0, 0.0], [3.0, 4.0]];
    for weight in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut design = points(&at, &[vec![0, 1], vec![1, 0]], &[1.0, weight]);
        let error = |design: &Design| Netlist::from_design(design, LARGE_NET).unwrap_err();
        let want =
            |net| format!("weight of net `{net}`: {weight}: expected a finite number, at least 0");
        assert_eq!(error(&design).to_string(), want("1"));
        let names = &mut design.nets.as_mut().unwrap().names;
        ["clock", "reset"].iter().for_each(|name| names.push(name));
        assert_eq!(error(&design).to_string(), want("reset"));
    }
    let design = points(&at, &[vec![0, 1]], &[0.0]);
    assert_eq!(Netlist::from_design(&design, LARGE_NET).unwrap().weight(), [0.0]);
}

#[test]
fn the_hpwl_of_a_coordinate_that_is_nan_is_nan() {
    let at = [[0.0, 0.0], [3.0, 4.0], [5.0, 5.0], [6.0, 7.0]];
    let mut design = points(&at, &[vec![0, 1, 2], vec![3]], &[1.0; 2]);
    assert_eq!(design.hpwl().unwrap().unweighted, 10.0);
    design.placement.x[3] = f64::NAN;
    assert_eq!(design.hpwl().unwrap().unweighted, 10.0, "a net of one pin has no length");
    for (x, y) in [(f64::NAN, 4.0), (3.0, f64::NAN)] {
        (design.placement.x[1], design.placement.y[1]) = (x, y);
        let hpwl = design.hpwl().unwrap();
        assert!(hpwl.unweighted.is_nan() && hpwl.weighted.is_nan(), "{x} {y}: {hpwl:?}");
    }
}

fn unmoved(design: &Design) -> f64 {
    Netlist::from_design(design, 100).unwrap().fixed_hpwl()
}

#[test]
fn f32_gradients_hold_far_from_the_origin() {
    // At 1e5 the spacing of f32 is 0.008; exact sixteenths survive the shift.
    let place = |shift: f64| {
        let at: Vec<[f64; 2]> = (0..6)
            .map(|k| [shift + f64::from(k * k) / 16.0, shift - f64::from(k) / 16.0])
            .collect();
        let design = points(&at, &[vec![0, 1, 2, 3, 4, 5], vec![5, 0]], &[1.0, 2.0]);
        evaluate::<f32>(&design, LARGE_NET, 0.25)
    };
    let ((near, near_gradient), (far, far_gradient)) = (place(0.0), place(65_536.0));
    assert_eq!(near, far);
    assert_eq!(near_gradient, far_gradient);
}

#[test]
fn rows_by_body_hold_every_pin_once() {
    let netlist = Netlist::from_design(&tangle(), 9).unwrap();
    let mut seen = vec![0; netlist.pins()];
    for body in 0..netlist.movable() {
        let pins = netlist.body_start()[body] as usize..netlist.body_start()[body + 1] as usize;
        for &p in &netlist.body_pin()[pins] {
            assert_eq!(netlist.pin_body()[p as usize] as usize, body);
            seen[p as usize] += 1;
        }
    }
    let smooth = netlist.net_start()[netlist.smooth()] as usize;
    for (p, &times) in seen.iter().enumerate() {
        let counted = p < smooth && netlist.pin_body()[p] != FIXED_PIN;
        assert_eq!(times, i32::from(counted), "pin {p}");
    }
    assert!(netlist.smooth() < netlist.nets());
    assert!((0..netlist.smooth()).all(|e| netlist.pins_of(e).len() < 9));
    assert!((netlist.smooth()..netlist.nets()).all(|e| netlist.pins_of(e).len() >= 9));
    let sum: f64 = netlist.pin_weights().iter().sum();
    let moving =
        |e: usize| netlist.pins_of(e).filter(|&p| netlist.pin_body()[p] != FIXED_PIN).count();
    let want: f64 = (0..netlist.smooth()).map(|e| netlist.weight()[e] * moving(e) as f64).sum();
    assert!((sum - want).abs() < 1e-12 * want);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    // More pins than a block holds.
    let mut random = Pcg64::seed_from_u64(8);
    let places: Vec<[f64; 2]> = (0..9000).map(|_| [random.random(), random.random()]).collect();
    let nets: Vec<Vec<u32>> =
        (0..9000).map(|e| (0..2 + e % 5).map(|k| (e * 7 + k * k * 31) % 9000).collect()).collect();
    let design = points(&places, &nets, &vec![1.0; 9000]);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| evaluate::<f32>(&design, LARGE_NET, 0.1))
    };
    let one = with(1);
    assert_eq!(one, with(3));
    let want = design.hpwl().unwrap().weighted;
    assert!((one.0.hpwl - want).abs() < 1e-6 * want);
}
