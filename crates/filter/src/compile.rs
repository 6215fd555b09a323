//! Compiles an expression for an event class.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::class::{IntegerRange, Mappings, RangeSet, Uuid};
use ichnos_model::field::FieldRef;
use ichnos_model::log::LogLevel;
use ichnos_model::meaning::Meaning;
use ichnos_model::{Scope, running_thread};
use regex::bytes::Regex;

use super::class::{FilterClass, TypedFields, ValueType};
use super::error::{FilterError, FilterErrorKind};
use super::fetch::Register;
use super::glob::Glob;
use super::program::{Code, LeafTest, Program, Test};
use super::property::{self, PropertyAlias, PropertyValues, is_reserved};
use super::syntax::{ArithmeticOp, CompareOp, Literal, NamePath, NameStep, NodeKind, SyntaxNode};
use super::typed::Typed;
use super::value::{Constant, SortedRanges, calculate, compare};

/// Resolver for times: texts resolved before, or any text while that is possible.
pub(super) type TimeResolver<'t> = dyn Fn(&str) -> Result<i128, String> + 't;

/// Fact about a part of the expression, with the part's position.
#[derive(Clone, Debug)]
pub(super) enum PartFact {
    /// The class contains the field or property.
    Found(Range<usize>),
    /// The types fit.
    Fits(Range<usize>),
    /// The types do not fit.
    Mismatch(Range<usize>, Mismatch),
    /// The label exists in the enumeration or bit map. Otherwise its other labels.
    Label(Range<usize>, Result<(), Vec<String>>),
    Error(Box<FilterError>),
}

/// Type mismatch: description and replacement.
#[derive(Clone, Debug)]
pub(super) struct Mismatch {
    pub(super) message: String,
    pub(super) help: Option<&'static str>,
}

/// Compiler for one event class.
pub(super) struct Compiler<'c> {
    pub(super) class: FilterClass<'c>,
    pub(super) source: &'c str,
    pub(super) patterns: &'c [Regex],
    pub(super) times: &'c TimeResolver<'c>,
    /// Property names used by other tools.
    aliases: &'c [PropertyAlias],
    registers: Vec<Register>,
    pub(super) findings: Vec<PartFact>,
}

impl<'c> Compiler<'c> {
    pub(super) fn new(
        class: FilterClass<'c>,
        source: &'c str,
        patterns: &'c [Regex],
        times: &'c TimeResolver<'c>,
        aliases: &'c [PropertyAlias],
    ) -> Self {
        Self { class, source, patterns, times, aliases, registers: Vec::new(), findings: Vec::new() }
    }

    pub(super) fn program(&mut self, root: &SyntaxNode) -> Program {
        let test = self.test(root);
        Program::new(test, &self.registers)
    }

    pub(super) fn leaf(&self, leaf: LeafTest) -> Test {
        Test::leaf(leaf, &self.registers, self.patterns)
    }

    /// Compiles a part as a condition.
    pub(super) fn test(&mut self, node: &SyntaxNode) -> Test {
        match &node.kind {
            NodeKind::And(nodes) => Test::all(self.sequence(nodes, false)),
            NodeKind::Or(nodes) => Test::any(self.sequence(nodes, true)),
            NodeKind::Not(node) => self.test(node).not(),
            NodeKind::Boolean(value) => Test::Constant(Some(*value)),
            NodeKind::Compare(op, a, b) => self.compare(node, *op, a, b),
            NodeKind::Match { text, pattern, is_negated } => {
                let test = self.matches(node, text, pattern.index);
                if *is_negated { test.not() } else { test }
            }
            NodeKind::Part { op, value, part, is_negated } => {
                let test = self.has_part(node, *op, value, part);
                if *is_negated { test.not() } else { test }
            }
            NodeKind::In { value, list, is_negated } => {
                let test = match &list.kind {
                    NodeKind::List(items) => self.among(value, items),
                    _ => self.contains(node, value, list),
                };
                if *is_negated { test.not() } else { test }
            }
            NodeKind::Has(path) => {
                let tests =
                    self.name(&node.span, path).into_iter().map(|found| self.is_there(&found.code)).collect();
                Test::any(tests)
            }
            _ => {
                let found = self.value(node);
                self.test_values(node, found, |compiler, found| match (found.kind, found.code) {
                    (ValueType::Boolean, Code::Test(test)) => Ok(*test),
                    (ValueType::Boolean, code) => Ok(compiler.leaf(LeafTest::Truth(code))),
                    (kind, _) => Err(Mismatch {
                        message: format!(
                            "expected a condition, but {} is {}",
                            compiler.text(node),
                            kind.name()
                        ),
                        help: Some("compare it with something, for example `x != 0`"),
                    }),
                })
            }
        }
    }

