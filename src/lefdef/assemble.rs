//! Makes a [`Design`] from the contents of DEF and LEF files.

use super::edges::EdgeTypes;
use super::lef::{Class, Library, PER_MICRON, Supply, bounds};
use super::polygon::rectangles;
use super::read::Gathered;
use super::rows::{clipped, rows};
use super::statements::{RegionKind, SPECIAL_NETS, Status};
use super::{DEFAULT_UNITS, DefSummary, LefSummary, Loaded};
use crate::design::{
    Design, Fence, Halo, Master, MasterClass, Names, Nets, NodeKind, Nodes, Placement, Row,
    StandsOn, Symmetry,
};
use crate::grid::Rect;
use crate::text::file::Source;
use crate::text::index::NameIndex;
use crate::text::notes::Notes;
use crate::warning::WarningCode::{
    Assumed, FillersLeftOut, FloorplanSimplified, NetsLeftOut, NoArea, NoNets, NotPlaced, NotRead,
    RowsLeftOut,
};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

impl Class {
    /// A placer may move components of this class that are not placed yet.
    pub(super) fn moves(self, keep_fillers: bool) -> bool {
        match self {
            Class::Core | Class::Physical | Class::Block => true,
            Class::Filler => keep_fillers,
            Class::PadOrRing | Class::Cover => false,
        }
    }

    /// Returns the kind of a component of this class.
    fn kind(self, status: Status, keep_fillers: bool) -> NodeKind {
        match (self, status) {
            (Class::Filler, Status::Unplaced | Status::Placed) if !keep_fillers => {
                NodeKind::FixedOverlappable
            }
            (Class::Cover, _) | (Class::PadOrRing, Status::Unplaced) => NodeKind::FixedOverlappable,
            (_, Status::Fixed) => NodeKind::Fixed,
            (Class::Physical | Class::PadOrRing, Status::Placed) => NodeKind::Fixed,
            _ => NodeKind::Movable,
        }
    }
}

/// Most rows that columns of sites are made into, besides one for each sixteen bytes of the file.
const MOST_ROWS: u64 = 1 << 14;

