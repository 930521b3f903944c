// Parses a cell as the value of a field: a vector, sparse terms or several vectors; as text in JSON or in the format of pgvector.
import type { FieldValue, SparseVector } from '@annal/client'
import { dataError } from '../exit-code.ts'
import { parseJson } from './parse-json.ts'

export function fieldValue(value: unknown, where: string): FieldValue {
  const given = typeof value === 'string' ? fromText(value, where) : value
  if (isList(given)) {
    if (isList(given[0])) return Array.from(given, (member, i) => numbers(member, `${where}, vector ${i}`))
    return numbers(given, where)
  }
  if (given !== null && typeof given === 'object' && 'indices' in given && 'values' in given) {
    return { indices: numbers(given.indices, `${where}, indices`), values: numbers(given.values, `${where}, values`) }
  }
  throw dataError(`${where}: neither a list of numbers nor {"indices": [...], "values": [...]}`)
}

/** `{3:0.5,7:1}/10`: pgvector numbers the terms of a sparsevec from 1. */
const sparseText = /^\{([^}]*)\}\/\d+$/

function fromText(text: string, where: string): unknown {
  const sparse = sparseText.exec(text)?.[1]
  if (sparse !== undefined) return fromSparseText(sparse)
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const list = numberList(text)
    if (list !== undefined) return list
    throw dataError(`${where}: not a vector such as [0.5,1]; --text names a field of type text: ${text.slice(0, 60)}`)
  }
}

/** Numbers with spaces, commas or semicolons between them, with or without brackets: JSON, pgvector, NumPy, pandas. Undefined: something else. */
export function numberList(text: string): readonly number[] | undefined {
  const inner = /^\s*\[([^[\]]*)\]\s*$/.exec(text)?.[1] ?? text
  const parts = inner.trim().split(/\s*[,;]\s*|\s+/)
  const numbers = parts.map((part) => (part === '' ? Number.NaN : Number(part)))
  return numbers.every(Number.isFinite) ? numbers : undefined
}

function fromSparseText(text: string): SparseVector {
  const terms = text === '' ? [] : text.split(',').map((term) => term.split(':').map(Number))
  return { indices: terms.map(([index = 0]) => index - 1), values: terms.map(([, value = Number.NaN]) => value) }
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)
}

function numbers(list: unknown, where: string): ArrayLike<number> {
  if (!isList(list)) throw dataError(`${where}: not a list of numbers`)
  if (list instanceof Float32Array || list instanceof Float64Array) return list
  return Array.from(list, (value, i) => {
    if (typeof value === 'number') return value
    if (typeof value === 'bigint') return Number(value)
    throw dataError(`${where}, number ${i}: ${JSON.stringify(value) ?? 'nothing'} is not a number`)
  })
}
