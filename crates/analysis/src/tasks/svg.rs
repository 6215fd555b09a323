//! Graph as an image: time from left to right, a band for each place, all operations and all edges.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use ichnos_model::meaning::CauseKind;

use super::graph::TaskGraph;
use super::picture::{Band, CHARACTER, GAP, LABEL, MOST_LABEL, Picture, PictureMark};
use crate::xml::Escaped;
use ichnos_export::duration;

/// Row height in image units: pixels, unless scaled.
const ROW: usize = 18;
/// Space between bands.
const BAND_GAP: usize = 12;
/// Height of the area above the first band.
const TOP: usize = 72;
/// Maximum number of characters per text in a title.
const MOST_TEXT: usize = 200;
/// Maximum number of texts and places listed for a shared mark or band.
const MOST_LISTED: usize = 24;
/// Maximum number of lines. The critical path is drawn first.
const MOST_LINES: usize = 200_000;

const STYLE: &str = "text{font:12px sans-serif;paint-order:stroke;stroke:#fff;stroke-width:3px}.time,.note{fill:#777}.tick{text-anchor:middle}.left{text-anchor:end}\
.band{fill:#f5f7f9}.grid{stroke:#dde3e8;stroke-width:1}\
path{fill:none;stroke:#5b7083;stroke-width:1;stroke-opacity:.7}path.parent{stroke:#2463a5}\
path.return{stroke:#2463a5;stroke-dasharray:5 3}path.related{stroke:#999;stroke-dasharray:2 3}\
path.joined{stroke:#999;stroke-dasharray:1 3;stroke-opacity:1}path.dangling{stroke:#999;stroke-dasharray:2 3}path.cycle{stroke:#c77d1e;stroke-dasharray:6 3}\
path.critical{stroke:#c0392b;stroke-width:2.5;stroke-opacity:1}path.span{stroke:#9db8d6;stroke-width:5}\
circle,rect.group{fill:#2463a5}circle.join{fill:#c77d1e}circle.root{stroke:#16365c;stroke-width:2}\
circle.unreported{fill:#fff;stroke:#999}circle.joined{fill:#5b7083}";

