//! Writes a whole design as Bookshelf files.
//!
//! Numbers are written in the shortest form that reads back to the same `f64`.
//! A [`Design`] has no pin directions: a net's first pin is written as its
//! output (`O`), the others as inputs (`I`), pins on fixed nodes as `B`.

use super::write::{self, Shortest, blocks, header, is_word, write_places};
use crate::design::{Design, Nets, NodeKind, Orientation, Row, Symmetry};
use crate::output::{PendingFile, commit, write_pending};
use crate::text::error::{ErrorKind, FileError, quoted, unwritable};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes the files of a design beside the `.aux` file, which names them, with its name: `.nodes`,
/// `.nets`, `.wts`, `.pl`, `.scl` and `.aux`. Returns their paths in that order. Without nets there
/// is no `.nets` or `.wts`.
///
/// The files commit once all are written; the `.aux` comes last. Properties the format cannot
/// express are left out: library cells, fences, blockages, halos, the die area and the kinds of
/// sites.
///
/// # Errors
/// When something cannot be written, the design's columns do not fit together ([`Design::check`]),
/// or a name or number does not fit the format.
pub fn write_design(aux: &Path, design: &Design) -> Result<Vec<PathBuf>, FileError> {
    let refused = |kind| FileError::whole(aux, kind);
    let stem = aux.file_stem().and_then(|stem| stem.to_str()).filter(|stem| is_word(stem));
    let stem = stem.ok_or_else(|| {
        let found = aux.file_name().unwrap_or_default().to_string_lossy().into_owned();
        refused(ErrorKind::Unwritable { expected: "a file name of one word", found })
    })?;
    check(design).map_err(refused)?;
    let mut files = Files { aux, stem, names: Vec::new(), written: Vec::new() };
    files.write("nodes", |out| nodes(design, out))?;
    if let Some(nets) = &design.nets {
        files.write("nets", |out| self::nets(design, nets, out))?;
        files.write("wts", |out| weights(nets, out))?;
    }
    files.write("pl", |out| write_places(out, design))?;
    files.write("scl", |out| rows(&design.rows, out))?;
    let listed = files.names.join("  ");
    files.write("aux", |out| writeln!(out, "RowBasedPlacement :  {listed}"))?;
    commit(files.written).map_err(|(path, source)| FileError::io(&path, source))?;
    Ok(files.names.iter().map(|name| aux.with_file_name(name)).collect())
}

/// Returns the paths that [`write_design`] writes to, as many as there are at most.
#[cfg(feature = "cli")]
pub(crate) fn design_paths(aux: &Path) -> Vec<PathBuf> {
    let others = ["nodes", "nets", "wts", "pl", "scl"].map(|ending| aux.with_extension(ending));
    others.into_iter().chain([aux.to_owned()]).collect()
}

/// The files of one design.
struct Files<'a> {
    aux: &'a Path,
    stem: &'a str,
    names: Vec<String>,
    written: Vec<PendingFile>,
}

impl Files<'_> {
    fn write(
        &mut self,
        extension: &str,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let name = format!("{}.{extension}", self.stem);
        let path = match extension {
            "aux" => self.aux.to_owned(), // whatever the case of its ending
            _ => self.aux.with_file_name(&name),
        };
        let written = write_pending(&path, text);
        self.written.push(written.map_err(|source| FileError::io(&path, source))?);
        self.names.push(name);
        Ok(())
    }
}

/// Checks for everything the format cannot express, before anything is written.
pub(crate) fn check(design: &Design) -> Result<(), ErrorKind> {
    write::check(design)?;
    let nodes = &design.nodes;
    check_finite("node", &[&nodes.width, &nodes.height])?;
    // A line of pins that begins so would be read as the next net.
    if let Some(name) = nodes.names.iter().find(|name| name.eq_ignore_ascii_case("NetDegree")) {
        return unwritable("node names other than NetDegree", quoted(name));
    }
    for (index, row) in design.rows.iter().enumerate() {
        let numbers = [row.x, row.y, row.height, row.site_width, row.pitch];
        let found = |value: &f64| format!("{value} of row {index}");
        if let Some(value) = numbers.iter().find(|v| !v.is_finite()) {
            return unwritable("finite numbers", found(value));
        }
        if let Some(value) = numbers[2..].iter().find(|v| **v <= 0.0) {
            let expected = "rows of a height, a site width and a spacing above 0";
            return unwritable(expected, found(value));
        }
    }
    if design.rows.iter().all(|row| row.sites == 0) {
        let found = format!("{} rows without sites", design.rows.len());
        return unwritable("a row with sites", found);
    }
    let Some(nets) = &design.nets else { return Ok(()) };
    check_finite("pin", &[&nets.pin_dx, &nets.pin_dy])?;
    check_finite("net", &[&nets.weight])?;
    if let Some(name) = nets.names.iter().find(|name| !name.is_empty() && !is_word(name)) {
        return unwritable("a net's name of one word", quoted(name));
    }
    match (0..nets.len()).find(|&e| nets.weight[e] != 1.0 && nets.name(e).is_empty()) {
        Some(net) => {
            let found = format!("none for net {net}, of weight {}", nets.weight[net]);
            unwritable("a name for a net with a weight", found)
        }
        None => Ok(()),
    }
}

