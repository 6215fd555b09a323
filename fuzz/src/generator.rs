//! Makes SPEC-2.0 metadata of arbitrary input: mostly right, so that data streams are reached.

use std::fmt::Write;

use arbitrary::{Result, Unstructured};

/// Metadata with all scopes.
///
/// # Errors
/// If the input ends.
pub fn metadata(input: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::from("{\"type\":\"preamble\",\"version\":2}\n");
    let clocks = input.int_in_range(0..=1)?;
    if input.ratio(1, 2)? {
        let header = Tree::new(input, "packet-header").root(&[("magic", 32, "packet-magic-number")], 0)?;
        writeln!(text, "\u{1e}{{\"type\":\"trace-class\",\"packet-header-field-class\":{header}}}").unwrap();
    }
    if clocks > 0 {
        let frequency = input.choose(&["1", "3", "1000000000", "18446744073709551615"])?;
        let offset = input.choose(&["0", "-9223372036854775808", "9223372036854775807", "1780000000"])?;
        writeln!(
            text,
            "\u{1e}{{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":{frequency},\
             \"offset-from-origin\":{{\"seconds\":{offset}}}}}"
        )
        .unwrap();
    }
    text.push_str("\u{1e}{\"type\":\"data-stream-class\"");
    if clocks > 0 {
        text.push_str(",\"default-clock-class-id\":\"c\"");
    }
    let mut roles = Vec::new();
    for (name, role) in [
        ("total", "packet-total-length"),
        ("content", "packet-content-length"),
        ("begin", "default-clock-timestamp"),
        ("end", "packet-end-default-clock-timestamp"),
        ("discarded", "discarded-event-record-counter-snapshot"),
        ("sequence", "packet-sequence-number"),
    ] {
        let is_clock = role.contains("clock");
        if (!is_clock || clocks > 0) && input.ratio(1, 2)? {
            roles.push((name, *input.choose(&[0, 3, 8, 13, 16, 32, 64])?, role));
        }
    }
    let context = Tree::new(input, "packet-context").root(&roles, 1)?;
    write!(text, ",\"packet-context-field-class\":{context}").unwrap();
    if input.ratio(2, 3)? {
        let mut roles = vec![("id", *input.choose(&[1, 2, 5, 8, 16])?, "event-record-class-id")];
        if clocks > 0 {
            roles.push(("time", *input.choose(&[0, 3, 27, 32, 64])?, "default-clock-timestamp"));
        }
        let header = Tree::new(input, "event-record-header").root(&roles, 0)?;
        write!(text, ",\"event-record-header-field-class\":{header}").unwrap();
    }
    if input.ratio(1, 3)? {
        let context = Tree::new(input, "event-record-common-context").root(&[], 2)?;
        write!(text, ",\"event-record-common-context-field-class\":{context}").unwrap();
    }
    text.push_str("}\n");
    for id in 0..input.int_in_range(1..=3)? {
        write!(text, "\u{1e}{{\"type\":\"event-record-class\",\"id\":{id},\"name\":\"e{id}\"").unwrap();
        if input.ratio(1, 3)? {
            let context = Tree::new(input, "event-record-specific-context").root(&[], 2)?;
            write!(text, ",\"specific-context-field-class\":{context}").unwrap();
        }
        let payload = Tree::new(input, "event-record-payload").root(&[], 4)?;
        writeln!(text, ",\"payload-field-class\":{payload}}}").unwrap();
    }
    Ok(text)
}

/// The class of a root field.
struct Tree<'i, 'a> {
    input: &'i mut Unstructured<'a>,
    origin: &'static str,
    /// Names of the first members: integers and booleans that others can be decided by.
    selectors: Vec<String>,
    text: String,
    count: u32,
}

impl<'i, 'a> Tree<'i, 'a> {
    fn new(input: &'i mut Unstructured<'a>, origin: &'static str) -> Self {
        Self { input, origin, selectors: Vec::new(), text: String::new(), count: 0 }
    }

