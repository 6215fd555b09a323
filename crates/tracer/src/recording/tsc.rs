//! Time stamp counter of the processor.
#![allow(unsafe_code)]

/// Returns the counter.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn read() -> u64 {
    // SAFETY: all processors of this architecture have the counter, and the kernel lets programs read it: this is
    // checked before.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Returns zero: the counter is not used.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn read() -> u64 {
    0
}

/// Returns `true` if the kernel itself uses the counter as its clock: then it is the same on all processors, and counts
/// evenly.
pub(super) fn is_reliable() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64") && std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
}
