#![allow(clippy::unwrap_used, clippy::panic)]

use std::io;
use std::ops::ControlFlow;

use ichnos::flow::{Merge, pump};
use ichnos::model::field::{StringEncoding, Text};
use ichnos::prelude::*;
use ichnos_testing::{Random, cases};

use super::*;
use crate::cell_type::CellType;
use crate::column_values::ColumnLoss;
use crate::table_options::{Projection, TableOptions};

/// Random structure member.
#[derive(Clone, Debug)]
struct RandomMember {
    name: String,
    kind: u64,
    size: usize,
    signed: u64,
    order: &'static str,
    length: usize,
}

impl RandomMember {
    fn new(random: &mut Random, index: usize) -> Self {
        Self {
            name: format!("f{index}"),
            kind: random.below(10),
            size: random.pick(&[8, 16, 32, 64]),
            signed: random.below(2),
            order: random.pick(&["le", "be"]),
            length: random.index(4),
        }
    }

    /// Returns its TSDL declaration.
    fn declaration(&self) -> String {
        let Self { name, size, signed, order, length, .. } = self;
        let integer = |size: usize, align: u32| {
            format!("integer {{ size = {size}; align = {align}; signed = {signed}; byte_order = {order}; }}")
        };
        let plain = integer(*size, 8);
        let byte = "integer { size = 8; align = 8; }";
        match self.kind {
            0 => format!("string {name};"),
            1 if *size == 64 => {
                format!(
                    "floating_point {{ exp_dig = 11; mant_dig = 53; align = 8; byte_order = {order}; }} {name};"
                )
            }
            1 => format!(
                "floating_point {{ exp_dig = 8; mant_dig = 24; align = 8; byte_order = {order}; }} {name};"
            ),
            2 => format!("{plain} {name}[{}];", length + 1),
            3 => format!("{byte} {name}_length; {plain} {name}[{name}_length];"),
            4 => format!("enum : {byte} {{ low = 0 ... 100, high = 90 ... 200 }} {name};"),
            // Two values in one byte.
            5 => format!("{} {name}; {} {name}_rest;", integer(3, 1), integer(5, 1)),
            6 => format!("integer {{ size = 8; align = 8; encoding = UTF8; }} {name}[{}];", length + 1),
            _ => format!("{plain} {name};"),
        }
    }

    /// Appends a random value.
    fn push(&self, random: &mut Random, bytes: &mut Vec<u8>) {
        let size = self.size / 8;
        let count = match self.kind {
            0 => {
                let length = random.index(20);
                // Not always valid UTF-8.
                bytes.extend(random.bytes(length).iter().map(|byte| byte.max(&1)));
                return bytes.push(0);
            }
            1 => size.max(4) / 4 * 4,
            2 => (self.length + 1) * size,
            3 => {
                let length = random.index(5);
                bytes.push(u8::try_from(length).unwrap());
                length * size
            }
            4 | 5 => 1,
            6 => self.length + 1,
            _ => size,
        };
        bytes.extend(random.bytes(count));
    }
}

/// Compares the rows from loads with the rows from a visitor, for events whose class allows loads.
struct RowComparison {
    options: TableOptions,
    rows: Option<[TableRows; 2]>,
    count: usize,
}

impl RowComparison {
    fn add(&mut self, event: &Event<'_>) {
        let rows = self.rows.get_or_insert_with(|| {
            let plan = TablePlan::new(event, &self.options);
            let mut visited = TablePlan::new(event, &self.options);
            visited.loads = None;
            [plan, visited].map(|plan| TableRows::new(Arc::new(plan)))
        });
        for rows in rows {
            assert!(rows.add(event, RowPlace::default()).is_decoded);
        }
        self.count += 1;
    }

    /// Compares the rows. Returns `true` if there were loads.
    fn compare(self, stacks: &StackTable) -> bool {
        let mut rows = self.rows.unwrap();
        let [loaded, visited] = rows.each_mut().map(|rows| {
            let mut losses = LossTable::default();
            let batch = rows.finish(stacks, &mut StackHashes::new(0)).unwrap();
            rows.move_losses(&mut losses);
            (batch.batch, losses.iter().map(|(loss, count)| (loss.clone(), count)).collect::<Vec<_>>())
        });
        assert_eq!(loaded.0.num_rows(), self.count);
        // NaN is not equal to itself, so compare bits.
        assert_eq!(loaded.0.schema(), visited.0.schema());
        for (loaded, visited) in loaded.0.columns().iter().zip(visited.0.columns()) {
            assert_eq!(loaded.to_data(), visited.to_data());
        }
        assert_eq!(loaded.1, visited.1);
        rows[0].plan.loads.is_some()
    }
}

