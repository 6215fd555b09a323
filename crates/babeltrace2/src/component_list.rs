//! Plugins and component classes that exist here.

use crate::command::{ComponentClass, ComponentKind};

/// Plugin.
#[derive(Debug)]
pub(crate) struct PluginInfo {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) classes: &'static [ClassInfo],
}

/// Component class.
#[derive(Debug)]
pub(crate) struct ClassInfo {
    pub(crate) kind: ComponentKind,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: &'static [ParameterInfo],
}

/// Initialization parameter.
#[derive(Debug)]
pub(crate) struct ParameterInfo {
    pub(crate) name: &'static str,
    pub(crate) kind: ParameterKind,
    pub(crate) is_required: bool,
    pub(crate) description: &'static str,
}

/// Parameter kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Boolean,
    Signed,
    Unsigned,
    Text,
    /// A text from a list.
    Choice(&'static [&'static str]),
    /// Text array with this maximum length.
    Texts(usize),
    /// Integer or text.
    Time,
}

const COLORS: ParameterKind = ParameterKind::Choice(&["never", "auto", "always"]);
const SHOW_HIDE: ParameterKind = ParameterKind::Choice(&["show", "hide"]);

const fn optional(name: &'static str, kind: ParameterKind, description: &'static str) -> ParameterInfo {
    ParameterInfo { name, kind, is_required: false, description }
}

const fn required(name: &'static str, kind: ParameterKind, description: &'static str) -> ParameterInfo {
    ParameterInfo { name, kind, is_required: true, description }
}

const fn switch(name: &'static str, description: &'static str) -> ParameterInfo {
    optional(name, ParameterKind::Boolean, description)
}

/// All plugins.
pub(crate) static PLUGINS: &[PluginInfo] = &[
    PluginInfo { name: "ctf", description: "CTF input and output", classes: CTF },
    PluginInfo { name: "lttng-utils", description: "Help for LTTng traces", classes: LTTNG_UTILS },
    PluginInfo { name: "text", description: "Plain text input and output", classes: TEXT },
    PluginInfo { name: "utils", description: "Common parts of a graph", classes: UTILS },
];

static CTF: &[ClassInfo] = &[
    ClassInfo {
        kind: ComponentKind::Source,
        name: "fs",
        description: "Read CTF traces from the file system.",
        parameters: &[
            required("inputs", ParameterKind::Texts(usize::MAX), "directories of one trace"),
            optional("trace-name", ParameterKind::Text, "name of the trace"),
            optional("clock-class-offset-s", ParameterKind::Signed, "seconds to add to clock offsets"),
            optional("clock-class-offset-ns", ParameterKind::Signed, "nanoseconds to add to clock offsets"),
            switch("force-clock-class-origin-unix-epoch", "all clocks count from 1970"),
        ],
    },
    ClassInfo {
        kind: ComponentKind::Source,
        name: "lttng-live",
        description: "Receive CTF streams from an LTTng relay daemon.",
        parameters: &[
            required("inputs", ParameterKind::Texts(1), "address of the session"),
            optional(
                "session-not-found-action",
                ParameterKind::Choice(&["continue", "fail", "end"]),
                "reaction to a missing session",
            ),
        ],
    },
    ClassInfo {
        kind: ComponentKind::Sink,
        name: "fs",
        description: "Write CTF traces to the file system.",
        parameters: &[
            required("path", ParameterKind::Text, "output directory"),
            switch("assume-single-trace", "write into the output directory itself"),
            switch("ignore-discarded-events", "leave out discarded events"),
            switch("ignore-discarded-packets", "leave out discarded packets"),
            switch("quiet", "do not print the paths of traces"),
            optional("ctf-version", ParameterKind::Text, "1, 1.8, 2 or 2.0 (default: 2)"),
        ],
    },
];

static LTTNG_UTILS: &[ClassInfo] = &[ClassInfo {
    kind: ComponentKind::Filter,
    name: "debug-info",
    description: "Add function names and source lines to events with addresses.",
    parameters: &[
        optional(
            "debug-info-field-name",
            ParameterKind::Text,
            "name of the added field (default: debug_info)",
        ),
        optional(
            "debug-info-dir",
            ParameterKind::Text,
            "directory with debug files (default: /usr/lib/debug)",
        ),
        optional("target-prefix", ParameterKind::Text, "directory before the paths of programs"),
        switch("full-path", "print paths instead of file names"),
    ],
}];

