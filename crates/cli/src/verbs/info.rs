//! `ichnos info`: describes traces and their contents.

mod relay_sessions;
#[cfg(all(feature = "dotnet", target_os = "linux"))]
mod runtime_processes;

use std::collections::HashSet;
use std::sync::Arc;

use ichnos::analysis::schema::{attributes_tree, clock_text, value_text, write_clocks};
use ichnos::export::documents::{write_attributes, write_damages, write_entries, write_file_diagnostics};
use ichnos::export::text::{Branch, Paint, count, seconds, size};
use ichnos::export::{JsonTime, rfc3339};
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::model::class::EventRecordClass;
use ichnos::model::clock::ClockOrigin;
use ichnos::model::event::EventCounts;
use ichnos::model::message::Damage;
use ichnos::model::trace::StreamSummary;
use ichnos::model::{Message, OpenedTrace};
use ichnos::{Session, StreamMessages};

use crate::args::Info;
use crate::args::time::show;
use crate::exit::{Exit, Failure};
use crate::input::{self, OpenRequest};
use crate::opened_run::OpenedRun;
use crate::output::{self, safe};
use crate::progress::{Console, Damages, ReadProgress, damage};
use crate::select::{Selection, TraceSelection, no_match_help};

pub(crate) fn run(args: &Info, console: Console) -> Result<Exit, Failure> {
    if let Some(address) = relay_sessions::address(&args.reading.paths) {
        return relay_sessions::run(address, args, console);
    }
    #[cfg(all(feature = "dotnet", target_os = "linux"))]
    if let Some(target) = runtime_processes::target(&args.reading.paths) {
        return runtime_processes::run(target, args, console);
    }
    let selection = Selection::new(&args.selecting, None)?;
    let session = OpenRequest::new(&args.reading).open(console)?;
    let mut opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    let mut selected = opened.trace_selection()?;
    // Events in a time range, or with a name, can only be counted by reading.
    let counted = args.count || selected.selection.has_times() || !selected.selection.wants_all_events();
    let mut progress = opened.progress(false);
    let mut traces = Vec::new();
    for (number, trace) in session.traces().iter().enumerate() {
        let found = TraceInfo::new(trace.as_ref(), number, args, counted, &mut selected, &mut progress);
        opened.is_damaged |= found.damage.count > 0;
        if args.reading.strict
            && let Some(damage) = found.damage.list.first()
        {
            return Err(
                Failure::new(damage::line(damage)).help("without --strict, all readable data are shown")
            );
        }
        traces.push(found);
    }
    drop(progress);
    let sum = |value: &dyn Fn(&TraceInfo<'_>) -> u64| traces.iter().map(value).fold(0, u64::saturating_add);
    let events = sum(&|trace| trace.sum(|stream| stream.events));
    let is_nothing = selected.selection.is_some()
        && (if counted { events == 0 } else { traces.iter().all(|trace| trace.number == 0) });
    let known = if counted { events } else { 1 };
    no_match_help::explain(&session, &selected.selection, selected.window, known, console);
    input::report_empty_traces(&session, console);
    if args.report.json {
        let write = |object: &mut ObjectWriter<'_>| write_json(object, &traces, &session, counted, args.time);
        output::print_document("info", args.report.integers, write)?;
    } else {
        let paint = console.paint();
        if let Some(clocks) = session.uncorrelated() {
            console.note(&clocks.to_string());
        }
        output::print_trees(traces.iter().map(|trace| trace.branch(args.selecting.clock_gmt, paint)), paint)?;
    }
    Ok(if traces.is_empty() { Exit::Nothing } else { opened.exit(is_nothing) })
}

/// Maximum number of data streams to show per trace. Further data streams are summed up.
const SHOWN_STREAMS: usize = 10_000;

/// Information about a data stream.
struct StreamInfo {
    summary: StreamSummary,
    events: u64,
    begin: Option<i128>,
    end: Option<i128>,
    discarded_events: u64,
    discarded_unknown: bool,
    discarded_packets: u64,
    /// Number of events, by event record class.
    counts: Vec<u64>,
}

/// Information about a trace.
struct TraceInfo<'a> {
    input: &'a dyn OpenedTrace,
    streams: Vec<StreamInfo>,
    /// Sums over data streams that are not shown, one per data stream class.
    rest: Vec<StreamInfo>,
    /// Number of data streams.
    number: u64,
    counted: bool,
    damage: Damages,
    selection: Selection,
}

