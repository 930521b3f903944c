// The names of precisions in the published clients.

const aliases: Readonly<Record<string, string>> = { int8d: 'int8', int16d: 'int16' }

/** The precisions that /api/v1 knows, which is the API of the published servers. /api/v2 also has int4 and int2. */
export const v1Precisions: readonly string[] = ['binary', 'int8', 'int16', 'float16', 'float32']

/** The engine's name of a precision. Other values are returned unchanged, and the engine rejects them. */
export function precisionOf(value: unknown): unknown {
  return typeof value === 'string' && Object.hasOwn(aliases, value) ? aliases[value] : value
}
