// Validates JSON replies of the collection API and converts them to results.
import type { RebuildStatus } from '../collection.ts'
import type { CollectionDescription, DenseParams, FieldDescription } from '../collection-definition.ts'
import type { Precision, SpaceType } from '../definition.ts'
import type { Json, JsonObject } from '../record.ts'
import type { Facets, FusedHit, RecallReport, ScrollPage, SearchHit, SearchResult } from '../search.ts'
import type { Acknowledgement, StoredObject } from '../stored-object.ts'
import { MetaReader } from './meta.ts'
import { floats, list, moment, number, object, text } from './read.ts'

export function parseSummary(value: unknown): CollectionDescription {
  const summary = object(value, 'collection')
  const { condition, reason } = summary
  return {
    name: text(summary.name, 'name'),
    fields: list(summary.fields, 'fields').map(parseField),
    count: number(summary.total_elements, 'total_elements'),
    createdAt: moment(summary.created_at, 'created_at'),
    lsn: number(summary.lsn ?? 0, 'lsn'),
    condition: condition === 'loading' || condition === 'quarantined' ? condition : 'ready',
    ...(typeof reason === 'string' && { reason }),
  }
}

function parseField(value: unknown): FieldDescription {
  const field = object(value, 'field')
  const params = object(field.params, 'params')
  const name = text(field.name, 'name')
  const count = number(field.element_count, 'element_count')
  if (field.type === 'multi_vector') {
    const pooling = params.pooling === 'max' ? 'max' : 'mean'
    return { name, type: 'multi_vector', params: { ...denseParams(params), pooling }, count }
  }
  if (field.type === 'sparse') {
    const model = text(params.sparse_model, 'sparse_model')
    return { name, type: 'sparse', model, dimension: number(params.dimension, 'dimension'), count }
  }
  return { name, type: 'vector', params: denseParams(params), count }
}

function denseParams(params: Record<string, unknown>): Required<DenseParams> {
  return {
    dimension: number(params.dimension, 'dimension'),
    // A newer server may have values that this client does not know; they are for reading only.
    space_type: text(params.space_type, 'space_type') as SpaceType,
    precision: text(params.precision, 'precision') as Precision,
    M: number(params.M, 'M'),
    ef_con: number(params.ef_con, 'ef_con'),
    keep_originals: params.keep_originals !== false,
  }
}

export function parseAcknowledgement(value: unknown): Acknowledgement {
  const { lsn, durable } = object(value, 'reply')
  return { lsn: number(lsn, 'lsn'), durable: durable === true }
}

export function parseSearchResult(value: unknown, metas = new MetaReader()): SearchResult {
  const { results, fused, complete, lsn, explain } = object(value, 'search result')
  const fields = Object.entries(object(results, 'results')).map(
    ([name, hits]) => [name, list(hits, `results.${name}`).map((hit) => parseHit(hit, metas))] as const,
  )
  return {
    results: Object.fromEntries(fields),
    ...(fused !== undefined && { fused: list(fused, 'fused').map((hit) => parseFused(hit, metas)) }),
    complete: complete !== false,
    lsn: number(lsn ?? 0, 'lsn'),
    // JSON.parse returns JSON.
    ...(explain !== undefined && { explain: object(explain, 'explain') as JsonObject }),
  }
}

/** The results of several searches in one reply. */
export function parseSearchResults(value: unknown): readonly SearchResult[] {
  const metas = new MetaReader()
  return list(object(value, 'reply').searches, 'searches').map((result) => parseSearchResult(result, metas))
}

function parseHit(value: unknown, metas: MetaReader): SearchHit {
  const hit = object(value, 'hit')
  return {
    id: text(hit.id, 'id'),
    similarity: number(hit.similarity, 'similarity'),
    distance: number(hit.distance, 'distance'),
    norm: number(hit.norm, 'norm'),
    meta: metas.fromJson(hit),
    filter: object(hit.filter, 'filter') as JsonObject,
    ...(hit.vector !== undefined && { vector: floats(hit.vector, 'vector') }),
    ...(hit.vectors !== undefined && { vectors: vectorsOf(hit.vectors) }),
  }
}

function parseFused(value: unknown, metas: MetaReader): FusedHit {
  const hit = object(value, 'fused hit')
  const fields = Object.entries(object(hit.fields, 'fields')).map(([name, standing]) => {
    const { rank, similarity } = object(standing, `fields.${name}`)
    return [name, { rank: number(rank, 'rank'), similarity: number(similarity, 'similarity') }] as const
  })
  return {
    id: text(hit.id, 'id'),
    score: number(hit.score, 'score'),
    meta: metas.fromJson(hit),
    filter: object(hit.filter, 'filter') as JsonObject,
    fields: Object.fromEntries(fields),
  }
}

export function parseObjects(value: unknown): readonly StoredObject[] {
  const metas = new MetaReader()
  return list(object(value, 'reply').objects, 'objects').map((stored) => parseStoredObject(stored, metas))
}

function parseStoredObject(value: unknown, metas: MetaReader): StoredObject {
  const stored = object(value, 'object')
  const fields = Object.entries(object(stored.fields, 'fields')).map(
    ([name, field]) => [name, object(field, `fields.${name}`)] as const,
  )
  const dense = fields.filter(([, field]) => 'vector' in field)
  const sparse = fields.filter(([, field]) => 'sparse_indices' in field)
  const multi = fields.filter(([, field]) => 'vectors' in field)
  return {
    id: text(stored.id, 'id'),
    meta: metas.fromJson(stored),
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
    multi: Object.fromEntries(multi.map(([name, field]) => [name, vectorsOf(field.vectors)])),
  }
}

function vectorsOf(value: unknown): Float32Array[] {
  return list(value, 'vectors').map((vector) => floats(vector, 'vector'))
}

export function parsePage(value: unknown): ScrollPage {
  const { cursor, lsn } = object(value, 'page')
  return {
    objects: parseObjects(value),
    cursor: typeof cursor === 'string' ? cursor : undefined,
    lsn: number(lsn, 'lsn'),
  }
}

export function parseFacets(value: unknown): Facets {
  const facets = object(value, 'facets')
  const values = list(facets.values, 'values').map((entry) => {
    const { value: counted, count } = object(entry, 'value')
    return { value: counted as Json, count: number(count, 'count') }
  })
  return { values, distinct: number(facets.distinct, 'distinct'), lsn: number(facets.lsn, 'lsn') }
}

export function parseRecall(value: unknown): RecallReport {
  const report = object(value, 'recall')
  return {
    field: text(report.field, 'field'),
    sample: number(report.sample, 'sample'),
    recall: number(report.recall, 'recall'),
    recallWorst: number(report.recall_worst, 'recall_worst'),
    lsn: number(report.lsn, 'lsn'),
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
