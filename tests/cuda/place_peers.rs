//! Placements on several ranks, against one device: the same bits where the solve has them, and
//! otherwise as good. Ranks are streams of one device here; with more devices, those as well.

use crate::common::fences::{self, Cells};
use crate::common::started_for;
use crate::device::{close, fill, gpu, gpu_alone};
use crate::place::{bare_netlist, charge, design, device, place, scattered};
use crate::slabs::places;
use placefield::charge::Charge;
use placefield::cuda::interop::cudarc::driver::{CudaContext, LaunchConfig};
use placefield::cuda::interop::cudarc::nvrtc::Ptx;
use placefield::cuda::{CudaBackend, CudaReal, Gpu, Peers};
use placefield::engine::{EngineError, EngineOptions};
use placefield::generate::{Spec, generate};
use placefield::place::{
    Backend, Outcome, PlaceOptions, Placer, PointVector, Sample, Weights, start,
};
use placefield::wirelength::Netlist;
use std::process::Command;
use std::time::{Duration, Instant};

fn several<T: CudaReal>(
    peers: &Peers,
    charge: &Charge,
    netlist: &Netlist,
) -> Result<CudaBackend<T>, EngineError> {
    let options = EngineOptions::default().deterministic(true);
    CudaBackend::on_peers(peers, charge.clone().into(), &options, netlist)
}

/// All but the energy, of which devices add up parts in an order of their own, and which steers
/// nothing.
fn steering(sample: Sample) -> Sample {
    Sample { energy: 0.0, ..sample }
}

/// Placements, and what a backend does besides, have the bits of one device on ranks of these.
pub(crate) fn placed_like_one<T: CudaReal>(
    gpu: &Gpu,
    devices: &[usize],
    bins: usize,
    iterations: usize,
) {
    let design = design(3000);
    let charge = charge(&design, bins);
    let netlist = Netlist::from_design(&design, 30).unwrap();
    let what = format!("{} on {devices:?}", T::PRECISION);
    let peers = Peers::open(devices).unwrap();
    let mut one = device::<T>(gpu, &charge, &netlist);
    let mut ranks = several::<T>(&peers, &charge, &netlist).unwrap();
    let (outcome, want, wanted) = place(&mut one, iterations);
    let (found, got, at) = place(&mut ranks, iterations);
    assert_eq!((steering(got), found), (steering(want), outcome), "{what}");
    assert!(at == wanted, "{what}: the same bits");
    close(&format!("{what}: energy"), got.energy, want.energy, 1e-5);
    let read = |backend: &mut CudaBackend<T>, held| {
        let (mut x, mut y) = (vec![0.0; charge.bodies()], vec![0.0; charge.bodies()]);
        backend.read(held, &mut x, &mut y).unwrap();
        [x, y]
    };
    for held in PointVector::ALL {
        assert!(read(&mut ranks, held) == read(&mut one, held), "{what}: {held:?}");
    }
    for held in [PointVector::Reference, PointVector::Best, PointVector::Solution] {
        let exact = [&mut one, &mut ranks].map(|backend| backend.exact_density(held).unwrap());
        assert_eq!(exact[0], exact[1], "{what}: exact density of {held:?}");
    }
    // Gone on from by others, and then back from a jump that orders all bodies anew.
    let mut fresh = several::<T>(&peers, &charge, &netlist).unwrap();
    let [x, y] = scattered(&charge, 4);
    fresh.start(&x, &y).unwrap();
    for held in PointVector::ALL {
        let [x, y] = read(&mut one, held);
        fresh.write(held, &x, &y).unwrap();
    }
    let weights = Weights { gamma: 80.0, lambda: 1e-4, pin_factor: 1.0, area_factor: 1.0 };
    let unit = charge.grid().bin_x();
    let steps =
        [(0.1 * unit, 0.3), (200.0 * unit, 0.9), (unit, 0.0), (90.0 * unit, 0.1), (unit, 0.0)];
    for (turn, (step, momentum)) in steps.into_iter().enumerate() {
        // One rank is late: whatever the others do, they wait for what it has and leave what it
        // still reads.
        let late = peers.gpu(turn % peers.count());
        let from = late.zeros::<u8>(32 << 20).unwrap();
        let mut to = late.zeros::<u8>(32 << 20).unwrap();
        (0..50).for_each(|_| late.copy(&from, to.as_view_mut()).unwrap());
        let next = [&mut one, &mut ranks, &mut fresh].map(|backend| {
            let sample = backend.propose(step, momentum, &weights).unwrap();
            backend.accept().unwrap();
            steering(sample)
        });
        assert_eq!((next[1], next[2]), (next[0], next[0]), "{what}: a step of {step}");
    }
}

