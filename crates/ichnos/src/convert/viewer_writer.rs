//! Traces of viewers wherever traces can be written.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_export::viewers::{Chrome, Perfetto};
use ichnos_io::{
    CreateError, FileEncoders, FileOutput, FileParts, Output, OutputBlock, PartEncoders, PartsOutput,
    TraceWriter, Worker, WorkerFlow, WriteOptions, WriteSource, WriteTarget, foreign_file, plain_files,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{Message, TraceDigest};

/// Size of a block, in bytes.
const BLOCK: usize = 128 << 10;

/// Writes files for a viewer. They can have losses, cannot be read again, and thus cannot be verified.
///
/// ```no_run
/// use ichnos::convert::{ConvertOptions, ViewerWriter};
/// use ichnos::model::Window;
///
/// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
/// let reader = session.reader(Window::default(), |_| true)?;
/// reader.convert(&ViewerWriter::Perfetto, Some("my.pftrace".into()), &ConvertOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewerWriter {
    /// [Perfetto's format](Perfetto).
    Perfetto,
    /// [Chrome's JSON](Chrome).
    Chrome,
}

impl ViewerWriter {
    /// All viewers.
    pub const ALL: [Self; 2] = [Self::Perfetto, Self::Chrome];

    /// Returns the name of the format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Chrome => "chrome",
        }
    }

    fn check(self, sources: &[WriteSource], options: &WriteOptions) -> Result<ViewerEncoders, CreateError> {
        if let Some(dialect) = &options.dialect {
            return Err(CreateError::Dialect(dialect.clone()));
        }
        if options.verify.is_some() {
            let trace = sources.first().map_or_else(String::new, |source| source.trace.name.clone());
            let problems = vec!["files for viewers cannot be read again to verify them".to_owned()];
            return Err(CreateError::Unsupported { trace, dialect: self.name(), problems });
        }
        Ok(ViewerEncoders { viewer: self, losses: Arc::default() })
    }
}

impl TraceWriter for ViewerWriter {
    fn extensions(&self) -> &'static [&'static str] {
        match self {
            Self::Perfetto => &["pftrace", "perfetto-trace"],
            Self::Chrome => &["json"],
        }
    }

    fn drops_events(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        // Those of other programs look the same.
        match plain_files(directory)?.first() {
            Some(path) => Err(foreign_file(path, "it may be from another program")),
            None => Ok(Vec::new()),
        }
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        let output = FileOutput::new(&target, self.check(&sources, options)?, options)?;
        if output.is_terminal() {
            return Err(CreateError::Terminal);
        }
        Ok(Box::new(output))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        Ok(Box::new(FileParts::new(self.check(&sources, options)?, options)))
    }
}

/// Makes the encoders of files.
#[derive(Debug)]
struct ViewerEncoders {
    viewer: ViewerWriter,
    /// Losses of finished files.
    losses: Arc<Mutex<LossTable>>,
}

impl PartEncoders for ViewerEncoders {
    type Encoder = ViewerEncoder;

    fn encoder(&mut self) -> ViewerEncoder {
        let form = match self.viewer {
            ViewerWriter::Perfetto => ViewerForm::Perfetto(Box::default()),
            ViewerWriter::Chrome => ViewerForm::Chrome(Box::default()),
        };
        ViewerEncoder { form, events: 0, is_over: false, losses: Arc::clone(&self.losses) }
    }

    fn waiting(encoder: &ViewerEncoder) -> usize {
        match &encoder.form {
            ViewerForm::Perfetto(perfetto) => perfetto.bytes().len(),
            ViewerForm::Chrome(chrome) => chrome.bytes().len(),
        }
    }

    fn finish(&mut self, encoder: &mut ViewerEncoder) -> io::Result<()> {
        encoder.finish()
    }

    fn digest(&self, _: &ViewerEncoder) -> TraceDigest {
        TraceDigest::default()
    }

    fn losses(&self) -> LossTable {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FileEncoders for ViewerEncoders {
    fn total_digest(&self) -> TraceDigest {
        TraceDigest::default()
    }
}

/// Encodes the events of a file.
#[derive(Debug)]
struct ViewerEncoder {
    form: ViewerForm,
    /// Number of events since the last block.
    events: u64,
    is_over: bool,
    losses: Arc<Mutex<LossTable>>,
}

#[derive(Debug)]
enum ViewerForm {
    Perfetto(Box<Perfetto>),
    Chrome(Box<Chrome>),
}

impl Worker for ViewerEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        let (size, is_written) = match &mut self.form {
            ViewerForm::Perfetto(perfetto) => {
                let is_written = perfetto.message(message);
                (perfetto.bytes().len(), is_written)
            }
            ViewerForm::Chrome(chrome) => {
                let is_written = chrome.message(message);
                (chrome.bytes().len(), is_written)
            }
        };
        self.events += u64::from(is_written && matches!(message, Message::Event(_)));
        Ok(if size >= BLOCK { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let bytes = match &mut self.form {
            ViewerForm::Perfetto(perfetto) => perfetto.take_bytes(),
            ViewerForm::Chrome(chrome) => chrome.take_bytes(),
        };
        if bytes.is_empty() {
            return None;
        }
        Some(OutputBlock { bytes, events: std::mem::take(&mut self.events), ..OutputBlock::default() })
    }

    fn finish(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        let own = match &mut self.form {
            ViewerForm::Perfetto(perfetto) => {
                perfetto.finish();
                perfetto.losses()
            }
            ViewerForm::Chrome(chrome) => {
                chrome.finish();
                chrome.losses()
            }
        };
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        own.iter().for_each(|(entry, count)| losses.add(entry.clone(), count));
        Ok(())
    }
}
