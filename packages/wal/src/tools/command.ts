// The command `annal-wal`: dump, verify and repair. Dump and verify also work while a server runs on the directory.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { WalError } from '../errors.ts'
import { acquireLock } from '../lock.ts'
import { nodeVfs } from '../node-vfs.ts'
import { dumpLog } from './dump.ts'
import { repairLog } from './repair.ts'
import { verifyLog } from './verify.ts'

/** Where a command prints. */
export interface ToolOutput {
  readonly line: (text: string) => void
  readonly error: (text: string) => void
}

const usage = `usage: annal-wal dump   DIR [--from LSN] [--to LSN] [--payload BYTES]
       annal-wal verify DIR
       annal-wal repair DIR --truncate-at LSN --accept-data-loss
DIR is a data directory (it holds a folder wal) or a log directory itself.`

const exitCode = { good: 0, usage: 64, damaged: 65 } as const

/** Runs one command and returns the exit code. */
export async function runWalTool(args: readonly string[], output: ToolOutput): Promise<number> {
  const [command, ...rest] = args
  try {
    const { dir, numbers, acceptDataLoss } = await parse(rest)
    if (command === 'dump') return await dump(dir, numbers, output)
    if (command === 'verify') return await verify(dir, output)
    if (command === 'repair') return await repair(dir, numbers['truncate-at'], acceptDataLoss, output)
  } catch (error) {
    if (error instanceof WalError) {
      output.error(`${error.code}: ${error.message}`)
      return error.exitCode ?? exitCode.damaged
    }
    if (!(error instanceof UsageError)) throw error
    output.error(error.message)
  }
  output.error(usage)
  return exitCode.usage
}

class UsageError extends Error {}

type Numbers = Partial<Record<'from' | 'to' | 'payload' | 'truncate-at', number>>

async function parse(args: readonly string[]): Promise<{ dir: string; numbers: Numbers; acceptDataLoss: boolean }> {
  const { values, positionals } = readArguments(args)
  const [given] = positionals
  if (given === undefined || positionals.length !== 1) throw new UsageError('exactly one directory is needed')
  const numbers: Numbers = {}
  for (const name of ['from', 'to', 'payload', 'truncate-at'] as const) {
    const value = values[name]
    if (value === undefined) continue
    const number = Number(value)
    if (!Number.isSafeInteger(number) || number < 0) throw new UsageError(`--${name} ${value} is not a number`)
    numbers[name] = number
  }
  const inside = join(given, 'wal')
  const dir = (await nodeVfs().exists(inside)) ? inside : given
  if (!(await nodeVfs().exists(dir))) throw new UsageError(`${dir} does not exist`)
  return { dir, numbers, acceptDataLoss: values['accept-data-loss'] ?? false }
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        from: { type: 'string' },
        to: { type: 'string' },
        payload: { type: 'string' },
        'truncate-at': { type: 'string' },
        'accept-data-loss': { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

async function dump(dir: string, numbers: Numbers, output: ToolOutput): Promise<number> {
  const { from, to, payload } = numbers
  const range = { ...(from === undefined ? {} : { lsnFrom: from }), ...(to === undefined ? {} : { lsnTo: to }) }
  let bad = 0
  for await (const line of dumpLog({ vfs: nodeVfs(), dir, ...range, payloadBytes: payload ?? 0 })) {
    if (line.kind === 'bad') bad++
    output.line(JSON.stringify(line))
  }
  return bad === 0 ? exitCode.good : exitCode.damaged
}

async function verify(dir: string, output: ToolOutput): Promise<number> {
  const report = await verifyLog({ vfs: nodeVfs(), dir })
  for (const finding of report.findings) {
    output.line(`${finding.severity}: ${finding.file} at offset ${finding.offset}, LSN ${finding.lsn}: ${finding.what}`)
  }
  const range =
    report.frames === 0 ? 'no records' : `${report.frames} records, LSN ${report.lsnFirst} to ${report.lsnLast}`
  const end = report.cleanlyClosed ? 'closed cleanly' : 'not closed (in use, or an unclean stop)'
  output.line(
    `${report.isGood ? 'good' : 'DAMAGED'}: ${report.segments} segments, ${report.bytes} bytes, ${range}, ${end}`,
  )
  return report.isGood ? exitCode.good : exitCode.damaged
}

async function repair(
  dir: string,
  truncateAt: number | undefined,
  acceptDataLoss: boolean,
  output: ToolOutput,
): Promise<number> {
  if (truncateAt === undefined) throw new UsageError('--truncate-at is needed')
  // The lock is in the data directory, the parent of the log.
  const lock = await acquireLock(join(dir, '..'))
  try {
    const report = await repairLog({ vfs: nodeVfs(), dir, truncateAt, acceptDataLoss })
    output.line(
      `the log now ends at LSN ${report.lsnLast}; ${report.droppedBytes} bytes were dropped, with ${report.droppedReadable} records that could still be read`,
    )
    output.line(`the original log is kept in ${report.original}`)
    return exitCode.good
  } finally {
    await lock.release()
  }
}
