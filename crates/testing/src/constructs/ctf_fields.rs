//! CTF field classes, each in an event payload, with dependencies in other scopes.

use crate::encoder::{Encoder, Order, bits, unsigned_bits};

use super::ctf_language::{ClassText, Fixed, Language, LengthText, RootPlace};
use super::ctf_trace::CtfTrace;
use super::{Construct, Datum, Origin};

use RootPlace::Payload;

const ORDERS: [(Order, &str); 2] = [(Order::Le, "le"), (Order::Be, "be")];

/// Bit field lengths.
const LENGTHS: [usize; 6] = [1, 5, 8, 64, 65, 128];

/// Returns the field constructs of a document.
pub(super) fn constructs(origin: Origin) -> Vec<Construct> {
    let mut table = FieldTable { language: Language(origin), constructs: Vec::new() };
    table.fixed();
    table.bit_orders();
    table.alignments();
    table.floats();
    table.variable();
    table.enumerations();
    table.texts();
    table.blobs();
    table.arrays();
    table.structures();
    table.selections();
    table.locations();
    table.only_prop1();
    table.only_spec2();
    table.names();
    table.constructs
}

/// Value and its encoding.
type EncodedValue = (Datum, Box<dyn Fn(&mut Encoder) -> &mut Encoder>);

fn sample(value: Datum, encode: impl Fn(&mut Encoder) -> &mut Encoder + 'static) -> EncodedValue {
    (value, Box::new(encode))
}

struct FieldTable {
    language: Language,
    constructs: Vec<Construct>,
}

impl FieldTable {
    /// Adds a trace with one payload member and an event for each value.
    fn payload(&mut self, name: impl AsRef<str>, class: Option<ClassText>, samples: Vec<EncodedValue>) {
        let Some(class) = class else { return };
        let mut trace = CtfTrace::new(self.language, name);
        trace.member(Payload, "x", class);
        for (value, encode) in samples {
            trace.event().put(Payload, "x", value, encode);
        }
        self.constructs.push(trace.finish());
    }

    /// Adds a trace with two payload members. The second depends on the first.
    fn pair(
        &mut self,
        name: &str,
        first: ClassText,
        second: Option<ClassText>,
        events: Vec<(EncodedValue, EncodedValue)>,
    ) {
        let Some(second) = second else { return };
        let mut trace = CtfTrace::new(self.language, name);
        trace.member(Payload, "n", first).member(Payload, "x", second);
        for ((first, encode_first), (second, encode_second)) in events {
            trace.event().put(Payload, "n", first, encode_first).put(Payload, "x", second, encode_second);
        }
        self.constructs.push(trace.finish());
    }

    /// Bit fields with each length and byte order. Another field fills the last byte.
    fn fixed(&mut self) {
        let kinds = [
            (Fixed::Unsigned, "unsigned integer"),
            (Fixed::Signed, "signed integer"),
            (Fixed::Bits, "bit array"),
            (Fixed::Boolean, "boolean"),
        ];
        for (kind, name) in kinds {
            for length in LENGTHS {
                for (order, order_name) in ORDERS {
                    let Some(class) = self.language.fixed(kind, length, order) else { continue };
                    let mut trace =
                        CtfTrace::new(self.language, format!("{name}, {length} bits, {order_name}"));
                    let rest = length.next_multiple_of(8) - length;
                    trace.member(Payload, "x", class);
                    if rest > 0 {
                        trace.member(Payload, "rest", self.language.fixed(kind, rest, order).unwrap());
                    }
                    for value in patterns(length) {
                        trace.event();
                        trace.put(Payload, "x", datum(kind, &value), |encoder| encoder.fixed(&value, order));
                        if rest > 0 {
                            let value = vec![true; rest];
                            trace.put(Payload, "rest", datum(kind, &value), |encoder| {
                                encoder.fixed(&value, order)
                            });
                        }
                    }
                    self.constructs.push(trace.finish());
                }
            }
        }
    }

