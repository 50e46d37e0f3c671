//! One solve on several ranks, and batches: against one device. Ranks are streams of one device
//! here; with more devices, those as well.

use crate::common::{limit, relative_rms, wide};
use crate::device::{gpu, gpu_alone, poisoned};
use crate::maps::{grid, off_axis};
use placefield::cuda::{
    BatchSolver, CudaError, CudaReal, Fields, Gpu, Peers, SlabSolver, probe, solver,
};
use placefield::engine::Pipeline;

/// Ranks on one device, and, where there are two, on both in turn.
pub(crate) fn places(ranks: usize) -> Vec<Vec<usize>> {
    let devices = probe().devices.len();
    let alone = vec![vec![0; ranks]];
    let spread = (devices > 1 && ranks > 1).then(|| (0..ranks).map(|k| k % devices).collect());
    alone.into_iter().chain(spread).collect()
}

/// φ, Ex, Ey and the energy.
pub(crate) type Solved<T> = ([Vec<T>; 3], f64);

pub(crate) fn read<T: CudaReal>(gpu: &Gpu, fields: &Fields<T>) -> Solved<T> {
    let maps = [&fields.potential, &fields.field_x, &fields.field_y];
    (maps.map(|map| gpu.download(map).unwrap()), gpu.download(&fields.energy).unwrap()[0])
}

pub(crate) fn by_one<T: CudaReal>(
    gpu: &Gpu,
    pipeline: Pipeline,
    (nx, ny): (usize, usize),
    rho: &[T],
) -> Solved<T> {
    let made = solver::<T>(gpu, &grid(nx, ny), pipeline);
    let mut solver = made.unwrap_or_else(|e| panic!("{nx} x {ny}: {e}"));
    assert_eq!(solver.pipeline(), pipeline, "{nx} x {ny}");
    let mut fields = poisoned(gpu, nx * ny);
    solver.solve(&gpu.upload(rho).unwrap(), &mut fields).unwrap();
    read(gpu, &fields)
}

/// The slabs of all ranks, one below the other.
fn joined<T: CudaReal>(peers: &Peers, fields: &[Fields<T>], energy: f64) -> [Vec<T>; 3] {
    let mut maps = [Vec::new(), Vec::new(), Vec::new()];
    for (rank, fields) in fields.iter().enumerate() {
        let (slab, own) = read(peers.gpu(rank), fields);
        let error = (own - energy).abs() / energy.abs();
        assert!(error <= 1e-6, "rank {rank}: energy {own} for {energy}");
        maps.iter_mut().zip(slab).for_each(|(map, slab)| map.extend(slab));
    }
    maps
}

/// Each size on so many ranks, wherever they may be.
pub(crate) fn ranks_solve_like_one<T: CudaReal>(gpu: &Gpu, ranks: usize, sizes: &[(usize, usize)]) {
    for devices in places(ranks) {
        let peers = Peers::open(&devices).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(peers.count(), ranks);
        println!("on {devices:?}");
        solves_like_one::<T>(gpu, &peers, sizes);
    }
}

pub(crate) fn solves_like_one<T: CudaReal>(gpu: &Gpu, peers: &Peers, sizes: &[(usize, usize)]) {
    for &(nx, ny) in sizes {
        let rho = off_axis::<T>(nx, ny);
        let (want, energy) = by_one(gpu, Pipeline::ThreePass, (nx, ny), &rho);
        let made = SlabSolver::<T>::new(peers, &grid(nx, ny));
        let mut solver = made.unwrap_or_else(|e| panic!("{nx} x {ny}: {e}"));
        let slabs = solver.upload(&rho).unwrap();
        let poison = |rank| poisoned(peers.gpu(rank), solver.rows(rank).len() * ny);
        let mut fields: Vec<Fields<T>> = (0..peers.count()).map(poison).collect();
        // Nothing may be left over from one solve to the next, nor may one overtake another.
        for turn in 0..3 {
            solver.solve(&slabs, &mut fields).unwrap();
            peers.synchronize().unwrap();
            let got = joined(peers, &fields, energy);
            assert!(solver.gather(&fields).unwrap().as_ref() == Some(&got), "gathered");
            for ((got, want), name) in got.iter().zip(&want).zip(["phi", "Ex", "Ey"]) {
                let ranks = peers.count();
                let what = format!("{nx} x {ny} {} on {ranks}, turn {turn}", T::PRECISION);
                let error = relative_rms(&wide(got), &wide(want));
                println!("{what} {name}: {error:.1e}{}", if got == want { ", same" } else { "" });
                assert!(error <= limit::<T>(), "{what}: {name} is off by {error:e}");
            }
        }
    }
}

