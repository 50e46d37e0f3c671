//! Single transforms on a device against a float64 reference: every kind,
//! algorithm, method, orientation, precision and input.

use crate::common::wide;
use crate::device::{MAPS, check, gpu, must_have_lines, output, values};
use crate::maps::off_axis;
use crate::reference::{Line, line, transform_2d, transform_nd};
use placefield::cuda::transforms::{Input, Path, Plan, Stage};
use placefield::cuda::{CudaError, CudaReal, Graph};
use placefield::paper::cuda::{Dct1d, dct_2d};
use placefield::paper::{Algorithm1d, PostProcessing, Reorder};
use placefield::transform::{Method, Transform, Transform1d, TransformNd};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Arrays of `each` values, each by `reference`.
fn batches(x: &[f64], each: usize, reference: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    x.chunks(each).flat_map(reference).collect()
}

pub(crate) const LINES: [(Transform1d, Line); 3] = [
    (Transform1d::Dct, Line::Dct),
    (Transform1d::Idct, Line::Idct),
    (Transform1d::Idxst, Line::Idxst),
];

pub(crate) const VOLUMES: [(TransformNd, Line); 2] =
    [(TransformNd::Dct, Line::Dct), (TransformNd::Idct, Line::Idct)];

fn lines_agree<T: CudaReal>() {
    let gpu = gpu();
    for n in [1, 2, 3, 4, 5, 7, 8, 12, 31, 64, 97, 128, 1000, 1021, 4096, 1 << 14] {
        for batch in [1, 3] {
            let x = values::<T>(n * batch);
            let input = gpu.upload(&x).unwrap();
            for (kind, reference) in LINES {
                let want = batches(&wide(&x), n, |x| line(reference, x));
                for method in [Method::Fused, Method::Fastest] {
                    let mut plan = Plan::<T, T>::of_lines(&gpu, kind, n, method, batch).unwrap();
                    for _ in 0..2 {
                        let got = output(&gpu, n * batch, |out| plan.run(&input, out));
                        check(&got, &want, &format!("{batch} {kind:?} of {n} by {method:?}"));
                    }
                }
            }
        }
        let x = values::<T>(n);
        let input = gpu.upload(&x).unwrap();
        let want = line(Line::Dct, &wide(&x));
        for algorithm in Algorithm1d::ALL {
            let mut plan = Dct1d::<T>::new(&gpu, n, algorithm).unwrap();
            for _ in 0..2 {
                let got = output(&gpu, n, |out| plan.run(&input, out));
                check(&got, &want, &format!("DCT of {n} by {algorithm:?}"));
            }
        }
    }
}

#[test]
fn lines_agree_with_the_reference_in_f32() {
    lines_agree::<f32>();
}

#[test]
fn lines_agree_with_the_reference_in_f64() {
    lines_agree::<f64>();
}

/// Odd, prime, one wide, rectangular either way, powers of two, divisors of 10000.
const SIZES: [(usize, usize); 60] = [
    (1, 1),
    (1, 2),
    (2, 1),
    (1, 7),
    (9, 1),
    (2, 3),
    (5, 7),
    (8, 8),
    (16, 4),
    (13, 31),
    (31, 66),
    (24, 40),
    (64, 64),
    (100, 30),
    (128, 256),
    (101, 103),
    (512, 64),
    (64, 1024),
    (2048, 64),
    (128, 4096),
    (8192, 64),
    (64, 8192),
    (100, 64),
    (64, 100),
    (100, 200),
    (400, 100),
    (128, 500),
    (1000, 200),
    (2000, 400),
    (100, 2500),
    (5000, 100),
    (100, 10000),
    (10000, 100),
    (16, 18),
    (72, 96),
    (120, 144),
    (150, 480),
    (1536, 40),
    (40, 1536),
    (3000, 24),
    (36, 7680),
    (1, 64),
    (64, 1),
    (3, 3),
    (7, 11),
    (16, 16),
    (20, 36),
    (48, 30),
    (45, 60),
    (27, 81),
    (125, 25),
    (96, 200),
    (225, 16),
    (50, 250),
    (16, 1800),
    (1280, 32),
    (20, 9000),
    (6000, 16),
    (211, 64),
    (32, 127),
];

