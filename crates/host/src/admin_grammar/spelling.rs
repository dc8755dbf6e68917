//! Words as people mistype them: the word of the grammar that was meant.
//!
//! What must stay true: a word that means something else is left as it is; of two words that are as near none is taken.

/// Words that the grammar knows, and others that stand in such sentences.
const WORDS: &str = "\
about active activity again agents all already alright always and any anything approval approvals \
approve archived are away back backup been breaker breakers broken budget bugfixes bugs bulletin \
busy can cancel change changed changes channel channels clean close conflict conflicts connected \
contradict contradictions conversations correct cortex cost costs could count database decided \
decision decisions delete did disagree disk does doing dollars done down dry due each edit entries \
errors every everything expensive explain facts fail failed failing failures find fine forget \
forgotten from goals going good hanging happened have health healthy help here history how inspect \
into jobs keep kept kill know large last latest leave left list long maintenance make many memories \
memory mind model models money more much need next night nothing number okay online open other \
overnight pages patterns pause paused pinned plan please preferences prefers preview previous \
problems project projects provider pruned questions ready recall recent refresh remember remove \
repeats reset restore resume revert right rules run running runs said saved say scheduled search \
session sessions should show size some something soon spend spending spent standing stats status \
stop stopped store stored stuck suggest summary system talent talents talking tell than that the \
their them then there these they thing things think this time today todos tokens undo until update \
used using wait waiting waits want was week well were what when where which who whole why will with \
without work worked worker workers working worry would wrong year yesterday you your";

/// Words that are written short on purpose, or too short to be told from others.
const SHORT: [(&str, &str); 5] =
    [("wat", "what"), ("wil", "will"), ("u", "you"), ("r", "are"), ("ur", "your")];

/// Letters that a word may be away from the one that was meant.
fn slips(word: &str) -> usize {
    match word.chars().count() {
        0..=2 => 0,
        3..=6 => 1,
        _ => 2,
    }
}

/// A sentence with the words that were meant; none if every word stands as it should.
pub(super) fn corrected(sentence: &str) -> Option<String> {
    let mut changed = false;
    let words: Vec<&str> = sentence
        .split_whitespace()
        .map(|word| match meant(word) {
            Some(better) => {
                changed = true;
                better
            }
            None => word,
        })
        .collect();
    changed.then(|| words.join(" "))
}

fn meant(word: &str) -> Option<&'static str> {
    if !word.chars().all(char::is_alphabetic) {
        return None;
    }
    if let Some((_, whole)) = SHORT.iter().find(|(short, _)| *short == word) {
        return Some(whole);
    }
    let better = nearest(word, WORDS.split_whitespace())?;
    // A short word is often one that is not listed: only letters that changed places, or vowels that are missing, show
    // that it is none.
    let is_short = word.chars().count() == 3;
    let has_vowel = word.contains(['a', 'e', 'i', 'o', 'u']);
    (!is_short || !has_vowel || better.len() == word.len()).then_some(better)
}

/// The word that one slip or two of the fingers made this one of.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    let mut is_alone = true;
    for candidate in known {
        let away = distance(word, candidate);
        if away == 0 {
            return None;
        }
        // The first letter is seldom the wrong one: "posts" are no "costs".
        let begins = word.chars().next() == candidate.chars().next();
        if away > slips(word) || !begins {
            continue;
        }
        match best {
            Some((least, _)) if away > least => {}
            Some((least, _)) if away == least => is_alone = false,
            _ => (best, is_alone) = (Some((away, candidate)), true),
        }
    }
    best.filter(|_| is_alone).map(|(_, word)| word)
}

/// Letters that are missing, too many, wrong, or changed places with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (mut before, mut row) = (Vec::new(), (0..=other.len()).collect::<Vec<usize>>());
    for (at, letter) in one.iter().enumerate() {
        let mut next = vec![at + 1];
        for (place, theirs) in other.iter().enumerate() {
            let mut least = (row[place] + usize::from(letter != theirs))
                .min(row[place + 1] + 1)
                .min(next[place] + 1);
            let swapped =
                at > 0 && place > 0 && *letter == other[place - 1] && one[at - 1] == *theirs;
            if swapped {
                let two_before: &Vec<usize> = &before;
                least = least.min(two_before[place - 1] + 1);
            }
            next.push(least);
        }
        (before, row) = (row, next);
    }
    row.last().copied().unwrap_or_default()
}
