//! `--legality`: how legal a placement that was read is.

use super::failure::Failure;
use super::input::Opened;
use crate::formats::{LoadedPlacement, read_placement};
use crate::lefdef::PinPosition;
use crate::legality::{self, LegalityOptions, LegalityReport};
use crate::warning::{Warning, WarningCode};

/// Returns the design's own placement if another was read instead. Adds a warning if the other one
/// frees nodes that this one fixes. Pins are at `position`.
pub(super) fn own_placement(
    opened: &mut Opened,
    position: PinPosition,
) -> Result<Option<LoadedPlacement>, Failure> {
    let Some(path) = &opened.own_placement else { return Ok(None) };
    let mut home = read_placement(path, &opened.design.nodes, position)?;
    opened.warnings.append(&mut home.warnings);
    let freed = home.kind.iter().zip(&opened.design.nodes.kind);
    let freed = freed.filter(|(home, now)| home != now).count();
    if freed > 0 {
        let message = format!(
            "{}: fixes {freed} nodes that the placement at hand does not; \
             legality takes them as fixed",
            home.file.display()
        );
        opened.warnings.push(Warning::new(WarningCode::FixedFreed, message));
    }
    Ok(Some(home))
}

/// Checks the placement of a design. If another placement was read instead of the `.aux` file's
/// own, the design's placement determines the fixed cells and their positions. With
/// `no_one_site_gaps`, gaps of exactly one site are faults.
pub(crate) fn judge(
    opened: &mut Opened,
    position: PinPosition,
    no_one_site_gaps: bool,
) -> Result<LegalityReport, Failure> {
    let home = own_placement(opened, position)?;
    let design = &opened.design;
    let options = LegalityOptions::default().unplaced(&opened.unplaced);
    let options = options.no_one_site_gaps(no_one_site_gaps);
    Ok(match home {
        Some(home) => {
            LegalityReport::of_other_placement(design, (&home.placement, &home.kind), &options)?
        }
        None => LegalityReport::of(design, &legality::check(design, &options)?),
    })
}
