//! Writes the log of an invented system to standard output. It generated `examples/hello-fuchsia/boot.log`.

use std::io::Write;

use ichnos_fuchsia::log::{Encoder, Event, Severity, Value};

/// Nanoseconds since system start.
const BEGIN: i64 = 12_345_678_901;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut buffer = vec![0; 64 << 10];
    let mut encoder = Encoder::new(&mut buffer);

    // A typical log line.
    let event = |at: i64, severity: Severity, message| Event {
        timestamp: BEGIN + at,
        severity: severity.raw(),
        pid: 1_103,
        tid: 1_105,
        message: Some(message),
        ..Event::default()
    };
    let mut write = |event: &Event<'_>| encoder.event(event);
    for round in 0..3u64 {
        let at = round as i64 * 20_000_000;
        let arguments: [(&str, Value<'_>); 2] = [("bytes", (1_400 + round).into()), ("port", "eth0".into())];
        write(&Event {
            target: Some("netstack"),
            arguments: &arguments,
            ..event(at, Severity::Info, "packet sent")
        })?;
        let arguments: [(&str, Value<'_>); 2] =
            [("celsius", (71.5 + round as f64).into()), ("fan", true.into())];
        write(&Event {
            target: Some("thermd"),
            arguments: &arguments,
            ..event(at + 3_000_000, Severity::Debug, "temperature")
        })?;
    }
    let arguments: [(&str, Value<'_>); 1] = [("celsius", 95.25.into())];
    write(&Event {
        target: Some("thermd"),
        arguments: &arguments,
        file: Some("src/thermd/main.rs"),
        line: Some(212),
        dropped: 4,
        ..event(70_000_000, Severity::Error, "too hot")
    })?;

    // A printf message, as older C programs wrote it.
    let mut record = encoder.begin(BEGIN + 71_000_000, Severity::Warn.raw())?;
    record.argument("printf", 0u64)?;
    record.argument("message", "slowing down to %d%% of %s")?;
    record.argument("", 40i64)?;
    record.argument("", "2.4 GHz")?;
    record.argument("cores", 4u64)?;
    record.finish();

    std::io::stdout().write_all(encoder.written())?;
    Ok(())
}
