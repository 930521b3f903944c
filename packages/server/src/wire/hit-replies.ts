// The replies of searches in both versions, from hits as the engine returns them. Serving threads write replies with it, so it loads no
// schemas.
import type { FusedHit, HitGroup, SearchHit, SearchResult } from '@annal/engine'
import { MetaBudget, writtenOverheadBytes } from '@annal/engine/reader'
import { accountJson } from './explain.ts'
import type { IndexFields } from './index-fields.ts'
import { metaJson } from './meta-json.ts'
import { type Expiry, expiryMember } from './moment.ts'
import { MsgpackWriter } from './msgpack-writer.ts'
import { arrayPieces, memberPieces, numbersJson, objectPieces, withMembers } from './pieces.ts'

/** A hit with its score in the reply: its own similarity, or the score of the fusion. */
export interface ScoredHit {
  readonly hit: SearchHit
  readonly similarity: number
  readonly distance: number
}

/**
 * One list, best first: the list of the only queried field or of the only one with results, otherwise both lists fused by
 * reciprocal ranks.
 */
export function hitsOf(result: SearchResult, { denseField, sparseField }: IndexFields): readonly ScoredHit[] {
  const dense = result.results[denseField] ?? []
  const sparse = result.results[sparseField] ?? []
  if (sparse.length === 0) return dense.map(withOwnScore)
  if (dense.length === 0) return sparse.map(withOwnScore)
  return (result.fused ?? []).map(({ hit, score }) => ({ hit, similarity: score, distance: 1 - score }))
}

function withOwnScore(hit: SearchHit): ScoredHit {
  return { hit, similarity: hit.similarity, distance: hit.distance }
}

/** `[[similarity, id, meta, filter, norm, vector], ...]`, the form of the published clients. */
export function* searchReplyMsgpack(hits: readonly ScoredHit[]): Generator<Buffer> {
  const writer = new MsgpackWriter().array(hits.length)
  for (const { hit, similarity } of hits) {
    writer.array(6).float(similarity).string(hit.id).binary(hit.metaBytes).string(hit.filterText).float(hit.norm)
    writer.floats(hit.row ?? [])
    yield* writer.piece()
  }
  yield writer.finish()
}

/** The reply of a search as JSON. */
export function searchReplyJson(hits: readonly ScoredHit[], result: SearchResult): Generator<string> {
  const metas = new MetaBudget()
  return withMembers(accountJson(result), [
    ['results', arrayPieces(hits, ({ hit, similarity, distance }) => hitPieces(hit, { similarity, distance }, metas))],
  ])
}

/** A hit in JSON with its original vector. */
function hitPieces(
  hit: SearchHit,
  { similarity, distance }: { readonly similarity: number; readonly distance: number },
  metas: MetaBudget,
  expiry: Expiry = {},
): Iterable<string> {
  const { id, vector, members, filter, norm, texts, highlight } = hit
  const shown = { ...(texts !== undefined && { texts }), ...(highlight !== undefined && { highlight }) }
  const head = { id, similarity, distance, ...metaJson(hit, metas), filter, ...expiry, norm, ...shown }
  if (vector !== undefined) return withMembers(head, [['vector', [numbersJson(vector)]]])
  return members === undefined ? [JSON.stringify(head)] : withMembers(head, [['vectors', memberPieces(members)]])
}

/**
 * `[{number: [id, meta, filter]}, {field: [[number, score], ...]}]`, where numbers are counted within the reply, and a third part
 * `[[number, score], ...]` if fusion was requested. If hits are grouped, there are always three, and nil stands for no fusion; a fourth part
 * `{field: [[value, [number, ...]], ...]}` has the groups, and a fifth one those of the fused list. Published clients unpack exactly three parts
 * of an object, so its expiry is in JSON only.
 */
