// What a read of a cluster can require of the node that answers it: in the bodies of /api/v2, or in the query string of any read. A single
// server has every write that it acknowledged, so there these options change nothing.
import { type TSchema, Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { optionalInteger } from './schema.ts'

const stalenessMsMax = 86_400_000
const levels = ['strong', 'local'] as const

const meanings = {
  consistency:
    'strong: the reply includes every write that was acknowledged before the request, since the leader of the cluster answers. Default local: the node that got the request answers.',
  staleness: 'Maximum staleness of the node, in milliseconds; beyond it, the reply is 503 replica_stale.',
}

/** Keys of the bodies of reads. */
export const readOptions = {
  consistency: Type.Optional(
    Type.Unsafe<(typeof levels)[number] | null>({ enum: [...levels, null], description: meanings.consistency }),
  ),
  max_staleness_ms: optionalInteger({ minimum: 0, maximum: stalenessMsMax }, meanings.staleness),
} satisfies Record<string, TSchema>

/** The same in the query string of a read, for the description of the API. */
export const readOptionsQuery = {
  consistency: { type: 'string', enum: levels, description: meanings.consistency },
  max_staleness_ms: { type: 'integer', minimum: 0, maximum: stalenessMsMax, description: meanings.staleness },
  min_lsn: { type: 'integer', minimum: 0, description: 'LSN of a write that the reply of a node must include.' },
} as const

export interface ReadOptions {
  readonly isStrong: boolean
  readonly maxStalenessMs: number | undefined
  /** Of the query string. Routes that have it in their body wait themselves. */
  readonly minLsn: number | undefined
}

type Given = { readonly [key: string]: unknown }

/** The options of a request. Throws invalid_argument. */
export function readOptionsOf({
  body,
  query,
  url,
}: {
  readonly body: unknown
  readonly query: unknown
  readonly url: string
}): ReadOptions {
  const inQuery = given(query)
  // In /api/v1, bodies have the keys of the published protocol only.
  const inBody = url.startsWith('/api/v2/') ? given(body) : {}
  // The strictest search of a batch counts.
  const inSearches = Array.isArray(inBody.searches) ? inBody.searches.map(given) : []
  let isStrong = false
  let maxStalenessMs: number | undefined
  for (const { consistency, max_staleness_ms: bound } of [inQuery, inBody, ...inSearches]) {
    if (consistency != null && !levels.some((level) => level === consistency))
      throw invalidArgument('consistency must be strong or local', { field: 'consistency', value: consistency })
    isStrong ||= consistency === 'strong'
    if (bound != null)
      maxStalenessMs = Math.min(wholeNumber('max_staleness_ms', bound), maxStalenessMs ?? stalenessMsMax)
  }
  const { min_lsn: lsn } = inQuery
  return { isStrong, maxStalenessMs, minLsn: lsn === undefined ? undefined : wholeNumber('min_lsn', lsn) }
}

function given(value: unknown): Given {
  return typeof value === 'object' && value !== null ? (value as Given) : {}
}

function wholeNumber(field: string, value: unknown): number {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number
  throw invalidArgument(`${field} must be a whole number`, { field, value })
}