    /// Compiles the parts of a conjunction or a disjunction. If one part decides alone, facts about the others are
    /// dropped.
    fn sequence(&mut self, nodes: &[SyntaxNode], decisive: bool) -> Vec<Test> {
        let begin = self.findings.len();
        let mut kept = Vec::new();
        let mut tests = Vec::new();
        for node in nodes {
            let at = self.findings.len();
            let test = self.test(node);
            if matches!(test, Test::Constant(Some(known)) if known == decisive) {
                kept.extend_from_slice(&self.findings[at..]);
                self.findings.truncate(begin);
                self.findings.extend(kept);
                return vec![Test::Constant(Some(decisive))];
            }
            tests.push(test);
        }
        tests
    }

    /// Compiles a condition on several values, of which an event contains one.
    pub(super) fn test_values(
        &mut self,
        node: &SyntaxNode,
        found: Vec<Typed>,
        mut test: impl FnMut(&mut Self, Typed) -> Result<Test, Mismatch>,
    ) -> Test {
        let mut tests = Vec::new();
        for found in found {
            match test(self, found) {
                Ok(test) => {
                    self.findings.push(PartFact::Fits(node.span.clone()));
                    tests.push(test);
                }
                Err(mismatch) => self.findings.push(PartFact::Mismatch(node.span.clone(), mismatch)),
            }
        }
        Test::known(tests)
    }

    /// Returns the source text of a part.
    pub(super) fn text(&self, node: &SyntaxNode) -> String {
        let text = self.source.get(node.span.clone()).unwrap_or_default();
        if text.chars().count() > 60 { "this".to_owned() } else { format!("`{text}`") }
    }

    /// Returns the values of a name: fields or a property.
    fn name(&mut self, span: &Range<usize>, path: &NamePath) -> Vec<Typed> {
        let (first, rest) = path.split();
        let running = path.word().and_then(|name| running_thread::member_of(self.class.stream_class, name));
        let mut found = match running {
            Some(member) => self.class.find(&[Scope::Resource], &[NameStep::Member(member.to_owned())]),
            None if path.is_property || is_reserved(first) => Vec::new(),
            None => self.class.find(&Scope::SEARCHED, &path.steps),
        };
        if found.is_empty() && !rest.is_empty() {
            found = self.class.find(Scope::with_prefix(first), rest);
        }
        if found.is_empty() && !path.is_property {
            found = self.names_of(path);
        }
        let found = if found.is_empty() {
            let alias =
                property::alias(path).filter(|alias| path.is_property || self.aliases.contains(alias));
            let property = property::find(&self.class, alias.map_or(first, |alias| alias.property), rest);
            property.map_or(Vec::new(), |property| self.property(property))
        } else {
            self.fields(found)
        };
        if !found.is_empty() {
            self.findings.push(PartFact::Found(span.clone()));
        }
        found
    }

    /// Returns the field that `FIELD.label` or `FIELD.flags` is a column of in tables: its names are its values here.
    fn names_of(&self, path: &NamePath) -> Vec<TypedFields> {
        let Some((NameStep::Member(last), steps @ [NameStep::Member(first), rest @ ..])) =
            path.steps.split_last()
        else {
            return Vec::new();
        };
        let has_names = |kind: &ValueType| match last.as_str() {
            "label" => matches!(kind, ValueType::Enumeration(_)),
            "flags" => matches!(kind, ValueType::BitMap(_)),
            _ => false,
        };
        let mut found = self.class.find(&Scope::SEARCHED, steps);
        if found.is_empty() && !rest.is_empty() {
            found = self.class.find(Scope::with_prefix(first), rest);
        }
        found.retain(|found| has_names(&found.kind));
        found
    }

