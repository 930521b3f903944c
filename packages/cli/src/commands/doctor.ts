// `annal doctor`: checks everything that a server needs, changes nothing, and reports what to fix.
import { dataDir } from '../data-dir.ts'
import { directoryFindings } from '../doctor/directory.ts'
import type { Finding } from '../doctor/finding.ts'
import { fieldsFinding, memoryFinding, nodeFinding, portFinding } from '../doctor/machine.ts'
import { settingsFindings } from '../doctor/settings.ts'
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export interface DoctorOptions {
  readonly host?: string
  readonly port?: number
  readonly json?: boolean
}

const signs = { good: 'ok ', attention: '!  ', bad: 'BAD' } as const

export async function doctor(given: string | undefined, options: DoctorOptions, terminal: Terminal): Promise<number> {
  const { findings: settings, host, port } = settingsFindings(process.env)
  const findings = [
    nodeFinding(),
    await memoryFinding(),
    fieldsFinding(),
    ...settings,
    await portFinding({ host: options.host ?? host, port: options.port ?? port }),
    ...(await directoryFindings(dataDir(given), terminal)),
  ]
  if (options.json) terminal.line(JSON.stringify({ findings }))
  else tell(findings, terminal)
  if (findings.some(({ state }) => state === 'bad')) return exitCode.damaged
  return findings.some(({ state }) => state === 'attention') ? exitCode.attention : exitCode.good
}

function tell(findings: readonly Finding[], terminal: Terminal): void {
  for (const { state, about, what, cure } of findings) {
    terminal.line(`${signs[state]} ${about.padEnd(10)} ${what}`)
    if (cure !== undefined) terminal.line(`    ${''.padEnd(10)} -> ${cure}`)
  }
  const work = findings.filter(({ state }) => state !== 'good').length
  terminal.line(work === 0 ? 'no problems found' : `${work} ${work === 1 ? 'problem' : 'problems'} found`)
}
