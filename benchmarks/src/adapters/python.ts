// Runs the Python program of benchmarks/adapters/run, with the client of this repository.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Line } from './tables.ts'

const program = fileURLToPath(new URL('../../adapters/run/main.py', import.meta.url))
const clientSources = fileURLToPath(new URL('../../../packages/client-python/src', import.meta.url))

/** What the adapters and the runner import; Debian's packages are python3-numpy, python3-requests, and so on. */
export const pythonModules = ['numpy', 'requests', 'msgpack', 'pydantic', 'click', 'yaml']

/** The first Python with these modules; the system's may have them if another one is first on the path. */
export function pythonWith(modules: readonly string[]): string | undefined {
  return ['python3', '/usr/bin/python3'].find((python) => {
    try {
      execFileSync(python, ['-c', modules.map((name) => `import ${name}`).join('\n')], { stdio: 'ignore' })
      return true
    } catch {
      // Not installed, or without one of the modules.
      return false
    }
  })
}

export function findPython(): string {
  const python = pythonWith(pythonModules)
  if (python === undefined) throw new Error(`no python3 has ${pythonModules.join(', ')}`)
  return python
}

/** Resolves to the lines that it has printed; `onLine` gets each one as text when it arrives. */
export async function runHarness(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onLine: (line: string) => void = () => undefined,
): Promise<Line[]> {
  const child = spawn(findPython(), [program, ...args], {
    env: {
      ...process.env,
      PYTHONPATH: clientSources,
      PYTHONDONTWRITEBYTECODE: '1',
      ANNAL_NODE: process.execPath,
      // The bridge to the library runs against the sources or the built packages, like this process.
      NODE_OPTIONS: process.execArgv.filter((argument) => argument.startsWith('--conditions')).join(' '),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000)
  })
  const lines: Line[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    onLine(line)
    if (line.startsWith('{')) lines.push(JSON.parse(line) as Line)
  }
  const [code] = await closed
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}:\n${complaints}`)
  return lines
}