    /// Returns the values of a property.
    fn property(&mut self, property: PropertyValues) -> Vec<Typed> {
        match property {
            PropertyValues::Value(value) => vec![value],
            PropertyValues::Meaning { meaning, is_id, otherwise } => {
                let found = self.meaning(meaning, is_id);
                if !found.is_empty() {
                    return found;
                }
                // As in other outputs, events without their own processor use their packet's processor.
                let steps = [NameStep::Member("cpu_id".to_owned())];
                match meaning {
                    Meaning::Processor => self.fields(self.class.find(&[Scope::PacketContext], &steps)),
                    _ => otherwise.into_iter().collect(),
                }
            }
            PropertyValues::Severity(scale) => {
                let numbers = self.meaning(Meaning::Severity, false).into_iter();
                let numbers = numbers.filter(|found| found.kind.is_integer());
                let level = |Typed { code, kind }| match scale {
                    Some(scale) => Typed { code: Code::Level(Box::new(code), scale), kind: ValueType::Level },
                    None => Typed { code, kind },
                };
                numbers.map(level).collect()
            }
        }
    }

    /// Returns field values.
    pub(super) fn fields(&mut self, found: Vec<TypedFields>) -> Vec<Typed> {
        let typed = found.into_iter().map(|TypedFields { scope, targets, kind }| {
            let node = match &targets[..] {
                [only] if only.elements.is_empty() => Some(only.node),
                _ => None,
            };
            let register = self.register(Register { scope, targets, has_elements: false });
            let direct = node
                .filter(|_| kind.is_integer())
                .zip(self.class.event)
                .and_then(|(node, event)| FieldRef::for_node(event, scope, node).filter(FieldRef::is_direct));
            let code = match direct {
                Some(field) => Code::Direct(Box::new(field), register),
                None => Code::Register(register),
            };
            Typed { code, kind }
        });
        typed.collect()
    }

    fn register(&mut self, register: Register) -> usize {
        self.registers.iter().position(|other| *other == register).unwrap_or_else(|| {
            self.registers.push(register);
            self.registers.len() - 1
        })
    }

    /// Returns the condition that a value is present.
    fn is_there(&self, code: &Code) -> Test {
        match code {
            Code::Register(register) | Code::Direct(_, register) => self.leaf(LeafTest::Has(*register)),
            Code::Level(code, _) => self.is_there(code),
            Code::Time => Test::Constant(Some(self.class.stream_class.default_clock.is_some())),
            Code::Constant(Constant::Unknown) => Test::Constant(Some(false)),
            _ => Test::Constant(Some(true)),
        }
    }

    /// Compiles a part as values of several types. An event contains at most one of them. Empty if the name is unknown.
    pub(super) fn value(&mut self, node: &SyntaxNode) -> Vec<Typed> {
        match &node.kind {
            NodeKind::Integer(value) | NodeKind::Duration(value) => {
                vec![Typed::constant(Constant::Integer(*value), ValueType::Integer)]
            }
            NodeKind::Float(value) => vec![Typed::constant(Constant::Float(*value), ValueType::Float)],
            NodeKind::Text(literal) => {
                vec![Typed::constant(Constant::Text(literal.text.as_bytes().into()), ValueType::Text)]
            }
            NodeKind::Time(text) => self
                .time(node, text)
                .map(|time| Typed::constant(Constant::Time(time), ValueType::Time))
                .into_iter()
                .collect(),
            NodeKind::Name(path) => self.name(&node.span, path),
            NodeKind::Arithmetic(op, a, b) => self.arithmetic(node, *op, a, b),
            NodeKind::Negate(operand) => {
                let found = self.value(operand);
                self.each(node, found, |found| match &found.kind {
                    kind if kind.is_integer() || *kind == ValueType::Float => {
                        let kind =
                            if *kind == ValueType::Float { ValueType::Float } else { ValueType::Integer };
                        Ok(Typed { code: Code::Negate(Box::new(found.code)), kind })
                    }
                    kind => Err(format!("{} has no sign", kind.name())),
                })
            }
            NodeKind::Complement(operand) => {
                let found = self.value(operand);
                self.each(node, found, |found| match &found.kind {
                    kind if kind.is_integer() => {
                        Ok(Typed { code: Code::Complement(Box::new(found.code)), kind: ValueType::Integer })
                    }
                    kind => Err(format!("{} has no bits", kind.name())),
                })
            }
            NodeKind::Length(operand) => {
                let found = self.value(operand);
                self.each(node, found, |found| {
                    let code = match (&found.kind, found.code) {
                        (ValueType::Array(_), Code::Register(register)) => Code::ArrayLength(register),
                        (ValueType::Text | ValueType::Blob, code) => Code::Length(Box::new(code)),
                        (kind, _) => return Err(format!("{} has no length", kind.name())),
                    };
                    Ok(Typed { code, kind: ValueType::Integer })
                })
            }
            _ => match self.test(node) {
                Test::Constant(None) => Vec::new(),
                Test::Constant(Some(known)) => {
                    vec![Typed::constant(Constant::Boolean(known), ValueType::Boolean)]
                }
                test => vec![Typed { code: Code::Test(Box::new(test)), kind: ValueType::Boolean }],
            },
        }
    }

