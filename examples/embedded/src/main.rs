//! A controller of a greenhouse, without the standard library and without memory but its own: `core` and two functions
//! of C in place of a serial port. It writes packets to standard output. With the argument `metadata`, it writes the
//! metadata.
#![no_std]
#![no_main]

use core::ffi::{c_char, c_int, c_void};

use ichnos_tracer::{FullPolicy, Platform, StreamOptions, TraceEvent, TraceField, Tracer};

#[derive(Clone, Copy, TraceField)]
#[repr(u8)]
enum Valve {
    Closed,
    Open,
}

#[derive(TraceEvent)]
#[trace(level = "notice")]
struct Boot<'a> {
    firmware: &'a str,
    #[trace(flags(POWER_ON = 0, WATCHDOG = 1))]
    reasons: u8,
}

#[derive(TraceEvent)]
struct Sample {
    celsius: f32,
    #[trace(base = 16)]
    raw: [u16; 4],
}

#[derive(TraceEvent)]
struct ValveMoved {
    zone: u8,
    to: Valve,
}

#[derive(TraceEvent)]
struct Frame<'a> {
    #[trace(blob)]
    bytes: &'a [u8],
}

#[derive(TraceEvent)]
#[trace(level = "error")]
struct Fault {
    code: Option<u16>,
}

ichnos_tracer::event_set! { struct Events { Boot<'_>, Sample, ValveMoved, Frame<'_>, Fault } }

unsafe extern "C" {
    safe fn abort() -> !;
    unsafe fn write(file: c_int, bytes: *const c_void, length: usize) -> isize;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

/// A serial port: standard output. It takes three of four packets at once, so that packets wait.
struct Serial {
    cycles: u64,
    asked: u32,
}

impl Serial {
    fn send(bytes: &[u8]) -> bool {
        // SAFETY: the bytes are borrowed during the call.
        let written = unsafe { write(1, bytes.as_ptr().cast(), bytes.len()) };
        written == bytes.len() as isize
    }
}

impl Platform for Serial {
    fn now(&mut self) -> u64 {
        self.cycles += 1000;
        self.cycles
    }

    fn take(&mut self, packet: &[u8]) -> bool {
        self.asked += 1;
        self.asked & 3 != 0 && Self::send(packet)
    }
}

fn run() {
    let mut buffer = [0; 1024];
    let options = StreamOptions::new(1).with_policy(FullPolicy::Discard);
    let mut tracer = Tracer::<_, Events>::new(Serial { cycles: 0, asked: 0 }, &mut buffer, 256, options);
    tracer.record(&Boot { firmware: "greenhouse 1.4", reasons: 2 });
    for number in 0..100u16 {
        tracer.record(&Sample { celsius: f32::from(number) / 4.0, raw: [number, 1, 2, 3] });
        if number % 10 == 0 {
            tracer.record(&ValveMoved {
                zone: 3,
                to: if number % 20 == 0 { Valve::Open } else { Valve::Closed },
            });
            tracer.record(&Frame { bytes: &[0x55; 9] });
        }
    }
    tracer.record(&Fault { code: Some(17) });
    // Larger than a packet: discarded and counted.
    tracer.record(&Frame { bytes: &[0; 300] });
    while !tracer.flush() {}
}

#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, _arguments: *const *const c_char) -> c_int {
    if count == 1 {
        run();
        return 0;
    }
    i32::from(!write_metadata())
}

#[cfg(feature = "metadata")]
fn write_metadata() -> bool {
    use ichnos_tracer::{ClockDescription, TraceDescription};

    struct Text;

    impl core::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            if Serial::send(text.as_bytes()) { Ok(()) } else { Err(core::fmt::Error) }
        }
    }

    let clock = ClockDescription::new("cycles", 1_000_000);
    TraceDescription::new(clock).write::<Events>(&mut Text).is_ok()
}

#[cfg(not(feature = "metadata"))]
fn write_metadata() -> bool {
    false
}

#[link(name = "c")]
unsafe extern "C" {}
