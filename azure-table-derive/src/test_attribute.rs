//! `#[azure_table::test]`: an async function with arguments as a test that creates them.
//!
//! Parses the options, checks the function, and generates the code. A trait of `azure_table::__private` interprets an
//! argument by its type alone, so that type aliases work. A table is named after its argument.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, ItemFn, Meta, Pat, Path, Token, Type};

use crate::attr::suggestion::{did_you_mean, list, similar};
use crate::attr::{Attr, Item, Store, krate};
use crate::ctxt::Ctxt;
use crate::place::Paths;

/// The options of the attribute.
const OPTIONS: [&str; 4] = ["start_paused", "cosmos", "explore", "crate"];

/// The options of `explore`; `true` if one has a value.
const EXPLORATION: [(&str, bool); 9] = [
    ("isolated", false),
    ("faults", true),
    ("crashes", true),
    ("adverse", true),
    ("late", true),
    ("advance", true),
    ("max_schedules", true),
    ("max_time", true),
    ("replay", true),
];

/// Names in similar attributes for these options, and for options that this attribute does not have.
const OTHER_WORDS: [(&str, &str); 4] = [
    ("paused", "write `start_paused`"),
    (
        "flavor",
        "the test runs on a runtime of one thread; for another one write `#[tokio::test]` and \
         `TableServiceClient::from_transport(Emulator::new())`",
    ),
    (
        "worker_threads",
        "the test runs on a runtime of one thread; for another one write `#[tokio::test]` and \
         `TableServiceClient::from_transport(Emulator::new())`",
    ),
    (
        "page_size",
        "take an argument `emulator: Emulator` and write `TableServiceClient::from_transport(emulator.page_size(2))`",
    ),
];

/// The valid lengths of table names, in characters.
const TABLE_NAME: std::ops::RangeInclusive<usize> = 3..=63;

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            let error =
                syn::Error::new(item.span(), "`#[azure_table::test]` belongs on an `async fn`").to_compile_error();
            return quote!(#error #item);
        }
    };
    let ctxt = Ctxt::default();
    let options = Options::of(options, &ctxt);
    check(&function, &ctxt);
    let arguments = arguments(&function, &ctxt);
    match ctxt.finish() {
        None => code(&function, &options, &arguments),
        Some(errors) => {
            // Keeps the function, so that the compiler checks its code and sees its dependencies in use. Nothing calls
            // it, and it may cause no other warning, so `expect` would fail.
            let name = format_ident!("_{}", function.sig.ident);
            let unused = quote!(#[allow(dead_code, unused)]);
            let mut kept = function;
            kept.sig.ident = name;
            kept.attrs.clear();
            quote!(#errors #unused #kept)
        }
    }
}

#[derive(Default)]
struct Options {
    start_paused: bool,
    cosmos: bool,
    /// The calls that configure an exploration.
    explore: Option<TokenStream>,
    krate: Option<Attr<Path>>,
}

impl Options {
    fn of(tokens: TokenStream, ctxt: &Ctxt) -> Self {
        let mut options = Self::default();
        let parsed = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens.clone());
        let Ok(parsed) = parsed else {
            ctxt.error(
                tokens,
                "options are separated by commas: `#[azure_table::test(start_paused, cosmos)]`",
            );
            return options;
        };
        for meta in parsed {
            let name = meta.path().to_token_stream().to_string();
            let option = match &*name {
                "start_paused" => &mut options.start_paused,
                "cosmos" => &mut options.cosmos,
                "explore" => {
                    if options.explore.replace(exploration(&meta, ctxt)).is_some() {
                        ctxt.error(&meta, "duplicate option `explore`: write it once");
                    }
                    continue;
                }
                "crate" => {
                    if let Ok(item) = syn::parse2::<Item>(meta.to_token_stream()) {
                        options.krate.store(ctxt, &item, krate(&item, ctxt));
                    }
                    continue;
                }
                _ => {
                    let advice = OTHER_WORDS.iter().find(|(other, _)| *other == name);
                    ctxt.error(
                        &meta,
                        match advice {
                            Some((_, advice)) => format!("unknown option `{name}`: {advice}"),
                            None => unknown(&name, "a test", &OPTIONS),
                        },
                    );
                    continue;
                }
            };
            if std::mem::replace(option, true) {
                ctxt.error(&meta, format!("duplicate option `{name}`: write it once"));
            }
            if !matches!(meta, Meta::Path(_)) {
                ctxt.error(&meta, format!("`{name}` takes no value: write `{name}`"));
            }
        }
        if options.explore.is_some() && options.start_paused {
            ctxt.error(
                tokens,
                "the clock of an exploration is always paused: remove `start_paused`",
            );
        }
        options
    }
}

