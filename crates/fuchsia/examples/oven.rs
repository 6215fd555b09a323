//! An oven that logs through `tracing` and `log` into one file of Fuchsia log records:
//!
//! ```sh
//! cargo run -p ichnos-fuchsia --features tracing,log --example oven -- oven.log
//! ichnos cat --format log oven.log
//! ```

use std::error::Error;
use std::path::Path;

use ichnos_fuchsia::logger::{Logger, LoggerOptions, RotatingFile};
use tracing_subscriber::layer::SubscriberExt;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("expected the name of a file")?;
    bake(Path::new(&path))
}

/// Logs to a file.
///
/// # Errors
/// If the file cannot be written, or another logger is installed already.
pub fn bake(path: &Path) -> Result<(), Box<dyn Error>> {
    // At most 1 MB, and two older files: `oven.log.1` and `oven.log.2`.
    let file = RotatingFile::open(path, 1_000_000, 2)?;
    let mut options = LoggerOptions::default();
    options.tags.push("kitchen".to_owned());
    // Both share one logger.
    let logger = Logger::new(file, options);
    log::set_boxed_logger(Box::new(logger.clone()))?;
    log::set_max_level(log::LevelFilter::Debug);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(logger))?;

    log::info!("heating");
    for minute in 1..=5u64 {
        let celsius = 20.0 + 45.5 * minute as f64;
        tracing::debug!(minute, celsius, "still heating");
    }
    tracing::warn!(celsius = 251.25, is_open = false, cause = ?Some("thermostat"), "too hot");
    log::error!(minutes = 7; "burnt");
    log::logger().flush();
    Ok(())
}
