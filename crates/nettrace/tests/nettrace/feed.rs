//! Files in chunks: the items do not depend on the chunks.

use ichnos_nettrace::{Feed, FeedItem, Rule};
use ichnos_testing::{Random, cases};

use crate::builder::{Bytes, Event, File, Form, Metadata, field, kind};
use crate::truncated::{recorded, skim};

/// Returns all items of a file that is fed in chunks, as text, without positions that depend on the chunks.
fn items(bytes: &[u8], mut piece: impl FnMut() -> usize) -> Vec<String> {
    let mut feed = Feed::new();
    let mut items = Vec::new();
    let mut rest = bytes;
    loop {
        while let Some(item) = feed.next_item() {
            items.push(text(&item));
        }
        if rest.is_empty() {
            break;
        }
        let (next, behind) = rest.split_at(piece().clamp(1, rest.len()));
        feed.feed(next);
        rest = behind;
    }
    feed.finish();
    while let Some(item) = feed.next_item() {
        items.push(text(&item));
    }
    assert!(feed.next_item().is_none());
    items
}

fn text(item: &FeedItem<'_>) -> String {
    match item {
        FeedItem::Event(event) => {
            let mut row = event.row.clone();
            (row.payload, row.stack, row.activity, row.related_activity) = (0..0, 0..0, 0, 0);
            let payload =
                (event.payload.len(), event.payload.iter().map(|byte| u64::from(*byte)).sum::<u64>());
            let ids = (event.activity, event.related_activity);
            format!("{row:?} {} {payload:?} {:?} {ids:?}", event.offset, event.stack)
        }
        FeedItem::Stacks(rows) => format!("{} {:?}", rows.first_id, rows.clone().collect::<Vec<_>>()),
        other => format!("{other:?}"),
    }
}

fn events(items: &[String]) -> usize {
    items.iter().filter(|item| item.starts_with("EventRow")).count()
}

/// Creates a file with one block of each kind.
fn file(form: Form) -> Vec<u8> {
    let mut file = File::new(form);
    file.metadata(&[Metadata::new(1, "Number", [field(form, 12, "number")])]);
    if form != Form::V3 {
        file.stacks(1, &[&[1, 2], &[]]);
    }
    if form == Form::V6 {
        file.threads(&[(1, 11, "a"), (2, 12, "b")]);
        file.block(
            kind::LABEL_LIST,
            &Bytes::new().u32(1).u32(2).u8(0x87).u8(1).u8(7).u8(1).u8(0x84).u64(1).0,
        );
        file.block(kind::REMOVE_THREAD, &Bytes::new().var(2).var(300).0);
    }
    let event = |i: u32| Event::new(1, 1, i, 10 * u64::from(i)).with(Bytes::new().u64(i.into()));
    file.block((50, "Unknown"), &[1; 21]);
    file.events(true, &(1..20).map(event).collect::<Vec<_>>());
    if form != Form::V3 {
        file.sequence_point(200, 0, &[(1, 19)]);
    }
    file.events(false, &(20..30).map(event).collect::<Vec<_>>());
    if form != Form::V6 {
        file.begin_object("Tagged", (1, 1));
        file.bytes.extend([8, 1, 14, 3, 0, 0, 0, 6, 6, 6, 6]);
    }
    file.events(false, &(30..33).map(event).collect::<Vec<_>>());
    file.end()
}

#[test]
fn any_pieces_give_the_same() {
    for form in [Form::V3, Form::V4, Form::V6] {
        let bytes = file(form);
        let whole = items(&bytes, || usize::MAX);
        assert_eq!(events(&whole), 32, "{form:?}: {whole:#?}");
        assert!(!whole.iter().any(|item| item.starts_with("Fault")), "{whole:#?}");
        assert_eq!(whole.last().unwrap(), "End { is_complete: true }");
        for size in 1..40 {
            assert_eq!(items(&bytes, || size), whole, "{form:?} in pieces of {size}");
        }
        // A truncated file has one fault.
        for end in 0..bytes.len() {
            let cut = items(&bytes[..end], || usize::MAX);
            assert_eq!(items(&bytes[..end], || 1), cut, "{form:?} cut at {end}");
            let faults =
                cut.iter().filter(|item| item.starts_with("Fault") || item.starts_with("Refusal")).count();
            assert_eq!(faults, 1, "{form:?} cut at {end}: {cut:#?}");
        }
    }
}

/// The same holds for damaged files, which are searched for the next block.
#[test]
fn any_pieces_of_damaged_files_give_the_same() {
    let files = [Form::V3, Form::V4, Form::V6].map(file);
    cases(1_500, |random| {
        let mut bytes = random.pick(&[&files[0], &files[1], &files[2]]).clone();
        for _ in 0..=random.below(4) {
            let at = 20 + random.index(bytes.len() - 20);
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.number() as u8,
                2 => drop(bytes.drain(at..bytes.len().min(at + 1 + random.index(9)))),
                _ => drop(bytes.splice(at..at, [random.number() as u8, 5])),
            }
        }
        let whole = items(&bytes, || usize::MAX);
        assert_eq!(items(&bytes, || 1), whole, "byte by byte");
        let most = 1 + random.index(200);
        let mut other = Random::new(random.number());
        assert_eq!(items(&bytes, || other.index(most)), whole, "in random pieces");
    });
}

#[test]
fn recorded_files_in_pieces() {
    for path in [
        "runtime/net10.0-custom-only-norundown.nettrace",
        "runtime/perl-cpu-v6.nettrace",
        "perfview/eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
    ] {
        let Some(bytes) = recorded(path) else { continue };
        let whole = items(&bytes, || usize::MAX);
        let (times, _) = skim(bytes.clone().into(), true).unwrap();
        assert_eq!(events(&whole), times.len(), "{path}");
        let mut random = Random::new(3);
        for most in [100, 10_000, 1_000_000] {
            assert!(items(&bytes, || random.index(most)) == whole, "{path} in pieces of up to {most}");
        }
        assert!(items(&bytes, || 1) == whole, "{path} byte by byte");
    }
}

/// At most one block is kept.
#[test]
fn little_is_kept() {
    for form in [Form::V3, Form::V4, Form::V6] {
        let mut file = File::new(form);
        file.metadata(&[Metadata::new(1, "Number", [field(form, 12, "number")])]);
        let event = |i: u32| Event::new(1, 1, i, 10 * u64::from(i)).with(Bytes::new().u64(i.into()));
        for block in 0..200 {
            file.events(true, &(50 * block..50 * block + 50).map(event).collect::<Vec<_>>());
        }
        let bytes = file.end();
        let mut feed = Feed::new();
        let mut most = 0;
        for piece in bytes.chunks(100) {
            feed.feed(piece);
            while feed.next_item().is_some() {}
            most = most.max(feed.buffered());
        }
        assert!(most < 15_000, "{form:?}: {most} of {}", bytes.len());
        assert_eq!(feed.position(), bytes.len() as u64);
    }
}

/// A block above the maximum size is damaged. The parser does not wait for it.
#[test]
fn blocks_that_are_too_large() {
    let mut bytes = File::new(Form::V4);
    bytes.begin_object("EventBlock", (2, 2));
    bytes.bytes.extend(0x0400_0001_u32.to_le_bytes());
    bytes.metadata(&[]);
    let items = items(&bytes.end(), || 10);
    let rule = format!("{:?}", Rule::ObjectEnd);
    assert!(items.iter().any(|item| item.starts_with("Fault") && item.contains(&rule)), "{items:#?}");
    assert_eq!(items.last().unwrap(), "End { is_complete: true }");
}
