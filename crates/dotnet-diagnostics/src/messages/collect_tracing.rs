//! Requests that start and stop sessions.

use super::command::Command;
use super::message::Request;
use super::message_error::MessageError;
use super::payload::{PayloadReader, push_text};
use crate::providers::{Provider, Providers, Rundown};

/// Format of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamFormat {
    /// `NetPerf`, the format of .NET Core 2.
    NetPerf,
    /// nettrace.
    #[default]
    Nettrace,
}

/// Contents of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// Providers and rundown.
    pub providers: Providers,
    /// Size of the runtime's buffer, in MiB. Events that do not fit are lost.
    pub buffer_megabytes: u32,
    /// Format of the trace.
    pub format: StreamFormat,
    /// Record a stack with each event.
    pub stacks: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let providers = Providers::default();
        Self { providers, buffer_megabytes: 256, format: StreamFormat::default(), stacks: true }
    }
}

impl SessionOptions {
    /// Returns the oldest command that expresses all options. Older runtimes know only older commands.
    #[must_use]
    pub fn command(&self) -> Command {
        if self.providers.iter().any(|provider| provider.event_filter.is_some()) {
            return Command::CollectTracing5;
        }
        match (self.providers.rundown(), self.stacks) {
            (Rundown::Keywords(_), _) => Command::CollectTracing4,
            (_, false) => Command::CollectTracing3,
            (_, true) => Command::CollectTracing2,
        }
    }

    /// Creates a request. Options that the command does not know are left out.
    ///
    /// # Errors
    /// If a text is too long.
    pub fn request(&self, command: Command) -> Result<Request, MessageError> {
        let has_filters = command == Command::CollectTracing5;
        let mut payload = Vec::new();
        if has_filters {
            // Streaming session. The other type writes to the kernel's user events.
            payload.extend(0_u32.to_le_bytes());
        }
        payload.extend(self.buffer_megabytes.to_le_bytes());
        payload.extend((self.format as u32).to_le_bytes());
        let rundown = self.providers.rundown();
        match command {
            Command::CollectTracing => {}
            Command::CollectTracing2 => payload.push(u8::from(rundown != Rundown::Omitted)),
            Command::CollectTracing3 => {
                payload.extend([u8::from(rundown != Rundown::Omitted), u8::from(self.stacks)]);
            }
            _ => {
                payload.extend(rundown.keywords().to_le_bytes());
                payload.push(u8::from(self.stacks));
            }
        }
        let count = self.providers.iter().count() as u64;
        let limit = u64::from(u32::MAX);
        let count = u32::try_from(count).map_err(|_| MessageError::Limit {
            field: "providers",
            length: count,
            limit,
        })?;
        payload.extend(count.to_le_bytes());
        for provider in self.providers.iter() {
            push_provider(&mut payload, provider, has_filters)?;
        }
        Ok(Request { command, payload })
    }
}

fn push_provider(payload: &mut Vec<u8>, provider: &Provider, has_filter: bool) -> Result<(), MessageError> {
    payload.extend(provider.keywords.to_le_bytes());
    payload.extend((provider.level as u32).to_le_bytes());
    push_text(payload, &provider.name)?;
    push_text(payload, &provider.argument_text())?;
    if !has_filter {
        return Ok(());
    }
    let (is_enabling, ids) = match &provider.event_filter {
        Some(filter) => (filter.is_enabling, &*filter.ids),
        // Nothing is disabled.
        None => (false, &[][..]),
    };
    payload.push(u8::from(is_enabling));
    let length = ids.len() as u64;
    let limit = u64::from(u32::MAX);
    let count =
        u32::try_from(length).map_err(|_| MessageError::Limit { field: "event ids", length, limit })?;
    payload.extend(count.to_le_bytes());
    payload.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    Ok(())
}

/// Decodes the session id in the reply to a `CollectTracing` or `StopTracing` request.
///
/// # Errors
/// If the payload is too short.
pub fn session_id_from(payload: &[u8]) -> Result<u64, MessageError> {
    PayloadReader::new(payload).u64("session id")
}

