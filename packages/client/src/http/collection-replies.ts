// Validates JSON replies of the collection API and converts them to results.

import {
  type CollectionDescription,
  type DenseDescription,
  denseDescription,
  type EmbedDescription,
  type FieldDescription,
  sparseDescription,
  type TextDescription,
} from '../collection-definition.ts'
import type {
  Acknowledgement,
  AsOfMoment,
  Explanation,
  Facets,
  FieldCalibration,
  FieldExplanation,
  Highlight,
  HitGroup,
  JsonObject,
  JsonValue,
  Pooling,
  Precision,
  RecallReport,
  SearchRecall,
  SpaceType,
  SparseModel,
  Standing,
  VectorRow,
  WriteResult,
} from '../model.ts'
import { MetaReader } from '../packed-meta.ts'
import type { RebuildStatus } from '../rebuild-status.ts'
import { type FusedHit, fusedHit, type ScrollPage, type SearchHit, type SearchResult } from '../search.ts'
import type { ObjectResults, StoredObject } from '../stored-object.ts'
import { floats, list, moment, number, object, text, unexpected } from './read.ts'

export function parseSummary(value: unknown): CollectionDescription {
  const summary = object(value, 'collection')
  const { condition, reason } = summary
  return {
    name: text(summary.name, 'name'),
    fields: list(summary.fields, 'fields').map(parseField),
    ...(summary.ttl_seconds !== undefined && { ttlSeconds: number(summary.ttl_seconds, 'ttl_seconds') }),
    count: number(summary.total_elements, 'total_elements'),
    createdAt: moment(summary.created_at, 'created_at'),
    lsn: number(summary.lsn ?? 0, 'lsn'),
    condition: condition === 'loading' || condition === 'quarantined' ? condition : 'ready',
    memory: memoryOf(summary.memory ?? {}),
    ...(typeof reason === 'string' && { reason }),
  }
}

function memoryOf(value: unknown): { readonly [part: string]: number } {
  return Object.fromEntries(
    Object.entries(object(value, 'memory')).map(([part, bytes]) => [part, number(bytes, `memory.${part}`)]),
  )
}

function parseField(value: unknown): FieldDescription {
  const field = object(value, 'field')
  const params = object(field.params, 'params')
  const name = text(field.name, 'name')
  const count = number(field.element_count, 'element_count')
  if (field.type === 'multi_vector') {
    const pooling: Pooling = params.pooling === 'max' ? 'max' : 'mean'
    return { name, type: 'multi_vector', params: Object.assign(denseParams(params), { pooling }), count }
  }
  if (field.type === 'sparse') {
    // As below.
    const model = text(params.sparse_model, 'sparse_model') as SparseModel
    return sparseDescription(name, { model, dimension: number(params.dimension, 'dimension') }, count)
  }
  if (field.type === 'text') return { name, type: 'text', params: textParams(params), count }
  return { name, type: 'vector', params: denseParams(params), count }
}

function textParams(params: Record<string, unknown>): TextDescription {
  const words = (name: string) => list(params[name], name).map((word) => text(word, name))
  const prefixes = params.prefixes === undefined ? undefined : object(params.prefixes, 'prefixes')
  return {
    language: text(params.language, 'language'),
    analyzer: number(params.analyzer, 'analyzer'),
    k1: number(params.k1, 'k1'),
    b: number(params.b, 'b'),
    ...(params.stop_words !== undefined && { stopWords: words('stop_words') }),
    ...(params.kept_words !== undefined && { keptWords: words('kept_words') }),
    ...(prefixes && { prefixes: { min: number(prefixes.min, 'min'), max: number(prefixes.max, 'max') } }),
  }
}

function denseParams(params: Record<string, unknown>): DenseDescription {
  return denseDescription({
    dimension: number(params.dimension, 'dimension'),
    // A newer server may have values that this client does not know; they are for reading only.
    spaceType: text(params.space_type, 'space_type') as SpaceType,
    precision: text(params.precision, 'precision') as Precision,
    M: number(params.M, 'M'),
    efConstruction: number(params.ef_con, 'ef_con'),
    keepOriginals: params.keep_originals !== false,
    ...(params.recall !== undefined && { recall: number(params.recall, 'recall') }),
    ...(params.embed !== undefined && { embed: embedParams(object(params.embed, 'embed')) }),
  })
}

