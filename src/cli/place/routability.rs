//! The options of routability rounds, in which cells of congested bins grow.

use crate::cli::congestion::capacity;
use crate::cli::failure::Failure;
use crate::cli::input::Opened;
use crate::cli::options::number;
use crate::congestion::Tracks;
use crate::place::routability::RoutabilityOptions;
use clap::Args;

/// Options of `placefield place` about congestion.
#[derive(Args, Clone, Debug)]
pub(super) struct RoutabilityArgs {
    /// Continue in rounds in which cells grow if wires need more tracks than there are. The result
    /// is the round with the least wire overflow. Detailed placement then minimises wirelength plus
    /// wire beyond the tracks
    #[arg(long)]
    routability: bool,
    /// Routing tracks per layout unit, horizontal and vertical. Or LEF layers, each with the usable
    /// share of its tracks: metal1-metal6,metal1:0.2 [default: all LEF layers; without LEF the
    /// tracks that 5 % of the bins exceed]
    #[arg(long, value_name = "H,V|LAYERS", requires = "routability")]
    capacity: Option<Tracks>,
    /// Largest number of rounds
    #[arg(long, value_name = "N", requires = "routability",
          default_value_t = RoutabilityOptions::default().rounds as u32)]
    routability_rounds: u32,
    /// Largest area that the cells gain in all rounds, as a share of their own area. More area
    /// gives less congestion and longer wires
    #[arg(long, value_name = "SHARE", requires = "routability", value_parser = area,
          default_value_t = RoutabilityOptions::default().most_added)]
    routability_area: f64,
}

fn area(text: &str) -> Result<f64, String> {
    number(text, |v| (0.0..=10.0).contains(&v), "a number from 0 to 10")
}

impl RoutabilityArgs {
    /// Returns the options of the rounds, or `None` without `--routability`.
    pub(super) fn options(&self, opened: &Opened) -> Result<Option<RoutabilityOptions>, Failure> {
        if !self.routability {
            return Ok(None);
        }
        Ok(Some(RoutabilityOptions {
            rounds: self.routability_rounds as usize,
            capacity: capacity(opened, self.capacity.as_ref())?,
            most_added: self.routability_area,
            ..RoutabilityOptions::default()
        }))
    }
}
