use super::*;
use crate::design::{Fence, NodeKind, Orientation};
use crate::grid::BinGrid;

#[test]
fn bins_follow_names_and_the_heuristic() {
    let mut design = Design { name: "adaptec1.mms".to_owned(), ..Design::default() };
    let die = Rect::at(0.0, 0.0, 400.0, 100.0);
    let [nx, ny] = default_bins(&design, die, 1.0);
    assert_eq!((nx, ny), (512, 512));
    assert_eq!(placement_bins(&design, die, 1.0), [16, 4], "whatever its name");
    // 100 cells of 20 x 10 on 40000: 200 ideal bins, 4 times as wide as high.
    design.name = "other".to_owned();
    design.nodes.width = vec![20.0; 100];
    design.nodes.height = vec![10.0; 100];
    design.nodes.kind = vec![crate::design::NodeKind::Movable; 100];
    design.placement.orientation = vec![Default::default(); 100];
    let [nx, ny] = default_bins(&design, die, 1.0);
    assert_eq!((nx, ny), (16, 4));
    assert_eq!(placement_bins(&design, die, 1.0), [32, 8]);
    // The same when all are fixed; the fewest without any area.
    design.nodes.kind = vec![crate::design::NodeKind::Fixed; 100];
    let [nx, ny] = default_bins(&design, die, 1.0);
    assert_eq!((nx, ny), (16, 4));
    design.nodes.width = vec![0.0; 100];
    let [nx, ny] = default_bins(&design, die, 1.0);
    assert_eq!((nx, ny), (16, 4));
    // A macro does not make the bins coarser.
    design.nodes.width = vec![20.0; 100];
    design.nodes.kind = vec![crate::design::NodeKind::Movable; 100];
    (design.nodes.width[7], design.nodes.height[7]) = (200.0, 90.0);
    let [nx, ny] = default_bins(&design, die, 1.0);
    assert_eq!((nx, ny), (16, 4));
    assert_eq!(placement_bins(&design, die, 1.0), [16, 4]);
    // A very narrow die still has a grid for any cells.
    design.nodes.width = vec![1e-9; 100];
    let thread = Rect::at(0.0, 0.0, 1.0, 1e9);
    let [nx, ny] = default_bins(&design, thread, 1.0);
    assert!(BinGrid::new(thread, nx, ny).is_ok(), "{nx} x {ny}");
    assert!((1 << 12..=100 << 8).contains(&(nx * ny)), "{nx} x {ny}");
    let [nx, ny] = default_bins(&design, Rect::at(0.0, 0.0, 1e6, 1e6), 1.0);
    assert_eq!((nx, ny), (128, 128), "100 cells");
    assert_eq!(placement_bins(&design, Rect::at(0.0, 0.0, 1e6, 1e6), 1.0), [128, 128]);
}

#[test]
fn bins_fall_with_fences_and_grow_with_cells() {
    let die = Rect::at(0.0, 0.0, 1e6, 1e6);
    let bins = |cells: usize, fences: usize| {
        let mut design = Design::default();
        design.nodes.width = vec![1e-6; cells];
        design.nodes.height = vec![1e-6; cells];
        design.nodes.kind = vec![NodeKind::Movable; cells];
        design.placement.orientation = vec![Orientation::N; cells];
        design.fences = vec![Fence::default(); fences];
        if fences > 0 {
            design.nodes.fence = (0..cells).map(|i| Some((i % fences) as u32)).collect();
        }
        [default_bins(&design, die, 1.0), placement_bins(&design, die, 1.0)].map(|[nx, ny]| nx * ny)
    };
    let mut beside_macros = Design::default();
    beside_macros.nodes.width = [vec![1.0; 88_000], vec![4e4]].concat();
    beside_macros.nodes.height = [vec![1.0; 88_000], vec![4e4]].concat();
    beside_macros.nodes.kind = vec![NodeKind::Movable; 88_001];
    beside_macros.placement.orientation = vec![Orientation::N; 88_001];
    assert_eq!(placement_bins(&beside_macros, die, 1.0), [512, 512]);
    beside_macros.nodes.kind[88_000] = NodeKind::Fixed;
    assert_eq!(placement_bins(&beside_macros, die, 1.0), [1024, 1024]);
    let (few, many) = (13, 100_000);
    assert_eq!(bins(few, 0), [32 * 32, 128 * 128]);
    assert_eq!(bins(many, 0), [4096 * 4096, 1024 * 1024]);
    assert_eq!(bins(many, 15), [2048 * 2048, 1024 * 1024]);
    assert_eq!(bins(many, 1000), [256 * 256; 2]);
    assert_eq!(bins(1000, 1000), [64 * 64; 2], "few cells have few bins in all");
    assert_eq!(bins(few, 13), [32 * 32, 128 * 128], "fences are limited together");
}
