//! The order in which a backend's calls come.

use super::backend::Held;
use crate::engine::EngineError;

/// Error of reading [`Held::Kept`] before a placement was kept.
pub(crate) const NOTHING_KEPT: EngineError =
    EngineError::OutOfOrder { stage: "the placement kept", needs: "one was kept" };

/// Progress of a descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ready {
    Nothing,
    Started,
    Evaluated,
    Proposed,
}

impl Ready {
    /// An error unless `at_least` has been done; `stage` is what needs it.
    pub(crate) fn require(self, stage: &'static str, at_least: Ready) -> Result<(), EngineError> {
        let needs = match at_least {
            ready if self >= ready => return Ok(()),
            Ready::Nothing | Ready::Started => "the placer was given a start",
            Ready::Evaluated => "the start was evaluated",
            Ready::Proposed => "a step was proposed",
        };
        Err(EngineError::OutOfOrder { stage, needs })
    }

    /// An error unless what is `held` can be there; whether a placement was kept is asked apart.
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
