use ichnos::export::*;
use ichnos::prelude::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap();
    let paths: Vec<String> = args.collect();
    let session = match ichnos::open(&paths, &OpenOptions::default()) {
        Ok(s) => s,
        Err(e) => {
            if let ichnos::OpenError::Refused(r) = &e {
                for d in r.iter().flat_map(|r| &r.diagnostics).take(3) {
                    eprintln!("REFUSED {d}");
                }
            }
            eprintln!("{e}");
            std::process::exit(2)
        }
    };
    let mut cursor = session.cursor(Window::default()).unwrap();
    let out = std::io::stdout().lock();
    let mut p = PrettyOptions::default();
    p.clock_gmt = true;
    let mut d = DetailsOptions::default();
    d.trace_name = false;
    d.stream_name = false;
    match kind.as_str() {
        "pretty" => pump(&mut cursor, &mut Pretty::new(out, p)).unwrap(),
        "all" => {
            p.names = PrettyNames::ALL;
            p.fields = PrettyFields::ALL;
            p.color = true;
            p.fields.trace = false;
            pump(&mut cursor, &mut Pretty::new(out, p)).unwrap()
        }
        "color" => {
            p.color = true;
            pump(&mut cursor, &mut Pretty::new(out, p)).unwrap()
        }
        "details" => pump(&mut cursor, &mut Details::new(out, d)).unwrap(),
        "jsonl" => {
            let mut o = JsonLinesOptions::default();
            o.packets = true;
            pump(&mut cursor, &mut JsonLines::new(out, o)).unwrap()
        }
        _ => {
            let mut n = Null::new();
            pump(&mut cursor, &mut n).unwrap();
            println!("{:?}", n.statistics());
        }
    }
}
