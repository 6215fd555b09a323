//! Collects OpenTelemetry requests.

use std::time::Instant;

use ichnos::collect::{CollectError, Notice, OtlpCollector, RecordStoreOptions};
use ichnos::export::text::{count, grouped, size};
use ichnos::otlp::receiver::ReceiverOptions;

use super::collector_wait::wait_for_end;
use super::counted_line::{print_counts, print_line};
use crate::args::CollectArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::{Console, interrupt};

/// Collects requests at an address until a signal.
pub(super) fn collect(address: &str, args: &CollectArgs, console: Console) -> Result<Exit, Failure> {
    let invalid = |error: std::io::Error| Failure::new(format!("--listen {address}: {error}"));
    let mut receiver = ReceiverOptions::from_address(address).map_err(invalid)?;
    receiver.most_connections = args.connections.unwrap_or(receiver.most_connections);
    receiver.idle = args.idle.unwrap_or(receiver.idle);
    let mut options = RecordStoreOptions::default();
    options.file_bytes = args.segment_size;
    options.file_age = args.segment_age;
    // Signals must also be handled during the start.
    interrupt::watch();
    let begun = Instant::now();
    let notify = move |notice: &Notice| console.warning(&notice.to_string());
    let collector = OtlpCollector::start(&args.output, &receiver, options, notify).map_err(failure)?;
    print_address(&collector, args, console)?;
    wait_for_end(args, || collector.is_running(), || print(&collector, "collecting", begun, args))?;
    let has_failed = !collector.is_running();
    collector.stop();
    print(&collector, "ended", begun, args)?;
    // Requests that were not written were refused, and are sent again.
    Ok(if has_failed { Exit::Damaged } else { Exit::Success })
}

fn failure(error: CollectError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        CollectError::Address { .. } => failure.help("--listen otlp://HOST:PORT sets another address"),
        CollectError::Format { .. } => failure.help("reports and requests need separate directories"),
        _ => failure,
    }
}

/// Prints the address that receives requests.
fn print_address(collector: &OtlpCollector, args: &CollectArgs, console: Console) -> Result<(), Failure> {
    let url = format!("http://{}", collector.address());
    if args.report.json {
        return print_line(args, |object| {
            object.member("state").string("listening");
            object.member("otlp").strings([&url]);
        });
    }
    console.notice(&format!("receiving OpenTelemetry requests at {url}; stop with Ctrl-C"));
    Ok(())
}

fn print(collector: &OtlpCollector, state: &str, begun: Instant, args: &CollectArgs) -> Result<(), Failure> {
    let (counts, stored) = (collector.counts(), collector.stored());
    if args.report.json {
        return print_counts(
            args,
            state,
            begun,
            &[
                ("requests", counts.requests()),
                ("elements", counts.accepted()),
                ("rejected_elements", counts.rejected()),
                ("refused_requests", counts.refused()),
                ("bytes", stored.bytes),
                ("flushes", stored.flushes),
                ("not_written", stored.not_written),
            ],
        );
    }
    let mut line = format!(
        "{} ({}), {}, {} refused",
        count(counts.requests(), "request"),
        size(stored.bytes),
        count(counts.accepted(), "element"),
        grouped(counts.refused()),
    );
    for (number, what) in [(counts.rejected(), "elements rejected"), (stored.not_written, "not written")] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", grouped(number)));
        }
    }
    line.push('\n');
    Ok(output::print_as_it_is(&line)?)
}
