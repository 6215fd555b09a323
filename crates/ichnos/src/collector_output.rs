//! Collectors of call stacks, tasks and the like as outputs of a pass.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use ichnos_io::{
    CreateError, JoinResult, Lane, MessageOrder, Output, OutputBlock, Worker, WorkerFlow, WriteReport,
};
use ichnos_model::{IgnorePoison as _, Message, Sink};

/// Place of a collector while no worker has it.
type CollectorPlace<S> = Arc<Mutex<Option<S>>>;

/// Output that passes all events and losses, merged by time, to a collector that evaluates them as a whole: a
/// [`StackCollector`](ichnos_analysis::StackCollector), a [`TaskCollector`](ichnos_analysis::TaskCollector), a
/// [`ThreadCollector`](ichnos_analysis::ThreadCollector), or a sink of your own.
///
/// ```
/// use ichnos::CollectorOutput;
/// use ichnos::analysis::{TaskCollector, TaskOptions};
/// use ichnos::prelude::*;
///
/// # if !cfg!(feature = "xtrace") { return Ok(()) }
/// # let path = "../../examples/hello-xtrace";
/// let session = ichnos::open([path], &OpenOptions::default())?;
/// let output = CollectorOutput::new(TaskCollector::new(TaskOptions::default()));
/// session.reader()?.pass().write(&output)?;
/// let tasks = output.into_collector().map(TaskCollector::finish).unwrap();
/// println!("{}", tasks.graph(0).to_text(&Default::default()));
/// # assert!(!tasks.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CollectorOutput<S> {
    collector: CollectorPlace<S>,
}

impl<S> CollectorOutput<S> {
    /// Makes an output of a collector.
    pub fn new(collector: S) -> Self {
        Self { collector: Arc::new(Mutex::new(Some(collector))) }
    }

    /// Returns the collector, unless a pass with this output has failed.
    #[must_use]
    pub fn into_collector(self) -> Option<S> {
        self.collector.lock().ignore_poison().take()
    }
}

impl<S: Sink + Send + 'static> Output for CollectorOutput<S> {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        let collector = self.collector.lock().ignore_poison().take();
        Box::new(CollectorWorker { collector, place: Arc::clone(&self.collector) })
    }

    fn join(&self, _: OutputBlock) -> io::Result<JoinResult> {
        Ok(JoinResult::Done)
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        Ok(WriteReport::default())
    }
}

/// Passes events to the collector, and puts it back at the end.
struct CollectorWorker<S> {
    collector: Option<S>,
    place: CollectorPlace<S>,
}

impl<S: Sink> Worker for CollectorWorker<S> {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        let (Some(collector), Message::Event(_) | Message::DiscardedEvents(_) | Message::DiscardedPackets(_)) =
            (&mut self.collector, message)
        else {
            return Ok(WorkerFlow::Continue);
        };
        Ok(match collector.message(message)? {
            ControlFlow::Continue(()) => WorkerFlow::Continue,
            ControlFlow::Break(()) => WorkerFlow::Stop,
        })
    }

    fn take(&mut self) -> Option<OutputBlock> {
        None
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(collector) = self.collector.take() {
            *self.place.lock().ignore_poison() = Some(collector);
        }
        Ok(())
    }
}
