//! The specification of a generated design: counts, ratios and a seed.

/// Most nodes, and most nets, in a generated design: their names stay under 4 GiB.
pub const MAX_NODES: u64 = 1 << 28;

/// Why a design cannot be generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// No preset has this name.
    #[error("no design is called \"{name}\": expected one of {}", Spec::NAMES.join(", "))]
    UnknownPreset {
        /// The name given.
        name: String,
    },
    /// A design without movable cells.
    #[error("0 cells: expected at least 1")]
    NoCells,
    /// Counts beyond what a [`Design`](crate::design::Design) can index.
    #[error(
        "{nodes} nodes, {nets} nets and {pins} pins: expected at most {MAX_NODES} nodes, \
         {MAX_NODES} nets and {} pins",
        u32::MAX
    )]
    TooLarge {
        /// Nodes given.
        nodes: u64,
        /// Nets given.
        nets: u64,
        /// Pins given.
        pins: u64,
    },
    /// Counts or ratios that contradict each other.
    #[error("the design's specification does not hold together: {0}")]
    Contradiction(&'static str),
    /// The macros and blocks do not fit on the die.
    #[error("{fixed} fixed nodes find no room on a die of {rows} rows of {sites} sites")]
    DoesNotFit {
        /// Fixed nodes inside the die.
        fixed: u64,
        /// Rows of the die.
        rows: u64,
        /// Sites in each row.
        sites: u64,
    },
}

/// The statistics a generated design has, and its seed.
///
/// The fields may be changed freely; [`generate`](super::generate) says when
/// they contradict each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name of the design and of its files.
    pub name: String,
    /// Movable standard cells.
    pub cells: u64,
    /// Fixed macros inside the die; they make up the fixed area that blocks leave open.
    pub macros: u64,
    /// Small fixed blocks inside the die, one row high.
    pub blocks: u64,
    /// Fixed pads outside the rows.
    pub pads: u64,
    /// Nets.
    pub nets: u64,
    /// Pins of all nets together; beyond nets × nodes, nets hold a node more than once.
    pub pins: u64,
    /// (movable + fixed area on the die) / die area, from `utilisation` to below 1.
    pub density: f64,
    /// Movable area / (die area − fixed area), above 0 and below 1.
    pub utilisation: f64,
    /// Mean cell width in sites, before widths are rounded and kept within 3 to 77.
    pub mean_width: f64,
    /// Every random choice follows from it.
    pub seed: u64,
}

/// Fixed nodes that are not macros are pads, except that a perimeter does not hold the thousands of
/// bigblue2 and bigblue4: 500 of them are pads, and the rest small blocks among the cells. Mean
/// cell width is counted in adaptec1 and follows from the row area of adaptec3; for the others it
/// is an estimate. It scales the die and nothing else.
#[rustfmt::skip]
fn presets() -> [Spec; 8] {
    [
        Spec { name: "adaptec1".to_owned(), cells:   210_904, macros:  63, blocks:      0, pads:   480, nets:   221_142, pins:   944_053, density: 0.7571, utilisation: 0.5734, mean_width: 14.73, seed: 0 },
        Spec { name: "adaptec2".to_owned(), cells:   254_457, macros: 127, blocks:      0, pads:   439, nets:   266_009, pins: 1_069_482, density: 0.7856, utilisation: 0.4432, mean_width: 11.0, seed: 0 },
        Spec { name: "adaptec3".to_owned(), cells:   450_927, macros:  58, blocks:      0, pads:   665, nets:   466_758, pins: 1_875_039, density: 0.7458, utilisation: 0.3366, mean_width: 12.87, seed: 0 },
        Spec { name: "adaptec4".to_owned(), cells:   494_716, macros:  69, blocks:      0, pads: 1_260, nets:   515_951, pins: 1_912_420, density: 0.6267, utilisation: 0.2723, mean_width: 12.7, seed: 0 },
        Spec { name: "bigblue1".to_owned(), cells:   277_604, macros:  32, blocks:      0, pads:   528, nets:   284_479, pins: 1_144_691, density: 0.5419, utilisation: 0.4467, mean_width: 12.7, seed: 0 },
        Spec { name: "bigblue2".to_owned(), cells:   534_782, macros: 959, blocks: 21_625, pads:   500, nets:   577_235, pins: 2_122_282, density: 0.6180, utilisation: 0.3794, mean_width: 12.7, seed: 0 },
        Spec { name: "bigblue3".to_owned(), cells: 1_095_519, macros:  64, blocks:      0, pads: 1_229, nets: 1_123_170, pins: 3_833_218, density: 0.8565, utilisation: 0.5668, mean_width: 11.0, seed: 0 },
        Spec { name: "bigblue4".to_owned(), cells: 2_169_183, macros: 199, blocks:  7_471, pads:   500, nets: 2_229_886, pins: 8_900_078, density: 0.6530, utilisation: 0.4435, mean_width: 11.0, seed: 0 },
    ]
}

