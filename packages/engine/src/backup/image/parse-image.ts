// Parses an external manifest into a checked Image: every value is treated as untrusted input.
import { createHash } from 'node:crypto'
import { EngineError } from '../../errors.ts'
import { parseDefinition } from '../../input/definition.ts'
import { ttlSecondsMax } from '../../limits.ts'
import { parseName, printed, shownValue } from '../../model/ids.ts'
import { type FieldSchema, hasLists, rulesNewest, withRules } from '../../model/schema.ts'
import type { OriginalsProof } from '../../originals/originals-file.ts'
import type { Image, ImageDelta, ImagePart } from './image.ts'

type Input = { readonly [key: string]: unknown }

/** The field type used in collection definitions for each kind. */
const typesByKind = new Map<unknown, string>([
  ['dense', 'vector'],
  ['sparse', 'sparse'],
  ['text', 'text'],
  ['multi', 'multi_vector'],
])
const filesMax = 100_000
const countMax = 2 ** 32 - 1

/** Throws backup_damaged with the value that does not match. */
export function parseImage(raw: unknown): Image {
  const input = object(raw, 'manifest', imageKeys)
  const source = object(input.source, 'source', ['uuid', 'collectionId'])
  const hashSeed = object(input.hashSeed, 'hashSeed', ['low', 'high'])
  const tail = object(input.tail, 'tail', ['records', 'bytes', 'sum', 'sha256'])
  const fields = parseFields(list(input.fields, 'fields'), 'fields')
  const image: Image = {
    name: text(input.name, 'name', /^[A-Za-z0-9_-]{0,200}$/),
    takenAtMs: whole(input.takenAtMs, 'takenAtMs', Number.MAX_SAFE_INTEGER),
    database: named(input.database, 'database'),
    collection: named(input.collection, 'collection'),
    source: {
      uuid: text(source.uuid, 'source.uuid', /^[0-9a-f-]{36}$/),
      collectionId: whole(source.collectionId, 'source.collectionId', countMax),
    },
    lsn: whole(input.lsn, 'lsn', Number.MAX_SAFE_INTEGER),
    timeMs: whole(input.timeMs, 'timeMs', Number.MAX_SAFE_INTEGER),
    hashSeed: {
      low: whole(hashSeed.low, 'hashSeed.low', countMax),
      high: whole(hashSeed.high, 'hashSeed.high', countMax),
    },
    fields,
    snapshotLsn: whole(input.snapshotLsn, 'snapshotLsn', Number.MAX_SAFE_INTEGER),
    parts: list(input.parts, 'parts').map((file) => parsePart(file, fields)),
    originals: list(input.originals, 'originals').map((file) => parseOriginals(file, fields)),
    tail: { records: whole(tail.records, 'tail.records', countMax), sum: sumOf(tail.sum), ...facts(tail) },
    objects: whole(input.objects, 'objects', countMax),
    fieldsNow: parseFieldsNow(list(input.fieldsNow, 'fieldsNow'), fields),
    digest: text(input.digest, 'digest', /^([0-9a-f]{16})?$/),
    ...(input.aliases !== undefined && {
      aliases: list(input.aliases, 'aliases').map((name) => named(name, 'aliases')),
    }),
    ...(input.ttlSeconds !== undefined && { ttlSeconds: ttlIn(input.ttlSeconds) }),
    ...(input.expires !== undefined && { expires: isTrue(input.expires, 'expires') }),
  }
  checkFiles(image)
  return image
}

const imageKeys = [
  ...[
    'name',
    'folder',
    'takenAtMs',
    'database',
    'collection',
    'source',
    'lsn',
    'timeMs',
    'hashSeed',
    'fields',
    'snapshotLsn',
  ],
  ...['parts', 'originals', 'tail', 'objects', 'fieldsNow', 'digest', 'aliases', 'ttlSeconds', 'expires'],
]

/** A snapshot has one file for the objects and one for each field; without a snapshot the tail holds everything. */
function checkFiles({ fields, parts, originals, snapshotLsn, lsn }: Image): void {
  const expected = snapshotLsn === 0 ? [] : Array.from({ length: fields.length + 1 }, (_, part) => part)
  const found = parts.map(({ part }) => part).sort((a, b) => a - b)
  if (String(found) !== String(expected)) throw wrong('parts', found)
  for (const part of parts) checkDeltas(part, fields, snapshotLsn)
  if (snapshotLsn > lsn) throw wrong('snapshotLsn', snapshotLsn)
  if (snapshotLsn === 0 && originals.length > 0) throw wrong('originals', originals.length)
  const names = new Set(originals.map(({ generation, field, chunk }) => `${generation} ${field} ${chunk}`))
  if (names.size !== originals.length || new Set(originals.map(({ generation }) => generation)).size > 1)
    throw wrong('originals', originals.length)
}

/** Changes follow the part in the order of their records, and the last is as of the snapshot. Fields of inverted lists have none. */
function checkDeltas({ part, lsn, deltas }: ImagePart, fields: readonly FieldSchema[], snapshotLsn: number): void {
  if (lsn === undefined && deltas === undefined) return
  if (lsn === undefined || deltas === undefined || deltas.length === 0) throw wrong('parts.deltas', deltas)
  const field = fields[part - 1]
  if (field && hasLists(field)) throw wrong('parts.deltas', part)
  const lsns = [lsn, ...deltas.map((delta) => delta.lsn)]
  if (lsns.some((one, i) => one <= (lsns[i - 1] ?? 0)) || lsns.at(-1) !== snapshotLsn) throw wrong('parts.deltas', lsns)
}

