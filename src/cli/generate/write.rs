//! Writes a design as Bookshelf files, in the style of the ISPD 2005 contest.
//!
//! Numbers are written in the shortest form that reads back to the same `f64`.
//! A [`Design`] holds no pin directions: a net's first pin is written as its
//! output (`O`), the others as inputs (`I`), pins on fixed nodes as `B`.

use crate::bookshelf::write::{Shortest, blocks, header, write_places};
use crate::design::{Design, Nets, NodeKind, Orientation, Row, Symmetry};
use crate::output::{Aside, appear, write_aside};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a design cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A folder or file cannot be made or written.
    #[error("{}: cannot write: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The format has no way to write this name.
    #[error(
        "{what} name {name:?}: expected no blanks or control characters, no '#' at the start and, for a design, no '/' or '\\'"
    )]
    Name {
        /// What is called so.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A number the format has no way to write.
    #[error("{what} {index}: expected finite numbers, found {value}")]
    NotFinite {
        /// What has the number.
        what: &'static str,
        /// Its index in the design.
        index: usize,
        /// The number.
        value: f64,
    },
    /// A weight that is not 1 on a net that has no name for `.wts` to call it by.
    #[error("net {net} has weight {weight} but no name")]
    UnnamedWeight {
        /// Index of the net.
        net: usize,
        /// Its weight.
        weight: f64,
    },
}

/// Writes `<name>.nodes`, `.nets`, `.wts`, `.pl`, `.scl` and `.aux` into `dir`
/// and gives their paths in that order. Without nets there is no `.nets` or `.wts`.
///
/// Makes `dir` when it is not there. The files appear once all are written; the `.aux`, which names
/// the others, comes last.
///
/// # Errors
/// When something cannot be written, or a name or number does not fit the format.
pub fn write_bookshelf(design: &Design, dir: &Path) -> Result<Vec<PathBuf>, WriteError> {
    check(design)?;
    std::fs::create_dir_all(dir).map_err(|source| WriteError::Io { path: dir.into(), source })?;
    let mut files = Files { dir, name: &design.name, names: Vec::new(), written: Vec::new() };
    files.write("nodes", |out| nodes(design, out))?;
    if let Some(nets) = &design.nets {
        files.write("nets", |out| self::nets(design, nets, out))?;
        files.write("wts", |out| weights(nets, out))?;
    }
    files.write("pl", |out| write_places(out, design))?;
    files.write("scl", |out| rows(&design.rows, out))?;
    let listed = files.names.join("  ");
    files.write("aux", |out| writeln!(out, "RowBasedPlacement :  {listed}"))?;
    appear(files.written).map_err(|(path, source)| WriteError::Io { path, source })?;
    Ok(files.names.iter().map(|name| dir.join(name)).collect())
}

/// The files of one design.
struct Files<'a> {
    dir: &'a Path,
    name: &'a str,
    names: Vec<String>,
    written: Vec<Aside>,
}

impl Files<'_> {
    fn write(
        &mut self,
        extension: &str,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let name = format!("{}.{extension}", self.name);
        let path = self.dir.join(&name);
        let written = write_aside(&path, text);
        self.written.push(written.map_err(|source| WriteError::Io { path, source })?);
        self.names.push(name);
        Ok(())
    }
}

/// Everything the format cannot say, found before anything is written.
fn check(design: &Design) -> Result<(), WriteError> {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    let fits = |name: &str| !name.starts_with('#') && !name.contains(odd);
    let bad = |what, name: &str| Err(WriteError::Name { what, name: name.to_owned() });
    if design.name.is_empty() || !fits(&design.name) || design.name.contains(['/', '\\']) {
        return bad("design", &design.name);
    }
    if let Some(name) = design.nodes.names.iter().find(|n| n.is_empty() || !fits(n)) {
        return bad("node", name);
    }
    let (nodes, at) = (&design.nodes, &design.placement);
    check_finite("node", [&nodes.width, &nodes.height, &at.x, &at.y])?;
    for (index, row) in design.rows.iter().enumerate() {
        let numbers = [row.x, row.y, row.height, row.site_width, row.pitch];
        if let Some(&value) = numbers.iter().find(|v| !v.is_finite()) {
            return Err(WriteError::NotFinite { what: "row", index, value });
        }
    }
    let Some(nets) = &design.nets else { return Ok(()) };
    check_finite("pin", [&nets.pin_dx, &nets.pin_dy])?;
    check_finite("net", [&nets.weight])?;
    if let Some(name) = nets.names.iter().find(|n| !fits(n)) {
        return bad("net", name);
    }
    match (0..nets.len()).find(|&e| nets.weight[e] != 1.0 && nets.names.get(e).is_empty()) {
        Some(net) => Err(WriteError::UnnamedWeight { net, weight: nets.weight[net] }),
        None => Ok(()),
    }
}

fn check_finite<const N: usize>(
    what: &'static str,
    columns: [&Vec<f64>; N],
) -> Result<(), WriteError> {
    for column in columns {
        if let Some(index) = column.iter().position(|v| !v.is_finite()) {
            return Err(WriteError::NotFinite { what, index, value: column[index] });
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
            NodeKind::FixedNoImage => "\tterminal_NI",
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
        match nets.names.get(e) {
            "" => writeln!(text)?,
            name => writeln!(text, "\t{name}")?,
        }
        for p in pins.clone() {
            let node = nets.pin_node[p] as usize;
            let direction = match design.nodes.kind[node] {
                NodeKind::Movable if p == pins.start => 'O',
                NodeKind::Movable => 'I',
                NodeKind::Fixed | NodeKind::FixedNoImage => 'B',
            };
            let (dx, dy) = (Shortest(nets.pin_dx[p]), Shortest(nets.pin_dy[p]));
            writeln!(text, "\t{}\t{direction} : {dx}\t{dy}", design.nodes.names.get(node))?;
        }
        Ok(())
    })
}

/// Only the weights that are not 1: a net that is not listed weighs 1.
fn weights(nets: &Nets, out: &mut dyn Write) -> io::Result<()> {
    header(out, "wts")?;
    for (e, &weight) in nets.weight.iter().enumerate().filter(|(_, w)| **w != 1.0) {
        writeln!(out, "\t{}\t{}", nets.names.get(e), Shortest(weight))?;
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

/// As the ISPD suites write it: a number for `N`.
fn site_orientation(orientation: Orientation) -> &'static str {
    if orientation == Orientation::N { "1" } else { orientation.name() }
}

fn site_symmetry(symmetry: Symmetry) -> String {
    if symmetry == Symmetry::default() {
        return "1".to_owned();
    }
    let Symmetry { x, y, r90 } = symmetry;
    let named = [(x, "X"), (y, "Y"), (r90, "R90")].into_iter().filter(|(is, _)| *is);
    let words: Vec<&str> = named.map(|(_, word)| word).collect();
    if words.is_empty() { "0".to_owned() } else { words.join(" ") }
}
