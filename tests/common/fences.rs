//! Cells in fence regions on one die, and each region by itself: the same cells alone, with what
//! lies outside their fence given as fixed cells, divided into rectangles by hand.

use super::relative_rms;
use placefield::Real;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::engine::{Engine, EngineError, Evaluation, GradientOptions, Layout, MapKind};
use placefield::grid::{BinGrid, Map, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub const CELLS: usize = 400;
pub const BINS: [usize; 2] = [24, 40];
/// Three fences and the rest of the die.
pub const REGIONS: usize = 4;
const MACROS: [usize; 2] = [9, 12];

const fn rect(xl: i32, yl: i32, xh: i32, yh: i32) -> Rect {
    Rect { xl: xl as f64, yl: yl as f64, xh: xh as f64, yh: yh as f64 }
}

const FIXED: [Rect; 3] = [rect(130, 40, 150, 70), rect(0, 150, 30, 170), rect(30, 90, 70, 110)];

/// Bins of 10 × 7, whose edges are not the fences'.
pub fn grid() -> BinGrid {
    BinGrid::new(rect(-31, 12, 209, 292), BINS[0], BINS[1]).unwrap()
}

/// An L of two rectangles that overlap, a high one, and one that sticks out of the die.
pub fn fences() -> Vec<Vec<Rect>> {
    vec![
        vec![rect(-20, 30, 60, 130), rect(40, 100, 90, 180)],
        vec![rect(120, 20, 205, 250)],
        vec![rect(-40, 200, 50, 300)],
    ]
}

/// Fixed area in each region: all that lies outside its fence, and the part of `FIXED` inside.
fn taken(region: usize) -> Vec<Rect> {
    match region {
        0 => vec![
            rect(-31, 12, -20, 292),
            rect(-20, 12, 40, 30),
            rect(-20, 130, 40, 292),
            rect(40, 12, 60, 30),
            rect(40, 180, 60, 292),
            rect(60, 12, 90, 100),
            rect(60, 180, 90, 292),
            rect(90, 12, 209, 292),
            rect(30, 90, 60, 110),
            rect(60, 100, 70, 110),
        ],
        1 => vec![
            rect(-31, 12, 120, 292),
            rect(120, 12, 205, 20),
            rect(120, 250, 205, 292),
            rect(205, 12, 209, 292),
            FIXED[0],
        ],
        2 => vec![rect(-31, 12, 50, 200), rect(50, 12, 209, 292)],
        _ => vec![
            rect(-20, 30, 60, 130),
            rect(60, 100, 90, 180),
            rect(40, 130, 60, 180),
            rect(120, 20, 205, 250),
            rect(-31, 200, 50, 292),
            FIXED[1],
            rect(60, 90, 70, 100),
        ],
    }
}

pub fn options() -> ChargeOptions {
    ChargeOptions::default().target_density(0.8)
}

/// Cells all over the die and beyond its edges, wherever their fences are; two of them macros.
pub struct Cells {
    columns: [Vec<f64>; 4],
    pub region: Vec<u32>,
}

impl Cells {
    pub fn new() -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(17);
        let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
        let mut cells = Cells { columns: [const { Vec::new() }; 4], region: Vec::new() };
        for i in 0..CELLS {
            let (w, h) = if MACROS.contains(&i) { (50.0, 30.0) } else { (draw(1.0, 14.0), 6.0) };
            let values = [w, h, draw(-40.0, 205.0), draw(5.0, 290.0)];
            cells.columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            // The macros are of the second and the last region.
            cells.region.push(if i == 12 { 3 } else { i as u32 % 4 });
        }
        cells
    }

    /// The charge of the cells with these indices, and these rectangles fixed.
    fn charge_of(&self, of: &[usize], fixed: &[Rect], options: &ChargeOptions) -> Charge {
        let columns = self.columns.each_ref();
        let [width, height, x, y] =
            columns.map(|column| of.iter().map(|&i| column[i]).collect::<Vec<f64>>());
        let macros: Vec<bool> = of.iter().map(|i| MACROS.contains(i)).collect();
        let cells = Rectangles::movable(&width, &height, &x, &y).fixed(fixed).row_height(6.0);
        Charge::from_rectangles(grid(), &cells.macros(&macros[..]), options).unwrap()
    }

    /// All cells, in one region.
    pub fn unfenced(&self, options: &ChargeOptions) -> Charge {
        self.charge_of(&(0..CELLS).collect::<Vec<_>>(), &FIXED, options)
    }

    /// All cells, in their regions.
    pub fn together(&self, options: &ChargeOptions) -> Charge {
        let mut charge = self.unfenced(options);
        charge.set_fences(&fences(), &self.region).unwrap();
        charge
    }

    /// The bodies of one region of `together`, and a charge of them alone.
    pub fn alone(&self, together: &Charge, region: usize) -> (Vec<usize>, Charge) {
        let bodies = (0..together.bodies()).filter(|&i| together.region(i) == region);
        let (cells, fillers): (Vec<usize>, Vec<usize>) = bodies.partition(|&i| i < CELLS);
        let mut charge = self.charge_of(&cells, &taken(region), &options());
        if let Some(&first) = fillers.first() {
            let size = (together.width()[first], together.height()[first]);
            let at = [together.initial_x(), together.initial_y()];
            let [x, y] = at.map(|at| fillers.iter().map(|&i| at[i]).collect::<Vec<f64>>());
            charge.add_fillers(size.0, size.1, &x, &y).unwrap();
        }
        ([cells, fillers].concat(), charge)
    }
}

