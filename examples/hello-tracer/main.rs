//! A kitchen with two cooks, recorded as a trace: `cargo run -p ichnos-tracer --example hello-tracer -- DIR`.

use std::{io, thread, time::Duration};

use ichnos_tracer::{Recording, RecordingOptions, TraceEvent, record, trace_event};

#[derive(TraceEvent)]
#[trace(name = "bake:begin", begin = "bake")]
struct BakeBegin<'a> {
    #[trace(key)]
    oven: u32,
    dish: &'a str,
    celsius: f32,
}

fn cook(oven: u32, dishes: &[&str]) {
    for dish in dishes {
        record(&BakeBegin { oven, dish, celsius: 180.5 });
        thread::sleep(Duration::from_millis(20));
        trace_event!(#[trace(end = "bake")] "bake:end", #[trace(key)] oven: u32 = oven, crust: Option<u8> = Some(3));
    }
}

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "hello-tracer".to_owned());
    let _recording = Recording::start(RecordingOptions::new(path))?;
    thread::scope(|kitchen| {
        let second = thread::Builder::new().name("second cook".to_owned());
        second.spawn_scoped(kitchen, || cook(2, &["bread", "cake", "pie"]))?;
        cook(1, &["pizza", "lasagna"]);
        Ok(())
    })
}
