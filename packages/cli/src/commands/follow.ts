// `annal follow` serves a copy of another server's archive for reads. `annal takeover` makes that copy the writer of the archive.
import path from 'node:path'
import { takeOverArchive } from '@annal/server/archive'
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'
import { archiveFailure } from './restore-archive.ts'

export interface TakeoverOptions {
  readonly from?: string
  /** In seconds. */
  readonly timeout: number
  readonly json?: boolean
}

export async function takeOver(dir: string, options: TakeoverOptions, terminal: Terminal): Promise<number> {
  const dataDir = path.resolve(dir)
  const { from, lsn, isServed } = await takeOverArchive({
    ...{ dataDir, from: options.from, timeoutMs: options.timeout * 1_000 },
    onDownload: ({ what, done, total }) => terminal.bar.show(`downloading ${what}`, done, total),
    onNotice: (sentence) => terminal.say(sentence),
  }).catch((error: unknown) => {
    throw archiveFailure(error)
  })
  if (options.json) terminal.line(JSON.stringify({ directory: dataDir, from, lsn, served: isServed }))
  else {
    terminal.line(`${dataDir} writes ${from} after LSN ${lsn}; every other server is rejected there`)
    if (!isServed) terminal.line(`start it: NDD_ARCHIVE_S3=${from} annal serve --data-dir ${dataDir}`)
  }
  return exitCode.good
}
