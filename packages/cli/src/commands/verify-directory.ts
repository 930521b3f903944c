// `annal verify --checkpoints` and `--deep`: verifies a closed directory as a whole; --deep also builds its state in every possible way
// and compares.
import { EngineError, verifyDataDirectory } from '@annal/engine'
import { countText } from '../amounts.ts'
import { refusal } from '../connection.ts'
import { existingDataDir } from '../data-dir.ts'
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export interface VerifyDirectoryOptions {
  readonly deep?: boolean
  readonly json?: boolean
}

export async function verifyDirectory(
  given: string | undefined,
  { deep = false, json }: VerifyDirectoryOptions,
  terminal: Terminal,
): Promise<number> {
  const dataDir = existingDataDir(given)
  const report = await verifyDataDirectory({
    dataDir,
    deep,
    onProgress: ({ step, done, total }) => terminal.bar.show(`verifying ${step}`, done, total),
  }).catch((error: unknown) => {
    throw error instanceof EngineError ? refusal(error) : error
  })
  if (json) terminal.line(JSON.stringify(report))
  else {
    for (const { severity, file, what, cure } of report.findings) {
      terminal.line(`${severity}: ${file}: ${what}`)
      terminal.line(`  -> ${cure}`)
    }
    const { records, checkpoints, states } = report
    const ways = states.length === 0 ? '' : `; the state built in ${countText(states.length, 'way')}`
    const held = `${countText(records, 'record')}, ${countText(checkpoints.length, 'checkpoint')}${ways}`
    terminal.line(`${report.isGood ? 'good' : 'DAMAGED'}: ${held}`)
  }
  return report.isGood ? exitCode.good : exitCode.damaged
}