/// Makes the design of a DEF file, given by its path and its size in bytes; the columns fit.
/// Fillers are movable with `keep_fillers`, and else left out.
pub(super) fn assemble(
    (path, bytes): (&Path, u64),
    library: &Library,
    Gathered { plan, components: all }: Gathered,
    names: Names,
    cell: Vec<u32>,
    nets: Option<Nets>,
    keep_fillers: bool,
) -> Loaded {
    let mut notes = Notes::default();
    let units = plan.units.unwrap_or(DEFAULT_UNITS);
    let scale = |length: f64| length * units / PER_MICRON;
    let counts = &plan.counts;
    let statements = plan.rows.len() as u64;
    let (rows, cut) = rows(library, &plan.rows, MOST_ROWS + bytes / 16, scale);
    notes.count(RowsLeftOut, cut, "rows of sites one above the other are too many and left out");

    let points = plan.die.as_deref().unwrap_or_default();
    let outline = bounds(points).filter(|outline| outline.area() > 0.0);
    let die_area = outline.map_or(Vec::new(), |outline| {
        rectangles(points).unwrap_or_else(|| {
            let simplified = "die area is not of straight angles; its bounding box is taken";
            notes.count(FloorplanSimplified, 1, simplified);
            vec![outline]
        })
    });
    let (rows, cut) = if die_area.is_empty() { (rows, 0) } else { clipped(rows, &die_area) };
    notes.count(RowsLeftOut, cut, "rows reach beyond the die area and are cut to it");

    let mut fences = Vec::new();
    let fence_of = fences_of(&plan.regions, &mut fences);
    let others = plan.regions.len() - fences.len();
    let guides = "regions are of type GUIDE, which is ignored";
    notes.count(FloorplanSimplified, others as u64, guides);
    let is_defined = |name: &str| plan.regions.iter().any(|region| region.name == name);
    let named = all.regions.iter().map(|(_, name)| name);
    let named = named.chain(plan.groups.iter().map(|group| &group.region));
    let undefined: BTreeSet<&String> = named.filter(|name| !is_defined(name)).collect();
    if !undefined.is_empty() {
        const SHOWN: usize = 5;
        let shown: Vec<_> = undefined.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
        let more = undefined.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = shown.join(", ");
        let message = format!(
            "regions that groups or components name are not defined, so they bind nothing: \
             {shown}{more}"
        );
        notes.say(FloorplanSimplified, message);
    }
    let fence = match fences.is_empty() {
        true => Vec::new(),
        false => {
            let index = NameIndex::new(&names);
            let mut fence: Vec<Option<u32>> = vec![None; names.len()];
            let mut twice = 0;
            let mut join = |node: u32, region: &str| {
                let Some(&of) = fence_of.get(region) else { return };
                let held = &mut fence[node as usize];
                twice += u64::from(held.is_some_and(|held| held != of));
                held.get_or_insert(of);
            };
            for (node, region) in &all.regions {
                join(*node, region);
            }
            let mut absent = 0;
            for group in &plan.groups {
                for member in &group.members {
                    let met = members(&names, &index, member, |node| join(node, &group.region));
                    absent += u64::from(!met);
                }
            }
            notes.count(
                FloorplanSimplified,
                twice,
                "components are in two fences; the first is taken",
            );
            notes.count(FloorplanSimplified, absent, "members of groups are no components");
            fence
        }
    };

    let middle = outline.or(rows.iter().map(Row::rect).reduce(|a, b| a.union(&b)));
    let middle = middle.map_or((0.0, 0.0), |r| ((r.xl + r.xh) / 2.0, (r.yl + r.yh) / 2.0));
    let components = cell.len();
    let (mut unplaced, mut with_position, mut stay, mut fillers) = (Vec::new(), 0, 0, 0);
    let mut placement = Placement {
        x: all.x.into_vec(),
        y: all.y.into_vec(),
        orientation: all.place.iter().map(|place| place.orientation).collect(),
    };
    let mut nodes = Nodes { names, fence, ..Nodes::default() };
    let of = |i: usize| &library.macros[cell[i] as usize];
    nodes.width = (0..components).map(|i| scale(of(i).width)).collect();
    nodes.height = (0..components).map(|i| scale(of(i).height)).collect();
    for i in 0..components {
        let (class, status) = (of(i).class, all.place[i].status);
        let kind = class.kind(status, keep_fillers);
        nodes.kind.push(kind);
        let left_out = class == Class::Filler && kind == NodeKind::FixedOverlappable;
        fillers += u64::from(left_out);
        if status == Status::Unplaced {
            if !left_out {
                unplaced.push(i as u32);
                with_position += u64::from(all.place[i].unused_position);
                stay += u64::from(!class.moves(keep_fillers));
            }
            placement.x[i] = middle.0 - nodes.width[i] / 2.0;
            placement.y[i] = middle.1 - nodes.height[i] / 2.0;
        }
    }
    notes.count(
        NotPlaced,
        unplaced.len() as u64,
        "components are not placed and lie in the middle of the die",
    );
    let ignored = "of them are UNPLACED with a position, which is ignored";
    notes.count(NotPlaced, with_position, ignored);
    let left_out = "filler cells (CLASS CORE SPACER) are left out: they take no area, \
                    and a placement is written with them UNPLACED";
    notes.count(FillersLeftOut, fillers, left_out);
    notes.count(
        NetsLeftOut,
        stay,
        "of them are pads, rings or covers, which stay; they are left out of their nets",
    );
    let flat = (0..components)
        .filter(|&i| nodes.kind[i] == NodeKind::Movable && nodes.width[i] * nodes.height[i] == 0.0);
    notes.count(NoArea, flat.count() as u64, "movable components have no area");
    nodes.master = cell.iter().map(|&cell| Some(cell)).collect();

    // Pins of the design behind the components.
    let ports = plan.ports.names.iter().zip(&plan.ports.at);
    let ports: Vec<_> = ports.filter_map(|(name, at)| Some((name, (*at)?))).collect();
    let unplaced_ports = plan.ports.at.len() - ports.len();
    notes.count(
        NetsLeftOut,
        unplaced_ports as u64,
        "pins of the design are not placed and left out of their nets",
    );
    for (name, (x, y)) in ports {
        nodes.names.push(name);
        nodes.width.push(0.0);
        nodes.height.push(0.0);
        nodes.kind.push(NodeKind::FixedOverlappable);
        nodes.master.push(None);
        if !nodes.fence.is_empty() {
            nodes.fence.push(None);
        }
        placement.x.push(x);
        placement.y.push(y);
        placement.orientation.push(Default::default());
    }

    notes.count(NetsLeftOut, counts.unplaced_pins, "pins in nets lie nowhere and are left out");
    notes.count(NetsLeftOut, counts.supply_pins, "supply pins in signal nets are left out");
    notes.count(NetsLeftOut, counts.supply_nets, "supply nets are left out");
    notes.count(NetsLeftOut, counts.must_join, "must-join nets are left out");
    let case = "NAMESCASESENSITIVE OFF: names are told apart by their case all the same";
    let cut_off = "no END DESIGN: the file may have been cut off";
    let says = [
        (nets.is_none(), NoNets, "no NETS: the design has no nets and no wirelength"),
        (counts.case_off, Assumed, case),
        (!counts.ended, NotRead, cut_off),
        (plan.units.is_none(), Assumed, "no UNITS: 100 units are taken for a micrometre"),
    ];
    for (holds, code, message) in says {
        if holds {
            notes.say(code, message);
        }
    }
    let skipped = counts.skipped(" + ");
    let special_nets = skipped.get(SPECIAL_NETS).copied().unwrap_or(0);
    let def = DefSummary {
        version: plan.version,
        units,
        components: components as u64,
        pins: plan.ports.at.len() as u64,
        nets: counts.nets,
        connections: counts.connections,
        special_nets,
        rows: statements,
        unplaced: all.place.iter().filter(|p| p.status == Status::Unplaced).count() as u64,
        regions: plan.regions.len() as u64,
        blockages: counts.blockages,
        skipped,
    };
    let row_blockage = !rows.is_empty();
    let mut design = Design {
        name: plan.design.unwrap_or_else(|| "design".to_owned()),
        nodes,
        placement,
        nets,
        rows,
        row_blockage,
        die_area,
        fences,
        blockages: plan.blockages,
        halos: halos(&all.halos),
        units_per_micron: Some(units),
        ..Design::default()
    };
    let edges = EdgeTypes::new(library, units);
    design.masters = masters(library, &design, &edges, units);
    design.edge_spacing = edges.spacing;
    let lef = Some(LefSummary { skipped: library.counts.skipped(" ") });
    let (def, gcell_grid) = (Some(def), plan.gcells);
    unplaced.retain(|&i| design.nodes.kind[i as usize] == NodeKind::Movable);
    let warnings = notes.warnings(path, Source::Held(&[]));
    Loaded { design, warnings, unplaced, def, lef, gcell_grid, ..Loaded::default() }
}

