//! Expression compiled for an event class.

use std::collections::HashSet;
use std::sync::Arc;

use ichnos_model::Event;
use ichnos_model::clock::WallClock;
use ichnos_model::field::FieldRef;
use ichnos_model::log::LevelScale;
use memchr::memmem::Finder;
use regex::bytes::Regex;

use super::fetch::{Fetched, MESSAGE, Register, ScopeFetch, bit};
use super::glob::Glob;
use super::syntax::{ArithmeticOp, CompareOp, PartOp};
use super::value::{Constant, FilterValue, SortedRanges, calculate, compare, is_ordered};

/// Program that selects the events of a class.
#[derive(Debug)]
pub(super) struct Program {
    test: Test,
    registers: usize,
    fetches: Vec<ScopeFetch>,
}

/// Value of an event.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Constant(Constant),
    Register(usize),
    /// Integer at a constant offset. The register is for events whose scope consists of values.
    Direct(Box<FieldRef>, usize),
    Time,
    /// Rendered message.
    Message,
    /// Array element that the condition tests.
    Element,
    /// Number as log level.
    Level(Box<Self>, LevelScale),
    /// Number as time.
    Date(Box<Self>, WallClock),
    Arithmetic(ArithmeticOp, Box<[Self; 2]>),
    Negate(Box<Self>),
    Complement(Box<Self>),
    /// Length of a string in characters, or of a BLOB in bytes.
    Length(Box<Self>),
    /// Array length.
    ArrayLength(usize),
    Test(Box<Test>),
}

/// Condition: true, false or unknown.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Constant(Option<bool>),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    /// Several conditions, of which at most one is known.
    Known(Vec<Self>),
    /// Condition with the scopes it needs.
    Leaf(Needs, Box<LeafTest>),
    /// Condition on any array element.
    Element(usize, Needs, Box<Self>),
}

#[derive(Clone, Debug)]
pub(super) enum LeafTest {
    Truth(Code),
    Compare(CompareOp, Code, Code),
    /// Comparison of a [`Code::Direct`] with an integer, the most common one.
    CompareDirect(CompareOp, Box<FieldRef>, usize, i128),
    /// Sorted integers.
    Integers(Code, Box<[i128]>),
    Ranges(Code, SortedRanges),
    /// Flags: true if one of these bits is 1.
    Flag(Code, u128),
    Texts(Code, HashSet<Box<[u8]>>),
    Glob(Code, Arc<Glob>),
    Pattern(Code, usize),
    /// Constant part.
    Part(Code, Arc<Needle>),
    PartOf(PartOp, Code, Code),
    Has(usize),
}

/// Part to search for in a string or BLOB.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    op: PartOp,
    finder: Finder<'static>,
}

impl Needle {
    pub(super) fn new(op: PartOp, part: &[u8]) -> Self {
        Self { op, finder: Finder::new(part).into_owned() }
    }

    fn is_in(&self, whole: &[u8]) -> bool {
        match self.op {
            PartOp::Contains => self.finder.find(whole).is_some(),
            op => op.holds(whole, self.finder.needle()),
        }
    }
}

/// Scopes that a condition needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    always: u8,
    /// Scopes needed if they consist of values.
    values: u8,
}

impl Needs {
    fn and(self, other: Self) -> Self {
        Self { always: self.always | other.always, values: self.values | other.values }
    }

    #[inline]
    fn scopes(self, event: &Event<'_>) -> u8 {
        match event.scopes.values {
            Some(values) if self.values != 0 => {
                let is_needed =
                    |scope: &ichnos_model::Scope| self.values & bit(*scope) != 0 && values.has(*scope);
                self.always
                    | ichnos_model::Scope::ALL
                        .into_iter()
                        .filter(is_needed)
                        .fold(0, |all, scope| all | bit(scope))
            }
            _ => self.always,
        }
    }
}

impl Code {
    fn needs(&self, registers: &[Register]) -> Needs {
        let of = |register: &usize| registers.get(*register).map_or(0, |register| bit(register.scope));
        match self {
            Self::Constant(_) | Self::Time | Self::Element => Needs::default(),
            Self::Register(register) | Self::ArrayLength(register) => {
                Needs { always: of(register), values: 0 }
            }
            Self::Direct(_, register) => Needs { always: 0, values: of(register) },
            Self::Message => Needs { always: MESSAGE, values: 0 },
            Self::Level(code, _) | Self::Date(code, _) => code.needs(registers),
            Self::Negate(code) | Self::Complement(code) | Self::Length(code) => code.needs(registers),
            Self::Arithmetic(_, codes) => codes[0].needs(registers).and(codes[1].needs(registers)),
            Self::Test(test) => test.needs(),
        }
    }