/// Cells all over a die and a little beyond, half its area, in so many regions: a strip of the die
/// is the fence of each but the last, whose cells have none. With up to 20 regions there are cells
/// of more than 64 bins. Positions are numbers of `f32`.
pub fn strips([nx, ny]: [usize; 2], regions: usize, options: &ChargeOptions) -> Charge {
    let bin = [9.5, 6.25];
    let die = Rect::at(-31.5, 12.25, bin[0] * nx as f64, bin[1] * ny as f64);
    let mut random = Pcg64Mcg::seed_from_u64((nx * 1000 + ny) as u64);
    let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    let count = nx * ny / 2;
    let mut columns = [const { Vec::new() }; 4];
    for i in 0..count {
        let [w, h] = match regions <= 20 && i % 397 == 5 {
            true => [draw(9.0, 14.0) * bin[0], draw(8.0, 12.0) * bin[1]],
            false => [draw(2.0, 16.0), 5.0],
        };
        let at = [draw(die.xl - 20.0, die.xh), draw(die.yl - 20.0, die.yh)];
        let values = [w, h, at[0], at[1]];
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    let [width, height, x, y] = &columns;
    let fixed = [Rect::at(die.xl + 20.0, die.yl + 10.0, die.width() / 9.0, die.height() / 7.0)];
    let cells = Rectangles::movable(width, height, x, y).fixed(&fixed).row_height(6.0);
    let grid = BinGrid::new(die, nx, ny).unwrap();
    let mut charge = Charge::from_rectangles(grid, &cells, options).unwrap();
    let edge = |r: usize| die.xl + die.width() * r as f64 / regions as f64;
    let fence = |r: usize| vec![Rect { xl: edge(r), xh: edge(r + 1), ..die }];
    let fences: Vec<_> = (0..regions - 1).map(fence).collect();
    let region: Vec<u32> = (0..count).map(|i| (i % regions) as u32).collect();
    charge.set_fences(&fences, &region).unwrap();
    let near = |values: &[f64]| values.iter().map(|v| f64::from(*v as f32)).collect::<Vec<f64>>();
    let (x, y) = (near(charge.initial_x()), near(charge.initial_y()));
    charge.set_initial(&x, &y).unwrap();
    assert_eq!(charge.regions(), regions);
    charge
}

/// Charges with other regions, or with something changed in them.
pub fn changes() -> Vec<Charge> {
    let cells = Cells::new();
    let unfenced = cells.unfenced(&options().fillers(true));
    let fenced = cells.together(&options().fillers(true));
    let mut inflated = fenced.clone();
    let width: Vec<f64> = fenced.width().iter().map(|w| 1.1 * w).collect();
    inflated.set_sizes(&width, fenced.height()).unwrap();
    let mut stays = vec![false; CELLS];
    (0..20).for_each(|i| stays[7 * i] = true);
    let mut held = inflated.clone();
    held.set_fixed_cells(&stays, &inflated.initial_x()[..CELLS], &inflated.initial_y()[..CELLS])
        .unwrap();
    let mut blocked = fenced.clone();
    let mut taken = Map::filled(BINS[0], BINS[1], 0.0);
    taken[(16, 10)] = 35.0;
    blocked.set_blocked_area(Some(taken)).unwrap();
    assert_eq!(blocked.region_fixed(1)[(16, 10)], 0.8 * 35.0);
    // Full already: it lies outside the fence.
    assert_eq!(blocked.region_fixed(0), fenced.region_fixed(0));
    let mut targets = fenced.clone();
    let mut map = Map::filled(BINS[0], BINS[1], 0.6);
    map[(3, 5)] = 0.55;
    targets.set_target_densities(Some(map)).unwrap();
    targets.refill().unwrap();
    assert!(targets.fillers() < fenced.fillers());
    vec![unfenced.clone(), fenced, inflated, held, blocked, targets, unfenced]
}

/// That an engine that goes on with one charge after the other finds what engines of their own do.
pub fn goes_on_with_other_regions<T: Real>(mut open: impl FnMut(Charge) -> Box<dyn Engine<T>>) {
    let charges = changes();
    let mut engine = open(charges[0].clone());
    find(&mut *engine);
    for charge in &charges[1..] {
        engine.set_charge(charge.clone().into()).unwrap();
        let stale = engine.read_regions(&mut vec![Evaluation::default(); charge.regions()]);
        assert!(matches!(stale, Err(EngineError::OutOfOrder { .. })));
        let (got, want) = (find(&mut *engine), find(&mut *open(charge.clone())));
        assert_eq!((got.evaluation, got.regions), (want.evaluation, want.regions));
        assert!(got.exact == want.exact && got.maps == want.maps && got.force == want.force);
        assert!(got.gradient == want.gradient);
    }
}

fn wide<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.widen()).collect()
}

