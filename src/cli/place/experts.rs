//! Expert options of a placement: schedules, nets and fillers, noise.

use crate::cli::options::number;
use crate::place::{PlaceOptions, Schedule};
use crate::wirelength::Netlist;
use clap::Args;

/// Options for experiments; the defaults suit every design.
#[derive(Args, Debug)]
#[command(next_help_heading = "Schedules and parts of the objective")]
pub(super) struct ExpertArgs {
    /// γ, the smoothing length of the wirelength, in units of a bin's width plus height, or of
    /// twice the mean distance of cells if that is larger. It is 10 times this value at overflow 1
    /// and a tenth at overflow 0.1
    #[arg(
        long,
        value_name = "BINS",
        default_value_t = Schedule::default().gamma,
        value_parser = placing("gamma")
    )]
    gamma: f64,
    /// Share of the density in the first gradient of a start at the centre
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = Schedule::default().density_weight,
        value_parser = placing("density_weight")
    )]
    density_weight: f64,
    /// Largest growth of the density's weight λ in an iteration until cells are spread roughly
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = Schedule::default().growth,
        value_parser = placing("growth")
    )]
    growth: f64,
    /// Largest growth of λ in an iteration after that. A factor nearer to 1 takes longer and gives
    /// shorter wires
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = Schedule::default().late_growth,
        value_parser = placing("late_growth")
    )]
    late_growth: f64,
    /// λ pauses if HPWL rises by this share of its expected final value in an iteration
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = Schedule::default().reference_rise,
        value_parser = placing("reference_rise")
    )]
    reference_rise: f64,
    /// Largest momentum once cells are nearly spread; 1 means Nesterov's rule
    #[arg(
        long,
        value_name = "M",
        default_value_t = Schedule::default().momentum,
        value_parser = placing("momentum")
    )]
    momentum: f64,
    /// λ pauses if the density's share of the gradient exceeds this times the wirelength's
    #[arg(
        long,
        value_name = "RATIO",
        default_value_t = Schedule::default().pressure,
        value_parser = placing("pressure")
    )]
    pressure: f64,
    /// Leave nets with more pins out of the objective, but not out of the reported HPWL
    /// [default: all nets count; DREAMPlace: 100]
    #[arg(long, value_name = "PINS", value_parser = clap::value_parser!(u32).range(2..))]
    pub(super) ignore_net_degree: Option<u32>,
    /// Place without fillers: cells spread over all free area
    #[arg(long)]
    no_fillers: bool,
    /// Do not divide gradients by the diagonal of the objective's Hessian
    #[arg(long)]
    no_precondition: bool,
    /// Move every body at the start randomly, by up to half of this ratio times its size
    #[arg(long, value_name = "RATIO", default_value_t = 0.0, value_parser = noise)]
    pub(super) noise: f64,
}

/// Returns the parser of a number of [`PlaceOptions`].
pub(super) fn placing(name: &'static str) -> impl Fn(&str) -> Result<f64, String> + Clone {
    let numbers = PlaceOptions::NUMBERS;
    let k = numbers.iter().position(|number| number.name == name).expect("the name of a number");
    move |text| number(text, PlaceOptions::NUMBERS[k].holds, PlaceOptions::NUMBERS[k].expected)
}

fn noise(text: &str) -> Result<f64, String> {
    number(text, |v| (0.0..=1e6).contains(&v), "a number from 0 to 1e6")
}

impl ExpertArgs {
    /// Returns `options` with these schedules.
    pub(super) fn apply(&self, options: PlaceOptions) -> PlaceOptions {
        let schedule = Schedule {
            gamma: self.gamma,
            density_weight: self.density_weight,
            growth: self.growth,
            late_growth: self.late_growth,
            reference_rise: self.reference_rise,
            momentum: self.momentum,
            pressure: self.pressure,
        };
        options.schedule(schedule).precondition(!self.no_precondition)
    }

    pub(super) fn fillers(&self) -> bool {
        !self.no_fillers
    }

    /// Nets of this many pins or more are left out, in the convention of [`Netlist::from_design`].
    pub(super) fn large_net(&self) -> usize {
        self.ignore_net_degree.map_or(Netlist::ALL, |most| most as usize + 1)
    }
}
