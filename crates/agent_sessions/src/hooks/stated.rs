//! What a person states as a rule or a preference, in English, German, Spanish, French and Chinese: the sentence,
//! whole.
//!
//! What must stay true: pure; only what addresses how work is to be done from now on counts, not what describes how a
//! program behaves, asks something, or is meant for the task at hand; nothing inside code or quotations is looked at.
//! `stated_labelled.tsv` holds labelled prompts; `stated_precision` counts on them, and a test holds the bar.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Sentences of one prompt that are looked at, and characters of one.
const SENTENCES_MAX: usize = 200;
const SENTENCE_CHARS_MAX: usize = 300;
/// A prompt longer than this is mostly pasted; only its beginning is looked at.
const PROMPT_BYTES_MAX: usize = 8 << 10;

/// What a sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatedType {
    Rule,
    Preference,
}

/// A sentence of a person that says how work is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatedRule {
    pub(crate) kind: StatedType,
    pub(crate) sentence: String,
}

/// One way to state something.
struct Phrase {
    kind: StatedType,
    pattern: Regex,
}

/// Words before a sentence that change nothing about it.
static FILLER: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"^(?i)(?:(?:please|pls|also|and|but|so|ok|okay|btw|by the way|note|nb|important|hey|oh|",
        r"well|actually|again|one more thing|in general|generally|as a rule|first|second|finally|",
        r"reminder|bitte|also|und|aber|übrigens|wichtig|achtung|außerdem|generell|por favor|además|",
        r"y|pero|importante|ojo|nota|s'il te plaît|stp|svp|et|mais|au fait|attention|important|",
        r"merci de|请|请你|麻烦|另外|注意|顺便说一下)[,:，：!]?\s*(?:\s|\b|$))+",
    ))
});

/// What makes a sentence one about now, or no statement at all.
static PASSING: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:for now|this time|just once|only once|for this (?:task|one|commit|pr|change|test|",
        r"run|branch|ticket)|right now|today|temporarily|diesmal|vorerst|heute|nur dieses mal|por ",
        r"ahora|esta vez|hoy|pour l'instant|cette fois|aujourd'hui)\b|这次|暂时|今天|目前先",
        r"|\b(?:in|for) this (?:function|method|class|component|case)\b",
        r"|\b(?:in dieser|für diese) (?:funktion|methode|klasse)\b|\ben est[ae] (?:función|método|clase)\b",
        r"|\bdans cette (?:fonction|méthode|classe)\b|这个(?:函数|方法|类|组件)",
        r"|\bon n['’](?:a|avait|est|était|aura) jamais\b|^nie wieder so\b",
    ))
});

/// Sentences that tell what happens, or will, in the words of a rule.
static NARRATES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:from now on|from here on(?: out)?|going forward|in (?:the )?future),? (?:the|this|",
        r"that|it|there|users?|clients?|customers?|versions?|releases?|updates?)\b",
        r"|^(?:in zukunft|zukünftig|künftig|ab (?:jetzt|sofort)),? (?:wird|werden|ist|sind|kommt|",
        r"kommen|gibt|kann)\b|\bimmer (?:noch|wieder|mehr|öfter|länger|wenn)\b",
        r"|^(?:en el futuro|en adelante|a partir de ahora|de ahora en adelante),? (?:se|est[ea]|el|la|los|las)\b",
        r"|^(?:à l'avenir|désormais|dorénavant|à partir de maintenant),? (?:(?:ce|cette|ces|le|la|les|il|",
        r"elle)\b|l['’])",
        r"|^(?:总是|始终|永远)(?:报|失败|出|卡|在|是|有|显示|返回|崩|提示|加载)",
    ))
});

/// What makes even such a sentence a rule.
static OBLIGES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:must|should|shall|only|always|never|has to|have to|needs? to|muss|müssen|sollen?|nur|",
        r"niemals|debe|deben|siempre|nunca|doit|doivent|toujours|jamais)\b",
    ))
});

/// "Whenever you change the schema, always add a migration": the condition before what is demanded.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:when(?:ever)?|if|before|after|for|in|on) [^,]{3,60}, (?:please )?",
        r"((?:always|never) .+)$",
    ))
});

