//! Fence regions on a device, against the CPU and against one another.

use crate::common::fenced_placement::cells_end_in_their_fences;
use crate::common::fences::{
    find, goes_on_with_other_regions, strips, the_die_is_no_fence, together_is_alone,
};
use crate::common::pairs;
use crate::device::{gpu, gpu_alone};
use crate::engine::{agrees, positions};
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cuda::{CudaBackend, CudaEngine, CudaReal, DeviceSlice, Gpu, Graph};
use placefield::engine::{
    Engine, EngineError, EngineOptions, Evaluation, GradientOptions, Layout, MapKind, Pipeline,
};
use placefield::grid::{BinGrid, Map, Rect};

fn open<T: CudaReal>(gpu: &Gpu, charge: Charge) -> CudaEngine<T> {
    CudaEngine::on(gpu, charge, &EngineOptions::default()).unwrap()
}

fn boxed<T: CudaReal>(gpu: &Gpu) -> impl FnMut(Charge) -> Box<dyn Engine<T>> {
    |charge| Box::new(open::<T>(gpu, charge))
}

fn options() -> ChargeOptions {
    ChargeOptions::default().target_density(0.9)
}

#[test]
fn regions_together_are_regions_alone() {
    let gpu = gpu();
    for fillers in [false, true] {
        together_is_alone::<f64>(fillers, boxed(&gpu));
        together_is_alone::<f32>(fillers, boxed(&gpu));
    }
}

#[test]
fn a_fence_around_the_die_changes_no_bit() {
    let gpu = gpu();
    the_die_is_no_fence::<f64>(boxed(&gpu));
    the_die_is_no_fence::<f32>(boxed(&gpu));
}

/// Bins of which no kernel of the three-pass solve takes all, and whose maps do not begin at whole
/// fours of bins, among them.
#[test]
fn every_stage_and_pipeline_matches_the_cpu() {
    let gpu = gpu();
    for (bins, regions) in [([64, 96], 3), ([33, 21], 2), ([128, 64], 8), ([48, 30], 70)] {
        for fillers in [false, true] {
            let charge = strips(bins, regions, &options().fillers(fillers));
            agrees::<f32>(&gpu, &charge);
            agrees::<f64>(&gpu, &charge);
        }
    }
}

#[test]
fn an_engine_goes_on_with_other_regions() {
    let gpu = gpu();
    goes_on_with_other_regions::<f64>(boxed(&gpu));
    goes_on_with_other_regions::<f32>(boxed(&gpu));
}

/// Forces of every region times its weight: more regions than a launch takes weights of, both
/// layouts.
#[test]
fn a_gradient_has_the_weight_of_each_region() {
    let gpu = gpu();
    for regions in [2, 64, 65, 150] {
        let charge = strips([64, 160], regions, &options().fillers(true));
        weights::<f32>(&gpu, &charge);
        weights::<f64>(&gpu, &charge);
    }
}

pub(crate) fn weights<T: CudaReal>(gpu: &Gpu, charge: &Charge) {
    let mut engine = open::<T>(gpu, charge.clone());
    let force = find(&mut engine).force;
    let of_region: Vec<f64> = (0..charge.regions()).map(|r| 1.0 + r as f64 / 4.0).collect();
    let bodies = charge.bodies();
    for layout in [Layout::Halves, Layout::Pairs] {
        let options = GradientOptions::default().layout(layout).weight(-2.0);
        let options = options.region_weights(&of_region);
        let mut gradient = vec![T::nan(); 2 * bodies];
        engine.write_gradient(&mut gradient, &options).unwrap();
        let at = |i: usize, axis: usize| match layout {
            Layout::Halves => axis * bodies + i,
            Layout::Pairs => 2 * i + axis,
        };
        let factor = gpu.upload(&[T::cast(0.5)]).unwrap();
        let mut added = gpu.upload(&gradient).unwrap();
        let options = options.accumulate(true);
        engine.enqueue_gradient(&options, Some(factor.as_view()), &mut added).unwrap();
        let added = gpu.download(&added).unwrap();
        for (i, axis) in (0..bodies).flat_map(|i| [(i, 0), (i, 1)]) {
            let weight = T::cast(-2.0 * of_region[charge.region(i)]);
            let (want, k) = (weight * force[axis][i], at(i, axis));
            assert!(gradient[k] == want, "{layout:?}, {axis} of body {i}");
            let sum = want.widen() * 1.5;
            assert!((added[k].widen() - sum).abs() <= 1e-6 * sum.abs(), "{axis} of body {i}");
        }
    }
    let few = GradientOptions::default().region_weights(&of_region[1..]);
    let refused = engine.write_gradient(&mut vec![T::nan(); 2 * bodies], &few).unwrap_err();
    assert!(matches!(refused, EngineError::Length { .. }), "{refused}");
}

