//! Rules for requests in files.

ichnos_model::rules! {
    /// Rule for requests in files.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum RequestRule {
        /// A file consists of whole requests.
        Request: "request", true,
            "the program that wrote the file was interrupted or is faulty, or bytes of the file were changed";
        /// Spans, log records and data points have the fields of their messages.
        Element: "element", true, "fix the program that sent it; other elements of the request are read";
        /// Texts and attributes that many events share are short.
        Limit: "limit", true,
            "shorten it in the program that sent it; the beginning of the text and the other attributes are read";
    }
}
