//! State of a run after its traces were opened.

use std::sync::Arc;

use ichnos::analysis::StatsTextOptions;
use ichnos::export::text::count;
use ichnos::model::clock::ClockOrigin;
use ichnos::model::{Sink, Window};
use ichnos::{LiveCounts, Pass, PassCounts, PassEnd, PassSummary, Reader, Session};

use crate::args::Reading;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::output::line_width;
use crate::progress::{Console, Follower, LiveProgress, ReadProgress, damage, interrupt};
use crate::select::{Selection, TraceSelection, filters, no_match_help};

/// Opened traces, the selection, and the counts from reading.
pub(crate) struct OpenedRun<'a> {
    pub(crate) console: Console,
    pub(crate) session: &'a Session,
    pub(crate) selection: Selection,
    /// Time window that contains the whole selection.
    pub(crate) window: Window,
    /// `true` to refuse damage.
    pub(crate) is_strict: bool,
    /// Maximum number of damaged places to print.
    most_damages: u64,
    /// Number of selected events read so far.
    pub(crate) events: u64,
    /// Counts while live input is read.
    live_counts: Arc<LiveCounts>,
    /// `true` if the event that ends the run was read.
    pub(crate) has_reached: bool,
    /// `true` if some of the input is damaged or cannot be read.
    pub(crate) is_damaged: bool,
}

impl<'a> OpenedRun<'a> {
    /// Reports problems with the traces, and applies a selection to them.
    ///
    /// # Errors
    /// If a time or the filter is invalid.
    pub(crate) fn new(
        reading: &Reading,
        session: &'a Session,
        mut selection: Selection,
        console: Console,
    ) -> Result<Self, Failure> {
        let is_damaged = input::report_problems(session, console);
        let window = selection.prepare(session, console)?;
        let (is_strict, most_damages) = (reading.strict, reading.limits().report.damage);
        Ok(Self {
            console,
            session,
            selection,
            window,
            is_strict,
            most_damages,
            events: 0,
            live_counts: Arc::default(),
            has_reached: false,
            is_damaged,
        })
    }

    /// Prepares for reading. From now on, signals end the run properly.
    pub(crate) fn start(&self) {
        input::report_empty_traces(self.session, self.console);
        interrupt::watch();
    }

