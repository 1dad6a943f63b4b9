//! The collector of errors.
//!
//! Defines [`Ctxt`]: every stage reports here and continues, so that one compilation shows all errors, each at its own
//! place. The stages decide what is an error: `attr`, `ast`, `template`, `column`, `check`.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// Collects the errors of one derive.
#[must_use]
#[derive(Default)]
pub(crate) struct Ctxt {
    // A cell, so that all stages and closures share one `&Ctxt`.
    errors: RefCell<Vec<syn::Error>>,
}

impl Ctxt {
    /// Reports an error at the tokens that caused it.
    pub(crate) fn error(&self, at: impl ToTokens, message: impl Display) {
        self.errors.borrow_mut().push(syn::Error::new_spanned(at, message));
    }

    /// Returns the number of errors so far.
    pub(crate) fn count(&self) -> usize {
        self.errors.borrow().len()
    }

    /// Returns the compile errors, or `None` without any.
    pub(crate) fn finish(self) -> Option<TokenStream> {
        let errors = self.errors.into_inner();
        (!errors.is_empty()).then(|| errors.iter().map(syn::Error::to_compile_error).collect())
    }
}
