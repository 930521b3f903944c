// Another database as a source, by the scheme of its address.
import { usageError } from '../exit-code.ts'
import type { Renames } from './columns.ts'
import type { Source } from './source.ts'

export interface DatabaseOptions {
  /** Which field vectors without a name are for. */
  readonly field: string
  readonly renames: Renames
  /** By commas; undefined: every key whose value can be one. */
  readonly filterKeys?: string | undefined
  readonly sourceToken?: string | undefined
}

export async function openDatabase(address: string, options: DatabaseOptions): Promise<Source> {
  const url = URL.parse(address)
  if (url === null) throw usageError(`${address.replace(/\/\/[^@/]*@/, '//')} is not an address`)
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
    `${url.protocol}// is not known: a file, qdrant://, qdrants://, chroma://, chromas:// or postgres://`,
  )
}
