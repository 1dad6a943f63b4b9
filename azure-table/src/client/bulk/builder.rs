//! What the builders of all writes over queries have in common: their setters, and that they are futures.

/// Makes a struct with the field `rows: RowWrites<…>` a future with the setters that all writes over queries have. Wishes hold
/// for each page and each batch.
macro_rules! row_writes {
    ($name:ident [$($parameter:ident),+], $error:ty, where $($bounds:tt)+) => {
        $crate::pipeline::options::call_options!($name[$($parameter),+], rows.options);
        $crate::client::total_timeout::total_timeout!(
            $name[$($parameter),+],
            rows.total,
            "When it is over, the whole is [`Interrupted`](crate::Interrupted) by an error of kind `Timeout`, with its report: rows \
             in flight are in doubt, those that wait are not tried. A limit of the query holds where this is not set."
        );

        impl<$($parameter),+> $name<$($parameter),+> {
            /// How many batches are on their way at once: 4 by default, at least one. Those of one partition follow one
            /// another, so more of them help where a page has rows of several partitions.
            pub fn concurrency(mut self, batches: usize) -> Self {
                self.rows.concurrency = batches.max(1);
                self
            }

            /// How many rows may fail or be in doubt before the whole ends: 1,000 by default. Each is held in the report.
            pub fn failures(mut self, most: usize) -> Self {
                self.rows.most_failures = most;
                self
            }

            /// Hears of what was done so far: after each batch, and after each page. Its
            /// [`position`](crate::WriteReport::position), kept somewhere safe, is where to go on should the process end; rows
            /// that were on their way then have no outcome in it.
            pub fn on_progress(mut self, hear: impl FnMut(&$crate::client::bulk::row_report::WriteReport<E>) + Send + 'static) -> Self {
                self.rows.hear = Some(::std::boxed::Box::new(hear));
                self
            }

            /// Goes on where an earlier run over the same query was. A limit of the query counts anew.
            pub fn resume_from(mut self, position: $crate::client::bulk::position::WritePosition) -> Self {
                self.rows.position = Some(position);
                self
            }
        }

        /// Nothing is pinned: rows are moved out.
        impl<$($parameter),+> Unpin for $name<$($parameter),+> {}

        impl<$($parameter),+> ::std::future::Future for $name<$($parameter),+>
        where
            $($bounds)+
        {
            type Output = $crate::model::error::Result<
                $crate::client::bulk::row_report::WriteReport<E>,
                $crate::client::bulk::interrupted::Interrupted<$crate::client::bulk::row_report::WriteReport<E>, $error>,
            >;

            fn poll(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<Self::Output> {
                self.get_mut().rows.poll(cx)
            }
        }

        impl<$($parameter),+> ::std::fmt::Debug for $name<$($parameter),+> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.rows.fmt_as(stringify!($name), f)
            }
        }
    };
}
pub(crate) use row_writes;
