//! The plain parts of a page: facts, tables, pictures.

use super::pack;
use crate::cli::failure::Failure;
use crate::plot::{Format, Picture, Size};
use serde::Serialize;

/// A number or a word with its name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fact {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Fact {
    pub(crate) fn new(name: impl Into<String>, value: impl ToString) -> Fact {
        Fact { name: name.into(), value: value.to_string() }
    }
}

/// Facts of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) facts: Vec<Fact>,
}

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    /// So many columns from the left are of words, the others of numbers.
    pub(crate) words: usize,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) notes: Vec<String>,
}

/// Tables and pictures under one heading.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) title: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) pictures: Vec<Image>,
}

/// A chart, as SVG in the page itself.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chart {
    title: String,
    /// A description for readers who do not see it.
    description: String,
    svg: String,
    /// Whether x is the iteration, which the page's slider marks.
    follows: bool,
}

impl Chart {
    pub(crate) fn of(
        title: &str,
        description: String,
        picture: &Picture,
        follows: bool,
    ) -> Result<Chart, Failure> {
        let svg = String::from_utf8(picture.encode(Format::Svg)?).map_err(|e| e.to_string())?;
        // HTML knows the namespace of an SVG element.
        let svg = svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
        Ok(Chart { title: title.to_owned(), description, svg, follows })
    }

    /// Returns the size of a chart on a page. If two charts are side by side, their text is as
    /// large as the page's.
    pub(crate) fn size() -> Size {
        Size::print(127.0, 9.0).expect("there is room for the text")
    }
}

/// A picture, as the address of an image.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Image {
    pub(crate) title: String,
    pub(crate) image: String,
}

impl Image {
    /// Makes the image of a picture as SVG, which is sharp in print and small.
    pub(crate) fn of(title: String, picture: &Picture) -> Result<Image, Failure> {
        let svg = picture.encode(Format::Svg)?;
        Ok(Image { title, image: pack::image("svg+xml", &svg) })
    }
}
