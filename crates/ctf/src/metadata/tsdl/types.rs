//! Field types (CTF 1.8, sections 4 and C.2.2).

use std::collections::HashSet;
use std::rc::Rc;

use ichnos_model::class::{IntegerRange, Mappings, MappingsBuilder};
use ichnos_model::memory::{allocated, size};
use ichnos_model::trace::{Diagnostic, TextPosition};

use super::super::memory;
use super::super::name_numbers::NameNumbers;
use super::ast::{ArrayLength, CompoundBody, DeclaredField, IntegerType, ParsedType, PathLocation, TypeKind};
use super::lexer::Lexeme;
use super::parser::{ParseResult, Stop, TsdlParser, is_c_type_word, is_reserved};
use super::scopes::TypeScopes;

/// Place of a type in a declaration. It determines the number of words in the type name, and the message if the type is
/// unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TypePosition {
    /// Before a member name or a new type name.
    BeforeName,
    /// Before `:=`.
    BeforeAssignment,
    /// After an enumeration's `:`.
    AfterColon,
    /// After a root field's `:=`.
    Alone,
}

impl TsdlParser<'_> {
    /// Returns `true` if a type declaration begins here instead of an attribute.
    pub(super) fn declares_type(&mut self) -> bool {
        match self.word() {
            Some("typealias" | "typedef") => true,
            Some("struct" | "variant" | "enum") => !(self.peek_mark_at(1, "=") || self.peek_mark_at(1, ".")),
            _ => false,
        }
    }

    /// Reads a type declaration, including its `;`.
    pub(super) fn type_declaration(&mut self) -> ParseResult<()> {
        match self.word() {
            Some("typealias") => self.within("`typealias`", Self::type_alias),
            Some("typedef") => self.within("`typedef`", Self::type_definition),
            _ => {
                self.type_specifier(TypePosition::Alone)?;
                self.end_statement()
            }
        }
    }

    /// Reads a root field's type, after `:=`.
    pub(super) fn root_type(&mut self) -> ParseResult<Rc<ParsedType>> {
        self.type_specifier(TypePosition::Alone)
    }

    fn declare(&mut self, name: String, class: Rc<ParsedType>) -> ParseResult<()> {
        let at = self.last_end;
        self.charge(TypeScopes::memory_of(&name), at)?;
        if let Err(name) = self.scopes.declare(name, class) {
            self.doubles.push(name);
        }
        Ok(())
    }

    /// Reads `typealias type := name;`.
    fn type_alias(&mut self) -> ParseResult<()> {
        self.take();
        let class = match self.aliased_type() {
            Ok(class) => class,
            Err(Stop) => {
                // The name is still declared, so that its uses are not reported.
                self.skip_to_assignment()?;
                Rc::new(ParsedType::new(self.last_end, TypeKind::Broken))
            }
        };
        self.expect(":=")?;
        let name = self.new_type_name()?;
        let at = self.at();
        if self.peek_mark("[") {
            // The grammar allows array declarators after the name, without any effect on the type.
            self.array_lengths(Rc::clone(&class))?;
            let note = format!("the array lengths after the name `{name}` of the alias are ignored");
            self.problems.add(Diagnostic::note(at, note));
        }
        self.declare(name, class)?;
        self.end_statement()
    }

    fn aliased_type(&mut self) -> ParseResult<Rc<ParsedType>> {
        let class = self.type_specifier(TypePosition::BeforeAssignment)?;
        let class = self.array_lengths(class)?;
        if self.peek_mark(":=") { Ok(class) } else { Err(self.unexpected("`:=`")) }
    }

    /// Skips to the `:=` in this statement, if it has one.
    fn skip_to_assignment(&mut self) -> ParseResult<()> {
        let mut depth = 0u64;
        loop {
            match self.peek().lexeme {
                Lexeme::Mark("{") => depth += 1,
                Lexeme::Mark("}") if depth > 0 => depth -= 1,
                Lexeme::Mark(":=") if depth == 0 => return Ok(()),
                Lexeme::End => return Err(Stop),
                Lexeme::Mark(";" | "}") if depth == 0 => return Err(Stop),
                _ => {}
            }
            self.take();
        }
    }

    /// Reads the name declared by a `typealias`: words and asterisks.
    fn new_type_name(&mut self) -> ParseResult<String> {
        let mut name: Vec<&str> = Vec::new();
        loop {
            if let Some(word) = self.word() {
                let compound = matches!(word, "struct" | "variant" | "enum") && self.word_at(1).is_some();
                if is_reserved(word) && word != "const" && !compound {
                    let at = self.at();
                    return Err(self.stop(at, format!("the keyword `{word}` cannot name a type")));
                }
                name.push(word);
                self.take();
            } else if self.peek_mark("*") && !name.is_empty() {
                name.push("*");
                self.take();
            } else if name.is_empty() {
                return Err(self.unexpected("the name of the new type"));
            } else {
                return Ok(name.join(" "));
            }
        }
    }

    /// Reads `typedef type name[length], ...;`.
    fn type_definition(&mut self) -> ParseResult<()> {
        self.take();
        let class = self.type_specifier(TypePosition::BeforeName)?;
        loop {
            let (name, class) = self.declarator(&class)?;
            self.declare(name, class)?;
            if !self.accept(",") {
                return self.end_statement();
            }
        }
    }

    /// Reads a name and the array lengths after it.
    fn declarator(&mut self, class: &Rc<ParsedType>) -> ParseResult<(String, Rc<ParsedType>)> {
        let at = self.at();
        let Some(name) = self.word() else { return Err(self.unexpected("a name")) };
        if is_reserved(name) || is_c_type_word(name) {
            self.problems.warning(at, format!("the keyword `{name}` is used as a name"));
        }
        self.take();
        if self.peek_mark(":") {
            let at = self.at();
            return Err(self.stop(at, "GNU/C bit-fields (`type name:size`) cannot be read"));
        }
        let class = self.array_lengths(Rc::clone(class))?;
        Ok((name.to_owned(), class))
    }

    /// Reads the array lengths after a name. As in C, the first length is the outermost.
    fn array_lengths(&mut self, element: Rc<ParsedType>) -> ParseResult<Rc<ParsedType>> {
        let mut lengths = Vec::new();
        while self.accept("[") {
            let at = self.at();
            let length = match self.peek().lexeme {
                Lexeme::Word(_) => ArrayLength::Located(self.location()?),
                _ => {
                    let (length, at) = self.integer("the length of the array: an integer or a field")?;
                    let Ok(length) = u64::try_from(length) else {
                        return Err(self.stop(at, "the length of an array is negative"));
                    };
                    ArrayLength::Static(length)
                }
            };
            self.expect("]")?;
            lengths.push((length, at));
            if lengths.len() as u64 > u64::from(self.limits.depth) {
                return Err(self.too_deep(at));
            }
        }
        let mut class = element;
        for (length, at) in lengths.into_iter().rev() {
            class = self.new_type(at, TypeKind::Array { element: class, length })?;
        }
        Ok(class)
    }

    /// Reads a field path (section 7.3.2).
    fn location(&mut self) -> ParseResult<PathLocation> {
        let mut location = self.names("a field")?;
        location.names.shrink_to_fit();
        let names: u64 = location.names.iter().map(|name| memory::of_text(name)).sum();
        self.charge(allocated(location.names.len() * size::<String>()) + names, location.at)?;
        match location.names.first().map(String::as_str) {
            Some("trace" | "stream" | "event" | "env") | None => {}
            Some(word) if is_reserved(word) || is_c_type_word(word) => {
                return Err(self.stop(location.at, format!("the keyword `{word}` cannot name a field")));
            }
            Some(_) => {}
        }
        Ok(location)
    }

    /// Creates a type, unless it is too deep.
    fn new_type(&mut self, at: TextPosition, kind: TypeKind) -> ParseResult<Rc<ParsedType>> {
        let class = ParsedType::new(at, kind);
        if class.depth > self.limits.depth {
            return Err(self.too_deep(at));
        }
        self.charge(allocated(size::<ParsedType>() + 16), at)?;
        Ok(Rc::new(class))
    }

    fn too_deep(&mut self, at: TextPosition) -> Stop {
        let most = self.limits.depth;
        self.problems.limit(at, "depth", format!("the nesting of types exceeds the limit of {most} levels"));
        Stop
    }

    /// Reads a type, up to its declarators.
    fn type_specifier(&mut self, position: TypePosition) -> ParseResult<Rc<ParsedType>> {
        let at = self.at();
        if self.depth >= self.limits.depth {
            let most = self.limits.depth;
            let message = format!("the nesting of types exceeds the limit of {most} levels");
            return Err(self.give_up_at_limit(at, "depth", message));
        }
        self.depth += 1;
        let class = self.type_specifier_inner(at, position);
        self.depth -= 1;
        class
    }

    fn type_specifier_inner(
        &mut self,
        at: TextPosition,
        position: TypePosition,
    ) -> ParseResult<Rc<ParsedType>> {
        if self.word() == Some("const") && self.word_at(1).is_some_and(|word| !is_c_type_word(word)) {
            self.take();
        }
        match self.word() {
            Some("struct") => self.within("`struct`", |parser| parser.structure(at, position)),
            Some("variant") => self.within("`variant`", |parser| parser.variant(at, position)),
            Some("enum") => self.within("`enum`", |parser| parser.enumeration(at, position)),
            Some("integer") if self.peek_mark_at(1, "{") => {
                self.take();
                let integer = self.within("`integer`", |parser| parser.integer_body(at))?;
                self.new_type(at, TypeKind::Integer(integer))
            }
            Some("floating_point") if self.peek_mark_at(1, "{") => {
                self.take();
                let float = self.within("`floating_point`", |parser| parser.float_body(at))?;
                self.new_type(at, TypeKind::Float(float))
            }
            Some("string") => {
                self.take();
                if self.peek_mark("{") {
                    self.within("`string`", Self::string_body)?;
                }
                self.new_type(at, TypeKind::String)
            }
            Some(_) => self.named_type(at, position),
            None => Err(self.unexpected("a type")),
        }
    }

    /// Reads a type name: a word or several words, possibly with asterisks.
    fn named_type(&mut self, at: TextPosition, position: TypePosition) -> ParseResult<Rc<ParsedType>> {
        // Takes words up to the next punctuation. In a declaration, the last word is the declared name, unless
        // asterisks follow: in that case, the name comes after them.
        let mut words = Vec::new();
        while words.len() < 16 {
            let Some(word) = self.word_at(words.len()) else { break };
            words.push(word);
        }
        let mut count = words.len();
        let mut stars = 0;
        while self.peek_mark_at(count + stars, "*") && stars < 4 {
            stars += 1;
        }
        if position == TypePosition::BeforeName && stars == 0 {
            count = count.saturating_sub(1);
        }
        // The count is at most the number of words.
        let mut name = words.get(..count).unwrap_or_default().join(" ");
        for _ in 0..stars {
            name.push_str(" *");
        }
        if let Some(class) = self.use_alias(&name, at)? {
            for _ in 0..count + stars {
                self.take();
            }
            return Ok(class);
        }
        // `const` does not affect the layout.
        if words.first() == Some(&"const") && count > 1 {
            self.take();
            return self.named_type(at, position);
        }
        let at = if position == TypePosition::BeforeAssignment {
            for _ in 0..count + stars {
                self.take();
            }
            self.last_end
        } else {
            at
        };
        Err(match (position, name.is_empty()) {
            (_, true) => self.stop(at, "expected a type and a name"),
            (TypePosition::AfterColon, _) => self.stop(at, format!("unknown integer type `{name}`")),
            _ => self.stop(at, format!("unknown type `{name}`")),
        })
    }

    /// Returns the type with this name, as used at `at`.
    fn use_alias(&mut self, name: &str, at: TextPosition) -> ParseResult<Option<Rc<ParsedType>>> {
        let Some(named) = self.scopes.find(name) else { return Ok(None) };
        let (mut target, mut declared_in) = (Rc::clone(&named.class), named.declared_in);
        // An alias to an alias is flattened, because chains would count as nesting. Lookups begin at the innermost
        // declaration inside a structure.
        if let TypeKind::Alias { target: inner, declared_in: inside } = &target.kind {
            declared_in = inside.or(declared_in);
            target = Rc::clone(inner);
        }
        self.new_type(at, TypeKind::Alias { target, declared_in }).map(Some)
    }

    /// Reads a tagged type by its name, for example `struct point`.
    fn tagged_type(
        &mut self,
        kind: &str,
        name: &str,
        at: TextPosition,
        position: TypePosition,
    ) -> ParseResult<Rc<ParsedType>> {
        let mut key = format!("{kind} {name}");
        while self.accept("*") {
            key.push_str(" *");
        }
        if let Some(class) = self.use_alias(&key, at)? {
            return Ok(class);
        }
        let at = if position == TypePosition::BeforeAssignment { self.last_end } else { at };
        Err(self.stop(at, format!("unknown type `{key}`")))
    }

    /// Reads `struct name { ... } align(...)`.
    fn structure(&mut self, at: TextPosition, position: TypePosition) -> ParseResult<Rc<ParsedType>> {
        self.take();
        let name = match self.word() {
            Some("align") if self.peek_mark_at(1, "(") => None,
            name => name,
        };
        if name.is_some() {
            self.take();
        }
        if let (Some(name), false) = (name, self.peek_mark("{")) {
            // `struct name * := ` and similar texts are names of other types.
            return self.tagged_type("struct", name, at, position);
        }
        let id = self.new_body();
        let fields = self.compound_body(id, true)?;
        let mut minimum_alignment = 1;
        if self.word() == Some("align") {
            self.take();
            self.expect("(")?;
            let (value, at) = self.integer("an alignment")?;
            minimum_alignment = self.alignment(value, at)?;
            self.expect(")")?;
        }
        self.distinct(at, &fields)?;
        let body = Rc::new(CompoundBody { id, fields, minimum_alignment });
        let class = self.new_type(at, TypeKind::Structure(body))?;
        if let Some(name) = name {
            self.declare(format!("struct {name}"), Rc::clone(&class))?;
        }
        Ok(class)
    }

    /// Reads `variant name <tag> { ... }`.
    fn variant(&mut self, at: TextPosition, position: TypePosition) -> ParseResult<Rc<ParsedType>> {
        self.take();
        let name = self.word();
        if name.is_some() {
            self.take();
        }
        let mut tag = None;
        if self.accept("<") {
            if self.word().is_none() {
                return Err(self.unexpected("the tag: the name of a field"));
            }
            tag = Some(self.location()?);
            self.expect(">")?;
        }
        if let (Some(name), false) = (name, self.peek_mark("{")) {
            let class = self.tagged_type("variant", name, at, position)?;
            let Some(tag) = tag else { return Ok(class) };
            let TypeKind::Variant { body, .. } = &class.resolved().kind else { return Ok(class) };
            let body = Rc::clone(body);
            return self.new_type(at, TypeKind::Variant { body, tag: Some(tag) });
        }
        let id = self.new_body();
        let fields = self.compound_body(id, false)?;
        self.distinct(at, &fields)?;
        if fields.is_empty() {
            self.problems.warning(at, "a variant lacks options");
        }
        let body = Rc::new(CompoundBody { id, fields, minimum_alignment: 1 });
        let class = self.new_type(at, TypeKind::Variant { body, tag })?;
        if let Some(name) = name {
            self.declare(format!("variant {name}"), Rc::clone(&class))?;
        }
        Ok(class)
    }

    fn new_body(&mut self) -> u32 {
        self.bodies = self.bodies.saturating_add(1);
        self.bodies
    }

    /// Reads structure members or variant options.
    fn compound_body(&mut self, id: u32, structure: bool) -> ParseResult<Vec<DeclaredField>> {
        let mut fields = Vec::new();
        self.scopes.open(structure.then_some(id));
        let at = self.last_end;
        let read = self.body(|parser| parser.member(&mut fields));
        self.scopes.close();
        read?;
        fields.shrink_to_fit();
        // Includes the list and the body.
        self.charge(16 + allocated(size::<CompoundBody>() + 16), at)?;
        Ok(fields)
    }

    /// Reads a statement in a structure or variant body: members, or a type declaration.
    fn member(&mut self, fields: &mut Vec<DeclaredField>) -> ParseResult<()> {
        if matches!(self.word(), Some("typealias" | "typedef")) {
            return self.type_declaration();
        }
        let at = self.at();
        let compound = matches!(self.word(), Some("struct" | "variant" | "enum"));
        let class = self.type_specifier(TypePosition::BeforeName)?;
        if compound && self.peek_mark(";") {
            // Only declares the type.
            return self.end_statement();
        }
        if let TypeKind::Variant { tag: None, .. } = &class.resolved().kind {
            return Err(self.stop(at, "a variant is used without a tag"));
        }
        loop {
            let (name, class) = self.declarator(&class)?;
            self.charge(size::<DeclaredField>() as u64 + memory::of_text(&name), at)?;
            fields.push(DeclaredField { name, class });
            if !self.accept(",") {
                return self.end_statement();
            }
        }
    }

    /// Checks that field names are unique. A duplicate is an error at `at`.
    fn distinct(&mut self, at: TextPosition, fields: &[DeclaredField]) -> ParseResult<()> {
        let mut names = HashSet::with_capacity(fields.len());
        match fields.iter().find(|field| !names.insert(field.name.as_str())) {
            Some(field) => Err(self.stop(at, format!("duplicate field `{}`", field.name))),
            None => Ok(()),
        }
    }

    /// Reads `enum name : base { label = value ... value, ... }` (section 4.1.8).
    fn enumeration(&mut self, at: TextPosition, position: TypePosition) -> ParseResult<Rc<ParsedType>> {
        self.take();
        let name = self.word();
        if name.is_some() {
            self.take();
        }
        let based = self.accept(":");
        if let (Some(name), false, false) = (name, based, self.peek_mark("{")) {
            return self.tagged_type("enum", name, at, position);
        }
        let base = if based {
            let at = self.at();
            if matches!(self.word(), Some("string" | "struct" | "variant" | "floating_point")) {
                return Err(self.unexpected("an integer type"));
            }
            let base = self.type_specifier(TypePosition::AfterColon)?;
            match &base.resolved().kind {
                TypeKind::Integer(integer) => integer.clone(),
                TypeKind::Enumeration { base, .. } => base.clone(),
                TypeKind::Broken => return Err(Stop),
                _ => return Err(self.stop(at, "the base of an enumeration is not an integer type")),
            }
        } else {
            match self.scopes.find("int").map(|named| &named.class.resolved().kind) {
                Some(TypeKind::Integer(integer)) => integer.clone(),
                Some(TypeKind::Broken) => return Err(Stop),
                _ => {
                    let message = "an enumeration without a base needs the type `int`, but it is unknown \
                        here";
                    self.problems.error(at, message);
                    self.expect("{")?;
                    self.skip_block();
                    return Err(Stop);
                }
            }
        };
        let mappings = self.enumerators(at, &base)?;
        let class = self.new_type(at, TypeKind::Enumeration { base, mappings })?;
        if let Some(name) = name {
            self.declare(format!("enum {name}"), Rc::clone(&class))?;
        }
        Ok(class)
    }

    /// Skips to the end of a block whose `{` was taken, including its `}`.
    fn skip_block(&mut self) {
        let mut depth = 1u64;
        while depth > 0 && !self.at_end() {
            match self.take().lexeme {
                Lexeme::Mark("{") => depth += 1,
                Lexeme::Mark("}") => depth -= 1,
                _ => {}
            }
        }
    }

    fn enumerators(&mut self, at: TextPosition, base: &IntegerType) -> ParseResult<Mappings> {
        self.expect("{")?;
        let mut misfit = None;
        let Ok(mappings) = self.labels(base, &mut misfit) else {
            // Labels are not statements: the enclosing loop would take the `}` as its own.
            self.skip_block();
            return Err(Stop);
        };
        if mappings.is_empty() {
            self.problems.warning(at, "an enumeration lacks labels");
        }
        if let Some((label, range)) = misfit {
            let (size, fitting) = (base.size, fitting(base));
            let message =
                format!("the values {range} of `{label}` do not fit the {size} bits ({fitting}) of the type");
            return Err(self.stop(at, message));
        }
        Ok(mappings)
    }

    /// Reads enumeration labels. `misfit` receives the first label with values outside the type.
    fn labels(
        &mut self,
        base: &IntegerType,
        misfit: &mut Option<(String, IntegerRange)>,
    ) -> ParseResult<Mappings> {
        let mut mappings = MappingsBuilder::default();
        let mut index = NameNumbers::default();
        let mut next = 0i128;
        let fitting = fitting(base);
        while !self.peek_mark("}") {
            let label = match &self.peek().lexeme {
                Lexeme::Word(_) | Lexeme::Text(_) => self.take(),
                _ => return Err(self.unexpected("a label or `}`")),
            };
            let (at, label) = match &label.lexeme {
                Lexeme::Text(text) => (label.at, &**text),
                Lexeme::Word(word) => (label.at, *word),
                _ => continue,
            };
            let mut range = IntegerRange::single(next);
            if self.accept("=") {
                let (lower, at) = self.enumerator_value(base)?;
                range = IntegerRange::single(lower);
                if self.accept("...") {
                    range.upper = self.enumerator_value(base)?.0;
                    if range.upper < lower {
                        let upper = range.upper;
                        let message =
                            format!("the range {lower} ... {upper} has a lower bound above its upper bound");
                        return Err(self.stop(at, message));
                    }
                }
            }
            next = range.upper.saturating_add(1);
            let is_below = !base.signed && range.lower < 0;
            if (range.lower < fitting.lower && !is_below || range.upper > fitting.upper) && misfit.is_none() {
                *misfit = Some((label.to_owned(), range));
            }
            // Includes its index entry.
            self.charge(memory::of_label(label, 1) + 24, at)?;
            let name_of = |number: u32| mappings.name(number as usize).unwrap_or_default();
            match index.add(label, mappings.len() as u32, name_of) {
                Err(number) => mappings.add_range_to(number as usize, range),
                Ok(()) if mappings.add_name(label) => mappings.add_range(range),
                Ok(()) => return Err(self.give_up(at, "the labels of an enumeration have more than 4 GiB")),
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(mappings.finish())
    }

    fn enumerator_value(&mut self, base: &IntegerType) -> ParseResult<(i128, TextPosition)> {
        let what = if base.signed { "a signed integer" } else { "an unsigned integer" };
        let (value, at) = self.integer(what)?;
        if !base.signed && value < 0 {
            // Values of the type cannot be below 0, so the label is read without any effect.
            self.problems.warning(at, format!("the value {value} of an unsigned enumeration is below 0"));
        }
        let fits = !base.signed || i64::try_from(value).is_ok();
        if fits { Ok((value, at)) } else { Err(self.stop(at, format!("{value} is not {what} of 64 bits"))) }
    }
}

/// Returns the possible values of an integer type. Beyond 126 bits, returns all values that can be written.
fn fitting(base: &IntegerType) -> IntegerRange {
    let bits = base.size.min(126) as u32;
    if base.signed {
        let half = 1i128 << (bits - 1);
        IntegerRange { lower: -half, upper: half - 1 }
    } else {
        IntegerRange { lower: 0, upper: (1i128 << bits) - 1 }
    }
}
