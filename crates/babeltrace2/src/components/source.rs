//! Opened source components.

use std::ops::ControlFlow;

use ichnos::Session;

/// Traces of a source component, with its output ports.
pub(crate) struct OpenedSource {
    pub(crate) session: Session,
    pub(crate) ports: Vec<Port>,
}

/// Output port of a source: one data stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) name: String,
    /// Index of the trace in [`Session::traces`].
    pub(crate) trace: usize,
    /// Index of the data stream in its trace.
    pub(crate) stream: usize,
}

impl OpenedSource {
    /// Returns the names of the ports.
    pub(crate) fn port_names(&self) -> Vec<String> {
        self.ports.iter().map(|port| port.name.clone()).collect()
    }

    /// Returns the time of the first message, in nanoseconds from the origin of its clock.
    pub(crate) fn first_time(&self) -> Option<i128> {
        let streams = self.session.traces().iter().flat_map(|trace| trace.streams());
        let begins = streams.filter_map(|stream| stream.time_range.map(|(begin, _)| begin));
        begins.min().or_else(|| {
            let mut first: Option<i128> = None;
            self.session.stream_reader().for_each_head(|_, head| match head.nanoseconds() {
                Some(time) => {
                    first = Some(first.map_or(time, |first| first.min(time)));
                    ControlFlow::Break(())
                }
                None => ControlFlow::Continue(()),
            });
            first
        })
    }
}
