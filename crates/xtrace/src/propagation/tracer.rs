//! Report destination and common report lines.

use std::fmt;

use super::reporter::Reporter;
use crate::option::{Registry, Severity};
use crate::report::plain_lines;

/// Report destination and common report lines. A program usually has one tracer, or one for each of its parts.
pub struct Tracer {
    reporter: Box<dyn Reporter>,
    registry: Registry,
    threshold: Severity,
    has_nanoseconds: bool,
    common: Vec<(String, String)>,
    /// Common lines as text, if none needs escaping.
    plain: Option<Vec<u8>>,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("common", &self.common).finish_non_exhaustive()
    }
}

impl Tracer {
    /// Threshold if neither the metadata nor the program sets one. It is [`Severity::INFO`], so that `tracing` spans
    /// and events at INFO are reported. The original libraries use [`Severity::NOTICE`].
    pub const DEFAULT_THRESHOLD: Severity = Severity::INFO;

    /// Creates a tracer for a reporter. Reports contain the name of this machine as `Host`, if the system has a name.
    #[must_use]
    pub fn new(reporter: impl Reporter + 'static) -> Self {
        let tracer = Self {
            reporter: Box::new(reporter),
            registry: Registry::standard(),
            threshold: Self::DEFAULT_THRESHOLD,
            has_nanoseconds: false,
            common: Vec::new(),
            plain: Some(Vec::new()),
        };
        match host() {
            Some(host) => tracer.with_host(&host),
            None => tracer,
        }
    }

    /// Sets the machine name, `Host`.
    #[must_use]
    pub fn with_host(self, host: &str) -> Self {
        self.with_line("Host", host)
    }

    /// Sets the name of the reporting part of the system, `Agent`.
    #[must_use]
    pub fn with_agent(self, agent: &str) -> Self {
        self.with_line("Agent", agent)
    }

    /// Adds a line to each report, replacing a line with the same key.
    #[must_use]
    pub fn with_line(mut self, key: &str, value: &str) -> Self {
        match self.common.iter_mut().find(|line| line.0 == key) {
            Some(line) => value.clone_into(&mut line.1),
            None => self.common.push((key.to_owned(), value.to_owned())),
        }
        self.plain = plain_lines(&self.common);
        self
    }

    /// Sets the known metadata options and their propagation.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets the threshold for tasks whose metadata lacks a threshold. A threshold in the metadata takes precedence.
    /// Default: [`DEFAULT_THRESHOLD`](Self::DEFAULT_THRESHOLD).
    #[must_use]
    pub fn with_threshold(mut self, threshold: Severity) -> Self {
        self.threshold = threshold;
        self
    }

    /// Writes times in nanoseconds, as seconds with nine decimals, if the system's clock supports this. By default,
    /// times have three decimals, as in the original libraries.
    #[must_use]
    pub fn with_nanoseconds(mut self) -> Self {
        self.has_nanoseconds = true;
        self
    }

    /// Returns the threshold for tasks whose metadata lacks a threshold.
    #[must_use]
    pub fn threshold(&self) -> Severity {
        self.threshold
    }

    pub(super) fn reporter(&self) -> &dyn Reporter {
        &*self.reporter
    }

    pub(super) fn has_nanoseconds(&self) -> bool {
        self.has_nanoseconds
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(super) fn plain(&self) -> Option<&[u8]> {
        self.plain.as_deref()
    }

    pub(super) fn common(&self) -> &[(String, String)] {
        &self.common
    }
}

#[cfg(unix)]
fn host() -> Option<String> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!host.is_empty()).then_some(host)
}

#[cfg(not(unix))]
fn host() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
