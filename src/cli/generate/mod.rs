//! Synthetic designs with the statistics of the ISPD 2005 placement contest.
//!
//! The contest's circuits may not be passed on, so a benchmark that anyone can
//! repeat needs stand-ins. [`generate`] makes a [`Design`] from a [`Spec`]: one
//! of the eight contest circuits by name, or any number of cells. Lengths are
//! in layout units, where a site is 1 wide and a row 12 high, as in the contest.
//!
//! | statistic | how it is matched |
//! |---|---|
//! | movable and fixed nodes, nets, pins | exactly |
//! | density *D* = (movable + fixed area on the die) / die area | die and macros are sized for it |
//! | utilisation *U* = movable area / (die area − fixed area) | likewise |
//! | cell widths | log-normal on whole sites, 3 to 77, with adaptec1's mean and deviation |
//! | macros | heavy-tailed areas on the row lattice, apart, some flush with the border |
//! | pads | in a ring outside the rows, 432 × 72 where the perimeter allows |
//! | net degrees | a power law cut off at 2048, its exponent solved for pins / nets |
//! | net lengths | Rent's rule in a hidden placement along a Hilbert curve |
//!
//! With *M* the movable area, *D* and *U* fix the die area *A* and the fixed
//! area *F*: `A = M (1 − U) / (U (1 − D))` and `F = A (D − U) / (1 − U)`.
//!
//! What is not imitated: subrows cut around obstacles, bigblue3's 2485 movable
//! macros (its movable nodes are all cells here), repeated macros in arrays,
//! and more pins on wider cells. Weights are all 1, as in the contest.
//!
//! The counts, *D* and *U* are from Nam, Alpert, Villarrubia, Winter and
//! Yildiz, "The ISPD2005 placement contest and benchmark suite" (ISPD 2005);
//! how many fixed nodes are macros is from Yan, Viswanathan and Chu, "Handling
//! complexities in modern large-scale mixed-size placement" (DAC 2009).
//!
//! The same spec gives the same bits on every run and for any number of
//! threads: work is cut into fixed blocks and each block has its own random
//! stream.

mod cells;
pub(crate) mod command;
mod degrees;
mod floorplan;
mod hilbert;
mod netlist;
mod spec;
mod write;

pub use spec::Spec;
pub use write::{WriteError, write_bookshelf};

use crate::design::{Design, Names, NodeKind, Nodes, Orientation, Placement};
use floorplan::Floorplan;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::fmt::Write;

/// Most nodes, and most nets, in a generated design: their names stay under 4 GiB.
pub const MAX_NODES: u64 = 1 << 28;

/// Why a design cannot be generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// No preset has this name.
    #[error("no design is called \"{name}\": expected one of {}", Spec::NAMES.join(", "))]
    UnknownPreset {
        /// The name asked for.
        name: String,
    },
    /// A design without movable cells.
    #[error("0 cells: expected at least 1")]
    NoCells,
    /// Counts beyond what a [`Design`] can index.
    #[error(
        "{nodes} nodes, {nets} nets and {pins} pins: expected at most {MAX_NODES} nodes, \
         {MAX_NODES} nets and {} pins",
        u32::MAX
    )]
    TooLarge {
        /// Nodes asked for.
        nodes: u64,
        /// Nets asked for.
        nets: u64,
        /// Pins asked for.
        pins: u64,
    },
    /// Counts or ratios that contradict each other.
    #[error("the design's specification does not hold together: {0}")]
    Contradiction(&'static str),
    /// The macros and blocks find no room on the die.
    #[error("{fixed} fixed nodes find no room on a die of {rows} rows of {sites} sites")]
    DoesNotFit {
        /// Fixed nodes inside the die.
        fixed: u64,
        /// Rows of the die.
        rows: u64,
        /// Sites in each row.
        sites: u64,
    },
}

/// Makes the design `spec` describes.
///
/// Nodes come in the order cells `o0…`, macros, blocks, pads, all of them
/// oriented `N`; nets are `n0…` and their first pin is meant to drive them.
/// Movable cells start in a few Gaussian clusters inside the die.
///
/// # Errors
/// When the spec has no cells, too many, contradicts itself, or its fixed
/// nodes find no room on the die.
pub fn generate(spec: &Spec) -> Result<Design, GenerateError> {
    spec.check()?;
    let cell_width = cells::widths(spec);
    let plan = Floorplan::new(spec, &cell_width)?;
    let hidden = hilbert::Hidden::new(plan.die, spec.cells);

    let mut placement = cells::clustered_start(spec, &hidden, &cell_width);
    placement.x.extend(plan.fixed.iter().map(|r| r.xl));
    placement.y.extend(plan.fixed.iter().map(|r| r.yl));
    let nodes = nodes(cell_width, &plan);
    let placement = Placement { orientation: vec![Orientation::N; nodes.len()], ..placement };
    let nets = netlist::connect(spec, &nodes, &plan, &hidden);
    Ok(Design { name: spec.name.clone(), nodes, placement, nets: Some(nets), rows: plan.rows })
}

fn nodes(cell_width: Vec<f64>, plan: &Floorplan) -> Nodes {
    let cells = cell_width.len();
    let mut height = vec![floorplan::ROW_HEIGHT; cells];
    height.extend(plan.fixed.iter().map(|r| r.height()));
    let mut width = cell_width;
    width.extend(plan.fixed.iter().map(|r| r.width()));
    let mut kind = vec![NodeKind::Movable; cells];
    kind.resize(width.len(), NodeKind::Fixed);
    Nodes { names: numbered_names('o', width.len()), width, height, kind }
}

/// `o0`, `o1`, …
fn numbered_names(letter: char, count: usize) -> Names {
    let digits = count.max(1).ilog10() as usize + 1;
    let mut names = Names::with_capacity(count, count * (digits + 1));
    let mut name = String::new();
    for i in 0..count {
        name.clear();
        write!(name, "{letter}{i}").expect("writing to a string does not fail");
        names.push(&name);
    }
    names
}

/// What a random stream is for; each use has its own, so that changing one leaves the others.
#[derive(Clone, Copy)]
enum Stream {
    Widths,
    Floorplan,
    Start,
    Degrees,
    Nets,
}

/// The random stream of one block of one use.
fn random_stream(seed: u64, stream: Stream, block: u64) -> Pcg64 {
    // Chained through a mixer, because streams of neighbouring seeds must not be alike.
    Pcg64::seed_from_u64(mix(mix(mix(seed) ^ stream as u64) ^ block))
}

/// The SplitMix64 output function (Steele, Lea and Flood, OOPSLA 2014).
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
