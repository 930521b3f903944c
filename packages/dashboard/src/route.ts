// The current page, kept after the # of the address: path segments and settings that can be shared. It never contains tokens.
import { computed, signal } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  hash.value = location.hash
})

export const route = computed(() => parseRoute(hash.value))

export interface Route {
  readonly segments: readonly string[]
  readonly query: URLSearchParams
}

export function parseRoute(text: string): Route {
  const [path = '', query = ''] = text.replace(/^#\/?/, '').split('?', 2)
  const segments = path.split('/').filter((part) => part !== '')
  return { segments: segments.map(decoded), query: new URLSearchParams(query) }
}

/** The address of a page. Segments are encoded; settings that are undefined or empty are left out. */
export function href(segments: readonly string[], query: { readonly [name: string]: string | undefined } = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  const text = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  return `#/${segments.map(encodeURIComponent).join('/')}${text}`
}

export function go(to: string): void {
  location.hash = to
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
