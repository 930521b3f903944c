// One process per data directory. Two means, because each alone has a hole: a LOCK file that names its owner (a file
// outlives its owner), and on Linux an abstract socket that the kernel gives up with the process (but which other
// network namespaces do not see). The socket comes first, so that only one process at a time judges an old LOCK file.
import { createServer, type Server } from 'node:net'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { xxh64 } from './checksum.ts'
import { errnoOf, WalError } from './errors.ts'
import { directoryKey, nodeVfs } from './node-vfs.ts'
import { type ProcessFacts, processAt, processFacts } from './process-facts.ts'
import type { Vfs } from './vfs.ts'
import { readSmall, writeFully } from './whole-file.ts'

export interface LockOptions {
  readonly vfs?: Vfs
  /** Take the directory from an owner on another host, which cannot be asked whether it lives. */
  readonly force?: boolean
  /** Called once when the owner is just ending and is waited for. */
  readonly onWait?: (pid: number | undefined) => void
}

export interface DirectoryLock {
  /** Idempotent. */
  release(): Promise<void>
}

/** What LOCK says. The directory is in it so that a LOCK that came with a copy of a directory in use is seen for what it is. */
interface Owner extends ProcessFacts {
  readonly directory: string
}

const lockName = 'LOCK'
const lockBytesMax = 4096
/** How long an owner that is just ending is waited for: the kernel takes its memory apart first, a gigabyte in a quarter of a second. */
const waitMsMax = 5_000
const waitStepMs = 25

export interface LockHolder {
  readonly pid: number
  readonly host: string
  /** The process ended without giving the lock back; the next start takes it. */
  readonly isGone: boolean
}

/** Who holds the directory, without touching it; undefined when nobody does. */
export async function lockHolder(dir: string, options: Pick<LockOptions, 'vfs'> = {}): Promise<LockHolder | undefined> {
  const owner = await ownerOf(options.vfs ?? nodeVfs(), join(dir, lockName))
  if (owner === undefined) return undefined
  const own: Owner = { ...(await processFacts()), directory: directoryKey(dir) }
  return { pid: owner.pid, host: owner.host, isGone: await isGone(owner, own) }
}

/**
 * Takes the directory or rejects with `directory_locked`, having changed nothing. An owner that is just ending is waited for;
 * one that lives is not.
 */
export async function acquireLock(dir: string, options: LockOptions = {}): Promise<DirectoryLock> {
  const vfs = options.vfs ?? nodeVfs()
  const path = join(dir, lockName)
  const facts: Owner = { ...(await processFacts()), directory: directoryKey(dir) }
  const socket = await freeSocket(dir, options.onWait, async () => {
    const owner = await ownerOf(vfs, path)
    return { pid: owner?.pid, isEnding: owner === undefined || (await isGone(owner, facts)), owner }
  })
  if (socket === 'taken') throw locked(path, await ownerOf(vfs, path))
  try {
    await takeFile(vfs, path, facts, options.force ?? false)
  } catch (error) {
    await closeSocket(socket)
    throw error
  }
  let released: Promise<void> | undefined
  const release = async () => {
    await vfs.remove(path)
    await closeSocket(socket)
  }
  return {
    release() {
      released ??= release()
      return released
    },
  }
}

/**
 * The kernel gives the socket up last: between its owner's end, or the removal of its LOCK, and that moment lies a little time. As
 * much lies between the binding of it and the LOCK of a process that just starts, which is then refused by name.
 */
async function freeSocket(
  dir: string,
  onWait: LockOptions['onWait'],
  look: () => Promise<{ readonly pid: number | undefined; readonly isEnding: boolean }>,
): Promise<Server | 'taken' | undefined> {
  let isTold = false
  for (let waitedMs = 0; ; waitedMs += waitStepMs) {
    const socket = await bindSocket(dir)
    if (socket !== 'taken' || waitedMs >= waitMsMax) return socket
    const { pid, isEnding } = await look()
    if (!isEnding) return socket
    if (!isTold && waitedMs > 0) onWait?.(pid)
    isTold ||= waitedMs > 0
    await sleep(waitStepMs)
  }
}

