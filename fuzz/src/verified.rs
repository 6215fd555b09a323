//! Traces of all formats that are written with `verify`: what is written is what is read of it.

use std::fs;
use std::path::{Path, PathBuf};

use ichnos::convert::{ConvertError, ConvertOptions, SplitTargets};
use ichnos::ctf::CtfWriter;
use ichnos::io::{CreateError, WriterFactory};
use ichnos::model::{Event, Window};
use ichnos::{OpenOptions, Pass, Selection, Session, SplitBy};
use ichnos_fuchsia::log_writer::FuchsiaLogWriter;
use ichnos_xtrace::XTraceWriter;

/// Ways to write a trace.
const WAYS: u8 = 7;

/// Writes the files of a trace in a way that a byte chooses.
pub fn verified(files: &[(&str, &[u8])], choice: u8) {
    let directory = Directory::new();
    let input = directory.0.join("in");
    for (name, bytes) in files {
        let path = input.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let mut options = OpenOptions::default();
    options.read.check = true;
    let Ok(session) = ichnos::open([&input], &options) else { return };
    convert(&session, &directory.0.join("out"), choice);
}

/// A directory that is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ichnos-verified-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn convert(session: &Session, output: &Path, choice: u8) {
    let way = choice % WAYS;
    let more = choice / WAYS;
    let mut window = Window::default();
    if way == 2 {
        let streams = session.traces().iter().flat_map(|trace| trace.streams());
        let first = streams.filter_map(|summary| summary.time_range).map(|(begin, _)| begin).min();
        window.begin = first.map(|first| first + 1_000_000 * i128::from(more));
    }
    let Ok(reader) = session.reader_of(window, |_| true) else { return };
    let mut options = ConvertOptions::default();
    options.verify = true;
    let dialects = CtfWriter.dialects();
    options.write.dialect = Some(dialects[usize::from(more) % dialects.len()].name.to_owned());
    options.write.packet_size = [None, Some(100)][usize::from(more / 8 & 1)];
    let has_even_length = |event: &Event<'_>| event.name().len() % 2 == 0;
    let result = match way {
        0 => {
            (options.write.dialect, options.write.packet_size) = (None, None);
            reader.convert(&FuchsiaLogWriter, Some(output.to_owned()), &options)
        }
        6 => {
            let dialects = XTraceWriter.dialects();
            options.write.dialect = Some(dialects[usize::from(more) % dialects.len()].name.to_owned());
            let orphans = ["drop", "chain"][usize::from(more / 2 & 1)];
            options.write.formats.set("xtrace", XTraceWriter.options(), "orphans", orphans.as_ref()).unwrap();
            reader.convert(&XTraceWriter, Some(output.to_owned()), &options)
        }
        1 => {
            options.pass = Pass::new(Selection::default().condition(has_even_length));
            reader.convert(&CtfWriter, Some(output.to_owned()), &options)
        }
        3 | 4 => {
            fs::create_dir(output).unwrap();
            let part_of = &mut |event: &Event<'_>| Some(usize::from(has_even_length(event)));
            let by = match way {
                3 => SplitBy::Events { part_of, rest: &mut || 2 },
                _ => SplitBy::Streams,
            };
            let selected_by = |part: usize| (way == 3).then(|| format!("length of the name: {part}"));
            let targets = SplitTargets {
                path: &mut |part| Some(output.join(part.to_string())),
                selected_by: &selected_by,
                finished: &mut |_, _| {},
            };
            reader.split(&CtfWriter, by, targets, &options)
        }
        _ => reader.convert(&CtfWriter, Some(output.to_owned()), &options),
    };
    if let Err(ConvertError::Create(error @ CreateError::Mismatch(_))) = result {
        panic!(
            "way {way}, {:?}, packet size {:?}: {error}",
            options.write.dialect, options.write.packet_size
        );
    }
}
