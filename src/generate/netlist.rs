//! Nets with the locality of a real netlist.
//!
//! Each net is a square window of the hidden placement with its members drawn inside. By Rent's
//! rule with exponent `p` the number of connections that reach beyond a region of `a` cells falls
//! like `a^(p − 1)` (Donath 1979), so the window's area in cells is drawn from that Pareto law.

use super::degrees;
use super::floorplan::Floorplan;
use super::hilbert::Hidden;
use super::names::numbered_names;
use super::random::{Stream, random_stream};
use super::spec::Spec;
use crate::design::{Nets, Nodes};
use crate::parallel::{self, cut, each_mut};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use std::collections::HashSet;

/// Nets that share a random stream.
const BLOCK: usize = 1 << 13;
/// Rent exponent of the connections.
const RENT: f64 = 0.6;
/// A window holds at least this many cells for each pin.
const CELLS_PER_PIN: f64 = 2.0;
/// Share of the drawn pins that are on macros, which have many more pins than a cell.
const ON_MACROS: f64 = 0.02;
/// Draws of one member before the next free node is taken instead.
const DRAWS: usize = 16;

/// Connects the nodes: degrees, members, and pins on each member's site lattice.
pub(super) fn connect(spec: &Spec, nodes: &Nodes, plan: &Floorplan, hidden: &Hidden) -> Nets {
    let net_start = net_starts(spec);
    let nets = net_start.len() - 1;
    let pins = spec.pins as usize;
    let mut pin_node = vec![0; pins];
    let mut pin_dx = vec![0.0; pins];
    let mut pin_dy = vec![0.0; pins];

    let places = Places::new(spec, plan, hidden);
    let ends = || {
        let blocks = (0..nets.div_ceil(BLOCK)).map(|b| nets.min((b + 1) * BLOCK));
        blocks.map(|end| net_start[end] as usize)
    };
    let mut node = cut(&mut pin_node, ends());
    let (mut dx, mut dy) = (cut(&mut pin_dx, ends()), cut(&mut pin_dy, ends()));
    let blocks = (each_mut(&mut node), each_mut(&mut dx), each_mut(&mut dy));
    parallel::for_each(blocks, |block, (node, dx, dy)| {
        let mut random = random_stream(spec.seed, Stream::Nets, block as u64);
        let mut members = Members::default();
        let mut pin = 0;
        for net in block * BLOCK..nets.min((block + 1) * BLOCK) {
            let degree = (net_start[net + 1] - net_start[net]) as usize;
            places.draw_net(net as u64, degree, &mut members, &mut random);
            for &member in &members.list {
                node[pin] = member;
                dx[pin] = pin_offset(nodes.width[member as usize], &mut random);
                dy[pin] = pin_offset(nodes.height[member as usize], &mut random);
                pin += 1;
            }
        }
    });
    Nets {
        names: numbered_names('n', nets),
        net_start,
        weight: vec![1.0; nets],
        pin_node,
        pin_dx,
        pin_dy,
    }
}

/// Returns the first pin of each net, degrees in random order.
fn net_starts(spec: &Spec) -> Vec<u32> {
    let mut degrees: Vec<u32> = Vec::with_capacity(spec.nets as usize);
    for (degree, nets) in degrees::histogram(spec.nets, spec.pins, spec.nodes()) {
        degrees.resize(degrees.len() + nets as usize, degree as u32);
    }
    degrees.shuffle(&mut random_stream(spec.seed, Stream::Degrees, 0));
    let mut starts = Vec::with_capacity(degrees.len() + 1);
    starts.push(0);
    let mut end = 0;
    starts.extend(degrees.into_iter().map(|degree| {
        end += degree;
        end
    }));
    starts
}

/// Returns a pin's offset from the centre along one axis: on a site edge, inside the node.
fn pin_offset(size: f64, random: &mut Pcg64) -> f64 {
    f64::from(random.random_range(0..=size as u32)) - size / 2.0
}

/// The nodes of one net so far, without repeats while there are others.
#[derive(Default)]
struct Members {
    list: Vec<u32>,
    seen: HashSet<u32>,
}

impl Members {
    /// Nets up to this degree are searched, longer ones keep a set.
    const SEARCHED: usize = 32;

    fn clear(&mut self) {
        self.list.clear();
        self.seen.clear();
    }

    fn contains(&self, node: u32) -> bool {
        if self.list.len() <= Self::SEARCHED {
            self.list.contains(&node)
        } else {
            self.seen.contains(&node)
        }
    }

    fn push(&mut self, node: u32) {
        self.list.push(node);
        match self.list.len() {
            n if n <= Self::SEARCHED => {}
            n if n == Self::SEARCHED + 1 => self.seen.extend(&self.list),
            _ => {
                self.seen.insert(node);
            }
        }
    }
}

