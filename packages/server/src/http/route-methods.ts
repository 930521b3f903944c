// The methods that a path accepts, for requests that use another one.
import type { DescribedRoute } from './openapi/described-route.ts'

/** In upper case, sorted; empty if there is no such path. */
export function methodsOf(routes: readonly DescribedRoute[], url: string): readonly string[] {
  const [path = ''] = url.split('?', 1)
  const methods = routes.filter((route) => patternOf(route.url).test(path)).flatMap(({ method }) => method)
  return [...new Set(methods)].sort()
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*'
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`)
}