#[test]
fn one_to_three_ranks_place_like_one_device() {
    let gpu = gpu();
    // Bins of rows that are no whole blocks, and of a number that no number of ranks divides.
    let bins = 50;
    for devices in (1..=3).flat_map(places) {
        placed_like_one::<f32>(&gpu, &devices, bins, 1000);
        placed_like_one::<f64>(&gpu, &devices, bins, 60);
    }
}

/// Bits may differ by slabs, which placements that steer by them make more of.
#[test]
fn slab_placements_are_as_good_as_one_devices() {
    let gpu = gpu();
    let design = generate(&Spec::with_cells(3000)).unwrap();
    let charge = charge(&design, 48);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let options = EngineOptions::default();
    let (outcome, want, _) = place(&mut device::<f32>(&gpu, &charge, &netlist), 1000);
    assert_eq!(outcome, Some(Outcome::Converged));
    for devices in (2..=3).flat_map(places) {
        let peers = Peers::open(&devices).unwrap();
        let shared = std::sync::Arc::new(charge.clone());
        let mut ranks = CudaBackend::<f32>::on_peers(&peers, shared, &options, &netlist).unwrap();
        let (outcome, got, _) = place(&mut ranks, 1000);
        assert_eq!(outcome, Some(Outcome::Converged));
        close(&format!("HPWL on {devices:?}"), got.hpwl, want.hpwl, 1e-3);
    }
}

/// With few cells most ranks have none in their share, or no net.
#[test]
fn few_cells_are_placed_on_many_ranks() {
    let gpu = gpu();
    let design = generate(&Spec::with_cells(40)).unwrap();
    let charge = charge(&design, 64);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let (_, want, wanted) = place(&mut device::<f32>(&gpu, &charge, &netlist), 100);
    for devices in places(3) {
        let peers = Peers::open(&devices).unwrap();
        let mut ranks = several::<f32>(&peers, &charge, &netlist).unwrap();
        let (_, got, at) = place(&mut ranks, 100);
        assert_eq!(steering(got), steering(want));
        assert!(at == wanted, "the same bits");
    }
}

#[test]
fn fences_and_other_netlists_are_refused() {
    let _gpu = gpu();
    let peers = Peers::open(&[0, 0]).unwrap();
    let fenced = Cells::new().together(&fences::options());
    let cells = fenced.movable();
    let apart: Vec<Vec<usize>> = (1..cells).map(|k| vec![k - 1, k]).collect();
    let netlist = bare_netlist(&apart, &vec![1.0; apart.len()], cells);
    let refused = several::<f32>(&peers, &fenced, &netlist).err().unwrap();
    assert!(refused.to_string().contains("fence regions"), "{refused}");
    let design = design(2000);
    let other = Netlist::from_design(&crate::place::design(1000), 100).unwrap();
    let refused = several::<f32>(&peers, &charge(&design, 32), &other).err();
    assert!(matches!(refused, Some(EngineError::Length { .. })), "{refused:?}");
}

