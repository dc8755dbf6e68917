//! Pages: what opens above a tab, one upon another, and closes again.

use std::collections::{BTreeMap, BTreeSet};

use crate::ask::{Ask, Load, Request, Slot, Tickets};
use crate::input::Input;
use crate::list::{List, Memories};
use api::channel::{ChannelGetAnswer, ChannelGetRequest, ChannelRunAnswer, ChannelSayRequest};
use api::graph::{GraphAnswer, GraphRequest, NodeView};
use api::memory::Brief;
use api::proof::{ProveAnswer, ProveRequest};
use api::read::{GetAnswer, GetRequest, ListRequest};
use api::session::SessionView;
use api::timeline::{TimelineAnswer, TimelineRequest};

/// Neighbours in time on each side.
const SIDE: usize = 50;
/// How far a walk goes at most. More cannot be read on one screen.
pub(super) const DEPTH_MAX: u32 = 4;

#[derive(Debug)]
pub(super) enum Page {
    Memory(Box<MemoryPage>),
    Timeline(TimelinePage),
    Graph(GraphPage),
    Session(SessionPage),
    Project(ProjectPage),
    Chat(ChatPage),
}

/// What is shown of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    #[default]
    Text,
    History,
    Proof,
}

impl Pane {
    pub(super) const ALL: [Pane; 3] = [Pane::Text, Pane::History, Pane::Proof];

    pub(super) fn name(self) -> &'static str {
        match self {
            Pane::Text => "Text",
            Pane::History => "History",
            Pane::Proof => "Proof",
        }
    }

    pub(super) fn step(self, by: usize) -> Pane {
        Pane::ALL[(self as usize + by) % Pane::ALL.len()]
    }
}

#[derive(Debug, Default)]
pub(super) struct MemoryPage {
    pub(super) id: u64,
    pub(super) load: Load<GetAnswer>,
    /// Every version in full; asked for when it is looked at.
    pub(super) history: Load<GetAnswer>,
    pub(super) proof: Load<ProveAnswer>,
    pub(super) pane: Pane,
    pub(super) scroll: usize,
}

impl MemoryPage {
    pub(super) fn new(id: u64) -> MemoryPage {
        MemoryPage { id, ..MemoryPage::default() }
    }

    fn request(&self, history: bool) -> Ask {
        Ask::Get(GetRequest {
            id: self.id,
            history,
            include_put_away: true,
            // Somebody at a terminal looks; only agents use.
            quiet: true,
            ..GetRequest::default()
        })
    }

