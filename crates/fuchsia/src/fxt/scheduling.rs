//! Thread scheduling on processors ("Scheduling Record" of the document).

use super::argument::Arguments;
use super::content::{RecordContent, bits};
use super::error::FxtError;
use super::reference::ThreadRef;

/// A scheduling change on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduling<'a> {
    /// A switch between two threads, in the older form.
    LegacySwitch(LegacySwitch),
    /// A switch between two threads.
    Switch(Switch<'a>),
    /// A thread becomes ready to run.
    Wakeup(Wakeup<'a>),
}

/// A switch between two threads (type 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegacySwitch {
    /// Time in ticks.
    pub ticks: u64,
    /// Processor number.
    pub processor: u8,
    /// State of the outgoing thread.
    pub state: u8,
    /// Outgoing thread.
    pub outgoing: ThreadRef,
    /// Priority of the outgoing thread. 0 for the idle thread.
    pub outgoing_priority: u8,
    /// Incoming thread.
    pub incoming: ThreadRef,
    /// Priority of the incoming thread. 0 for the idle thread.
    pub incoming_priority: u8,
}

/// A switch between two threads (type 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch<'a> {
    /// Time in ticks.
    pub ticks: u64,
    /// Processor number.
    pub processor: u16,
    /// State of the outgoing thread.
    pub state: u8,
    /// Id of the outgoing thread.
    pub outgoing: u64,
    /// Id of the incoming thread.
    pub incoming: u64,
    /// Arguments.
    pub arguments: Arguments<'a>,
}

/// A thread becomes ready to run (type 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup<'a> {
    /// Time in ticks.
    pub ticks: u64,
    /// Processor number.
    pub processor: u16,
    /// Thread id.
    pub thread: u64,
    /// Arguments.
    pub arguments: Arguments<'a>,
}

impl<'a> Scheduling<'a> {
    /// Reads a scheduling record from its content. Returns `None` if the type is unknown.
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Option<Self>, FxtError> {
        let kind = bits(header, 60, 63);
        if kind > 2 {
            return Ok(None);
        }
        let ticks = content.word()?;
        let processor = bits(header, 20, 35) as u16;
        Ok(Some(match kind {
            0 => Self::LegacySwitch(LegacySwitch {
                ticks,
                processor: bits(header, 16, 23) as u8,
                state: bits(header, 24, 27) as u8,
                outgoing: content.thread(bits(header, 28, 35))?,
                outgoing_priority: bits(header, 44, 51) as u8,
                incoming: content.thread(bits(header, 36, 43))?,
                incoming_priority: bits(header, 52, 59) as u8,
            }),
            1 => Self::Switch(Switch {
                ticks,
                processor,
                state: bits(header, 36, 39) as u8,
                outgoing: content.word()?,
                incoming: content.word()?,
                arguments: Arguments::take(content, bits(header, 16, 19))?,
            }),
            _ => Self::Wakeup(Wakeup {
                ticks,
                processor,
                thread: content.word()?,
                arguments: Arguments::take(content, bits(header, 16, 19))?,
            }),
        }))
    }
}
