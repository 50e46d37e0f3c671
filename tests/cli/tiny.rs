//! A design of four nodes, small enough to know every number of it.

use std::path::{Path, PathBuf};
use tempfile::TempDir;

const AUX: &str = "RowBasedPlacement : t.nodes t.nets t.wts t.pl t.scl\n";

/// `p` is fixed and stands between the movable nodes; `b` has no area, so that
/// the force on it is zero and shows whether forces keep their order.
const NODES: &str = "UCLA nodes 1.0
NumNodes : 4
NumTerminals : 1
  a 4 2
  p 4 4 terminal
  b 0 0
  c 3 2
";

const NETS: &str = "UCLA nets 1.0
NumNets : 2
NumPins : 4
NetDegree : 2 n0
  a I : 1 0
  b O : 0 0
NetDegree : 2 n1
  c I : 0 0
  p O : 0 0.5
";

/// Stretched to √2 of 5 × 4 bins, `a` and `c` stay inside the die and away from `p`.
const PL: &str = "UCLA pl 1.0
c 18 5 : N
a 5 2 : N
b 12 4 : N
p 30 8 : N /FIXED
";

const WTS: &str = "UCLA wts 1.0\nn0 1\nn1 2\n";

/// The files of the design in a folder of its own.
pub(crate) struct Tiny {
    folder: TempDir,
}

impl Tiny {
    /// The design as it should be: die 40 × 16, 8 rows of height 2.
    pub(crate) fn new() -> Self {
        let tiny = Tiny { folder: tempfile::tempdir().unwrap() };
        let scl = scl(|i| row(2 * i, 0, 40));
        let files = [("aux", AUX), ("nodes", NODES), ("nets", NETS), ("pl", PL), ("wts", WTS)];
        for (kind, text) in files.into_iter().chain([("scl", &*scl)]) {
            tiny.write(kind, text.as_bytes());
        }
        tiny
    }

    pub(crate) fn file(&self, kind: &str) -> PathBuf {
        self.folder.path().join("t").with_extension(kind)
    }

    pub(crate) fn aux(&self) -> PathBuf {
        self.file("aux")
    }

    /// The folder, which also takes the results.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, kind: &str, bytes: &[u8]) {
        std::fs::write(self.file(kind), bytes).unwrap();
    }

    pub(crate) fn text(&self, kind: &str) -> String {
        std::fs::read_to_string(self.file(kind)).unwrap()
    }

    /// Replaces the first `from`, which must be there.
    pub(crate) fn edit(&self, kind: &str, from: &str, to: &str) {
        let text = self.text(kind);
        assert!(text.contains(from), "no {from:?} in the .{kind} file");
        self.write(kind, text.replacen(from, to, 1).as_bytes());
    }
}

/// The text of a `.scl` file of 8 rows.
fn scl(row: impl Fn(usize) -> String) -> String {
    format!("UCLA scl 1.0\nNumRows : 8\n{}", (0..8).map(row).collect::<String>())
}

/// The rows of the design, N and FS in turn.
pub(crate) fn flipped_rows() -> String {
    scl(|i| match i % 2 {
        0 => row(2 * i, 0, 40),
        _ => row(2 * i, 0, 40).replace("Siteorient : N", "Siteorient : FS"),
    })
}

/// One row of height 2 with `sites` sites of width 1 from `x`.
pub(crate) fn row(y: usize, x: usize, sites: usize) -> String {
    format!(
        "CoreRow Horizontal\n  Coordinate : {y}\n  Height : 2\n  Sitewidth : 1\n  Sitespacing : \
         1\n  Siteorient : N\n  Sitesymmetry : Y\n  SubrowOrigin : {x} NumSites : {sites}\nEnd\n"
    )
}
