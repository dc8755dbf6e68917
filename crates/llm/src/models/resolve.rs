//! From request, talent and settings to one provider, one tier, one model.
//!
//! The layers, from the strongest: request, the exact context, the glob with the longest literal beginning,
//! frontmatter, the defaults. A context of the settings stands before a talent's own file, because whoever owns the
//! home cannot change a talent that is in the binary. Provider and tier come each from the strongest layer that names
//! them. A model that a layer names counts only if no stronger layer named a provider or a tier: who asks for another
//! provider gets that provider's model of the same tier.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

use super::settings::ProviderSettings;
use super::table::{BUILT_IN, built_in};
use super::tier::ModelTier;

/// What one place says.
#[derive(Clone, Debug, Default)]
pub struct ModelQuery {
    pub provider: Option<String>,
    pub tier: Option<ModelTier>,
    pub model: Option<String>,
}

/// Where something was said.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceLayer {
    Request,
    Talent,
    /// The key in `providers.contexts`.
    Context(String),
    Default,
    /// Nothing was said; this is what the binary does then.
    BuiltIn,
}

impl fmt::Display for ChoiceLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChoiceLayer::Request => f.write_str("request"),
            ChoiceLayer::Talent => f.write_str("talent frontmatter"),
            ChoiceLayer::Context(key) => write!(f, "providers.contexts.{key:?}"),
            ChoiceLayer::Default => f.write_str("providers.default"),
            ChoiceLayer::BuiltIn => f.write_str("built in"),
        }
    }
}

/// One step of the way to the choice.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ChoiceReason {
    pub layer: ChoiceLayer,
    pub says: String,
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.layer, self.says)
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ModelChoice {
    pub context: String,
    pub provider: String,
    pub tier: ModelTier,
    pub model: String,
    /// A context switched the talent off.
    pub disabled: bool,
    /// In the order in which they were found.
    pub reasons: Vec<ChoiceReason>,
}

#[derive(Clone, Debug, Error, Eq, PartialEq)]
#[error("{why}")]
pub struct NoModelError {
    pub why: String,
    pub reasons: Vec<ChoiceReason>,
}

impl NoModelError {
    pub fn code(&self) -> &'static str {
        "no_model"
    }
}

#[derive(Clone, Debug)]
pub struct Resolver {
    settings: ProviderSettings,
    /// Providers that could be used now, the best first; used where nothing names one.
    usable: Vec<String>,
    /// Why nothing can be chosen, although something might be.
    problem: Option<String>,
}

impl Resolver {
    pub fn new(settings: ProviderSettings, usable: Vec<String>) -> Resolver {
        Resolver { settings, usable, problem: None }
    }

    /// Chooses nothing: a part of the settings cannot be read, and what is left may mean another provider.
    #[must_use]
    pub fn unusable(self, why: String) -> Resolver {
        Resolver { problem: Some(why), ..self }
    }

    pub fn settings(&self) -> &ProviderSettings {
        &self.settings
    }

    pub fn resolve(
        &self,
        context: &str,
        request: &ModelQuery,
        talent: &ModelQuery,
    ) -> Result<ModelChoice, NoModelError> {
        if let Some(why) = &self.problem {
            return Err(NoModelError { why: why.clone(), reasons: Vec::new() });
        }
        let layers = self.layers(context, request, talent);
        let mut reasons = Vec::new();
        let (mut provider, mut tier, mut model) = (None, None, None);
        // Models that a weaker layer named beside a provider: what that provider has if no table says more.
        let mut spare: Vec<(&ChoiceLayer, &ModelQuery)> = Vec::new();
        for (layer, ask) in &layers {
            let mut says = Vec::new();
            let free = provider.is_none() && tier.is_none();
            if let Some(name) = &ask.model {
                if model.is_some() {
                    says.push(format!("model {name} (a stronger layer named another)"));
                } else if free {
                    says.push(format!("model {name}"));
                    model = Some(name.clone());
                } else {
                    says.push(format!(
                        "model {name} (not used: a stronger layer named a provider or a tier)"
                    ));
                    spare.push((layer, ask));
                }
            }
            take(&mut provider, ask.provider.as_ref(), "provider", &mut says);
            take(&mut tier, ask.tier.as_ref(), "tier", &mut says);
            if !says.is_empty() {
                reasons.push(ChoiceReason { layer: layer.clone(), says: says.join(", ") });
            }
        }
        let tier = tier.unwrap_or_else(|| {
            let tier = ModelTier::default();
            reasons
                .push(ChoiceReason { layer: ChoiceLayer::BuiltIn, says: format!("tier {tier}") });
            tier
        });
        let Some(provider) = provider.or_else(|| self.first_usable(&mut reasons)) else {
            return Err(NoModelError { why: NO_PROVIDER.to_owned(), reasons });
        };
        if let Err(why) = self.known(&provider) {
            return Err(NoModelError { why, reasons });
        }
        let model = model.or_else(|| self.model_of(&provider, tier, &mut reasons)).or_else(|| {
            let (layer, ask) =
                spare.into_iter().find(|(_, ask)| ask.provider.as_ref() == Some(&provider))?;
            let model = ask.model.clone()?;
            let says = format!("model {model} after all: the one that is named for {provider}");
            reasons.push(ChoiceReason { layer: layer.clone(), says });
            Some(model)
        });
        let Some(model) = model else {
            let why = format!(
                "provider {provider:?} has no model for tier {tier}; set providers.models.{provider}.\"{}\"",
                tier.number()
            );
            return Err(NoModelError { why, reasons });
        };
        let disabled = self.disabled(context, &mut reasons);
        Ok(ModelChoice { context: context.to_owned(), provider, tier, model, disabled, reasons })
    }

