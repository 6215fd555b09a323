//! Field class texts in the four CTF metadata languages.

use crate::encoder::Order;

use super::Origin;

/// Root field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RootPlace {
    PacketHeader,
    PacketContext,
    EventHeader,
    CommonContext,
    SpecificContext,
    Payload,
}

impl RootPlace {
    pub(super) const ALL: [Self; 6] = [
        Self::PacketHeader,
        Self::PacketContext,
        Self::EventHeader,
        Self::CommonContext,
        Self::SpecificContext,
        Self::Payload,
    ];

    /// Returns the name in loss tables.
    pub(super) fn scope(self) -> &'static str {
        ["packet.header", "packet.context", "header", "ctx", "specific ctx", "payload"][self as usize]
    }

    /// Returns the name in locations.
    pub(super) fn name(self, language: Language) -> &'static str {
        let names = match language.0 {
            Origin::Prop1 => [
                "trace-packet-header",
                "data-stream-packet-context",
                "data-stream-event-record-header",
                "data-stream-event-record-context",
                "event-record-context",
                "event-record-payload",
            ],
            Origin::Ctf18 => [
                "trace.packet.header",
                "stream.packet.context",
                "stream.event.header",
                "stream.event.context",
                "event.context",
                "event.fields",
            ],
            _ => [
                "packet-header",
                "packet-context",
                "event-record-header",
                "event-record-common-context",
                "event-record-specific-context",
                "event-record-payload",
            ],
        };
        names[self as usize]
    }
}

/// Field class text. In TSDL, lengths follow the name.
#[derive(Clone, Debug)]
pub(super) struct ClassText {
    pub(super) text: String,
    pub(super) suffix: String,
}

impl ClassText {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), suffix: String::new() }
    }

    /// Adds a member to the JSON object, or a property to the TSDL type.
    pub(super) fn with(mut self, key: &str, value: &str) -> Self {
        let at = self.text.rfind('}').unwrap();
        let more = if self.text.starts_with('{') {
            format!(",\"{key}\":{value}")
        } else {
            format!(" {key} = {value};")
        };
        self.text.insert_str(at, &more);
        self
    }
}

/// Kind of fixed-length field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Unsigned,
    Signed,
    Bits,
    Boolean,
    Float,
}

/// Metadata language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Language(pub(super) Origin);

impl Language {
    pub(super) fn is_tsdl(self) -> bool {
        self.0 == Origin::Ctf18
    }

    pub(super) fn is_prop1(self) -> bool {
        self.0 == Origin::Prop1
    }

    pub(super) fn is_spec2(self) -> bool {
        self.0 == Origin::Spec2
    }

    /// Returns `true` for PROP-2.0 and SPEC-2.0.
    pub(super) fn is_second(self) -> bool {
        matches!(self.0, Origin::Prop2 | Origin::Spec2)
    }

