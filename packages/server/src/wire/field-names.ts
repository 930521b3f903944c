// Names of fields in errors of the engine, in the words of a route: clients know the keys that they sent, not those of the library.
import { type CodedError, ServerError } from '../errors.ts'

/** The key of the route for each field of the engine; `[]` is any position of a list. */
export type FieldNames = Readonly<Record<string, string>>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Fields that errors of the engine name otherwise than this route. */
    readonly fieldNames?: FieldNames
  }
}

/** The error with the name that the route has for its field. */
export function withFieldOf(error: CodedError, names: FieldNames | undefined): CodedError {
  const field = error.details?.field
  if (names === undefined || field === undefined) return error
  for (const [engine, route] of Object.entries(names)) {
    const renamed = rename(field, engine, route)
    if (renamed === undefined) continue
    const details = { ...error.details, field: renamed }
    return new ServerError(error.code, error.message.replace(field, renamed), details, { cause: error })
  }
  return error
}

/** Undefined if the field is another one. Positions are those of the field, and what follows the name stays. */
function rename(field: string, engine: string, route: string): string | undefined {
  const pattern = engine.replaceAll('.', '\\.').replaceAll('[]', '\\[(\\d+)\\]')
  const found = new RegExp(`^${pattern}(?![A-Za-z0-9_])`).exec(field)
  if (found === null) return undefined
  const [matched, ...positions] = found
  const name = positions.reduce((text, position) => text.replace('[]', `[${position}]`), route)
  return name + field.slice(matched.length)
}
