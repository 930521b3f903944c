// The parts of an object that are the same in every version of the wire: the id, meta, and filter, and how many objects one call
// may contain.
import { type FilterValues, jsonDepthMax, metaBytesMax, packMeta } from '@annal/engine'
import { invalidArgument, ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { depthExceeds } from './json-body.ts'

/** Accepts whole numbers, because JSON written by hand may contain them. Published clients convert them to texts. */
export function readId(id: unknown, field: string): string {
  if (typeof id === 'number' && Number.isSafeInteger(id)) return String(id)
  if (typeof id !== 'string') throw invalidArgument(`${field} must be a string`, { field, value: id })
  return id
}

/** An object is stored as zlib-compressed JSON, which every published client can read. A text is stored as its bytes. */
export function readMeta(meta: unknown, field: string): { meta?: Uint8Array } {
  if (meta == null || meta === '') return {}
  if (typeof meta === 'string') {
    if (!meta.isWellFormed()) throw invalidArgument(`${field} is not well-formed Unicode`, { field, value: meta })
    return { meta: Buffer.from(meta, 'utf8') }
  }
  if (!isObject(meta)) throw invalidArgument(`${field} must be an object or a string`, { field, value: meta })
  if (depthExceeds(meta, jsonDepthMax)) throw tooMuch(`${field} is nested too deeply`, field, undefined, jsonDepthMax)
  if (Object.keys(meta).length === 0) return {}
  const json = Buffer.from(JSON.stringify(meta), 'utf8')
  if (json.length > metaBytesMax) throw tooMuch(`${field} is too long`, field, json.length, metaBytesMax)
  return { meta: packMeta(json) }
}

/** Returns the filter unchanged; the engine checks the values. */
export function readFilter(filter: unknown, field: string): { filter?: FilterValues | string } {
  if (filter == null || filter === '') return {}
  if (typeof filter === 'string') return { filter }
  if (!isObject(filter)) throw invalidArgument(`${field} must be an object`, { field, value: filter })
  return { filter: filter as FilterValues }
}

/** Throws limit_exceeded if a call contains too many objects. */
export function checkBatch(count: number, batchMax: number, field = 'objects'): void {
  if (count > batchMax) throw tooMuch(`the batch has ${count} ${field}, more than ${batchMax}`, field, count, batchMax)
}

function tooMuch(message: string, field: string, value: number | undefined, limit: number): ServerError {
  return new ServerError('limit_exceeded', message, { field, limit, ...(value === undefined ? {} : { value }) })
}
