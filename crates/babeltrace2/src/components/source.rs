//! Opened source components.

use ichnos::Session;
use ichnos::model::{OpenedTrace, Window};

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

    /// Returns the time of the first message of each port, in nanoseconds from the origin of its clock.
    pub(crate) fn first_times(&self) -> Vec<Option<i128>> {
        if self.session.is_live() {
            return vec![None; self.ports.len()];
        }
        let begins: Vec<Vec<Option<i128>>> =
            self.session.traces().iter().map(|trace| begins(trace.as_ref())).collect();
        let time = |port: &Port| {
            let begin = *begins.get(port.trace)?.get(port.stream)?;
            begin.or_else(|| {
                let trace = self.session.traces().get(port.trace)?;
                let mut cursor = trace.cursor(port.stream, Window::default())?;
                std::iter::from_fn(|| cursor.next_head()).find_map(|head| head.nanoseconds())
            })
        };
        self.ports.iter().map(time).collect()
    }
}

/// Returns the first time in the packets of each data stream.
fn begins(trace: &dyn OpenedTrace) -> Vec<Option<i128>> {
    let mut begins = Vec::new();
    trace.for_each_stream(&mut |summary| begins.push(summary.time_range.map(|(begin, _)| begin)));
    begins
}
