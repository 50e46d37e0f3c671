//! Spacings between edges of neighbouring cells, which LEF has in two properties of LEF 5.8:
//! `LEF58_CELLEDGESPACINGTABLE` of the library and `LEF58_EDGETYPE` of a macro.

use super::lef::Library;
use crate::design::{EdgeSpacing, MasterClass};
use std::collections::HashMap;

/// The name of an edge that has none.
const DEFAULT: &str = "DEFAULT";

/// An entry of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EdgeRule {
    types: [String; 2],
    /// Micrometres.
    spacing: f64,
    may_abut: bool,
}

/// The table of a library.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EdgeRules {
    pub(super) rules: Vec<EdgeRule>,
    /// Edges without a type are not of type `DEFAULT`.
    pub(super) no_default: bool,
}

/// The type of a macro's left edge (`false`) or right edge.
pub(super) type TypedEdge = (bool, String);

/// Splits a property's text into words; `;` is always a separate word.
fn words(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text)
        .replace(';', " ; ")
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Adds the entries of a `LEF58_CELLEDGESPACINGTABLE`, `EDGETYPE a b [EXCEPTABUTTED] [OPTIONAL]
/// spacing` each. Optional and soft ones bind nobody and are left out, and so are those with other
/// words. Returns whether all is understood.
pub(super) fn add_table(rules: &mut EdgeRules, text: &[u8]) -> bool {
    let words = words(text);
    let mut words = words.iter().map(String::as_str);
    let mut understood = true;
    while let Some(word) = words.next() {
        match word.to_ascii_uppercase().as_str() {
            "CELLEDGESPACINGTABLE" | ";" => {}
            "NODEFAULT" => rules.no_default = true,
            "EDGETYPE" => {
                let (Some(a), Some(b)) = (words.next(), words.next()) else { return false };
                let (mut may_abut, mut binds) = (false, true);
                let spacing = loop {
                    match words.next().map(|word| (word.to_ascii_uppercase(), word.parse())) {
                        Some((_, Ok(spacing))) => break spacing,
                        Some((word, _)) if word == "EXCEPTABUTTED" => may_abut = true,
                        Some((word, _)) if word == "OPTIONAL" || word == "SOFT" => binds = false,
                        Some((word, _)) if word == "SPACING" => {}
                        Some((word, _)) if word != ";" && word != "EDGETYPE" => {
                            (understood, binds) = (false, false);
                        }
                        _ => return false,
                    }
                };
                if !f64::is_finite(spacing) || spacing < 0.0 {
                    return false;
                }
                if binds {
                    let types = [a.to_owned(), b.to_owned()];
                    rules.rules.push(EdgeRule { types, spacing, may_abut });
                }
            }
            _ => return false,
        }
    }
    understood
}

/// Adds the types of the left and right edges of a `LEF58_EDGETYPE`, `EDGETYPE side type [for a
/// part of its height] ;` each. Returns whether all is understood.
pub(super) fn add_types(edges: &mut Vec<TypedEdge>, text: &[u8]) -> bool {
    for statement in words(text).split(|word| word == ";").filter(|words| !words.is_empty()) {
        let [keyword, side, name, ..] = statement else { return false };
        if !keyword.eq_ignore_ascii_case("EDGETYPE") {
            return false;
        }
        match side.to_ascii_uppercase().as_str() {
            "LEFT" => edges.push((false, name.clone())),
            "RIGHT" => edges.push((true, name.clone())),
            "TOP" | "BOTTOM" => {}
            _ => return false,
        }
    }
    true
}

/// The table of a library in layout units, with the numbers of its types.
pub(super) struct EdgeTypes<'a> {
    pub(super) spacing: EdgeSpacing,
    number: HashMap<&'a str, u32>,
    no_default: bool,
}

impl<'a> EdgeTypes<'a> {
    pub(super) fn new(library: &'a Library, units: f64) -> Self {
        let EdgeRules { rules, no_default } = &library.edge_rules;
        let mut number: HashMap<&str, u32> = HashMap::new();
        for name in rules.iter().flat_map(|rule| &rule.types) {
            let next = number.len() as u32;
            number.entry(name).or_insert(next);
        }
        let mut spacing = EdgeSpacing::new(number.len());
        for EdgeRule { types: [a, b], spacing: microns, may_abut } in rules {
            spacing.set(number[a.as_str()], number[b.as_str()], microns * units, *may_abut);
        }
        EdgeTypes { spacing, number, no_default: *no_default }
    }

    /// Returns the types of the left and right edges of a macro. Of a side with several types the
    /// one with the largest spacing counts for all of its height.
    pub(super) fn of(&self, edges: &[TypedEdge], class: MasterClass) -> [Option<u32>; 2] {
        let default = self.number.get(DEFAULT).filter(|_| !self.no_default).copied();
        [false, true].map(|right| {
            let here = edges.iter().filter(|(side, _)| *side == right);
            let types = here.filter_map(|(_, name)| self.number.get(name.as_str()).copied());
            let largest =
                |a: &u32, b: &u32| self.spacing.largest(*a).total_cmp(&self.spacing.largest(*b));
            let is_cell = class == MasterClass::Core;
            types.max_by(largest).or(default.filter(|_| is_cell))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let mut library = Library::default();
        let rules = &mut library.edge_rules;
        assert!(add_table(
            rules,
            b"CELLEDGESPACINGTABLE EDGETYPE a b 0.4\n EDGETYPE a a EXCEPTABUTTED 0.2 ;
              EDGETYPE b DEFAULT 0.5 EDGETYPE b b OPTIONAL 9 ;"
        ));
        let types = EdgeTypes::new(&library, 1000.0);
        let [a, b, default] = [0, 1, 2].map(Some);
        let of = |x, y| (types.spacing.between(x, y), types.spacing.may_abut(x, y));
        assert_eq!(types.spacing.types(), 3);
        assert_eq!([of(a, b), of(b, a), of(a, a)], [(400.0, false), (400.0, false), (200.0, true)]);
        assert_eq!(
            [of(b, default), of(b, b), of(a, None)],
            [(500.0, false), (0.0, false), (0.0, false)]
        );
        let mut edges = Vec::new();
        assert!(add_types(
            &mut edges,
            b"EDGETYPE RIGHT b CELLROW 1 ; EDGETYPE right a ; EDGETYPE TOP a;"
        ));
        assert_eq!(types.of(&edges, MasterClass::Core), [default, b]);
        assert_eq!(types.of(&edges, MasterClass::Other), [None, b]);
    }

    #[test]
    fn odd_tables_are_not_understood() {
        // The entries behind one with another word are read all the same.
        let mut rules = EdgeRules::default();
        assert!(!add_table(&mut rules, b"EDGETYPE a b EXACT 0.3 EDGETYPE a a 0.4"));
        assert_eq!((rules.rules.len(), rules.rules[0].spacing), (1, 0.4));
        for text in ["EDGETYPE a", "EDGETYPE a b", "EDGETYPE a b WIDTH 2", "EDGETYPE a b -1", "X"] {
            assert!(!add_table(&mut EdgeRules::default(), text.as_bytes()), "{text}");
        }
        for text in ["EDGETYPE a b ;", "EDGETYPE LEFT ;", "LEFT a b ;"] {
            assert!(!add_types(&mut Vec::new(), text.as_bytes()), "{text}");
        }
    }
}
