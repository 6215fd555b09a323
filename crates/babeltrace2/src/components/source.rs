//! Opened source components.

use ichnos::Session;
use ichnos::model::Window;

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

    /// Returns the time of the first message of a port, in nanoseconds from the origin of its clock.
    pub(crate) fn first_time(&self, port: usize) -> Option<i128> {
        let port = self.ports.get(port)?;
        let trace = self.session.traces().get(port.trace)?;
        let begin = trace.streams().get(port.stream)?.time_range.map(|(begin, _)| begin);
        begin.or_else(|| {
            let mut cursor = trace.cursor(port.stream, Window::default())?;
            std::iter::from_fn(|| cursor.next_head()).find_map(|head| head.nanoseconds())
        })
    }
}
