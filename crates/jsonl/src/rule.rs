//! Rules for lines.

ichnos_model::rules! {
    /// Rule for lines.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum LineRule {
        /// Each line is an object with the members of its type.
        Line: "line", true,
            "fix the program that wrote the line; if bytes in the file were changed, copy the file again";
        /// Each description is complete and valid.
        Description: "description", true, "fix the program that wrote the line";
        /// The trace from which the lines were written was undamaged.
        ReportedDamage: "reported-damage", true,
            "the trace that was converted to these lines was damaged: check that trace";
    }
}
