//! Causes of a bad density, in a design, its placement or the options, with advice.
//!
//! Every check compares areas, sizes and positions of the given design, in layout units. Only the
//! check for overflow at macros uses the density, so other causes are found before they have an
//! effect. The thresholds are wide: normal properties of contest designs and their placements are
//! not causes. Examples are pads around the die, fixed nodes that share a little area, and cells of
//! a global placement that touch macros.
//!
//! ```no_run
//! use placefield::bookshelf::{self, PinOffset};
//! use placefield::charge::{Charge, ChargeOptions};
//! use placefield::{causes, grid::BinGrid};
//!
//! let design = bookshelf::read_design("design.aux".as_ref(), &Default::default())?.design;
//! let options = ChargeOptions::default().target_density(0.8);
//! let grid = BinGrid::new(design.die().ok_or("no rows")?, 512, 512)?;
//! let charge = Charge::from_design(&design, grid, &options)?;
//! for cause in causes::find(&design, &charge, &options, PinOffset::Center) {
//!     println!("{}: {} {}", cause.kind.title(), cause.finding, cause.advice);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod area;
mod bins;
mod macros;
mod pins;
mod spread;

use crate::bookshelf::PinOffset;
use crate::charge::{Charge, ChargeOptions, fixed};
use crate::design::{Design, NodeKind, is_tall};
use crate::grid::Rect;
use serde::Serialize;

/// Most nodes that a cause names.
const MOST_NODES: usize = 8;

/// The kind of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// The movable cells have more area than the die leaves free.
    CellsCannotFit,
    /// They fit, but not at the target density.
    TargetDensityOutOfReach,
    /// A movable cell fits nowhere between the fixed ones.
    CellTooLarge,
    /// Fixed cells share much area.
    FixedCellsOverlap,
    /// Much of the die belongs to no row and is taken as free.
    RowsLeaveGaps,
    /// There are very many more fillers than cells.
    TooManyFillers,
    /// Cell heights and row heights cannot be in one unit.
    UnitsDiffer,
    /// Movable cells lie outside the die.
    CellsOffDie,
    /// The movable cells lie on a heap.
    CellsNotSpread,
    /// Movable cells lie on fixed ones.
    CellsOnFixed,
    /// Much of the area above the target density is over macros or between them, and there is no
    /// other cause.
    OverflowAtMacros,
    /// Pins lie outside their cells, and would not with the other origin.
    PinOffset,
    /// Fixed cells with pins lie far from the die.
    PinsFarOff,
    /// Bins are far smaller than cells.
    BinsTooFine,
    /// Bins are far larger than cells.
    BinsTooCoarse,
}

impl Kind {
    /// Returns the title of the cause.
    pub fn title(self) -> &'static str {
        match self {
            Kind::CellsCannotFit => "The movable cells cannot fit",
            Kind::TargetDensityOutOfReach => "The target density is out of reach",
            Kind::CellTooLarge => "A cell fits nowhere",
            Kind::FixedCellsOverlap => "Fixed cells overlap",
            Kind::RowsLeaveGaps => "Rows do not cover the die",
            Kind::TooManyFillers => "Far more fillers than cells",
            Kind::UnitsDiffer => "Cells and rows are in different units",
            Kind::CellsOffDie => "Cells lie outside the die",
            Kind::CellsNotSpread => "The cells are not spread",
            Kind::CellsOnFixed => "Cells lie on fixed cells",
            Kind::OverflowAtMacros => "Cells overflow over and between macros",
            Kind::PinOffset => "Pin offsets are read from the wrong origin",
            Kind::PinsFarOff => "Pins lie far from the die",
            Kind::BinsTooFine => "Bins are far smaller than cells",
            Kind::BinsTooCoarse => "Bins are far larger than cells",
        }
    }
}

/// Something that makes a density or a placement bad.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cause {
    /// Its kind.
    pub kind: Kind,
    /// The finding, in a sentence with its numbers; lengths are micrometres if these are known,
    /// else layout units.
    pub finding: String,
    /// The change to make, in a sentence; options are those of the command line.
    pub advice: String,
    /// The nodes concerned, the worst first, at most eight; empty if all are concerned.
    pub nodes: Vec<usize>,
}

impl Cause {
    fn new(kind: Kind, finding: String, advice: impl Into<String>) -> Cause {
        Cause { kind, finding, advice: advice.into(), nodes: Vec::new() }
    }

    fn about(self, nodes: impl IntoIterator<Item = usize>) -> Cause {
        Cause { nodes: nodes.into_iter().take(MOST_NODES).collect(), ..self }
    }
}

