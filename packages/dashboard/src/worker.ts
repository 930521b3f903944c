// The workers of the page. Their addresses, constants of the build, are the only scripts that it starts.
import mapWorker from './pages/map/map-worker.ts?worker&url'
import parquetWorker from './pages/texts/parquet-worker.ts?worker&url'

const addresses = { map: mapWorker, parquet: parquetWorker } as const

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): {
    createScriptURL(address: string): string
  }
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined

export function startWorker(name: keyof typeof addresses): Worker {
  const { trustedTypes } = window as { trustedTypes?: TrustedTypes }
  policy ??= trustedTypes?.createPolicy('annal', {
    createScriptURL: (address) => {
      if (Object.values(addresses).includes(address)) return address
      throw new Error('not a script of this page')
    },
  })
  return new Worker(policy?.createScriptURL(addresses[name]) ?? addresses[name], { type: 'module' })
}
