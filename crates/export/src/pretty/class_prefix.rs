//! Text between the time and the fields of an event.

use std::io::Write;

use ichnos_model::Event;
use ichnos_model::class::Value;

use super::{PrettyFields, PrettyOptions, push_name};
use crate::color::Palette;
use crate::{number, property};

/// Text under construction.
struct ClassPrefix<'a> {
    out: Vec<u8>,
    palette: &'a Palette,
    /// `true` if properties have names.
    names: bool,
    /// `true` if the time has a name, which a comma always follows.
    comma: bool,
    /// `true` if a property comes before the class name.
    any: bool,
}

/// Returns the text for all events of a class.
pub(super) fn class_prefix(
    event: &Event<'_>,
    has_clock: bool,
    options: &PrettyOptions,
    palette: &Palette,
) -> Vec<u8> {
    let (class, trace) = (event.class, &event.stream.trace.class);
    let PrettyFields { hostname, domain, procname, vpid, .. } = options.fields;
    let names = options.names.header;
    let mut prefix = ClassPrefix { out: Vec::new(), palette, names, comma: has_clock && names, any: false };
    if options.fields.trace
        && let Some(name) = property::trace_name(&event.stream.trace)
    {
        prefix.trace_name(name);
    }
    let environment = [
        ("hostname", "trace:hostname", hostname),
        ("domain", "trace:domain", domain),
        ("procname", "trace:procname", procname),
        ("vpid", "trace:vpid", vpid),
    ];
    for (name, title, is_wanted) in environment {
        if is_wanted && let Some(value) = trace.environment(name) {
            prefix.environment(title, value, name == "vpid");
        }
    }
    if options.fields.log_level
        && let Some(level) = property::log_level(class)
    {
        prefix.begin("loglevel");
        // Writing into memory cannot fail.
        let _ = write!(prefix.out, "{} ({})", level.macro_name, level.number);
    }
    if options.fields.emf
        && let Some(uri) = property::emf_uri(class)
    {
        prefix.begin("model.emf.uri");
        palette.push(&mut prefix.out, uri);
    }
    prefix.class_name(class.name.as_deref());
    prefix.out
}

impl ClassPrefix<'_> {
    /// Starts a property.
    fn begin(&mut self, name: &str) {
        if self.comma {
            self.out.extend_from_slice(b", ");
        }
        if self.names {
            push_name(&mut self.out, self.palette, name);
        } else if self.any {
            self.out.push(b':');
        }
        self.any = true;
    }

    fn trace_name(&mut self, name: &str) {
        if self.comma {
            self.out.extend_from_slice(b", ");
        }
        if self.names {
            push_name(&mut self.out, self.palette, "trace");
        }
        self.palette.push(&mut self.out, name);
        if self.names {
            self.out.extend_from_slice(b", ");
        }
    }

    /// Appends an environment text or number. With `in_parentheses`, a number is in parentheses.
    fn environment(&mut self, title: &str, value: &Value, in_parentheses: bool) {
        match value {
            Value::Text(text) => {
                self.begin(title);
                self.palette.push(&mut self.out, text);
            }
            Value::Integer(integer) => {
                self.begin(title);
                let (open, close): (&[u8], &[u8]) = if in_parentheses { (b"(", b")") } else { (b"", b"") };
                self.out.extend_from_slice(open);
                number::push_integer(&mut self.out, *integer);
                self.out.extend_from_slice(close);
            }
            _ => {}
        }
    }

    fn class_name(&mut self, name: Option<&str>) {
        if self.any && !self.names {
            self.out.push(b' ');
        }
        if self.comma {
            self.out.extend_from_slice(b", ");
        }
        if self.names {
            push_name(&mut self.out, self.palette, "name");
        }
        let Palette { bold, bright_magenta, bright_red, reset, .. } = self.palette;
        self.out.extend_from_slice(bold.as_bytes());
        match name {
            Some(name) => {
                self.out.extend_from_slice(bright_magenta.as_bytes());
                self.palette.push(&mut self.out, name);
            }
            None => {
                self.out.extend_from_slice(bright_red.as_bytes());
                self.out.extend_from_slice(b"<unknown>");
            }
        }
        self.out.extend_from_slice(reset.as_bytes());
        self.out.extend_from_slice(if self.names { b", " } else { b": " });
    }
}
