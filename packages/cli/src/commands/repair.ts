// `annal repair`: cuts a damaged log before a record. The directory must not be open, and the original log is kept.
import path from 'node:path'
import { acquireLock, nodeVfs, repairLog } from '@annal/wal'
import { bytesText, countText } from '../amounts.ts'
import { logDir } from '../data-dir.ts'
import { exitCode, usageError } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export interface RepairCommandOptions {
  readonly truncateAt: number
  readonly acceptDataLoss?: boolean
  readonly json?: boolean
}

export async function repair(
  given: string | undefined,
  options: RepairCommandOptions,
  terminal: Terminal,
): Promise<number> {
  const { truncateAt, acceptDataLoss = false } = options
  const dir = logDir(given)
  if (!acceptDataLoss) {
    throw usageError(
      `repair permanently discards LSN ${truncateAt} and everything after it; restore a backup if there is one, or add --accept-data-loss`,
    )
  }
  // The lock is in the data directory, one level above the log.
  const lock = await acquireLock(path.join(dir, '..'))
  try {
    const report = await repairLog({ vfs: nodeVfs(), dir, truncateAt, acceptDataLoss })
    if (options.json) terminal.line(JSON.stringify(report))
    else {
      const lost = `${bytesText(report.droppedBytes)} discarded, including ${countText(report.droppedReadable, 'readable record')}`
      terminal.line(`the log now ends at LSN ${report.lsnLast}; ${lost}`)
      terminal.line(`the original log is kept in ${report.original}`)
    }
    return exitCode.good
  } finally {
    await lock.release()
  }
}
