use super::*;
use crate::compare::Difference;
use crate::engine::DensityStats;

#[test]
fn an_iteration_counts_as_often_as_it_was_tried() {
    let row = |iteration, solve| Iteration {
        iteration,
        density: DensityStats::default(),
        energy: 0.0,
        step: 0.0,
        sides: vec![Side {
            engine: "cpu",
            pipeline: Pipeline::Fused,
            path: "fused",
            density: 0.0,
            forward: 0.0,
            scaling: 0.0,
            inverse: solve,
            solve,
            force: 0.0,
            ratio: 1.0,
            steps: None,
            difference: Difference::default(),
        }],
    };
    let rows = [row(0, 2.0), row(1, 3.0), row(2, 5.0)];
    assert_eq!(so_far(&rows, &[1, 3, 1], 0), [(0.0, 2.0), (1.0, 11.0), (2.0, 16.0)]);
}