function embedParams({ provider, from, model }: Record<string, unknown>): EmbedDescription {
  return {
    provider: text(provider, 'provider'),
    from: text(from, 'from'),
    ...(model !== undefined && { model: text(model, 'model') }),
  }
}

export function parseAcknowledgement(value: unknown): Acknowledgement {
  const { lsn, durable } = object(value, 'reply')
  return { lsn: number(lsn, 'lsn'), durable: durable === true }
}

export function parseSearchResult(value: unknown, metas = new MetaReader()): SearchResult {
  const {
    results: lists,
    fused: fusedHits,
    complete,
    lsn,
    recall,
    explain,
    as_of: asOf,
  } = object(value, 'search result')
  const { groups, fused_groups: fusedGroups } = object(value, 'search result')
  const results = Object.fromEntries(
    Object.entries(object(lists, 'results')).map(
      ([name, hits]) => [name, list(hits, `results.${name}`).map((hit) => parseHit(hit, metas))] as const,
    ),
  )
  const fused = fusedHits === undefined ? undefined : list(fusedHits, 'fused').map((hit) => parseFused(hit, results))
  return {
    results,
    ...(fused && { fused }),
    ...(groups !== undefined && { groups: parseGroups(groups, results) }),
    ...(fusedGroups !== undefined && { fusedGroups: parseGroupList(fusedGroups, fused ?? [], 'fused_groups') }),
    complete: complete !== false,
    lsn: number(lsn ?? 0, 'lsn'),
    // As below.
    ...(recall !== undefined && { recall: object(recall, 'recall') as { readonly [field: string]: SearchRecall } }),
    ...(explain !== undefined && { explain: parseExplanation(explain) }),
    ...parseMoment(asOf),
  }
}

function parseGroups(value: unknown, results: SearchResult['results']): NonNullable<SearchResult['groups']> {
  const lists = Object.entries(object(value, 'groups')).map(
    ([name, groups]) => [name, parseGroupList(groups, results[name] ?? [], `groups.${name}`)] as const,
  )
  return Object.fromEntries(lists)
}

/** Groups name their hits, which are in the list. */
function parseGroupList<Hit extends { readonly id: string }>(
  value: unknown,
  hits: readonly Hit[],
  what: string,
): readonly HitGroup<Hit>[] {
  const byId = new Map(hits.map((hit) => [hit.id, hit]))
  return list(value, what).map((group) => {
    const { value: own, hits: named } = object(group, what)
    if (typeof own !== 'string' && typeof own !== 'number' && typeof own !== 'boolean')
      throw unexpected(what, 'a group has no value')
    const found = list(named, `${what}.hits`).map((one) => byId.get(text(object(one, 'hit').id, 'id')))
    if (found.includes(undefined)) throw unexpected(what, 'a hit of a group is in no list of the reply')
    return { value: own, hits: found as readonly Hit[] }
  })
}

/** The member that states the moment of a result, if it has one. */
function parseMoment(value: unknown): { readonly asOf?: AsOfMoment } {
  if (value === undefined) return {}
  const { lsn, time } = object(value, 'as_of')
  return { asOf: { lsn: number(lsn, 'as_of.lsn'), timeMs: moment(time, 'as_of.time').getTime() } }
}

function parseExplanation(value: unknown): Explanation {
  const explanation = object(value, 'explain')
  const { filter, fields } = explanation
  const matching = filter == null ? undefined : object(filter, 'explain.filter')
  const ms = (member: string) => number(explanation[member], `explain.${member}`)
  return {
    filter: matching && { matches: number(matching.matches, 'matches'), ms: number(matching.ms, 'ms') },
    // Of this server's version or a newer one, which may add members.
    fields: object(fields, 'explain.fields') as { readonly [field: string]: FieldExplanation },
    decorateMs: ms('decorate_ms'),
    fuseMs: ms('fuse_ms'),
    totalMs: ms('total_ms'),
  }
}

