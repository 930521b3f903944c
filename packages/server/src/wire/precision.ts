// The names of precisions in the published clients.

const aliases: Readonly<Record<string, string>> = { int8d: 'int8', int16d: 'int16' }

/** The engine's name of a precision. Other values are returned unchanged, and the engine rejects them. */
export function precisionOf(value: unknown): unknown {
  return typeof value === 'string' && Object.hasOwn(aliases, value) ? aliases[value] : value
}