/// Returns the fences among these regions, by name.
fn fences_of<'a>(
    regions: &'a [super::statements::Region],
    fences: &mut Vec<Fence>,
) -> HashMap<&'a str, u32> {
    let mut of = HashMap::new();
    for region in regions.iter().filter(|region| region.kind != RegionKind::Guide) {
        of.insert(region.name.as_str(), fences.len() as u32);
        fences.push(Fence {
            name: region.name.clone(),
            rects: region.rects.clone(),
            admits_others: region.kind == RegionKind::Open,
        });
    }
    of
}

/// Passes to `take` the components that match `pattern`, in which `*` matches any characters.
/// Returns whether there is one.
fn members(names: &Names, index: &NameIndex, pattern: &str, mut take: impl FnMut(u32)) -> bool {
    if let Some(node) = index.find(pattern.as_bytes()) {
        take(node);
        return true;
    }
    let mut pieces = pattern.split('*');
    let (Some(first), Some(last)) = (pieces.next(), pieces.next_back()) else { return false };
    let between: Vec<&str> = pieces.collect();
    let matches = |name: &str| {
        let Some(rest) = name.strip_prefix(first) else { return false };
        let Some(mut rest) = rest.strip_suffix(last) else { return false };
        between.iter().all(|piece| match rest.find(piece) {
            Some(at) => {
                rest = &rest[at + piece.len()..];
                true
            }
            None => false,
        })
    };
    let met = (0..names.len()).filter(|&node| matches(names.get(node)));
    met.map(|node| take(node as u32)).count() > 0
}

