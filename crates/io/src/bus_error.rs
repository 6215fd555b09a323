//! SIGBUS handling for mapped files that shrink.
//!
//! Reading a page after the end of a mapped file, or a page that its device cannot deliver, raises the signal SIGBUS,
//! which ends the process. Another process can shorten a file at any time. So [`handle_bus_errors`] installs a handler
//! once. If the address is in a guarded mapping, the handler replaces missing pages by zeros and records them. The read
//! continues, and the reader calls [`Guard::lost`] when convenient. All other signals are passed on to the previous
//! handler. Without a call to [`handle_bus_errors`], the signal handling does not change, and the signal ends the
//! process.

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, OnceLock};

use ichnos_model::locks::IgnorePoison as _;
use libc::{c_int, c_void, siginfo_t};

/// Guard for a mapping, which can then be read even if pages are lost. Must live as long as the mapping.
#[derive(Debug)]
pub(crate) struct Guard(&'static GuardEntry);

impl Guard {
    /// Guards a mapping, which must start at a page boundary.
    pub(crate) fn new(mapping: &[u8]) -> Self {
        let begin = mapping.as_ptr() as usize;
        Self(GuardEntry::take(begin..(begin + mapping.len()).next_multiple_of(page_size())))
    }

    /// Returns the range from the first to the last lost byte, in a mapping of `len` bytes.
    pub(crate) fn lost(&self, len: usize) -> Range<usize> {
        // If a thread has read zeros, it must see below that bytes were lost.
        fence(Ordering::SeqCst);
        let end = self.0.lost_end.load(Ordering::Relaxed);
        if end == 0 {
            return 0..0;
        }
        let begin = self.0.lost_begin.load(Ordering::Relaxed);
        begin.min(len)..end.min(len)
    }

    /// Records lost bytes.
    pub(crate) fn record_loss(&self, bytes: Range<usize>) {
        self.0.record_loss(bytes);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

/// A registry entry. Entries are reused but never freed, so that a signal handler can search them at any time.
#[derive(Debug, Default)]
struct GuardEntry {
    /// Odd while `begin` and `end` change.
    version: AtomicUsize,
    /// Mapping address; 0 if unused.
    begin: AtomicUsize,
    end: AtomicUsize,
    /// Offset of the first lost byte in the mapping, and the offset after the last one (0 without losses).
    lost_begin: AtomicUsize,
    lost_end: AtomicUsize,
    /// End address and number of the most recently replaced pages.
    run_end: AtomicUsize,
    run_pages: AtomicUsize,
    next: AtomicPtr<GuardEntry>,
}

/// Head of the entry list.
static SLOTS: AtomicPtr<GuardEntry> = AtomicPtr::new(ptr::null_mut());

/// Free entries. A signal handler never uses them.
static FREE: Mutex<Vec<&'static GuardEntry>> = Mutex::new(Vec::new());

impl GuardEntry {
    fn take(addresses: Range<usize>) -> &'static Self {
        // The lock protects the registry.
        let mut free = FREE.lock().ignore_poison();
        let slot = free.pop().unwrap_or_else(|| {
            let slot: &'static Self = Box::leak(Box::default());
            slot.next.store(SLOTS.load(Ordering::Relaxed), Ordering::Relaxed);
            SLOTS.store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
            slot
        });
        slot.change(addresses);
        slot
    }

    fn give_back(&'static self) {
        let mut free = FREE.lock().ignore_poison();
        self.change(0..0);
        free.push(self);
    }

    fn change(&self, addresses: Range<usize>) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.begin.store(addresses.start, Ordering::Relaxed);
        self.end.store(addresses.end, Ordering::Relaxed);
        self.lost_begin.store(usize::MAX, Ordering::Relaxed);
        self.lost_end.store(0, Ordering::Relaxed);
        self.run_end.store(0, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// Returns the addresses of the mapping. Empty while they change, since this thread does not read the mapping then.
    fn addresses(&self) -> Range<usize> {
        let version = self.version.load(Ordering::Acquire);
        let addresses = self.begin.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let is_same = version % 2 == 0 && version == self.version.load(Ordering::Relaxed);
        if is_same { addresses } else { 0..0 }
    }

    /// Finds the mapping that contains an address. For the signal handler: it only loads.
    fn containing(address: usize) -> Option<(&'static Self, Range<usize>)> {
        let mut next = SLOTS.load(Ordering::Acquire);
        // SAFETY: the list entries were leaked, and only atomic operations change them.
        while let Some(slot) = unsafe { next.as_ref() } {
            let addresses = slot.addresses();
            if addresses.contains(&address) {
                return Some((slot, addresses));
            }
            next = slot.next.load(Ordering::Relaxed);
        }
        None
    }

    fn record_loss(&self, bytes: Range<usize>) {
        self.lost_begin.fetch_min(bytes.start, Ordering::SeqCst);
        self.lost_end.fetch_max(bytes.end, Ordering::SeqCst);
    }

    /// Replaces the page at an address by zeros. Returns `false` if the system refuses. For the signal handler: it
    /// makes one system call.
    fn replace(&self, addresses: &Range<usize>, address: usize) -> bool {
        let page = page_size();
        let begin = address - address % page;
        // Reading beyond the end of a file should not raise a signal for each page, but one bad device page should cost
        // only that page.
        let goes_on = self.run_end.load(Ordering::Relaxed) == begin;
        let pages = if goes_on { self.run_pages.load(Ordering::Relaxed).saturating_mul(2) } else { 1 };
        let end = begin.saturating_add(pages.saturating_mul(page)).min(addresses.end);
        // Record the loss before any zeros can be read.
        self.record_loss(begin - addresses.start..end - addresses.start);
        fence(Ordering::SeqCst);
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the pages belong to a read-only mapping that this crate created. It still exists, since it was just
        // read. Its reader knows that its bytes can change.
        let replaced = unsafe {
            libc::mmap(ptr::without_provenance_mut(begin), end - begin, libc::PROT_READ, flags, -1, 0)
        };
        self.run_end.store(end, Ordering::Relaxed);
        self.run_pages.store(pages, Ordering::Relaxed);
        replaced != libc::MAP_FAILED
    }
}

/// Memory page size in bytes.
fn page_size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    let known = SIZE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: the call has no side effects. It is made before the handler is installed.
    let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    SIZE.store(size, Ordering::Relaxed);
    size
}

/// Previous signal action.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// `true` after the handler was installed.
static HANDLED: AtomicBool = AtomicBool::new(false);

/// Installs the handler, if it is not installed.
pub(crate) fn handle_bus_errors() -> io::Result<()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _installing = INSTALLING.lock().ignore_poison();
    if HANDLED.load(Ordering::Acquire) {
        return Ok(());
    }
    page_size();
    let mut before = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, the call only fills the place for the current action, or returns an error.
    let before = unsafe {
        if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        before.assume_init()
    };
    // Must be set before the handler is installed, because the handler needs it.
    let _ = BEFORE.set(before);
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_bus_error;
    // SAFETY: all zeros are a valid value for this structure of integers. The handler has the signature for SA_SIGINFO,
    // and is safe to call in a signal handler. It runs on the signal stack of threads that have one, for example those
    // of the Rust runtime.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
    };
    if installed != 0 {
        return Err(io::Error::last_os_error());
    }
    HANDLED.store(true, Ordering::Release);
    Ok(())
}

extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid description to a handler with SA_SIGINFO. If the signal was not sent
    // by the system itself, the address is invalid and not used.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let is_fault = code > 0 && code != libc::BUS_ADRALN;
    if is_fault
        && let Some((slot, addresses)) = GuardEntry::containing(address)
        && slot.replace(&addresses, address)
    {
        return;
    }
    let Some(before) = BEFORE.get() else { return };
    match before.sa_sigaction {
        // Ignoring a fault would repeat it forever. The system does not ignore it either.
        libc::SIG_IGN if code <= 0 => {}
        // SAFETY: restores the previous, valid action or the default, with calls that are allowed in a signal
        // handler. The failed read is repeated, and then ends the process.
        libc::SIG_DFL | libc::SIG_IGN => unsafe {
            let mut action = *before;
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &action, ptr::null_mut());
            if code <= 0 {
                libc::raise(signal);
            }
        },
        // SAFETY: the address was installed as a handler with this signature, as the flag indicates.
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => unsafe {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(handler);
            handler(signal, info, context);
        },
        // SAFETY: as above, without the flag.
        handler => unsafe {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, ExitStatus};

    use super::*;
    use crate::Bytes;
    use crate::testing::TestDirectory;

    /// Variable with the role of a process that is ended by a signal.
    const ROLE: &str = "ICHNOS_TEST_BUS_ERROR";

    /// Variable with the directory for such a process, which cannot remove its own directory.
    const DIR: &str = "ICHNOS_TEST_DIRECTORY";

    /// Returns the exit status of a process with a role.
    fn end_of(role: &str) -> ExitStatus {
        let directory = TestDirectory::new("bus-error");
        let test = "bus_error::tests::all_other_signals_are_for_the_handler_before";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(ROLE, role).env(DIR, directory.path());
        command.output().unwrap().status
    }

    extern "C" fn leave(_: c_int) {
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(77) }
    }

    extern "C" fn leave_with_description(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
        // SAFETY: the system passes a valid description; the call ends the process at once.
        unsafe { libc::_exit(if (*info).si_signo == libc::SIGBUS { 78 } else { 1 }) }
    }

    fn set_handler(handler: libc::sighandler_t, flags: c_int) {
        // SAFETY: see `install`.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = flags;
            assert_eq!(libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()), 0);
        }
    }

    /// Reads a lost page in a mapping without a guard.
    fn read_elsewhere(directory: &Path) {
        let path = directory.join("elsewhere");
        std::fs::write(&path, vec![1; 1 << 16]).unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        // SAFETY: the test expects that reading it ends the process.
        let bytes = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        file.set_len(0).unwrap();
        std::hint::black_box(bytes[1 << 15]);
    }

    /// Returns the current signal action.
    fn action() -> (libc::sighandler_t, c_int) {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the call does not set an action. There is room for the current action, for which zeros are a valid
        // value.
        let action = unsafe {
            assert_eq!(libc::sigaction(libc::SIGBUS, ptr::null(), action.as_mut_ptr()), 0);
            action.assume_init()
        };
        (action.sa_sigaction, action.sa_flags)
    }

    /// The handler is only installed when the program asks for it. Then it also guards earlier mappings.
    fn read_unasked(path: &Path) {
        let before = action();
        let bytes = Bytes::from_file(path).unwrap();
        assert!(format!("{bytes:?}").contains("mapped"));
        assert_eq!(action(), before);
        handle_bus_errors().unwrap();
        let handled = action();
        assert_ne!(handled, before);
        handle_bus_errors().unwrap();
        assert_eq!(action(), handled);
        shorten(path);
        assert_eq!((bytes[9], bytes[1 << 16]), (1, 0));
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(76) }
    }

    /// Reads a lost page without the handler.
    fn read_unguarded(path: &Path) {
        let bytes = Bytes::from_file(path).unwrap();
        shorten(path);
        std::hint::black_box(bytes[1 << 16]);
    }

    fn shorten(path: &Path) {
        std::fs::File::options().write(true).open(path).unwrap().set_len(10).unwrap();
    }

    fn play(role: &str) {
        let simple: extern "C" fn(c_int) = leave;
        let described: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = leave_with_description;
        match role {
            "handler" => set_handler(simple as libc::sighandler_t, 0),
            "described" => set_handler(described as libc::sighandler_t, libc::SA_SIGINFO),
            "default" | "sent" => set_handler(libc::SIG_DFL, 0),
            "ignored" | "ignored-sent" => set_handler(libc::SIG_IGN, 0),
            _ => {}
        }
        let directory = PathBuf::from(std::env::var_os(DIR).unwrap());
        std::fs::write(directory.join("large"), vec![1; 1 << 17]).unwrap();
        match role {
            "unasked" => read_unasked(&directory.join("large")),
            "unguarded" => read_unguarded(&directory.join("large")),
            _ => {}
        }
        handle_bus_errors().unwrap();
        let bytes = Bytes::from_file(&directory.join("large")).unwrap();
        assert_eq!(bytes[0], 1);
        if role.contains("sent") {
            // SAFETY: the test expects that it ends the process.
            unsafe { libc::raise(libc::SIGBUS) };
        } else {
            read_elsewhere(&directory);
        }
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(79) }
    }

    #[test]
    fn all_other_signals_are_for_the_handler_before() {
        if let Some(role) = std::env::var_os(ROLE) {
            play(role.to_str().unwrap());
        }
        for role in ["rust", "default", "sent", "ignored"] {
            assert_eq!(end_of(role).signal(), Some(libc::SIGBUS), "{role}");
        }
        assert_eq!(end_of("handler").code(), Some(77));
        assert_eq!(end_of("described").code(), Some(78));
        assert_eq!(end_of("ignored-sent").code(), Some(79));
    }

    #[test]
    fn nothing_is_installed_unasked() {
        assert_eq!(end_of("unasked").code(), Some(76));
        assert_eq!(end_of("unguarded").signal(), Some(libc::SIGBUS));
    }

    #[test]
    fn changing_places_are_no_places() {
        let slot = GuardEntry::default();
        slot.change(4096..8192);
        assert_eq!(slot.addresses(), 4096..8192);
        slot.version.fetch_add(1, Ordering::Relaxed);
        assert!(slot.addresses().is_empty());
    }
}
