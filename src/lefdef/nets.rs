//! `NETS`: which pins of which components are connected.
//!
//! Pins are collected net by net, and many are looked up at once, because look-ups wait for memory
//! and several can wait in parallel.

use super::counts::Counts;
use super::lef::{Library, PER_MICRON};
use crate::design::Nets;
use crate::text::error::Miss;
use crate::text::index::{Key, NameIndex};
use crate::text::scan::{Read, Scanner};

/// Connections that are looked up together, at least.
const TOGETHER: usize = 192;

/// The macro of a component that is not placed, so that its pins have no position.
pub(super) const UNPLACED: u32 = u32::MAX;

/// Things that nets refer to.
pub(super) struct Netlist<'k> {
    pub(super) components: NameIndex<'k>,
    /// The macro of each component, [`UNPLACED`] for one that stays and is not placed.
    pub(super) cell: &'k [u32],
    pub(super) ports: NameIndex<'k>,
    /// The node of each port; `None` for one that is not placed.
    pub(super) port_node: &'k [Option<u32>],
    pub(super) pins: &'k CellPins<'k>,
    /// Connections that `*` may make at most, in one part of the file.
    pub(super) most_by_star: usize,
}

/// Pins of macros by name, with their places in layout units.
pub(super) struct CellPins<'k> {
    library: &'k Library,
    /// By macro and name.
    index: NameIndex<'k>,
    /// From the macro's centre.
    offsets: Vec<(f64, f64)>,
}

impl<'k> CellPins<'k> {
    /// Returns the pins of `library` in these units a micrometre.
    pub(super) fn new(library: &'k Library, units: f64) -> Self {
        let scale = |length: f64| length * units / PER_MICRON;
        let count = library.pins.len();
        let (mut owners, mut offsets) = (vec![UNPLACED; count], vec![(0.0, 0.0); count]);
        for (owner, cell) in (0..).zip(&library.macros) {
            let centre = (cell.width / 2.0, cell.height / 2.0);
            for pin in cell.pins.start as usize..cell.pins.end as usize {
                // A pin without shapes is taken to lie in the middle.
                let (x, y) = library.pins[pin].at.unwrap_or(centre);
                owners[pin] = owner;
                offsets[pin] = (scale(x - centre.0), scale(y - centre.1));
            }
        }
        CellPins { library, index: NameIndex::scoped(&library.pin_names, owners), offsets }
    }

    fn is_supply(&self, pin: u32) -> bool {
        self.library.pins[pin as usize].supply.is_some()
    }
}

/// Adds a pin to the last net.
#[inline(always)]
fn push(nets: &mut Nets, node: u32, (dx, dy): (f64, f64)) {
    nets.pin_node.push(node);
    nets.pin_dx.push(dx);
    nets.pin_dy.push(dy);
}

/// Nets whose connections are not looked up yet.
#[derive(Default)]
struct Pending<'a> {
    /// Components whose pins are connected.
    components: Vec<Key<'a>>,
    /// Each pin, and whether it is one of a component.
    pins: Vec<(Key<'a>, bool)>,
    /// Behind the last pin of each net.
    ends: Vec<usize>,
    /// The node of each of these components, and its macro.
    found: Vec<u32>,
    cells: Vec<u32>,
}

impl<'a> Pending<'a> {
    /// Adds `( component pin )`, found at `at`, to the net that is read.
    #[inline(always)]
    fn connect(
        &mut self,
        component: Key<'a>,
        pin: Key<'a>,
        all_of: &mut Option<Key<'a>>,
        at: &'a [u8],
    ) -> Read<'a, ()> {
        match component.name {
            b"PIN" => self.pins.push((pin, false)),
            b"*" => {
                if all_of.replace(pin).is_some() {
                    return Err(Miss::expected(at, "one pin of all components in a net"));
                }
            }
            _ => {
                self.components.push(component);
                self.pins.push((pin, true));
            }
        }
        Ok(())
    }
}

/// Reads entries of `NETS` from `lexer` on. Returns the text from the first word that is no entry.
pub(super) fn read<'a>(
    lexer: Scanner<'a>,
    netlist: &Netlist,
    nets: &mut Nets,
    counts: &mut Counts,
) -> Read<'a, Scanner<'a>> {
    let mut reader = Reader { lexer, netlist, nets, counts, pending: Pending::default() };
    reader.nets()?;
    Ok(reader.lexer)
}

struct Reader<'a, 'p> {
    lexer: Scanner<'a>,
    netlist: &'p Netlist<'p>,
    nets: &'p mut Nets,
    counts: &'p mut Counts,
    pending: Pending<'a>,
}