/// A word behind "always" or "never" that describes instead of demanding.
const DESCRIBES: &[&str] = &[
    "mind",
    "heard",
    "seen",
    "been",
    "had",
    "knew",
    "a",
    "an",
    "the",
    "in",
    "at",
    "on",
    "fun",
    "good",
    "bad",
    "true",
    "false",
    "null",
    "got",
    "gonna",
    "gotten",
    "wrong",
    "right",
    "empty",
    "there",
    "here",
    "came",
    "went",
    "ran",
    "saw",
    "thought",
    "understood",
    "again",
    "one",
    "that",
    "this",
    "it",
    "liked",
    "wanted",
    "sure",
];
/// Words in -s and -ed that do demand.
const DEMANDS: &[&str] = &[
    "pass", "process", "address", "access", "compress", "express", "discuss", "focus", "feed",
    "embed", "seed", "proceed", "press", "suppress", "bypass", "guess", "dismiss", "cross",
];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of statements are valid")
}

static PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let rules = [
        // English
        r"^(?:do not|don't|dont) ever \p{L}|^never ever \p{L}",
        r"^(?:from now on|from here on(?: out)?|going forward|in (?:the )?future)\b|\bfrom now on[.!]?$",
        r"^(?:remember|keep in mind|bear in mind|don't forget|do not forget)(?::| that\b| to\b)",
        concat!(
            r"^(?:you|we|agents?|everyone|claude|codex|gemini) (?:should|must|need to|needs to|have to|",
            r"are to|shall|may) (?:always|never)\b",
        ),
        concat!(
            r"^(?:we|i) (?:always|never) (?:use|run|write|put|keep|commit|push|deploy|name|merge|want|",
            r"log|test|format|squash|rebase|review|release|tag|add|call|store|edit|touch|import|mock|",
            r"ship|skip|hardcode|allow|rely|expose|send)\b",
        ),
        concat!(
            r"^whenever you (?:add|change|touch|edit|rename|remove|delete|update|create|fix|move)\b[^,]{2,60}, ",
            r"(?:please )?(?:also )?(?:add|update|run|bump|write|regenerate|rebuild|check|make|put|tell|ask|use)\b",
        ),
        r"^(?:make sure|be sure|take care)(?: to| that)?(?: you| we)? (?:always|never)\b",
        r"^i(?:'d| would)? (?:want|like|need|expect) you to (?:always|never)\b|^i always want\b|^i never want\b",
        concat!(
            r"^(?:in|for|on) (?:this|our|all|every|my) (?:repo|repos|repository|project|projects|",
            r"codebase|team|file|files|service|services)\b[^,]{0,30},? (?:always|never|we (?:always|",
            r"never|use|don't|do not)|use|do not|don't)\b",
        ),
        concat!(
            r"^(?:our|the|my|house) (?:rule|policy|convention|standard)(?: here| for \w+)? (?:is|",
            r"says)\b|^(?:house )?(?:rule|convention|policy): \p{L}",
        ),
        concat!(
            r"^we (?:only )?use .{1,60}\bnever\b|^we (?:only )?use .{1,60} in (?:this|our|every|all) ",
            r"(?:repo|repository|project|codebase)\b",
        ),
        concat!(
            r"^(?:commit messages?|commits|branch names|pr titles|pull requests) (?:must|should|shall|",
            r"need to|have to)\b",
        ),
        concat!(
            r"^(?:you (?:must|have to|should|need to) |please )?(?:run|update|bump|format|check|ask|test|",
            r"rebase|regenerate) .{0,60}\b(?:before|after) (?:every|each) (?:commit|push|release|deploy|",
            r"deployment|change|merge|pr|pull request)\b",
        ),
        // German
        r"^(?:ab (?:jetzt|sofort|heute an)|von (?:nun|jetzt) an|künftig|in zukunft|zukünftig)\b",
        r"^(?:merke? dir|denke? (?:bitte )?(?:immer )?daran|vergiss (?:nie|nicht))\b",
        concat!(
            r"^(?:bitte )?(?:benutz|verwend|nutz|nimm|schreib|führ|mach|lass|test|push|commit|start|",
            r"halt|speicher|formatier|prüf|frag|antwort|nenn|leg|lösch|änder|setz|gib|erstell|",
            r"aktualisier|merge|deploy|bau|ruf|fass)\p{L}* (?:[^\s,]+ ){0,5}?(?:immer|niemals|nie|stets)\b",
        ),
        r"^(?:immer|niemals|nie|stets) .*\p{L}(?:en|ern|eln)[.!]?$",
        concat!(
            r"^wir (?:benutzen|verwenden|nutzen|nehmen|schreiben|pushen|committen|mergen|testen|deployen|bauen|",
            r"legen|speichern) (?:\S+ ){0,5}?(?:immer|nie|niemals|stets|grundsätzlich)\b",
        ),
        r"^(?:du|ihr|man) (?:sollst|musst|darfst|sollt|muss|darf|soll) (?:\S+ ){0,4}?(?:immer|nie|niemals|stets)\b",
        r"^[^,]{0,60}\bbitte (?:immer|niemals|nie|stets)\b",
        r"^(?:bei|vor|nach|für|in) .{3,50} (?:immer|niemals|nie|stets) .*\p{L}(?:en|ern|eln)[.!]?$",
        r"^(?:vor|nach) jede[mrn] .{2,30} (?:muss|müssen|bitte|immer)\b",
        // Spanish
        concat!(
            r"^(?:siempre|nunca|jamás) (?:usa|uses|utiliza|utilices|ejecuta|ejecutes|escribe|escribas|",
            r"haz|hagas|pon|pongas|subas|borres|toques|cambies|modifiques|prueba|corre|mezcles|crea|",
            r"crees|añade|añadas|responde|deja|dejes|incluye|incluyas|guarda|guardes|verifica|actualiza|",
            r"formatea|hay que|debes|tienes que)\b",
        ),
        concat!(
            r"^(?:usa|utiliza|ejecuta|escribe|haz|pon|corre|prueba|responde|añade|crea|guarda|verifica|",
            r"actualiza|formatea|despliega) (?:\S+ )?siempre\b|^no \p{L}+ (?:nunca|jamás)\b",
        ),
        r"^(?:recuerda|acuérdate de|ten en cuenta|no olvides) (?:que|siempre|de|usar|no)\b",
        r"^(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante|en el futuro)\b",
        concat!(
            r"^(?:debes|tienes que|hay que|deberías) (?:(?:\p{L}+ )?siempre|no \p{L}+ nunca)\b|^en este (?:repo|",
            r"repositorio|proyecto),? (?:siempre|nunca|usamos|no)\b",
        ),
        r"^antes de cada \p{L}+,? (?:ejecuta|corre|pasa|revisa|actualiza|haz)\b",
        // French
        r"^(?:à partir de maintenant|dès maintenant|désormais|dorénavant|à l'avenir)(?:\s|,|$)",
        r"^(?:souviens-toi|rappelle-toi|retiens|n'oublie (?:pas|jamais)|garde (?:en tête|à l'esprit))\b",
        r"^toujours \p{L}+(?:er|ir|re)\b|^ne jamais \p{L}|^ne \p{L}+ jamais\b|^n['’]\p{L}+ jamais\b",
        concat!(
            r"^(?:utilise|lance|écris|mets|fais|teste|exécute|garde|ajoute|réponds|commente|formate|",
            r"vérifie|passe|crée|déploie)z? toujours\b",
        ),
        concat!(
            r"^(?:tu|vous|on) (?:dois|devez|doit|ne dois|ne doit|ne devez) (?:toujours|jamais)\b|^on ",
            r"(?:utilise|écrit|met|teste) toujours\b|^on n['’e] ?\p{L}+ jamais\b",
        ),
        r"^dans ce (?:dépôt|projet|repo),? (?:toujours|on (?:utilise|n['’]))",
        r"^(?:avant|après) chaque \p{L}+,? (?:lance|exécute|passe|vérifie|fais|mets|formate)\b",
        r"^on n['’]utilise (?:pas|jamais) .{2,60} dans ce (?:projet|dépôt|repo)\b",
        // Chinese
        r"^(?:总是|始终|永远|一定要|务必|一律|绝对不要|绝不要|永远不要|千万不要|千万别|不要再|别再|绝不能|必须始终)\S",
        r"^(?:从现在开始|从现在起|从今以后|从今往后|今后|以后)(?:[,，]|请|都|不|要|一|所|每|用|提|写|别|我们)",
        r"^(?:记住|记得|牢记)(?:[:：,，]|要|不|这|我|在|每|用|所|提|项|永)",
        r"^每次(?:提交|修改|改|发布|部署|合并|推送)\S{0,10}(?:前|后|都要|必须|请)",
        r"^\S{1,8}(?:一律|必须始终|总是|统一)(?:用|使用|写|采用)",
        r"^(?:修改|改|新增|添加|删除|提交|发布|部署|合并)\S{0,10}(?:时|前|后)(?:必须|一定要|都要|务必)",
        r"^记得\S{1,10}(?:都是|一律|总是|必须)",
        r"^(?:我们|这个项目|本项目)(?:总是|始终|从不|一律|统一|只)(?:用|使用|写|在|把|采用)",
    ];
    let preferences = [
        r"^(?:i|we) (?:strongly |really |generally |usually |much |always )?prefer\b",
        r"^i(?:'d| would) rather (?:have|use|see|keep)\b.* than\b",
        r"^my preference is\b|^i (?:like|favou?r) .{2,60} (?:over|better than|more than|rather than)\b",
        r"^i (?:don't|do not|really don't) like (?:it )?when\b|^i hate (?:it )?when you\b",
        concat!(
            r"^(?:ich|wir) (?:bevorzugen?|ziehen? .+ vor\b|mag .{2,60} lieber|mögen .{2,60} lieber|",
            r"hätten? (?:es )?lieber immer|habe lieber)|^mir (?:ist|sind|wäre|wären) .{2,60} lieber\b",
        ),
        r"^(?:yo )?prefiero\b|^preferimos\b|^me gustan? más\b",
        r"^(?:je préfère|nous préférons|j'aime mieux|on préfère)\b",
        r"^我(?:个人)?(?:更喜欢|比较喜欢|偏好|更倾向|倾向于|喜欢用)|^我们(?:更喜欢|偏好|倾向于)",
    ];
    let with = |kind, patterns: &[&str]| {
        patterns
            .iter()
            .map(|pattern| Phrase { kind, pattern: regex(&format!("(?i){pattern}")) })
            .collect::<Vec<_>>()
    };
    let mut phrases = with(StatedType::Rule, &rules);
    phrases.extend(with(StatedType::Preference, &preferences));
    phrases
});

