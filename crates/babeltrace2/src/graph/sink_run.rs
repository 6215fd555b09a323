//! Runs one sink: a pass of the engine over the ports that reach it.

use std::collections::HashMap;
use std::io;

use ichnos::export::Null;
use ichnos::io::{Output, OutputFile};
use ichnos::model::{Event, Window};
use ichnos::{OpenOptions, Pass, PassEnd, PassOptions, PassSummary, Reader, Selection, Session, TextOutput};

use crate::command::Failure;
use crate::components::counter::Counter;
use crate::components::ctf_fs_sink::CtfFsSink;
use crate::components::source::OpenedSource;
use crate::components::text_sinks::{PartOutput, TextSink};
use crate::components::{damage_cause, is_refused};
use crate::graph::skipped_messages::skipped_messages;
use crate::graph::sources::{SourceUse, Sources};
use crate::graph::time_range::{hull as hull_of, narrowed};
use crate::graph::trimmed_sink::{TrimmedSink, WindowBound};
use crate::graph::trimmed_streams::TrimmedStreams;
use crate::standard_output::exit_code;
use crate::value::Map;

/// Created sink.
pub(crate) enum PreparedSink {
    Text(TextSink),
    CtfFs(CtfFsSink),
    Counter(Box<Counter<OutputFile>>),
    Dummy,
}

impl PreparedSink {
    /// Creates a `sink.utils.counter`.
    ///
    /// # Errors
    /// If there is no standard output.
    pub(crate) fn counter(parameters: &Map) -> Result<Self, Failure> {
        let output = OutputFile::standard().map_err(|error| Failure::from_cause(error.to_string()))?;
        Ok(Self::Counter(Box::new(Counter::new(output, parameters))))
    }
}

/// Output port of a source that reaches the sink, with its time window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortInput {
    pub(crate) source: SourceUse,
    pub(crate) port: usize,
    pub(crate) window: Window,
    /// Time window before the filter that adds debug information.
    pub(crate) debug_info_window: Window,
    /// `true` if a trimmer behind the last muxer makes the message batches.
    pub(crate) ends_with_trimmer: bool,
}

/// Size in bytes of the parts that are read at once if nothing is printed.
const DUMMY_CHUNK: u64 = 16 << 20;

/// Runs a sink. Returns the exit code.
///
/// # Errors
/// If a trace cannot be read, or an output cannot be written.
pub(crate) fn run_sink(
    sources: &mut Sources<'_>,
    sink: PreparedSink,
    inputs: &[PortInput],
) -> Result<u8, Failure> {
    let result = match sink {
        PreparedSink::CtfFs(sink) => return write_traces(sources, sink, inputs),
        PreparedSink::Text(sink) => with_messages(sources, inputs, |reader, pass, (streams, _)| {
            let pass = streams.trim(pass);
            if streams.is_empty() {
                return sink.print(|output| write(reader, pass, output));
            }
            sink.print_part(streams.part(), |part| match part {
                PartOutput::Output(output) => write(reader, pass, output),
                PartOutput::Sink(sink) => {
                    reader.pass().with(pass).run(&mut TrimmedSink::new(sink, streams.clone()))
                }
            })
        }),
        PreparedSink::Counter(mut counter) => {
            with_messages(sources, inputs, |reader, pass, (streams, session)| {
                let pass = streams.trim(pass);
                let mut sink = TrimmedSink::new(&mut *counter, streams.clone());
                // A muxer makes new batches.
                if inputs.iter().all(|input| input.ends_with_trimmer) {
                    let skipped = skipped_messages(session, streams);
                    sink = sink.at_bounds(move |counter, bound| match (bound, skipped) {
                        (WindowBound::Begin, Some(skipped)) => counter.start_window(skipped),
                        (WindowBound::Begin, None) => {}
                        (WindowBound::End, _) => counter.end_window(),
                    });
                }
                reader.pass().with(pass).run(&mut sink)
            })
        }
        PreparedSink::Dummy => with_messages(sources, inputs, |reader, pass, _| {
            let output = TextOutput::new(io::sink(), |_| Null::new()).without_damage();
            let mut options = PassOptions::default();
            options.chunk_bytes = Some(DUMMY_CHUNK);
            reader.pass().with(pass).options(options).write(&output)
        }),
    }?;
    match result {
        Ok(summary) => check_end(&summary).map(|()| 0),
        Err(error) => exit_code(Err(error)),
    }
}

fn write(reader: &Reader<'_>, pass: Pass, output: &dyn Output) -> io::Result<PassSummary> {
    reader.pass().with(pass).write(output)
}

fn check_end(summary: &PassSummary) -> Result<(), Failure> {
    match &summary.end {
        PassEnd::Refused(damage) => {
            Err(Failure::from_cause(damage_cause(damage)).in_context("Failed to create the next message"))
        }
        _ => Ok(()),
    }
}

