//! Replaces the values of a field, for example to make a trace anonymous, and writes the events as a new trace:
//! `cargo run -p ichnos --example transform -- TRACE FIELD VALUE OUT`
use ichnos::Pass;
use ichnos::convert::{ConvertOptions, target};
use ichnos::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [trace, field, value, out] = &arguments[..] else { return Err("TRACE FIELD VALUE OUT".into()) };
    let session = ichnos::open([trace], &OpenOptions::default())?;
    let (field, value) = (field.clone(), value.parse::<i64>()?);
    let mut options = ConvertOptions::default();
    options.pass = Pass::default().map(move |_, builder| match builder.member(&field) {
        Some(_) => builder.set(&field, value),
        None => Ok(()),
    });
    let target = target(None, out.as_ref(), None).ok_or("no such format")?;
    let written = session.reader()?.convert(target.writer, Some(out.into()), &options)?;
    println!("{} events", written.events);
    Ok(())
}
