//! The whole way over the bytes of each service.

use super::*;

#[tokio::test]
async fn the_whole_way_over_each_wire() {
    // execution R108, R111: request, tools, second turn, finish, over real sockets and each service's own bytes
    use llm::models::ProviderKind;
    use llm::providers::ConfiguredProviders;
    use llm::testing::{ANTHROPIC, FakeServer, GOOGLE, OPENAI, ServerAct, impatient};
    let ends = [
        (
            ProviderKind::Anthropic,
            ANTHROPIC,
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
             data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\
             \"text\":\"Tee.\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            ProviderKind::Openai,
            OPENAI,
            "data: {\"choices\":[{\"delta\":{\"content\":\"Tee.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        (
            ProviderKind::Google,
            GOOGLE,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Tee.\"}]},\"finishReason\":\"STOP\"}]}\n\n",
        ),
    ];
    for (kind, first, second) in ends {
        let server = FakeServer::start(vec![
            ServerAct::Stream(first.into(), 5),
            ServerAct::Stream(second.into(), 5),
        ])
        .await;
        let settings: ProviderSettings = serde_json::from_value(json!({
            "default": {"provider": "here", "model": "m"},
            "endpoints": {"here": {"kind": kind, "base_url": server.base}},
            "prices": {"m": {"input": 1.0, "output": 2.0}},
        }))
        .unwrap();
        let mut stage = stage(Vec::new(), &[]);
        stage.process.resolver = Resolver::new(settings.clone(), Vec::new());
        stage.process.providers = Arc::new(ConfiguredProviders {
            settings,
            env: std::collections::BTreeMap::default(),
            home: stage.dir.path().to_owned(),
            patience: impatient(),
            seed: 1,
            confinement: None,
        });
        let events = stage.one(json!({"use_id": "1", "prompt": "Tee?"})).await;
        let finish = events.last().unwrap();
        assert_eq!(finish["result"], "Tee.", "{kind:?}: {events:#?}");
        assert_eq!(finish["cited"], json!([7, 9]));
        assert_eq!(finish["usage"]["requests"], 2);
        assert!(finish["cost"].as_f64().unwrap() > 0.0);
        let told = names(&events);
        assert_eq!(told.iter().filter(|name| **name == "tool_end").count(), 1);
        let sent = server.body(1).to_string();
        assert!(
            sent.matches("memory_recall").count() >= 2,
            "the answer of the tool is sent back: {sent}"
        );
    }
}
