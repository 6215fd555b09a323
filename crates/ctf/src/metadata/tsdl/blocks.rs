//! Top-level blocks in a text (CTF 1.8, sections 7.4, 8 and C.2.3).

use std::rc::Rc;

use ichnos_model::class::{ByteOrder, Uuid, Value};
use ichnos_model::clock::ClockClass;
use ichnos_model::memory::size;
use ichnos_model::trace::{Diagnostic, Severity, TextPosition};

use super::super::memory;
use super::ast::{ClockBlock, Document, EventBlock, ParsedType, StreamBlock, TraceBlock};
use super::parser::{ParseResult, SeenAttributes, TsdlExpression, TsdlOperand, TsdlParser};

impl TsdlParser<'_> {
    /// Reads the whole text.
    pub(super) fn document(mut self) -> Document {
        while !self.at_end() {
            if self.accept(";") {
                continue;
            }
            let before = self.at().offset;
            if self.root_statement().is_err() {
                self.recover();
                // A `}` does not end anything here.
                self.accept("}");
            }
            if self.at().offset == before && !self.at_end() {
                self.take();
            }
        }
        self.document
    }

    fn root_statement(&mut self) -> ParseResult<()> {
        let at = self.at();
        let Some(word) = self.word() else {
            return Err(self.unexpected("a block or a type declaration"));
        };
        match word {
            "trace" => self.block("`trace` block", |parser| parser.trace_block(at)),
            "stream" => self.block("`stream` block", |parser| parser.stream_block(at)),
            "event" => self.block("`event` block", |parser| parser.event_block(at)),
            "clock" => self.block("`clock` block", |parser| parser.clock_block(at)),
            "env" => self.block("`env` block", Self::environment_block),
            "callsite" => self.block("`callsite` block", Self::call_site_block),
            _ if self.declares_type() => self.type_declaration(),
            _ => Err(self.unexpected("a block or a type declaration")),
        }
    }

    /// Reads a block, starting with its keyword, including its type name scope and its `;`.
    fn block(&mut self, what: &str, read: impl FnOnce(&mut Self) -> ParseResult<()>) -> ParseResult<()> {
        self.within(what, |parser| {
            parser.take();
            parser.scopes.open(None);
            let result = read(parser);
            parser.scopes.close();
            result?;
            if !parser.peek_mark(";") {
                // The next token most likely begins the next statement, so nothing is skipped.
                parser.unexpected("`;`");
                return Ok(());
            }
            parser.end_statement()
        })
    }

    /// Reads a statement in a block: a type declaration, `name := type;` or `name = value;`.
    fn assignment(
        &mut self,
        seen: &mut SeenAttributes,
        attributes: &[&'static str],
        roots: &[&'static str],
    ) -> ParseResult<Option<(&'static str, StatementValue)>> {
        if self.declares_type() {
            self.type_declaration()?;
            return Ok(None);
        }
        let name = self.names("an attribute or a type declaration")?;
        let dotted = name.names.join(".");
        if self.peek_mark(":=") {
            let known = roots.iter().find(|root| **root == dotted);
            if known.is_none() && self.ignores_unknown_fields {
                self.take();
                self.within(&format!("`{dotted}`"), Self::root_type)?;
                self.end_statement()?;
                self.unknown_attribute(&name, roots, Severity::Warning);
                return Ok(None);
            }
            let Some(root) = known else {
                return Err(self.stop(name.at, format!("unknown field `{dotted}`")));
            };
            self.take();
            let class = self.within(&format!("`{dotted}`"), Self::root_type)?;
            self.end_statement()?;
            if seen.has(root) {
                let at = self.last_end;
                self.problems.error(at, format!("duplicate field `{dotted}`"));
                return Ok(None);
            }
            seen.add(self, root, name.at, roots)?;
            return Ok(Some((root, StatementValue::Type(class))));
        }
        if !self.peek_mark("=") {
            return Err(self.unexpected("`=`"));
        }
        let attribute = seen.add(self, &dotted, name.at, attributes)?;
        self.take();
        let value = self.expression()?;
        let Some(attribute) = attribute else {
            // Decoding does not use block attributes beyond the specification, and some producers write more.
            self.unknown_attribute(&name, attributes, Severity::Warning);
            return Ok(None);
        };
        Ok(Some((attribute, StatementValue::Value(value))))
    }

    fn trace_block(&mut self, at: TextPosition) -> ParseResult<()> {
        const KNOWN: [&str; 4] = ["major", "minor", "uuid", "byte_order"];
        let double = self.document.trace.is_some();
        if double {
            let at = self.last_end;
            self.problems.error(at, "duplicate `trace` block");
        }
        let mut seen = SeenAttributes::default();
        let (mut uuid, mut byte_order, mut packet_header) = (None, None, None);
        let clean = self.body(|parser| {
            match parser.assignment(&mut seen, &KNOWN, &["packet.header"])? {
                Some((_, StatementValue::Type(class))) => {
                    packet_header = Some(class);
                    return Ok(());
                }
                Some((name, StatementValue::Value(value))) => match name {
                    "major" if parser.unsigned(name, &value)? == 1 => {}
                    "major" => {
                        return Err(parser.wrong(name, "1: only version 1.8 can be read", &value));
                    }
                    "minor" if parser.unsigned(name, &value)? == 8 => {}
                    // Some tracers use their own version numbers.
                    "minor" => {
                        let message = "the minor version is not 8: read as version 1.8";
                        let warning = Diagnostic::warning(value.at, message);
                        parser.problems.add(warning.expected("8", value.value.describe()));
                    }
                    "uuid" => uuid = Some(parser.uuid(&value)?),
                    _ => byte_order = Some(parser.trace_byte_order(&value)?),
                },
                None => return Ok(()),
            }
            parser.expect(";")
        })?;
        let clean = clean && !double;
        if let Some(name) = ["major", "minor", "byte_order"].into_iter().find(|name| !seen.has(name)) {
            self.missing(at, name, clean);
        }
        if !double {
            let byte_order = byte_order.unwrap_or(ByteOrder::LittleEndian);
            self.document.trace = Some(TraceBlock { at, uuid, byte_order, packet_header });
        }
        Ok(())
    }

    fn uuid(&mut self, value: &TsdlExpression) -> ParseResult<Uuid> {
        let text = self.text("uuid", value)?;
        let uuid = (text.len() == 36).then(|| Uuid::try_parse(&text).ok()).flatten();
        uuid.ok_or_else(|| self.wrong("uuid", "a UUID of 36 characters", value))
    }

    /// Reads the trace byte order. Unlike a type's byte order, it cannot be `native` (section 4.1.3).
    fn trace_byte_order(&mut self, value: &TsdlExpression) -> ParseResult<ByteOrder> {
        if let TsdlOperand::Names(names) = &value.value {
            match names.join(".").as_str() {
                "be" => return Ok(ByteOrder::BigEndian),
                "le" => return Ok(ByteOrder::LittleEndian),
                "network" => {
                    self.problems
                        .warning(value.at, "the byte order of a trace is `be` or `le`, not `network`");
                    return Ok(ByteOrder::BigEndian);
                }
                _ => {}
            }
        }
        Err(self.wrong("byte_order", "`be` or `le`", value))
    }

    fn stream_block(&mut self, at: TextPosition) -> ParseResult<()> {
        const ROOTS: [&str; 3] = ["packet.context", "event.header", "event.context"];
        let mut seen = SeenAttributes::default();
        let mut stream =
            StreamBlock { at, id: None, packet_context: None, event_header: None, event_context: None };
        self.body(|parser| {
            match parser.assignment(&mut seen, &["id"], &ROOTS)? {
                Some(("packet.context", StatementValue::Type(class))) => stream.packet_context = Some(class),
                Some(("event.header", StatementValue::Type(class))) => stream.event_header = Some(class),
                Some((_, StatementValue::Type(class))) => stream.event_context = Some(class),
                Some((name, StatementValue::Value(value))) => {
                    stream.id = Some(parser.unsigned(name, &value)?);
                    return parser.expect(";");
                }
                None => {}
            }
            Ok(())
        })?;
        self.charge(size::<StreamBlock>() as u64, at)?;
        self.document.streams.push(stream);
        Ok(())
    }

    fn event_block(&mut self, at: TextPosition) -> ParseResult<()> {
        const KNOWN: [&str; 5] = ["name", "id", "stream_id", "loglevel", "model.emf.uri"];
        if self.document.events.len() as u64 >= self.limits.event_record_classes {
            let most = self.limits.event_record_classes;
            let message = format!("there are more than {most} `event` blocks");
            return Err(self.give_up_at_limit(at, "event_record_classes", message));
        }
        let mut seen = SeenAttributes::default();
        let mut event = EventBlock {
            at,
            name: None,
            id: None,
            stream_id: None,
            log_level: None,
            emf_uri: None,
            context: None,
            fields: None,
        };
        self.body(|parser| {
            match parser.assignment(&mut seen, &KNOWN, &["context", "fields"])? {
                Some(("context", StatementValue::Type(class))) => event.context = Some(class),
                Some((_, StatementValue::Type(class))) => event.fields = Some(class),
                Some((name, StatementValue::Value(value))) => {
                    match name {
                        "name" => event.name = Some(parser.text_or_name(name, &value)?),
                        "id" => event.id = Some(parser.unsigned(name, &value)?),
                        "stream_id" => event.stream_id = Some((parser.unsigned(name, &value)?, value.at)),
                        "loglevel" => event.log_level = Some(parser.signed(name, &value)?),
                        _ => event.emf_uri = Some(parser.text(name, &value)?),
                    }
                    return parser.expect(";");
                }
                None => {}
            }
            Ok(())
        })?;
        let names: u64 =
            [&event.name, &event.emf_uri].into_iter().flatten().map(|name| memory::of_text(name)).sum();
        self.charge(size::<EventBlock>() as u64 + names, at)?;
        self.document.events.push(event);
        Ok(())
    }

    fn clock_block(&mut self, at: TextPosition) -> ParseResult<()> {
        const KNOWN: [&str; 8] =
            ["name", "uuid", "description", "freq", "precision", "offset_s", "offset", "absolute"];
        let mut seen = SeenAttributes::default();
        let mut clock = ClockBlock {
            at,
            name: String::new(),
            uuid: None,
            description: None,
            frequency: 1_000_000_000,
            precision: None,
            offset_seconds: 0,
            offset: 0,
            absolute: false,
        };
        let clean = self.body(|parser| {
            let Some((name, StatementValue::Value(value))) = parser.assignment(&mut seen, &KNOWN, &[])?
            else {
                return Ok(());
            };
            match name {
                "name" => clock.name = parser.text_or_name(name, &value)?,
                "uuid" => clock.uuid = Some(parser.uuid(&value)?),
                "description" => clock.description = Some(parser.text(name, &value)?),
                "freq" => {
                    clock.frequency = parser.unsigned(name, &value)?;
                    if clock.frequency == 0 {
                        return Err(parser.stop(value.at, "the frequency of a clock must be greater than 0"));
                    }
                }
                "precision" => clock.precision = Some(parser.unsigned(name, &value)?),
                "offset_s" => clock.offset_seconds = parser.signed(name, &value)?,
                "offset" => match &value.value {
                    // The specification makes it signed, but tracers write it as an unsigned number with 64 bits.
                    TsdlOperand::Integer(cycles) => clock.offset = *cycles,
                    _ => return Err(parser.wrong(name, "an integer", &value)),
                },
                _ => clock.absolute = parser.boolean(name, &value)?,
            }
            parser.expect(";")
        })?;
        if !seen.has("name") {
            return Err(self.missing(at, "name", clean));
        }
        if !self.clock_names.insert(clock.name.clone()) {
            return Err(self.stop(at, format!("duplicate clock `{}`", clock.name)));
        }
        // Fields refer to clocks by 16-bit indexes. One clock may be added later for unmapped fields.
        if self.document.clocks.len() >= usize::from(u16::MAX) - 1 {
            return Err(self.give_up(at, "there are too many clocks"));
        }
        let texts = [Some(&clock.name), clock.description.as_ref()];
        let texts: u64 = texts.into_iter().flatten().map(|text| memory::of_text(text)).sum();
        // Includes the classes built from it, and an entry in each clock index.
        self.charge((size::<ClockBlock>() + size::<ClockClass>() + 200) as u64 + 4 * texts, at)?;
        self.document.clocks.push(clock);
        Ok(())
    }

    fn environment_block(&mut self) -> ParseResult<()> {
        let at = self.at();
        if std::mem::replace(&mut self.has_environment, true) {
            self.problems.warning(at, "there is more than one `env` block: their entries are merged");
        }
        self.free_assignments(true, |parser, name, value, at| {
            let environment = &mut parser.document.environment;
            let name_of = |number: u32| environment.get(number as usize).map_or("", |(name, _)| name);
            let number = u32::try_from(environment.len()).unwrap_or(u32::MAX);
            if parser.environment_names.add(&name, number, name_of).is_err() {
                parser
                    .problems
                    .warning(at, format!("duplicate environment entry `{name}`: the first entry counts"));
                return Ok(());
            }
            // Includes its index entry.
            let bytes = memory::of_entry(&name, &value) + 24;
            environment.push((name, value));
            parser.charge(bytes, at)
        })
    }

    fn call_site_block(&mut self) -> ParseResult<()> {
        let mut map = Vec::new();
        self.free_assignments(false, |parser, name, value, at| {
            parser.charge(memory::of_entry(&name, &value), at)?;
            map.push((name, value));
            Ok(())
        })?;
        let at = self.last_end;
        // Memory of a list without entries.
        self.charge(size::<Value>() as u64 + 16, at)?;
        map.shrink_to_fit();
        self.document.call_sites.push(Value::Map(map));
        Ok(())
    }

    /// Reads the body of a block that assigns integers and strings to arbitrary names. `take` receives each assignment.
    /// If `plain` is set, strings without quotes cause a warning.
    fn free_assignments(
        &mut self,
        plain: bool,
        mut take: impl FnMut(&mut Self, String, Value, TextPosition) -> ParseResult<()>,
    ) -> ParseResult<()> {
        self.body(|parser| {
            if parser.declares_type() {
                return parser.type_declaration();
            }
            let mut name = parser.names("a name")?;
            parser.expect("=")?;
            let value = parser.expression()?;
            let (found, at) = (value.value.describe(), value.at);
            let value = match value.value {
                TsdlOperand::Integer(value) => Value::Integer(value),
                TsdlOperand::Text(text) => Value::Text(text),
                TsdlOperand::Names(names) => {
                    if plain {
                        let message = "the value of an environment entry is not quoted: read as a string";
                        let warning = Diagnostic::warning(at, message);
                        parser.problems.add(warning.expected("an integer or a string", found));
                    }
                    Value::Text(names.join("."))
                }
            };
            parser.expect(";")?;
            let dotted = match name.names.pop() {
                Some(only) if name.names.is_empty() => only,
                last => name.names.into_iter().chain(last).collect::<Vec<_>>().join("."),
            };
            take(parser, dotted, value, name.at)
        })
        .map(|_| ())
    }
}

/// Value of a statement in a block.
enum StatementValue {
    Value(TsdlExpression),
    Type(Rc<ParsedType>),
}