/// Passes a reader of the merged inputs to a function, with its pass and its trimmed data streams.
fn with_messages<T>(
    sources: &mut Sources<'_>,
    inputs: &[PortInput],
    run: impl FnOnce(&Reader<'_>, Pass, (&TrimmedStreams, &Session)) -> T,
) -> Result<T, Failure> {
    let by_source = by_source(inputs);
    if let [(only, _)] = by_source.as_slice() {
        let source = sources.take(*only)?;
        let windows = source.windows(inputs);
        let result = with_reader(&source.session, windows, run);
        sources.keep(*only, source);
        return result;
    }
    let mut windows = HashMap::new();
    let mut sessions = Vec::new();
    for (key, inputs) in by_source {
        let source = sources.take(key)?;
        windows.extend(source.windows(&inputs));
        sessions.push(source.session);
    }
    let (session, _) = Session::join(sessions, &OpenOptions::default());
    with_reader(&session, windows, run)
}

/// Returns the ports of each source.
fn by_source(inputs: &[PortInput]) -> Vec<(SourceUse, Vec<PortInput>)> {
    let mut found: Vec<(SourceUse, Vec<PortInput>)> = Vec::new();
    for input in inputs {
        match found.iter_mut().find(|(source, _)| *source == input.source) {
            Some((_, ports)) => ports.push(*input),
            None => found.push((input.source, vec![*input])),
        }
    }
    found
}

/// Passes a reader of the data streams with these keys to a function, each in its time window.
fn with_reader<T>(
    session: &Session,
    mut windows: HashMap<u32, Window>,
    run: impl FnOnce(&Reader<'_>, Pass, (&TrimmedStreams, &Session)) -> T,
) -> Result<T, Failure> {
    // Also the clocks of data streams outside their windows must be related: otherwise the windows say nothing.
    let related = session.reader_of(Window::default(), |stream| windows.contains_key(&stream.key));
    related.map_err(|error| Failure::from_cause(error.to_string()))?;
    let streams = TrimmedStreams::new(session, &mut windows)?;
    let mut reader = session.stream_reader_of(Window::default(), |stream| windows.contains_key(&stream.key));
    let pass = Pass::new(restrict(&mut reader, session, &windows)).refuse(is_refused);
    let pass = if session.is_live() { pass.live() } else { pass };
    Ok(run(&reader, pass, (&streams, session)))
}

/// Restricts a reader to the time windows of its data streams. Returns the selection of events, which is needed if data
/// streams of one trace have different windows.
fn restrict(reader: &mut Reader<'_>, session: &Session, windows: &HashMap<u32, Window>) -> Selection {
    let mut differ = false;
    for (index, trace) in session.traces().iter().enumerate() {
        let mut of_trace = trace.data_streams().into_iter().filter_map(|stream| windows.get(&stream.key));
        let Some(first) = of_trace.next() else { continue };
        let hull = of_trace.fold(*first, |hull, window| {
            differ |= window != first;
            hull_of(hull, *window)
        });
        reader.restrict(index, hull);
    }
    if !differ {
        return Selection::default();
    }
    let windows = windows.clone();
    Selection::default().condition(move |event: &Event<'_>| {
        let Some(window) = windows.get(&event.stream.key) else { return true };
        let Some(clock) = event.clock else { return true };
        window.begin.is_none_or(|begin| clock.nanoseconds >= begin)
            && window.end.is_none_or(|end| clock.nanoseconds <= end)
    })
}

/// Writes each source as a trace of its own, unless it has no messages in its time window.
fn write_traces(sources: &mut Sources<'_>, mut sink: CtfFsSink, inputs: &[PortInput]) -> Result<u8, Failure> {
    let mut all = Vec::new();
    // A window that cannot be used is an error before anything is written.
    for (key, inputs) in by_source(inputs) {
        let source = sources.take(key)?;
        let mut windows = source.windows(&inputs);
        all.push((key, TrimmedStreams::new(&source.session, &mut windows)?, windows));
        sources.keep(key, source);
    }
    for (key, streams, windows) in all {
        let source = sources.take(key)?;
        if let Some(trace) = source.session.traces().first().filter(|_| !windows.is_empty()) {
            let mut reader = source
                .session
                .stream_reader_of(Window::default(), |stream| windows.contains_key(&stream.key));
            let pass = Pass::new(restrict(&mut reader, &source.session, &windows));
            let is_cut = !streams.is_empty();
            let pass = if is_cut { streams.trim(pass) } else { pass };
            sink.write(&reader, trace.trace(), pass, is_cut)?;
        }
        sources.keep(key, source);
    }
    Ok(0)
}

impl OpenedSource {
    /// Returns the time windows of data streams, by their keys.
    fn windows(&self, inputs: &[PortInput]) -> HashMap<u32, Window> {
        let mut windows: HashMap<u32, Window> = HashMap::new();
        for input in inputs {
            let Some(port) = self.ports.get(input.port) else { continue };
            let Some(trace) = self.session.traces().get(port.trace) else { continue };
            if let Some(stream) = trace.data_streams().get(port.stream) {
                let known = windows.entry(stream.key).or_default();
                *known = narrowed(*known, input.window);
            }
        }
        windows
    }
}
