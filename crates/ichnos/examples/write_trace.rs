//! Writes a trace from values: `cargo run -p ichnos --example write_trace -- DIRECTORY [DIALECT]`
use ichnos::create::{CreateOptions, create};
use ichnos::model::class::{FieldClass, Member, Value};
use ichnos::model::clock::ClockClass;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("DIRECTORY [DIALECT]")?;
    let mut options = CreateOptions::default();
    options.dialect = Some(arguments.next().unwrap_or("ctf1.8".to_owned()));
    options.environment.push(("hostname".to_owned(), Value::Text("example".to_owned())));
    let trace = create(directory, &options)?;
    let clock = trace.clock(ClockClass::since_unix_epoch("wall"))?;
    // Both processors record the same data, so their data streams share a class.
    let class = trace.stream_class(Some(&clock), [Member::new("cpu", FieldClass::unsigned(8))])?;
    let members =
        [Member::new("prev_tid", FieldClass::signed(32)), Member::new("comm", FieldClass::string())];
    let switch = class.event_class("sched_switch", members)?;
    for cpu in 0..2u64 {
        let stream = class.stream(&format!("cpu{cpu}"))?;
        let mut switch = stream.event(&switch)?;
        for time in 1..=3 {
            let name = if time % 2 == 0 { "init" } else { "worker" };
            let values = switch.set("cpu", cpu)?.set("prev_tid", time)?.set("comm", name)?;
            values.write(1_000_000_000 + 10 * time + cpu)?;
        }
    }
    // An event record class can be declared at any time.
    let mut done = class.stream("cpu2")?.declare("done", [Member::new("ratio", FieldClass::float(64))])?;
    done.set("cpu", 2)?.set("ratio", 0.5)?.write(1_000_000_100)?;
    trace.finish()?;
    Ok(())
}
