//! Call stack samples and the modules for their addresses ("Profiler record" of the document).

use super::content::{RecordContent, bits};
use super::error::FxtError;
use super::reference::ThreadRef;

/// A profiler record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profiler<'a> {
    /// A module: an executable or a library.
    Module(Module<'a>),
    /// A module mapped into the memory of a process.
    Mapping(ModuleMapping),
    /// A call stack sample.
    Backtrace(Backtrace<'a>),
}

/// A module (type 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module<'a> {
    /// Time in ticks.
    pub ticks: u64,
    /// Process, and a thread (always 0 from Fuchsia's profiler).
    pub thread: ThreadRef,
    /// Module id within the process.
    pub id: u16,
    /// Name.
    pub name: &'a [u8],
    /// Build id.
    pub build_id: &'a [u8],
}

/// A module mapped into the memory of a process (type 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleMapping {
    /// Time in ticks.
    pub ticks: u64,
    /// Process, and a thread (always 0 from Fuchsia's profiler).
    pub thread: ThreadRef,
    /// Module id within the process.
    pub module: u16,
    /// Flags: 1 readable, 2 writable, 4 executable.
    pub flags: u8,
    /// First address.
    pub begin: u64,
    /// Size in bytes.
    pub size: u64,
    /// Address of the first byte within the module.
    pub module_address: u64,
}

/// A call stack sample (type 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backtrace<'a> {
    /// Time in ticks.
    pub ticks: u64,
    /// Thread.
    pub thread: ThreadRef,
    /// Flags with an unknown meaning.
    pub flags: u32,
    /// Addresses as words, innermost frame first.
    pub frames: &'a [u8],
}

impl Backtrace<'_> {
    /// Returns the addresses, innermost frame first.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.frames.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
    }
}

impl<'a> Profiler<'a> {
    /// Reads a profiler record from its content. Returns `None` if the type is unknown.
    pub(super) fn read(header: u64, content: &mut RecordContent<'a>) -> Result<Option<Self>, FxtError> {
        let kind = bits(header, 16, 19);
        if kind > 2 {
            return Ok(None);
        }
        let ticks = content.word()?;
        let reference = bits(header, 20, 27);
        let id = bits(header, 28, 43) as u16;
        Ok(Some(match kind {
            0 => {
                let (name, build_id) = (bits(header, 44, 51), bits(header, 52, 59));
                let words = name.div_ceil(8) + build_id.div_ceil(8);
                Self::Module(Module {
                    ticks,
                    thread: content.module_thread(reference, words)?,
                    id,
                    name: content.stream(name)?,
                    build_id: content.stream(build_id)?,
                })
            }
            1 => Self::Mapping(ModuleMapping {
                ticks,
                thread: content.module_thread(reference, 3)?,
                module: id,
                flags: bits(header, 44, 46) as u8,
                begin: content.word()?,
                size: content.word()?,
                module_address: content.word()?,
            }),
            _ => Self::Backtrace(Backtrace {
                ticks,
                thread: content.thread(reference)?,
                flags: bits(header, 36, 63) as u32,
                frames: content.stream(bits(header, 28, 35) * 8)?,
            }),
        }))
    }
}
