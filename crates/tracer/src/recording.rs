//! Recordings of programs with an operating system: a ring of packets for each thread, in files that are mapped into
//! memory.

mod clock_reading;
mod earlier_file;
mod earlier_files;
mod file_limit;
mod file_name;
mod fork;
mod metadata_file;
mod packet_file;
mod recording_clock;
mod recording_options;
mod ring_pool;
mod snapshot;
mod switch;
#[cfg(test)]
mod tests;
mod thread_name;
mod thread_ring;
mod trace_directory;

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::recording_clock::ClockSource;
pub use self::recording_options::{RecordingOptions, SizeLimit};

use self::ring_pool::RingPool;
use self::switch::{recording, switch_off, switch_on};
use self::thread_ring::{EventPlace, ThreadRing};
use self::trace_directory::TraceDirectory;
use crate::description::EventDescription;
use crate::event::{EventSite, TraceEvent};

/// The recording.
static CURRENT: Mutex<CurrentRecording> = Mutex::new(CurrentRecording { begun: 0, pool: None });

struct CurrentRecording {
    /// Number of recordings so far.
    begun: u16,
    pool: Option<Arc<RingPool>>,
}

/// Id of classes that could not be described yet: their events are lost.
pub(crate) const UNDESCRIBED: u16 = u16::MAX;

/// Number of events of the recording that no ring has counted. A signal handler can count them, too.
static LOST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static RING: RefCell<OwnRing> = const { RefCell::new(OwnRing { number: 0, ring: None }) };
}

/// The ring of a thread.
struct OwnRing {
    /// Number of its recording.
    number: u16,
    ring: Option<(ThreadRing, Arc<RingPool>)>,
}

impl OwnRing {
    /// Gives the ring back, so that another thread can use it.
    fn leave(&mut self) {
        let Some((ring, pool)) = self.ring.take() else { return };
        if pool.directory.process != std::process::id() {
            // The file belongs to the parent process.
            return;
        }
        match is_current(&pool) {
            true => pool.give_back(ring),
            false => drop(ring.finish()),
        }
    }
}

impl Drop for OwnRing {
    fn drop(&mut self) {
        self.leave();
    }
}

fn current() -> MutexGuard<'static, CurrentRecording> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the recording with a number, if it has not finished.
fn pool(number: u16) -> Option<Arc<RingPool>> {
    current().pool.clone().filter(|pool| pool.directory.number == number)
}

/// Returns `true` if a recording has not finished.
fn is_current(pool: &RingPool) -> bool {
    current().pool.as_ref().is_some_and(|current| current.directory.number == pool.directory.number)
}

/// Returns `true` if events are recorded now.
#[inline]
#[must_use]
pub fn is_recording() -> bool {
    recording() != 0
}

/// Records an event, if there is a recording.
///
/// It takes no lock, no memory and no system call, except for the first event of a thread or a class in a recording.
/// Where a file is full, and four times a second, there are also system calls.
///
/// # Signal handlers
///
/// A signal handler can record, also if it interrupts code that allocates memory. But the first event of a thread or a
/// class in a recording must not be in a handler: it takes locks and memory, and if the interrupted code has the lock,
/// the handler waits forever. While a class cannot be described because the disk is full, each of its events is like the
/// first one. If a handler interrupts another event, its own one is lost, and counted. Like all handlers with system
/// calls, it must restore `errno`.
#[inline]
pub fn record<E: TraceEvent>(event: &E) {
    let number = recording();
    if number != 0 {
        record_in(number, event);
    }
}

#[inline(never)]
fn record_in<E: TraceEvent>(number: u16, event: &E) {
    let Some(id) = E::site().id(number).or_else(|| describe(number, E::site(), &E::DESCRIPTION)) else {
        return;
    };
    let size = E::FIXED.saturating_add(event.variable_size());
    write_event(number, EventPlace { id, alignment: E::ALIGNMENT, size }, |out| event.write(out));
}

/// Describes a class that is not a Rust type, in the recording with a number.
#[cfg(any(feature = "tracing", feature = "log"))]
pub(crate) fn describe_class(number: u16, class: &EventDescription<'_>) -> u16 {
    pool(number).and_then(|pool| pool.directory.add_class(class)).unwrap_or(UNDESCRIBED)
}

/// Returns the number of the recording that takes events.
#[cfg(any(feature = "tracing", feature = "log"))]
#[inline]
pub(crate) fn recording_number() -> Option<u16> {
    Some(recording()).filter(|number| *number != 0)
}

/// Records an event of a class from [`describe_class`], with its payload.
#[cfg(any(feature = "tracing", feature = "log"))]
pub(crate) fn record_bytes(number: u16, id: u16, payload: &[u8]) {
    let place = EventPlace { id, alignment: 1, size: payload.len() };
    write_event(number, place, |out| crate::VariablePart::new(out).put(payload));
}

