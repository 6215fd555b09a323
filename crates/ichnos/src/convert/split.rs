//! Splits the input into several traces, in one pass.

use std::io;
use std::path::PathBuf;

use ichnos_io::{CreateError, PartTarget, WriteReport, WriterFactory};
use ichnos_model::Window;

use super::{ConvertError, ConvertOptions, check_strict};
use crate::pass::StreamOptions;
use crate::verify::{DamageObserver, InputDamage};
use crate::{OutputKind, Parts, PassOptions, Reader, SplitBy};

/// Options for writing parts.
pub struct SplitTargets<'s> {
    /// Returns the path of a part, or `None` to write nothing.
    pub path: &'s mut dyn FnMut(usize) -> Option<PathBuf>,
    /// With [`SplitBy::Events`], returns the property that the events of a part share.
    pub selected_by: &'s dyn Fn(usize) -> Option<String>,
    /// Receives the number of a completed part, and its report.
    pub finished: &'s mut dyn FnMut(usize, &WriteReport),
}

impl Reader<'_> {
    /// Splits the input into several traces of a format. Each event and each loss goes to exactly one trace. Empty
    /// parts are not written.
    ///
    /// # Errors
    /// If the traces cannot be written.
    pub fn split(
        &self,
        writer: &dyn WriterFactory,
        by: SplitBy<'_>,
        targets: SplitTargets<'_>,
        options: &ConvertOptions<'_>,
    ) -> Result<WriteReport, ConvertError> {
        if self.shard.is_some() {
            return Err(CreateError::Shards.into());
        }
        let is_by_events = matches!(by, SplitBy::Events { .. });
        let (sources, mut write) = self.write_options(writer, options, is_by_events);
        if let SplitBy::Times { begins: [_, ..], .. } = by {
            // Parts are cut at other times.
            write.window.begin.get_or_insert(i128::MIN);
        }
        let input = InputDamage::default();
        if options.verify {
            write.verify = Some(self.verify(writer, options, input.clone()));
        }
        let observer = DamageObserver { observer: options.observer, damage: input };
        let mut output = writer.create_parts(sources, &write)?;
        check_strict(options, || output.losses())?;
        let SplitTargets { path, selected_by, finished } = targets;
        let mut target = |number: usize, window: Window| {
            let mut target = PartTarget::default();
            (target.path, target.window) = (path(number), window);
            target.selected_by = is_by_events.then(|| selected_by(number)).flatten();
            if let Some(path) = &target.path {
                self.session.check_output(path, OutputKind::Trace).map_err(io::Error::other)?;
            }
            Ok(target)
        };
        let (order, written) = (writer.order(), Vec::new());
        let mut parts = Parts { output: &mut *output, order, by, target: &mut target, written };
        let streams = StreamOptions { reads_copied: options.verify, ..StreamOptions::default() };
        let pass_options = PassOptions { streams, ..PassOptions::default() };
        let summary = options.pass.write_parts(self, &mut parts, &pass_options, &observer)?;
        let written = parts.written;
        options.check_end(&summary)?;
        check_strict(options, || output.losses())?;
        for (part, (number, selected_events)) in written.into_iter().enumerate() {
            let mut report = output.finish_part(part)?;
            report.selected_events = selected_events;
            finished(number, &report);
            options.check_end(&summary)?;
        }
        let mut report = output.finish()?;
        report.selected_events = summary.counts.events;
        Ok(report)
    }
}
