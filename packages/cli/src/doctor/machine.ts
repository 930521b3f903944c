// The machine: Node.js, memory, and the port of the server.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import os from 'node:os'
import { fieldsWithDataMax } from '@annal/engine'
import { bytesText } from '../amounts.ts'
import { attention, bad, type Finding, good } from './finding.ts'

const nodeMajorMin = 22
const nodeMajorBest = 24
const memoryBytesLow = 512_000_000
/** Fewer than this means that a limit was configured. */
const fieldsLow = 10_000

export function nodeFinding(version: string = process.versions.node): Finding {
  const major = Number(version.split('.')[0])
  if (major < nodeMajorMin) return bad('node', `Node.js ${version} is too old`, `install Node.js ${nodeMajorBest} LTS`)
  if (major < nodeMajorBest)
    return good('node', `Node.js ${version} works; version ${nodeMajorBest} LTS is tested most`)
  return good('node', `Node.js ${version}`)
}

export async function memoryFinding(): Promise<Finding> {
  const limit = await containerLimit()
  const total = Math.min(os.totalmem(), limit ?? Number.POSITIVE_INFINITY)
  const available = Math.min(process.availableMemory(), total)
  const figures = `${bytesText(available)} of ${bytesText(total)} available`
  if (available >= memoryBytesLow) return good('memory', figures)
  return attention(
    'memory',
    `only ${figures}`,
    'all searchable data is kept in memory: add memory to the machine or the container, or use precision int8, int4, int2, or binary',
  )
}

/** The number of fields with data that a process started from here can hold. */
export function fieldsFinding(max: number = fieldsWithDataMax()): Finding {
  const figures = `address space for about ${max} fields that hold data`
  if (max >= fieldsLow) return good('fields', figures)
  return attention('fields', `only ${figures}`, 'raise `ulimit -v` or the system setting vm.max_map_count')
}

/** The memory limit of the container, if there is one. */
async function containerLimit(): Promise<number | undefined> {
  const text = await readFile('/sys/fs/cgroup/memory.max', 'utf8').catch(() => 'max')
  const bytes = Number(text.trim())
  return Number.isFinite(bytes) && bytes > 0 ? bytes : undefined
}

export interface Address {
  readonly host: string
  readonly port: number
}

export async function portFinding({ host, port }: Address): Promise<Finding> {
  const errno = await listenError({ host, port })
  if (errno === undefined) return good('port', `${host}:${port} is free`)
  if (errno === 'EADDRINUSE') return takenPort({ host, port })
  if (errno === 'EACCES') {
    return bad('port', `this user may not listen on ${host}:${port}`, 'choose a port above 1023 with NDD_SERVER_PORT')
  }
  return bad(
    'port',
    `${host} is not an address of this machine (${errno})`,
    'set NDD_HOST to an address of this machine',
  )
}

async function takenPort({ host, port }: Address): Promise<Finding> {
  const where = `${host}:${port}`
  const status = await healthAt({ host, port })
  if (status === undefined) {
    return bad('port', `${where} is in use by another program`, 'stop it, or choose another port with NDD_SERVER_PORT')
  }
  if (status === 'ok') return good('port', `an Annal server is running at ${where} and is healthy`)
  return attention(
    'port',
    `an Annal server is running at ${where} with status "${status}"`,
    `see http://${where}/api/v2/health for the reasons`,
  )
}

/** The health status of an Annal server at the address; undefined if there is none. */
async function healthAt({ host, port }: Address): Promise<string | undefined> {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  try {
    const response = await fetch(`http://${name}:${port}/api/v2/health`, { signal: AbortSignal.timeout(2_000) })
    const body: unknown = await response.json()
    if (typeof body !== 'object' || body === null || !('status' in body)) return undefined
    return String(body.status)
  } catch {
    // Whatever listens there is not an Annal server.
    return undefined
  }
}

function listenError({ host, port }: Address): Promise<string | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
