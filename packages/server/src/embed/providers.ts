// The providers of vectors of a server.
import type { EmbedProvider } from '@annal/engine'
import { Provider, type ProviderFigures } from './provider.ts'
import type { ProviderConfig } from './provider-config.ts'

export class Providers {
  readonly #all: readonly Provider[]

  constructor(configs: readonly ProviderConfig[]) {
    const requests = { query: 0, store: 0 }
    this.#all = configs.map((config) => new Provider(config, requests))
  }

  /** What the engine calls, by name. */
  embed(): { readonly [provider: string]: EmbedProvider } {
    return Object.fromEntries(
      this.#all.map(({ config: { name, model, dimension }, embed }) => [name, { embed, model, dimension }]),
    )
  }

  figures(): readonly ProviderFigures[] {
    return this.#all.map((provider) => provider.figures())
  }

  /** Why health is degraded. */
  reasons(): readonly string[] {
    return this.#all.flatMap((provider) => provider.reason() ?? [])
  }

  close(): void {
    for (const provider of this.#all) provider.close()
  }
}
