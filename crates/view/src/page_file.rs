//! Standalone page with embedded data.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ichnos::Session;

use crate::api;
use crate::app_state::AppState;
use crate::directories::TraceDirectories;
use crate::options::ViewOptions;
use crate::page::{HTML, SCRIPT, STYLE};
use crate::timeline_builder::BuildState;

/// Hashes of style sheet and script for the content security policy, one line each.
const HASHES: &str = include_str!("../dist/hashes.txt");

/// Elements of the page that are replaced by the embedded files.
const STYLE_ELEMENT: &str = r#"<link rel="stylesheet" href="app.css">"#;
const SCRIPT_ELEMENT: &str = r#"<script src="app.js" defer></script>"#;

/// Page as a single file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageFile {
    /// Page content: HTML in UTF-8.
    pub html: Vec<u8>,
    /// `true` if some data could not be decoded.
    pub is_damaged: bool,
    /// Number of events that are not shown, because their times are more than 292 years from the clock origin.
    pub not_shown: u64,
}

/// Returns the page as a single file with a summary of the selected events. The summary contains the timeline at one
/// zoom level, statistics, the longest spans, call stacks, flows, the first 1,000 events and log lines, losses and
/// warnings. A browser shows the page without a server, and the page loads no other files.
///
/// The directories of the traces and of the [paths](crate::ViewArguments::paths) are removed.
///
/// # Errors
/// If the traces cannot be read. [`ErrorKind::Interrupted`](io::ErrorKind::Interrupted) if the stop flag is set.
pub fn page_file(session: Arc<Session>, options: ViewOptions) -> io::Result<PageFile> {
    let mut shared = AppState::new(session, options);
    shared.has_limits = false;
    let traces = shared.session.traces().iter().map(|trace| trace.path());
    let paths = shared.options.arguments.paths.iter().map(String::as_str);
    let directories = TraceDirectories::from_paths(traces.chain(paths));
    let arguments = &mut shared.options.arguments;
    arguments.traces = directories.without(&arguments.traces);
    let shared = Arc::new(shared);
    shared.build.run(&shared.session, &shared.options, None);
    let status = shared.build.status();
    if shared.options.stop.load(Ordering::Relaxed) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    if status.state == BuildState::Failed {
        // A failed state always has a message.
        return Err(io::Error::other(status.failure.unwrap_or_default()));
    }
    let answers = api::saved(&shared, &directories).map_err(|error| io::Error::other(error.text))?;
    let (before, rest) = HTML.split_once(STYLE_ELEMENT).unwrap_or((HTML, ""));
    let (between, after) = rest.split_once(SCRIPT_ELEMENT).unwrap_or((rest, ""));
    let mut hashes = HASHES.lines();
    let (style, script) = (hashes.next().unwrap_or_default(), hashes.next().unwrap_or_default());
    // Names in traces stay text, and the page loads no other files.
    let policy = format!(
        "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data: blob:; base-uri 'none'; \
form-action 'none'"
    );
    let (body, end) = after.split_once("</body>").unwrap_or((after, ""));
    let head = format!(
        "{before}<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<style>{STYLE}</style>{between}{body}"
    );
    // The script must follow the elements that it looks up.
    let tail = format!("</script>\n<script>{SCRIPT}</script>\n</body>{end}");
    let data = b"<script type=\"application/json\" id=\"saved\">";
    let html = [head.as_bytes(), data, &answers, tail.as_bytes()].concat();
    Ok(PageFile { html, is_damaged: status.damages > 0, not_shown: status.not_shown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_places_for_its_files() {
        assert!(HTML.contains(STYLE_ELEMENT) && HTML.contains(SCRIPT_ELEMENT) && HTML.contains("</body>"));
        // These sequences would end the elements early.
        assert!(!SCRIPT.to_lowercase().contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
        assert_eq!(HASHES.lines().filter(|line| line.starts_with("sha256-") && line.len() == 51).count(), 2);
    }
}
