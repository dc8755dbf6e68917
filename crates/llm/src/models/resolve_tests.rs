//! Which layer wins, and what is told about it.

use super::*;

const CONTEXT: &str = "talent.system.default";

fn resolver(text: &str) -> Resolver {
    Resolver::new(toml::from_str(text).unwrap(), vec!["anthropic".into()])
}

fn ask(provider: &str, tier: Option<ModelTier>, model: &str) -> ModelQuery {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ModelQuery { provider: text(provider), tier, model: text(model) }
}

fn got(resolver: &Resolver, request: &ModelQuery, talent: &ModelQuery) -> (String, u8, String) {
    let choice = resolver.resolve(CONTEXT, request, talent).unwrap();
    (choice.provider, choice.tier.number(), choice.model)
}

#[test]
fn the_exact_context_beats_the_glob_and_the_longer_glob_the_shorter() {
    // execution R105, R106, R107
    let all = resolver(
        "[contexts]\n\"talent.system.default\" = {tier=1}\n\"talent.*\" = {tier=2}\n\"talent.system.*\" = {tier=3}",
    );
    let none = ModelQuery::default();
    assert_eq!(got(&all, &none, &none).1, 1);
    let other = all.resolve("talent.system.facets", &none, &none).unwrap();
    assert_eq!(other.tier, ModelTier::Lite);
    let user = all.resolve("talent.user.x", &none, &none).unwrap();
    assert_eq!(user.tier, ModelTier::Flash);
}

#[test]
fn a_provider_with_one_named_model_uses_it_for_every_tier() {
    let one = resolver(
        "default = {provider='local', model='tiny'}\n[endpoints.local]\nkind='openai'\nbase_url='http://127.0.0.1:1'",
    );
    let none = ModelQuery::default();
    for tier in [None, Some(ModelTier::Pro), Some(ModelTier::Lite)] {
        assert_eq!(got(&one, &none, &ask("", tier, "")).2, "tiny");
    }
    // It is no model of another provider.
    assert_eq!(got(&one, &ask("openai", None, ""), &none).2, "gpt-5.4-mini");
    // A table of the provider's own says more.
    let table = resolver(
        "default = {provider='local', model='tiny'}\nmodels = {local={'1'='big'}}\n[endpoints.local]\nkind='openai'\n\
         base_url='http://127.0.0.1:1'",
    );
    assert_eq!(got(&table, &none, &ask("", Some(ModelTier::Pro), "")).2, "big");
}

#[test]
fn request_before_context_before_talent_before_default() {
    // T17, execution R36, R105: a context changes the tier of a talent whose file names another
    let all = resolver(
        "default = {provider='google', tier=3}\n[contexts.\"talent.*\"]\nprovider='openai'\ntier=2",
    );
    let none = ModelQuery::default();
    assert_eq!(got(&all, &none, &none), ("openai".into(), 2, "gpt-5.4-mini".into()));
    let talent = ask("anthropic", Some(ModelTier::Pro), "");
    assert_eq!(got(&all, &none, &talent), ("openai".into(), 2, "gpt-5.4-mini".into()));
    let request = ask("google", None, "");
    // execution R37: another provider, the same tier
    assert_eq!(got(&all, &request, &talent), ("google".into(), 2, "gemini-flash-latest".into()));
    let plain = resolver("default = {provider='google', tier=3}");
    assert_eq!(got(&plain, &none, &talent).0, "anthropic");
}

#[test]
fn a_model_belongs_to_the_layer_that_names_it() {
    // execution R45
    let all = resolver("[contexts.\"talent.*\"]\nprovider='openai'\nmodel='special'");
    let none = ModelQuery::default();
    assert_eq!(got(&all, &none, &none), ("openai".into(), 2, "special".into()));
    assert_eq!(got(&all, &ask("", None, "asked"), &none).2, "asked");
    let elsewhere = got(&all, &ask("anthropic", None, ""), &none);
    assert_eq!(elsewhere, ("anthropic".into(), 2, "claude-sonnet-5".into()));
    assert_eq!(got(&all, &ask("", Some(ModelTier::Pro), ""), &none).2, "gpt-5.5");
}

