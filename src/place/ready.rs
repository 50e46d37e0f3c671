//! The order of calls to a backend.

use super::backend::PointVector;
use crate::engine::{EngineError, Progress};

/// Error of reading [`PointVector::Best`] before a placement was kept.
pub(crate) const NOTHING_KEPT: EngineError =
    EngineError::OutOfOrder { stage: "the placement kept", needs: "one was kept" };

/// The last step of a descent that holds for its current point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ready {
    Nothing,
    Started,
    Evaluated,
    Proposed,
}

impl Progress for Ready {
    fn condition(&self) -> &'static str {
        match self {
            Ready::Nothing | Ready::Started => "the placer was given a start",
            Ready::Evaluated => "the start was evaluated",
            Ready::Proposed => "a step was proposed",
        }
    }
}

impl Ready {
    /// Fails unless `vector` can exist; other code checks for a kept placement.
    pub(crate) fn require_vector(self, vector: PointVector) -> Result<(), EngineError> {
        let at_least =
            if vector == PointVector::Gradient { Ready::Evaluated } else { Ready::Started };
        self.require("a vector of the descent", at_least)
    }

    /// Returns the progress once a vector is set: a gradient that was set needs no evaluation.
    pub(crate) fn after_write(self, vector: PointVector) -> Self {
        match vector {
            PointVector::Reference => Ready::Started,
            PointVector::Gradient if self >= Ready::Started => Ready::Evaluated,
            _ => self,
        }
    }
}