/// Every choice of the stages of a fused DCT.
pub(crate) fn stages() -> impl Iterator<Item = (Reorder, PostProcessing)> {
    Reorder::ALL.into_iter().flat_map(|reorder| PostProcessing::ALL.map(|post| (reorder, post)))
}

fn maps_agree<T: CudaReal>() {
    let gpu = gpu();
    for ((nx, ny), batch) in SIZES.into_iter().flat_map(|size| [1, 3].map(|batch| (size, batch))) {
        if batch * nx * ny > 1 << 20 {
            continue;
        }
        let x: Vec<T> = (0..batch)
            .flat_map(|k| {
                let mut map = off_axis::<T>(nx, ny);
                map.rotate_left(k % (nx * ny));
                map
            })
            .collect();
        let input = gpu.upload(&x).unwrap();
        for (kind, along_x, along_y) in MAPS {
            let want = batches(&wide(&x), nx * ny, |x| transform_2d(x, nx, ny, along_x, along_y));
            for method in Method::ALL {
                let mut plan = Plan::<T, T>::of_maps(&gpu, kind, nx, ny, method, batch).unwrap();
                let what = format!("{batch} {kind:?} of {nx} x {ny} {:?} {method:?}", plan.path());
                for _ in 0..2 {
                    check(&output(&gpu, x.len(), |out| plan.run(&input, out)), &want, &what);
                }
            }
        }
        if batch > 1 {
            continue;
        }
        let want = transform_2d(&wide(&x), nx, ny, Line::Dct, Line::Dct);
        for (reorder, post) in stages() {
            let mut plan = dct_2d::<T>(&gpu, [nx, ny], reorder, post).unwrap();
            let got = output(&gpu, x.len(), |out| plan.run(&input, out));
            check(&got, &want, &format!("DCT of {nx} x {ny} {reorder:?} {post:?}"));
        }
    }
}

#[test]
fn maps_agree_with_the_reference_in_f32() {
    maps_agree::<f32>();
}

#[test]
fn maps_agree_with_the_reference_in_f64() {
    maps_agree::<f64>();
}

#[test]
fn plans_report_their_path() {
    let gpu = gpu();
    let path = |nx, ny, method| {
        Plan::<f32, f32>::of_maps(&gpu, Transform::Dct, nx, ny, method, 1).unwrap().path()
    };
    let (auto, fused) = (Method::Fastest, Method::Fused);
    assert_eq!(path(64, 128, auto), Path::Lines);
    assert_eq!(path(64, 128, fused), Path::Fused);
    assert_eq!(path(100, 64, auto), Path::Lines);
    assert_eq!(path(64, 300, auto), Path::Lines);
    assert_eq!(path(720, 1536, auto), Path::Lines);
    assert_eq!(path(63, 128, auto), Path::Fused);
    assert_eq!(path(64, 194, auto), Path::Fused);
    assert_eq!(path(64, 128, Method::RowColumn), Path::RowColumn);
    let gathered = dct_2d::<f32>(&gpu, [64, 128], Reorder::Gather, PostProcessing::Naive);
    assert_eq!(gathered.unwrap().path(), Path::Fused);
}

/// Maps with an axis of 10000, whichever it is, and batches of them.
fn long_axes_agree<T: CudaReal>() {
    let gpu = gpu();
    for (short, batch) in [(64, 2), (128, 2)] {
        for (nx, ny) in [(10000, short), (short, 10000)] {
            let x = values::<T>(batch * nx * ny);
            let input = gpu.upload(&x).unwrap();
            for (kind, along_x, along_y) in MAPS {
                let want =
                    batches(&wide(&x), nx * ny, |x| transform_2d(x, nx, ny, along_x, along_y));
                let mut plan =
                    Plan::<T, T>::of_maps(&gpu, kind, nx, ny, Method::Fastest, batch).unwrap();
                let lines = plan.path() == Path::Lines;
                assert!(lines || !must_have_lines::<T>(&gpu, 10000), "{nx} x {ny}");
                let what = format!("{batch} {kind:?} of {nx} x {ny}");
                for _ in 0..2 {
                    check(&output(&gpu, x.len(), |out| plan.run(&input, out)), &want, &what);
                }
            }
        }
    }
}

#[test]
fn long_axes_agree_with_the_reference() {
    long_axes_agree::<f32>();
    long_axes_agree::<f64>();
}