/// Steps replayed, in slots, on arrays of the caller's and in a graph of the caller's, with bodies
/// that move so far that they are ordered anew.
#[test]
fn all_step_variants_give_the_same_bits() {
    let gpu = gpu();
    let charge = strips([64, 96], 5, &options().fillers(true));
    ways::<f32>(&gpu, &charge);
    ways::<f64>(&gpu, &charge);
}

pub(crate) fn ways<T: CudaReal>(gpu: &Gpu, charge: &Charge) {
    let places = [0.0, 7.0, 60.0, 300.0].map(|shift| positions::<T>(charge, shift, 5));
    let mut regions = vec![Evaluation::default(); charge.regions()];
    let of_region: Vec<f64> = (1..=charge.regions()).map(|r| r as f64).collect();
    let options = GradientOptions::default().layout(Layout::Halves).region_weights(&of_region);
    let wants = places.each_ref().map(|[x, y]| {
        let mut engine = open::<T>(gpu, charge.clone());
        let evaluation = engine.evaluate(x, y).unwrap();
        engine.read_regions(&mut regions).unwrap();
        let mut gradient = vec![T::nan(); 2 * x.len()];
        engine.write_gradient(&mut gradient, &options).unwrap();
        (evaluation, regions.clone(), rho(&mut engine), gradient)
    });
    let is = |engine: &mut CudaEngine<T>, want: &(Evaluation, Vec<Evaluation>, Vec<T>, Vec<T>)| {
        let mut regions = vec![Evaluation::default(); charge.regions()];
        engine.read_regions(&mut regions).unwrap();
        assert_eq!(regions, want.1);
        assert!(rho(engine) == want.2);
    };
    let mut engine = open::<T>(gpu, charge.clone());
    let mut in_slots = open::<T>(gpu, charge.clone());
    let mut gradient = vec![T::nan(); 2 * charge.bodies()];
    for ([x, y], want) in places.iter().zip(&wants) {
        for _ in 0..3 {
            assert_eq!(engine.evaluate(x, y).unwrap(), want.0);
        }
        is(&mut engine, want);
        let exact = engine.exact_density().unwrap();
        is(&mut engine, want);
        assert_eq!(engine.exact_density().unwrap(), exact);
        engine.write_gradient(&mut gradient, &options).unwrap();
        assert!(gradient == want.3);
        in_slots.set_positions(x, y).unwrap();
        in_slots.use_slots(true).unwrap();
        assert_eq!(in_slots.evaluate_on_device().unwrap(), want.0);
        let mut from = in_slots.bodies().permutation().unwrap();
        in_slots.reorder_slots(&mut from).unwrap();
        assert_eq!(in_slots.evaluate_on_device().unwrap(), want.0);
        is(&mut in_slots, want);
        in_slots.write_gradient(&mut gradient, &options).unwrap();
        assert!(gradient == want.3);
    }
    // The caller's arrays, and one graph for all places.
    let mut engine = open::<T>(gpu, charge.clone());
    let mut corners = gpu.zeros::<T>(2 * charge.bodies()).unwrap();
    let mut forces = gpu.zeros::<T>(2 * charge.bodies()).unwrap();
    let copy = |place: &[Vec<T>; 2], to: &mut _| {
        gpu.write(&place.concat(), to).unwrap();
    };
    copy(&places[0], &mut corners);
    let read = |engine: &mut CudaEngine<T>, forces: DeviceSlice<'_, T>, k: usize| {
        assert_eq!(engine.read_evaluation().unwrap(), wants[k].0);
        is(engine, &wants[k]);
        assert!(gpu.download(forces).unwrap() == wants[k].3);
    };
    engine.enqueue_energy(Layout::Halves, &corners).unwrap();
    engine.enqueue_gradient(&options, None, &mut forces).unwrap();
    read(&mut engine, forces.as_view(), 0);
    // SAFETY: what is captured lives until the last launch is over.
    let mut graph = unsafe {
        Graph::capture::<EngineError>(gpu, || {
            engine.enqueue_energy(Layout::Halves, &corners)?;
            engine.enqueue_gradient(&options, None, &mut forces)
        })
    }
    .unwrap();
    for k in [3, 1, 2, 0] {
        copy(&places[k], &mut corners);
        engine.order_if_due().unwrap();
        graph.launch().unwrap();
        read(&mut engine, forces.as_view(), k);
    }
    // Energy and gradient at once, where the last one was; without weights in a graph of the
    // engine's.
    let mut energy = gpu.zeros::<T>(1).unwrap();
    for weighted in [options, GradientOptions::default().weight(0.5)] {
        for _ in 0..3 {
            let to = Some(forces.as_view_mut());
            engine.enqueue_energy_and_gradient(&weighted, &corners, &mut energy, to).unwrap();
            assert!(gpu.download(&energy).unwrap() == [T::cast(wants[0].0.energy)]);
        }
        let found = gpu.download(&forces).unwrap();
        // Powers of two: those of the first regions are multiplied without rounding.
        let is_it = |k: usize| match charge.region(k % charge.bodies()) {
            region @ 0..=1 if weighted.region_weights.is_empty() => {
                found[k] * T::cast(-2.0 - 2.0 * region as f64) == wants[0].3[k]
            }
            _ => weighted.region_weights.is_empty() || found[k] == wants[0].3[k],
        };
        assert!((0..found.len()).all(is_it));
    }
}

