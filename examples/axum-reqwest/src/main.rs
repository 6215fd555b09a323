//! Two servers of axum and a client of reqwest, whose request is traced with X-Trace.
//!
//! A till orders two rolls from a shop, which asks a stock, answers, and prints the receipt in a task of tokio. All of
//! them report to a collector; `README.md` says how to run it.
#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{Request, Response, StatusCode};
use axum::routing::get;
use axum::{Router, serve};
use ichnos_xtrace::carrier::tower::{ClientLayer, ServerLayer};
use ichnos_xtrace::option::Severity;
use ichnos_xtrace::propagation::{InContext, QueuedReporter, Reporter, SharedContext, Tracer};
use ichnos_xtrace::{Context, OperationLayer};
use reqwest::Body;
use tokio::net::TcpListener;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt, service_fn};
use tracing::{Instrument, info, info_span};
use tracing_subscriber::layer::SubscriberExt;

type AnyError = Box<dyn Error + Send + Sync>;

/// reqwest behind a layer: the metadata of the current context go along with each request.
type Client = BoxCloneSyncService<Request<Body>, Response<Body>, reqwest::Error>;

fn client(tracer: &Arc<Tracer>) -> Client {
    // Requests to this machine are no matter of a proxy.
    let client = reqwest::Client::builder().no_proxy().build().unwrap_or_default();
    let send = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move { Ok(client.execute(request.try_into()?).await?.into()) }
    });
    BoxCloneSyncService::new(ClientLayer::new(Arc::clone(tracer)).layer(send))
}

async fn ask(client: Client, url: String) -> Result<String, AnyError> {
    let response = client.oneshot(Request::get(url).body(Body::default())?).await?;
    Ok(reqwest::Response::from(response).error_for_status()?.text().await?)
}

/// State of the shop.
#[derive(Clone)]
struct Shop {
    client: Client,
    stock: String,
    /// Whoever waits until the receipt is printed.
    printed: tokio::sync::mpsc::Sender<()>,
}

async fn order(State(shop): State<Shop>, Path(goods): Path<String>) -> Result<String, StatusCode> {
    let url = format!("{}/stock/{goods}", shop.stock);
    // A span is an operation, and what is asked within it belongs to it.
    let look = async {
        info!(%goods, "the shop looks into its stock");
        ask(shop.client, url).await
    };
    let count = look.instrument(info_span!("look into the stock")).await;
    let count = count.map_err(|_| StatusCode::BAD_GATEWAY)?;
    let print = async move {
        info_span!("print the receipt").in_scope(|| info!("the receipt is printed"));
        let _ = shop.printed.send(()).await;
    };
    // Tasks do not have the context of who spawns them.
    tokio::spawn(print.in_forked_context());
    Ok(format!("{goods}: {count}"))
}

/// Starts a server at any port of this machine, and returns its URL.
async fn start(router: Router, tracer: &Arc<Tracer>) -> Result<String, AnyError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    // This layer begins a task for requests that have none, and is the context of their handlers.
    let router = router.layer(ServerLayer::new(Arc::clone(tracer)));
    tokio::spawn(async move { serve(listener, router).await });
    Ok(url)
}

/// Orders something, and returns the answer.
async fn run(reporter: impl Reporter + Clone + 'static) -> Result<String, AnyError> {
    let tracer = |agent| Arc::new(Tracer::new(reporter.clone()).with_host("localhost").with_agent(agent));
    let (till, shop, stock) = (tracer("till"), tracer("shop"), tracer("stock"));
    let subscriber = tracing_subscriber::registry().with(OperationLayer::new(Arc::clone(&shop)));
    tracing::subscriber::set_global_default(subscriber)?;

    let count = get(async |Path(goods): Path<String>| if goods == "rolls" { "12 left" } else { "sold out" });
    let stock_url = start(Router::new().route("/stock/{goods}", count), &stock).await?;
    let (printed, mut receipt) = tokio::sync::mpsc::channel(1);
    let state = Shop { client: client(&shop), stock: stock_url, printed };
    let router = Router::new().route("/order/{goods}", get(order)).with_state(state);
    let shop_url = start(router, &shop).await?;

    // The till begins the task. A server does so itself for requests without metadata.
    let mut context = Context::start_with_threshold(Severity::INFO);
    context.event(&till, "a customer comes").title("order of rolls").tag("example").send()?;
    let context = SharedContext::new(context);
    let answer = ask(client(&till), format!("{shop_url}/order/rolls")).in_context(context.clone()).await?;
    context.with(|context| context.event(&till, "the customer goes").send())?;
    tokio::time::timeout(Duration::from_secs(10), receipt.recv()).await?;
    Ok(answer)
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let collector = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7831".to_owned());
    let reporter = Arc::new(QueuedReporter::start(collector)?);
    println!("{}", run(Arc::clone(&reporter)).await?);
    reporter.flush(Duration::from_secs(10))?;
    println!("{} reports are acknowledged", reporter.counts().acknowledged);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ichnos_xtrace::propagation::MemoryReporter;

    use super::*;

    /// All edges by labels: what was reported follows what caused it, through both requests and the task of tokio.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_graph_is_whole() {
        let collected = MemoryReporter::default();
        assert_eq!(run(collected.clone()).await.unwrap(), "rolls: 12 left");
        let reports = collected.take();
        let line = |report: &str, key: &str| {
            let line = report.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default().to_owned()
        };
        let name = |report: &str| format!("{}: {}", line(report, "Agent: "), line(report, "Label: "));
        // The metadata of 17 bytes and the option: the operation is behind the flags and the task.
        let names: BTreeMap<String, String> = reports
            .iter()
            .map(|report| (line(report, "X-Trace: ")[18..34].to_owned(), name(report)))
            .collect();
        let mut edges = Vec::new();
        for report in &reports {
            assert!(
                line(report, "X-Trace: ").ends_with("CE0106") || report.contains("ChainId: "),
                "{report}"
            );
            for edge in report.lines().filter_map(|line| line.strip_prefix("Edge: ")) {
                edges.push(format!("{} > {}", names[&edge[..16]], name(report)));
            }
        }
        edges.sort();
        let expected = [
            "shop: client receives response > shop: look into the stock ends",
            "shop: client sends request > shop: client receives response",
            "shop: client sends request > shop: look into the stock ends",
            "shop: client sends request > stock: server receives request",
            "shop: look into the stock > shop: the shop looks into its stock",
        ];
        for edge in expected {
            assert!(edges.iter().any(|found| found == edge), "{edge} is not among\n{}", edges.join("\n"));
        }
        // Each operation but the first one was caused by another one.
        let roots = reports.iter().filter(|report| !report.contains("\nEdge: "));
        assert_eq!(roots.map(|report| name(report)).collect::<Vec<_>>(), ["till: a customer comes"]);
        assert!(names.values().any(|name| name == "shop: print the receipt"));
    }
}
