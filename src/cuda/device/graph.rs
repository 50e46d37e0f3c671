//! Work recorded once and replayed with one launch.

use super::error::CudaError;
use super::gpu::Gpu;
use super::stream::{CaptureGuard, Resource};
use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode};

/// Captured work of a [`Gpu`]'s stream. Replaying it costs one launch instead of one per kernel.
pub struct Graph {
    graph: Option<CudaGraph>,
    gpu: Gpu,
}

// SAFETY: a CUDA graph may be used from any thread as long as uses do not overlap. `launch` and
// `drop`, the only uses, take `&mut self`; `Graph` is not `Sync` and hands out no reference to its
// contents.
unsafe impl Send for Graph {}

impl Graph {
    /// Captures the work that `body` enqueues; it does not run yet. Other threads that use the same
    /// [`Gpu`] meanwhile wait until the capture is over, so that the graph contains none of their
    /// work.
    ///
    /// Capture ends even if `body` fails or panics, so the stream stays usable.
    ///
    /// # Errors
    /// An error of `body`, or the driver's refusal to capture or to instantiate: work that waits
    /// cannot be captured. [`CudaError::Capturing`] inside another capture, and to `body` if it
    /// allocates memory; [`CudaError::Enqueuing`] inside a term of the objective.
    ///
    /// # Safety
    /// The graph keeps the addresses of every buffer, plan and mark that `body` uses. They must
    /// live, without being moved, for as long as the graph is launched. No launch may overlap with
    /// another use of them except on the same stream. `body` enqueues no work of several devices
    /// ([`Peers`](crate::cuda::Peers)): another thread that enqueues such work may wait for this
    /// one, and this one for it.
    pub unsafe fn capture<E: From<CudaError>>(
        gpu: &Gpu,
        body: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        let mut capture = Capture::begin(gpu)?;
        let outcome = body();
        let graph = capture.end();
        drop(capture);
        outcome?;
        let graph = graph?;
        if let Some(graph) = &graph {
            let stream = gpu.stream_guard()?;
            // SAFETY: the graph lives, and the stream is of its context, which is current.
            let uploaded = unsafe { sys::cuGraphUpload(graph.cu_graph_exec(), stream.raw()) };
            uploaded.result().map_err(CudaError::from)?;
        }
        Ok(Graph { graph, gpu: gpu.clone() })
    }

    /// Returns the device on whose stream the graph is launched.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Enqueues everything captured.
    ///
    /// # Errors
    /// When the driver refuses the launch; [`CudaError::Capturing`] inside a capture.
    pub fn launch(&mut self) -> Result<(), CudaError> {
        let stream = self.gpu.stream_guard()?;
        // A caller's graph cannot hold an instantiated graph.
        stream.check_not_capturing()?;
        if let Some(graph) = &self.graph {
            // SAFETY: the graph lives, and the stream is of its context, which is current.
            unsafe { sys::cuGraphLaunch(graph.cu_graph_exec(), stream.raw()) }.result()?;
        }
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(graph) = self.graph.take() {
            // SAFETY: a graph of this device, which is not launched any more.
            unsafe { self.gpu.free(Resource::Graph(graph)) };
        }
    }
}

/// Work that runs more than once. The first run uses plain launches, which load the kernels that a
/// capture cannot load. The second run captures the work, and later runs replay it.
#[derive(Default)]
pub(crate) enum Captured<G> {
    #[default]
    New,
    Ran,
    Ready(G),
}

impl<G> Captured<G> {
    /// Runs the work of `on` by plain launches, by a new graph, or by the existing graph.
    ///
    /// # Errors
    /// The error of the called function; the next run calls the same function again.
    pub(crate) fn run<C: ?Sized, E>(
        &mut self,
        on: &mut C,
        plain: impl FnOnce(&mut C) -> Result<(), E>,
        capture: impl FnOnce(&mut C) -> Result<G, E>,
        replay: impl FnOnce(&mut C, &mut G) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Captured::New = self {
            plain(on)?;
            *self = Captured::Ran;
            return Ok(());
        }
        let graph = self.ready(|| capture(on))?;
        replay(on, graph)
    }

    /// Returns the graph of work that has run, or makes it by `capture` if there is none.
    pub(crate) fn ready<E>(&mut self, capture: impl FnOnce() -> Result<G, E>) -> Result<&mut G, E> {
        if !matches!(self, Captured::Ready(_)) {
            *self = Captured::Ready(capture()?);
        }
        let Captured::Ready(graph) = self else { unreachable!("made above") };
        Ok(graph)
    }
}

/// An open capture; ended when dropped.
struct Capture<'a> {
    gpu: &'a Gpu,
    open: bool,
    /// Keeps other threads from enqueuing; released after the capture's end.
    _guard: CaptureGuard<'a>,
}

impl<'a> Capture<'a> {
    fn begin(gpu: &'a Gpu) -> Result<Self, CudaError> {
        let alone = gpu.capture_guard()?;
        // Calls that would break the capture are refused to this thread only.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        gpu.stream().begin_capture(mode)?;
        Ok(Capture { gpu, open: true, _guard: alone })
    }

    /// Ends the capture and makes a graph of the captured work.
    fn end(&mut self) -> Result<Option<CudaGraph>, CudaError> {
        self.open = false;
        // cudarc ends no capture until an error that it recorded earlier is taken.
        let recorded = self.gpu.context().check_err();
        let graph = self.gpu.stream().end_capture(CUgraphInstantiate_flags(0));
        recorded?;
        Ok(graph?)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if self.open {
            let _ = self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_plainly_then_is_captured_once_and_replayed() {
        let mut work = Captured::New;
        let mut calls = Vec::new();
        let mut run = |fails: bool| {
            let outcome = |name| if fails { Err(name) } else { Ok(()) };
            work.run(
                &mut calls,
                |calls| outcome("plain").inspect(|()| calls.push("plain")),
                |calls| outcome("capture").inspect(|()| calls.push("capture")),
                |calls, ()| outcome("replay").inspect(|()| calls.push("replay")),
            )
        };
        let fails = [true, false, true, false, true, false].map(|fails| run(fails).err());
        assert_eq!(fails, [Some("plain"), None, Some("capture"), None, Some("replay"), None]);
        assert_eq!(calls, ["plain", "capture", "replay", "replay"]);
    }

    #[test]
    fn a_graph_can_be_sent_to_another_thread() {
        fn sent<T: Send>() {}
        sent::<Graph>();
    }
}
