//! A page that stands alone: nothing is fetched, and no script or style runs but its own, by their hashes.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
const DENSE: &str = include_str!("dense.js");
const UPLOT: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../vendor/uplot/uPlot.min.css");

/// A part of the page that the menu leads to.
pub(crate) struct Section {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) body: Markup,
}

/// Its hash, as a content security policy has it (W3C, Content Security Policy Level 3).
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// The whole page; `is_dense` where some series has many points.
pub(crate) fn page(title: &str, top: &Markup, sections: &[Section], is_dense: bool) -> String {
    let styles: &[&str] = if is_dense { &[UPLOT_STYLE, STYLE] } else { &[STYLE] };
    let scripts: &[&str] = if is_dense { &[SCRIPT, UPLOT, DENSE] } else { &[SCRIPT] };
    let hashes = |all: &[&str]| all.iter().map(|text| hash(text)).collect::<Vec<_>>().join(" ");
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hashes(styles),
        hashes(scripts)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                @for style in styles { style { (PreEscaped(style)) } }
            }
            body {
                a class="skip" href="#main" { "To the content" }
                h1 { (title) }
                @if sections.len() > 1 {
                    nav aria-label="Sections" { @for section in sections { a href={ "#" (section.id) } { (section.title) } } }
                }
                main id="main" {
                    (top)
                    @for section in sections {
                        section id=(section.id) aria-label=(section.title) { h2 { (section.title) } (section.body) }
                    }
                }
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    };
    page.into_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_fetched_and_only_its_own_scripts_run() {
        // FIPS 180-2, the hash of "abc".
        assert_eq!(hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
        let body = html! { p { "<script>alert(1)</script>" } };
        let sections = [Section { id: "a".to_owned(), title: "A & B".to_owned(), body }];
        for is_dense in [false, true] {
            let page = page("title <b>", &html! {}, &sections, is_dense);
            assert!(
                page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"),
                "{page}"
            );
            assert_eq!(
                page.matches("<script>").count(),
                if is_dense { 3 } else { 1 },
                "hostile text is none"
            );
            assert!(
                !page.contains("src=") && !page.contains("@import") && !page.contains("url("),
                "something is fetched"
            );
            assert!(page.contains("title &lt;b&gt;") && page.contains("A &amp; B"));
            // What would close a script or a style early.
            for text in [STYLE, SCRIPT, DENSE, UPLOT, UPLOT_STYLE] {
                assert!(!text.contains("</script") && !text.contains("</style"));
            }
        }
    }
}
