// Which requests only the leader of a cluster can answer, by what their routes declare.
import type { RouteOptions } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The effect of this route is on the server that gets the request, not on the log. */
    readonly onThisServer?: boolean
  }
}

/** Whether a route appends to the log. Searches and reads by POST do not, whatever their method. */
export function changesOnLeader({ method, config }: Pick<RouteOptions, 'method' | 'config'>): boolean {
  const access = config?.doc?.access
  if (access === 'write') return config?.onThisServer !== true
  if (access !== 'control' && access !== 'server') return false
  return config?.onThisServer !== true && [method].flat().some((one) => one !== 'GET' && one !== 'HEAD')
}
