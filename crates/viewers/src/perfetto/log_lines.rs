//! Log lines as Android log lines, because viewers have a panel for those.

use ichnos_model::Event;
use ichnos_model::log::LogLevel;

use super::packet_writer::{PacketWriter, process_and_thread};
use super::schema::{android_log, packet, trace};
use super::sequence::PerfettoClass;
use crate::protobuf::{begin, end, push_bytes, push_unsigned};
use ichnos_analysis::events::class::EventPlace;

/// Returns the Android priority of a log level.
fn priority(level: LogLevel) -> u64 {
    match level {
        LogLevel::Trace => 2,
        LogLevel::Debug => 3,
        LogLevel::Info => 4,
        LogLevel::Warn => 5,
        LogLevel::Error => 6,
        LogLevel::Fatal => 7,
    }
}

impl PacketWriter<'_> {
    /// Writes an event as a log line. Omits an unknown priority, and a thread number that is unknown or needs more
    /// than 31 bits.
    pub(super) fn log_line(
        &mut self,
        event: &Event<'_>,
        class: &PerfettoClass,
        place: &EventPlace<'_>,
        message: &str,
    ) {
        let begins = self.out.len();
        let at = begin(self.out, trace::PACKET);
        push_unsigned(self.out, packet::TIMESTAMP, self.time);
        self.sequence.id.push(self.out);
        let log = begin(self.out, packet::ANDROID_LOG);
        let line = begin(self.out, android_log::EVENTS);
        if let Some((process, thread)) =
            process_and_thread(place).filter(|(_, thread)| *thread <= i32::MAX as u64)
        {
            push_unsigned(self.out, android_log::PROCESS, process);
            push_unsigned(self.out, android_log::THREAD, thread);
        }
        push_unsigned(self.out, android_log::TIME, self.time);
        let own = [&class.class.category, &class.class.name].into_iter().find(|name| !name.is_empty());
        let tag = class.log.tag(event).or_else(|| own.map(|name| name.as_str().into()));
        if let Some(tag) = tag {
            push_bytes(self.out, android_log::TAG, tag.as_bytes());
        }
        if let Some(level) = class.log.level(event) {
            push_unsigned(self.out, android_log::PRIORITY, priority(level));
        }
        push_bytes(self.out, android_log::MESSAGE, message.as_bytes());
        let fits = end(self.out, line) & end(self.out, log) & end(self.out, at);
        if !fits {
            self.out.truncate(begins);
        }
    }
}