fn volumes_agree<T: CudaReal>() {
    let gpu = gpu();
    let shapes = [
        [1, 1, 1],
        [2, 3, 5],
        [7, 1, 4],
        [1, 10, 12],
        [12, 1, 1],
        [1, 1, 9],
        [8, 8, 8],
        [16, 5, 9],
        [3, 64, 31],
        [20, 16, 32],
    ];
    for (shape, batch) in shapes.into_iter().flat_map(|shape| [(shape, 1), (shape, 2)]) {
        let each: usize = shape.iter().product();
        let x = values::<T>(batch * each);
        let input = gpu.upload(&x).unwrap();
        for (kind, reference) in VOLUMES {
            let want = batches(&wide(&x), each, |x| transform_nd(x, &shape, reference));
            for method in Method::ALL {
                let mut plan = Plan::<T, T>::of_arrays(&gpu, kind, &shape, method, batch).unwrap();
                for _ in 0..2 {
                    let got = output(&gpu, x.len(), |out| plan.run(&input, out));
                    check(&got, &want, &format!("{batch} {kind:?} of {shape:?} {method:?}"));
                }
            }
        }
    }
    let shapes: [&[usize]; 8] = [
        &[7],
        &[12, 5],
        &[4, 3, 10],
        &[2, 3, 4, 5],
        &[1, 7, 3, 2],
        &[8, 4, 16, 8],
        &[5, 1, 1, 6],
        &[2, 3, 4, 3, 2],
    ];
    for shape in shapes {
        let batch = 1 + shape.len() % 3;
        let each: usize = shape.iter().product();
        let x = values::<T>(batch * each);
        let input = gpu.upload(&x).unwrap();
        for (kind, reference) in VOLUMES {
            let one = |x: &[T]| transform_nd(&wide(x), shape, reference);
            let want: Vec<f64> = x.chunks(each).flat_map(one).collect();
            for method in Method::ALL {
                let mut plan = Plan::<T, T>::of_arrays(&gpu, kind, shape, method, batch).unwrap();
                let got = output(&gpu, x.len(), |out| plan.run(&input, out));
                check(&got, &want, &format!("{kind:?} of {shape:?} {method:?}"));
            }
        }
    }
}

#[test]
fn volumes_agree_with_the_reference_in_f32() {
    volumes_agree::<f32>();
}

#[test]
fn volumes_agree_with_the_reference_in_f64() {
    volumes_agree::<f64>();
}

/// Every plan that reads integers, against the definitions.
fn integers_agree<T: CudaReal, I: Input<T>>(of: impl Fn(u32) -> I) {
    let gpu = gpu();
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let x: Vec<I> = (0..2 * 16 * 12).map(|_| of(random.random::<u32>())).collect();
    let exact: Vec<f64> = x.iter().map(|v| v.to_f64()).collect();
    let input = gpu.upload(&x).unwrap();
    let name = std::any::type_name::<I>();
    for (kind, reference) in LINES {
        let methods = [Method::Fused, Method::Fastest];
        for (n, method) in methods.into_iter().flat_map(|method| [(16, method), (3, method)]) {
            let mut plan = Plan::<T, I>::of_lines(&gpu, kind, n, method, x.len() / n).unwrap();
            let got = output(&gpu, x.len(), |out| plan.run(&input, out));
            let want = batches(&exact, n, |x| line(reference, x));
            check(&got, &want, &format!("{kind:?} of {n} {name} by {method:?}"));
        }
    }
    for (kind, along_x, along_y) in MAPS {
        let want = batches(&exact, 16 * 12, |x| transform_2d(x, 16, 12, along_x, along_y));
        for method in Method::ALL {
            let mut plan = Plan::<T, I>::of_maps(&gpu, kind, 16, 12, method, 2).unwrap();
            let got = output(&gpu, x.len(), |out| plan.run(&input, out));
            check(&got, &want, &format!("{kind:?} of {name} {method:?}"));
        }
    }
    for (nx, ny) in [(64, 100), (4096, 16)] {
        let x: Vec<I> = (0..2 * nx * ny).map(|_| of(random.random::<u32>())).collect();
        let exact: Vec<f64> = x.iter().map(|v| v.to_f64()).collect();
        let input = gpu.upload(&x).unwrap();
        for (kind, along_x, along_y) in MAPS {
            let want = batches(&exact, nx * ny, |x| transform_2d(x, nx, ny, along_x, along_y));
            let mut plan = Plan::<T, I>::of_maps(&gpu, kind, nx, ny, Method::Fastest, 2).unwrap();
            assert_eq!(plan.path(), Path::Lines);
            let got = output(&gpu, x.len(), |out| plan.run(&input, out));
            check(&got, &want, &format!("{kind:?} of {nx} x {ny} {name}"));
        }
    }
    for (kind, reference) in VOLUMES {
        for method in Method::ALL {
            let mut plan = Plan::<T, I>::of_arrays(&gpu, kind, &[4, 8, 12], method, 1).unwrap();
            let got = output(&gpu, x.len(), |out| plan.run(&input, out));
            let want = transform_nd(&exact, &[4, 8, 12], reference);
            check(&got, &want, &format!("3-D {kind:?} of {name} {method:?}"));
            let mut plan = Plan::<T, I>::of_arrays(&gpu, kind, &[4, 2, 8, 6], method, 1).unwrap();
            let got = output(&gpu, x.len(), |out| plan.run(&input, out));
            let want = transform_nd(&exact, &[4, 2, 8, 6], reference);
            check(&got, &want, &format!("4-D {kind:?} of {name} {method:?}"));
        }
    }
}

