// Checks what a field says about the provider of its vectors.
import { EngineError } from '../errors.ts'
import { embedModelBytesMax } from '../limits.ts'
import { checkObject, parseName, printed, shownValue } from '../model/ids.ts'
import type { EmbedSchema } from '../model/schema.ts'

const keys = ['provider', 'from', 'model']

/** Throws invalid_argument or limit_exceeded. */
export function parseEmbed(value: unknown, path: string): EmbedSchema {
  checkObject(value, path)
  const input = value as { readonly [key: string]: unknown }
  const other = Object.keys(input).find((key) => !keys.includes(key))
  if (other !== undefined) {
    const message = `${path} has ${keys.join(', ')}, not ${printed(other)}; addresses and keys are in the configuration`
    throw new EngineError('invalid_argument', message, { field: `${path}.${other.slice(0, 64)}`, limit: keys })
  }
  const { model } = input
  return {
    provider: parseName(input.provider, `${path}.provider`),
    from: parseName(input.from, `${path}.from`),
    ...(model !== undefined && model !== null && { model: parseModel(model, `${path}.model`) }),
  }
}

function parseModel(value: unknown, field: string): string {
  const isText = typeof value === 'string' && value !== '' && value.isWellFormed()
  if (isText && Buffer.byteLength(value) <= embedModelBytesMax) return value
  const message = `${field} must be a text of 1 to ${embedModelBytesMax} bytes, got ${printed(value)}`
  const details = { field, value: shownValue(value), limit: embedModelBytesMax }
  throw new EngineError(isText ? 'limit_exceeded' : 'invalid_argument', message, details)
}
