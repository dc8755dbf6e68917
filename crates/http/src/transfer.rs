//! Export and import as streams: neither side ever holds more than a piece in memory.
//!
//! What must stay true: an export that fails in the middle ends without its last line and breaks the connection, so
//! that nobody takes it for whole; an upload is deleted whatever becomes of it.

use std::fs::{File, OpenOptions};
use std::future::poll_fn;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use http_body::Frame;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use crate::input::{Asker, Body as JsonBody, QueryParameters};
use crate::problem::Problem;
use crate::{App, Reply};
use api::backup::BackupRequest;
use api::transfer::{ExportRequest, ImportRequest};
use api::{Error, ErrorCode, Fault};
use host::pools::WorkKind;
use transfer::ImportReport;

/// Bytes of an upload.
const UPLOAD_BYTES_MAX: u64 = 1_073_741_824;
/// How long the next piece of an upload may take.
const PIECE_WAIT: Duration = Duration::from_secs(30);
/// Bytes of a piece of an export, and pieces that wait for a slow reader.
const PIECE_BYTES: usize = 65_536;
const PIECES: usize = 4;
/// How long an export waits for one of the places for streams.
const STREAM_WAIT: Duration = Duration::from_millis(200);
/// Types that no page can send without asking first.
const TYPES: [&str; 5] = [
    "application/x-ndjson",
    "application/jsonl",
    "application/json",
    "application/octet-stream",
    "application/vnd.sqlite3",
];

pub(super) type Piece = Result<Bytes, std::io::Error>;

/// Everything that is remembered, one JSON object per line: a header first and an end last.
#[utoipa::path(
    get, path = "/api/export", tag = "transfer", operation_id = "export",
    params(ExportRequest),
    responses((
        status = 200, description = "A stream of lines", body = String,
        content_type = "application/x-ndjson",
    )),
)]
pub(super) async fn export(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(request): QueryParameters<ExportRequest>,
) -> Reply {
    // What is wrong from the start is said with a status; later there is no place for one.
    let (ops, whose) = (Arc::clone(&app.ops), caller.clone());
    app.run(WorkKind::Read, move |ops| Ok(ops.service.existing(&whose).map(drop)?)).await?;
    let place = app.ops.pools.enter_within(WorkKind::Stream, STREAM_WAIT).await?;
    let (send, pieces) = mpsc::channel::<Piece>(PIECES);
    tokio::task::spawn_blocking(move || {
        let mut out = BufWriter::with_capacity(PIECE_BYTES, Pieces(send.clone()));
        let outcome = transfer::operations::export(&ops.service, &caller, request, &mut out);
        if let Err(error) = outcome {
            // Sending fails if the caller is gone, who then sees no last line.
            let _ = send.blocking_send(Err(std::io::Error::other(error.to_string())));
        }
        drop(place);
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"cortex.jsonl\""),
    ];
    Ok((headers, Body::new(Stream(pieces))).into_response())
}

/// The writing end. Waits while the reader has not taken what was written.
struct Pieces(mpsc::Sender<Piece>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let piece = Ok(Bytes::copy_from_slice(bytes));
        self.0.blocking_send(piece).map_err(|_| std::io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The reading end.
pub(super) struct Stream(pub(super) mpsc::Receiver<Piece>);

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

/// Takes in an export, or the file of another memory tool. Importing it again adds nothing. The answer names the run by
/// which it is taken back, at `/api/mind/undo`.
#[utoipa::path(
    post, path = "/api/import", tag = "transfer", operation_id = "import",
    params(ImportRequest),
    request_body(
        content = String, content_type = "application/octet-stream",
        description = "The file as it is. The lines of an export may also come as application/x-ndjson",
    ),
    responses((status = 200, description = "What was done and left out", body = ImportReport)),
)]
pub(super) async fn import(
    State(app): State<App>,
    Asker(mut caller): Asker,
    QueryParameters(asked): QueryParameters<ImportRequest>,
    request: Request,
) -> Reply {
    let (parts, body) = request.into_parts();
    if !is_known(&parts.headers) {
        let message = format!("the body must be one of {}", TYPES.join(", "));
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorCode::UnknownType,
            message,
        ));
    }
    let now = caller.now().map_err(Problem::from)?;
    caller.run.get_or_insert_with(|| format!("import-{}", now.get()));
    let mut upload = Upload::new(app.ops.folder())?;
    upload.fill(body).await?;
    let report = app
        .run(WorkKind::Long, move |ops| {
            Ok(transfer::operations::import(&ops.service, &caller, &asked, &upload.path)?)
        })
        .await?;
    Ok(Json(report).into_response())
}

