//! Output for formats with one file per trace.

use std::io;
use std::sync::{Arc, Mutex};

use ichnos_model::DataStream;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::LossTable;

use crate::message_encoder::EncoderWorker;
use crate::{
    CreateError, JoinResult, Lane, MessageEncoder, MessageOrder, Output, OutputBlock, TraceFile, Worker,
    WriteOptions, WriteReport, WriteTarget,
};

/// Creates an output that writes all events to one file.
///
/// # Errors
/// Fails if it cannot be created, or exists and must not be replaced.
pub fn file_output<E: MessageEncoder>(
    target: &WriteTarget,
    rules: E::Rules,
    options: &WriteOptions,
) -> Result<Box<dyn Output>, CreateError> {
    let file = TraceFile::create(target, options)?;
    if E::IS_UNESCAPED && file.is_terminal() {
        return Err(CreateError::Terminal);
    }
    Ok(Box::new(FileOutput::<E> { rules: Arc::new(rules), file, added: Mutex::default() }))
}

/// Output that writes all events to one file.
#[derive(Debug)]
struct FileOutput<E: MessageEncoder> {
    rules: Arc<E::Rules>,
    file: TraceFile,
    /// Data streams added so far. Their keys must not be reused.
    added: Mutex<Vec<Arc<DataStream>>>,
}

impl<E: MessageEncoder> Output for FileOutput<E> {
    fn order(&self) -> MessageOrder {
        E::order(&self.rules)
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(EncoderWorker::<E>::new(&self.rules))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut added = self.added.lock().ignore_poison();
        E::record_stream(&self.rules, &stream, &added);
        added.push(stream);
        Ok(added.len() - 1)
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        self.file.write(&block)?;
        Ok(JoinResult::Done)
    }

    fn losses(&self) -> LossTable {
        E::shared(&self.rules).losses()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let shared = E::shared(&self.rules);
        let (losses, digest) = (shared.losses(), shared.digest().clone());
        self.file.finish(losses, &digest)
    }
}
