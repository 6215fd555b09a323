//! Events as the reference reader writes them: nearly XML.

/// Element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// Lines `a->b` in maps from IL to native code.
    pub arrows: Vec<(i64, i64)>,
    /// `true` if the element was cut, and may have more elements.
    pub is_cut: bool,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.0 == name).map(|attribute| &*attribute.1)
    }
}

/// Returns the events in a dump.
pub fn events(text: &str) -> impl Iterator<Item = Element> + '_ {
    // The reference neither escapes line breaks in values, nor closes every element. But only events are at the start
    // of a line.
    let starts = text.match_indices("<Event ").map(|(at, _)| at);
    let starts: Vec<usize> = starts.filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n').collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]).collect::<Vec<_>>();
    starts.into_iter().zip(ends).map(|(start, end)| element(&text[start..end]))
}

/// Parses an event with its content.
pub fn element(text: &str) -> Element {
    let mut reader = Reader { text };
    let mut event = reader.element().unwrap_or_else(|| panic!("expected an element: {text}"));
    while let Some(next) = reader.text.find(['<', '>']) {
        let (before, rest) = reader.text.split_at(next);
        let arrow = rest.starts_with('>').then(|| before.strip_suffix('-')).flatten();
        match arrow {
            Some(before) => {
                let from = before.rsplit(char::is_whitespace).next().unwrap_or_default();
                let to =
                    rest[1..].split(|c: char| c != '-' && !c.is_ascii_digit()).next().unwrap_or_default();
                event.arrows.push((from.parse().unwrap(), to.parse().unwrap()));
                reader.text = &rest[1 + to.len()..];
            }
            None if rest.starts_with("</") || rest.starts_with('>') => reader.text = &rest[1..],
            None => {
                reader.text = rest;
                event.children.extend(reader.element());
            }
        }
    }
    event
}

struct Reader<'t> {
    text: &'t str,
}

impl<'t> Reader<'t> {
    /// Parses the head of an element.
    fn element(&mut self) -> Option<Element> {
        let text = self.text.strip_prefix('<')?;
        let end = text.find(|c: char| c.is_whitespace() || c == '/' || c == '>')?;
        let mut element = Element { name: text[..end].to_owned(), ..Element::default() };
        self.text = &text[end..];
        while let Some(attribute) = self.attribute() {
            element.attributes.push(attribute);
        }
        Some(element)
    }

    fn attribute(&mut self) -> Option<(String, String)> {
        let text = self.text.trim_start();
        let (name, text) = text.split_once('=')?;
        if name.contains(['<', '>', '/', '"']) {
            return None;
        }
        let (value, text) = text.trim_start_matches(' ').strip_prefix('"')?.split_once('"')?;
        self.text = text;
        let mut plain = value.to_owned();
        for (escaped, character) in
            [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&")]
        {
            plain = plain.replace(escaped, character);
        }
        Some((name.to_owned(), plain))
    }
}

#[test]
fn elements_are_read() {
    let text = "<Event MSec=  \"1.5\" N=\"a&amp;&lt;b\" =\"x\">\n <Value  A=\"1\"\n  B=\"2\"/>\n  -2->0\n  3->-1\n</Event>\n";
    let event = element(text);
    assert_eq!((event.attribute("MSec"), event.attribute("N")), (Some("1.5"), Some("a&<b")));
    assert_eq!((event.attribute(""), event.children[0].attribute("B")), (Some("x"), Some("2")));
    assert_eq!(event.arrows, [(-2, 0), (3, -1)]);
    assert_eq!(events("<Event A=\"1\"/>\n<Event A=\"\n2\"</Event>\n").count(), 2);
}
