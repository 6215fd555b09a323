//! Classes in the selected traces, including classes that are only known after reading.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::Session;
use ichnos::model::cursor::{ExcludedClasses, MessageKind};
use ichnos::model::event::EventCounts;
use ichnos::model::{DataStream, OpenedTrace, TraceClass, Window};

use crate::progress::{Console, ReadProgress};
use crate::select::TraceSelection;

/// Returns the trace classes with only the selected data stream and event record classes.
///
/// A selection by time keeps classes with events in that time. A filter keeps classes with events that it can select.
/// If classes are only known from events, it keeps classes with events that it selects.
pub(crate) fn selected_classes<'s>(
    session: &'s Session,
    selected: &TraceSelection,
    console: Console,
) -> Vec<Cow<'s, TraceClass>> {
    let mut progress = ReadProgress::new(session, false, console);
    let has_times = selected.selection.has_times();
    let has_filter = selected.selection.filter.is_some();
    let of_trace = |(number, trace): (usize, &'s dyn OpenedTrace)| {
        let streams = trace.data_streams();
        let wanted = streams.iter().map(|stream| selected.selection.wants_file(&stream.name));
        // By data stream class: `true` for each event record class with events.
        let mut occurring: HashMap<usize, Vec<bool>> = HashMap::new();
        // By data stream class: for each data stream, the indexes of event record classes without selected events.
        let mut excluded: HashMap<usize, Vec<Option<Arc<ExcludedClasses>>>> = HashMap::new();
        let selects_each = has_filter && trace.has_dynamic_classes();
        let mut selection = match selects_each {
            true => selected.selection.selected.clone(),
            false => ichnos::Selection::default(),
        };
        let mut all = (has_times || trace.has_dynamic_classes()).then(|| selected.streams(number, trace));
        for (stream, is_wanted) in streams.iter().zip(wanted) {
            let messages = all.as_mut().and_then(Iterator::next);
            if !is_wanted {
                continue;
            }
            if has_filter {
                let by_filter = selected.selection.selected.excluded_by_filter(stream);
                excluded.entry(stream.class_index).or_default().push(by_filter);
            }
            let occurring = occurring.entry(stream.class_index).or_default();
            let mut counts = EventCounts::default();
            let Some(messages) = messages else { continue };
            messages.count(&mut selection, &mut counts, |time, _, _| progress.add(time, 0));
            occurring.resize(occurring.len().max(counts.by_class.len()), false);
            occurring.iter_mut().zip(&counts.by_class).for_each(|(any, count)| *any |= *count > 0);
        }
        let trace = trace.trace();
        let mut class = trace.class_with_dynamic().into_owned();
        for (index, stream) in class.data_streams.iter_mut().enumerate() {
            let ids = occurring.get(&index).filter(|_| has_times || selects_each).map(|occurring| {
                let records = trace.event_records(index).zip(occurring).filter(|(_, any)| **any);
                records.map(|(record, _)| record.id).collect::<HashSet<u128>>()
            });
            let excluded_ids = excluded.get(&index).map(|excluded| {
                let is_excluded =
                    |class: usize| excluded.iter().all(|by| by.as_ref().is_some_and(|by| by.has(class)));
                let records = trace.event_records(index).enumerate().filter(|(class, _)| is_excluded(*class));
                records.map(|(_, record)| record.id).collect::<HashSet<u128>>()
            });
            stream.event_records.retain(|record| {
                ids.as_ref().is_none_or(|ids| ids.contains(&record.id))
                    && excluded_ids.as_ref().is_none_or(|ids| !ids.contains(&record.id))
                    && selected.selection.selected.wants_class(record)
            });
        }
        let mut indexes = 0..;
        class.data_streams.retain(|_| indexes.next().is_some_and(|index| occurring.contains_key(&index)));
        Cow::Owned(class)
    };
    session.traces().iter().map(|trace| &**trace).enumerate().map(of_trace).collect()
}

/// Reads all traces whose event record classes are only known after reading.
pub(crate) fn read_dynamic(session: &Session, console: Console) {
    let dynamic = session.traces().iter().filter(|trace| trace.has_dynamic_classes());
    let dynamic: HashSet<_> = dynamic.map(|trace| Arc::as_ptr(trace.trace()).addr()).collect();
    if dynamic.is_empty() {
        return;
    }
    let mut progress = ReadProgress::new(session, false, console);
    let is_dynamic = |stream: &DataStream| dynamic.contains(&Arc::as_ptr(&stream.trace).addr());
    session.stream_reader_of(Window::default(), is_dynamic).for_each_head(|_, head| {
        progress.step(u32::from(head.kind == MessageKind::Event), || head.nanoseconds());
        ControlFlow::Continue(())
    });
}