/// Returns one halo a component, and one that is soft: of several alike the widest on each side.
fn halos(all: &[Halo]) -> Vec<Halo> {
    let mut halos: Vec<Halo> = Vec::new();
    for halo in all {
        let of_node = halos.iter_mut().rev().take_while(|last| last.node == halo.node);
        match of_node.into_iter().find(|last| last.soft == halo.soft) {
            Some(held) => {
                held.left = held.left.max(halo.left);
                held.bottom = held.bottom.max(halo.bottom);
                held.right = held.right.max(halo.right);
                held.top = held.top.max(halo.top);
            }
            None => halos.push(*halo),
        }
    }
    halos
}

/// Returns how the cells of the library may be placed on the design's rows.
fn masters(library: &Library, design: &Design, edges: &EdgeTypes<'_>, units: f64) -> Vec<Master> {
    let scale = |length: f64| length * units / PER_MICRON;
    let row = design.row_height();
    let of_rows = |height: f64| row.map(|row| height / row).filter(|n| n.fract() == 0.0);
    let supplies: Vec<_> = library.macros.iter().map(|cell| library.supplies(cell)).collect();
    let is_even = |height: f64| {
        let high = design.rows.iter().any(|row| row.height == height);
        of_rows(height).is_some_and(|n| n > 0.0 && n % 2.0 == 0.0) && !high
    };
    // The supply that most cells of one row have at their bottom: of two edges with a supply each.
    let single = library.macros.iter().zip(&supplies);
    let single = single.filter(|(cell, _)| of_rows(scale(cell.height)) == Some(1.0));
    let bottom = |[bottom, top]: [Option<Supply>; 2]| bottom.or(top.map(Supply::other));
    let (power, ground) = single.fold((0, 0), |(power, ground), (_, at)| match bottom(*at) {
        Some(Supply::Power) => (power + 1, ground),
        Some(Supply::Ground) => (power, ground + 1),
        None => (power, ground),
    });
    let usual = match power.cmp(&ground) {
        std::cmp::Ordering::Greater => Some(Supply::Power),
        std::cmp::Ordering::Less => Some(Supply::Ground),
        std::cmp::Ordering::Equal => None,
    };
    let sites: HashMap<&str, u32> =
        library.sites.iter().zip(0..).map(|(site, i)| (site.name.as_str(), i)).collect();
    let master = |(i, cell): (usize, &super::lef::Macro)| {
        let even = is_even(scale(cell.height));
        // Of an even number of rows both edges have the same supply.
        let [bottom, top] = supplies[i];
        let stands_on = match (bottom.or(top), usual) {
            (Some(supply), Some(usual)) if even && supply == usual => StandsOn::Upright,
            (Some(_), Some(_)) if even => StandsOn::UpsideDown,
            _ => StandsOn::Any,
        };
        let class = match cell.class {
            Class::Core | Class::Physical => MasterClass::Core,
            Class::Filler => MasterClass::Filler,
            Class::Block | Class::PadOrRing | Class::Cover => MasterClass::Other,
        };
        let scaled =
            |r: Rect| Rect { xl: scale(r.xl), yl: scale(r.yl), xh: scale(r.xh), yh: scale(r.yh) };
        let any = Symmetry { x: true, y: true, r90: false };
        Master {
            name: library.names.get(i).to_owned(),
            symmetry: cell.symmetry.unwrap_or(any),
            site: cell.site.as_deref().and_then(|site| sites.get(site)).copied(),
            stands_on,
            class,
            edge: edges.of(&cell.edges, class),
            outline: library.outline(cell).into_iter().map(scaled).collect(),
        }
    };
    library.macros.iter().enumerate().map(master).collect()
}
