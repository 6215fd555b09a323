//! Reads expressions: a parser that climbs precedences.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use super::error::{FilterError, FilterErrorKind};
use super::syntax::{ArithmeticOp, CompareOp, KEYWORDS, Node, NodeKind, Path, Pattern, Step};
use super::token::{Token, tokens, unescaped};

/// Longest expression, in bytes.
pub(super) const MOST_BYTES: usize = 64 << 10;
/// How deep expressions can be nested: operators on one level count as often as they are applied to one another.
pub(super) const DEPTH: usize = 50;
/// How deep the parser can be within itself: up to three steps for each operator with parentheses around it.
const NESTING: usize = 3 * DEPTH + 10;
/// Most memory of a compiled regular expression, in bytes.
const REGEX_BYTES: usize = 1 << 20;
/// Steps of a name.
const STEPS: usize = 64;

/// Reads an expression, with the regular expressions in it.
pub(super) fn parse(source: &str) -> Result<(Node, Vec<Regex>), FilterError> {
    if source.len() > MOST_BYTES {
        let message = format!("the expression is longer than {MOST_BYTES} bytes");
        return Err(FilterError::new(FilterErrorKind::Limit, "", 0..0, message));
    }
    let mut parser = Parser { source, tokens: tokens(source)?, at: 0, depth: 0, patterns: Vec::new() };
    let (node, _) = parser.disjunction()?;
    match parser.peek() {
        Token::End => Ok((node, parser.patterns)),
        token => {
            let message =
                format!("expected an operator or the end, found {}", describe(token, parser.text()));
            Err(parser.error(message))
        }
    }
}

/// A node with its depth.
type Deep = (Node, usize);

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    /// How deep the current token is nested.
    depth: usize,
    patterns: Vec<Regex>,
}

fn describe(token: &Token, text: &str) -> String {
    match token {
        Token::End => "the end".to_owned(),
        _ => format!("`{}`", text.escape_debug()),
    }
}