/// Returns the first characters of a trace text, for display.
fn shown(text: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let mut shown: String = text.chars().take(most).map(|c| if c == '\n' { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

pub(super) fn write(graph: &TaskGraph<'_>, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    Drawing::new(graph, width).write(out)
}

/// Line between two marks, for one or several edges.
#[derive(Clone, Copy, Debug)]
struct EdgeLine {
    from: u32,
    to: u32,
    kind: EdgeLineKind,
    edges: u32,
    /// First edge's nodes.
    first: (u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum EdgeLineKind {
    Edge(CauseKind),
    Cycle,
    Critical,
}

impl EdgeLineKind {
    fn class(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Cycle => "cycle",
            Self::Edge(CauseKind::Parent) => "parent",
            Self::Edge(CauseKind::Return) => "return",
            Self::Edge(CauseKind::Related) => "related",
            Self::Edge(_) => "next",
        }
    }
}

struct Drawing<'g, 't> {
    graph: &'g TaskGraph<'t>,
    picture: Picture,
    lines: Vec<EdgeLine>,
    /// By shared mark: number of edges within it.
    within: HashMap<u32, u64>,
    /// Number of edges beyond the maximum number of lines.
    left_out: u64,
    /// Offset of each row from the top.
    tops: Vec<usize>,
}

impl<'g, 't> Drawing<'g, 't> {
    fn new(graph: &'g TaskGraph<'t>, width: Option<usize>) -> Self {
        let picture = Picture::new(graph, width);
        let mut tops = Vec::with_capacity(picture.rows);
        for (index, band) in picture.bands.iter().enumerate() {
            tops.extend(
                (band.row..band.row + band.rows).map(|row| TOP + ROW * row + BAND_GAP * index + ROW / 2),
            );
        }
        let mut drawing =
            Self { graph, picture, lines: Vec::new(), within: HashMap::new(), left_out: 0, tops };
        drawing.add_lines();
        drawing
    }

    fn add_lines(&mut self) {
        let graph = self.graph;
        let path = graph.critical_path();
        let mut known = HashMap::new();
        for pair in path.windows(2) {
            if let [from, to] = pair {
                self.add_line(&mut known, *from, *to, EdgeLineKind::Critical);
            }
        }
        // Indexes grow along the path.
        let before = |node: u32| path.binary_search(&node).ok().and_then(|at| path.get(at.checked_sub(1)?));
        for node in 0..graph.len() {
            let mut is_drawn = false;
            for edge in graph.causes(node) {
                // The path contains one of the edges between two operations.
                let is_critical = before(node) == Some(&edge.node) && !std::mem::replace(&mut is_drawn, true);
                if !is_critical {
                    self.add_line(&mut known, edge.node, node, EdgeLineKind::Edge(edge.kind));
                }
            }
        }
        for (from, to) in graph.cycles() {
            self.add_line(&mut known, *from, *to, EdgeLineKind::Cycle);
        }
        // Later elements are drawn in front.
        self.lines.sort_by_key(|line| line.kind == EdgeLineKind::Critical);
    }

    fn add_line(
        &mut self,
        known: &mut HashMap<(u32, u32, EdgeLineKind), usize>,
        from: u32,
        to: u32,
        kind: EdgeLineKind,
    ) {
        let mark = |node: u32| self.picture.mark_of.get(node as usize).copied().unwrap_or(u32::MAX);
        let first = (from, to);
        let (from, to) = (mark(from), mark(to));
        if from == to && first.0 != first.1 {
            *self.within.entry(from).or_default() += 1;
            return;
        }
        let is_full = self.lines.len() >= MOST_LINES;
        match known.get(&(from, to, kind)).and_then(|at| self.lines.get_mut(*at)) {
            Some(line) => line.edges += 1,
            None if is_full => self.left_out += 1,
            None => {
                known.insert((from, to, kind), self.lines.len());
                self.lines.push(EdgeLine { from, to, kind, edges: 1, first });
            }
        }
    }

    fn x(&self, mark: PictureMark) -> f64 {
        self.picture.left as f64 + mark.x
    }

    fn y(&self, mark: PictureMark) -> usize {
        self.tops.get(mark.row as usize).copied().unwrap_or(TOP)
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { graph, picture, .. } = self;
        let width = picture.left + picture.width + picture.right;
        let height = TOP + ROW * picture.rows + BAND_GAP * picture.bands.len();
        let joined = match picture.events.len() {
            0 => String::new(),
            1 => ", 1 joined event".to_owned(),
            count => format!(", {count} joined events"),
        };
        write!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<title>Task graph</title>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"12\" y=\"20\">{} operations, {} edges{joined}, depth {}{}</text>\n",
            graph.len(),
            graph.edges(),
            graph.depth(),
            picture.times.map_or(String::new(), |(begin, end)| format!(", {}", duration(end - begin))),
        )?;
        let notes = self.notes();
        if !notes.is_empty() {
            writeln!(out, "<text class=\"note\" x=\"12\" y=\"38\">{}</text>", Escaped(&notes))?;
        }
        self.write_bands(width, out)?;
        self.write_axis(height, out)?;
        writeln!(out, "<g>")?;
        self.write_joins(out)?;
        self.lines.iter().try_for_each(|line| self.write_line(line, out))?;
        self.write_dangling(out)?;
        writeln!(out, "</g>\n<g>")?;
        self.write_marks(out)?;
        writeln!(out, "</g>\n</svg>")
    }

    /// Returns notes about the whole image.
    fn notes(&self) -> String {
        let mut notes = Vec::new();
        if self.picture.times.is_none() {
            notes.push("no times: operations from left to right in causal order".to_owned());
        }
        let corrections = self.graph.clock_corrections();
        if let Some((_, most)) = corrections.first() {
            let most = duration(most.abs());
            notes.push(format!("clocks of {} machines corrected by up to {most}", corrections.len()));
        }
        let groups = self.picture.marks.iter().filter(|mark| mark.count > 1).count();
        if groups > 0 {
            notes.push(format!("{groups} squares: groups of operations"));
        }
        if !self.picture.is_labeled && self.graph.joined_count() > 0 {
            notes.push(format!("{} joined events not drawn", self.graph.joined_count()));
        }
        if self.left_out > 0 {
            notes.push(format!("{} edges not drawn, limit {MOST_LINES}", self.left_out));
        }
        notes.join("; ")
    }

    fn write_bands(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let picture = &self.picture;
        for (index, band) in picture.bands.iter().enumerate() {
            let y = TOP + ROW * band.row + BAND_GAP * index;
            let name = |place: u32| shown(self.graph.text(place), MOST_TEXT);
            let (label, title) = match &band.places[..] {
                [(place, count)] => (name(*place), format!("{}: {count} operations", name(*place))),
                places => {
                    let mut title = format!("{} places, {} operations:", places.len(), band.operations);
                    for (place, count) in places.iter().take(MOST_LISTED) {
                        title.push_str(&format!("\n{}: {count}", name(*place)));
                    }
                    if let Some(more) = places.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
                        title.push_str(&format!("\n{more} more"));
                    }
                    let first = places.first().map_or(String::new(), |(place, _)| name(*place));
                    (format!("{} places: {first}, …", places.len()), title)
                }
            };
            let fits = (picture.left.saturating_sub(24) as f64 / CHARACTER) as usize;
            writeln!(
                out,
                "<rect class=\"band\" x=\"0\" y=\"{}\" width=\"{width}\" height=\"{}\"/>\
                 <text x=\"12\" y=\"{}\">{}<title>{}</title></text>",
                y.saturating_sub(2),
                ROW * band.rows + 4,
                y + ROW / 2 + 4,
                Escaped(&shown(label.as_bytes(), fits)),
                EscapedLines(&title),
            )?;
            if let Some(tracer) = self.tracer(band).filter(|_| picture.is_labeled) {
                writeln!(
                    out,
                    "<text class=\"time\" x=\"12\" y=\"{}\">{}</text>",
                    y + ROW + ROW / 2 + 4,
                    Escaped(&shown(tracer, fits)),
                )?;
            }
        }
        Ok(())
    }

    /// Writes times above the bands, at round numbers.
    fn write_axis(&self, height: usize, out: &mut dyn Write) -> io::Result<()> {
        let Some((begin, end)) = self.picture.times.filter(|(begin, end)| end > begin) else { return Ok(()) };
        let most = (self.picture.width / 110).max(1) as i128;
        let mut power = 1i128;
        while power.saturating_mul(10) <= (end - begin) / most {
            power = power.saturating_mul(10);
        }
        let steps = [1, 2, 5, 10].map(|step| power.saturating_mul(step));
        let step = steps.into_iter().find(|step| (end - begin) / step <= most).unwrap_or(end - begin);
        for tick in 0..=(end - begin) / step {
            let x = self.picture.left as f64 + self.picture.x_of(begin + tick * step);
            writeln!(
                out,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{height}\"/>\
                 <text class=\"time tick\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                TOP - 8,
                TOP - 14,
                duration(tick * step),
            )?;
        }
        Ok(())
    }

    /// Writes a line from each operation to its first joined event at another place.
    fn write_joins(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut known = HashSet::new();
        for (item, (node, event)) in (self.graph.len()..).zip(&self.picture.events) {
            let place = |item: u32| self.graph.origin(self.picture.place_of(self.graph, item)).text;
            let there = place(item);
            if there == place(*node) || !known.insert((*node, there)) {
                continue;
            }
            let marks = self.picture.mark(*node).zip(self.picture.mark(item));
            let Some(((_, from), (_, to))) = marks else { continue };
            let (x1, y1, x2, y2) = (self.x(from), self.y(from), self.x(to), self.y(to));
            let title = if event.is_mention { "named in a text" } else { "the same operation" };
            let bend = f64::midpoint(x1, x2);
            writeln!(
                out,
                "<path class=\"joined\" d=\"M{x1:.1} {y1}C{bend:.1} {y1} {bend:.1} {y2} {x2:.1} {y2}\">\
                 <title>{title}</title></path>"
            )?;
        }
        Ok(())
    }

    /// Returns the tracer of the items in a band.
    fn tracer(&self, band: &Band) -> Option<&'t [u8]> {
        let [(place, _)] = &band.places[..] else { return None };
        let items = 0..self.picture.mark_of.len() as u32;
        let mut origins = items.map(|item| self.graph.origin(self.picture.place_of(self.graph, item)));
        let origin = origins.find(|origin| origin.text == *place)?;
        Some(self.graph.text(origin.tracer)).filter(|tracer| !tracer.is_empty())
    }

    fn write_line(&self, line: &EdgeLine, out: &mut dyn Write) -> io::Result<()> {
        let mark = |mark: u32| self.picture.marks.get(mark as usize).copied();
        let Some((from, to)) = mark(line.from).zip(mark(line.to)) else { return Ok(()) };
        let (x1, y1, x2, y2) = (self.x(from), self.y(from), self.x(to), self.y(to));
        write!(out, "<path class=\"{}\" d=\"M{x1:.1} {y1}", line.kind.class())?;
        if line.from == line.to {
            // A circle above the mark.
            write!(out, "c-14 -16 14 -16 0 0")?;
        } else if y1 == y2 {
            // Above marks between them.
            write!(out, "Q{:.1} {} {x2:.1} {y2}", f64::midpoint(x1, x2), y1 - ROW / 2)?;
        } else {
            let bend = ((x2 - x1) / 2.0).max(GAP);
            write!(out, "C{:.1} {y1} {:.1} {y2} {x2:.1} {y2}", x1 + bend, x2 - bend)?;
        }
        let (from, to) = line.first;
        let time = self.graph.begin(to).zip(self.graph.begin(from)).map(|(end, begin)| duration(end - begin));
        let mut title = time.unwrap_or_default();
        if line.edges > 1 {
            title = format!("{} edges, the first: {title}", line.edges);
        }
        writeln!(out, "\"><title>{title}</title></path>")
    }

    /// Writes short lines for dangling edges.
    fn write_dangling(&self, out: &mut dyn Write) -> io::Result<()> {
        let room = MOST_LINES - self.lines.len().min(MOST_LINES);
        for edge in self.graph.dangling().iter().take(room) {
            let Some((_, mark)) = self.picture.mark(edge.to) else { continue };
            let (x, y) = (self.x(mark), self.y(mark));
            writeln!(
                out,
                "<path class=\"dangling\" d=\"M{:.1} {}L{x:.1} {y}\"><title>after {} (unknown)</title></path>",
                x - 14.0,
                y - 6,
                edge.from
            )?;
        }
        Ok(())
    }

    fn write_marks(&self, out: &mut dyn Write) -> io::Result<()> {
        let groups = self.groups();
        // By row: position of the next mark.
        let mut next: Vec<f64> = vec![f64::MAX; self.picture.rows];
        let marks = self.picture.marks.iter().enumerate().rev();
        for (index, mark) in marks {
            let (x, y) = (self.x(*mark), self.y(*mark));
            let Some(end) = next.get_mut(mark.row as usize) else { continue };
            let room = end.min((self.picture.left + self.picture.width + self.picture.right) as f64) - x;
            *end = x;
            match groups.get(&(index as u32)) {
                Some(title) => writeln!(
                    out,
                    "<rect class=\"group\" x=\"{:.1}\" y=\"{}\" width=\"8\" height=\"8\"><title>{}</title></rect>",
                    x - 4.0,
                    y - 4,
                    EscapedLines(title)
                )?,
                None => self.write_item(*mark, x, y, room, out)?,
            }
        }
        Ok(())
    }

    /// Writes a mark of a single item, and its label.
    fn write_item(
        &self,
        mark: PictureMark,
        x: f64,
        y: usize,
        room: f64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Self { graph, picture, .. } = self;
        let item = mark.first;
        let (class, radius) = match graph.member(item) {
            None => ("joined", 3),
            Some(member) if member.events == 0 => ("unreported", 4),
            Some(_) => match graph.causes(item).len() {
                0 => ("root", 4),
                1 => ("", 4),
                _ => ("join", 4),
            },
        };
        let end = graph.end(item).map_or(x, |end| picture.left as f64 + picture.x_of(end));
        if end > x + 1.0 {
            writeln!(out, "<path class=\"span\" d=\"M{x:.1} {y}L{end:.1} {y}\"/>")?;
        }
        writeln!(
            out,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"{radius}\"><title>{}</title></circle>",
            EscapedLines(&self.title(item))
        )?;
        let fits = match picture.is_labeled && mark.count == 1 {
            true => picture.most_label(),
            false => (((room - 2.0 * LABEL) / CHARACTER).max(0.0) as usize).min(MOST_LABEL),
        };
        // Shorter texts are useless.
        if fits >= 4 {
            let text = shown(picture.label(graph, item), fits);
            let (class, x) = if mark.is_left { (" class=\"left\"", x - LABEL) } else { ("", x + LABEL) };
            writeln!(out, "<text{class} x=\"{x:.1}\" y=\"{}\">{}</text>", y + 4, Escaped(&text))?;
        }
        Ok(())
    }

    /// Returns the title of an operation or a joined event: name, place, identifier and time.
    fn title(&self, item: u32) -> String {
        let Self { graph, picture, .. } = self;
        let mut title = format!(
            "{}\n{}\n{}",
            shown(picture.label(graph, item), MOST_TEXT),
            shown(graph.text(graph.origin(picture.place_of(graph, item)).text), MOST_TEXT),
            graph.operation_name(item)
        );
        let time = match picture.event(graph, item) {
            Some((_, event)) => graph.corrected(event.place, event.time),
            None => graph.begin(item),
        };
        if let Some((time, (begin, _))) = time.zip(picture.times) {
            title.push_str(&format!("\n{}", duration(time - begin)));
        }
        title
    }

    /// Returns titles by shared mark.
    fn groups(&self) -> HashMap<u32, String> {
        let mut labels: HashMap<u32, BTreeMap<&[u8], u64>> = HashMap::new();
        for (item, mark) in (0..).zip(&self.picture.mark_of) {
            if self.picture.marks.get(*mark as usize).is_none_or(|mark| mark.count < 2) {
                continue;
            }
            let label = self.picture.label(self.graph, item);
            let labels = labels.entry(*mark).or_default();
            if labels.len() < MOST_LISTED || labels.contains_key(label) {
                *labels.entry(label).or_default() += 1;
            }
        }
        let title = |(mark, labels): (u32, BTreeMap<&[u8], u64>)| {
            let count = self.picture.marks.get(mark as usize).map_or(0, |mark| u64::from(mark.count));
            let mut title = format!("{count} operations");
            if let Some(within) = self.within.get(&mark) {
                title.push_str(&format!(" and {within} edges between them"));
            }
            let listed: u64 = labels.values().sum();
            for (label, number) in labels {
                title.push_str(&format!("\n{number} x {}", shown(label, 60)));
            }
            if listed < count {
                title.push_str(&format!("\n{} others", count - listed));
            }
            (mark, title)
        };
        labels.into_iter().map(title).collect()
    }
}

/// Multi-line text, escaped line by line.
struct EscapedLines<'a>(&'a str);

