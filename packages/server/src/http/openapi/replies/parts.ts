// Parts that several replies have.
import { flag, integer, type JsonSchema, list, number, object, oneOfTexts, ref, text } from '../build.ts'

export interface Schemas {
  readonly [name: string]: JsonSchema
}

export const seconds = 'Seconds since 1970.'
export const time = { type: 'string', format: 'date-time' }
export const numbers = list(number())
export const acknowledgement = {
  lsn: integer('Number of the event that the write became.'),
  durable: flag('Whether the write survives a power cut.'),
}
export const message = { message: text('A sentence for people.') }
export const jobTimes = { started_at: time, completed_at: time, error: text('The reason of a failure.') }
export const objectHead = { id: text(), filter: ref('StoredFilter') }
export const objectLsn = integer('LSN of the record that last wrote the object.')
export const storedMeta = {
  meta: ref('Meta'),
  meta_base64: text('The stored bytes of meta that is not returned as JSON.'),
  meta_limit: oneOfTexts(['object', 'reply'], 'The limit that the meta exceeds when it is unpacked.'),
}
/** Of an object. */
export const expiry = { ...time, description: 'When the object expires; absent if it does not.' }
/** The moment of a reply, if the request names one. */
export const asOfMoment = {
  as_of: object({ lsn: integer('The record of the moment.'), time }, {}),
}
export const member = object({ vector: numbers, norm: number() })
