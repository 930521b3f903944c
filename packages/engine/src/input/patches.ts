// Checks patches of objects, and applies them to the meta and filter of a stored object.
import { TimeSlice } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { parseFilterValues, parseNewFilterValues } from '../filter/values.ts'
import { filterKeysMax, type Limits } from '../limits.ts'
import { checkBatch, checkObject, parseId, printed, shownValue } from '../model/ids.ts'
import type { JsonObject, JsonValue } from '../model/json.ts'
import type { ObjectPatch } from '../model/object.ts'
import { decodeMeta, packMeta } from '../model/packed-meta.ts'
import { splitText, storedText } from '../model/stored-text.ts'
import { type ObjectConditions, parseConditions } from './conditions.ts'
import { expiryOf, type GivenExpiry, parseExpiry } from './expiry.ts'
import { parseMeta } from './meta.ts'

export type PatchesInput = readonly ObjectPatch[] | AsyncIterable<ObjectPatch>

/** A checked patch of one object. */
export interface CheckedPatch {
  readonly id: string
  /** Of its position in the call, for errors. */
  readonly path: string
  readonly meta: JsonObject | undefined
  readonly filter: JsonObject | undefined
  readonly increment: Readonly<Record<string, number>>
  readonly conditions: ObjectConditions | undefined
  readonly expiry: GivenExpiry | undefined
}

/** The stored parts that a patch changes. */
export interface PatchedParts {
  readonly meta: Uint8Array
  /** With the expiry. */
  readonly filter: string
}

/** Throws invalid_argument, invalid_filter, or limit_exceeded with the patch and the fault. */
export async function parsePatches(patches: PatchesInput, { batchMax }: Limits): Promise<readonly CheckedPatch[]> {
  const checked: CheckedPatch[] = []
  const positions = new Map<string, number>()
  const slice = new TimeSlice()
  const add = (patch: ObjectPatch): void => {
    if (checked.length === batchMax) {
      const message = `patches has more than ${batchMax} entries, the limit of one call`
      throw new EngineError('limit_exceeded', message, { field: 'patches', value: batchMax + 1, limit: batchMax })
    }
    const one = parsePatch(patch, `patches[${checked.length}]`)
    const first = positions.get(one.id)
    if (first !== undefined) {
      const message = `patches[${first}] and ${one.path} have the same id ${printed(one.id)}`
      throw new EngineError('invalid_argument', message, { field: `${one.path}.id`, value: one.id })
    }
    positions.set(one.id, checked.length)
    checked.push(one)
  }
  if (isAsyncIterable(patches)) {
    for await (const patch of patches) {
      add(patch)
      if (slice.isOver) await slice.renew()
    }
    return checked
  }
  checkBatch(patches, 'patches', batchMax)
  // In one turn, because the caller may change its list in the next.
  for (const patch of patches) add(patch)
  return checked
}

function isAsyncIterable(patches: PatchesInput): patches is AsyncIterable<ObjectPatch> {
  return typeof patches === 'object' && patches !== null && Symbol.asyncIterator in patches
}

function parsePatch(patch: ObjectPatch, path: string): CheckedPatch {
  checkObject(patch, path)
  const id = parseId(patch.id, `${path}.id`)
  const { meta, filter, increment } = patch
  const expiry = parseExpiry(patch, path)
  if (meta === undefined && filter === undefined && increment === undefined && expiry === undefined) {
    const message = `${path} must have at least one of meta, filter, increment, and an expiry`
    throw new EngineError('invalid_argument', message, { field: path, value: shownValue(patch) })
  }
  for (const [name, value] of Object.entries({ meta, filter, increment }))
    if (value !== undefined) checkPlain(value, `${path}.${name}`)
  // Limits and types are checked as those of a whole object; null is allowed, and removes a key.
  if (meta !== undefined) parseMeta(meta, `${path}.meta`)
  const values = filter === undefined ? undefined : parseNewFilterValues(filter as JsonObject, `${path}.filter`).values
  return {
    id,
    path,
    // Copies, because the caller may change its objects while the write waits.
    meta: meta && copyOf(meta as JsonObject, `${path}.meta`),
    filter: values && structuredClone(values),
    increment: parseIncrement(increment, values, `${path}.increment`),
    conditions: parseConditions(patch, path),
    expiry,
  }
}

