// `annal get` and `annal count`.
import type { StoredObject } from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { filterOf } from '../filter-option.ts'
import { jsonText } from '../formats/json-text.ts'
import { jsonLine } from '../formats/jsonl.ts'
import { expiryText, fieldsOfObject, keptMeta, type PlainValue } from '../formats/object-parts.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { visible } from '../visible-text.ts'

export interface GetOptions extends ConnectionOptions {
  readonly json?: boolean
  readonly vectors?: boolean
  readonly texts?: boolean
}

const idsAtOnce = 100

/** Prints the objects in the order of the ids. Ends with `attention` if one does not exist. */
export function printObjects(collection: string, ids: readonly string[], options: GetOptions, terminal: Terminal) {
  const { vectors: includeVectors = true, texts: includeTexts = true } = options
  return withClient(options, async (client) => {
    let isFirst = true
    let isMissing = false
    for (let from = 0; from < ids.length; from += idsAtOnce) {
      const some = ids.slice(from, from + idsAtOnce)
      const found = new Map<string, StoredObject>()
      const objects = await client.collection(collection).getMany(some, { includeVectors, includeTexts })
      for (const object of objects) found.set(object.id, object)
      for (const id of some) {
        const object = found.get(id)
        if (object === undefined) {
          terminal.say(`annal: ${collection} has no object ${visible(id)}`)
          isMissing = true
        } else if (options.json) {
          terminal.line(jsonLine(object).trimEnd())
        } else {
          if (!isFirst) terminal.line('')
          for (const line of objectLines(object, terminal.columns)) terminal.line(line)
          isFirst = false
        }
      }
    }
    return isMissing ? exitCode.attention : exitCode.good
  })
}

/** Without a terminal, values are whole, except vectors. */
function* objectLines(object: StoredObject, width: number | undefined): Generator<string> {
  const { meta, meta_base64: bytes } = keptMeta(object)
  const expiry = expiryText(object)
  const rows = [
    ['id', object.id],
    ...Object.entries(meta ?? {}).map(([key, value]) => [`meta.${key}`, valueText(value)]),
    ...(bytes === undefined ? [] : [['meta_base64', bytes]]),
    ...Object.entries(object.filter).map(([key, value]) => [`filter.${key}`, valueText(value)]),
    ...(expiry === undefined ? [] : [['expires_at', expiry]]),
    ...Object.entries(fieldsOfObject(object)).map(([name, value]) => [`fields.${name}`, fieldText(value)]),
  ]
  yield* aligned(rows, { width })
}

/** Text stands for itself; everything else is JSON. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : jsonText(value)
}

const numbersShown = 6

function fieldText(value: PlainValue): string {
  if (typeof value === 'string') return value
  if ('indices' in value) {
    const terms = value.indices.slice(0, numbersShown).map((index, i) => `${index}: ${value.values[i]}`)
    return `${value.indices.length} terms: ${terms.join(', ')}${value.indices.length > numbersShown ? ', ...' : ''}`
  }
  const [first] = value
  if (typeof first === 'number') return numbersText(value as readonly number[])
  return `${value.length} vectors, the first: ${numbersText(first ?? [])}`
}

function numbersText(numbers: readonly number[]): string {
  const shown = numbers.slice(0, numbersShown).map((number) => String(Number(number.toPrecision(6))))
  return `${numbers.length} numbers: ${shown.join(', ')}${numbers.length > numbersShown ? ', ...' : ''}`
}

export interface CountOptions extends ConnectionOptions {
  readonly filter?: string
  readonly json?: boolean
}

export function countObjects(collection: string, options: CountOptions, terminal: Terminal): Promise<number> {
  const filter = options.filter === undefined ? undefined : filterOf(options.filter)
  return withClient(options, async (client) => {
    const count = await client.collection(collection).count(filter)
    terminal.line(options.json ? JSON.stringify({ collection, count }) : String(count))
    return exitCode.good
  })
}
