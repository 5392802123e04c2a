//! What was examined.

use super::Page;
use crate::doctor::words;
use crate::json_object;
use tickmark_analysis::doctor::Diagnosis;

json_object! {
    /// Each check of a machine.
    pub struct DoctorPage(all: &[Diagnosis]) {
        checks: Vec<CheckPage> = all.iter().map(CheckPage::new).collect(),
    }

    struct CheckPage(of: &Diagnosis) {
        #[serde(flatten)]
        diagnosis: Diagnosis = of.clone(),
        title: String = words(of.name).title.to_owned(),
        advice: String = words(of.name).advice.to_owned(),
    }
}

impl Page for DoctorPage {
    const NAME: &'static str = "doctor";
}
