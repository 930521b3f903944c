// Which requests only the leader of a cluster can answer, by what their routes declare.
import type { RouteOptions } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The effect of this route is on the server that gets the request, not on the log. */
    readonly onThisServer?: boolean
    /** The node that leads answers this read, because what it is about is there: a running job. */
    readonly onLeader?: boolean
    /** It takes as long as a restore, so its reply has no deadline. */
    readonly isLong?: boolean
  }
}

/** Whether a route appends to the log. Searches and reads by POST do not, whatever their method. */
export function changesOnLeader({ method, config }: Pick<RouteOptions, 'method' | 'config'>): boolean {
  const access = config?.doc?.access
  if (config?.onThisServer === true || access === 'read' || access === 'search') return false
  if (access === 'write') return true
  return [method].flat().some((one) => one !== 'GET' && one !== 'HEAD')
}

/** Whether only the leader can answer a request. */
export function needsLeader(route: Pick<RouteOptions, 'method' | 'config'>): boolean {
  return route.config?.onLeader === true || changesOnLeader(route)
}