/// What a prompt states, in the order of its sentences.
pub(crate) fn stated(prompt: &str) -> Vec<StatedRule> {
    let prompt = &prompt[..prompt.floor_char_boundary(PROMPT_BYTES_MAX)];
    let mut found: Vec<StatedRule> = Vec::new();
    for sentence in sentences(prompt).into_iter().take(SENTENCES_MAX) {
        let Some(kind) = judged(&sentence) else { continue };
        let rule = StatedRule { kind, sentence };
        if !found.contains(&rule) {
            found.push(rule);
        }
    }
    found
}

/// What one sentence is.
fn judged(sentence: &str) -> Option<StatedType> {
    let chars = sentence.chars().count();
    let is_question = sentence.ends_with(['?', '？']);
    if is_question || !(4..=SENTENCE_CHARS_MAX).contains(&chars) || PASSING.is_match(sentence) {
        return None;
    }
    let bare = FILLER.replace(sentence, "");
    let bare = bare.trim_start_matches([',', '，', ':', '：', ' ', '-', '–']);
    if NARRATES.is_match(bare) && !OBLIGES.is_match(bare) {
        return None;
    }
    let demanded = CONDITION.captures(bare).and_then(|found| found.get(1));
    if demands(bare) || demanded.is_some_and(|rest| demands(rest.as_str())) {
        return Some(StatedType::Rule);
    }
    PHRASES.iter().find(|phrase| phrase.pattern.is_match(bare)).map(|phrase| phrase.kind)
}