    /// Returns the value if it is the same for all events of the class.
    pub(super) fn constant(&self) -> Option<&Constant> {
        match self {
            Self::Constant(constant) => Some(constant),
            _ => None,
        }
    }
}

impl Test {
    pub(super) const UNKNOWN: Self = Self::Constant(None);

    /// Creates a condition on values. It is decided at once if the values are constant.
    pub(super) fn leaf(leaf: LeafTest, registers: &[Register], patterns: &[Regex]) -> Self {
        let leaf = leaf.simplified();
        let needs = match &leaf {
            LeafTest::CompareDirect(_, _, register, _) => {
                Needs { always: 0, values: Code::Register(*register).needs(registers).always }
            }
            LeafTest::Compare(_, a, b) | LeafTest::PartOf(_, a, b) => {
                if let (Some(_), Some(_)) = (a.constant(), b.constant()) {
                    return Self::Constant(leaf.constant(patterns));
                }
                a.needs(registers).and(b.needs(registers))
            }
            LeafTest::Has(register) => Code::Register(*register).needs(registers),
            LeafTest::Truth(code)
            | LeafTest::Integers(code, _)
            | LeafTest::Ranges(code, _)
            | LeafTest::Flag(code, _)
            | LeafTest::Texts(code, _)
            | LeafTest::Glob(code, _)
            | LeafTest::Part(code, _)
            | LeafTest::Pattern(code, _) => {
                if code.constant().is_some() {
                    return Self::Constant(leaf.constant(patterns));
                }
                code.needs(registers)
            }
        };
        Self::Leaf(needs, Box::new(leaf))
    }

    fn needs(&self) -> Needs {
        match self {
            Self::Constant(_) => Needs::default(),
            Self::All(tests) | Self::Any(tests) | Self::Known(tests) => {
                tests.iter().fold(Needs::default(), |needs, test| needs.and(test.needs()))
            }
            Self::Not(test) => test.needs(),
            Self::Leaf(needs, _) | Self::Element(_, needs, _) => *needs,
        }
    }

    pub(super) fn not(self) -> Self {
        match self {
            Self::Constant(known) => Self::Constant(known.map(|known| !known)),
            Self::Not(test) => *test,
            test => Self::Not(Box::new(test)),
        }
    }

    pub(super) fn all(tests: Vec<Self>) -> Self {
        Self::sequence(tests, false, Self::All)
    }

    pub(super) fn any(tests: Vec<Self>) -> Self {
        Self::sequence(tests, true, Self::Any)
    }

    /// Creates a conjunction or disjunction. `decisive` is the result that decides alone.
    fn sequence(mut tests: Vec<Self>, decisive: bool, make: fn(Vec<Self>) -> Self) -> Self {
        if tests.iter().any(|test| matches!(test, Self::Constant(Some(known)) if *known == decisive)) {
            return Self::Constant(Some(decisive));
        }
        tests.retain(|test| !matches!(test, Self::Constant(Some(_))));
        if tests.iter().all(|test| matches!(test, Self::Constant(None))) {
            let has_unknown = !tests.is_empty();
            return Self::Constant(if has_unknown { None } else { Some(!decisive) });
        }
        if tests.len() == 1 { tests.remove(0) } else { make(tests) }
    }

    pub(super) fn known(mut tests: Vec<Self>) -> Self {
        tests.retain(|test| !matches!(test, Self::Constant(None)));
        match tests.len() {
            0 => Self::UNKNOWN,
            1 => tests.remove(0),
            _ => Self::Known(tests),
        }
    }

    /// Creates the condition that `test` is true for some array element in a register.
    pub(super) fn element(register: usize, test: Self, registers: &[Register]) -> Self {
        let needs = test.needs().and(Code::Register(register).needs(registers));
        Self::Element(register, needs, Box::new(test))
    }
}

impl LeafTest {
    /// Converts the condition to the form that is evaluated fastest.
    fn simplified(self) -> Self {
        match self {
            Self::Compare(op, Code::Direct(field, register), Code::Constant(Constant::Integer(value))) => {
                Self::CompareDirect(op, field, register, value)
            }
            Self::Compare(op, Code::Constant(Constant::Integer(value)), Code::Direct(field, register)) => {
                Self::CompareDirect(op.mirrored(), field, register, value)
            }
            leaf => leaf,
        }
    }

