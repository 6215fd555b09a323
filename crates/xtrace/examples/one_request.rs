//! One request that three programs with other tracers help to answer. `examples/one-request/record.sh` records it.
//!
//! A till sends an order over the loopback device to a proxy, which forwards it to a shop. The shop asks two programs
//! at the same time, `STOCK` and `PRICES`, and then a third program, `PRINTER`, prints the receipt. Till, proxy and
//! shop write X-Trace reports to `REPORTS`. The programs do not know these reports. They get their operation from the
//! environment variables `X_TRACE` and `TRACEPARENT`, and write it into their own traces.
//!
//! `one_request REPORTS STOCK PRICES PRINTER`
#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use ichnos_xtrace::Metadata;
use ichnos_xtrace::dialect::WithState;
use ichnos_xtrace::propagation::{Context, Reporter, Tracer, WriterReporter};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Report file shared by all parts.
#[derive(Clone)]
struct Reports(Arc<WriterReporter<File>>);

impl Reporter for Reports {
    fn report(&self, report: &[u8]) -> std::io::Result<()> {
        self.0.report(report)
    }
}

fn tracer(reports: &Reports, agent: &str) -> Tracer {
    Tracer::new(reports.clone()).with_host("workstation").with_agent(agent)
}

/// Sends a line: metadata, a blank, and the question or answer.
fn send(stream: &mut TcpStream, context: &Context, text: &str) -> Result<()> {
    Ok(stream.write_all(format!("{} {text}\n", context.metadata()).as_bytes())?)
}

/// Splits an incoming line into metadata and the rest.
fn receive(stream: &TcpStream) -> Result<(Context, String)> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let (metadata, text) = line.trim_end().split_once(' ').ok_or("a line has metadata and a text")?;
    Ok((Context::from_metadata(Metadata::parse(metadata)?.validate()?), text.to_owned()))
}

/// The till, which starts the task.
fn till(reports: &Reports, proxy: SocketAddr) -> Result<String> {
    let tracer = tracer(reports, "till");
    let mut context = Context::start();
    context.event(&tracer, "order 7: two rolls").send()?;
    let mut stream = TcpStream::connect(proxy)?;
    send(&mut stream, &context, "two rolls")?;
    let (answer, text) = receive(&stream)?;
    context.receive(answer.metadata().clone())?;
    context.event(&tracer, "hand over the receipt").send()?;
    Ok(text)
}

/// The proxy, which forwards the order and the answer.
fn proxy(reports: &Reports, listener: &TcpListener, shop: SocketAddr) -> Result<()> {
    let tracer = tracer(reports, "proxy");
    let (mut from, _) = listener.accept()?;
    let (mut context, order) = receive(&from)?;
    context.event(&tracer, "forward the order").send()?;
    let mut to = TcpStream::connect(shop)?;
    send(&mut to, &context, &order)?;
    let (answer, text) = receive(&to)?;
    context.receive(answer.metadata().clone())?;
    context.event(&tracer, "forward the answer").send()?;
    send(&mut from, &context, &text)
}

/// The shop, which asks two programs at the same time, then prints their answers with the third program.
fn shop(reports: &Reports, listener: &TcpListener, programs: &[String; 3]) -> Result<()> {
    let tracer = tracer(reports, "shop");
    let [stock, prices, printer] = programs;
    let (mut from, _) = listener.accept()?;
    let (mut context, order) = receive(&from)?;
    context.event(&tracer, "take the order").field("Order", &order).send()?;
    let mut other = context.fork();
    let (stock, price) = thread::scope(|scope| {
        let prices = scope.spawn(|| {
            other.event(&tracer, "look up prices").send()?;
            run(&other, prices, "rolls")
        });
        context.event(&tracer, "look into the stock").send()?;
        let stock = run(&context, stock, "rolls")?;
        Ok::<_, Box<dyn Error + Send + Sync>>((stock, prices.join().map_err(|_| "a thread panicked")??))
    })?;
    context.join(other)?;
    let text = format!("{stock}, {price}");
    context.event(&tracer, "make out the receipt").field("Receipt", &text).send()?;
    run(&context, printer, &text)?;
    context.event(&tracer, "answer").send()?;
    send(&mut from, &context, &text)
}

/// Runs a program for the last operation in a context, and returns its output.
fn run(context: &Context, program: &str, argument: &str) -> Result<String> {
    let metadata = context.metadata();
    let output = Command::new(program)
        .arg(argument)
        .env("X_TRACE", metadata.to_string())
        .env("TRACEPARENT", WithState::from_metadata(metadata)?.parent.to_string())
        .output()?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [reports, programs @ ..] = &*arguments else {
        return Err("expected REPORTS STOCK PRICES PRINTER".into());
    };
    let programs: &[String; 3] = programs.try_into()?;
    let reports = Reports(Arc::new(WriterReporter::new(File::create(reports)?)));
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (at_proxy, at_shop) = (listen()?, listen()?);
    let (to_proxy, to_shop) = (at_proxy.local_addr()?, at_shop.local_addr()?);
    thread::scope(|scope| {
        let others = [
            scope.spawn(|| shop(&reports, &at_shop, programs)),
            scope.spawn(|| proxy(&reports, &at_proxy, to_shop)),
        ];
        // A thread that fails leaves the others without an answer, so the error of the last thread in the chain comes
        // first.
        let receipt = till(&reports, to_proxy);
        for other in others {
            other.join().map_err(|_| "a thread panicked")??;
        }
        println!("{}", receipt?);
        Ok(())
    })
}
