// `annal verify`: verifies every byte of the log and reports damage.
import path from 'node:path'
import { nodeVfs, readIdentity, verifyLog } from '@annal/wal'
import { bytesText, countText } from '../amounts.ts'
import { logDir } from '../data-dir.ts'
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export async function verify(
  given: string | undefined,
  options: { readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const onProgress = ({ bytes }: { readonly bytes: number }) => terminal.bar.show('verifying', bytes, undefined)
  const [vfs, dir] = [nodeVfs(), logDir(given)]
  const identity = await readIdentity({ vfs, dir: path.dirname(path.resolve(dir)) })
  const report = await verifyLog({ vfs, dir, identity, onProgress })
  if (options.json) {
    terminal.line(JSON.stringify(report))
    return report.isGood ? exitCode.good : exitCode.damaged
  }
  for (const { severity, file, offset, lsn, what } of report.findings) {
    terminal.line(`${severity}: ${file} at offset ${offset}, LSN ${lsn}: ${what}`)
  }
  const records =
    report.frames === 0
      ? 'no records'
      : `${countText(report.frames, 'record')}, LSN ${report.lsnFirst} to ${report.lsnLast}, ${bytesText(report.bytes)}`
  const end = report.cleanlyClosed ? 'closed cleanly' : 'not closed cleanly: in use, or stopped uncleanly'
  terminal.line(`${report.isGood ? 'good' : 'DAMAGED'}: ${records}; ${end}`)
  return report.isGood ? exitCode.good : exitCode.damaged
}