fn check_finite(what: &str, columns: &[&[f64]]) -> Result<(), ErrorKind> {
    for column in columns {
        if let Some(index) = column.iter().position(|v| !v.is_finite()) {
            return unwritable("finite numbers", format!("{} of {what} {index}", column[index]));
        }
    }
    Ok(())
}

fn nodes(design: &Design, out: &mut dyn Write) -> io::Result<()> {
    let nodes = &design.nodes;
    let fixed = nodes.kind.iter().filter(|&&k| k != NodeKind::Movable).count();
    header(out, "nodes")?;
    writeln!(out, "NumNodes : \t\t{}\nNumTerminals : \t\t{fixed}", nodes.len())?;
    blocks(out, nodes.len(), |i, text| {
        let (width, height) = (Shortest(nodes.width[i]), Shortest(nodes.height[i]));
        let terminal = match nodes.kind[i] {
            NodeKind::Movable => "",
            NodeKind::Fixed => "\tterminal",
            NodeKind::FixedOverlappable => "\tterminal_NI",
        };
        writeln!(text, "\t{}\t{width}\t{height}{terminal}", nodes.names.get(i))
    })
}

fn nets(design: &Design, nets: &Nets, out: &mut dyn Write) -> io::Result<()> {
    header(out, "nets")?;
    writeln!(out, "NumNets : {}\nNumPins : {}\n", nets.len(), nets.pins())?;
    blocks(out, nets.len(), |e, text| {
        let pins = nets.pins_of(e);
        write!(text, "NetDegree : {}", pins.len())?;
        match nets.name(e) {
            "" => writeln!(text)?,
            name => writeln!(text, "\t{name}")?,
        }
        for p in pins.clone() {
            let node = nets.pin_node[p] as usize;
            let direction = match design.nodes.kind[node] {
                NodeKind::Movable if p == pins.start => 'O',
                NodeKind::Movable => 'I',
                NodeKind::Fixed | NodeKind::FixedOverlappable => 'B',
            };
            let (dx, dy) = (Shortest(nets.pin_dx[p]), Shortest(nets.pin_dy[p]));
            writeln!(text, "\t{}\t{direction} : {dx}\t{dy}", design.nodes.names.get(node))?;
        }
        Ok(())
    })
}

/// Only the weights that are not 1: a net that is not listed has weight 1.
fn weights(nets: &Nets, out: &mut dyn Write) -> io::Result<()> {
    header(out, "wts")?;
    for (e, &weight) in nets.weight.iter().enumerate().filter(|(_, w)| **w != 1.0) {
        writeln!(out, "\t{}\t{}", nets.name(e), Shortest(weight))?;
    }
    Ok(())
}

fn rows(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    header(out, "scl")?;
    writeln!(out, "NumRows : {}\n", rows.len())?;
    for row in rows {
        writeln!(out, "CoreRow Horizontal")?;
        writeln!(out, "  Coordinate    :   {}", Shortest(row.y))?;
        writeln!(out, "  Height        :   {}", Shortest(row.height))?;
        writeln!(out, "  Sitewidth     :    {}", Shortest(row.site_width))?;
        writeln!(out, "  Sitespacing   :    {}", Shortest(row.pitch))?;
        writeln!(out, "  Siteorient    :    {}", site_orientation(row.orientation))?;
        writeln!(out, "  Sitesymmetry  :    {}", site_symmetry(row.symmetry))?;
        writeln!(out, "  SubrowOrigin  :    {}\tNumSites  :  {}\nEnd", Shortest(row.x), row.sites)?;
    }
    Ok(())
}

/// Returns it as the ISPD suites write it: a number for `N`.
fn site_orientation(orientation: Orientation) -> &'static str {
    if orientation == Orientation::N { "1" } else { orientation.name() }
}

fn site_symmetry(symmetry: Symmetry) -> String {
    if symmetry == Symmetry::default() {
        return "1".to_owned();
    }
    match symmetry.words() {
        words if words.is_empty() => "0".to_owned(),
        words => words,
    }
}