    /// Converts each of several values.
    fn each(
        &mut self,
        node: &SyntaxNode,
        found: Vec<Typed>,
        make: impl Fn(Typed) -> Result<Typed, String>,
    ) -> Vec<Typed> {
        let mut made = Vec::new();
        for found in found {
            match make(found) {
                Ok(typed) => {
                    self.findings.push(PartFact::Fits(node.span.clone()));
                    made.push(typed);
                }
                Err(message) => {
                    let mismatch = Mismatch { message, help: None };
                    self.findings.push(PartFact::Mismatch(node.span.clone(), mismatch));
                }
            }
        }
        made
    }

    fn time(&mut self, node: &SyntaxNode, text: &str) -> Option<i128> {
        match (self.times)(text) {
            Ok(time) => Some(time),
            Err(reason) => {
                let message = format!("the time cannot be used: {reason}");
                let error = FilterError::new(FilterErrorKind::Time, self.source, node.span.clone(), message);
                self.findings.push(PartFact::Error(Box::new(error)));
                None
            }
        }
    }

    fn arithmetic(
        &mut self,
        node: &SyntaxNode,
        op: ArithmeticOp,
        a: &SyntaxNode,
        b: &SyntaxNode,
    ) -> Vec<Typed> {
        let (left, right) = (self.value(a), self.value(b));
        let mut made: Vec<Typed> = Vec::new();
        for (x, y) in left.iter().flat_map(|x| right.iter().map(move |y| (x, y))) {
            let is_bits = !matches!(
                op,
                ArithmeticOp::Add
                    | ArithmeticOp::Subtract
                    | ArithmeticOp::Multiply
                    | ArithmeticOp::Divide
                    | ArithmeticOp::Remainder
            );
            let kind = match (&x.kind, &y.kind) {
                (x, y) if x.is_integer() && y.is_integer() => Some(ValueType::Integer),
                (ValueType::Float, y) if (*y == ValueType::Float || y.is_integer()) && !is_bits => {
                    Some(ValueType::Float)
                }
                (x, ValueType::Float) if x.is_integer() && !is_bits => Some(ValueType::Float),
                (ValueType::Time, ValueType::Time) if op == ArithmeticOp::Subtract => {
                    Some(ValueType::Integer)
                }
                (ValueType::Time, y)
                    if y.is_integer() && matches!(op, ArithmeticOp::Add | ArithmeticOp::Subtract) =>
                {
                    Some(ValueType::Time)
                }
                (x, ValueType::Time) if x.is_integer() && op == ArithmeticOp::Add => Some(ValueType::Time),
                _ => None,
            };
            let Some(kind) = kind else {
                let (x, y) = (x.kind.name(), y.kind.name());
                let message = format!("`{}` cannot be applied to {x} and {y}", op.name());
                self.findings.push(PartFact::Mismatch(node.span.clone(), Mismatch { message, help: None }));
                continue;
            };
            self.findings.push(PartFact::Fits(node.span.clone()));
            let code = match (&x.code, &y.code) {
                (Code::Constant(x), Code::Constant(y)) => {
                    Code::Constant(calculate(op, x.value(), y.value()).into())
                }
                (x, y) => Code::Arithmetic(op, Box::new([x.clone(), y.clone()])),
            };
            made.push(Typed { code, kind });
        }
        made.truncate(16);
        made
    }

    fn compare(&mut self, node: &SyntaxNode, op: CompareOp, a: &SyntaxNode, b: &SyntaxNode) -> Test {
        let is_literal =
            |node: &SyntaxNode| matches!(node.kind, NodeKind::Text(_)) || level_word(node).is_some();
        let (op, a, b) = if is_literal(a) && !is_literal(b) { (op.mirrored(), b, a) } else { (op, a, b) };
        let left = self.value(a);
        self.compare_with(node, op, (left, a), b)
    }