/// Results of an engine for a charge with its bodies at their start.
pub struct Found<T> {
    pub evaluation: Evaluation,
    pub regions: Vec<Evaluation>,
    pub exact: f64,
    pub maps: [Vec<T>; 4],
    pub force: [Vec<T>; 2],
    /// With the weights −1 for the first region, −2 for the second and so on.
    pub gradient: Vec<T>,
}

pub fn find<T: Real>(engine: &mut dyn Engine<T>) -> Found<T> {
    let (x, y) = engine.charge().initial_positions::<T>();
    let regions = engine.charge().regions();
    let evaluation = engine.evaluate(&x, &y).unwrap();
    let mut of_regions = vec![Evaluation::default(); regions];
    engine.read_regions(&mut of_regions).unwrap();
    let grid = engine.charge().grid();
    let maps = MapKind::ALL.map(|kind| {
        let mut map = Map::filled(regions * grid.nx(), grid.ny(), T::zero());
        engine.read_map(kind, &mut map).unwrap();
        map.into_vec()
    });
    let mut force = [vec![T::zero(); x.len()], vec![T::zero(); x.len()]];
    let [fx, fy] = &mut force;
    engine.read_force(fx, fy).unwrap();
    let weights: Vec<f64> = (1..=regions).map(|r| r as f64).collect();
    let mut gradient = vec![T::cast(0.0); 2 * x.len()];
    let options = GradientOptions::default().layout(Layout::Pairs).region_weights(&weights);
    engine.write_gradient(&mut gradient, &options).unwrap();
    let exact = engine.exact_density().unwrap().overflow;
    Found { evaluation, regions: of_regions, exact, maps, force, gradient }
}

