// The address of the current page, kept after the # of the URL: a path, which the router matches, and parameters that can be shared. It
// never contains tokens.
import { computed, signal } from '@preact/signals'
import type { BaseLocationHook } from 'wouter-preact'

const hash = signal(location.hash)
const read = (): void => {
  hash.value = location.hash
}
addEventListener('hashchange', read)

const parts = computed(() => {
  const [path = '', settings = ''] = hash.value.replace(/^#/, '').split('?', 2)
  return { path: `/${path.split('/').filter(Boolean).join('/')}`, settings }
})

/** The parameters of the current page: the names and values after the ? of its address. */
export const parameters = computed(() => new URLSearchParams(parts.value.settings))

/** Where the router reads the path, and how it goes to another one. */
export const useHashPath: BaseLocationHook = () => [parts.value.path, go]

/** The address of a page. Segments are encoded; parameters that are undefined or empty are left out. */
export function href(segments: readonly string[], query: { readonly [name: string]: string | undefined } = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  const text = given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  return `#/${segments.map(encodeURIComponent).join('/')}${text}`
}

/** `replace` leaves no entry in the history of the browser. */
export function go(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) {
    history.replaceState(null, '', to)
    read()
  } else location.hash = to
}
