//! Precedence climbing parser for expressions.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use super::error::{FilterError, FilterErrorKind};
use super::syntax::{
    ArithmeticOp, CompareOp, NamePath, NameStep, NodeKind, PartOp, Pattern, SyntaxNode, keyword,
};
use super::token::{Token, quote, tokens, unescaped, unquoted};
use super::value::{FilterValue, compare};

/// Maximum length of an expression in bytes.
pub(super) const MOST_BYTES: usize = 64 << 10;
/// Maximum nesting depth of expressions. A chain of operators on one level counts each application.
pub(super) const DEPTH: usize = 50;
/// Maximum nesting depth of the parser: up to three steps per operator with parentheses.
const NESTING: usize = 3 * DEPTH + 10;
/// Size limits for a compiled regular expression in bytes, smallest first, each with the memory for searches.
const REGEX_BYTES: [(usize, usize); 3] = [(16 << 10, 128 << 10), (128 << 10, 512 << 10), (1 << 20, 1 << 20)];
/// Memory limit for all regular expressions in an expression, in bytes.
const REGEX_BYTES_TOGETHER: usize = 64 << 20;
/// Maximum number of path steps.
const STEPS: usize = 64;

/// Parses an expression with its regular expressions.
pub(super) fn parse(source: &str) -> Result<(SyntaxNode, Vec<Regex>), FilterError> {
    if source.len() > MOST_BYTES {
        let message = format!("the expression is longer than {MOST_BYTES} bytes");
        return Err(FilterError::new(FilterErrorKind::Limit, "", 0..0, message));
    }
    let mut parser = FilterParser {
        source,
        tokens: tokens(source)?,
        at: 0,
        depth: 0,
        patterns: Vec::new(),
        regex_bytes: REGEX_BYTES_TOGETHER,
    };
    let (node, _) = parser.disjunction()?;
    let error = match parser.peek() {
        Token::End => return Ok((node, parser.patterns)),
        _ => parser.expected("an operator or the end"),
    };
    Err(match parser.peek() {
        Token::Name { .. } => {
            error.help("operators that are words: and, or, not, in, contains, startswith, endswith, matches")
        }
        Token::Sign("..") => error.help("ranges are written in brackets: `x in [1..5]`"),
        _ => error,
    })
}

/// Node and its depth.
type Deep = (SyntaxNode, usize);

struct FilterParser<'s> {
    source: &'s str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    /// Nesting depth of the current token.
    depth: usize,
    patterns: Vec<Regex>,
    /// Memory limit for further regular expressions, in bytes.
    regex_bytes: usize,
}

fn describe(token: &Token, text: &str) -> String {
    match token {
        Token::End => "the end".to_owned(),
        _ => format!("`{}`", text.escape_debug()),
    }
}