    /// Bit order that differs from the byte order.
    fn bit_orders(&mut self) {
        if !self.language.is_spec2() {
            return;
        }
        for (order, name) in ORDERS {
            for length in [8, 16, 72] {
                let is_first_to_last = order == Order::Be;
                let bit_order = if is_first_to_last { "\"first-to-last\"" } else { "\"last-to-first\"" };
                let class = self.language.integer(length, false, order).with("bit-order", bit_order);
                let samples = patterns(length).into_iter().map(|value| {
                    let number = datum(Fixed::Unsigned, &value);
                    sample(number, move |encoder| encoder.in_bit_order(&value, order, is_first_to_last))
                });
                let name = format!("other bit order, {length} bits, {name}");
                self.payload(name, Some(class), samples.collect());
            }
        }
    }

    /// Integer alignments, after a byte.
    fn alignments(&mut self) {
        let key = if self.language.is_tsdl() { "align" } else { "alignment" };
        for alignment in [2, 8, 16, 32, 64, 128] {
            let mut trace = CtfTrace::new(self.language, format!("alignment of {alignment}"));
            let mut aligned = self.language.byte();
            aligned.text = aligned.text.replace(" align = 1;", "");
            trace.member(Payload, "a", self.language.byte());
            trace.member(Payload, "x", aligned.with(key, &alignment.to_string()));
            for value in [1, 2] {
                // A structure has the alignment of its largest member.
                trace.event().encoder.align(alignment);
                trace.byte(Payload, "a", value);
                trace.put(Payload, "x", Datum::integer(10 * value), |encoder| {
                    encoder.align(alignment).int((10 * value).into(), 8, Order::Le)
                });
            }
            self.constructs.push(trace.finish());
        }
    }

    fn floats(&mut self) {
        let of_width = |width: u32, all: [u128; 6]| (width, all);
        // 1.5, -0.0, infinity, NaN, the least number above 0, the greatest number.
        let widths = [
            of_width(16, [0x3e00, 0x8000, 0x7c00, 0x7e00, 1, 0x7bff]),
            of_width(32, [0x3fc0_0000, 1 << 31, 0x7f80_0000, 0x7fc0_0000, 1, 0x7f7f_ffff]),
            of_width(64, [0x3ff8 << 48, 1 << 63, 0x7ff0 << 48, 0x7ff8 << 48, 1, (0x7ff0 << 48) - 1]),
            of_width(
                128,
                [0x3fff_8000 << 96, 1 << 127, 0x7fff << 112, 0x7fff_8000 << 96, 1, (0x7fff << 112) - 1],
            ),
        ];
        for (width, values) in widths {
            for (order, name) in ORDERS {
                let class = self.language.fixed(Fixed::Float, width as usize, order);
                let samples = values.map(|value| {
                    sample(Datum::Float(width, value), move |encoder| {
                        encoder.fixed(&unsigned_bits(value, width as usize), order)
                    })
                });
                self.payload(format!("float, {width} bits, {name}"), class, samples.into());
            }
        }
    }

    fn variable(&mut self) {
        let unsigned = [0, 127, 128, u128::from(u32::MAX), u128::from(u64::MAX), 1 << 64]
            .map(|value| sample(Datum::integer(value), move |encoder| encoder.uleb(value)));
        self.payload(
            "variable-length unsigned integer",
            self.language.variable("unsigned-integer"),
            unsigned.into(),
        );
        let signed = [0, -1, 63, -64, 64, -65, i128::from(i64::MIN), -1 << 64]
            .map(|value| sample(Datum::integer(value), move |encoder| encoder.sleb(value)));
        self.payload(
            "variable-length signed integer",
            self.language.variable("signed-integer"),
            signed.into(),
        );
        let arrays = [0, 1, 0x7f, 0x80, 0xffff]
            .map(|value| sample(Datum::Bits(format!("{value:x}")), move |encoder| encoder.uleb(value)));
        self.payload("variable-length bit array", self.language.variable("bit-array"), arrays.into());
        let booleans =
            [0, 1, 0x80].map(|value| sample(Datum::Boolean(value != 0), move |encoder| encoder.uleb(value)));
        self.payload("variable-length boolean", self.language.variable("boolean"), booleans.into());
    }

