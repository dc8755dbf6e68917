//! Which of the nodes that are there serves an actor: rendezvous hashing.
//!
//! What must stay true: every node that sees the same names decides the same; a node that comes or goes moves only the
//! actors that it gets or had. Nothing depends on it but the warmth of caches.

use proof::Digest;

/// The name of the node that serves the actor; `None` if there are none.
pub fn place<'n>(nodes: impl IntoIterator<Item = &'n str>, actor: &str) -> Option<&'n str> {
    nodes.into_iter().max_by_key(|node| (weight(node, actor), *node))
}

fn weight(node: &str, actor: &str) -> [u8; 32] {
    *Digest::of("cortex/placement/1", &[node.as_bytes(), &[0], actor.as_bytes()]).as_bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ACTORS: usize = 10_000;

    fn places(nodes: &[&str]) -> Vec<String> {
        (0..ACTORS)
            .map(|n| place(nodes.iter().copied(), &format!("actor-{n}")).unwrap().to_owned())
            .collect()
    }

    // cluster 12
    #[test]
    fn a_fourth_node_takes_a_quarter_and_nothing_else_moves() {
        let (three, four) = (places(&["a", "b", "c"]), places(&["a", "b", "c", "d"]));
        let moved = three.iter().zip(&four).filter(|(before, after)| before != after).count();
        assert!(three.iter().zip(&four).all(|(before, after)| before == after || after == "d"));
        assert!((ACTORS / 5..ACTORS * 3 / 10).contains(&moved), "{moved}");
        for node in ["a", "b", "c", "d"] {
            let share = four.iter().filter(|at| *at == node).count();
            assert!((ACTORS / 5..ACTORS * 3 / 10).contains(&share), "{node}: {share}");
        }
        assert_eq!(
            places(&["c", "a", "b"]),
            three,
            "the order in which nodes are listed says nothing"
        );
    }

    #[test]
    fn without_nodes_there_is_no_place() {
        assert_eq!(place([], "ada"), None);
    }
}