function copyOf(meta: JsonObject, field: string): JsonObject {
  try {
    return structuredClone(meta)
  } catch (cause) {
    // A function, a promise, or another value that JSON does not have.
    const message = `${field} cannot be written as JSON: ${cause instanceof Error ? cause.message : String(cause)}`
    throw new EngineError('invalid_argument', message, { field }, { cause })
  }
}

function checkPlain(value: unknown, field: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)) return
  const message = `${field} must be an object, got ${printed(value)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(value) })
}

function parseIncrement(
  increment: ObjectPatch['increment'],
  filter: JsonObject | undefined,
  path: string,
): Record<string, number> {
  const entries = Object.entries(increment ?? {})
  if (entries.length > filterKeysMax) {
    const message = `${path} has ${entries.length} keys, but at most ${filterKeysMax} are allowed`
    throw new EngineError('limit_exceeded', message, { field: path, value: entries.length, limit: filterKeysMax })
  }
  for (const [key, by] of entries) {
    const field = `${path}.${key}`
    if (typeof by !== 'number' || !Number.isFinite(by)) {
      const message = `${field} must be a finite number, got ${printed(by)}`
      throw new EngineError('invalid_argument', message, { field, value: shownValue(by) })
    }
    if (filter !== undefined && Object.hasOwn(filter, key)) {
      const message = `${field} increments a key that the filter of the same patch sets`
      throw new EngineError('invalid_argument', message, { field, value: by })
    }
  }
  // Checks the keys as those of filter values.
  parseNewFilterValues(Object.fromEntries(entries), path)
  return Object.fromEntries(entries)
}

/** The parts after the patch. Throws invalid_argument or limit_exceeded if it does not fit the stored parts. */
export function applyPatch(patch: CheckedPatch, stored: PatchedParts, nowMs: number): PatchedParts {
  const { filter, expiresAt } = splitText(stored.filter)
  const { text } = patchFilter(patch, filter)
  const expiry = patch.expiry === undefined ? expiresAt : expiryOf(patch.expiry, { nowMs, ttlSeconds: undefined })
  return { meta: patchMeta(patch, stored.meta), filter: storedText(text, expiry) }
}

function patchMeta({ meta: changes, path }: CheckedPatch, stored: Uint8Array): Uint8Array {
  if (changes === undefined) return stored
  const before = decodeMeta(stored)
  if (before === undefined) {
    const message = `${path}.meta cannot be merged: the stored meta is not a JSON object`
    throw new EngineError('invalid_argument', message, { field: `${path}.meta` })
  }
  const plain = parseMeta(merged(before, changes), `${path}.meta`)
  // Published clients read packed meta only, and only the library stores plain text.
  const isPlain = stored[0] === openingBrace
  return isPlain || plain.length === 0 ? plain : packMeta(plain)
}

const openingBrace = 0x7b

function patchFilter({ filter: changes, increment, path }: CheckedPatch, stored: string) {
  const after = merged(parseFilterValues(stored).values, changes ?? {})
  for (const [key, by] of Object.entries(increment)) {
    const before = Object.hasOwn(after, key) ? after[key] : 0
    const field = `${path}.increment.${key}`
    if (typeof before !== 'number') {
      const message = `${field} cannot be added: the stored value is ${printed(before)}, not a number`
      throw new EngineError('invalid_argument', message, { field, value: shownValue(before) })
    }
    const sum = before + by
    if (!Number.isFinite(sum)) {
      const message = `${field} makes ${printed(before)} + ${printed(by)}, which is not finite`
      throw new EngineError('limit_exceeded', message, { field, value: by, limit: Number.MAX_VALUE })
    }
    after[key] = sum
  }
  return Object.keys(after).length === 0 ? { text: '', values: {} } : parseNewFilterValues(after, `${path}.filter`)
}

/** The keys of both; those of `changes` win, and null removes a key. */
function merged(before: JsonObject, changes: JsonObject): Record<string, JsonValue> {
  const entries = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) entries.delete(key)
    else entries.set(key, value)
  }
  // Own properties only, whatever the keys are.
  return Object.fromEntries(entries)
}
