//! Passes of a reader into an output.

use std::io;

use ichnos_io::Output;

use super::{Pass, PassObserver, PassOptions, PassSummary};
use crate::Reader;

/// A pass over the messages of a reader into an output: see [`Reader::pass`].
pub struct ReaderPass<'r> {
    reader: &'r Reader<'r>,
    pass: Pass,
    options: PassOptions,
    observer: &'r dyn PassObserver,
}

impl Reader<'_> {
    /// Prepares to pass all messages to an output.
    ///
    /// ```no_run
    /// use ichnos::TextOutput;
    /// use ichnos::export::{Details, DetailsOptions};
    /// use ichnos::prelude::*;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = ichnos::open(["my-trace"], &OpenOptions::default())?;
    /// let mut text = Vec::new();
    /// let output = TextOutput::new(&mut text, |writer| Details::new(writer, DetailsOptions::default()));
    /// let summary = session.reader()?.pass().write(&output)?;
    /// println!("{} events", summary.counts.events);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn pass(&self) -> ReaderPass<'_> {
        ReaderPass { reader: self, pass: Pass::default(), options: PassOptions::default(), observer: &() }
    }
}

impl<'r> ReaderPass<'r> {
    /// Selects, limits or changes the messages.
    #[must_use]
    pub fn with(self, pass: Pass) -> Self {
        Self { pass, ..self }
    }

    /// Sets the number of threads, and the size of their work.
    #[must_use]
    pub fn options(self, options: PassOptions) -> Self {
        Self { options, ..self }
    }

    /// Reports losses, damage and progress.
    #[must_use]
    pub fn observer(self, observer: &'r dyn PassObserver) -> Self {
        Self { observer, ..self }
    }

    /// Passes the messages to an output, in the order that it takes, on several threads if possible. The output is the
    /// same for any number of threads. At most some megabytes of text per thread wait to be written, 24 MiB in total.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(&self, output: &dyn Output) -> io::Result<PassSummary> {
        self.pass.write(self.reader, output, &self.options, self.observer)
    }
}
