//! What experiments are made of: cases, and lines and claims from what was measured.

use crate::cli::paper::session::Session;
use crate::cli::paper::table::{Claim, Group, Observation};

/// What an experiment yields.
#[derive(Default)]
pub(super) struct Content {
    pub(super) groups: Vec<Group>,
    pub(super) claims: Vec<Claim>,
    pub(super) notes: Vec<String>,
}

/// `N₁ × N₂`, or `N²` where they are equal.
pub(super) fn size([n1, n2]: [usize; 2]) -> String {
    if n1 == n2 { format!("{n1}²") } else { format!("{n1} × {n2}") }
}

/// The cases of a table: all, or the first where a quick look was asked for.
pub(super) fn cases<'t, T>(session: &Session<'_>, all: &'t [T]) -> &'t [T] {
    if session.settings.quick { &all[..1.min(all.len())] } else { all }
}

/// One observation per group of a ratio of two lines.
pub(super) fn ratios(
    groups: &[Group],
    what: &str,
    over: &str,
    agrees: impl Fn(f64) -> bool,
) -> Vec<Observation> {
    let observe = |group: &Group| {
        let value = group.ratio(what, over)?;
        Some(Observation { case: group.case.clone(), value, agrees: agrees(value) })
    };
    groups.iter().filter_map(observe).collect()
}

/// Whether two numbers of this ratio are within a share of each other.
pub(super) fn within(share: f64) -> impl Fn(f64) -> bool {
    move |ratio| ratio <= 1.0 + share && ratio >= 1.0 / (1.0 + share)
}
