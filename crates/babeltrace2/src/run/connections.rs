//! Connections between components: `UPSTREAM[.PORT]:DOWNSTREAM[.PORT]`.

use std::collections::{BTreeMap, BTreeSet};

use crate::arguments::escapes::{is_printable, text_until};
use crate::command::{Component, ComponentKind, Connection};

/// Connection, and the argument that describes it.
struct Described<'a> {
    connection: Connection,
    argument: &'a str,
}

/// Parses connections between components, and checks that they form a graph.
///
/// # Errors
/// The first problem, with the argument.
pub(crate) fn parse_connections(
    arguments: &[String],
    components: &[Component],
) -> Result<Vec<Connection>, String> {
    if components.iter().any(|component| !is_printable(&component.name)) {
        return Err("The name of a component contains a non-printable character\n".to_owned());
    }
    let mut all = Vec::new();
    for argument in arguments {
        let Some(connection) = parse_connection(argument) else {
            return Err(format!("Cannot parse --connect option's argument:\n    {argument}\n"));
        };
        all.push(Described { connection, argument });
    }
    let kinds: BTreeMap<&str, ComponentKind> =
        components.iter().map(|component| (component.name.as_str(), component.class.kind)).collect();
    check_ends(&all, &kinds)?;
    check_directions(&all, &kinds)?;
    check_all_connected(&all, components)?;
    check_unique(&all)?;
    check_no_cycle(&all)?;
    Ok(all.into_iter().map(|described| described.connection).collect())
}

fn parse_connection(argument: &str) -> Option<Connection> {
    if !is_printable(argument) {
        return None;
    }
    let (upstream, upstream_port, end, rest) = end_point(argument)?;
    if end != Some(':') {
        return None;
    }
    let (downstream, downstream_port, end, _) = end_point(rest)?;
    if end.is_some() {
        return None;
    }
    Some(Connection { upstream, upstream_port, downstream, downstream_port })
}

/// Parses a component name and a port pattern. Returns them with the character after them, and the rest.
fn end_point(text: &str) -> Option<(String, String, Option<char>, &str)> {
    let split = |text: &'static [char], input| text_until(input, text, &['.', ':']);
    let (name, end) = split(&['.', ':', '\\'], text);
    let (mark, rest) = mark_at(text, end);
    if name.is_empty() {
        return None;
    }
    if mark != Some('.') {
        return Some((name, "*".to_owned(), mark, rest));
    }
    let (port, end) = split(&['.', ':'], rest);
    if port.is_empty() || has_reserved_characters(&port) {
        return None;
    }
    let (mark, rest) = mark_at(rest, end);
    Some((name, normalized(&port), mark, rest))
}

fn mark_at(text: &str, position: usize) -> (Option<char>, &str) {
    let mut rest = text.get(position..).unwrap_or_default().chars();
    (rest.next(), rest.as_str())
}

/// Returns `true` if a pattern has characters without a backslash that are reserved for richer patterns.
fn has_reserved_characters(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '?' | '[' => return true,
            _ => {}
        }
    }
    false
}

/// Returns a pattern without repeated stars.
fn normalized(pattern: &str) -> String {
    let mut text = String::new();
    let mut was_star = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == '*' && was_star {
            continue;
        }
        was_star = character == '*';
        text.push(character);
        if character == '\\' {
            text.extend(characters.next());
        }
    }
    text
}

