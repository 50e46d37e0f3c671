//! Counts made while a DEF file is read.

use std::collections::BTreeMap;

/// Counts of a part of a file, or of all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) nets: u64,
    /// Pins of components in nets.
    pub(super) connections: u64,
    /// Nets of `USE POWER` or `USE GROUND`.
    pub(super) supply_nets: u64,
    pub(super) must_join: u64,
    /// Connections that `( * pin )` made.
    pub(super) by_star: u64,
    /// Pins in nets of ports and fixed components that are not placed.
    pub(super) unplaced_pins: u64,
    /// Supply pins of components in nets.
    pub(super) supply_pins: u64,
    pub(super) blockages: u64,
    /// Names are to be taken without regard to case.
    pub(super) case_off: bool,
    /// `END DESIGN` was read.
    pub(super) ended: bool,
    /// The statements passed over: the section, the word, and how often.
    skipped: Vec<(&'static str, Vec<u8>, u64)>,
}

/// Words of one part of a file that are counted each by itself.
const MOST_WORDS: usize = 64;
/// The name that all others are counted under.
const OTHERS: &[u8] = b"...";

impl Counts {
    /// Counts a passed statement or option that begins with `word`, of this section.
    pub(super) fn skip(&mut self, section: &'static str, word: &[u8]) {
        self.skip_often(section, word, 1);
    }

    fn skip_often(&mut self, section: &'static str, word: &[u8], times: u64) {
        let found = self.skipped.iter().position(|(s, w, _)| *s == section && *w == word);
        match found {
            Some(at) => self.skipped[at].2 += times,
            None if self.skipped.len() >= MOST_WORDS && word != OTHERS => {
                self.skip_often(section, OTHERS, times);
            }
            None => self.skipped.push((section, word.to_vec(), times)),
        }
    }

    /// Adds those of a later part.
    pub(super) fn add(&mut self, later: &Counts) {
        self.nets += later.nets;
        self.connections += later.connections;
        self.supply_nets += later.supply_nets;
        self.must_join += later.must_join;
        self.by_star += later.by_star;
        self.unplaced_pins += later.unplaced_pins;
        self.supply_pins += later.supply_pins;
        self.blockages += later.blockages;
        self.case_off |= later.case_off;
        self.ended |= later.ended;
        for (section, word, times) in &later.skipped {
            self.skip_often(section, word, *times);
        }
    }

    /// Returns the counts of statements passed over, by `SECTION`, `STATEMENT`, or `SECTION` and
    /// the option or statement in it, with `sign` between them.
    pub(super) fn skipped(&self, sign: &str) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (section, word, times) in &self.skipped {
            let word = crate::text::error::show(word);
            let key = match (*section, &word[..]) {
                ("", word) => word.to_owned(),
                (section, "") => section.to_owned(),
                ("BLOCKAGES", word) => format!("BLOCKAGES {word}"),
                (section, word) => format!("{section}{sign}{word}"),
            };
            *all.entry(key).or_default() += times;
        }
        all
    }
}
