//! A graph as a picture: operations below each other in order of time, with edges in lanes beside them.

use std::io::{self, Write};

use ichnos_model::CauseKind;

use super::graph::TaskGraph;
use super::lanes::LaneRow;
use crate::time::duration;
use crate::xml::Escaped;

/// Height of a row, in the units of the picture, which are pixels unless it is scaled.
const ROW: usize = 22;
/// Width of a lane.
const LANE: usize = 16;
/// Where lanes begin: times are left of them.
const LEFT: usize = 100;
/// Height of what stands above the first row.
const TOP: usize = 48;
/// Width of what is written beside the lanes.
const TEXT: usize = 900;
/// As many characters of a text are shown.
const MOST_TEXT: usize = 110;

const STYLE: &str = "text{font:12px sans-serif}.time{fill:#777;text-anchor:end}.place{fill:#777}\
path{fill:none;stroke:#5b7083;stroke-width:1.5}path.parent{stroke:#2463a5}path.return{stroke:#2463a5;stroke-dasharray:5 3}\
path.related{stroke:#999;stroke-dasharray:2 3}path.critical{stroke:#c0392b;stroke-width:3}\
circle{fill:#2463a5}circle.join{fill:#c77d1e}circle.unreported{fill:#fff;stroke:#999}";

/// Says how many edges are not drawn.
fn not_drawn(graph: &TaskGraph<'_>, rows: &[LaneRow]) -> String {
    let undrawn: usize = rows.iter().map(|row| row.undrawn_causes.len()).sum();
    match undrawn + graph.dangling().len() + graph.cycles().len() {
        0 => String::new(),
        count => format!("; not drawn: {count} edges that dangle, close a cycle, or have no room"),
    }
}

pub(super) fn write(graph: &TaskGraph<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rows = graph.lanes();
    let lanes = rows.iter().map(|row| row.above.len().max(row.below.len()).max(row.lane + 1)).max();
    let (width, height) = (LEFT + LANE * lanes.unwrap_or(1) + TEXT, TOP + ROW * rows.len() + ROW);
    let x = |lane: usize| LEFT + LANE * lane;
    let y = |node: u32| TOP + ROW * node as usize;
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<title>Task graph</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\">{} operations, {} edges, depth {}{}</text>\n<g>\n",
        graph.len(),
        graph.edges(),
        graph.depth(),
        not_drawn(graph, &rows)
    )?;
    let path = graph.critical_path();
    let is_critical = |from: u32, to: u32| {
        // Times and indexes grow along the path.
        path.binary_search(&to).is_ok_and(|at| at > 0 && path.get(at - 1) == Some(&from))
    };
    for (row, node) in rows.iter().zip(0..) {
        for (target, lane) in &row.edges {
            let Some(end) = rows.get(*target as usize) else { continue };
            let kind = graph.edge(node, *target);
            let class = match kind {
                _ if is_critical(node, *target) => "critical",
                Some(CauseKind::Parent) => "parent",
                Some(CauseKind::Return) => "return",
                Some(CauseKind::Related) => "related",
                _ => "next",
            };
            let (x1, x2, x3) = (x(row.lane), x(*lane), x(end.lane));
            let (y1, y4) = (y(node), y(*target));
            let (y2, y3) = (y1 + ROW, y4 - ROW);
            write!(out, "<path class=\"{class}\" d=\"M{x1} {y1}")?;
            if x1 != x2 {
                write!(out, "C{x1} {} {x2} {} {x2} {y2}", y1 + ROW / 2, y1 + ROW / 2)?;
            }
            if y3 > y2 || x2 == x3 {
                write!(out, "L{x2} {}", if x2 == x3 { y4 } else { y3 })?;
            }
            if x2 != x3 {
                let from = y3.max(if x1 == x2 { y1 } else { y2 });
                let middle = from.midpoint(y4);
                write!(out, "C{x2} {middle} {x3} {middle} {x3} {y4}")?;
            }
            let time = graph.begin(*target).zip(graph.begin(node)).map(|(end, begin)| duration(end - begin));
            writeln!(out, "\"><title>{}</title></path>", time.unwrap_or_default())?;
        }
    }
    writeln!(out, "</g>\n<g>")?;
    let first = (0..graph.len()).filter_map(|node| graph.begin(node)).min();
    for (row, node) in rows.iter().zip(0..) {
        let Some(member) = graph.member(node) else { continue };
        let class = match graph.causes(node).len() {
            _ if member.events == 0 => "unreported",
            0 | 1 => "",
            _ => "join",
        };
        let (cx, cy) = (x(row.lane), y(node));
        let lanes = row.above.len().max(row.below.len()).max(row.lane + 1);
        let label = String::from_utf8_lossy(member.label);
        let place = String::from_utf8_lossy(member.place);
        let place: String = place.chars().take(MOST_TEXT).collect();
        let shown: String = label.chars().take(MOST_TEXT).collect();
        if let Some((begin, first)) = graph.begin(node).zip(first) {
            let time = duration(begin - first);
            writeln!(out, "<text class=\"time\" x=\"{}\" y=\"{}\">{time}</text>", LEFT - 14, cy + 4)?;
        }
        writeln!(
            out,
            "<circle class=\"{class}\" cx=\"{cx}\" cy=\"{cy}\" r=\"4\"><title>{}</title></circle>\
             <text x=\"{}\" y=\"{}\">{} <tspan class=\"place\">{}</tspan></text>",
            member.id,
            x(lanes) + 4,
            cy + 4,
            Escaped(&shown),
            Escaped(&place),
        )?;
    }
    writeln!(out, "</g>\n</svg>")
}
