// Precisions as the published clients name them.

const aliases: Readonly<Record<string, string>> = { int8d: 'int8', int16d: 'int16' }

/** The engine's name of a precision. Anything else is returned unchanged, and the engine refuses it by its name. */
export function precisionOf(value: unknown): unknown {
  return typeof value === 'string' && Object.hasOwn(aliases, value) ? aliases[value] : value
}
