// Reads one Parquet file, in a worker that the page can end: the library loops on some damaged files.
import { readParquet } from './parquet.ts'

export type ParquetAnswer =
  | { readonly kind: 'rows'; readonly rows: readonly object[] }
  | { readonly kind: 'failed'; readonly message: string }

// The library reads columns at the same time, and leaves the failures of all but one.
self.addEventListener('unhandledrejection', (event) => event.preventDefault())
self.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => {
  readParquet(data).then(
    (rows) => answer({ kind: 'rows', rows }),
    (error: unknown) => answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
  )
})

function answer(message: ParquetAnswer): void {
  self.postMessage(message)
}
