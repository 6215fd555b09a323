//! A printer that logs the request it works for in Fuchsia log records, a part of `examples/one-request`.
//!
//! `printer LOG TEXT` reads the operation of the request from the environment variable `X_TRACE`.

use std::error::Error;
use std::time::Duration;

use ichnos_fuchsia::logger::{LogClock, Logger, LoggerOptions, RotatingFile};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (log, text) =
        arguments.next().zip(arguments.next()).ok_or("expected the name of a file, and a text")?;
    let request = std::env::var("X_TRACE")?;
    let mut options = LoggerOptions::default();
    options.clock = LogClock::Boot;
    let logger = Logger::new(RotatingFile::open(log, 1_000_000, 0)?, options);
    log::set_boxed_logger(Box::new(logger))?;
    log::set_max_level(log::LevelFilter::Info);

    log::info!(millimeters = 80; "paper is there");
    log::info!(x_trace = request.as_str(), text = text.as_str(); "printing a receipt");
    std::thread::sleep(Duration::from_millis(3));
    log::warn!(x_trace = request.as_str(), percent = 9; "the ink runs out");
    std::thread::sleep(Duration::from_millis(2));
    log::info!(x_trace = request.as_str(); "receipt printed");
    log::logger().flush();
    Ok(())
}
