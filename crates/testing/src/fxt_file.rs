//! FXT trace builder, written from the document alone. It shares no code with the crate.

/// Returns a record header without the size: type, and bits from 16 on.
pub fn header(kind: u64, fields: &[(u32, u64)]) -> u64 {
    fields.iter().fold(kind, |header, (bit, value)| header | value << bit)
}

/// Returns a reference to a string inside the record.
pub fn inline(text: &str) -> u64 {
    0x8000 | text.len() as u64
}

/// Trace bytes.
#[derive(Clone, Debug, Default)]
pub struct FxtBuilder {
    pub bytes: Vec<u8>,
}

/// Words and streams of a record or an argument, after its header.
#[derive(Clone, Debug, Default)]
pub struct Body(pub Vec<u8>);

impl Body {
    pub fn word(mut self, word: u64) -> Self {
        self.0.extend(word.to_le_bytes());
        self
    }

    pub fn words(self, words: &[u64]) -> Self {
        words.iter().fold(self, |body, word| body.word(*word))
    }

    pub fn stream(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }

    pub fn text(self, text: &str) -> Self {
        self.stream(text.as_bytes())
    }

    /// Appends an argument with an inline name.
    pub fn argument(self, kind: u64, name: &str, low: u64, body: Self) -> Self {
        let size = 1 + name.len().div_ceil(8) as u64 + body.0.len() as u64 / 8;
        let header = header(kind, &[(4, size), (16, inline(name)), (32, low)]);
        let mut all = self.word(header).text(name);
        all.0.extend(body.0);
        all
    }
}

pub fn body() -> Body {
    Body::default()
}

pub const MAGIC: [u8; 8] = [0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00];

impl FxtBuilder {
    /// Creates a trace with the magic number record.
    pub fn new() -> Self {
        Self { bytes: MAGIC.to_vec() }
    }

    pub fn record(&mut self, header: u64, body: Body) -> &mut Self {
        let size = 1 + body.0.len() as u64 / 8;
        let header = if header & 0xf == 15 { header | size << 4 } else { header | size << 4 & 0xfff0 };
        self.bytes.extend(header.to_le_bytes());
        self.bytes.extend(body.0);
        self
    }

    pub fn initialization(&mut self, ticks_per_second: u64) -> &mut Self {
        self.record(1, body().word(ticks_per_second))
    }

    pub fn string(&mut self, index: u64, text: &str) -> &mut Self {
        self.record(header(2, &[(16, index), (32, text.len() as u64)]), body().text(text))
    }

    pub fn thread(&mut self, index: u64, process: u64, thread: u64) -> &mut Self {
        self.record(header(3, &[(16, index)]), body().words(&[process, thread]))
    }

    pub fn provider(&mut self, id: u64, name: &str) -> &mut Self {
        self.record(header(0, &[(16, 1), (20, id), (52, name.len() as u64)]), body().text(name))
    }

    pub fn section(&mut self, id: u64) -> &mut Self {
        self.record(header(0, &[(16, 2), (20, id)]), body())
    }

    /// Appends an event for thread 2 of process 1, with inline names and arguments.
    pub fn event(
        &mut self,
        kind: u64,
        ticks: u64,
        names: [&str; 2],
        arguments: Vec<Body>,
        data: &[u64],
    ) -> &mut Self {
        let count = arguments.len() as u64;
        let [category, name] = names;
        let header = header(4, &[(16, kind), (20, count), (32, inline(category)), (48, inline(name))]);
        let mut all = body().words(&[ticks, 1, 2]).text(category).text(name);
        arguments.into_iter().for_each(|argument| all.0.extend(argument.0));
        self.record(header, all.words(data))
    }
}
