// The answers of the server that several pages read, as types. Nothing here runs.

/**
 * @typedef {{id: number, title: string, content: string, type: string, project: string, scope: string, session_id: string,
 *   topic_key: string, created_at: string, updated_at: string, uri: string, memory_type: string, version: number,
 *   latest: number, duplicates: number, tags: string[], fields: Record<string, unknown>, pinned: boolean, archived: boolean,
 *   deleted_at?: string, deleted_reason?: string, erased: boolean, accesses: number, citations: number, by: string,
 *   confidence: number, importance: number, visibility: string, channel: string, source: string, derived_from: string[],
 *   valid_from?: string, valid_until?: string, expires?: string, entry: number, origin?: string}} Memory
 * @typedef {Memory & {rank?: number, level?: string, preview?: string, standing?: string, arms?: Arm[]}} Hit
 * @typedef {{arm: string, rank: number, score: number, weight: number, by?: string}} Arm
 * @typedef {{version: number, title: string, content: string, created_at: string, by: string}} Version
 * @typedef {Memory & {history: Version[], superseded_by: number[], contradicted_by: number[]}} WholeMemory
 * @typedef {{id: number, title: string, type: string, project: string, session_id: string, memory_type: string,
 *   created_at: string, preview: string, pinned: boolean, superseded: boolean}} Brief
 * @typedef {{id: number, from_obs_id: number, to_obs_id: number, relation_type: string, weight: number, by: string}} Edge
 * @typedef {{id: number, hop: number, title: string, type: string, memory_type: string, project: string, preview: string,
 *   superseded: boolean}} GraphNode
 * @typedef {{id: string, project: string, directory: string, agent?: string, started_at: string, ended_at?: string,
 *   summary?: string, memories: number, last_saved_at?: string}} Session
 */

export {};