    /// Compares values with a part of the expression.
    fn compare_with(
        &mut self,
        node: &SyntaxNode,
        op: CompareOp,
        (left, a): (Vec<Typed>, &SyntaxNode),
        b: &SyntaxNode,
    ) -> Test {
        if let NodeKind::Text(literal) = &b.kind {
            return self
                .test_values(node, left, |compiler, found| compiler.literal(op, found, a, literal, b));
        }
        let has = |kind: &ValueType| left.iter().any(|found| found.kind == *kind);
        if let Some(level) = level_word(b).filter(|_| has(&ValueType::Level)) {
            self.findings.push(PartFact::Found(b.span.clone()));
            let right = vec![Typed::constant(Constant::Level(level), ValueType::Level)];
            return self.cross(node, op, (left, a), (right, b));
        }
        let right = match &b.kind {
            NodeKind::Negate(inner)
                if has(&ValueType::Time) && matches!(inner.kind, NodeKind::Duration(_)) =>
            {
                let time = self.time_literal(b);
                time.map(|time| Typed::constant(Constant::Time(time), ValueType::Time)).into_iter().collect()
            }
            _ => self.value(b),
        };
        self.cross(node, op, (left, a), (right, b))
    }

    fn cross(
        &mut self,
        node: &SyntaxNode,
        op: CompareOp,
        (left, a): (Vec<Typed>, &SyntaxNode),
        (right, b): (Vec<Typed>, &SyntaxNode),
    ) -> Test {
        let pairs = left.iter().flat_map(|x| right.iter().map(move |y| (x.clone(), y.clone())));
        let mut tests = Vec::new();
        for (x, y) in pairs {
            let date = |typed: &Typed| match typed.kind {
                ValueType::Date(clock) => Code::Date(Box::new(typed.code.clone()), clock),
                _ => typed.code.clone(),
            };
            let is_number = |kind: &ValueType| kind.is_integer() || *kind == ValueType::Float;
            let is_time = |kind: &ValueType| matches!(kind, ValueType::Time | ValueType::Date(_));
            let codes = if is_number(&x.kind) && is_number(&y.kind) {
                Some((x.code, y.code))
            } else if is_time(&x.kind) && is_time(&y.kind) {
                Some((date(&x), date(&y)))
            } else if x.kind == y.kind && !matches!(x.kind, ValueType::Structure | ValueType::Array(_)) {
                Some((x.code, y.code))
            } else {
                None
            };
            match codes {
                Some((x, y)) => {
                    self.findings.push(PartFact::Fits(node.span.clone()));
                    tests.push(self.leaf(LeafTest::Compare(op, x, y)));
                }
                None => {
                    let message = format!(
                        "{} is {}, but {} is {}",
                        self.text(a),
                        x.kind.name(),
                        self.text(b),
                        y.kind.name()
                    );
                    let help = match (&x.kind, &y.kind) {
                        (ValueType::Time, kind) | (kind, ValueType::Time) if is_number(kind) => Some(
                            "times are written `09:22:11.95`, `2026-05-22 09:22`, `+3s` from the start, or \
                            `@5000` in nanoseconds",
                        ),
                        (ValueType::Array(_), _) | (_, ValueType::Array(_)) => {
                            Some("an element is written `a[0]`")
                        }
                        _ => None,
                    };
                    self.findings.push(PartFact::Mismatch(node.span.clone(), Mismatch { message, help }));
                }
            }
        }
        Test::known(tests)
    }