export function* collectionSearchMsgpack(result: SearchResult): Generator<Buffer> {
  const { fused, groups, fusedGroups } = result
  const numbers = new Map<string, number>()
  const objects: SearchHit[] = []
  for (const hits of Object.values(result.results)) {
    for (const hit of hits) {
      if (numbers.has(hit.id)) continue
      numbers.set(hit.id, objects.length)
      objects.push(hit)
    }
  }
  const parts = groups === undefined ? (fused === undefined ? 2 : 3) : fusedGroups === undefined ? 4 : 5
  const writer = new MsgpackWriter().array(parts).map(objects.length)
  for (const [number, hit] of objects.entries()) {
    writer.uint(number).array(3).string(hit.id).binary(hit.metaBytes).string(hit.filterText)
    yield* writer.piece()
  }
  const fields = Object.entries(result.results)
  writer.map(fields.length)
  for (const [name, hits] of fields) {
    writer.string(name).array(hits.length)
    for (const hit of hits) writer.array(2).uint(numbers.get(hit.id)!).float(hit.similarity)
    yield* writer.piece()
  }
  if (fused !== undefined) {
    writer.array(fused.length)
    for (const { hit, score } of fused) writer.array(2).uint(numbers.get(hit.id)!).float(score)
  } else if (groups !== undefined) writer.nil()
  if (groups !== undefined) {
    const lists = Object.entries(groups)
    writer.map(lists.length)
    for (const [name, list] of lists) {
      writeGroups(writer.string(name), list, (hit) => numbers.get(hit.id)!)
      yield* writer.piece()
    }
  }
  if (fusedGroups !== undefined) writeGroups(writer, fusedGroups, ({ hit }) => numbers.get(hit.id)!)
  yield writer.finish()
}

function writeGroups<Hit>(
  writer: MsgpackWriter,
  groups: readonly HitGroup<Hit>[],
  numberOf: (hit: Hit) => number,
): void {
  writer.array(groups.length)
  for (const { value, hits } of groups) {
    writer.array(2).scalar(value).array(hits.length)
    for (const hit of hits) writer.uint(numberOf(hit))
  }
}

/** The reply of a search as JSON. */
export function collectionSearchJson(result: SearchResult, metas = new MetaBudget()): Generator<string> {
  const { fused, groups, fusedGroups } = result
  const lists = Object.entries(result.results).map(
    ([name, hits]) =>
      [name, arrayPieces(hits, (hit) => hitPieces(hit, hit, metas, expiryMember(hit.expiresAt)))] as const,
  )
  return withMembers(accountJson(result), [
    ['results', objectPieces(lists)],
    ...(fused ? [['fused', arrayPieces(fused, (hit) => [JSON.stringify(fusedJson(hit, metas))])] as const] : []),
    ...(groups ? [['groups', groupPieces(groups)] as const] : []),
    ...(fusedGroups
      ? [['fused_groups', groupsJson(fusedGroups, ({ hit, score }) => ({ id: hit.id, score }))] as const]
      : []),
  ])
}

/** Groups name their hits, which are in the lists. */
function groupPieces(groups: NonNullable<SearchResult['groups']>): Iterable<string> {
  const lists = Object.entries(groups).map(
    ([name, list]) => [name, groupsJson(list, ({ id, similarity }) => ({ id, similarity }))] as const,
  )
  return objectPieces(lists)
}

function groupsJson<Hit>(groups: readonly HitGroup<Hit>[], hitJson: (hit: Hit) => object): Generator<string> {
  return arrayPieces(groups, ({ value, hits }) => [JSON.stringify({ value, hits: hits.map(hitJson) })])
}

/** Bytes of the stored data that the fused list of a JSON reply repeats. The engine counts those of the other lists. */
export function fusedBytes({ fused = [] }: SearchResult): number {
  let bytes = 0
  for (const { hit } of fused) {
    bytes += writtenOverheadBytes + hit.metaBytes.length + Buffer.byteLength(hit.filterText)
    for (const text of Object.values(hit.texts ?? {})) bytes += Buffer.byteLength(text)
  }
  return bytes
}

/** The replies of several searches. The sizes of their decompressed meta are counted together. */
export function searchBatchJson(results: readonly SearchResult[]): Generator<string> {
  const metas = new MetaBudget()
  return objectPieces([['searches', arrayPieces(results, (result) => collectionSearchJson(result, metas))]])
}

function fusedJson({ hit, score, standings }: FusedHit, metas: MetaBudget) {
  const fields = Object.fromEntries(standings.map(({ field, ...standing }) => [field, standing]))
  const { id, filter, expiresAt, texts } = hit
  const head = { id, ...metaJson(hit, metas), filter, ...expiryMember(expiresAt) }
  return { ...head, ...(texts !== undefined && { texts }), score, fields }
}
