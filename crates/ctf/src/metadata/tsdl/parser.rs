//! Parser basics: tokens with lookahead, recovery, names and values.
//!
//! The grammar is in [`super::types`] (field types) and [`super::blocks`] (everything else), parsed by recursive
//! descent. A function that cannot continue after an error reports it and returns [`Stop`]. The statement loop of the
//! innermost body then skips to the next statement, so a single run finds many problems.

use std::collections::{HashSet, VecDeque};

use ichnos_model::memory::size;
use ichnos_model::trace::{Diagnostic, Limits, Severity, TextPosition};

use super::super::name_numbers::NameNumbers;
use super::super::{Problems, memory};
use super::ast::{Document, PathLocation};
use super::lexer::{Lexeme, TsdlLexer, TsdlToken};
use super::scopes::TypeScopes;

/// Marks an unreadable statement. The problem was already reported.
#[derive(Debug)]
pub(super) struct Stop;

/// Read result.
pub(super) type ParseResult<T> = Result<T, Stop>;

/// Words that cannot name a field or a type (CTF 1.8, section C.1.2), except the C type words.
const RESERVED: [&str; 16] = [
    "align",
    "callsite",
    "clock",
    "enum",
    "env",
    "event",
    "floating_point",
    "integer",
    "stream",
    "string",
    "struct",
    "trace",
    "typealias",
    "typedef",
    "variant",
    "const",
];

/// C words in type names.
const C_TYPE_WORDS: [&str; 13] = [
    "void",
    "char",
    "short",
    "int",
    "long",
    "float",
    "double",
    "signed",
    "unsigned",
    "_Bool",
    "_Complex",
    "_Imaginary",
    "const",
];

/// Returns `true` for keywords other than C type words.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Returns `true` for words in C type names.
pub(crate) fn is_c_type_word(word: &str) -> bool {
    C_TYPE_WORDS.contains(&word)
}

/// Right side of an assignment.
#[derive(Debug)]
pub(super) struct TsdlExpression {
    pub(super) at: TextPosition,
    pub(super) value: TsdlOperand,
}

/// Assigned value.
#[derive(Debug)]
pub(super) enum TsdlOperand {
    /// Integer between -2^63 and 2^64 - 1.
    Integer(i128),
    Text(String),
    /// Dotted name.
    Names(Vec<String>),
}

impl TsdlOperand {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Integer(value) => format!("the integer {value}"),
            Self::Text(text) => format!("the string {text:?}"),
            Self::Names(names) => format!("`{}`", names.join(".")),
        }
    }
}

/// Parser for a text.
pub(super) struct TsdlParser<'a> {
    lexer: TsdlLexer<'a>,
    ahead: VecDeque<TsdlToken<'a>>,
    /// End of the last token taken.
    pub(super) last_end: TextPosition,
    pub(super) problems: &'a mut Problems,
    /// `true` to ignore unknown fields of blocks with a warning.
    pub(super) ignores_unknown_fields: bool,
    pub(super) limits: &'a Limits,
    pub(super) scopes: TypeScopes,
    /// Duplicate names declared by the current statement, to be reported at its end.
    pub(super) doubles: Vec<String>,
    /// Current nesting depth.
    pub(super) depth: u32,
    pub(super) bodies: u32,
    /// `true` if the end of the text was reported.
    ended: bool,
    /// Clock names found so far.
    pub(super) clock_names: HashSet<String>,
    /// `true` after an `env` block.
    pub(super) has_environment: bool,
    /// Environment entries by name.
    pub(super) environment_names: NameNumbers,
    pub(super) document: Document,
}

impl<'a> TsdlParser<'a> {
    pub(super) fn new(text: &'a [u8], limits: &'a Limits, problems: &'a mut Problems) -> Self {
        Self {
            lexer: TsdlLexer::new(text),
            ahead: VecDeque::new(),
            last_end: TextPosition { line: 1, column: 1, offset: 0 },
            problems,
            ignores_unknown_fields: false,
            limits,
            scopes: TypeScopes::new(),
            doubles: Vec::new(),
            depth: 0,
            bodies: 0,
            ended: false,
            clock_names: HashSet::new(),
            has_environment: false,
            environment_names: NameNumbers::default(),
            document: Document::default(),
        }
    }