/// Creates a `StopTracing` request.
#[must_use]
pub fn stop_tracing(session: u64) -> Request {
    Request { command: Command::StopTracing, payload: session.to_le_bytes().to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::EventFilter;

    fn options(provider: &str, rundown: Rundown) -> SessionOptions {
        let mut providers = Providers::new(&[], &[provider]).unwrap();
        providers.set_rundown(rundown);
        SessionOptions { providers, buffer_megabytes: 250, ..SessionOptions::default() }
    }

    /// Keywords, level, name and arguments of the provider `A:64:2`.
    const PROVIDER: &[u8] = b"\x64\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0A\0\0\0\0\0\0\0";

    fn expected(head: &[u8]) -> Vec<u8> {
        [head, b"\x01\0\0\0", PROVIDER].concat()
    }

    #[test]
    fn each_command_has_its_layout() {
        let options = SessionOptions { stacks: false, ..options("A:64:2", Rundown::Omitted) };
        let payload = |command| options.request(command).unwrap().payload;
        let sizes = b"\xfa\0\0\0\x01\0\0\0";
        assert_eq!(payload(Command::CollectTracing), expected(sizes));
        assert_eq!(payload(Command::CollectTracing2), expected(&[sizes, &b"\0"[..]].concat()));
        assert_eq!(payload(Command::CollectTracing3), expected(&[sizes, &b"\0\0"[..]].concat()));
        let keywords = [sizes, &[0; 8][..], &[0]].concat();
        assert_eq!(payload(Command::CollectTracing4), expected(&keywords));
        let with_filter = [&[0; 4][..], &expected(&keywords), &[0; 5]].concat();
        assert_eq!(payload(Command::CollectTracing5), with_filter);
    }

    /// Example in the section "Payloads" of the protocol, except for its wrong provider length.
    #[test]
    fn the_documented_request() {
        let request =
            options("MyEventSource:64:2", Rundown::Default).request(Command::CollectTracing).unwrap();
        let bytes = request.encode().unwrap();
        assert_eq!((bytes.len(), &bytes[14..20]), (80, &b"\x50\0\x02\x02\0\0"[..]));
        assert_eq!(&bytes[44..52], b"\x0e\0\0\0M\0y\0");
    }

    #[test]
    fn rundown_and_filters_choose_the_command() {
        let mut filtered = Providers::new(&[], &["A"]).unwrap();
        filtered.iter_mut().for_each(|provider| {
            provider.event_filter = Some(EventFilter { is_enabling: true, ids: vec![1, 300] });
        });
        let filtered = SessionOptions { providers: filtered, ..SessionOptions::default() };
        let payload = filtered.request(Command::CollectTracing5).unwrap().payload;
        assert!(payload.ends_with(b"\x01\x02\0\0\0\x01\0\0\0\x2c\x01\0\0"));
        assert_eq!(&payload[12..20], b"\x39\x01\x02\x80\0\0\0\0", "rundown keywords");
        for (rundown, stacks, command, byte) in [
            (Rundown::Default, true, Command::CollectTracing2, 1),
            (Rundown::Omitted, true, Command::CollectTracing2, 0),
            (Rundown::Default, false, Command::CollectTracing3, 1),
            (Rundown::Keywords(0x107), true, Command::CollectTracing4, 7),
        ] {
            let options = SessionOptions { stacks, ..options("A", rundown) };
            assert_eq!(options.command(), command, "{rundown:?}");
            assert_eq!(options.request(command).unwrap().payload[8], byte, "{rundown:?}");
        }
        assert_eq!(filtered.command(), Command::CollectTracing5);
    }

    #[test]
    fn sessions_are_stopped_by_id() {
        let request = stop_tracing(0x0102_0304_0506_0708);
        assert_eq!(request.payload, [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(session_id_from(&request.payload), Ok(0x0102_0304_0506_0708));
        assert!(session_id_from(&[1; 7]).is_err());
    }
}