/// Where every node is in the hidden placement.
struct Places<'a> {
    hidden: &'a Hidden,
    cells: u64,
    nodes: u64,
    nets: u64,
    /// Place on the curve of each fixed node, in node order.
    fixed: Vec<u64>,
    /// The macros and their places, in the curve's order.
    macros: Vec<(u64, u32)>,
}

impl<'a> Places<'a> {
    fn new(spec: &Spec, plan: &Floorplan, hidden: &'a Hidden) -> Self {
        let middle =
            |r: &crate::grid::Rect| hidden.curve_of_point((r.xl + r.xh) / 2.0, (r.yl + r.yh) / 2.0);
        let fixed: Vec<u64> = plan.fixed.iter().map(middle).collect();
        let mut macros: Vec<(u64, u32)> = fixed[..spec.macros as usize]
            .iter()
            .enumerate()
            .map(|(i, &place)| (place, (spec.cells + i as u64) as u32))
            .collect();
        macros.sort_unstable();
        Places { hidden, cells: spec.cells, nodes: spec.nodes(), nets: spec.nets, fixed, macros }
    }

    fn of_node(&self, node: u64) -> u64 {
        match node.checked_sub(self.cells) {
            None => self.hidden.curve_of_cell(node),
            Some(fixed) => self.fixed[fixed as usize],
        }
    }

    /// The members of one net, its driver first.
    fn draw_net(&self, net: u64, degree: usize, members: &mut Members, random: &mut Pcg64) {
        members.clear();
        // Nets share out the nodes among themselves, so that no node is left
        // without a net, and draw the rest of their members.
        let driver = net * self.nodes / self.nets;
        let until = ((net + 1) * self.nodes / self.nets).max(driver + 1);
        (driver..until).take(degree).for_each(|node| members.push(node as u32));

        let distinct = degree.min(self.nodes as usize);
        let centre = self.hidden.grid_point(self.of_node(driver));
        let mut reach = self.reach(distinct, random);
        while members.list.len() < distinct {
            let member = self.draw_member(centre, &mut reach, members, random);
            members.push(member);
        }
        for i in 0..degree - distinct {
            members.list.push(members.list[i % distinct]);
        }
    }

    /// Returns half the side of a net's window, in grid units.
    fn reach(&self, degree: usize, random: &mut Pcg64) -> f64 {
        let pareto = (1.0 - random.random::<f64>()).powf(-1.0 / (1.0 - RENT));
        let area = pareto.max(CELLS_PER_PIN * degree as f64).min(self.cells as f64);
        0.5 * (area / self.cells as f64).sqrt() * self.hidden.side()
    }

    /// Returns a node near `centre` that is not a member yet; widens the window when it seems used
    /// up.
    fn draw_member(
        &self,
        centre: (f64, f64),
        reach: &mut f64,
        members: &Members,
        random: &mut Pcg64,
    ) -> u32 {
        for _ in 0..DRAWS {
            let gx = centre.0 + *reach * random.random_range(-1.0..1.0);
            let gy = centre.1 + *reach * random.random_range(-1.0..1.0);
            let node = self.node_at(self.hidden.curve_at(self.mirror(gx), self.mirror(gy)), random);
            if !members.contains(node) {
                return node;
            }
            *reach = (*reach * 1.1).min(self.hidden.side());
        }
        let last = u64::from(*members.list.last().expect("the driver is a member"));
        (1..self.nodes)
            .map(|step| ((last + step) % self.nodes) as u32)
            .find(|&node| !members.contains(node))
            .expect("a net has no more distinct members than there are nodes")
    }

    /// Folds a coordinate that left the grid back in.
    fn mirror(&self, g: f64) -> f64 {
        let side = self.hidden.side();
        if g > side { 2.0 * side - g } else { g.abs() }
    }

    /// Returns the cell at a place on the curve, or now and then the macro next along it.
    fn node_at(&self, place: u64, random: &mut Pcg64) -> u32 {
        if !self.macros.is_empty() && random.random_bool(ON_MACROS) {
            let next = self.macros.partition_point(|&(of_macro, _)| of_macro < place);
            return self.macros[next.min(self.macros.len() - 1)].1;
        }
        self.hidden.cell_at(place) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::*;

    #[test]
    fn nets_are_as_long_as_in_a_good_placement() {
        let spec = Spec::preset("adaptec1").unwrap();
        let mut design = generate(&spec).unwrap();
        let hidden = Hidden::new(design.die().unwrap(), spec.cells);
        for cell in 0..spec.cells as usize {
            let (x, y) = hidden.cell_point(cell as u64);
            design.placement.x[cell] = x - design.nodes.width[cell] / 2.0;
            design.placement.y[cell] = y - design.nodes.height[cell] / 2.0;
        }
        // DREAMPlace's placement of the original has a length of 7.28e7.
        let length = design.hpwl().unwrap().unweighted;
        assert!((5e7..10e7).contains(&length), "{length}");
    }
}
