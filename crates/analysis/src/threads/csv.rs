//! Thread reports as comma-separated values.

use super::report::{ThreadReport, program_label, thread_label};
use super::waker::Waker;
use crate::events::{ThreadState, since_origin};
use crate::stats::push_line;

impl ThreadReport {
    /// Returns the threads, or the path's steps, as CSV with a title line. Times are in nanoseconds.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        if let Some(path) = &self.path {
            let titles = ["begin_ns", "end_ns", "state", "thread", "name", "waits_in", "ended_by"];
            push_line(&mut text, owned(&titles));
            for step in &path.steps {
                let waker = match &step.waker {
                    Some(Waker::Thread(thread, names)) => thread_label(*thread, names),
                    Some(Waker::Interrupt(name)) => name.clone().unwrap_or_else(|| "interrupt".to_owned()),
                    None => String::new(),
                };
                let cells = [
                    since_origin(step.begin).to_string(),
                    since_origin(step.end).to_string(),
                    step.state.name().to_owned(),
                    step.thread.to_string(),
                    step.names.name.clone().unwrap_or_default(),
                    step.reason.clone().unwrap_or_default(),
                    waker,
                ];
                push_line(&mut text, cells);
            }
            return text;
        }
        let states = ThreadState::ALL.map(|state| format!("{}_ns", state.name()));
        let titles = owned(&["thread", "name", "program"]).into_iter().chain(states);
        push_line(&mut text, titles.chain(owned(&["switches", "waits"])));
        for thread in &self.threads {
            let texts = [
                thread.thread.to_string(),
                thread.names.name.clone().unwrap_or_default(),
                program_label(thread.thread, &thread.names),
            ];
            let numbers = thread.times.into_iter().chain([thread.switches, thread.waits]);
            push_line(&mut text, texts.into_iter().chain(numbers.map(|number| number.to_string())));
        }
        text
    }
}
