//! Thread reports as JSON.

use ichnos_json::write::ObjectWriter;

use super::report::ThreadReport;
use super::waker::Waker;
use crate::events::{ThreadNames, ThreadState, since_origin};

impl ThreadReport {
    /// Writes the report as object members. Times are in nanoseconds. `top` is the maximum number of threads.
    pub fn write_json(&self, object: &mut ObjectWriter<'_>, top: usize) {
        object.integer("begin_ns", self.range.map(|(first, _)| since_origin(first).into()));
        object.integer("end_ns", self.range.map(|(_, last)| since_origin(last).into()));
        let mut list = object.member("processors").array();
        for processor in &self.processors {
            let mut entry = list.element().object();
            entry.member("trace").unsigned(processor.trace.into());
            entry.unsigned("processor", processor.processor);
            entry.member("used_ns").unsigned(processor.used);
            entry.end();
        }
        list.end();
        let mut list = object.member("threads").array();
        for thread in self.threads.iter().take(top) {
            let mut entry = list.element().object();
            entry.member("trace").unsigned(thread.trace.into());
            write_thread(&mut entry, thread.thread, &thread.names);
            for (state, time) in ThreadState::ALL.into_iter().zip(thread.times) {
                entry.named(&format!("{}_ns", state.name())).unsigned(time);
            }
            entry.member("switches").unsigned(thread.switches);
            entry.member("waits").unsigned(thread.waits);
            entry.end();
        }
        list.end();
        object.member("threads_left_out").unsigned(self.threads.len().saturating_sub(top) as u64);
        let mut list = object.member("longest_waits").array();
        for wait in &self.waits {
            let mut entry = list.element().object();
            entry.member("trace").unsigned(wait.trace.into());
            write_thread(&mut entry, wait.thread, &wait.names);
            entry.member("begin_ns").signed(since_origin(wait.begin));
            entry.member("end_ns").signed(since_origin(wait.end));
            write_cause(&mut entry, wait.state, wait.reason.as_deref(), wait.waker.as_ref());
            entry.end();
        }
        list.end();
        let Some(path) = &self.path else { return };
        let mut list = object.member("path").array();
        for step in &path.steps {
            let mut entry = list.element().object();
            entry.member("trace").unsigned(step.trace.into());
            write_thread(&mut entry, step.thread, &step.names);
            entry.member("begin_ns").signed(since_origin(step.begin));
            entry.member("end_ns").signed(since_origin(step.end));
            entry.unsigned("processor", step.processor);
            write_cause(&mut entry, step.state, step.reason.as_deref(), step.waker.as_ref());
            entry.end();
        }
        list.end();
        object.member("path_is_complete").boolean(path.is_complete);
    }
}

fn write_thread(object: &mut ObjectWriter<'_>, thread: u64, names: &ThreadNames) {
    object.member("thread").unsigned(thread);
    object.string("name", names.name.as_deref());
    object.unsigned("process", names.process);
    object.string("process_name", names.process_name.as_deref());
}

fn write_cause(
    object: &mut ObjectWriter<'_>,
    state: ThreadState,
    reason: Option<&str>,
    waker: Option<&Waker>,
) {
    object.member("state").string(state.name());
    object.string("waits_in", reason);
    match waker {
        Some(Waker::Thread(thread, names)) => {
            let mut waker = object.member("ended_by").object();
            write_thread(&mut waker, *thread, names);
            waker.end();
        }
        Some(Waker::Interrupt(name)) => {
            let mut waker = object.member("ended_by").object();
            waker.member("interrupt").string(name.as_deref().unwrap_or_default());
            waker.end();
        }
        None => {}
    }
}
