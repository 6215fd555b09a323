//! Copies events to chunks.

use std::ops::Range;
use std::sync::Arc;

use ichnos::table::arrow_array::{Array as _, ArrayRef, Int64Array};
use ichnos::tables::{BlockPart, EventColumn, EventReader, EventScan, ReadBlock, ReadRows};

use crate::array;
use crate::duckdb::{Chunk, Rows, Vector};

/// Thread of a run.
pub(crate) struct EventThread {
    reader: EventReader,
    /// Rows that are being copied, and the number of rows that already are.
    block: ReadRows,
    copied: usize,
    /// Times that are not copied so far, for a run with this column only.
    times: Int64Array,
    /// Number of counted events without a row so far.
    counted: u64,
}

impl EventThread {
    pub(crate) fn new(scan: &EventScan) -> Self {
        let (reader, block) = (EventReader::new(scan), ReadRows::default());
        Self { reader, block, copied: 0, times: Vec::<i64>::new().into(), counted: 0 }
    }

    /// Fills the next chunk. Returns the number of rows, 0 at the end.
    pub(crate) fn fill(&mut self, scan: &EventScan, chunk: &mut Chunk<'_>) -> Result<usize, String> {
        loop {
            if self.counted > 0 {
                let rows = self.counted.min(chunk.capacity() as u64);
                self.counted -= rows;
                return Ok(rows as usize);
            }
            if !self.times.is_empty() {
                return self.copy_times(chunk);
            }
            if self.copied < self.block.len() {
                return self.copy(scan, chunk);
            }
            match self.reader.read(scan).map_err(|error| error.to_string())? {
                None => return Ok(0),
                Some(ReadBlock::Count(count)) => self.counted = count,
                Some(ReadBlock::Times(times)) => self.times = times,
                Some(ReadBlock::Rows(block)) => (self.block, self.copied) = (block, 0),
            }
        }
    }

    /// Copies the next times.
    fn copy_times(&mut self, chunk: &mut Chunk<'_>) -> Result<usize, String> {
        let count = self.times.len().min(chunk.capacity());
        let times: ArrayRef = Arc::new(self.times.slice(0, count));
        self.times = self.times.slice(count, self.times.len() - count);
        if let Some(mut vector) = chunk.column(0) {
            array::write(&mut vector, Rows::Range(0, count), &times)?;
        }
        Ok(count)
    }

    /// Copies the next rows.
    fn copy(&mut self, scan: &EventScan, chunk: &mut Chunk<'_>) -> Result<usize, String> {
        let begin = self.copied;
        let end = self.block.len().min(begin + chunk.capacity());
        let (first, last) = (begin as u32, end as u32);
        // Part of each batch, and its rows in the chunk.
        let mut parts = Vec::with_capacity(self.block.parts().len());
        for part in self.block.parts() {
            let from = part.rows.partition_point(|row| *row < first);
            let to = part.rows.partition_point(|row| *row < last);
            if let Some(rows) = part.rows.get(from..to).filter(|rows| !rows.is_empty()) {
                parts.push((part, from, Rows::new(rows, first)));
            }
        }
        for (index, column) in scan.columns().iter().enumerate() {
            let (Some(column), Some(mut vector)) = (column, chunk.column(index)) else { continue };
            match column {
                EventColumn::Field(column) => {
                    let parts = FieldParts { parts: &parts, index, rows: end - begin };
                    parts.write(&mut vector).map_err(|error| format!("column {}: {error}", column.name))?;
                }
                EventColumn::Name => {
                    for (part, _, rows) in &parts {
                        vector.write_same(*rows, part.batch.plan.label().as_bytes());
                    }
                }
                EventColumn::Trace(_) => {
                    vector.write_same(Rows::Range(0, end - begin), self.block.path(0).as_bytes())
                }
                EventColumn::Level(_) => write_texts(&mut vector, begin..end, |row| self.block.level(row)),
                EventColumn::Message(_) => {
                    write_texts(&mut vector, begin..end, |row| self.block.message(row))
                }
            }
        }
        self.copied = end;
        Ok(end - begin)
    }
}

/// Writes the text of each row, if it has one.
fn write_texts<'t>(vector: &mut Vector<'_>, rows: Range<usize>, text: impl Fn(usize) -> Option<&'t str>) {
    for (at, row) in rows.enumerate() {
        let text = text(row);
        vector.set_valid(at, text.is_some());
        if let Some(text) = text {
            vector.write_bytes(at, text.as_bytes());
        }
    }
}

/// Parts of batches in a chunk, for a field.
struct FieldParts<'p> {
    /// Each batch, the first row in it, and the rows in the chunk.
    parts: &'p [(&'p BlockPart, usize, Rows<'p>)],
    index: usize,
    /// Number of rows in the chunk.
    rows: usize,
}

impl FieldParts<'_> {
    fn write(&self, vector: &mut Vector<'_>) -> Result<(), String> {
        let has = |part: &BlockPart| part.columns.get(self.index).copied().flatten();
        let covered = self.parts.iter().filter(|(part, ..)| has(part).is_some());
        if covered.map(|(.., rows)| rows.len()).sum::<usize>() < self.rows {
            vector.clear(self.rows);
        }
        for (part, from, rows) in self.parts {
            let Some(place) = has(part) else { continue };
            let Some(values) = part.batch.batch.columns().get(place) else { continue };
            array::write(vector, *rows, &values.slice(*from, rows.len()))?;
        }
        Ok(())
    }
}
