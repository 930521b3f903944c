// What the commands on backups share: their options, and the progress of the bytes of a backup.
import type { ConnectionOptions } from '../connection.ts'
import type { Terminal } from '../terminal.ts'

export interface BackupOptions extends ConnectionOptions {
  readonly json?: boolean
}

/** Passes the bytes through and updates the progress bar. */
export async function* counted(
  content: AsyncIterable<Uint8Array>,
  label: string,
  total: number | undefined,
  terminal: Terminal,
): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const part of content) {
    done += part.length
    terminal.bar.show(label, done, total)
    yield part
  }
}