#[test]
fn integers_are_converted_as_they_are_read() {
    integers_agree::<f32, u8>(|bits| bits as u8);
    integers_agree::<f32, i8>(|bits| bits as i8);
    integers_agree::<f32, u16>(|bits| bits as u16);
    integers_agree::<f32, i16>(|bits| bits as i16);
    integers_agree::<f32, u32>(|bits| bits);
    integers_agree::<f32, i32>(|bits| bits as i32);
    integers_agree::<f64, u8>(|bits| bits as u8);
    integers_agree::<f64, i16>(|bits| bits as i16);
    integers_agree::<f64, u32>(|bits| bits);
    integers_agree::<f64, i32>(|bits| bits as i32);
}

#[test]
fn single_stages_and_graphs_give_the_same_bits() {
    let gpu = gpu();
    let (nx, ny) = (40, 56);
    let x = values::<f64>(nx * ny);
    let input = gpu.upload(&x).unwrap();
    for (reorder, post) in stages() {
        let mut plan = dct_2d::<f64>(&gpu, [nx, ny], reorder, post).unwrap();
        let whole = output(&gpu, nx * ny, |out| plan.run(&input, out));
        let staged = output(&gpu, nx * ny, |out| {
            Stage::ALL.into_iter().try_for_each(|s| plan.run_stage(s, &input, out))
        });
        assert!(staged == whole, "{reorder:?} {post:?}");
    }
    for (kind, ..) in MAPS {
        for method in Method::ALL {
            let mut plan = Plan::<f64, f64>::of_maps(&gpu, kind, nx, ny, method, 1).unwrap();
            let whole = output(&gpu, nx * ny, |out| plan.run(&input, out));
            if method == Method::Fused {
                let staged = output(&gpu, nx * ny, |out| {
                    Stage::ALL.into_iter().try_for_each(|s| plan.run_stage(s, &input, out))
                });
                assert!(staged == whole, "{kind:?} {method:?}");
            }
            let mut out = gpu.zeros::<f64>(nx * ny).unwrap();
            // SAFETY: plan, input and output outlive the graph and stay where they are.
            let mut graph = unsafe { Graph::capture(&gpu, || plan.run(&input, &mut out)) }.unwrap();
            graph.launch().unwrap();
            assert!(gpu.download(&out).unwrap() == whole, "{kind:?} {method:?}");
        }
    }
    let mut plan =
        Plan::<f64, f64>::of_arrays(&gpu, TransformNd::Idct, &[8, 10, 28], Method::Fused, 1)
            .unwrap();
    let whole = output(&gpu, nx * ny, |out| plan.run(&input, out));
    let staged = output(&gpu, nx * ny, |out| {
        Stage::ALL.into_iter().try_for_each(|s| plan.run_stage(s, &input, out))
    });
    assert!(staged == whole);
}