async function takeFile(vfs: Vfs, path: string, facts: Owner, force: boolean): Promise<void> {
  const claim = `${path}.${facts.pid}-${facts.started}.tmp`
  await removed(vfs, claim)
  await writeClaim(vfs, claim, facts)
  try {
    // A link appears whole or fails, so nobody ever reads half an owner.
    for (let tries = 0; tries < 3; tries++) {
      if (await linked(vfs, claim, path)) return await settle(vfs, path)
      const owner = await ownerOf(vfs, path)
      if (owner !== undefined && !force && !(await isGone(owner, facts))) throw locked(path, owner)
      await setAside(vfs, path, `${claim}-old`, owner)
    }
    throw locked(path, await ownerOf(vfs, path))
  } finally {
    await removed(vfs, claim)
  }
}

/** The name is made durable, and claims of processes that were killed while they asked are swept away. */
async function settle(vfs: Vfs, path: string): Promise<void> {
  for (const name of await vfs.list(dirname(path))) {
    if (/^LOCK\.\d+-\d*\.tmp/.test(name)) await removed(vfs, join(dirname(path), name))
  }
  await vfs.syncDirectory(dirname(path))
}

/** A claim may be swept away by the winner before the loser takes it back. */
async function removed(vfs: Vfs, path: string): Promise<void> {
  try {
    await vfs.remove(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

async function writeClaim(vfs: Vfs, claim: string, facts: Owner): Promise<void> {
  const file = await vfs.open(claim, 'create')
  try {
    await writeFully(file, Buffer.from(`${JSON.stringify(facts)}\n`), 0)
  } finally {
    await file.close()
  }
}

async function linked(vfs: Vfs, from: string, to: string): Promise<boolean> {
  try {
    await vfs.link(from, to)
    return true
  } catch (error) {
    // Either somebody has the name, or the winner has already swept this claim away.
    if (errnoOf(error) !== 'EEXIST' && errnoOf(error) !== 'ENOENT') throw error
    return false
  }
}

/** Moves the old file away and makes sure that it was the one that was judged, not a new owner's. */
async function setAside(vfs: Vfs, path: string, aside: string, judged: Owner | undefined): Promise<void> {
  try {
    await vfs.rename(path, aside)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return
  }
  const moved = await ownerOf(vfs, aside)
  const isJudged = JSON.stringify(moved) === JSON.stringify(judged)
  if (!isJudged) await linked(vfs, aside, path)
  await vfs.remove(aside)
  if (!isJudged) throw locked(path, moved)
}

/** An owner is gone when it owned another directory, its machine was started again, or its process ended or is another one by now. */
async function isGone(owner: Owner, own: Owner): Promise<boolean> {
  if (owner.directory !== own.directory) return true
  if (owner.host !== own.host) return false
  if (owner.boot !== own.boot) return true
  const found = await processAt(owner.pid)
  return found === undefined || found.started !== owner.started || found.isEnding
}

async function ownerOf(vfs: Vfs, path: string): Promise<Owner | undefined> {
  try {
    const parsed: unknown = JSON.parse((await readSmall(vfs, path, lockBytesMax)).toString())
    return isFacts(parsed) ? parsed : undefined
  } catch (error) {
    // No file, or one cut short by a power cut: nobody who lives left it.
    if (error instanceof SyntaxError || errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function isFacts(value: unknown): value is Owner {
  if (typeof value !== 'object' || value === null) return false
  return (
    'pid' in value &&
    typeof value.pid === 'number' &&
    'started' in value &&
    'boot' in value &&
    'host' in value &&
    'directory' in value
  )
}

function bindSocket(dir: string): Promise<Server | 'taken' | undefined> {
  if (process.platform !== 'linux') return Promise.resolve(undefined)
  const name = `\0annal-${xxh64(Buffer.from(directoryKey(dir))).toString(16)}`
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error) => (errnoOf(error) === 'EADDRINUSE' ? resolve('taken') : reject(error)))
    server.listen({ path: name }, () => resolve(server.unref()))
  })
}

function closeSocket(server: Server | undefined): Promise<void> {
  if (server === undefined) return Promise.resolve()
  return new Promise((resolve) => server.close(() => resolve()))
}

function locked(path: string, owner: Owner | undefined): WalError {
  const who = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`
  const cure =
    owner !== undefined && owner.host !== hostname() ? ' If that host is gone, start once with the lock forced.' : ''
  return new WalError('directory_locked', `${dirname(path)} is in use by ${who} (${path}).${cure}`, {
    file: path,
    pid: owner?.pid,
    host: owner?.host,
  })
}