impl<'a> TraceInfo<'a> {
    fn new(
        input: &'a dyn OpenedTrace,
        number: usize,
        args: &Info,
        counted: bool,
        selected: &mut TraceSelection,
        progress: &mut ReadProgress,
    ) -> Self {
        let most = args.reading.limits().report.damage;
        let mut damage = Damages::default();
        let of_no_stream = input.damage().iter().filter(|damage| selected.selection.wants_file(&damage.file));
        of_no_stream.for_each(|found| damage.add(found, most));
        let selection = selected.selection.clone();
        let (streams, rest) = (Vec::new(), Vec::new());
        let mut found = Self { input, streams, rest, number: 0, counted, damage, selection };
        // Data streams are opened one by one, because there can be very many.
        let mut all = counted.then(|| selected.streams(number, input));
        let shown = if args.report.json { usize::MAX } else { SHOWN_STREAMS };
        let mut indexes = 0..;
        input.for_each_stream(&mut |summary| {
            let (index, messages) = (indexes.next().unwrap_or(0), all.as_mut().and_then(Iterator::next));
            if !selected.selection.wants_file(&summary.stream.name) {
                return;
            }
            let mut stream = StreamInfo::new(summary);
            match messages {
                Some(messages) => {
                    stream.count(messages, selected, |damage| found.damage.add(damage, most), progress);
                }
                None => {
                    stream.discarded_events += input.count_discarded(index).unwrap_or(0);
                    stream.summary.damage.iter().for_each(|damage| found.damage.add(damage, most));
                }
            }
            found.add(stream, shown);
        });
        found
    }

    /// Adds a data stream to the list, or to the sum for its class if the list is full.
    fn add(&mut self, stream: StreamInfo, shown: usize) {
        self.number += 1;
        if self.streams.len() < shown {
            self.streams.push(stream);
            return;
        }
        let class = stream.summary.stream.class_index;
        match self.rest.iter_mut().find(|rest| rest.summary.stream.class_index == class) {
            Some(rest) => rest.join(stream),
            None => self.rest.push(stream),
        }
    }

    /// Returns the listed data streams, then the sums over further data streams.
    fn all(&self) -> impl Iterator<Item = &StreamInfo> {
        self.streams.iter().chain(&self.rest)
    }

    fn sum(&self, value: impl Fn(&StreamInfo) -> u64) -> u64 {
        self.all().map(value).fold(0, u64::saturating_add)
    }

    fn range(&self) -> Option<(i128, i128)> {
        let begin = self.all().filter_map(|stream| stream.begin).min()?;
        let end = self.all().filter_map(|stream| stream.end).max()?;
        Some((begin, end))
    }

    /// Returns `true` if all times count from the Unix epoch.
    fn has_dates(&self) -> bool {
        self.streams.iter().all(StreamInfo::has_dates)
    }

    /// Returns the format title, and a description of its detection.
    fn format(&self) -> (&'static str, &'static str) {
        let format = ichnos::formats().find(|format| format.name == self.input.format());
        format.map_or((self.input.format(), ""), |format| (format.title, format.detection))
    }
}

impl StreamInfo {
    /// Returns `true` if all times count from the Unix epoch.
    fn has_dates(&self) -> bool {
        let clock = self.summary.stream.clock();
        clock.is_none_or(|clock| clock.origin == ClockOrigin::UnixEpoch)
    }

