//! Fields of records whose form may change at any time: a field that is not what it used to be reads as nothing, and
//! the record around it stays readable.
//!
//! What must stay true: texts are borrowed from the line where JSON allows it; numbers are never floats on the way.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::times;

/// A text, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonText<'a>(pub(crate) Cow<'a, str>);

impl JsonText<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// None for an empty text.
    pub(crate) fn some(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| !text.is_empty())
    }

    pub(crate) fn owned(&self) -> Option<String> {
        self.some().map(str::to_owned)
    }
}

/// A time in any of the forms of [`times`], or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonTime(pub(crate) Option<i64>);

/// A whole number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonNumber(pub(crate) Option<i64>);

/// True only if it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonFlag(pub(crate) bool);

/// Elements of a list; what is no list has none.
#[derive(Clone, Debug)]
pub(crate) struct JsonList<T>(pub(crate) Vec<T>);

impl<T> Default for JsonList<T> {
    fn default() -> Self {
        JsonList(Vec::new())
    }
}

/// What a scalar reads as; everything else is walked over.
trait Scalar<'a>: Default {
    fn of_text(_text: Cow<'a, str>) -> Self {
        Self::default()
    }

    fn of_number(_number: i64) -> Self {
        Self::default()
    }

    fn of_flag(_flag: bool) -> Self {
        Self::default()
    }
}

impl<'a> Scalar<'a> for JsonText<'a> {
    fn of_text(text: Cow<'a, str>) -> Self {
        JsonText(text)
    }

    fn of_number(number: i64) -> Self {
        JsonText(Cow::Owned(number.to_string()))
    }
}

impl<'a> Scalar<'a> for JsonTime {
    fn of_text(text: Cow<'a, str>) -> Self {
        JsonTime(times::parse(&text))
    }

    fn of_number(number: i64) -> Self {
        JsonTime(times::of_number(number))
    }
}

impl<'a> Scalar<'a> for JsonNumber {
    fn of_text(text: Cow<'a, str>) -> Self {
        JsonNumber(text.trim().parse().ok())
    }

    fn of_number(number: i64) -> Self {
        JsonNumber(Some(number))
    }
}

impl Scalar<'_> for JsonFlag {
    fn of_flag(flag: bool) -> Self {
        JsonFlag(flag)
    }
}

struct ScalarVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Scalar<'de>> Visitor<'de> for ScalarVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::of_text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::of_text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::of_flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::of_number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(i64::try_from(number).map_or_else(|_| T::default(), T::of_number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        // Some agents write milliseconds with a fraction; what is no such number is nothing.
        let text = format!("{number:.0}");
        Ok(text.parse().map_or_else(|_| T::default(), T::of_number))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<T, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }
}

macro_rules! scalars {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                input.deserialize_any(ScalarVisitor(std::marker::PhantomData))
            }
        }
    )*};
}

scalars!(JsonTime, JsonNumber, JsonFlag);

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(ScalarVisitor::<JsonText<'de>>(std::marker::PhantomData))
    }
}

/// A field that holds blocks, one block, or a text that stands for one.
#[derive(Clone, Debug)]
pub(crate) enum JsonContent<'a, T> {
    Text(Cow<'a, str>),
    Blocks(Vec<T>),
}

impl<T> Default for JsonContent<'_, T> {
    fn default() -> Self {
        JsonContent::Blocks(Vec::new())
    }
}

struct ContentVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ContentVisitor<T> {
    type Value = JsonContent<'de, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, a block or blocks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(JsonContent::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(JsonContent::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, _flag: bool) -> Result<Self::Value, E> {
        Ok(JsonContent::default())
    }

    fn visit_i64<E>(self, _number: i64) -> Result<Self::Value, E> {
        Ok(JsonContent::default())
    }

    fn visit_u64<E>(self, _number: u64) -> Result<Self::Value, E> {
        Ok(JsonContent::default())
    }

    fn visit_f64<E>(self, _number: f64) -> Result<Self::Value, E> {
        Ok(JsonContent::default())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(JsonContent::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element()? {
            blocks.push(block);
        }
        Ok(JsonContent::Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let block = T::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(JsonContent::Blocks(vec![block]))
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for JsonContent<'a, T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(ContentVisitor::<T>(std::marker::PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonList<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match JsonContent::<T>::deserialize(input)? {
            JsonContent::Blocks(blocks) => Ok(JsonList(blocks)),
            JsonContent::Text(_) => Ok(JsonList::default()),
        }
    }
}

/// Reads one record. Bytes that are no UTF-8 are replaced; a mark of byte order is skipped.
pub(crate) fn with_record<T>(line: &[u8], read: impl FnOnce(&str) -> T) -> T {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(text) => read(text),
        Err(_) => read(&String::from_utf8_lossy(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Record<'a> {
        #[serde(borrow)]
        a: JsonText<'a>,
        at: JsonTime,
        flag: JsonFlag,
        #[serde(borrow)]
        content: JsonContent<'a, Record<'a>>,
    }

    #[test]
    fn a_field_of_another_form_reads_as_nothing() {
        let read = |text| -> Record<'_> { serde_json::from_str(text).unwrap() };
        let record =
            read(r#"{"a":"x","at":1790841600,"flag":true,"content":[{"a":"y"}],"new":[{}]}"#);
        assert_eq!(
            (record.a.as_str(), record.at.0, record.flag.0),
            ("x", Some(1_790_841_600_000), true)
        );
        assert!(matches!(record.a.0, Cow::Borrowed(_)));
        let record = read(r#"{"a":{"b":[1]},"at":[],"flag":"yes","content":{"a":"one"}}"#);
        assert_eq!((record.a.some(), record.at.0, record.flag.0), (None, None, false));
        assert!(
            matches!(record.content, JsonContent::Blocks(blocks) if blocks[0].a.as_str() == "one")
        );
        let record = read(r#"{"a":7,"content":"text\n"}"#);
        assert_eq!(record.a.as_str(), "7");
        assert!(matches!(record.content, JsonContent::Text(text) if text == "text\n"));
    }

    // past 16
    #[test]
    fn byte_order_marks_and_bytes_that_are_no_text_are_survived() {
        assert_eq!(with_record(b"\xef\xbb\xbf{}", str::to_owned), "{}");
        assert_eq!(with_record(b"\"a\xff\"", str::to_owned), "\"a\u{fffd}\"");
    }
}
