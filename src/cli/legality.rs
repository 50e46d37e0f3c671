//! `--legality`: how legal a placement that was read is.

use super::failure::Failure;
use super::input::Opened;
use crate::design::Placement;
use crate::formats::read_placement;
use crate::lefdef::PinPosition;
use crate::legality::{self, LegalityOptions, LegalityReport};
use crate::warning::{Warning, WarningCode};

/// Returns where the design's own placement has the nodes, when another placement was read in its
/// place. The nodes that it fixes are fixed from now on, and there is a warning where the other has
/// freed some. Pins are at `position`.
pub(super) fn fix_as_at_home(
    opened: &mut Opened,
    position: PinPosition,
) -> Result<Option<Placement>, Failure> {
    let Some(path) = &opened.own_placement else { return Ok(None) };
    let home = read_placement(path, &opened.design.nodes, position)?;
    opened.warnings.extend(home.warnings);
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
    opened.design.nodes.kind = home.kind;
    Ok(Some(home.placement))
}

/// Checks the placement of a design. If another placement was read instead of the `.aux` file's
/// own, the design's placement determines the fixed cells and their positions. With
/// `no_one_site_gaps`, gaps of exactly one site are faults.
pub(crate) fn judge(
    opened: &mut Opened,
    position: PinPosition,
    no_one_site_gaps: bool,
) -> Result<LegalityReport, Failure> {
    let kind = opened.design.nodes.kind.clone();
    let home = fix_as_at_home(opened, position)?;
    let options = LegalityOptions::default().unplaced(&opened.unplaced);
    let options = options.no_one_site_gaps(no_one_site_gaps);
    let options = home.as_ref().map_or(options, |home| options.reference(home));
    let found = legality::check(&opened.design, &options);
    opened.design.nodes.kind = kind;
    Ok(LegalityReport::of(&opened.design, &found?))
}
