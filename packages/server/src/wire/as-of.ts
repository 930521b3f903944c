// The moment that a read of /api/v2 is as of: its keys in bodies and in a query string, and how it is stated in replies.
import { type AsOf, asOfBatch, type Database, type PastCollection } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { invalidArgument, ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { errorValueLengthMax } from '../limits.ts'
import { momentJson } from './moment.ts'
import { describedAs } from './schema.ts'

const waitSecondsMax = 60
const waitSecondsDefault = 2
const asOfKeys: ReadonlySet<string> = new Set(['lsn', 'time', 'keep_expired'])
const numberForm = /^-?\d+(\.\d+)?(e\d+)?$/
const asOfText =
  'A moment of the past: the LSN of a record, or an RFC 3339 time. The reply shows the collection as of that moment.'
const waitText = `Seconds to wait while the moment is loaded, 0 to ${waitSecondsMax}; true is ${waitSecondsMax}, default ${waitSecondsDefault}. Then the reply is 202 moment_loading.`

const keepExpiredShown = {
  type: 'boolean',
  description: 'Also reads objects that had expired at the moment and were still stored.',
}
const asOfShown = {
  anyOf: [
    {
      type: 'object',
      properties: { lsn: { type: 'integer', minimum: 1 }, keep_expired: keepExpiredShown },
      required: ['lsn'],
    },
    {
      type: 'object',
      properties: { time: { type: 'string', format: 'date-time' }, keep_expired: keepExpiredShown },
      required: ['time'],
    },
    { type: 'null' },
  ],
  description: asOfText,
}

/** Keys of the bodies of reads. The engine checks the moment. */
export const asOfOptions = {
  as_of: Type.Optional(describedAs(Type.Unknown(), asOfShown)),
  wait: Type.Optional(
    describedAs(Type.Unknown(), {
      anyOf: [{ type: 'number', minimum: 0, maximum: waitSecondsMax }, { type: 'boolean' }, { type: 'null' }],
      description: waitText,
    }),
  ),
}

/** The same in a query string. */
export const asOfQuery = {
  as_of: Type.Optional(Type.String({ description: `${asOfText} A number is an LSN.` })),
  wait: Type.Optional(Type.String({ description: waitText })),
}

interface AsOfKeys {
  readonly as_of?: unknown
  readonly wait?: unknown
}

/** The moment of a read, and how long to wait for it. */
export interface PastRead {
  readonly asOf: AsOf
  readonly waitMs: number
}

/** The moment that a body asks for; undefined for the present. Throws invalid_argument. */
export function readAsOf({ as_of: asOf, wait }: AsOfKeys): PastRead | undefined {
  const waitMs = readWait(wait)
  if (asOf == null) return undefined
  if (!isObject(asOf))
    throw invalidArgument('as_of must be an object with lsn or time', { field: 'as_of', value: asOf })
  const unknown = Object.keys(asOf).find((key) => !asOfKeys.has(key))
  if (unknown !== undefined)
    throw invalidArgument(`as_of has no key ${JSON.stringify(unknown.slice(0, errorValueLengthMax))}`, {
      field: `as_of.${unknown.slice(0, errorValueLengthMax)}`,
      value: asOf[unknown],
    })
  const { keep_expired: keepExpired, ...moment } = asOf
  // The engine checks it.
  return { asOf: { ...moment, ...(keepExpired != null && { keepExpired }) } as unknown as AsOf, waitMs }
}

/** The moment that a query string asks for; undefined for the present. */
export function readAsOfQuery({ as_of: asOf, wait }: { readonly as_of?: string; readonly wait?: string }) {
  const moment = asOf === undefined ? undefined : /^\d{1,15}$/.test(asOf) ? { lsn: Number(asOf) } : { time: asOf }
  return readAsOf({ as_of: moment, wait: waitOf(wait) })
}

/** A text that is neither a boolean nor a number is refused as it is. */
function waitOf(text: string | undefined): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  return text !== undefined && numberForm.test(text) ? Number(text) : text
}

/** The moment of a batch, in its body or, the same, in each of its searches. Throws invalid_argument. */
export function readAsOfBatch({ searches, ...body }: AsOfKeys & { readonly searches: readonly AsOfKeys[] }) {
  if (body.as_of != null) {
    const other = searches.find(({ as_of: asOf }) => asOf != null)
    if (other === undefined) return readAsOf(body)
    throw invalidArgument('as_of is given for the batch, and for one of its searches', {
      field: 'as_of',
      value: other.as_of,
    })
  }
  asOfBatch(searches.map(({ as_of: asOf }) => ({ asOf: (asOf ?? undefined) as AsOf | undefined })))
  return readAsOf({ wait: body.wait ?? searches[0]?.wait, as_of: searches[0]?.as_of })
}

/** Milliseconds to wait for a moment. Throws invalid_argument or limit_exceeded. */
export function readWait(wait: unknown): number {
  if (wait == null) return waitSecondsDefault * 1_000
  if (typeof wait === 'boolean') return wait ? waitSecondsMax * 1_000 : 0
  const message = `wait must be true, false, or seconds from 0 to ${waitSecondsMax}`
  if (typeof wait !== 'number') throw invalidArgument(message, { field: 'wait', value: wait })
  if (wait >= 0 && wait <= waitSecondsMax) return wait * 1_000
  throw new ServerError('limit_exceeded', message, { field: 'wait', value: wait, limit: wait < 0 ? 0 : waitSecondsMax })
}

/** Opens the collection as of the moment of a read, and states the moment in a header of the reply. */
export async function openPast(
  database: Database,
  name: string,
  { asOf, waitMs }: PastRead,
  reply: FastifyReply,
): Promise<PastCollection> {
  const past = await database.asOf(name, asOf, { waitMs })
  reply.header('x-annal-as-of', JSON.stringify(momentJson(past.asOf)))
  return past
}