impl Spec {
    /// The names that [`Spec::preset`] takes.
    pub const NAMES: [&str; 8] = [
        "adaptec1", "adaptec2", "adaptec3", "adaptec4", "bigblue1", "bigblue2", "bigblue3",
        "bigblue4",
    ];

    /// Returns the statistics of a contest circuit, seed 0.
    ///
    /// # Errors
    /// When there is no circuit of that name; the error lists the names.
    pub fn preset(name: &str) -> Result<Self, GenerateError> {
        let found = presets().into_iter().find(|preset| preset.name == name);
        found.ok_or_else(|| GenerateError::UnknownPreset { name: name.to_owned() })
    }

    /// Returns adaptec1's statistics scaled to `cells` movable cells, seed 0.
    ///
    /// Nets and pins grow with the cells, macros and pads with their square
    /// root, as the die's perimeter does. There are at least as many nets as nodes.
    pub fn with_cells(cells: u64) -> Self {
        let [model, ..] = presets();
        let ratio = cells as f64 / model.cells as f64;
        let scaled = |count: u64, by: f64| ((count as f64 * by).round() as u64).max(1);
        let (macros, pads) = (scaled(model.macros, ratio.sqrt()), scaled(model.pads, ratio.sqrt()));
        let nodes = cells.saturating_add(macros + pads);
        let nets = scaled(model.nets, ratio).max(nodes);
        let pins = scaled(nets, model.pins as f64 / model.nets as f64);
        Spec {
            name: format!("cells{cells}"),
            cells,
            macros,
            pads,
            nets,
            pins: pins.min(nets.saturating_mul(nodes)),
            ..model
        }
    }

    /// Returns the same with another seed.
    pub fn seeded(self, seed: u64) -> Self {
        Spec { seed, ..self }
    }

    /// Returns the fixed nodes: macros, blocks and pads.
    pub fn fixed(&self) -> u64 {
        self.macros.saturating_add(self.blocks).saturating_add(self.pads)
    }

    /// Returns all nodes.
    pub fn nodes(&self) -> u64 {
        self.cells.saturating_add(self.fixed())
    }

    pub(super) fn check(&self) -> Result<(), GenerateError> {
        use GenerateError::*;
        if self.cells == 0 {
            return Err(NoCells);
        }
        let (nodes, nets, pins) = (self.nodes(), self.nets, self.pins);
        if nodes > MAX_NODES || nets > MAX_NODES || pins > u64::from(u32::MAX) {
            return Err(TooLarge { nodes, nets, pins });
        }
        let rules = [
            (
                self.utilisation > 0.0 && self.utilisation < 1.0,
                "utilisation is not between 0 and 1",
            ),
            (self.density >= self.utilisation, "density is below utilisation"),
            (self.density < 1.0, "density is not below 1"),
            (self.mean_width >= 3.0 && self.mean_width <= 77.0, "mean width is not 3 to 77 sites"),
            (pins >= nets, "there are fewer pins than nets"),
            (nets > 0 || pins == 0, "there are pins but no nets"),
            (
                self.macros > 0 || self.density == self.utilisation,
                "density above utilisation needs a macro",
            ),
            (
                self.macros + self.blocks == 0 || self.density > self.utilisation,
                "macros and blocks need a density above utilisation",
            ),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, broken)) => Err(Contradiction(broken)),
            None => Ok(()),
        }
    }
}