    /// Shows another pane, asking for what it needs if it is not there yet.
    pub(super) fn show(&mut self, pane: Pane, tickets: &mut Tickets) -> Option<Request> {
        (self.pane, self.scroll) = (pane, 0);
        match pane {
            Pane::History if self.history.value().is_none() => {
                let ask = self.request(true);
                Some(self.history.ask(tickets, ask))
            }
            // A root moves with every entry: a proof is made when it is looked at.
            Pane::Proof => {
                let ask = Ask::Prove(ProveRequest { id: self.id, snapshot: None });
                Some(self.proof.ask(tickets, ask))
            }
            Pane::Text | Pane::History => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct TimelinePage {
    pub(super) id: u64,
    pub(super) load: Load<TimelineAnswer>,
    pub(super) list: List,
}

impl TimelinePage {
    pub(super) fn rows(&self) -> Vec<&Brief> {
        self.load.value().map_or_else(Vec::new, |answer| {
            let focus = std::iter::once(&answer.focus);
            answer.before.iter().chain(focus).chain(&answer.after).collect()
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct GraphPage {
    pub(super) id: u64,
    pub(super) title: String,
    pub(super) depth: u32,
    pub(super) load: Load<GraphAnswer>,
    /// The answer as a tree, row by row.
    pub(super) rows: Vec<Branch>,
    pub(super) list: List,
}

/// A memory in the tree of neighbours, and how it hangs on the one above it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Branch {
    pub(super) node: NodeView,
    pub(super) relation: String,
    /// True if the edge leads from the memory above to this one.
    pub(super) outgoing: bool,
}

/// The nodes of a walk below each other: each under the first memory it was reached from.
pub(super) fn tree(answer: &GraphAnswer) -> Vec<Branch> {
    let nodes: BTreeMap<u64, &NodeView> = answer.nodes.iter().map(|node| (node.id, node)).collect();
    let mut near: BTreeMap<u64, Vec<(u64, &str, bool)>> = BTreeMap::new();
    for edge in &answer.edges {
        let (from, to) = (edge.from_obs_id, edge.to_obs_id);
        near.entry(from).or_default().push((to, &edge.relation_type, true));
        near.entry(to).or_default().push((from, &edge.relation_type, false));
    }
    let mut rows = Vec::new();
    let mut placed = BTreeSet::from([answer.id]);
    let mut open = vec![(answer.id, 0)];
    // Depth first; each node enters once, at the distance the walk found it.
    let mut waiting: Vec<Branch> = Vec::new();
    while let Some((id, hop)) = open.pop() {
        if let Some(place) = waiting.iter().rposition(|branch| branch.node.id == id) {
            rows.push(waiting.remove(place));
        }
        let mut below: Vec<Branch> = Vec::new();
        for (other, relation, outgoing) in near.get(&id).into_iter().flatten() {
            let Some(node) = nodes.get(other).filter(|node| node.hop == hop + 1) else { continue };
            if placed.insert(*other) {
                let relation = (*relation).to_owned();
                below.push(Branch { node: (*node).clone(), relation, outgoing: *outgoing });
            }
        }
        below.sort_by_key(|branch| std::cmp::Reverse(branch.node.id));
        open.extend(below.iter().map(|branch| (branch.node.id, branch.node.hop)));
        waiting.extend(below);
    }
    rows
}

#[derive(Debug, Default)]
pub(super) struct SessionPage {
    pub(super) session: SessionView,
    pub(super) memories: Memories,
}

impl SessionPage {
    pub(super) fn new(session: SessionView) -> SessionPage {
        let request =
            ListRequest { session_id: Some(session.id.clone()), ..ListRequest::default() };
        SessionPage { session, memories: Memories::of(request) }
    }
}

#[derive(Debug, Default)]
pub(super) struct ProjectPage {
    pub(super) name: String,
    pub(super) memories: Memories,
}

impl ProjectPage {
    pub(super) fn new(name: &str) -> ProjectPage {
        let request = ListRequest { project: Some(name.to_owned()), ..ListRequest::default() };
        ProjectPage { name: name.to_owned(), memories: Memories::of(request) }
    }
}

/// One conversation, and what is being typed for it.
#[derive(Debug, Default)]
pub(super) struct ChatPage {
    pub(super) channel: String,
    pub(super) load: Load<ChannelGetAnswer>,
    pub(super) input: Input,
    /// A message that is on its way.
    pub(super) sent: Load<ChannelRunAnswer>,
    /// Lines between the newest one and the last one in sight.
    pub(super) scroll: usize,
}

impl ChatPage {
    pub(super) fn new(channel: &str) -> ChatPage {
        ChatPage { channel: channel.to_owned(), ..ChatPage::default() }
    }

    pub(super) fn ask(&mut self, tickets: &mut Tickets) -> Request {
        let ask = Ask::Channel(ChannelGetRequest { channel: self.channel.clone(), limit: None });
        self.load.ask(tickets, ask)
    }

    /// Says what was typed; it stays in the line until it has arrived.
    pub(super) fn say(&mut self, tickets: &mut Tickets) -> Option<Request> {
        let message = self.input.text().trim();
        if message.is_empty() || self.sent.is_waiting() {
            return None;
        }
        let (channel, message) = (self.channel.clone(), message.to_owned());
        let ask = Ask::Say(ChannelSayRequest { channel, message, ..ChannelSayRequest::default() });
        Some(self.sent.ask(tickets, ask))
    }

    /// Is an answer being written?
    pub(super) fn is_answering(&self) -> bool {
        self.load.value().is_some_and(|answer| answer.view.is_answering)
    }
}

impl Page {
    /// Asks for what the page shows.
    pub(super) fn ask(&mut self, tickets: &mut Tickets) -> Vec<Request> {
        match self {
            Page::Memory(page) => {
                let ask = page.request(false);
                let mut requests = vec![page.load.ask(tickets, ask)];
                page.history.clear();
                requests.extend(page.show(page.pane, tickets));
                requests
            }
            Page::Timeline(page) => {
                let (before, after) = (Some(SIDE), Some(SIDE));
                let ask =
                    Ask::Timeline(TimelineRequest { id: page.id, before, after, quiet: true });
                vec![page.load.ask(tickets, ask)]
            }
            Page::Graph(page) => {
                let (id, depth) = (page.id, Some(page.depth));
                let ask = Ask::Graph(GraphRequest { id, depth, ..GraphRequest::default() });
                vec![page.load.ask(tickets, ask)]
            }
            Page::Session(page) => vec![page.memories.ask(tickets)],
            Page::Project(page) => vec![page.memories.ask(tickets)],
            Page::Chat(page) => vec![page.ask(tickets)],
        }
    }

    pub(super) fn slots(&mut self) -> Vec<&mut dyn Slot> {
        match self {
            Page::Memory(page) => vec![&mut page.load, &mut page.history, &mut page.proof],
            Page::Timeline(page) => vec![&mut page.load],
            Page::Graph(page) => vec![&mut page.load],
            Page::Session(page) => vec![&mut page.memories.load],
            Page::Project(page) => vec![&mut page.memories.load],
            Page::Chat(page) => vec![&mut page.load, &mut page.sent],
        }
    }

    /// Follows from an answer that has just come.
    pub(super) fn settle(&mut self) {
        match self {
            Page::Timeline(page) => {
                if let Some(answer) = page.load.value() {
                    page.list.selected = answer.before.len();
                }
            }
            Page::Graph(page) => {
                page.rows = page.load.value().map(tree).unwrap_or_default();
                page.list.to(page.list.selected, page.rows.len());
            }
            Page::Session(SessionPage { memories, .. })
            | Page::Project(ProjectPage { memories, .. }) => {
                let length = memories.rows().len();
                memories.list.to(memories.list.selected, length);
            }
            Page::Memory(_) | Page::Chat(_) => {}
        }
    }

    /// The list of the page and how long it is.
    pub(super) fn list(&mut self) -> Option<(&mut List, usize)> {
        match self {
            Page::Memory(_) | Page::Chat(_) => None,
            Page::Timeline(page) => {
                let length = page.rows().len();
                Some((&mut page.list, length))
            }
            Page::Graph(page) => Some((&mut page.list, page.rows.len())),
            Page::Session(SessionPage { memories, .. })
            | Page::Project(ProjectPage { memories, .. }) => {
                let length = memories.rows().len();
                Some((&mut memories.list, length))
            }
        }
    }

    /// The memory that is meant when somebody acts: id and title.
    pub(super) fn memory(&self) -> Option<(u64, String)> {
        match self {
            Page::Memory(page) => {
                let title = page.load.value().map(|answer| answer.memory.title.clone());
                Some((page.id, title.unwrap_or_default()))
            }
            Page::Chat(_) => None,
            Page::Timeline(page) => {
                let rows = page.rows();
                rows.get(page.list.selected).map(|row| (row.id, row.title.clone()))
            }
            Page::Graph(page) => {
                let branch = page.rows.get(page.list.selected);
                branch.map(|branch| (branch.node.id, branch.node.title.clone()))
            }
            Page::Session(SessionPage { memories, .. })
            | Page::Project(ProjectPage { memories, .. }) => {
                memories.selected().map(|memory| (memory.id, memory.title.clone()))
            }
        }
    }
}
