//! The words in which rules and preferences are stated, and those that only look so, in five languages.
//!
//! What must stay true: each pattern is anchored at the beginning of a sentence or bounded by whole words, and none
//! looks further than the sentence. `stated_labelled.tsv` says what they are worth.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// What a sentence states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatedType {
    Rule,
    Preference,
}

/// One way to state something.
pub(super) struct Phrase {
    pub(super) kind: StatedType,
    pub(super) pattern: Regex,
}

/// Words before a sentence that change nothing about it.
pub(super) static FILLER: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"^(?i)(?:(?:please|pls|also|and|but|so|ok|okay|btw|by the way|note|nb|important|hey|oh|",
        r"well|actually|again|one more thing|in general|generally|as a rule|first|second|finally|",
        r"reminder|bitte|also|und|aber|übrigens|wichtig|achtung|außerdem|generell|por favor|además|",
        r"y|pero|importante|ojo|nota|s'il te plaît|stp|svp|et|mais|au fait|attention|important|",
        r"merci de|personally|honestly|imo|persönlich|ehrlich gesagt|personalmente|moi|",
        r"perso(?:nnellement)?)[,:!]?\s*(?:\s|\b|$)|(?:请你|请|麻烦|另外|注意|顺便说一下|个人来说)[,，:：]?\s*)+",
    ))
});

/// What makes a sentence one about now, or no statement at all.
pub(super) static PASSING: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:for now|this time|just once|only once|for this (?:task|one|commit|pr|change|test|",
        r"run|branch|ticket)|right now|today|temporarily|diesmal|vorerst|heute|nur dieses mal|por ",
        r"ahora|esta vez|hoy|pour l'instant|cette fois|aujourd'hui)\b|这次|暂时|今天|目前先",
        r"|\b(?:in|for|on) this (?:function|method|class|component|case|view|page|screen|dialog|form)\b",
        r"|\b(?:in|für|auf) diese[rmn]? (?:funktion|methode|klasse|komponente|ansicht|seite|maske|dialog)\b",
        r"|\ben est[ae] (?:función|método|clase|componente|vista|página|pantalla|formulario)\b",
        r"|\b(?:dans|sur) ce(?:tte|t)? (?:fonction|méthode|classe|composant|vue|page|écran|formulaire)\b",
        r"|这个(?:函数|方法|类|组件|页面|弹窗)",
        r"|\b(?:tomorrow|yesterday|tonight|morgen|gestern|mañana|ayer|demain)\b|明天|昨天|今晚",
        r"|\b(?:maybe|perhaps|vielleicht|eventuell|quizás?|tal vez|peut-être)\b|(?:^|[^尽])可能|也许",
        r"|\bon n['’](?:a|avait|est|était|aura) jamais\b|^nie wieder so\b",
    ))
});

/// Sentences that tell what happens, or will, in the words of a rule.
pub(super) static NARRATES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:from now on|from here on(?: out)?|going forward|in (?:the )?future),? (?:the|this|",
        r"that|it|there|users?|clients?|customers?|versions?|releases?|updates?)\b",
        r"|^(?:in zukunft|zukünftig|künftig|ab (?:jetzt|sofort)),? (?:wird|werden|ist|sind|kommt|",
        r"kommen|gibt|kann)\b|\bimmer (?:noch|wieder|mehr|öfter|länger|wenn)\b",
        r"|^(?:en el futuro|en adelante|a partir de ahora|de ahora en adelante),? (?:se|est[ea]|el|la|los|las)\b",
        r"|^(?:à l'avenir|désormais|dorénavant|à partir de maintenant),? (?:(?:ça|cela|ce|cette|ces|le|la|les|il|",
        r"elle)\b|l['’])",
        r"|^(?:nunca|jamás) (?:antes|más|tienes|puedes|quieres|sabes|eres|haces|dices|estás|entiendes)\b",
        r"|^(?:总是|始终|永远)(?:报|失败|出|卡|在|是|有|显示|返回|崩|提示|加载|转|等|没|连不|打不)",
        r"|^(?:我|他|她|用户|客户)(?:以前|一直|之前|平时)?(?:总是|始终|一直)",
        r"|^(?:从现在开始|从现在起)[,，]?(?:启动|加载|打开|登录|编译|构建|测试)",
    ))
});

