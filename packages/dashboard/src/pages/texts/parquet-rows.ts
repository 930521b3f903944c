// Rows of a Parquet file, from a worker. A file that it does not read in time is damaged, or too large for a page.
import { startWorker } from '../../worker.ts'
import type { ParquetAnswer } from './parquet-worker.ts'

/** Far more than the largest file that a page takes. */
const readMs = 60_000

export async function parquetRows(file: ArrayBuffer): Promise<readonly object[]> {
  const worker = startWorker('parquet')
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no end after ${readMs / 1_000} s; the file is damaged`)), readMs)
      worker.addEventListener('error', ({ message }) => reject(new Error(message)))
      worker.addEventListener('message', ({ data }: MessageEvent<ParquetAnswer>) =>
        data.kind === 'rows' ? resolve(data.rows) : reject(new Error(data.message)),
      )
      worker.postMessage(file, [file])
    })
  } finally {
    clearTimeout(timer)
    worker.terminate()
  }
}