#[test]
fn a_tier_without_a_model_falls_to_the_more_capable() {
    let all = resolver("default = {provider='ollama', tier=3}\n[models.ollama]\n\"1\" = 'big'");
    let choice = all.resolve(CONTEXT, &ModelQuery::default(), &ModelQuery::default()).unwrap();
    assert_eq!(choice.model, "big");
    let two = resolver(
        "default = {provider='ollama', tier=3}\n[models.ollama]\n\"1\" = 'big'\n\"2\" = 'middle'",
    );
    assert_eq!(got(&two, &ModelQuery::default(), &ModelQuery::default()).2, "middle");
}

#[test]
fn what_cannot_be_resolved_says_what_to_do() {
    let none = ModelQuery::default();
    let nobody = Resolver::new(ProviderSettings::default(), Vec::new());
    assert!(nobody.resolve(CONTEXT, &none, &none).unwrap_err().why.contains("ANTHROPIC_API_KEY"));
    let all = resolver("");
    let why = all.resolve(CONTEXT, &ask("opnai", None, ""), &none).unwrap_err();
    assert!(why.why.contains("known are anthropic, openai"), "{why}");
    let why = all.resolve(CONTEXT, &ask("ollama", None, ""), &none).unwrap_err();
    assert!(why.why.contains("providers.models.ollama.\"2\""), "{why}");
    assert!(!why.reasons.is_empty(), "the way is told also if it leads nowhere");
}

#[test]
fn a_fallback_is_another_provider_of_the_same_tier() {
    let all = resolver("default = {provider='openai', tier=1}\nfallback = {provider='google'}");
    let choice = all.resolve(CONTEXT, &ModelQuery::default(), &ModelQuery::default()).unwrap();
    let other = all.fallback(&choice).unwrap();
    assert_eq!((other.provider.as_str(), other.model.as_str()), ("google", "gemini-pro-latest"));
    assert_eq!(all.fallback(&other), None, "nobody stands in for himself");
    assert_eq!(resolver("default = {provider='openai'}").fallback(&choice), None);
    let named = resolver("fallback = {provider='google', tier=3, model='m'}");
    assert_eq!(named.fallback(&choice).unwrap().model, "m");
}

#[test]
fn the_reasons_stand_in_order() {
    let all = resolver(
        "default = {provider='openai', tier=3}\n[contexts.\"talent.*\"]\ntier=1\ndisabled=true",
    );
    let choice = all.resolve(CONTEXT, &ask("google", None, ""), &ModelQuery::default()).unwrap();
    let told: Vec<String> = choice.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "request: provider google",
            "providers.contexts.\"talent.*\": tier 1 (pro)",
            "providers.default: provider openai (a stronger layer named another), tier 3 (lite) (a stronger layer \
             named another)",
            "built in: model gemini-pro-latest for tier 1 (pro) of google",
            "providers.contexts.\"talent.*\": disabled",
        ]
    );
    assert!(choice.disabled);
}

#[test]
fn marks_stand_for_text() {
    for (pattern, text, fits) in [
        ("talent.*", "talent.a.b", true),
        ("*.b", "talent.a.b", true),
        ("t?lent.*", "talent.x", true),
        ("talent.*", "talents", false),
        ("*", "", true),
        ("a*b*c", "aXbYbZc", true),
        ("a*b", "aXc", false),
    ] {
        assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
    }
}

#[test]
fn settings_that_cannot_be_read_choose_nothing() {
    // execution 9.24: a typo must not change the provider in silence
    let broken =
        resolver("default = {provider='anthropic'}").unusable("journal.json: line 3".into());
    let none =
        broken.resolve(CONTEXT, &ask("openai", None, ""), &ModelQuery::default()).unwrap_err();
    assert_eq!(none.why, "journal.json: line 3");
}
