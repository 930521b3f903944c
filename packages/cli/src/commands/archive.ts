// `annal archive`: what is kept of the past, checked byte by byte, and how far back a restore can reach.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { nodeVfs, verifyLog } from '@annal/wal'
import { existingDataDir } from '../data-dir.ts'
import { exitCode } from '../exit-code.ts'
import { amount, bytesText, type Terminal } from '../terminal.ts'

export async function archive(
  given: string | undefined,
  options: { readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const dir = path.join(existingDataDir(given), 'archive', 'wal')
  if (!existsSync(dir)) {
    terminal.line(options.json ? JSON.stringify({ archive: null }) : 'nothing is archived here')
    return exitCode.good
  }
  const onProgress = ({ bytes }: { readonly bytes: number }) =>
    terminal.bar.show('reading the archive', bytes, undefined)
  const { findings, segments, bytes, frames, lsnFirst, lsnLast } = await verifyLog({ vfs: nodeVfs(), dir, onProgress })
  // An archive has no TIP and no tail; what is damaged in it is damage.
  const damage = findings.filter(({ severity }) => severity === 'damage')
  if (options.json) {
    terminal.line(JSON.stringify({ archive: { segments, bytes, records: frames, lsnFirst, lsnLast, damage } }))
  } else {
    for (const { file, offset, lsn, what } of damage)
      terminal.line(`damage: ${file} at offset ${offset}, LSN ${lsn}: ${what}`)
    const held = `${amount(segments)} segments, ${amount(frames)} records, LSN ${lsnFirst} to ${lsnLast}, ${bytesText(bytes)}`
    terminal.line(`${damage.length === 0 ? 'good' : 'DAMAGED'}: ${held}`)
  }
  return damage.length === 0 ? exitCode.good : exitCode.damaged
}
