// Ids in paths. Some published clients write an id into the path as it is, others encode it; both look the same to a server. So
// the segment as it came and the segment decoded are both looked up. A query parameter `id` says it without doubt, also for ids that
// a path cannot name: clients remove the segments `.` and `..` before they send a path.
import { type Collection, idBytesMax } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { ServerError } from '../http/errors.ts'

export const idQuery = Type.Object({
  id: Type.Optional(
    Type.String({ description: 'The id, instead of the one in the path: for ids that a path cannot contain.' }),
  ),
})

const idRoute = /^\/api\/(?:v1\/index\/[^/?]+\/vector|v2\/collection\/[^/?]+\/objects)\//
const escapes = /(?:%[0-9a-f]{2})+|%/gi

/** Paths with an id in them: what is no percent-encoding stands for itself, so that the router can decode every path. */
export function decodablePath(url: string): string {
  if (!url.includes('%') || !idRoute.test(url)) return url
  const query = url.indexOf('?')
  const path = query < 0 ? url : url.slice(0, query)
  const rest = query < 0 ? '' : url.slice(query)
  return path.replaceAll(escapes, (run) => (decoded(run) === undefined ? run.replaceAll('%', '%25') : run)) + rest
}

/** The ids that the request may mean, the decoded one first; `rawOf` takes what follows the id off the rest of the path. */
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

/** The one of them that an object has; the first when none has. Throws id_ambiguous when several have. */
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
    // A URIError is all that it throws.
    return undefined
  }
}