static TEXT: &[ClassInfo] = &[
    ClassInfo {
        kind: ComponentKind::Source,
        name: "dmesg",
        description: "Read the lines of dmesg from a file or from standard input.",
        parameters: &[
            switch("no-extract-timestamp", "keep the times in the lines"),
            optional("path", ParameterKind::Text, "file (default: standard input)"),
        ],
    },
    ClassInfo {
        kind: ComponentKind::Sink,
        name: "details",
        description: "Print all details of messages.",
        parameters: &[
            optional("color", COLORS, "use colors"),
            switch("compact", "print one line per message"),
            switch("with-data", "print data messages"),
            switch("with-metadata", "print metadata"),
            switch("with-stream-class-name", "print names of stream classes"),
            switch("with-stream-class-namespace", "print namespaces of stream classes"),
            switch("with-stream-name", "print stream names"),
            switch("with-time", "print times"),
            switch("with-trace-name", "print trace names"),
            switch("with-uid", "print unique identifiers"),
            switch("with-uuid", "print UUIDs"),
        ],
    },
    ClassInfo {
        kind: ComponentKind::Sink,
        name: "pretty",
        description: "Print one line per event, as the format `text` of Babeltrace 1.",
        parameters: &[
            optional("color", COLORS, "use colors"),
            optional("path", ParameterKind::Text, "output file (default: standard output)"),
            switch("no-delta", "leave out the time since the previous event"),
            switch("clock-cycles", "print times in clock cycles"),
            switch("clock-seconds", "print times in seconds"),
            switch("clock-date", "print dates"),
            switch("clock-gmt", "print times in UTC"),
            switch("verbose", "print more"),
            optional("name-default", SHOW_HIDE, "default for names"),
            switch("name-payload", "print names of payload members"),
            switch("name-context", "print names of context members"),
            switch("name-scope", "print names of scopes"),
            switch("name-header", "print names of header members"),
            optional("field-default", SHOW_HIDE, "default for additional fields"),
            switch("field-trace", "print the trace name"),
            switch("field-trace:hostname", "print the host name"),
            switch("field-trace:domain", "print the tracing domain"),
            switch("field-trace:procname", "print the process name"),
            switch("field-trace:vpid", "print the process id"),
            switch("field-loglevel", "print the log level"),
            switch("field-emf", "print the model URI"),
            switch("field-callsite", "print the call site"),
            switch("print-enum-flags", "print the labels of several bits"),
        ],
    },
];

static UTILS: &[ClassInfo] = &[
    ClassInfo {
        kind: ComponentKind::Filter,
        name: "muxer",
        description: "Merge the messages of several inputs by time.",
        parameters: &[],
    },
    ClassInfo {
        kind: ComponentKind::Filter,
        name: "trimmer",
        description: "Discard messages outside a time range.",
        parameters: &[
            switch("gmt", "times without a date are in UTC"),
            optional("begin", ParameterKind::Time, "start of the range"),
            optional("end", ParameterKind::Time, "end of the range"),
        ],
    },
    ClassInfo {
        kind: ComponentKind::Sink,
        name: "counter",
        description: "Count messages by kind.",
        parameters: &[
            optional("step", ParameterKind::Unsigned, "number of messages between two reports"),
            switch("hide-zero", "leave out kinds without messages"),
        ],
    },
    ClassInfo {
        kind: ComponentKind::Sink,
        name: "dummy",
        description: "Read all messages and discard them.",
        parameters: &[],
    },
];

impl PluginInfo {
    /// Returns all component classes with a kind.
    pub(crate) fn classes(&self, kind: ComponentKind) -> impl Iterator<Item = &'static ClassInfo> {
        self.classes.iter().filter(move |class| class.kind == kind)
    }
}

/// Returns the plugin with a name.
pub(crate) fn plugin(name: &str) -> Option<&'static PluginInfo> {
    PLUGINS.iter().find(|plugin| plugin.name == name)
}

/// Returns a component class.
pub(crate) fn class_info(class: &ComponentClass) -> Option<&'static ClassInfo> {
    plugin(&class.plugin)?.classes(class.kind).find(|info| info.name == class.name)
}

/// Returns a kind as error messages name it.
pub(crate) fn type_name(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Source => "SOURCE",
        ComponentKind::Filter => "FILTER",
        ComponentKind::Sink => "SINK",
    }
}

/// Returns the error message for a component class that does not exist.
pub(crate) fn missing_class(class: &ComponentClass) -> String {
    let ComponentClass { kind, plugin, name } = class;
    let kind = type_name(*kind);
    format!(
        "Cannot find component class: plugin-name=\"{plugin}\", comp-cls-name=\"{name}\", comp-cls-type={kind}"
    )
}

/// Returns an explanation for a plugin that does not exist.
pub(crate) fn missing_plugin_help() -> String {
    let names: Vec<String> = PLUGINS.iter().map(|plugin| format!("`{}`", plugin.name)).collect();
    format!(
        "ichnos only has the plugins {}. It does not load others, for example in Python.",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found() {
        let class = |kind, plugin: &str, name: &str| ComponentClass {
            kind,
            plugin: plugin.to_owned(),
            name: name.to_owned(),
        };
        let pretty = class_info(&class(ComponentKind::Sink, "text", "pretty")).unwrap();
        assert_eq!(pretty.parameters.len(), 23);
        for missing in [
            class(ComponentKind::Source, "text", "pretty"),
            class(ComponentKind::Sink, "txt", "pretty"),
            class(ComponentKind::Sink, "text", "prettier"),
        ] {
            assert!(class_info(&missing).is_none(), "{missing:?}");
        }
        let expected =
            "Cannot find component class: plugin-name=\"a\", comp-cls-name=\"b\", comp-cls-type=FILTER";
        assert_eq!(missing_class(&class(ComponentKind::Filter, "a", "b")), expected);
    }

    #[test]
    fn names_are_unique() {
        for plugin in PLUGINS {
            for class in plugin.classes {
                let same = plugin.classes(class.kind).filter(|other| other.name == class.name).count();
                assert_eq!(same, 1, "{}.{}", plugin.name, class.name);
                for parameter in class.parameters {
                    let same = class.parameters.iter().filter(|other| other.name == parameter.name).count();
                    assert_eq!(same, 1, "{}.{}: {}", plugin.name, class.name, parameter.name);
                }
            }
        }
    }
}
