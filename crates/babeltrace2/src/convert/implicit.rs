//! Implicit components: those that options and inputs imply.

use super::component_names::ComponentNames;
use crate::command::{ComponentKind, FoundSource};
use crate::run_args::push_text_parameter;

/// Implicit component.
#[derive(Debug)]
pub(super) struct ImplicitComponent {
    pub(super) class: String,
    pub(super) exists: bool,
    name: String,
    /// Parameters in one argument.
    parameters: String,
    /// Further arguments.
    pub(super) arguments: Vec<String>,
}

impl ImplicitComponent {
    /// Creates a component that does not exist yet.
    pub(super) fn new(class: impl Into<String>) -> Self {
        let class = class.into();
        Self { class, exists: false, name: String::new(), parameters: String::new(), arguments: Vec::new() }
    }

    /// Adds a parameter.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        if !self.parameters.is_empty() {
            self.parameters.push(',');
        }
        self.parameters += &format!("{name}={value}");
    }

    /// Adds a text parameter, as a separate argument.
    pub(super) fn set_text(&mut self, name: &str, text: &str) {
        push_text_parameter(&mut self.arguments, name, text);
    }

    /// Names the component if it exists. Without a kind, it gets no place in the graph yet.
    pub(super) fn assign_name(
        &mut self,
        wanted: &str,
        kind: Option<ComponentKind>,
        names: &mut ComponentNames,
    ) {
        if !self.exists {
            return;
        }
        self.name = match kind {
            Some(kind) => {
                let name = names.unique(wanted);
                names.add(&name, kind);
                name
            }
            None => names.reserve(wanted),
        };
    }

    /// Returns the component name if it exists.
    pub(super) fn name(&self) -> Option<&str> {
        self.exists.then_some(&self.name)
    }

    /// Appends the `run` arguments for the component if it exists.
    pub(super) fn append(&self, run_arguments: &mut Vec<String>) {
        if !self.exists {
            return;
        }
        run_arguments.extend(["--component".to_owned(), format!("{}:{}", self.name, self.class)]);
        if !self.parameters.is_empty() {
            run_arguments.extend(["--params".to_owned(), self.parameters.clone()]);
        }
        run_arguments.extend(self.arguments.iter().cloned());
    }
}

/// Implicit components that options imply.
#[derive(Debug)]
pub(super) struct ImplicitComponents {
    pub(super) live: ImplicitComponent,
    pub(super) pretty: ImplicitComponent,
    pub(super) ctf: ImplicitComponent,
    pub(super) dummy: ImplicitComponent,
    pub(super) muxer: ImplicitComponent,
    pub(super) trimmer: ImplicitComponent,
    pub(super) debug_info: ImplicitComponent,
}

impl ImplicitComponents {
    /// Creates the components. Only the muxer always exists.
    pub(super) fn new() -> Self {
        Self {
            live: ImplicitComponent::new("source.ctf.lttng-live"),
            pretty: ImplicitComponent::new("sink.text.pretty"),
            ctf: ImplicitComponent::new("sink.ctf.fs"),
            dummy: ImplicitComponent::new("sink.utils.dummy"),
            muxer: ImplicitComponent { exists: true, ..ImplicitComponent::new("filter.utils.muxer") },
            trimmer: ImplicitComponent::new("filter.utils.trimmer"),
            debug_info: ImplicitComponent::new("filter.lttng-utils.debug-info"),
        }
    }

    /// Names the components, and puts the filters before explicit filters. All other components must already have
    /// names.
    pub(super) fn assign_names(&mut self, names: &mut ComponentNames) {
        self.live.assign_name("lttng-live", Some(ComponentKind::Source), names);
        self.pretty.assign_name("pretty", Some(ComponentKind::Sink), names);
        self.ctf.assign_name("sink-ctf-fs", Some(ComponentKind::Sink), names);
        self.dummy.assign_name("dummy", Some(ComponentKind::Sink), names);
        self.muxer.assign_name("muxer", None, names);
        self.trimmer.assign_name("trimmer", None, names);
        self.debug_info.assign_name("debug-info", None, names);
        let first = [&self.muxer, &self.trimmer, &self.debug_info];
        let first = first.into_iter().filter_map(|component| component.name().map(str::to_owned));
        names.filters.splice(0..0, first);
    }

    /// Appends the `run` arguments for all components.
    pub(super) fn append(&self, run_arguments: &mut Vec<String>) {
        let Self { live, pretty, ctf, dummy, muxer, trimmer, debug_info } = self;
        for component in [live, pretty, ctf, dummy, muxer, trimmer, debug_info] {
            component.append(run_arguments);
        }
    }
}

/// Returns a source class as written on the command line.
pub(super) fn source_class(source: &FoundSource) -> String {
    format!("source.{}.{}", source.class.plugin, source.class.name)
}