/// "Always" or "never" with an imperative behind it.
fn demands(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let Some(rest) = lower.strip_prefix("always ").or_else(|| lower.strip_prefix("never ")) else {
        return false;
    };
    let mut words = rest.split_whitespace();
    let word = words.next().unwrap_or_default().trim_matches(|c: char| !c.is_alphanumeric());
    let describes = DESCRIBES.contains(&word)
        || (!DEMANDS.contains(&word)
            && (word.ends_with('s') || word.ends_with("ed") || word.ends_with("ing")));
    !word.is_empty() && !describes && words.next().is_some()
}

/// The sentences of a text outside of code, quotations and lists of log lines.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        let is_code = in_code || line.starts_with("    ") || line.starts_with('\t');
        let is_quoted =
            bare.starts_with(['>', '|', '"', '“', '„', '«', '\'', '`', '+', '<', '{', '[']);
        if is_code || is_quoted || bare.is_empty() {
            continue;
        }
        let bare = bare.trim_start_matches(['-', '*', '•', '#', ' ']);
        let bare = bare
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['.', ')', ' ']);
        let mut start = 0;
        for (at, sign) in bare.char_indices() {
            let end = at + sign.len_utf8();
            // A point inside a name ends nothing.
            let ends = match sign {
                '.' | '!' | '?' | ';' => bare[end..].chars().next().is_none_or(char::is_whitespace),
                '。' | '！' | '？' | '；' => true,
                _ => false,
            };
            if ends {
                found.push(bare[start..end].trim().trim_end_matches(';').to_owned());
                start = end;
            }
        }
        found.push(bare[start..].trim().to_owned());
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Prompts with what they state, as people labelled them: language, label, prompt.
const LABELLED: &str = include_str!("stated_labelled.tsv");

