//! Output of formats whose traces are one file each, of all events in order of time.

use std::io;
use std::sync::{Arc, Mutex};

use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, IgnorePoison as _, TraceDigest};

use crate::{
    CreateError, Joined, Lane, MessageOrder, Output, OutputBlock, PartEncoders, TraceFile, Worker,
    WriteOptions, WriteReport, WriteTarget,
};

/// Makes the encoders of a [`FileOutput`], and keeps what they share.
///
/// # For implementations
/// An output of one file has one encoder. Outputs of several parts use the same encoders: see [`PartEncoders`].
pub trait FileEncoders: PartEncoders<Encoder: Send + 'static> + Send {
    /// Returns the order in which encoders take messages; of a single data stream, several orders are the same.
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    /// Returns the digest of everything that finished encoders wrote.
    fn total_digest(&self) -> TraceDigest;
}

/// A file with all events of some traces, in order of time.
#[derive(Debug)]
pub struct FileOutput<E> {
    encoders: Mutex<E>,
    file: TraceFile,
    /// Data streams added so far, whose keys must not be used again.
    added: Mutex<Vec<Arc<DataStream>>>,
}

impl<E: FileEncoders> FileOutput<E> {
    /// Creates the file of a target.
    ///
    /// # Errors
    /// If it cannot be created, or exists and must not be replaced.
    pub fn new(target: &WriteTarget, encoders: E, options: &WriteOptions) -> Result<Self, CreateError> {
        let file = TraceFile::create(target, options)?;
        Ok(Self { encoders: Mutex::new(encoders), file, added: Mutex::default() })
    }

    /// Returns `true` if the file is a terminal, which would take texts of a trace as commands.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    fn with_encoders<T>(&self, read: impl FnOnce(&mut E) -> T) -> T {
        read(&mut self.encoders.lock().ignore_poison())
    }
}

impl<E: FileEncoders> Output for FileOutput<E> {
    fn order(&self) -> MessageOrder {
        self.with_encoders(|encoders| encoders.order())
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(self.with_encoders(|encoders| encoders.encoder()))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut added = self.added.lock().ignore_poison();
        added.push(stream);
        Ok(added.len() - 1)
    }

    fn join(&self, block: OutputBlock) -> io::Result<Joined> {
        self.file.write(&block)?;
        Ok(Joined::Done)
    }

    fn losses(&self) -> LossTable {
        self.with_encoders(|encoders| encoders.losses())
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let (losses, digest) = self.with_encoders(|encoders| (encoders.losses(), encoders.total_digest()));
        self.file.finish(losses, &digest)
    }
}
