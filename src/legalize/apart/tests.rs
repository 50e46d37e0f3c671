use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn block(wish: [f64; 2], size: [f64; 2], weight: f64) -> Block {
    Block { wish, size, halo: [[0.0; 2]; 2], channel: [0.0; 2], weight: Some(weight) }
}

/// Whether two of which one moves share area.
fn overlap(blocks: &[Block], at: &[[f64; 2]]) -> bool {
    (0..at.len()).any(|i| {
        (0..i).filter(|&j| [i, j].iter().any(|&i| blocks[i].weight.is_some())).any(|j| {
            [0, 1].into_iter().all(|axis| {
                let end = |i: usize| at[i][axis] + blocks[i].size[axis];
                at[i][axis] < end(j) && at[j][axis] < end(i)
            })
        })
    })
}

#[test]
fn two_that_overlap_share_the_way_by_weight() {
    // By 4 of 10 along x, by 8 along y.
    let mut blocks = [block([20.0, 20.0], [10.0; 2], 1.0), block([26.0, 22.0], [10.0; 2], 1.0)];
    assert_eq!(apart(&blocks, [0.0; 2], [100.0; 2]), Some(vec![[18.0, 20.0], [28.0, 22.0]]));
    blocks[0].weight = Some(3.0);
    assert_eq!(apart(&blocks, [0.0; 2], [100.0; 2]), Some(vec![[19.0, 20.0], [29.0, 22.0]]));
    // Fixed blocks do not move, and the requested space is free.
    blocks[0].weight = None;
    blocks[0].halo[0][1] = 2.0;
    assert_eq!(apart(&blocks, [0.0; 2], [100.0; 2]), Some(vec![[20.0, 20.0], [32.0, 22.0]]));
}

#[test]
fn a_chain_that_is_too_long_is_broken() {
    // Four of 10 in a row of 35.
    let blocks: Vec<Block> =
        (0..4).map(|k| block([8.0 * f64::from(k), 0.0], [10.0; 2], 1.0)).collect();
    let at = apart(&blocks, [0.0; 2], [35.0, 40.0]).expect("there is room above");
    assert!(!overlap(&blocks, &at), "{at:?}");
    assert_eq!(at.iter().filter(|at| at[1] >= 10.0).count(), 1, "{at:?}");
    // Five of 10 x 10 do not fit into 20 x 20.
    let blocks = vec![block([5.0; 2], [10.0; 2], 1.0); 5];
    assert_eq!(apart(&blocks, [0.0; 2], [20.0; 2]), None);
}

#[test]
fn random_blocks_come_out_apart() {
    let mut random = Pcg64::seed_from_u64(7);
    let mut number = |most: f64| (most * random.random::<f64>()).floor();
    for case in 0..40 {
        let blocks: Vec<Block> = (0..30)
            .map(|k| Block {
                wish: [number(880.0), number(880.0)],
                size: [10.0 + number(110.0), 10.0 + number(110.0)],
                halo: [[0.0; 2]; 2],
                channel: [0.0; 2],
                weight: (k > 2 || case % 2 == 0).then(|| 1.0 + number(5.0)),
            })
            .collect();
        let Some(at) = apart(&blocks, [0.0; 2], [1000.0; 2]) else { continue };
        let moving = |i: &usize| blocks[*i].weight.is_some();
        for i in (0..blocks.len()).filter(moving) {
            let inside =
                |axis: usize| at[i][axis] >= 0.0 && at[i][axis] + blocks[i].size[axis] <= 1000.0;
            assert!(inside(0) && inside(1), "case {case}: block {i} at {:?}", at[i]);
        }
        assert!(!overlap(&blocks, &at), "case {case}");
    }
}
