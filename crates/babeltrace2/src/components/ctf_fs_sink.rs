//! `sink.ctf.fs`: writes CTF traces.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ichnos::convert::{ConvertError, ConvertOptions, target};
use ichnos::io::ExistingOutput;
use ichnos::model::Trace;
use ichnos::model::class::{Role, Roles};
use ichnos::{Pass, Reader};

use crate::command::Failure;
use crate::components::ctf_errors::{damage_cause, is_refused};
use crate::components::parameter_values::Parameters;
use crate::components::text_sinks::shown;
use crate::components::trace_directory::{new_trace_directory, place_for_trace};
use crate::native_text::path_of;
use crate::value::Map;

/// Parameters that ignore losses, and the roles of the packet fields that count them.
const LOSSES: [(&str, Role); 2] = [
    ("ignore-discarded-events", Role::DiscardedEventCounter),
    ("ignore-discarded-packets", Role::PacketSequenceNumber),
];

/// Settings of the sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CtfFsSink {
    path: PathBuf,
    /// `true` to write one trace to the output path itself.
    is_single: bool,
    is_quiet: bool,
    is_ctf_1: bool,
    /// Roles of the packet fields that count ignored losses.
    ignored_losses: Roles,
    /// Number of traces written so far.
    traces: usize,
}

impl CtfFsSink {
    /// Creates a sink from parameters.
    ///
    /// # Errors
    /// If the version is unknown, or the path is empty.
    pub(crate) fn new(parameters: &Map) -> Result<Self, Failure> {
        let parameters = Parameters(parameters);
        let is_ctf_1 = match parameters.text("ctf-version") {
            Some("1" | "1.8") => true,
            None | Some("2" | "2.0") => false,
            Some(other) => {
                return Err(Failure::from_cause(format!(
                    "Unexpected `ctf-version` parameter value `{other}`: expecting `1`, `1.8`, `2`, or `2.0`."
                )));
            }
        };
        let path = path_of(parameters.text("path").unwrap_or_default());
        if path.as_os_str().is_empty() {
            return Err(Failure::from_cause("The output path is empty: output-path=\"\""));
        }
        let is_ignored = |(name, _): &(&str, Role)| parameters.is_set(name);
        let ignored_losses = LOSSES.into_iter().filter(is_ignored).map(|(_, role)| role).collect();
        Ok(Self {
            path,
            ignored_losses,
            is_single: parameters.is_set("assume-single-trace"),
            is_quiet: parameters.is_set("quiet"),
            is_ctf_1,
            traces: 0,
        })
    }

    /// Returns the path of the first directory that the sink creates, or could create.
    pub(crate) fn new_place(&self) -> PathBuf {
        let mut place = if self.is_single { self.path.clone() } else { place_for_trace(&self.path) };
        while let Some(parent) = place.parent()
            && !parent.as_os_str().is_empty()
            && !parent.exists()
        {
            place = parent.to_owned();
        }
        place
    }

    /// Prepares the output directory.
    ///
    /// # Errors
    /// If it cannot be created, or if it exists and must not.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        let path = &self.path;
        if self.is_single && path.exists() {
            return Err(Failure::from_cause(format!(
                "Single trace mode, but output path exists: output-path=\"{}\"",
                path.display()
            )));
        }
        let directory = if self.is_single { path.parent().unwrap_or(Path::new("")) } else { path };
        create_directories(directory, "output directory: output-dir-path")
    }

    /// Writes the messages of a reader as one trace. `is_cut`: only some of its messages, which its counters do not show.
    ///
    /// # Errors
    /// If the trace cannot be read or written.
    pub(crate) fn write(
        &mut self,
        reader: &Reader<'_>,
        trace: &Trace,
        pass: Pass,
        is_cut: bool,
    ) -> Result<(), Failure> {
        if self.is_single && self.traces > 0 {
            return Err(Failure::from_cause("Single trace mode, but getting more than one trace"));
        }
        self.traces += 1;
        let directory = match self.is_single {
            true => self.path.clone(),
            false => new_trace_directory(&self.path, trace),
        };
        create_directories(directory.parent().unwrap_or(Path::new("")), "trace directory: path")?;
        let dialect = if self.is_ctf_1 { "ctf1.8" } else { "spec2" };
        let Some(target) = target(Some("ctf"), &directory, None) else {
            return Err(Failure::from_cause("Failed to find the CTF writer"));
        };
        let mut options = ConvertOptions::default();
        options.write.dialect = Some(dialect.to_owned());
        options.write.existing = ExistingOutput::Refuse;
        options.write.correlated = true;
        options.write.recounted = self.ignored_losses;
        if is_cut {
            let roles = LOSSES.into_iter().map(|(_, role)| role);
            options.write.recounted_with_losses =
                roles.filter(|role| !self.ignored_losses.has(*role)).collect();
        }
        options.write.numbers_packets = true;
        options.threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        options.pass = pass.refuse(is_refused);
        match reader.convert(target.writer, Some(directory.clone()), &options) {
            Ok(_) => self.report(&directory),
            Err(ConvertError::Refused(damage)) => {
                Err(Failure::from_cause(damage_cause(&damage))
                    .in_context("Failed to create the next message"))
            }
            Err(error) => Err(Failure::from_cause(format!(
                "Cannot write the trace: path=\"{}\": {error}",
                shown(&directory)
            ))),
        }
    }

    fn report(&self, directory: &Path) -> Result<(), Failure> {
        if self.is_quiet {
            return Ok(());
        }
        let written = writeln!(io::stdout(), "Created CTF trace `{}`.", shown(directory));
        // The trace is complete, whether or not anybody reads this line.
        written
            .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
            .map_err(|error| Failure::from_cause(format!("Cannot write to the standard output: {error}")))
    }
}

fn create_directories(directory: &Path, what: &str) -> Result<(), Failure> {
    if directory.as_os_str().is_empty() {
        return Ok(());
    }
    fs::create_dir_all(directory).map_err(|error| {
        Failure::from_cause(format!("Cannot create directories for {what}=\"{}\": {error}", shown(directory)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ParameterValue;

    #[test]
    fn versions_are_read() {
        let sink = |version: Option<&str>| {
            let mut map = Map::default();
            map.insert("path", ParameterValue::Text("out".to_owned()));
            if let Some(version) = version {
                map.insert("ctf-version", ParameterValue::Text(version.to_owned()));
            }
            CtfFsSink::new(&map).map(|sink| sink.is_ctf_1)
        };
        let cases =
            [(None, false), (Some("1"), true), (Some("1.8"), true), (Some("2"), false), (Some("2.0"), false)];
        for (version, expected) in cases {
            assert_eq!(sink(version), Ok(expected));
        }
        let failure = sink(Some("3")).unwrap_err();
        assert!(failure.causes[0].starts_with("Unexpected `ctf-version` parameter value `3`"));
    }
}