    /// Returns a reader of the selected data streams.
    ///
    /// # Errors
    /// As for [`Selection::reader`].
    pub(crate) fn reader(&self) -> Result<Reader<'a>, Failure> {
        self.selection.reader(self.session, self.window)
    }

    /// Returns the selection for reading the traces one by one.
    ///
    /// # Errors
    /// If a time is selected, but the clocks of the traces are unrelated.
    pub(crate) fn trace_selection(&self) -> Result<TraceSelection, Failure> {
        TraceSelection::new(self.session, self.selection.clone(), self.window)
    }

    /// Returns the pass over the selected events.
    pub(crate) fn pass(&self) -> Pass {
        self.follow(Pass::new(self.selection.selected.clone()).strict(self.is_strict))
    }

    /// Returns the pass with the end that the input needs.
    pub(crate) fn follow(&self, pass: Pass) -> Pass {
        // A signal ends the input of live traces itself.
        match self.session.is_live() {
            true => pass.live().live_counts(&self.live_counts),
            false => pass.stop(interrupt::flag()),
        }
    }

    /// Starts to show the rate and the lag of live input.
    pub(crate) fn live_progress(&self) -> Option<LiveProgress> {
        let counts = self.session.is_live().then(|| Arc::clone(&self.live_counts))?;
        LiveProgress::start(counts, self.console)
    }

    /// Creates a progress display. `data_on_terminal` is `true` if the terminal also shows data.
    pub(crate) fn progress(&self, data_on_terminal: bool) -> ReadProgress {
        let mut progress = match self.session.is_live() {
            true => ReadProgress::live(Arc::clone(&self.live_counts), self.console),
            false => ReadProgress::new(self.session, data_on_terminal, self.console),
        };
        progress.limit_damage(self.most_damages);
        progress
    }

    /// Reads all selected events into a collector.
    ///
    /// # Errors
    /// For damage with `--strict`, and for interruption.
    pub(crate) fn collect<S: Sink>(&mut self, mut collector: S) -> Result<S, Failure> {
        let reader = self.reader()?;
        let pass = self.pass();
        let follower = Follower::new(self.progress(false), self.console, false);
        let summary = reader.pass().with(pass).observer(&follower).run(&mut collector)?;
        follower.into_progress().finish();
        let counts = self.counts(summary)?;
        if counts.discarded_events > 0 && !self.session.is_live() {
            let lost = count(counts.discarded_events, "event");
            self.console.note(&format!("the tracer discarded {lost}"));
        }
        Ok(collector)
    }

    /// Records the result of a pass.
    ///
    /// # Errors
    /// For damage with `--strict`, and for interruption.
    pub(crate) fn counts(&mut self, summary: PassSummary) -> Result<PassCounts, Failure> {
        if self.session.is_live() {
            interrupt::finish_live();
        }
        match summary.end {
            PassEnd::Interrupted if !self.session.is_live() => return Err(interrupt::end()),
            PassEnd::Refused(damage) => return Err(damage::refused(&damage)),
            _ => {}
        }
        self.events = summary.counts.events;
        self.has_reached = matches!(summary.end, PassEnd::Reached);
        if summary.counts.late_events > 0 {
            let late = count(summary.counts.late_events, "event");
            self.console.notice(&format!("{late} came late: their times are before those of earlier lines"));
        }
        if self.session.is_live() {
            self.report_losses(&summary.counts);
        }
        self.is_damaged |= summary.counts.damages > 0;
        Ok(summary.counts)
    }

    /// Reports what the producers of live input lost.
    fn report_losses(&self, counts: &PassCounts) {
        let lost = [(counts.discarded_events, "event"), (counts.discarded_packets, "packet")];
        let lost = lost.into_iter().filter(|(number, _)| *number > 0);
        let lost: Vec<String> = lost.map(|(number, noun)| count(number, noun)).collect();
        if !lost.is_empty() {
            self.console.notice(&format!("{} lost before ichnos received them", lost.join(" and ")));
        }
    }

    /// Reports the number of damaged places that were not printed.
    pub(crate) fn report_more_damage(&self, damages: u64) {
        if let Some(more) = damages.checked_sub(self.most_damages).filter(|more| *more > 0) {
            let more = count(more, "more damaged place");
            self.console.warning(&format!("{more}; `--resource-limit damage=N` lists more"));
        }
    }

    /// Explains an empty selection.
    pub(crate) fn explain_no_match(&self) {
        no_match_help::explain(self.session, &self.selection, self.window, self.events, self.console);
    }

    /// Returns the options for a text with times. Only times since the Unix epoch have dates.
    pub(crate) fn text_options(
        &self,
        clock_seconds: bool,
        clock_date: bool,
        clock_gmt: bool,
    ) -> StatsTextOptions {
        let mut clocks = self.session.traces().iter().flat_map(|trace| &trace.trace().class.clocks);
        let mut options = StatsTextOptions::default();
        options.paint = self.console.paint();
        options.width = line_width();
        options.clock_seconds = clock_seconds || clocks.any(|clock| clock.origin != ClockOrigin::UnixEpoch);
        options.clock_date = clock_date;
        options.clock_gmt = clock_gmt;
        options.hints.top = "--top";
        options
    }

    /// Returns the exit code after reading. `is_empty` is `true` if the result is empty.
    pub(crate) fn exit(&self, is_empty: bool) -> Exit {
        if let Some(exit) = self.live_exit() {
            return exit;
        }
        match (self.is_damaged, is_empty) {
            _ if input::live::has_failed() && self.events == 0 => Exit::Failure,
            _ if input::live::has_failed() => Exit::Damaged,
            (true, _) => Exit::Damaged,
            (_, true) => Exit::Nothing,
            _ => Exit::Success,
        }
    }

    /// Returns the exit code of `--until` for the events that end the run. Other problems are irrelevant if one has come.
    pub(crate) fn until_exit(&self, last: &ichnos::Selection) -> Exit {
        if self.has_reached {
            return Exit::Success;
        }
        self.console.notice("--until: no event matched");
        if let Some(selector) = last.selector() {
            filters::review(&selector.filter(), "--until", self.console);
        }
        self.live_exit().unwrap_or_else(|| self.exit(true))
    }

    /// Returns the exit code for a signal that ended live traces. Ctrl-C is their normal end.
    pub(crate) fn live_exit(&self) -> Option<Exit> {
        let exit = interrupt::exit();
        (self.session.is_live() && exit != Exit::Interrupted).then_some(exit)
    }
}
