//! Encoders of viewer files.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use ichnos_io::{EncoderRules, MessageEncoder, WriteOptions};
use ichnos_model::Message;
use ichnos_model::digest::TraceDigest;
use ichnos_viewers::{ViewerFile, ViewerStart};

/// Size of a block, in bytes.
const BLOCK: usize = 128 << 10;

/// Starts a file.
pub(super) type MakeFile = Box<dyn Fn() -> Box<dyn ViewerFile> + Send + Sync>;

/// Returns the start time of viewer files.
pub(super) fn viewer_start(options: &WriteOptions) -> ViewerStart {
    let first_time = options.first_time.and_then(|first| u64::try_from(first.nanoseconds).ok());
    ViewerStart { first_time, has_date: options.first_time.is_some_and(|first| first.has_date) }
}

/// Rules for viewer files.
pub(super) struct ViewerRules {
    make: MakeFile,
    is_compressed: bool,
    shared: EncoderRules,
}

impl fmt::Debug for ViewerRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewerRules").field("is_compressed", &self.is_compressed).finish_non_exhaustive()
    }
}

impl ViewerRules {
    /// Creates the rules. `make` starts each file.
    pub(super) fn new(make: MakeFile, is_compressed: bool, options: &WriteOptions) -> Self {
        let shared = EncoderRules::new(Vec::new(), options, |_, _| {});
        Self { make, is_compressed, shared }
    }
}

/// Encoder of a viewer file.
#[derive(Debug)]
pub(super) struct ViewerEncoder {
    rules: Arc<ViewerRules>,
    content: Box<dyn ViewerFile>,
    /// `None` for an uncompressed file.
    compressed: Option<GzEncoder<Vec<u8>>>,
    /// Number of events since the last block.
    events: u64,
    is_over: bool,
}

impl ViewerEncoder {
    /// Compresses the pending bytes of a compressed file.
    fn compress(&mut self) -> io::Result<()> {
        let Some(compressed) = &mut self.compressed else { return Ok(()) };
        compressed.write_all(&self.content.take_bytes())
    }
}

impl MessageEncoder for ViewerEncoder {
    type Rules = ViewerRules;

    const IS_UNESCAPED: bool = true;

    fn shared(rules: &ViewerRules) -> &EncoderRules {
        &rules.shared
    }

    fn new(rules: Arc<ViewerRules>) -> Self {
        let compressed = rules.is_compressed.then(|| GzEncoder::new(Vec::new(), Compression::default()));
        Self { content: (rules.make)(), rules, compressed, events: 0, is_over: false }
    }

    fn message(&mut self, message: &Message<'_>, shared: &EncoderRules) -> io::Result<()> {
        if let Message::Damage(damage) = message {
            shared.with_losses(|table| table.add_damage(damage));
        }
        let is_written = self.content.message(message);
        self.events += u64::from(is_written && matches!(message, Message::Event(_)));
        if self.content.bytes().len() >= BLOCK { self.compress() } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.content.finish()?;
        self.compress()?;
        if let Some(compressed) = &mut self.compressed {
            compressed.try_finish()?;
        }
        let losses = self.content.losses();
        self.rules.shared.with_losses(|table| {
            losses.iter().for_each(|(entry, count)| table.add(entry.clone(), count));
        });
        Ok(())
    }

    fn ready(&self) -> usize {
        self.compressed.as_ref().map_or(self.content.bytes().len(), |compressed| compressed.get_ref().len())
    }

    fn waiting(&self) -> usize {
        self.content.bytes().len()
    }

    fn is_full(&self, _: usize) -> bool {
        self.ready() >= if self.compressed.is_some() { 1 } else { BLOCK }
    }

    fn take_bytes(&mut self) -> (Vec<u8>, u64) {
        let bytes = match &mut self.compressed {
            Some(compressed) => std::mem::take(compressed.get_mut()),
            None => self.content.take_bytes(),
        };
        (bytes, std::mem::take(&mut self.events))
    }

    /// These files are never read again.
    fn take_digest(&mut self) -> TraceDigest {
        TraceDigest::default()
    }
}
