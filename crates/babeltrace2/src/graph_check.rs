//! Checks component classes and parameters before a command is executed.

use crate::command::{Action, Command, Component, ComponentKind, Failure, Graph};
use crate::component_list::{class_info, missing_class, missing_plugin_help, type_name};
use crate::parameter_check::check_parameters;

/// Checks that component classes exist and have these parameters.
///
/// # Errors
/// The first problem.
pub(crate) fn check(command: &Command) -> Result<(), Failure> {
    match &command.action {
        Action::Query { class, .. } if class_info(class).is_none() => {
            Err(Failure::from_cause(missing_plugin_help()).in_context(missing_class(class)))
        }
        Action::Run(graph) => check_graph(graph),
        _ => Ok(()),
    }
}

fn check_graph(graph: &Graph) -> Result<(), Failure> {
    for component in in_order(graph) {
        if class_info(&component.class).is_none() {
            let problem = "Cannot find an operative message interchange protocol version";
            return Err(Failure::from_cause(missing_plugin_help())
                .in_context(missing_class(&component.class))
                .in_context(format!("{problem} to use to create the `run` command's graph: status=ERROR"))
                .in_context("Cannot initialize the command's context."));
        }
    }
    for component in in_order(graph) {
        let Some(class) = class_info(&component.class) else { continue };
        check_parameters(class, &component.parameters).map_err(|problem| {
            Failure::from_cause(problem)
                .in_context(not_created(component))
                .in_context("Cannot create components.")
        })?;
    }
    Ok(())
}

/// Returns the components in the order in which Babeltrace creates them.
fn in_order(graph: &Graph) -> impl Iterator<Item = &Component> {
    let kinds = [ComponentKind::Source, ComponentKind::Filter, ComponentKind::Sink];
    let of_kind = |kind| graph.components.iter().filter(move |component| component.class.kind == kind);
    kinds.into_iter().flat_map(of_kind)
}

/// Returns the error message for a component that cannot be created.
pub(crate) fn not_created(component: &Component) -> String {
    let kind = type_name(component.class.kind);
    format!(
        "Cannot create component: plugin-name=\"{}\", comp-cls-name=\"{}\", comp-cls-type={kind}, comp-name=\"{}\"",
        component.class.plugin, component.class.name, component.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{query, run};

    fn problem(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (name, words) = words.split_first().unwrap();
        let action = match name.as_str() {
            "run" => run::parse(words, 1).unwrap(),
            _ => query::parse(words, 1).unwrap(),
        };
        let failure = check(&Command { log_level: None, action }).err();
        failure.map(|failure| failure.causes.join("|")).unwrap_or_default()
    }

    #[test]
    fn problems() {
        let help = missing_plugin_help();
        let missing = |name: &str, kind: &str| {
            format!(
                "Cannot find component class: plugin-name=\"a\", comp-cls-name=\"{name}\", comp-cls-type={kind}|{help}"
            )
        };
        let context = "Cannot initialize the command's context.|Cannot find an operative message interchange protocol \
                       version to use to create the `run` command's graph: status=ERROR";
        let cases = [
            ("query src.ctf.fs x", String::new()),
            ("query src.a.b x", missing("b", "SOURCE")),
            ("run -c k:sink.a.c -c s:src.a.b -x s:k", format!("{context}|{}", missing("b", "SOURCE"))),
            ("run -c k:sink.a.c -c s:src.ctf.fs -x s:k", format!("{context}|{}", missing("c", "SINK"))),
            (
                "run -c k:sink.utils.dummy -p x=1 -c s:src.ctf.fs -x s:k",
                "Cannot create components.|Cannot create component: plugin-name=\"ctf\", comp-cls-name=\"fs\", \
                 comp-cls-type=SOURCE, comp-name=\"s\"|Error validating parameters: missing mandatory entry `inputs`"
                    .to_owned(),
            ),
            ("run -c k:sink.utils.dummy -c s:src.ctf.fs -p inputs=[a] -x s:k", String::new()),
        ];
        for (line, expected) in cases {
            assert_eq!(problem(line), expected, "{line}");
        }
    }
}
