//! `ichnos formats`, `ichnos completions` and `ichnos man`: information about the program.

use std::path::Path;

use clap::CommandFactory as _;
use ichnos::convert::VIEWER_FORMATS;
use ichnos::export::text::{Branch, Paint};
use ichnos::json::write::ValueWriter;
use ichnos::{FormatOption, OptionValue};

use crate::args::{Completions, Formats, LowArgs, Man, TextFormat, format_flags};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Console;

pub(crate) fn run(args: &Formats, console: Console) -> Result<Exit, Failure> {
    if args.report.json {
        print_json(args)?;
    } else {
        print_text(console.paint())?;
    }
    Ok(Exit::Success)
}

/// Returns the names of formats that can only be written: viewer files, and tables if their feature is enabled.
fn only_written() -> [(&'static str, Vec<&'static str>); 2] {
    let viewers: Vec<&str> = VIEWER_FORMATS.iter().map(|viewer| viewer.name).collect();
    let is_read = |name: &str| ichnos::formats().any(|format| format.name == name);
    let tables = ichnos::convert::targets().map(|target| target.format);
    let tables = tables.filter(|name| !is_read(name) && !viewers.contains(name)).collect();
    [("viewers", viewers), ("tables", tables)]
}

/// Returns the options for writing these formats, without duplicates.
fn options_of(names: &[&str]) -> Vec<&'static FormatOption> {
    let mut options: Vec<&FormatOption> = Vec::new();
    let targets = ichnos::convert::targets().filter(|target| names.contains(&target.format));
    for option in targets.flat_map(|target| target.writer.options()) {
        if options.iter().all(|known| known.name != option.name) {
            options.push(option);
        }
    }
    options
}

fn print_json(args: &Formats) -> Result<(), Failure> {
    Ok(output::print_document("formats", args.report.integers, |object| {
        let mut list = object.member("formats").array();
        for format in ichnos::formats() {
            let mut entry = list.element().object();
            entry.member("name").string(format.name);
            entry.member("title").string(format.title);
            entry.member("versions").string(format.versions);
            entry.member("recognized_by").string(format.detection);
            write_options(entry.member("options"), format.options);
            let options = format.writer.map_or(&[][..], |writer| writer.options());
            write_options(entry.member("write_options"), options);
            entry.member("reads").boolean(true);
            entry.member("writes").boolean(format.writer.is_some());
            let dialects = format.writer.map_or(&[][..], |writer| writer.dialects());
            write_values(entry.member("written_dialects"), dialects);
            entry.end();
        }
        list.end();
        // Without the feature, the document does not mention tables.
        for (kind, names) in only_written().into_iter().filter(|(_, names)| !names.is_empty()) {
            object.member(kind).strings(names);
        }
        let mut list = object.member("texts").array();
        for format in TextFormat::all() {
            let mut entry = list.element().object();
            entry.member("name").string(format.name);
            entry.member("description").string(format.about);
            entry.end();
        }
        list.end();
    })?)
}

fn write_options(place: ValueWriter<'_>, options: &[FormatOption]) {
    let mut list = place.array();
    for option in options {
        let mut entry = list.element().object();
        entry.member("name").string(option.name);
        entry.member("description").string(option.about);
        write_values(entry.member("values"), option.values());
        entry.end();
    }
    list.end();
}

fn write_values(place: ValueWriter<'_>, values: &[OptionValue]) {
    let mut list = place.array();
    for value in values {
        let mut entry = list.element().object();
        entry.member("value").string(value.name);
        entry.member("description").string(value.about);
        entry.end();
    }
    list.end();
}

fn print_text(paint: Paint) -> Result<(), Failure> {
    let mut text = String::new();
    for format in ichnos::formats() {
        let does = if format.writer.is_some() { "reads and writes" } else { "reads" };
        let mut root = Branch::new(format!("{}: {} ({does})", paint.name(format.name), format.title));
        root.line(format!("versions: {}", format.versions));
        root.line(format!("recognized by {}", format.detection));
        for option in format.options {
            let name = format_flags::name(&format!("{}.{}", format.name, option.name));
            root.add(option_branch(&name, option, paint));
        }
        if let Some(writer) = format.writer.filter(|writer| !writer.dialects().is_empty()) {
            let mut branch = Branch::new(format!("{}: output dialects", paint.name("convert --to-dialect")));
            for dialect in writer.dialects() {
                branch.line(format!("{}: {}", paint.name(dialect.name), dialect.about));
            }
            root.add(branch);
        }
        for option in format.writer.map_or(&[][..], |writer| writer.options()) {
            root.add(option_branch(&format!("convert --{}", option.name), option, paint));
        }
        root.render(&mut text);
    }
    for (kind, names) in only_written().into_iter().filter(|(_, names)| !names.is_empty()) {
        let kind = if kind == "viewers" { "viewer files" } else { kind };
        let mut branch = Branch::new(format!("{kind} written by `ichnos convert --to`"));
        for name in &names {
            branch.line(paint.name(name));
        }
        for option in options_of(&names) {
            branch.add(option_branch(&format!("convert --{}", option.name), option, paint));
        }
        branch.render(&mut text);
    }
    let mut containers = Branch::new("reads traces from");
    containers.line("directories, at any depth");
    containers.line("archives: tar, tar.gz, tar.zst, tar.xz, zip");
    containers.line("the standard input: an archive");
    containers.render(&mut text);
    let mut prints = Branch::new("printed by `ichnos cat --format`");
    for format in TextFormat::all() {
        prints.line(format!("{}: {}", paint.name(format.name), format.about));
    }
    prints.render(&mut text);
    Ok(output::print(&text, paint)?)
}

/// Describes an option and its values.
fn option_branch(name: &str, option: &FormatOption, paint: Paint) -> Branch {
    let mut branch = Branch::new(format!("{}: {}", paint.name(name), option.about));
    for value in option.values() {
        branch.line(format!("{}: {}", paint.name(value.name), value.about));
    }
    branch
}

pub(crate) fn completions(args: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut LowArgs::command(), "ichnos", &mut script);
    output::print_as_it_is(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

pub(crate) fn man(args: &Man) -> Result<Exit, Failure> {
    // Pages for `help` would only repeat the first lines of all other pages.
    let without_help = |command: clap::Command| command.disable_help_subcommand(true);
    let mut command = without_help(LowArgs::command()).mut_subcommands(without_help);
    command.build();
    let source = format!("ichnos {}", env!("CARGO_PKG_VERSION"));
    if let Some(directory) = &args.directory {
        std::fs::create_dir_all(directory).and_then(|()| write_pages(&command, &source, directory)).map_err(
            |error| Failure::new(format!("{}: the pages cannot be written: {error}", directory.display())),
        )?;
        return Ok(Exit::Success);
    }
    let page = match &args.page {
        None => command,
        Some(verb) => match command.find_subcommand(verb) {
            Some(found) => found.clone(),
            None => {
                let verbs = command.get_subcommands().map(clap::Command::get_name);
                let verbs: Vec<&str> = verbs.collect();
                return Err(Failure::new(format!("unknown command `{verb}`")).help(format!(
                    "the commands are {}; without a command: the page of ichnos",
                    verbs.join(", ")
                )));
            }
        },
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).source(source).render(&mut text)?;
    output::print_as_it_is(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Success)
}

/// Writes the manual pages for a command and its subcommands.
fn write_pages(command: &clap::Command, source: &str, directory: &Path) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).source(source).render(&mut text)?;
    std::fs::write(directory.join(format!("{name}.1")), text)?;
    command.get_subcommands().try_for_each(|command| write_pages(command, source, directory))
}
