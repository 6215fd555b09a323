//! `ichnos schema --as`: prints the schema of a trace in another language.

use std::borrow::Cow;

use ichnos::Session;
use ichnos::io::SchemaLanguage;
use ichnos::model::TraceClass;
use ichnos::model::trace::Limits;

use crate::args::schema_language::languages;
use crate::exit::Failure;
use crate::output;
use crate::progress::Console;

/// Maximum number of problems in an error.
const SHOWN: usize = 20;

/// Prints the schema of the only trace. `classes` are the selected classes, one per trace.
pub(crate) fn print(
    name: &str,
    session: &Session,
    classes: &[Cow<'_, TraceClass>],
    limits: Limits,
    console: Console,
) -> Result<(), Failure> {
    let is_named = |language: &&SchemaLanguage| language.name == name || language.aliases.contains(&name);
    let Some(language) = languages().find(is_named) else {
        return Err(Failure::new(format!("unknown schema language `{name}`")));
    };
    let ([trace], [class]) = (session.traces(), classes) else {
        let paths = session.traces().iter().map(|trace| trace.path().to_owned());
        let message = format!("--as {name}: expected one trace, found {}", session.traces().len());
        return Err(Failure::new(message).details(paths.take(SHOWN).collect()).help("name one trace"));
    };
    let written = (language.write)(class, &limits).map_err(|mut unsupported| {
        let more = unsupported.len().saturating_sub(SHOWN);
        unsupported.truncate(SHOWN);
        if more > 0 {
            unsupported.push(format!("and {more} more"));
        }
        let message = format!("{}: the schema cannot be expressed as {}", trace.path(), language.title);
        Failure::new(message).details(unsupported).help(
            "`ichnos convert -o OUT --to-dialect DIALECT` simplifies such parts and writes OUT/metadata",
        )
    })?;
    written.notices.iter().for_each(|notice| console.notice(&format!("{}: {notice}", trace.path())));
    Ok(output::print_source(&written.text)?)
}
