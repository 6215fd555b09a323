//! Encoders of files for viewers.

use std::fmt::Debug;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use ichnos_io::{FileEncoders, OutputBlock, PartEncoders, Worker, WorkerFlow};
use ichnos_model::lower::LossTable;
use ichnos_model::{IgnorePoison as _, Message, TraceDigest};
use ichnos_viewers::{Chrome, Firefox, Otlp, Perfetto};

/// Size of a block, in bytes.
const BLOCK: usize = 128 << 10;

/// Content of a file for a viewer.
pub(super) trait ViewerContent: Debug + Send {
    /// Takes a message; returns `false` for an event that cannot be shown.
    fn message(&mut self, message: &Message<'_>) -> bool;
    /// Returns the bytes that were not taken.
    fn bytes(&self) -> &[u8];
    /// Takes the bytes.
    fn take_bytes(&mut self) -> Vec<u8>;
    /// Ends the file.
    fn finish(&mut self) -> io::Result<()>;
    /// Returns the losses so far.
    fn losses(&self) -> &LossTable;
}

/// Implements the trait for a content whose functions have the same names; `$finish` calls that which ends it.
macro_rules! content {
    ($content:ty, $finish:expr) => {
        impl ViewerContent for $content {
            fn message(&mut self, message: &Message<'_>) -> bool {
                self.message(message)
            }

            fn bytes(&self) -> &[u8] {
                self.bytes()
            }

            fn take_bytes(&mut self) -> Vec<u8> {
                self.take_bytes()
            }

            fn finish(&mut self) -> io::Result<()> {
                let finish: fn(&mut Self) -> io::Result<()> = $finish;
                finish(self)
            }

            fn losses(&self) -> &LossTable {
                self.losses()
            }
        }
    };
}

content!(Perfetto, |content| {
    content.finish();
    Ok(())
});
content!(Chrome, |content| {
    content.finish();
    Ok(())
});
content!(Otlp, |content| {
    content.finish();
    Ok(())
});
content!(Firefox, Firefox::finish);

/// Makes the encoders of files.
#[derive(Debug)]
pub(super) struct ViewerEncoders<M> {
    /// Makes the content of a file.
    make: M,
    is_compressed: bool,
    /// Losses of finished files.
    losses: Arc<Mutex<LossTable>>,
}

impl<M: Fn() -> Box<dyn ViewerContent>> ViewerEncoders<M> {
    pub(super) fn new(make: M, is_compressed: bool) -> Self {
        Self { make, is_compressed, losses: Arc::default() }
    }
}

impl<M: Fn() -> Box<dyn ViewerContent>> PartEncoders for ViewerEncoders<M> {
    type Encoder = ViewerEncoder;

    fn encoder(&mut self) -> ViewerEncoder {
        let compressed = self.is_compressed.then(|| GzEncoder::new(Vec::new(), Compression::default()));
        let losses = Arc::clone(&self.losses);
        ViewerEncoder { content: (self.make)(), compressed, events: 0, is_over: false, losses }
    }

    fn waiting(encoder: &ViewerEncoder) -> usize {
        encoder.content.bytes().len()
    }

    fn finish(&mut self, encoder: &mut ViewerEncoder) -> io::Result<()> {
        encoder.finish()
    }

    fn digest(&self, _: &ViewerEncoder) -> TraceDigest {
        TraceDigest::default()
    }

    fn losses(&self) -> LossTable {
        self.losses.lock().ignore_poison().clone()
    }
}

impl<M: Fn() -> Box<dyn ViewerContent> + Send> FileEncoders for ViewerEncoders<M> {
    fn total_digest(&self) -> TraceDigest {
        TraceDigest::default()
    }
}

/// Encodes the events of a file.
#[derive(Debug)]
pub(super) struct ViewerEncoder {
    content: Box<dyn ViewerContent>,
    /// `None` for a file that is not compressed.
    compressed: Option<GzEncoder<Vec<u8>>>,
    /// Number of events since the last block.
    events: u64,
    is_over: bool,
    losses: Arc<Mutex<LossTable>>,
}

impl ViewerEncoder {
    /// Compresses the bytes of the content, if the file is compressed.
    fn compress(&mut self) -> io::Result<()> {
        let Some(compressed) = &mut self.compressed else { return Ok(()) };
        compressed.write_all(&self.content.take_bytes())
    }
}

impl Worker for ViewerEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        if let Message::Damage(damage) = message {
            self.losses.lock().ignore_poison().add_damage(damage);
        }
        let is_written = self.content.message(message);
        self.events += u64::from(is_written && matches!(message, Message::Event(_)));
        if self.content.bytes().len() < BLOCK {
            return Ok(WorkerFlow::Continue);
        }
        self.compress()?;
        Ok(WorkerFlow::Block)
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let bytes = match &mut self.compressed {
            Some(compressed) => std::mem::take(compressed.get_mut()),
            None => self.content.take_bytes(),
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
        self.content.finish()?;
        self.compress()?;
        if let Some(compressed) = &mut self.compressed {
            compressed.try_finish()?;
        }
        let mut losses = self.losses.lock().ignore_poison();
        self.content.losses().iter().for_each(|(entry, count)| losses.add(entry.clone(), count));
        Ok(())
    }
}
