// Turns texts into vectors with the providers of the host program, for writes and for queries. Every call of a provider ends before a write
// passes its gate, and the log contains the vectors.
import { payloadBytesMax, WalError } from '@annal/wal'
import { EngineError, type EngineErrorCode } from '../errors.ts'
import { columnBytes } from '../events/upsert-pieces.ts'
import { DenseParser } from '../input/columns.ts'
import type { ObjectColumns } from '../input/objects.ts'
import { embedQueryBytesMax, embedReasonLengthMax, type Limits } from '../limits.ts'
import type { EmbedProvider, EmbedPurpose, ProviderInfo } from '../model/embed.ts'
import type { EngineOptions } from '../model/engine.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import type { WriteResult } from '../model/object.ts'
import type { EmbeddedQuery, FieldQuery, SearchRequest } from '../model/query.ts'
import { type CollectionSchema, type DenseFieldSchema, type FieldSchema, withModel } from '../model/schema.ts'
import { parseSearch } from '../search/request.ts'
import { mergeDense } from './merge-dense.ts'

/** Why an object has no vector. */
export type EmbedFault = NonNullable<WriteResult['error']>

/** Columns with the vectors that texts became, and the objects that have none, by position. */
export interface EmbeddedColumns {
  readonly columns: ObjectColumns
  readonly faults: ReadonlyMap<number, EmbedFault>
}

/** A field and the texts that need vectors. */
interface Wanted {
  readonly field: DenseFieldSchema
  readonly index: number
  /** Positions of the objects, ascending, and the text of each. */
  readonly positions: readonly number[]
  readonly texts: readonly string[]
}

const noFaults: ReadonlyMap<number, EmbedFault> = new Map()

export class Embedder {
  readonly #providers: ReadonlyMap<string, EmbedProvider>

  /** Throws invalid_argument. */
  constructor(providers: EngineOptions['embed'] = {}) {
    checkObject(providers, 'embed')
    this.#providers = new Map(Object.entries(providers).map(([name, given]) => [name, providerOf(name, given)]))
  }

