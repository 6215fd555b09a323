//! A kitchen with two cooks, recorded as a trace: `cargo run -p ichnos-tracer --example hello-tracer -- DIR`.

use std::time::Duration;

use ichnos_tracer::{Recording, RecordingOptions, TraceEvent, record, trace_event};

#[derive(TraceEvent)]
#[trace(name = "bake:begin", begin = "bake")]
struct BakeBegin<'a> {
    #[trace(key)]
    oven: u32,
    dish: &'a str,
    celsius: f32,
}

#[derive(TraceEvent)]
#[trace(name = "bake:end", end = "bake", level = "info")]
struct BakeEnd {
    #[trace(key)]
    oven: u32,
    crust: Option<u8>,
}

fn cook(oven: u32, dishes: &[&str]) {
    for dish in dishes {
        record(&BakeBegin { oven, dish, celsius: 180.5 });
        std::thread::sleep(Duration::from_millis(20));
        record(&BakeEnd { oven, crust: dish.ends_with('a').then_some(3) });
    }
}

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "hello-tracer".to_owned());
    let recording = Recording::start(RecordingOptions::new(path))?;
    let second = std::thread::spawn(|| cook(2, &["bread", "cake", "pie"]));
    cook(1, &["pizza", "lasagna"]);
    trace_event!("closed", ovens: u8 = 2, by: &str = "Anna");
    second.join().map_err(|_| std::io::Error::other("the second cook has panicked"))?;
    recording.finish();
    Ok(())
}