    fn enumerations(&mut self) {
        // The last value is unnamed.
        for (signed, values) in [(false, [0, 3, 255, 9]), (true, [-128, 3, 127, 9])] {
            let (low, high) = (i64::from(values[0] as i32), i64::from(values[2] as i32));
            let class =
                self.language.enumeration(signed, &[("low", low, low), ("some", 1, 5), ("high", high, high)]);
            let samples = values.map(|value: i128| {
                sample(Datum::integer(value), move |encoder| encoder.int(value, 8, Order::Le))
            });
            let name = if signed { "signed enumeration" } else { "unsigned enumeration" };
            self.payload(name, Some(class), samples.into());
        }
        let overlapping = self.language.enumeration(false, &[("one", 1, 5), ("two", 3, 9)]);
        let samples = [1, 4, 9].map(|value: i128| {
            sample(Datum::integer(value), move |encoder| encoder.int(value, 8, Order::Le))
        });
        self.payload("enumeration, overlapping names", Some(overlapping), samples.into());
        let names = self.language.enumeration(false, &[("a b", 0, 0), ("", 1, 1), ("int", 2, 2)]);
        let samples = [0, 1, 2].map(|value: i128| {
            sample(Datum::integer(value), move |encoder| encoder.int(value, 8, Order::Le))
        });
        self.payload("enumeration, names that are no identifiers", Some(names), samples.into());
    }

    fn texts(&mut self) {
        let texts = ["", "a", "gr\u{fc}\u{df}e \u{20ac} \u{1f463}", "a\nb\"\\"];
        let samples = texts.map(|text| {
            sample(Datum::text(text), move |encoder| encoder.align(8).raw(text.as_bytes()).raw(&[0]))
        });
        self.payload("null-terminated string", Some(self.language.string()), samples.into());
        let class = self.language.bytes("string", &LengthText::Static(4));
        let samples = [(*b"abcd", "abcd"), (*b"ab\0\0", "ab"), (*b"\0\0\0\0", "")];
        let samples =
            samples.map(|(bytes, text)| sample(Datum::text(text), move |encoder| encoder.raw(&bytes)));
        self.payload("static-length string", class, samples.into());
        let class = self.language.bytes("string", &LengthText::Static(4));
        let samples = vec![sample(Datum::text("ab"), |encoder| encoder.raw(b"ab\0x"))];
        self.payload("static-length string with bytes after its zero", class, samples);
        self.dynamic_length(
            "dynamic-length string",
            self.language.bytes("string", &LengthText::In(Payload, "n")),
            |length| {
                let text = "x\u{fc}yz".get(..length).unwrap_or("x").to_owned();
                (Datum::text(&text), text.into_bytes())
            },
        );
        if self.language.is_spec2() {
            self.encodings();
        }
    }

