// Conditions on texts, for reads that count, list, or page through objects: every object that matches is found, by the query of a search and as of
// one version. Scores do not matter.
import { EngineError } from '../errors.ts'
import type { FilterMatches } from '../filter/filter-index.ts'
import { type Filter, parseFilter } from '../filter/parse-filter.ts'
import { Bitmap } from '../memory/bitmap.ts'
import { checkObject, printed } from '../model/ids.ts'
import type { TextCondition, TextMatch } from '../model/query.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { prepareTexts } from './expand-terms.ts'
import { plainSearch, type TextTask } from './request.ts'
import { textCondition } from './run-text.ts'
import { parseTextSearch } from './text-query.ts'

/** What objects of a read must match. */
export interface Conditions {
  readonly filter: Filter
  /** Conditions on texts, all of which must hold. */
  readonly texts: readonly TextTask[]
}

/** Objects that match, as of a version that is held. */
export interface Matching extends FilterMatches {
  readonly version: number
  /** The newest record of the version. */
  readonly lsn: number
}

const noTexts: readonly TextTask[] = []

/** Throws invalid_filter, invalid_argument, limit_exceeded, or field_not_found. */
export function parseConditions(
  { filter = [], match }: { readonly filter?: unknown; readonly match?: TextMatch | undefined },
  definition: CollectionSchema,
): Conditions {
  return { filter: parseFilter(filter), texts: match === undefined ? noTexts : parseMatch(match, definition) }
}

function parseMatch(match: TextMatch, { fields }: CollectionSchema): readonly TextTask[] {
  checkObject(match, 'match')
  const given = Object.entries(match).filter(([, condition]) => condition !== undefined)
  if (given.length === 0)
    throw new EngineError('invalid_argument', 'match must name at least one text field', { field: 'match' })
  return given.map(([name, condition]) => {
    const path = `match.${name}`
    const fieldIndex = fields.findIndex((field) => field.name === name)
    const definition = fields[fieldIndex]
    if (definition === undefined) {
      const message = `the collection has no field ${printed(name)}; it has ${fields.map((field) => field.name).join(', ')}`
      throw new EngineError('field_not_found', message, { field: 'match', value: name })
    }
    if (definition.kind !== 'text') {
      const message = `${path} is a condition on texts, but field ${printed(name)} has none; filter values have conditions in filter`
      throw new EngineError('invalid_argument', message, { field: path, value: name })
    }
    checkObject(condition, path)
    const { query, operator, ...others } = condition as TextCondition
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) {
      const message = `${path}.${printed(unknown)} is not allowed in a condition on texts; allowed are query and operator`
      throw new EngineError('invalid_argument', message, { field: `${path}.${unknown}` })
    }
    const search = parseTextSearch({ query, operator }, definition, `${path}.query`, `${path}.operator`)
    return {
      kind: 'text',
      fieldIndex,
      definition,
      source: { kind: 'vector', query: search },
      options: { k1: definition.params.k1, b: definition.params.b, highlight: false },
      k: 1,
      ef: 1,
      scoreThreshold: undefined,
    }
  })
}

/**
 * Calls `read` with the objects that match, while their version is held. Without conditions on texts, it is the newest version in the turn of the
 * call of `read`. Objects below the ordinal `from` are left out, and so may be all but the first `most`.
 */
export async function withMatches<T>(
  replica: ReadableReplica,
  { filter, texts }: Conditions,
  read: (matching: Matching) => Promise<T>,
  { from = 0, most = Number.POSITIVE_INFINITY } = {},
): Promise<T> {
  const preparing = prepareTexts([{ tasks: texts }], replica)
  const expansions = preparing && (await preparing)
  // In this turn: what the filter matches, and the terms, of one version.
  let { bitmap } = replica.filters.evaluate(filter)
  const version = replica.version
  const lsn = replica.lsnApplied
  const release = replica.pins.pin(version)
  try {
    const context = { replica, version, matches: undefined, input: plainSearch, room: undefined, expansions }
    const conditions = texts.map((task) => textCondition(task, context))
    if (texts.length > 0 && from > 0) bitmap.andNot(new Bitmap().not(from))
    for (const [i, condition] of conditions.entries())
      bitmap = await condition.rows(bitmap, i === conditions.length - 1 ? most : Number.POSITIVE_INFINITY)
    return await read({ bitmap, count: bitmap.count, version, lsn })
  } finally {
    release()
  }
}
