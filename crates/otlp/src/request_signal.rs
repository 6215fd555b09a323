//! Signals: kinds of requests.

ichnos_model::named_enum! {
    /// Signal of OpenTelemetry.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RequestSignal {
        /// Spans.
        Traces = "traces",
        /// Log records.
        Logs = "logs",
        /// Data points of metrics.
        Metrics = "metrics",
    }
}
