//! Random streams, one for every use and block.

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// The purpose of a random stream; each use has its own, so that changing one leaves the others.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Widths,
    Floorplan,
    Start,
    Degrees,
    Nets,
}

/// Returns the random stream of one block of one use.
pub(super) fn random_stream(seed: u64, stream: Stream, block: u64) -> Pcg64 {
    // Chained through a mixer, because streams of neighbouring seeds must not be alike.
    Pcg64::seed_from_u64(mix(mix(mix(seed) ^ stream as u64) ^ block))
}

/// Returns the SplitMix64 output function (Steele, Lea and Flood, OOPSLA 2014).
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