impl<'a> Reader<'a, '_> {
    fn nets(&mut self) -> Read<'a, ()> {
        // About what a text of this length holds.
        let length = self.lexer.rest().len();
        let nets = &mut *self.nets;
        nets.net_start.reserve(length / 64);
        nets.weight.reserve(length / 64);
        nets.pin_node.reserve(length / 24);
        nets.pin_dx.reserve(length / 24);
        nets.pin_dy.reserve(length / 24);
        while self.lexer.passes(b"-") {
            self.net()?;
            if self.pending.pins.len() >= TOGETHER {
                self.connect()?;
            }
        }
        self.connect()
    }

    fn net(&mut self) -> Read<'a, ()> {
        let name = self.lexer.name("the name of a net")?;
        self.counts.nets += 1;
        let before = (self.pending.components.len(), self.pending.pins.len());
        let mut all_of: Option<Key<'a>> = None;
        loop {
            let at = self.lexer.peek();
            if let Some([component, pin]) = self.lexer.pair() {
                self.pending.connect(component, pin, &mut all_of, at)?;
                continue;
            }
            match self.lexer.word() {
                b"(" => {}
                // Options, or the end: both are looked for from here.
                b"+" | b";" => {
                    self.lexer.back_to(at);
                    break;
                }
                _ => return Err(Miss::expected(at, "`(`, `+` or `;`")),
            }
            let at = self.lexer.peek();
            let component = Key::new(self.lexer.some_word("the name of a component")?);
            let pin = Key::new(self.lexer.some_word("the name of a pin")?);
            self.pending.connect(component, pin, &mut all_of, at)?;
            let at = self.lexer.peek();
            match self.lexer.word() {
                b")" => {}
                // A flag: `+ SYNTHESIZED`.
                b"+" => {
                    self.lexer.word();
                    self.lexer.expect(")")?;
                }
                _ => return Err(Miss::expected(at, "`)`")),
            }
        }
        let (mut weight, mut supply) = (1.0, false);
        while let Some(option) = self.lexer.option()? {
            match option {
                b"USE" => {
                    supply = matches!(self.lexer.word(), b"POWER" | b"GROUND");
                }
                b"WEIGHT" => {
                    let at = self.lexer.peek();
                    weight = self.lexer.number("a weight")?;
                    if weight < 0.0 {
                        return Err(Miss::expected(at, "a weight of at least zero"));
                    }
                }
                _ => self.counts.skip("NETS", option),
            }
        }
        self.counts.connections += (self.pending.components.len() - before.0) as u64;
        let must_join = name == "MUSTJOIN";
        if supply || must_join {
            self.pending.components.truncate(before.0);
            self.pending.pins.truncate(before.1);
            let counts = &mut *self.counts;
            *(if supply { &mut counts.supply_nets } else { &mut counts.must_join }) += 1;
            return Ok(());
        }
        self.nets.names.push(name);
        self.nets.weight.push(weight);
        self.pending.ends.push(self.pending.pins.len());
        if let Some(pin) = all_of {
            self.connect()?;
            self.connect_all(pin)?;
        }
        Ok(())
    }

    /// Joins this pin of every component to the last net.
    #[cold]
    fn connect_all(&mut self, pin: Key<'a>) -> Read<'a, ()> {
        let nets = &mut *self.nets;
        for (node, &cell) in self.netlist.cell.iter().enumerate() {
            if cell == UNPLACED {
                continue;
            }
            let pins = self.netlist.pins;
            let Some(found) = pins.index.find_in(cell, &pin) else { continue };
            self.counts.connections += 1;
            self.counts.by_star += 1;
            if self.counts.by_star > self.netlist.most_by_star as u64 {
                return Err(Miss::expected(pin.name, "fewer pins of all components in nets"));
            }
            if !pins.is_supply(found) {
                push(nets, node as u32, pins.offsets[found as usize]);
            }
        }
        *nets.net_start.last_mut().expect("a net was read") = nets.pin_node.len() as u32;
        Ok(())
    }

    /// Looks up the pending names.
    fn connect(&mut self) -> Read<'a, ()> {
        let Reader { netlist, nets, counts, pending, .. } = self;
        pending.found.clear();
        if let Err(number) = netlist.components.find_all(&pending.components, &mut pending.found) {
            let name = pending.components[number].name;
            let message =
                format!("component {} is not among COMPONENTS", String::from_utf8_lossy(name));
            return Err(Miss::name(name, message));
        }
        // By themselves, so that the processor waits for many of them at once.
        pending.cells.clear();
        pending.cells.extend(pending.found.iter().map(|&node| netlist.cell[node as usize]));
        let (mut of_component, mut start) = (0, 0);
        for &end in &pending.ends {
            for (pin, of_cell) in &pending.pins[start..end] {
                if *of_cell {
                    let node = pending.found[of_component];
                    let cell = pending.cells[of_component];
                    of_component += 1;
                    if cell == UNPLACED {
                        counts.unplaced_pins += 1;
                        continue;
                    }
                    let Some(found) = netlist.pins.index.find_in(cell, pin) else {
                        let name = netlist.components.names().get(node as usize);
                        let cell = netlist.pins.library.names.get(cell as usize);
                        let pin_name = String::from_utf8_lossy(pin.name);
                        let message =
                            format!("component {name}: its macro {cell} has no pin {pin_name}");
                        return Err(Miss::name(pin.name, message));
                    };
                    if netlist.pins.is_supply(found) {
                        counts.supply_pins += 1;
                        continue;
                    }
                    push(nets, node, netlist.pins.offsets[found as usize]);
                } else {
                    let Some(port) = netlist.ports.find(pin.name) else {
                        let name = String::from_utf8_lossy(pin.name);
                        let message = format!("pin {name} is not among PINS");
                        return Err(Miss::name(pin.name, message));
                    };
                    match netlist.port_node[port as usize] {
                        None => counts.unplaced_pins += 1,
                        Some(node) => push(nets, node, (0.0, 0.0)),
                    }
                }
            }
            start = end;
            nets.net_start.push(nets.pin_node.len() as u32);
        }
        pending.components.clear();
        pending.pins.clear();
        pending.ends.clear();
        Ok(())
    }
}
