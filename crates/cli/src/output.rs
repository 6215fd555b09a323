//! Data output, and the appearance of text.

pub(crate) mod charset;
mod destination;
pub(crate) mod json_document;
mod output_path;
pub(crate) mod status_line;
mod stdout;
mod style;

pub(crate) use self::destination::Destination;
pub(crate) use self::output_path::OutputPath;
pub(crate) use self::stdout::{
    print, print_as_it_is, print_document, print_lines, print_long_document, print_source, print_trees,
};
pub(crate) use self::style::{line_width, safe};