fn check_ends(all: &[Described<'_>], kinds: &BTreeMap<&str, ComponentKind>) -> Result<(), String> {
    for Described { connection, argument } in all {
        for (side, name) in [("upstream", &connection.upstream), ("downstream", &connection.downstream)] {
            if !kinds.contains_key(name.as_str()) {
                let problem = format!("cannot find {side} component `{name}`");
                return Err(format!("Invalid connection: {problem}:\n    {argument}\n"));
            }
        }
    }
    Ok(())
}

fn check_directions(all: &[Described<'_>], kinds: &BTreeMap<&str, ComponentKind>) -> Result<(), String> {
    for Described { connection: Connection { upstream, downstream, .. }, argument } in all {
        let is_to_source = kinds.get(downstream.as_str()) == Some(&ComponentKind::Source);
        let kind = match kinds.get(upstream.as_str()) {
            Some(ComponentKind::Source) if is_to_source => "source",
            Some(ComponentKind::Filter) if is_to_source => "filter",
            Some(ComponentKind::Sink) => {
                let problem =
                    format!("cannot connect sink component `{upstream}` to component `{downstream}`");
                return Err(format!("Invalid connection: {problem}:\n    {argument}\n"));
            }
            _ => continue,
        };
        let problem = format!("{kind} component `{upstream}` not connected to filter or sink component");
        return Err(format!("Invalid connection: {problem}:\n    {argument}\n"));
    }
    Ok(())
}

fn check_all_connected(all: &[Described<'_>], components: &[Component]) -> Result<(), String> {
    let ends = |described| {
        let Described { connection, .. }: &Described<'_> = described;
        [connection.upstream.clone(), connection.downstream.clone()]
    };
    let connected: BTreeSet<String> = all.iter().flat_map(ends).collect();
    for kind in [ComponentKind::Source, ComponentKind::Filter, ComponentKind::Sink] {
        let mut of_kind = components.iter().filter(|component| component.class.kind == kind);
        if let Some(alone) = of_kind.find(|component| !connected.contains(&component.name)) {
            return Err(format!("Component `{}` is not connected\n", alone.name));
        }
    }
    Ok(())
}

fn check_unique(all: &[Described<'_>]) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for Described { connection, argument } in all {
        let Connection { upstream, upstream_port, downstream, downstream_port } = connection;
        if !known.insert((upstream, upstream_port, downstream, downstream_port)) {
            return Err(format!("Duplicate connection:\n    {argument}\n"));
        }
    }
    Ok(())
}

fn check_no_cycle(all: &[Described<'_>]) -> Result<(), String> {
    let mut from: BTreeMap<&str, Vec<&Described<'_>>> = BTreeMap::new();
    for described in all {
        from.entry(&described.connection.upstream).or_default().push(described);
    }
    let mut finished: BTreeSet<&str> = BTreeSet::new();
    for described in all {
        // Components on the current path, each with a count: its connections that are already followed.
        let mut path = vec![(described.connection.upstream.as_str(), 0_usize)];
        let mut on_path: BTreeSet<&str> = path.iter().map(|(name, _)| *name).collect();
        while let Some((name, followed)) = path.last_mut() {
            let next = match finished.contains(name) {
                true => None,
                false => from.get(name).and_then(|connections| connections.get(*followed)),
            };
            *followed = followed.saturating_add(1);
            let Some(next) = next else {
                on_path.remove(name);
                finished.insert(name);
                path.pop();
                continue;
            };
            let name = next.connection.downstream.as_str();
            if !on_path.insert(name) {
                let problem = "connection forms a cycle";
                return Err(format!("Invalid connection: {problem}:\n    {}\n", next.argument));
            }
            path.push((name, 0));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::class_name::parse_named_class;

    #[test]
    fn connections() {
        let text = |argument: &str| {
            parse_connection(argument).map(|connection| {
                let Connection { upstream, upstream_port, downstream, downstream_port } = connection;
                [upstream, upstream_port, downstream, downstream_port].join(" ")
            })
        };
        let cases = [
            ("a:b", Some("a * b *")),
            ("a.x:b.y", Some("a x b y")),
            (r"a\.\:\\c:b", Some(r"a.:\c * b *")),
            (r"a.x\.y\:z:b.**\*?", None),
            (r"a.x\.y\:z:b.**\?*", Some(r"a x.y:z b *\?*")),
            (r"a.**\**:b", Some(r"a *\** b *")),
            (r"a.x\\\[:b", Some(r"a x\\\[ b *")),
            ("a", None),
            ("a:", None),
            (":b", None),
            ("a.:b", None),
            ("a.x:b.", None),
            ("a.x", None),
            ("a.x.y:b", None),
            ("a:b:c", None),
            ("a:b.x:c", None),
            ("a.[x]:b", None),
            ("é:b", None),
        ];
        for (argument, expected) in cases {
            assert_eq!(text(argument).as_deref(), expected, "{argument}");
        }
    }

    #[test]
    fn graphs() {
        let component = |name: &str| {
            let kind = match name.chars().next() {
                Some('s') => "source",
                Some('f') => "filter",
                _ => "sink",
            };
            let class = parse_named_class(&format!("{kind}.a.b"), "").unwrap().class;
            Component { name: name.to_owned(), class, parameters: Default::default(), log_level: None }
        };
        let names = ["s1", "s2", "f1", "f2", "k1"];
        let start = ["s1:f1", "s2:f1", "f1:f2", "f2:k1"];
        let cases: &[(&[&str], &str)] = &[
            (&start, ""),
            (&["s1:k1"], "Component `s2` is not connected\n"),
            (&["s1:k1", "s2:f1"], "Component `f2` is not connected\n"),
            (
                &["s1:s2"],
                "Invalid connection: source component `s1` not connected to filter or sink component:\n    s1:s2\n",
            ),
            (
                &["f1:s2"],
                "Invalid connection: filter component `f1` not connected to filter or sink component:\n    f1:s2\n",
            ),
            (
                &["k1:f1"],
                "Invalid connection: cannot connect sink component `k1` to component `f1`:\n    k1:f1\n",
            ),
            (&["x:f1"], "Invalid connection: cannot find upstream component `x`:\n    x:f1\n"),
            (&["s1:x.*"], "Invalid connection: cannot find downstream component `x`:\n    s1:x.*\n"),
            (&["s1:f1", "s2:f1", "f1:f2", "f2:k1", "s1.*:f1"], "Duplicate connection:\n    s1.*:f1\n"),
            (
                &["s1:f1", "s2:f1", "f1:f2", "f2:k1", "f2:f1"],
                "Invalid connection: connection forms a cycle:\n    f2:f1\n",
            ),
            (
                &["s1:f1", "s2:f1", "f1:f1", "f1:f2", "f2:k1"],
                "Invalid connection: connection forms a cycle:\n    f1:f1\n",
            ),
            (&["s1"], "Cannot parse --connect option's argument:\n    s1\n"),
        ];
        let components: Vec<Component> = names.iter().map(|name| component(name)).collect();
        for (arguments, expected) in cases {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            let error = parse_connections(&arguments, &components).err().unwrap_or_default();
            assert_eq!(error, *expected, "{arguments:?}");
        }
    }

    /// A cycle is found in a graph with very many paths.
    #[test]
    fn many_paths() {
        let describe = |argument: String| {
            let connection = parse_connection(&argument).unwrap();
            (argument, connection)
        };
        let mut all = Vec::new();
        for level in 0..50 {
            all.push(describe(format!("f{level}.a:f{}", level + 1)));
            all.push(describe(format!("f{level}.b:f{}", level + 1)));
        }
        let described = |all: &[(String, Connection)]| {
            let all: Vec<Described<'_>> = all
                .iter()
                .map(|(argument, connection)| Described { connection: connection.clone(), argument })
                .collect();
            check_no_cycle(&all)
        };
        assert_eq!(described(&all), Ok(()));
        all.push(describe("f50:f7".to_owned()));
        assert!(described(&all).is_err());
    }
}
