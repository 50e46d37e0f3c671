//! The order in which a backend's calls come.

use crate::engine::EngineError;

/// What of a descent has been done.
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
}