/** The results of several searches in one reply. */
export function parseSearchResults(value: unknown): readonly SearchResult[] {
  const metas = new MetaReader()
  return list(object(value, 'reply').searches, 'searches').map((result) => parseSearchResult(result, metas))
}

function parseHit(value: unknown, metas: MetaReader): SearchHit {
  const hit = object(value, 'hit')
  const vectors = hit.vectors === undefined ? undefined : vectorsOf(hit.vectors)
  return {
    id: text(hit.id, 'id'),
    similarity: number(hit.similarity, 'similarity'),
    distance: number(hit.distance, 'distance'),
    norm: number(hit.norm, 'norm'),
    ...metas.collectionMeta(hit),
    filter: object(hit.filter, 'filter') as JsonObject,
    ...(hit.expires_at !== undefined && { expiresAt: moment(hit.expires_at, 'expires_at').getTime() }),
    vector: hit.vector === undefined ? undefined : floats(hit.vector, 'vector'),
    members: vectors?.map(rowOf),
    ...(vectors !== undefined && { vectors }),
    ...(hit.texts !== undefined && { texts: textsOf(hit.texts) }),
    ...(hit.highlight !== undefined && { highlight: parseHighlight(hit.highlight) }),
  }
}

function textsOf(value: unknown): { readonly [field: string]: string } {
  const entries = Object.entries(object(value, 'texts'))
  return Object.fromEntries(entries.map(([field, own]) => [field, text(own, `texts.${field}`)]))
}

function parseHighlight(value: unknown): Highlight {
  const { fragment, start, ranges } = object(value, 'highlight')
  return {
    fragment: text(fragment, 'fragment'),
    start: number(start, 'start'),
    ranges: list(ranges, 'ranges').map((range) => {
      const [from, to] = list(range, 'range')
      return [number(from, 'range'), number(to, 'range')] as const
    }),
  }
}

/** A fused hit names its lists and its ranks in them, which count from 1. */
function parseFused(value: unknown, results: SearchResult['results']): FusedHit {
  const fused = object(value, 'fused hit')
  const standings = Object.entries(object(fused.fields, 'fields')).map(([field, standing]): Standing => {
    const { rank, similarity, highlight } = object(standing, `fields.${field}`)
    return {
      field,
      rank: number(rank, 'rank'),
      similarity: number(similarity, 'similarity'),
      ...(highlight !== undefined && { highlight: parseHighlight(highlight) }),
    }
  })
  const [first] = standings
  const hit = first && results[first.field]?.[first.rank - 1]
  if (hit === undefined) throw unexpected('fused hit', 'it is in no list of the reply')
  return fusedHit({ hit, score: number(fused.score, 'score'), standings })
}

/** The reply to a write of objects. */
export function parseWritten(value: unknown): Acknowledgement & ObjectResults {
  const { results } = object(value, 'reply')
  return { ...parseAcknowledgement(value), ...(results !== undefined && { results: parseResults(results) }) }
}

/** What became of each object of a write. */
function parseResults(value: unknown): readonly WriteResult[] {
  return list(value, 'results').map((item) => {
    const { id, status, lsn, error } = object(item, 'result')
    const failure = error === undefined ? undefined : object(error, 'error')
    return {
      id: text(id, 'id'),
      status: status === 'ok' || status === 'conflict' ? status : 'error',
      lsn: number(lsn, 'lsn'),
      ...(failure && {
        error: {
          code: text(failure.code, 'code'),
          message: text(failure.message, 'message'),
          ...(typeof failure.field === 'string' && { field: failure.field }),
        },
      }),
    }
  })
}

export function parseObjects(value: unknown): readonly StoredObject[] {
  const metas = new MetaReader()
  return list(object(value, 'reply').objects, 'objects').map((stored) => parseStoredObject(stored, metas))
}