/// Writes an event to the ring of this thread.
#[inline]
fn write_event(number: u16, place: EventPlace, write: impl FnOnce(&mut [u8])) {
    let is_written = RING.try_with(|ring| {
        let mut ring = ring.try_borrow_mut().ok()?;
        // A signal handler sees the borrow before the ring changes.
        compiler_fence(Ordering::SeqCst);
        if ring.number != number || ring.ring.is_none() {
            renew(number, &mut ring)?;
        }
        if place.id != UNDESCRIBED
            && let Some((ring, _)) = &mut ring.ring
        {
            ring.record(place, write);
        }
        compiler_fence(Ordering::SeqCst);
        Some(())
    });
    if !matches!(is_written, Ok(Some(()))) || place.id == UNDESCRIBED {
        lose();
    }
}

/// Gives this thread a ring of a recording.
#[cold]
#[inline(never)]
fn renew(number: u16, own: &mut OwnRing) -> Option<()> {
    own.leave();
    let pool = pool(number)?;
    let mut ring = pool.take()?;
    ring.assign(thread_id());
    *own = OwnRing { number, ring: Some((ring, pool)) };
    Some(())
}

fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// Counts an event that no ring has counted.
#[cold]
#[inline(never)]
pub(crate) fn lose() {
    LOST.fetch_add(1, Ordering::Relaxed);
}

/// Describes a class in the metadata. Returns its id.
#[cold]
#[inline(never)]
fn describe(number: u16, site: &EventSite, class: &EventDescription<'_>) -> Option<u16> {
    let pool = pool(number)?;
    let Some(id) = pool.directory.add_class(class) else { return Some(UNDESCRIBED) };
    // Two threads can describe a class twice. Both ids are then good.
    site.set_id(number, id);
    Some(id)
}

/// A recording of the events of this process, from [`Recording::start`] until it is dropped.
///
/// There is one at a time. A child process that was forked records nothing, unless it starts a recording itself.
#[derive(Debug)]
pub struct Recording {
    pool: Arc<RingPool>,
}

/// What a recording was.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RecordingSummary {
    /// Number of events that the finished data streams and threads without one have discarded. The trace has these
    /// numbers for each data stream.
    pub discarded: u64,
}

impl Recording {
    /// Starts a recording.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the directory has a trace, also of another program, and
    /// [`io::ErrorKind::ResourceBusy`] if there is a recording already. Other errors of the file system.
    pub fn start(options: RecordingOptions) -> io::Result<Self> {
        let mut current = current();
        if current.pool.as_ref().is_some_and(|pool| pool.directory.process == std::process::id()) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "there is a recording already"));
        }
        let number =
            current.begun.checked_add(1).ok_or_else(|| io::Error::other("more than 65535 recordings"))?;
        let path = options.directory.clone();
        let directory = TraceDirectory::create(options.corrected(), number)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        let pool = Arc::new(RingPool::new(directory));
        fork::switch_off_in_children();
        LOST.store(0, Ordering::Relaxed);
        *current = CurrentRecording { begun: number, pool: Some(Arc::clone(&pool)) };
        // Filters can record events.
        drop(current);
        switch_on(number);
        Ok(Self { pool })
    }

    /// Starts a recording if the environment variable `ICHNOS_TRACE` names a directory. The trace is below it, in a
    /// directory for this process.
    ///
    /// # Errors
    /// As for [`Recording::start`].
    pub fn start_from_environment() -> io::Result<Option<Self>> {
        let Some(root) = std::env::var_os("ICHNOS_TRACE").filter(|root| !root.is_empty()) else {
            return Ok(None);
        };
        let program = std::env::current_exe().unwrap_or_default();
        let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let begin = PathBuf::from(root).join(format!("{program}-{}", std::process::id()));
        let mut path = begin.clone();
        // Process ids are used again.
        for number in 2.. {
            if !path.exists() {
                break;
            }
            path = begin.with_file_name(format!("{program}-{}-{number}", std::process::id()));
        }
        Self::start(RecordingOptions::new(path)).map(Some)
    }

    /// Returns the directory of the trace.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.pool.directory.path
    }

    /// Takes no events until [`resume`](Self::resume).
    pub fn pause(&self) {
        switch_off();
    }

    /// Takes events again.
    pub fn resume(&self) {
        if is_current(&self.pool) && self.pool.directory.process == std::process::id() {
            switch_on(self.pool.directory.number);
        }
    }

    /// Copies what was recorded until now into another directory, as a trace of its own. Recording goes on.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the other directory exists. Other errors of the file system.
    pub fn snapshot(&self, to: impl AsRef<Path>) -> io::Result<()> {
        snapshot::copy(&self.pool.directory, to.as_ref())
    }

    /// Ends the recording. The files of threads that still run, except for this one, keep their padding.
    pub fn finish(self) -> RecordingSummary {
        RecordingSummary { discarded: self.end() }
    }

    fn end(&self) -> u64 {
        if self.pool.directory.process != std::process::id() || !is_current(&self.pool) {
            return 0;
        }
        switch_off();
        // A thread that is ending must not find itself.
        let _ = RING.try_with(|ring| ring.try_borrow_mut().map(|mut ring| ring.leave()));
        let discarded = self.pool.finish() + LOST.load(Ordering::Relaxed);
        current().pool = None;
        discarded
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.end();
    }
}
