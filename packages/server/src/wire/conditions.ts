// Conditions of writes, patches, and the result for each object.
import {
  type Acknowledgement,
  type ConditionalReply,
  expiresAtMax,
  type ObjectPatch,
  ttlSecondsMax,
  type WriteConditions,
  type WriteExpiry,
  type WriteResult,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument, ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { itemTextBytesMax } from '../limits.ts'
import type { FieldNames } from './field-names.ts'
import type { ListReader } from './list-reader.ts'
import { decodeMsgpack } from './msgpack-scan.ts'
import { checkBatch, readId } from './object-parts.ts'
import { describedAs, type Infer } from './schema.ts'
import { readConditions } from './v1-search.ts'

/** Query string of writes of several objects. */
export const atomicQuery = Type.Object({
  atomic: Type.Optional(
    Type.Union([Type.Literal('true'), Type.Literal('false')], {
      description: 'Writes all objects or none: with a conflict, the reply is 409 and nothing changes.',
    }),
  ),
})
export type AtomicQuery = Infer<typeof atomicQuery>

/** `atomic` of a JSON body. */
export const atomicKey = Type.Optional(Type.Boolean({ description: 'The same as atomic in the query string.' }))

/** Whether a write is atomic, by its query string or its JSON body. */
export class AtomicChoice {
  readonly #query: AtomicQuery['atomic']
  #isAtomic: boolean

  constructor({ atomic }: AtomicQuery) {
    this.#query = atomic
    this.#isAtomic = atomic === 'true'
  }

  /** Valid after the body was read. */
  get atomic(): boolean {
    return this.#isAtomic
  }

  /** Throws invalid_argument for a value that is not a boolean or contradicts the query string. Null counts as absent. */
  readBody(body: unknown): void {
    const value = isObject(body) ? body.atomic : undefined
    if (value == null) return
    if (typeof value !== 'boolean') throw invalidArgument('atomic must be true or false', { field: 'atomic', value })
    if (this.#query !== undefined && value !== this.#isAtomic)
      throw invalidArgument(`atomic is ${value} in the body and ${this.#query} in the query string`, {
        field: 'atomic',
        value,
      })
    this.#isAtomic = value
  }
}

/** `if_lsn` of a query string. */
export const ifLsnQuery = Type.Optional(
  Type.String({
    pattern: '^[1-9][0-9]{0,15}$',
    description: 'Deletes the object only if it has this LSN; otherwise the reply is 409.',
  }),
)

/** Keys of the conditions and the expiry of an object, which readWriteConditions checks. */
export const conditionKeys = {
  if_absent: Type.Unknown(),
  if_lsn: Type.Unknown(),
  if_match: Type.Unknown(),
  ttl_seconds: Type.Unknown(),
  expires_at: Type.Unknown(),
}
const patchedParts = { meta: Type.Unknown(), filter: Type.Unknown(), increment: Type.Unknown() }

/** Describes the JSON body of a patch. The reader below checks it. */
export function patchObjectsBody(batchMax: number) {
  return Type.Object(
    {
      patches: Type.Array(
        describedAs(Type.Object({ id: Type.Unknown(), ...patchedParts, ...conditionKeys }), 'ObjectPatch'),
        {
          maxItems: batchMax,
        },
      ),
      atomic: atomicKey,
    },
    { $id: 'PatchObjects' },
  )
}

/** The names of the conditions and the expiry of an object for those of the engine. */
export function conditionFields(item: string): FieldNames {
  const names = { ifAbsent: 'if_absent', ifLsn: 'if_lsn', ifMatch: 'if_match' }
  const all = { ...names, ttlSeconds: 'ttl_seconds', expiresAt: 'expires_at' }
  return Object.fromEntries(Object.entries(all).map(([engine, wire]) => [`${item}.${engine}`, `${item}.${wire}`]))
}

/** The conditions and the expiry of an object in a body. Null counts as absent in conditions, and means never in an expiry. */
export function readWriteConditions(
  item: { readonly [key: string]: unknown },
  field: string,
): WriteConditions & WriteExpiry {
  const { if_absent: ifAbsent, if_lsn: ifLsn, if_match: ifMatch } = item
  if (ifAbsent != null && typeof ifAbsent !== 'boolean')
    throw invalidArgument(`${field}.if_absent must be true or false`, { field: `${field}.if_absent`, value: ifAbsent })
  return {
    ...(ifAbsent != null && { ifAbsent }),
    ...(ifLsn != null && { ifLsn: readLsn(ifLsn, `${field}.if_lsn`) }),
    ...(ifMatch != null && { ifMatch: readConditions(ifMatch, `${field}.if_match`) }),
    ...readExpiry(item, field),
  }
}

function readExpiry(item: { readonly [key: string]: unknown }, field: string): WriteExpiry {
  const { ttl_seconds: ttlSeconds, expires_at: expiresAt } = item
  if (ttlSeconds === undefined && expiresAt === undefined) return {}
  if (ttlSeconds !== undefined && expiresAt !== undefined) {
    const message = `${field} has ttl_seconds and expires_at, but only one of them is allowed`
    throw invalidArgument(message, { field: `${field}.expires_at`, value: expiresAt })
  }
  if (ttlSeconds !== undefined) return { ttlSeconds: readTtl(ttlSeconds, `${field}.ttl_seconds`) }
  if (typeof expiresAt === 'string' && Number.isNaN(Date.parse(expiresAt))) {
    const message = `${field}.expires_at must be a time in the form of RFC 3339, or in milliseconds`
    throw invalidArgument(message, { field: `${field}.expires_at`, value: expiresAt })
  }
  // The engine checks the form.
  if (expiresAt === null || typeof expiresAt === 'string') return { expiresAt }
  return { expiresAt: readWhole(expiresAt, `${field}.expires_at`, [0, expiresAtMax]) }
}

/** Seconds, or null for never. Throws invalid_argument or limit_exceeded. */
function readTtl(value: unknown, field: string): number | null {
  return value === null ? null : readWhole(value, field, [1, ttlSecondsMax])
}

function readLsn(value: unknown, field: string): number {
  return readWhole(value, field, [0, Number.MAX_SAFE_INTEGER])
}

function readWhole(value: unknown, field: string, [least, most]: readonly [number, number]): number {
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw invalidArgument(`${field} must be a whole number`, { field, value })
  if (value >= least && value <= most) return value
  throw new ServerError('limit_exceeded', `${field} is ${value}, but it must be between ${least} and ${most}`, {
    field,
    value,
    limit: value < least ? least : most,
  })
}

/** Reads patches in both forms: a list, or an object or map with the list under `patches`. */
export function patchesReader(batchMax: number): ListReader<ObjectPatch> {
  const whole = (body: unknown) => patchesOf(body, batchMax).map((item, i) => readPatch(item, `patches[${i}]`))
  return {
    json: {
      shape: { listKey: 'patches', name: 'patches', vectorKeys: new Set() },
      whole,
      item: readPatch,
      noList: whole,
    },
    msgpack: {
      shape: {
        list: { key: 'patches' },
        itemBytesMax: itemTextBytesMax,
        onCount: (count) => checkBatch(count, batchMax, 'patches'),
      },
      whole: (bytes) => whole(decodeMsgpack(bytes)),
      // biome-ignore lint/correctness/useYield: an entry is small
      *item(bytes, path) {
        return readPatch(decodeMsgpack(bytes), path)
      },
      noList: (first) => whole(first.length === 0 ? undefined : decodeMsgpack(first)),
    },
    end: () => undefined,
  }
}

function patchesOf(body: unknown, batchMax: number): readonly unknown[] {
  const items: unknown = isObject(body) ? body.patches : body
  if (!Array.isArray(items)) throw invalidArgument('patches must be an array', { field: 'patches', value: items })
  checkBatch(items.length, batchMax, 'patches')
  return items
}

/** The engine checks the values. */
function readPatch(item: unknown, field: string): ObjectPatch {
  if (!isObject(item)) throw invalidArgument(`${field} must be an object`, { field, value: item })
  const { id, meta, filter, increment } = item
  const given = Object.entries({ meta, filter, increment }).filter(([, value]) => value != null)
  return {
    id: readId(id, `${field}.id`),
    ...(Object.fromEntries(given) as Pick<ObjectPatch, 'meta' | 'filter' | 'increment'>),
    ...readWriteConditions(item, field),
  }
}

/** What a write returned, also from its request key, where results without an LSN have that of the write. */
type Written = Acknowledgement & Omit<ConditionalReply, 'results'> & { readonly results?: readonly KeptResult[] }
type KeptResult = Omit<WriteResult, 'lsn'> & { readonly lsn?: number }

/** The results of a write for its reply. Throws `conflict` if an atomic write was refused. */
export function writtenResults({ lsn, results, isRefused }: Written): { readonly results?: readonly WriteResult[] } {
  if (results === undefined) return {}
  const whole = results.map(({ id, status, lsn: own, error }) => {
    return { id, status, lsn: own ?? lsn, ...(error && { error }) }
  })
  if (!isRefused) return { results: whole }
  const failed = whole.filter(({ status }) => status !== 'ok')
  const message = `${failed.length} of ${whole.length} objects could not be written, so none was`
  throw new ServerError('conflict', message, { field: 'objects', value: failed[0]?.id, results: whole })
}
