//! `filter.lttng-utils.debug-info`: adds binary, function and source line to events with an address.

use std::sync::Arc;

use ichnos::debug_info::{DebugInfo, DebugInfoOptions, debug_info};

use crate::command::Component;
use crate::components::parameter_values::Parameters;
use crate::native_text::path_of;
use crate::value::Map;

/// Returns `true` for this filter.
pub(crate) fn is_filter(component: &Component) -> bool {
    component.class.plugin == "lttng-utils" && component.class.name == "debug-info"
}

/// Creates the debug information of a filter from its parameters.
pub(crate) fn create(parameters: &Map) -> Arc<DebugInfo> {
    let parameters = Parameters(parameters);
    let path = |name| parameters.text(name).map(path_of);
    let mut options = DebugInfoOptions::default();
    options.debug_info_dir = path("debug-info-dir");
    options.target_prefix = path("target-prefix");
    if let Some(name) = parameters.text("debug-info-field-name") {
        name.clone_into(&mut options.field_name);
    }
    options.full_path = parameters.is_set("full-path");
    options.as_babeltrace = true;
    debug_info(options)
}
