// `annal archive`: verifies the archive byte by byte and reports how far back a restore can reach.
import { verifyArchive } from '@annal/engine'
import { bytesText, countText } from '../amounts.ts'
import { existingDataDir } from '../data-dir.ts'
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export async function archive(
  given: string | undefined,
  { json }: { readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const report = await verifyArchive({
    dataDir: existingDataDir(given),
    onProgress: (bytes) => terminal.bar.show('reading the archive', bytes, undefined),
  })
  if (report === undefined) {
    terminal.line(json ? JSON.stringify({ archive: null }) : 'this directory has no archive')
    return exitCode.good
  }
  const { segments, bytes, records, lsnFirst, lsnLast, checkpoints, faults } = report
  if (json) terminal.line(JSON.stringify({ archive: report }))
  else {
    for (const fault of faults) terminal.line(`damage: ${fault}`)
    const log = `${countText(segments, 'segment')}, ${countText(records, 'record')}, LSN ${lsnFirst} to ${lsnLast}, ${bytesText(bytes)}`
    terminal.line(`${faults.length === 0 ? 'good' : 'DAMAGED'}: ${log}; ${countText(checkpoints, 'checkpoint')}`)
  }
  return faults.length === 0 ? exitCode.good : exitCode.damaged
}