    fn encodings(&mut self) {
        let text = "a\u{20ac}\u{1f463}";
        let utf16: Vec<u16> = text.encode_utf16().collect();
        let utf32: Vec<u32> = text.chars().map(u32::from).collect();
        let encodings: [(&str, usize, Vec<u8>); 4] = [
            ("utf-16le", 2, utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
            ("utf-16be", 2, utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
            ("utf-32le", 4, utf32.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
            ("utf-32be", 4, utf32.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
        ];
        for (name, unit, bytes) in encodings {
            let quoted = format!("\"{name}\"");
            let class = self.language.string().with("encoding", &quoted);
            let (first, second) = (bytes.clone(), bytes.clone());
            let samples = vec![
                sample(Datum::text(text), move |encoder| encoder.raw(&first).raw(&[0; 4][..unit])),
                sample(Datum::text(""), move |encoder| encoder.raw(&[0; 4][..unit])),
            ];
            self.payload(format!("null-terminated string, {name}"), Some(class), samples);
            let class = self.language.bytes("string", &LengthText::Static(bytes.len() as u64 + 4));
            let samples = vec![sample(Datum::text(text), move |encoder| encoder.raw(&second).raw(&[0; 4]))];
            let class = class.map(|class| class.with("encoding", &quoted));
            self.payload(format!("static-length string, {name}"), class, samples);
            let class = self.language.bytes("string", &LengthText::In(Payload, "n"));
            let class = class.map(|class| class.with("encoding", &quoted));
            let number = i128::try_from(bytes.len()).unwrap();
            let length = sample(Datum::integer(number), move |encoder| encoder.int(number, 8, Order::Le));
            let value = sample(Datum::text(text), move |encoder| encoder.raw(&bytes));
            let byte = self.language.byte();
            self.pair(&format!("dynamic-length string, {name}"), byte, class, vec![(length, value)]);
        }
    }

    /// Member whose length field comes before it: 0, 1 and 3 bytes or elements.
    fn dynamic_length(
        &mut self,
        name: &str,
        class: Option<ClassText>,
        value: impl Fn(usize) -> (Datum, Vec<u8>),
    ) {
        let events = [0, 1, 3].map(|length: usize| {
            let (datum, bytes) = value(length);
            let first =
                sample(Datum::integer(length), move |encoder| encoder.int(length as i128, 8, Order::Le));
            (first, sample(datum, move |encoder| encoder.raw(&bytes)))
        });
        self.pair(name, self.language.byte(), class, events.into());
    }

    fn blobs(&mut self) {
        for length in [0, 1, 3] {
            let class = self.language.bytes("blob", &LengthText::Static(length));
            let bytes = vec![0xab; length as usize];
            let value = Datum::Bytes(bytes.clone());
            if length == 0 {
                // Without bits, the event would not exist.
                let byte = sample(Datum::integer(7), |encoder| encoder.int(7, 8, Order::Le));
                let events = vec![(byte, sample(value, |encoder| encoder))];
                self.pair("static-length BLOB of 0 bytes", self.language.byte(), class, events);
                continue;
            }
            let samples = vec![sample(value, move |encoder| encoder.raw(&bytes))];
            self.payload(format!("static-length BLOB of {length} bytes"), class, samples);
        }
        let class = self.language.bytes("blob", &LengthText::In(Payload, "n"));
        self.dynamic_length("dynamic-length BLOB", class, |length| {
            (Datum::Bytes(vec![0xcd; length]), vec![0xcd; length])
        });
        let class = self.language.bytes("blob", &LengthText::Static(2));
        let class = class.map(|class| class.with("media-type", "\"image/png\""));
        let samples = vec![sample(Datum::Bytes(vec![1, 2]), |encoder| encoder.raw(&[1, 2]))];
        self.payload("BLOB with a media type", class, samples);
    }

    fn arrays(&mut self) {
        let language = self.language;
        let (byte, numbers) =
            (language.byte(), |bytes: &[u8]| Datum::array(bytes.iter().map(Datum::integer)));
        for length in [1, 3] {
            let class = language.array(&byte, &LengthText::Static(length));
            let bytes: Vec<u8> = (1..=length as u8).collect();
            let samples = vec![sample(numbers(&bytes), move |encoder| encoder.raw(&bytes))];
            self.payload(format!("static-length array of {length}"), Some(class), samples);
        }
        let empty = language.array(&byte, &LengthText::Static(0));
        let first = sample(Datum::integer(7), |encoder| encoder.int(7, 8, Order::Le));
        let events = vec![(first, sample(Datum::Array(Vec::new()), |encoder| encoder))];
        self.pair("static-length array of 0", byte.clone(), Some(empty), events);
        let class = language.array(&byte, &LengthText::In(Payload, "n"));
        self.dynamic_length("dynamic-length array", Some(class), |length| {
            let bytes: Vec<u8> = (1..=length as u8).collect();
            (numbers(&bytes), bytes)
        });
        let signed = language.array(&language.integer(16, true, Order::Be), &LengthText::Static(2));
        let value = Datum::array([-2, 300].map(Datum::integer));
        let samples = vec![sample(value, |encoder| encoder.int(-2, 16, Order::Be).int(300, 16, Order::Be))];
        self.payload("array of signed integers", Some(signed), samples);
        let bits = language.array(&language.integer(1, false, Order::Le), &LengthText::Static(8));
        let value = Datum::array([1, 0, 1, 1, 0, 0, 0, 1].map(Datum::integer));
        let samples = vec![sample(value, |encoder| encoder.raw(&[0b1000_1101]))];
        self.payload("array of bits", Some(bits), samples);
        let texts = language.array(&language.string(), &LengthText::Static(2));
        let value = Datum::array(["a", ""].map(Datum::text));
        self.payload("array of texts", Some(texts), vec![sample(value, |encoder| encoder.raw(b"a\0\0"))]);
        let points = language.structure(&[("a", byte.clone()), ("b", language.string())]);
        let points = language.array(&points, &LengthText::Static(2));
        let point = |a: u8, b: &str| Datum::structure([("a", Datum::integer(a)), ("b", Datum::text(b))]);
        let value = Datum::array([point(1, "x"), point(2, "")]);
        let samples = vec![sample(value, |encoder| encoder.raw(b"\x01x\0\x02\0"))];
        self.payload("array of structures", Some(points), samples);
        let nested = language.array(&language.array(&byte, &LengthText::Static(2)), &LengthText::Static(2));
        let value = Datum::array([numbers(&[1, 2]), numbers(&[3, 4])]);
        self.payload(
            "array of arrays",
            Some(nested),
            vec![sample(value, |encoder| encoder.raw(&[1, 2, 3, 4]))],
        );
        let nested = language
            .array(&language.array(&byte, &LengthText::In(Payload, "n")), &LengthText::In(Payload, "n"));
        self.dynamic_length("dynamic-length array of dynamic-length arrays", Some(nested), |length| {
            let row: Vec<u8> = (1..=length as u8).collect();
            (Datum::Array(vec![numbers(&row); length]), row.repeat(length))
        });
        let empty = language.array(&language.structure(&[]), &LengthText::In(Payload, "n"));
        self.dynamic_length("array of empty structures", Some(empty), |length| {
            (Datum::Array(vec![Datum::Structure(Vec::new()); length]), Vec::new())
        });
    }

    fn structures(&mut self) {
        let language = self.language;
        let byte = language.byte();
        let inner =
            language.structure(&[("a", byte.clone()), ("b", language.structure(&[("c", byte.clone())]))]);
        let value =
            Datum::structure([("a", Datum::integer(1)), ("b", Datum::structure([("c", Datum::integer(2))]))]);
        self.payload("nested structures", Some(inner), vec![sample(value, |encoder| encoder.raw(&[1, 2]))]);
        let first = || sample(Datum::integer(7), |encoder| encoder.int(7, 8, Order::Le));
        let empty = || sample(Datum::Structure(Vec::new()), |encoder| encoder);
        self.pair("empty structure", byte.clone(), Some(language.structure(&[])), vec![(first(), empty())]);
        if !language.is_tsdl() {
            let key = if language.is_prop1() { "alignment" } else { "minimum-alignment" };
            let aligned = language.structure(&[("a", byte.clone())]).with(key, "32");
            let second = sample(Datum::structure([("a", Datum::integer(9))]), |encoder| {
                encoder.align(32).int(9, 8, Order::Le)
            });
            self.pair("aligned structure", byte, Some(aligned), vec![(first(), second)]);
        }
    }

    fn selections(&mut self) {
        let language = self.language;
        let (byte, text) = (language.byte(), language.string());
        let selector =
            |value: i128| sample(Datum::integer(value), move |encoder| encoder.int(value, 8, Order::Le));
        let number = || sample(Datum::integer(200), |encoder| encoder.int(200, 8, Order::Le));
        let absent = || sample(Datum::Absent, |encoder| encoder);
        if let Some(boolean) = language.fixed(Fixed::Boolean, 8, Order::Le) {
            let optional = language.optional(&byte, (Payload, "n"), "");
            let selector = |value: bool| {
                sample(Datum::Boolean(value), move |encoder| encoder.int(value.into(), 8, Order::Le))
            };
            let events = vec![(selector(true), number()), (selector(false), absent())];
            self.pair("optional by a boolean", boolean, optional, events);
        }
        let optional = language.optional(&byte, (Payload, "n"), "[[1,2],[5,255]]");
        let events = vec![
            (selector(1), number()),
            (selector(0), absent()),
            (selector(255), number()),
            (selector(3), absent()),
        ];
        self.pair("optional by an unsigned integer", byte.clone(), optional, events);
        let optional = language.optional(&text, (Payload, "n"), "[[-128,-1]]");
        let text_value = || sample(Datum::text("x"), |encoder| encoder.raw(b"x\0"));
        let events = vec![(selector(-1), text_value()), (selector(0), absent())];
        self.pair("optional by a signed integer", language.integer(8, true, Order::Le), optional, events);
        let structure = language.structure(&[("a", byte.clone())]);
        let optional = language.optional(&structure, (Payload, "n"), "[[1,1]]");
        let value = sample(Datum::structure([("a", Datum::integer(4))]), |encoder| encoder.raw(&[4]));
        self.pair(
            "optional structure",
            byte.clone(),
            optional,
            vec![(selector(1), value), (selector(0), absent())],
        );
        let array = language.array(&byte, &LengthText::Static(2));
        let optional = language.optional(&array, (Payload, "n"), "[[1,1]]");
        let value = sample(Datum::array([1, 2].map(Datum::integer)), |encoder| encoder.raw(&[1, 2]));
        self.pair(
            "optional array",
            byte.clone(),
            optional,
            vec![(selector(1), value), (selector(0), absent())],
        );

        let options =
            [("a", byte.clone()), ("b", text.clone()), ("c", language.structure(&[("d", byte.clone())]))];
        let variant = language.variant(&options, (Payload, "n"));
        let labels = [("a", 0, 0), ("b", 1, 1), ("c", 2, 2)];
        let events = || {
            let third = sample(Datum::structure([("d", Datum::integer(3))]), |encoder| encoder.raw(&[3]));
            vec![(selector(0), number()), (selector(1), text_value()), (selector(2), third)]
        };
        for signed in [false, true] {
            let class = language.enumeration(signed, &labels);
            let sign = if signed { "signed" } else { "unsigned" };
            self.pair(&format!("variant by a {sign} enumeration"), class, Some(variant.clone()), events());
            if language.is_second() {
                let class = language.integer(8, signed, Order::Le);
                self.pair(&format!("variant by a {sign} integer"), class, Some(variant.clone()), events());
            }
        }
        if language.is_second() {
            let mut nameless = variant;
            nameless.text = nameless
                .text
                .replace(r#""name":"a","#, "")
                .replace(r#""name":"b","#, "")
                .replace(r#""name":"c","#, "");
            self.pair("variant without names", byte.clone(), Some(nameless), events());
        }
        let options = [("a", language.structure(&[])), ("b", byte)];
        let variant = language.variant(&options, (Payload, "n"));
        let empty = sample(Datum::Structure(Vec::new()), |encoder| encoder);
        let class = language.enumeration(false, &[("a", 0, 0), ("b", 1, 1)]);
        self.pair(
            "variant with an empty option",
            class,
            Some(variant),
            vec![(selector(0), empty), (selector(1), number())],
        );
    }

    /// Lengths and selectors in each scope before the payload. In headers and packet contexts, only the dependent
    /// fields show their values.
    fn locations(&mut self) {
        let language = self.language;
        for place in RootPlace::ALL.into_iter().take(5) {
            let is_of_packet = matches!(place, RootPlace::PacketHeader | RootPlace::PacketContext);
            let put = |trace: &mut CtfTrace, value: u8| match place {
                RootPlace::CommonContext | RootPlace::SpecificContext => _ = trace.byte(place, "n", value),
                _ => _ = trace.bits(value.into(), 8),
            };
            let array = language.array(&language.byte(), &LengthText::In(place, "n"));
            let mut trace = CtfTrace::new(language, format!("length in the {}", place.scope()));
            trace
                .member(place, "n", language.byte())
                .member(Payload, "m", language.byte())
                .member(Payload, "x", array);
            if is_of_packet {
                put(&mut trace, 2);
            }
            for _ in 0..2 {
                trace.event();
                if !is_of_packet {
                    put(&mut trace, 2);
                }
                let value = Datum::array([5, 6].map(Datum::integer));
                trace.byte(Payload, "m", 9).put(Payload, "x", value, |encoder| encoder.raw(&[5, 6]));
            }
            self.constructs.push(trace.finish());

            let options = [("a", language.byte()), ("b", language.string())];
            let mut trace = CtfTrace::new(language, format!("selector in the {}", place.scope()));
            trace.member(place, "n", language.enumeration(false, &[("a", 0, 0), ("b", 1, 1)]));
            trace.member(Payload, "m", language.byte());
            trace.member(Payload, "x", language.variant(&options, (place, "n")));
            if is_of_packet {
                put(&mut trace, 1);
            }
            trace.event();
            if !is_of_packet {
                put(&mut trace, 1);
            }
            trace.byte(Payload, "m", 9);
            trace.put(Payload, "x", Datum::text("y"), |encoder| encoder.raw(b"y\0"));
            self.constructs.push(trace.finish());
        }
    }

    fn only_prop1(&mut self) {
        let language = self.language;
        let first = || sample(Datum::integer(7), |encoder| encoder.int(7, 8, Order::Le));
        let null = language.prop1_class(r#"{"field-type":"null"}"#);
        self.pair("null", language.byte(), null, vec![(first(), sample(Datum::Absent, |encoder| encoder))]);
        let int = |length: u32| format!(r#"{{"field-type":"int","size":{length},"byte-order":"le"}}"#);
        let union = format!(
            r#"{{"field-type":"union","fields":[{{"name":"a","field-type":{}}},{{"name":"b","field-type":{{"field-type":"array","length":2,"element-field-type":{}}}}}]}}"#,
            int(16),
            int(8)
        );
        let halves = Datum::array([0x34, 0x12].map(Datum::integer));
        let value = Datum::structure([("a", Datum::integer(0x1234)), ("b", halves)]);
        let samples = vec![sample(value, |encoder| encoder.raw(&[0x34, 0x12]))];
        self.payload("union", language.prop1_class(&union), samples);
        let aligned = language.prop1_class(r#"{"field-type":"string","alignment":32}"#);
        let samples = ["a", "bcd"].map(|text| {
            sample(Datum::text(text), move |encoder| encoder.align(32).raw(text.as_bytes()).raw(&[0]))
        });
        self.payload("aligned string", aligned, samples.into());
    }

    fn only_spec2(&mut self) {
        let map = r#"{"type":"fixed-length-bit-map","length":8,"byte-order":"little-endian","flags":{"a":[[0,0]],"b":[[1,3]]}}"#;
        let samples = [0, 1, 0x0a, 0x80].map(|value: u8| {
            sample(Datum::Bits(format!("{value:x}")), move |encoder| encoder.int(value.into(), 8, Order::Le))
        });
        self.payload("bit map", self.language.spec2_class(map), samples.into());
        if self.language.is_second() {
            for base in [2, 8, 16] {
                let class = self.language.byte().with("preferred-display-base", &base.to_string());
                let samples = vec![sample(Datum::integer(200), |encoder| encoder.int(200, 8, Order::Le))];
                self.payload(format!("base {base}"), Some(class), samples);
            }
        } else if self.language.is_tsdl() {
            for base in ["binary", "octal", "hex"] {
                let class = self.language.byte().with("base", base);
                let samples = vec![sample(Datum::integer(200), |encoder| encoder.int(200, 8, Order::Le))];
                self.payload(format!("base {base}"), Some(class), samples);
            }
        }
        if !self.language.is_tsdl() {
            let key = match self.language.0 {
                Origin::Prop1 => "user-attrs",
                Origin::Prop2 => "user-attributes",
                _ => "attributes",
            };
            let class = self.language.byte().with(key, r#"{"my ns":{"k":[1,null,true]}}"#);
            let samples = vec![sample(Datum::integer(200), |encoder| encoder.int(200, 8, Order::Le))];
            self.payload("attributes of a field", Some(class), samples);
        }
    }

    fn names(&mut self) {
        let names: &[&[&str]] = match self.language.is_tsdl() {
            true => &[&["_x"], &["__x"], &["_int"]],
            false => &[&["_x"], &["int"], &["a b"], &["a b", "a-b"], &["\u{e9}"], &[""], &["1st"], &["a.b"]],
        };
        for names in names {
            let mut trace = CtfTrace::new(self.language, format!("names {names:?}"));
            for name in *names {
                trace.member(Payload, name, self.language.byte());
            }
            trace.event();
            for (name, value) in names.iter().zip(1..) {
                // CTF 1.8: a leading underscore only protects the name.
                let seen = if self.language.is_tsdl() { &name[1..] } else { name };
                trace.byte(Payload, seen, value);
            }
            self.constructs.push(trace.finish());
        }
    }
}

/// Converts bits to a value.
fn datum(kind: Fixed, value: &[bool]) -> Datum {
    use crate::encoder::{decimal, hex};
    match kind {
        Fixed::Unsigned => Datum::Integer(decimal(value, false)),
        Fixed::Signed => Datum::Integer(decimal(value, true)),
        Fixed::Bits => Datum::Bits(hex(value)),
        Fixed::Boolean => Datum::Boolean(value.contains(&true)),
        Fixed::Float => unreachable!("floats have their own samples"),
    }
}

/// Bit patterns: all 0, all 1, only the first, only the last, and mixed.
fn patterns(length: usize) -> Vec<Vec<bool>> {
    let mixed = bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdd6, length);
    let mut all = vec![vec![false; length], vec![true; length], bits(1, length)];
    all.push((0..length).map(|bit| bit + 1 == length).collect());
    all.push(mixed);
    all.dedup();
    all
}
