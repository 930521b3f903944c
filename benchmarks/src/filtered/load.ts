// Loads rows with a label and a number to filter by, and defines the filters that are measured.
import type { Collection, CollectionDefinition, Filter, Precision } from '@annal/engine'
import type { Things } from './things.ts'

export const field = 'v'

/** A precision of the command line; the engine rejects unknown ones. */
export function definitionOf({ dimension }: Things, precision: string): CollectionDefinition {
  const params = { dimension, spaceType: 'l2', precision: precision as Precision } as const
  return { name: 'things', fields: [{ name: field, type: 'vector', params }] }
}

export async function insert(collection: Collection, things: Things, rows: readonly number[]): Promise<void> {
  for (let from = 0; from < rows.length; from += 1_000) {
    const objects = rows.slice(from, from + 1_000).map((row) => ({
      id: String(row),
      filter: { label: things.label(row), number: things.number[row] as number },
      fields: { [field]: things.row(row) },
    }))
    await collection.upsert(objects)
  }
}

export interface Case {
  readonly name: string
  /** Share of the rows, if it is the same for every query and independent of the vectors. */
  readonly share?: number
  filter(query: number): Filter
  wanted(query: number): (row: number) => boolean
}

export const unfiltered: Case = { name: 'no filter', filter: () => [], wanted: () => () => true }

/** A filter for any share of the rows, independent of their vectors. */
export function byShare(things: Things, share: number): Case {
  const end = Math.max(1, Math.round(share * things.rows))
  const wanted = (row: number) => (things.number[row] as number) < end
  return { name: `${share * 100} %`, share, filter: () => [{ number: { $lt: end } }], wanted: () => wanted }
}

export function byLabel(things: Things, name: string, labelOf: (query: number) => number): Case {
  return {
    name,
    filter: (query) => [{ label: { $eq: labelOf(query) } }],
    wanted: (query) => (row) => things.label(row) === labelOf(query),
  }
}
