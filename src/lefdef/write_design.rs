//! Writes a whole design as a DEF file and the LEF file that it needs (LEF/DEF 5.8 Language
//! Reference).
//!
//! Every node is a component of a macro for its size and kind. The class is `CORE` if the macro is
//! as high as the rows, `COVER` if cells may lie under it, and else `BLOCK`. A macro has pins `P0`,
//! `P1` and so on at each offset at which a component has a pin in a net. Their number is the
//! largest number of pins of a component there. Each kind of sites is a `SITE`.
//!
//! Coordinates of DEF are whole numbers. The unit of the file is the layout unit, or a half, a
//! fourth and so on of it if rows or fixed nodes need this. If the length of a layout unit is
//! unknown, it becomes a thousandth of a micrometre.

use crate::bookshelf::write::{MARK, Shortest, blocks, is_word};
use crate::design::{Design, Nets, NodeKind, Row};
use crate::output::{commit, write_pending};
use crate::text::error::{ErrorKind, FileError, quoted, unwritable};
use crate::warning::{Warning, WarningCode};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Units of a DEF file in a layout unit: the first with which everything that cannot be rounded is
/// whole.
const FINER: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 10.0, 20.0];
/// Layout units in a micrometre where that is not known.
const UNITS: f64 = 1000.0;
/// Largest coordinate that is written.
const LARGEST: f64 = 1e15;

/// Results of [`write_design`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// The LEF file and the DEF file.
    pub files: Vec<PathBuf>,
    /// Units of the DEF file in a layout unit of the design.
    pub units_per_layout_unit: f64,
    /// Differences of the files from the design, one line each.
    pub warnings: Vec<Warning>,
}

/// Writes a design as the DEF file `def` and a LEF file of the same name that ends in `.lef`.
///
/// Movable nodes are `PLACED` at their positions, rounded to whole units, others `FIXED`. Weights
/// of nets are rounded to whole numbers, and nets without names are named by their number. Fences,
/// blockages and halos are not written.
///
/// # Errors
/// When the design's columns do not fit together ([`Design::check`]), a name is no word that DEF
/// takes for one, a number is not finite or a coordinate too large, the design has neither rows nor
/// a die area, or a file cannot be written.
pub fn write_design(def: &Path, design: &Design) -> Result<Written, FileError> {
    let refused = |kind| FileError::whole(def, kind);
    design.check().map_err(|error| refused(ErrorKind::Design(error)))?;
    check(design).map_err(refused)?;
    let lef = def.with_extension("lef");
    let plan = Plan::of(design);
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| FileError::io(&path, error)
    };
    let library = write_pending(&lef, |out| plan.library(out)).map_err(io(&lef))?;
    let placed = write_pending(def, |out| plan.placed(out)).map_err(io(def))?;
    commit(vec![library, placed]).map_err(|(path, error)| FileError::io(&path, error))?;
    let warnings = plan.warnings();
    Ok(Written { files: vec![lef, def.to_owned()], units_per_layout_unit: plan.finer, warnings })
}

/// Refuses what no file can hold.
fn check(design: &Design) -> Result<(), ErrorKind> {
    if design.die().is_none() {
        return unwritable("rows or a die area", "neither".to_owned());
    }
    let nodes = &design.nodes;
    if nodes.names.len() != nodes.len() {
        return unwritable("a name for every node", "none".to_owned());
    }
    let named = [&design.name].into_iter().map(String::as_str).chain(nodes.names.iter());
    let nets =
        design.nets.iter().flat_map(|nets| nets.names.iter()).filter(|name| !name.is_empty());
    if let Some(name) = named.chain(nets).find(|name| !fits(name)) {
        return unwritable("a name of one word that is no sign of DEF", quoted(name));
    }
    let at = &design.placement;
    let mut numbers: Vec<&[f64]> = vec![&nodes.width, &nodes.height, &at.x, &at.y];
    if let Some(nets) = &design.nets {
        numbers.extend([&nets.pin_dx[..], &nets.pin_dy, &nets.weight]);
    }
    let rows = design.rows.iter().flat_map(|r| [r.x, r.y, r.height, r.site_width, r.pitch]);
    let all = numbers.into_iter().flatten().copied().chain(rows);
    match all.into_iter().find(|v| v.is_nan() || v.abs() > LARGEST) {
        Some(value) => unwritable("numbers up to 1e15", value.to_string()),
        None => Ok(()),
    }
}

