// A v1 "index" is a collection with one dense field and, if it is hybrid, one sparse field. Indexes created by v1 name them
// `dense` and `sparse`. Only the wire/v1 files know this.
import {
  type Collection,
  type CollectionDefinition,
  type CollectionDescription,
  type Database,
  type DenseFieldSchema,
  dimensionMax,
  dimensionMin,
  EngineError,
  efConstructionMax,
  efConstructionMin,
  mMax,
  mMin,
  type SparseFieldSchema,
  spaceTypes,
  sparseDimensionMax,
  sparseModels,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { fieldsOfIndex, type IndexFields, namesOf } from './index-fields.ts'
import { precisionOf, v1Precisions } from './precision.ts'
import { describedAs, type Infer, optionalInteger, optionalText } from './schema.ts'

const denseField = 'dense'
const sparseField = 'sparse'

/** Any non-empty text: published clients require the key and do not use it. */
const libToken = 'annal000000000000000000000000000'
const checksumNone = -1

export const createIndexBody = Type.Object(
  {
    index_name: Type.String({ description: 'Unique name: letters, digits, underscore, hyphen.' }),
    dim: Type.Integer({ minimum: dimensionMin, maximum: dimensionMax, description: 'Number of dimensions.' }),
    space_type: describedAs(Type.String(), {
      type: 'string',
      enum: spaceTypes,
      description: 'How similarity is computed; case-insensitive.',
    }),
    M: optionalInteger({ minimum: mMin, maximum: mMax }, 'Links per node of the graph; default 16.'),
    ef_con: optionalInteger(
      { minimum: efConstructionMin, maximum: efConstructionMax },
      'Candidates considered while a node is linked; default 128.',
    ),
    precision: optionalText(
      'binary, int8 (default), int16, float16 or float32; int8d and int16d are accepted as int8 and int16.',
    ),
    sparse_dim: optionalInteger({ minimum: 0, maximum: sparseDimensionMax }, 'A value above 0 makes the index hybrid.'),
    sparse_model: optionalText('None, default, or endee_bm25; any value other than None makes the index hybrid.'),
    keep_originals: Type.Optional(
      Type.Unsafe<boolean | null>({
        type: ['boolean', 'null'],
        description:
          'Default true. false does not keep the original vectors on disk: it uses less disk space, and reads return vectors with the precision of the index.',
      }),
    ),
    size_in_millions: optionalInteger({ minimum: 1, maximum: 10_000 }, 'Ignored: memory grows with the stored data.'),
    checksum: optionalInteger({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }, 'Ignored.'),
    version: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  },
  { $id: 'CreateIndex' },
)
export type CreateIndexBody = Infer<typeof createIndexBody>

const sparseModelNames = ['None', ...sparseModels]

/** The definition in the form of Database.createCollection. */
export function definitionOf(body: CreateIndexBody): CollectionDefinition {
  const precision = body.precision?.toLowerCase()
  const params = {
    dimension: body.dim,
    space_type: body.space_type.toLowerCase(),
    ...(body.M == null ? {} : { M: body.M }),
    ...(body.ef_con == null ? {} : { ef_con: body.ef_con }),
    ...(precision === undefined ? {} : { precision: v1PrecisionOf(precision) }),
    ...(body.keep_originals == null ? {} : { keep_originals: body.keep_originals }),
  }
  const fields = [{ name: denseField, type: 'vector', params }, ...sparseFieldOf(body)]
  // The engine checks the values of the body.
  return { name: body.index_name, fields } as CollectionDefinition
}

function v1PrecisionOf(name: string): unknown {
  const precision = precisionOf(name)
  if (v1Precisions.includes(precision as string)) return precision
  const message = `precision must be one of ${v1Precisions.join(', ')}, got ${JSON.stringify(name)}`
  throw invalidArgument(message, { field: 'precision', value: name, limit: v1Precisions })
}

/** Translates an error about the definition into the names of the request body. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error
  const { field } = error.details
  const key = field === 'name' ? 'index_name' : field?.replace(/^fields\[0\]\.params\./, '')
  if (field === undefined || key === undefined || key === field) return error
  return new EngineError(
    error.code,
    error.message.replace(field, key),
    { ...error.details, field: key },
    { cause: error },
  )
}

function sparseFieldOf(body: CreateIndexBody): unknown[] {
  const model = body.sparse_model ?? 'None'
  if (!sparseModelNames.includes(model)) {
    const message = `sparse_model must be one of ${sparseModelNames.join(', ')}`
    throw invalidArgument(message, { field: 'sparse_model', value: model, limit: sparseModelNames })
  }
  const dimension = body.sparse_dim ?? 0
  if (model === 'None' && dimension === 0) return []
  const params = { model: model === 'None' ? 'default' : model, ...(dimension === 0 ? {} : { dimension }) }
  return [{ name: sparseField, type: 'sparse', params }]
}

/** What the v1 routes need to know about an index. It never changes while the collection exists. */
export interface IndexShape extends IndexFields {
  readonly dense: Omit<DenseFieldSchema['params'], 'M' | 'efConstruction'>
  readonly sparse: SparseFieldSchema['params'] | undefined
}

/** Also contains what a rebuild may change. */
export interface IndexParams extends IndexShape {
  readonly dense: DenseFieldSchema['params']
}

const shapes = new WeakMap<Collection, IndexShape>()

export interface OpenIndex {
  readonly collection: Collection
  readonly shape: IndexShape
}

/** Throws collection_not_found if there is no such collection, or if v1 cannot express it. */
export function openIndex(database: Database, name: string): OpenIndex {
  const collection = database.collection(name)
  const known = shapes.get(collection)
  if (known !== undefined) return { collection, shape: known }
  const { index } = describedIndex(database, name)
  shapes.set(collection, index)
  return { collection, shape: index }
}

export interface DescribedIndex {
  readonly collection: Collection
  readonly description: CollectionDescription
  readonly index: IndexParams
}

/** Like openIndex, with the current parameters. */
export function describedIndex(database: Database, name: string): DescribedIndex {
  const collection = database.collection(name)
  const description = collection.describe()
  const index = paramsOf(description)
  if (index === undefined) {
    const message = `${name} has fields other than one dense and at most one sparse field; use /api/v2`
    throw new EngineError('collection_not_found', message, {
      field: 'name',
      value: name,
    })
  }
  return { collection, description, index }
}

/** Returns undefined for a collection that v1 cannot express. */
export function paramsOf(description: CollectionDescription): IndexParams | undefined {
  const found = fieldsOfIndex(description.fields)
  if (found === undefined) return undefined
  const { dense, sparse } = found
  return { dense: dense.params, sparse: sparse?.params, ...namesOf(found) }
}

/** An entry of /index/list. */
export function indexListItem(description: CollectionDescription, { dense, sparse }: IndexParams) {
  return {
    name: description.name,
    total_elements: description.objects,
    dimension: dense.dimension,
    sparse_model: sparse === undefined ? 'None' : sparse.model,
    sparse_dim: sparse === undefined ? 0 : sparse.dimension,
    space_type: dense.spaceType,
    precision: dense.precision,
    checksum: checksumNone,
    M: dense.M,
    created_at: Math.floor(description.createdAt / 1_000),
  }
}

/** The reply of /index/{name}/info. It has the keys of every generation of clients. */
export function indexInfo({ description, index }: DescribedIndex) {
  return {
    ...indexListItem(description, index),
    index_name: description.name,
    ef_con: index.dense.efConstruction,
    ...(index.dense.keepOriginals === false && { keep_originals: false }),
    lib_token: libToken,
    version: 1,
  }
}
