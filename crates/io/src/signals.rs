//! Signal actions of this process.

use std::mem::MaybeUninit;

/// Returns `true` if this process ignores a signal, for example SIGHUP if started by `nohup`. `false` for an unknown
/// signal.
#[cfg(unix)]
#[must_use]
pub fn ignores_signal(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the call does not set an action, and there is room for the current action.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeros are a valid `sigaction`, and so is the action that the system has written.
    let action = unsafe { action.assume_init() };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_the_system() {
        // The Rust runtime ignores the first signal, and leaves the second signal alone.
        assert!(ignores_signal(libc::SIGPIPE));
        assert!(!ignores_signal(libc::SIGSEGV));
        assert!(!ignores_signal(-1));
    }
}
