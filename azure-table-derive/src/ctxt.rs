//! The sink for mistakes.
//!
//! Owns [`Ctxt`]: every stage reports here and goes on, so that one compilation shows all mistakes, each at its own
//! place. What is a mistake is decided by the stages: `attr`, `ast`, `template`, `column`, `check`.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// Collects the mistakes of one derive.
#[must_use]
#[derive(Default)]
pub(crate) struct Ctxt {
    // A cell, so that all stages and closures share one `&Ctxt`.
    errors: RefCell<Vec<syn::Error>>,
}

impl Ctxt {
    /// Reports a mistake at the tokens that made it.
    pub(crate) fn error(&self, at: impl ToTokens, message: impl Display) {
        self.errors.borrow_mut().push(syn::Error::new_spanned(at, message));
    }

    /// How many mistakes there are so far.
    pub(crate) fn count(&self) -> usize {
        self.errors.borrow().len()
    }

    /// The compile errors; `None` where all was well.
    pub(crate) fn finish(self) -> Option<TokenStream> {
        let errors = self.errors.into_inner();
        (!errors.is_empty()).then(|| errors.iter().map(syn::Error::to_compile_error).collect())
    }
}
