// The queries of `annal search`: --field names a field, and the --vector, --id, or --words behind it says what is searched there. Several
// fields are searched and fused.
import { readFileSync } from 'node:fs'
import type { FieldQuery } from '@annal/client'
import { usageError } from './exit-code.ts'

export type QueryValue = FieldQuery['query']

export interface GivenQuery {
  readonly field: string | undefined
  readonly query: QueryValue
}

/** Collects the options in their order. */
export class QueryOptions {
  readonly #parts: { field?: string; value?: { readonly option: string; readonly query: () => QueryValue } }[] = []

  readonly field = (name: string): string => {
    const last = this.#parts.at(-1)
    // Options may begin with the query, if there is one.
    if (this.#parts.length === 1 && last?.field === undefined && last?.value !== undefined) last.field = name
    else this.#parts.push({ field: name })
    return name
  }

  readonly vector = (text: string): string => this.#add('--vector', text, () => vectorOf(text))
  readonly id = (text: string): string => this.#add('--id', text, () => ({ id: text }))
  readonly words = (text: string): string => this.#add('--text', text, () => text)

  /** Throws a usage error if a field has no query, or several. */
  get all(): readonly GivenQuery[] {
    return this.#parts.map(({ field, value }) => {
      if (value === undefined) throw usageError(`--field ${field}: add --vector, --id, or --text after it`)
      return { field, query: value.query() }
    })
  }

  #add(option: string, text: string, query: () => QueryValue): string {
    const last = this.#parts.at(-1)
    if (last === undefined) this.#parts.push({ value: { option, query } })
    else if (last.value === undefined) last.value = { option, query }
    else
      throw usageError(`${option}: ${last.value.option} has a query for the same field; name the next one with --field`)
    return text
  }
}

/** A vector, several vectors, or sparse terms, as JSON; `@FILE` reads a file, and `-` standard input. */
function vectorOf(text: string): QueryValue {
  const source = text === '-' ? 0 : text.startsWith('@') ? text.slice(1) : undefined
  const json = source === undefined ? text : readFileSync(source, 'utf8')
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw usageError(`--vector must be JSON, such as [0.1,0.9] or {"indices":[7],"values":[2]}: ${error.message}`)
  }
  const isList = Array.isArray(value) && value.length > 0
  const isSparse = value !== null && typeof value === 'object' && 'indices' in value && 'values' in value
  // The server checks the numbers.
  if (isList || isSparse) return value as QueryValue
  throw usageError('--vector must be a list of numbers, a list of such lists, or {"indices": [...], "values": [...]}')
}
