//! Cells are mirrored left and right without a move, so that their pins change sides.

use super::state::{Change, Spot, State};

/// Adds the mirroring of `cell` to `changes`, if it shortens the cell's nets.
pub(super) fn propose(state: &State, cell: u32, changes: &mut Vec<Change>) {
    let of = &state.cells[cell as usize];
    if !state.kinds[of.kind as usize].mirrors {
        return;
    }
    let spot = Spot { mirrored: !of.spot.mirrored, ..of.spot };
    let length = state.wires.length_at(cell, &state.pose(cell, spot));
    if length + state.least_gain < state.wires.length_of(cell) {
        changes.push(Change { cell, spot });
    }
}