/// That regions together are the regions alone, on engines that `open` makes.
pub fn together_is_alone<T: Real>(
    fillers: bool,
    mut open: impl FnMut(Charge) -> Box<dyn Engine<T>>,
) {
    let tolerance = if T::PRECISION == placefield::Precision::F32 { 2e-5 } else { 1e-12 };
    let close = |a: f64, b: f64, what: &str| {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a}, expected {b}");
    };
    let cells = Cells::new();
    let together = cells.together(&options().fillers(fillers));
    assert_eq!((together.regions(), together.fillers() > 100), (REGIONS, fillers));
    assert_eq!(together.macros(), MACROS.map(|i| i as u32));
    let found = find(&mut *open(together.clone()));
    let bins = BINS[0] * BINS[1];
    let (mut energy, mut over, mut most) = (0.0, 0.0, 0.0_f64);
    let mut seen = 0;
    for region in 0..REGIONS {
        let (bodies, alone) = cells.alone(&together, region);
        assert_eq!(together.region_target_density(region), alone.target_density());
        assert_eq!(together.backgrounds()[region], alone.background());
        let area = alone.movable_area();
        close(together.region_movable_area(region), area, "area");
        let want = find(&mut *open(alone));
        let of = found.regions[region];
        close(of.density.overflow, want.evaluation.density.overflow, "overflow");
        close(of.density.max, want.evaluation.density.max, "maximum");
        close(of.energy, want.evaluation.energy, "energy");
        assert!(of.energy > 0.0 && of.density.overflow > 0.0);
        energy += of.energy;
        over += of.density.overflow * area;
        most = most.max(of.density.max);
        for (kind, (all, want)) in MapKind::ALL.into_iter().zip(found.maps.iter().zip(&want.maps)) {
            let own = &all[region * bins..(region + 1) * bins];
            let off = relative_rms(&wide(own), &wide(want));
            assert!(off < tolerance, "{} of region {region}: {off:e}", kind.name());
        }
        for axis in 0..2 {
            let own: Vec<T> = bodies.iter().map(|&i| found.force[axis][i]).collect();
            let off = relative_rms(&wide(&own), &wide(&want.force[axis]));
            assert!(off < tolerance, "force on region {region}: {off:e}");
            let weight = -1.0 - region as f64;
            for &i in &bodies {
                let (got, force) = (found.gradient[2 * i + axis], found.force[axis][i]);
                close(got.widen(), weight * force.widen(), "gradient");
            }
        }
        seen += bodies.len();
    }
    assert_eq!(seen, together.bodies());
    assert_ne!(found.force[0], found.force[1]);
    close(found.evaluation.energy, energy, "energy in sum");
    close(found.evaluation.density.overflow, over / together.movable_area(), "overflow in sum");
    assert_eq!(found.evaluation.density.max, most);
}

/// That one fence around the die changes no bit.
pub fn the_die_is_no_fence<T: Real>(mut open: impl FnMut(Charge) -> Box<dyn Engine<T>>) {
    let cells = Cells::new();
    let unfenced = cells.unfenced(&options().fillers(true));
    let mut fenced = unfenced.clone();
    fenced.set_fences(&[vec![rect(-50, 0, 300, 300)]], &[0; CELLS]).unwrap();
    assert_eq!((fenced.regions(), fenced.bodies()), (1, unfenced.bodies()));
    assert_eq!(
        (fenced.initial_x(), fenced.initial_y()),
        (unfenced.initial_x(), unfenced.initial_y())
    );
    assert_eq!((fenced.fixed(), fenced.ratio()), (unfenced.fixed(), unfenced.ratio()));
    let (got, want) = (find(&mut *open(fenced)), find(&mut *open(unfenced)));
    assert_eq!(got.evaluation, want.evaluation);
    assert_eq!(got.regions, [want.evaluation]);
    assert!(got.exact == want.exact && got.maps == want.maps && got.force == want.force);
}