    /// Returns the token after the next `skip` tokens.
    pub(super) fn peek_at(&mut self, skip: usize) -> &TsdlToken<'a> {
        while self.ahead.len() <= skip {
            let token = self.lexer.next();
            for (position, message) in self.lexer.warnings.drain(..) {
                self.problems.warning(position, message);
            }
            self.ahead.push_back(token);
        }
        // The loop above ensured that it exists.
        &self.ahead[skip]
    }

    pub(super) fn peek(&mut self) -> &TsdlToken<'a> {
        self.peek_at(0)
    }

    /// Position of the next token.
    pub(super) fn at(&mut self) -> TextPosition {
        self.peek().at
    }

    pub(super) fn take(&mut self) -> TsdlToken<'a> {
        self.peek();
        let token = self.ahead.pop_front().unwrap_or_else(|| self.lexer.next());
        self.last_end = token.end;
        token
    }

    /// Returns the next token's word, if it is a word.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        self.word_at(0)
    }

    pub(super) fn word_at(&mut self, skip: usize) -> Option<&'a str> {
        match self.peek_at(skip).lexeme {
            Lexeme::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn peek_mark(&mut self, mark: &str) -> bool {
        self.peek_mark_at(0, mark)
    }

    pub(super) fn peek_mark_at(&mut self, skip: usize, mark: &str) -> bool {
        matches!(self.peek_at(skip).lexeme, Lexeme::Mark(found) if found == mark)
    }

    pub(super) fn at_end(&mut self) -> bool {
        matches!(self.peek().lexeme, Lexeme::End)
    }

    /// Takes the mark if it is next.
    pub(super) fn accept(&mut self, mark: &str) -> bool {
        let is = self.peek_mark(mark);
        if is {
            self.take();
        }
        is
    }

    /// Takes the mark or stops.
    pub(super) fn expect(&mut self, mark: &str) -> ParseResult<()> {
        if self.accept(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    /// Reports an unexpected next token.
    pub(super) fn unexpected(&mut self, expected: &str) -> Stop {
        let token = self.peek().clone();
        if token.lexeme == Lexeme::End && std::mem::replace(&mut self.ended, true) {
            // The end of the text ends every open body, so a single report is enough.
            return Stop;
        }
        let diagnostic = match &token.lexeme {
            Lexeme::Bad(why) => Diagnostic::error(token.at, why.clone()),
            _ => Diagnostic::error(token.at, "a syntax error").expected(expected, token.describe()),
        };
        self.problems.add(diagnostic);
        Stop
    }

    /// Reports an error that stops the statement.
    pub(super) fn stop(&mut self, at: TextPosition, message: impl Into<String>) -> Stop {
        self.problems.error(at, message);
        Stop
    }

    /// Reports an error and skips the rest, because reading on would only repeat it.
    pub(super) fn give_up(&mut self, at: TextPosition, message: impl Into<String>) -> Stop {
        self.problems.error(at, message);
        self.skip_rest();
        Stop
    }

    /// Reports that a limit was reached, and skips the rest.
    pub(super) fn give_up_at_limit(
        &mut self,
        at: TextPosition,
        limit: &'static str,
        message: impl Into<String>,
    ) -> Stop {
        self.problems.limit(at, limit, message);
        self.skip_rest();
        Stop
    }

    /// Counts memory that the statement is about to allocate. Stops reading if it is too much.
    pub(super) fn charge(&mut self, bytes: u64, at: TextPosition) -> ParseResult<()> {
        if self.problems.charge(bytes, at) {
            return Ok(());
        }
        self.skip_rest();
        Err(Stop)
    }

    fn skip_rest(&mut self) {
        self.ended = true;
        self.lexer.give_up();
        self.ahead.clear();
        self.lexer.warnings.clear();
    }

    /// Runs `work` in a context that its problems will contain.
    pub(super) fn within<T>(&mut self, what: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        self.problems.enter(what);
        let result = work(self);
        self.problems.leave();
        result
    }

    /// Ends a statement: takes its `;` and reports its duplicate names.
    pub(super) fn end_statement(&mut self) -> ParseResult<()> {
        let ended = self.expect(";");
        for name in std::mem::take(&mut self.doubles) {
            self.problems
                .error(self.last_end, format!("the type name `{name}` is declared twice in this scope"));
        }
        ended
    }

    /// Skips the rest of a statement after a [`Stop`], past the next `;` or up to the `}` that ends its body. Nested
    /// blocks are skipped as a whole.
    pub(super) fn recover(&mut self) {
        self.doubles.clear();
        let mut depth = 0u64;
        loop {
            match self.peek().lexeme {
                Lexeme::End => return,
                Lexeme::Mark("{") => depth += 1,
                Lexeme::Mark("}") if depth == 0 => return,
                Lexeme::Mark("}") => depth -= 1,
                Lexeme::Mark(";") if depth == 0 => {
                    self.take();
                    return;
                }
                _ => {}
            }
            self.take();
        }
    }

    /// Reads statements up to the `}`, which is taken. Returns `true` if all were read without problems.
    pub(super) fn body(
        &mut self,
        mut statement: impl FnMut(&mut Self) -> ParseResult<()>,
    ) -> ParseResult<bool> {
        self.expect("{")?;
        let errors = self.problems.errors();
        loop {
            if self.accept(";") {
                continue;
            }
            if self.accept("}") {
                return Ok(errors == self.problems.errors());
            }
            if self.at_end() {
                return Err(self.unexpected("`}`"));
            }
            let before = self.at().offset;
            if statement(self).is_err() {
                self.recover();
            }
            // The loop must advance after every statement.
            if self.at().offset == before && !self.peek_mark("}") && !self.at_end() {
                self.take();
            }
        }
    }

    /// Reads a dotted name, starting at its first word.
    pub(super) fn names(&mut self, what: &str) -> ParseResult<PathLocation> {
        let at = self.at();
        let mut names = Vec::new();
        loop {
            let Some(word) = self.word() else { return Err(self.unexpected(what)) };
            // Real names are shorter, but a hostile text could be a single name.
            if names.len() >= 16 {
                self.charge(size::<String>() as u64 + memory::of_text(word), at)?;
            }
            names.push(word.to_owned());
            self.take();
            if !(self.accept(".") || self.accept("->")) {
                return Ok(PathLocation { names, at });
            }
        }
    }

    /// Reads an integer constant with its sign.
    pub(super) fn integer(&mut self, what: &str) -> ParseResult<(i128, TextPosition)> {
        let at = self.at();
        let negative = if self.peek_mark("-") {
            true
        } else if self.peek_mark("+") {
            false
        } else {
            return match self.peek().lexeme {
                Lexeme::Integer(Some(value)) => {
                    self.take();
                    Ok((i128::from(value), at))
                }
                _ => Err(self.unexpected(what)),
            };
        };
        let Lexeme::Integer(value) = self.peek_at(1).lexeme else { return Err(self.unexpected(what)) };
        let value = value.map(|value| if negative { -i128::from(value) } else { i128::from(value) });
        match value {
            Some(value) if value >= i128::from(i64::MIN) => {
                self.take();
                self.take();
                Ok((value, at))
            }
            _ => Err(self.stop(at, "the integer does not fit 64 bits")),
        }
    }

    /// Reports an unknown attribute.
    pub(super) fn unknown_attribute(
        &mut self,
        name: &PathLocation,
        known: &[&str],
        severity: Severity,
    ) -> Stop {
        let name_text = name.names.join(".");
        let diagnostic = Diagnostic::new(severity, name.at, format!("unknown attribute `{name_text}`"));
        self.problems.add(diagnostic.expected(known.join(", "), format!("`{name_text}`")));
        Stop
    }

    /// Reads the right side of an assignment, up to its `;`.
    pub(super) fn expression(&mut self) -> ParseResult<TsdlExpression> {
        const WHAT: &str = "an integer, a string or a name";
        let at = self.at();
        // Not recursive, because there is at most one level of parentheses.
        let enclosed = self.accept("(");
        let value = self.operand(WHAT)?;
        if enclosed {
            self.expect(")")?;
        }
        // Check this first: without the `;`, the value is incomplete.
        if self.peek_mark(";") { Ok(TsdlExpression { at, value }) } else { Err(self.unexpected("`;`")) }
    }

    fn operand(&mut self, what: &str) -> ParseResult<TsdlOperand> {
        match &self.peek().lexeme {
            Lexeme::Text(text) => {
                let text = text.clone();
                self.take();
                Ok(TsdlOperand::Text(text))
            }
            Lexeme::Word(_) => Ok(TsdlOperand::Names(self.names(what)?.names)),
            _ => Ok(TsdlOperand::Integer(self.integer(what)?.0)),
        }
    }

    /// Reports an attribute with a value of the wrong kind.
    pub(super) fn wrong(&mut self, name: &str, expected: &str, found: &TsdlExpression) -> Stop {
        let message = format!("invalid value of the attribute `{name}`");
        self.problems.add(Diagnostic::error(found.at, message).expected(expected, found.value.describe()));
        Stop
    }

    pub(super) fn unsigned(&mut self, name: &str, value: &TsdlExpression) -> ParseResult<u64> {
        match &value.value {
            TsdlOperand::Integer(integer) => u64::try_from(*integer).ok(),
            _ => None,
        }
        .ok_or_else(|| self.wrong(name, "an unsigned integer", value))
    }

    pub(super) fn signed(&mut self, name: &str, value: &TsdlExpression) -> ParseResult<i64> {
        match &value.value {
            TsdlOperand::Integer(integer) => i64::try_from(*integer).ok(),
            _ => None,
        }
        .ok_or_else(|| self.wrong(name, "an integer of 64 bits", value))
    }

    pub(super) fn text(&mut self, name: &str, value: &TsdlExpression) -> ParseResult<String> {
        match &value.value {
            TsdlOperand::Text(text) => Ok(text.clone()),
            _ => Err(self.wrong(name, "a string", value)),
        }
    }

    /// Returns a string or an undotted name.
    pub(super) fn text_or_name(&mut self, name: &str, value: &TsdlExpression) -> ParseResult<String> {
        match &value.value {
            TsdlOperand::Text(text) => Ok(text.clone()),
            TsdlOperand::Names(names) => Ok(names.join(".")),
            TsdlOperand::Integer(_) => Err(self.wrong(name, "a string or a name", value)),
        }
    }

    pub(super) fn boolean(&mut self, name: &str, value: &TsdlExpression) -> ParseResult<bool> {
        let found = match &value.value {
            TsdlOperand::Integer(0) => Some(false),
            TsdlOperand::Integer(1) => Some(true),
            TsdlOperand::Names(names) => match names.as_slice() {
                [word] if word == "true" || word == "TRUE" => Some(true),
                [word] if word == "false" || word == "FALSE" => Some(false),
                _ => None,
            },
            _ => None,
        };
        found.ok_or_else(|| self.wrong(name, "`true`, `TRUE`, 1, `false`, `FALSE` or 0", value))
    }
}

/// Attributes already present in a block.
#[derive(Default)]
pub(super) struct SeenAttributes(Vec<&'static str>);

impl SeenAttributes {
    /// Returns `true` if the attribute is already present.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// Adds a known attribute by its name. A duplicate is an error at `at`.
    pub(super) fn add(
        &mut self,
        parser: &mut TsdlParser<'_>,
        name: &str,
        at: TextPosition,
        known: &[&'static str],
    ) -> ParseResult<Option<&'static str>> {
        let Some(found) = known.iter().find(|known| **known == name) else { return Ok(None) };
        if self.has(found) {
            return Err(parser.stop(at, format!("duplicate attribute `{name}`")));
        }
        self.0.push(found);
        Ok(Some(found))
    }
}
