// A route as the description sees it.
import type { RouteOptions } from 'fastify'

/** The parts of a route that the description needs. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>
