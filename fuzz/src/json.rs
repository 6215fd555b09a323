//! JSON text: read as bytes and as a string, skipped, and written again.

use ichnos_json::read::{MAX_DEPTH, Reader, Result, Text};
use ichnos_json::write::ValueWriter;

/// Reads the first value of a text in all ways.
pub fn text(bytes: &[u8]) {
    let skipped = Reader::new(bytes).skip();
    let copied = copy(bytes);
    assert_eq!(copied.as_ref().err(), skipped.as_ref().err());
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert_eq!(copy(text), copied);
        assert_eq!(Reader::new(text).skip().map(str::as_bytes), skipped);
    }
    if let Ok(value) = skipped {
        assert_eq!(Reader::new(value).skip_relaxed(MAX_DEPTH), skipped);
    }
    if let Ok(string) = Reader::new(bytes).relaxed_string("a string") {
        let mut out = Vec::new();
        let _ = string.push_to(&mut out);
        assert!(out.len() <= string.raw.len());
    }
    if let Ok(copied) = copied {
        assert_eq!(copy(&*copied).as_ref(), Ok(&copied));
    }
}

/// The first value of a text, written anew.
fn copy<T: Text + ?Sized>(text: &T) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    copy_value(&mut Reader::new(text), ValueWriter::new(&mut out), MAX_DEPTH)?;
    Ok(out)
}

fn copy_value<T: Text + ?Sized>(from: &mut Reader<'_, T>, to: ValueWriter<'_>, depth: u32) -> Result<()> {
    let mut is_first = true;
    match from.peek() {
        Some(b'{') => {
            let depth = from.enter(depth)?;
            let mut object = to.object();
            while let Some(name) = from.key(&mut is_first)? {
                copy_value(from, object.named(&name.text()), depth)?;
            }
            object.end();
        }
        Some(b'[') => {
            let depth = from.enter(depth)?;
            let mut array = to.array();
            while from.element(&mut is_first)? {
                copy_value(from, array.element(), depth)?;
            }
            array.end();
        }
        Some(b'"') => to.string(&from.string()?.text()),
        _ if from.literal("true") => to.boolean(true),
        _ if from.literal("false") => to.boolean(false),
        _ if from.literal("null") => to.null(),
        _ => to.number(from.number()?),
    }
    Ok(())
}