const SIZES: [(usize, usize); 8] =
    [(64, 64), (64, 256), (256, 64), (128, 512), (72, 100), (100, 72), (1024, 512), (512, 1024)];

#[test]
fn up_to_four_ranks_solve_like_one_device_in_f32() {
    let gpu = gpu();
    let all = |ranks| ranks_solve_like_one::<f32>(&gpu, ranks, &SIZES);
    (1..=4).for_each(all);
}

#[test]
fn up_to_four_ranks_solve_like_one_device_in_f64() {
    let gpu = gpu();
    let all = |ranks| ranks_solve_like_one::<f64>(&gpu, ranks, &SIZES);
    (1..=4).for_each(all);
}

/// A length that the three passes have no lines for, and too few rows or columns.
#[test]
fn maps_without_three_passes_are_refused() {
    let peers = Peers::open(&[0; 4]).unwrap();
    for (nx, ny) in [(67, 64), (6, 64), (64, 16)] {
        let refused = SlabSolver::<f32>::new(&peers, &grid(nx, ny)).err();
        assert!(matches!(refused, Some(CudaError::NoThreePass { .. })), "{nx} x {ny}");
    }
}

#[test]
fn long_lines_are_solved_by_two_and_three_ranks() {
    let gpu = gpu();
    for ranks in [2, 3] {
        ranks_solve_like_one::<f32>(&gpu, ranks, &[(2048, 2048), (4096, 512)]);
        ranks_solve_like_one::<f64>(&gpu, ranks, &[(2048, 512)]);
        if gpu.info().shared_memory >= 163 << 10 {
            ranks_solve_like_one::<f32>(&gpu, ranks, &[(8192, 256)]);
            ranks_solve_like_one::<f64>(&gpu, ranks, &[(4096, 256)]);
        }
    }
}

/// Q travels while the third pass runs.
#[test]
fn large_maps_are_solved_in_four_passes() {
    ranks_solve_like_one::<f32>(&gpu(), 3, &[(4096, 4096)]);
}

/// Replays of graphs, launched many times before anyone waits.
#[test]
fn graphs_of_all_ranks_run_in_step() {
    let gpu = gpu();
    let (nx, ny) = (512, 512);
    for devices in places(3) {
        let peers = Peers::open(&devices).unwrap();
        let rho = off_axis::<f32>(nx, ny);
        let (want, energy) = by_one(&gpu, Pipeline::ThreePass, (nx, ny), &rho);
        let mut solver = SlabSolver::<f32>::new(&peers, &grid(nx, ny)).unwrap();
        let slabs = solver.upload(&rho).unwrap();
        let mut fields = solver.fields().unwrap();
        // SAFETY: solver, ρ and fields outlive the graphs.
        let mut graphs = unsafe { solver.graphs(&slabs, &mut fields) }.unwrap();
        for _ in 0..200 {
            graphs.iter_mut().for_each(|graph| graph.launch().unwrap());
        }
        peers.synchronize().unwrap();
        let got = joined(&peers, &fields, energy);
        for (got, want) in got.iter().zip(&want) {
            assert!(relative_rms(&wide(got), &wide(want)) <= limit::<f32>());
        }
    }
}

/// Making graphs may wait for all of a device's work, and so for a rank that waits for another.
#[test]
fn graphs_are_made_while_another_thread_solves() {
    let _gpu = gpu_alone();
    for devices in places(2) {
        let peers = Peers::open(&devices).unwrap();
        let rho = off_axis::<f32>(128, 64);
        let make = || {
            let solver = SlabSolver::<f32>::new(&peers, &grid(128, 64)).unwrap();
            let (rho, fields) = (solver.upload(&rho).unwrap(), solver.fields().unwrap());
            (solver, rho, fields)
        };
        let (mut solver, mut graphed) = (make(), make());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (solver, rho, fields) = &mut solver;
                for _ in 0..2000 {
                    solver.solve(rho, fields).unwrap();
                    peers.synchronize().unwrap();
                }
            });
            for _ in 0..50 {
                let (solver, rho, fields) = &mut graphed;
                solver.solve(rho, fields).unwrap();
                // SAFETY: the graphs are never launched.
                drop(unsafe { solver.graphs(rho, fields) }.unwrap());
            }
        });
        peers.synchronize().expect("no rank has waited in vain");
    }
}