    fn new(summary: StreamSummary) -> Self {
        Self {
            events: 0,
            begin: summary.time_range.map(|range| range.0),
            end: summary.time_range.map(|range| range.1),
            discarded_events: summary.discarded_events,
            discarded_unknown: summary.discarded_before,
            discarded_packets: summary.discarded_packets,
            counts: vec![0; summary.stream.class().event_records.len()],
            summary,
        }
    }

    /// Adds another data stream with the same class.
    fn join(&mut self, other: Self) {
        let earlier = |a: Option<i128>, b: Option<i128>| a.into_iter().chain(b).min();
        self.events += other.events;
        (self.begin, self.end) = (earlier(self.begin, other.begin), self.end.max(other.end));
        self.discarded_events = self.discarded_events.saturating_add(other.discarded_events);
        self.discarded_packets = self.discarded_packets.saturating_add(other.discarded_packets);
        self.discarded_unknown |= other.discarded_unknown;
        let (sum, more) = (&mut self.summary, other.summary);
        sum.packets = sum.packets.saturating_add(more.packets);
        sum.bytes = sum.bytes.saturating_add(more.bytes);
        sum.padding = sum.padding.saturating_add(more.padding);
        // The number of classes grows while reading.
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, more)| *sum += more);
    }

    fn count(
        &mut self,
        messages: StreamMessages,
        selected: &mut TraceSelection,
        mut damage: impl FnMut(&Damage),
        progress: &mut ReadProgress,
    ) {
        (self.discarded_events, self.discarded_unknown, self.discarded_packets) = (0, false, 0);
        let mut counts = EventCounts { by_class: std::mem::take(&mut self.counts), ..EventCounts::default() };
        if selected.selection.has_times() || !selected.selection.wants_all_events() {
            (self.begin, self.end) = (None, None);
        }
        let mut reported = 0;
        messages.count(&mut selected.selection.selected, &mut counts, |time, counts, message| {
            progress.add(time, counts.sum() - std::mem::replace(&mut reported, counts.sum()));
            match message {
                Some(Message::DiscardedEvents(discarded)) => match discarded.count {
                    Some(count) => self.discarded_events = self.discarded_events.saturating_add(count),
                    None => self.discarded_unknown = true,
                },
                Some(Message::DiscardedPackets(discarded)) => {
                    let count = discarded.count.unwrap_or(0);
                    self.discarded_packets = self.discarded_packets.saturating_add(count);
                }
                Some(Message::Damage(found)) => damage(found),
                _ => {}
            }
        });
        self.events += counts.sum();
        if let Some((begin, end)) = counts.times {
            self.begin = Some(self.begin.map_or(begin, |known| known.min(begin)));
            self.end = Some(self.end.map_or(end, |known| known.max(end)));
        }
        self.counts = counts.by_class;
    }
}

// ---------------------------------------------------------------------------------------------
// JSON

