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
//! Not imitated: subrows cut around obstacles, bigblue3's 2485 movable macros (its movable nodes
//! are all cells here), repeated macros in arrays, and more pins on wider cells. Weights are all 1,
//! as in the contest.
//!
//! The counts, *D* and *U* are from Nam, Alpert, Villarrubia, Winter and
//! Yildiz, "The ISPD2005 placement contest and benchmark suite" (ISPD 2005);
//! how many fixed nodes are macros is from Yan, Viswanathan and Chu, "Handling
//! complexities in modern large-scale mixed-size placement" (DAC 2009).
//!
//! A spec gives the same bits on every run and for any number of threads: work is cut into fixed
//! blocks and each block has its own random stream.

mod cells;
mod degrees;
mod floorplan;
mod hilbert;
mod names;
mod netlist;
mod random;
mod spec;

pub use spec::{GenerateError, MAX_NODES, Spec};

use crate::bookshelf::{ErrorKind, FileError, check_writable, write_design};
use crate::design::{Design, NodeKind, Nodes, Orientation, Placement};
use floorplan::Floorplan;
use names::numbered_names;
use std::path::{Path, PathBuf};

/// Makes the design `spec` describes.
///
/// Nodes come in the order cells `o0…`, macros, blocks, pads, all of them
/// oriented `N`; nets are `n0…` and their first pin is meant to drive them.
/// Movable cells start in a few Gaussian clusters inside the die.
///
/// # Errors
/// When the spec has no cells, too many, contradicts itself, or its fixed nodes do not fit on the
/// die.
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
    let (name, nets, rows) = (spec.name.clone(), Some(nets), plan.rows);
    Ok(Design { name, nodes, placement, nets, rows, ..Design::default() })
}

/// Writes the files of a design under its name ([`write_design`]) into `folder`, which is created
/// if needed.
///
/// # Errors
/// When the folder cannot be made, the design's name is none of a file in it, and as
/// [`write_design`].
pub fn write_bookshelf(design: &Design, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let aux = folder.join(format!("{}.aux", design.name));
    if design.name.is_empty() || aux.parent() != Some(folder) {
        let (expected, found) = ("a design's name of one word", format!("`{}`", design.name));
        return Err(FileError::whole(folder, ErrorKind::Unwritable { expected, found }));
    }
    check_writable(design).map_err(|kind| FileError::whole(&aux, kind))?;
    std::fs::create_dir_all(folder).map_err(|error| FileError::io(folder, error))?;
    write_design(&aux, design)
}

fn nodes(cell_width: Vec<f64>, plan: &Floorplan) -> Nodes {
    let cells = cell_width.len();
    let mut height = vec![floorplan::ROW_HEIGHT; cells];
    height.extend(plan.fixed.iter().map(|r| r.height()));
    let mut width = cell_width;
    width.extend(plan.fixed.iter().map(|r| r.width()));
    let mut kind = vec![NodeKind::Movable; cells];
    kind.resize(width.len(), NodeKind::Fixed);
    let names = numbered_names('o', width.len());
    Nodes { names, width, height, kind, ..Nodes::default() }
}