/// Whether DEF takes a name for one.
fn fits(name: &str) -> bool {
    let signs = ["+", "-", "(", ")", "*", "PIN", "END"];
    is_word(name) && !signs.contains(&name) && !name.starts_with('"') && !name.contains(';')
}

/// A macro: kind of node, and width and height as bits.
type Kind = (Class, u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Class {
    Core,
    Block,
    Cover,
}

/// A pin of a macro: its place from the centre, as bits, and how many there are before it.
type Place = (u64, u64, u32);

#[derive(Default)]
struct Macro {
    pins: HashMap<Place, u32>,
    /// In the order of their numbers, from the centre.
    places: Vec<(f64, f64)>,
}

/// How a design is put into files.
struct Plan<'a> {
    design: &'a Design,
    kinds: Vec<Kind>,
    macros: Vec<Macro>,
    macro_of: Vec<u32>,
    /// The pin of its macro that each pin of the nets is.
    pin: Vec<u32>,
    sites: Vec<Row>,
    site_of: Vec<u32>,
    finer: f64,
}

impl<'a> Plan<'a> {
    fn of(design: &'a Design) -> Self {
        let nodes = &design.nodes;
        let row_height = design.row_height();
        let (mut kinds, mut found, mut macro_of) = (Vec::new(), HashMap::new(), Vec::new());
        for i in 0..nodes.len() {
            let class = match nodes.kind[i] {
                NodeKind::FixedOverlappable => Class::Cover,
                _ if Some(nodes.height[i]) == row_height => Class::Core,
                _ => Class::Block,
            };
            let kind = (class, nodes.width[i].to_bits(), nodes.height[i].to_bits());
            macro_of.push(*found.entry(kind).or_insert_with(|| {
                kinds.push(kind);
                kinds.len() as u32 - 1
            }));
        }
        let mut macros: Vec<Macro> = kinds.iter().map(|_| Macro::default()).collect();
        let pin =
            design.nets.as_ref().map_or(Vec::new(), |nets| pins(nets, &macro_of, &mut macros));
        let (mut sites, mut site_of) = (Vec::<Row>::new(), Vec::new());
        for row in &design.rows {
            let alike = |site: &Row| {
                let of = |row: &Row| (row.height, row.site_width, row.symmetry);
                of(site) == of(row)
            };
            let site = sites.iter().position(alike).unwrap_or_else(|| {
                sites.push(*row);
                sites.len() - 1
            });
            site_of.push(site as u32);
        }
        Plan { design, kinds, macros, macro_of, pin, sites, site_of, finer: finer(design) }
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.finer != 1.0 {
            let message = format!("a layout unit is {} units of the DEF file", self.finer);
            warnings.push(Warning::new(WarningCode::Rounded, message));
        }
        let (at, nets) = (&self.design.placement, self.design.nets.as_ref());
        let between = |&i: &usize| !(self.is_whole(at.x[i]) && self.is_whole(at.y[i]));
        let weights = nets.iter().flat_map(|nets| &nets.weight);
        let names = nets.iter().flat_map(|nets| (0..nets.len()).map(|e| nets.name(e)));
        let counts = [
            (
                (0..at.x.len()).filter(between).count(),
                "nodes lie between whole units and are rounded to these",
            ),
            (
                weights.filter(|w| w.round() != **w).count(),
                "weights of nets are no whole numbers and are rounded",
            ),
            (
                names.filter(|name| name.is_empty()).count(),
                "nets have no names and are called by their numbers",
            ),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let warning = |(count, are)| Warning::new(WarningCode::Rounded, format!("{count} {are}"));
        warnings.extend(counts.map(warning));
        warnings
    }

    /// Returns the units of the DEF file in a micrometre.
    fn units(&self) -> f64 {
        self.design.units_per_micron.unwrap_or(UNITS) * self.finer
    }

    /// Returns a length in micrometres.
    fn microns(&self, length: f64) -> Microns {
        Microns { length, units: self.design.units_per_micron.unwrap_or(UNITS) }
    }

    fn is_whole(&self, at: f64) -> bool {
        (at * self.finer).round() == at * self.finer
    }

    /// Returns a coordinate in whole units of the DEF file.
    fn whole(&self, at: f64) -> i64 {
        (at * self.finer).round() as i64
    }

    fn library(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{MARK} {}", env!("CARGO_PKG_VERSION"))?;
        writeln!(out, "VERSION 5.8 ;\nBUSBITCHARS \"[]\" ;\nDIVIDERCHAR \"/\" ;")?;
        writeln!(out, "UNITS\n  DATABASE MICRONS {} ;\nEND UNITS\n", Shortest(self.units()))?;
        let pitch = self.sites.first().map_or(1.0, |site| site.site_width);
        let [pitch, width] = [pitch, pitch / 2.0].map(|length| self.microns(length));
        writeln!(out, "LAYER M1\n  TYPE ROUTING ;\n  DIRECTION HORIZONTAL ;")?;
        writeln!(out, "  PITCH {pitch} ;\n  WIDTH {width} ;\nEND M1\n")?;
        for (k, site) in self.sites.iter().enumerate() {
            let (width, height) = (self.microns(site.site_width), self.microns(site.height));
            writeln!(out, "SITE S{k}\n  CLASS CORE ;")?;
            let symmetry = site.symmetry.words();
            if !symmetry.is_empty() {
                writeln!(out, "  SYMMETRY {symmetry} ;")?;
            }
            writeln!(out, "  SIZE {width} BY {height} ;\nEND S{k}\n")?;
        }
        for (k, (&(class, width, height), of)) in self.kinds.iter().zip(&self.macros).enumerate() {
            let (width, height) = (f64::from_bits(width), f64::from_bits(height));
            let class_name = match class {
                Class::Core => "CORE",
                Class::Block => "BLOCK",
                Class::Cover => "COVER",
            };
            writeln!(out, "MACRO M{k}\n  CLASS {class_name} ;\n  ORIGIN 0 0 ;")?;
            writeln!(out, "  SIZE {} BY {} ;", self.microns(width), self.microns(height))?;
            writeln!(out, "  SYMMETRY X Y R90 ;")?;
            if let (Class::Core, [_]) = (class, &self.sites[..]) {
                writeln!(out, "  SITE S0 ;")?;
            }
            for (p, &(dx, dy)) in of.places.iter().enumerate() {
                let [x, y] = [width / 2.0 + dx, height / 2.0 + dy].map(|at| self.microns(at));
                writeln!(out, "  PIN P{p}\n    DIRECTION INOUT ;\n    USE SIGNAL ;\n    PORT")?;
                writeln!(
                    out,
                    "      LAYER M1 ;\n      RECT {x} {y} {x} {y} ;\n    END\n  END P{p}"
                )?;
            }
            writeln!(out, "END M{k}\n")?;
        }
        writeln!(out, "END LIBRARY")
    }

    fn placed(&self, out: &mut dyn Write) -> io::Result<()> {
        let (design, nodes, at) = (self.design, &self.design.nodes, &self.design.placement);
        writeln!(out, "{MARK} {}", env!("CARGO_PKG_VERSION"))?;
        writeln!(
            out,
            "VERSION 5.8 ;\nDIVIDERCHAR \"/\" ;\nBUSBITCHARS \"[]\" ;\nDESIGN {} ;",
            design.name
        )?;
        writeln!(out, "UNITS DISTANCE MICRONS {} ;", Shortest(self.units()))?;
        if let Some(die) = design.die() {
            let [xl, yl, xh, yh] = [die.xl, die.yl, die.xh, die.yh].map(|v| self.whole(v));
            writeln!(out, "DIEAREA ( {xl} {yl} ) ( {xh} {yh} ) ;")?;
        }
        for (k, (row, site)) in design.rows.iter().zip(&self.site_of).enumerate() {
            let (x, y, step) = (self.whole(row.x), self.whole(row.y), self.whole(row.pitch));
            let (orientation, sites) = (row.orientation.name(), row.sites);
            writeln!(
                out,
                "ROW R{k} S{site} {x} {y} {orientation} DO {sites} BY 1 STEP {step} 0 ;"
            )?;
        }
        writeln!(out, "COMPONENTS {} ;", nodes.len())?;
        blocks(out, nodes.len(), |i, text| {
            let status = if nodes.kind[i] == NodeKind::Movable { "PLACED" } else { "FIXED" };
            let (x, y) = (self.whole(at.x[i]), self.whole(at.y[i]));
            let (name, of, orientation) =
                (nodes.names.get(i), self.macro_of[i], at.orientation[i].name());
            writeln!(text, "- {name} M{of} + {status} ( {x} {y} ) {orientation} ;")
        })?;
        writeln!(out, "END COMPONENTS")?;
        if let Some(nets) = &design.nets {
            writeln!(out, "NETS {} ;", nets.len())?;
            blocks(out, nets.len(), |e, text| {
                match nets.name(e) {
                    "" => write!(text, "- unnamed_{e}")?,
                    name => write!(text, "- {name}")?,
                }
                for p in nets.pins_of(e) {
                    let node = nodes.names.get(nets.pin_node[p] as usize);
                    write!(text, " ( {node} P{} )", self.pin[p])?;
                }
                match nets.weight[e].round() {
                    1.0 => writeln!(text, " ;"),
                    weight => writeln!(text, " + WEIGHT {weight} ;"),
                }
            })?;
            writeln!(out, "END NETS")?;
        }
        writeln!(out, "END DESIGN")
    }
}

/// Returns the units of the file in a layout unit: the fewest that rows and fixed nodes are whole
/// numbers of.
fn finer(design: &Design) -> f64 {
    let (nodes, at) = (&design.nodes, &design.placement);
    let fixed = (0..nodes.len()).filter(|&i| nodes.kind[i] != NodeKind::Movable);
    let fixed = fixed.flat_map(|i| [at.x[i], at.y[i]]);
    let rows = design.rows.iter().flat_map(|row| [row.x, row.y, row.pitch]);
    let all: Vec<f64> = rows.chain(fixed).collect();
    let whole = |finer: &f64| all.iter().all(|v| (v * finer).round() == v * finer);
    FINER.into_iter().find(whole).unwrap_or(FINER[0])
}

/// Returns the pin of its macro that each pin is, which the macros get.
fn pins(nets: &Nets, macro_of: &[u32], macros: &mut [Macro]) -> Vec<u32> {
    // How many pins a node has had at a place.
    let mut had: HashMap<(u32, u64, u64), u32> = HashMap::new();
    let pin = |p: usize| {
        let (node, dx, dy) = (nets.pin_node[p], nets.pin_dx[p], nets.pin_dy[p]);
        let (x, y) = (dx.to_bits(), dy.to_bits());
        let before = had.entry((node, x, y)).or_default();
        let of = &mut macros[macro_of[node as usize] as usize];
        let next = of.places.len() as u32;
        let number = *of.pins.entry((x, y, *before)).or_insert(next);
        *before += 1;
        if number == next {
            of.places.push((dx, dy));
        }
        number
    };
    (0..nets.pins()).map(pin).collect()
}

/// A length in micrometres, given the layout units in one. Of lengths of up to three decimals the
/// quotient of two whole numbers is rounded once, so that no digit is added.
struct Microns {
    length: f64,
    units: f64,
}

impl std::fmt::Display for Microns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let thousandths = self.length * 1e3;
        let is_whole = thousandths.round() == thousandths && thousandths.abs() <= 1e15;
        let is_exact = self.units == UNITS && is_whole;
        let microns = if is_exact { thousandths / 1e6 } else { self.length / self.units };
        write!(f, "{microns}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_micrometres_to_the_last_digit() {
        for (length, want) in
            [(12.0, "0.012"), (-1.5, "-0.0015"), (459.001, "0.459001"), (0.0, "0")]
        {
            assert_eq!(Microns { length, units: 1000.0 }.to_string(), want);
        }
        assert_eq!(Microns { length: 12.0, units: 2000.0 }.to_string(), "0.006");
    }
}
