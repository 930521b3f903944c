// The paths of hot routes: a name of a collection between a beginning and an ending.
import type { HotRoute, HotRouteName } from './contract.ts'

export interface RoutePath {
  readonly name: HotRouteName
  readonly prefix: string
  readonly ending: string
  /** As in the metrics. */
  readonly pattern: string
  readonly bodyBytesMax: number
}

/** Other names are decoded by the main thread. */
const plainName = /^[A-Za-z0-9_.~-]+$/

/** The route of a POST. Undefined: none of these, or only the main thread can read the name. */
export function matchPath(paths: readonly RoutePath[], url: string): HotRoute | undefined {
  for (const { name, prefix, ending, pattern, bodyBytesMax } of paths) {
    if (!url.endsWith(ending) || !url.startsWith(prefix)) continue
    const collection = url.slice(prefix.length, -ending.length)
    return plainName.test(collection) ? { name, pattern, collection, bodyBytesMax } : undefined
  }
  return undefined
}
