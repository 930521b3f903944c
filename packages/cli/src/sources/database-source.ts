// Another database as a source, selected by the scheme of its URL.
import { usageError } from '../exit-code.ts'
import type { DatabaseOptions } from './database-options.ts'
import type { Source } from './source.ts'

export async function openDatabase(address: string, options: DatabaseOptions): Promise<Source> {
  const url = URL.parse(address)
  if (url === null) throw usageError(`${address.replace(/\/\/[^@/]*@/, '//')} is not a valid URL`)
  if (url.protocol === 'qdrant:' || url.protocol === 'qdrants:') {
    const { openQdrant } = await import('./qdrant.ts')
    return openQdrant(url, options)
  }
  if (url.protocol === 'chroma:' || url.protocol === 'chromas:') {
    const { openChroma } = await import('./chroma.ts')
    return openChroma(url, options)
  }
  if (url.protocol === 'postgres:' || url.protocol === 'postgresql:') {
    const { openPostgres } = await import('./postgres.ts')
    return openPostgres(url, options)
  }
  throw usageError(
    `${url.protocol}// is not supported; use a file, qdrant://, qdrants://, chroma://, chromas:// or postgres://`,
  )
}
