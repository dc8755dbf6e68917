//! What tends the memory, on one screen: jobs, what needs attention, what was changed, what talents did.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tabs::{Mind, MindRow};
use crate::text;
use crate::view::canvas::{Canvas, Rows, extent};

/// Cells of a name, a state, an age.
const NAME: usize = 14;
const STATE: usize = 10;
const AGE: usize = 9;

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, mind: &Mind) {
    let rows = mind.rows();
    let fits = usize::from(area.height.saturating_sub(1));
    let note = extent(mind.list.first(fits, rows.len()), fits, rows.len(), rows.len());
    let inner = canvas.section(area, "Mind", &note, true);
    // The jobs are there first; what is still being looked at appears below them.
    if canvas.instead(inner, &mind.jobs, |_| false, "") {
        return;
    }
    canvas.rows(inner, &Rows::of(&mind.list, rows.len()), |canvas, row, cells| {
        vec![line(canvas, rows[row], cells)]
    });
}

fn line(canvas: &Canvas<'_>, row: MindRow<'_>, cells: usize) -> Line<'static> {
    let theme = canvas.theme;
    match row {
        MindRow::Head(words) => Line::from(Span::styled(text::cut(words, cells), theme.strong())),
        MindRow::Words(words) => {
            Line::from(Span::styled(format!("  {}", text::cut(words, cells)), theme.faint()))
        }
        MindRow::Job(job) => {
            let (state, style) = match (job.paused, &job.running) {
                (true, _) => ("paused", theme.warn()),
                (false, Some(_)) => ("running", theme.accent()),
                (false, None) if job.failures > 0 => ("failing", theme.bad()),
                (false, None) => ("on time", theme.good()),
            };
            let last = job.last.as_ref();
            let said = last.map_or(job.about.as_str(), |report| report.summary.as_str());
            let age =
                last.map(|report| text::ago(&report.ended_at, canvas.now)).unwrap_or_default();
            columns(canvas, (job.name.as_str(), state, style), said, &age, cells)
        }
        MindRow::Finding(finding) => {
            let words = format!("  {} {}", finding.count, finding.says);
            Line::from(Span::styled(text::fit(&words, cells), theme.warn()))
        }
        MindRow::Example(example) => {
            let id = example.ids.first().map(u64::to_string).unwrap_or_default();
            let title = text::plain(&example.title);
            let why = text::plain(&example.why);
            Line::from(vec![
                Span::styled(text::fit_right(&id, 8), theme.faint()),
                Span::raw(format!("  {}", text::cut(&title, cells.saturating_sub(10)))),
                Span::styled(
                    format!(
                        "  {}",
                        text::cut(&why, cells.saturating_sub(12 + text::width(&title)))
                    ),
                    theme.faint(),
                ),
            ])
        }
        MindRow::Change(run) => {
            let (state, style) = match (run.undone, &run.done) {
                (true, _) => ("undone", theme.faint()),
                (false, Some(_)) => ("done", theme.good()),
                (false, None) => ("broke off", theme.bad()),
            };
            let did = run.done.as_deref().unwrap_or(&run.planned);
            let said = format!("{did}  {}", run.run);
            let age = text::ago(&run.started_at, canvas.now);
            columns(canvas, (run.job.as_str(), state, style), &said, &age, cells)
        }
        MindRow::Run(run) => {
            let style = match run.state.as_str() {
                "failed" => theme.bad(),
                "running" => theme.accent(),
                "skipped" => theme.faint(),
                _ => theme.good(),
            };
            let cost = run.cost.map(|dollars| format!(", ${dollars:.4}")).unwrap_or_default();
            let tokens = text::count(run.tokens, "token", "tokens");
            let said = run.why.clone().unwrap_or_else(|| format!("{tokens}{cost}"));
            columns(canvas, (run.name.as_str(), run.state.as_str(), style), &said, "", cells)
        }
    }
}

/// A name, how it is, what there is to say, and when that was.
fn columns(
    canvas: &Canvas<'_>,
    (name, state, style): (&str, &str, ratatui::style::Style),
    said: &str,
    age: &str,
    cells: usize,
) -> Line<'static> {
    let room = cells.saturating_sub(2 + NAME + 1 + STATE + 1 + AGE);
    Line::from(vec![
        Span::styled(format!("  {} ", text::fit(&text::plain(name), NAME)), canvas.theme.accent()),
        Span::styled(format!("{} ", text::fit(state, STATE)), style),
        Span::raw(text::fit(&text::plain(said), room)),
        Span::styled(text::fit_right(age, AGE), canvas.theme.faint()),
    ])
}
