// Ids in paths. Some published clients write an id into the path without encoding, others encode it, and a server cannot
// distinguish them. So both the raw segment and the decoded segment are looked up. The query parameter `id` is unambiguous, and
// is the only way for the ids `.` and `..`, because clients remove these segments before they send a path.
import { type Collection, idBytesMax } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { ServerError } from '../errors.ts'

/** Query parameter that names an id without ambiguity. */
export const idQuery = Type.Object({
  id: Type.Optional(
    Type.String({ description: 'The id, instead of the one in the path: for ids that a path cannot contain.' }),
  ),
})

const idRoute = /^\/api\/(?:v1\/index\/[^/?]+\/vector|v2\/collection\/[^/?]+\/objects)\//
const escapes = /(?:%[0-9a-f]{2})+|%/gi

/**
 * Throws if a request for a whole index or collection names an object. The path of an object becomes that of its collection when a
 * client or proxy removes `..` from it; then the parameter is the only sign.
 */
export function refuseId({ query }: Pick<FastifyRequest, 'query'>): void {
  const { id } = query as { readonly id?: unknown }
  if (id === undefined) return
  throw new ServerError(
    'invalid_argument',
    'the parameter id names an object, but this path deletes everything; a client or proxy changed the path',
    { field: 'id', value: String(id) },
  )
}

/** Encodes every "%" that does not begin a percent-encoding, so that the router can decode every path. */
export function decodablePath(url: string): string {
  if (!url.includes('%') || !idRoute.test(url)) return url
  const query = url.indexOf('?')
  const path = query < 0 ? url : url.slice(0, query)
  const rest = query < 0 ? '' : url.slice(query)
  return path.replaceAll(escapes, (run) => (decoded(run) === undefined ? run.replaceAll('%', '%25') : run)) + rest
}

/** The ids that the request may mean, the decoded one first. `rawOf` removes what follows the id from the rest of the path. */
export function idsOfPath(
  { query, originalUrl }: Pick<FastifyRequest, 'query' | 'originalUrl'>,
  segment: string,
  rawOf = (rest: string) => rest,
): string[] {
  const { id } = query as { readonly id?: unknown }
  if (typeof id === 'string') return [id]
  const [path = ''] = originalUrl.split('?', 1)
  const raw = rawOf(path.slice(idRoute.exec(path)?.[0].length ?? path.length))
  return raw === segment || Buffer.byteLength(raw) > idBytesMax ? [segment] : [segment, raw]
}

/** Returns the id that an object has, or the first id if none has. Throws id_ambiguous if several have. */
export async function onlyId(collection: Collection, ids: readonly string[]): Promise<string> {
  const [first = ''] = ids
  if (ids.length < 2) return first
  const found = (await collection.getMany(ids.filter((id) => Buffer.byteLength(id) <= idBytesMax))).map(({ id }) => id)
  if (found.length < 2) return found[0] ?? first
  const names = found.map((id) => JSON.stringify(id)).join(' and ')
  const message = `the path can mean ${names}, and objects with both ids exist; use the query parameter id`
  throw new ServerError('id_ambiguous', message, { field: 'id', value: first })
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // decodeURIComponent throws nothing but URIError.
    return undefined
  }
}
