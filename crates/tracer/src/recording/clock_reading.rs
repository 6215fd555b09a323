//! Readings of the processor's time stamp counter and of the system's monotonic clock.
#![allow(unsafe_code)]

/// Returns the time stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn tsc() -> u64 {
    // SAFETY: all processors of this architecture have the counter, and the kernel lets programs read it: this is
    // checked before.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Returns zero: the counter is not used.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn tsc() -> u64 {
    0
}

/// Returns `true` if the kernel itself uses the time stamp counter as its clock: then it is the same on all processors, and counts
/// evenly.
pub(super) fn is_tsc_reliable() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64") && std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
}

/// Returns the nanoseconds of the monotonic clock. The difference of two `Instant`s takes four times as many instructions.
#[inline]
pub(super) fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the function writes to the structure, which lives as long as the call. All systems have this clock, so it
    // cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.cast_unsigned())
}
