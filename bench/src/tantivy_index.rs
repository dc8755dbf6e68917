//! Tantivy: the fastest search library people would link instead.
//!
//! One field, so that its block-max WAND applies to the whole question; English stemmer; no positions and no stored text;
//! one indexing thread with the smallest heap it accepts; merged into one segment before it is asked.

use std::path::Path;

use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, IndexWriter, TantivyDocument, Term};

use crate::Outcome;
use crate::corpus::Memory;
use crate::engine::Engine;
use crate::question_words::{AS_ASKED, WAYS, words};

const HEAP_BYTES: usize = 15_000_000;
const TOKENIZER: &str = "en_stem";

pub struct TantivyIndex {
    index: Index,
    reader: IndexReader,
    /// Only while building.
    writer: Option<IndexWriter>,
    number: Field,
    text: Field,
}

impl TantivyIndex {
    fn with(index: Index) -> Outcome<TantivyIndex> {
        let schema = index.schema();
        let (number, text) = (schema.get_field("number")?, schema.get_field("text")?);
        let reader = index.reader()?;
        Ok(TantivyIndex { index, reader, writer: None, number, text })
    }
}

impl Engine for TantivyIndex {
    const WAYS: &'static [&'static str] = &WAYS;

    fn create(folder: &Path) -> Outcome<TantivyIndex> {
        let mut schema = Schema::builder();
        schema.add_u64_field("number", FAST);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let mut made = TantivyIndex::with(Index::create_in_dir(folder, schema.build())?)?;
        made.writer = Some(made.index.writer_with_num_threads(1, HEAP_BYTES)?);
        Ok(made)
    }

    fn open(folder: &Path) -> Outcome<TantivyIndex> {
        TantivyIndex::with(Index::open_in_dir(folder)?)
    }

    fn add(&mut self, memories: Vec<Memory>) -> Outcome<()> {
        let writer = self.writer.as_ref().ok_or("an index that is only read")?;
        for memory in memories {
            let mut document = TantivyDocument::default();
            document.add_u64(self.number, memory.number);
            document.add_text(self.text, memory.text());
            writer.add_document(document)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome<()> {
        let writer = self.writer.as_mut().ok_or("an index that is only read")?;
        writer.commit()?;
        Ok(())
    }

    fn settle(&mut self) -> Outcome<()> {
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads()?;
        }
        let mut writer: IndexWriter = self.index.writer_with_num_threads(1, HEAP_BYTES)?;
        let segments = self.index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.garbage_collect_files().wait()?;
        Ok(writer.wait_merging_threads()?)
    }

    fn ask(&mut self, way: &str, question: &str) -> Outcome<Vec<u64>> {
        let mut analyzer = self.index.tokenizer_for_field(self.text)?;
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for word in words(way == AS_ASKED, question) {
            let mut stream = analyzer.token_stream(&word);
            while let Some(token) = stream.next() {
                let term = Term::from_field_text(self.text, &token.text);
                let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
                clauses.push((Occur::Should, Box::new(query)));
            }
        }
        let searcher = self.reader.searcher();
        let best = TopDocs::with_limit(10).order_by_score();
        let found = searcher.search(&BooleanQuery::new(clauses), &best)?;
        let mut numbers = Vec::new();
        for (_, place) in found {
            let segment = searcher.segment_reader(place.segment_ord);
            let number = segment.fast_fields().u64("number")?.first(place.doc_id);
            numbers.push(number.ok_or("a document without its number")?);
        }
        Ok(numbers)
    }
}