    /// Returns the result if it is the same for all events of the class.
    fn constant(&self, patterns: &[Regex]) -> Option<bool> {
        let value = |code: &Code| match code {
            Code::Constant(constant) => constant.clone(),
            _ => Constant::Unknown,
        };
        match self {
            Self::Compare(op, a, b) => compare(*op, value(a).value(), value(b).value()),
            Self::PartOf(op, a, b) => part_holds(*op, value(a).value(), value(b).value()),
            Self::Has(_) | Self::CompareDirect(..) => None,
            Self::Truth(code)
            | Self::Integers(code, _)
            | Self::Ranges(code, _)
            | Self::Flag(code, _)
            | Self::Texts(code, _)
            | Self::Glob(code, _)
            | Self::Part(code, _)
            | Self::Pattern(code, _) => self.result(value(code).value(), patterns),
        }
    }

    /// Returns the result for a value.
    #[inline]
    fn result(&self, value: FilterValue<'_>, patterns: &[Regex]) -> Option<bool> {
        match (self, value) {
            (Self::Truth(_), FilterValue::Boolean(value)) => Some(value),
            (Self::Integers(_, all), FilterValue::Integer(value)) => Some(all.binary_search(&value).is_ok()),
            (Self::Ranges(_, ranges), FilterValue::Integer(value) | FilterValue::Time(value)) => {
                Some(ranges.contains(value))
            }
            (Self::Flag(_, mask), FilterValue::Integer(bits)) => Some(bits as u128 & mask != 0),
            (Self::Texts(_, all), FilterValue::Text(text)) => Some(all.contains(text)),
            (Self::Glob(_, glob), FilterValue::Text(text)) => Some(glob.matches(text)),
            (Self::Pattern(_, index), FilterValue::Text(bytes) | FilterValue::Blob(bytes)) => {
                patterns.get(*index).map(|pattern| pattern.is_match(bytes))
            }
            (Self::Part(_, part), FilterValue::Text(bytes) | FilterValue::Blob(bytes)) => {
                Some(part.is_in(bytes))
            }
            _ => None,
        }
    }
}

/// Returns `true` if a value contains a part. `None` if one of them is missing.
fn part_holds(op: PartOp, whole: FilterValue<'_>, part: FilterValue<'_>) -> Option<bool> {
    match (whole, part) {
        (FilterValue::Text(whole), FilterValue::Text(part))
        | (FilterValue::Blob(whole), FilterValue::Blob(part)) => Some(op.holds(whole, part)),
        _ => None,
    }
}

impl Program {
    pub(super) fn new(test: Test, registers: &[Register]) -> Self {
        Self { test, registers: registers.len(), fetches: ScopeFetch::all(registers) }
    }

    /// Returns the result for all events: `true` selects all, `false` none. `None` if it depends on the event.
    pub(super) fn verdict(&self) -> Option<bool> {
        match self.test {
            Test::Constant(known) => Some(known == Some(true)),
            _ => None,
        }
    }

    /// Returns `true` if an event is selected.
    #[inline]
    pub(super) fn selects(&self, event: &Event<'_>, fetched: &mut Fetched, patterns: &[Regex]) -> bool {
        fetched.clear();
        Evaluation { program: self, event, fetched, patterns }.is(&self.test, true)
    }
}

/// Evaluation for one event.
struct Evaluation<'e, 'a> {
    program: &'e Program,
    event: &'e Event<'a>,
    fetched: &'e mut Fetched,
    patterns: &'e [Regex],
}

impl Evaluation<'_, '_> {
    /// Returns `true` if a condition is known to have the wanted result. Stops at the first part that decides.
    fn is(&mut self, test: &Test, wanted: bool) -> bool {
        match test {
            Test::Constant(known) => *known == Some(wanted),
            Test::All(tests) if wanted => tests.iter().all(|test| self.is(test, true)),
            Test::All(tests) => tests.iter().any(|test| self.is(test, false)),
            Test::Any(tests) if wanted => tests.iter().any(|test| self.is(test, true)),
            Test::Any(tests) => tests.iter().all(|test| self.is(test, false)),
            Test::Not(test) => self.is(test, !wanted),
            Test::Known(tests) => tests.iter().any(|test| self.is(test, wanted)),
            Test::Leaf(needs, leaf) => {
                self.fetch(*needs);
                self.leaf(leaf) == Some(wanted)
            }
            Test::Element(register, needs, test) => {
                self.fetch(*needs);
                let Some(mut elements) = self.fetched.elements(*register) else { return false };
                if wanted {
                    elements.any(|index| self.fetched.set_element(*register, index) && self.is(test, true))
                } else {
                    elements.all(|index| !self.fetched.set_element(*register, index) || self.is(test, false))
                }
            }
        }
    }

    #[inline]
    fn fetch(&mut self, needs: Needs) {
        let program = self.program;
        self.fetched.fetch(self.event, needs.scopes(self.event), &program.fetches, program.registers);
    }

