//! Scheduling as events of ftrace, from which Perfetto makes the tracks of processors and the states of threads.

use ichnos_model::Event;

use super::packet_writer::PacketWriter;
use super::samples::MOST_PROCESSORS;
use super::schema::{ftrace, packet, trace};
use crate::viewers::class::{EventForm, EventPlace, ViewerClass};
use crate::viewers::protobuf::{begin, end, push_bytes, push_signed, push_unsigned};
use crate::viewers::scheduling::next_thread;
use crate::viewers::thread_fields::NamedThread;

/// Priority of threads that are not real-time, as which viewers draw those without one.
const NORMAL_PRIORITY: u64 = 120;

impl PacketWriter<'_> {
    /// Writes that a processor runs another thread, or that a thread can run. Returns `false` if a number is unknown or
    /// does not fit: Perfetto has 31 bits for threads.
    pub(super) fn scheduling(
        &mut self,
        event: &Event<'_>,
        class: &ViewerClass,
        place: &EventPlace<'_>,
    ) -> bool {
        let fits = |thread: &NamedThread<'_>| i32::try_from(thread.number).is_ok();
        let processor = place.processor.unwrap_or_default();
        let Some(next) = next_thread(event, class, place).filter(fits) else { return false };
        if processor >= MOST_PROCESSORS {
            return false;
        }
        let threads = class.threads.as_ref();
        let own = NamedThread { number: place.thread.unwrap_or_default(), name: "" };
        let previous = threads.and_then(|threads| threads.previous(event)).unwrap_or(own);
        if !fits(&previous) {
            return false;
        }
        let begins = self.out.len();
        let at = begin(self.out, trace::PACKET);
        self.sequence.id.push(self.out);
        let bundle = begin(self.out, packet::FTRACE_EVENTS);
        push_unsigned(self.out, ftrace::PROCESSOR, processor);
        let record = begin(self.out, ftrace::EVENT);
        push_unsigned(self.out, ftrace::TIMESTAMP, self.time);
        push_unsigned(self.out, ftrace::THREAD, previous.number);
        if class.form == EventForm::Switch {
            let switch = begin(self.out, ftrace::SWITCH);
            push_bytes(self.out, ftrace::PREVIOUS_NAME, previous.name.as_bytes());
            push_unsigned(self.out, ftrace::PREVIOUS_THREAD, previous.number);
            let state = threads.map_or(0, |threads| threads.previous_state(event));
            push_signed(self.out, ftrace::PREVIOUS_STATE, state);
            push_bytes(self.out, ftrace::NEXT_NAME, next.name.as_bytes());
            push_unsigned(self.out, ftrace::NEXT_THREAD, next.number);
            push_unsigned(self.out, ftrace::NEXT_PRIORITY, NORMAL_PRIORITY);
            end(self.out, switch);
        } else {
            let waking = begin(self.out, ftrace::WAKING);
            push_bytes(self.out, ftrace::WOKEN_NAME, next.name.as_bytes());
            push_unsigned(self.out, ftrace::WOKEN_THREAD, next.number);
            end(self.out, waking);
        }
        end(self.out, record);
        end(self.out, bundle);
        let fits = end(self.out, at);
        if !fits {
            self.out.truncate(begins);
        }
        fits
    }
}
