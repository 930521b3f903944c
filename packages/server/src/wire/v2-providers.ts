// The providers of vectors in /api/v2.
import type { ProviderConfig } from '../embed/provider-config.ts'

/** What a caller needs to name a provider in `embed`, sorted by name. Members are named one by one, so that no key and no address gets in. */
export function providersJson(providers: readonly ProviderConfig[]) {
  return providers
    .map(({ name, kind, model, dimension }) => ({ name, kind, model, dimension }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