    /// Returns the result of a condition. All needed scopes must have been fetched.
    #[inline]
    fn leaf(&mut self, leaf: &LeafTest) -> Option<bool> {
        match leaf {
            LeafTest::Compare(op, a, b) => {
                // A condition in an operand needs the whole evaluation.
                if let (Code::Test(_), _) | (_, Code::Test(_)) = (a, b) {
                    let (a, b) = (self.boolean(a)?, self.boolean(b)?);
                    return compare(*op, FilterValue::Boolean(a), FilterValue::Boolean(b));
                }
                compare(*op, self.value(a), self.value(b))
            }
            LeafTest::CompareDirect(op, field, register, value) => {
                let integer = self.direct(field, *register)?;
                Some(is_ordered(*op, Some(integer.cmp(value))))
            }
            LeafTest::PartOf(op, whole, part) => part_holds(*op, self.value(whole), self.value(part)),
            LeafTest::Has(register) => Some(self.fetched.has(*register)),
            LeafTest::Truth(code)
            | LeafTest::Integers(code, _)
            | LeafTest::Ranges(code, _)
            | LeafTest::Flag(code, _)
            | LeafTest::Texts(code, _)
            | LeafTest::Glob(code, _)
            | LeafTest::Part(code, _)
            | LeafTest::Pattern(code, _) => leaf.result(self.value(code), self.patterns),
        }
    }

    fn boolean(&mut self, code: &Code) -> Option<bool> {
        match code {
            Code::Test(test) if self.is(test, true) => Some(true),
            Code::Test(test) => self.is(test, false).then_some(false),
            code => match self.value(code) {
                FilterValue::Boolean(value) => Some(value),
                _ => None,
            },
        }
    }

    /// Returns an integer at a constant offset in its scope. If the scope consists of values, returns the register.
    #[inline]
    fn direct(&self, field: &FieldRef, register: usize) -> Option<i128> {
        if self.event.scopes.values.is_some_and(|values| values.has(field.scope())) {
            return match self.fetched.value(register) {
                FilterValue::Integer(value) => Some(value),
                _ => None,
            };
        }
        self.event.get(field)?.as_i128()
    }

    #[inline]
    fn value<'v>(&'v self, code: &'v Code) -> FilterValue<'v> {
        match code {
            Code::Constant(constant) => constant.value(),
            Code::Register(register) => self.fetched.value(*register),
            Code::Direct(field, register) => {
                self.direct(field, *register).map_or(FilterValue::Unknown, FilterValue::Integer)
            }
            Code::Time => self.event.nanoseconds().map_or(FilterValue::Unknown, FilterValue::Time),
            code => self.computed(code),
        }
    }

    #[inline(never)]
    fn computed<'v>(&'v self, code: &'v Code) -> FilterValue<'v> {
        match code {
            Code::Message => self.fetched.message(),
            Code::Element => self.fetched.element(),
            Code::Level(code, scale) => match self.value(code) {
                FilterValue::Integer(raw) => {
                    let raw = i64::try_from(raw).unwrap_or(if raw < 0 { i64::MIN } else { i64::MAX });
                    FilterValue::Level(scale.level(raw))
                }
                _ => FilterValue::Unknown,
            },
            Code::Date(code, clock) => match self.value(code) {
                FilterValue::Integer(value) => {
                    clock.nanoseconds(value).map_or(FilterValue::Unknown, FilterValue::Time)
                }
                _ => FilterValue::Unknown,
            },
            Code::Arithmetic(op, operands) => {
                calculate(*op, self.value(&operands[0]), self.value(&operands[1]))
            }
            Code::Negate(code) => match self.value(code) {
                FilterValue::Integer(value) => {
                    value.checked_neg().map_or(FilterValue::Unknown, FilterValue::Integer)
                }
                FilterValue::Float(value) => FilterValue::Float(-value),
                _ => FilterValue::Unknown,
            },
            Code::Complement(code) => match self.value(code) {
                FilterValue::Integer(value) => FilterValue::Integer(!value),
                _ => FilterValue::Unknown,
            },
            Code::Length(code) => match self.value(code) {
                // Counts bytes that do not continue a character.
                FilterValue::Text(text) => {
                    FilterValue::Integer(text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as i128)
                }
                FilterValue::Blob(bytes) => FilterValue::Integer(bytes.len() as i128),
                _ => FilterValue::Unknown,
            },
            Code::ArrayLength(register) => {
                let length = self.fetched.array_length(*register);
                length.map_or(FilterValue::Unknown, |length| FilterValue::Integer(length.into()))
            }
            _ => FilterValue::Unknown,
        }
    }
}
