//! The order in which a backend's calls come.

use super::backend::Held;
use crate::engine::{EngineError, Progress};

/// Error of reading [`Held::Kept`] before a placement was kept.
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
    /// Fails unless the vector `held` can be there; a placement kept is checked for elsewhere.
    pub(crate) fn require_vector(self, held: Held) -> Result<(), EngineError> {
        let at_least = if held == Held::Gradient { Ready::Evaluated } else { Ready::Started };
        self.require("a vector of the descent", at_least)
    }

    /// Returns the progress once a vector is set: a gradient that is given needs no evaluation.
    pub(crate) fn after_write(self, held: Held) -> Self {
        match held {
            Held::Current => Ready::Started,
            Held::Gradient if self >= Ready::Started => Ready::Evaluated,
            _ => self,
        }
    }
}
