//! Characters that are not there for the eye: which of them go, which become a space, which stay.
//!
//! What must stay true: what is judged depends on the character before it in the result and on the one behind it in
//! the text, so that a second pass finds nothing to do; a base character carries at most one invisible one.

/// What becomes of line breaks and tabs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaks {
    Kept,
    Spaces,
}

/// What is to be done with a character.
enum Fate {
    Stays,
    Space,
    Goes,
}

/// The text without what cannot be seen.
pub(super) fn visible(text: &str, breaks: Breaks) -> String {
    let mut result = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let c = match fate(c, before, rest.peek().copied(), breaks) {
            Fate::Stays => c,
            Fate::Space => ' ',
            Fate::Goes => continue,
        };
        result.push(c);
        before = Some(c);
    }
    result
}

fn fate(c: char, before: Option<char>, behind: Option<char>, breaks: Breaks) -> Fate {
    let if_true = |stays: bool| if stays { Fate::Stays } else { Fate::Goes };
    match c {
        '\n' | '\t' if breaks == Breaks::Kept => Fate::Stays,
        // Controls of the terminal; among them the escape that begins a sequence.
        _ if c.is_control() => Fate::Space,
        // Breaks that only some readers know, and overrides and isolates of direction: what stands behind one of
        // those is read in another order than it is stored.
        '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Fate::Space,
        // Joiners: between the parts of one emoji, and behind letters of scripts that write with them.
        '\u{200c}' => if_true(before.is_some_and(writes_with_joiners)),
        '\u{200d}' => {
            let emoji = before.is_some_and(ends_emoji) && behind.is_some_and(is_pictograph);
            if_true(emoji || before.is_some_and(writes_with_joiners))
        }
        '\u{fe0e}' | '\u{fe0f}' => {
            let keycap = before.is_some_and(|c| c.is_ascii_digit() || c == '#' || c == '*')
                && behind == Some('\u{20e3}');
            if_true(keycap || before.is_some_and(is_pictograph))
        }
        // Variants of signs of mathematics, of Burmese and of ideographs.
        '\u{fe00}'..='\u{fe02}' => if_true(before.is_some_and(has_variants)),
        '\u{e0100}'..='\u{e011f}' => if_true(before.is_some_and(is_ideograph)),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => {
            if_true(before.is_some_and(|c| matches!(c, '\u{1820}'..='\u{18aa}')))
        }
        _ => if_true(!is_invisible(c)),
    }
}

/// Characters that show nothing, wherever they stand.
fn is_invisible(c: char) -> bool {
    matches!(c,
        // The soft hyphen, the joiner of graphemes, marks of direction.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        // Fillers of Hangul, vowels of Khmer that are not written, the Mongolian separator.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        // Joiners of words, invisible operators, controls that are no longer used.
        | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        // Selectors of variants that nothing has, the byte order mark, annotations, what is not assigned.
        | '\u{fe03}'..='\u{fe0d}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        // Controls of shorthand and of musical notation.
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags and the other selectors: whole messages can be written in them.
        | '\u{e0000}'..='\u{e0fff}')
}

/// Letters and signs of the scripts in which a joiner changes how a word is written: Arabic, Syriac, N'Ko, Mongolian,
/// and those of India and its neighbours.
fn writes_with_joiners(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{6ff}' | '\u{700}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}' | '\u{1900}'..='\u{1cff}'
        | '\u{a8e0}'..='\u{a8ff}' | '\u{aa60}'..='\u{aa7f}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{11000}'..='\u{11fff}')
}

fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// The end of a part of an emoji: the picture, its skin, or the sign that it is to be coloured.
fn ends_emoji(c: char) -> bool {
    is_pictograph(c) || c == '\u{fe0f}'
}

fn has_variants(c: char) -> bool {
    is_ideograph(c)
        || matches!(c, '\u{1000}'..='\u{109f}' | '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}