  /** Sorted by name. */
  providers(): readonly ProviderInfo[] {
    const all = [...this.#providers].map(([name, { model, dimension }]) => ({ name, model, dimension }))
    return all.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The fields of a new collection, with the models of their providers. Throws invalid_argument or embedding_unavailable. */
  withModels(fields: readonly FieldSchema[]): readonly FieldSchema[] {
    return fields.map((field, i) => {
      if (field.kind !== 'dense' || field.params.embed === undefined) return field
      const { provider: name, model } = field.params.embed
      const path = `fields[${i}].params.embed`
      const provider = this.#providers.get(name)
      if (provider === undefined) {
        const names = [...this.#providers.keys()]
        const message = `${path}.provider: there is no provider ${printed(name)}; configured are: ${names.join(', ') || 'none'}`
        throw new EngineError('embedding_unavailable', message, {
          field: `${path}.provider`,
          value: name,
          limit: names,
        })
      }
      const { dimension = field.params.dimension } = provider
      if (dimension !== field.params.dimension) {
        const where = `fields[${i}].params.dimension`
        const message = `${where} is ${field.params.dimension}, but provider ${printed(name)} makes vectors of ${dimension} numbers`
        throw new EngineError('invalid_argument', message, {
          field: where,
          value: field.params.dimension,
          limit: dimension,
        })
      }
      if (model !== undefined && provider.model !== undefined && model !== provider.model) {
        const message = `${path}.model is ${printed(model)}, but provider ${printed(name)} has ${printed(provider.model)}`
        throw new EngineError('invalid_argument', message, {
          field: `${path}.model`,
          value: model,
          limit: provider.model,
        })
      }
      return provider.model === undefined ? field : withModel(field, provider.model)
    })
  }

  /** Throws embedding_unavailable or record_too_large before any call. Faults of single texts are returned. */
  async embedObjects(
    columns: ObjectColumns,
    definition: CollectionSchema,
    before?: () => void,
  ): Promise<EmbeddedColumns> {
    const wanted = wantedOf(columns, definition)
    if (wanted.length === 0) return { columns, faults: noFaults }
    checkRoom(columns, wanted)
    const calls = wanted.map((one) => ({ one, provider: this.#providerOf(one.field) }))
    before?.()
    const faults = new Map<number, EmbedFault>()
    const made = await Promise.all(
      calls.map(async ({ one, provider }) => ({ one, vectors: await callProvider(provider, one, 'store') })),
    )
    let { dense } = columns
    for (const { one, vectors } of made) {
      const parser = new DenseParser(one.field, one.index, one.positions.length)
      for (const [i, position] of one.positions.entries()) {
        const fault = faultOf(
          () => addVector(parser, vectors[i], position),
          `objects[${position}].fields.${one.field.name}`,
        )
        if (fault) faults.set(position, faults.get(position) ?? fault)
      }
      if (parser.count > 0) dense = mergeDense(dense, parser.finish(), one.field.params.dimension)
    }
    return { columns: { ...columns, dense }, faults }
  }

  /** The same searches with vectors in the place of texts. Throws what a wrong search does, before any call. */
  async embedQueries<R extends SearchRequest>(
    requests: readonly R[],
    definition: CollectionSchema,
    limits: Limits,
  ): Promise<readonly R[]> {
    if (!requests.some(hasTextQuery)) return requests
    const calls: { readonly at: number; readonly name: string; readonly text: string }[] = []
    for (const [at, request] of requests.entries()) {
      const checked = withQueries(request, (query, name) => {
        const field = embeddedField(definition, name)
        calls.push({ at, name, text: textOf(query, `fields.${name}.query`) })
        return standIn(field.params.dimension)
      })
      // Nothing is sent for a search that is refused.
      if (hasTextQuery(request)) parseSearch(checked, definition, limits)
    }
    const vectors = await this.#embedTexts(calls, definition)
    let next = 0
    return requests.map((request) => withQueries(request, () => vectors[next++] as ArrayLike<number>))
  }

  /** One call for each field, whatever the number of searches. */
  async #embedTexts(
    calls: readonly { readonly name: string; readonly text: string }[],
    definition: CollectionSchema,
  ): Promise<readonly ArrayLike<number>[]> {
    const vectors: ArrayLike<number>[] = new Array(calls.length)
    const names = [...new Set(calls.map(({ name }) => name))]
    const fields = names.map((name) => embeddedField(definition, name))
    const providers = fields.map((field) => this.#providerOf(field))
    await Promise.all(
      fields.map(async (field, f) => {
        const places = [...calls.keys()].filter((i) => calls[i]?.name === field.name)
        const texts = places.map((i) => calls[i]?.text as string)
        const made = await callProvider(providers[f] as EmbedProvider, { field, texts }, 'query')
        for (const [i, place] of places.entries()) {
          const path = `fields.${field.name}.query.text`
          const fault = faultOf(() => checkVector(made[i], field), path)
          if (fault) {
            const message = `the text of the query for ${field.name} has no vector: ${fault.message}`
            throw new EngineError(fault.code as EngineErrorCode, message, { field: path })
          }
          vectors[place] = made[i] as ArrayLike<number>
        }
      }),
    )
    return vectors
  }

  #providerOf({ name, params }: DenseFieldSchema): EmbedProvider {
    const { provider: wanted, model } = params.embed as NonNullable<DenseFieldSchema['params']['embed']>
    const provider = this.#providers.get(wanted)
    const refuse = (why: string): never => {
      const message = `field ${printed(name)} accepts no texts: ${why}; send vectors`
      throw new EngineError('embedding_unavailable', message, { field: name, value: wanted })
    }
    if (provider === undefined) return refuse(`provider ${printed(wanted)} is not configured`)
    if (model !== undefined && provider.model !== undefined && model !== provider.model)
      return refuse(
        `its vectors are of model ${printed(model)}, and provider ${printed(wanted)} has ${printed(provider.model)}`,
      )
    if (provider.dimension !== undefined && provider.dimension !== params.dimension)
      return refuse(
        `it has vectors of ${params.dimension} numbers, and provider ${printed(wanted)} makes ${provider.dimension}`,
      )
    return provider
  }
}

/** The error of a write that stores nothing because texts have no vectors. */
export function embedError(ids: readonly string[], faults: ReadonlyMap<number, EmbedFault>): EngineError {
  const items = [...faults].sort(([a], [b]) => a - b).map(([at, { message }]) => ({ id: ids[at], reason: message }))
  const first = [...faults.values()][0] as EmbedFault
  const field = first.field?.split('.').at(-1) ?? ''
  const message = `${faults.size} of ${ids.length} objects have no vector in field ${printed(field)}, so none was written: ${first.message}`
  return new EngineError(first.code as EngineErrorCode, message, { field, items })
}

function providerOf(name: string, given: unknown): EmbedProvider {
  const provider = typeof given === 'function' ? { embed: given } : given
  if (typeof provider === 'object' && provider !== null && typeof (provider as EmbedProvider).embed === 'function')
    return provider as EmbedProvider
  const field = `embed.${name}`
  const message = `${field} must be a function, or an object with a function embed`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(given) })
}

/** Objects with a text and without a vector. A text of spaces has no meaning, and no vector. */
function wantedOf({ dense, text }: ObjectColumns, { fields }: CollectionSchema): Wanted[] {
  return fields.flatMap((field, index) => {
    const from = field.kind === 'dense' ? field.params.embed?.from : undefined
    const column = from === undefined ? undefined : text.find((one) => fields[one.field]?.name === from)
    if (column === undefined || field.kind !== 'dense') return []
    const given = new Set(dense.find((one) => one.field === index)?.objects)
    const rows = [...column.objects.keys()].filter((row) => {
      return !given.has(column.objects[row] as number) && (column.texts[row] as string).trim() !== ''
    })
    if (rows.length === 0) return []
    const positions = rows.map((row) => column.objects[row] as number)
    return [{ field, index, positions, texts: rows.map((row) => column.texts[row] as string) }]
  })
}

function checkRoom(columns: ObjectColumns, wanted: readonly Wanted[]): void {
  const added = wanted.reduce((sum, { field, texts }) => sum + texts.length * field.params.dimension * 4, 0)
  if (columnBytes(columns) + added <= payloadBytesMax) return
  const message = `the objects and their vectors take more than ${payloadBytesMax} bytes of the log, the limit of one record`
  throw new WalError('record_too_large', message, { limit: payloadBytesMax })
}

type Made = ArrayLike<number> | Error | undefined

/** As many vectors or errors as texts. Never rejects. */
async function callProvider(
  { embed }: EmbedProvider,
  { field, texts }: Pick<Wanted, 'field' | 'texts'>,
  purpose: EmbedPurpose,
): Promise<readonly Made[]> {
  const { dimension, embed: { model } = {} } = field.params
  try {
    const made = await embed(texts, { purpose, model, dimension })
    if (Array.isArray(made) && made.length === texts.length) return made
    throw new Error(
      `the provider returned ${Array.isArray(made) ? made.length : 'no'} vectors for ${texts.length} texts`,
    )
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error))
    return texts.map(() => reason)
  }
}

function addVector(parser: DenseParser, made: Made, position: number): void {
  checkVector(made, parser.field)
  parser.add(made as ArrayLike<number>, position, 'the vector of the provider')
}

function checkVector(made: Made, { params }: DenseFieldSchema): void {
  if (made instanceof Error) throw made
  const isVector = Array.isArray(made) || (ArrayBuffer.isView(made) && 'length' in made)
  if (!isVector) throw new Error('the provider returned no vector')
  if (made.length !== params.dimension)
    throw new Error(`the provider returned a vector of ${made.length} numbers; the field has ${params.dimension}`)
  if (!Array.from(made as ArrayLike<number>).every((one) => Number.isFinite(Math.fround(one))))
    throw new Error('the provider returned a vector with a value that is not a finite number')
}

/** Codes that an error of a provider keeps. */
const kept: ReadonlySet<string> = new Set([
  'embedding_failed',
  'embedding_timeout',
  'embedding_unavailable',
  'overloaded',
])

function faultOf(act: () => void, field: string): EmbedFault | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    const code = error instanceof EngineError && kept.has(error.code) ? error.code : 'embedding_failed'
    const reason = (error instanceof Error ? error.message : String(error)).toWellFormed()
    return { code, message: reason.slice(0, embedReasonLengthMax).toWellFormed(), field }
  }
}