/// Where a backup goes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BackupBody {
    /// A folder of this machine, as an absolute path. A later backup into the same one copies only what is new.
    folder: String,
}

/// What a backup holds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BackupView {
    actors: Vec<ActorBackupView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ActorBackupView {
    actor: String,
    /// Journal entries.
    entries: u64,
    /// The root of the state with these entries.
    root: String,
    /// Bytes that were not in the folder before.
    copied_bytes: u64,
}

/// Copies the journals of all actors into a folder of this machine, while agents go on. For a person.
#[utoipa::path(
    post, path = "/api/backup", tag = "transfer", operation_id = "backup",
    request_body = BackupBody,
    responses((status = 200, description = "What was copied", body = BackupView)),
)]
pub(super) async fn backup(State(app): State<App>, Asker(caller): Asker, body: JsonBody) -> Reply {
    if !caller.author.is_person() {
        let message = "where backups go is said by a person";
        return Err(Error::new(ErrorCode::PersonNeeded, Fault::Forbidden, message).into());
    }
    let BackupBody { folder } = body.read()?;
    let request = BackupRequest { folder: PathBuf::from(folder.trim()), actor: None };
    let actors = app.ask(caller, request).await?.actors.into_iter().map(|made| ActorBackupView {
        actor: made.actor,
        entries: made.size,
        root: made.root,
        copied_bytes: made.copied_bytes,
    });
    Ok(Json(BackupView { actors: actors.collect() }).into_response())
}

fn is_known(headers: &HeaderMap) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = text.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    TYPES.iter().any(|known| known.eq_ignore_ascii_case(essence))
}

/// What somebody sends, in a file of its own for as long as it is needed.
struct Upload {
    path: PathBuf,
    file: File,
    size: u64,
}

impl Upload {
    fn new(home: &Path) -> Result<Upload, Problem> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder(home).join(format!("{PREFIX}{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| unwritten(&error))?;
        Ok(Upload { path, file, size: 0 })
    }

    async fn fill(&mut self, mut body: Body) -> Result<(), Problem> {
        loop {
            let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
            let next = tokio::time::timeout(PIECE_WAIT, next).await.map_err(|_| {
                let message = "the body did not go on in time";
                Problem::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::SlowBody, message)
            })?;
            let Some(frame) = next else { return Ok(()) };
            let frame =
                frame.map_err(|error| Problem::bad(ErrorCode::BadBody, error.to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            self.size += data.len() as u64;
            if self.size > UPLOAD_BYTES_MAX {
                let message = format!("an import has at most {UPLOAD_BYTES_MAX} bytes");
                return Err(Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    ErrorCode::TooLarge,
                    message,
                ));
            }
            tokio::task::block_in_place(|| self.file.write_all(&data))
                .map_err(|error| unwritten(&error))?;
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // An upload that cannot be removed now is swept when the daemon starts again.
        let _ = std::fs::remove_file(&self.path);
    }
}

const PREFIX: &str = "upload-";

fn folder(home: &Path) -> PathBuf {
    home.join("run")
}

fn unwritten(error: &std::io::Error) -> Problem {
    Error::new(ErrorCode::Io, Fault::Server, format!("the upload could not be kept: {error}"))
        .into()
}

/// Removes uploads that a daemon left behind when it was killed. The home is ours now.
pub(super) fn sweep(home: &Path) {
    let Ok(entries) = std::fs::read_dir(folder(home)) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // What cannot be removed harms nobody and is tried again at the next start.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