    /// Compares a value with a string literal.
    fn literal(
        &mut self,
        op: CompareOp,
        found: Typed,
        a: &SyntaxNode,
        literal: &Literal,
        b: &SyntaxNode,
    ) -> Result<Test, Mismatch> {
        let Typed { code, kind } = found;
        let mismatch = |message: String, help: Option<&'static str>| Err(Mismatch { message, help });
        let signed = |test: Test| if op == CompareOp::NotEqual { test.not() } else { test };
        let is_equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        if !matches!(kind, ValueType::Enumeration(_) | ValueType::BitMap(_)) {
            // Here, the string can be any text, not only a label.
            self.findings.push(PartFact::Label(b.span.clone(), Ok(())));
        }
        let constant = match &kind {
            ValueType::Text => {
                if let Some(glob) = Glob::new(literal).filter(|_| is_equality) {
                    return Ok(signed(self.leaf(LeafTest::Glob(code, Arc::new(glob)))));
                }
                Constant::Text(literal.text.as_bytes().into())
            }
            ValueType::Enumeration(names) => {
                if !is_equality {
                    let what = format!("{} is an enumeration: its labels are not ordered", self.text(a));
                    return mismatch(what, Some("compare it with a number"));
                }
                let ranges = self.labelled(names, literal, b);
                return Ok(signed(self.leaf(LeafTest::Ranges(code, SortedRanges::new(ranges.0)))));
            }
            ValueType::Guid => match Uuid::try_parse(literal.text.trim_matches(['{', '}'])) {
                Ok(guid) => Constant::Guid(guid),
                Err(_) => {
                    return mismatch(
                        format!("{} is a GUID, but {} is not", self.text(a), self.text(b)),
                        None,
                    );
                }
            },
            ValueType::Blob => match bytes_of(&literal.text) {
                Some(bytes) => Constant::Blob(bytes.into()),
                None => {
                    let what = format!("{} is a BLOB, but {} is not", self.text(a), self.text(b));
                    return mismatch(what, Some("bytes are written as hexadecimal digits, `\"0aff\"`"));
                }
            },
            ValueType::Level => match LogLevel::from_name(&literal.text) {
                Some(level) => Constant::Level(level),
                None => {
                    let what = format!("{} is not a log level", self.text(b));
                    return mismatch(what, Some("log levels are trace, debug, info, warn, error and fatal"));
                }
            },
            ValueType::Time => match self.time(b, &literal.text) {
                Some(time) => Constant::Time(time),
                None => return Ok(Test::UNKNOWN),
            },
            ValueType::BitMap(_) => {
                let what = format!("{} is a bit map: it can have several labels", self.text(a));
                return mismatch(what, Some("write `\"label\" in x`"));
            }
            kind => {
                let what = format!("{} is {}, but {} is a string", self.text(a), kind.name(), self.text(b));
                return mismatch(what, None);
            }
        };
        Ok(self.leaf(LeafTest::Compare(op, code, Code::Constant(constant))))
    }

    /// Returns the values of a label. A label with a star can have several.
    fn labelled(&mut self, names: &Mappings, literal: &Literal, node: &SyntaxNode) -> RangeSet {
        let glob = Glob::new(literal);
        let is_called = |name: &str| match &glob {
            Some(glob) => glob.matches(name.as_bytes()),
            None => name == literal.text,
        };
        self.ranges(names, is_called, &node.span)
    }

    /// Returns the values of all matching labels.
    pub(super) fn ranges(
        &mut self,
        names: &Mappings,
        is_wanted: impl Fn(&str) -> bool,
        span: &Range<usize>,
    ) -> RangeSet {
        /// Maximum number of labels listed in an error.
        const MOST: usize = 10_000;
        let mut is_known = false;
        let mut ranges: Vec<IntegerRange> = Vec::new();
        for mapping in names.iter().filter(|mapping| is_wanted(mapping.name)) {
            is_known = true;
            ranges.extend(mapping.ranges.iter());
        }
        let others = || names.iter().take(MOST).map(|mapping| mapping.name.to_owned()).collect();
        let label = if is_known { Ok(()) } else { Err(others()) };
        self.findings.push(PartFact::Label(span.clone(), label));
        RangeSet(ranges)
    }

    fn matches(&mut self, node: &SyntaxNode, text: &SyntaxNode, pattern: usize) -> Test {
        let found = self.value(text);
        let Some(regex) = self.patterns.get(pattern).cloned() else { return Test::UNKNOWN };
        self.test_values(node, found, |compiler, found| match &found.kind {
            ValueType::Text | ValueType::Blob => {
                compiler.findings.push(PartFact::Label(node.span.clone(), Ok(())));
                Ok(compiler.leaf(LeafTest::Pattern(found.code, pattern)))
            }
            ValueType::Enumeration(names) => {
                let ranges = compiler.ranges(names, |name| regex.is_match(name.as_bytes()), &node.span);
                Ok(compiler.leaf(LeafTest::Ranges(found.code, SortedRanges::new(ranges.0))))
            }
            kind => {
                let what = format!("expected a string, but {} is {}", compiler.text(text), kind.name());
                Err(Mismatch { message: what, help: None })
            }
        })
    }