    /// Who stands in for a choice: the provider of `providers.fallback`, with its model of the same tier unless it
    /// names another. Nobody if it is not set, not complete, or the same provider.
    pub fn fallback(&self, choice: &ModelChoice) -> Option<ModelChoice> {
        let rule = &self.settings.fallback;
        let provider = rule.provider.clone().filter(|name| *name != choice.provider)?;
        let tier = rule.tier.unwrap_or(choice.tier);
        let ask =
            ModelQuery { provider: Some(provider), tier: Some(tier), model: rule.model.clone() };
        self.resolve(&choice.context, &ask, &ModelQuery::default()).ok()
    }

    fn layers(
        &self,
        context: &str,
        request: &ModelQuery,
        talent: &ModelQuery,
    ) -> Vec<(ChoiceLayer, ModelQuery)> {
        let mut layers = vec![(ChoiceLayer::Request, request.clone())];
        for key in self.matching(context) {
            let rule = &self.settings.contexts[key];
            let ask = ModelQuery {
                provider: rule.provider.clone(),
                tier: rule.tier,
                model: rule.model.clone(),
            };
            layers.push((ChoiceLayer::Context(key.to_owned()), ask));
        }
        layers.push((ChoiceLayer::Talent, talent.clone()));
        let rule = &self.settings.default;
        let ask = ModelQuery {
            provider: rule.provider.clone(),
            tier: rule.tier,
            model: rule.model.clone(),
        };
        layers.push((ChoiceLayer::Default, ask));
        layers
    }

    /// The keys of contexts that match: the exact one first, then globs by the length of what stands before their
    /// first mark.
    fn matching(&self, context: &str) -> Vec<&str> {
        let mut keys: Vec<&str> = self
            .settings
            .contexts
            .keys()
            .map(String::as_str)
            .filter(|key| *key == context || glob(key, context))
            .collect();
        let literal = |key: &str| key.find(['*', '?']).unwrap_or(key.len());
        keys.sort_by(|a, b| {
            let exact = (*b == context).cmp(&(*a == context));
            exact.then(literal(b).cmp(&literal(a))).then(b.len().cmp(&a.len())).then(a.cmp(b))
        });
        keys
    }

    fn disabled(&self, context: &str, reasons: &mut Vec<ChoiceReason>) -> bool {
        for key in self.matching(context) {
            if let Some(disabled) = self.settings.contexts[key].disabled {
                let says = if disabled { "disabled" } else { "not disabled" };
                reasons.push(ChoiceReason {
                    layer: ChoiceLayer::Context(key.to_owned()),
                    says: says.into(),
                });
                return disabled;
            }
        }
        false
    }

    fn first_usable(&self, reasons: &mut Vec<ChoiceReason>) -> Option<String> {
        let name = self.usable.first()?;
        reasons.push(ChoiceReason {
            layer: ChoiceLayer::BuiltIn,
            says: format!("provider {name} (the first that can be used here)"),
        });
        Some(name.clone())
    }

    fn known(&self, provider: &str) -> Result<(), String> {
        if built_in(provider).is_some() || self.settings.endpoints.contains_key(provider) {
            return Ok(());
        }
        let names: Vec<&str> = BUILT_IN
            .iter()
            .map(|known| known.name)
            .chain(self.settings.endpoints.keys().map(String::as_str))
            .collect();
        Err(format!("there is no provider {provider:?}; known are {}", names.join(", ")))
    }

    /// The model of a tier; a tier without one falls to the next more capable.
    fn model_of(
        &self,
        provider: &str,
        tier: ModelTier,
        reasons: &mut Vec<ChoiceReason>,
    ) -> Option<String> {
        let mut at = Some(tier);
        while let Some(this) = at {
            let fallen = if this == tier { "" } else { ", the next more capable that has one" };
            if let Some(model) = self.configured(provider, this) {
                let says = format!("model {model} for tier {this}{fallen}");
                reasons.push(ChoiceReason {
                    layer: ChoiceLayer::Context(format!("providers.models.{provider}")),
                    says,
                });
                return Some(model.to_owned());
            }
            let known =
                built_in(provider).map(|known| known.models[usize::from(this.number()) - 1]);
            if let Some(model) = known.filter(|model| !model.is_empty()) {
                let says = format!("model {model} for tier {this} of {provider}{fallen}");
                reasons.push(ChoiceReason { layer: ChoiceLayer::BuiltIn, says });
                return Some(model.to_owned());
            }
            at = this.above();
        }
        None
    }

    fn configured(&self, provider: &str, tier: ModelTier) -> Option<&str> {
        let models = self.settings.models.get(provider)?;
        models
            .iter()
            .find(|(key, _)| ModelTier::parse(key) == Some(tier))
            .map(|(_, model)| model.as_str())
    }
}

const NO_PROVIDER: &str = "no provider is set up: set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY) or \
                           providers.default.provider";

fn take<T: Clone + fmt::Display>(
    slot: &mut Option<T>,
    given: Option<&T>,
    what: &str,
    says: &mut Vec<String>,
) {
    let Some(value) = given else { return };
    if slot.is_none() {
        says.push(format!("{what} {value}"));
        *slot = Some(value.clone());
    } else {
        says.push(format!("{what} {value} (a stronger layer named another)"));
    }
}

/// `*` stands for any text, `?` for one character.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            p = at + 1;
            t = from + 1;
            star = Some((at, t));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|mark| *mark == '*')
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