/// Sentences about what a product will do, or what may come, in the words of a rule: nothing makes them one.
pub(super) static OF_PRODUCT: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:from now on|from here on(?: out)?|going forward|in (?:the )?future),? (?:",
        r"(?:the |an? |our |each )?(?:user|visitor|customer|client|admin|member|player|app|page|button|",
        r"server|service|form|system|report|dialog|screen|site)s?\b|",
        r"(?:we|i|you|it|they) (?:might|may|could|plan|hope|want to|would like|probably|will probably)\b|",
        r"(?:is|are|was|were|works?|fails?|means?|takes?|tense|button|mode)\b|",
        r"\p{L}+s (?:come|arrive)\b|",
        r"(?:we|i|it|they|there|that)(?:['’](?:re|m|s|ll|ve)| (?:are|am|is|will|have|had|got))\b)",
        r"|^(?:in zukunft|zukünftig|künftig|ab (?:jetzt|sofort)),? (?:\p{L}+ )?(?:(?:der|die|das|den|ein|",
        r"eine|unsere?|jeder|alle) )?(?:kund|nutzer|benutzer|anwender|besucher|server|dienst|system|seite|",
        r"app\b|knopf|button|formular|bericht|admin)",
        r"|^(?:in zukunft|zukünftig|künftig|ab (?:jetzt|sofort)),? \p{L}+t (?:der|die|das|es|er|sie|eine?)\b",
        r"|^(?:en el futuro|en adelante|a partir de ahora|de ahora en adelante|desde ahora),? (?:(?:el|la|los|",
        r"las|cada|una?) (?:usuari|client|servidor|api|app|aplicación|página|botón|sistema|servicio|",
        r"formulario|versión|pantalla|informe)|habrá|será|podr|tendr|haremos|",
        r"(?:no )?(?:estamos|está|están|hay|es|son|tenemos|tarda|falla|funciona|arranca)\b)",
        r"|^(?:à l['’]avenir|désormais|dorénavant|à partir de maintenant|dès maintenant),? (?:(?:les? |la |",
        r"l['’]|chaque )(?:utilisat|client|serveur|api|appli|page|bouton|système|service|formulaire|version|",
        r"écran|rapport)|il y (?:a|aura)|on (?:aura|",
        r"pourra|est|a|passe|va)\b|nous (?:aurons|pourrons|sommes|avons)|c['’]est)",
        r"|^(?:以后|今后|从现在开始|从现在起|从今以后)[,，]?(?:用户|客户|服务器|系统|页面|后端|前端|应用|会|可能|",
        r"也许|再|有|我们(?:可能|会|也许|打算|要支持|再|在|是|有|已))",
    ))
});

/// "In future": of work or of what is built. Only what asks for something is a rule.
pub(super) static LATER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(?:in (?:the )?future|in zukunft|zukünftig|künftig|en el futuro|en adelante|à l['’]avenir|以后|今后)",
    )
});

pub(super) static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:please|always|never|only|don['’]t|do not|use|keep|run|put|write|ask|avoid|name|make sure|you)\b",
        r"|\b(?:bitte|immer|nie|niemals|stets|nur noch|du|nutze|verwende|benutze|schreib)\b",
        r"|\b(?:siempre|nunca|por favor|usa|escribe|añade|evita|no (?:uses|hagas|pongas|toques|cambies|subas))\b",
        r"|\b(?:toujours|jamais|utilise|écris|mets|ajoute|évite|merci|fais|tu)\b",
        r"|都要|都用|都写|都必须|一律|务必|请|不要|别|必须|不许|不准|统一",
    ))
});

/// What makes a sentence that narrates a rule all the same.
pub(super) static OBLIGES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:must|should|shall|only|always|never|has to|have to|needs? to|muss|müssen|sollen?|nur|",
        r"niemals|debe|deben|siempre|nunca|doit|doivent|toujours|jamais)\b",
    ))
});

/// "One thing: always add a migration": what is said before the rule.
pub(super) static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?i)[\p{L} ,]{2,30}: ((?:please )?(?:from now on|going forward|always|never|don't ever|do not ever)\b.+)$",
    )
});