    /// Tests if a value is in a list.
    fn among(&mut self, value: &SyntaxNode, items: &[SyntaxNode]) -> Test {
        let found = self.value(value);
        let mut integers: Vec<i128> = Vec::new();
        let mut ranges: Vec<IntegerRange> = Vec::new();
        let mut texts: HashSet<Box<[u8]>> = HashSet::new();
        let mut others: Vec<&SyntaxNode> = Vec::new();
        let are_integers = found.iter().all(|found| found.kind.is_integer());
        let are_texts = found.iter().all(|found| found.kind == ValueType::Text);
        let are_times = !found.is_empty() && found.iter().all(|found| found.kind == ValueType::Time);
        for item in items {
            match &item.kind {
                NodeKind::Integer(number) | NodeKind::Duration(number) if are_integers => {
                    integers.push(*number)
                }
                NodeKind::Range(begin, end)
                    if are_integers && let Some(range) = integer_range(begin, end) =>
                {
                    ranges.push(range);
                }
                kind if are_times && let Some(range) = self.time_range(item, kind) => {
                    self.check_order(item, kind, &found);
                    ranges.push(range);
                }
                NodeKind::Text(literal) if are_texts && literal.stars.is_empty() => {
                    texts.insert(literal.text.as_bytes().into());
                }
                _ => {
                    others.push(item);
                    continue;
                }
            }
            if !found.is_empty() {
                item.for_each(&mut |node| self.findings.push(PartFact::Fits(node.span.clone())));
            }
        }
        let mut tests = Vec::new();
        if !ranges.is_empty() {
            ranges.extend(integers.drain(..).map(IntegerRange::single));
            let ranges = SortedRanges::new(ranges);
            let leaf = |found: &Typed| self.leaf(LeafTest::Ranges(found.code.clone(), ranges.clone()));
            tests.push(Test::known(found.iter().map(leaf).collect()));
        }
        if !integers.is_empty() {
            integers.sort_unstable();
            let leaf =
                |found: &Typed| self.leaf(LeafTest::Integers(found.code.clone(), integers.clone().into()));
            tests.push(Test::known(found.iter().map(leaf).collect()));
        }
        if !texts.is_empty() {
            let leaf = |found: &Typed| self.leaf(LeafTest::Texts(found.code.clone(), texts.clone()));
            tests.push(Test::known(found.iter().map(leaf).collect()));
        }
        tests.extend(others.into_iter().map(|item| self.is_item(item, &found, value)));
        if found.is_empty() && !items.is_empty() { Test::UNKNOWN } else { Test::any(tests) }
    }

    /// Tests if a value equals an item, or is in it if the item is a range.
    fn is_item(&mut self, item: &SyntaxNode, found: &[Typed], value: &SyntaxNode) -> Test {
        let NodeKind::Range(begin, end) = &item.kind else {
            return self.compare_with(item, CompareOp::Equal, (found.to_vec(), value), item);
        };
        self.check_order(item, &item.kind, found);
        let ends = [(begin, CompareOp::GreaterOrEqual), (end, CompareOp::LessOrEqual)];
        let mut one = |end: &SyntaxNode, op| self.compare_with(end, op, (found.to_vec(), value), end);
        Test::all(ends.into_iter().filter_map(|(end, op)| Some(one(end.as_ref()?, op))).collect())
    }

    /// Returns the time of a part that is compared with times.
    fn time_literal(&mut self, node: &SyntaxNode) -> Option<i128> {
        match &node.kind {
            NodeKind::Time(text) => self.time(node, text),
            NodeKind::Text(literal) => {
                self.findings.push(PartFact::Label(node.span.clone(), Ok(())));
                self.time(node, &literal.text)
            }
            // A duration before the end. The time resolver parses it.
            NodeKind::Negate(inner) if matches!(inner.kind, NodeKind::Duration(_)) => {
                let text = self.source.get(node.span.clone()).unwrap_or_default().to_owned();
                self.time(node, &text)
            }
            _ => None,
        }
    }

    /// Returns the times of a list item, if its bounds are times.
    fn time_range(&mut self, item: &SyntaxNode, kind: &NodeKind) -> Option<IntegerRange> {
        let NodeKind::Range(begin, end) = kind else {
            return self.time_literal(item).map(IntegerRange::single);
        };
        let mut end_of = |end: &Option<Box<SyntaxNode>>, open: i128| match end {
            None => Some(open),
            Some(end) => self.time_literal(end),
        };
        Some(IntegerRange { lower: end_of(begin, i128::MIN)?, upper: end_of(end, i128::MAX)? })
    }