function embeddedField({ fields }: CollectionSchema, name: string): DenseFieldSchema {
  const field = fields.find((one) => one.name === name)
  const path = `fields.${name}.query`
  if (field === undefined) {
    const names = fields.map((one) => one.name).join(', ')
    const message = `the collection has no field ${printed(name)}; it has ${names}`
    throw new EngineError('field_not_found', message, { field: 'fields', value: name })
  }
  if (field.kind === 'dense' && field.params.embed !== undefined) return field
  const why =
    field.kind === 'text' ? 'the query of a text field is the text itself' : 'it has no provider; give a vector'
  throw new EngineError('invalid_argument', `${path} is a text, but field ${printed(name)} takes none: ${why}`, {
    field: path,
  })
}

/** Whether a search has a text in the place of a vector. */
export function hasTextQuery(request: SearchRequest): boolean {
  const { fields } = request ?? {}
  if (typeof fields !== 'object' || fields === null) return false
  return Object.values(fields).some((one) => isTextQuery(one?.query))
}

function isTextQuery(query: FieldQuery['query'] | undefined): query is EmbeddedQuery {
  return (
    typeof query === 'object' &&
    query !== null &&
    !ArrayBuffer.isView(query) &&
    !Array.isArray(query) &&
    'text' in query
  )
}

function withQueries<R extends SearchRequest>(
  request: R,
  vectorOf: (query: EmbeddedQuery, name: string) => ArrayLike<number>,
): R {
  if (!hasTextQuery(request)) return request
  const fields = Object.entries(request.fields).map(([name, one]) => {
    return [name, isTextQuery(one?.query) ? { ...one, query: vectorOf(one.query, name) } : one] as const
  })
  return { ...request, fields: Object.fromEntries(fields) }
}

function textOf(query: EmbeddedQuery, path: string): string {
  const { text } = query
  const field = `${path}.text`
  const other = Object.keys(query).find((key) => key !== 'text')
  if (other !== undefined || typeof text !== 'string' || text.trim() === '' || !text.isWellFormed()) {
    const message = `${path} must be { text } with a well-formed text of at least one word, got ${printed(other ?? text)}`
    throw new EngineError('invalid_argument', message, { field, value: shownValue(other ?? text) })
  }
  const bytes = text.length > embedQueryBytesMax ? text.length : Buffer.byteLength(text)
  if (bytes <= embedQueryBytesMax) return text
  const message = `${field} has ${bytes} bytes or more, at most ${embedQueryBytesMax} are allowed`
  throw new EngineError('limit_exceeded', message, { field, value: bytes, limit: embedQueryBytesMax })
}

/** A vector that every field accepts. */
function standIn(dimension: number): Float32Array {
  const vector = new Float32Array(dimension)
  vector[0] = 1
  return vector
}
