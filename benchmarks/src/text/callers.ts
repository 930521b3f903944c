// Callers over TCP as a program in C, which costs as little as a caller can, so that a measurement is that of the servers: a request is bytes that
// are prepared in advance, and a reply is only searched for its end. One request at a time on each connection.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Target } from '../http/connection.ts'
import type { Ran } from './turns.ts'

export interface Callers {
  /** Sends the requests of a set in turn, for so many milliseconds, and each at least once. */
  run(set: number, ms: number): Promise<Required<Ran>>
  close(): void
}

/** Requests by set. Those of the first set are sent to PostgreSQL when a connection opens. */
export type RequestSets = readonly (readonly Buffer[])[]

/** The path of the compiled program. Undefined: there is no compiler. */
export function compileCaller(folder: string): string | undefined {
  const program = path.join(folder, 'caller')
  try {
    execFileSync('cc', ['-O2', '-o', program, path.join(import.meta.dirname, 'caller.c')], { stdio: 'inherit' })
    return program
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function startCallers(
  program: string,
  protocol: 'http' | 'postgres',
  { port }: Target,
  connections: number,
  sets: RequestSets,
): Callers {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-callers-'))
  const file = path.join(folder, 'requests')
  writeFileSync(file, bytesOf(sets))
  const caller = spawn(program, [protocol, `${port}`, `${connections}`, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: caller.stdout })[Symbol.asyncIterator]()
  return {
    async run(set, ms) {
      caller.stdin.write(`${set} ${ms * 1_000}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`the callers of ${protocol} have ended`)
      const [queries, micros] = (value as string).split(' ').map(Number) as [number, number]
      return { queries, micros }
    },
    close() {
      caller.stdin.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function bytesOf(sets: RequestSets): Buffer {
  const parts = sets.flatMap((requests) => [
    uint32(requests.length),
    ...requests.flatMap((request) => [uint32(request.length), request]),
  ])
  return Buffer.concat([uint32(sets.length), ...parts])
}

/** The request of a search as JSON. */
export function httpRequest({ host, port }: Target, path: string, body: object): Buffer {
  const json = JSON.stringify(body)
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}:${port}`, 'Content-Type: application/json']
  return Buffer.from(`${head.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`)
}

/** What opens a connection with one prepared statement, by version 3 of the protocol of PostgreSQL. */
export function postgresOpening(statement: string): readonly Buffer[] {
  const protocol = Buffer.from([0, 3, 0, 0])
  const startup = Buffer.concat([protocol, Buffer.from('user\0postgres\0database\0postgres\0\0')])
  const prepare = Buffer.concat([message('P', text('ranked'), text(statement), Buffer.from([0, 0])), message('S')])
  return [Buffer.concat([bigEndian(startup.length + 4), startup]), prepare]
}

/** Runs the prepared statement with one parameter, a text: Bind, Execute, Sync. */
export function postgresRequest(parameter: string): Buffer {
  const value = Buffer.from(parameter)
  const one = [Buffer.from([0, 0, 0, 1]), bigEndian(value.length), value]
  const bind = [text(''), text('ranked'), ...one, Buffer.from([0, 0])]
  return Buffer.concat([message('B', ...bind), message('E', text(''), bigEndian(0)), message('S')])
}

function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), bigEndian(body.length + 4), body])
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
