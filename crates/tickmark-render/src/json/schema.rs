//! Schemas of the pages, made of their types.

use super::{Page, Versioned};
use schemars::generate::SchemaSettings;
pub use schemars::{self, JsonSchema};
use schemars::{Schema, json_schema};

/// JSON Schema (draft 2020-12) of a page.
#[must_use]
pub fn schema<T: Page>() -> Schema {
    let mut all = root::<Versioned<'_, T>>();
    // Its own words, and not those of what it stands in.
    if let Some(about) = T::about() {
        all.insert("description".to_owned(), about);
    }
    all.insert("title".to_owned(), format!("tickmark {}, version {}", T::NAME, T::VERSION).into());
    let own = json_schema!({
        "type": "object",
        "properties": { "name": { "const": T::NAME }, "version": { "const": T::VERSION } },
        "required": ["name", "version"],
    });
    if let Some(place) = all.pointer_mut("/properties/schema") {
        *place = own.to_value();
    }
    all
}

fn root<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// A type's own words.
pub(super) fn description<T: JsonSchema>() -> Option<serde_json::Value> {
    root::<T>().get("description").cloned()
}