    /// A structure of fields with roles (their length in bits, 0 for variable length), fields to
    /// select by, and others.
    fn root(mut self, roles: &[(&str, u64, &str)], depth: u32) -> Result<String> {
        self.text.push_str("{\"type\":\"structure\",\"member-classes\":[");
        for (name, length, role) in roles {
            let class = self.integer(*length, false)?;
            write!(self.text, "{{\"name\":\"{name}\",\"field-class\":{{{class},\"roles\":[\"{role}\"]}}}},")
                .unwrap();
        }
        if depth > 0 {
            for i in 0..self.input.int_in_range(1..=3)? {
                let (length, signed) =
                    (*self.input.choose(&[0, 1, 3, 8, 16, 64, 65])?, self.input.ratio(1, 3)?);
                let class = match self.input.ratio(1, 4)? {
                    true => self.fixed("fixed-length-boolean", length.max(1))?,
                    false => self.integer(length, signed)?,
                };
                write!(self.text, "{{\"name\":\"s{i}\",\"field-class\":{{{class}}}}},").unwrap();
                self.selectors.push(format!("s{i}"));
            }
            for i in 0..self.input.int_in_range(0..=4)? {
                write!(self.text, "{{\"name\":\"m{i}\",\"field-class\":").unwrap();
                self.class(depth - 1)?;
                self.text.push_str("},");
            }
        }
        if self.text.ends_with(',') {
            self.text.pop();
        }
        self.text.push_str("]}");
        Ok(self.text)
    }

    fn fixed(&mut self, kind: &str, length: u64) -> Result<String> {
        let order = self.input.choose(&["little-endian", "big-endian"])?;
        let mut class = format!("\"type\":\"{kind}\",\"length\":{length},\"byte-order\":\"{order}\"");
        match self.input.int_in_range(0..=7)? {
            0 => class.push_str(",\"bit-order\":\"first-to-last\""),
            1 => class.push_str(",\"bit-order\":\"last-to-first\""),
            2 | 3 => class.push_str(",\"alignment\":8"),
            4 => class.push_str(",\"alignment\":32"),
            _ => {}
        }
        Ok(class)
    }

    fn integer(&mut self, length: u64, signed: bool) -> Result<String> {
        let sign = if signed { "signed" } else { "unsigned" };
        let mut class = match length {
            0 => format!("\"type\":\"variable-length-{sign}-integer\""),
            length => self.fixed(&format!("fixed-length-{sign}-integer"), length)?,
        };
        if self.input.ratio(1, 8)? {
            class.push_str(",\"mappings\":{\"a\":[[0,1]],\"b\":[[1,200]]}");
        }
        if self.input.ratio(1, 8)? {
            class.push_str(",\"preferred-display-base\":16");
        }
        Ok(class)
    }

    fn location(&mut self) -> Result<String> {
        let name = self.input.choose(&self.selectors)?;
        Ok(format!("{{\"origin\":\"{}\",\"path\":[\"{name}\"]}}", self.origin))
    }