/// Returns the calls that `explore` or `explore(...)` stands for.
fn exploration(meta: &Meta, ctxt: &Ctxt) -> TokenStream {
    let list = match meta {
        Meta::Path(_) => return TokenStream::new(),
        Meta::List(list) => list,
        Meta::NameValue(_) => {
            ctxt.error(
                meta,
                "`explore` takes options in parentheses or nothing: write `explore(isolated, faults = 1)`",
            );
            return TokenStream::new();
        }
    };
    let names = EXPLORATION.map(|(name, _)| name);
    let parsed = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let Ok(parsed) = parsed else {
        ctxt.error(
            meta,
            "the options of `explore` are separated by commas: `explore(isolated, faults = 1)`",
        );
        return TokenStream::new();
    };
    let mut calls = TokenStream::new();
    for option in &parsed {
        let name = option.path().to_token_stream().to_string();
        let known = EXPLORATION.iter().find(|(known, _)| *known == name);
        let call = option.path();
        match (known, option) {
            (Some((_, false)), Meta::Path(_)) => calls.extend(quote!(.#call())),
            (Some((_, true)), Meta::NameValue(pair)) => {
                let value = &pair.value;
                calls.extend(quote!(.#call(#value)));
            }
            (Some((_, false)), _) => ctxt.error(option, format!("`{name}` takes no value: write `{name}`")),
            (Some((_, true)), _) => ctxt.error(option, format!("`{name}` needs a value: write `{name} = ...`")),
            (None, _) => ctxt.error(option, unknown(&name, "an exploration", &names)),
        }
    }
    calls
}

/// Returns the error for an option that `what` does not take.
fn unknown(name: &str, what: &str, known: &[&str]) -> String {
    let meant = did_you_mean(similar(name, known.iter().copied()));
    format!("unknown option `{name}`: {meant}{what} takes {}", list(known, "and"))
}

fn check(function: &ItemFn, ctxt: &Ctxt) {
    let signature = &function.sig;
    let others: Vec<_> = function.attrs.iter().filter(|attribute| is_test(attribute)).collect();
    // An attribute above it may have removed the `async` already.
    if signature.asyncness.is_none() && others.is_empty() {
        ctxt.error(
            signature.fn_token,
            "a function with `#[azure_table::test]` must be an `async fn`: add `async`",
        );
    }
    if let Some(lifetime_or_type) = signature.generics.params.first() {
        ctxt.error(
            lifetime_or_type,
            "a test cannot have generic parameters: no caller would specify them",
        );
    }
    for attribute in others {
        ctxt.error(
            attribute,
            "`#[azure_table::test]` already makes the function a test: remove this attribute",
        );
    }
}

fn is_test(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|last| last.ident == "test")
}

/// An argument of the test.
struct Argument {
    of: Type,
    /// The name of the table, if the argument is one.
    table: String,
}

fn arguments(function: &ItemFn, ctxt: &Ctxt) -> Vec<Argument> {
    let mut found = Vec::new();
    for input in &function.sig.inputs {
        let typed = match input {
            FnArg::Receiver(receiver) => {
                ctxt.error(receiver, "a test cannot have a `self` parameter");
                continue;
            }
            FnArg::Typed(typed) => typed,
        };
        let name = match &*typed.pat {
            Pat::Ident(name) => name.ident.to_string(),
            Pat::Wild(_) if is_table(&typed.ty) => {
                ctxt.error(
                    &typed.pat,
                    "a table is named after its argument, and `_` has no name: write `_orders` for `Orders`",
                );
                continue;
            }
            Pat::Wild(_) => String::new(),
            other => {
                ctxt.error(
                    other,
                    "an argument of a test must be a plain name, because its table is named after it",
                );
                continue;
            }
        };
        let table = table_name(&name);
        if is_table(&typed.ty)
            && let Err(why) = check_name(&table)
        {
            ctxt.error(
                &typed.pat,
                format!(
                    "a table is named after its argument, and {table:?} is not a table name: {why}; rename the argument"
                ),
            );
        }
        let of = (*typed.ty).clone();
        found.push(Argument { of, table });
    }
    found
}

/// Returns `true` if a type is called `TableClient`. The name of an alias is checked when the test runs.
fn is_table(of: &Type) -> bool {
    match of {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "TableClient"),
        _ => false,
    }
}

/// Converts `audit_log` to `AuditLog`.
fn table_name(argument: &str) -> String {
    let words = argument
        .trim_start_matches("r#")
        .split('_')
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters).collect::<String>()
        })
        .collect()
}

fn check_name(table: &str) -> Result<(), String> {
    let length = table.chars().count();
    if !TABLE_NAME.contains(&length) {
        return Err(format!(
            "it has {length} characters, a table's name on Storage has 3 to 63"
        ));
    }
    if table.eq_ignore_ascii_case("tables") {
        return Err("the service reserves it".to_owned());
    }
    if table.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        Ok(())
    } else {
        Err("a table's name on Storage has ASCII letters and digits".to_owned())
    }
}

fn code(function: &ItemFn, options: &Options, arguments: &[Argument]) -> TokenStream {
    let ItemFn {
        attrs, vis, sig, block, ..
    } = function;
    let (name, inputs, output) = (&sig.ident, &sig.inputs, &sig.output);
    let Options {
        start_paused,
        cosmos,
        explore,
        krate,
    } = options;
    let Paths { krate, private } = Paths::with(krate.as_ref());
    let place = Ident::new("place", proc_macro2::Span::mixed_site());
    let spies = arguments
        .iter()
        .map(|Argument { of, .. }| quote_spanned!(of.span()=> <#of as #private::test::TestArgument>::SPIES));
    let values = arguments.iter().map(|Argument { of, table }| {
        quote_spanned!(of.span()=> <#of as #private::test::TestArgument>::create(&#place, #table).await)
    });
    if let Some(calls) = explore {
        let cosmos = cosmos.then(|| quote!(.cosmos()));
        let values = arguments.iter().map(|Argument { of, table }| {
            quote_spanned!(of.span()=> <#of as #private::test::ExploreArgument>::create(&#place, #table))
        });
        return quote! {
            #[::core::prelude::v1::test]
            #(#attrs)*
            #vis fn #name() {
                async fn #name(#inputs) #output #block
                #krate::testing::explore(async |#place: #krate::testing::Simulation| #name(#(#values),*).await)
                    #cosmos #calls
                    .prove();
            }
        };
    }
    quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        #vis fn #name() #output {
            // The inner function has the test's own name: any other name might hide a function that the test calls.
            async fn #name(#inputs) #output #block
            let options = #private::test::Options {
                start_paused: #start_paused,
                cosmos: #cosmos,
                spies: false #(| #spies)*,
            };
            #private::test::run(options, async |#place| #name(#(#values),*).await)
        }
    }
}
