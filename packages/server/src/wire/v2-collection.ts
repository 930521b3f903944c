// Collections in /api/v2: the body that creates one, and the summary that describes it.
import {
  type CollectionDescription,
  type FieldChanges,
  type FieldDescription,
  fieldsMax,
  recallTargetMax,
  recallTargetMin,
  ttlSecondsMax,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { precisionOf } from './precision.ts'
import { describedAs, type Infer } from './schema.ts'

function ttlSeconds(description: string) {
  return Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, maximum: ttlSecondsMax, description })
}

/** Body that changes defaults of a collection. */
export const updateDefaultsBody = Type.Object(
  { ttl_seconds: ttlSeconds('Objects written from now on expire after this many seconds; null: never.') },
  { $id: 'UpdateDefaults' },
)
export type UpdateDefaultsBody = Infer<typeof updateDefaultsBody>

/** Params of fields of every type, with the names of published clients. The engine checks their values. */
const paramNames = [
  ...['dimension', 'space_type', 'spaceType', 'precision', 'M', 'm', 'ef_con', 'ef_construct', 'efConstruction'],
  ...['keep_originals', 'keepOriginals', 'recall', 'embed', 'sparse_model', 'model', 'pooling'],
  ...['language', 'analyzer', 'k1', 'b', 'stop_words', 'stopWords', 'kept_words', 'keptWords', 'prefixes'],
]

/** The engine checks the fields and names the invalid one; the schema fixes only the outer form. */
export const createCollectionBody = Type.Object(
  {
    name: Type.String({ description: 'Unique name: letters, digits, underscore, hyphen.' }),
    fields: describedAs(
      Type.Array(
        Type.Unsafe<object>({
          type: 'object',
          properties: {
            name: { type: 'string' },
            type: { type: 'string' },
            params: { type: 'object', properties: Object.fromEntries(paramNames.map((name) => [name, {}])) },
            sparse_model: { type: 'string' },
          },
          required: ['name', 'type'],
        }),
        { minItems: 1 },
      ),
      'FieldDefinitions',
    ),
    ttl_seconds: Type.Optional(ttlSeconds('Objects expire this many seconds after they are written; null: never.')),
  },
  { $id: 'CreateCollection' },
)
export type CreateCollectionBody = Infer<typeof createCollectionBody>

/** The definition in the form of the engine: some published clients use other names of precisions. */
export function definitionOf({ name, fields, ttl_seconds: ttl }: CreateCollectionBody): unknown {
  return { name, fields: fields.map(withKnownPrecision), ...(ttl != null && { ttl_seconds: ttl }) }
}

function withKnownPrecision(field: object): object {
  const { params } = field as { readonly params?: unknown }
  if (typeof params !== 'object' || params === null || !('precision' in params)) return field
  return { ...field, params: { ...params, precision: precisionOf(params.precision) } }
}

/** Body that changes defaults of the searches of fields. */
export const updateFieldsBody = Type.Object(
  {
    fields: Type.Array(
      Type.Object({
        field: Type.String({ description: 'A field of type vector.' }),
        recall: Type.Optional(
          Type.Unsafe<number | null>({
            type: ['number', 'null'],
            minimum: recallTargetMin,
            maximum: recallTargetMax,
            description: 'Recall of searches that state neither ef_search nor recall; null: they use ef_search 128.',
          }),
        ),
      }),
      { minItems: 1, maxItems: fieldsMax },
    ),
  },
  { $id: 'UpdateFields' },
)
export type UpdateFieldsBody = Infer<typeof updateFieldsBody>

/** The changes of fields that a body names. */
export function readFieldChanges({ fields }: UpdateFieldsBody): FieldChanges {
  const changes = Object.fromEntries(fields.map(({ field, recall }) => [field, { recall }]))
  if (Object.keys(changes).length === fields.length) return changes
  throw invalidArgument('fields must not name a field twice', { field: 'fields', value: fields.length })
}

const layoutVersion = 1
/** Ordinals have 32 bits. */
const elementsMax = 2 ** 32 - 1

/** The summary of a collection. */
export function collectionSummary(description: CollectionDescription) {
  return {
    name: description.name,
    fields: description.fields.map(fieldSummary),
    ...(description.ttlSeconds !== undefined && { ttl_seconds: description.ttlSeconds }),
    created_at: Math.floor(description.createdAt / 1_000),
    layout_version: layoutVersion,
    total_elements: description.objects,
    max_elements: elementsMax,
    lsn: description.lsn,
    condition: description.condition,
    memory: description.memory,
    ...(description.reason === undefined ? {} : { reason: withoutFolders(description.reason) }),
  }
}

/** Names a damaged file without its folder. */
function withoutFolders(sentence: string): string {
  return sentence.replaceAll(/(?<!\S)\/\S*\//g, '')
}

/** Some published clients read the sparse model at the top level, others in params. */
function fieldSummary(field: FieldDescription) {
  if (field.kind === 'sparse') {
    const { model, dimension } = field.params
    const params = { sparse_model: model, dimension }
    return { name: field.name, type: 'sparse', sparse_model: model, params, element_count: field.elements }
  }
  if (field.kind === 'text') {
    const { stopWords, keptWords, ...rest } = field.params
    const words = { ...(stopWords && { stop_words: stopWords }), ...(keptWords && { kept_words: keptWords }) }
    return { name: field.name, type: 'text', params: { ...rest, ...words }, element_count: field.elements }
  }
  const { dimension, spaceType, precision, M, efConstruction, keepOriginals, recall, embed } = field.params
  const params = {
    dimension,
    space_type: spaceType,
    precision,
    M,
    ef_con: efConstruction,
    ...(keepOriginals === false && { keep_originals: false }),
    ...(recall !== undefined && { recall }),
    ...(embed && { embed }),
  }
  if (field.kind === 'dense') return { name: field.name, type: 'vector', params, element_count: field.elements }
  const { pooling } = field.params
  return { name: field.name, type: 'multi_vector', params: { ...params, pooling }, element_count: field.elements }
}