impl std::fmt::Display for EscapedLines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, line) in self.0.split('\n').enumerate() {
            if index > 0 {
                f.write_str("&#10;")?;
            }
            write!(f, "{}", Escaped(line))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::{Random, cases};

    use super::*;
    use crate::tasks::tests::task_of;

    /// The image has all operations and edges, each once, at their times.
    #[test]
    fn everything_is_drawn() {
        cases(60, |random: &mut Random| {
            let count = 1 + random.below(400) as u32;
            let edges: Vec<(u32, u32)> = (0..random.below(1_500))
                .map(|_| (random.below(count.into()) as u32, random.below(count.into()) as u32))
                .collect();
            // Few times, so that operations share marks.
            let times = 1 + random.below(50);
            let places = 1 + random.below(150) as u32;
            let tasks = task_of(count, &edges, |number| (random.below(times) as i64, number % places));
            let graph = tasks.graph(0);
            let drawing = Drawing::new(&graph, None);
            let marks = &drawing.picture.marks;
            assert_eq!(marks.iter().map(|mark| mark.count).sum::<u32>(), count);
            assert!(drawing.picture.bands.len() <= 64);
            for node in 0..count {
                let (_, mark) = drawing.picture.mark(node).unwrap();
                let own = drawing.picture.x_of(graph.begin(node).unwrap());
                assert!((own - mark.x).abs() < GAP, "{own} {}", mark.x);
            }
            let drawn: u64 = drawing.lines.iter().map(|line| u64::from(line.edges)).sum();
            let within: u64 = drawing.within.values().sum();
            assert_eq!(drawing.left_out, 0);
            assert_eq!(drawn + within, (graph.edges() + graph.cycles().len()) as u64);
            let mut text = Vec::new();
            drawing.write(&mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let of = |part: &str| text.matches(part).count();
            let spans = of("class=\"span\"");
            assert_eq!(of("<path ") - spans, drawing.lines.len() + graph.dangling().len());
            assert_eq!(of("<circle ") + of("class=\"group\""), marks.len());
        });
    }

    /// An image with very many operations at the same time is not large.
    #[test]
    fn pictures_are_bounded() {
        let count = 30_000;
        let edges: Vec<(u32, u32)> = (1..count).map(|node| (node - 1, node)).collect();
        let tasks = task_of(count, &edges, |number| (i64::from(number / 1_000), number % 7_000));
        let graph = tasks.graph(0);
        let mut text = Vec::new();
        write(&graph, None, &mut text).unwrap();
        assert!(text.len() < 4 << 20, "{}", text.len());
    }
}
