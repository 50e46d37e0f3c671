//! Work recorded once and replayed with one launch.

use super::device::Gpu;
use super::error::CudaError;
use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};

/// Work enqueued on a [`Gpu`]'s stream, captured: replaying it costs one launch
/// instead of one per kernel.
pub struct Graph {
    graph: Option<CudaGraph>,
    gpu: Gpu,
}

// SAFETY: a CUDA graph may be used from any thread as long as uses do not
// overlap. `launch` and `drop`, the only uses, take `&mut self`; `Graph` is not
// `Sync` and hands out no reference to what it holds.
unsafe impl Send for Graph {}

impl Graph {
    /// Captures what `body` enqueues; none of it runs yet.
    ///
    /// Capture ends whatever `body` does, even if it fails or panics, so the
    /// stream stays usable.
    ///
    /// # Errors
    /// What `body` returns, or the driver's refusal to capture or to
    /// instantiate: work that waits or allocates cannot be captured.
    ///
    /// # Safety
    /// The graph keeps the addresses of every buffer and plan `body` uses: they
    /// must live, where they are, for as long as the graph is launched, and no
    /// launch may overlap with another use of them except on the same stream.
    /// Nothing else may use the same [`Gpu`] during capture.
    pub unsafe fn capture<E: From<CudaError>>(
        gpu: &Gpu,
        body: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        gpu.stream()
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .map_err(CudaError::from)?;
        let capture = Capture(gpu);
        let outcome = body();
        let graph = capture.end();
        outcome?;
        let graph = graph?;
        if let Some(graph) = &graph {
            graph.upload().map_err(CudaError::from)?;
        }
        Ok(Graph { graph, gpu: gpu.clone() })
    }

    /// Enqueues everything captured.
    ///
    /// # Errors
    /// When the driver refuses the launch.
    pub fn launch(&mut self) -> Result<(), CudaError> {
        match &self.graph {
            Some(graph) => Ok(graph.launch()?),
            None => Ok(()),
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // A launch may still be under way.
        let _ = self.gpu.stream().synchronize();
    }
}

/// An open capture; ended when dropped.
struct Capture<'a>(&'a Gpu);

impl Capture<'_> {
    fn end(self) -> Result<Option<CudaGraph>, CudaError> {
        let graph = self.0.stream().end_capture(CUgraphInstantiate_flags(0));
        std::mem::forget(self);
        Ok(graph?)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let _ = self.0.stream().end_capture(CUgraphInstantiate_flags(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_can_be_sent_to_another_thread() {
        fn sent<T: Send>() {}
        sent::<Graph>();
    }
}