/// How well statements of one kind are told from other sentences, in one language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatedCounts {
    pub language: String,
    /// rule or preference.
    pub kind: &'static str,
    pub prompts: usize,
    /// Taken for a statement, and one of that kind.
    pub right: usize,
    /// Taken for one without being so.
    pub wrong: usize,
    /// A statement that was not taken for one.
    pub missed: usize,
}

/// The counts on the labelled prompts, by language and kind.
pub fn stated_precision() -> Vec<StatedCounts> {
    let mut table: Vec<StatedCounts> = Vec::new();
    for line in LABELLED.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(3, '\t');
        let (Some(language), Some(label), Some(prompt)) =
            (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let found = stated(prompt);
        for (kind, name) in [(StatedType::Rule, "rule"), (StatedType::Preference, "preference")] {
            let is_taken = found.iter().any(|rule| rule.kind == kind);
            let known =
                table.iter().position(|counts| counts.language == language && counts.kind == name);
            let place = known.unwrap_or_else(|| {
                let language = language.to_owned();
                let (prompts, right, wrong, missed) = (0, 0, 0, 0);
                table.push(StatedCounts { language, kind: name, prompts, right, wrong, missed });
                table.len() - 1
            });
            let counts = &mut table[place];
            counts.prompts += 1;
            counts.right += usize::from(label == name && is_taken);
            counts.wrong += usize::from(label != name && is_taken);
            counts.missed += usize::from(label == name && !is_taken);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    // S13: precision of at least .9 for each language and kind, on several hundred labelled prompts.
    #[test]
    fn statements_are_told_from_other_sentences() {
        let table = stated_precision();
        for counts in &table {
            let StatedCounts { right, wrong, missed, .. } = *counts;
            assert!(right >= 5, "{counts:?}");
            assert!(right * 10 >= (right + wrong) * 9, "{counts:?}");
            assert!(right * 10 >= (right + missed) * 6, "{counts:?}");
        }
        let prompts: usize =
            table.iter().filter(|counts| counts.kind == "rule").map(|counts| counts.prompts).sum();
        assert!(prompts >= 300, "{prompts}");
        assert_eq!(table.len(), 10);
    }

    #[test]
    fn nothing_is_taken_from_code_quotations_and_logs() {
        for prompt in [
            "```\nalways use tabs\n```",
            "> always use tabs",
            "    never push",
            "\"never push to main\" is what the README says",
            "[info] always retry: true",
        ] {
            assert_eq!(stated(prompt), Vec::new(), "{prompt}");
        }
        let two = "Fix the login. Always run `make check` first! From now on use pnpm; thanks";
        let found: Vec<String> = stated(two).into_iter().map(|rule| rule.sentence).collect();
        assert_eq!(found, ["Always run `make check` first!", "From now on use pnpm"]);
    }
}