impl<'s> Parser<'s> {
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
        matches!(self.peek(), Token::Name { name, quoted: false } if name == keyword)
    }

    fn next_if_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.is_keyword(keyword);
        self.at += usize::from(is_next);
        is_next
    }

    fn require(&mut self, sign: &str) -> Result<(), FilterError> {
        if self.next_if(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// A node around others.
    fn node(&self, begin: usize, kind: NodeKind, depth: usize) -> Result<Deep, FilterError> {
        let end =
            self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(begin, |(_, span)| span.end);
        self.check_depth(depth, DEPTH)?;
        Ok((Node { span: begin..end.max(begin), kind }, depth))
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

    /// Parts with an operator between them.
    fn sequence(
        &mut self,
        sign: &str,
        keyword: &str,
        read: fn(&mut Self) -> Result<Deep, FilterError>,
        kind: fn(Vec<Node>) -> NodeKind,
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
                // Those in parentheses are of the same sequence.
                let flat = nodes.into_iter().flat_map(|node| match (kind(Vec::new()), node.kind) {
                    (NodeKind::And(_), NodeKind::And(inner)) | (NodeKind::Or(_), NodeKind::Or(inner)) => {
                        inner
                    }
                    (_, kind) => vec![Node { span: node.span, kind }],
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
        let found = if let Some(op) = CompareOp::from_sign(sign) {
            self.at += 1;
            let (other, more) = self.arithmetic(0)?;
            self.node(begin, NodeKind::Compare(op, Box::new(value), Box::new(other)), depth.max(more) + 1)?
        } else if matches!(sign, "=~" | "!~") {
            self.at += 1;
            let pattern = self.pattern()?;
            let kind = NodeKind::Match { text: Box::new(value), pattern, is_negated: sign == "!~" };
            self.node(begin, kind, depth + 1)?
        } else {
            let is_negated = self.is_keyword("not");
            if is_negated {
                self.at += 1;
                if !self.is_keyword("in") {
                    return Err(self.expected("`in` after `not`"));
                }
            }
            if !self.next_if_keyword("in") {
                return Ok((value, depth));
            }
            let (list, more) = self.nested(Self::list)?;
            let kind = NodeKind::In { value: Box::new(value), list: Box::new(list), is_negated };
            self.node(begin, kind, depth.max(more) + 1)?
        };
        let is_next = match self.peek() {
            Token::Sign(sign) => CompareOp::from_sign(sign).is_some() || matches!(*sign, "=~" | "!~"),
            _ => false,
        };
        if is_next {
            let error = self.error("comparisons cannot be chained");
            return Err(error.help("write `1 < x && x < 5`, or put one of them in parentheses"));
        }
        Ok(found)
    }

    /// What comes behind `in`.
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
            let (node, more) = self.arithmetic(0)?;
            depth = depth.max(more);
            nodes.push(node);
        }
        self.node(begin, NodeKind::List(nodes), depth + 1)
    }

    fn pattern(&mut self) -> Result<Pattern, FilterError> {
        let span = self.span();
        let Token::Text(content) = self.peek().clone() else {
            return Err(self.expected("a regular expression in quotes"));
        };
        let quote = self.source.as_bytes().get(span.start).copied().map_or('"', char::from);
        self.at += 1;
        // A regular expression has escapes of its own: only the quote is not part of it.
        let mut text = String::new();
        let mut rest = self.source[content].chars();
        while let Some(c) = rest.next() {
            let escaped = if c == '\\' { rest.next() } else { None };
            if escaped != Some(quote) {
                text.push(c);
            }
            text.extend(escaped);
        }
        let regex = RegexBuilder::new(&text)
            .size_limit(REGEX_BYTES)
            .dfa_size_limit(REGEX_BYTES)
            .nest_limit(DEPTH as u32)
            .build()
            .map_err(|error| {
                let reason = match error {
                    regex::Error::CompiledTooBig(_) => "it would take too much memory".to_owned(),
                    // Its last line says what is wrong; the others show where, as ours do.
                    error => {
                        let text = error.to_string();
                        let last = text.lines().last().unwrap_or_default();
                        last.trim_start_matches("error: ").to_owned()
                    }
                };
                FilterError::syntax(
                    self.source,
                    span,
                    format!("the regular expression cannot be used: {reason}"),
                )
            })?;
        self.patterns.push(regex);
        Ok(Pattern { text, index: self.patterns.len() - 1 })
    }

    /// Operators between values that bind more tightly than `above`.
    fn arithmetic(&mut self, above: u8) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        let (mut node, mut depth) = self.nested(Self::unary)?;
        while let Token::Sign(sign) = self.peek()
            && let Some(op) = ArithmeticOp::from_sign(sign)
            && op.power() > above
        {
            self.at += 1;
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
            // From the beginning of the trace.
            return match self.peek() {
                Token::Duration(_) | Token::Integer(_) | Token::Float(_) => {
                    self.at += 1;
                    let end = self.tokens[self.at - 1].1.end;
                    self.node(begin, NodeKind::Time(self.source[begin..end].to_owned()), 1)
                }
                _ => Err(self.expected("a duration behind `+`, which stands for a time from the beginning")),
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
                return Err(self.error("a list can only stand behind `in`").help("write `x in [1, 2]`"));
            }
            Token::Sign("$") => return self.name(),
            Token::Name { name, quoted } if quoted || !KEYWORDS.contains(&name.as_str()) => {
                let is_call = !quoted
                    && matches!(self.tokens.get(self.at + 1), Some((Token::Sign("("), _)))
                    && self.tokens[self.at + 1].1.start == span.end;
                return if is_call { self.call(&name) } else { self.name() };
            }
            Token::Name { name, .. } if name == "true" || name == "false" => {
                NodeKind::Boolean(name == "true")
            }
            Token::Name { name, .. } if name == "not" => {
                let error = self.error("`not` cannot stand here");
                return Err(error.help("write `!`, or put `not` and what follows in parentheses"));
            }
            _ => return Err(self.expected("a value")),
        };
        self.at += 1;
        self.node(span.start, kind, 1)
    }

    fn call(&mut self, name: &str) -> Result<Deep, FilterError> {
        let begin = self.span().start;
        if !matches!(name, "has" | "len") {
            let error = self.error(format!("there is no function `{}`", name.escape_debug()));
            return Err(error.help("functions are `has(NAME)` and `len(VALUE)`"));
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

    /// `a.b[2].c`
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
                steps.push(Step::Index(if is_negative { -index } else { index }));
            } else {
                break;
            }
            if steps.len() > STEPS {
                let message = format!("a name has more than {STEPS} steps");
                return Err(FilterError::new(FilterErrorKind::Limit, self.source, self.span(), message));
            }
        }
        self.node(begin, NodeKind::Name(Path { is_property, steps }), 1)
    }

    fn member(&mut self, is_first: bool) -> Result<Step, FilterError> {
        let is_name = |name: &str| !is_first || !KEYWORDS.contains(&name);
        match self.peek().clone() {
            Token::Name { name, quoted } if quoted || is_name(&name) => {
                self.at += 1;
                Ok(Step::Member(name))
            }
            Token::Integer(_) | Token::Float(_) if !is_first => {
                let error = self.expected("a name behind the point");
                Err(error.help("elements of arrays are written `a[0]`"))
            }
            _ => Err(self.expected("a name")),
        }
    }
}