fn rho<T: CudaReal>(engine: &mut CudaEngine<T>) -> Vec<T> {
    let grid = engine.charge().grid();
    let mut map = Map::filled(engine.charge().regions() * grid.nx(), grid.ny(), T::nan());
    engine.read_map(MapKind::Density, &mut map).unwrap();
    map.into_vec()
}

/// Every kernel of bodies in several regions, and several solves by each pipeline.
pub(crate) fn runs<T: CudaReal>(gpu: &Gpu) {
    agrees::<T>(gpu, &strips([40, 36], 3, &options().fillers(true)));
    ways::<T>(gpu, &strips([40, 36], 3, &options().fillers(true)));
    weights::<T>(gpu, &strips([64, 40], 66, &options()));
    goes_on_with_other_regions::<T>(boxed(gpu));
    // More tiles than a block that makes an order can count in shared memory.
    let charge = strips([480, 512], 30, &options());
    let [x, y] = positions::<T>(&charge, 0.0, 1);
    for pipeline in [Pipeline::ThreePass, Pipeline::Fused] {
        let options = EngineOptions::default().pipeline(pipeline);
        let mut engine = CudaEngine::<T>::on(gpu, charge.clone(), &options).unwrap();
        assert!(engine.evaluate(&x, &y).unwrap().energy > 0.0);
        let mut corners = engine.gpu().upload(&pairs(&x, &y)).unwrap();
        engine.enqueue_energy(Layout::Pairs, &corners).unwrap();
        engine.enqueue_gradient(&GradientOptions::default(), None, &mut corners).unwrap();
        assert!(engine.read_evaluation().unwrap().energy > 0.0);
    }
}

/// More bodies and maps than in the other tests, in chunks of thousands.
#[test]
fn large_maps_of_eight_regions_match_the_cpu() {
    let gpu = gpu();
    agrees::<f32>(&gpu, &strips([512, 512], 8, &options().fillers(true)));
}

#[test]
fn cells_of_a_placement_end_in_their_fences() {
    let gpu = gpu();
    cells_end_in_their_fences(|charge, netlist| {
        Box::new(CudaBackend::new(open::<f64>(&gpu, charge.clone()), netlist).unwrap())
    });
    cells_end_in_their_fences(|charge, netlist| {
        Box::new(CudaBackend::new(open::<f32>(&gpu, charge.clone()), netlist).unwrap())
    });
}

#[test]
fn more_than_65535_regions_are_refused() {
    let (gpu, regions) = (gpu_alone(), 65536);
    let grid = BinGrid::new(Rect::at(0.0, 0.0, regions as f64, 1.0), 1, 1).unwrap();
    let cells = Rectangles::movable(&[0.5], &[0.5], &[0.0], &[0.0]);
    let unfenced = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    let mut engine = open::<f32>(&gpu, unfenced.clone());
    let want = find(&mut engine).evaluation;
    let fence = |r: usize| vec![Rect::at(r as f64, 0.0, 1.0, 1.0)];
    let mut fenced = unfenced;
    fenced.set_fences(&(0..regions).map(fence).collect::<Vec<_>>(), &[0]).unwrap();
    let refused = engine.set_charge(fenced.into()).unwrap_err();
    let text = "a charge of 65536 fence regions: the CUDA engine takes at most 65535";
    assert_eq!(refused.to_string(), text);
    assert_eq!(find(&mut engine).evaluation, want);
}
