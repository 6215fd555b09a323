//! Scheduling as ftrace events. Perfetto derives processor tracks and thread states from them.

use ichnos_model::Event;

use super::packet_writer::PacketWriter;
use super::samples::MOST_PROCESSORS;
use super::schema::{ftrace, packet, trace};
use crate::protobuf::{begin, end, push_bytes, push_signed, push_unsigned};
use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::scheduling::{EventLocation, next_thread};
use ichnos_analysis::events::thread_fields::{NamedThread, PreviousState};

/// Priority of a thread without a recorded priority. Linux priorities end at 140. Viewers draw threads below 100 as
/// real-time threads, and also threads without a priority.
const UNKNOWN_PRIORITY: u64 = i32::MAX as u64;

/// Appends a thread name, or nothing if it is unknown, because viewers would rename the thread.
pub(super) fn push_name(out: &mut Vec<u8>, field: u32, name: &str) {
    if !name.is_empty() {
        push_bytes(out, field, name.as_bytes());
    }
}

impl PacketWriter<'_> {
    /// Writes that a processor runs another thread, or that a thread can run. Returns `false` if a number is unknown
    /// or too large. For example, ftrace thread numbers have 31 bits.
    pub(super) fn scheduling(
        &mut self,
        event: &Event<'_>,
        class: &ViewerClass,
        location: &EventLocation<'_>,
    ) -> bool {
        let place = &location.place;
        let Some(next) = next_thread(event, class, place) else { return false };
        // The only processor of a trace needs a number that other traces do not use.
        let only = (!location.has_processors).then_some(u64::from(self.sequence.trace));
        let processor = place.processor.or(only);
        let Some(processor) = processor.filter(|processor| *processor < MOST_PROCESSORS) else {
            return false;
        };
        let threads = class.threads.as_ref();
        let own = place.thread.filter(|_| threads.is_some_and(|threads| threads.has_target()));
        let own = own.map(|number| NamedThread { number, name: "".into() });
        let previous = threads.and_then(|threads| threads.previous(event)).or(own);
        let state = threads.and_then(|threads| threads.previous_state(event));
        let begins = self.out.len();
        let is_written = match (class.form, previous) {
            (EventForm::Switch, Some(previous))
                if threads.is_some_and(|threads| threads.has_linux_states) =>
            {
                let Some(PreviousState::Linux(state)) = state else { return false };
                self.switch(processor, (previous, state), next)
            }
            (EventForm::Switch, previous) => self.run(processor, previous.zip(state), next),
            (_, Some(waker)) => self.waking(processor, waker, next),
            // For a running thread, it would end the processor slice.
            (_, None) => !location.is_running && self.can_run(processor, next),
        };
        if !is_written {
            self.out.truncate(begins);
        }
        is_written
    }

    /// Writes a thread switch.
    fn switch(
        &mut self,
        processor: u64,
        (previous, state): (NamedThread<'_>, i64),
        next: NamedThread<'_>,
    ) -> bool {
        self.ftrace_event(processor, [previous.number, next.number], |out| {
            let switch = begin(out, ftrace::SWITCH);
            push_name(out, ftrace::PREVIOUS_NAME, &previous.name);
            push_unsigned(out, ftrace::PREVIOUS_THREAD, previous.number);
            push_signed(out, ftrace::PREVIOUS_STATE, state);
            push_name(out, ftrace::NEXT_NAME, &next.name);
            push_unsigned(out, ftrace::NEXT_THREAD, next.number);
            push_unsigned(out, ftrace::NEXT_PRIORITY, UNKNOWN_PRIORITY);
            end(out, switch);
        })
    }

    /// Writes that a thread wakes another thread.
    fn waking(&mut self, processor: u64, waker: NamedThread<'_>, woken: NamedThread<'_>) -> bool {
        self.ftrace_event(processor, [waker.number, woken.number], |out| {
            let waking = begin(out, ftrace::WAKING);
            push_name(out, ftrace::WOKEN_NAME, &woken.name);
            push_unsigned(out, ftrace::WOKEN_THREAD, woken.number);
            end(out, waking);
        })
    }

    /// Writes an event of the first thread. Returns `false` if a number does not fit.
    fn ftrace_event(&mut self, processor: u64, threads: [u64; 2], push: impl FnOnce(&mut Vec<u8>)) -> bool {
        if threads.iter().any(|thread| i32::try_from(*thread).is_err()) {
            return false;
        }
        let at = begin(self.out, trace::PACKET);
        self.sequence.id.push(self.out);
        let bundle = begin(self.out, packet::FTRACE_EVENTS);
        push_unsigned(self.out, ftrace::PROCESSOR, processor);
        let record = begin(self.out, ftrace::EVENT);
        push_unsigned(self.out, ftrace::TIMESTAMP, self.time);
        push_unsigned(self.out, ftrace::THREAD, threads[0]);
        push(self.out);
        end(self.out, record);
        end(self.out, bundle);
        end(self.out, at)
    }
}
