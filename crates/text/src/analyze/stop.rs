//! Stop words: what a question is made of that says nothing about its subject.
//!
//! Owns the lists, folded as [`super::fold`] folds. Must stay true: they touch questions only, never
//! documents. Languages without a list keep every word; rarity weighs them anyway.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::Language;

const ENGLISH: &str = "a about above after again against all also am an and any are arent as at be because been \
before being below between both but by can cannot cant could couldnt did didnt do does doesnt doing dont down during \
each ever few for from further get had hadnt has hasnt have havent having he her here hers herself him himself his \
how i id if ill im in into is isnt it its itself ive just like me more most my myself no nor not now of off on once \
only or other our ours ourselves out over own please same shall she should so some such tell than that the their \
theirs them themselves then there these they theyre this those through to too under until up us very was wasnt we \
were weve what whatever when where which while who whom whose why will with would you your youre yours yourself \
yourselves";
const GERMAN: &str = "aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den \
denn der des dich die dies diese dieser dieses dir du durch ein eine einem einen einer eines er es euer fur gegen \
habe haben hat hatte hatten hier ich ihm ihn ihr ihre im in ins ist ja kann kein keine man mein mich mir mit nach \
nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so uber um und uns unser unter vom von vor wann war \
waren warum was weil welche welcher welches wem wen wenn wer werden wie wieso wir wird wo wurde zu zum zur";
const FRENCH: &str = "a ai as au aux avec avait ce ces cet cette combien comme comment c d dans de des du elle elles \
en est et etait ete etes etre eu il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne nos notre nous \
on ont ou par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sur t \
ta te tes toi ton tu un une vos votre vous y";
const SPANISH: &str = "a al algo ante antes como con cual cuales cuando cuanto de del desde donde dos e el ella \
ellas ellos en entre era es esa ese eso esta estaba estan este esto fue ha han hasta hay he la las le les lo los mas \
me mi mis muy no nos o para pero por porque que quien quienes se ser si sin sobre son su sus te tiene tu un una uno \
unos y ya yo";
const PORTUGUESE: &str = "a ao aos as com como da das de do dos e ela elas ele eles em entre era essa esse esta este \
eu foi ha isso isto ja lhe mais mas me meu minha muito na nao nas no nos o onde os ou para pela pelo por porque qual \
quais quando quanto que quem se sem ser seu sua sao so tem um uma voce";
const ITALIAN: &str = "a ad agli ai al alla alle anche che chi ci come con cosa cui da dagli dai dal dalla de degli \
dei del dell della delle di dove e ed era fu gli ha hanno ho i il in io l la le lei li lo loro lui ma mi mia mio ne \
nei nel nella noi non o per perche piu quale quali quando quanto questa questo qui se si sono su sua sul suo tra tu \
un una uno vi voi";
const DUTCH: &str = "aan al als bij dan dat de der deze die dit doch door dus een en er ge had heb hebben heeft het \
hier hij hoe hun ik in is ja je kan me met mij mijn na naar niet nog nu of om omdat ons ook op over te toen tot uit \
van veel voor waar waarom wanneer waren was wat we welke werd wie wij wil worden wordt zal ze zich zij zijn zo zou";
const RUSSIAN: &str = "а без был была были было быть в вам вас во вот все вы где да для до его ее если есть еще же \
за и из или им их к как какая какие какой когда кто ли мне мы на над нас не него нее нет ни но о об он она они оно \
от по под почему при с сколько со так также там то того тоже только ты у уже что чтобы чем чей это этого этот эта \
эти я";
const SWEDISH: &str = "alla att av da de dem den denna det detta dig din du efter ej eller en er ett for fran ha \
hade han har hon hur i in inte jag kan man med men mig min mot nar ni nu och om oss pa sig sin som sa till under upp \
ut vad var varfor vem vi vid vilka vilken vilket at";
const DANISH: &str = "af alle at blev da de dem den denne der det dette dig din dog du efter eller en er et for fra \
ha havde han har hun hvad hvem hvilken hvis hvor hvordan hvorfor hvornar i ikke ind jeg kan man med men mig min mod \
nar nu og om op os pa sig sin skal som til ud var vi vil";
const NORWEGIAN: &str = "alle at av ble da de dem den denne der det dette deg din du eller en er et etter for fra ha \
hadde han har hun hva hvem hvilken hvis hvor hvordan hvorfor i ikke inn jeg kan man med meg men min mot na nar og om \
opp oss pa seg sin skal som til ut var vi vil";
const TURKISH: &str = "acaba ama bana ben bir biz bu da de daha degil diye en gibi hangi hem hep icin ile ise kac \
kadar ki kim mi mu nasil ne neden nerede niye o olan olarak onlar onun sen siz su ve veya ya zaman";
const POLISH: &str = "a aby ale bo by byl byla bylo czy co dla do gdy gdzie go i ich ile im ja jak jaka jaki jakie \
je jego jej jest jestem juz kiedy kto ktora ktore ktory lub ma mnie moj my na nad nie o od on ona oni po pod sa sie \
tak tam te tego ten to tu ty tym w we wy z za ze";

/// Every stop word of every language, built once.
static STOPS: LazyLock<HashSet<(Language, &'static str)>> = LazyLock::new(|| {
    let lists = [
        (Language::English, ENGLISH),
        (Language::German, GERMAN),
        (Language::French, FRENCH),
        (Language::Spanish, SPANISH),
        (Language::Portuguese, PORTUGUESE),
        (Language::Italian, ITALIAN),
        (Language::Dutch, DUTCH),
        (Language::Russian, RUSSIAN),
        (Language::Swedish, SWEDISH),
        (Language::Danish, DANISH),
        (Language::Norwegian, NORWEGIAN),
        (Language::Turkish, TURKISH),
        (Language::Polish, POLISH),
    ];
    let words = |(language, list): (Language, &'static str)| {
        list.split_ascii_whitespace().map(move |word| (language, word))
    };
    lists.into_iter().flat_map(words).collect()
});

/// Whether a folded word only serves the question.
pub(super) fn is_stop(language: Language, folded: &str) -> bool {
    STOPS.contains(&(language, folded))
}