/// Returns the causes of a bad density of `design`, in the order of [`Kind`], each at most once.
/// `charge` is made from the design with `options`; `pin_offset` is the origin of its pin offsets.
///
/// # Panics
/// If the design's columns do not fit together ([`Design::check`]).
pub fn find(
    design: &Design,
    charge: &Charge,
    options: &ChargeOptions,
    pin_offset: PinOffset,
) -> Vec<Cause> {
    let case = Case::new(design, charge, options, pin_offset);
    let mut causes = Vec::from_iter(area::capacity(&case));
    causes.extend(area::too_large(&case));
    causes.extend(area::fixed_overlap(&case));
    causes.extend(area::gaps_between_rows(&case));
    causes.extend(bins::fillers(&case));
    causes.extend(bins::units(&case));
    causes.extend(spread::off_die(&case));
    causes.extend(spread::heap(&case));
    causes.extend(spread::on_fixed(&case));
    // If there is another cause, overflow is its effect.
    let is_alone = causes.is_empty();
    causes.extend(is_alone.then(|| macros::overflow(&case)).flatten());
    causes.extend(pins::origin(&case));
    causes.extend(pins::far_off(&case));
    causes.extend(bins::size(&case));
    causes
}

/// Inputs of the checks.
struct Case<'a> {
    design: &'a Design,
    charge: &'a Charge,
    options: &'a ChargeOptions,
    pin_offset: PinOffset,
    die: Rect,
    row_height: f64,
    /// The movable nodes, and the rectangle of each.
    movable: Vec<(usize, Rect)>,
    /// The fixed nodes that block area inside the die.
    fixed: Vec<(usize, Rect)>,
    /// Area of the die under fixed nodes, each part counted once.
    fixed_area: f64,
    /// Area of the die outside every row and fixed node.
    gap_area: f64,
}

impl<'a> Case<'a> {
    fn new(
        design: &'a Design,
        charge: &'a Charge,
        options: &'a ChargeOptions,
        pin_offset: PinOffset,
    ) -> Self {
        let die = charge.grid().die();
        let of = |kind| {
            let nodes = (0..design.nodes.len()).filter(move |&i| design.nodes.kind[i] == kind);
            nodes.map(|i| (i, design.rect(i)))
        };
        let blocks = |(_, rect): &(usize, Rect)| rect.overlap(&die) > 0.0;
        let fixed: Vec<(usize, Rect)> = of(NodeKind::Fixed).filter(blocks).collect();
        let mut rects: Vec<Rect> = fixed.iter().map(|(_, rect)| *rect).collect();
        let fixed_area = fixed::union_area(&rects, &die);
        rects.extend(design.rows.iter().map(|row| row.rect()));
        let gap_area = die.area() - fixed::union_area(&rects, &die);
        Case {
            design,
            charge,
            options,
            pin_offset,
            die,
            row_height: design.row_height().unwrap_or(0.0),
            movable: of(NodeKind::Movable).collect(),
            fixed,
            fixed_area,
            gap_area,
        }
    }

    /// Die area that movable cells may take.
    fn free_area(&self) -> f64 {
        (self.die.area() - self.fixed_area - self.charge.blockage_area()).max(0.0)
    }

    /// Whether a movable cell of this size is as tall as a macro.
    fn is_macro(&self, cell: &Rect) -> bool {
        is_tall(cell.height(), self.row_height)
    }

    /// Returns a length as a person reads it: in micrometres if they are known.
    fn length(&self, length: f64) -> String {
        self.with_unit(length, 1, "µm")
    }

    /// Returns an area as a person reads it.
    fn area(&self, area: f64) -> String {
        self.with_unit(area, 2, "µm²")
    }

    fn with_unit(&self, value: f64, power: i32, unit: &str) -> String {
        match self.design.units_per_micron {
            Some(microns) => format!("{} {unit}", number(value / microns.powi(power))),
            None => number(value),
        }
    }

    /// Returns the mean area of the movable cells, zero without any.
    fn mean_area(&self) -> f64 {
        self.charge.movable_area() / self.movable.len().max(1) as f64
    }
}

/// Returns a share in percent, to three digits.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value >= 10.0 { format!("{value:.0} %") } else { format!("{value:.2} %") }
}

/// Returns a length or an area to four digits.
fn number(value: f64) -> String {
    if value.abs() < 1e6 && value.abs() >= 1e-2 || value == 0.0 {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.3e}")
    }
}