    /// Returns the key for a member's class.
    fn class_key(self) -> &'static str {
        if self.is_prop1() { "field-type" } else { "field-class" }
    }

    /// Returns a fixed-length field, aligned to bits. `None` if the language lacks it.
    pub(super) fn fixed(self, kind: Fixed, length: usize, order: Order) -> Option<ClassText> {
        let is_le = order == Order::Le;
        Some(ClassText::new(match self.0 {
            Origin::Ctf18 => {
                let order = if is_le { "le" } else { "be" };
                match kind {
                    Fixed::Unsigned | Fixed::Signed => {
                        let signed = kind == Fixed::Signed;
                        format!(
                            "integer {{ size = {length}; align = 1; signed = {signed}; byte_order = {order}; }}"
                        )
                    }
                    Fixed::Float => {
                        let exponent = match length {
                            16 => 5,
                            32 => 8,
                            64 => 11,
                            _ => 15,
                        };
                        let mantissa = length - exponent;
                        format!(
                            "floating_point {{ exp_dig = {exponent}; mant_dig = {mantissa}; align = 1; byte_order = {order}; }}"
                        )
                    }
                    Fixed::Bits | Fixed::Boolean => return None,
                }
            }
            Origin::Prop1 => {
                let order = if is_le { "le" } else { "be" };
                let (name, more) = match kind {
                    Fixed::Unsigned => ("int", ""),
                    Fixed::Signed => ("int", ",\"signed\":true"),
                    Fixed::Bits => ("bitarray", ""),
                    Fixed::Boolean => ("bool", ""),
                    Fixed::Float => ("float", ""),
                };
                format!(r#"{{"field-type":"{name}","size":{length},"byte-order":"{order}"{more}}}"#)
            }
            _ => {
                let order = if is_le { "little-endian" } else { "big-endian" };
                let name = match kind {
                    Fixed::Unsigned => "unsigned-integer",
                    Fixed::Signed => "signed-integer",
                    Fixed::Bits => "bit-array",
                    Fixed::Boolean => "boolean",
                    Fixed::Float => "floating-point-number",
                };
                format!(r#"{{"type":"fixed-length-{name}","length":{length},"byte-order":"{order}"}}"#)
            }
        }))
    }

    /// Returns an integer: byte-aligned if it has whole bytes, else bit-aligned.
    pub(super) fn integer(self, length: usize, signed: bool, order: Order) -> ClassText {
        self.fixed(if signed { Fixed::Signed } else { Fixed::Unsigned }, length, order).unwrap()
    }

    /// Returns an unsigned 8-bit integer.
    pub(super) fn byte(self) -> ClassText {
        self.integer(8, false, Order::Le)
    }

    /// Returns an 8-bit integer with named ranges.
    pub(super) fn enumeration(self, signed: bool, labels: &[(&str, i64, i64)]) -> ClassText {
        let join = |range: &dyn Fn(&str, i64, i64) -> String| {
            labels.iter().map(|(name, low, high)| range(name, *low, *high)).collect::<Vec<_>>().join(",")
        };
        let sign = if signed { "signed" } else { "unsigned" };
        let pairs = join(&|name, low, high| format!(r#""{name}":[[{low},{high}]]"#));
        ClassText::new(match self.0 {
            Origin::Ctf18 => {
                let values = join(&|name, low, high| format!(r#""{name}" = {low} ... {high}"#));
                format!("enum : {} {{ {values} }}", self.integer(8, signed, Order::Le).text)
            }
            Origin::Prop1 => {
                let members =
                    join(&|name, low, high| format!(r#""{name}":[{{"lower":{low},"upper":{high}}}]"#));
                format!(
                    r#"{{"field-type":"enum","size":8,"byte-order":"le","signed":{signed},"members":{{{members}}}}}"#
                )
            }
            Origin::Prop2 => format!(
                r#"{{"type":"fixed-length-{sign}-enumeration","length":8,"byte-order":"little-endian","mappings":{{{pairs}}}}}"#
            ),
            _ => format!(
                r#"{{"type":"fixed-length-{sign}-integer","length":8,"byte-order":"little-endian","mappings":{{{pairs}}}}}"#
            ),
        })
    }

    /// Returns a variable-length field: `integer`, `signed-integer`, `bit-array` or `boolean`.
    pub(super) fn variable(self, kind: &str) -> Option<ClassText> {
        let text = match (self.0, kind) {
            (Origin::Ctf18, _) => return None,
            (Origin::Prop1, "unsigned-integer") => r#"{"field-type":"varint"}"#.to_owned(),
            (Origin::Prop1, "signed-integer") => r#"{"field-type":"varint","signed":true}"#.to_owned(),
            (Origin::Prop1, "bit-array") => r#"{"field-type":"varbitarray"}"#.to_owned(),
            (Origin::Prop1, "boolean") => r#"{"field-type":"varbool"}"#.to_owned(),
            (_, "boolean") => return None,
            (Origin::Spec2, "bit-array") => return None,
            _ => format!(r#"{{"type":"variable-length-{kind}"}}"#),
        };
        Some(ClassText::new(text))
    }

    /// Returns a zero-terminated string.
    pub(super) fn string(self) -> ClassText {
        ClassText::new(match self.0 {
            Origin::Ctf18 => "string { encoding = UTF8; }",
            Origin::Prop1 => r#"{"field-type":"string"}"#,
            _ => r#"{"type":"null-terminated-string"}"#,
        })
    }

    /// Returns a `string` or `blob` with a length.
    pub(super) fn bytes(self, kind: &str, length: &LengthText) -> Option<ClassText> {
        let is_static = matches!(length, LengthText::Static(_));
        let length = self.length(length);
        Some(ClassText::new(match (self.0, kind) {
            (Origin::Ctf18, "string") => {
                let text = "integer { size = 8; align = 8; encoding = UTF8; }".to_owned();
                return Some(ClassText { text, suffix: format!("[{length}]") });
            }
            (Origin::Ctf18 | Origin::Prop1, "blob") => return None,
            (Origin::Prop1, _) => {
                let kind = if is_static { "textarray" } else { "textsequence" };
                format!(r#"{{"field-type":"{kind}","length":{length}}}"#)
            }
            _ if is_static => format!(r#"{{"type":"static-length-{kind}","length":{length}}}"#),
            _ => format!(r#"{{"type":"dynamic-length-{kind}","length-field-location":{length}}}"#),
        }))
    }

    /// Returns a length, or the location of the length field.
    fn length(self, length: &LengthText) -> String {
        match length {
            LengthText::Static(length) => length.to_string(),
            LengthText::In(place, name) => self.location(*place, name),
        }
    }

    /// Returns the location of a root field's member.
    pub(super) fn location(self, place: RootPlace, name: &str) -> String {
        let scope = place.name(self);
        match self.0 {
            Origin::Ctf18 => format!("{scope}.{name}"),
            Origin::Prop1 => format!(r#"{{"scope":"{scope}","path":["{name}"]}}"#),
            Origin::Prop2 => format!(r#"["{scope}","{name}"]"#),
            _ => format!(r#"{{"origin":"{scope}","path":["{name}"]}}"#),
        }
    }

    pub(super) fn array(self, element: &ClassText, length: &LengthText) -> ClassText {
        let is_static = matches!(length, LengthText::Static(_));
        let length = self.length(length);
        let ClassText { text, suffix } = element;
        ClassText::new(match self.0 {
            Origin::Ctf18 => return ClassText { text: text.clone(), suffix: format!("[{length}]{suffix}") },
            Origin::Prop1 => {
                let kind = if is_static { "array" } else { "sequence" };
                format!(r#"{{"field-type":"{kind}","length":{length},"element-field-type":{text}}}"#)
            }
            _ if is_static => {
                format!(r#"{{"type":"static-length-array","length":{length},"element-field-class":{text}}}"#)
            }
            _ => format!(
                r#"{{"type":"dynamic-length-array","length-field-location":{length},"element-field-class":{text}}}"#
            ),
        })
    }

    pub(super) fn structure(self, members: &[(&str, ClassText)]) -> ClassText {
        let class_key = self.class_key();
        let member = |(name, class): &(&str, ClassText)| match self.is_tsdl() {
            true => format!("{} {name}{};", class.text, class.suffix),
            false => format!(r#"{{"name":"{name}","{class_key}":{}}}"#, class.text),
        };
        let members: Vec<String> = members.iter().map(member).collect();
        ClassText::new(match self.0 {
            Origin::Ctf18 => format!("struct {{ {} }}", members.join(" ")),
            Origin::Prop1 => format!(r#"{{"field-type":"struct","fields":[{}]}}"#, members.join(",")),
            Origin::Prop2 => format!(r#"{{"type":"structure","members":[{}]}}"#, members.join(",")),
            _ => format!(r#"{{"type":"structure","member-classes":[{}]}}"#, members.join(",")),
        })
    }

    /// Returns an optional field. `ranges` are for an integer selector.
    pub(super) fn optional(
        self,
        class: &ClassText,
        (place, name): (RootPlace, &str),
        ranges: &str,
    ) -> Option<ClassText> {
        let ranges =
            if ranges.is_empty() { String::new() } else { format!(r#","selector-field-ranges":{ranges}"#) };
        let (location, text) = (self.location(place, name), &class.text);
        self.is_second().then(|| {
            ClassText::new(format!(
                r#"{{"type":"optional","selector-field-location":{location},"field-class":{text}{ranges}}}"#
            ))
        })
    }

    /// Returns a variant with a named option. The selector value is the option index.
    pub(super) fn variant(
        self,
        options: &[(&str, ClassText)],
        (place, name): (RootPlace, &str),
    ) -> ClassText {
        let location = self.location(place, name);
        let option = |(index, (name, class)): (usize, &(&str, ClassText))| match self.0 {
            Origin::Ctf18 => format!("{} {name}{};", class.text, class.suffix),
            Origin::Prop1 => format!(r#"{{"name":"{name}","field-type":{}}}"#, class.text),
            _ => format!(
                r#"{{"name":"{name}","field-class":{},"selector-field-ranges":[[{index},{index}]]}}"#,
                class.text
            ),
        };
        let options: Vec<String> = options.iter().enumerate().map(option).collect();
        ClassText::new(match self.0 {
            Origin::Ctf18 => format!("variant <{location}> {{ {} }}", options.join(" ")),
            Origin::Prop1 => {
                format!(r#"{{"field-type":"variant","tag":{location},"choices":[{}]}}"#, options.join(","))
            }
            _ => format!(
                r#"{{"type":"variant","selector-field-location":{location},"options":[{}]}}"#,
                options.join(",")
            ),
        })
    }

    /// Returns a union or a null field, only for PROP-1.0.
    pub(super) fn prop1_class(self, text: &str) -> Option<ClassText> {
        self.is_prop1().then(|| ClassText::new(text))
    }

    /// Returns a class that exists only in SPEC-2.0.
    pub(super) fn spec2_class(self, text: &str) -> Option<ClassText> {
        self.is_spec2().then(|| ClassText::new(text))
    }
}

/// Length of an array, a string or a BLOB.
#[derive(Clone, Debug)]
pub(super) enum LengthText {
    Static(u64),
    In(RootPlace, &'static str),
}