/// One device without room for its part: an error that says so, at once, and nothing kept.
#[test]
fn device_out_of_memory_is_an_error() {
    let gpu = gpu_alone();
    let design = design(3000);
    let charge = charge(&design, 512);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let peers = Peers::open(&places(2).pop().unwrap()).unwrap();
    let last = peers.gpu(1).clone();
    let kept = fill(&last);
    let begun = std::time::Instant::now();
    let refused = several::<f64>(&peers, &charge, &netlist).err();
    assert!(matches!(refused, Some(EngineError::OutOfMemory { .. })), "{refused:?}");
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    drop(kept);
    last.synchronize().unwrap();
    let (_, got, at) = place(&mut several::<f64>(&peers, &charge, &netlist).unwrap(), 5);
    let (_, want, wanted) = place(&mut device::<f64>(&gpu, &charge, &netlist), 5);
    assert_eq!(steering(got), steering(want));
    assert!(at == wanted, "the same bits");
}

/// Writes to no one's memory: the device's context is lost to the process from there on.
const FAULT: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry fault()
{
    .reg .b64 %address;
    mov.u64 %address, 16;
    st.global.u64 [%address], %address;
    ret;
}";

/// Places on ranks of these devices until the last one fails, and says how.
fn until_lost(devices: &[usize]) -> String {
    let design = design(3000);
    let charge = charge(&design, 64);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let peers = Peers::open(devices).unwrap();
    let mut ranks = several::<f32>(&peers, &charge, &netlist).unwrap();
    let last = CudaContext::new(devices[devices.len() - 1]).unwrap();
    let fault = last.load_module(Ptx::from_src(FAULT)).unwrap().load_function("fault").unwrap();
    let (x, y) = start::centred(&charge, 3);
    let options = PlaceOptions::default().iterations(1_000_000).stop_overflow(0.0);
    let mut placer = Placer::new(&mut ranks, &x, &y, &options).unwrap();
    (0..20).for_each(|_| assert!(placer.step().unwrap().is_some()));
    let lost = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        let stream = last.new_stream().unwrap();
        let begun = Instant::now();
        // SAFETY: the kernel takes no arguments. Its effect is limited to its context, which is of
        // this process: every later use is refused.
        unsafe { stream.launch_builder(&fault).launch(one) }.unwrap();
        begun
    });
    let error = loop {
        match placer.step() {
            Ok(record) => assert!(record.is_some(), "the placement ended before its device"),
            Err(error) => break error.to_string(),
        }
    };
    let begun = lost.join().unwrap();
    drop(placer);
    drop(ranks);
    drop(peers);
    assert!(begun.elapsed() < Duration::from_secs(10), "{error} after {:?}", begun.elapsed());
    error
}

/// Which devices a process of [`a_device_lost_during_a_placement_is_an_error`] places on.
const LOST: &str = "PLACEFIELD_TEST_LOST";

/// One device that is lost in the middle: an error that names its rank, within ten seconds, and no
/// hang at the end. In a process of its own, whose last the device is.
#[test]
fn a_device_lost_during_a_placement_is_an_error() {
    match started_for(LOST) {
        Some(devices) => {
            let devices: Vec<usize> = devices.split(',').map(|k| k.parse().unwrap()).collect();
            println!("[[{}]]", until_lost(&devices));
        }
        None => {
            let _alone = gpu_alone();
            places(2).iter().for_each(|devices| tells_of_the_loss(devices));
        }
    }
}

fn tells_of_the_loss(devices: &[usize]) {
    let list = devices.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "place_peers::a_device_lost_during_a_placement_is_an_error"])
        .arg("--nocapture")
        .env(LOST, list)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{devices:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
    let said = text.split("[[").nth(1).and_then(|rest| rest.split("]]").next()).unwrap();
    // A rank whose kernels use the lost device's memory fails like that one.
    let of_a_rank = said.starts_with("rank 0: ") || said.starts_with("rank 1: ");
    assert!(of_a_rank && said.contains("ILLEGAL_ADDRESS"), "{said}");
}
