//! Names of nodes and nets.

use crate::design::Names;
use std::fmt::Write;

/// `o0`, `o1`, …
pub(super) fn numbered_names(letter: char, count: usize) -> Names {
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
