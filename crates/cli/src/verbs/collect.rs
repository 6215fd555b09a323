//! `ichnos collect`: receives reports or requests from programs, and stores them in a directory.

mod collector_wait;
mod counted_line;
mod requests;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use ichnos::collect::{CollectError, Collector, CollectorOptions, Notice, Statistics};
use ichnos::export::text::{count, grouped, size};

use self::collector_wait::wait_for_end;
use self::counted_line::{print_counts, print_line};
use crate::args::CollectArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::{Console, interrupt};

pub(crate) fn run(args: &CollectArgs, console: Console) -> Result<Exit, Failure> {
    if let Some(address) = &args.listen {
        return requests::collect(address, args, console);
    }
    let (format, collect) = format(args)?;
    let notify = move |notice: &Notice| console.warning(&notice.to_string());
    if args.rebuild_index {
        let tasks =
            ichnos::collect::rebuild_index(&args.output, format, &collect, notify).map_err(failure)?;
        print_index(tasks, args)?;
        return Ok(Exit::Success);
    }
    let mut options = CollectorOptions::new(&collect);
    options.udp.clone_from(&args.udp);
    options.tcp.clone_from(&args.tcp);
    if args.udp.is_empty() && args.tcp.is_empty() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, collect.port));
        (options.udp, options.tcp) = (vec![address], vec![address]);
    }
    if let Some(longest) = args.report_size {
        options.longest = usize::try_from(longest).unwrap_or(usize::MAX);
    }
    options.connections = args.connections.unwrap_or(options.connections);
    options.idle = args.idle.unwrap_or(options.idle);
    options.segment_bytes = args.segment_size;
    options.segment_age = args.segment_age;
    // Signals must also be handled during the start.
    interrupt::watch();
    let begun = Instant::now();
    let collector = Collector::start(&args.output, format, collect, options, notify).map_err(failure)?;
    print_addresses(&collector, args, console)?;
    wait_for_end(
        args,
        || collector.is_running(),
        || print(&collector.statistics(), "collecting", begun, args),
    )?;
    let has_failed = !collector.is_running();
    let statistics = collector.stop().map_err(failure)?;
    print(&statistics, "ended", begun, args)?;
    Ok(if has_failed || statistics.not_written > 0 { Exit::Damaged } else { Exit::Success })
}

/// Returns the report format.
fn format(args: &CollectArgs) -> Result<(&'static str, ichnos::io::CollectSettings), Failure> {
    let mut formats = ichnos::collect::formats();
    if let Some(wanted) = &args.from {
        let found = formats.find(|(name, _)| name == wanted);
        return found
            .ok_or_else(|| Failure::new(format!("reports of the format {wanted} cannot be collected")));
    }
    let all: Vec<_> = formats.collect();
    match all[..] {
        [one] => Ok(one),
        _ => {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            Err(Failure::new("several formats can be collected, so --from must name one")
                .help(format!("name the format of the reports: --from {}", names.join(" or --from "))))
        }
    }
}

fn failure(error: CollectError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        CollectError::NoCollection { .. } => failure.help(
            "`ichnos collect -o DIR` writes to a new directory, or to the directory of an \
            earlier collection",
        ),
        CollectError::Address { .. } => {
            failure.help("--udp and --tcp set the addresses for receiving reports")
        }
        _ => failure,
    }
}

/// Prints the addresses that receive reports.
fn print_addresses(collector: &Collector, args: &CollectArgs, console: Console) -> Result<(), Failure> {
    let texts = |addresses: &[SocketAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (udp, tcp) = (texts(collector.udp()), texts(collector.tcp()));
    if args.report.json {
        print_line(args, |object| {
            object.member("state").string("listening");
            object.member("udp").strings(&udp);
            object.member("tcp").strings(&tcp);
        })?;
    } else {
        let of = |protocol: &str, all: Vec<String>| {
            all.into_iter().map(move |it| format!("{protocol} {it}")).collect::<Vec<_>>()
        };
        let all = [of("UDP", udp), of("TCP", tcp)].concat();
        console.notice(&format!("receiving reports at {}; stop with Ctrl-C", all.join(", ")));
    }
    Ok(())
}

fn print(statistics: &Statistics, state: &str, begun: Instant, args: &CollectArgs) -> Result<(), Failure> {
    let it = statistics;
    if args.report.json {
        return print_counts(
            args,
            state,
            begun,
            &[
                ("reports", it.reports),
                ("bytes", it.bytes),
                ("duplicates", it.duplicates),
                ("refused", it.refused),
                ("bad_lengths", it.bad_lengths),
                ("cut_off", it.cut_off),
                ("not_written", it.not_written),
                ("tasks", it.tasks),
                ("datagrams", it.datagrams),
                ("kernel_drops", it.kernel_drops),
                ("connections", it.connections),
                ("open_connections", it.open_connections),
                ("refused_connections", it.refused_connections),
                ("idle_connections", it.idle_connections),
                ("syncs", it.syncs),
                ("flushes", it.flushes),
            ],
        );
    }
    let mut line = format!(
        "{} ({}), {}, {}, {} refused, {} dropped by the system",
        count(it.reports, "report"),
        size(it.bytes),
        count(it.tasks, "task"),
        count(it.duplicates, "duplicate"),
        grouped(it.refused + it.bad_lengths),
        count(it.kernel_drops, "datagram"),
    );
    for (number, what) in [
        (it.cut_off, "cut off"),
        (it.refused_connections, "connections refused"),
        (it.idle_connections, "idle connections closed"),
        (it.not_written, "not written"),
    ] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", grouped(number)));
        }
    }
    line.push('\n');
    Ok(output::print_as_it_is(&line)?)
}

fn print_index(tasks: u64, args: &CollectArgs) -> Result<(), Failure> {
    if args.report.json {
        return print_line(args, |object| {
            object.member("state").string("indexed");
            object.member("tasks").unsigned(tasks);
        });
    }
    Ok(output::print_as_it_is(&format!("the index has {}\n", count(tasks, "task")))?)
}