/// A rank that is not asked to work: the others say so within the time that they wait.
#[test]
fn absent_ranks_are_named() {
    let _alone = gpu_alone();
    let peers = Peers::open(&[0, 0, 0]).unwrap();
    let (nx, ny) = (64, 64);
    let mut solver = SlabSolver::<f32>::new(&peers, &grid(nx, ny)).unwrap();
    let slabs = solver.upload(&off_axis::<f32>(nx, ny)).unwrap();
    let mut fields = solver.fields().unwrap();
    // SAFETY: solver, ρ and fields outlive the graphs.
    let mut graphs = unsafe { solver.graphs(&slabs, &mut fields) }.unwrap();
    let start = std::time::Instant::now();
    graphs[0].launch().unwrap();
    graphs[2].launch().unwrap();
    let error = peers.synchronize().unwrap_err();
    assert!(matches!(error, CudaError::PeerMissing { rank: 0, peer: 1 }), "{error}");
    let expected = "rank 0 waited in vain for rank 1: work of that one failed or was not asked for";
    assert_eq!(error.to_string(), expected);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    // Nobody waits again.
    graphs[0].launch().unwrap();
    graphs[2].launch().unwrap();
    assert!(peers.synchronize().is_err());
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn bad_devices_grids_and_slabs_are_refused() {
    let gpu = gpu();
    for devices in [vec![], vec![0; 17]] {
        let error = Peers::open(&devices).err().unwrap().to_string();
        let expected = format!("several devices: {} ranks: expected 1 to 16", devices.len());
        assert_eq!(error, expected);
    }
    assert!(matches!(
        Peers::open(&[0, 99]).err(),
        Some(CudaError::NoSuchDevice { ordinal: 99, .. })
    ));
    let peers = Peers::open(&[0, 0]).unwrap();
    // 67 is odd and a prime number; 2 rows are one pair.
    for (nx, ny) in [(67, 64), (64, 67), (2, 64)] {
        let error = SlabSolver::<f32>::new(&peers, &grid(nx, ny)).err().unwrap();
        assert!(matches!(error, CudaError::NoThreePass { .. }), "{nx} x {ny}: {error}");
    }
    let mut solver = SlabSolver::<f32>::new(&peers, &grid(64, 64)).unwrap();
    let slabs = solver.upload(&off_axis::<f32>(64, 64)).unwrap();
    let mut fields = solver.fields().unwrap();
    assert!(matches!(
        solver.solve(&slabs[..1], &mut fields),
        Err(CudaError::Length { what: "density maps of all ranks", expected: 2, found: 1 })
    ));
    // Memory of the device opened once more is of another rank.
    fields[1] = Fields::new(&gpu, 32 * 64).unwrap();
    assert!(matches!(solver.solve(&slabs, &mut fields), Err(CudaError::OtherGpu)));
    fields.swap(0, 1);
    assert!(matches!(solver.solve(&slabs, &mut fields), Err(CudaError::OtherGpu)));
    // Refused before anything was enqueued, so nobody waits for anybody.
    peers.synchronize().unwrap();
    let mut fields = solver.fields().unwrap();
    solver.solve(&slabs, &mut fields).unwrap();
    peers.synchronize().unwrap();
}

#[test]
fn a_batch_is_solved_map_by_map() {
    let gpu = gpu();
    let (nx, ny) = (128, 64);
    for devices in places(3) {
        let peers = Peers::open(&devices).unwrap();
        let mut solver =
            BatchSolver::<f32>::new(&peers, &grid(nx, ny), Pipeline::ThreePass).unwrap();
        for count in [0, 1, 7] {
            let maps: Vec<Vec<f32>> = (0..count)
                .map(|k| off_axis::<f32>(nx, ny).iter().map(|v| v * (k + 1) as f32).collect())
                .collect();
            let on = |k: usize| solver.gpu(k);
            let rho: Vec<_> = (0..count).map(|k| on(k).upload(&maps[k]).unwrap()).collect();
            let mut fields: Vec<_> = (0..count).map(|k| poisoned(on(k), nx * ny)).collect();
            solver.solve(&rho, &mut fields).unwrap();
            peers.synchronize().unwrap();
            for (k, map) in maps.iter().enumerate() {
                let want = by_one(&gpu, Pipeline::ThreePass, (nx, ny), map);
                assert!(
                    read(solver.gpu(k), &fields[k]) == want,
                    "map {k} of {count} on {devices:?}"
                );
            }
        }
        let rho = [solver.gpu(0).zeros(nx * ny).unwrap()];
        assert!(matches!(solver.solve(&rho, &mut []), Err(CudaError::Length { .. })));
    }
}
