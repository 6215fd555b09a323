//! Flame graph as an image for browsers.

use std::io::{self, Write};

use super::profile::StackProfile;
use super::tree::CallTree;
use super::{StackRoots, StackWeight};
use crate::xml::Escaped;

/// Default width of the image in its own units: pixels, unless scaled.
const WIDTH: u16 = 1_200;
/// Frame height.
const ROW: usize = 16;
/// Height of the area above the frames.
const HEAD: usize = 40;
/// Minimum frame width. Narrower frames are dropped: they are invisible, and there can be very many.
const NARROWEST: f64 = 0.1;
/// Character width.
const CHARACTER: f64 = 7.3;

/// Script for clicks and searches.
const SCRIPT: &str = include_str!("svg/flame_graph.js");
const STYLE: &str = include_str!("svg/flame_graph.css");

/// Frame in the image.
struct FrameBox {
    call: u32,
    depth: usize,
    /// Total weight of frames to the left.
    begin: u64,
}

pub(super) fn write(
    profile: &StackProfile,
    roots: StackRoots,
    width: Option<u16>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let image = f64::from(width.unwrap_or(WIDTH));
    let tree = CallTree::new(profile, roots);
    let total = profile.weight().max(1);
    let scale = image / total as f64;
    let mut frames = Vec::new();
    // By depth: start of the next frame.
    let mut next: Vec<u64> = Vec::new();
    let visited: Result<(), ()> = tree.visit(|call, depth| {
        let begin = next.get(depth).copied().unwrap_or_default();
        let weight = tree.all[call as usize].weight;
        next.truncate(depth);
        next.push(begin.saturating_add(weight));
        // Called functions start at the same position.
        next.push(begin);
        if weight as f64 * scale >= NARROWEST {
            frames.push(FrameBox { call, depth, begin });
        }
        Ok(())
    });
    debug_assert!(visited.is_ok());
    let depth = frames.iter().map(|frame| frame.depth + 1).max().unwrap_or_default();
    // One extra row for the root of all frames.
    let height = HEAD + ROW * (depth + 1) + ROW;
    let bottom = HEAD + ROW * depth;
    let unit = match &profile.weight {
        StackWeight::Samples => "samples",
        StackWeight::Time | StackWeight::TimeBefore => "ns",
        StackWeight::Field(name) => name,
    };
    let title = if profile.title.is_empty() { "Stacks" } else { &profile.title };
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{image}\" height=\"{height}\" \
         viewBox=\"0 0 {image} {height}\">\n\
         <title>{title}</title>\n\
         <style>{STYLE}</style>\n\
         <rect id=\"background\" width=\"100%\" height=\"100%\"/>\n\
         <text id=\"heading\" x=\"{}\" y=\"20\">{title}</text>\n\
         <text id=\"reset\" class=\"button\" x=\"6\" y=\"20\">Reset zoom</text>\n\
         <text id=\"search\" class=\"button\" x=\"{}\" y=\"20\">Search</text>\n\
         <text id=\"found\" x=\"{}\" y=\"{}\"></text>\n\
         <g id=\"frames\">\n",
        image / 2.0,
        image - 6.0,
        image - 6.0,
        height - 4,
        title = Escaped(title),
    )?;
    let total_text = format!("{total} {unit}");
    write_frame(out, 0.0, bottom, image, "all", &total_text, 1.0)?;
    for frame in &frames {
        let weight = tree.all[frame.call as usize].weight;
        let (x, width) = (frame.begin as f64 * scale, weight as f64 * scale);
        let y = bottom - ROW * (frame.depth + 1);
        let text = format!("{weight} {unit}");
        write_frame(out, x, y, width, tree.label(frame.call), &text, weight as f64 / total as f64)?;
    }
    // In CDATA, only its end needs escaping, and the script does not contain it.
    write!(out, "</g>\n<script><![CDATA[{SCRIPT}]]></script>\n</svg>\n")
}

/// Writes a frame. The script reads position, width and name from it.
fn write_frame(
    out: &mut dyn Write,
    x: f64,
    y: usize,
    width: f64,
    label: &str,
    weight: &str,
    part: f64,
) -> io::Result<()> {
    let room = ((width - 6.0).max(0.0) / CHARACTER) as usize;
    let shown: String = match label.chars().count() {
        length if length <= room => label.to_owned(),
        _ if room < 3 => String::new(),
        _ => label.chars().take(room - 2).chain("..".chars()).collect(),
    };
    writeln!(
        out,
        "<g><title>{} ({}, {:.2} %)</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" fill=\"{}\"/>\
         <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
        Escaped(label),
        Escaped(weight),
        part * 100.0,
        ROW - 1,
        color(label),
        x + 3.0,
        y + 12,
        Escaped(&shown)
    )
}

/// Returns a warm color. It depends only on the name, so it is the same in all images.
fn color(label: &str) -> String {
    let hash =
        label.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let part = |shift: u32, range: u32| (hash >> shift & 0xff) * range / 256;
    format!("rgb({},{},{})", 205 + part(0, 50), 60 + part(8, 150), part(16, 60))
}
