//! A page to open in a browser: one file that needs no other file.
//!
//! `page.html` is the template, `page.css` its style and `page.js` its interactive parts. Without
//! scripts the page is complete, with pictures and tables. The template escapes text, and data is
//! in a separate script block.

use super::maps::{Maps, number};
use super::part::{Chart, Fact, Group, Part};
use super::run::Run;
use crate::cli::failure::Failure;
use crate::cli::results::write_output;
use crate::design::{Design, LengthUnit};
use crate::evaluate::HotSpot;
use crate::warning::Warning;
use minijinja::value::Serde;
use minijinja::{Environment, context};
use serde::Serialize;
use std::path::Path;

/// Most bytes of a page.
pub(crate) const MOST_BYTES: usize = 5_000_000;

/// The content of a page; empty parts are left out.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// The numbers at the top.
    pub(crate) summary: Vec<Fact>,
    /// Why it looks so; `None` if nothing was examined.
    pub(crate) causes: Option<Vec<CauseView>>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) maps: Option<Maps>,
    pub(crate) hot_spots: Vec<HotSpotView>,
    /// Fences and blockages.
    pub(crate) floorplan: Option<Part>,
    /// The unit of lengths.
    pub(crate) unit: &'static str,
    pub(crate) run: Option<Run>,
    pub(crate) charts_title: &'static str,
    pub(crate) charts: Vec<Chart>,
    pub(crate) parts: Vec<Part>,
    /// Options, machine, times.
    pub(crate) made: Vec<Group>,
    /// Data for the script.
    pub(crate) data: Option<serde_json::Value>,
}

/// Something about the design or the options that makes a density bad.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CauseView {
    pub(crate) title: &'static str,
    pub(crate) finding: String,
    pub(crate) advice: String,
    pub(crate) names: Vec<String>,
}

/// A place where cells overflow.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HotSpotView {
    rect: [f64; 4],
    x: String,
    y: String,
    area: String,
    share: String,
    densest: String,
    nodes: usize,
    names: Vec<String>,
}

impl HotSpotView {
    /// Returns a place with its lengths in `unit`.
    pub(crate) fn of(spot: &HotSpot, unit: LengthUnit) -> HotSpotView {
        let r = &spot.rect;
        let range = |lo: f64, hi: f64| format!("{} – {}", number(unit.of(lo)), number(unit.of(hi)));
        HotSpotView {
            rect: [r.xl, r.yl, r.xh, r.yh],
            x: range(r.xl, r.xh),
            y: range(r.yl, r.yh),
            area: number(unit.of(unit.of(spot.area))),
            share: format!("{:.1} %", 100.0 * spot.share),
            densest: number(spot.densest),
            nodes: spot.nodes,
            names: spot.names.clone(),
        }
    }
}

impl Page {
    /// Returns the file's text.
    ///
    /// # Errors
    /// If the template and the page do not fit together.
    pub(crate) fn render(&mut self) -> Result<String, Failure> {
        let maps = self.maps.as_ref().map(|maps| &maps.data);
        let run = self.run.as_ref().map(|run| &run.data);
        self.data = (maps.is_some() || run.is_some())
            .then(|| serde_json::json!({ "maps": maps, "run": run }));
        let mut environment = Environment::new();
        environment.add_template("page.html", include_str!("page.html"))?;
        let template = environment.get_template("page.html")?;
        Ok(template.render(context! {
            page => Serde(&*self),
            version => env!("CARGO_PKG_VERSION"),
            css => include_str!("page.css"),
            js => include_str!("page.js"),
        })?)
    }

    /// Writes the page, whole or not at all, in at most [`MOST_BYTES`]. A larger page first loses
    /// detail of frames and then names of cells.
    pub(crate) fn write(&mut self, design: Option<&Design>, path: &Path) -> Result<(), Failure> {
        let mut text = self.render()?;
        while text.len() > MOST_BYTES && self.shrink(design) {
            text = self.render()?;
        }
        write_output(path, |out| out.write_all(text.as_bytes()))
    }

    /// Leaves something out; false if nothing more can be left out.
    fn shrink(&mut self, design: Option<&Design>) -> bool {
        if self.run.as_mut().is_some_and(Run::coarsen) {
            return true;
        }
        match (&mut self.maps, design) {
            (Some(maps), Some(design)) if !maps.note.contains("by name") => {
                maps.list_fewer_nodes(design);
                maps.note += " Of all nodes the page lists fixed ones and macros by name.";
                true
            }
            _ => false,
        }
    }
}