    /// Adds an error if the lower bound of a constant range is above the upper bound.
    fn check_order(&mut self, item: &SyntaxNode, kind: &NodeKind, found: &[Typed]) {
        let NodeKind::Range(Some(begin), Some(end)) = kind else { return };
        let has = |kind: &ValueType| found.iter().any(|found| found.kind == *kind);
        let (has_levels, has_texts) = (has(&ValueType::Level), has(&ValueType::Text));
        let has_times = found.iter().any(|found| matches!(found.kind, ValueType::Time | ValueType::Date(_)));
        let mut constant = |node: &SyntaxNode| match &node.kind {
            NodeKind::Text(literal) if has_levels => LogLevel::from_name(&literal.text).map(Constant::Level),
            NodeKind::Text(literal) if has_texts => Some(Constant::Text(literal.text.as_bytes().into())),
            _ if has_levels => level_word(node).map(Constant::Level),
            _ if has_times => self.time_literal(node).map(Constant::Time),
            _ => None,
        };
        if let (Some(first), Some(last)) = (constant(begin), constant(end))
            && compare(CompareOp::Greater, first.value(), last.value()) == Some(true)
        {
            let error = FilterError::reversed(self.source, item.span.clone(), &begin.span, &end.span);
            self.findings.push(PartFact::Error(Box::new(error)));
        }
    }

    /// Tests if a field contains a value: a flag in a bit map, or an element in an array.
    fn contains(&mut self, node: &SyntaxNode, value: &SyntaxNode, container: &SyntaxNode) -> Test {
        let found = self.value(container);
        // The value is checked even if the class lacks the field.
        self.value(value);
        self.test_values(node, found, |compiler, found| compiler.contained(found, value, container))
    }

    pub(super) fn contained(
        &mut self,
        found: Typed,
        value: &SyntaxNode,
        container: &SyntaxNode,
    ) -> Result<Test, Mismatch> {
        match (&found.kind, &value.kind, &found.code) {
            (ValueType::BitMap(flags), NodeKind::Text(literal), code) => {
                let bits = self.labelled(flags, literal, value);
                let ranges = bits.0.iter().filter(|range| range.upper >= 0 && range.lower < 128);
                let mask = ranges.fold(0u128, |mask, range| {
                    let (lower, upper) = (range.lower.max(0) as u32, range.upper.min(127) as u32);
                    mask | (u128::MAX >> (127 - (upper - lower))) << lower
                });
                return Ok(self.leaf(LeafTest::Flag(code.clone(), mask)));
            }
            (ValueType::Array(Some(kind)), _, Code::Register(register)) => {
                let Some(of) = self.registers.get(*register).cloned() else {
                    return Ok(Test::UNKNOWN);
                };
                let register = self.register(Register { has_elements: true, ..of });
                let element = Typed { code: Code::Element, kind: (**kind).clone() };
                let test = self.compare_with(value, CompareOp::Equal, (vec![element], container), value);
                return Ok(Test::element(register, test, &self.registers));
            }
            _ => {}
        }
        let help = match found.kind {
            ValueType::Text => Some("to search in a string, write `x contains \"part\"`"),
            ValueType::BitMap(_) => Some("a flag is a string: `\"label\" in x`"),
            ValueType::Enumeration(_) => Some("to compare it with a label, write `==`"),
            _ => Some("`in` takes a list, `[1, 2]`, or an array or a bit map"),
        };
        let what = format!("{} is {}: it does not contain values", self.text(container), found.kind.name());
        Err(Mismatch { message: what, help })
    }

    /// Returns the member values for a meaning.
    pub(super) fn meaning(&mut self, meaning: Meaning, is_last: bool) -> Vec<Typed> {
        let found = self.class.meaning(meaning, is_last);
        self.fields(found)
    }
}

/// Returns the integers of a range, if its bounds are integers.
fn integer_range(begin: &Option<Box<SyntaxNode>>, end: &Option<Box<SyntaxNode>>) -> Option<IntegerRange> {
    let end_of = |end: &Option<Box<SyntaxNode>>, open: i128| match end.as_deref().map(|end| &end.kind) {
        None => Some(open),
        Some(NodeKind::Integer(number) | NodeKind::Duration(number)) => Some(*number),
        Some(_) => None,
    };
    Some(IntegerRange { lower: end_of(begin, i128::MIN)?, upper: end_of(end, i128::MAX)? })
}

/// Returns the log level for a word that is compared with a level.
fn level_word(node: &SyntaxNode) -> Option<LogLevel> {
    match &node.kind {
        NodeKind::Name(path) if !path.is_property => LogLevel::from_name(path.word()?),
        _ => None,
    }
}

/// Decodes hexadecimal digits.
pub(super) fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8)).collect()
}