impl<'s> FilterParser<'s> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Range<usize> {
        let end = self.source.len();
        self.tokens.get(self.at).map_or(end..end, |(_, span)| span.clone())
    }

    fn text(&self) -> &'s str {
        &self.source[self.span()]
    }

    fn error(&self, message: impl Into<String>) -> FilterError {
        FilterError::syntax(self.source, self.span(), message)
    }

    fn expected(&self, what: &str) -> FilterError {
        self.error(format!("expected {what}, found {}", describe(self.peek(), self.text())))
    }

    fn next_if(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Sign(next) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Token::Name { name, quoted: false } if self::keyword(name) == Some(keyword))
    }

    /// Returns `true` if this word comes next, in lower case or capitals. Elsewhere, it is not a keyword.
    fn is_word(&self, word: &str) -> bool {
        let is_form = |name: &str| name == word || name == word.to_ascii_uppercase();
        matches!(self.peek(), Token::Name { name, quoted: false } if is_form(name))
    }

    fn next_if_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.is_keyword(keyword);
        self.at += usize::from(is_next);
        is_next
    }

    fn require(&mut self, sign: &str) -> Result<(), FilterError> {
        if self.next_if(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// Creates a node with children.
    fn node(&self, begin: usize, kind: NodeKind, depth: usize) -> Result<Deep, FilterError> {
        let end =
            self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(begin, |(_, span)| span.end);
        self.check_depth(depth, DEPTH)?;
        Ok((SyntaxNode { span: begin..end.max(begin), kind }, depth))
    }

    fn check_depth(&self, depth: usize, most: usize) -> Result<(), FilterError> {
        if depth > most {
            let message = format!("the expression is nested more than {DEPTH} times");
            return Err(FilterError::new(FilterErrorKind::Limit, self.source, self.span(), message));
        }
        Ok(())
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, FilterError>,
    ) -> Result<T, FilterError> {
        self.depth += 1;
        self.check_depth(self.depth, NESTING)?;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn disjunction(&mut self) -> Result<Deep, FilterError> {
        self.sequence("||", "or", Self::conjunction, NodeKind::Or)
    }

    fn conjunction(&mut self) -> Result<Deep, FilterError> {
        self.sequence("&&", "and", Self::negation, NodeKind::And)
    }

    /// Parses operands with the same operator between them.
    fn sequence(
        &mut self,
        sign: &str,
        keyword: &str,
        read: fn(&mut Self) -> Result<Deep, FilterError>,
        kind: fn(Vec<SyntaxNode>) -> NodeKind,
    ) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        let first = read(self)?;
        let mut depth = first.1;
        let mut nodes = vec![first.0];
        while self.next_if(sign) || self.next_if_keyword(keyword) {
            let (node, other) = read(self)?;
            depth = depth.max(other);
            nodes.push(node);
        }
        match nodes.len() {
            1 => Ok((nodes.remove(0), depth)),
            _ => {
                // A nested sequence with the same operator joins this one.
                let flat = nodes.into_iter().flat_map(|node| match (kind(Vec::new()), node.kind) {
                    (NodeKind::And(_), NodeKind::And(inner)) | (NodeKind::Or(_), NodeKind::Or(inner)) => {
                        inner
                    }
                    (_, kind) => vec![SyntaxNode { span: node.span, kind }],
                });
                let flat = flat.collect();
                self.node(begin, kind(flat), depth + 1)
            }
        }
    }

    fn negation(&mut self) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        if !self.next_if_keyword("not") {
            return self.comparison();
        }
        let (node, depth) = self.nested(Self::negation)?;
        self.node(begin, NodeKind::Not(Box::new(node)), depth + 1)
    }

    fn comparison(&mut self) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        let (value, depth) = self.arithmetic(0)?;
        let sign = match self.peek() {
            Token::Sign(sign) => *sign,
            _ => "",
        };
        let is_negated = self.next_if_keyword("not");
        let found = if let (Some(op), false) = (CompareOp::from_name(sign), is_negated) {
            self.at += 1;
            let (other, more) = self.arithmetic(0)?;
            self.node(begin, NodeKind::Compare(op, Box::new(value), Box::new(other)), depth.max(more) + 1)?
        } else if self.is_word("matches") || matches!(sign, "=~" | "!~") && !is_negated {
            self.at += 1;
            let pattern = self.pattern()?;
            let is_negated = is_negated || sign == "!~";
            self.node(begin, NodeKind::Match { text: Box::new(value), pattern, is_negated }, depth + 1)?
        } else if let Some(op) = PartOp::ALL.into_iter().find(|op| self.is_word(op.name())) {
            self.at += 1;
            let (part, more) = self.arithmetic(0)?;
            let (value, part) = (Box::new(value), Box::new(part));
            self.node(begin, NodeKind::Part { op, value, part, is_negated }, depth.max(more) + 1)?
        } else if self.next_if_keyword("in") {
            let (list, more) = self.nested(Self::list)?;
            let kind = NodeKind::In { value: Box::new(value), list: Box::new(list), is_negated };
            self.node(begin, kind, depth.max(more) + 1)?
        } else if is_negated {
            return Err(self.expected("`in`, `contains`, `startswith`, `endswith` or `matches` after `not`"));
        } else {
            return Ok((value, depth));
        };
        let is_part = || PartOp::ALL.into_iter().any(|op| self.is_word(op.name()));
        let is_next = match self.peek() {
            Token::Sign(sign) => CompareOp::from_name(sign).is_some() || matches!(*sign, "=~" | "!~"),
            _ => self.is_keyword("in") || self.is_word("matches") || is_part(),
        };
        if is_next {
            let error = self.error("comparisons cannot be chained");
            return Err(error.help("write `1 < x && x < 5`, or put one of them in parentheses"));
        }
        Ok(found)
    }

    /// Parses the list after `in`.
    fn list(&mut self) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        if !self.next_if("[") {
            return self.arithmetic(0);
        }
        let (mut nodes, mut depth) = (Vec::new(), 0);
        while !self.next_if("]") {
            if !nodes.is_empty() {
                self.require(",")?;
                if self.next_if("]") {
                    break;
                }
            }
            let (node, more) = self.item()?;
            depth = depth.max(more);
            nodes.push(node);
        }
        self.node(begin, NodeKind::List(nodes), depth + 1)
    }

    /// Parses a list item: a value or a range.
    fn item(&mut self) -> Result<Deep, FilterError> {
        let start = self.span().start;
        let is_open = matches!(self.peek(), Token::Sign(".."));
        let begin = if is_open { None } else { Some(self.arithmetic(0)?) };
        if !self.next_if("..") {
            return match begin {
                Some(value) => Ok(value),
                None => Err(self.expected("a value")),
            };
        }
        let is_open = matches!(self.peek(), Token::Sign("," | "]") | Token::End);
        let end = if is_open { None } else { Some(self.arithmetic(0)?) };
        let depth = begin.iter().chain(&end).map(|(_, depth)| *depth).max().unwrap_or(0);
        let [begin, end] = [begin, end].map(|end| end.map(|(node, _)| Box::new(node)));
        let (node, depth) = self.node(start, NodeKind::Range(begin, end), depth + 1)?;
        let error = |message: &str| FilterError::syntax(self.source, node.span.clone(), message);
        match &node.kind {
            NodeKind::Range(None, None) => {
                Err(error("a range needs a start or an end")
                    .help("ranges are written `1..5`, `1..` or `..5`"))
            }
            NodeKind::Range(Some(begin), Some(end))
                if let (begin_span, end_span) = (begin.span.clone(), end.span.clone())
                    && let (Some(begin), Some(end)) = (number(begin), number(end))
                    && compare(CompareOp::Greater, begin, end) == Some(true) =>
            {
                let error = FilterError::reversed(self.source, node.span.clone(), &begin_span, &end_span);
                Err(FilterError { kind: FilterErrorKind::Syntax, ..error })
            }
            _ => Ok((node, depth)),
        }
    }

    fn pattern(&mut self) -> Result<Pattern, FilterError> {
        let span = self.span();
        let Token::Text(content) = self.peek().clone() else {
            let error = self.expected("a regular expression in quotes");
            let rest = &self.source[span.start..];
            let word = span.start..span.start + rest.find(char::is_whitespace).unwrap_or(rest.len());
            let is_short = !word.is_empty() && word.len() < 100;
            return Err(if is_short { error.help(quote(self.source, &word)) } else { error });
        };
        let quote = self.source.as_bytes().get(span.start).copied().map_or('"', char::from);
        self.at += 1;
        // Regular expressions have their own escapes: only an escaped quote loses its backslash.
        let mut text = String::new();
        let mut rest = self.source[content].chars();
        while let Some(c) = rest.next() {
            let escaped = if c == '\\' { rest.next() } else { None };
            if escaped != Some(quote) {
                text.push(c);
            }
            text.extend(escaped);
        }
        let regex = self.compiled(&text).map_err(|error| {
            let reason = match error {
                regex::Error::CompiledTooBig(_) => "it would take too much memory".to_owned(),
                // The last line describes the error. The other lines show the place, as our errors do.
                error => {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    last.trim_start_matches("error: ").to_owned()
                }
            };
            FilterError::syntax(self.source, span, format!("the regular expression cannot be used: {reason}"))
        })?;
        self.patterns.push(regex);
        Ok(Pattern { text, index: self.patterns.len() - 1 })
    }

    /// Compiles a regular expression with the smallest sufficient size limit.
    fn compiled(&mut self, text: &str) -> Result<Regex, regex::Error> {
        for (size, searches) in REGEX_BYTES {
            let left = self.regex_bytes.checked_sub(size + searches);
            let Some(left) = left else { return Err(regex::Error::CompiledTooBig(self.regex_bytes)) };
            let built = RegexBuilder::new(text)
                .size_limit(size)
                .dfa_size_limit(searches)
                .nest_limit(DEPTH as u32)
                .build();
            match built {
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(error) => return Err(error),
                Ok(regex) => {
                    self.regex_bytes = left;
                    return Ok(regex);
                }
            }
        }
        Err(regex::Error::CompiledTooBig(REGEX_BYTES[2].0))
    }

    /// Parses operators between values that bind more tightly than `above`.
    fn arithmetic(&mut self, above: u8) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        let (mut node, mut depth) = self.nested(Self::unary)?;
        while let Token::Sign(sign) = self.peek()
            && let Some(op) = ArithmeticOp::from_name(sign)
            && op.power() > above
        {
            let sign = self.span();
            self.at += 1;
            let is_last =
                matches!(self.peek(), Token::End | Token::Sign(")" | "]" | "," | "&&" | "||" | ".."))
                    || self.is_keyword("and")
                    || self.is_keyword("or");
            if is_last && let Some(word) = unquoted(self.source, sign.start) {
                let message = format!("expected a value after `{}`", op.name());
                let error = FilterError::syntax(self.source, word.clone(), message);
                return Err(error.help(quote(self.source, &word)));
            }
            let (other, more) = self.nested(|parser| parser.arithmetic(op.power()))?;
            let kind = NodeKind::Arithmetic(op, Box::new(node), Box::new(other));
            (node, depth) = self.node(begin, kind, depth.max(more) + 1)?;
        }
        Ok((node, depth))
    }

    fn unary(&mut self) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        let sign = match self.peek() {
            Token::Sign(sign @ ("-" | "+" | "!" | "~")) => *sign,
            _ => return self.primary(),
        };
        self.at += 1;
        if sign == "+" {
            // Relative to the start of the trace.
            return match self.peek() {
                Token::Duration(_) | Token::Integer(_) | Token::Float(_) => {
                    self.at += 1;
                    let end = self.tokens[self.at - 1].1.end;
                    self.node(begin, NodeKind::Time(self.source[begin..end].to_owned()), 1)
                }
                _ => Err(self.expected("a duration after `+`, for a time from the start")),
            };
        }
        let (node, depth) = self.nested(Self::unary)?;
        let kind = match (sign, &node.kind) {
            ("-", NodeKind::Integer(value)) => NodeKind::Integer(-value),
            ("-", _) => NodeKind::Negate(Box::new(node)),
            ("!", _) => NodeKind::Not(Box::new(node)),
            _ => NodeKind::Complement(Box::new(node)),
        };
        self.node(begin, kind, depth + 1)
    }

    fn primary(&mut self) -> Result<Deep, FilterError> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Integer(value) => NodeKind::Integer(value),
            Token::Float(value) => NodeKind::Float(value),
            Token::Duration(value) => NodeKind::Duration(value),
            Token::Time => NodeKind::Time(self.source[span.clone()].to_owned()),
            Token::Text(content) => NodeKind::Text(unescaped(self.source, &content)?),
            Token::Sign("(") => {
                self.at += 1;
                let node = self.nested(Self::disjunction)?;
                self.require(")")?;
                return Ok(node);
            }
            Token::Sign("[") => {
                return Err(self.error("a list can only follow `in`").help("write `x in [1, 2]`"));
            }
            Token::Sign("$") => return self.name(),
            Token::Name { name, quoted } if quoted || keyword(&name).is_none() => {
                let is_call = !quoted
                    && matches!(self.tokens.get(self.at + 1), Some((Token::Sign("("), _)))
                    && self.tokens[self.at + 1].1.start == span.end;
                return if is_call { self.call(&name) } else { self.name() };
            }
            Token::Name { name, .. } if let Some(word @ ("true" | "false")) = keyword(&name) => {
                NodeKind::Boolean(word == "true")
            }
            Token::Name { name, .. } if keyword(&name) == Some("not") => {
                let error = self.error("unexpected `not`");
                return Err(error.help("write `!`, or put `not` and what follows in parentheses"));
            }
            Token::Sign("*") if let Some(word) = unquoted(self.source, span.start) => {
                let help = quote(self.source, &word);
                return Err(FilterError { span: word, ..self.expected("a value") }.help(help));
            }
            _ => return Err(self.expected("a value")),
        };
        self.at += 1;
        self.node(span.start, kind, 1)
    }

    fn call(&mut self, name: &str) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        if !matches!(name, "has" | "len") {
            let error = self.error(format!("unknown function `{}`", name.escape_debug()));
            return Err(match PartOp::from_name(name) {
                Some(op) => error.help(format!("write `x {} \"text\"`", op.name())),
                None => error.help("functions are `has(NAME)` and `len(VALUE)`"),
            });
        }
        self.at += 2;
        let (kind, depth) = if name == "has" {
            let (node, depth) = self.name()?;
            match node.kind {
                NodeKind::Name(path) => (NodeKind::Has(path), depth),
                _ => return Err(self.expected("a name")),
            }
        } else {
            let (node, depth) = self.nested(|parser| parser.arithmetic(0))?;
            (NodeKind::Length(Box::new(node)), depth)
        };
        self.require(")")?;
        self.node(begin, kind, depth + 1)
    }

    /// Parses a path such as `a.b[2].c`.
    fn name(&mut self) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        let is_property = self.next_if("$");
        let mut steps = vec![self.member(!is_property)?];
        loop {
            if self.next_if(".") {
                steps.push(self.member(false)?);
            } else if self.next_if("[") {
                let is_negative = self.next_if("-");
                let index = match self.peek() {
                    Token::Integer(value) => i64::try_from(*value).ok(),
                    _ => None,
                };
                let Some(index) = index else { return Err(self.expected("the index of an element")) };
                self.at += 1;
                self.require("]")?;
                steps.push(NameStep::Index(if is_negative { -index } else { index }));
            } else {
                break;
            }
            if steps.len() > STEPS {
                let message = format!("a name has more than {STEPS} steps");
                return Err(FilterError::new(FilterErrorKind::Limit, self.source, self.span(), message));
            }
        }
        self.node(begin, NodeKind::Name(NamePath { is_property, steps }), 1)
    }

    fn member(&mut self, is_first: bool) -> Result<NameStep, FilterError> {
        let is_name = |name: &str| !is_first || keyword(name).is_none();
        match self.peek().clone() {
            Token::Name { name, quoted } if quoted || is_name(&name) => {
                self.at += 1;
                Ok(NameStep::Member(name))
            }
            Token::Integer(_) | Token::Float(_) if !is_first => {
                let error = self.expected("a name after the point");
                Err(error.help("array elements are written `a[0]`"))
            }
            _ => Err(self.expected("a name")),
        }
    }
}

/// Returns the number in a part, if the part is a number.
fn number(node: &SyntaxNode) -> Option<FilterValue<'static>> {
    match &node.kind {
        NodeKind::Integer(value) | NodeKind::Duration(value) => Some(FilterValue::Integer(*value)),
        NodeKind::Float(value) => Some(FilterValue::Float(*value)),
        NodeKind::Negate(inner) => match number(inner)? {
            FilterValue::Integer(value) => value.checked_neg().map(FilterValue::Integer),
            FilterValue::Float(value) => Some(FilterValue::Float(-value)),
            _ => None,
        },
        _ => None,
    }
}
