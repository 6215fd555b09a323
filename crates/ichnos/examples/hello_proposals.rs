//! Writes the examples of the CTF 2 proposals PROP-1.0 and PROP-2.0 in `examples/hello-proposals`: `cargo run -p
//! ichnos --example hello_proposals -- DIRECTORY`

use std::path::Path;

use ichnos::create::{CreateOptions, create};
use ichnos::model::class::{EventRecordClass, FieldClass, FieldKind, Member, Value, VariableLengthValue};
use ichnos::model::clock::ClockClass;
use ichnos::model::field::FieldValue;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).ok_or("expected a directory")?;
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    let variable = |name: &str, value| {
        Member::new(name, FieldClass::new(FieldKind::VariableLength { value, alignment: 8 }))
    };
    // In SPEC-2.0, all variable-length fields are integers.
    let is_open = variable("is_open", VariableLengthValue::Boolean);
    write(&directory.join("prop1"), "prop1", is_open, |minute| (minute == 2).into())?;
    let sensors = variable("sensors", VariableLengthValue::BitArray);
    write(&directory.join("prop2"), "prop2", sensors, |minute| (1 << minute).into())
}

/// Writes a thermometer trace, with an event member that only the dialect supports.
fn write(
    path: &Path,
    dialect: &str,
    special: Member,
    value: impl Fn(u64) -> FieldValue<'static>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut options = CreateOptions::default();
    options.dialect = Some(dialect.to_owned());
    options.live = false;
    // The environment is an auxiliary stream.
    if dialect == "prop2" {
        options.environment.push(("hostname".to_owned(), Value::Text("garden".to_owned())));
    }
    let trace = create(path, &options)?;
    let clock = trace.clock(ClockClass::since_unix_epoch("wall"))?;
    let thermometer = trace.stream("thermometer", Some(&clock))?;
    let name = special.name.clone();
    let mut class = EventRecordClass::new("sample", [Member::new("celsius", FieldClass::float(32)), special]);
    // Attributes have a namespace. Its owner defines them.
    let unit = Value::Map(vec![("unit".to_owned(), Value::Text("°C".to_owned()))]);
    class.attributes.set("garden.example", unit);
    let mut sample = thermometer.event(&thermometer.class().event_class_of(class)?)?;
    for minute in 0..4u64 {
        let values = sample.set("celsius", 1.5 * minute as f64 - 3.0)?.set(&name, value(minute))?;
        values.write(1_780_000_000_000_000_000 + 60_000_000_000 * minute)?;
    }
    trace.finish()?;
    if dialect == "prop2" {
        // Each auxiliary stream has a separate namespace.
        std::fs::write(path.join("tracer.json"), "{\"garden.example\": {\"session\": \"may\"}}\n")?;
    }
    Ok(())
}
