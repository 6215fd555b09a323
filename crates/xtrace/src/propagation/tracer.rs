//! Where reports go, and what all of them have in common.

use std::fmt;

use super::reporter::Reporter;
use crate::option::{Registry, Severity};
use crate::report::plain_lines;

/// Where reports go, and what all of them have in common: usually there is one in a program, or one for each of its
/// parts.
pub struct Tracer {
    reporter: Box<dyn Reporter>,
    registry: Registry,
    threshold: Severity,
    has_nanoseconds: bool,
    common: Vec<(String, String)>,
    /// The same as text, if nothing in it must be escaped.
    plain: Option<Vec<u8>>,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("common", &self.common).finish_non_exhaustive()
    }
}

impl Tracer {
    /// The threshold where neither the metadata nor the program set one: [`Severity::INFO`], so that spans and events
    /// of `tracing` at INFO are reported. The original libraries have [`Severity::NOTICE`].
    pub const DEFAULT_THRESHOLD: Severity = Severity::INFO;

    /// A tracer whose reports go to a reporter. They have the name of this machine, `Host`, where the system has one.
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

    /// The same with a name of the machine, `Host`.
    #[must_use]
    pub fn with_host(self, host: &str) -> Self {
        self.with_line("Host", host)
    }

    /// The same with a name of the part of the system that reports, `Agent`.
    #[must_use]
    pub fn with_agent(self, agent: &str) -> Self {
        self.with_line("Agent", agent)
    }

    /// The same with a line that each report has; it replaces one with the same key.
    #[must_use]
    pub fn with_line(mut self, key: &str, value: &str) -> Self {
        match self.common.iter_mut().find(|line| line.0 == key) {
            Some(line) => value.clone_into(&mut line.1),
            None => self.common.push((key.to_owned(), value.to_owned())),
        }
        self.plain = plain_lines(&self.common);
        self
    }

    /// The same with other options of metadata, and how they are propagated.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// The same with another threshold for tasks whose metadata have none: [`DEFAULT_THRESHOLD`](Self::DEFAULT_THRESHOLD)
    /// otherwise. A threshold in the metadata takes precedence.
    #[must_use]
    pub fn with_threshold(mut self, threshold: Severity) -> Self {
        self.threshold = threshold;
        self
    }

    /// The same with times in nanoseconds, as far as the clock of the system has them: seconds with nine digits behind the
    /// point. Without, there are three digits, as the original libraries write.
    #[must_use]
    pub fn with_nanoseconds(mut self) -> Self {
        self.has_nanoseconds = true;
        self
    }

    /// The threshold for tasks whose metadata have none.
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
