//! Files of talents: front matter, templates, and what is said of mistakes.

use std::fs;

use talents::TalentName;
use talents::talent_files::TalentCatalog;

use super::{Check, shape};

pub(super) fn seeds() -> Vec<Vec<u8>> {
    [
        "{\n\"title\": \"T\", \"schedule\": \"daily\", \"priority\": 40, \"output\": \"md\",\n\
         \"tools\": [\"get_facet\"],\n\
         \"files\": {\"read\": [\"~/notes\"]}, \"network\": true, \"env\": {\"A\": \"x\", \"B\": null},\n\
         \"load\": {\"transcripts\": \"required\", \"talents\": {\"activity\": true}}\n}\n\
         Write about {{ day_long }}. {% if facet %}Only {{ facet }}.{% endif %}\n",
        "{\n\"output\": \"json\", \"schema\": {\"type\": \"array\"}, \"tier\": 1, \"timeout\": 30\n}\n\
         {% for f in facets %}x{% endfor %}",
        "Just words, with {{ prompt }}.",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

pub(super) fn open() -> Check {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = TalentName::parse("fuzzed").expect("a name");
    Box::new(move |bytes| {
        fs::write(folder.path().join("fuzzed.md"), bytes).map_err(|error| error.to_string())?;
        let catalog = TalentCatalog::open(folder.path());
        let told: Vec<String> = catalog.problems().iter().map(ToString::to_string).collect();
        match catalog.find(&name) {
            Ok(_) => Ok(shape(&told.join(";")).rotate_left(1)),
            // The law: a file that is not used is told, with the reason.
            Err(error) if told.is_empty() => Err(format!("not used, and nothing is told: {error}")),
            Err(_) => Ok(shape(&told.join(";"))),
        }
    })
}
