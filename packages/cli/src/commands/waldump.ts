// `annal waldump`: prints the frames of the log, whether valid or damaged.
import { dumpLog, nodeVfs } from '@annal/wal'
import { logDir } from '../data-dir.ts'
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export interface WaldumpOptions {
  readonly from?: number
  readonly to?: number
  readonly payload?: number
}

export async function waldump(given: string | undefined, options: WaldumpOptions, terminal: Terminal): Promise<number> {
  const range = {
    ...(options.from !== undefined && { lsnFrom: options.from }),
    ...(options.to !== undefined && { lsnTo: options.to }),
  }
  let bad = 0
  for await (const line of dumpLog({
    vfs: nodeVfs(),
    dir: logDir(given),
    ...range,
    payloadBytes: options.payload ?? 0,
  })) {
    if (line.kind === 'bad') bad += 1
    terminal.line(JSON.stringify(line))
  }
  return bad === 0 ? exitCode.good : exitCode.damaged
}