#[test]
fn kernels_say_what_they_take() {
    let gpu = gpu();
    let plan = Plan::<f64, u8>::of_maps(&gpu, Transform::Dct, 64, 96, Method::Fused, 1).unwrap();
    let [pre, post] = &plan.kernels().unwrap()[..] else { panic!("two kernels") };
    assert_eq!((pre.name.as_str(), pre.bytes), ("reorder_scatter", 64 * 96 * 9));
    assert_eq!(post.name, "dct_post");
    assert_eq!(post.bytes, 64 * 49 * 16 + 64 * 96 * 8);
    for kernel in [pre, post] {
        assert!((129..=256).contains(&(kernel.block.0 * kernel.block.1)), "{kernel:?}");
        assert!(kernel.occupancy > 0.1 && kernel.occupancy <= 1.0, "{kernel:?}");
        assert!(kernel.registers > 0 && kernel.blocks > 0 && kernel.blocks_per_sm > 0);
    }
    let two =
        Plan::<f32, f32>::of_maps(&gpu, Transform::Idct, 64, 128, Method::Fastest, 1).unwrap();
    let names: Vec<_> = two.kernels().unwrap().into_iter().map(|k| k.name).collect();
    assert_eq!(names, ["columns 64", "rows 128"]);
    let method = Method::RowColumn;
    let plan = Plan::<f32, f32>::of_maps(&gpu, Transform::Dct, 64, 128, method, 1).unwrap();
    assert_eq!(plan.kernels().unwrap().len(), 6);
}

#[test]
fn refusals_are_typed() {
    let gpu = gpu();
    let new = |nx, ny| {
        Plan::<f32, f32>::of_maps(&gpu, Transform::Dct, nx, ny, Method::Fastest, 1).err().unwrap()
    };
    assert!(matches!(new(0, 4), CudaError::Shape(_)));
    assert!(matches!(new(usize::MAX, 4), CudaError::Shape(_)));
    assert!(matches!(new(1 << 29, 1), CudaError::NoTransform { .. }));
    let many = Plan::<f32, f32>::of_maps(&gpu, Transform::Dct, 3, 3, Method::Fastest, 65536)
        .err()
        .unwrap();
    assert!(matches!(many, CudaError::NoTransform { batch: 65536, .. }), "{many}");
    let no_line = Plan::<f32, f32>::of_lines(&gpu, Transform1d::Dct, 4, Method::Fused, 0);
    assert!(matches!(no_line.err().unwrap(), CudaError::Shape(_)));
    let no_line = Dct1d::<f32>::new(&gpu, 0, Algorithm1d::FourN).err().unwrap();
    assert!(matches!(no_line, CudaError::Shape(_)));
    let none = Plan::<f32, f32>::of_arrays(&gpu, TransformNd::Dct, &[2, 0, 2], Method::Fused, 1);
    assert!(matches!(none.err().unwrap(), CudaError::Shape(_)));

    let (input, mut output) = (gpu.zeros::<f32>(4096).unwrap(), gpu.zeros::<f32>(4096).unwrap());
    let (short, mut kept) = (gpu.zeros::<f32>(4095).unwrap(), gpu.zeros::<u64>(1).unwrap());
    for method in Method::ALL {
        let mut plan = Plan::<f32, f32>::of_maps(&gpu, Transform::Idct, 64, 64, method, 1).unwrap();
        let wrong = plan.run(&short, &mut output).unwrap_err();
        assert!(matches!(wrong, CudaError::Length { expected: 4096, found: 4095, .. }), "{wrong}");
        let wrong = plan.run_thresholded(&input, 1.0, &mut output, &mut kept).unwrap_err();
        assert!(matches!(wrong, CudaError::NotPlanned { .. }), "{wrong}");
    }
    let mut two =
        Plan::<f32, f32>::of_maps(&gpu, Transform::Dct, 64, 64, Method::Fastest, 1).unwrap();
    let wrong = two.run_stage(Stage::Fft, &input, &mut output).unwrap_err();
    assert!(matches!(wrong, CudaError::NotPlanned { .. }), "{wrong}");
    two.run(&input, &mut output).unwrap();
    gpu.synchronize().unwrap();
}

#[test]
fn plans_can_be_sent_to_another_thread() {
    fn sent<T: Send>() {}
    sent::<Plan<f32, u8>>();
    sent::<Plan<f64>>();
}