    fn class(&mut self, depth: u32) -> Result<()> {
        self.count += 1;
        let most = if depth == 0 || self.count > 40 { 11 } else { 17 };
        let class = match self.input.int_in_range(0..=most)? {
            0 | 1 => {
                let (length, signed) = (self.input.int_in_range(0..=200)?, self.input.arbitrary()?);
                self.integer(length, signed)?
            }
            2 => {
                let length = *self.input.choose(&[1, 8, 16, 32, 64, 24, 35])?;
                let signed = self.input.arbitrary()?;
                self.integer(length, signed)?
            }
            3 => {
                let length = self.input.int_in_range(1..=200)?;
                let kind = *self.input.choose(&["fixed-length-boolean", "fixed-length-bit-array"])?;
                self.fixed(kind, length)?
            }
            4 => {
                let length = self.input.int_in_range(1..=100)?;
                let class = self.fixed("fixed-length-bit-map", length)?;
                format!("{class},\"flags\":{{\"x\":[[0,0],[3,9]],\"y\":[[1,64]]}}")
            }
            5 => {
                let length = *self.input.choose(&[16, 32, 64, 128, 192])?;
                self.fixed("fixed-length-floating-point-number", length)?
            }
            6 => {
                let encoding = self.encoding()?;
                format!("\"type\":\"null-terminated-string\",\"encoding\":\"{encoding}\"")
            }
            7 => {
                let (encoding, length) = (self.encoding()?, self.input.int_in_range(0..=20)?);
                format!("\"type\":\"static-length-string\",\"encoding\":\"{encoding}\",\"length\":{length}")
            }
            8 => {
                let (encoding, location) = (self.encoding()?, self.location()?);
                format!(
                    "\"type\":\"dynamic-length-string\",\"encoding\":\"{encoding}\",\"length-field-location\":{location}"
                )
            }
            9 => format!("\"type\":\"static-length-blob\",\"length\":{}", self.input.int_in_range(0..=20)?),
            10 => format!("\"type\":\"dynamic-length-blob\",\"length-field-location\":{}", self.location()?),
            11 => "\"type\":\"structure\"".to_owned(),
            12 | 13 => return self.array(depth),
            14 => {
                let location = self.location()?;
                write!(self.text, "{{\"type\":\"optional\",\"selector-field-location\":{location}").unwrap();
                if self.input.ratio(2, 3)? {
                    self.text.push_str(",\"selector-field-ranges\":[[1,3],[7,100]]");
                }
                self.text.push_str(",\"field-class\":");
                self.class(depth - 1)?;
                self.text.push('}');
                return Ok(());
            }
            15 => return self.variant(depth),
            _ => return self.structure(depth),
        };
        write!(self.text, "{{{class}}}").unwrap();
        Ok(())
    }

    fn encoding(&mut self) -> Result<&'static str> {
        Ok(self.input.choose(&["utf-8", "utf-8", "utf-16be", "utf-16le", "utf-32be", "utf-32le"])?)
    }

    fn array(&mut self, depth: u32) -> Result<()> {
        if self.input.arbitrary()? {
            let length = *self.input.choose(&[0, 1, 2, 3, 5, 16, 17, 1_000_000_000_000u64])?;
            write!(self.text, "{{\"type\":\"static-length-array\",\"length\":{length}").unwrap();
        } else {
            let location = self.location()?;
            write!(self.text, "{{\"type\":\"dynamic-length-array\",\"length-field-location\":{location}")
                .unwrap();
        }
        if self.input.ratio(1, 4)? {
            self.text.push_str(",\"minimum-alignment\":16");
        }
        self.text.push_str(",\"element-field-class\":");
        self.class(depth - 1)?;
        self.text.push('}');
        Ok(())
    }

    fn variant(&mut self, depth: u32) -> Result<()> {
        let location = self.location()?;
        write!(self.text, "{{\"type\":\"variant\",\"selector-field-location\":{location},\"options\":[")
            .unwrap();
        for (i, ranges) in
            ["[0,0]", "[1,1],[-5,-1]", "[2,200]", "[201,9223372036854775807]"].iter().enumerate()
        {
            let comma = if i > 0 { "," } else { "" };
            write!(self.text, "{comma}{{\"selector-field-ranges\":[{ranges}],\"field-class\":").unwrap();
            self.class(depth - 1)?;
            self.text.push('}');
        }
        self.text.push_str("]}");
        Ok(())
    }

    fn structure(&mut self, depth: u32) -> Result<()> {
        self.text.push_str("{\"type\":\"structure\"");
        if self.input.ratio(1, 4)? {
            self.text.push_str(",\"minimum-alignment\":8");
        }
        self.text.push_str(",\"member-classes\":[");
        for i in 0..self.input.int_in_range(0..=3)? {
            let comma = if i > 0 { "," } else { "" };
            write!(self.text, "{comma}{{\"name\":\"n{i}\",\"field-class\":").unwrap();
            self.class(depth - 1)?;
            self.text.push('}');
        }
        self.text.push_str("]}");
        Ok(())
    }
}