function parsePart(raw: unknown, fields: readonly FieldSchema[]): ImagePart {
  const input = object(raw, 'parts', ['part', 'bytes', 'sum', 'sha256', 'lsn', 'deltas'])
  return {
    part: whole(input.part, 'parts.part', fields.length),
    sum: sumOf(input.sum),
    ...facts(input),
    ...(input.lsn !== undefined && { lsn: whole(input.lsn, 'parts.lsn', Number.MAX_SAFE_INTEGER) }),
    ...(input.deltas !== undefined && { deltas: list(input.deltas, 'parts.deltas').map(parseDelta) }),
  }
}

function parseDelta(raw: unknown): ImageDelta {
  const input = object(raw, 'parts.deltas', ['lsn', 'bytes', 'sum', 'sha256'])
  return { lsn: whole(input.lsn, 'parts.deltas.lsn', Number.MAX_SAFE_INTEGER), sum: sumOf(input.sum), ...facts(input) }
}

function parseOriginals(raw: unknown, fields: readonly FieldSchema[]): Image['originals'][number] {
  const input = object(raw, 'originals', ['generation', 'field', 'chunk', 'full', 'bytes', 'sha256', 'proof'])
  if (typeof input.full !== 'boolean') throw wrong('originals.full', input.full)
  return {
    generation: whole(input.generation, 'originals.generation', countMax),
    field: whole(input.field, 'originals.field', fields.length - 1),
    chunk: whole(input.chunk, 'originals.chunk', countMax),
    full: input.full,
    ...facts(input),
    ...(input.proof !== undefined && { proof: parseProof(input.proof) }),
  }
}

function parseProof(raw: unknown): OriginalsProof {
  const input = object(raw, 'originals.proof', ['directory', 'collectionId', 'chain', 'marks'])
  if (input.marks !== undefined) {
    if (Object.keys(input).length > 1) throw wrong('originals.proof', Object.keys(input))
    return { marks: sumOf(input.marks) }
  }
  return {
    directory: text(input.directory, 'originals.proof.directory', /^[0-9a-f-]{36}$/),
    collectionId: whole(input.collectionId, 'originals.proof.collectionId', countMax),
    chain: sumOf(input.chain),
  }
}

function facts(input: Input): { readonly bytes: number; readonly sha256: string } {
  return {
    bytes: whole(input.bytes, 'bytes', Number.MAX_SAFE_INTEGER),
    sha256: text(input.sha256, 'sha256', /^[0-9a-f]{64}$/),
  }
}

/** Rules that a definition can name. A definition without any has the first rules. */
const knownRules: readonly unknown[] = Array.from({ length: rulesNewest - 1 }, (_, i) => i + 2)

/** Converts the fields to a definition and parses it; the result must equal the input. */
function parseFields(raw: readonly unknown[], field: string): readonly FieldSchema[] {
  const asWritten = raw.map((one) => {
    const { kind, name, params } = object(one, field, ['kind', 'name', 'params'])
    return { name, params, type: typesByKind.get(kind) }
  })
  let fields: readonly FieldSchema[]
  try {
    fields = parseDefinition({ name: 'restored', fields: asWritten }).fields.map((one, index) => {
      const { rules } = (asWritten[index]?.params ?? {}) as { readonly rules?: unknown }
      // Any other value would change on the way.
      return knownRules.includes(rules) ? withRules(one, rules as number) : one
    })
  } catch (error) {
    if (error instanceof EngineError) throw new EngineError('backup_damaged', `its manifest: ${error.message}`)
    throw error
  }
  if (canonical(fields) !== canonical(raw)) throw wrong(field, raw)
  return fields
}

function parseFieldsNow(raw: readonly unknown[], fields: readonly FieldSchema[]): Image['fieldsNow'] {
  const elements = raw.map((one) => whole((one as Input | null)?.elements, 'fieldsNow.elements', countMax))
  const without = raw.map((one) => {
    const { elements: _, ...rest } = one as Input
    return rest
  })
  const now = parseFields(without, 'fieldsNow')
  if (now.length !== fields.length) throw wrong('fieldsNow', now.length)
  return now.map((field, index) => ({ ...field, elements: elements[index] as number }))
}

/** Equal values produce equal text, whatever the order of keys. */
function canonical(value: unknown): string {
  const sorted = (_: string, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  return createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex')
}

function object(value: unknown, field: string, keys: readonly string[]): Input {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(field, value)
  const strange = Object.keys(value).find((key) => !keys.includes(key))
  if (strange !== undefined) throw wrong(`${field}.${strange}`, 'unknown')
  return value as Input
}

function list(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length > filesMax) throw wrong(field, value)
  return value
}

function whole(value: unknown, field: string, most: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > most) throw wrong(field, value)
  return value
}

function ttlIn(value: unknown): number {
  const seconds = whole(value, 'ttlSeconds', ttlSecondsMax)
  if (seconds === 0) throw wrong('ttlSeconds', value)
  return seconds
}

function isTrue(value: unknown, field: string): true {
  if (value !== true) throw wrong(field, value)
  return value
}

function text(value: unknown, field: string, form: RegExp): string {
  if (typeof value !== 'string' || !form.test(value) || value.includes('\n')) throw wrong(field, value)
  return value
}

function named(value: unknown, field: string): string {
  try {
    return parseName(value, field)
  } catch {
    throw wrong(field, value)
  }
}

function sumOf(value: unknown): string {
  return text(value, 'sum', /^[0-9a-f]{16}$/)
}

function wrong(field: string, value: unknown): EngineError {
  return new EngineError('backup_damaged', `the manifest's ${field} is ${printed(value)}, which is invalid`, {
    field,
    value: shownValue(value),
  })
}