function parseStoredObject(value: unknown, metas: MetaReader): StoredObject {
  const stored = object(value, 'object')
  // A page without vectors has no fields.
  const values = Object.entries(object(stored.fields ?? {}, 'fields'))
  const fields = values
    .filter(([, value]) => typeof value !== 'string')
    .map(([name, field]) => [name, object(field, `fields.${name}`)] as const)
  const texts = values.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const dense = fields.filter(([, field]) => 'vector' in field)
  const sparse = fields.filter(([, field]) => 'sparse_indices' in field)
  const multi = fields.filter(([, field]) => 'vectors' in field)
  return {
    id: text(stored.id, 'id'),
    // Servers of earlier versions do not send it.
    lsn: number(stored.lsn ?? 0, 'lsn'),
    ...(stored.expires_at !== undefined && { expiresAt: moment(stored.expires_at, 'expires_at').getTime() }),
    ...metas.collectionMeta(stored),
    filter: object(stored.filter, 'filter') as JsonObject,
    dense: Object.fromEntries(
      dense.map(([name, field]) => [
        name,
        { vector: floats(field.vector, 'vector'), norm: number(field.norm, 'norm') },
      ]),
    ),
    sparse: Object.fromEntries(
      sparse.map(([name, field]) => [
        name,
        {
          indices: Uint32Array.from(list(field.sparse_indices, 'sparse_indices') as number[]),
          values: floats(field.sparse_values, 'sparse_values'),
        },
      ]),
    ),
    multi: Object.fromEntries(multi.map(([name, field]) => [name, vectorsOf(field.vectors).map(rowOf)])),
    text: Object.fromEntries(texts),
  }
}

function vectorsOf(value: unknown): Float32Array[] {
  return list(value, 'vectors').map((vector) => floats(vector, 'vector'))
}

/** Members of multi-vector fields come without norms: their norm is their length. */
function rowOf(vector: Float32Array): VectorRow {
  let sum = 0
  for (const value of vector) sum += value ** 2
  return { vector, norm: Math.sqrt(sum) }
}

export function parsePage(value: unknown): ScrollPage {
  const { cursor, lsn, as_of: asOf } = object(value, 'page')
  return {
    objects: parseObjects(value),
    cursor: typeof cursor === 'string' ? cursor : undefined,
    lsn: number(lsn, 'lsn'),
    ...parseMoment(asOf),
  }
}

export function parseFacets(value: unknown): Facets {
  const facets = object(value, 'facets')
  const values = list(facets.values, 'values').map((entry) => {
    const { value: counted, count } = object(entry, 'value')
    return { value: counted as JsonValue, count: number(count, 'count') }
  })
  const distinct = number(facets.distinct, 'distinct')
  return { values, distinct, lsn: number(facets.lsn, 'lsn'), ...parseMoment(facets.as_of) }
}

export function parseRecall(value: unknown): RecallReport {
  const report = object(value, 'recall')
  return {
    field: text(report.field, 'field'),
    sample: number(report.sample, 'sample'),
    recall: number(report.recall, 'recall'),
    recallWorst: number(report.recall_worst, 'recall_worst'),
    lsn: number(report.lsn, 'lsn'),
    ...parseMoment(report.as_of),
  }
}

export function parseCalibration(value: unknown): FieldCalibration {
  const { measured_at: measuredAt, took_ms: tookMs, ...calibration } = object(value, 'calibration')
  text(calibration.field, 'field')
  return {
    // Of this server's version or a newer one, which may add members.
    ...(calibration as unknown as FieldCalibration),
    ...(measuredAt !== undefined && { measuredAt: number(measuredAt, 'measured_at') }),
    ...(tookMs !== undefined && { tookMs: number(tookMs, 'took_ms') }),
  }
}

export function parseRebuildStatus(value: unknown): RebuildStatus {
  const { status, objects_processed: done, total_objects: objects, error } = object(value, 'status')
  return {
    status: status === 'in_progress' || status === 'completed' || status === 'failed' ? status : 'idle',
    objectsDone: number(done ?? 0, 'objects_processed'),
    objects: number(objects ?? 0, 'total_objects'),
    ...(typeof error === 'string' && { error }),
  }
}