fn write_json(
    object: &mut ObjectWriter<'_>,
    traces: &[TraceInfo<'_>],
    session: &Session,
    counted: bool,
    form: JsonTime,
) {
    let sum = |value: &dyn Fn(&TraceInfo<'_>) -> u64| traces.iter().map(value).fold(0, u64::saturating_add);
    let ranges = traces.iter().filter_map(TraceInfo::range);
    let range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    write_range(object, range, traces.iter().all(TraceInfo::has_dates), form);
    object.unsigned("events", counted.then(|| sum(&|trace| trace.sum(|stream| stream.events))));
    object.member("packets").unsigned(sum(&|trace| trace.sum(|stream| stream.summary.packets)));
    object.member("bytes").unsigned(sum(&|trace| trace.sum(|stream| stream.summary.bytes)));
    object.member("discarded_events").unsigned(sum(&|trace| trace.sum(|stream| stream.discarded_events)));
    object.member("discarded_packets").unsigned(sum(&|trace| trace.sum(|stream| stream.discarded_packets)));
    object.member("damage").unsigned(sum(&|trace| trace.damage.count));
    object.member("correlated").boolean(session.uncorrelated().is_none());
    let mut list = object.member("traces").array();
    traces.iter().for_each(|trace| trace.write_json(list.element(), form));
    list.end();
    let mut list = object.member("refused").array();
    for refused in session.refused() {
        let mut entry = list.element().object();
        entry.member("path").string(&refused.path);
        write_file_diagnostics(entry.member("problems"), &refused.diagnostics);
        entry.end();
    }
    list.end();
    object.member("problems").strings(input::problems(session));
}

/// Writes the first time, the last time and the duration. `has_dates` is `true` if times count from the Unix epoch.
fn write_range(object: &mut ObjectWriter<'_>, range: Option<(i128, i128)>, has_dates: bool, form: JsonTime) {
    let times =
        [("begin_ns", "begin", range.map(|range| range.0)), ("end_ns", "end", range.map(|range| range.1))];
    for (number, text, time) in times {
        let date = time.filter(|_| has_dates && form != JsonTime::Nanoseconds).and_then(rfc3339);
        // Times without a date are kept as numbers.
        object.integer(number, time.filter(|_| form != JsonTime::Iso || date.is_none()));
        object.string(text, date.as_deref());
    }
    object.integer("duration_ns", range.map(|range| range.1.saturating_sub(range.0)));
}

impl TraceInfo<'_> {
    fn write_json(&self, place: ValueWriter<'_>, form: JsonTime) {
        let class = &self.input.trace().class;
        let mut object = place.object();
        object.member("path").string(self.input.path());
        object.member("format").string(self.input.format());
        object.member("dialect").string(&class.dialect);
        object.member("recognized_by").string(self.format().1);
        object.string("namespace", class.namespace.as_deref());
        object.string("name", class.name.as_deref());
        object.string("uid", class.uid.as_deref());
        if let Some(uuid) = class.uuid {
            object.member("uuid").display(uuid);
        }
        write_entries(object.member("environment"), &class.environment);
        write_attributes(&mut object, &class.attributes);
        if !self.input.auxiliary_files().is_empty() {
            object.member("auxiliary_streams").strings(self.input.auxiliary_files());
        }
        write_clocks(object.member("clocks"), &class.clocks);
        write_range(&mut object, self.range(), self.has_dates(), form);
        object.unsigned("events", self.counted.then(|| self.sum(|stream| stream.events)));
        object.member("packets").unsigned(self.sum(|stream| stream.summary.packets));
        object.member("bytes").unsigned(self.sum(|stream| stream.summary.bytes));
        object.member("padding_bytes").unsigned(self.sum(|stream| stream.summary.padding));
        object.member("discarded_events").unsigned(self.sum(|stream| stream.discarded_events));
        object.member("discarded_packets").unsigned(self.sum(|stream| stream.discarded_packets));
        let mut streams = object.member("data_streams").array();
        self.streams.iter().for_each(|stream| stream.write_json(streams.element(), self.counted, form));
        streams.end();
        self.write_classes(object.member("event_record_classes"));
        write_file_diagnostics(object.member("problems"), self.input.diagnostics());
        write_damages(object.member("damage"), &self.damage.list);
        object.member("damage_left_out").unsigned(self.damage.left_out());
        let mut quirks = object.member("quirks").array();
        for quirk in self.input.quirks() {
            let mut entry = quirks.element().object();
            entry.member("name").string(quirk.name);
            entry.member("message").string(quirk.message);
            entry.end();
        }
        quirks.end();
        object.end();
    }

    /// Returns the number of events in an event record class. Both classes are indexes.
    fn count_of(&self, data_stream_class: usize, class: usize) -> u64 {
        let is_of = |stream: &StreamInfo| stream.summary.stream.class_index == data_stream_class;
        self.sum(|stream| if is_of(stream) { stream.counts.get(class).copied().unwrap_or(0) } else { 0 })
    }

    /// Returns the known event record classes, each with the id of its data stream class and its number of events.
    fn classes(&self) -> Vec<(u128, Arc<EventRecordClass>, u64)> {
        let trace = self.input.trace();
        let mut classes = Vec::new();
        let of_streams: HashSet<usize> = self.all().map(|stream| stream.summary.stream.class_index).collect();
        for (i, stream) in trace.class.data_streams.iter().enumerate() {
            // Without a selection, classes without a data stream are also shown.
            if self.selection.streams.is_some() && !of_streams.contains(&i) {
                continue;
            }
            let wants = |record: &Arc<EventRecordClass>| self.selection.selected.wants_class(record);
            let begin = classes.len() + stream.event_records.iter().filter(|record| wants(record)).count();
            let records = trace.event_records(i).enumerate().filter(|(_, record)| wants(record));
            // Other members are dropped, because reading can find many classes.
            let shown = |record: Arc<EventRecordClass>| {
                let record = EventRecordClass::clone(&record);
                Arc::new(EventRecordClass { specific_context: None, payload: None, log: None, ..record })
            };
            classes.extend(records.map(|(j, record)| (stream.id, shown(record), self.count_of(i, j))));
            // Classes found while reading must not depend on the reading order.
            if let Some(dynamic) = classes.get_mut(begin..) {
                dynamic.sort_by_key(|(_, record, _)| record.id);
            }
        }
        classes
    }

    fn write_classes(&self, place: ValueWriter<'_>) {
        let mut list = place.array();
        for (stream, record, count) in self.classes() {
            let mut object = list.element().object();
            object.member("data_stream_class").number(&stream.to_string());
            object.member("id").number(&record.id.to_string());
            object.string("namespace", record.namespace.as_deref());
            object.string("name", record.name.as_deref());
            if record.is_undescribed {
                object.member("undescribed").boolean(true);
            }
            object.unsigned("count", self.counted.then_some(count));
            object.end();
        }
        list.end();
    }
}

impl StreamInfo {
    fn write_json(&self, place: ValueWriter<'_>, counted: bool, form: JsonTime) {
        let mut object = place.object();
        let stream = &self.summary.stream;
        object.member("name").string(&stream.name);
        object.member("class").number(&stream.class().id.to_string());
        if let Some(id) = stream.id {
            object.member("id").number(&id.to_string());
        }
        object.string("clock", stream.clock().map(|clock| clock.id.as_str()));
        object.member("files").strings(&self.summary.files);
        write_range(&mut object, self.begin.zip(self.end), self.has_dates(), form);
        object.unsigned("events", counted.then_some(self.events));
        object.member("packets").unsigned(self.summary.packets);
        object.member("bytes").unsigned(self.summary.bytes);
        object.member("padding_bytes").unsigned(self.summary.padding);
        object.member("discarded_events").unsigned(self.discarded_events);
        object.member("discarded_events_of_unknown_number").boolean(self.discarded_unknown);
        object.member("discarded_packets").unsigned(self.discarded_packets);
        object.end();
    }
}

// ---------------------------------------------------------------------------------------------
// Text

impl TraceInfo<'_> {
    fn branch(&self, gmt: bool, paint: Paint) -> Branch {
        let class = &self.input.trace().class;
        let mut root = Branch::new(paint.title(&safe(self.input.path())));
        root.line(format!("format: {}, {}", class.dialect, self.format().0));
        if let Some(name) = &class.name {
            root.line(format!("name: {}", paint.name(&safe(name))));
        }
        if let Some(uid) = &class.uid
            && class.uuid.is_none_or(|uuid| uuid.to_string() != *uid)
        {
            root.line(format!("UID: {}", safe(uid)));
        }
        if let Some(uuid) = class.uuid {
            root.line(format!("UUID: {uuid}"));
        }
        if !class.environment.is_empty() {
            let mut branch = Branch::new("environment");
            for (name, value) in &class.environment {
                branch.line(format!("{} = {}", paint.name(&safe(name)), value_text(value)));
            }
            root.add(branch);
        }
        self.attributes_branch(&mut root, paint);
        for clock in &class.clocks {
            let name = clock.name.as_deref().unwrap_or(&clock.id);
            let mut branch = Branch::new(format!("clock {}: {}", paint.name(&safe(name)), clock_text(clock)));
            if let Some(description) = &clock.description {
                branch.line(safe(description).into_owned());
            }
            root.add(branch);
        }
        if let Some(range) = self.range() {
            let rate =
                if self.counted { rate(self.sum(|stream| stream.events), range) } else { String::new() };
            root.line(format!("time: {}{rate}", Self::range_text(range, self.has_dates(), gmt)));
        }
        let mut sizes = vec![
            count(self.number, "data stream"),
            count(self.sum(|stream| stream.summary.packets), "packet"),
            size(self.sum(|stream| stream.summary.bytes)),
        ];
        let padding = self.sum(|stream| stream.summary.padding);
        if padding > 0 {
            sizes.push(format!("{} of it padding", size(padding)));
        }
        if self.counted {
            sizes.insert(0, count(self.sum(|stream| stream.events), "event"));
        }
        root.line(format!("size: {}", sizes.join(", ")));
        let losses = losses(
            self.sum(|stream| stream.discarded_events),
            self.all().any(|stream| stream.discarded_unknown),
            self.sum(|stream| stream.discarded_packets),
        );
        if let Some(losses) = losses {
            root.line(format!("{}: {losses}", paint.warning("lost")));
        }
        self.streams_branch(&mut root, gmt, paint);
        self.classes_branch(&mut root, paint);
        self.problems_branch(&mut root, paint);
        root
    }

    /// Adds the trace attributes, and the files that contain some of them.
    fn attributes_branch(&self, root: &mut Branch, paint: Paint) {
        attributes_tree(root, &self.input.trace().class.attributes, paint);
        let auxiliary = self.input.auxiliary_files();
        if !auxiliary.is_empty() {
            let mut branch = Branch::new("auxiliary streams");
            auxiliary.iter().for_each(|file| branch.line(safe(self.relative(file))));
            root.add(branch);
        }
    }

    /// Returns a path relative to the trace.
    fn relative<'b>(&self, path: &'b str) -> &'b str {
        path.strip_prefix(self.input.path())
            .map(|rest| rest.trim_start_matches('/'))
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path)
    }

    fn range_text((begin, end): (i128, i128), has_dates: bool, gmt: bool) -> String {
        let duration = seconds(end.saturating_sub(begin));
        if has_dates {
            format!("{} to {} ({duration} s)", show(begin, gmt), show(end, gmt))
        } else {
            format!("{} s to {} s ({duration} s)", seconds(begin), seconds(end))
        }
    }

    fn streams_branch(&self, root: &mut Branch, gmt: bool, paint: Paint) {
        let has_dates = self.has_dates();
        for stream in &self.streams {
            let summary = &stream.summary;
            let id = summary.stream.id.map(|id| format!(", id {id}")).unwrap_or_default();
            let mut branch = Branch::new(format!(
                "data stream {} (class {}{id})",
                paint.name(&safe(self.relative(&summary.stream.name))),
                summary.stream.class().id
            ));
            let mut sizes = vec![count(summary.packets, "packet"), size(summary.bytes)];
            if self.counted {
                sizes.insert(0, count(stream.events, "event"));
            }
            branch.line(sizes.join(", "));
            if let Some(range) = stream.begin.zip(stream.end) {
                branch.line(Self::range_text(range, has_dates, gmt));
            }
            if summary.files.len() > 1 {
                let mut files = Branch::new(count(summary.files.len() as u64, "file"));
                summary.files.iter().for_each(|file| files.line(safe(self.relative(file))));
                branch.add(files);
            }
            let losses = losses(stream.discarded_events, stream.discarded_unknown, stream.discarded_packets);
            if let Some(losses) = losses {
                branch.line(format!("{}: {losses}", paint.warning("lost")));
            }
            root.add(branch);
        }
        if let Some(more) = self.number.checked_sub(self.streams.len() as u64).filter(|more| *more > 0) {
            let more = count(more, "more data stream");
            root.line(paint.faint(&format!("{more}: `ichnos info --json` lists all")));
        }
    }

    fn classes_branch(&self, root: &mut Branch, paint: Paint) {
        let mut list = self.classes();
        let number = list.len();
        let mut branch = if self.input.has_dynamic_classes() && !self.counted {
            Branch::new("event record classes are only known after reading: `--count` shows them")
        } else {
            Branch::new(count(number as u64, "event record class"))
        };
        if self.counted {
            // Most frequent first. Classes with equal counts keep the metadata order.
            list.sort_by_key(|entry| std::cmp::Reverse(entry.2));
            for (stream, record, number) in list.iter().filter(|entry| entry.2 > 0) {
                let name = record.name.as_deref().map(safe);
                let name = match &name {
                    Some(name) => paint.name(name),
                    None => format!("class {} of data stream class {stream}", record.id),
                };
                let bytes = if record.is_undescribed { ", without a description of its payload" } else { "" };
                branch.line(format!("{name}: {}{bytes}", count(*number, "event")));
            }
            let unused = list.iter().filter(|entry| entry.2 == 0).count();
            if unused > 0 && unused < number {
                branch.line(paint.faint(&format!("{} without events", count(unused as u64, "class"))));
            }
        } else {
            const SHOWN: usize = 40;
            for (_, record, _) in list.iter().take(SHOWN) {
                match &record.name {
                    Some(name) => branch.line(paint.name(&safe(name))),
                    None => branch.line(format!("class {}", record.id)),
                }
            }
            if number > SHOWN {
                branch.line(paint.faint(&format!("{} more: `ichnos schema` shows all", number - SHOWN)));
            }
        }
        root.add(branch);
    }

    fn problems_branch(&self, root: &mut Branch, paint: Paint) {
        let diagnostics = self.input.diagnostics();
        if !diagnostics.is_empty() {
            let mut branch = Branch::new(paint.warning(&format!(
                    "{} in the metadata",
                    count(diagnostics.len() as u64, "warning or note")
                        .replace("warning or notes", "warnings and notes")
                )));
            diagnostics.iter().for_each(|problem| branch.line(safe(&problem.to_string())));
            root.add(branch);
        }
        if self.damage.count > 0 {
            let title = count(self.damage.count, "damaged place");
            let mut branch = Branch::new(paint.error(&title));
            for damage in self.damage.list.iter().take(20) {
                branch.line(safe(&damage::line(damage)));
            }
            if self.damage.count > 20 {
                branch.line(format!("{} more; `ichnos check` lists them", self.damage.count - 20));
            }
            root.add(branch);
        }
        let quirks = self.input.quirks();
        if !quirks.is_empty() {
            let mut branch = Branch::new("known bugs in this tracer version, with workarounds");
            quirks.iter().for_each(|quirk| branch.line(quirk.to_string()));
            root.add(branch);
        }
    }
}

/// Returns the events per second, as the end of a line. Empty if the rate is below 1 or unknown.
fn rate(events: u64, (begin, end): (i128, i128)) -> String {
    let duration = end.saturating_sub(begin);
    let events = i128::from(events).checked_mul(1_000_000_000);
    match events.filter(|_| duration > 0).and_then(|events| u64::try_from(events / duration).ok()) {
        Some(rate) if rate > 0 => format!(", {} per second", count(rate, "event")),
        _ => String::new(),
    }
}

/// Describes losses in one line. Returns `None` if nothing was lost.
pub(crate) fn losses(events: u64, unknown: bool, packets: u64) -> Option<String> {
    let mut parts = Vec::new();
    if events > 0 {
        parts.push(format!("{} discarded by the tracer", count(events, "event")));
    }
    if unknown {
        parts.push("an unknown number of events before the first packet".to_owned());
    }
    if packets > 0 {
        parts.push(count(packets, "packet"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}
