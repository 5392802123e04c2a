//! lmbench's tables.

use super::Page;
use super::report::MarkPage;
use crate::json_object;
use crate::lmbench::{lack, os};
use tickmark_analysis::lmbench::{Filled, Head, Missing, Page as Filling, System};

json_object! {
    /// lmbench's tables of one system or more.
    pub struct Tables(page: &Filling) {
        /// `mean`, `floor` or `imported`, of each system.
        figures: Vec<&'static str> = page.figures.clone(),
        tables: Vec<TablePage> = page.tables.iter().map(TablePage::new).collect(),
        /// Titles of tables for which nothing was measured.
        without: Vec<String> = page.without.clone(),
        missing: Vec<MissingPage> = page.missing.iter().map(MissingPage::new).collect(),
        /// True where instructions were counted.
        exact: bool = page.exact,
    }

    struct TablePage(table: &Filled) {
        title: String = table.title.clone(),
        columns: Vec<ColumnPage> = table.columns.iter().map(ColumnPage::new).collect(),
        systems: Vec<SystemPage> = table.systems.iter().map(SystemPage::new).collect(),
        /// Systems of a document, whose averages stand below the others.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        beside: Vec<SystemPage> = table.beside.iter().map(SystemPage::new).collect(),
    }

    struct ColumnPage(of: &Head) {
        /// Its two lines.
        head: [&'static str; 2] = of.head,
        metric: &'static str = of.metric,
        unit: &'static str = of.unit,
        better: tickmark_wire::Better = of.better,
    }

    struct SystemPage(of: &System) {
        name: String = of.name.clone(),
        os: String = os(of),
        rows: Vec<Vec<Option<f64>>> = of.rows.clone(),
        steps: Vec<f64> = of.steps.clone(),
        marks: Vec<Vec<MarkPage>> = of.marks.iter().map(|marks| marks.iter().map(MarkPage::new).collect()).collect(),
        average: Vec<Option<f64>> = of.average.clone(),
        percent: Option<Vec<Option<f64>>> = of.percent.clone(),
        /// Whether the change of a column is real.
        real: Option<Vec<bool>> = of.real.clone(),
    }

    struct MissingPage(of: &Missing) {
        system: String = of.system.clone(),
        metric: &'static str = of.metric,
        why: String = lack(&of.why),
    }
}

impl Page for Tables {
    const NAME: &'static str = "lmbench";
}
