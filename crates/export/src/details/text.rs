//! Elements of indented lines.

use ichnos_model::class::Value;

use crate::color::Palette;
use crate::number;

/// Appender of line elements with colors.
pub(crate) struct DetailsLines<'a> {
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) palette: &'a Palette,
    /// Indentation of lines in spaces.
    pub(crate) indent: usize,
}

/// Appends spaces.
#[inline]
pub(crate) fn push_indent(out: &mut Vec<u8>, indent: usize) {
    let length = out.len() + indent;
    out.resize(length, b' ');
}

impl DetailsLines<'_> {
    /// Appends a text that does not come from the trace.
    pub(crate) fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends a text in a color. It can come from the trace.
    pub(crate) fn colored(&mut self, color: &str, text: &str) {
        self.push(color);
        self.palette.push(self.out, text);
        self.push(self.palette.reset);
    }

    pub(crate) fn indent(&mut self) {
        push_indent(self.out, self.indent);
    }

    /// Appends an object kind.
    pub(crate) fn object(&mut self, name: &str) {
        self.push(self.palette.bold);
        self.colored(self.palette.bright_yellow, name);
    }

    /// Appends a property name.
    pub(crate) fn property(&mut self, name: &str) {
        self.colored(self.palette.magenta, name);
    }

    /// Starts a line with a property name.
    pub(crate) fn property_line(&mut self, name: &str) {
        self.indent();
        self.property(name);
        self.push(":");
    }

    /// Starts a line with a member name.
    pub(crate) fn member(&mut self, name: &str) {
        self.indent();
        self.colored(self.palette.cyan, name);
        self.push(":");
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.colored(self.palette.bold, text);
    }

    /// Appends a placeholder such as "None" or "Empty".
    pub(crate) fn none(&mut self, text: &str) {
        self.push(self.palette.bold);
        self.colored(self.palette.bright_magenta, text);
    }

    pub(crate) fn integer(&mut self, value: i128) {
        self.push(self.palette.bold);
        number::push_grouped(self.out, value);
        self.push(self.palette.reset);
    }

    pub(crate) fn unsigned(&mut self, value: u128) {
        self.push(self.palette.bold);
        number::push_grouped_unsigned(self.out, value);
        self.push(self.palette.reset);
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.push(self.palette.bold);
        if value {
            self.colored(self.palette.bright_green, "Yes");
        } else {
            self.colored(self.palette.bright_red, "No");
        }
    }

    /// Appends the entries of an environment, sorted by name.
    pub(crate) fn environment(&mut self, entries: &[(String, Value)]) {
        self.indent();
        self.property("Environment");
        self.push(" (");
        self.integer(entries.len() as i128);
        self.push(if entries.len() == 1 { " entry):\n" } else { " entries):\n" });
        self.indent = 6;
        let mut entries: Vec<&(String, Value)> = entries.iter().collect();
        entries.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        for (name, value) in entries {
            self.member(name);
            // The reference output lacks a space before an empty text here.
            if !matches!(value, Value::Text(text) if text.is_empty()) {
                self.value(value);
            }
            self.push("\n");
        }
        self.indent = 4;
    }

    pub(crate) fn text_line(&mut self, name: &str, value: &str) {
        self.property_line(name);
        self.push(" ");
        self.text(value);
        self.push("\n");
    }

    pub(crate) fn integer_line(&mut self, name: &str, value: i128) {
        self.property_line(name);
        self.push(" ");
        self.integer(value);
        self.push("\n");
    }

    pub(crate) fn boolean_line(&mut self, name: &str, value: bool) {
        self.property_line(name);
        self.push(" ");
        self.boolean(value);
        self.push("\n");
    }

    /// Appends a name in backquotes.
    pub(crate) fn quoted_name(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.push(" `");
            self.text(name);
            self.push("`");
        }
    }

    /// Appends namespace, unique identifier and id in parentheses, if present.
    pub(crate) fn identity(&mut self, namespace: Option<&str>, uid: Option<&str>, id: Option<u128>) {
        let mut separator = " (";
        for (name, value) in [("Namespace", namespace), ("UID", uid)] {
            if let Some(value) = value {
                self.push(separator);
                self.push(name);
                self.quoted_name(Some(value));
                separator = ", ";
            }
        }
        if let Some(id) = id {
            self.push(separator);
            self.push("ID ");
            self.unsigned(id);
            separator = ", ";
        }
        if separator == ", " {
            self.push(")");
        }
    }

    /// Appends a value after its name, with map members sorted by name.
    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => {
                self.push(" ");
                self.none("Null");
            }
            Value::Boolean(value) => {
                self.push(" ");
                self.boolean(*value);
            }
            Value::Integer(value) => {
                self.push(" ");
                self.integer(*value);
            }
            Value::Number(text) => {
                self.push(" ");
                self.push(self.palette.bold);
                match text.parse::<f64>() {
                    Ok(value) => number::push_fixed(self.out, value),
                    Err(_) => self.palette.push(self.out, text),
                }
                self.push(self.palette.reset);
            }
            Value::Text(text) => {
                self.push(" ");
                self.text(text);
            }
            Value::Array(elements) if elements.is_empty() => {
                self.push(" ");
                self.none("Empty");
            }
            Value::Array(elements) => {
                self.push(" Length ");
                self.integer(elements.len() as i128);
                self.push(":");
                self.indent += 2;
                for (i, element) in elements.iter().enumerate() {
                    self.push("\n");
                    self.indent();
                    self.push(self.palette.magenta);
                    self.push("[");
                    number::push_grouped(self.out, i as i128);
                    self.push("]");
                    self.push(self.palette.reset);
                    self.push(":");
                    self.value(element);
                }
                self.indent -= 2;
            }
            Value::Map(entries) if entries.is_empty() => {
                self.push(" ");
                self.none("Empty");
            }
            Value::Map(entries) => self.map(entries),
        }
    }

    /// Appends the entries of a map, one on each line.
    pub(crate) fn map(&mut self, entries: &[(String, Value)]) {
        self.indent += 2;
        let mut entries: Vec<&(String, Value)> = entries.iter().collect();
        entries.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        for (name, value) in entries {
            self.push("\n");
            self.property_line(name);
            self.value(value);
        }
        self.indent -= 2;
    }
}
