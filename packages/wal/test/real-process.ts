// Runs the appender in a child process and returns its output.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface AppenderRun {
  readonly exitCode: number | null
  /** Names of the records acknowledged, in order. */
  readonly acked: readonly string[]
  readonly lines: readonly string[]
}

export const appenderScript = fileURLToPath(new URL('./appender.ts', import.meta.url))

export interface AppenderOptions {
  readonly dir: string
  readonly count: number
  readonly width: number
  readonly env?: Readonly<Record<string, string>>
  /** A program that runs the process, with its arguments. */
  readonly under?: readonly string[]
}

export function runAppender(options: AppenderOptions): Promise<AppenderRun> {
  const node = [
    process.execPath,
    '--conditions=annal-source',
    appenderScript,
    options.dir,
    String(options.count),
    String(options.width),
  ]
  const [program = '', ...args] = [...(options.under ?? []), ...node]
  const child = spawn(program, args, { env: { ...process.env, ...options.env }, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text: string) => {
    output += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (exitCode) => {
      const lines = output.split('\n').filter((line) => line.length > 0)
      const acked = lines.filter((line) => line.startsWith('ack ')).map((line) => line.split(' ')[1] ?? '')
      resolve({ exitCode, acked, lines })
    })
  })
}
