//! Sink that prints all integers of each event, in any scope. `cargo run -p ichnos --example own_sink -- TRACE...`
use std::io;
use std::ops::ControlFlow;

use ichnos::model::field::Field;
use ichnos::prelude::*;

/// Collects the integers of an event.
#[derive(Default)]
struct Integers(Vec<String>);

impl Visitor for Integers {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.0.push(format!("{}={value}", field.name().unwrap_or("[]")));
    }

    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.0.push(format!("{}={value}", field.name().unwrap_or("[]")));
    }
}

struct PrintIntegers;

impl Sink for PrintIntegers {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => {
                let mut integers = Integers::default();
                event.visit(Scope::Payload, &mut integers).map_err(io::Error::other)?;
                println!("{} {}", event.name(), integers.0.join(" "));
            }
            Message::Damage(damage) => eprintln!("{damage}"),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = ichnos::open(std::env::args_os().skip(1), &OpenOptions::default())?;
    pump(&mut session.cursor(Window::default())?, &mut PrintIntegers)?;
    Ok(())
}
