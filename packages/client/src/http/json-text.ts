// Values of callers as JSON text. JSON.stringify writes numbers that JSON does not have as null, which would change what is stored or searched.
import { AnnalError } from '../errors.ts'

/** Throws `invalid_argument` with the path of a number that is not finite. */
export function jsonText(value: unknown, field: string): string {
  const text = JSON.stringify(value)
  const below = text?.includes('null') ? pathOfNotFinite(value) : undefined
  if (below === undefined) return text
  const at = `${field}${below}`.replace(/^\./, '')
  throw new AnnalError('invalid_argument', `${at} must be a finite number, because JSON has no other`, { field: at })
}

function pathOfNotFinite(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const below = pathOfNotFinite(inner)
    if (below !== undefined) return `${Array.isArray(value) ? `[${key}]` : `.${key}`}${below}`
  }
  return undefined
}
