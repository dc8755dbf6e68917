//! Where things are in a home, for the parts that act: the chronicle, run logs, talents, facets, the bus.
//!
//! Paths are only built here, and only from names that were checked (see `names`).

use std::path::{Path, PathBuf};

use crate::names::{Day, Facet, Segment, TalentName, UseId};

/// The folders of one home.
#[derive(Clone, Debug)]
pub struct Layout {
    home: PathBuf,
}

impl Layout {
    pub fn new(home: impl Into<PathBuf>) -> Layout {
        Layout { home: home.into() }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The bus. A home whose path is too long for a socket gets one elsewhere; the daemon decides that.
    pub fn bus_socket(&self) -> PathBuf {
        self.home.join("run").join("callosum.sock")
    }

    /// Run logs of all talents.
    pub fn runs(&self) -> PathBuf {
        self.home.join("talents")
    }

    pub fn runs_of(&self, talent: &TalentName) -> PathBuf {
        self.runs().join(talent.as_str())
    }

    /// The log of a run that goes on.
    pub fn active_run(&self, talent: &TalentName, run: &UseId) -> PathBuf {
        self.runs_of(talent).join(format!("{run}_active.jsonl"))
    }

    /// The log of a run that has ended.
    pub fn ended_run(&self, talent: &TalentName, run: &UseId) -> PathBuf {
        self.runs_of(talent).join(format!("{run}.jsonl"))
    }

    /// What a run wrote to its standard error, if anything.
    pub fn run_stderr(&self, talent: &TalentName, run: &UseId) -> PathBuf {
        self.runs_of(talent).join(format!("{run}.stderr"))
    }

    /// A link to the newest run of a talent that has ended.
    pub fn newest_run(&self, talent: &TalentName) -> PathBuf {
        self.runs().join(format!("{talent}.log"))
    }

    /// How far the schedule has come.
    pub fn schedule(&self) -> PathBuf {
        self.home.join("run").join("schedule.json")
    }

    /// What the clock and events have started.
    pub fn triggers(&self) -> PathBuf {
        self.home.join("run").join("triggers.json")
    }

    /// Calls of tools that wait for a person.
    pub fn approvals(&self) -> PathBuf {
        self.home.join("run").join("approvals")
    }

    /// What was said before, for runs that go on with a conversation.
    pub fn contexts(&self) -> PathBuf {
        self.home.join("run").join("contexts")
    }

    pub fn context(&self, name: &str) -> PathBuf {
        self.contexts().join(format!("{name}.json"))
    }

    /// Conversations with services.
    pub fn chats(&self) -> PathBuf {
        self.home.join("chats")
    }

    /// Folders of runs that go on; each is gone when its run has ended.
    pub fn scratches(&self) -> PathBuf {
        self.home.join("run").join("scratch")
    }

    pub fn scratch(&self, run: &UseId) -> PathBuf {
        self.scratches().join(run.as_str())
    }

    /// The index of the runs of a day.
    pub fn run_index(&self, day: Day) -> PathBuf {
        self.runs().join(format!("{day}.jsonl"))
    }

    /// Talents the user wrote; they stand before those in the binary.
    pub fn talents(&self) -> PathBuf {
        self.home.join("talent")
    }

    pub fn facets(&self) -> PathBuf {
        self.home.join("facets")
    }

    pub fn facet(&self, facet: &Facet) -> PathBuf {
        self.facets().join(facet.as_str()).join("facet.json")
    }

    pub fn chronicle(&self) -> PathBuf {
        self.home.join("chronicle")
    }

    pub fn day(&self, day: Day) -> PathBuf {
        self.chronicle().join(day.to_string())
    }

    /// Notes on parts of what was too long for one request, and answers that broke off. Hidden from lists.
    pub fn parts(&self, day: Day) -> PathBuf {
        self.day(day).join(".parts")
    }

    /// What was done about a day, and with which sources.
    pub fn work_done(&self, day: Day) -> PathBuf {
        self.day(day).join(".work.json")
    }

    /// What is about several segments of a day, each choice of segments in a folder of its own.
    pub fn spans(&self, day: Day) -> PathBuf {
        self.day(day).join("spans")
    }

    pub fn segment(&self, day: Day, segment: Segment) -> PathBuf {
        self.day(day).join(segment.to_string())
    }
}