impl Sink for RowComparison {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => self.add(event),
            Message::Damage(damage) => panic!("{damage:?}"),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn texts_are_checked_when_they_become_an_array() {
    let mut column = ColumnValues::new(&CellType::Text, 0);
    // The two bytes of a character, in two texts.
    for bytes in [&b"a"[..], b"\xc3", b"\xa9", b"", "\u{e9}".as_bytes()] {
        let text = Text { bytes, raw: bytes, encoding: StringEncoding::Utf8 };
        column.push_text(text);
    }
    column.push_null();
    let array = column.finish().unwrap();
    let texts = array.as_any().downcast_ref::<StringArray>().unwrap();
    let found: Vec<Option<&str>> = texts.iter().collect();
    let replaced = Some("\u{fffd}");
    assert_eq!(found, [Some("a"), replaced, replaced, Some(""), Some("\u{e9}"), None]);
    assert_eq!(column.losses.count(ColumnLoss::InvalidText), 2);
    // Next batch.
    column.push_bytes(b"b");
    assert_eq!(column.finish().unwrap().len(), 1);
}

#[test]
fn loads_and_visits_make_equal_rows() {
    let mut with_loads = 0;
    let count = cases(300, |random| {
        let all = 1 + random.index(12);
        let members: Vec<RandomMember> = (0..all).map(|index| RandomMember::new(random, index)).collect();
        let declarations: String = members.iter().map(RandomMember::declaration).collect();
        let metadata = format!(
            "/* CTF 1.8 */\ntrace {{ major = 1; minor = 8; byte_order = le; }};\nstream {{ }};\n\
            event {{ name = \"e\"; fields := struct {{ {declarations} }}; }};\n"
        );
        let mut bytes = Vec::new();
        for _ in 0..1 + random.index(30) {
            members.iter().for_each(|member| member.push(random, &mut bytes));
        }
        let mut options = TableOptions::default();
        if random.is_one_in(3) {
            let some = members.iter().step_by(2).map(|member| member.name.as_str());
            options = options.with_columns(Projection::named(some));
        }
        with_loads += u64::from(has_equal_rows(&metadata, &bytes, options));
    });
    assert!(with_loads > count / 3, "{with_loads} of {count}");
}

/// Compares the rows of a trace. Returns `true` if there were loads.
fn has_equal_rows(metadata: &str, bytes: &[u8], options: TableOptions) -> bool {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("metadata"), metadata).unwrap();
    std::fs::write(directory.path().join("stream"), bytes).unwrap();
    let session = ichnos::open([directory.path()], &OpenOptions::default()).unwrap();
    let trace = &session.traces()[0];
    let mut rows = RowComparison { options, rows: None, count: 0 };
    pump(&mut Merge::new(trace.cursors(Window::default())), &mut rows).unwrap();
    rows.compare(trace.data_streams()[0].stacks().table)
}

#[test]
fn negative_numbers_have_their_labels() {
    for (order, size) in [("le", 16), ("be", 16), ("le", 32), ("be", 32), ("le", 64), ("be", 64)] {
        let metadata = format!(
            "/* CTF 1.8 */\ntrace {{ major = 1; minor = 8; byte_order = {order}; }};\nstream {{ }};\n\
            event {{ name = \"e\"; fields := struct {{ \
            enum : integer {{ size = {size}; align = 8; signed = true; }} {{ LESS = -9 ... -1, MORE = 0 ... 9 }} e; \
            }}; }};\n"
        );
        let bytes: Vec<u8> = (-3..=3_i64)
            .flat_map(|value| {
                let bytes = if order == "le" { value.to_le_bytes() } else { value.to_be_bytes() };
                let begin = if order == "le" { 0 } else { 8 - size / 8 };
                bytes[begin..begin + size / 8].to_vec()
            })
            .collect();
        assert!(has_equal_rows(&metadata, &bytes, TableOptions::default()), "{order} {size}");
    }
}
