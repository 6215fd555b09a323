//! Rules that lines can break.

ichnos_model::rules! {
    /// Rule of lines.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum LineRule {
        /// A line is an object with the members of its type.
        Line: "line", true,
            "fix the program that wrote the line; if bytes in the file were changed, copy the file again";
        /// A line that describes something is complete, and describes something possible.
        Description: "description", true, "fix the program that wrote the line";
        /// The trace from which the lines were written was not damaged.
        ReportedDamage: "reported-damage", true,
            "the trace that was converted to these lines was damaged: check that trace";
    }
}