/// "Whenever you change the schema, always add a migration": the condition before what is demanded.
pub(super) static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:when(?:ever)?|if|before|after|for|in|on) [^,]{3,60}, (?:please )?",
        r"((?:always|never) .+)$",
    ))
});

/// A word behind "always" or "never" that describes instead of demanding.
pub(super) const DESCRIBES: &[&str] = &[
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
pub(super) const DEMANDS: &[&str] = &[
    "pass", "process", "address", "access", "compress", "express", "discuss", "focus", "feed",
    "embed", "seed", "proceed", "press", "suppress", "bypass", "guess", "dismiss", "cross",
];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of statements are valid")
}

pub(super) static PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let rules = [
        // English
        r"^(?:do not|don't|dont) ever \p{L}|^never ever \p{L}|^(?:never|always), [^,]{3,40}, \p{L}+ ",
        r"^before you (?:touch|change|edit|delete|remove|rename) (?:any|anything|something)\b[^,]{0,40}, ask\b",
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
        r"^merke? dir(?: bitte)?(?:[:,]| dass\b)|^denke? (?:bitte )?(?:immer )?(?:daran|dran)\b",
        r"^vergiss (?:nie|nicht)\b",
        concat!(
            r"^(?:bitte )?(?:benutz|verwend|nutz|nimm|schreib|führ|mach|lass|test|push|commit|start|",
            r"halt|speicher|formatier|prüf|frag|antwort|nenn|leg|lösch|änder|setz|gib|erstell|",
            r"aktualisier|merge|deploy|bau|ruf|fass)\p{L}* (?:[^\s,]+ ){0,5}?",
            r"(?:immer|niemals|nie|stets|ab jetzt|ab sofort|künftig|in zukunft)\b",
        ),
        r"^(?:immer|niemals|nie|stets) .*\p{L}(?:en|ern|eln)(?:[.!]?$|, (?:bevor|wenn|sobald|ohne|damit|sonst)\b)",
        concat!(
            r"^wir (?:benutzen|verwenden|nutzen|nehmen|schreiben|pushen|committen|mergen|testen|deployen|bauen|",
            r"legen|speichern) (?:\S+ ){0,5}?(?:immer|nie|niemals|stets|grundsätzlich)\b",
        ),
        concat!(
            r"^(?:in|bei) (?:diesem|unserem|unseren|allen|jedem) (?:projekt|repo|repository|code|team|",
            r"projekten|repos)\b,? (?:verwenden|benutzen|nutzen|nehmen|schreiben|testen|bauen|speichern) wir\b",
        ),
        concat!(
            r"^(?:wenn|falls|sobald) du [^,]{3,60}, (?:bitte )?(?:pass|füg|aktualisier|schreib|führ|mach|lass|",
            r"prüf|frag|setz|gib|erstell|nutz|benutz|verwend|leg|lösch|änder|nimm|test|ergänz|dokumentier)e?",
            r"(?: \S+){0,3}? (?:immer|nie|niemals|stets)\b",
        ),
        concat!(
            r"\b(?:schreibst|machst|nutzt|benutzt|verwendest|nimmst|fragst|testest|committest|formatierst) du ",
            r"(?:\S+ ){0,3}?(?:ab jetzt|ab sofort|künftig|in zukunft|immer|nie|niemals|stets)\b",
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
            r"actualiza|formatea|despliega) (?:\S+ )?siempre\b|^no \p{L}+[ae]s (?:nunca|jamás)\b",
        ),
        r"^(?:recuerda|acuérdate de|ten en cuenta|no olvides)(?: (?:que|siempre|de|usar|no)\b|:)",
        r"^(?:nunca|jamás) \p{L}{2,}[ae]s\b",
        concat!(
            r"^(?:siempre que|cada vez que) \p{L}+[ae]s\b[^,]{2,60}, \p{L}+[ae]\b|^(?:cuando|si) \p{L}+[ae]s\b",
            r"[^,]{2,60}, (?:\p{L}+ ){0,2}?(?:siempre|nunca)\b",
        ),
        r"^(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante|en el futuro)\b",
        concat!(
            r"^(?:debes|tienes que|hay que|deberías) (?:(?:\p{L}+ )?siempre|no \p{L}+ nunca)\b|^en este (?:repo|",
            r"repositorio|proyecto),? (?:siempre|nunca|usamos|no)\b",
        ),
        r"^antes de cada \p{L}+,? (?:ejecuta|corre|pasa|revisa|actualiza|haz)\b",
        // French
        r"^(?:à partir de maintenant|dès maintenant|désormais|dorénavant|à l'avenir)(?:\s|,|$)",
        r"^(?:souviens-toi|rappelle-toi|retiens)(?: bien)?(?: qu[e'’]| de (?:\p{L}+(?:er|ir|re)|ne|toujours)\b| ?:)",
        r"^n['’]oublie (?:pas|jamais) (?:que?\b|qu['’]|de\b|d['’])|^garde (?:en tête|à l['’]esprit)\b",
        r"^il ne faut jamais \p{L}+(?:er|ir|re)\b",
        concat!(
            r"^(?:chaque fois que|dès que) (?:tu|vous) [^,]{3,60}, \p{L}+|^(?:quand|lorsque|si) (?:tu|vous) ",
            r"[^,]{3,60}, (?:\S+ ){0,2}?(?:toujours|jamais)\b",
        ),
        r"^toujours \p{L}+(?:er|ir|re)\b|^ne jamais \p{L}|^ne \p{L}+ jamais\b|^n['’]\p{L}+ jamais\b",
        concat!(
            r"^(?:utilise|lance|écris|mets|fais|teste|exécute|garde|ajoute|réponds|commente|formate|",
            r"montre|demande|explique|propose|commence|préviens|documente|nomme|respecte|",
            r"vérifie|passe|crée|déploie)z? toujours\b",
        ),
        concat!(
            r"^(?:tu|vous|on) (?:dois|devez|doit|ne dois|ne doit|ne devez) (?:toujours|jamais)\b|^on ",
            r"(?:utilise|écrit|met|teste) toujours\b|^on n['’e] ?\p{L}+ jamais\b",
        ),
        r"^dans ce (?:dépôt|projet|repo),? (?:toujours|on (?:utilise|n['’]))",
        concat!(
            r"^(?:avant|après) chaque \p{L}+,? (?:lance|exécute|passe|vérifie|fais|mets|formate|régénère|",
            r"relance|ajoute|demande|montre)\b",
        ),
        r"^on n['’]utilise (?:pas|jamais) .{2,60} dans ce (?:projet|dépôt|repo)\b",
        // Chinese
        r"^(?:总是|始终|永远|一定要|务必|一律|绝对不要|绝不要|永远不要|千万不要|千万别|绝不能|必须始终)\S",
        r"^(?:不要再|别再)(?:用|使用|往|直接|提交|推|改|修改|动|碰|写|添加|新建|引入|手动|执行|合并|硬编码|删)",
        r"^(?:从现在开始|从现在起|从今以后|从今往后|今后|以后)(?:[,，]|请|都|不(?:要|再|许|能|准)|一|所|每|用|提|写|别|我们|新)",
        r"^(?:记住|记得|牢记)(?:[:：,，]|要|不|这|我|在|每|用|所|提|项|永)",
        r"^每次(?:提交|修改|改|发布|部署|合并|推送)\S{0,10}(?:前|后|都要|必须|请)",
        r"^\S{1,8}(?:一律|必须始终|总是|统一)(?:用|使用|写|采用)",
        r"^(?:修改|改|新增|添加|删除|提交|发布|部署|合并)\S{0,10}(?:时|前|后)(?:必须|一定要|都要|务必)",
        r"^(?:安装|改|动|删|升级|发布|提交)\S{0,10}(?:之前|之后|前|后)(?:一定要|必须|务必|都要)",
        r"^每次\S{1,10}(?:都要|都得|都必须)|^未经\S{0,3}(?:同意|允许)\S{0,4}(?:不要|不许|不能|不得|别)",
        r"^(?:我们)?(?:在)?(?:这个|本)项目(?:里|中)?不(?:用|使用|写|允许|能|许)",
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
